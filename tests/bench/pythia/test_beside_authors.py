"""Pythia beside the authors' code: the least error of the suite on each input, and selectors that have not seen it."""

from __future__ import annotations

import numpy as np
import pytest

from jostle.simulate import grid
from jostle.simulate.grid import SUITE
from jostle_bench import reference
from jostle_bench.pythia import beside_authors, report
from jostle_bench.pythia.experiments import Experiment, experiment
from tests.bench.folders import reference_folder
from tests.bench.pythia.test_experiments import table_of
from tests.choice.tables import folder_of_shapes


@pytest.fixture(scope="module")
def found(tmp_path_factory) -> Experiment:
    """An experiment in which OPT is the best option everywhere."""
    cells = grid.cells("range-1d", folder_of_shapes(tmp_path_factory.mktemp("shapes")), sides=(32,), exponents=(5, 12))
    return experiment(table_of(cells, [[10.0] * 7 + [5.0]] * len(cells), [*SUITE["range-1d"], "OPT"]))


@pytest.fixture(scope="module")
def rows(tmp_path_factory):
    return reference.read(reference_folder(tmp_path_factory.mktemp("reference") / "made"))


def test_the_least_error_is_that_of_the_suite_alone(found, rows):
    todo = beside_authors.works(found, rows, trials=2)
    assert len(todo) == len(reference.inputs(rows, task="range-1d"))
    for cell, _, private, every, trials, _ in todo:
        assert trials == 2
        # The made-up HB has a tenth of a cell's noise; MWEM* and Unheard are not of the suite.
        assert private == every == pytest.approx(np.sqrt(2) / cell.epsilon / 10)


def test_dawa_as_coded_counts_only_where_it_is_said(found, rows):
    unsound = [reference.Theirs(cell, "DAWA", 20, 0.001, 0.0) for cell in reference.inputs(rows, task="range-1d")]
    for _, _, private, every, _, _ in beside_authors.works(found, [*rows, *unsound]):
        assert every == 0.001 < private


def test_regrets_are_grouped_and_shown(found, rows):
    ran = list(beside_authors.runs(beside_authors.works(found, rows, trials=2)[:6], workers=1))
    grouped = beside_authors.groups(ran)
    assert sum(private.size for private, _ in grouped.values()) == 6
    assert all("ε = " in name for name in grouped)
    (part,) = [part for part in report.sections(found, beside=ran) if "authors" in part.title]
    assert [row[0] for row in part.grids[0].rows] == list(grouped)


def test_a_data_set_by_another_name_is_left_out_of_training(found, rows, monkeypatch):
    monkeypatch.setattr(beside_authors, "SAME", {"A": found.table.datasets[0]})
    asked = []
    real = Experiment.selector
    monkeypatch.setattr(Experiment, "selector", lambda self, way, without: asked.append(without) or real(self, way, without))
    beside_authors.works(found, rows)
    assert asked == [found.table.datasets[0], "B"]
