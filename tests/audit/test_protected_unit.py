"""Whom an account protects: fixed when it is made, and the same for everything that it ever pays for."""

from __future__ import annotations

import ast
import inspect
import sqlite3
from collections.abc import Callable
from contextlib import ExitStack, closing
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sqlalchemy as sa

import jostle
from jostle import mechanisms, workloads
from jostle.choice.choice_maker import ChoiceMaker
from jostle.choice.options import option
from jostle.cli.classify import _payer, _purse
from jostle.kernel.errors import BadInput, LedgerError
from jostle.kernel.ledger import Account, AccountPurse, Ledger
from jostle.kernel.neighbours import Neighbours
from jostle.learn import PrivateMajority
from jostle.schema import Boolean, Integer
from jostle.tables.budget_source import AccountBudget, protected_unit
from jostle.tables.unit import Unit
from tests.choice import test_choice_maker

SOURCE = Path(jostle.__file__).parent
FRAME = pd.DataFrame({"age": [1, 2, 3], "class": [True, False, True], "pid": [1, 1, 2], "row": [1, 1, 2]})
SCHEMA = {"age": Integer(0, 9), "class": Boolean()}


def table_of_rows(account: Account, **how: Any) -> Any:
    return jostle.open(FRAME, schema=SCHEMA, ledger=account.ledger, name=account.name, **how)


def classified(account: Account) -> Any:
    with ExitStack() as until_done:
        payer, _ = _payer(account.ledger._store.where, None, None, None, account.name)
        return None if payer is None else _purse(payer, "1", lambda: None, until_done)


def chosen(account: Account) -> Any:
    @option
    def zeros(db: Any, query: Any, budget: Any) -> Any:
        return np.zeros(8)

    maker = ChoiceMaker(options=[zeros], trained_on=test_choice_maker.PUBLIC, queries=workloads.identity)
    return maker.release(test_choice_maker.line(5), workloads.identity(8), epsilon=1, account=account)


def changed(account: Account) -> Account:
    """The object says of itself that it protects single rows; the ledger knows better."""
    made = account.ledger.account(account.name)
    made.unit = "row"
    return made


PAYERS: dict[str, dict[str, Callable[[Account], Any]]] = {
    "answers.release": {
        "release": lambda account: jostle.release([1, 2, 3], epsilon=1, account=account, algorithm="Laplace")
    },
    "learn.estimator": {
        "fit": lambda account: PrivateMajority(epsilon=1, label="class", schema=SCHEMA, account=account).fit(FRAME),
    },
    "choice.choice_maker": {"ChoiceMaker.release": chosen},
    "tables.budget_source": {
        "open": lambda account: table_of_rows(account).count(epsilon=1),
        "payer": lambda account: AccountBudget(account, protected_unit(None)).records(None, 1, note=""),  # type: ignore[arg-type]
    },
    "cli.classify": {"classify": classified},
    "kernel.ledger.accounts": {
        "purse": lambda account: account.purse(),
        "AccountPurse": AccountPurse,
        "grant": lambda account: account.grant(1),
        "charge": lambda account: account.charge(Fraction(1), operator="laplace", neighbours=account.neighbours),
        "charge by name": lambda account: account.ledger.charge(
            account.name, Fraction(1), operator="laplace", neighbours=account.neighbours
        ),
        "account": lambda account: account.ledger.account(account.name, unit="row"),
        "an account object that was changed": lambda account: changed(account).purse().grant(1).draw(operator="laplace"),
    },
}
"""Everything of jostle that takes an account and pays with it, by the module that does so."""

OWN = "audit."
"""Modules that pay from accounts which they made themselves, of artificial data."""


def pays(call: ast.Call) -> bool:
    """Whether a call takes a purse, a token or a charge from an account."""
    if isinstance(call.func, ast.Name):
        return call.func.id == "AccountPurse"
    if not isinstance(call.func, ast.Attribute):
        return False
    of_account = call.func.attr == "grant" and "account" in ast.unparse(call.func.value)
    return call.func.attr in ("purse", "charge") or of_account


def test_every_payer_is_known_to_these_tests() -> None:
    """Whoever writes a new one has to put it on the list, and the tests below then try it."""
    found = {
        ".".join(file.relative_to(SOURCE).with_suffix("").parts)
        for file in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.Call) and pays(node)
    }
    assert {module for module in found if not module.startswith(OWN)} == PAYERS.keys()


EVERY_PAYER = [pytest.param(pay, id=f"{module} {name}") for module, payers in PAYERS.items() for name, pay in payers.items()]


@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize(
    "pay", [payer for payer in EVERY_PAYER if payer.id != "tables.budget_source open"]
)  # without a unit, a table takes the account's
def test_an_account_of_persons_pays_for_no_rows(tmp_path: Path, pay: Callable[[Account], Any], rows: int) -> None:
    with Ledger(tmp_path / "budget.db") as ledger:
        people = ledger.account("people", cap=9, neighbours=Neighbours(rows=rows), unit="pid")
        before = ledger.statement()
        with pytest.raises(BadInput, match=r"^(account|unit): the account 'people' protects each pid; you asked to protect"):
            pay(people)
        assert ledger.statement() == before


@pytest.mark.parametrize(
    "pay", [payer for payer in EVERY_PAYER if payer.id != "tables.budget_source payer"]
)  # it has no columns
def test_an_account_of_rows_pays_for_rows(tmp_path: Path, pay: Callable[[Account], Any]) -> None:
    """So that the refusals above are of persons, and of nothing else."""
    with Ledger(tmp_path / "budget.db") as ledger:
        pay(ledger.account("people", cap=9))


@pytest.mark.parametrize("name", mechanisms.__all__)
def test_no_mechanism_is_handed_a_token_of_persons_unasked(tmp_path: Path, name: str) -> None:
    """Mechanisms are paid with tokens alone, and a token is for single rows, unless whoever asks for it says otherwise."""
    found = getattr(mechanisms, name)
    assert not callable(found) or not {"account", "purse", "ledger"} & inspect.signature(found).parameters.keys()
    with Ledger(tmp_path / "budget.db") as ledger:
        people = ledger.account("people", cap=1, unit="pid")
        with pytest.raises(BadInput, match="^account: "):
            people.grant(1)
        token = people.grant(1, unit="pid")
        mechanisms.laplace(3, sensitivity=1, budget=token)
        assert people.spent == 1


@pytest.mark.parametrize(
    "made", [{}, {"unit": "row"}, {"note": "for the board"}, {"unit": "row", "note": "protects each pid"}]
)
def test_an_account_without_a_unit_pays_for_no_persons(tmp_path: Path, made: dict[str, str]) -> None:
    with Ledger(tmp_path / "budget.db") as ledger:
        people = ledger.account("people", cap=1, **made)  # type: ignore[arg-type]
        before = ledger.statement()
        assert people.unit == "row"
        for refused in (
            lambda: table_of_rows(people, unit=Unit("pid", max_rows=1)),
            lambda: people.purse("pid"),
            lambda: people.grant(1, unit="pid"),
            lambda: people.charge(Fraction(1), operator="laplace", neighbours="add_remove", unit="pid"),
            lambda: ledger.account("people", unit="pid"),
        ):
            with pytest.raises(BadInput, match="the account 'people' protects single rows; you asked to protect each pid"):
                refused()
        assert ledger.statement() == before


def test_a_table_pays_with_an_account_of_its_own_unit_alone(tmp_path: Path) -> None:
    with Ledger(tmp_path / "budget.db") as ledger:
        people = ledger.account("people", cap=9, unit="pid")
        table = table_of_rows(people, unit="pid:1")
        table.count(epsilon=1)
        assert people.spent == 1
        for unit in ("row:1", "age:1", "pid:2"):
            with pytest.raises(BadInput, match=r"^unit: the account 'people' protects each pid"):
                table_of_rows(people, unit=unit)
        assert table_of_rows(people).unit == Unit("pid", 1)
        with pytest.raises(BadInput, match="^account: "):
            AccountBudget(people, protected_unit(Unit("age", 1))).records(None, 1, note="")  # type: ignore[arg-type]
        assert people.spent == 1


def test_no_column_reads_like_single_rows_or_like_another_column() -> None:
    names = ["row", "row (column)", "row (column) (column)", "rows", " row", "pid", "a b", "a\xa0b", "x" * 2_000]
    texts = [protected_unit(None), *(protected_unit(Unit(name, 1)) for name in names)]
    assert len(set(texts)) == len(texts)


def test_a_unit_that_the_ledger_cannot_keep_is_refused(tmp_path: Path) -> None:
    with Ledger(tmp_path / "budget.db") as ledger:
        for unit in ("", "  ", "a\nb", "x" * 1_001, 7):
            with pytest.raises(BadInput, match="^unit: "):
                ledger.account("people", cap=1, unit=unit)  # type: ignore[arg-type]
        assert not ledger.accounts()


def test_what_an_account_protects_never_changes(tmp_path: Path) -> None:
    with Ledger(tmp_path / "budget.db") as ledger:
        ledger.account("people", cap=1, unit="pid", note="first words\nprotects each row")
        ledger.account("people", cap=1, note="protects each row")
        ledger.set_cap("people", 2, note="protects each row")
        ledger.account("people").charge(
            Fraction(1), operator="x", neighbours="add_remove", unit="pid", note="protects each row"
        )
        assert [account.unit for account in ledger.accounts()] == [ledger.account("people").unit] == ["pid"]
        ledger.verify()


# ------------------------------------------------------------------------------------------------- ledgers of version 0.1

OLD = """
CREATE TABLE jostle_meta (version INTEGER NOT NULL, created TEXT NOT NULL, PRIMARY KEY (version));
CREATE TABLE jostle_accounts (id INTEGER NOT NULL, name TEXT NOT NULL, measure TEXT NOT NULL, cap TEXT NOT NULL,
    spent TEXT NOT NULL, relation TEXT NOT NULL, rows BIGINT NOT NULL, created TEXT NOT NULL,
    PRIMARY KEY (id), UNIQUE (name));
CREATE TABLE jostle_events (id INTEGER NOT NULL, "key" TEXT NOT NULL, at TEXT NOT NULL, version INTEGER NOT NULL,
    kind TEXT NOT NULL, dataset TEXT NOT NULL, operator TEXT NOT NULL, measure TEXT NOT NULL, amount TEXT NOT NULL,
    neighbours TEXT NOT NULL, note TEXT NOT NULL, PRIMARY KEY (id), UNIQUE ("key"),
    FOREIGN KEY(dataset) REFERENCES jostle_accounts (name));
CREATE INDEX ix_jostle_events_dataset ON jostle_events (dataset);
INSERT INTO jostle_meta VALUES (1, '2025-01-01T00:00:00.000000+00:00');
"""
NOTES = {"plain": "", "own words": "for the board", "rows": "protects each row"}
NOTES |= {"persons": "protects each pid", "a column called row": "protects each row (column)"}
UNITS = {"plain": "row", "own words": "row", "rows": "row", "persons": "pid", "a column called row": "row (column)"}


@pytest.fixture
def old(tmp_path: Path) -> Path:
    path = tmp_path / "old.db"
    at = "2025-01-01T00:00:00.000000+00:00"
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(OLD)
        for number, (name, note) in enumerate(NOTES.items()):
            account = (number, name, "pure", "9/1", "0/1", "add_remove", 1, at)
            connection.execute("INSERT INTO jostle_accounts VALUES (?, ?, ?, ?, ?, ?, ?, ?)", account)
            event = (number, f"key {number}", at, 1, "open", name, "", "pure", "9/1", "add_remove", note)
            connection.execute("INSERT INTO jostle_events VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", event)
    return path


def stored(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return list(connection.iterdump())


def test_an_old_ledger_opens_unchanged(old: Path) -> None:
    before = stored(old)
    with Ledger(old) as ledger:
        assert {account.name: account.unit for account in ledger.accounts()} == UNITS
        ledger.verify()
    assert stored(old) == before


def test_the_accounts_of_an_old_ledger_pay_as_before_for_their_own_unit(old: Path) -> None:
    with Ledger(old) as ledger:
        for name, kept in UNITS.items():
            for unit in (None, "pid:1", "row:1"):
                table = {"schema": SCHEMA, "ledger": ledger, "name": name, "unit": unit, "beside": list(UNITS)}
                if kept == protected_unit(Unit.of(unit)):
                    jostle.open(FRAME, **table).count(epsilon=1)
                    continue
                if unit is None:  # as the account has it
                    assert protected_unit(jostle.open(FRAME, **table).unit) == kept
                    continue
                with pytest.raises(BadInput, match=r"^unit: "):
                    jostle.open(FRAME, **table)
        assert {account.spent for account in ledger.accounts()} == {1}


def test_an_account_without_its_opening_event_pays_for_nothing(old: Path) -> None:
    with closing(sqlite3.connect(old)) as connection, connection:
        connection.execute("DELETE FROM jostle_events WHERE dataset = 'persons'")
    with Ledger(old) as ledger, pytest.raises(LedgerError, match="does not add up"):
        ledger.charge("persons", Fraction(1), operator="laplace", neighbours="add_remove")


def test_a_charge_asks_the_database_no_more_often_than_before(tmp_path: Path) -> None:
    """Whom an account protects is read with its balance, in the same statement."""
    said: list[str] = []
    with Ledger(tmp_path / "budget.db") as ledger:
        people = ledger.account("people", cap=1)
        sa.event.listen(ledger._store._engine, "before_cursor_execute", lambda c, cursor, text, *_: said.append(text))
        people.charge(Fraction(1, 10), operator="laplace", neighbours="add_remove")
    assert [text.split()[0] for text in said] == ["BEGIN", "SELECT", "INSERT", "UPDATE"]


def test_the_answers_of_an_account_of_rows_are_as_before(tmp_path: Path) -> None:
    with Ledger(tmp_path / "budget.db") as ledger:
        answers = jostle.release([50, 60], epsilon=1000, account=ledger.account("people", cap=1000), algorithm="Laplace")
        assert np.allclose(answers.answers, [50, 60], atol=1)
