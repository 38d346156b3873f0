"""Privacy losses beyond pure ε: what an account may lose in all, what a mechanism costs, and the rule that adds it up.

Three caps: pure ε; (ε, δ); and ρ, zero-concentrated differential privacy (Bun, Steinke: Concentrated differential privacy,
TCC 2016). A cost is stated in every currency in which its mechanism has one, so that an account adds up each of them, and
accepts a charge if the totals fit in one. All amounts are exact fractions; conversions are rounded to the safe side.
Proof, adaptive analysts and the selection of keys included: docs/proofs/measures.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import ClassVar, TypeAlias, final

from jostle.kernel.budget import Cost, exact, in_unit_interval
from jostle.kernel.decimals import context, decimal, down, normal, root_down, up
from jostle.kernel.errors import BadInput

_SLACK = Decimal("1e-45")
"""Certified sums are widened by this share of their terms: far more than a dozen roundings at 60 digits add up to."""


@final
@dataclass(frozen=True)
class Pure:
    """ε-differential privacy.

    >>> Pure(0.1)
    Pure(epsilon=Fraction(1, 10))
    """

    name: ClassVar[str] = "pure"
    epsilon: Fraction

    def __init__(self, epsilon: object) -> None:
        object.__setattr__(self, "epsilon", exact(epsilon))


@final
@dataclass(frozen=True)
class Approximate:
    """(ε, δ)-differential privacy. Part of δ is reserved for selecting keys; the rest converts ρ to ε.

    >>> Approximate(1, 1e-6).for_keys
    Fraction(1, 2000000)
    >>> Approximate(1, 1e-6, for_keys=1e-5)
    Traceback (most recent call last):
    jostle.kernel.errors.BadInput: for_keys: is more than δ. Remedy: pass a number from 0 to δ; half of δ is the default.
    """

    name: ClassVar[str] = "approximate"
    epsilon: Fraction
    delta: Fraction
    for_keys: Fraction

    def __init__(self, epsilon: object = None, delta: object = None, for_keys: object | None = None) -> None:
        if epsilon is None or delta is None:
            missing = "epsilon" if epsilon is None else "delta"
            remedy = "pass both, Approximate(epsilon=1, delta=1e-6); or Pure(1) without a delta"
            raise BadInput(missing, "is missing: privacy is of (ε, δ) together", remedy)
        whole = in_unit_interval(delta)
        keys = whole / 2 if for_keys is None else exact(for_keys, "for_keys", zero=True)
        if keys > whole:
            raise BadInput("for_keys", "is more than δ", "pass a number from 0 to δ; half of δ is the default")
        for name, value in (("epsilon", exact(epsilon)), ("delta", whole), ("for_keys", keys)):
            object.__setattr__(self, name, value)

    @property
    def rho(self) -> Fraction:
        """The ρ that fits into ε and the part of δ that is not for keys.

        >>> round(float(Approximate(1, 1e-6, for_keys=0).rho), 5)
        0.02436
        """
        rest = self.delta - self.for_keys
        return largest_rho(self.epsilon, rest) if rest else Fraction(0)


@final
@dataclass(frozen=True)
class Concentrated:
    """ρ-zero-concentrated differential privacy: at every order α, a Rényi divergence of at most α·ρ.

    >>> Concentrated("1/50")
    Concentrated(rho=Fraction(1, 50))
    """

    name: ClassVar[str] = "concentrated"
    rho: Fraction

    def __init__(self, rho: object) -> None:
        object.__setattr__(self, "rho", exact(rho, "rho"))


Cap: TypeAlias = Pure | Approximate | Concentrated
"""What an account may lose in all."""


@final
@dataclass(frozen=True)
class Remaining:
    """The most that the next question of each kind may cost; 0 if there can be none."""

    pure: Fraction
    """ε of the next pure question, and of the next selection of keys."""

    exponential: Fraction
    """ε of the next exponential mechanism."""

    rho: Fraction
    """ρ of the next Gaussian measurement."""

    delta: Fraction
    """δ of the next selection of keys."""


@final
@dataclass(frozen=True)
class Spending:
    """What an account has lost so far, in each currency.

    >>> cap, spending = Approximate(1, 1e-6), Spending()
    >>> for _ in range(20):
    ...     spending = spending.after(Cost.pure(0.04))
    >>> spending.epsilon, spending.rho, spending.allowed(cap)
    (Fraction(4, 5), Fraction(2, 125), True)
    >>> spending.after(Cost.pure(0.3)).allowed(cap), spending.after(Cost.gaussian(0.005)).allowed(cap)
    (False, True)
    """

    epsilon: Fraction | None = Fraction(0)
    """The sum of all ε; None as soon as one mechanism had no pure ε."""

    rho: Fraction = Fraction(0)
    """The sum of all ρ."""

    delta: Fraction = Fraction(0)
    """The sum of all δ, which only selections of keys have."""

    def after(self, cost: Cost) -> Spending:
        """The totals with one more mechanism."""
        epsilon = None if self.epsilon is None or cost.epsilon is None else self.epsilon + cost.epsilon
        return Spending(epsilon, self.rho + cost.rho, self.delta + cost.delta)

    def allowed(self, cap: Cap) -> bool:
        """Whether an account with this cap may stand so. Check it before every charge, with the charge included.

        (ε, δ) needs **either** all pure ε within ε, **or** all ρ within ρ*(ε, δ − for_keys); and selections of keys
        within for_keys in any case. One total may move out of its bound and never come back: then the other must hold.
        """
        pure = self.epsilon is not None and not isinstance(cap, Concentrated) and self.epsilon <= cap.epsilon
        concentrated = not isinstance(cap, Pure) and self.rho <= cap.rho
        return (pure or concentrated) and self.delta <= _for_keys(cap)

    def left(self, cap: Cap) -> Remaining:
        """The largest costs that are allowed next, one at a time; roots are rounded down.

        >>> left = Spending().after(Cost.gaussian("1/200")).left(Concentrated("1/40"))
        >>> left.pure, left.exponential, left.rho, left.delta
        (Fraction(1, 5), Fraction(2, 5), Fraction(1, 50), Fraction(0, 1))
        """
        if not self.allowed(cap):
            return Remaining(*[Fraction(0)] * 4)
        by_epsilon = Fraction(0)
        if self.epsilon is not None and not isinstance(cap, Concentrated):
            by_epsilon = max(by_epsilon, cap.epsilon - self.epsilon)
        rho = Fraction(0) if isinstance(cap, Pure) else max(Fraction(0), cap.rho - self.rho)
        pure, exponential = (max(by_epsilon, root_down(factor * rho)) for factor in (2, 8))
        return Remaining(pure, exponential, rho, _for_keys(cap) - self.delta)


def largest_rho(epsilon: object, delta: object) -> Fraction:
    """A ρ, the largest up to rounding, for which ρ-zCDP implies (ε, δ)-differential privacy.

    Canonne, Kamath, Steinke: The discrete Gaussian for differential privacy, NeurIPS 2020, Proposition 12. The bound holds
    at every order α: a good one is searched in floats, and the bound at it is evaluated with certified decimals.

    >>> round(float(largest_rho(1, 1e-6)), 5)
    0.02436
    """
    return _largest_rho(exact(epsilon), in_unit_interval(delta))


@lru_cache(maxsize=1024)
def _largest_rho(epsilon: Fraction, delta: Fraction) -> Fraction:
    cap, log_delta = float(epsilon), _float_log(delta)

    def loss(past_one: float) -> float:
        return -(cap - _gain(past_one, log_delta)) / (1 + past_one)

    arithmetic, order = context(), 1 + _best(loss)
    gain, size = _certified_gain(order, delta)
    exact_epsilon = decimal(epsilon, arithmetic)
    slack = arithmetic.multiply(size + exact_epsilon, _SLACK)
    rho = arithmetic.divide(exact_epsilon - gain - slack, order)
    return max(Fraction(0), down(rho))


def epsilon_of(rho: object, delta: object) -> Fraction:
    """An ε, the smallest up to rounding, for which ρ-zCDP implies (ε, δ)-differential privacy.

    >>> round(float(epsilon_of(0.5, 1e-6)), 4)  # 100 releases of ε = 0.1 each
    5.2215
    """
    amount, part = exact(rho, "rho", zero=True), in_unit_interval(delta)
    each, log_delta = float(amount), _float_log(part)
    arithmetic, order = context(), 1 + _best(lambda past_one: (1 + past_one) * each + _gain(past_one, log_delta))
    gain, size = _certified_gain(order, part)
    total = arithmetic.multiply(decimal(amount, arithmetic), order)
    return max(Fraction(0), up(total + gain + arithmetic.multiply(size + total, _SLACK)))


def _gain(past_one: float, log_delta: float) -> float:
    """ε − α·ρ at the order α = 1 + past_one: ln(1 − 1/α) − (ln δ + ln α)/(α − 1)."""
    return -math.log1p(1 / past_one) - (log_delta + math.log1p(past_one)) / past_one


def _certified_gain(order: Decimal, delta: Fraction) -> tuple[Decimal, Decimal]:
    """The same to 60 digits, and the sum of the sizes of its terms, to which errors are in proportion."""
    arithmetic = context()
    past_one = order - 1
    log_delta = arithmetic.ln(Decimal(delta.numerator)) - arithmetic.ln(Decimal(delta.denominator))
    log_order = arithmetic.ln(order)
    first = arithmetic.ln(arithmetic.divide(past_one, order))
    second = arithmetic.divide(arithmetic.add(log_delta, log_order), past_one)
    sizes = arithmetic.ln(Decimal(delta.denominator)) * 2 + log_order + 1
    return arithmetic.subtract(first, second), abs(first) + arithmetic.divide(sizes, past_one) + 1


def _best(loss: Callable[[float], float]) -> Decimal:
    """α − 1 where a loss is least, as a short decimal: a grid over logarithms, then golden sections."""
    middle = min((t / 4 for t in range(-120, 240)), key=lambda t: loss(math.exp(t)))
    low, high = middle - 0.25, middle + 0.25
    for _ in range(50):
        third = (high - low) * 0.381966
        if loss(math.exp(low + third)) < loss(math.exp(high - third)):
            high -= third
        else:
            low += third
    return Decimal(f"{math.exp((low + high) / 2):.12e}")


def gaussian_delta(epsilon: Fraction, sigma: Fraction) -> Fraction:
    """The δ at ε of Gaussian noise of standard deviation σ on a function of L2 sensitivity 1, rounded up; ε may be below 0.

    Φ(1/2σ − εσ) − e^ε·Φ(−1/2σ − εσ): Balle, Wang: Improving the Gaussian mechanism for differential privacy, ICML 2018,
    Theorem 8. It is exact for one measurement alone; what is composed adaptively goes by ρ.

    >>> float(gaussian_delta(Fraction(1), Fraction("4.225"))) < 1e-6 < float(gaussian_delta(Fraction(1), Fraction("4.224")))
    True
    """
    arithmetic = context(300)
    high = normal(_rounded_up(1 / (2 * sigma) - epsilon * sigma))[1]
    low = normal(-_rounded_up(1 / (2 * sigma) + epsilon * sigma))[0]
    factor = arithmetic.exp(decimal(epsilon, arithmetic))
    share = 1 - Decimal("1e-290")  # of the factor, for its own rounding
    return max(Fraction(0), up(arithmetic.subtract(high, arithmetic.multiply(arithmetic.multiply(factor, share), low))))


def _rounded_up(value: Fraction) -> Decimal:
    """To 60 digits; Φ grows with its argument, so both of its uses err on the safe side."""
    arithmetic = context()
    rounded = decimal(value, arithmetic)
    return arithmetic.add(rounded, abs(rounded).scaleb(-55))


def gaussian_sigma(epsilon: object, delta: object) -> Fraction:
    """The least σ, rounded up to 12 digits, at which Gaussian noise is (ε, δ)-private for an L2 sensitivity of 1.

    >>> round(float(gaussian_sigma(1, 1e-6)), 3), round(float(gaussian_sigma(0.1, 1e-6)), 2)
    (4.225, 36.3)
    """
    return _gaussian_sigma(exact(epsilon), in_unit_interval(delta))


@lru_cache(maxsize=1024)
def _gaussian_sigma(epsilon: Fraction, delta: Fraction) -> Fraction:
    low = high = Fraction(1)
    while gaussian_delta(epsilon, high) > delta:
        low, high = high, 2 * high
    while gaussian_delta(epsilon, low) <= delta:
        low, high = low / 2, low
    for _ in range(42):
        middle = (low + high) / 2
        low, high = (low, middle) if gaussian_delta(epsilon, middle) <= delta else (middle, high)
    return high


def _for_keys(cap: Cap) -> Fraction:
    return cap.for_keys if isinstance(cap, Approximate) else Fraction(0)


def _float_log(value: Fraction) -> float:
    return math.log(value.numerator) - math.log(value.denominator)
