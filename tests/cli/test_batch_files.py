"""`jostle release --batch`: several questions in a file, at one price."""

from __future__ import annotations

import json

import pytest

from tests.cli.test_aggregates import SCHEMA

QUESTIONS = """
[[question]]
by = ["ward", "sex"]
algorithm = "Laplace"
[[question]]
where = "sex = 'F'"
weight = 4
[[question]]
by = "ward"
aggregate = ["n=count", "mean(cost)"]
[[question]]
marginals = [["ward", "sex"], ["sex"]]
[[question]]
quantiles = {column = "cost", levels = [0.5]}
[[question]]
sql = "SELECT COUNT(*) FROM visits"
"""
ASKED = ("release", "visits.csv", "--schema", "visits.toml", "--ledger", "l.db", "--batch", "questions.toml")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "visits.csv").write_text("ward,sex,cost\na,F,10\na,F,30\nb,M,50\nb,F,70\n", "utf-8")
    (tmp_path / "visits.toml").write_text(SCHEMA, "utf-8")
    (tmp_path / "questions.toml").write_text(QUESTIONS, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_file_of_questions_is_previewed_and_released(folder, jostle):
    status, shown, errors = jostle(*ASKED, "--budget", "1,1e-6", "--epsilon", 1, "--preview")
    assert status == 0, errors
    assert "for 6 questions (95 % confidence): histogram of ward and sex ± " in shown
    assert not (folder / "l.db").exists()
    status, output, errors = jostle(*ASKED, "--budget", "1,1e-6", "--epsilon", 1, "--json")
    assert status == 0, errors
    found = json.loads(output)
    assert {row["question"] for row in found["answers"]} >= {"histogram of ward and sex", "count"}
    assert "6 questions at " in found["explanation"]
    assert jostle(*ASKED, "--epsilon", 1)[0] == 3


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("by = 3", "something else than questions"),
        ("", "something else than questions"),
        ("[[question]]\nby = [1]", "question 1: by must be names"),
        ("[[question]]\ncolumn = 'x'", "has the key 'column'"),
        ("[[question]]\nsql = 'SELECT 1'\nwhere = 'x'", "asks two things"),
        ("[[question]]\nquantiles = 'cost'", "quantiles must have a column and levels"),
        ("[[question]]\nwhere = 3", "where must be a text"),
        ("[[question]]\nalgorithm = 'HB'", "is for histograms"),
        ("[[question]]\naggregate = [3]", "aggregate must be texts"),
        ("[[question]]\nweight = 'much'", "weights"),
        ("[[", "no TOML"),
    ],
)
def test_odd_files_are_refused_before_a_charge(folder, jostle, text, problem):
    (folder / "questions.toml").write_text(text, "utf-8")
    status, _, errors = jostle(*ASKED, "--budget", 1, "--epsilon", "0.5")
    assert status == 2
    assert problem in errors
    assert not (folder / "l.db").exists()


def test_a_file_has_all_questions(folder, jostle):
    status, _, errors = jostle(*ASKED, "--budget", 1, "--epsilon", 1, "--by", "ward")
    assert (status, "leave out --by, or --batch" in errors) == (2, True)
    assert jostle(*ASKED[:-1], "none.toml", "--budget", 1, "--epsilon", 1)[0] == 2
