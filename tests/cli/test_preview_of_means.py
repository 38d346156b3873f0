"""`jostle release --preview` of a mean: its error depends on how many rows there are, which only the caller may guess."""

from __future__ import annotations

import json

import pytest

ASKED = ("release", "people.csv", "--schema", "people.toml", "--sql", "SELECT AVG(age) FROM people")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "people.csv").write_text("age\n31\n45\n", "utf-8")
    (tmp_path / "people.toml").write_text('[columns.age]\nkind = "integer"\nlow = 0\nhigh = 99\n', "utf-8")
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("folder")
def test_a_mean_is_previewed_for_an_expected_number_of_rows(jostle):
    status, output, _ = jostle(*ASKED, "--preview", "--epsilon", 1, "--rows", 1000, "--json")
    few = json.loads(jostle(*ASKED, "--preview", "--epsilon", 1, "--rows", 100, "--json")[1])
    assert status == 0
    assert few["margin"] == pytest.approx(10 * json.loads(output)["margin"])


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--preview", "--epsilon", 1), "rows: a mean's error depends"),
        (("--preview", "--epsilon", 1, "--rows", 0), "rows: must be a whole number of at least 1"),
        (("--preview", "--within", 3), "within: a mean's error depends"),
        (("--ledger", "l.db", "--budget", 1, "--within", 3), "say what the mean may cost"),
        (("--ledger", "l.db", "--budget", 1, "--epsilon", 1, "--rows", 9), "rows: is for a preview"),
        (("--ledger", "l.db", "--budget", "x", "--epsilon", 1), "budget: must be a finite number"),
        (("--ledger", "nowhere/l.db", "--budget", 1, "--epsilon", 1), "ledger: there is no directory"),
    ],
)
def test_what_is_wrong_is_called_as_the_option_is(jostle, arguments, complaint):
    status, _, errors = jostle(*ASKED, *arguments)
    assert status == 2
    assert complaint in errors


@pytest.mark.usefixtures("folder")
def test_rows_say_more_about_counts_too(jostle):
    asked = (*ASKED[:4], "--by", "age", "--preview", "--epsilon", 1, "--json")
    without, few = (json.loads(jostle(*asked, *rows)[1]) for rows in ((), ("--rows", 50)))
    assert without["reckoned_by"] == "Laplace"
    assert few["margin"] < without["margin"]  # a hundred cells that are mostly empty
    assert few["assumed"] == "if there are 50 rows, and data like public ones"


@pytest.mark.usefixtures("folder")
def test_rows_are_all_rows_and_the_preview_says_how_many_that_makes_per_group(jostle):
    asked = (*ASKED[:4], "--by", "age", "--aggregate", "a=mean(age)", "--preview", "--epsilon", 1, "--rows", 2000)
    assert "if there are 2,000 rows in all, 20 in each of 100 groups" in jostle(*asked)[1]
