"""Pythia is a program of the language: the same selector picks the same options at the same price."""

from __future__ import annotations

import numpy as np
import pytest

from jostle import algorithms, workloads
from jostle.choice.choice_maker import ChoiceMaker, pythia_program
from jostle.choice.delphi import collect
from jostle.choice.features import FEATURES
from jostle.choice.public_databases import Public
from jostle.choice.selectors import Selector, train
from jostle.choice.traces import collect_traces
from jostle.kernel.errors import BadInput
from jostle.kernel.source import SimulatedSource

OPTIONS = ["Laplace", "HB", "Uniform"]
AT = np.arange(256)
SHAPES = {
    "steps": np.repeat([1, 40, 3, 90], 64),
    "slope": 1 + AT,
    "hill": np.round(900 * np.exp(-(((AT - 90) / 20) ** 2))).astype(int) + 1,
    "decay": 1 + 9000 // (1 + AT),
    "spikes": np.where(AT % 16 == 3, 500, 1),
}


@pytest.fixture(scope="module")
def learned() -> tuple[Selector, list[Public]]:
    table = collect("range-1d", OPTIONS, shapes=SHAPES, sides=[64, 256], exponents=[2, 5, 8, 12, 16], trials=6, workers=1)
    public = [
        Public(data=cell.vector(), query=cell.workload(), name=cell.key, group=cell.dataset)
        for cell in table.inputs
        if cell.queries == "prefix"
    ]
    return train(table, features=("domain", "scale"), rho=0.05, least=2.0), public


def test_with_a_selector_of_pythia_everything_is_the_same(learned: tuple[Selector, list[Public]]) -> None:
    selector, public = learned
    program, pythia = pythia_program(selector), algorithms.get("Pythia")
    for seed, one in enumerate(public):
        first, second = (SimulatedSource(one.data, seed=seed) for _ in range(2))
        with collect_traces() as traces:
            wanted = one.query @ pythia.run(first, one.query, first.grant(0.5), selector=selector, project=False)
            found = program(second, one.query, second.grant(0.5))
        np.testing.assert_array_equal(found, wanted)
        theirs, ours = traces
        assert (ours.choice, ours.features, ours.path) == (theirs.choice, theirs.features, theirs.path)
        assert (ours.remainder, ours.regrets, ours.selector) == (theirs.remainder, theirs.regrets, theirs.selector)
    assert {trace.choice for trace in program.traces} > {"Uniform"}  # it does choose
    assert "prefix: 1 tree" in program.explain()


def test_trained_on_the_same_inputs_it_picks_like_pythia(learned: tuple[Selector, list[Public]]) -> None:
    selector, public = learned
    maker = ChoiceMaker(
        options=OPTIONS, informed_by=[FEATURES["domain"], FEATURES["scale"]], trained_on=public, rho=0.05, name="own"
    )
    program, alike, losses = pythia_program(selector), 0, {"own": 0.0, "Pythia": 0.0}
    for seed, one in enumerate(public):
        for which in (maker, program):
            source = SimulatedSource(one.data, seed=seed)
            answer = which(source, one.query, source.grant(1))
            losses[which.name] += float(np.log(maker.loss(answer, one.data, one.query) + 1e-9))
        alike += maker.trace.choice == program.trace.choice
    assert alike >= 0.8 * len(public)
    assert losses["own"] <= losses["Pythia"] + 0.1 * len(public)


def test_a_rule_that_asks_for_what_is_not_there_is_refused(learned: tuple[Selector, list[Public]]) -> None:
    with pytest.raises(BadInput, match="informed_by: the rule asks for"):
        ChoiceMaker.following(learned[0], options=OPTIONS, informed_by=[], rho=0.1)
    with pytest.raises(BadInput, match="was not trained here"):
        pythia_program(learned[0]).plot()


def test_features_of_pythia_are_about_workloads(learned: tuple[Selector, list[Public]]) -> None:
    program = pythia_program(learned[0])
    source = SimulatedSource([1, 2, 3], seed=0)
    with pytest.raises(BadInput, match="answers workloads"):
        program(source, "how many?", source.grant(1))
    with pytest.raises(BadInput):
        program(source, workloads.identity(4), source.grant(1))
    assert source.unspent == 2  # two grants, nothing charged
