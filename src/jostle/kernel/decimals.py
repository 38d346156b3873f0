"""Irrational numbers rounded to the safe side: logarithms, roots and the normal distribution, to many decimals.

Python's `decimal` rounds each logarithm, exponential and root correctly at any precision. So an error bound is a count of
operations, and what is rounded outward is certified. Proof: docs/proofs/measures.md.
"""

from __future__ import annotations

import math
from decimal import MAX_EMAX, MIN_EMIN, ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import lru_cache

KEPT = 20
"""Results have this many digits, and intermediate ones at least twice as many more."""

_FAR = 60
"""Beyond this many standard deviations lies a probability of less than 10^-700."""


def context(digits: int = 3 * KEPT) -> Context:
    """Arithmetic with this many digits, and with exponents that nothing here exceeds.

    >>> context(5).ln(Decimal(2))
    Decimal('0.69315')
    """
    return Context(prec=digits, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[])


def decimal(value: Fraction, arithmetic: Context) -> Decimal:
    """A fraction, rounded once.

    >>> decimal(Fraction(1, 3), context(4))
    Decimal('0.3333')
    """
    return arithmetic.divide(Decimal(value.numerator), Decimal(value.denominator))


def down(value: Decimal) -> Fraction:
    """A short fraction that is not above.

    >>> down(Decimal("0.123456789012345678905"))
    Fraction(1234567890123456789, 10000000000000000000)
    """
    return Fraction(Context(prec=KEPT, rounding=ROUND_FLOOR, Emax=MAX_EMAX, Emin=MIN_EMIN).plus(value))


def up(value: Decimal) -> Fraction:
    """A short fraction that is not below.

    >>> up(Decimal(1).ln()) , up(Decimal("0.1234567890123456789001")) > Fraction("0.12345678901234567890")
    (Fraction(0, 1), True)
    """
    return Fraction(Context(prec=KEPT, rounding=ROUND_CEILING, Emax=MAX_EMAX, Emin=MIN_EMIN).plus(value))


def root_down(value: Fraction) -> Fraction:
    """The square root, exact if it is a fraction, else rounded down to at least 19 digits.

    >>> root_down(Fraction(4, 25)), float(root_down(Fraction(2)))
    (Fraction(2, 5), 1.4142135623730951)
    """
    over, under = math.isqrt(value.numerator), math.isqrt(value.denominator)
    if (over * over, under * under) == (value.numerator, value.denominator):
        return Fraction(over, under)
    shift = max(0, 64 + (value.denominator.bit_length() - value.numerator.bit_length()) // 2 + 1)
    return Fraction(math.isqrt((value.numerator << 2 * shift) // value.denominator), 1 << shift)


def normal(x: Decimal) -> tuple[Decimal, Decimal]:
    """Bounds on Φ(x), the standard normal distribution function: both to 40 digits, except beyond 60 deviations.

    >>> low, high = normal(Decimal(-5))
    >>> low <= high, f"{low:.12e}"
    (True, '2.866515718792e-7')
    """
    if abs(x) > _FAR:
        tiny = Decimal("1e-700")
        return (Decimal(0), tiny) if x < 0 else (1 - tiny, Decimal(1))
    # Φ(x) = 1/2 + φ(x)·(x + x³/3 + x⁵/(3·5) + …): terms of one sign. Below 0, cancellation costs digits of the tail.
    arithmetic = context(3 * KEPT + int(x * x / 4) + 10)
    square = arithmetic.multiply(x, x)
    term = total = x
    odd = 1
    while abs(term) > abs(total).scaleb(-arithmetic.prec) or odd <= 2 * square:
        odd += 2
        term = arithmetic.divide(arithmetic.multiply(term, square), Decimal(odd))
        total = arithmetic.add(total, term)
        if not term:
            break
    density = arithmetic.divide(
        arithmetic.exp(arithmetic.divide(-square, Decimal(2))),
        arithmetic.sqrt(arithmetic.multiply(Decimal(2), _pi(arithmetic.prec))),
    )
    value = arithmetic.add(Decimal("0.5"), arithmetic.multiply(density, total))
    error = Decimal(odd + 20).scaleb(-arithmetic.prec)  # one rounding per operation, of numbers below 1
    return max(Decimal(0), arithmetic.subtract(value, error)), min(Decimal(1), arithmetic.add(value, error))


@lru_cache(maxsize=16)
def _pi(digits: int) -> Decimal:
    """π by Machin's formula, in integers of ten digits more."""
    unit = 10 ** (digits + 10)

    def arctangent_of_one_over(n: int) -> int:
        power: int = unit // n
        total = power
        k, sign = 1, -1
        while power:
            power //= n * n
            k += 2
            total += sign * (power // k)
            sign = -sign
        return total

    return context(digits + 5).divide(
        Decimal(4 * (4 * arctangent_of_one_over(5) - arctangent_of_one_over(239))), Decimal(unit)
    )
