"""`jostle run`: a program in the thesis' notation, from a file to charged answers."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import examples
from jostle.choice import program_data, programs
from jostle.choice.program_data import SCALES
from jostle.kernel.ledger import Ledger
from jostle.simulate import errors

EXAMPLES = Path(examples.__path__[0])

PROGRAM = """
public = {flat, slope, points-9}
def records(db):
    return {{select sum(values) from db}}
def Laplace(db, queries):
def Uniform(db, queries):
choice = MkChoiceMaker among {Laplace, Uniform} informed by {records} trained on public
def main(db, queries):
    answers = choice(db, queries)
"""


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("JOSTLE_DATA", raising=False)
    (tmp_path / "small.jostle").write_text(PROGRAM, "utf-8")
    np.savez(tmp_path / "line.npz", line=np.arange(16))
    return tmp_path


def test_a_program_runs_and_its_charge_is_in_the_ledger(folder, jostle):
    status, output, notes = jostle(
        "run", "small.jostle", "--on", "line.npz", "--epsilon", "0.1", "--budget", "1", "--out", "answers.csv"
    )
    assert (status, notes) == (0, "")
    assert "chosen by a regret tree" in output
    assert "account line: 0.9 left" in output
    lines = (folder / "answers.csv").read_text("utf-8").splitlines()
    assert lines[0] == "query,answer"
    assert len(lines) == 17
    with Ledger(folder / "budget.db") as ledger:
        assert ledger.account("line").spent == Fraction(1, 10)
    status, output, _ = jostle("run", "small.jostle", "--on", "line.npz", "--epsilon", "0.1", "--json")
    found = json.loads(output)
    assert len(found["answers"]) == 16
    assert found["trace"]["choice"] in ("Laplace", "Uniform")


def test_without_a_budget_a_new_account_pays_for_one_run(folder, jostle):
    status, _, notes = jostle("run", "small.jostle", "--on", "line.npz", "--epsilon", "0.1", "--queries", "identity")
    assert status == 0
    assert "the new account 'line' has a total budget of 0.1" in notes
    assert jostle("run", "small.jostle", "--on", "line.npz", "--epsilon", "0.1")[0] == 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["missing.jostle", "--on", "line.npz"], "cannot be read"),
        (["small.jostle", "--on", "small.jostle"], "is not a file of NumPy arrays"),
        (["small.jostle", "--on", "line.npz", "--array", "grid"], "has no array 'grid'"),
        (["small.jostle", "--on", "line.npz", "--queries", "all"], "does not go with 1 axes"),
        (["small.jostle", "--on", "line.npz", "--out", "answers.txt"], "does not end in .csv or .json"),
        (["broken.jostle", "--on", "line.npz"], "line 2, column 12"),
        (["strange.jostle", "--on", "line.npz"], "there is no public data set 'census'"),
    ],
)
def test_mistakes_are_refused_before_anything_is_charged(folder, jostle, words, message):
    (folder / "broken.jostle").write_text("def f(db):\n    return {{select", "utf-8")
    (folder / "strange.jostle").write_text(PROGRAM.replace("flat", "census"), "utf-8")
    status, _, errors = jostle("run", *words, "--epsilon", "0.1")
    assert status == 2
    assert message in errors
    assert not (folder / "budget.db").exists()


def test_options_are_compared_on_public_data_and_nothing_is_charged(folder, jostle):
    status, output, notes = jostle("run", "small.jostle", "--compare", "16", "--epsilon", "0.1", "--json")
    assert (status, notes) == (0, "")
    rows = {row["database"]: row["errors"] for row in json.loads(output)["comparison"]}
    assert set(rows) == {f"{name} at {records}" for name in ("flat", "slope", "points-9") for records in SCALES}
    assert rows["flat at 64"]["Uniform"] < rows["flat at 64"]["Laplace"]
    assert not (folder / "budget.db").exists()
    status, output, _ = jostle("run", "small.jostle", "--compare", "16", "--epsilon", "0.1")
    assert status == 0
    assert "flat, 64" in output
    both = ("--compare", "16", "--on", "line.npz")
    for wrong, said in (
        (("--compare", "16x"), "is no domain"),
        ((), "one of them is needed"),
        (both, "one of them is needed"),
    ):
        status, _, refused = jostle("run", "small.jostle", *wrong, "--epsilon", "0.1")
        assert status == 2
        assert said in refused


def test_the_comparison_is_that_of_the_explorer(tmp_path):
    """Both run an option on a public histogram; the noise is drawn anew, with seeds: it always passes or always fails."""
    program = programs.read((EXAMPLES / "comparison.jostle").read_text("utf-8"))
    asked = program_data.queries_of("identity", 2)
    [*public] = program_data.training_databases(program, (8, 8))[0][:4]
    found = program.choice_maker(trained_on=public, queries=asked, epsilon=1, trials=60).outcomes
    for one, losses in zip(found.databases, found.losses, strict=True):
        for option, loss in zip(found.options, losses, strict=True):
            theirs = errors(option, one.data, asked((8, 8)), 1, trials=60, seed=5)
            assert loss == pytest.approx(float(theirs.mean()) / 8, rel=0.25), (one.name, option)
