"""`jostle train`, as it is called from a shell: it measures, learns, writes a selector, and goes on after a stop."""

from __future__ import annotations

import json
from functools import partial

import numpy as np
import pytest

from jostle.choice.selectors import Selector
from jostle.kernel.ledger import Ledger
from jostle.simulate import measure
from jostle.simulate.results import Results

SMALL = ("--sides", "64,128", "--exponents", "5,10,15", "--trials", 2, "--workers", 1, "--options", "Laplace,HB,Uniform")


@pytest.fixture
def jostle(jostle, monkeypatch, tmp_path):
    """The command, for training on two shapes in an empty folder."""
    (tmp_path / "data").mkdir()
    np.savez(tmp_path / "data" / "dpbench_1d.npz", flat=np.ones(256, dtype=int), steep=np.arange(256) ** 3)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JOSTLE_DATA", str(tmp_path / "data"))
    return partial(jostle, "train")


def test_it_measures_learns_and_writes_a_selector(jostle, tmp_path):
    status, output, errors = jostle("--task", "range-1d", *SMALL)
    assert status == 0, errors
    assert "Measured 72 results on 24 inputs" in output
    assert "inputs per second" in output
    assert all(name in output for name in ("Laplace", "HB", "Uniform", "mean regret"))
    assert "The selector: selector.json" in output
    assert set(Selector.load(tmp_path / "selector.json", task="range-1d").about.options) == {"Laplace", "HB", "Uniform"}
    with Results(tmp_path / "jostle-training") as kept:
        assert len(kept) == 72


def test_a_new_option_costs_its_own_runs_alone(jostle, tmp_path):
    said = ("--task", "range-1d", *SMALL, "--json", "--store", tmp_path / "kept", "--out", tmp_path / "mine.json")
    first = json.loads(jostle(*said)[1])
    assert (first["measured"], first["inputs"], first["failed"]) == (72, 24, [])
    assert first["inputs_per_second"] > 0
    assert min(first["mean_regrets"].values()) >= 1
    second = json.loads(jostle(*said[:-6], "Laplace,HB,Uniform,AHP", *said[-5:])[1])
    assert second["measured"] == 24
    third = json.loads(jostle(*said)[1])
    assert (third["measured"], third["inputs_per_second"]) == (0, None)
    assert third["mean_regrets"] == first["mean_regrets"]


def test_interrupted_it_keeps_what_it_has_and_goes_on(jostle, interrupted_after):
    with interrupted_after(5):
        status, output, errors = jostle("--task", "range-1d", *SMALL)
    assert (status, output) == (130, "")
    assert "5 results are kept in jostle-training; the same command goes on from there" in errors
    assert json.loads(jostle("--task", "range-1d", *SMALL, "--json")[1])["measured"] == 67


def test_an_option_that_fails_is_told_and_left_out(jostle, monkeypatch, tmp_path):
    whole = measure.errors

    def broken(name, *arguments, **settings):
        if name == "HB":
            raise ArithmeticError("no")
        return whole(name, *arguments, **settings)

    monkeypatch.setattr(measure, "errors", broken)
    status, output, _ = jostle("--task", "range-1d", *SMALL)
    assert status == 0
    assert "HB failed on" in output
    assert set(Selector.load(tmp_path / "selector.json").about.options) == {"Laplace", "Uniform"}


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--task", "range-3d"), "task: "),
        (("--task", "range-1d", "--options", "AGrid"), "options: "),
        (("--task", "range-1d", "--sides", "100"), "domain: "),
        (("--task", "range-1d", "--sides", "many"), "sides: "),
        (("--task", "range-1d", "--exponents", "9-5"), "exponents: "),
        (("--task", "range-1d", "--criterion", "luck"), "criterion: "),
        (("--task", "range-1d", "--cluster", "there"), "cluster: "),
        (("--task", "range-1d", "--out", "nowhere/selector.json"), "out: "),
        (("--task", "range-1d", "--out", "ledger.db", "--ledger", "ledger.db"), "out: ledger.db is --ledger as well"),
        (("--task", "range-1d", "--store", "data"), "out: "),
        (("--task", "range-1d", "--data", "nowhere"), "data: "),
        (("--task", "range-1d", "--ledger", "ledger.db"), "shapes: the ledger keeps an account for steep: it is private"),
    ],
)
def test_bad_arguments_are_named_before_anything_is_measured(jostle, tmp_path, monkeypatch, arguments, complaint):
    with Ledger(tmp_path / "ledger.db") as ledger:
        ledger.account("steep", cap=1)
    monkeypatch.setattr(measure, "measure", lambda job: pytest.fail("it measured"))
    status, output, errors = jostle(*arguments)
    assert (status, output) == (2, "")
    assert complaint in errors


def test_settings_of_training_reach_the_selector_and_bad_ones_are_refused_first(jostle, tmp_path):
    said = ("--task", "range-1d", *SMALL, "--rho", 0.05, "--depth", 2)
    status, _, errors = jostle(*said, "--features", "domain,scale,nonzeros")
    assert status == 0, errors
    made = Selector.load(tmp_path / "selector.json").about.provenance
    assert (made["features"], made["rho"], made["depth"]) == (["domain", "scale", "nonzeros"], 0.05, 2)
    status, _, errors = jostle("--task", "range-1d", *SMALL, "--store", tmp_path / "none", "--features", "colour")
    assert status != 0
    assert "'colour' is unknown" in errors
    assert not (tmp_path / "none").exists()


def test_a_selector_is_trained_as_published(jostle, tmp_path):
    status, _, errors = jostle("--task", "range-1d", *SMALL, "--as-published", "--theta", 0.1)
    assert status == 0, errors
    made = Selector.load(tmp_path / "selector.json").about.provenance
    assert (made["criterion"], made["rho"], made["copies"], made["theta"]) == ("group-regret", 0.1, 0, 0.1)
    assert "partitionality" in made["features"]
