"""`jostle regress`: a model of a number, the charge in a ledger, and refusals that cost nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from jostle.kernel.ledger import Ledger

SCHEMA = """
[columns.age]
kind = "integer"
low = 0
high = 99

[columns.pay]
kind = "real"
low = 0
high = 200
bins = 200
"""
ROWS = "".join(f"{age % 100},{20 + age % 100}\n" for age in range(3_000))
ASKED = ("people.csv", "--schema", "people.toml", "--ledger", "budget.db")


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    (tmp_path / "people.csv").write_text(f"age,pay\n{ROWS}", "utf-8")
    (tmp_path / "people.toml").write_text(SCHEMA, "utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_linear_model_comes_with_intervals_and_a_charge(folder, jostle) -> None:
    asked = ("--budget", 9, "--epsilon", 4, "--model", "linear", "--method", "moments", "--test", "people.csv")
    status, output, errors = jostle("regress", *ASKED, *asked)
    assert (status, errors) == (0, "")
    assert "95 % intervals" in output
    assert float(output.split("R² on the public test file:")[1]) > 0.9
    status, output, _ = jostle("regress", *ASKED, "--epsilon", 4, "--format", "json", "--model", "additive")
    assert status == 0
    assert json.loads(output)["charge"] is not None
    with Ledger("budget.db") as book:
        assert book.balance("people").remaining == 1
    assert jostle("regress", *ASKED, "--epsilon", 4)[0] == 3


def test_a_logistic_model_of_two_texts(folder, jostle) -> None:
    rows = "".join(f"{age % 100},{'late' if age % 97 < age % 100 - 20 else 'in time'}\n" for age in range(3_000))
    Path("people.csv").write_text(f"age,paid\n{rows}", "utf-8")
    label = '[columns.paid]\nkind = "category"\ncategories = ["in time", "late"]\n'
    Path("people.toml").write_text(SCHEMA.split("[columns.pay]")[0] + label, "utf-8")
    asked = ("--budget", 9, "--epsilon", 4, "--model", "logistic", "--test", "people.csv", "--format", "json")
    status, output, errors = jostle("regress", *ASKED, *asked)
    assert (status, errors) == (0, "")
    found = json.loads(output)
    age = next(row for row in found["coefficients"] if row["coefficient"] == "age")
    assert 0 < age["low"] < age["high"] < 0.2
    assert 0.1 < found["r2"] < 1


@pytest.mark.parametrize(
    ("more", "status", "words"),
    [
        ((), 2, "price"),
        (("--epsilon", 1, "--rho", 1), 2, "price"),
        (("--epsilon", 1, "--label", "nobody"), 2, "label"),
        (("--epsilon", 1, "--model", "deep"), 2, "model"),
        (("--epsilon", 1, "--test", "absent.csv"), 2, "test"),
    ],
)
def test_refusals_charge_nothing(folder, jostle, more, status, words) -> None:
    found, _, errors = jostle("regress", *ASKED, "--budget", 9, *more)
    assert found == status
    assert words in errors
    assert not (folder / "budget.db").exists()
