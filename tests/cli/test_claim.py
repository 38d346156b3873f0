"""`jostle claim`, as it is called from a shell."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import pytest

from jostle.kernel.ledger import Ledger


@pytest.fixture
def path(tmp_path) -> Path:
    file = tmp_path / "budget.db"
    with Ledger(file, who="anna") as ledger:
        people = ledger.account("people", cap=1)
        people.charge(Fraction(1, 3), operator="laplace", neighbours="add_remove", note="ages")
        ledger.account("places", cap=2)
    return file


def test_a_page_is_printed_or_written(path, jostle, tmp_path):
    status, output, errors = jostle("claim", path, "--account", "people")
    assert (status, errors) == (0, "")
    assert output.startswith("# Privacy claim: people\n")
    assert "places" not in output
    status, printed, _ = jostle("claim", path, "--account", "people", "--out", tmp_path / "claim.md")
    assert (status, printed) == (0, "")
    assert (tmp_path / "claim.md").read_text("utf-8") == output


def test_json_is_for_programs(path, jostle):
    status, output, _ = jostle("claim", path, "--format", "json")
    assert status == 0
    assert [account["name"] for account in json.loads(output)["accounts"]] == ["people", "places"]


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["--account", "nobody"], 2, "there is no account 'nobody'"),
        (["--format", "html"], 2, "html"),
        (["--out", "missing/claim.md"], 2, "cannot be written"),
    ],
)
def test_what_cannot_be_claimed_is_refused(path, jostle, words, status, said):
    found, output, errors = jostle("claim", path, *words)
    assert (found, output) == (status, "")
    assert said in errors


def test_the_ledger_is_not_written_over(path, jostle):
    status, _, errors = jostle("claim", path, "--out", path)
    assert status == 2
    assert "would be written over" in errors
    with Ledger(path, create=False) as ledger:
        ledger.verify()


def test_no_ledger_is_made(tmp_path, jostle):
    assert jostle("claim", tmp_path / "none.db")[0] != 0
    assert not (tmp_path / "none.db").exists()
