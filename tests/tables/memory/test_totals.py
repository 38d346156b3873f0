"""Sums, means and variances of groups that were released before are read as they were, and counts follow from them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import jostle
from jostle import Category, Integer, Real, Unit
from jostle.tables.aggregates import count, mean, variance

RNG = np.random.default_rng(5)
ROWS = 4_000
FRAME = pd.DataFrame(
    {
        "age": RNG.integers(0, 100, ROWS),
        "ward": RNG.choice(list("ABC"), ROWS),
        "cost": np.where(RNG.random(ROWS) < 0.1, np.nan, RNG.uniform(-50, 150, ROWS).round(2)),
        "person": RNG.integers(0, 1_000, ROWS),
    }
)
SCHEMA = {"age": Integer(0, 99, bins=10), "ward": Category(list("ABC")), "cost": Real(-50, 150, bins=10)}


def opened(folder, **changed):
    keywords = {"schema": SCHEMA, "ledger": folder / "b.db", "budget": 10**6, "name": "people", "version": "1"}
    return jostle.open(FRAME, **keywords | changed)


def test_the_same_aggregates_cost_nothing_and_are_the_same(tmp_path):
    table = opened(tmp_path)
    asked = {"n": count(), "m": mean("cost"), "v": variance("cost"), "a": mean("age")}
    first, again = (table.group_by("ward").aggregate(**asked, epsilon=1) for _ in range(2))
    assert first.spent == 1
    assert again.spent == 0
    assert "All of it was released before" in again.explain()
    for name in asked:
        np.testing.assert_array_equal(first.values[name], again.values[name])
        np.testing.assert_array_equal(first.ends[name], again.ends[name])
    dearer = table.group_by("ward").aggregate(**asked, epsilon=2)
    assert 1 < dearer.spent < 2, "means of one column are completed; the variance of another is measured anew"


def test_only_totals_that_are_missing_are_bought(tmp_path):
    table = opened(tmp_path, beside="others")
    both = {"m": mean("cost"), "a": mean("age")}
    whole = opened(tmp_path, name="others").group_by("ward").aggregate(**both, epsilon=1)
    table.group_by("ward").aggregate(m=mean("cost"), epsilon=1)
    found = table.group_by("ward").aggregate(**both, epsilon=1)
    assert found.spent == Fraction(1, 2)
    assert "Some of the numbers were released before" in found.explain()
    assert whole.spent == 1
    assert found.margins["a"].shape == whole.margins["a"].shape
    assert table.group_by("ward").aggregate(a=mean("age"), epsilon=0.5).spent == 0


def test_counts_follow_from_means(tmp_path):
    table = opened(tmp_path)
    found = table.group_by("ward").aggregate(n=count(), m=mean("cost"), epsilon=1)
    wards = table.histogram("ward", epsilon=0.3)
    assert wards.spent == 0
    np.testing.assert_allclose(wards.answers, found.values["n"], atol=1e-6)
    np.testing.assert_allclose(wards.margins, found.margins["n"], rtol=0.01)


def test_a_condition_is_paid_for_with_all_others_of_its_column(tmp_path):
    table, exact = opened(tmp_path), opened(tmp_path, name="exact", beside="people")
    assert table.where("ward = 'A'").sum("cost", epsilon=1).spent == 1
    other = table.where("ward = 'B'").sum("cost", epsilon=1)
    assert other.spent == 0
    assert other.margin == pytest.approx(150 * np.log(20), rel=0.01)
    for ward in "ABC":
        value = exact.where(f"ward = '{ward}' AND age >= 33").mean("cost", epsilon=10**4)
        rows = FRAME[(FRAME.ward == ward) & (FRAME.age >= 33)]
        assert float(value) == pytest.approx(rows.cost.mean(), abs=0.05)
    assert exact.remaining == 10**6 - 10**4


def test_no_count_follows_from_a_sum(tmp_path):
    table = opened(tmp_path)
    table.sum("cost", epsilon=1)
    assert table.ask_count().preview(epsilon=1).paid_for is None
    table.where("ward = 'A'").sum("age", epsilon=1)
    assert table.where("ward = 'A'").ask_count().preview(epsilon=1).paid_for is None
    assert table.where("ward = 'A'").sum("cost", epsilon=1).spent == 1


def test_other_bounds_are_other_sums(tmp_path):
    opened(tmp_path).sum("cost", epsilon=1)
    narrower = opened(tmp_path, schema=SCHEMA | {"cost": Real(-50, 100, bins=10)})
    assert narrower.sum("cost", epsilon=1).spent == 1


def test_of_persons_only_the_same_question_is_used_again(tmp_path):
    table = opened(tmp_path, unit=Unit("person", 4, max_groups=2, max_rows_per_group=2))
    asked = {"n": count(), "m": mean("cost")}
    first, again = (table.group_by("ward").aggregate(**asked, epsilon=1) for _ in range(2))
    assert (first.spent, again.spent) == (1, 0)
    assert (first.values["m"] == again.values["m"]).all()
    assert table.histogram("ward", epsilon=0.1).spent == Fraction(1, 10)
    assert table.group_by().aggregate(**asked, epsilon=0.1).spent == Fraction(1, 10)
    assert table.where("ward = 'A'").sum("cost", epsilon=1).spent == 1
