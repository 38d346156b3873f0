"""Budgets and prices beyond pure ε, on the command line."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from jostle.cli.table_options import cap_of
from jostle.kernel.errors import BadInput
from jostle.kernel.ledger import Ledger
from jostle.kernel.measures import Approximate, Concentrated


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "people.csv").write_text("age\n" + "\n".join(str(age % 10) for age in range(500)) + "\n")
    (tmp_path / "people.toml").write_text('[columns.age]\nkind = "integer"\nlow = 0\nhigh = 9\n')
    return tmp_path


@pytest.fixture
def release(jostle: Any, folder: Path) -> Any:
    files = [folder / "people.csv", "--schema", folder / "people.toml", "--ledger", folder / "budget.db"]
    return lambda *options: jostle("release", *files, "--by", "age", *options)


@pytest.mark.parametrize(
    ("options", "cap"),
    [
        (("1,1e-6",), Approximate(1, 1e-6)),
        (("1, 1e-6",), Approximate(1, 1e-6)),
        (("1", "1e-6"), Approximate(1, 1e-6)),
        (("rho=0.02",), Concentrated("1/50")),
        ((None, None, "0.02"), Concentrated("1/50")),
        (("1",), "1"),
        ((None,), None),
    ],
)
def test_a_cap_is_read_from_options(options: tuple[str | None, ...], cap: object) -> None:
    assert cap_of(*options) == cap


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((None, "1e-6"), r"^delta: goes with an ε.*--budget 1 --delta 1e-6"),
        (("1,1e-6", "1e-6"), r"^delta: is named twice"),
        (("1", "0"), r"^delta: must be above 0"),
        (("1,2",), r"^delta: must be below 1"),
        ((",1e-6",), r"^budget: is not an ε and a δ"),
        (("1,1e-6,3",), r"^budget: is not an ε and a δ"),
        (("1", None, "0.1"), r"^budget: is in ρ, and in ε"),
        (("rho=x",), r"^rho: must be a finite number"),
    ],
)
def test_a_cap_that_means_nothing_is_refused(options: tuple[str | None, ...], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        cap_of(*options)


def test_a_release_in_rho_from_an_account_of_epsilon_and_delta(jostle: Any, release: Any, folder: Path) -> None:
    code, out, err = release("--rho", "0.002", "--budget", "1,1e-6", "--algorithm", "Laplace", "--format", "json")
    assert code == 0, err
    told = json.loads(out)
    assert (told["spent"], told["measure"], told["charge"]["measure"]) == ("1/500", "concentrated", "concentrated")
    assert json.loads(release("--epsilon", "0.01", "--algorithm", "Laplace", "--format", "json")[1])["spent"] == "1/100"
    shown = jostle("budget", folder / "budget.db")[1]
    assert all(words in shown for words in ("Beyond pure ε", "1, δ 1e-06", "ρ 0.002", "Checked"))
    (account,) = json.loads(jostle("budget", folder / "budget.db", "--json")[1])["accounts"]
    assert account["measure"] == "approximate"
    assert account["sums"] == {"epsilon": None, "rho": str(Fraction(1, 500) + Fraction(1, 20_000)), "delta": "0"}
    assert set(account["left"]) == {"pure", "exponential", "rho", "delta"}
    assert account["limit"]["delta"] == "1/1000000"
    raised = jostle("budget", "cap", folder / "budget.db", "people", "--epsilon", "2", "--yes")[1]
    assert "is ε = 2, δ = 1e-06 from now on; it was ε = 1, δ = 1e-06" in " ".join(raised.split())
    with Ledger(folder / "budget.db") as ledger:
        assert ledger.account("people").limit == Approximate(2, 1e-6)
        ledger.verify()


def test_rho_is_refused_by_a_pure_account_before_a_charge(release: Any, folder: Path) -> None:
    assert release("--epsilon", "0.1", "--budget", "1", "--algorithm", "Laplace")[0] == 0
    code, _, err = release("--rho", "0.002", "--algorithm", "Laplace")
    assert code == 2
    assert "--rho: the account 'people' is of pure ε" in " ".join(err.split())
    assert err.split()[-2:] == ["--budget", "1,1e-6."]
    code, _, err = release("--epsilon", "0.1", "--budget", "rho=0.02")
    assert code == 2
    assert "--budget: account 'people' is in another measure" in " ".join(err.split())
    code, _, err = release("--rho", "0.002", "--epsilon", "0.1")
    assert code == 2
    assert "pass one of --epsilon 0.5, --rho 0.01 or --within 10" in " ".join(err.split())
    with Ledger(folder / "budget.db") as ledger:
        assert ledger.account("people").spent == Fraction(1, 10)


def test_a_preview_in_rho(release: Any, folder: Path) -> None:
    code, out, err = release("--rho", "0.002", "--preview")
    assert code == 0, err
    assert "Expected error at ρ = 0.002: ±31 (95 % confidence)" in out
    assert not (folder / "budget.db").exists()


def test_intervals_hold_together_and_csv_begins_with_notes_if_asked(release: Any, folder: Path) -> None:
    def widths(*more: str) -> list[float]:
        options = ("--epsilon", "0.1", "--budget", "1", "--algorithm", "Laplace", "--format", "csv", *more)
        code, _, err = release(*options, "--out", folder / "out.csv")
        assert code == 0, err
        text = (folder / "out.csv").read_text()
        assert text.startswith("# Values of age outside 0 – 9 are" if "--notes" in more else "age,count,low,high")
        rows = [line.split(",") for line in text.splitlines() if not line.startswith("#")][1:]
        return [float(row[3]) - float(row[2]) for row in rows]

    assert min(widths("--together", "--notes")) > max(widths())
    code, _, err = release("--aggregate", "p=median(age)", "--epsilon", "0.1", "--together")
    assert code == 2
    assert "--together: is for histograms, and for groups" in " ".join(err.split())
