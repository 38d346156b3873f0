"""`smoothing` for few cells and many trials at once, without Numba: a small release does not wait for it.

The cells of all trials are cut by halves at the same places, so that each level of cuts is one batch of rows for `_rows`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from jostle.kernel.partition import Counts, Vector
from jostle.linear.shrinkage import _rows
from jostle.linear.shrinkage._mixtures import DRAW
from jostle.linear.shrinkage.bayes import CENTRE_PRICE, CUT_PRICE, EVEN, ROUNDS, SMALLEST_GROUP

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
    whole = _Job.of(np.broadcast_to(np.arange(cells), noisy.shape), noisy)
    ways = [_Way(np.zeros(noisy.shape), [_Node()], [whole])]
    for context in contexts:
        parts = _cut(context, nodes)
        ways.append(_Way(np.zeros(noisy.shape), nodes, [whole, *(_Job.of(part, noisy) for part in parts[1:])]))
    for centre in centres:
        near = np.maximum(centre, 0.0)
        parts, beyond = _cut(near, nodes), noisy - near
        counts = [whole, *(_Job.of(part, noisy) for part in parts[1:])]
        narrow = [job.rows[:, -1] - job.rows[:, 0] < EVEN * scale for job in counts]
        differences = [_Job.of(part, beyond, wanted) for part, wanted in zip(parts, narrow, strict=True)]
        ways.append(_Way(near, nodes, counts, differences))
    counts = list({id(job): job for way in ways for job in way.counts}.values())
    _fit(counts, scale, _rows.of_counts)
    _fit([job for way in ways for job in way.differences], scale, _rows.of_differences)
    best, taken = ways[0].resolve(), np.zeros(trials, dtype=np.int64)
    for number, way in enumerate(ways[1:], 1):
        found = way.resolve()
        better = found > best + DRAW
        best, taken = np.where(better, found, best), np.where(better, number, taken)
    means = np.empty(noisy.shape)
    for number, way in enumerate(ways):
        way.write(taken == number, scale, means)
    return np.maximum(means, 0.0)


@dataclass
class _Node:
    """Cells from a place of an order to another, and the two halves they may be cut into: their places among all nodes."""

    low: int = 0
    high: int = 0
    halves: tuple[int, ...] = ()


def _halves(low: int, high: int, nodes: list[_Node]) -> list[_Node]:
    """All cells, then the first half and what it is cut into, then the second."""
    node = _Node(low, high)
    nodes.append(node)
    if high - low >= 2 * SMALLEST_GROUP:
        middle = low + (high - low) // 2
        left = len(nodes)
        _halves(low, middle, nodes)
        right = len(nodes)
        _halves(middle, high, nodes)
        node.halves = (left, right)
    return nodes


def _cut(by: Vector, nodes: Sequence[_Node]) -> list[Counts]:
    order = np.argsort(by, axis=1, kind="stable")
    return [order[:, node.low : node.high] for node in nodes]


@dataclass
class _Job:
    """Cells that may share a prior, in rising order of their values, one row per trial."""

    cells: Counts
    rows: Vector
    wanted: _rows.Mask
    prior: _rows.Priors = field(init=False)

    @classmethod
    def of(cls, cells: Counts, values: Vector, wanted: _rows.Mask | None = None) -> _Job:
        found = np.take_along_axis(values, cells, axis=1)
        order = np.argsort(found, axis=1, kind="stable")
        rows, cells = np.take_along_axis(found, order, axis=1), np.take_along_axis(cells, order, axis=1)
        return cls(cells, rows, np.ones(len(rows), dtype=bool) if wanted is None else wanted)


@dataclass
class _Way:
    """One way to tell cells apart: what is around each, and the jobs of every node, for counts and for differences."""

    around: Vector
    nodes: Sequence[_Node]
    counts: Sequence[_Job]
    differences: Sequence[_Job] = ()
    chosen: list[tuple[_Job, _rows.Mask]] = field(default_factory=list)

    def resolve(self) -> Vector:
        """The score of each trial's best cut, which is remembered."""
        scores = [job.prior.scores for job in self.counts]
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

    def write(self, trials: _rows.Mask, scale: float, means: Vector) -> None:
        """The posterior means of these trials."""
        for job, chosen in self.chosen:
            rows = np.flatnonzero(chosen & trials)
            if rows.size:
                at = rows[:, None], job.cells[rows]
                means[at] = job.prior[rows].means(job.rows[rows], scale)
                if any(job is other for other in self.differences):
                    means[at] += self.around[at]


def _fit(jobs: Sequence[_Job], scale: float, fit: _rows.Fit) -> None:
    """Find the priors of all jobs: those of about the same length together, and equal rows once."""
    global _work
    jobs = sorted(jobs, key=lambda job: job.rows.shape[1])
    while jobs:
        shortest = jobs[0].rows.shape[1]
        batch = [job for job in jobs if job.rows.shape[1] <= _ALIKE * shortest]
        jobs = jobs[len(batch) :]
        longest = batch[-1].rows.shape[1]
        padded = [np.pad(job.rows, [(0, 0), (0, longest - job.rows.shape[1])], mode="edge") for job in batch]
        sizes = np.repeat([job.rows.shape[1] for job in batch], len(batch[0].rows))
        rows, wanted = np.concatenate(padded), np.concatenate([job.wanted for job in batch])
        place: dict[tuple[int, bytes], int] = {}
        first: list[int] = []
        same = np.zeros(len(rows), dtype=np.int64)
        for number in np.flatnonzero(wanted).tolist():
            same[number] = place.setdefault((sizes[number], rows[number].tobytes()), len(place))
            if same[number] == len(first):
                first.append(number)
        if not first:  # differences alone are left out, and then the job is not looked at: any prior will do
            first = [0]
        found = fit(rows[first], sizes[first], scale)
        _work += len(first) * longest * found.support.shape[1] * 2 * ROUNDS + _OVERHEAD
        for job, where, kept in zip(batch, np.split(same, len(batch)), np.split(wanted, len(batch)), strict=True):
            job.prior = found[where].only(kept)
