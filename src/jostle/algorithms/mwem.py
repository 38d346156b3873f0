"""MWEM: multiplicative weights, led by the query that is known worst."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import inf, log10, sqrt
from typing import Any

import numpy as np

from jostle.algorithms import _weights
from jostle.algorithms.registry import algorithm
from jostle.kernel.budget import Budget
from jostle.kernel.errors import BadInput
from jostle.kernel.partition import Partition, Vector
from jostle.kernel.source import Source
from jostle.kernel.statistics import QueryDistance
from jostle.kernel.strategy import LARGEST_TOTAL, Boxes, Identity, Matrix, Prefix, Strategy, identity, matrix, total
from jostle.linear.workloads import Workload

ROUNDS = {1: ([2, 3, 4, 5, 6, 7], [4, 8, 12, 60, 80, 140]), 2: ([3, 4, 5, 6], [12, 32, 60, 140])}
"""DPBench's rounds by the logarithm of the number of records times ε, for lines and grids."""

DOUBT = 0.1
"""How far an answer is given way to for the sake of evenness: so many standard deviations of its noise, times its
log-weight."""


@algorithm(name="MWEM", tasks=("range-1d", "range-2d"), cite="hardt2012simple", data_dependent=True)
def mwem(
    x: Source,
    workload: Workload,
    budget: Budget,
    *,
    rounds: int = 10,
    to_select: float = 0.5,
    sweeps: int = 100,
    literal: bool = False,
) -> Vector:
    """In each round, measure the query that is answered worst, and reweigh the estimate to fit (Figure 1, Section 2.1).

    The paper's practical form replays the history in a hundred sweeps of small steps a round, which never gets to the
    answers of large data and chases the noise of small ones (`literal=True`). Here each step goes all the way to the
    measured answer, less a doubt in proportion to its noise, and sweeps end when nothing moves any more. Where the total is
    not public, the cells outside a query are counted with those inside: a record is in one of the two, so it costs nothing.

    Privacy: one Laplace measurement of the total, with the share of one query (none where the total is public), then in each
    round a private choice (`to_select` of the round's share) and a Laplace measurement of the chosen query and its
    complement. The paper starts from the true number of records, which nobody paid for.
    """
    return _learn(x, workload, budget, _Count.public(x), rounds, to_select, sweeps, literal)


@algorithm(name="MWEM-adaptive", tasks=("range-1d", "range-2d"), cite="hay2016principled", data_dependent=True)
def mwem_adaptive(
    x: Source,
    workload: Workload,
    budget: Budget,
    *,
    to_rounds: float = 0.02,
    to_select: float = 0.5,
    sweeps: int = 100,
    literal: bool = False,
) -> Vector:
    """MWEM with the more rounds the more records there are, as trained in DPBench (Section 6.4: MWEM*).

    Privacy: the number of rounds follows from a Laplace measurement of the total with `to_rounds` of the budget, or from the
    total itself where it is public; then as MWEM.
    """
    count, signal = _Count.public(x), float(budget.epsilon)
    if x.total is None:
        first, budget = budget.split(to_rounds, 1 - to_rounds)
        count.measure(x, first)
    return _learn(x, workload, budget, count, rounds_for(count.records * signal, len(x.shape)), to_select, sweeps, literal)


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
    x: Source, workload: Workload, budget: Budget, count: _Count, rounds: int, to_select: float, sweeps: int, literal: bool
) -> Vector:
    if rounds < 1 or sweeps < 1:
        raise BadInput("rounds", "and sweeps must be at least 1", "pass for instance rounds=10")
    shares = [to_select, 1 - to_select] * rounds
    if x.total is None:
        first, *tokens = budget.split(1 - to_select, *shares)
        count.measure(x, first)
    else:
        tokens = list(budget.split(*shares))
    history = _History(x.size)
    estimate: Vector = np.full(x.size, count.records / x.size)
    for select, measure in zip(tokens[::2], tokens[1::2], strict=True):
        worst = x.choose(range(workload.queries.rows), QueryDistance(workload.queries, workload @ estimate), select)
        _measure(x, _row(workload.queries, worst), measure, count, history)
        estimate = history.reweigh(estimate * (count.records / estimate.sum()), sweeps, literal)
    return estimate


def _measure(x: Source, row: Vector, budget: Budget, count: _Count, history: _History) -> None:
    """Measure a query, with its complement where that tells something, and note it down."""
    if not ((row == 0) | (row == 1)).all():
        query = matrix(row[None], x.shape)
        history.add(row, float(x.laplace(query, budget)[0]), 0.0, x.noise_variance(query, budget))
    elif row.all() or not row.any():
        count.measure(x, budget)
    elif x.total is None:
        halves = x.reduce(Partition.of(row == 0))
        inside, outside = halves.laplace(identity(2), budget)
        variance = halves.noise_variance(identity(2), budget)
        count.learn(inside + outside, 2 * variance)
        history.add(row, (inside - outside) / 2, 0.5, variance / 2)
    else:
        # Reduced to two cells, the query is seen to move by 1 even when a record is replaced.
        halves, query = x.reduce(Partition.of(row == 0)), _first_of_two()
        history.add(row, float(halves.laplace(query, budget)[0]), 0.0, halves.noise_variance(query, budget))


@cache
def _first_of_two() -> Matrix:
    return matrix([[1, 0]])


def _row(queries: Strategy, index: int) -> Vector:
    """One query of a workload, written out."""
    if not isinstance(queries, (Identity, Prefix, Boxes)):
        return np.asarray(queries.adjoint(np.eye(1, queries.rows, index)[0]) / queries.unit)
    row = np.zeros(queries.shape)
    if isinstance(queries, Boxes):
        row[tuple(slice(low, high) for low, high in zip(queries.lows[index], queries.highs[index], strict=True))] = 1
    elif isinstance(queries, Prefix):
        row[: index + 1] = 1
    else:
        row.flat[index] = 1
    return row.reshape(-1)


class _History:
    """The queries measured so far, as segments of cells that they count alike."""

    def __init__(self, size: int) -> None:
        self._cuts = np.zeros(size, dtype=bool)
        self._cuts[0] = True
        self._segments: list[tuple[Any, Any, Any]] = []
        self._answers: list[tuple[float, float, float]] = []
        self._multipliers = np.zeros(0)

    def add(self, row: Vector, answer: float, share: float, variance: float) -> None:
        """A query whose measured answer is `answer` plus that share of the number of records."""
        starts = np.concatenate([[0], np.flatnonzero(np.diff(row)) + 1])
        self._cuts[starts] = True
        counted = row[starts] != 0
        ends = np.append(starts[1:], row.size)
        self._segments.append((starts[counted], ends[counted], row[starts[counted]]))
        self._answers.append((answer, share, variance))
        self._multipliers = np.append(self._multipliers, 0.0)

    def reweigh(self, estimate: Vector, sweeps: int, literal: bool) -> Vector:
        """Multiplicative weights over the whole history, from this estimate on."""
        if not self._answers:
            return estimate
        starts = np.flatnonzero(self._cuts)
        sizes = np.diff(starts, append=estimate.size)
        mass = np.add.reduceat(estimate, starts)
        run = np.cumsum(self._cuts) - 1
        lows, ends, values = (np.concatenate(parts) for parts in zip(*self._segments, strict=True))
        first = np.cumsum([0, *(segments[0].size for segments in self._segments)])
        answer, share, variance = np.array(self._answers).T
        answers = answer + share * estimate.sum()
        history = first, run[lows], run[ends - 1] + 1, values, answers
        if literal:
            _weights.replay(mass, *history, sweeps)
        else:
            noise = sqrt(variance.min())
            _weights.fit(mass, self._multipliers, *history, max(DOUBT * noise, 1e-3), sweeps, max(noise, 1e-2) / 100)
        return np.repeat(mass / sizes, sizes)
