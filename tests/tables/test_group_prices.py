"""What questions about groups cost: in ε or ρ, with the noise as an equality, and by least error where there is a choice."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import jostle
from jostle.kernel.budget import Price
from jostle.kernel.errors import BadInput
from jostle.kernel.measures import largest_rho
from jostle.schema import Category, Real, Schema
from jostle.tables import aggregates as agg
from jostle.tables.opening import open as open_table
from jostle.tables.unit import Unit

GROUPS = [f"g{number}" for number in range(50)]
SCHEMA = Schema(group=Category(GROUPS, outside="drop", null="drop"), x=Real(0, 1, bins=4))
RNG = np.random.default_rng(7)
ROWS = 630 * 50
FRAME = pd.DataFrame({"group": np.tile(GROUPS, 630), "x": RNG.uniform(0.4, 0.6, ROWS), "person": np.arange(ROWS) // 50})
WITH_DELTA = jostle.Approximate(1, 1e-6, for_keys=0)


def opened(tmp_path, **keywords):
    given = {"schema": SCHEMA, "name": "people", "budget": WITH_DELTA} | keywords
    given.setdefault("ledger", tmp_path / f"{given['name']}.db")  # the rows are the same, so each account has its own
    return open_table(FRAME, **given)


@pytest.fixture
def drawn(monkeypatch):
    """The kind and the amount of noise that was drawn."""
    seen = []

    def spy(kind):
        def noisy(self, values, amount):
            seen.append((kind, amount))
            return values

        return noisy

    for kind in ("laplace", "gaussian"):
        monkeypatch.setattr(f"jostle.kernel.noise.ExactNoise.discrete_{kind}", spy(kind))
    return seen


def test_everything_that_is_added_up_can_be_paid_for_in_rho(tmp_path, drawn):
    table = opened(tmp_path, budget=jostle.Concentrated(1), unit=Unit("person", 50, max_rows_per_group=1))
    found = table.group_by("group").aggregate(n=agg.count(), rho=Fraction(1, 8))
    assert drawn[-1] == ("gaussian", 50 * 4)  # a person has one row in each of 50 groups: a squared distance of 50
    assert (found.spent, found.measure, found.left_in) == (Fraction(1, 8), "concentrated", "concentrated")
    assert "Gaussian noise" in found.explain()
    assert found.margins["n"] == pytest.approx(1.96 * math.sqrt(200), rel=0.05)
    total = table.sum("x", rho=Fraction(1, 8))
    assert (total.measure, drawn[-1][0]) == ("concentrated", "gaussian")
    assert "Gaussian noise" in total.explain()
    assert float(table.mean("x", rho=Fraction(1, 8))) == pytest.approx(0.5, abs=0.01)
    asked = table.sql("SELECT group, COUNT(*), AVG(x) FROM people GROUP BY group", rho=Fraction(1, 8))
    assert (asked.spent, asked.measure) == (Fraction(1, 8), "concentrated")
    median = table.group_by("group").aggregate(n=agg.count(), m=agg.quantiles("x", 0.5), rho=Fraction(1, 8))
    assert median.spent == Fraction(1, 8)
    assert table._budget.account.left.rho == Fraction(3, 8)
    with pytest.raises(BadInput, match="pure"):
        opened(tmp_path, budget=1, name="pure").group_by("group").aggregate(n=agg.count(), rho=1)


def test_intervals_under_gaussian_noise_hold(tmp_path):
    """150 of each kind; at 95 %, a share of 0.86 has a chance of 10⁻⁷ (Chernoff, one group after the other)."""
    table = opened(tmp_path, budget=jostle.Concentrated(100))
    inside = {"n": 0, "mean": 0, "std": 0}
    for _ in range(3):
        found = table.group_by("group").aggregate(n=agg.count(), mean=agg.mean("x"), std=agg.std("x"), rho=Fraction(1, 50))
        truth = FRAME.groupby("group")["x"]
        true = {"n": truth.size(), "mean": truth.mean(), "std": truth.std(ddof=0)}
        for name, counted in inside.items():
            exact = true[name].loc[list(found.labels["group"])].to_numpy()
            low, high = found.ends[name]
            inside[name] = counted + int(((low <= exact) & (exact <= high)).sum())
    assert all(counted >= 0.86 * 150 for counted in inside.values())


@pytest.mark.parametrize(("groups", "pure"), [(1, 0.0016), (5, 0.0079), (10, 0.0159), (50, 0.0794)])
def test_means_by_groups_take_the_noise_with_less_error(tmp_path, drawn, groups, pure):
    """Means of 630 rows: with Laplace noise, their standard deviation is groups / (630·ε) in the middle of the range."""
    table = opened(tmp_path, unit=Unit("person", groups, max_rows_per_group=1), name=f"{groups} groups")
    found = table.group_by("group").aggregate(mean=agg.mean("x"), epsilon=1)
    rho = largest_rho(1, 1e-6)
    gaussian = math.sqrt(groups / (4 * rho)) / 630
    assert groups / 630 == pytest.approx(pure, abs=5e-5)
    kind, amount = drawn[-1]
    assert kind == ("laplace" if pure < gaussian else "gaussian")
    if kind == "gaussian":
        assert float(amount) / 2**60 == pytest.approx(groups / (2 * rho), rel=1e-9)
        assert found.spent <= rho
    else:
        assert (amount, found.spent) == (groups * 2**30, 1)
    assert "smaller error" in found.explain()
    assert found.explain().count("Gaussian noise") == (kind == "gaussian")


def test_the_choice_respects_what_is_left(tmp_path):
    """Once all ρ is gone, a price in ε is paid in ε where that is left, and the other way round."""
    table = opened(tmp_path, unit=Unit("person", 50, max_rows_per_group=1))
    question = table.ask_groups(["group"], {"mean": agg.mean("x")})
    assert question.preview(epsilon=1).measure == "concentrated"
    question.release(epsilon="1/2")
    with pytest.raises(jostle.Overdraft):
        question.release(epsilon=1)
    assert question._least_error(Price(Fraction(1, 2))).measure == "concentrated"
    assert (
        opened(tmp_path, name="p", budget=1).ask_groups(["group"], {"m": agg.mean("x")}).preview(epsilon=1).measure == "pure"
    )
