"""Numbers of twice the digits: against exact fractions, decimals of sixty digits, and the floats that they refine."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jostle.kernel.functions import twofold
from jostle.kernel.functions.losses import bent, border_slope, sums

FLOATS = st.floats(-(2.0**40), 2.0**40).filter(lambda x: x == 0 or abs(x) > 2.0**-40)
PAIRS = st.tuples(FLOATS, st.floats(-1, 1)).map(lambda one: twofold.two_sum(one[0], one[0] * one[1] * 2.0**-54))
STEP = Fraction(1, 2**102)
"""Products are off by less than this part, by the proof."""


def exact(x: complex) -> Fraction:
    return Fraction(x.real) + Fraction(x.imag)


def decimal(x: complex) -> Decimal:
    return Decimal(x.real) + Decimal(x.imag)


@given(FLOATS, FLOATS)
def test_a_sum_and_a_product_lose_nothing(a: float, b: float) -> None:
    assert exact(twofold.two_sum(a, b)) == Fraction(a) + Fraction(b)
    assert exact(twofold.two_product(a, b)) == Fraction(a) * Fraction(b)


@given(PAIRS, PAIRS)
def test_operations_have_twice_the_digits_of_floats(a: complex, b: complex) -> None:
    total, both = exact(twofold.plus(a, b)), abs(exact(a)) + abs(exact(b))
    assert abs(total - exact(a) - exact(b)) <= Fraction(twofold.SUM) * both
    product = exact(a) * exact(b)
    assert abs(exact(twofold.times(a, b)) - product) <= STEP * abs(product)
    if b.real:
        quotient = exact(a) / exact(b)
        assert abs(exact(twofold.over(a, b)) - quotient) <= 4 * STEP * abs(quotient)


@given(st.floats(-600, 0), st.floats(-1, 1))
def test_the_exponential_is_within_its_unit(x: float, more: float) -> None:
    given = twofold.two_sum(x, x * more * 2.0**-54)
    with localcontext(prec=60):
        wanted = decimal(given).exp()
        assert abs(decimal(twofold.exponential(given)) / wanted - 1) * 32 < Decimal(twofold.UNIT)


def test_the_exponential_of_what_is_far_below_zero_is_none() -> None:
    assert twofold.exponential(complex(-1e9, 0.0)) == 0


@given(st.floats(1, 2.0**20), st.floats(0, 1))
def test_the_logarithm_is_within_its_unit(x: float, more: float) -> None:
    given = twofold.two_sum(x, x * more * 2.0**-54)
    with localcontext(prec=60):
        assert abs(decimal(twofold.logarithm(given)) - decimal(given).ln()) * 32 < Decimal(twofold.UNIT)


@pytest.mark.parametrize("scores", [1, 3, 4])
@pytest.mark.parametrize("bend", [1 / 64, 1.5, 64.0])
def test_slopes_are_those_of_floats_with_more_digits(scores: int, bend: float) -> None:
    rng = np.random.default_rng(0)
    places = rng.integers(0, 3, (50, 2)).astype(np.int32) + np.array([0, 3], dtype=np.int32)
    labels, weights = rng.integers(0, max(scores, 2), 50), rng.integers(1, 9, 50).astype(float)
    cells = 5 * rng.normal(size=(6, scores))
    found = twofold.slopes(places, labels, weights, cells.astype(complex), bend)
    assert found.real + found.imag == pytest.approx(sums(places, labels, weights, cells, bend)[0], abs=1e-12)
    if scores > 1:  # they add up to zero over the classes: in floats to 1e-14 alone
        with localcontext(prec=60):
            for cell in found:
                assert abs(sum(map(decimal, cell))) < 50 * 9 * Decimal(twofold.UNIT)


@pytest.mark.parametrize("bend", [1 / 64, 2.0, 64.0])
def test_the_slope_of_one_record_is_that_of_the_loss(bend: float) -> None:
    """By sixty digits, on both sides of the border, which lies where the logistic slope is the start."""
    with localcontext(prec=60):
        start = Decimal(border_slope(bend))
        border = (1 / start - 1).ln()
        for lead in (-30.0, -1.0, float(border) - 1e-9, float(border) + 1e-9, 3.0, 40.0):
            odds = (-Decimal(lead)).exp()
            short = (Decimal("0.5") - start) * (Decimal(bend) * (Decimal(lead) - border)).exp()
            wanted = odds / (1 + odds) if Decimal(lead) >= border else Decimal("0.5") - short
            cells = np.array([[lead + 0j]])
            ((found,),) = twofold.slopes(np.zeros((1, 1), np.int32), np.ones(1, np.int64), np.ones(1), cells, bend)
            assert abs(-decimal(found) - wanted) < Decimal(twofold.UNIT)
            assert bent(lead, bend)[0] == pytest.approx(float(wanted), rel=1e-12)


def test_products_with_a_matrix_keep_all_digits() -> None:
    matrix, values = np.array([[1.0, 1.0, 1.0], [0.5, 0.0, 3.0]]), np.array([[2.0**60], [-(2.0**60)], [2.0**-40]]) + 0j
    found = twofold.product(matrix, values)
    assert [exact(row[0]) for row in found] == [Fraction(1, 2**40), 2**59 + Fraction(3, 2**40)]
