"""`jostle budget`, as it is called from a shell."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest
import sqlalchemy as sa

from jostle.kernel.ledger import Ledger


@pytest.fixture
def path(tmp_path) -> Path:
    file = tmp_path / "budget.db"
    with Ledger(file, who="anna") as ledger:
        people = ledger.account("people", cap=1)
        people.charge(Fraction(1, 3), operator="laplace", neighbours="add_remove", note="[red]ages[/red] & sexes")
        people.charge(Fraction(1, 3), operator="choose", neighbours="add_remove")
        ledger.account("places", cap="0.5", neighbours="replace")
        ledger.set_cap("places", 2, note="agreed")
    return file


def test_accounts_and_events_as_tables(path, jostle):
    status, output, errors = jostle("budget", path)
    assert (status, errors) == (0, "")
    lines = [line.split() for line in output.splitlines()]
    assert ["people", "each", "row", "1", "0.666667", "0.333333", "2"] in lines
    assert ["places", "values", "of", "each", "row", "2", "0", "2", "0"] in lines
    assert "[red]ages[/red] & sexes" in output
    assert sum("laplace" in line for line in lines) == 1
    with Ledger(path) as ledger:
        keys = [event.key for event in ledger.events()]
    assert any(line[2:] == ["places", "cap", "0.5", "→", "2", "anna", keys[-1][:8], "agreed"] for line in lines)
    assert all(sum(key[:8] in line for line in lines) == 1 for key in keys)
    assert output.endswith("all charges add up to what is spent.\n")


def test_without_events_and_for_one_account(path, jostle):
    status, output, _ = jostle("budget", path, "--account", "people", "--no-events")
    assert status == 0
    assert "people" in output
    assert "places" not in output
    assert "laplace" not in output


def test_json_is_exact_and_its_floats_err_on_the_side_of_less(path, jostle):
    status, output, _ = jostle("budget", path, "--json")
    assert status == 0
    shown = json.loads(output)
    people, places = shown["accounts"]
    assert (people["dataset"], people["cap"], people["spent"], people["remaining"]) == ("people", "1", "2/3", "1/3")
    assert Fraction(people["spent_float"]) > Fraction(2, 3)
    assert Fraction(people["remaining_float"]) < Fraction(1, 3)
    assert (places["neighbours"], places["cap_float"], places["charges"]) == ("replace", 2.0, 0)
    assert [event["kind"] for event in shown["events"]] == ["open", "charge", "charge", "open", "cap"]
    assert shown["events"][1]["amount"] == "1/3"
    assert Fraction(shown["events"][1]["amount_float"]) >= Fraction(1, 3)
    assert {event["who"] for event in shown["events"]} == {"anna"}
    assert [event.get("cap_before") for event in shown["events"]] == [None, None, None, None, "1/2"]
    assert "events" not in json.loads(jostle("budget", path, "--json", "--no-events")[1])


def test_one_event_whole_by_the_beginning_of_its_key(path, jostle):
    with Ledger(path) as ledger:
        event = ledger.events()[1]
    status, output, _ = jostle("budget", path, "--event", event.key[:8])
    assert status == 0
    assert ["key", event.key] in [line.split() for line in output.splitlines()]
    assert "[red]ages[/red] & sexes" in output
    assert json.loads(jostle("budget", "show", path, "--event", event.key, "--json")[1])["amount"] == "1/3"
    for wrong in ("", "no such key"):
        status, _, errors = jostle("budget", path, "--event", wrong)
        assert status == 2
        assert "list the events with jostle budget LEDGER" in errors


def test_a_ledger_on_postgres(postgres, jostle):
    url = postgres.new_schema()
    with Ledger(url) as ledger:
        ledger.account("people", cap=1)
    status, output, _ = jostle("budget", url, "--json")
    assert status == 0
    assert json.loads(output)["accounts"][0]["remaining"] == "1"


def test_an_empty_ledger(tmp_path, jostle):
    Ledger(tmp_path / "budget.db").close()
    assert jostle("budget", tmp_path / "budget.db")[0] == 0
    assert json.loads(jostle("budget", tmp_path / "budget.db", "--json")[1]) == {"accounts": [], "events": []}


def test_a_ledger_that_is_not_there_is_not_made(tmp_path, jostle):
    status, output, errors = jostle("budget", tmp_path / "budget.db")
    assert (status, output) == (2, "")
    assert "there is no ledger at" in errors
    assert not list(tmp_path.iterdir())


def test_an_account_that_is_not_there(path, jostle):
    status, _, errors = jostle("budget", path, "--account", "nobody")
    assert status == 2
    assert "there is no account 'nobody', only 'people', 'places'" in errors


def test_a_ledger_that_does_not_add_up_is_shown_and_refused(path, jostle):
    with sa.create_engine(f"sqlite:///{path}", poolclass=sa.NullPool).begin() as connection:
        connection.exec_driver_sql("UPDATE jostle_accounts SET spent = '0/1'")
    status, output, errors = jostle("budget", path)
    assert status == 4
    assert "laplace" in output
    assert "add up" not in output
    assert "does not add up" in errors


def test_a_ledger_that_cannot_be_reached_ends_with_status_4(jostle):
    away = "postgresql://me:hush@127.0.0.1:1/db"
    for asked in (("budget", away), ("budget", "cap", away, "people", "--epsilon", 2, "--yes")):
        status, output, errors = jostle(*asked)
        assert (status, output) == (4, "")
        assert "Nothing is released without its charge on record" in errors
        assert "hush" not in errors
