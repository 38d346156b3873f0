"""Clipped sums and means: the sensitivity that follows from the bounds, tried on random neighbours, and the answers."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jostle import mechanisms
from jostle.kernel.errors import BadInput
from jostle.kernel.neighbours import Neighbours
from tests.kernel.helpers import RELATIONS
from tests.mechanisms.helpers import hoeffding, recorded

BOUNDS = [(0.0, 1.0), (-3.0, 5.0), (18.0, 100.0), (-7.0, -2.0), (0.1, 0.3), (-1e30, 1e29), (1e6, 1e6 + 1)]
anything = st.one_of(st.floats(allow_nan=True, allow_infinity=True), st.floats(-10, 120), st.none())


def measured(mechanism, values, bounds, neighbours):
    """What gets noise, and its scale at ε = 1, which is the sensitivity it is calibrated to."""
    budget, recorder = recorded(1, neighbours)
    mechanism(np.array(values, dtype=object), bounds=bounds, budget=budget)
    (_, scale, vector), *_ = recorder.asked
    return vector, scale


@pytest.mark.parametrize("mechanism", [mechanisms.clipped_sum, mechanisms.clipped_mean])
@given(st.lists(anything, max_size=6), anything, anything, st.sampled_from(BOUNDS))
def test_no_record_moves_it_further_than_the_noise_covers(mechanism, values, one, other, bounds):
    pairs = [
        (Neighbours("add_remove"), values, [*values, one]),
        (Neighbours("replace"), [*values, one], [*values, other]),
        (Neighbours("replace", part=True), [*values, one], [*values, other]),
        (Neighbours("replace", rows=2), [*values, one, one], [*values, other]),
    ]
    for neighbours, before, after in pairs:
        (first, scale), (second, again) = (measured(mechanism, data, bounds, neighbours) for data in (before, after))
        assert scale == again
        assert np.abs(first - second).sum() <= scale


@pytest.mark.parametrize("bounds", BOUNDS)
def test_the_scale_is_what_the_bounds_say(bounds):
    low, high = map(Fraction, bounds)
    for neighbours in RELATIONS:
        vector, scale = measured(mechanisms.clipped_sum, [bounds[1]], bounds, neighbours)
        unit = (
            (high - low) / 2**30
            if neighbours.total_is_public
            else Fraction(2) ** (math.frexp(max(map(abs, bounds)))[1] - 30)
        )
        expected = neighbours.sensitivity(max(abs(low), abs(high)), high - low)
        assert float(scale * unit) == pytest.approx(float(expected), rel=1e-6, abs=float(2 * neighbours.rows * unit))
        assert vector.size == 1


@pytest.mark.parametrize("bounds", BOUNDS)
def test_where_records_were_left_out_one_may_begin_or_cease_to_count(bounds):
    """Under `replace`, by the token or as it is said: nothing without noise, at exactly the scale of the larger move."""
    units = [Fraction(round(Fraction(end) / _unit(bounds))) for end in bounds]
    largest = max(abs(units[0]), abs(units[1]), units[1] - units[0])
    for values in ([], [bounds[0]], [bounds[1]]):
        budget, recorder = recorded(1, "replace")
        answer = mechanisms.clipped_sum(values, bounds=bounds, budget=budget, filtered=True)
        ((_, scale, vector),) = recorder.asked
        assert scale == largest
        assert answer == float(vector[0] * float(_unit(bounds)))  # the recorder adds nothing, and neither does the sum
        budget, recorder = recorded(1, "replace")
        mechanisms.clipped_mean(values, bounds=bounds, budget=budget, filtered=True)
        ((_, scale, vector),) = recorder.asked
        assert (scale, vector.size) == (2 * 2**30, 2)


def _unit(bounds):
    return Fraction(2) ** (math.frexp(max(map(abs, bounds)))[1] - 30)


@pytest.mark.parametrize("mechanism", [mechanisms.clipped_sum, mechanisms.clipped_mean])
def test_whether_records_were_left_out_is_yes_or_no_and_matters_under_replace_alone(mechanism):
    budget, recorder = recorded(1)
    with pytest.raises(BadInput, match="filtered"):
        mechanism([1.0], bounds=(0, 10), budget=budget, filtered="yes")
    mechanism([1.0], bounds=(0, 10), budget=budget, filtered=True)
    again, plain = recorded(1)
    mechanism([1.0], bounds=(0, 10), budget=again)
    assert [one[1] for one in recorder.asked] == [one[1] for one in plain.asked]


def test_the_scale_of_a_mean():
    for neighbours, values in ((Neighbours(), 2), (Neighbours("replace"), 1), (Neighbours("replace", part=True), 2)):
        vector, scale = measured(mechanisms.clipped_mean, [3.0] * 10, (0, 10), neighbours)
        assert vector.size == values
        assert scale == 2**30 * (2 if neighbours.part else 1)


def test_values_outside_and_missing_ones_follow_the_rule(account):
    values = [1, 2, np.nan, 1000, -np.inf, None]
    near = mechanisms.clipped_sum(np.array(values, dtype=object), bounds=(-1, 10), budget=account.grant(10**5))
    assert near == pytest.approx(1 + 2 + 0 + 10 - 1 + 0, abs=0.01)
    positive = mechanisms.clipped_sum([np.nan, 30], bounds=(18, 100), budget=account.grant(10**5))
    assert positive == pytest.approx(18 + 30, abs=0.1)
    negative = mechanisms.clipped_sum([np.nan, -30], bounds=(-100, -18), budget=account.grant(10**5))
    assert negative == pytest.approx(-18 - 30, abs=0.1)
    mean = mechanisms.clipped_mean([np.nan, 0, 10], bounds=(0, 10), budget=account.grant(10**5))
    assert mean == pytest.approx(5, abs=0.01)


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_sums_and_means_are_right_on_average(neighbours):
    values, trials = np.linspace(20, 80, 601), 4000
    purse = mechanisms.simulation(seed=0, neighbours=neighbours, trials=trials)
    sums = mechanisms.clipped_sum(values, bounds=(10, 90), budget=purse.grant(1))
    size = 90 if neighbours == "add_remove" else 80
    assert sums.shape == (trials,)
    assert (np.abs(sums - values.sum()) <= size * math.log(2)).mean() == pytest.approx(0.5, abs=hoeffding(trials))
    means = mechanisms.clipped_mean(values, bounds=(10, 90), budget=purse.grant(1))
    error = mechanisms.utility.clipped_mean_error(1, records=601, bounds=(10, 90), confidence=0.9, neighbours=neighbours)
    assert (np.abs(means - 50) <= error).mean() >= 0.9 - hoeffding(trials)
    assert np.median(means) == pytest.approx(50, abs=0.1)


def test_two_sums_together_beat_a_sum_and_a_count():
    """The error of the mean of n values halfway: noise of variance (width/n)²/ε², against twice that with ε/2 each."""
    values, trials = np.full(1000, 50.0), 20_000
    means = mechanisms.clipped_mean(values, bounds=(0, 100), budget=mechanisms.simulation(seed=0, trials=trials).grant(1))
    assert means.var() == pytest.approx((100 / 1000) ** 2, rel=0.1)


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize("values", [[], [np.nan], [5.0]])
def test_few_or_no_records_are_no_trouble(values, neighbours):
    for seed in range(20):
        purse = mechanisms.simulation(seed=seed, neighbours=neighbours)
        assert math.isfinite(mechanisms.clipped_sum(values, bounds=(0, 10), budget=purse.grant(1)))
        assert 0 <= mechanisms.clipped_mean(values, bounds=(0, 10), budget=purse.grant(1)) <= 10


def test_an_exact_release(account):
    values = np.arange(1001.0)
    assert mechanisms.clipped_sum(values, bounds=(0, 1000), budget=account.grant(1)) == pytest.approx(500_500, abs=20_000)
    assert mechanisms.clipped_mean(values, bounds=(0, 1000), budget=account.grant(1)) == pytest.approx(500, abs=40)
    assert [event.operator for event in account.ledger.events(account.name)[1:]] == ["clipped_sum", "clipped_mean"]
