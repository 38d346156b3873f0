"""`jostle classify` takes the options that `jostle release` takes, and both charge the same account."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path

import pytest

from jostle.cli.main import main
from jostle.kernel.ledger import Ledger

SCHEMA = """
[columns.age]
kind = "integer"
low = 0
high = 99
bins = 4

[columns.class]
kind = "category"
categories = ["no", "yes"]
"""
ROWS = "".join(f"{age},{'yes' if age > 50 else 'no'},x\n" for age in range(100))
ASKED = ("--schema", "people.toml", "--learner", "Majority", "--epsilon", "1/4")


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    (tmp_path / "people.csv").write_text(f"age,class,more\n{ROWS}", "utf-8")
    (tmp_path / "people.toml").write_text(SCHEMA, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(ran) -> dict:
    status, output, errors = ran
    assert (status, errors) == (0, "")
    return json.loads(output)


def test_the_records_are_named_first_or_by_an_option(folder, jostle):
    for named in (("people.csv",), ("--file", "people.csv")):
        assert told(jostle("classify", *named, *ASKED, "--json"))["charge"] is None
    for named in ((), ("people.csv", "--file", "people.csv")):
        status, _, errors = jostle("classify", *named, *ASKED)
        assert status == 2
        assert "file: is needed, once" in errors


def test_ended_from_outside_it_says_where_the_charge_is(folder, jostle, monkeypatch):
    monkeypatch.setattr("jostle.learn.held_out.learn_and_test", lambda *_, **__: signal.raise_signal(signal.SIGTERM))
    before = signal.getsignal(signal.SIGTERM)
    status, output, errors = jostle("classify", "people.csv", *ASKED, "--ledger", "budget.db", "--cap", 1)
    assert (status, output) == (130, "")
    assert errors == "Stopped. What was charged, if anything, is in the ledger: jostle budget budget.db\n"
    assert jostle("classify", "people.csv", *ASKED)[2] == "Stopped.\n"
    assert signal.getsignal(signal.SIGTERM) is before


def test_a_ledger_is_not_read_as_a_text(folder, jostle):
    """Reading an open one by hand would drop the locks that SQLite holds on it for this process."""
    with Ledger(folder / "budget.csv") as ledger:
        ledger.account("people", cap=1)
        for asked in (
            ("budget.csv", *ASKED),
            ("people.csv", *ASKED, "--learner", "Synthetic", "--buckets", "budget.csv"),
            ("people.csv", *ASKED, "--test", "budget.csv"),
        ):
            status, _, errors = jostle("classify", *asked)
            assert status == 2
            assert "budget.csv is a database, and no text" in errors


def test_both_commands_share_an_account_by_default(folder, jostle):
    shared = ("--schema", "people.toml", "--ledger", "budget.db", "--epsilon", "1/4")
    assert jostle("release", "people.csv", *shared, "--by", "age", "--budget", 1, "--json")[0] == 0
    found = told(jostle("classify", "people.csv", *ASKED, "--ledger", "budget.db", "--note", "for the board", "--json"))
    assert found["neighbours"] == "add_remove"  # as the account is kept
    with Ledger(folder / "budget.db") as ledger:
        event = ledger.events("people")[-1]
        assert ledger.balance("people").spent == ledger.balance("people").remaining
    assert found["charge"]["events"] == [{"key": event.key, "operator": event.operator, "amount": "1/4"}]
    assert "classes of class (for the board)" in event.note
    assert jostle("classify", "people.csv", *ASKED, "--ledger", "budget.db", "--neighbours", "replace")[0] == 2


@pytest.mark.parametrize("cap", ["--cap", "--budget"])
def test_an_account_of_its_own_is_under_replace(folder, jostle, cap):
    status, output, _ = jostle("classify", "people.csv", *ASKED, "--ledger", "budget.db", cap, 1, "--name", "adults")
    assert status == 0
    with Ledger(folder / "budget.db") as ledger:
        opened, charge = ledger.events("adults")
    assert (str(opened.neighbours), opened.note) == ("replace", "protects each row")
    assert f"Charged to account 'adults': ε = 0.25 at {charge.at[:10]} {charge.at[11:19]} UTC, event {charge.key}." in output


def test_a_ledger_on_postgres(folder, jostle, postgres):
    url = postgres.new_schema()
    found = told(jostle("classify", "people.csv", *ASKED, "--ledger", url, "--budget", 1, "--format", "json"))
    with Ledger(url) as ledger:
        assert found["charge"]["events"][0]["key"] == ledger.events("people")[1].key


def test_an_account_that_protects_persons_pays_for_no_classifier_of_rows(folder, jostle):
    shared = ("--schema", "people.toml", "--ledger", "budget.db", "--epsilon", "1/4", "--unit", "more:1")
    assert jostle("release", "people.csv", *shared, "--by", "age", "--budget", 1, "--json")[0] == 0
    status, _, errors = jostle("classify", "people.csv", *ASKED, "--ledger", "budget.db")
    assert status == 2
    assert "unit: the account 'people' protects each more" in errors
    with Ledger(folder / "budget.db") as ledger:
        assert len(ledger.events("people")) == 2


@pytest.mark.parametrize(
    ("more", "status", "complaint"),
    [
        (("--ledger", "budget.db"), 2, "budget: is missing, and the ledger has no account 'people'"),
        (("--ledger", "budget.db", "--budget", "1/8"), 3, "requested ε = 0.25, remaining 0.125."),
        (("--ledger", "postgresql://nobody@127.0.0.1:1/none?connect_timeout=1", "--budget", 1), 4, "Nothing is released"),
        (("--note", "x" * 301), 2, "note: must be a text of at most 300"),
        (("--columns", "age,class,more", "--header"), 2, "leave out either --columns or --header"),
        (("--columns", "age,class,class"), 2, "columns: must name class, once"),
        (("--simulate", -1), 2, "simulate: must be a seed of at least 0"),
        (("--rho", 1), 2, "epsilon, rho: must be one of the two"),
        (("--delta", 2), 2, "delta: must be below 1"),
        (("--delta", 1e-6, "--ledger", "budget.db", "--budget", 1), 2, "rho: the account 'people' is of pure ε"),
    ],
)
def test_failures_have_the_exit_codes_of_a_release(folder, jostle, more, status, complaint):
    ended, output, errors = jostle("classify", "people.csv", *ASKED, *more)
    assert (ended, output) == (status, "")
    assert complaint in errors


@pytest.mark.parametrize(
    ("price", "cap", "words"),
    [
        (("--rho", 0.01), "rho=0.01", "ρ = 0.01: protects the values of each record."),
        (("--epsilon", 1, "--delta", 1e-6), "rho=0.024356", "ρ = 0.024356: protects the values of each record."),
    ],
)
def test_it_is_paid_in_rho_or_in_epsilon_and_delta(folder, jostle, price, cap, words):
    asked = ("classify", "people.csv", "--schema", "people.toml", "--learner", "Majority", *price)
    status, output, _ = jostle(*asked, "--ledger", "budget.db", "--budget", cap)
    assert status == 0
    assert f"Majority at {words}" in output
    assert jostle(*asked, "--ledger", "budget.db")[0] == 3  # all of it is spent
    assert words in jostle(*asked, "--test", "people.csv")[1]  # without a ledger
    assert told(jostle(*asked, "--simulate", 0, "--json"))["rho"] == pytest.approx(
        float(words.split()[2].rstrip(":")), rel=1e-5
    )
    assert "does not go with several runs" in jostle(*asked[:-2], "--simulate", 0, "--runs", 2, "--rho", 1)[2]


@pytest.mark.parametrize("test", [(), ("--test", "people.csv")])
def test_what_a_learner_refuses_on_its_way_is_refused_before_the_charge(folder, jostle, test):
    asked = ("classify", "people.csv", "--schema", "people.toml", "--ledger", "budget.db", "--budget", 1, *test)
    status, output, errors = jostle(*asked, "--epsilon", "1e-8", "--learner", "Stacked")
    assert (status, output) == (2, "")
    assert "epsilon: is too small" in errors
    assert not (folder / "budget.db").exists()


def test_columns_are_named_where_no_line_has_them(folder, jostle):
    (folder / "turned.csv").write_text("".join(f"x,{line.rsplit(',', 1)[0]}\n" for line in ROWS.splitlines()), "utf-8")
    (folder / "test.csv").write_text("x,1,no\nx,99,no\n", "utf-8")
    found = told(
        jostle(
            *("classify", "turned.csv", "--schema", "people.toml", "--learner", "Tree", "--epsilon", 50, "--json"),
            *("--columns", "more,age,class", "--test", "test.csv", "--simulate", 1),
        )
    )
    assert found["accuracy"] == 0.5  # one of them is older than 50, and no such record says no


PIPELINE = ("classify", "people.csv", "--schema", "people.toml", "--epsilon", "1/4", "--ledger", "budget.db", "--budget", 1)


def test_a_file_that_cannot_be_written_is_refused_before_the_charge(folder, jostle):
    for out in (".", "nowhere/made.csv"):
        status, _, errors = jostle(*PIPELINE, "--out", out)
        assert status == 2
        assert f"out: {out} cannot be written" in errors
    assert not (folder / "budget.db").exists()


def test_a_file_that_is_read_is_not_written_over(folder, jostle):
    (folder / "test.csv").write_text("age,class\n1,no\n", "utf-8")
    before = (folder / "people.csv").read_bytes()
    for out, named in (
        ("people.csv", "the data"),
        ("people.toml", "--schema"),
        ("test.csv", "--test"),
        ("budget.db", "--ledger"),
    ):
        status, _, errors = jostle(*PIPELINE, "--test", "test.csv", "--out", out)
        assert status == 2
        assert f"out: {out} is {named} as well, and would be written over" in errors
    assert (folder / "people.csv").read_bytes() == before
    assert not (folder / "budget.db").exists()


def test_the_records_are_in_their_file_before_anything_is_worked_out_from_them(folder, jostle, monkeypatch):
    def broken(*_):
        raise RuntimeError("no solution")

    monkeypatch.setattr("jostle.learn.synthetic.accuracy_on_synthetic", broken)
    monkeypatch.setattr(sys, "argv", ["jostle", *map(str, (*PIPELINE, "--out", "made.csv"))])
    with pytest.raises(RuntimeError, match="no solution"):
        main()
    assert (folder / "made.csv").read_text("utf-8").startswith("age,class\n")


@pytest.mark.parametrize("form", ["text", "json"])
def test_what_was_charged_is_printed_if_its_file_cannot_be_written_after_all(folder, jostle, monkeypatch, form):
    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_text", full)
    status, output, errors = jostle(*PIPELINE, "--out", "made.csv", "--format", form)
    assert status == 5
    assert "made.csv could not be written. Its records were charged" in errors
    with Ledger(folder / "budget.db") as ledger:
        assert ledger.events("people")[-1].key in output
    told, records = output.split("age,class\n")
    assert "made.csv" not in told if form == "text" else json.loads(told)["accuracy"] >= 0
    assert all(line.endswith((",no", ",yes")) for line in records.splitlines())


def test_several_runs_for_several_budgets_on_public_records(jostle, tmp_path):
    schema = tmp_path / "s.toml"
    schema.write_text(SCHEMA.replace("bins = 4\n", ""), "utf-8")
    data = tmp_path / "people.csv"
    data.write_text(
        "age,class\n" + "".join(f"{a},{'yes' if 40 <= a <= 50 else 'no'}\n" for a in list(range(100)) * 8), "utf-8"
    )
    buckets = tmp_path / "b.toml"
    buckets.write_text("[age]\nbetween = [40, 50]\n", "utf-8")
    words = ("classify", data, "--schema", schema, "--buckets", buckets)
    status, output, _ = jostle(*words, "--simulate", 0, "--runs", 2, "--epsilons", ".5,5", "--json")
    assert status == 0
    found = json.loads(output)
    assert list(found["errors"]) == ["0.5", "5"]
    assert found["errors"]["5"] == 0  # the buckets tell all
    assert found["mean"] == pytest.approx(sum(found["errors"].values()) / 2)
    assert found["majority"] > 0.05
    status, output, _ = jostle(*words, "--simulate", 0, "--runs", 2, "--epsilon", 5)
    assert "2 runs for each ε" in output
    assert "are for public records" in jostle(*words, "--runs", 2, "--epsilon", 1)[2]
    assert "does not go with several runs" in jostle(*words, "--simulate", 0, "--epsilons", "1,2", "--out", "x.csv")[2]
    assert "is missing" in jostle(*words)[2]
