"""Training inputs and the table of errors: what is in it, what it is made from, and what it refuses to look at."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from jostle import algorithms, workloads
from jostle.answers.release import release
from jostle.choice import delphi
from jostle.choice.delphi import ErrorTable, collect, inputs
from jostle.kernel.errors import BadInput
from jostle.kernel.ledger import Ledger
from jostle.kernel.source import SimulatedSource
from jostle.simulate import grid, measure
from jostle.simulate.results import Results

SHAPES = {"flat": np.ones(256, dtype=np.int64), "steep": np.arange(256, dtype=np.int64) ** 3}
SMALL = {"shapes": SHAPES, "sides": [64, 128], "exponents": [5, 10, 15], "trials": 3, "workers": 1}
OPTIONS = ["Laplace", "HB", "Uniform"]


@pytest.fixture(scope="module")
def table() -> ErrorTable:
    return collect("range-1d", OPTIONS, **SMALL)


# ------------------------------------------------------------------------------------------------------------- inputs


def test_inputs_are_every_shape_domain_scale_and_workload():
    found = inputs("range-1d", SHAPES, sides=[64, 128], exponents=[5, 10, 15])
    assert len(found) == 2 * 2 * 3 * 2
    assert found[0].key == "flat|n64|s2^5|e1|identity"
    for cell in found:
        assert cell.vector().shape == cell.domain == cell.workload().domain
        assert cell.vector().sum() == cell.scale == 2**cell.exponent
    assert len(inputs("range-2d", {"one": np.ones((128, 128), dtype=int)})) == 6 * 20 * 4


def test_shapes_that_are_passed_give_the_data_that_their_file_gives(tmp_path):
    np.savez(tmp_path / "dpbench_1d.npz", **SHAPES)
    passed, read = (inputs("range-1d", shapes, sides=[64, 512], exponents=[9]) for shapes in (SHAPES, str(tmp_path)))
    assert [cell.key for cell in passed] == [cell.key for cell in read]
    assert [measure.digest(cell) for cell in passed] == [measure.digest(cell) for cell in read]


def test_the_public_data_give_the_papers_grid(jostle_data):
    assert len(inputs("range-1d", jostle_data)) == 1960
    assert len(inputs("range-2d", jostle_data)) == 4320


@pytest.mark.parametrize(
    ("wrong", "complaint"),
    [
        ({"sides": []}, "sides"),
        ({"sides": [64, 64]}, "sides"),
        ({"sides": [1]}, "sides"),
        ({"sides": [64.5]}, "sides"),
        ({"sides": [100]}, "domain"),
        ({"exponents": [-1]}, "exponents"),
        ({"exponents": [60]}, "exponents"),
        ({"trials": 1}, "trials"),
        ({"workers": -1}, "workers"),
        ({"seed": -1}, "seed"),
        ({"cluster": "nowhere"}, "cluster"),
    ],
)
def test_bad_arguments_are_named(wrong, complaint):
    with pytest.raises(BadInput, match=f"^{complaint}: "):
        collect("range-1d", OPTIONS, **SMALL | wrong)


def test_options_are_those_for_the_task():
    assert delphi.candidates("range-1d", ["HB", "DAWA", "HB"]) == ["HB", "DAWA"]
    assert set(delphi.candidates("range-1d")) == set(algorithms.names("range-1d")) - {"Pythia"}
    for wrong in ("AGrid", "Pythia", "Nobody"):
        with pytest.raises(BadInput, match="options: "):
            delphi.candidates("range-1d", [wrong])
    with pytest.raises(BadInput, match="task: "):
        inputs("range-3d", SHAPES)


# ------------------------------------------------------------------------------------------------- public data alone


class Table:
    """Something that holds data, and would let itself be turned into an array."""

    def __array__(self, dtype=None, copy=None):
        raise AssertionError("it was looked into")

    def __iter__(self):
        raise AssertionError("it was looked into")


def things_that_hold_data(tmp_path):
    with Ledger(tmp_path / "ledger.db") as ledger:
        released = release([1, 2, 3, 4], workloads.identity(4), epsilon=1, account=ledger.account("people", cap=1))
    return [released, SimulatedSource(np.arange(4), seed=0), Table(), np.ma.masked_array([1, 2, 3, 4])]


def test_what_may_be_private_is_refused_without_a_look(tmp_path):
    for thing in things_that_hold_data(tmp_path):
        for shapes in (thing, {"people": thing}):
            with pytest.raises(BadInput, match="shapes: .*public histograms"):
                collect("range-1d", OPTIONS, **SMALL | {"shapes": shapes})


def test_a_name_that_a_ledger_keeps_an_account_for_is_refused(tmp_path):
    with Ledger(tmp_path / "ledger.db") as ledger:
        ledger.account("people", cap=1)
        with pytest.raises(BadInput, match="the ledger keeps an account for people: it is private"):
            inputs("range-1d", {"people": [1, 2]}, sides=[2], exponents=[5], ledger=ledger)
        assert len(inputs("range-1d", {"others": [1, 2]}, sides=[2], exponents=[5], ledger=ledger)) == 2


def test_fractions_are_refused_with_what_to_do():
    with pytest.raises(BadInput, match=r"shapes: mine holds fractions. Remedy: pass whole counts"):
        delphi.public("range-1d", {"mine": np.array([1.0, 2.0])})


@pytest.mark.parametrize("wrong", [[[1, 2], [3, 4]], [-1, 2], [], ["a", "b"], [True, False]])
def test_what_is_no_histogram_is_refused(wrong):
    with pytest.raises(BadInput, match="shapes: mine is no histogram in 1 dimensions"):
        delphi.public("range-1d", {"mine": wrong})


# -------------------------------------------------------------------------------------------------------------- table


def test_a_table_holds_what_was_measured(table):
    assert table.errors.shape == table.stderrs.shape == table.seconds.shape == (24, 3)
    for row in (0, 13, 23):
        for column, name in enumerate(table.options):
            (job,) = measure.jobs([table.inputs[row]], [name], trials=3, seed=0)
            found = measure.measure(job)
            assert table.errors[row, column] == found.mean
            assert table.stderrs[row, column] == found.stderr
    assert (table.seconds > 0).all()
    assert repr(table) == "<range-1d: 24 inputs × 3 options, all measured>"


def test_only_what_is_missing_is_measured(tmp_path, monkeypatch, table):
    collect("range-1d", OPTIONS[:2], **SMALL, store=tmp_path / "store")
    done, whole = [], measure.measure
    monkeypatch.setattr(measure, "measure", lambda job: done.append(job.algorithm) or whole(job))
    again = collect("range-1d", OPTIONS, **SMALL, store=tmp_path / "store")
    assert done == ["Uniform"] * 24
    assert (again.errors == table.errors).all()
    assert not np.isnan(again.errors).any()
    monkeypatch.setattr("jostle.algorithms.get", lambda name, get=algorithms.get: replace(get(name), version=99))
    collect("range-1d", ["HB"], **SMALL, store=tmp_path / "store")
    assert done == ["Uniform"] * 24 + ["HB"] * 24  # a changed option is measured again


def test_two_processes_and_a_store_give_the_same_table(tmp_path, table):
    again = collect("range-1d", OPTIONS, **SMALL | {"workers": 2}, store=tmp_path / "store")
    assert (again.errors == table.errors).all()
    with Results(tmp_path / "store") as kept:
        assert len(kept) == 72


def test_an_option_that_fails_is_named(monkeypatch):
    def broken(*_, **__):
        raise ArithmeticError("no")

    monkeypatch.setattr(measure, "errors", broken)
    with pytest.raises(BadInput, match="options: Laplace failed on .*ArithmeticError: no"):
        collect("range-1d", ["Laplace"], **SMALL)


def made(errors) -> ErrorTable:
    cells = grid.cells("range-1d", SHAPES, sides=(64,), exponents=(5, 6))
    errors = np.array(errors, dtype=float)
    return ErrorTable(
        task="range-1d", inputs=cells, options=["a", "b", "c"], errors=errors, stderrs=errors / 10, seconds=errors / 100
    )


def test_regrets_against_arithmetic_by_hand():
    errors = [[1, 2, 4], [3, 3, 1], [0, 2, 0], [np.nan, 5, 10], [5, np.nan, 10], [8, 2, 2], [1, 1, 1], [2, 1, 4]]
    table = made(errors)
    found = table.regrets()
    assert found[0].tolist() == pytest.approx([1, 2, 4])
    assert found[1].tolist() == pytest.approx([3, 3, 1])
    assert found[2, [0, 2]].tolist() == [1, 1]  # nothing over nothing: the best there is
    assert np.isnan(found[3]).all()  # what the best is, is not known
    against = table.regrets(against=["b", "c"])
    assert against[0].tolist() == pytest.approx([0.5, 1, 2])
    assert against[3, 1:].tolist() == pytest.approx([1, 2])
    assert np.isnan(against[4]).all()
    assert table.complete().inputs == [cell for row, cell in enumerate(table.inputs) if row not in (3, 4)]
    assert (table.complete().regrets().min(axis=1) == 1).all()
    assert "2 not measured" in repr(table)
    with pytest.raises(BadInput, match="'d' is not in the table. Remedy: use some of a, b, c"):
        table.regrets(against=["d"])


def test_views_keep_rows_and_columns_together(table):
    only = table.only("Uniform", "Laplace")
    assert only.options == ["Uniform", "Laplace"]
    assert (only.errors == table.errors[:, [2, 0]]).all()
    assert (only.stderrs == table.stderrs[:, [2, 0]]).all()
    prefix = table.where([cell.queries == "prefix" for cell in table.inputs])
    assert {cell.queries for cell in prefix.inputs} == {"prefix"}
    rows = [row for row, cell in enumerate(table.inputs) if cell.queries == "prefix"]
    assert (prefix.errors == table.errors[rows]).all()
    assert (prefix.seconds == table.seconds[rows]).all()


def test_a_data_set_is_judged_by_what_was_learned_on_the_others(table):
    folds = list(table.leave_one_out())
    assert [name for name, _, _ in folds] == table.datasets == ["flat", "steep"]
    for name, others, own in folds:
        assert name not in others.datasets
        assert own.datasets == [name]
        assert len(others.inputs) + len(own.inputs) == len(table.inputs)


def test_features_are_the_true_ones(table):
    domain, scale, nonzeros = table.features("domain", "scale", "nonzeros").T
    assert domain.tolist() == [cell.side for cell in table.inputs]
    assert scale.tolist() == [cell.scale for cell in table.inputs]
    assert nonzeros.tolist() == [np.count_nonzero(cell.vector()) for cell in table.inputs]


def test_options_are_measured_under_either_measure():
    """Noise on one count has a variance of 2 at ρ = 1/4, and of nearly as much at ε = 1."""
    toy, means = {"toy": np.arange(64) * 100}, {}
    for in_rho in (False, True):
        (cell, *_) = delphi.inputs("range-1d", toy, sides=[64], exponents=[14], in_rho=in_rho)
        assert (cell.queries, cell.price.rate, cell.epsilon) == ("identity", 1.0, 1.0)
        (job,) = measure.jobs([cell], ["Laplace"], trials=400, seed=0)
        means[cell.key] = measure.measure(job).mean
    assert len(means) == 2
    for mean, variance in zip(means.values(), (1.8413, 2.0), strict=True):
        assert mean == pytest.approx(np.sqrt(64 * variance), rel=0.05)
