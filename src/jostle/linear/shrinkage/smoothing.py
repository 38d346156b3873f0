"""Empirical Bayes for cells that resemble their neighbours, in two ways that are averaged.

`bayes` groups cells by their surroundings and gives each group a prior on counts. Where counts change slowly
along the domain, a prior on the *difference* from the surroundings says more. Here each group takes whichever of the two
makes its noisy counts likelier, and groups may be smaller. `plateaus` sees runs of cells that share a level
instead. Each cell gets a mean of what the two say, by how well each foretells the cell from the others. For single cells
and short ranges: what cells of a group have in common is not known well enough for sums over many. Post-processing alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jostle.kernel.partition import Counts, Vector
from jostle.linear.shrinkage import _mixtures, small_problems
from jostle.linear.shrinkage._mixtures import DRAW
from jostle.linear.shrinkage.bayes import (
    ATOM_PRICE,
    CENTRE_PRICE,
    CUT_PRICE,
    EVEN,
    FREE_PRICE,
    GRAIN,
    NARROW,
    ROUNDS,
    SHARP,
    SMALLEST_GROUP,
    Fit,
    Fits,
    distinct,
    fitted,
    grouped,
    left_out,
)
from jostle.linear.shrinkage.plateaus import plateaus

_GROUPS = 64
_COARSE = 16
_SHARE_ROUNDS = 30

Part = tuple[Counts, "Fit | Differences"]


@dataclass(frozen=True)
class Opinion:
    """What one model says of all cells."""

    means: Vector
    """The posterior mean of each."""

    foretold: Vector
    """How likely each noisy count is, given the other cells."""


def smooth(
    noisy: Vector, scale: float, contexts: Sequence[Vector], centres: Sequence[Vector], ways: Sequence[Counts] = ()
) -> Vector:
    """Posterior means of counts: in groups by context, around one of the centres where that is likelier, and along ways.

    A way is an order in which cells that follow each other may share a level.

    >>> rng = np.random.default_rng(0)
    >>> slope = np.linspace(20, 60, 256)
    >>> noisy = slope + rng.laplace(size=256)
    >>> around = np.convolve(np.pad(noisy, 8, mode="edge"), np.r_[np.ones(8), 0, np.ones(8)] / 16, mode="valid")
    >>> error = smooth(noisy, 1.0, [], [around]) - slope
    >>> bool((error**2).mean() < 0.3), bool(((noisy - slope) ** 2).mean() > 1.5)
    (True, True)
    """
    if scale < SHARP:
        return np.maximum(noisy, 0.0)
    if not ways and small_problems.suits(noisy.size):
        one_row = [[np.asarray(around)[None] for around in kind] for kind in (contexts, centres)]
        return np.asarray(small_problems.smooth_rows(noisy[None], scale, *one_row)[0])
    around, parts = _grouped(noisy, scale, contexts, centres)
    if not ways:
        return _means(around, parts)
    opinions = [Opinion(_means(around, parts), _foretold(noisy.size, parts))]
    for way in ways:
        means, foretold = np.empty(noisy.size), np.empty(noisy.size)
        means[way], foretold[way] = plateaus(noisy[way], scale)
        opinions.append(Opinion(means, foretold))
    return average(opinions)


def average(opinions: Sequence[Opinion]) -> Vector:
    """Every cell's mean over the models, by how well each foretells this cell and all cells (EM for a mixture).

    >>> average([Opinion(np.zeros(3), np.full(3, 0.5)), Opinion(np.ones(3), np.array([0.5, 0.5, 0.0]))]).round(1).tolist()
    [0.3, 0.3, 0.0]
    """
    means = np.stack([opinion.means for opinion in opinions])
    likely = np.stack([opinion.foretold for opinion in opinions]) + 1e-25
    shares = np.full(len(opinions), 1 / len(opinions))
    for _ in range(_SHARE_ROUNDS):
        parts = shares[:, None] * likely
        parts /= parts.sum(axis=0)
        shares = (parts.sum(axis=1) + 1) / (parts.shape[1] + len(opinions))
    return np.asarray((parts * means).sum(axis=0))


def _grouped(
    noisy: Vector, scale: float, contexts: Sequence[Vector], centres: Sequence[Vector]
) -> tuple[Vector, Sequence[Part]]:
    """The likeliest way to tell cells apart by one of the contexts, or to see them around one of the centres.

    Gives that centre, or zeros, and the prior of each group.
    """
    known: Fits = {}
    score, parts = grouped(noisy, scale, contexts, apart=True, known=known)  # type: tuple[float, Sequence[Part]]
    around = np.zeros(noisy.size)
    for centre in centres:
        near = np.maximum(centre, 0.0)
        found, pieces = _cut(noisy, noisy - near, scale, np.argsort(near, kind="stable"), _GROUPS, known)
        if found > score + DRAW:
            score, parts, around = found, pieces, near
    return around, parts


def _means(around: Vector, parts: Sequence[Part]) -> Vector:
    means = np.empty(around.size)
    for cells, fit in parts:
        means[cells] = fit.means() if isinstance(fit, Fit) else around[cells] + fit.means()
    return np.maximum(means, 0.0)


def _foretold(number: int, parts: Sequence[Part]) -> Vector:
    foretold = np.empty(number)
    for cells, fit in parts:
        foretold[cells] = fit.foretold()
    return foretold


def _cut(noisy: Vector, beyond: Vector, scale: float, cells: Counts, pieces: int, known: Fits) -> tuple[float, list[Part]]:
    """The best way to cut cells, in the order of what is around them, by halves, and the kind of prior for each piece.

    Given are the noisy counts and what they have beyond their surroundings.

    Counts that lie far apart each look like a kind of their own, which no likelihood can tell from a pattern: such groups
    are not cut finely, and have priors on counts alone.
    """
    order = cells[np.argsort(noisy[cells], kind="stable")]
    counts = fitted(noisy[order], scale, apart=True, known=known)
    score, parts = counts.score, [(order, counts)]  # type: tuple[float, list[Part]]
    narrow = noisy[order[-1]] - noisy[order[0]] < EVEN * scale
    if narrow:
        order = cells[np.argsort(beyond[cells], kind="stable")]
        differences = Differences(beyond[order], scale)
        if differences.score - CENTRE_PRICE > score + DRAW:
            score, parts = differences.score - CENTRE_PRICE, [(order, differences)]
    if pieces == 1 or cells.size < 2 * SMALLEST_GROUP or not (narrow or pieces > _GROUPS // _COARSE):
        return score, parts
    half = cells.size // 2
    left = _cut(noisy, beyond, scale, cells[:half], pieces // 2, known)
    right = _cut(noisy, beyond, scale, cells[half:], pieces // 2, known)
    apart = left[0] + right[0] - CUT_PRICE
    return (apart, left[1] + right[1]) if apart > score + DRAW else (score, parts)


class Differences:
    """A prior on what cells have beyond their surroundings, given by noisy differences in rising order."""

    def __init__(self, everything: Vector, scale: float) -> None:
        self.everything, self.scale = everything, scale
        values, seen = distinct(np.round(everything * (GRAIN / scale)) * (scale / GRAIN))
        self.support = _support(values, scale)
        flat = np.full(self.support.size, 1.0 / self.support.size)
        _, self.weights, likelihood = _mixtures.maximise(values, seen, self.support, flat, scale, ROUNDS)
        self.score = likelihood - FREE_PRICE
        if values[-1] - values[0] < NARROW * scale:
            low = values[0] - 1.0  # atoms are sought from 0 on
            atoms, weights, likelihood = _mixtures.few_atoms(values - low, seen, self.support - low, scale, 4, ATOM_PRICE)
            small = likelihood - ATOM_PRICE * (atoms.size - 1)
            if small >= self.score - DRAW:
                self.support, self.weights, self.score = atoms + low, weights, small

    def foretold(self) -> Vector:
        """How likely each noisy count is, given the other cells."""
        return left_out(self.everything, self.support, self.weights, self.scale)

    def means(self) -> Vector:
        """The posterior mean of each difference."""
        values, seen = distinct(self.everything)
        mass, first, _ = _mixtures.moments(values, self.support, self.weights, self.scale)
        return np.repeat(values + first / mass, seen)


def _support(values: Vector, scale: float) -> Vector:
    """Where the prior may put its mass: near the values, and everywhere within a few scales of 0."""
    step = max(1.0, np.floor(scale / 3))
    reach = int(6 * scale / step)
    near = np.arange(-reach, reach + 1) * step
    inside = near[(near >= values[0] - step) & (near <= values[-1] + step)]
    far = np.round(values / step) * step
    return np.unique(np.concatenate([inside, far[np.abs(far) > reach * step], [0.0]]))
