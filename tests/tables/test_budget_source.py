"""Accounts of tables: made with the first charge, remembering whom they protect, and leaving nothing behind when refused."""

from __future__ import annotations

from fractions import Fraction

import pandas as pd
import pytest

import jostle
from jostle.kernel.errors import BadInput, Overdraft
from jostle.schema import Category, Integer
from jostle.tables.budget_source import remembered_unit
from jostle.tables.unit import Unit

SCHEMA = {"age": Integer(0, 99, bins=10), "sex": Category(["F", "M"])}


@pytest.fixture
def people(tmp_path):
    path = tmp_path / "people.csv"
    pd.DataFrame({"age": range(60), "sex": ["F", "M"] * 30, "id": [n // 3 for n in range(60)]}).to_csv(path, index=False)
    return path


def opened(people, **more):
    return jostle.open(people, schema=SCHEMA, ledger=people.parent / "budget.db", **more)


REFUSED = {
    "no such column": lambda t: t.histogram("agee", epsilon=1),
    "no such function": lambda t: t.where("frobnicate(age) = 1"),
    "no SQL": lambda t: t.sql("SELECT FROBNICATE(age) FROM people", epsilon=1),
    "too much": lambda t: t.histogram("age", epsilon=3),
    "too little": lambda t: t.histogram("age", epsilon=0),
    "no price": lambda t: t.histogram("age"),
    "no such algorithm": lambda t: t.histogram("age", epsilon=1, algorithm="nonsense"),
    "a seed": lambda t: t.histogram("age", epsilon=1, seed=3),
    "no such levels": lambda t: t.quantiles("age", [2], epsilon=1),
    "no such part": lambda t: t.partition("agee", epsilon=1),
    "a category's mean": lambda t: t.mean("sex", epsilon=1),
}


@pytest.mark.parametrize("question", REFUSED)
def test_a_refused_question_makes_nothing(people, question):
    table = opened(people, budget=2)
    with pytest.raises((BadInput, Overdraft)):
        REFUSED[question](table)
    assert [one.name for one in people.parent.iterdir()] == ["people.csv"]
    assert table.remaining == 2


@pytest.mark.parametrize(
    "more",
    [
        {"budget": -1},
        {"budget": "nan"},
        {},
        {"budget": 1, "name": "\0"},
        {"budget": 1, "unit": "id"},
        {"budget": 1, "columns": ["x"]},
    ],
)
def test_a_refused_table_makes_nothing(people, more):
    with pytest.raises(BadInput):
        opened(people, **more)
    assert [one.name for one in people.parent.iterdir()] == ["people.csv"]


def test_the_first_charge_makes_the_account_and_a_ledger_that_was_there_has_no_other(people):
    ledger = jostle.Ledger(people.parent / "budget.db")
    one, other = opened(people, budget=2), jostle.open(people, schema=SCHEMA, ledger=ledger, budget=2)
    assert not ledger.accounts()
    one.histogram("sex", epsilon="0.5")
    assert (one.remaining, other.remaining) == (Fraction(3, 2), Fraction(3, 2))
    other.union(opened(_copied(people), name="people")).count(epsilon="0.5")
    assert [account.name for account in ledger.accounts()] == ["people"]
    assert (one.remaining, other.remaining) == (1, 1)


def _copied(people):
    path = people.parent / "others.csv"
    path.write_bytes(people.read_bytes())
    return path


def test_an_account_remembers_whom_it_protects(people):
    opened(people, budget=2, unit=Unit("id", max_rows=2), neighbours="replace").count(epsilon="0.5")
    again = opened(people)
    assert again.unit == Unit("id", max_rows=2)
    assert str(again) == "<Table 'people' with age, sex; protects id (2 rows), replace>"
    again.count(epsilon="0.5")
    for more, problem, remedy in (
        (
            {"unit": Unit("id", max_rows=3)},
            "unit: the account 'people' protects each id (up to 2 rows); you asked to protect each id (up to 3 rows)",
            "leave it out: the account knows whom it protects",
        ),
        (
            {"neighbours": "add_remove"},
            (
                "neighbours: the account 'people' hides only the values of somebody who is in the table (replace); "
                "you asked to hide whether somebody is in the table (add_remove)"
            ),
            "use an account of another name for it, with beside='people'; what 'people' has spent stays spent",
        ),
    ):
        with pytest.raises(BadInput) as refused:
            opened(people, **more)
        assert str(refused.value) == f"{problem}. Remedy: {remedy}."


def test_an_account_of_rows_does_not_become_one_of_persons(people):
    opened(people, budget=2).count(epsilon=1)
    with pytest.raises(BadInput) as refused:
        opened(people, unit="id:3")
    assert str(refused.value) == (
        "unit: the account 'people' protects single rows; you asked to protect each id (up to 3 rows). "
        "Remedy: use an account of another name for it, with beside='people'; what 'people' has spent stays spent."
    )
    with pytest.raises(BadInput, match="^neighbours: .* Remedy: leave it out"):
        opened(people, neighbours="replace")


@pytest.mark.parametrize("column", ["row", "row (column)", "person id", "É"])
def test_a_unit_is_remembered_by_its_column(tmp_path, column):
    frame = pd.DataFrame({"age": [1, 2], column: ["a", "b"]})
    how = {"schema": {"age": Integer(0, 9)}, "ledger": tmp_path / "b.db", "name": "t"}
    jostle.open(frame, budget=1, unit=Unit(column, max_rows=4), **how).count(epsilon="0.5")
    again = jostle.open(frame, **how)
    assert again.unit == Unit(column, max_rows=4)
    account = jostle.Ledger(tmp_path / "b.db").account("t")
    assert remembered_unit(account) == again.unit
