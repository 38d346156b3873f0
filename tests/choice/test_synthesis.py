"""Synthesis: formulas that are kept only where they predict better on databases that they have not seen."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from jostle import workloads
from jostle.choice.choice_maker import ChoiceMaker
from jostle.choice.decision_rules import Predictions
from jostle.choice.metafeatures import Metafeature, metafeature
from jostle.choice.options import Option
from jostle.choice.public_databases import Public
from jostle.choice.synthesis import grammar, improve, propose
from jostle.kernel.errors import BadInput
from jostle.kernel.source import SimulatedSource
from jostle.kernel.strategies import identity, total

records = metafeature("select sum(values) from db", name="records")


class Cells(Option):
    def answer(self, db: Any, query: Any, budget: Any) -> Any:
        return db.measure(identity(db.shape), budget)

    def predict(self, F: Any) -> float:
        return 1.0


class Even(Option):
    def answer(self, db: Any, query: Any, budget: Any) -> Any:
        return np.full(db.size, db.measure(total(db.shape), budget)[0] / db.size)

    def predict(self, F: Any) -> float:
        return float(np.sin(F.records))  # no insight at all


def maker(**more: Any) -> ChoiceMaker:
    public = [Public(data=[n, 0, n, 0, n, 0, n, 0]) for n in (1, 2, 5, 8, 60, 200, 800, 1200, 2000, 3000)]
    settings = {"options": [Cells, Even], "informed_by": [records], "trained_on": public, "queries": workloads.identity}
    return ChoiceMaker(**(settings | {"epsilon": 0.1} | more))


def test_a_useless_prediction_is_replaced_by_a_short_formula_and_a_good_one_is_kept() -> None:
    choosing = maker(rho=0.3)
    cells, even = improve(choosing, population=200, generations=6)
    assert even.kept
    assert even.error_after < 0.5 * even.error_before
    assert "records" in even.after
    assert "kept" in str(even)
    assert not cells.kept  # its loss depends on nothing, as it says
    assert isinstance(choosing.rule, Predictions)
    source = SimulatedSource([2000, 0] * 4, seed=0)
    choosing(source, workloads.identity(8), source.grant(0.1))
    assert choosing.trace.choice == "Cells"
    assert even.after.split("·")[1] in choosing.explain()


def test_proposals_have_derived_sensitivities_and_are_judged_on_other_groups() -> None:
    candidates = list(grammar(thresholds=[0, 30]))
    for _, feature in candidates:
        assert isinstance(feature, Metafeature)
        assert 0 < feature.sensitivity(8)[0] <= 8
    blind = maker(informed_by=[], by="regret tree", rho=0.2)
    tried = propose(blind, candidates=candidates)
    assert [one.regret_after for one in tried] == sorted(one.regret_after for one in tried)
    best = tried[0]
    assert best.kept
    assert best.regret_after < 0.9 * best.regret_before
    assert "worth adding" in str(best)
    seeing = maker(informed_by=[best.feature], by="regret tree", rho=0.2)
    assert seeing.rule.needs == (best.feature.name,)


def test_too_little_to_learn_from_is_refused() -> None:
    few = maker(trained_on=[[1, 2], [3, 4]], queries=workloads.identity)
    with pytest.raises(BadInput, match="four groups at least"):
        improve(few)
    with pytest.raises(BadInput, match="three groups at least"):
        propose(few)
