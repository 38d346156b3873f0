"""Whatever privacy rests on has a proof, and a proof's tests are there."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest

from jostle import mechanisms
from jostle.kernel.functions.criteria import Criterion
from jostle.kernel.functions.scores import Score
from jostle.kernel.functions.statistics import Statistic
from jostle.kernel.records import Records
from jostle.kernel.source import Source
from jostle.kernel.strategies import Strategy
from tests.kernel.test_source import kernels_own

ROOT = Path(__file__).resolve().parents[2]
PROOFS = ROOT / "docs" / "proofs"
FREE = {"noise_scale", "noise_variance"}
"""Public numbers, which release nothing."""

OPERATORS = [
    name for name, _ in inspect.getmembers(Source, inspect.isfunction) if not name.startswith("_") and name not in FREE
]


def proof(page: str) -> str:
    return (PROOFS / f"{page}.md").read_text("utf-8").split("## Tests")[0]


@pytest.mark.parametrize("operator", OPERATORS)
def test_every_operator_has_a_proof(operator):
    in_the_table, has_a_section = rf"^\| `{operator}\b", rf"^### {operator}$"
    assert re.search(f"{in_the_table}|{has_a_section}", proof("operators"), re.MULTILINE)


@pytest.mark.parametrize("operator", sorted({n for n in vars(Records) if n[0] != "_"} - {"sizes", "neighbours", "total"}))
def test_every_operator_on_records_has_a_proof(operator):
    pages = proof("records") + proof("objective")
    assert re.search(rf"^\| `{operator}\(|operator `Records\.{operator}`", pages, re.MULTILINE)


@pytest.mark.parametrize("kind", sorted(kernels_own(Criterion), key=lambda kind: kind.__name__))
def test_every_criterion_has_its_slopes_in_the_proof(kind):
    assert re.search(rf"^\| `{kind.__name__}\b", proof("criteria"), re.MULTILINE)


def test_every_proof_is_listed():
    listed = set(re.findall(r"\(([\w-]+)\.md\)", (PROOFS / "index.md").read_text("utf-8")))
    assert listed == {page.stem for page in PROOFS.glob("*.md")} - {"index"}


@pytest.mark.parametrize("kind", sorted(kernels_own(Statistic) | kernels_own(Score), key=lambda kind: kind.__name__))
def test_every_statistic_and_score_has_a_claim_and_a_proof(kind):
    text = proof("statistics")
    assert re.search(rf"^\| `{kind.__name__}`", text, re.MULTILINE), "no line in the table of claims"
    assert f"**{kind.__name__}.**" in text, "no proof"


@pytest.mark.parametrize("kind", sorted(kernels_own(Strategy), key=lambda kind: kind.__name__))
def test_every_strategy_has_its_norms_in_the_proof(kind):
    assert re.search(rf"^\| {kind.__name__.lower()}\b", proof("strategies"), re.MULTILINE)


NO_MECHANISMS = {"accuracy", "check_scores", "scale_for_accuracy", "simulation", "utility"}


@pytest.mark.parametrize("name", sorted(set(mechanisms.__all__) - NO_MECHANISMS))
def test_every_mechanism_has_a_guarantee(name):
    pages = [page.read_text("utf-8") for page in (ROOT / "docs" / "mechanisms").glob("*.md")]
    assert any(re.search(rf"\b{name}\b", page) and "## Guarantee" in page for page in pages)


@pytest.mark.parametrize("name", sorted(set(mechanisms.__all__) - NO_MECHANISMS))
def test_every_mechanism_has_a_claim_and_a_proof(name):
    assert re.search(rf"`{name}`", proof("mechanisms")), "no line in the table of claims"


@pytest.mark.parametrize("page", sorted(PROOFS.glob("*.md")), ids=lambda page: page.stem)
def test_the_tests_that_a_proof_names_are_there(page):
    known = set(
        re.findall(r"^def (test_\w+)", "\n".join(f.read_text("utf-8") for f in ROOT.glob("tests/**/*.py")), re.MULTILINE)
    )
    named = set(re.findall(r"`(test_\w+)`", page.read_text("utf-8"))) - {f.stem for f in ROOT.glob("tests/**/*.py")}
    assert named <= known
    assert named or page.stem == "index"
