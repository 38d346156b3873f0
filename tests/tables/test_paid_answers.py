"""What was paid for is handed over, also where the ledger or the engine fails right after it."""

from __future__ import annotations

from fractions import Fraction

import pandas as pd
import pytest

import jostle
from jostle.kernel.errors import LedgerError
from jostle.kernel.ledger import Account, Ledger
from jostle.schema import Category, Integer
from jostle.tables.columns import EngineColumns

PEOPLE = pd.DataFrame({"age": [31, 45, 20, 38], "sex": ["F", "M", "F", None]})
SCHEMA = {"age": Integer(0, 99, bins=10), "sex": Category(["F", "M"])}
HALF = Fraction(1, 2)


@pytest.fixture
def table(tmp_path):
    with Ledger(tmp_path / "budget.db") as ledger:
        yield jostle.open(PEOPLE, schema=SCHEMA, ledger=ledger, budget=10, name="people")


@pytest.fixture
def ledger_fails_once_charged(monkeypatch):
    """What is left can be read until something is charged, and never again."""
    known = Account.remaining.fget

    def remaining(account):
        if any(event.kind == "charge" for event in account.ledger.events(account.name)):
            raise LedgerError("the disk is gone")
        return known(account)

    monkeypatch.setattr(Account, "remaining", property(remaining))


@pytest.mark.usefixtures("ledger_fails_once_charged")
@pytest.mark.parametrize(
    "ask",
    [
        lambda table: table.count(epsilon=HALF),
        lambda table: table.histogram("age", epsilon=HALF),
        lambda table: table.marginals(("age", "sex"), "sex", epsilon=HALF),
        lambda table: table.median("age", epsilon=HALF),
        lambda table: table.sum("age", epsilon=HALF),
        lambda table: table.mean("age", by="sex", epsilon=HALF),
        lambda table: table.sql("SELECT sex, COUNT(*), SUM(age) FROM people GROUP BY sex", epsilon=HALF),
    ],
)
def test_a_ledger_that_fails_after_the_charge_does_not_take_the_answer_with_it(table, ask):
    answer = ask(table)
    assert (answer.spent, answer.remaining) == (HALF, 10 - HALF)


@pytest.mark.usefixtures("ledger_fails_once_charged")
def test_nor_does_it_for_counts(tmp_path):
    with Ledger(tmp_path / "budget.db") as ledger:
        account = ledger.account("people", cap=1)
        assert jostle.release([1, 2, 3], epsilon=HALF, account=account, algorithm="Laplace").remaining == HALF


def test_an_answer_says_what_its_own_charge_left(table, monkeypatch):
    """Reading the ledger again after the noise could only lose what was paid for. The table says what is left by now."""
    summed = EngineColumns.cell_sums

    def meanwhile(columns, *what, **how):
        table.count(epsilon=1)
        return summed(columns, *what, **how)

    monkeypatch.setattr(EngineColumns, "cell_sums", meanwhile)
    assert table.sum("age", epsilon=HALF).remaining == 10 - HALF
    assert table.remaining == 9 - HALF
