"""A claim says what the ledger holds, in the terms of NIST SP 800-226, and nothing that is not so."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from jostle.answers.claim import PROOFS, Claim
from jostle.kernel.errors import LedgerError
from jostle.kernel.ledger import Ledger
from jostle.kernel.measures import Approximate, Concentrated
from jostle.kernel.neighbours import Neighbours

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    ledger = Ledger(tmp_path / "budget.db", who="anna")
    patients = ledger.account("patients", cap=1, unit="patient_id", neighbours=Neighbours("add_remove", 3))
    for operator, note in (("laplace", "counts by ward"), ("minimise", "a model | of *stays*")):
        patients.charge(Fraction(1, 3), operator=operator, neighbours=patients.neighbours, unit="patient_id", note=note)
    ledger.set_cap("patients", 2, note="agreed by the board")
    ledger.account("rooms", cap="1/2", neighbours="replace")
    return ledger


def test_the_page_has_what_an_officer_asks(ledger: Ledger) -> None:
    page = Claim.of(ledger.statement("patients")).to_markdown()
    for said in (
        "What is protected (unit of privacy) | each patient\\_id, up to 3 rows each",
        "From whom | everybody who sees what was released",
        "one has the rows of one unit more",
        "pure ε-differential privacy",
        "Spent | ε = 2/3 (about 0.666667)",
        "The most that may ever be spent | ε = 2 |",
        "to 2 (agreed by the board)",
        "counts by ward",
        "a model \\| of \\*stays\\*",
        "Rows of a unit beyond its limit",
        "Central model",
        "docs/proofs/objective.md",
        "jostle audit",
        "Side channels",
        "replace it by an older copy",
        "opendp",
    ):
        assert said in page
    assert "rooms" not in page


def test_other_measures_say_what_they_mean(ledger: Ledger) -> None:
    ledger.account("approximate", cap=Approximate(1, "1e-6"))
    ledger.account("concentrated", cap=Concentrated("1/10"))
    first, second = (Claim.of(ledger.statement(name)).to_markdown() for name in ("approximate", "concentrated"))
    assert "(ε, δ)-differential privacy" in first
    assert "The most that may ever be spent | ε = 1, δ = 1e-06 |" in first
    assert "ρ-zero-concentrated differential privacy" in second
    assert "The most that may ever be spent | ρ = 0.1 |" in second
    assert "-fold" not in first + second


def test_the_odds_are_those_of_what_was_spent(ledger: Ledger) -> None:
    assert "at most 1.95-fold" in Claim.of(ledger.statement("patients")).to_markdown()  # e^(2/3) = 1.948


def test_nobody_is_named_and_no_time_of_day_is_told(ledger: Ledger) -> None:
    claim = Claim.of(ledger.statement())
    for text in (claim.to_markdown(), claim.to_json()):
        assert "anna" not in text
        assert not re.search(r"\d\d:\d\d", text)


def test_the_json_has_exact_amounts_and_every_charge(ledger: Ledger) -> None:
    facts = json.loads(Claim.of(ledger.statement()).to_json())
    patients, rooms = facts["accounts"]
    assert (patients["spent"], patients["cap"], patients["rows_per_unit"]) == ("2/3", "2", 3)
    charged = [event for event in ledger.events("patients") if event.kind == "charge"]
    assert [one["key"] for one in patients["releases"]] == [event.key for event in charged]
    assert sum(Fraction(one["amount"]) for one in patients["releases"]) == Fraction(patients["spent"])
    assert (rooms["unit"], rooms["neighbours"], rooms["releases"]) == ("single rows", "replace", [])
    assert "Nothing was released." in Claim.of(ledger.statement("rooms")).to_markdown()


def test_the_digest_changes_with_any_event(ledger: Ledger) -> None:
    before = Claim.of(ledger.statement()).facts["events_sha256"]
    assert Claim.of(ledger.statement()).facts["events_sha256"] == before
    ledger.set_cap("rooms", 1)
    assert Claim.of(ledger.statement()).facts["events_sha256"] != before


def test_nothing_is_claimed_of_a_ledger_that_does_not_add_up(ledger: Ledger) -> None:
    statement = ledger.statement("patients")
    with pytest.raises(LedgerError, match="does not add up"):
        Claim.of(replace(statement, events=statement.events[:-2]))


def test_every_operator_that_can_be_charged_has_its_proofs_and_they_are_there() -> None:
    source = "\n".join(file.read_text("utf-8") for file in (ROOT / "src" / "jostle").rglob("*.py"))
    charged = set(re.findall(r'operator="(\w+)"', source)) | set(re.findall(r'__custody\.spend\(\w+, "(\w+)"', source))
    assert charged <= set(PROOFS)
    assert all((ROOT / "docs" / page).is_file() for pages in PROOFS.values() for page in pages)
