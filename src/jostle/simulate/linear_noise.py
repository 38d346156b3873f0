"""Which part of each measured number's noise is in each answer, for plans that are linear in what they measure.

Only sums of powers of these weights are needed, which say how far off each answer is (`jostle.linear.laws`). They depend on
the question alone, so they are worked out once in a process. If the plan measures one strategy and takes the cells that fit
best, they follow from the strategy's structure (`jostle.linear.power_sums`). Otherwise the plan is run on no records, with 1
in place of one number's noise and 0 in place of all others', number by number: what comes out are that number's weights.
"""

from __future__ import annotations

import hashlib
import math
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from jostle.algorithms import Algorithm
from jostle.kernel.budget import CountingPurse, Price
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.partition import Counts, Vector
from jostle.kernel.source import WITNESS, Custody, SimulatedSource, source_over
from jostle.kernel.strategies import Strategy
from jostle.linear.laws import NoiseLaw, margins, whole_margins
from jostle.linear.power_sums import least_squares, power_sums
from jostle.workloads import Workload

LARGEST = 2**29
"""At most this many weights are worked out, one per answer and measured number: it takes some seconds, once."""

SMALL = 2**18
"""Up to this many weights are worked out number by number, which takes some milliseconds: loading Numba takes longer."""

_BATCH = 2**20
_REMEMBERED = 32
_STEPS = 1.0
"""Noise of a smaller scale is mostly 0 or 1, and a weighted sum of it far from smooth."""

T = TypeVar("T")


@dataclass
class _Probe:
    """In place of noise: 1 for one number per trial, from `first` on, and 0 for all others; or given numbers."""

    trials: int | None = None
    first: int = 0
    given: Vector | None = None
    laws: list[tuple[NoiseLaw, int]] = field(default_factory=list)
    """The law of each measurement's noise, and how many numbers were measured."""

    def discrete_laplace(self, values: Counts, scale: Fraction) -> Vector:
        return self._measured(values, NoiseLaw.discrete_laplace(scale))

    def discrete_gaussian(self, values: Counts, square: Fraction) -> Vector:
        return self._measured(values, NoiseLaw.discrete_gaussian(square))

    def _measured(self, values: Counts, law: NoiseLaw) -> Vector:
        before = sum(size for _, size in self.laws)
        self.laws.append((law, values.size))
        if self.given is not None:
            if before + values.size > self.given.size:
                raise ValueError("fewer numbers are given than measured")
            return self.given[before : before + values.size].reshape(values.shape).copy()
        if self.trials is None:
            return np.zeros(values.shape)
        found = np.zeros((self.trials, values.size))
        at = np.arange(self.first - before, self.first - before + self.trials)
        inside = (at >= 0) & (at < values.size)
        found[np.flatnonzero(inside), at[inside]] = 1.0
        return found.reshape(self.trials, *values.shape)

    def outcome(self, law: str, how: Any, private: Any, draw: Callable[[], T]) -> T:
        return draw()


@dataclass(frozen=True)
class LinearError:
    """The law of every answer's error under a plan that is linear in what it measures."""

    plan: Algorithm
    made_for: Workload
    epsilon: Fraction | Price
    neighbours: Neighbours
    tunables: dict[str, Any]

    def margins(self, asked: Workload) -> Vector | None:
        """Half the width of a 95 % interval around each answer; None where no closed form is known."""
        probe = _Probe()
        _, strategies = self._run(probe)
        laws, sizes = [law for law, _ in probe.laws], [size for _, size in probe.laws]
        about = self.plan.name, id(self.plan.plan), tuple(sorted(self.tunables.items()))
        name = _name(asked)
        key = (*about, name if self.made_for is asked else _name(self.made_for), name, *sizes)
        if key not in _sums:
            _sums[key] = self._by_structure(asked, sizes, strategies) or self._one_by_one(asked, sizes)
            if len(_sums) > _REMEMBERED:
                _sums.popitem(last=False)
        sums = _sums[key]
        return None if sums is None else _margins(laws, sums)

    def _by_structure(self, asked: Workload, sizes: list[int], strategies: list[Strategy]) -> list[Vector] | None:
        """Per measurement, the sums of b², b⁴ and b⁶ over each answer's weights; None where no structure is known.

        What the plan makes of random numbers is compared with what fits them best: a plan that does something else differs.
        """
        if len(sizes) != 1 or len(strategies) != 1:
            return None
        given = np.random.default_rng(0).standard_normal(sizes[0])
        estimate, _ = self._run(_Probe(given=given))
        adds_up = asked.queries.unit == 1 and asked.queries.bounds == (0, 1)
        if adds_up and given.size == estimate.size and np.array_equal(estimate.reshape(-1), given):
            return [np.tile(asked.lengths, (3, 1))]
        if asked.shape[0] * given.size <= SMALL:
            return None
        expected = least_squares(strategies[0], given / strategies[0].unit)
        if expected is None or not _alike(estimate.reshape(-1), expected):
            return None
        found = power_sums(strategies[0], asked.queries)
        return None if found is None else [found]

    def _one_by_one(self, asked: Workload, sizes: list[int]) -> list[Vector] | None:
        """The same for any linear plan; None if it is not linear, or there are too many weights."""
        answers = asked.shape[0]
        if answers * sum(sizes) > LARGEST:
            return None
        given = np.random.default_rng(0).standard_normal(sum(sizes))
        found: list[Vector] = []
        linear, first = np.zeros(answers), 0
        step = max(1, _BATCH // max(answers, *self.made_for.shape))
        for size in sizes:
            sums = np.zeros((3, answers))
            for start in range(first, first + size, step):
                trials = min(step, first + size - start)
                weights = asked @ self._run(_Probe(trials=trials, first=start))[0]
                linear += given[start : start + trials] @ weights
                squares = weights * weights
                fourth = squares * squares
                sums += [squares.sum(axis=0), fourth.sum(axis=0), np.einsum("ij,ij->j", squares, fourth)]
            found.append(sums)
            first += size
        return found if _alike(linear, asked @ self._run(_Probe(given=given))[0]) else None

    def _run(self, engine: Any) -> tuple[Vector, list[Strategy]]:
        """The estimate, and what was measured for it."""
        custody = Custody(CountingPurse(self.neighbours, engine), engine, self.neighbours)
        empty = np.zeros(math.prod(self.made_for.domain), dtype=np.int64)
        source = source_over(SimulatedSource, empty, self.made_for.domain, custody)
        listed: list[tuple[Any, ...]] = []
        before = WITNESS.set(listed)
        try:
            estimate = self.plan.run(source, self.made_for, source.grant(self.epsilon), **self.tunables)
        finally:
            WITNESS.reset(before)
        return estimate, [strategy for _, strategy, *_ in listed]


def _alike(values: Vector, others: Vector) -> bool:
    """Whether they are the same but for rounding errors."""
    return bool(np.allclose(values, others, rtol=1e-6, atol=1e-6 * float(np.abs(others).max(initial=1.0))))


_sums: OrderedDict[Hashable, list[Vector] | None] = OrderedDict()


def forget() -> None:
    """Work everything out anew, as in another process."""
    _sums.clear()


def _margins(laws: list[NoiseLaw], sums: list[Vector]) -> Vector | None:
    """By the cumulants; but by the law of whole numbers where an answer adds up some of one measurement's."""
    whole = np.zeros(sums[0].shape[1], dtype=bool)
    if len(laws) == 1:
        alike = np.isclose(sums[0], sums[0][0], rtol=1e-9, atol=0.0).all(axis=0)  # weights of −1, 0 and 1
        whole = alike & math.isfinite(laws[0].scale)
    if not whole.all() and min(law.scale for law in laws) < _STEPS:
        return None
    if whole.all():
        return whole_margins(np.round(sums[0][0]), laws[0])
    found = margins(list(zip(laws, sums, strict=True)))
    if whole.any():
        found[whole] = whole_margins(np.round(sums[0][0, whole]), laws[0])
    return _equalised(found)


def _equalised(values: Vector) -> Vector:
    """Nine digits: what differs only by rounding errors becomes equal."""
    digits = 10.0 ** (8 - np.floor(np.log10(np.where(values > 0, values, 1.0))))
    return np.asarray(np.round(values * digits) / digits)


def _name(workload: Workload) -> str:
    """What tells a workload from others, its order included."""
    queries = workload.queries
    probes = np.random.default_rng(0).integers(0, 2**20, size=(2, queries.size))
    about = f"{queries.shape} {queries.unit} {queries.rows} ".encode()
    return hashlib.sha256(about + np.ascontiguousarray(queries.apply(probes)).tobytes()).hexdigest()
