"""The programs in examples/: they run, and on held-out public databases choosing beats every single option."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

from examples import alternatives, figure_1_2, means, synthesis, theorem_2, tree_choice
from jostle import workloads
from jostle.kernel.ledger import Ledger
from jostle.kernel.records import SimulatedRecords

EXAMPLES = Path(figure_1_2.__file__).parent


def test_the_program_of_the_thesis(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("JOSTLE_DATA", raising=False)  # made-up grids, on any machine
    noisy_hist_choice = figure_1_2.make(trials=4)
    judged = noisy_hist_choice.held_out(trials=2)
    assert judged.regret < min(judged.regrets.values()), str(judged)
    account = Ledger(tmp_path / "budget.db").account("people", cap=1)
    queries = workloads.identity((32, 32))
    answers = noisy_hist_choice.release(np.ones((32, 32), dtype=int), queries, epsilon=0.1, account=account)
    assert answers.shape == (1024,)
    assert noisy_hist_choice.trace.choice in ("DAWA", "MWEM")


def test_it_reads_about_as_short_as_the_figure() -> None:
    tree = ast.parse((EXAMPLES / "figure_1_2.py").read_text("utf-8"))
    defined = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    lines = sum(len({child.lineno for child in ast.walk(node) if isinstance(child, ast.stmt)}) for node in defined)
    assert lines <= 25  # the figure has 25 lines


def test_a_choice_among_three_means() -> None:
    judged = means.make(trials=8).held_out(trials=2)
    assert judged.regret < min(judged.regrets.values()), str(judged)


def test_choices_inside_a_tree() -> None:
    trained = tree_choice.train(runs=2)
    found = tree_choice.compared(trained, runs=2)
    assert found.pop("chosen") < min(found.values())
    table = tree_choice.tables()[2]
    records = SimulatedRecords(table.data, seed=0)
    grown = tree_choice.tree(records, None, records.grant(1))
    assert records.unspent == 0
    assert tree_choice.mistakes(grown, table.truth, None) < 0.5


def test_alternatives_side_by_side() -> None:
    means_ = alternatives.compared(trials=1).iloc[:, 1:].mean()
    assert list(means_.index[:4]) == ["learned", "validation", "candidates", "large margin"]
    for name in ("learned", "validation", "large margin"):
        assert means_[name] < min(means_["majority"], means_["deep"])
    assert means_["learned"] < 1.1 * means_["stump"]  # hardly anything is lost where there is nothing to gain


def test_the_counterexample_of_theorem_2() -> None:
    assert not np.array_equal(theorem_2.informed_decision(theorem_2.x), theorem_2.informed_decision(theorem_2.y))
    taken = [theorem_2.chosen_privately(data, 1, 3) for data in (theorem_2.x, theorem_2.y)]
    assert taken[0] == taken[1]


def test_a_metafeature_is_found_that_nobody_wrote(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JOSTLE_DATA", raising=False)  # random shapes, on any machine
    blind = synthesis.make()
    best = synthesis.found(blind, most=6)[0]
    assert best.regret_after < 0.95 * best.regret_before
