"""The intervals of means: right also where there are few rows, or none."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import jostle
from jostle import Integer
from jostle.answers.noise_intervals import share, share_ends
from jostle.kernel.errors import BadInput, Overdraft


def interval(pair, scale):
    low, high = share_ends(np.array([pair]), scale)
    return float(low[0]), float(high[0])


@pytest.mark.parametrize("records", [0, 2, 10, 60, 400, 1e6])
@pytest.mark.parametrize("true", [0.0, 0.04, 0.3, 0.5, 1.0])
def test_a_true_share_is_missed_five_times_in_a_hundred_however_few_records_there_are(records, true):
    scale, runs, rng = 10.0, 400, np.random.default_rng([7, int(records), int(100 * true)])
    noisy = records * np.array([true, 1 - true]) + rng.laplace(scale=scale, size=(runs, 2))
    low, high = share_ends(noisy, scale)
    held = ((low <= true) & (true <= high)).mean()
    off = 5.5 * np.sqrt(0.05 * 0.95 / runs)  # by chance once in 10^7
    assert held >= 0.95 - off
    if records == 1e6 and 0 < true < 1:  # with few records, an interval that is cut at the bounds holds more
        assert held <= 0.95 + off


def test_an_interval_is_as_wide_as_the_noise_of_many_records_makes_it():
    # With n records, the share moves by ((1 - r) Z - r Z') / n: at r = 1/2, its tail (1 + x) exp(-2x) is 0.05 at x = 2.056.
    low, high = interval(np.array([5e5, 5e5]), scale=10.0)
    assert (high - low) / 2 == pytest.approx(2.0562e-5, rel=1e-3)
    # At r = 1, the noise of one number is all there is, and the true share is not above 1.
    assert interval(np.array([1e6, 0.0]), scale=10.0) == pytest.approx((1 - 10e-6 * np.log(20), 1.0), rel=1e-6)


@pytest.mark.parametrize("pair", [(0.0, 0.0), (5.0, -3.0), (-20.0, -20.0), (-500.0, 200.0), (12.0, 3.0)])
def test_all_shares_are_possible_where_there_may_be_nothing_to_share(pair):
    low, high = interval(np.array(pair), scale=10.0)
    assert low <= share(np.array(pair)) <= high
    assert (low, high) == (0.0, 1.0)


def test_the_interval_of_a_mean_stays_between_the_bounds_and_covers_them_where_nobody_is(tmp_path):
    import pandas as pd

    frame = pd.DataFrame({"income": [10.0, 30.0] * 2000, "sex": ["F", "M"] * 2000})
    schema = {"income": jostle.Real(0, 60, bins=6), "sex": jostle.Category(["F", "M"])}
    table = jostle.open(frame, schema=schema, budget=100, ledger=str(tmp_path / "budget.db"), name="people")
    for _ in range(5):
        found = table.mean("income", by="sex", epsilon=1).to_pandas().set_index("sex")
        assert (found["low"] >= 0).all()
        assert (found["high"] <= 60).all()
        assert found.loc["F", "high"] - found.loc["F", "low"] < 2
    # A 95 % interval is all of the domain in 19 of 20 runs; half of 20 fail with probability below 1e-7.
    everything = 0
    for _ in range(20):
        alone = table.where("sex IS NULL").mean("income", epsilon="0.001").to_pandas()
        everything += alone[["low", "high"]].to_numpy().tolist() == [[0.0, 60.0]]
    assert everything > 10


def test_the_price_of_a_distance_is_a_short_number_and_a_mean_has_none(tmp_path):
    table = jostle.open(
        pd.DataFrame({"age": range(100)}), schema={"age": Integer(0, 99)}, ledger=tmp_path / "b.db", budget=5, name="p"
    )
    with pytest.raises(Overdraft, match=r"requested ε = \d{3}, remaining 5"):
        table.sum("age", within=1)
    question = table.ask_total("sum", "age")
    epsilon = question.epsilon_within(700)
    assert question.preview(epsilon=epsilon).margin <= 700 <= question.preview(epsilon=epsilon * Fraction(99, 100)).margin
    with pytest.raises(BadInput, match="^within: a mean's error depends"):
        table.mean("age", within=1)
    assert table.remaining == 5
