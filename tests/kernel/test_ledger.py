"""The ledger: exact sums, caps that hold, and clear answers to everything that cannot be done."""

from __future__ import annotations

import dataclasses
import math
import os
import random
import shutil
import sqlite3
import sys
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

from jostle.kernel.budget import Cost
from jostle.kernel.errors import BadInput, BudgetError, JostleError, LedgerError, Overdraft, PlanError
from jostle.kernel.ledger import Account, AccountPurse, Ledger
from jostle.kernel.ledger.events import Event, Statement
from jostle.kernel.ledger.limits import after
from jostle.kernel.measures import Spending
from jostle.kernel.neighbours import Neighbours

ADD_REMOVE = Neighbours("add_remove")
TENTH = Fraction(1, 10)


@pytest.fixture(params=["sqlite", "postgres"])
def location(request, tmp_path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "budget.db")
    return request.getfixturevalue("postgres").new_schema()


@pytest.fixture
def ledger(location) -> Iterator[Ledger]:
    with Ledger(location) as opened:
        yield opened


@pytest.fixture
def path(tmp_path) -> Path:
    """A ledger in a file, closed, with one account that was charged once."""
    file = tmp_path / "budget.db"
    with Ledger(file) as ledger:
        charge(ledger.account("people", cap=1))
    return file


def charge(account: Account, amount: Fraction = TENTH, **changed: object) -> Event:
    return account.charge(amount, **{"operator": "laplace", "neighbours": ADD_REMOVE, "note": "ages"} | changed)


def execute(location: str | Path, statement: str) -> None:
    """Change a ledger behind its back."""
    url = str(location) if "://" in str(location) else f"sqlite:///{location}"
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with engine.begin() as connection:
        connection.exec_driver_sql(statement)


# ------------------------------------------------------------------------------------------------------------ sums


def test_ten_tenths_are_one_and_the_next_is_refused(ledger):
    account = ledger.account("people", cap=1)
    for _ in range(10):
        charge(account)
    assert (account.cap, account.spent, account.remaining) == (1, 1, 0)
    with pytest.raises(Overdraft) as refused:
        charge(account)
    assert (refused.value.requested, refused.value.remaining, refused.value.difference) == (TENTH, 0, TENTH)
    assert str(refused.value).startswith("account 'people': requested ε = 0.1, remaining 0. Nothing more can be released; ")
    assert len(ledger.events()) == 11
    ledger.verify()


@given(
    cap=st.fractions(min_value=Fraction(1, 100), max_value=10, max_denominator=10**6),
    amounts=st.lists(st.fractions(min_value=Fraction(1, 10**6), max_value=3, max_denominator=10**6), max_size=12),
)
@settings(max_examples=60)
def test_what_fits_is_charged_and_what_does_not_changes_nothing(tmp_path_factory, cap, amounts):
    with Ledger(tmp_path_factory.getbasetemp() / "properties.db") as ledger:
        account, spent = ledger.account(str(uuid.uuid4()), cap=cap), Fraction(0)
        for amount in amounts:
            if spent + amount <= cap:
                assert charge(account, amount).amount == amount
                spent += amount
            else:
                with pytest.raises(Overdraft) as refused:
                    charge(account, amount)
                assert refused.value.difference == spent + amount - cap
        assert (account.spent, account.remaining) == (spent, cap - spent)
        assert sum(event.amount for event in ledger.events(account.name) if event.kind == "charge") == spent
        ledger.statement(account.name).check()


def test_sums_of_awkward_fractions_stay_small_and_are_rounded_against_the_spender(ledger):
    account, asked = ledger.account("people", cap=1), Fraction(0)
    for step in range(12):
        amount = Fraction(1, 20 * (10**298 + 2 * step + 1))
        asked += amount
        assert charge(account, amount).amount >= amount
    spent = account.spent
    assert asked < spent < asked + Fraction(1, 10**990)
    assert spent.denominator <= 10**1_000 < asked.denominator
    ledger.verify()


@given(
    cap=st.fractions(min_value=Fraction(1, 10**6), max_value=10**6),
    shares=st.lists(st.integers(min_value=1, max_value=10**40), min_size=1, max_size=40),
)
def test_a_sum_is_rounded_up_to_a_bounded_size_and_never_beyond_the_cap(cap, shares):
    total = cap - min(cap, Fraction(1, 10**999) / math.prod(shares))
    kept = after(cap, Spending(), Cost(total, Fraction(0))).epsilon
    assert total <= kept <= cap
    assert kept == total or (kept.denominator <= max(10**1_000, cap.denominator) and kept - total < Fraction(1, 10**1_000))


# -------------------------------------------------------------------------------------------------------- accounts


def test_an_account_is_found_again_by_another_who_opens_the_ledger(location):
    with Ledger(location) as ledger:
        charge(
            ledger.account("people", cap="1/3", neighbours=Neighbours("replace", rows=3)),
            neighbours=Neighbours("replace", 3),
        )
    with Ledger(location, create=False) as ledger:
        for account in (ledger.account("people"), ledger.account("people", cap=Fraction(1, 3)), *ledger.accounts()):
            assert account.name == "people"
            assert account.neighbours == Neighbours("replace", rows=3)
            assert account.remaining == Fraction(1, 3) - TENTH


def test_each_account_has_its_own_budget(ledger):
    one, other = ledger.account("people", cap=1), ledger.account("places", cap=2)
    charge(one)
    assert other.spent == 0
    assert [event.dataset for event in ledger.events()] == ["people", "places", "people"]
    assert [event.kind for event in ledger.events("people")] == ["open", "charge"]
    assert [account.name for account in ledger.accounts()] == ["people", "places"]


def test_an_account_without_a_cap_is_not_made(ledger):
    with pytest.raises(BadInput, match=r"name: there is no account 'people', only none. Remedy: pass cap="):
        ledger.account("people")
    ledger.account("places", cap=1)
    with pytest.raises(BadInput, match=r"there is no account 'people', only 'places'"):
        ledger.account("people")


def test_an_account_is_not_opened_with_another_cap(ledger):
    ledger.account("people", cap=1)
    with pytest.raises(
        BadInput, match=r"cap: account 'people' has a cap of 1, not 2. Remedy: .*ledger.set_cap\('people', …"
    ):
        ledger.account("people", cap=2)


@pytest.mark.parametrize("other", ["replace", Neighbours("add_remove", rows=2)])
def test_an_account_is_not_opened_or_charged_under_other_neighbours(ledger, other):
    account = ledger.account("people", cap=1)
    with pytest.raises(BadInput, match=r"neighbours: account 'people' is kept under add_remove, not"):
        ledger.account("people", neighbours=other)
    with pytest.raises(BudgetError, match=r"do not add up: use the account's own"):
        charge(account, neighbours=other)
    assert account.spent == 0


@pytest.mark.parametrize("name", ["", "  ", "x" * 201, "a\0b", "\ud800", "a\nb", "\x1b[31mred", None, 7])
def test_a_name_that_cannot_be_kept(ledger, name):
    with pytest.raises(BadInput, match=r"name: must be a text of 1 to 200 printable characters"):
        ledger.account(name, cap=1)


@pytest.mark.parametrize("name", ["x" * 200, "Ærø – 数据", "'; DROP TABLE jostle_events; --", "[bold]people[/]"])
def test_any_printable_name_is_kept(ledger, name):
    charge(ledger.account(name, cap=1))
    assert ledger.accounts()[0].name == ledger.events()[1].dataset == name


@pytest.mark.parametrize("cap", [0, -1, float("nan"), float("inf"), "much", True, 10**101, "1e400"])
def test_a_cap_that_means_nothing(ledger, cap):
    with pytest.raises(BadInput, match=r"cap: "):
        ledger.account("people", cap=cap)
    assert ledger.accounts() == ()


def test_a_cap_is_changed_and_the_change_is_an_event(ledger):
    account = ledger.account("people", cap=1)
    charge(account)
    event = ledger.set_cap("people", 2, note="the board agreed")
    assert (event.kind, event.amount, event.note) == ("cap", 2, "the board agreed")
    assert account.remaining == Fraction(19, 10)
    ledger.set_cap("people", TENTH)
    assert account.remaining == 0
    assert [event.kind for event in ledger.events()] == ["open", "charge", "cap", "cap"]
    ledger.verify()


def test_a_cap_never_falls_below_what_is_spent(ledger):
    account = ledger.account("people", cap=1)
    charge(account)
    with pytest.raises(BadInput, match=r"cap: 0.1 of account 'people' is spent already. Remedy: pass at least that much"):
        ledger.set_cap("people", Fraction(1, 11))
    assert account.cap == 1
    with pytest.raises(BadInput, match=r"there is no account 'places', only 'people'"):
        ledger.set_cap("places", 1)


# --------------------------------------------------------------------------------------------------------- charges


def test_an_event_says_what_happened(ledger):
    before = datetime.now(UTC)
    event = charge(ledger.account("people", cap=1))
    assert (event.kind, event.dataset, event.operator, event.note) == ("charge", "people", "laplace", "ages")
    assert (event.amount, event.measure, event.neighbours, event.version) == (TENTH, "pure", "add_remove", 1)
    assert event.key == str(uuid.UUID(event.key))
    assert timedelta(0) <= datetime.fromisoformat(event.at) - before < timedelta(minutes=1)
    assert event.at.endswith("+00:00")
    assert ledger.events()[-1] == event
    with pytest.raises(dataclasses.FrozenInstanceError):
        event.amount = Fraction(0)


@pytest.mark.parametrize(
    ("changed", "argument"),
    [
        ({"operator": ""}, "operator"),
        ({"operator": "x" * 201}, "operator"),
        ({"note": "x" * 1_001}, "note"),
        ({"note": "a\0b"}, "note"),
        ({"note": 0.5}, "note"),
        ({"neighbours": "siblings"}, "neighbours"),
        ({"amount": Fraction(0)}, "amount"),
        ({"amount": Fraction(-1)}, "amount"),
        ({"amount": float("nan")}, "amount"),
        ({"amount": 10**400}, "amount"),
    ],
)
def test_a_charge_that_makes_no_sense_charges_nothing(ledger, changed, argument):
    account = ledger.account("people", cap=1)
    with pytest.raises(BadInput) as refused:
        charge(account, **changed)
    assert refused.value.argument == argument
    assert account.spent == 0


def test_a_long_note_of_several_lines_is_kept(ledger):
    note = "für die Sitzung:\n\t" + "ε" * 980
    assert charge(ledger.account("people", cap=1), note=note).note == ledger.events()[-1].note == note


def test_a_closed_ledger_charges_nothing(location):
    with Ledger(location) as ledger:
        account = ledger.account("people", cap=1)
    with pytest.raises(LedgerError, match=r"was closed: open the ledger again"):
        charge(account)


# ---------------------------------------------------------------------------------------------------------- purses


def test_a_token_is_charged_to_the_ledger_when_it_is_spent(ledger):
    account = ledger.account("people", cap=1)
    purse = AccountPurse(account)
    first, rest = purse.grant(0.5).split(1, 4)
    assert purse.durable
    assert account.spent == 0
    assert first.spend(purse, operator="laplace", neighbours=ADD_REMOVE, note="ages") == TENTH
    assert (account.spent, purse.unspent) == (TENTH, Fraction(4, 10))
    event = ledger.events()[-1]
    assert (event.operator, event.amount, event.note) == ("laplace", TENTH, "ages")
    assert rest.epsilon == Fraction(4, 10)


def test_a_token_that_could_not_be_paid_is_not_granted(ledger):
    account = ledger.account("people", cap=1)
    with pytest.raises(Overdraft, match=r"account 'people': requested ε = 2, remaining 1. Request at most 1;"):
        account.grant(2)
    assert account.grant(1).epsilon == 1


def test_tokens_that_exceed_the_budget_together_are_refused_when_spent(ledger):
    purse = AccountPurse(ledger.account("people", cap=1))
    first, second = purse.grant(0.7), purse.grant(0.7)
    first.spend(purse, operator="laplace", neighbours=ADD_REMOVE)
    with pytest.raises(Overdraft, match=r"requested ε = 0.7, remaining 0.3. Request at most 0.3;"):
        second.spend(purse, operator="laplace", neighbours=ADD_REMOVE)
    with pytest.raises(PlanError, match=r"was spent already"):
        second.spend(purse, operator="laplace", neighbours=ADD_REMOVE)


# ------------------------------------------------------------------------------------------- what others wrote into it


def test_a_ledger_with_newer_tables_is_refused(location):
    with Ledger(location) as ledger:
        account = ledger.account("people", cap=1)
        execute(location, "UPDATE jostle_meta SET version = 2")
        with pytest.raises(
            LedgerError, match=r"written by a newer jostle: it holds tables of version 2. Remedy: upgrade jostle"
        ):
            charge(account)
        with pytest.raises(LedgerError, match=r"newer jostle"):
            ledger.account("places", cap=1)
        execute(location, "UPDATE jostle_meta SET version = 1")
        assert account.spent == 0
        execute(location, "UPDATE jostle_meta SET version = 2")
    with pytest.raises(LedgerError, match=r"newer jostle"):
        Ledger(location)


@pytest.mark.parametrize("change", ["SET kind = 'refund'", "SET measure = 'zcdp'", "SET version = 2"])
def test_an_event_that_is_not_understood_is_refused(ledger, location, change):
    charge(ledger.account("people", cap=1))
    execute(location, " ".join(["UPDATE jostle_events", change, "WHERE kind = 'charge'"]))
    for read in (ledger.events, ledger.verify, lambda: ledger.statement("people")):
        with pytest.raises(LedgerError, match=r"written by a newer jostle: it holds an event of kind"):
            read()


@pytest.mark.parametrize(
    "change",
    ["SET measure = 'zcdp'", "SET relation = 'siblings'", "SET spent = 'x'", "SET spent = '1/0'", "SET spent = '-1/1'"],
)
def test_an_account_that_is_not_understood_is_not_charged(ledger, location, change):
    account = ledger.account("people", cap=1)
    execute(location, " ".join(["UPDATE jostle_accounts", change]))
    with pytest.raises(LedgerError, match=r"newer jostle|damaged"):
        charge(account)


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE jostle_accounts SET spent = '0/1'",
        "UPDATE jostle_accounts SET cap = '2/1'",
        "UPDATE jostle_accounts SET relation = 'replace'",
        "DELETE FROM jostle_events WHERE kind = 'charge'",
        "DELETE FROM jostle_events",
        "UPDATE jostle_events SET amount = '1/11' WHERE kind = 'charge'",
        "UPDATE jostle_events SET amount = '1/100' WHERE kind = 'open'",
        "UPDATE jostle_events SET kind = 'cap' WHERE kind = 'charge'",
        "UPDATE jostle_events SET neighbours = 'replace' WHERE kind = 'charge'",
    ],
)
def test_a_ledger_that_does_not_add_up_is_found_out(ledger, location, change):
    charge(ledger.account("people", cap=1))
    ledger.verify()
    execute(location, change)
    with pytest.raises(LedgerError, match=r"does not add up"):
        ledger.verify()


def test_events_without_an_account_are_found_out(ledger):
    charge(ledger.account("people", cap=1))
    with pytest.raises(LedgerError, match=r"does not add up"):
        Statement(balances=(), events=ledger.events()).check()


def test_control_characters_that_others_wrote_do_not_reach_a_terminal(ledger, location):
    charge(ledger.account("people", cap=1))
    execute(location, "UPDATE jostle_events SET note = '\x1b[2J' WHERE kind = 'charge'")
    with pytest.raises(LedgerError, match=r"control characters"):
        ledger.events()


# ------------------------------------------------------------------------------------------------- files and places


def test_the_path_may_be_odd_and_relative(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Ledger("a?b#c %41 ε.db") as ledger:
        monkeypatch.chdir("/")
        charge(ledger.account("people", cap=1))
    with Ledger(tmp_path / "a?b#c %41 ε.db", create=False) as ledger:
        assert ledger.balance("people").spent == TENTH
    assert [file.name for file in tmp_path.iterdir()] == ["a?b#c %41 ε.db"]


def test_no_name_is_the_name_of_no_account(tmp_path: Path) -> None:
    """It stood for the first of all accounts, whose cap an unset option could raise."""
    with Ledger(tmp_path / "budget.db") as ledger:
        ledger.account("alpha", cap=1)
        ledger.account("beta", cap=1)
        asks: list[Callable[[Any], object]] = [
            ledger.balance,
            lambda name: ledger.set_cap(name, 100),
            lambda name: ledger.charge(name, Fraction(1), operator="laplace", neighbours="add_remove"),
        ]
        for ask in asks:
            for name in (None, ["alpha"], "\ud800", ""):
                with pytest.raises(BadInput, match="^name: must be a text"):
                    ask(name)
        assert {(has.cap, has.spent) for has in ledger.statement().balances} == {(1, 0)}


def test_an_account_keeps_neither_parts_nor_filters(tmp_path: Path) -> None:
    """They were dropped without a word, and the number of records was public under `replace`."""
    with Ledger(tmp_path / "budget.db") as ledger:
        for told in (Neighbours("replace", filtered=True), Neighbours("replace", part=True)):
            with pytest.raises(BadInput, match="^neighbours: no account is of a part"):
                ledger.account("people", cap=1, neighbours=told)


def refused(location: object, message: str, error: type[JostleError] = BadInput, **options: object) -> None:
    with pytest.raises(error, match=message):
        Ledger(location, **options)


def test_a_directory_that_does_not_exist(tmp_path):
    refused(tmp_path / "nowhere" / "budget.db", "location: there is no directory .*nowhere. Remedy: make it first")


def test_a_directory_in_place_of_a_file(tmp_path):
    refused(tmp_path, "location: .* is not a file that can be read. Remedy: pass the path of a ledger or of a new file")


def test_a_missing_ledger_is_not_made_where_it_should_exist(tmp_path):
    refused(tmp_path / "budget.db", "location: there is no ledger at .*budget.db. Remedy: check the path", create=False)
    assert not list(tmp_path.iterdir())


def test_an_empty_file_is_no_ledger_for_it_may_have_been_one(tmp_path):
    (tmp_path / "budget.db").touch()
    refused(tmp_path / "budget.db", "location: .* is empty, which no ledger ever is. Remedy: restore")


@pytest.mark.parametrize("content", [b"x", b"age,sex\n" * 1_000])
def test_a_file_that_is_no_database(tmp_path, content):
    (tmp_path / "people.csv").write_bytes(content)
    refused(tmp_path / "people.csv", "location: .* is not a ledger. Remedy: pass the path of a ledger or of a new file")
    assert (tmp_path / "people.csv").read_bytes() == content


@pytest.mark.parametrize("statement", ["CREATE TABLE mine (x)", "PRAGMA user_version = 1"])
def test_a_database_of_somebody_else_is_left_alone(tmp_path, statement):
    execute(tmp_path / "mine.db", statement)
    before = (tmp_path / "mine.db").read_bytes()
    refused(tmp_path / "mine.db", "location: .* is not a ledger. Remedy: pass the path")
    assert (tmp_path / "mine.db").read_bytes() == before


def test_a_truncated_ledger(path):
    content = path.read_bytes()
    for size in (len(content) // 2, 4_096, 1_000, 100):
        path.write_bytes(content[:size])
        with pytest.raises((LedgerError, BadInput), match=r"is damaged|is not a ledger"):
            Ledger(path)


def test_a_ledger_with_a_damaged_page_is_found_out(path):
    content = bytearray(path.read_bytes())
    content[-4_096:] = random.Random(0).randbytes(4_096)
    path.write_bytes(content)
    with pytest.raises(LedgerError, match=r"is damaged"), Ledger(path) as ledger:
        ledger.verify()


def test_a_ledger_without_a_version_is_damaged(path):
    execute(path, "DELETE FROM jostle_meta")
    refused(path, "has no version: it is damaged", LedgerError)


def test_a_ledger_in_memory_is_refused():
    for odd in (None, 3, b"budget.db"):
        refused(odd, "location: must be a path or a URL")
    refused(":memory:", "location: a ledger must outlive the process")


@pytest.mark.parametrize("url", ["mysql://localhost/x", "postgresql+asyncpg://localhost/x", "sqlite:///budget.db"])
def test_another_kind_of_database(url):
    refused(url, "location: a ledger cannot be stored at .*. Remedy: use a path, or a URL such as postgresql://")


def test_what_looks_like_a_url_and_is_none():
    refused("://nonsense", "location: is not a URL")
    refused("postgresql://host:port/x", "location: is not a URL")


def test_a_missing_driver_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)
    refused("postgresql://localhost/x", r"location: PostgreSQL needs psycopg 3.*Remedy: pip install 'jostle\[postgres\]'")


def test_a_server_that_is_not_there_is_named_without_its_password():
    with pytest.raises(
        LedgerError, match=r"postgresql://user:\*\*\*@127.0.0.1:1/x failed: .*Remedy: check the server"
    ) as refusal:
        Ledger("postgresql://user:secret@127.0.0.1:1/x", timeout=2)
    assert "secret" not in str(refusal.value)
    with pytest.raises(LedgerError, match=r"postgresql://127.0.0.1:1/x\?user=me failed: ") as refusal:
        Ledger("postgresql://127.0.0.1:1/x?user=me&password=secret", timeout=2)
    assert "secret" not in str(refusal.value)


def test_postgres_tables_stand_beside_others_and_are_not_made_unasked(postgres):
    url = postgres.new_schema()
    execute(url, "CREATE TABLE mine (x int)")
    refused(url, "location: there is no ledger at", create=False)
    with Ledger(url.replace("+psycopg", "")) as ledger:
        charge(ledger.account("people", cap=1))
    execute(url, "SELECT * FROM mine")


# ------------------------------------------------------------------------------------------------------- permissions


@contextmanager
def as_nobody() -> Iterator[None]:
    """Root may write everywhere, so root becomes somebody else for a while."""
    if os.geteuid():
        yield
        return
    os.seteuid(65_534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def shelf() -> Iterator[Path]:
    """A directory that everybody may enter, unlike pytest's own, with a ledger in it."""
    directory = Path(tempfile.mkdtemp()).resolve()
    directory.chmod(0o755)
    with Ledger(directory / "budget.db") as ledger:
        charge(ledger.account("people", cap=1))
    yield directory
    directory.chmod(0o755)
    shutil.rmtree(directory)


def files(directory: Path) -> set[str]:
    return {file.name for file in directory.iterdir()}


@pytest.mark.parametrize("directory_too", [False, True])
def test_a_ledger_that_may_only_be_read_is_read_and_not_charged(shelf, directory_too):
    (shelf / "budget.db").chmod(0o444)
    shelf.chmod(0o555 if directory_too else 0o777)
    with as_nobody(), Ledger(shelf / "budget.db", create=False) as ledger:
        account = ledger.account("people")
        assert account.remaining == Fraction(9, 10)
        assert len(ledger.events()) == 2
        with pytest.raises(LedgerError, match=r"cannot be written. Nothing is released.*Remedy: allow writing to the file"):
            charge(account)
        ledger.verify()
    assert files(shelf) == {"budget.db"}


def test_a_reader_sees_what_a_writer_has_just_charged(shelf):
    shelf.chmod(0o755)
    with Ledger(shelf / "budget.db") as writing:
        charge(writing.account("people"))
        for file in shelf.iterdir():
            file.chmod(0o444 if os.geteuid() == 0 else 0o644)
        with as_nobody(), Ledger(shelf / "budget.db", create=False) as reading:
            assert reading.balance("people").spent == Fraction(2, 10)


def test_a_directory_that_may_not_be_written(shelf):
    shelf.chmod(0o555)
    with as_nobody():
        refused(shelf / "new.db", "location: .*new.db cannot be made .*Remedy: pass a path that can be written")
    assert files(shelf) == {"budget.db"}


def test_a_file_that_may_not_be_read(shelf):
    (shelf / "budget.db").chmod(0o000)
    with as_nobody():
        refused(shelf / "budget.db", "location: .* is not a file that can be read")


def test_a_ledger_is_closed_when_nobody_holds_it_any_more(tmp_path):
    Ledger(tmp_path / "budget.db").account("people", cap=1)
    with closing(sqlite3.connect(tmp_path / "budget.db")) as connection:
        assert connection.execute("PRAGMA journal_mode = DELETE").fetchone() == (
            "delete",
        )  # possible for the last one alone
