"""Which part of each measured number's noise is in each answer, for plans that are linear in what they measure.

Such a plan is run on no records, with 1 in place of one number's noise and 0 in place of all others', number by number. What
comes out are the weights of that number in every answer. Only sums of their powers are kept, which say how far off each
answer is (`jostle.linear.laws`). It depends on the question alone, so it is done once in a process.
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
from jostle.kernel.source import Custody, SimulatedSource, source_over
from jostle.linear.laws import NoiseLaw, margins, whole_margins
from jostle.workloads import Workload

LARGEST = 2**29
"""At most this many weights are worked out, one per answer and measured number: it takes some seconds, once."""

_BATCH = 2**20
_REMEMBERED = 32
_STEPS = 1.0
"""Noise of a smaller scale is mostly 0 or 1, and a weighted sum of it far from smooth."""

Asked = Callable[[Vector], Vector]
"""From estimates, one per row, to the answers."""

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
        """Half the width of a 95 % interval around each answer; None where no closed form is known.

        Where every cell is measured once, an answer's error is a sum of whole numbers, of known law on any domain.
        """
        given = np.random.default_rng(0).standard_normal(self.made_for.shape[1])
        probe = _Probe(given=given)
        try:
            estimate = self._run(probe)
        except ValueError:  # more numbers were measured than there are cells
            return self.margins_of(asked.__matmul__, _name(asked), asked.shape[0])
        adds_up = asked.queries.unit == 1 and asked.queries.bounds == (0, 1)
        if len(probe.laws) == 1 and adds_up and np.array_equal(estimate, given) and math.isfinite(probe.laws[0][0].scale):
            return whole_margins(asked.lengths, probe.laws[0][0])
        return self.margins_of(asked.__matmul__, _name(asked), asked.shape[0])

    def margins_of(self, asked: Asked, name: Hashable, answers: int) -> Vector | None:
        """The same for anything linear that is asked of the estimate, under a name that tells it from everything else."""
        measured = _Probe()
        self._run(measured)
        laws, sizes = [law for law, _ in measured.laws], [size for _, size in measured.laws]
        if answers * sum(sizes) > LARGEST:
            return None
        key = (self.plan.name, id(self.plan.plan), _name(self.made_for), name, tuple(sorted(self.tunables.items())), *sizes)
        if key not in _sums:
            _sums[key] = self._sums(asked, sizes, answers)
            if len(_sums) > _REMEMBERED:
                _sums.popitem(last=False)
        sums = _sums[key]
        return None if sums is None else _margins(laws, sums)

    def _sums(self, asked: Asked, sizes: list[int], answers: int) -> list[Vector] | None:
        """Per measurement, the sums of b², b⁴ and b⁶ over each answer's weights; None if the plan is not linear."""
        given = np.random.default_rng(0).standard_normal(sum(sizes))
        found: list[Vector] = []
        linear, first = np.zeros(answers), 0
        step = max(1, _BATCH // max(answers, *self.made_for.shape))
        for size in sizes:
            sums = np.zeros((3, answers))
            for start in range(first, first + size, step):
                trials = min(step, first + size - start)
                weights = asked(self._run(_Probe(trials=trials, first=start)))
                linear += given[start : start + trials] @ weights
                squares = weights * weights
                fourth = squares * squares
                sums += [squares.sum(axis=0), fourth.sum(axis=0), np.einsum("ij,ij->j", squares, fourth)]
            found.append(sums)
            first += size
        right = asked(self._run(_Probe(given=given))[np.newaxis])[0]
        return found if np.allclose(linear, right, rtol=1e-6, atol=1e-6 * float(np.abs(right).max(initial=1.0))) else None

    def _run(self, engine: Any) -> Vector:
        custody = Custody(CountingPurse(self.neighbours, engine), engine, self.neighbours)
        empty = np.zeros(math.prod(self.made_for.domain), dtype=np.int64)
        source = source_over(SimulatedSource, empty, self.made_for.domain, custody)
        return self.plan.run(source, self.made_for, source.grant(self.epsilon), **self.tunables)


_sums: OrderedDict[Hashable, list[Vector] | None] = OrderedDict()


def _margins(laws: list[NoiseLaw], sums: list[Vector]) -> Vector | None:
    """By the cumulants; but by the law of whole numbers where an answer adds up some of one measurement's."""
    whole = np.zeros(sums[0].shape[1], dtype=bool)
    if len(laws) == 1:
        alike = np.isclose(sums[0], sums[0][0], rtol=1e-9, atol=0.0).all(axis=0)  # weights of −1, 0 and 1
        whole = alike & (sums[0][0] > 0.5) & math.isfinite(laws[0].scale)
    if not whole.all() and min(law.scale for law in laws) < _STEPS:
        return None
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
