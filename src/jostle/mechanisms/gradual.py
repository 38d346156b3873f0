"""Gradual release: the same number again, more precisely, where what was paid before is not paid twice."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from typing import Any

import numpy as np

from jostle.kernel.budget import SYMBOLS, Budget, exact, round_up
from jostle.kernel.errors import BadInput, InternalError, PlanError, show
from jostle.kernel.noise import Noise, calibrate
from jostle.kernel.partition import Counts
from jostle.mechanisms.arguments import check_budget, is_whole, listed, numbers, one_trial, whole_numbers
from jostle.mechanisms.sampling import happens
from jostle.mechanisms.sensitivity import Lattice, Sensitivity


class GradualRelease:
    """Releases of a number or an array at rising ε₁ < ε₂ < …, the first t of which are together ε_t-differentially private.

    Each is as precise as a single release at its ε would be, and the price of a longer prefix is its last ε, not the
    sum: `next` charges the difference to the previous one, and only then gives the number. Stop at any time, also
    depending on what was released: what was not reached is not charged. That is so where pure ε adds up. Under ρ, and in an
    account of (ε, δ), the first step pays for all; under ρ the `epsilons` end at √(2ρ), which the token pays for.

    Koufogiannis, Han, Pappas: Gradual release of sensitive data under differential privacy, Journal of Privacy and
    Confidentiality 7(2), 2016. Theirs is a process of real numbers; this is its counterpart in whole ones,
    with exact probabilities: discrete Laplace noise of a larger scale is that of a smaller scale plus an independent
    number, which is 0 with the probability `stays` and else discrete Laplace noise of the larger scale. So a less
    precise release is the more precise one with more noise: it is determined first, kept back, and never seen unless it
    is paid for.

    `epsilons` are public, rise, and end at the token's own ε. `sensitivity` and NaN are as for `laplace`. Numbers of a whole
    type with a whole sensitivity stay whole. The type of a list is not looked up, because its content is private: pass
    `whole=True`, and each number is rounded down; the sensitivity must be whole, and must hold after rounding. The type of a
    single number counts as public: pass `whole=True`, or a float, if it may be missing or the sum of nothing. Only this
    object has the noise that is kept back; if it is lost, so is the discount.

    See `utility.discrete_laplace_error` for error bars of each step, with that step's ε.

    >>> from jostle import mechanisms
    >>> budget = mechanisms.simulation(seed=0).grant(1)
    >>> release = GradualRelease(1000, sensitivity=1, epsilons=(0.01, 0.1, 1), budget=budget)
    >>> release.next(), release.next(), release.spent
    (793, 999, Fraction(1, 10))
    """

    def __init__(
        self,
        value: Any,
        *,
        sensitivity: Any,
        epsilons: Sequence[Any],
        budget: Budget,
        note: str = "",
        whole: bool | None = None,
    ) -> None:
        real, stated = numbers(value, "value"), Sensitivity.of(sensitivity)
        check_budget(budget)
        self.epsilons = _rising(epsilons, budget.pure)
        """The total cost of each prefix."""
        integers = whole_numbers(value, "value") if (is_whole(value) if whole is None else whole) else None
        if whole and integers is None:
            raise BadInput("value", "must be whole numbers", "leave out `whole` for real numbers")
        in_ones = stated.add_remove.denominator == stated.replace.denominator == 1
        if whole and not in_ones:
            raise BadInput("sensitivity", "must be whole for whole numbers", "round it up, or leave out `whole`")
        whole = integers is not None and in_ones
        self._lattice = Lattice.whole(stated) if whole else Lattice.for_sensitivity(stated, budget.neighbours)
        size = self._lattice.total_sensitivity(1 if whole else real.size).size(budget.neighbours)
        self._scales = [Fraction(round_up(calibrate(size, epsilon))) for epsilon in self.epsilons]
        self._shape, self._whole, self._note, self._steps, self._paid = real.shape, whole, note, 0, Fraction(0)
        # What the first releases tell is bounded on every path by the last ε, which is enough where ε adds up. Step by step
        # it is more than the difference, and ρ is about the steps: so where ρ counts, the first step pays for all.
        paid = [b - a for a, b in pairwise((Fraction(0), *self.epsilons))]
        self._tokens: tuple[Budget, ...] = budget.split(*paid) if budget.by_path else (budget,)
        self._engine: Noise | None = None
        self._symbol = SYMBOLS[budget.measure]
        points = integers if whole else self._lattice.points(np.nan_to_num(real, nan=0.0))
        self._private = np.asarray(points).reshape(-1)
        self._noise: list[Counts] = []
        self._lock = threading.Lock()

    def next(self) -> Any:
        """Charge what the next release costs beyond the last one, and return it."""
        with self._lock:  # a thread gets the release that it has charged
            if self._steps == len(self.epsilons):
                raise PlanError(f"all {self._steps} releases were made")
            if self._steps < len(self._tokens):
                self._engine = self._tokens[self._steps].draw(operator="gradual_release", note=self._note)
                self._paid += self._tokens[self._steps].amount
            if self._engine is None:
                raise InternalError("a release was not paid for")
            engine = self._engine
            scale = self._scales[self._steps]
            released = engine.outcome("gradual release", scale, self._private, lambda: self._noisy(engine))
            self._steps += 1
        released = released.reshape(self._shape)
        if self._whole:
            return released if self._shape else int(released)
        return self._lattice.numbers(released) if self._shape else float(self._lattice.numbers(released))

    def _noisy(self, engine: Noise) -> Counts:
        if not self._noise:
            self._noise = chain(self._private.size, self._scales, engine)
        return np.asarray(self._private + self._noise[self._steps])

    def __iter__(self) -> Iterator[Any]:
        while self._steps < len(self.epsilons):
            yield self.next()

    @property
    def steps(self) -> int:
        """How many releases were made."""
        return self._steps

    @property
    def spent(self) -> Fraction:
        """The total cost of the releases so far, in the token's measure."""
        return self._paid

    def __repr__(self) -> str:
        return f"<GradualRelease: {self._steps} of {len(self.epsilons)} releases, {self._symbol} = {show(self.spent)} spent>"


def chain(size: int, scales: Sequence[Fraction], noise: Noise) -> list[Counts]:
    """Noise of each of the falling scales, where each but the last is the next one plus an independent number.

    >>> from jostle.kernel.noise import SimulatedNoise
    >>> [part.tolist() for part in chain(2, [Fraction(0), Fraction(0)], SimulatedNoise(seed=0))]
    [[0, 0], [0, 0]]
    """
    zeros = np.zeros(size, dtype=np.int64)
    parts = [_drawn(zeros, scales[-1], noise)]
    for scale, finer in zip(scales[-2::-1], scales[:0:-1], strict=True):
        more = _drawn(zeros, scale, noise)
        if scale:
            chance = stays(scale, finer)
            more[[happens(chance, noise) for _ in range(size)]] = 0
        parts.append(parts[-1] + more)
    return parts[::-1]


def stays(scale: Fraction, finer: Fraction) -> Callable[[Context], Decimal]:
    """The probability that noise of this scale and of the next, finer one are equal, to any precision.

    With a = exp(−1/scale) and b = exp(−1/finer) it is (b/a)·((1 − a)/(1 − b))², near (finer/scale)² where both are large.

    >>> from decimal import getcontext
    >>> round(stays(Fraction(20), Fraction(10))(getcontext()), 4)
    Decimal('0.2498')
    """
    return lambda context: _staying(scale, finer, context.prec)


@lru_cache(maxsize=1024)
def _staying(scale: Fraction, finer: Fraction, digits: int) -> Decimal:
    """The same with this many digits; it may be cached, because scales are public."""
    with localcontext(Context(prec=digits)) as context:
        a, b = (context.exp(-context.divide(Decimal(s.denominator), Decimal(s.numerator))) for s in (scale, finer))
        return context.multiply(context.divide(b, a), context.power(context.divide(1 - a, 1 - b), 2))


def _drawn(zeros: Counts, scale: Fraction, noise: Noise) -> Counts:
    return np.asarray(one_trial(noise.discrete_laplace(zeros, scale), zeros.shape)).astype(np.int64)


def _rising(epsilons: Sequence[Any], last: Fraction) -> tuple[Fraction, ...]:
    steps = tuple(exact(epsilon, "epsilons") for epsilon in listed(epsilons, "epsilons"))
    if not steps or any(a >= b for a, b in pairwise(steps)):
        raise BadInput("epsilons", "must be at least one number, and rise", "pass for instance (0.1, 0.5, 1)")
    if steps[-1] != last:
        raise BadInput("epsilons", f"end at {show(steps[-1])}, the budget at {show(last)}", "let them end at the budget's ε")
    return steps
