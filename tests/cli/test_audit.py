"""`jostle audit`: what it prints, and its status."""

from __future__ import annotations

import json
import sys

import pytest

from jostle.audit import campaign, catalogue
from jostle.cli.main import main
from tests.audit.helpers import leaky


@pytest.fixture
def jostle(monkeypatch, capsys):
    def call(*arguments: object) -> tuple[object, str]:
        monkeypatch.setattr(sys, "argv", ["jostle", "audit", *map(str, arguments)])
        monkeypatch.setenv("COLUMNS", "160")
        status = 0
        try:
            main()
        except SystemExit as ended:
            status = ended.code or 0
        return status, capsys.readouterr().out

    return call


def test_the_command_prints_numbers_for_a_script(jostle, monkeypatch):
    monkeypatch.setattr(campaign, "CONFIDENCE", 1 - 1e-6)  # two of the verdicts are about exact noise, which is not seeded
    status, printed = jostle("--only", "laplace: total", "--json", "--workers", 1)
    verdicts = json.loads(printed)["verdicts"]
    assert status == 0
    assert {verdict["neighbours"] for verdict in verdicts} == {"add_remove", "replace"}
    assert all(not verdict["finding"] and verdict["samples"] >= 100 for verdict in verdicts)


def test_a_finding_prints_the_pair_and_the_event_and_ends_with_status_1(jostle, monkeypatch):
    monkeypatch.setattr(catalogue, "_added", {"mine": leaky(6.0, "mine")})
    status, printed = jostle("--only", "mine")
    assert status == 1
    assert "FINDING" in printed
    assert "a bit: 0 and 1" in printed
    assert " runs on the " in printed


def test_a_full_audit_says_how_long_the_rest_takes_and_goes_on(jostle, monkeypatch, tmp_path):
    monkeypatch.setattr(catalogue, "_added", {"mine": leaky(0.05, "mine")})
    status, printed = jostle("--full", "--only", "mine", "--workers", 1, "--out", tmp_path / "full.jsonl")
    assert status == 0
    assert "2 of 2 go on with fresh samples" in printed
    assert "1,000,000" in printed
    again = jostle("--full", "--only", "mine", "--workers", 1, "--out", tmp_path / "full.jsonl")[1]
    assert "0 of 2 go on with fresh samples: about 0.0 hours" in again


def test_the_command_shows_how_much_of_epsilon_was_found_of_primitives(jostle):
    status, printed = jostle("--primitives", "--only", "discrete_laplace", "--workers", 1)
    assert status == 0
    assert "at least 70% of ε was found for 2 of 2" in printed


def test_an_unknown_entry_ends_with_status_2(jostle):
    assert jostle("--only", "no such thing")[0] == 2
