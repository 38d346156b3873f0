"""Groups that nobody listed: what is selected, what it costs, and that nothing else leaves a trace, in every engine."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import jostle
from jostle.kernel.budget import Price
from jostle.kernel.errors import BadInput, Overdraft, PlanError
from jostle.kernel.functions.totals import Contribution, RecordCount, WeightedTotals
from jostle.kernel.key_selection import (
    KeySelection,
    best_method,
    counted_selection,
    gaussian_selection,
    optimal_selection,
    rule_for,
)
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.records import ArrayColumns, SimulatedRecords
from jostle.schema import Category, Real, Schema, Text
from jostle.tables import aggregates as agg
from jostle.tables.columns import EngineColumns
from jostle.tables.opening import open as open_table
from jostle.tables.unit import Unit

SCHEMA = Schema(code=Text(), cost=Real(0, 100, bins=4), sex=Category(["F", "M"], null="drop", outside="drop"))
CAP = jostle.Approximate(1000, 1e-6)
LOTS = 400
"""At this ε, noise is far below 1, and a group needs two people at most for an even chance."""


def columns(rows):
    kinds = {"code": pa.string(), "cost": pa.float64(), "sex": pa.string(), "person": pa.int64()}
    values = zip(*rows, strict=True)
    return {name: (kind, list(column)) for (name, kind), column in zip(kinds.items(), values, strict=True)}


def frame(rows):
    return pd.DataFrame(rows, columns=["code", "cost", "sex", "person"])


def opened(data, tmp_path, **keywords):
    given = {"schema": SCHEMA, "name": "people", "budget": CAP} | keywords
    given.setdefault("ledger", tmp_path / f"{given['name']}.db")  # the rows are the same, so each account has its own
    return open_table(data, **given)


def crowd(code, people, cost=10.0, sex="F", start=0):
    return [(code, cost, sex, start + place) for place in range(people)]


ROWS = [*crowd("flu", 300), *crowd(" cold ", 200, 30.0, start=300), *crowd("Ünïcode", 100, start=500), *crowd(None, 150)]
ROWS += [*crowd("", 150, start=150), *crowd("(missing)", 90, start=300), *crowd("x" * 600, 400), *crowd("alone", 1, start=9)]


def test_frequent_groups_are_selected_with_their_numbers_in_every_engine(load, tmp_path):
    data, about = load(columns(ROWS))
    table = opened(data, tmp_path, unit=Unit("person", max_rows=6), **about)
    grouped = table.group_by("code", keys="private")
    found = grouped.aggregate(n=agg.count(), people=agg.count_distinct_units(), mean=agg.mean("cost"), epsilon=LOTS)
    assert found.labels["code"][-2:] == ["flu", "Ünïcode"] if "alone" not in found.labels["code"] else True
    known = dict(zip(found.labels["code"], zip(*found.values.values(), strict=True), strict=True))
    assert set(known) - {"alone"} == {"cold", "flu", "Ünïcode"}  # one person decides about one group with a chance of δ
    assert found.labels["code"] == sorted(found.labels["code"])
    for code, n, mean in (("flu", 300, 10), ("cold", 200, 30), ("Ünïcode", 100, 10)):
        assert known[code] == pytest.approx((n, n, mean), abs=1.5)
    with_missing = Schema(dict(SCHEMA) | {"code": Text(null="own")})
    table = opened(data, tmp_path, schema=with_missing, unit=Unit("person", max_rows=6), **about)
    found = table.group_by("code", keys="private").aggregate(n=agg.count(), epsilon=LOTS)
    counted = dict(zip(found.labels["code"], found.values["n"], strict=True))
    assert counted["(missing)"] == pytest.approx(390, abs=1.5)  # NULL, an empty text, and the word itself


def test_a_persons_groups_are_bounded_before_anybody_counts(load, tmp_path, monkeypatch):
    """Everybody has twenty groups, of which two count: the sums that the kernel gets say so."""
    seen = {}
    original = KeySelection.select

    def spy(self, people, noise):
        seen["people"], seen["rule"] = people, self
        return original(self, people, noise)

    monkeypatch.setattr(KeySelection, "select", spy)
    rows = [(f"g{group}", 1.0, "F", person) for person in range(30) for group in range(20) for _ in range(2)]
    data, about = load(columns(rows))
    table = opened(data, tmp_path, unit=Unit("person", max_rows=40, max_groups=2, max_rows_per_group=1), **about)
    table.group_by("code", keys="private").aggregate(n=agg.sum("cost"), epsilon=1)
    assert seen["people"].sum() == 60
    assert seen["rule"].groups_per_person == 2
    table.group_by("code", "sex", keys="private").aggregate(n=agg.sum("cost"), epsilon=1)
    assert seen["people"].sum() == 60
    by_rows = opened(data, tmp_path, unit=Unit("person", max_rows=3), name="others", **about)
    by_rows.group_by("code", keys="private").aggregate(n=agg.count(), epsilon=1)
    assert seen["people"].sum() <= 90
    assert seen["rule"].groups_per_person == 3


def test_a_person_with_several_rows_in_a_group_counts_once(load, tmp_path, monkeypatch):
    seen, original = [], KeySelection.select
    monkeypatch.setattr(
        KeySelection, "select", lambda self, people, noise: seen.append(people) or original(self, people, noise)
    )
    data, about = load(columns([("flu", 10.0, "F", person) for person in range(5) for _ in range(3)]))
    table = opened(data, tmp_path, unit=Unit("person", max_rows=3), **about)
    table.group_by("code", keys="private").aggregate(n=agg.count(), epsilon=2)
    assert seen[0].tolist() == [5]


def test_the_probabilities_are_those_of_the_rule_that_the_price_buys(tmp_path, monkeypatch):
    rules = []
    original = KeySelection.select
    monkeypatch.setattr(
        KeySelection, "select", lambda self, people, noise: rules.append(self) or original(self, people, noise)
    )
    for rows, groups in ((1, None), (10, None), (10, 3)):
        table = opened(frame(ROWS), tmp_path, unit=Unit("person", rows, max_groups=groups), name=f"{rows} {groups}")
        question = table.group_by("code", keys="private", keys_delta=1e-7).ask(n=agg.sum("cost"))
        question.release(epsilon=2)
        expected = best_method(1, 1e-7, groups or rows)
        assert rules[-1].method == expected.method
        assert np.array_equal(rules[-1].table, expected.table)
        assert question.preview(epsilon=2).even_chance == expected.even_chance
    assert {rule.method for rule in rules} == {"optimal", "gaussian"}
    # The closed form to ten digits, at the ε and δ that the ledger has
    rule = rules[0]
    growth = np.expm1(1.0)
    for people in (1, 5, 10, 14):
        assert float(rule.probability(people)) == pytest.approx(1e-7 * np.expm1(people * 1.0) / growth, rel=1e-10)


def test_a_replaced_person_goes_and_another_comes():
    price, many = Price.of(2, delta=1e-6), Contribution(records=5, cells=5)
    rule = rule_for(price, Neighbours("replace", rows=5), many)
    assert (rule.epsilon, rule.groups_per_person) == (1, 5)
    assert rule.delta == pytest.approx(1e-6 / (1 + np.e), rel=1e-12)
    assert rule.delta * (1 + Fraction(np.e)) <= Fraction(1, 10**6) * (1 + Fraction(1, 10**12))
    assert rule_for(price, Neighbours(rows=5), many).epsilon == 2
    assert optimal_selection(1, 1e-6, 2).table.dtype == gaussian_selection(1, 1e-6, 2).table.dtype


def test_what_is_charged_and_before_what(tmp_path, monkeypatch):
    table = opened(frame(ROWS), tmp_path, budget=jostle.Approximate(2, 1e-6))
    found = table.group_by("code", keys="private").aggregate(n=agg.count(), total=agg.sum("cost"), epsilon=1)
    assert [(event.operator, event.amount) for event in found.charges] == [
        ("select_keys", Fraction(1, 2)),
        ("totals", Fraction(1, 2)),
    ]
    assert found.charges[0].cost.delta == Fraction(1, 2 * 10**7)
    assert (found.spent, table.remaining) == (1, 1)
    assert "δ = 5e-08" in str(found)
    with pytest.raises(Overdraft):
        table.group_by("code", keys="private").aggregate(n=agg.count(), epsilon=2)
    with pytest.raises(Overdraft):
        table.group_by("code", keys="private", keys_delta=9e-7).aggregate(n=agg.count(), epsilon=1)
    assert table.remaining == 1
    monkeypatch.setattr("jostle.tables.columns.EngineColumns.keyed_sums", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):  # the charge stands, and was there before a row was read
        table.group_by("code", keys="private").aggregate(n=agg.mean("cost"), epsilon=1)
    assert table.remaining == Fraction(1, 2)
    with pytest.raises(ZeroDivisionError):
        table.group_by("code", keys="private").aggregate(n=agg.count(), epsilon=Fraction(1, 4))
    assert table.remaining == Fraction(1, 4)


def test_counts_of_people_are_the_noisy_counts_that_select_at_the_whole_price(tmp_path, monkeypatch):
    """One charge of (ε, δ), for the rule that the preview knows; and people are counted, not rows."""
    seen, original = [], KeySelection.count
    monkeypatch.setattr(
        KeySelection, "count", lambda self, people, noise: seen.append((self, people)) or original(self, people, noise)
    )
    rows = [*ROWS, *ROWS]
    for name, unit, asked, groups in (
        ("rows", None, agg.count(), 1),
        ("one row", Unit("person", 1), agg.count(), 1),
        ("one per group", Unit("person", 8, max_groups=4, max_rows_per_group=1), agg.count(), 4),
        ("people", Unit("person", 8, max_groups=4), agg.count_distinct_units(), 4),
    ):
        table = opened(frame(rows), tmp_path, unit=unit, name=name, budget=jostle.Approximate(2, 1e-6))
        question = table.group_by("code", keys="private", keys_delta=1e-7).ask(n=asked)
        found, expected = question.release(epsilon=1), counted_selection(1, 1e-7, groups)
        [charge] = found.charges
        assert (charge.operator, charge.amount, charge.cost.delta) == ("select_keys", 1, Fraction("1e-7"))
        assert (found.spent, table.remaining) == (1, 1)
        rule, people = seen[-1]
        assert rule is expected
        assert people.sum() <= len(rows if unit is None else {row[3] for row in rows}) * groups
        assert rule.even_chance == question.preview(epsilon=1).even_chance == question.rule(1).even_chance
        assert min(found.values["n"], default=rule.even_chance) >= rule.even_chance  # k + 1
        assert "only if it was upward" in str(found)
        low, high = found.ends_together["n"]
        assert ((low <= found.ends["n"][0]) & (found.ends["n"][1] <= high)).all()
        within = question.preview(epsilon=question.epsilon_within(100))
        assert within.margin == pytest.approx(100, rel=0.05)
    table = opened(frame(rows), tmp_path, name="in rho")
    in_rho = table.group_by("code", keys="private").ask(n=agg.count()).release(rho=Fraction(1, 50))
    assert (in_rho.measure, in_rho.charges[0].amount) == ("concentrated", Fraction(1, 5))
    assert in_rho.spent <= Fraction(1, 50)


def test_counts_are_selected_first_where_that_is_less_noise_or_they_are_not_of_people(tmp_path):
    for name, unit, asked in (
        ("less noise", Unit("person", 100), agg.count_distinct_units()),
        ("fewer people needed", Unit("person", 20), agg.count_distinct_units()),
        ("several rows", Unit("person", 3), agg.count()),
    ):
        question = opened(frame(ROWS), tmp_path, unit=unit, name=name).group_by("code", keys="private").ask(n=asked)
        assert question.rule(1).method != "counted"
        assert [event.operator for event in question.release(epsilon=1).charges] == ["select_keys", "totals"]


def test_in_rho_and_by_least_error(tmp_path):
    table = opened(frame(ROWS), tmp_path, unit=Unit("person", max_rows=100), budget=jostle.Approximate(10, 1e-6))
    found = table.group_by("code", keys="private").aggregate(n=agg.count(), rho=Fraction(1, 50))
    assert found.measure == "concentrated"
    assert found.spent <= Fraction(1, 50)
    assert found.charges[0].amount == pytest.approx(np.sqrt(0.02))
    for name, budget in (("pure", 1), ("rho", jostle.Concentrated(1))):
        grouped = opened(frame(ROWS), tmp_path, name=name, budget=budget).group_by("code", keys="private")
        with pytest.raises(BadInput, match="δ"):
            grouped.ask(n=agg.count())


@pytest.mark.parametrize(
    ("columns", "what", "how", "argument"),
    [
        ([], {"n": agg.count()}, {"keys": "private"}, "keys"),
        (["code"], {"n": agg.quantiles("cost", 0.5)}, {"keys": "private"}, "aggregates"),
        (["code"], {"n": agg.count()}, {}, "column"),
        (["code"], {"n": agg.count()}, {"keys_delta": 1e-9}, "keys_delta"),
        (["code"], {"n": agg.count()}, {"keys": "private", "keys_delta": 2}, "keys_delta"),
    ],
)
def test_bad_questions_cost_nothing(tmp_path, columns, what, how, argument):
    table = opened(frame(ROWS), tmp_path)
    with pytest.raises(BadInput, match="Remedy") as refused:
        table.ask_groups(columns, what, **how).release(epsilon=1)
    assert refused.value.argument == argument
    assert table.remaining == 1000


def test_a_question_that_an_account_can_pay_in_epsilon_is_not_refused_for_its_noise(tmp_path):
    unit = Unit("person", max_rows=20, max_groups=20, max_rows_per_group=1)
    for name, cap, why in (("all", 1, "Laplace noise"), ("a part", 30, "Gaussian noise")):
        budget = jostle.Approximate(cap, 1e-6)
        grouped = opened(frame(ROWS), tmp_path, name=name, budget=budget, unit=unit).group_by("code", keys="private")
        found = grouped.aggregate(n=agg.count(), total=agg.sum("cost"), epsilon=1)
        assert found.why.startswith(why), "beside a selection in ε, Gaussian noise has to fit as well"


def test_free_text_is_for_private_groups_only(tmp_path):
    table = opened(frame(ROWS), tmp_path)
    for refused in (
        lambda: table.histogram("code", epsilon=1),
        lambda: table.where("code = 'flu'"),
        lambda: table.top("code", epsilon=1),
        lambda: table.partition("code", epsilon=1),
        lambda: table.marginals("code", epsilon=1),
        lambda: table.sql("SELECT code, COUNT(*) FROM people GROUP BY code", epsilon=1),
        lambda: table.partition("sex", epsilon=1)["F"].group_by("code", keys="private").ask(n=agg.count()),
    ):
        with pytest.raises(BadInput):
            refused()


def test_unselected_groups_leave_no_trace(tmp_path):
    """Two tables that differ in groups of one person each have answers of the same words, order and notes."""
    rare = [(f"rare {place}", 90.0, "F", 1000 + place) for place in range(300)]
    shown = []
    for place, rows in enumerate((ROWS, [*rare, *ROWS], [*ROWS[::-1], *rare])):
        table = opened(frame(rows), tmp_path, name=f"t{place}")
        found = table.group_by("code", keys="private").aggregate(n=agg.count(), total=agg.sum("cost"), epsilon=20)
        kept = [one for one in found.labels["code"] if not one.startswith(("rare", "alone"))]
        shown.append((kept, found.notes, found.explain().replace(f"t{place}", ""), found.charges[1].note))
        assert not set(found.labels["code"]) & {one[0] for one in rare}  # 300 chances of 5e-8
    assert shown[0] == shown[1] == shown[2]


def test_nothing_selected_is_an_answer_too(tmp_path):
    table = opened(frame([(f"rare {place}", 1.0, "F", place) for place in range(50)]), tmp_path)
    found = table.group_by("code", keys="private").aggregate(n=agg.count(), mean=agg.mean("cost"), epsilon=1)
    assert len(found) == 0
    assert "0 groups" in str(found)
    assert found.to_pandas().shape == (0, 7)


def test_in_sql_and_with_declared_columns_beside(tmp_path):
    table = opened(frame(ROWS), tmp_path)
    text = "SELECT code, sex, COUNT(*) AS n, AVG(cost) FROM people GROUP BY code, sex HAVING n > 150 ORDER BY n DESC"
    found = table.sql(text, keys="private", epsilon=LOTS)
    assert found.columns["code"] == ["flu", "cold"]
    assert found.columns["sex"] == ["F", "F"]
    assert found.columns["n"] == pytest.approx([300, 200], abs=1.5)
    declared = table.group_by("sex", keys="private").aggregate(n=agg.count(), epsilon=LOTS)
    assert declared.labels["sex"] == ["F"]  # cells without rows are selected with no chance at all
    assert Counter(declared.groups) == Counter(["sex"])


def test_missing_values_are_selected_like_any_group(tmp_path):
    rows = [*crowd("flu", 300), (None, 1.0, "F", 900), ("", 1.0, "F", 901)]
    table = opened(frame(rows), tmp_path, schema=Schema(dict(SCHEMA) | {"code": Text(null="own")}))
    found = table.group_by("code", keys="private").aggregate(n=agg.count(), epsilon=1)
    assert found.labels["code"] == ["flu"]  # but with a chance of some 10⁻⁷


def test_selected_groups_have_an_order_of_their_own(tmp_path, monkeypatch):
    """Whatever the order is in which an engine finds them."""
    original = EngineColumns.keyed_sums

    def reversed_sums(self, *asked, **how):
        keys, sums = original(self, *asked, **how)
        order = sorted(range(len(keys)), key=keys.__getitem__, reverse=True)
        return [keys[place] for place in order], sums.of(np.array(order, dtype=np.int64))

    monkeypatch.setattr(EngineColumns, "keyed_sums", reversed_sums)
    found = opened(frame(ROWS), tmp_path).group_by("code", keys="private").aggregate(n=agg.count(), epsilon=LOTS)
    assert found.labels["code"] == sorted(found.labels["code"])
    known = dict(zip(found.labels["code"], found.values["n"], strict=True))
    assert (known["flu"], known["cold"]) == pytest.approx((300, 200), abs=1.5)


def test_a_token_with_a_delta_pays_for_nothing_else():
    data = ArrayColumns({"g": np.array([0, 1])}, {"g": 2})
    source = SimulatedRecords(data, seed=0)
    token = source.grant(1, delta=1e-6)
    with pytest.raises(PlanError, match="pays for a selection"):
        source.totals(["g"], WeightedTotals([RecordCount()], [1]), token)
    for refused in (lambda: token.split(1, 1), lambda: token.draw(operator="laplace"), lambda: token.epsilon):
        with pytest.raises(PlanError):
            refused()
    with pytest.raises(PlanError, match="pays for a selection"):
        source.select_keys(["g"], WeightedTotals([RecordCount()], [1]), source.grant(1))
    for listed in (
        lambda: source.select_keys(["g"], WeightedTotals([RecordCount()], [1]), token),
        lambda: source.count_keys(["g"], token),
    ):
        with pytest.raises(PlanError, match="can be listed"):
            listed()
    with pytest.raises(PlanError, match="pays for a selection"):
        source.count_keys(["g"], source.grant(1))
    [(part, share), _] = source.split("g", source.grant(1))
    with pytest.raises(PlanError):
        part.grant(share.amount, delta=1e-6)
