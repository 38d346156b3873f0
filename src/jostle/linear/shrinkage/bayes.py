"""Empirical Bayes: shrink noisy counts towards what the other noisy counts say is likely. Post-processing only.

The counts of a histogram are a sample from some distribution; noisy counts are that sample with Laplace noise. The prior
that makes them likeliest (Robbins 1956; Laird 1978, the non-parametric maximum likelihood estimate) gives each cell a
posterior mean, whose squared error is far below the noise's where many cells are alike: zeros above all. Cells may be
distinguished by public or released *contexts*, such as the noisy mean of their neighbours: a prior for each range
of the context, where the likelihood pays for it.

Where counts change slowly along the domain, a prior on the *difference* from the surroundings says more. `smooth` gives each
group whichever of the two makes its noisy counts likelier, and groups may be smaller. `plateaus` sees runs of cells that
share a level instead. Each cell gets a mean of what the two say, by how well each foretells the cell from the others. That
is for single cells and short ranges: what cells of a group have in common is not known well enough for sums over many.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from jostle.kernel.partition import Counts, Vector
from jostle.linear.shrinkage import small_problems
from jostle.linear.shrinkage.plateaus import plateaus
from jostle.linear.shrinkage.priors import (
    CENTRE_PRICE,
    CUT_PRICE,
    DRAW,
    EVEN,
    SHARP,
    SMALLEST_GROUP,
    CountPrior,
    DifferencePrior,
    GroupPrior,
)

_GROUPS = 16
_GROUPS_AROUND_CENTRES = 64
_GROUPS_OF_UNEVEN_CELLS = 16
_SHARE_ROUNDS = 30

Part: TypeAlias = tuple[Counts, GroupPrior]
"""A group of cells and its prior."""


@dataclass(frozen=True)
class Shrunk:
    """What noisy counts became."""

    means: Vector
    """The posterior mean of each cell."""

    variances: Vector
    """The variance of each around the truth, as if the cell had not been used in its own prior."""

    groups: Counts
    """Which prior each cell was given: cells of one group share an error of their own, by which the prior is off."""

    score: float
    """The penalised log-likelihood: how well the priors describe what was seen."""


def shrink(noisy: Vector, scale: float, contexts: Sequence[Vector] = (), *, split_at_gap: bool = False) -> Shrunk:
    """Posterior means of counts under Laplace noise of that scale, with the best of the contexts or none.

    Counts beyond a gap may be described apart.

    >>> y = np.array([0.0, 1, -1, 0, 2, -2, 0, 1, 50, 0, -1, 0])
    >>> shrink(y, scale=1.0).means.round().astype(int).tolist()
    [0, 0, 0, 0, 0, 0, 0, 0, 50, 0, 0, 0]
    """
    if scale < SHARP:
        return Shrunk(np.maximum(noisy, 0.0), np.full(noisy.size, 2 * scale**2), np.zeros(noisy.size, dtype=np.int64), 0.0)
    score, best = _Partitions(noisy, scale, split_at_gap=split_at_gap).best(contexts)
    means, variances, groups = np.empty(noisy.size), np.empty(noisy.size), np.empty(noisy.size, dtype=np.int64)
    for number, (cells, prior) in enumerate(best):
        means[cells], variances[cells] = prior.posterior()
        groups[cells] = number
    return Shrunk(means, variances, groups, score)


def shrink_by_scale(noisy: Vector, scales: Vector, contexts: Sequence[Vector] = (), *, split_at_gap: bool = False) -> Shrunk:
    """The same where cells differ in the scale of their noise: each scale has priors of its own.

    >>> shrink_by_scale(np.array([0.0, 1.0, 40.0]), np.array([1.0, 1.0, 9.0])).groups.tolist()
    [0, 0, 1]
    """
    means, variances, groups = np.empty(noisy.size), np.empty(noisy.size), np.empty(noisy.size, dtype=np.int64)
    score, number = 0.0, 0
    for scale in np.unique(scales):
        inside = scales == scale
        part = shrink(noisy[inside], float(scale), [context[inside] for context in contexts], split_at_gap=split_at_gap)
        means[inside], variances[inside], groups[inside] = part.means, part.variances, part.groups + number
        score += part.score
        number += int(part.groups.max()) + 1
    return Shrunk(means, variances, groups, score)


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
    opinions = [_opinion(*_grouped(noisy, scale, contexts, centres))]
    if not ways:
        return opinions[0].means
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


class _Partitions:
    """Ways to tell cells apart. The priors of groups are kept, as different ways often give the same groups."""

    def __init__(self, noisy: Vector, scale: float, *, split_at_gap: bool) -> None:
        self.noisy, self.scale, self.split_at_gap = noisy, scale, split_at_gap
        self.known: dict[bytes, CountPrior] = {}

    def best(self, contexts: Sequence[Vector]) -> tuple[float, list[Part]]:
        """The best way to tell cells apart by one of the contexts, if any pays: its score, and the prior of each group."""
        best = self.together(np.arange(self.noisy.size))
        for context in contexts:
            found = self.cut(np.argsort(context, kind="stable"), _GROUPS)
            if found[0] > best[0] + DRAW:
                best = found
        return best

    def together(self, cells: Counts) -> tuple[float, list[Part]]:
        """One prior on counts for these cells."""
        order = cells[np.argsort(self.noisy[cells], kind="stable")]
        values = self.noisy[order]
        key = values.tobytes()
        if key not in self.known:
            self.known[key] = CountPrior(values, self.scale, split_at_gap=self.split_at_gap)
        return self.known[key].score, [(order, self.known[key])]

    def cut(self, cells: Counts, pieces: int, beyond: Vector | None = None) -> tuple[float, list[Part]]:
        """The best way to cut cells, in the given order, by halves: together unless two priors pay for themselves.

        `beyond` is what cells have beyond their surroundings. A group then has a prior on that, if it is likelier. Counts
        that lie far apart each look like a kind of their own, which no likelihood can tell from a pattern: such groups are
        not cut finely, and have priors on counts only.
        """
        score, parts = self.together(cells)
        order = parts[0][0]
        fine = beyond is None or self.noisy[order[-1]] - self.noisy[order[0]] < EVEN * self.scale
        if beyond is not None and fine:
            order = cells[np.argsort(beyond[cells], kind="stable")]
            differences = DifferencePrior(beyond[order], self.scale)
            if differences.score - CENTRE_PRICE > score + DRAW:
                score, parts = differences.score - CENTRE_PRICE, [(order, differences)]
        fine = fine or pieces > _GROUPS_AROUND_CENTRES // _GROUPS_OF_UNEVEN_CELLS
        if pieces == 1 or cells.size < 2 * SMALLEST_GROUP or not fine:
            return score, parts
        half = cells.size // 2
        left, right = (self.cut(part, pieces // 2, beyond) for part in (cells[:half], cells[half:]))
        apart = left[0] + right[0] - CUT_PRICE
        return (apart, left[1] + right[1]) if apart > score + DRAW else (score, parts)


def _grouped(
    noisy: Vector, scale: float, contexts: Sequence[Vector], centres: Sequence[Vector]
) -> tuple[Vector, Sequence[Part]]:
    """The likeliest way to tell cells apart by one of the contexts, or to see them around one of the centres.

    Gives that centre, or zeros, and the prior of each group.
    """
    groups = _Partitions(noisy, scale, split_at_gap=True)
    score, parts = groups.best(contexts)
    around = np.zeros(noisy.size)
    for centre in centres:
        near = np.maximum(centre, 0.0)
        found, pieces = groups.cut(np.argsort(near, kind="stable"), _GROUPS_AROUND_CENTRES, noisy - near)
        if found > score + DRAW:
            score, parts, around = found, pieces, near
    return around, parts


def _opinion(around: Vector, parts: Sequence[Part]) -> Opinion:
    means, foretold = np.empty((2, around.size))
    for cells, prior in parts:
        means[cells] = prior.means() + (around[cells] if isinstance(prior, DifferencePrior) else 0.0)
        foretold[cells] = prior.foretold()
    return Opinion(np.maximum(means, 0.0), foretold)
