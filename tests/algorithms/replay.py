"""Exact privacy loss of plans over counts: what was released on some counts is replayed on neighbouring ones.

As `tests.learn.replay`, for sources of counts, which can also be cut into intervals.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from jostle.kernel.budget import CountingPurse
from jostle.kernel.functions import intervals
from jostle.kernel.functions.statistics import PRICE_UNIT
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.source import Custody, SimulatedSource, source_over
from tests.learn.replay import Reader, Writer

Plan = Callable[[Any, Any], Any]
"""From a source and a token to what is released."""


class CutWriter(Writer):
    """Also writes down where lines were cut."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.cutting: Fraction | None = None

    def geometric(self, size: int, scale: Fraction) -> np.ndarray:
        self.cutting = self.cutting or scale  # that of single cells comes first
        return self.noise.geometric(size, scale)

    def words(self, size: int) -> np.ndarray:
        return self.noise.words(size)

    def cheapest(self, starts: np.ndarray) -> np.ndarray:
        scale, self.cutting = self.cutting, None
        return np.asarray(self._kept("cheapest", scale, None, starts))

    def drawn(self, costs: np.ndarray, rate: tuple[int, int], starts: np.ndarray) -> np.ndarray:
        return np.asarray(self._kept("drawn", rate, costs.copy(), starts))


class CutReader(Reader):
    """Also cuts lines where they were cut before."""

    def __init__(self, lines: list[Any], neighbours: Neighbours) -> None:
        super().__init__(lines)
        self.neighbours, self.cutting = neighbours, None

    def discrete_laplace(self, values: np.ndarray, scale: Fraction) -> np.ndarray:
        if scale:
            return super().discrete_laplace(values, scale)
        before, out = self._next("laplace", scale)
        assert np.array_equal(before, values), "what is released as it is must be the same for neighbours"
        return np.array(out)

    def geometric(self, size: int, scale: Fraction) -> np.ndarray:
        self.cutting = self.cutting or scale
        return np.zeros(size, dtype=np.int64)

    def words(self, size: int) -> np.ndarray:
        return np.arange(size)  # what is drawn with them is not used

    def cheapest(self, _: np.ndarray) -> np.ndarray:
        """The noisy minimum has no closed form: it is taken to lose all that it was paid."""
        scale, self.cutting = self.cutting, None
        _, out = self._next("cheapest", scale)
        self.lost += float(self.neighbours.sensitivity(PRICE_UNIT, 2 * PRICE_UNIT) / scale)
        return np.array(out)

    def drawn(self, costs: np.ndarray, rate: tuple[int, int], _: np.ndarray) -> np.ndarray:
        before, out = self._next("drawn", rate)
        self.lost += _log_cut(before, rate, out) - _log_cut(costs, rate, out)
        return np.array(out)


def _log_cut(costs: np.ndarray, rate: tuple[int, int], starts: np.ndarray) -> float:
    """That the exponential mechanism draws this cut: by adding up all cuts, in floats."""
    weights, size = -costs * (rate[0] / rate[1] * math.log(2)), costs.shape[1]
    sums = np.full(size + 1, -np.inf)
    sums[0] = 0.0
    for end in range(1, size + 1):
        ways = [sums[end - 2**k] + weights[k, end - 2**k] for k in range(costs.shape[0]) if 2**k <= end]
        sums[end] = np.logaddexp.reduce(ways)
    lengths = np.diff(starts, append=size)
    return float(sum(weights[int(n).bit_length() - 1, at] for at, n in zip(starts, lengths, strict=True)) - sums[-1])


@contextmanager
def _cut_by(engine: CutWriter | CutReader) -> Iterator[None]:
    cheapest, drawn = intervals.cheapest_cut, intervals.drawn_cut

    def cut(costs: np.ndarray) -> Any:
        cost, starts = cheapest(costs)
        return (cost, starts) if engine.cutting is None else (cost, engine.cheapest(starts))  # else it is a statistic

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(intervals, "cheapest_cut", cut)
        patched.setattr(intervals, "drawn_cut", lambda costs, *how: engine.drawn(costs, how[0], drawn(costs, *how)))
        yield


def run(plan: Plan, x: np.ndarray, neighbours: Neighbours, epsilon: Fraction, engine: CutWriter | CutReader) -> Any:
    """What a plan releases, with noise of this engine."""
    purse = CountingPurse(neighbours, engine)
    source: Any = source_over(SimulatedSource, lambda: x.reshape(-1), x.shape, Custody(purse, engine, neighbours))
    with _cut_by(engine):
        return plan(source, source.grant(epsilon))


def lost(plan: Plan, x: np.ndarray, y: np.ndarray, neighbours: Neighbours, epsilon: Fraction, seed: int) -> float:
    """How much likelier what a plan released on x was there than on y, as a logarithm.

    Whatever depends on the counts other than through noise leads to other questions or another answer, which is noticed.
    """
    writer = CutWriter(seed)
    released = run(plan, x, neighbours, epsilon, writer)
    reader = CutReader(writer.lines, neighbours)
    again = run(plan, y, neighbours, epsilon, reader)
    assert not reader.lines, "the plan asked for less on the neighbour, before it was told anything else"
    assert np.array_equal(released, again), "the same answers to the same questions led to another release"
    return reader.lost


def neighbour(x: np.ndarray, relation: Neighbours, rng: np.random.Generator) -> np.ndarray:
    """The same counts after one person came, or changed all records."""
    y = x.reshape(-1).copy()
    for _ in range(relation.rows):
        if relation.relation == "replace":
            y[rng.choice(np.flatnonzero(y))] -= 1
        y[rng.integers(y.size)] += 1
    return y.reshape(x.shape)
