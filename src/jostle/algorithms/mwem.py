"""MWEM: multiplicative weights, led by the query that is known worst (Hardt, Ligett, McSherry 2012)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import inf, log10
from typing import Any

import numpy as np

from jostle.algorithms._parameter_rules import SHARE, whole_number
from jostle.algorithms.registry import algorithm
from jostle.kernel.arguments import LARGEST_TOTAL
from jostle.kernel.budget import Budget
from jostle.kernel.compiled import compiled
from jostle.kernel.functions.scores import QueryDistance
from jostle.kernel.partition import Counts, Partition, Vector
from jostle.kernel.source import Source
from jostle.kernel.strategies import Boxes, Identity, Matrix, Prefix, Strategy, identity, matrix, total
from jostle.workloads import Workload

ROUNDS = {1: ([2, 3, 4, 5, 6, 7], [4, 8, 12, 60, 80, 140]), 2: ([3, 4, 5, 6], [12, 32, 60, 140])}
"""DPBench's rounds by the logarithm of the number of records times ε, for lines and grids."""

DOUBT = 0.1
"""How far an answer may be missed for evenness: this many standard deviations of its noise, times its log-weight.
Set on public histograms, DPBench's; between 0.05 and 0.2 it hardly matters."""


@algorithm(
    name="MWEM",
    tasks=("range-1d", "range-2d"),
    cite="hardt2012simple",
    data_dependent=True,
    takes={"rounds": whole_number(1, 10_000), "to_select": SHARE, "sweeps": whole_number(1, 10_000)},
)
def mwem(
    x: Source, workload: Workload, budget: Budget, *, rounds: int = 10, to_select: float = 0.5, sweeps: int | None = None
) -> Vector:
    """In each round, measure the query that is answered worst, and reweigh the estimate to fit (Figure 1, Section 2.1).

    The paper replays the history in a hundred sweeps of small steps a round (`sweeps=100`), which never gets to the answers
    of large data and chases the noise of small ones. Here the estimate is where such steps lead to in the end, the most even
    vector that fits the measured answers, each with a doubt in proportion to its noise. (Workloads that are not made of
    boxes are replayed.) Where the total is not public, the cells outside a query are counted with those inside: a record is
    in one of the two, so it costs nothing.

    Privacy: one Laplace measurement of the total, with the share of one query (none where the total is public), then in each
    round a private choice (`to_select` of the round's share) and a Laplace measurement of the chosen query and its
    complement. The paper starts from the true number of records, which nobody paid for: docs/proofs/mwem.md.
    """
    return _learn(x, workload, budget, _Count.public(x), rounds, to_select, sweeps)


@algorithm(
    name="MWEM-adaptive",
    tasks=("range-1d", "range-2d"),
    cite="hay2016principled",
    data_dependent=True,
    takes={"to_rounds": SHARE, "to_select": SHARE, "sweeps": whole_number(1, 10_000)},
)
def mwem_adaptive(
    x: Source,
    workload: Workload,
    budget: Budget,
    *,
    to_rounds: float = 0.02,
    to_select: float = 0.5,
    sweeps: int | None = None,
) -> Vector:
    """MWEM with the more rounds the more records there are, as trained in DPBench (Section 6.4: MWEM*).

    Privacy: the number of rounds follows from a Laplace measurement of the total with `to_rounds` of the budget, or from the
    total itself where it is public; then as MWEM.
    """
    count, signal = _Count.public(x), budget.rate
    if x.total is None:
        first, budget = budget.split(to_rounds, 1 - to_rounds)
        count.measure(x, first)
    return _learn(x, workload, budget, count, rounds_for(count.records * signal, len(x.shape)), to_select, sweeps)


def rounds_for(signal: float, dimensions: int) -> int:
    """DPBench's table, between whose entries the rounds go with the logarithm.

    >>> rounds_for(1e4, 1), rounds_for(10**4.5, 1), rounds_for(1e9, 2)
    (12, 36, 140)
    """
    return round(float(np.interp(log10(max(signal, 1e-9)), *ROUNDS[dimensions])))


@dataclass
class _Count:
    """What is known about the number of records."""

    estimate: float
    variance: float

    @classmethod
    def public(cls, x: Source) -> _Count:
        """The number itself where it is public, else nothing."""
        return cls(0.0, inf) if x.total is None else cls(float(x.total), 0.0)

    @property
    def records(self) -> float:
        """At least one, and no more than there can be."""
        return min(max(self.estimate, 1.0), float(LARGEST_TOTAL))

    def measure(self, x: Source, budget: Budget) -> None:
        self.learn(float(x.measure(total(x.shape), budget)[0]), x.noise_variance(total(x.shape), budget))

    def learn(self, estimate: float, variance: float) -> None:
        """Average with another estimate, by precision."""
        if self.variance == inf:
            self.estimate, self.variance = estimate, variance
        elif self.variance > 0:
            self.estimate += (estimate - self.estimate) * self.variance / (self.variance + variance)
            self.variance *= variance / (self.variance + variance)


def _learn(
    x: Source, workload: Workload, budget: Budget, count: _Count, rounds: int, to_select: float, sweeps: int | None
) -> Vector:
    shares = [to_select, 1 - to_select] * rounds
    if x.total is None:
        first, *tokens = budget.split(1 - to_select, *shares)
        count.measure(x, first)
    else:
        tokens = list(budget.split(*shares))
    history = _History(workload.queries, sweeps)
    estimate: Vector = np.full(x.size, count.records / x.size)
    for select, measure in zip(tokens[::2], tokens[1::2], strict=True):
        distance = QueryDistance(workload.queries, workload @ estimate, grain=_grain(workload.queries))
        worst = x.choose(range(workload.queries.rows), distance, select)
        history.measure(x, worst, measure, count)
        estimate = history.reweigh(estimate * (count.records / estimate.sum()))
    return estimate


def _grain(queries: Strategy) -> int:
    """As finely as distances can be compared exactly."""
    low, high = queries.bounds
    return min(2**10, max(1, 2**60 // (max(-low, high) * LARGEST_TOTAL)))


@cache
def _first_of_two() -> Matrix:
    return matrix([[1, 0]])


@dataclass
class _NoisyQuery:
    """A query, and its noisy answer: a number plus a share of the number of records."""

    query: int
    answer: float
    share: float
    variance: float


class _History:
    """The queries measured so far, and the most even vector that fits them."""

    def __init__(self, queries: Strategy, sweeps: int | None) -> None:
        self._queries = queries
        self._sweeps = sweeps or (None if isinstance(queries, (Identity, Prefix, Boxes)) else 100)
        self._measured: list[_NoisyQuery] = []
        self._multipliers = np.zeros(0)

    def measure(self, x: Source, query: int, budget: Budget, count: _Count) -> None:
        """Measure a query, with its complement where that tells something, and note it down."""
        row = _row(self._queries, query)
        if not ((row == 0) | (row == 1)).all():
            measured = matrix(row[None], x.shape)
            self._add(query, float(x.measure(measured, budget)[0]), 0.0, x.noise_variance(measured, budget))
        elif row.all() or not row.any():
            count.measure(x, budget)
        elif x.total is None:
            halves = x.reduce(Partition.of(row == 0))
            inside, outside = halves.measure(identity(2), budget)
            variance = halves.noise_variance(identity(2), budget)
            count.learn(inside + outside, 2 * variance)
            self._add(query, (inside - outside) / 2, 0.5, variance / 2)
        else:
            # Reduced to two cells, the query is seen to move by 1 even when a record is replaced.
            halves = x.reduce(Partition.of(row == 0))
            variance = halves.noise_variance(_first_of_two(), budget)
            self._add(query, float(halves.measure(_first_of_two(), budget)[0]), 0.0, variance)

    def _add(self, query: int, answer: float, share: float, variance: float) -> None:
        self._measured.append(_NoisyQuery(query, answer, share, variance))
        self._multipliers = np.append(self._multipliers, 0.0)

    def reweigh(self, estimate: Vector) -> Vector:
        """Multiplicative weights over the whole history; the estimate's total stays as it is."""
        if not self._measured:
            return estimate
        total = float(estimate.sum())
        answers = np.array([m.answer + m.share * total for m in self._measured])
        if self._sweeps is None:
            return self._fit(answers, total)
        replay(estimate, np.array([_row(self._queries, m.query) for m in self._measured]), answers, self._sweeps)
        return estimate

    def _fit(self, answers: Vector, total: float) -> Vector:
        """To the end, on the grid of the boxes' corners: cells between the same corners keep the same weight."""
        lows, highs = _corners(self._queries, np.array([m.query for m in self._measured]))
        cuts = [np.unique([0, n, *low, *high]) for n, low, high in zip(_plane(self._queries), lows.T, highs.T, strict=True)]
        rows, columns = (np.diff(cut) for cut in cuts)
        low, high = (np.stack([np.searchsorted(*pair) for pair in zip(cuts, c.T, strict=True)], 1) for c in (lows, highs))
        noise = np.sqrt([m.variance for m in self._measured])
        density = fit_densities(
            np.multiply.outer(rows, columns).astype(np.float64),
            lows=low,
            highs=high,
            answers=answers,
            doubts=np.maximum(DOUBT * noise, 1e-3),
            multipliers=self._multipliers,
            total=total,
            tolerance=max(noise.min(), 0.01) / 100,
        )
        return np.repeat(np.repeat(density, rows, axis=0), columns, axis=1).reshape(-1)


def _plane(queries: Strategy) -> tuple[int, int]:
    """The domain as a grid; a line is one row of it."""
    rows, columns = (1, *queries.shape)[-2:]
    return rows, columns


def _corners(queries: Strategy, chosen: Any) -> tuple[Any, Any]:
    """The boxes of some queries on that grid: the first corner of each, and the one just outside."""
    if isinstance(queries, Boxes):
        lows, highs = queries.lows[chosen], queries.highs[chosen]
    elif isinstance(queries, Prefix):
        lows, highs = np.zeros((chosen.size, 1), dtype=np.int64), chosen[:, None] + 1
    else:
        lows = np.stack(np.unravel_index(chosen, queries.shape), axis=1)
        highs = lows + 1
    if len(queries.shape) == 1:
        lows, highs = (np.column_stack([np.full(chosen.size, side), corner]) for side, corner in enumerate((lows, highs)))
    return lows, highs


def _row(queries: Strategy, index: int) -> Vector:
    """One query of a workload, written out."""
    if not isinstance(queries, (Identity, Prefix, Boxes)):
        return np.asarray(queries.adjoint(np.eye(1, queries.rows, index)[0]) / queries.unit)
    (low,), (high,) = _corners(queries, np.array([index]))
    row = np.zeros(_plane(queries))
    row[low[0] : high[0], low[1] : high[1]] = 1
    return row.reshape(-1)


@compiled
def replay(estimate: np.ndarray, rows: np.ndarray, answers: np.ndarray, sweeps: int) -> None:
    """That many sweeps over the history, in place: cells in a query grow by exp(error/2·total), then all go to the total."""
    total = estimate.sum()
    for _ in range(sweeps):
        for query in range(answers.size):
            error = answers[query]
            for cell in range(estimate.size):
                error -= rows[query, cell] * estimate[cell]
            whole = 0.0
            for cell in range(estimate.size):
                estimate[cell] *= np.exp(rows[query, cell] * error / (2.0 * total))
                whole += estimate[cell]
            for cell in range(estimate.size):
                estimate[cell] *= total / whole


def fit_densities(
    sizes: Counts,
    lows: Counts,
    highs: Counts,
    answers: Vector,
    doubts: Vector,
    multipliers: Vector,
    total: float,
    tolerance: float,
) -> np.ndarray:
    """The densities whose logarithms are Σ multiplier · [in the box], so that answer = box sum + doubt · multiplier.

    `sizes` are the numbers of cells of the grid's fields, `lows` and `highs` the boxes' corners on the grid. Begins at
    `multipliers` and leaves the last ones there. The multipliers maximise a concave function, of which each step is a Newton
    step, shortened until it leads upwards.
    """
    density = np.empty(sizes.shape)
    value = _evaluate(density, sizes, lows, highs, answers, doubts, multipliers, total)
    for _ in range(100):
        sums = _running_sums(density, sizes)
        curvature, gradient = _derivatives(sums, lows, highs, answers, doubts, multipliers, total)
        if np.abs(gradient).max() <= tolerance:
            break
        step = _solve(curvature, gradient)
        rise, length = 1e-4 * float(step @ gradient), 1.0
        while True:
            trial = multipliers + length * step
            found = _evaluate(density, sizes, lows, highs, answers, doubts, trial, total)
            if found >= value + length * rise or length < 1e-6:
                break
            length /= 2
        multipliers[:], value = trial, found
    return density


@compiled
def _evaluate(
    density: Vector,
    sizes: Counts,
    lows: Counts,
    highs: Counts,
    answers: Vector,
    doubts: Vector,
    multipliers: Vector,
    total: float,
) -> float:
    """The densities for these multipliers, in place, and the function that they are to maximise."""
    rows, columns = sizes.shape
    logs = np.zeros((rows + 1, columns + 1))
    value: float = 0.0
    for i in range(answers.size):
        logs[lows[i, 0], lows[i, 1]] += multipliers[i]
        logs[lows[i, 0], highs[i, 1]] -= multipliers[i]
        logs[highs[i, 0], lows[i, 1]] -= multipliers[i]
        logs[highs[i, 0], highs[i, 1]] += multipliers[i]
        value += answers[i] * multipliers[i] - 0.5 * doubts[i] * multipliers[i] ** 2
    above = np.zeros(columns)
    largest = -np.inf
    for r in range(rows):
        along = 0.0
        for c in range(columns):
            along += logs[r, c]
            above[c] += along
            density[r, c] = above[c]
            largest = max(largest, above[c])
    whole = 0.0
    for r in range(rows):
        for c in range(columns):
            density[r, c] = np.exp(density[r, c] - largest)
            whole += density[r, c] * sizes[r, c]
    for r in range(rows):
        for c in range(columns):
            density[r, c] *= total / whole
    value -= total * (largest + np.log(whole))
    return value


@compiled
def _running_sums(density: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    sums = np.zeros((sizes.shape[0] + 1, sizes.shape[1] + 1))
    for r in range(sizes.shape[0]):
        along = 0.0
        for c in range(sizes.shape[1]):
            along += density[r, c] * sizes[r, c]
            sums[r + 1, c + 1] = sums[r, c + 1] + along
    return sums


@compiled
def _derivatives(
    sums: Vector, lows: Counts, highs: Counts, answers: Vector, doubts: Vector, multipliers: Vector, total: float
) -> tuple[np.ndarray, np.ndarray]:
    """The lower half of minus the second derivatives, covariances of the boxes and doubts; and the first derivatives."""
    number = doubts.size
    inside = np.empty(number)
    gradient = np.empty(number)
    curvature = np.empty((number, number))
    for i in range(number):
        for j in range(i, -1, -1):
            r0, c0 = max(lows[i, 0], lows[j, 0]), max(lows[i, 1], lows[j, 1])
            r1, c1 = min(highs[i, 0], highs[j, 0]), min(highs[i, 1], highs[j, 1])
            common = sums[r1, c1] - sums[r0, c1] - sums[r1, c0] + sums[r0, c0] if r0 < r1 and c0 < c1 else 0.0
            if i == j:
                inside[i] = common
                gradient[i] = answers[i] - common - doubts[i] * multipliers[i]
            curvature[i, j] = common - inside[i] * inside[j] / total
        curvature[i, i] = max(curvature[i, i], 0.0) * (1 + 1e-9) + doubts[i]
    return curvature, gradient


@compiled
def _solve(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """By Cholesky's decomposition of the lower half, in place."""
    number = right.size
    solution = right.copy()
    for i in range(number):
        for j in range(i + 1):
            rest = matrix[i, j]
            for k in range(j):
                rest -= matrix[i, k] * matrix[j, k]
            matrix[i, j] = np.sqrt(max(rest, 1e-12 * matrix[i, i])) if i == j else rest / matrix[j, j]
        for k in range(i):
            solution[i] -= matrix[i, k] * solution[k]
        solution[i] /= matrix[i, i]
    for i in range(number - 1, -1, -1):
        solution[i] /= matrix[i, i]
        for j in range(i):
            solution[j] -= matrix[i, j] * solution[i]
    return solution
