"""Who spent, in ledgers of today and of yesterday; and which events of a ledger paid for what was asked."""

from __future__ import annotations

import os
import pwd
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction

import numpy as np
import pytest
import sqlalchemy as sa

from jostle.kernel.errors import BadInput, Overdraft
from jostle.kernel.ledger import Ledger
from jostle.kernel.partition import Partition
from jostle.kernel.records import ArrayColumns, ReleaseRecords
from jostle.kernel.source import ReleaseSource, SimulatedSource
from jostle.kernel.strategies import identity

TENTH = Fraction(1, 10)


@pytest.fixture(params=["sqlite", "postgres"])
def location(request, tmp_path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "budget.db")
    return request.getfixturevalue("postgres").new_schema()


@contextmanager
def connected(location: str) -> Iterator[sa.Connection]:
    url = location if "://" in location else f"sqlite:///{location}"
    with sa.create_engine(url, poolclass=sa.NullPool).begin() as connection:
        yield connection


@pytest.fixture
def old(location) -> str:
    """A ledger as the first jostle made it: an account, charged once, and no column for who did it."""
    with Ledger(location) as ledger:
        charge(ledger)
    with connected(location) as connection:
        connection.exec_driver_sql("ALTER TABLE jostle_events DROP COLUMN who")
    return location


def charge(ledger: Ledger):
    return ledger.account("people", cap=1).charge(TENTH, operator="laplace", neighbours="add_remove")


def columns(location: str) -> set[str]:
    with connected(location) as connection:
        return {column["name"] for column in sa.inspect(connection).get_columns("jostle_events")}


def as_the_first_jostle_charges(location: str) -> None:
    """The statements of the first jostle, which knows nothing of who."""
    with connected(location) as connection:
        connection.exec_driver_sql(
            "INSERT INTO jostle_events (key, at, version, kind, dataset, operator, measure, amount, neighbours, note) "
            "VALUES ('old', '2024-01-01T00:00:00.000000+00:00', 1, 'charge', 'people', 'laplace', 'pure', '1/10', "
            "'add_remove', '')"
        )
        connection.exec_driver_sql("UPDATE jostle_accounts SET spent = '3/10'")


# --------------------------------------------------------------------------------------------------------- the name


def test_an_event_says_who_did_it(location, monkeypatch):
    monkeypatch.delenv("JOSTLE_WHO", raising=False)
    user = pwd.getpwuid(os.geteuid()).pw_name
    with Ledger(location) as ledger:
        assert charge(ledger).who == user
        assert ledger.set_cap("people", 2).who == user
        assert [event.who for event in ledger.events()] == 3 * [user]


def test_who_it_is_can_be_said_or_kept_back(location, monkeypatch):
    monkeypatch.setenv("JOSTLE_WHO", "the statistics office")
    with Ledger(location) as ledger:
        charge(ledger)
    with Ledger(location, who="Ærø & co") as ledger:
        charge(ledger)
    monkeypatch.setenv("JOSTLE_WHO", "")
    with Ledger(location) as ledger:
        charge(ledger)
        office = "the statistics office"
        assert [event.who for event in ledger.events()] == [office, office, "Ærø & co", ""]
        ledger.verify()


@pytest.mark.parametrize("name", ["x" * 201, "a\nb", "\x1b[31mred"])
def test_a_name_that_cannot_be_kept(tmp_path, monkeypatch, name):
    with pytest.raises(BadInput, match=r"who: must be a text of at most 200 printable characters"):
        Ledger(tmp_path / "budget.db", who=name)
    monkeypatch.setenv("JOSTLE_WHO", name)
    with pytest.raises(BadInput, match=r"JOSTLE_WHO: must be"):
        Ledger(tmp_path / "budget.db")
    assert not list(tmp_path.iterdir())


def test_a_user_whom_the_system_does_not_know_has_no_name(tmp_path, monkeypatch):
    def unknown(_: int) -> None:
        raise KeyError

    monkeypatch.delenv("JOSTLE_WHO", raising=False)
    monkeypatch.setattr(pwd, "getpwuid", unknown)
    with Ledger(tmp_path / "budget.db") as ledger:
        assert charge(ledger).who == ""


# ------------------------------------------------------------------------------------------------------ old ledgers


def test_an_old_ledger_is_read_as_it_is(old):
    with Ledger(old, create=False) as ledger:
        assert [(event.kind, event.who) for event in ledger.events()] == [("open", ""), ("charge", "")]
        ledger.verify()
    assert "who" not in columns(old)


def test_an_old_ledger_goes_on_without_names(old):
    with Ledger(old, who="anna") as ledger:
        assert charge(ledger) == ledger.events()[-1]
        assert [event.who for event in ledger.events()] == ["", "", ""]
        assert ledger.balance("people").spent == 2 * TENTH
        ledger.verify()
    assert "who" not in columns(old)


def test_an_old_jostle_goes_on_with_a_ledger_of_today(location):
    with Ledger(location, who="anna") as ledger:
        charge(ledger)
        charge(ledger)
        as_the_first_jostle_charges(location)
        assert [event.who for event in ledger.events()] == ["anna", "anna", "anna", ""]
        assert charge(ledger).who == "anna"
        ledger.verify()
        assert ledger.balance("people").spent == 4 * TENTH


# -------------------------------------------------------------------------------------------- what paid for an answer


@pytest.fixture
def account(tmp_path):
    with Ledger(tmp_path / "budget.db") as ledger:
        yield ledger.account("people", cap=10)


def test_a_token_names_what_paid_for_its_computation(account):
    source, other = (ReleaseSource([3, 0, 4], purse=account.purse()) for _ in range(2))
    whole, another = source.grant(1), other.grant(1)
    assert whole.charges == ()
    for token in whole.split(1, 3):
        source.measure(identity(3), token)
    other.measure(identity(3), another)
    events = account.ledger.events()[1:]
    assert (whole.charges, another.charges) == (events[:2], events[2:])
    assert [event.amount for event in events] == [Fraction(1, 4), Fraction(3, 4), 1]


def test_what_is_asked_of_parts_was_paid_with_the_split(account):
    source = ReleaseSource([3, 0, 4, 1], purse=account.purse())
    for part, token in source.split(Partition(np.array([0, 0, 1, 1]), (2,)), source.grant(1)):
        part.measure(identity(2), token)
        assert token.charges == account.ledger.events()[1:]
    records = ReleaseRecords(ArrayColumns({"a": np.array([0, 1, 1])}, {"a": 2}), purse=account.purse())
    for part, token in records.split("a", records.grant(1)):
        part.vector("a").measure(identity(2), token)
        assert token.charges == account.ledger.events()[2:]
    assert [event.kind for event in account.ledger.events()] == ["open", "charge", "charge"]


def test_a_simulation_names_nothing():
    source = SimulatedSource([3, 0, 4], seed=1)
    token = source.grant(1)
    source.measure(identity(3), token)
    assert token.charges == ()


def test_a_charge_that_failed_is_not_named(account):
    purse = account.purse()
    tokens = [purse.grant(8), purse.grant(8)]
    tokens[0].draw(operator="laplace")
    with pytest.raises(Overdraft, match=r"requested ε = 8, remaining 2"):
        tokens[1].draw(operator="laplace")
    assert tokens[1].charges == account.ledger.events()[1:]
    assert len(purse.charges) == 1
