"""Several aggregates per group: numbers as in pandas, one price, one charge; and bad questions cost nothing."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from jostle.kernel.errors import BadInput, Overdraft
from jostle.schema import Category, Integer, Real, Schema
from jostle.tables import aggregates as agg
from jostle.tables.aggregates import Aggregate
from jostle.tables.opening import open as open_table
from jostle.tables.unit import Unit

SCHEMA = Schema(
    ward=Category(["a", "b", "c"], outside="drop", null="drop"),
    sex=Category(["F", "M"]),
    cost=Real(0, 2000, bins=10),
    change=Integer(-100, 10),
    age=Integer(0, 99),
)
RNG = np.random.default_rng(5)
N = 3000
FRAME = pd.DataFrame(
    {
        "ward": RNG.choice(["a", "b", "c", "unheard of"], N),
        "sex": RNG.choice(["F", "M", None], N),
        "cost": np.where(RNG.uniform(size=N) < 0.1, np.nan, RNG.gamma(2, 100, N)),
        "change": RNG.integers(-100, 11, N),
        "age": RNG.integers(0, 100, N),
        "patient": RNG.integers(0, 1000, N),
    }
)
KNOWN = FRAME[FRAME["ward"].isin(["a", "b", "c"])]
LOTS = 10**5
"""At this ε, noise is far below the tolerances."""


def opened(tmp_path, **keywords):
    given = {"name": "people", "budget": 10**9} | keywords
    given.setdefault("ledger", tmp_path / f"{given['name']}.db")  # the rows are the same, so each account has its own
    return open_table(FRAME, schema=SCHEMA, **given)


@pytest.fixture
def people(tmp_path):
    return opened(tmp_path)


def test_all_aggregates_are_those_of_pandas_at_one_charge(people):
    found = people.group_by("ward", "sex").aggregate(
        epsilon=LOTS,
        n=agg.count(),
        known=agg.count("cost"),
        named=agg.count("sex"),
        total=agg.sum("cost"),
        average=agg.mean("cost"),
        squared=agg.variance("cost"),
        spread=agg.std("cost"),
        change=agg.sum("change"),
        age=agg.mean("age"),
    )
    assert (found.spent, people.remaining, len(found.charges)) == (LOTS, 10**9 - LOTS, 1)
    truth = KNOWN.fillna({"sex": "(missing)"}).groupby(["ward", "sex"])
    expected = truth.agg(n=("age", "size"), known=("cost", "count"), total=("cost", "sum"), change=("change", "sum"))
    expected["average"], expected["age"] = truth["cost"].mean(), truth["age"].mean()
    expected["squared"], expected["spread"] = truth["cost"].var(ddof=0), truth["cost"].std(ddof=0)
    table = found.to_pandas().set_index(["ward", "sex"])
    assert len(table) == 12
    for name in expected.columns:
        assert table.loc[expected.index, name].to_numpy() == pytest.approx(expected[name].to_numpy(), rel=1e-3, abs=0.01)
    assert table.loc[("a", "(missing)"), "named"] == pytest.approx(0, abs=0.01)
    assert table.loc[("a", "F"), "named"] == pytest.approx(expected.loc[("a", "F"), "n"], abs=0.01)
    nobody = table.loc[("b", "(other)")]
    # Nothing is known where nobody is. An interval of a hundredth of the range needs noise beyond 50 scales: e^(−50).
    assert nobody["average: high"] - nobody["average: low"] > 20
    assert nobody["spread: high"] - nobody["spread: low"] > 10


def test_one_row_for_all_rows_and_previews(people):
    question = people.ask_groups([], {"n": agg.count(), "average": agg.mean("age")})
    found = question.release(epsilon=LOTS)
    assert found.to_pandas()["n"].to_list() == pytest.approx([N], abs=0.01)
    assert list(found.to_pandas()) == ["n", "n: low", "n: high", "average", "average: low", "average: high"]
    shown = question.preview(epsilon=1, rows=1000)
    assert shown.margins["n"] == pytest.approx(found.margins["n"][0] * LOTS, rel=1e-6)
    assert 0 < shown.margins["average"] < 2
    assert "depends on the rows of a group" in str(question.preview(epsilon=1))
    single = people.ask_groups(["ward"], {"n": agg.count()})
    assert single.release(within=30).spent == pytest.approx(Fraction(1, 10))


def test_listed_groups_leave_all_others_out(people):
    listed = people.group_by("ward", "sex", keys=[("b", "M"), ("a", "F")]).aggregate(epsilon=LOTS, n=agg.count())
    assert list(zip(*listed.labels.values(), strict=True)) == [("b", "M"), ("a", "F")]
    truth = KNOWN.value_counts(["ward", "sex"])
    assert listed.values["n"] == pytest.approx([truth["b", "M"], truth["a", "F"]], abs=0.01)
    assert people.group_by("ward", keys=["c"]).ask(n=agg.count())._columns.filtered
    by_value = people.group_by("age", keys=[33, "34"]).aggregate(epsilon=LOTS, n=agg.count())
    assert by_value.values["n"] == pytest.approx([(FRAME["age"] == 33).sum(), (FRAME["age"] == 34).sum()], abs=0.01)


def test_a_cross_table_has_the_cells_of_the_long_one(people):
    found = people.group_by("ward", "sex").aggregate(epsilon=LOTS, n=agg.count(), average=agg.mean("age"))
    wide, long = found.pivot("n"), found.to_pandas()
    assert (list(wide.index), list(wide.columns)) == (["a", "b", "c"], ["F", "M", "(other)", "(missing)"])
    assert wide.to_numpy().reshape(-1).tolist() == long["n"].tolist()
    assert found.pivot().columns.nlevels == 2
    with pytest.raises(BadInput, match="two group columns"):
        people.group_by("ward").aggregate(epsilon=1, n=agg.count()).pivot()
    assert len(found.plot().data) >= 1
    assert "is left" in found.explain()


@pytest.mark.parametrize(
    ("columns", "aggregates", "how", "argument"),
    [
        (["nobody"], {"n": agg.count()}, {}, "column"),
        (["ward", "ward"], {"n": agg.count()}, {}, "columns"),
        (["ward"], {}, {}, "aggregates"),
        (["ward"], {"n": "count"}, {}, "aggregates"),
        (["ward"], {"n": agg.mean("sex")}, {}, "column"),
        (["ward"], {"n": agg.count("nobody")}, {}, "column"),
        (["ward"], {"n": agg.count_distinct_units()}, {}, "aggregates"),
        (["ward"], {"n": agg.count()}, {"weights": {"m": 1}}, "weights"),
        (["ward"], {"n": agg.count()}, {"weights": {"n": -1}}, "weights"),
        (["ward"], {"n": agg.count()}, {"keys": "private"}, "keys"),
        (["ward"], {"n": agg.count()}, {"keys": "a"}, "keys"),
        (["ward"], {"n": agg.count()}, {"keys": []}, "keys"),
        (["ward"], {"n": agg.count()}, {"keys": ["a", "a"]}, "keys"),
        (["ward"], {"n": agg.count()}, {"keys": ["x"]}, "keys"),
        (["ward"], {"n": agg.count()}, {"keys": [("a", "b")]}, "keys"),
        (["age", "change"], {"n": agg.count()}, {}, "columns"),
    ],
)
def test_bad_questions_cost_nothing(people, columns, aggregates, how, argument):
    with pytest.raises(BadInput, match="Remedy") as refused:
        people.ask_groups(columns, aggregates, **how).release(epsilon=1)
    assert refused.value.argument == argument
    assert people.remaining == 10**9


def test_aggregates_check_themselves_and_what_costs_too_much_is_not_charged(people):
    for bad in (("mode", "x"), ("mean",), ("count_units", "x"), ("quantile", "x", 1.5), ("sum", 3)):
        with pytest.raises(BadInput):
            Aggregate(*bad)
    question = people.ask_groups(["ward"], {"n": agg.count(), "s": agg.sum("age")})
    with pytest.raises(Overdraft):
        question.release(epsilon=10**10)
    with pytest.raises(BadInput, match="^epsilon"):
        question.release(epsilon="1/100000000000000000000")
    with pytest.raises(BadInput, match="^within: is for one count or sum"):
        question.release(within=3)
    assert people.remaining == 10**9


def test_the_noise_follows_unit_groups_and_neighbours(tmp_path, monkeypatch):
    """One total each, so that it has all of ε."""
    drawn = []

    def spy(self, values, scale):
        drawn.append(scale)
        return np.asarray(values)

    monkeypatch.setattr("jostle.kernel.noise.ExactNoise.discrete_laplace", spy)
    two = Unit("patient", max_rows=10, max_groups=2, max_rows_per_group=3)
    for relation, unit, rows, persons in (
        ("add_remove", None, 1, None),
        ("replace", None, 2, None),
        ("add_remove", Unit("patient", max_rows=10), 10, 10),
        ("add_remove", Unit("patient", max_rows=10, max_groups=4), 10, 4),
        ("add_remove", Unit("patient", max_rows=10, max_rows_per_group=3), 10, 10),
        ("add_remove", two, 6, 2),
        ("replace", two, 12, 4),
    ):
        grouped = opened(tmp_path, name=f"{relation} {unit!r} {persons}", neighbours=relation, unit=unit).group_by("ward")
        drawn.clear()
        grouped.aggregate(epsilon="1/2", n=agg.count())
        grouped.aggregate(epsilon="1/2", s=agg.sum("change"))
        grouped.aggregate(epsilon="1/2", s=agg.mean("change"), n=agg.count())
        grouped.aggregate(epsilon="1/2", s=agg.std("change"))
        assert drawn == [2 * rows, 2 * 100 * rows, 2 * 2**30 * rows, 2 * (2**30 + 3) * rows]
        if persons is not None:
            drawn.clear()
            grouped.aggregate(epsilon="1/2", n=agg.count_distinct_units())
            assert drawn == [2 * persons]
    alone = opened(tmp_path, name="alone", unit=two).group_by()
    drawn.clear()
    alone.aggregate(epsilon=1, n=agg.count())
    alone.aggregate(epsilon=1, n=agg.count_distinct_units())
    assert drawn == [3, 1]  # one group: at most three rows of it, and each person once


def test_parts_of_a_table_have_no_tighter_bound_than_rows(tmp_path, monkeypatch):
    """A person's rows in all parts together are bounded by `max_rows` alone."""
    table = opened(tmp_path, unit=Unit("patient", max_rows=10, max_groups=1, max_rows_per_group=1))
    parts = table.partition("ward", epsilon=1)
    drawn = []

    def spy(self, values, scale):
        drawn.append(scale)
        return np.asarray(values)

    monkeypatch.setattr("jostle.kernel.noise.ExactNoise.discrete_laplace", spy)
    parts["a"].group_by("sex").aggregate(epsilon="1/2", n=agg.count())
    parts["a"].group_by("sex").aggregate(epsilon="1/2", n=agg.count_distinct_units())
    assert drawn == [20, 20]


def test_weights_move_epsilon_where_they_are_large(people):
    sums = {"a": agg.sum("age"), "b": agg.sum("change")}
    even = people.ask_groups(["ward"], sums).preview(epsilon=1).margins
    uneven = people.ask_groups(["ward"], sums, weights={"a": 8}).preview(epsilon=1).margins
    assert even["a"] / uneven["a"] == pytest.approx(4 / 3, rel=1e-3)  # shares of 1/2 and 2/3
    assert uneven["b"] / even["b"] == pytest.approx(3 / 2, rel=1e-3)


def test_quantiles_of_every_group_share_the_price_with_the_rest(people):
    found = people.group_by("ward").aggregate(
        epsilon=LOTS, n=agg.count(), median=agg.quantiles("age", 0.5), most=agg.max("age"), middle=agg.quantiles("cost", 0.5)
    )
    truth = KNOWN.groupby("ward")
    assert found.values["median"].tolist() == truth["age"].quantile(0.5, interpolation="lower").tolist()
    assert found.values["most"] == pytest.approx(truth["age"].quantile(0.99).to_numpy(), abs=1.01)
    assert found.values["middle"] == pytest.approx(truth["cost"].median().to_numpy(), abs=3)
    assert (found.spent, people.remaining) == (LOTS, 10**9 - LOTS)
    assert sum(event.amount for event in found.charges) == LOTS
    assert any("the 99 % quantile" in note for note in found.notes)
    low, high = found.ends["middle"]
    assert ((low <= found.values["middle"]) & (found.values["middle"] <= high) & (low < high)).all()
    listed = people.group_by("sex", keys=["M"]).aggregate(epsilon=LOTS, median=agg.quantiles("age", 0.5))
    assert listed.values["median"].tolist() == [FRAME[FRAME["sex"] == "M"]["age"].quantile(0.5, interpolation="lower")]


def test_what_was_paid_for_is_handed_over_where_a_later_measurement_fails(people, monkeypatch):
    def fails(*_):
        raise RuntimeError

    monkeypatch.setattr("jostle.tables.group_quantiles.GroupQuantiles.release", fails)
    with pytest.raises(RuntimeError) as failed:
        people.group_by("ward").aggregate(epsilon=1, n=agg.count(), median=agg.quantiles("age", 0.5))
    answered = failed.value.answered
    assert list(answered.values) == ["n"]
    assert people.remaining == 10**9 - answered.spent
    with pytest.raises(Overdraft):
        people.group_by("ward").aggregate(epsilon=10**10, n=agg.count(), median=agg.quantiles("age", 0.5))
    assert people.remaining == 10**9 - answered.spent


def test_an_empty_group_has_wide_intervals_of_quantiles(people):
    nobody = people.where("age > 98 AND age < 1").group_by().aggregate(epsilon=1, median=agg.quantiles("age", 0.5))
    low, high = nobody.ends["median"]
    assert high[0] - low[0] > 10  # a narrow one needs noise of many scales in all cells


@pytest.mark.parametrize(
    "text", ["p:3,", "p:3,groups", "p:3,groups=", "p:3,groups=x", "p:3,rows=2", "p:3,groups=2,groups=3", "p:,groups=2"]
)
def test_a_unit_that_cannot_be_read_is_refused(text):
    with pytest.raises(BadInput, match="Remedy"):
        Unit.of(text)


def test_samples_ratios_and_the_largest_cells_per_group(people):
    found = people.group_by("ward").aggregate(
        epsilon=LOTS,
        variance=agg.variance("cost", ddof=1),
        spread=agg.std("cost", ddof=1),
        of_all=agg.std("cost"),
        per_year=agg.sum("cost") / agg.sum("age"),
        share=agg.ratio(agg.count("cost"), agg.count()),
    )
    assert list(found.values) == ["variance", "spread", "of_all", "per_year", "share"]
    truth = KNOWN.groupby("ward")
    assert found.values["variance"] == pytest.approx(truth["cost"].var().to_numpy(), rel=1e-4)
    assert found.values["spread"] == pytest.approx(truth["cost"].std().to_numpy(), rel=1e-4)
    assert found.values["of_all"] == pytest.approx(truth["cost"].std(ddof=0).to_numpy(), rel=1e-4)
    assert found.values["per_year"] == pytest.approx((truth["cost"].sum() / truth["age"].sum()).to_numpy(), rel=1e-3)
    assert found.what["per_year"] == "sum of cost / sum of age"
    low, high = found.ends["share"]
    assert ((low < 1) & (high > 0.8) & (high - low < 0.01)).all()
    best = people.group_by("ward").top("sex", k=2, epsilon=LOTS)
    counted = KNOWN.fillna({"sex": "(missing)"}).value_counts(["ward", "sex"])
    rows = best.to_pandas()
    assert rows["ward"].tolist() == ["a", "a", "b", "b", "c", "c"]
    for ward, group in rows.groupby("ward"):
        assert group["sex"].tolist() == counted[ward].sort_values(ascending=False, kind="stable").index[:2].tolist()
    for refused in (
        lambda: agg.variance("cost", ddof=2),
        lambda: agg.ratio(agg.count(), 3),
        lambda: Aggregate("mean", "cost", ddof=1),
        lambda: people.group_by("ward").top("sex", k=0, epsilon=1),
    ):
        with pytest.raises(BadInput):
            refused()
