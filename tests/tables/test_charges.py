"""Every answer of a table names the events of the ledger that paid for it, as an object and in a notebook."""

from __future__ import annotations

import copy
from fractions import Fraction

import pandas as pd
import pytest

import jostle
from jostle.answers.answer import charge_facts, in_ledger
from jostle.kernel.errors import BadInput
from jostle.kernel.ledger import Ledger
from jostle.learn import PrivateMajority
from jostle.schema import Category, Integer

PEOPLE = pd.DataFrame({"age": [31, 45, 20, 38], "sex": ["F", "M", "F", None], "class": ["a", "b", "a", "b"]})
SCHEMA = {"age": Integer(0, 99, bins=10), "sex": Category(["F", "M"]), "class": Category(["a", "b"])}
HALF = Fraction(1, 2)

ANSWERS = {
    "count": lambda table: table.count(epsilon=HALF),
    "histogram": lambda table: table.histogram("age", epsilon=HALF),
    "several columns": lambda table: table.histogram("age", "sex", "class", epsilon=HALF),
    "ranges": lambda table: table.ranges("age", [(0, 49), (50, 99)], epsilon=HALF),
    "marginals": lambda table: table.marginals(("age", "sex"), "class", epsilon=HALF),
    "quantiles": lambda table: table.quantiles("age", [0.25, 0.5], epsilon=HALF),
    "top": lambda table: table.top("age", k=2, epsilon=HALF),
    "sum": lambda table: table.sum("age", epsilon=HALF),
    "means": lambda table: table.mean("age", by="sex", epsilon=HALF),
    "sql": lambda table: table.sql("SELECT sex, AVG(age), COUNT(*) FROM people GROUP BY sex", epsilon=HALF),
}


@pytest.fixture
def ledger(tmp_path):
    with Ledger(tmp_path / "budget.db", who="anna") as opened:
        yield opened


@pytest.fixture
def table(ledger):
    return jostle.open(PEOPLE, schema=SCHEMA, ledger=ledger, budget=10, name="people", note="for the board")


@pytest.mark.parametrize("kind", ANSWERS)
def test_an_answer_names_what_paid_for_it(table, ledger, kind):
    table.count(epsilon=1)
    before = len(ledger.events())
    answer = ANSWERS[kind](table)
    assert answer.charges == ledger.events()[before:]
    assert sum(event.amount for event in answer.charges) == answer.spent == HALF
    assert all(event.who == "anna" for event in answer.charges)
    assert all("(for the board)" in event.note for event in answer.charges)
    html = answer._repr_html_()
    assert "Charged to account &#x27;people&#x27;: ε = 0.5 at " in html
    assert all(event.key in html for event in answer.charges)
    assert "anna" not in html + str(charge_facts(answer.charges))  # who it was is for the ledger


def test_what_is_asked_of_a_part_was_paid_with_the_partition(table, ledger):
    parts = table.partition("sex", epsilon=1)
    first, second = parts["F"].count(epsilon=HALF), parts["F"].mean("age", epsilon=HALF)
    assert first.charges == second.charges == parts["M"].histogram("age").charges == ledger.events()[-1:]
    assert (ledger.events()[-1].operator, ledger.events()[-1].amount, first.spent) == ("split", 1, HALF)


def test_aggregates_of_a_part_name_the_partition_once(table, ledger):
    part = table.partition("sex", epsilon=1)["F"]
    answers = part.sql(f'SELECT COUNT(*), AVG(age) FROM "{part.name}"', epsilon=HALF)
    assert (answers.charges, answers.spent) == (ledger.events()[-1:], HALF)
    assert "ε = 1 at " in in_ledger(answers.charges)


@pytest.mark.parametrize("kind", ANSWERS)
def test_who_and_when_are_not_in_what_python_shows(table, kind):
    answer = ANSWERS[kind](table)
    for text in (repr(answer), str(answer)):
        assert "anna" not in text
        assert answer.charges[-1].at not in text


def test_a_classifier_names_its_charge_unless_it_is_remembered_nowhere(table, ledger):
    fitted = PrivateMajority(epsilon=1).fit(table)
    assert fitted.charges_ == fitted.trace_.charges == copy.deepcopy(fitted).charges_ == ledger.events()[1:]
    assert in_ledger(fitted.charges_) in fitted.explain()
    assert "anna" not in repr(fitted) + repr(fitted.trace_) + str(fitted.trace_)
    for arguments in ({}, {"random_state": 1}):
        other = PrivateMajority(epsilon=1, schema=SCHEMA, **arguments).fit(PEOPLE)
        assert other.charges_ == ()
        assert "Charged" not in other.explain()
    named = PrivateMajority(epsilon=1, schema=SCHEMA, account=ledger.account("other", cap=1)).fit(PEOPLE)
    assert named.charges_ == ledger.events("other")[1:]


def test_many_events_are_counted_and_the_first_are_named(ledger):
    account = ledger.account("people", cap=1)
    events = [account.charge(Fraction(1, 10), operator="laplace", neighbours="add_remove") for _ in range(6)]
    said = in_ledger(events)
    assert said.startswith("Charged to account 'people': ε = 0.6 at ")
    assert f"6 events {events[0].key}, " in said
    assert said.endswith("and 2 more.")
    assert [event["key"] for event in charge_facts(events)["events"]] == [event.key for event in events]


def test_times_after_the_first_charge_stay_in_the_ledger(ledger, monkeypatch):
    times = iter(f"2024-02-29T12:00:0{second}.123456+00:00" for second in range(9))
    monkeypatch.setattr("jostle.kernel.ledger.ledger.now", lambda: next(times))
    account = ledger.account("people", cap=1)
    events = [account.charge(Fraction(1, 10), operator="laplace", neighbours="add_remove") for _ in range(2)]
    told = f"{charge_facts(events)} {in_ledger(events)}"
    assert "12:00:01" in told
    assert "12:00:02" not in told
    assert ".123456" not in told


def test_nothing_charged_is_nothing_said():
    assert (in_ledger(()), charge_facts(())) == ("", None)


@pytest.mark.parametrize("sql", ["SELECT COUNT(*), SUM(age) FROM people", "SELECT COUNT(*), AVG(age) FROM people"])
def test_no_aggregate_is_charged_where_another_is_refused(sql, tmp_path):
    frame = pd.DataFrame({"age": [30.0, 40.0]})
    table = jostle.open(
        frame, schema={"age": jostle.Real(0, 60, bins=6)}, budget=1, ledger=str(tmp_path / "b.db"), name="people"
    )
    with pytest.raises(BadInput, match="epsilon"):
        table.sql(sql, epsilon="1e-9")
    assert table.remaining == 1
