"""Sums over more records than floats can add up: numbers as sums of two floats, with twice the digits.

The two are kept as the parts of a complex number; the imaginary one is below the last digit of the real one. Operations are
those of Dekker (1971) and Knuth. Proof: docs/proofs/objective.md, step 4.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from jostle.kernel.compiled import compiled
from jostle.kernel.functions.losses import border_slope

UNIT: Final = 2.0**-88
"""All steps of a record's slope but its score are off by less than 32 of this; a sum of 4,096 terms by less than one."""

SUM: Final = 2.0**-104
"""An addition is off by less than this part of the terms' absolute values."""

_LN2: Final = complex(0.6931471805599453, 2.3190468138462996e-17)
_ONE: Final = complex(1.0, 0.0)


@compiled
def two_sum(a: float, b: float) -> Any:
    """The sum, and what it lost to rounding, exactly (Knuth)."""
    total = a + b
    part = total - a
    return complex(total, (a - (total - part)) + (b - part))


@compiled
def two_product(a: float, b: float) -> Any:
    """The product, and what it lost to rounding, exactly (Dekker)."""
    product, wide, broad = a * b, 134217729.0 * a, 134217729.0 * b  # 2^27 + 1
    upper, high = wide - (wide - a), broad - (broad - b)
    lower, low = a - upper, b - high
    return complex(product, lower * low - (((product - upper * high) - lower * high) - upper * low))


@compiled
def plus(a: complex, b: complex) -> Any:
    """The sum."""
    total, rest = two_sum(a.real, b.real), two_sum(a.imag, b.imag)
    total = two_sum(total.real, total.imag + rest.real)
    return two_sum(total.real, total.imag + rest.imag)


@compiled
def times(a: complex, b: complex) -> Any:
    """The product."""
    product = two_product(a.real, b.real)
    return two_sum(product.real, product.imag + (a.real * b.imag + a.imag * b.real))


@compiled
def over(a: complex, b: complex) -> Any:
    """The quotient, by long division."""
    first = a.real / b.real
    left = plus(a, -times(complex(first, 0.0), b))
    second = left.real / b.real
    left = plus(left, -times(complex(second, 0.0), b))
    return plus(two_sum(first, second), complex(left.real / b.real, 0.0))


@compiled
def exponential(x: complex) -> Any:
    """Of a number that is not positive, but for rounding: by its series, near 0."""
    if x.real < -600.0:  # beyond all digits that matter, and still far from where floats lose theirs
        return complex(0.0, 0.0)
    twos = math.floor(x.real / _LN2.real + 0.5)
    near, series = plus(x, -times(complex(twos, 0.0), _LN2)) * 2.0**-9, _ONE
    for n in range(10, 1, -1):
        series = plus(_ONE, over(times(series, near), complex(n, 0.0)))
    less_one = times(series, near)
    for _ in range(9):  # e^2x − 1 from e^x − 1
        less_one = plus(2.0 * less_one, times(less_one, less_one))
    found = plus(_ONE, less_one)
    return complex(math.ldexp(found.real, twos), math.ldexp(found.imag, twos))


@compiled
def logarithm(x: complex) -> Any:
    """Of a number that is at least 1: a step of Newton's from the float's."""
    about = complex(math.log(x.real), 0.0)
    return plus(about, plus(times(x, exponential(-about)), -_ONE))


@compiled
def product(matrix: Any, values: Any) -> Any:
    """A matrix of floats times one of such numbers."""
    found = np.zeros((matrix.shape[0], values.shape[1]), dtype=np.complex128)
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            if matrix[i, j] != 0.0:
                for c in range(values.shape[1]):
                    found[i, c] = plus(found[i, c], times(complex(matrix[i, j], 0.0), values[j, c]))
    return found


@compiled
def _slope(lead: complex, bend: float, start: float, border: complex) -> Any:
    """As that of `losses.bent`."""
    above = plus(lead, -border)
    if above.real >= 0.0:
        odds = exponential(-lead)
        return over(odds, plus(_ONE, odds))
    short = times(two_sum(0.5, -start), exponential(times(complex(bend, 0.0), above)))
    return plus(complex(0.5, 0.0), -short)


@compiled
def _lead(z: Any, label: int, others: Any) -> Any:
    """As `losses.lead`."""
    top, total = 1 if label == 0 else 0, complex(0.0, 0.0)
    for c in range(z.size):
        if c != label and z[c].real > z[top].real:
            top = c
    for c in range(z.size):
        others[c] = complex(0.0, 0.0) if c == label else exponential(plus(z[c], -z[top]))
        total = plus(total, others[c])
    for c in range(z.size):
        others[c] = over(others[c], total)
    return plus(z[label], -plus(z[top], logarithm(total)))


@compiled
def slopes(places: Any, labels: Any, weights: Any, cells: Any, bend: float) -> Any:
    """The loss's first derivatives by the scores of cells, as those of `losses.sums`."""
    found, z, others, start = np.zeros_like(cells), np.empty_like(cells[0]), np.empty_like(cells[0]), border_slope(bend)
    border = logarithm(over(two_sum(1.0, -start), complex(start, 0.0)))
    for i in range(places.shape[0]):
        z[:] = 0.0
        for place in places[i]:
            for c in range(z.size):
                z[c] = plus(z[c], cells[place, c])
        lead = (2.0 * labels[i] - 1.0) * z[0] if z.size == 1 else _lead(z, labels[i], others)
        others[min(labels[i], z.size - 1)] = 1.0 - 2.0 * labels[i] if z.size == 1 else -1.0
        slope = times(complex(weights[i], 0.0), _slope(lead, bend, start, border))
        for c in range(z.size):
            pull = times(slope, others[c])
            for place in places[i]:
                found[place, c] = plus(found[place, c], pull)
    return found
