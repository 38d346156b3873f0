"""`bayes.smooth` for few cells and many trials at once, without Numba: a small release does not wait for it.

Loading Numba takes longer than answering a hundred cells. Here the kernel exp(−|u − s|/scale) is a whole matrix for each
row, and every step of EM is a product with it, for all rows together. That takes quadratic time per row, but none to load.
The cells of all trials are cut by halves at the same places, so that each level of cuts is one batch of rows.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from jostle.kernel.partition import Counts, Vector
from jostle.linear.shrinkage.priors import (
    ATOM_PRICE,
    CENTRE_PRICE,
    CUT_PRICE,
    DRAW,
    ENOUGH,
    EVEN,
    FREE_PRICE,
    GAP,
    MOST_ATOMS,
    NARROW,
    ROUNDS,
    SMALLEST_GROUP,
    TIE,
    count_supports,
    difference_supports,
    last_values,
    rounded,
)

Mask: TypeAlias = NDArray[np.bool_]

FEW = 128
"""Fewer cells than this are smoothed in NumPy, unless Numba is loaded already: loading it takes longer than all the work.

Limits on the number of groups do not matter for so few cells, and runs of equal cells are not looked for.
"""

PATIENCE = 4e9
"""After about this many multiplications in NumPy, loops go to Numba after all: it is faster where there is much to do.

A release of 100 cells and its error bars take a tenth of this.
"""

_ALIKE = 1.25
"""Rows are fitted together, and padded, if the longest is at most this many times as long as the shortest."""

_OVERHEAD = 2e6
"""What the calls into NumPy for one batch cost, in multiplications."""

_ATOM_ROUNDS = 15
_AT_ONCE = 2**16
"""This many entries of kernels are worked on at once: they should stay in the processor's cache."""

_work = 0.0


def suits(cells: int) -> bool:
    """Whether this many cells are smoothed here: they are few, and Numba is not loaded, nor would it have paid by now.

    >>> suits(100_000)
    False
    """
    return cells < FEW and _work < PATIENCE and "numba" not in sys.modules


def smooth_rows(noisy: Vector, scale: float, contexts: Sequence[Vector], centres: Sequence[Vector]) -> Vector:
    """Posterior means of counts, one row per trial: in groups by context, or around one of the centres.

    >>> noisy = np.array([[0.0, 1, -1, 0, 2, -2, 0, 1, 50, 0, -1, 0]])
    >>> smooth_rows(noisy, 1.0, [], []).round().astype(int).tolist()
    [[0, 0, 0, 0, 0, 0, 0, 0, 50, 0, 0, 0]]
    """
    trials, cells = noisy.shape
    nodes = _halves(0, cells, [])
    whole = _CellsOfOnePrior.of(np.broadcast_to(np.arange(cells), noisy.shape), noisy)
    groupings = [_Grouping(np.zeros(noisy.shape), [_RangeOfOrder()], [whole])]
    for context in contexts:
        parts = _cut(context, nodes)
        groupings.append(
            _Grouping(np.zeros(noisy.shape), nodes, [whole, *(_CellsOfOnePrior.of(part, noisy) for part in parts[1:])])
        )
    for centre in centres:
        near = np.maximum(centre, 0.0)
        parts, beyond = _cut(near, nodes), noisy - near
        counts = [whole, *(_CellsOfOnePrior.of(part, noisy) for part in parts[1:])]
        narrow = [group.rows[:, -1] - group.rows[:, 0] < EVEN * scale for group in counts]
        differences = [_CellsOfOnePrior.of(part, beyond, wanted) for part, wanted in zip(parts, narrow, strict=True)]
        groupings.append(_Grouping(near, nodes, counts, differences))
    counts = list({id(group): group for grouping in groupings for group in grouping.counts}.values())
    _fit(counts, scale, of_counts)
    _fit([group for grouping in groupings for group in grouping.differences], scale, of_differences)
    best, chosen = groupings[0].resolve(), np.zeros(trials, dtype=np.int64)
    for number, grouping in enumerate(groupings[1:], 1):
        found = grouping.resolve()
        better = found > best + DRAW
        best, chosen = np.where(better, found, best), np.where(better, number, chosen)
    means = np.empty(noisy.shape)
    for number, grouping in enumerate(groupings):
        grouping.write(chosen == number, scale, means)
    return np.maximum(means, 0.0)


@dataclass
class _RangeOfOrder:
    """Cells from a place of an order to another, and the two halves they may be cut into: their places among all nodes."""

    low: int = 0
    high: int = 0
    halves: tuple[int, ...] = ()


def _halves(low: int, high: int, nodes: list[_RangeOfOrder]) -> list[_RangeOfOrder]:
    """All cells, then the first half and what it is cut into, then the second."""
    node = _RangeOfOrder(low, high)
    nodes.append(node)
    if high - low >= 2 * SMALLEST_GROUP:
        middle = low + (high - low) // 2
        left = len(nodes)
        _halves(low, middle, nodes)
        right = len(nodes)
        _halves(middle, high, nodes)
        node.halves = (left, right)
    return nodes


def _cut(by: Vector, nodes: Sequence[_RangeOfOrder]) -> list[Counts]:
    order = np.argsort(by, axis=1, kind="stable")
    return [order[:, node.low : node.high] for node in nodes]


@dataclass
class _CellsOfOnePrior:
    """Cells that may share a prior, in rising order of their values, one row per trial."""

    cells: Counts
    rows: Vector
    wanted: Mask
    prior: Priors = field(init=False)

    @classmethod
    def of(cls, cells: Counts, values: Vector, wanted: Mask | None = None) -> _CellsOfOnePrior:
        found = np.take_along_axis(values, cells, axis=1)
        order = np.argsort(found, axis=1, kind="stable")
        rows, cells = np.take_along_axis(found, order, axis=1), np.take_along_axis(cells, order, axis=1)
        return cls(cells, rows, np.ones(len(rows), dtype=bool) if wanted is None else wanted)


@dataclass
class _Grouping:
    """One way to tell cells apart: what is around each, and the groups of every node, for counts and for differences."""

    around: Vector
    nodes: Sequence[_RangeOfOrder]
    counts: Sequence[_CellsOfOnePrior]
    differences: Sequence[_CellsOfOnePrior] = ()
    chosen: list[tuple[_CellsOfOnePrior, Mask]] = field(default_factory=list)

    def resolve(self) -> Vector:
        """The score of each trial's best cut, which is remembered."""
        scores = [group.prior.scores for group in self.counts]
        apart = [np.zeros(len(scores[0]), dtype=bool) for _ in self.nodes]
        split = apart.copy()
        for place in reversed(range(len(self.nodes))):
            if self.differences:
                other = self.differences[place].prior.scores - CENTRE_PRICE
                apart[place] = other > scores[place] + DRAW
                scores[place] = np.where(apart[place], other, scores[place])
            if self.nodes[place].halves:
                cut = sum(scores[half] for half in self.nodes[place].halves) - CUT_PRICE
                split[place] = cut > scores[place] + DRAW
                scores[place] = np.where(split[place], cut, scores[place])
        reached = {0: np.ones(len(scores[0]), dtype=bool)}
        for place, node in enumerate(self.nodes):
            here = reached[place] & ~split[place]
            self.chosen.append((self.counts[place], here & ~apart[place]))
            if self.differences:
                self.chosen.append((self.differences[place], here & apart[place]))
            reached |= dict.fromkeys(node.halves, reached[place] & split[place])
        return scores[0]

    def write(self, trials: Mask, scale: float, means: Vector) -> None:
        """The posterior means of these trials."""
        for group, chosen in self.chosen:
            rows = np.flatnonzero(chosen & trials)
            if rows.size:
                at = rows[:, None], group.cells[rows]
                means[at] = group.prior[rows].means(group.rows[rows], scale)
                if any(group is other for other in self.differences):
                    means[at] += self.around[at]


def _fit(groups: Sequence[_CellsOfOnePrior], scale: float, fit: FitRows) -> None:
    """Find the priors of all groups: those of about the same length together, and equal rows once."""
    global _work
    groups = sorted(groups, key=lambda group: group.rows.shape[1])
    while groups:
        shortest = groups[0].rows.shape[1]
        batch = [group for group in groups if group.rows.shape[1] <= _ALIKE * shortest]
        groups = groups[len(batch) :]
        longest = batch[-1].rows.shape[1]
        padded = [np.pad(group.rows, [(0, 0), (0, longest - group.rows.shape[1])], mode="edge") for group in batch]
        sizes = np.repeat([group.rows.shape[1] for group in batch], len(batch[0].rows))
        rows, wanted = np.concatenate(padded), np.concatenate([group.wanted for group in batch])
        place: dict[tuple[int, bytes], int] = {}
        first: list[int] = []
        same = np.zeros(len(rows), dtype=np.int64)
        for number in np.flatnonzero(wanted).tolist():
            same[number] = place.setdefault((sizes[number], rows[number].tobytes()), len(place))
            if same[number] == len(first):
                first.append(number)
        if not first:  # only differences are left out, and then the group is not looked at: any prior will do
            first = [0]
        found = fit(rows[first], sizes[first], scale)
        _work += len(first) * longest * found.support.shape[1] * 2 * ROUNDS + _OVERHEAD
        for group, where, kept in zip(batch, np.split(same, len(batch)), np.split(wanted, len(batch)), strict=True):
            group.prior = found[where].only(kept)


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


FitRows: TypeAlias = Callable[[Vector, Counts, float], Priors]
"""Fits a prior to each row, given the rows, how many of their values count, and the scale of the noise."""


def of_counts(rows: Vector, sizes: Counts, scale: float) -> Priors:
    """Priors on counts, as `CountPrior` has them, with counts beyond a gap described apart.

    Each row is in rising order; only its first values count, as many as `sizes` says.

    >>> found = of_counts(np.array([[0.0, 1.0, 50.0], [2.0, 2.0, 2.0]]), np.array([3, 3]), 1.0)
    >>> found.means(np.array([[0.0, 1.0, 50.0], [2.0, 2.0, 2.0]]), 1.0).round().tolist()
    [[0.0, 1.0, 50.0], [2.0, 2.0, 2.0]]
    """
    values = rounded(rows, scale)
    support, number = count_supports(values, sizes, scale)
    jumps = (np.diff(values, axis=1) >= GAP * scale) & (np.arange(1, values.shape[1]) < sizes[:, None])
    below = np.where(jumps.any(axis=1), jumps.argmax(axis=1) + 1 if jumps.size else 0, sizes)
    below = np.where((below == sizes) | (below >= ENOUGH), below, 0)
    return _fitted(values, sizes, support, number, below, scale, lowest=0.0)


def of_differences(rows: Vector, sizes: Counts, scale: float) -> Priors:
    """Priors on differences from the surroundings, as `DifferencePrior` has them.

    >>> rows = np.array([[-1.0, 0.0, 0.0, 1.0]])
    >>> bool(np.abs(of_differences(rows, np.array([4]), 1.0).means(rows, 1.0)).max() < 0.5)
    True
    """
    values = rounded(rows, scale)
    support, number = difference_supports(values, sizes, scale)
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
    top = last_values(values, below)
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
    """EM for each row: the last two weights and the log-likelihood, as `priors.maximise` gives them.

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


def _parts(rows: int, entries: int) -> list[slice]:
    """Rows to be worked on at once."""
    step = max(1, _AT_ONCE // max(entries, 1))
    return [slice(first, first + step) for first in range(0, rows, step)]
