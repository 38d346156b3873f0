"""Empirical Bayes: shrink noisy counts towards what the other noisy counts say is likely. Post-processing alone.

The counts of a histogram are a sample from some distribution; noisy counts are that sample with Laplace noise. The prior
that makes them likeliest (Robbins 1956; Laird 1978, the non-parametric maximum likelihood estimate) gives each cell a
posterior mean, whose squared error is far below the noise's where many cells are alike: zeros above all. Cells may be told
apart by public or released *contexts*, such as the noisy mean of their neighbours: a prior for each range of the context,
where the likelihood pays for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from jostle.kernel.partition import Counts, Vector
from jostle.linear.shrinkage import _mixtures
from jostle.linear.shrinkage._mixtures import DRAW

ATOM_PRICE = 3.0
"""The gain in log-likelihood that a further point of a small prior must bring."""

FREE_PRICE = 10.0
"""The gain that a prior of any form must bring over the small ones."""

CUT_PRICE = 6.0
"""The gain that telling two ranges of a context apart must bring."""

CENTRE_PRICE = 3.0
"""The gain in log-likelihood that a prior on differences from the surroundings must bring over one on counts."""

EVEN = 100.0
"""Counts that lie within this many scales may be described by their differences from the surroundings."""

ROUNDS = 40
"""How often the weights of a prior are improved: not to the end, which would fit the noise."""

SMALLEST_GROUP = 16
"""Fewer cells than this do not get a prior of their own."""

NARROW = 30.0
"""Counts within so many scales are described by a prior on few points, if it is likely enough."""

GAP = 10.0
"""Counts beyond so many scales without any are described apart from those below: noise hardly bridges it."""

ENOUGH = 64
"""So many counts below the gap are enough to be described apart: fewer say little of what they have in common."""

SHARP = 1 / 64
"""Noise of a smaller scale hides nothing of a whole number, and its densities are beyond floats: counts stay as they are."""

GRAIN = 16
"""To fit a prior, values are taken to be alike within this fraction of the noise's scale: far less than the noise hides."""
_GROUPS = 16


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


def shrink(noisy: Vector, scale: float, contexts: Sequence[Vector] = (), *, apart: bool = False) -> Shrunk:
    """Posterior means of counts under Laplace noise of that scale, with the best of the contexts or none.

    Counts beyond a gap may be described apart.

    >>> y = np.array([0.0, 1, -1, 0, 2, -2, 0, 1, 50, 0, -1, 0])
    >>> shrink(y, scale=1.0).means.round().astype(int).tolist()
    [0, 0, 0, 0, 0, 0, 0, 0, 50, 0, 0, 0]
    """
    if scale < SHARP:
        return Shrunk(np.maximum(noisy, 0.0), np.full(noisy.size, 2 * scale**2), np.zeros(noisy.size, dtype=np.int64), 0.0)
    score, best = grouped(noisy, scale, contexts, apart=apart)
    means, variances, groups = np.empty(noisy.size), np.empty(noisy.size), np.empty(noisy.size, dtype=np.int64)
    for number, (cells, fit) in enumerate(best):
        means[cells], variances[cells] = fit.posterior()
        groups[cells] = number
    return Shrunk(means, variances, groups, score)


def grouped(
    noisy: Vector, scale: float, contexts: Sequence[Vector], *, apart: bool = False, known: Fits | None = None
) -> tuple[float, list[tuple[Counts, Fit]]]:
    """The best way to tell cells apart by one of the contexts, if any pays: its score, and the prior of each group.

    `known` are fits to groups of these counts, to which those that are made here are added.
    """
    known = {} if known is None else known
    order = np.argsort(noisy, kind="stable")
    everything = fitted(noisy[order], scale, apart=apart, known=known)
    best = everything.score, [(order, everything)]
    for context in contexts:
        found = _cut(noisy, scale, np.argsort(context, kind="stable"), _GROUPS, apart, known)
        if found[0] > best[0] + DRAW:
            best = found
    return best


def shrink_by_scale(noisy: Vector, scales: Vector, contexts: Sequence[Vector] = (), *, apart: bool = False) -> Shrunk:
    """The same where cells differ in the scale of their noise: each scale has priors of its own.

    >>> shrink_by_scale(np.array([0.0, 1.0, 40.0]), np.array([1.0, 1.0, 9.0])).groups.tolist()
    [0, 0, 1]
    """
    means, variances, groups = np.empty(noisy.size), np.empty(noisy.size), np.empty(noisy.size, dtype=np.int64)
    score, number = 0.0, 0
    for scale in np.unique(scales):
        inside = scales == scale
        part = shrink(noisy[inside], float(scale), [context[inside] for context in contexts], apart=apart)
        means[inside], variances[inside], groups[inside] = part.means, part.variances, part.groups + number
        score += part.score
        number += int(part.groups.max()) + 1
    return Shrunk(means, variances, groups, score)


def _cut(
    noisy: Vector, scale: float, cells: Counts, pieces: int, apart: bool, known: Fits
) -> tuple[float, list[tuple[Counts, Fit]]]:
    """The best way to cut cells, in the context's order, by halves: together unless two priors pay for themselves."""
    order = cells[np.argsort(noisy[cells], kind="stable")]
    together = fitted(noisy[order], scale, apart=apart, known=known)
    if pieces == 1 or cells.size < 2 * SMALLEST_GROUP:
        return together.score, [(order, together)]
    half = cells.size // 2
    left = _cut(noisy, scale, cells[:half], pieces // 2, apart, known)
    right = _cut(noisy, scale, cells[half:], pieces // 2, apart, known)
    score = left[0] + right[0] - CUT_PRICE
    return (score, left[1] + right[1]) if score > together.score + DRAW else (together.score, [(order, together)])


def fitted(everything: Vector, scale: float, *, apart: bool, known: Fits) -> Fit:
    """The prior of a group, which is not looked for twice: different contexts often give the same groups."""
    key = everything.tobytes()
    if key not in known:
        known[key] = Fit(everything, scale, apart=apart)
    return known[key]


class Fit:
    """The prior of one group of cells, given by their noisy values in rising order."""

    def __init__(self, everything: Vector, scale: float, *, apart: bool = False) -> None:
        """Counts beyond a gap are described apart, or not: it makes single cells better, and sums over many worse."""
        self.everything, self.scale = everything, scale
        values, seen = distinct(np.round(everything * (GRAIN / scale)) * (scale / GRAIN))
        self.number = everything.size
        support = _mixtures.support_for(values, scale)
        flat = np.full(support.size, 1.0 / support.size)
        self.before, self.weights, likelihood = _mixtures.maximise(values, seen, support, flat, scale, ROUNDS)
        self.support = support
        self.score = likelihood - FREE_PRICE
        self.wide: tuple[Any, Any, Any] = (support, self.before, self.weights)
        gaps = np.flatnonzero(np.diff(values) >= GAP * scale)
        below = int(gaps[0]) + 1 if apart and gaps.size else values.size
        enough = below == values.size or seen[:below].sum() >= ENOUGH
        if enough and values[below - 1] - values[0] < NARROW * scale:
            score, atoms, weights = _few_points(values, seen, support, scale, below)
            if score >= self.score - DRAW:
                self.support, self.weights, self.score = atoms, weights, score

    def means(self) -> Vector:
        """The posterior mean of each cell."""
        values, seen = distinct(self.everything)
        mass, first, _ = _mixtures.moments(values, self.support, self.weights, self.scale)
        return np.repeat(np.maximum(values + first / mass, 0.0), seen)

    def posterior(self) -> tuple[Vector, Vector]:
        """Means under the fitted prior; variances no smaller than without the cell's own part in it."""
        values, seen = distinct(self.everything)
        mass, first, second = _mixtures.moments(values, self.support, self.weights, self.scale)
        shift = first / mass
        variances = np.maximum(second / mass - shift**2, self._without_itself(values))
        return np.repeat(np.maximum(values + shift, 0.0), seen), np.repeat(variances, seen)

    def foretold(self) -> Vector:
        """How likely each noisy count is, given the other cells."""
        return left_out(self.everything, self.support, self.weights, self.scale)

    def _without_itself(self, u: Vector) -> Vector:
        """The posterior variance if the prior had been fitted to the other cells, plus one cell's worth of a flat prior."""
        support, before, after = self.wide
        n, scale = self.number, self.scale
        density = _mixtures.moments(u, support, before, scale)[0]
        own = _mixtures.moments(u, support, before, scale / 2) / density
        flat = _flat_moments(u, scale) / (max(u[-1], 0.0) + 4 * scale)
        mass, first, second = n * _mixtures.moments(u, support, after, scale) - own + flat
        return np.asarray(second / mass - (first / mass) ** 2)


Fits: TypeAlias = dict[bytes, Fit]
"""Fits to groups of cells, by the bytes of their noisy values in rising order."""


def _few_points(values: Vector, seen: Counts, support: Vector, scale: float, below: int) -> tuple[float, Vector, Vector]:
    """A prior on few points for the values below a gap, any prior for those above it, and the penalised log-likelihood.

    A few large counts must not be the reason that all small ones are described by a prior of any form, which finds a little
    of everything among thousands of zeros.
    """
    near, often = values[:below], seen[:below]
    inside = support[support <= max(near[-1], 0.0) + scale]
    atoms, weights, likelihood = _mixtures.few_atoms(near, often, inside, scale, 4, ATOM_PRICE)
    score = likelihood - ATOM_PRICE * (atoms.size - 1)
    if below == values.size:
        return score, atoms, weights
    outside = support[support > (near[-1] + values[below]) / 2]
    flat = np.full(outside.size, 1.0 / outside.size)
    _, rest, likelihood = _mixtures.maximise(values[below:], seen[below:], outside, flat, scale, ROUNDS)
    share = often.sum() / seen.sum()
    score += likelihood + often.sum() * np.log(share) + seen[below:].sum() * np.log1p(-share)
    return score, np.concatenate([atoms, outside]), np.concatenate([share * weights, (1 - share) * rest])


def left_out(values: Vector, support: Vector, weights: Vector, scale: float) -> Vector:
    """The density of each value, given in rising order, under a prior fitted to the others and to one flat cell.

    Fitted to the value itself, too, a prior would seem to foretell whatever was seen.
    """
    different, seen = distinct(values)
    density = _mixtures.moments(different, support, weights, scale)[0]
    own = _mixtures.moments(different, support, weights, scale / 2)[0] / density
    flat = 2 * scale / (values[-1] - values[0] + 4 * scale)
    return np.repeat(np.maximum(density - own / values.size, 0.0) + flat / values.size, seen)


def distinct(values: Vector) -> tuple[Vector, Counts]:
    """The different ones among values in rising order, and how often each is there."""
    first = np.flatnonzero(np.append(True, values[1:] != values[:-1]))
    return values[first], np.diff(np.append(first, values.size))


def _flat_moments(u: Vector, scale: float) -> Vector:
    """The integrals over s ≥ 0 of exp(−|s − u|/scale)·(s − u)^k for k = 0, 1, 2."""
    above, below = np.maximum(u, 0.0), np.minimum(u, 0.0)
    tail, head = np.exp(-above / scale), np.exp(below / scale)
    positive = u >= 0
    zeroth = np.where(positive, 2 - tail, head) * scale
    first = np.where(positive, (above + scale) * tail, (scale - below) * head) * scale
    second = np.where(
        positive,
        4 * scale**2 - (above**2 + 2 * above * scale + 2 * scale**2) * tail,
        ((scale - below) ** 2 + scale**2) * head,
    )
    return np.stack([zeroth, first, second * scale])
