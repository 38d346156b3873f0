"""`jostle synthesize`: a synthetic table in a file, the charge in a ledger, and refusals that cost nothing."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from jostle.kernel.ledger import Ledger
from tests.cli.test_classify import ROWS, SCHEMA

ASKED = ("people.csv", "--schema", "people.toml", "--ledger", "budget.db")


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    (tmp_path / "people.csv").write_text(f"age,class,more\n{ROWS}", "utf-8")
    (tmp_path / "people.toml").write_text(SCHEMA, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_table_becomes_a_synthetic_one(folder, jostle) -> None:
    status, output, errors = jostle(
        "synthesize", *ASKED, "--budget", 3, "--epsilon", 1, "--out", "made.parquet", "--rows", 40
    )
    assert (status, errors) == (0, "")
    assert "40 synthetic records with 2 columns" in output
    assert "made.parquet" in output
    made = pd.read_parquet(folder / "made.parquet")
    assert list(made) == ["age", "class"]
    assert len(made) == 40
    with Ledger("budget.db") as book:
        assert book.balance("people").remaining == 2
    status, output, _ = jostle(
        "synthesize", *ASKED, "--epsilon", 1, "--only", "age", "--format", "csv", "--rows", 3, "--data-version", 1
    )
    assert status == 0
    assert output.splitlines()[0] == "age"
    assert len(output.splitlines()) == 4


def test_with_a_delta_the_charge_is_in_rho(folder, jostle) -> None:
    asked = ("--budget", "1,1e-6", "--epsilon", "0.5", "--delta", "1e-7", "--out", "made.csv", "--label", "class")
    status, output, errors = jostle("synthesize", *ASKED, *asked)
    assert (status, errors) == (0, "")
    assert "ρ = 0.005" in output
    assert len(pd.read_csv(folder / "made.csv")) >= 1


@pytest.mark.parametrize(
    ("options", "status", "complaint"),
    [
        (("--out", "made.csv"), 2, "epsilon"),
        (("--epsilon", "1", "--rho", "1", "--out", "made.csv"), 2, "epsilon"),
        (("--epsilon", "1"), 2, "--out"),
        (("--epsilon", "1", "--out", "made.txt"), 2, "--out"),
        (("--epsilon", "1", "--out", "people.csv"), 2, "written over"),
        (("--epsilon", "1", "--out", "made.csv", "--label", "height"), 2, "label"),
        (("--epsilon", "1", "--out", "made.csv", "--only", "height"), 2, "height"),
        (("--epsilon", "1", "--out", "made.csv", "--rows", "-3"), 2, "rows"),
        (("--epsilon", "9", "--out", "made.csv"), 3, "budget"),
    ],
)
def test_refusals_leave_nothing_behind(folder, jostle, options, status, complaint) -> None:
    before = {path.name for path in folder.iterdir()}
    found, _, errors = jostle("synthesize", *ASKED, "--budget", 3, *options)
    assert found == status
    assert complaint in errors
    assert {path.name for path in folder.iterdir()} - before <= {"budget.db"}
