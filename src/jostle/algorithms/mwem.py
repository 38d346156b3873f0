"""MWEM: multiplicative weights, led by the query that is known worst."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import inf, log10
from typing import Any

import numpy as np

from jostle.algorithms import _weights
from jostle.algorithms._parameter_rules import SHARE, Whole
from jostle.algorithms.registry import algorithm
from jostle.kernel.budget import Budget
from jostle.kernel.domain import LARGEST_TOTAL
from jostle.kernel.partition import Partition, Vector
from jostle.kernel.queries import Strategy
from jostle.kernel.scores import QueryDistance
from jostle.kernel.source import Source
from jostle.kernel.strategy import Boxes, Identity, Matrix, Prefix, identity, matrix, total
from jostle.workloads import Workload

ROUNDS = {1: ([2, 3, 4, 5, 6, 7], [4, 8, 12, 60, 80, 140]), 2: ([3, 4, 5, 6], [12, 32, 60, 140])}
"""DPBench's rounds by the logarithm of the number of records times ε, for lines and grids."""

DOUBT = 0.1
"""How far an answer may be missed for the sake of evenness: so many standard deviations of its noise, times its log-weight.
Set on public histograms, DPBench's; between 0.05 and 0.2 it hardly matters."""


@algorithm(
    name="MWEM",
    tasks=("range-1d", "range-2d"),
    cite="hardt2012simple",
    data_dependent=True,
    takes={"rounds": Whole(1, 10_000), "to_select": SHARE, "sweeps": Whole(1, 10_000)},
)
def mwem(
    x: Source,
    workload: Workload,
    budget: Budget,
    *,
    rounds: int = 10,
    to_select: float = 0.5,
    sweeps: int | None = None,
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
    takes={"to_rounds": SHARE, "to_select": SHARE, "sweeps": Whole(1, 10_000)},
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
    count, signal = _Count.public(x), float(budget.epsilon)
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
        """Count all records."""
        self.learn(float(x.laplace(total(x.shape), budget)[0]), x.noise_variance(total(x.shape), budget))

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
class _Measured:
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
        self._measured: list[_Measured] = []
        self._multipliers = np.zeros(0)

    def measure(self, x: Source, query: int, budget: Budget, count: _Count) -> None:
        """Measure a query, with its complement where that tells something, and note it down."""
        row = _row(self._queries, query)
        if not ((row == 0) | (row == 1)).all():
            measured = matrix(row[None], x.shape)
            self._add(query, float(x.laplace(measured, budget)[0]), 0.0, x.noise_variance(measured, budget))
        elif row.all() or not row.any():
            count.measure(x, budget)
        elif x.total is None:
            halves = x.reduce(Partition.of(row == 0))
            inside, outside = halves.laplace(identity(2), budget)
            variance = halves.noise_variance(identity(2), budget)
            count.learn(inside + outside, 2 * variance)
            self._add(query, (inside - outside) / 2, 0.5, variance / 2)
        else:
            # Reduced to two cells, the query is seen to move by 1 even when a record is replaced.
            halves = x.reduce(Partition.of(row == 0))
            variance = halves.noise_variance(_first_of_two(), budget)
            self._add(query, float(halves.laplace(_first_of_two(), budget)[0]), 0.0, variance)

    def _add(self, query: int, answer: float, share: float, variance: float) -> None:
        self._measured.append(_Measured(query, answer, share, variance))
        self._multipliers = np.append(self._multipliers, 0.0)

    def reweigh(self, estimate: Vector) -> Vector:
        """Multiplicative weights over the whole history; the estimate's total stays as it is."""
        if not self._measured:
            return estimate
        total = float(estimate.sum())
        answers = np.array([m.answer + m.share * total for m in self._measured])
        if self._sweeps is None:
            return self._fit(answers, total)
        _weights.replay(estimate, np.array([_row(self._queries, m.query) for m in self._measured]), answers, self._sweeps)
        return estimate

    def _fit(self, answers: Vector, total: float) -> Vector:
        """To the end, on the grid of the boxes' corners: cells between the same corners keep the same weight."""
        lows, highs = _corners(self._queries, np.array([m.query for m in self._measured]))
        cuts = [np.unique([0, n, *low, *high]) for n, low, high in zip(_plane(self._queries), lows.T, highs.T, strict=True)]
        rows, columns = (np.diff(cut) for cut in cuts)
        low, high = (np.stack([np.searchsorted(*pair) for pair in zip(cuts, c.T, strict=True)], 1) for c in (lows, highs))
        noise = np.sqrt([m.variance for m in self._measured])
        density = _weights.fit_boxes(
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
