"""Laplace and discrete Laplace: what they are calibrated to, and that what comes out is that."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import stats

from jostle import mechanisms
from jostle.kernel.errors import Overdraft, PlanError
from tests.kernel.helpers import RELATIONS
from tests.mechanisms.helpers import FLUKE, hoeffding, recorded


@pytest.mark.parametrize("neighbours", RELATIONS, ids=str)
@pytest.mark.parametrize(("sensitivity", "pair"), [(3, (3, 6)), ((1, 0), (1, 0)), (("1/3", "1/2"), ("1/3", "1/2"))])
@pytest.mark.parametrize("mechanism", ["laplace", "discrete_laplace"])
def test_the_scale_is_sensitivity_times_neighbours_over_epsilon(mechanism, sensitivity, pair, neighbours):
    budget, recorder = recorded("1/7", neighbours)
    getattr(mechanisms, mechanism)(5, sensitivity=sensitivity, budget=budget)
    assert recorder.scales == [neighbours.sensitivity(Fraction(pair[0]), Fraction(pair[1])) * 7]


def test_a_float_sensitivity_is_rounded_against_the_caller():
    budget, recorder = recorded(1)
    mechanisms.laplace(0.0, sensitivity=0.1, budget=budget)
    assert recorder.scales[0] == Fraction(0.1) > Fraction(1, 10)


def test_exact_laplace_noise_is_laplace(account):
    noisy = mechanisms.laplace(np.full(20_000, 7.5), sensitivity=2, budget=account.grant(0.5))
    assert stats.kstest(noisy, stats.laplace(7.5, 4).cdf).pvalue > FLUKE


def test_exact_discrete_noise_is_discrete_laplace(account):
    noisy = mechanisms.discrete_laplace(np.full(20_000, 7), sensitivity=2, budget=account.grant(0.5))
    ladder = np.arange(-40, 41)
    seen = (noisy[:, None] - 7 <= ladder).mean(axis=0)
    assert np.abs(seen - stats.dlaplace(0.25).cdf(ladder)).max() < hoeffding(20_000)


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0,)])
def test_the_answer_has_the_values_shape(account, shape):
    whole = np.ones(shape, dtype=int)
    for grant in (account.grant, mechanisms.simulation(seed=0).grant):
        assert np.shape(mechanisms.laplace(whole * 0.5, sensitivity=1, budget=grant(1))) == shape
        assert np.shape(mechanisms.discrete_laplace(whole, sensitivity=1, budget=grant(1))) == shape


def test_one_number_is_a_number(account):
    assert type(mechanisms.laplace(3, sensitivity=1, budget=account.grant(1))) is float
    assert type(mechanisms.discrete_laplace(3, sensitivity=1, budget=account.grant(1))) is int
    assert type(mechanisms.discrete_laplace(True, sensitivity=1, budget=account.grant(1))) is int


def test_a_simulation_may_have_trials():
    noisy = mechanisms.discrete_laplace([3, 4], sensitivity=1, budget=mechanisms.simulation(seed=0, trials=5).grant(1))
    assert noisy.shape == (5, 2)
    assert noisy.dtype == np.int64


def test_values_that_are_no_numbers_are_replaced_not_refused(account):
    values = [np.nan, np.inf, -np.inf, None, 10**400, "x", 1e308]
    noisy = mechanisms.laplace(np.array(values, dtype=object), sensitivity=1, budget=account.grant(1))
    large = 2.0**500
    assert np.sign(noisy[[1, 2, 4, 6]]).tolist() == [1, -1, 1, 1]
    assert np.abs(noisy[[1, 2, 4, 6]]).tolist() == [large] * 4
    assert np.abs(noisy[[0, 3, 5]]).max() < 1000
    assert abs(mechanisms.discrete_laplace(10**30, sensitivity=1, budget=account.grant(1)) - 2**61) < 10_000


@pytest.mark.parametrize(
    "value", [[2**63, -1], [2**64, 1], [True, 2**64], np.array([200], dtype=np.uint8), np.array([2**63])]
)
def test_whole_numbers_of_any_size_are_whole(value):
    """NumPy makes floats of 2^63 and −1 together: a value must not be refused because of another one's size."""
    noisy = mechanisms.discrete_laplace(value, sensitivity=1, budget=recorded(1)[0])
    assert noisy.tolist() == [min(int(number), 2**61) for number in value]


LONG = [
    Decimal,
    Fraction,
    str,
    *([np.longdouble] if np.finfo(np.longdouble).nmant > 60 else []),
    lambda number: f" {number}.5 ",
    lambda number: Decimal(number) + Decimal("0.5"),
]


@pytest.mark.parametrize("made", LONG)
@pytest.mark.parametrize("collected", [list, lambda numbers: np.array(numbers, dtype=object)])
def test_no_number_becomes_a_float_on_its_way_to_whole_ones(made, collected):
    """Floats are 256 apart there, and would take neighbours as far apart: for sensitivity 1, 256 times ε."""
    for number in (2**60 + 128, 2**60 + 129, -(2**60) - 129):
        noisy = mechanisms.discrete_laplace(collected([made(number), 1]), sensitivity=1, budget=recorded(1)[0])
        assert abs(int(noisy[0]) - number) <= (number < 0)


@pytest.mark.parametrize(
    ("number", "whole"),
    [
        *(
            (text, 0)
            for text in ("x", "", "nan", "sNaN", "\ud800", "1\0", Decimal("NaN"), Decimal("sNaN"), np.timedelta64(5, "s"))
        ),
        *(
            (number, 2**61)
            for number in ("inf", "1e400", "1e9999999999999999999999", Decimal("1e999999999"), math.inf, 2**70)
        ),
        *((number, -(2**61)) for number in ("-1e999999999999999999", Decimal("-Infinity"), np.longdouble("-inf"))),
        *((number, -1) for number in ("-0.1", Decimal("-1e-999999999"), Fraction(-1, 3), np.longdouble(-0.5), -0.5)),
        (np.True_, 1),
        (np.longdouble("nan"), 0),
    ],
)
def test_every_number_has_a_whole_one_below_it(number, whole):
    assert mechanisms.discrete_laplace([number, 1.5], sensitivity=1, budget=recorded(1)[0]).tolist() == [whole, 1]


def test_no_noise_where_one_record_changes_nothing():
    budget = mechanisms.simulation(seed=0, neighbours="replace").grant(1)
    assert mechanisms.discrete_laplace(1234, sensitivity=(1, 0), budget=budget) == 1234


def test_the_charge_is_in_the_ledger(account):
    mechanisms.laplace(1.0, sensitivity=1, budget=account.grant("1/3"), note="ages")
    event = account.ledger.events(account.name)[-1]
    assert (event.operator, event.amount, event.note) == ("laplace", Fraction(1, 3), "ages")


def test_a_token_is_spent_once(account):
    budget = account.grant(1)
    mechanisms.laplace(1.0, sensitivity=1, budget=budget)
    with pytest.raises(PlanError, match="spent already"):
        mechanisms.laplace(1.0, sensitivity=1, budget=budget)
    assert account.spent == 1


def test_no_noise_without_the_charge(account):
    account.ledger.set_cap(account.name, 1)
    first, second = account.grant(0.75), account.grant(0.75)
    mechanisms.laplace(1.0, sensitivity=1, budget=first)
    with pytest.raises(Overdraft):
        mechanisms.laplace(1.0, sensitivity=1, budget=second)
    assert account.spent == Fraction(3, 4)


@pytest.mark.parametrize("value", [[3, math.nan], [3, None], [3, "x"], [3, 0.5], [3, 2**70]])
def test_no_list_is_refused_for_what_is_in_it(value):
    assert mechanisms.discrete_laplace(value, sensitivity=1, budget=recorded(1)[0]).dtype == np.int64


def test_a_text_of_arrow_that_is_no_utf8_is_no_number():
    texts = pa.array([b"7", b"\xe9"]).view(pa.string())
    for column in (texts, pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([texts])))):
        assert mechanisms.discrete_laplace(column, sensitivity=1, budget=recorded(1)[0]).tolist() == [7, 0]
        assert mechanisms.laplace(column, sensitivity=1, budget=recorded(1)[0]).tolist() == [7, 0]


def test_a_sensitivity_below_one_is_one_for_whole_numbers():
    """Rounding down takes two numbers that are close on either side of a whole one apart."""
    budget, recorder = recorded(1)
    mechanisms.discrete_laplace([0.95], sensitivity=0.1, budget=budget)
    assert recorder.scales == [1]
