"""`jostle budget cap`, as it is called from a shell."""

from __future__ import annotations

import io
import json
import sys
from fractions import Fraction

import pytest

from jostle.kernel.ledger import Ledger


@pytest.fixture(params=["sqlite", "postgres"])
def location(request, tmp_path) -> str:
    sqlite = request.param == "sqlite"
    place = str(tmp_path / "budget.db") if sqlite else request.getfixturevalue("postgres").new_schema()
    with Ledger(place) as ledger:
        ledger.account("people", cap=1).charge(Fraction(1, 3), operator="laplace", neighbours="add_remove")
    return place


def cap(location: str) -> Fraction:
    with Ledger(location) as ledger:
        ledger.verify()
        return ledger.balance("people").cap


def test_a_cap_is_changed_and_the_ledger_knows_by_whom_and_why(location, jostle, monkeypatch):
    monkeypatch.setenv("JOSTLE_WHO", "anna")
    status, output, errors = jostle("budget", "cap", location, "people", "--epsilon", 2, "--note", "as agreed", "--yes")
    assert (status, errors) == (0, "")
    with Ledger(location) as ledger:
        event = ledger.events()[-1]
    assert output == f"The cap of 'people' is ε = 2 from now on; it was 1. Event {event.key}.\n"
    assert (event.kind, event.amount, event.who, event.note) == ("cap", 2, "anna", "as agreed")
    told = json.loads(jostle("budget", "cap", location, "people", "--epsilon", "1/2", "-y", "--json")[1])
    assert (told["account"], told["cap_before"], told["cap"], told["who"]) == ("people", "2", "1/2", "anna")
    assert cap(location) == Fraction(1, 2)


@pytest.mark.parametrize(("answer", "ends", "is_then"), [("y\n", 0, 2), ("n\n", 1, 1), ("\n", 1, 1), ("", 1, 1)])
def test_it_is_commands_to_load_once_more(tmp_path, jostle, monkeypatch, answer, ends, is_then):
    place = str(tmp_path / "budget.db")
    with Ledger(place) as ledger:
        ledger.account("people", cap=1).charge(Fraction(1, 3), operator="laplace", neighbours="add_remove")
    monkeypatch.setattr(sys, "stdin", io.StringIO(answer))
    status, _, errors = jostle("budget", "cap", place, "people", "--epsilon", 2)
    assert status == ends
    assert "Change the cap of 'people' from ε = 1 to 2? 0.333334 is spent; 1.66666 would be left." in errors
    assert cap(place) == is_then


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("people", "--epsilon", "0.3"), "0.333333… of account 'people' is spent already"),
        (("people", "--epsilon", "1"), "the cap of 'people' is 1 already"),
        (("people", "--epsilon", "-1"), "epsilon: must be at least 0"),
        (("people", "--epsilon", "lots"), "epsilon: must be a finite number"),
        (("people", "--epsilon", "2", "--note", "a\0b"), "note: must be a text"),
        (("places", "--epsilon", "2"), "there is no account 'places', only 'people'"),
    ],
)
def test_what_cannot_be_is_refused_and_changes_nothing(location, jostle, arguments, complaint):
    status, output, errors = jostle("budget", "cap", location, *arguments, "--yes")
    assert (status, output) == (2, "")
    assert complaint.split("…")[0] in errors
    assert cap(location) == 1


def test_a_cap_that_somebody_else_changed_meanwhile_is_left_alone(location, jostle, monkeypatch):
    def changed_meanwhile(*_: object, **__: object) -> bool:
        with Ledger(location) as ledger:
            ledger.set_cap("people", 3)
        return True

    monkeypatch.setattr("typer.confirm", changed_meanwhile)
    status, _, errors = jostle("budget", "cap", location, "people", "--epsilon", 2)
    assert status == 2
    assert "the cap of account 'people' is 3 by now. Remedy: look, and decide anew" in errors
    assert cap(location) == 3


def test_a_ledger_that_is_not_there_is_not_made(tmp_path, jostle):
    status, _, errors = jostle("budget", "cap", tmp_path / "budget.db", "people", "--epsilon", 2, "--yes")
    assert status == 2
    assert "there is no ledger at" in errors
    assert not list(tmp_path.iterdir())
