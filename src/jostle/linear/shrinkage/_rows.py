"""Priors for many short rows of noisy counts at once, in NumPy: what `_mixtures` does, for small problems.

Loading Numba takes longer than answering a hundred cells. Here the kernel exp(−|u − s|/scale) is a whole matrix for each
row, and every step of EM is a product with it, for all rows together. That takes quadratic time per row, but none to load.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from jostle.kernel.partition import Counts, Vector
from jostle.linear.shrinkage._mixtures import DRAW, TIE
from jostle.linear.shrinkage.bayes import ATOM_PRICE, ENOUGH, FREE_PRICE, GAP, GRAIN, NARROW, ROUNDS

Mask: TypeAlias = NDArray[np.bool_]

MOST_ATOMS = 4
"""As many points as a small prior may have."""

_ATOM_ROUNDS = 15
_AT_ONCE = 2**16
"""So many entries of kernels are worked on at once: they should stay in the processor's cache."""


@dataclass(frozen=True)
class Priors:
    """The prior that was fitted to each row."""

    support: Vector
    """Its points, one row per prior; those that it does not use have no weight."""

    weights: Vector
    """The weight of each."""

    scores: Vector
    """The penalised log-likelihood of each row."""

    def means(self, rows: Vector, scale: float) -> Vector:
        """The posterior mean of each value of these rows."""
        out = np.empty(rows.shape)
        for part in _parts(len(rows), rows.shape[1] * self.support.shape[1]):
            distance = self.support[part, None, :] - rows[part, :, None]
            mass = np.exp(np.abs(distance) / -scale)
            mass *= self.weights[part, None, :]
            first = np.matmul(mass[:, :, None, :], distance[:, :, :, None])[:, :, 0, 0]
            out[part] = rows[part] + first / mass.sum(axis=2)
        return out

    def __getitem__(self, rows: Any) -> Priors:
        return Priors(self.support[rows], self.weights[rows], self.scores[rows])

    def only(self, rows: Mask) -> Priors:
        """The same, where the rows that are not marked have no chance to be taken."""
        return Priors(self.support, self.weights, np.where(rows, self.scores, -np.inf))


Fit: TypeAlias = Callable[[Vector, Counts, float], Priors]
"""Fits a prior to each row, given the rows, how many of their values count, and the scale of the noise."""


def of_counts(rows: Vector, sizes: Counts, scale: float) -> Priors:
    """Priors on counts, as `jostle.linear.shrinkage.bayes.Fit` has them, with counts beyond a gap described apart.

    Each row is in rising order; only its first values count, as many as `sizes` says.

    >>> found = of_counts(np.array([[0.0, 1.0, 50.0], [2.0, 2.0, 2.0]]), np.array([3, 3]), 1.0)
    >>> found.means(np.array([[0.0, 1.0, 50.0], [2.0, 2.0, 2.0]]), 1.0).round().tolist()
    [[0.0, 1.0, 50.0], [2.0, 2.0, 2.0]]
    """
    values = _rounded(rows, scale)
    largest = _last(values, sizes)
    step = max(1.0, np.floor(scale / 3))
    near = np.minimum(largest, 4 * scale + 8.0)[:, None]
    grid = np.arange(int((4 * scale + 8.0) / step) + 1) * step
    inside = (grid <= near) | (grid == 0.0)
    last = np.where(inside, grid, 0.0).max(axis=1, keepdims=True)
    points = np.round(values / step) * step
    support, number = _compact(
        np.concatenate(
            [np.where(inside, grid, np.inf), np.where(_new(points, sizes) & (points > last), points, np.inf)], axis=1
        )
    )
    jumps = (np.diff(values, axis=1) >= GAP * scale) & (np.arange(1, values.shape[1]) < sizes[:, None])
    below = np.where(jumps.any(axis=1), jumps.argmax(axis=1) + 1 if jumps.size else 0, sizes)
    below = np.where((below == sizes) | (below >= ENOUGH), below, 0)
    return _fitted(values, sizes, support, number, below, scale, lowest=0.0)


def of_differences(rows: Vector, sizes: Counts, scale: float) -> Priors:
    """Priors on differences from the surroundings, as `jostle.linear.shrinkage.smoothing.Differences` has them.

    >>> rows = np.array([[-1.0, 0.0, 0.0, 1.0]])
    >>> bool(np.abs(of_differences(rows, np.array([4]), 1.0).means(rows, 1.0)).max() < 0.5)
    True
    """
    values = _rounded(rows, scale)
    step = max(1.0, np.floor(scale / 3))
    reach = int(6 * scale / step)
    grid = np.arange(-reach, reach + 1) * step
    inside = (grid >= values[:, :1] - step) & (grid <= _last(values, sizes)[:, None] + step) | (grid == 0.0)
    points = np.round(values / step) * step
    far = _new(points, sizes) & (np.abs(points) > reach * step)
    support, number = _compact(np.concatenate([np.where(inside, grid, np.inf), np.where(far, points, np.inf)], axis=1))
    return _fitted(values, sizes, support, number, sizes, scale, lowest=-np.inf)


def _fitted(
    values: Vector, sizes: Counts, support: Vector, number: Counts, below: Counts, scale: float, *, lowest: float
) -> Priors:
    """Of each row, a prior of any form, or one on few points if that is likely enough, for the first values at least."""
    found = [
        _fitted_at_once(values[part], sizes[part], support[part], number[part], below[part], scale, lowest)
        for part in _parts(len(values), values.shape[1] * support.shape[1])
    ]
    return Priors(*(np.concatenate(pieces) for pieces in zip(*found, strict=True)))


def _fitted_at_once(
    values: Vector, sizes: Counts, support: Vector, number: Counts, below: Counts, scale: float, lowest: float
) -> tuple[Vector, Vector, Vector]:
    seen = (np.arange(values.shape[1]) < sizes[:, None]).astype(np.float64)
    usable = np.arange(support.shape[1]) < number[:, None]
    kernel = _kernel(values, support, seen, scale)
    _, weights, likelihood = maximise(kernel, seen, usable / number[:, None], ROUNDS)
    scores = likelihood - FREE_PRICE
    atoms, shares = np.zeros((2, len(values), MOST_ATOMS))
    span = np.take_along_axis(values, np.maximum(below - 1, 0)[:, None], axis=1)[:, 0] - values[:, 0]
    rows = np.flatnonzero((below > 0) & (span < NARROW * scale))
    if rows.size:
        small = _few_points(kernel[rows], values[rows], sizes[rows], support[rows], usable[rows], below[rows], scale, lowest)
        better = small[0] >= scores[rows] - DRAW
        rows = rows[better]
        scores[rows], atoms[rows], shares[rows], weights[rows] = (found[better] for found in small)
    return np.concatenate([support, atoms], axis=1), np.concatenate([weights, shares], axis=1), scores


def _few_points(
    kernel: Vector,
    values: Vector,
    sizes: Counts,
    support: Vector,
    usable: Mask,
    below: Counts,
    scale: float,
    lowest: float,
) -> tuple[Vector, Vector, Vector, Vector]:
    """Scores, few points with their weights for the values below a gap, and weights of the support for those above it."""
    cells = np.arange(values.shape[1])
    near = (cells < below[:, None]).astype(np.float64)
    top = _last(values, below)
    inside = usable if lowest == -np.inf else usable & (support <= np.maximum(top, 0.0)[:, None] + scale)
    atoms, weights, likelihood = few_atoms(kernel, values, near, support, inside, below, scale, lowest)
    scores = likelihood - ATOM_PRICE * (np.isfinite(atoms).sum(axis=1) - 1)
    rest = np.zeros(support.shape)
    cut = np.flatnonzero(below < sizes)
    if cut.size:
        beyond = np.take_along_axis(values[cut], below[cut, None], axis=1)[:, 0]
        far = ((cells >= below[cut, None]) & (cells < sizes[cut, None])).astype(np.float64)
        outside = usable[cut] & (support[cut] > (top[cut] + beyond)[:, None] / 2)
        flat = outside / outside.sum(axis=1, keepdims=True)
        share = below[cut] / sizes[cut]
        _, found, likelihood = maximise(_only(kernel[cut], far), far, flat, ROUNDS)
        scores[cut] += likelihood + below[cut] * np.log(share) + (sizes - below)[cut] * np.log1p(-share)
        rest[cut] = (1 - share)[:, None] * found
        weights[cut] *= share[:, None]
    return scores, np.where(np.isfinite(atoms), atoms, 0.0), weights, rest


def maximise(kernel: Vector, seen: Vector, weights: Vector, rounds: int) -> tuple[Vector, Vector, Vector]:
    """EM for each row: the last two weights and the log-likelihood, as `_mixtures.maximise` gives them.

    Values that were not seen must have a kernel of ones.
    """
    share = seen / seen.sum(axis=1, keepdims=True)
    before = weights
    for _ in range(rounds):
        density = np.matmul(kernel, weights[:, :, None])[:, :, 0]
        before = weights
        weights = np.matmul((share / density)[:, None, :], kernel)[:, 0, :]
        weights *= before
    return before, weights, (seen * np.log(density)).sum(axis=1)


def few_atoms(
    kernel: Vector,
    values: Vector,
    seen: Vector,
    support: Vector,
    inside: Mask,
    sizes: Counts,
    scale: float,
    lowest: float,
) -> tuple[Vector, Vector, Vector]:
    """For each row a prior on one to four points, infinite where there are fewer; their weights; and the log-likelihood."""
    number = len(values)
    middle = np.maximum(np.take_along_axis(values, (sizes // 2)[:, None], axis=1), lowest)
    atoms = np.full((number, MOST_ATOMS), np.inf)
    atoms[:, :1] = middle
    weights = np.zeros((number, MOST_ATOMS))
    weights[:, 0] = 1.0
    best = (seen * np.abs(values - middle)).sum(axis=1) / -scale
    rows = np.arange(number)
    for more in range(2, MOST_ATOMS + 1):
        density = np.matmul(
            _kernel(values[rows], atoms[rows, : more - 1], seen[rows], scale), weights[rows, : more - 1, None]
        )
        possible = density[:, :, 0].min(axis=1) >= 1e-250
        rows, density = rows[possible], density[possible, :, 0]
        if not rows.size:
            break
        pulls = np.matmul((seen[rows] / density)[:, None, :], kernel[rows])[:, 0, :]
        pulls = np.where(inside[rows], pulls, -1.0)
        place = (pulls >= pulls.max(axis=1, keepdims=True) * (1 - TIE)).argmax(axis=1)
        wanted = support[rows, place]
        fresh = (atoms[rows, : more - 1] != wanted[:, None]).all(axis=1)
        rows, wanted = rows[fresh], wanted[fresh]
        if not rows.size:
            break
        tried = np.sort(np.concatenate([atoms[rows, : more - 1], wanted[:, None]], axis=1), axis=1)
        flat = np.full(tried.shape, 1.0 / more)
        _, found, total = maximise(_kernel(values[rows], tried, seen[rows], scale), seen[rows], flat, _ATOM_ROUNDS)
        pays = total - best[rows] >= ATOM_PRICE - DRAW
        rows = rows[pays]
        atoms[rows, :more], weights[rows, :more], best[rows] = tried[pays], found[pays], total[pays]
    return atoms, weights, best


def _kernel(values: Vector, support: Vector, seen: Vector, scale: float) -> Vector:
    """exp(−|u − s|/scale) for each value and each point of a row; ones for values that were not seen."""
    out = values[:, :, None] - support[:, None, :]
    np.abs(out, out=out)
    out /= -scale
    np.exp(out, out=out)
    return _only(out, seen)


def _only(kernel: Vector, seen: Vector) -> Vector:
    """Ones for values that were not seen, in place: their density is then 1, whose logarithm is 0."""
    if not seen.all():
        kernel[seen == 0] = 1.0
    return kernel


def _rounded(rows: Vector, scale: float) -> Vector:
    return np.asarray(np.round(rows * (GRAIN / scale)) * (scale / GRAIN))


def _last(values: Vector, sizes: Counts) -> Vector:
    return np.asarray(np.take_along_axis(values, np.maximum(sizes - 1, 0)[:, None], axis=1)[:, 0])


def _new(points: Vector, sizes: Counts) -> Mask:
    """Where points in rising order differ from the one before them."""
    fresh = np.ones(points.shape, dtype=bool)
    fresh[:, 1:] = points[:, 1:] != points[:, :-1]
    return np.asarray(fresh & (np.arange(points.shape[1]) < sizes[:, None]))


def _compact(points: Vector) -> tuple[Vector, Counts]:
    """The finite points of each row in rising order, with zeros behind them, and how many there are."""
    number = np.isfinite(points).sum(axis=1)
    points = np.sort(points, axis=1)[:, : number.max()]
    return np.where(np.isfinite(points), points, 0.0), number


def _parts(rows: int, entries: int) -> list[slice]:
    """Rows to be worked on at once."""
    step = max(1, _AT_ONCE // max(entries, 1))
    return [slice(first, first + step) for first in range(0, rows, step)]
