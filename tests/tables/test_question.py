"""Quantiles, largest cells, marginals, sums by group, and histograms of three columns."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from jostle.kernel.budget import Price
from jostle.kernel.errors import BadInput
from jostle.kernel.measures import Approximate, Concentrated
from jostle.linear.design.residuals import plan_residuals
from jostle.schema import Category, Integer, Real, Schema
from jostle.tables.opening import open as open_table
from jostle.tables.unit import Unit

SCHEMA = Schema(
    age=Integer(0, 99),
    sex=Category(["F", "M"]),
    income=Real(0, 100, bins=8, outside="own", null="own"),
    race=Category(["a", "b", "c"]),
    person=Integer(0, 10**6, bins=10),
)
RNG = np.random.default_rng(3)
N = 2000
FRAME = pd.DataFrame(
    {
        "age": RNG.integers(0, 100, N),
        "sex": RNG.choice(["F", "M", None], N, p=[0.5, 0.4, 0.1]),
        "income": np.where(RNG.uniform(size=N) < 0.1, np.nan, RNG.gamma(2, 15, N)),
        "race": RNG.choice(["a", "b", "c"], N),
        "person": np.arange(N),
    }
)
INSIDE = FRAME[FRAME["income"].between(0, 100)]
LOTS = 10**4
"""At this ε noise above 1 on a count has probability below e^(−1,000)."""


def opened(tmp_path, *, budget=10**7, **keywords):
    given = {"name": "people"} | keywords
    given.setdefault("ledger", tmp_path / f"{given['name']}.db")  # the rows are the same, so each account has its own
    return open_table(FRAME, schema=SCHEMA, budget=budget, **given)


@pytest.fixture
def people(tmp_path):
    return opened(tmp_path)


# -------------------------------------------------------------------------------------------------------- quantiles


def test_quantiles_are_those_of_the_rows_with_a_number_between_the_bounds(people):
    found = people.quantiles("income", [0.1, 0.5, 0.9], epsilon=LOTS)
    assert found.values == pytest.approx(INSIDE["income"].quantile([0.1, 0.5, 0.9]).to_numpy(), abs=0.3)
    table = found.to_pandas()
    assert (table["low"] <= table["income"]).all()
    assert (table["income"] <= table["high"]).all()
    assert found.spent == LOTS
    assert people.median("age", epsilon=LOTS).values[0] == np.quantile(FRAME["age"], 0.5, method="inverted_cdf")
    assert "one noisy distribution" in found.explain()


def test_quantiles_cost_what_their_ranks_need(people):
    levels, within = [0.25, 0.5], 200.0
    needed = people.ask_quantiles("age", levels).epsilon_within(within)
    assert people.quantiles("age", levels, within=within).spent == needed
    assert people.median("age", within=within).spent == people.ask_quantiles("age", [0.5]).epsilon_within(within)


def test_several_quantiles_cost_as_much_as_one_and_their_intervals_hold(people):
    """The ranks of the released distribution function are off by more than its margins in 5 of 100 cases."""
    truth = np.quantile(FRAME["age"], [0.25, 0.5, 0.75], method="inverted_cdf")
    inside = 0
    for _ in range(40):
        found = people.quantiles("age", [0.25, 0.5, 0.75], epsilon=1)
        assert found.spent == 1
        table = found.to_pandas()
        inside += int(((table["low"] <= truth + 1e-9) & (truth <= table["high"] + 1e-9)).sum())
    # Each holds with probability 0.95 at least. Dependence within a run is bounded by treating runs as single trials:
    # 60 of 120 would need 20 runs of 40 in which one fails, whose probability is below 10⁻⁶ at 0.15 a run.
    assert inside >= 60


# ------------------------------------------------------------------------------------------------- top, three columns


def test_the_largest_cells(people):
    found = people.top("race", "sex", k=2, epsilon=LOTS).to_pandas()
    counts = FRAME.assign(sex=FRAME["sex"].fillna("(missing)")).value_counts(["race", "sex"])
    assert found["count"].tolist() == pytest.approx(counts.to_list()[:2], abs=0.1)
    with pytest.raises(BadInput, match="k: must be"):
        people.top("race", k=0, epsilon=1)


def test_a_histogram_of_three_columns(people):
    found = people.histogram("sex", "race", "age", epsilon=LOTS, algorithm="Laplace").to_pandas()
    assert list(found.columns) == ["sex", "race", "age", "count", "low", "high"]
    chosen = found[(found["sex"] == "F") & (found["race"] == "b")].set_index("age")["count"]
    truth = FRAME[(FRAME["sex"] == "F") & (FRAME["race"] == "b")]["age"].value_counts()
    assert chosen.to_dict() == pytest.approx({str(age): truth.get(age, 0) for age in range(100)}, abs=0.1)


# -------------------------------------------------------------------------------------------------------- marginals


def test_marginals_agree_with_each_other_and_with_the_rows(people):
    found = people.marginals(("age", "sex"), ("sex", "race"), "race", epsilon=1)
    assert (found.spent, people.remaining) == (1, 10**7 - 1)
    by_sex = [found["age", "sex"].answers.reshape(100, 4).sum(0), found["sex", "race"].answers.reshape(4, 5).sum(1)]
    # Whatever the noise: a sum that it brings near 0 has no relative precision left, so the tolerance is absolute.
    assert by_sex[0] == pytest.approx(by_sex[1], abs=1e-6)
    assert found["race"].answers == pytest.approx(found["sex", "race"].answers.reshape(4, 5).sum(0), abs=1e-6)
    close = people.marginals(("sex", "race"), ("race", "age"), epsilon=LOTS)["sex", "race"].to_pandas()
    truth = FRAME.value_counts(["sex", "race"])
    assert close.set_index(["sex", "race"])["count"]["M", "c"] == pytest.approx(truth["M", "c"], abs=0.5)
    with pytest.raises(BadInput, match="not among the marginals"):
        found["age"]


def test_marginals_are_within_their_margins_as_often_as_they_say(people):
    """At least 95 % of the cells are; with 20 runs, under 90 % on average over cells would be far outside."""
    question = people.ask_marginals(("race", "sex"), ("sex",))
    shown = question.preview(epsilon=1)
    truth = FRAME.assign(sex=FRAME["sex"].fillna("(missing)")).value_counts(["race", "sex"])
    shares = []
    for _ in range(20):
        found = question.release(epsilon=1)["race", "sex"]
        table = found.to_pandas()
        exact = np.array([truth.get((race, sex), 0) for race, sex in zip(table["race"], table["sex"], strict=True)])
        shares.append(float((np.abs(found.answers - exact) <= found.margins).mean()))
        assert shown.widest == pytest.approx(max(found.margins[0], shown.margin), rel=0.6)
    # Hoeffding over 20 independent runs, each a share in [0, 1]: P(mean < 0.95 − 0.59) < 10⁻⁶.
    assert np.mean(shares) > 0.95 - math.sqrt(math.log(1e6) / 40)


def test_marginals_in_rho_are_measured_by_residuals_and_charged_once(people, tmp_path):
    rows = opened(tmp_path, budget=Concentrated(10**7), name="in rho")
    sets = (("age", "sex"), ("sex", "race"), "race")
    found = rows.marginals(*sets, rho="1/8")
    assert len(found.charges) == 1
    assert (found.spent, found.measure, rows.remaining) == (Fraction(1, 8), "concentrated", 10**7 - Fraction(1, 8))
    assert "at ρ = 0.125" in found.explain()
    assert "Gaussian noise" in found.explain()
    by_sex = [found["age", "sex"].answers.reshape(100, 4).sum(0), found["sex", "race"].answers.reshape(4, 5).sum(1)]
    assert by_sex[0] == pytest.approx(by_sex[1], abs=1e-6)
    assert found["race"].answers == pytest.approx(found["sex", "race"].answers.reshape(4, 5).sum(0), abs=1e-6)
    # The variances are those of the plan, which `test_residuals` compares with the linear map.
    shapes = {("age", "sex"): (100, 4), ("sex", "race"): (4, 5), ("race",): (5,)}
    plan = plan_residuals(shapes)
    noise = [float(4 * r.queries.squared_sensitivities()[0] / r.queries.unit**2 / plan.share_of(r)) for r in plan.residues]
    for axes, variance in plan.variances(noise).items():
        assert found[axes].margins == pytest.approx(1.959964 * math.sqrt(variance), rel=1e-6)
    shown = rows.ask_marginals(*sets).preview(epsilon=Price.of(None, "1/8"))
    assert shown.widest == pytest.approx(max(table.margins[0] for table in found.tables.values()))
    close = rows.marginals(*sets, rho=10**6)["sex", "race"].to_pandas()
    truth = FRAME.value_counts(["sex", "race"])
    assert close.set_index(["sex", "race"])["count"]["M", "c"] == pytest.approx(truth["M", "c"], abs=0.5)


@pytest.mark.parametrize("price", [{"epsilon": 1}, {"rho": "1/2"}], ids=str)
def test_weights_and_the_largest_variance_are_for_marginals_in_either_measure(tmp_path, price):
    rows = opened(tmp_path, budget=Approximate(100, 1e-6))
    sets = (("age", "sex"), "race")
    plain, weighted, even = (
        rows.marginals(*sets, **price, **options)["race"].margins[0]
        for options in ({}, {"weights": [1, 1000]}, {"least": "largest"})
    )
    assert max(weighted, even) < 0.9 * plain
    for options in ({"weights": [1]}, {"weights": [1, 0]}, {"least": "most"}):
        with pytest.raises(BadInput, match=next(iter(options))):
            rows.marginals(*sets, **price, **options)


def test_ten_to_the_nine_cells_are_refused_with_what_to_do(people):
    wide = people.derive("x", "income", Real(0, 100, bins=4096)).derive("y", "income", Real(0, 100, bins=4096))
    for ask in (lambda: wide.histogram("x", "y", "age", epsilon=1), lambda: wide.marginals(("x", "y", "age"), epsilon=1)):
        with pytest.raises(BadInput, match=r"1,677,721,600 cells .*Remedy: .*bin\(\)"):
            ask()
    for sets in ((), (("age", "sex"), ("sex", "age")), (("age", "age"),), ((),)):
        with pytest.raises(BadInput, match="columns"):
            people.marginals(*sets, epsilon=1)
    assert people.remaining == 10**7


# ------------------------------------------------------------------------------------------------------ sums by group


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_sums_and_means_by_group_at_the_price_of_one(tmp_path, neighbours):
    table = opened(tmp_path, neighbours=neighbours)
    sums, means = table.sum("age", by="sex", epsilon=LOTS), table.mean("income", by="sex", epsilon=LOTS)
    truth = FRAME.assign(sex=FRAME["sex"].fillna("(missing)")).groupby("sex")["age"].sum()
    assert dict(zip(sums.about["sex"], sums.answers, strict=True)) == pytest.approx(
        {label: truth.get(label, 0) for label in ("F", "M", "(other)", "(missing)")}, abs=1
    )
    assert means.answers[:2] == pytest.approx(INSIDE.groupby("sex")["income"].mean()[["F", "M"]].to_numpy(), abs=0.05)
    assert table.remaining == 10**7 - 2 * LOTS


def test_the_noise_of_sums_by_group_follows_the_neighbours(tmp_path, monkeypatch):
    drawn = []

    def spy(self, values, scale):
        drawn.append(scale)
        return np.asarray(values)

    monkeypatch.setattr("jostle.kernel.noise.ExactNoise.discrete_laplace", spy)
    for relation, unit, total, mean in (
        ("add_remove", None, 99, 2**30),
        ("replace", None, 2 * 99, 2 * 2**30),
        ("add_remove", Unit("person", max_rows=3), 3 * 99, 3 * 2**30),
        ("replace", Unit("person", max_rows=3), 6 * 99, 6 * 2**30),
    ):
        table = opened(tmp_path, name=f"{relation} {unit}", neighbours=relation, unit=unit)
        drawn.clear()
        table.sum("age", by="sex", epsilon="1/2")
        table.mean("age", by="sex", epsilon="1/2")
        assert drawn == [2 * total, 2 * mean]


def test_the_error_of_a_sum_is_told_before_and_that_of_a_mean_cannot_be(people):
    shown = people.ask_total("sum", "age").preview(epsilon=Fraction(1, 2))
    assert shown.margin == pytest.approx(2 * 99 * math.log(20))
    assert people.sum("age", within=shown.margin).spent == pytest.approx(Fraction(1, 2))
    with pytest.raises(BadInput, match="which is private"):
        people.ask_total("mean", "age").preview(epsilon=1)


# --------------------------------------------------------------------------------------------------------- pictures


def test_every_answer_can_be_drawn_explained_and_written(people, tmp_path):
    answers = [
        people.count(epsilon=1),
        people.histogram("age", epsilon=1, algorithm="Laplace"),
        people.histogram("race", "sex", epsilon=1, algorithm="Laplace"),
        people.sum("age", epsilon=1),
        people.mean("income", by="sex", epsilon=1),
        people.median("age", epsilon=1),
        people.top("race", k=2, epsilon=1),
        people.marginals(("race", "sex"), ("sex", "age"), epsilon=1),
    ]
    for place, answer in enumerate(answers):
        assert len(answer.plot().data) >= 1
        assert "is left" in answer.explain()
        assert answer.spent == 1
        answer.to_csv(tmp_path / f"{place}.csv")
        assert len(pd.read_csv(tmp_path / f"{place}.csv")) == len(answer.to_pandas())
