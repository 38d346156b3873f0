"""Synthesis: what is kept makes better choices on databases that had no part in finding it; otherwise nothing changes."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from jostle import workloads
from jostle.choice import delphi, files
from jostle.choice.choice_maker import ChoiceMaker
from jostle.choice.compositions import Composition, atoms, for_records, ratios
from jostle.choice.decision_rules import Predictions
from jostle.choice.held_out import priced_regrets
from jostle.choice.metafeatures import metafeature
from jostle.choice.options import Option
from jostle.choice.public_databases import Public
from jostle.choice.questions import of
from jostle.choice.synthesis import improve, propose, search_of_table
from jostle.kernel.errors import BadInput
from jostle.kernel.records import ArrayColumns
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


@pytest.fixture(scope="module")
def improved() -> tuple[ChoiceMaker, list[Any]]:
    choosing = maker(rho=0.3)
    return choosing, improve(choosing, population=100, generations=4)


def test_a_useless_prediction_is_replaced_by_a_short_formula_and_a_good_one_is_kept(
    improved: tuple[ChoiceMaker, list[Any]],
) -> None:
    choosing, (cells, even) = improved
    assert even.kept
    assert even.regret_after < 0.98 * even.regret_before
    assert "records" in even.after
    assert "kept" in str(even)
    assert not cells.kept  # its loss depends on nothing, as it says
    assert isinstance(choosing.rule, Predictions)
    source = SimulatedSource([2000, 0] * 4, seed=0)
    choosing(source, workloads.identity(8), source.grant(0.1))
    assert choosing.trace.choice == "Cells"
    assert even.after.split("·")[1] in choosing.explain()


def test_an_improved_choice_maker_is_saved_and_read_back_without_the_search(
    improved: tuple[ChoiceMaker, list[Any]], tmp_path: Any
) -> None:
    choosing, _ = improved
    files.save(choosing, tmp_path / "choice.json")
    again = files.load(tmp_path / "choice.json", options=[Cells, Even], informed_by=[records])
    for n in (3, 700, 2500):
        answers = []
        for one in (choosing, again):
            source = SimulatedSource([n, 0] * 4, seed=4)
            answers.append(one(source, workloads.identity(8), source.grant(0.1)))
        assert np.array_equal(*answers)
        assert again.trace == choosing.trace
    hostile = json.loads((tmp_path / "choice.json").read_text("utf-8"))
    hostile["models"]["Even"]["formula"] = [["system", "ls"]]
    with pytest.raises(BadInput, match="must be made of features, numbers and known functions"):
        files.loads(json.dumps(hostile), options=[Cells, Even], informed_by=[records])


def test_nothing_gained_leaves_the_rule_alone() -> None:
    choosing = maker(by="regret tree", rho=0.2)
    rule, judged = choosing.rule, choosing.held_out(trials=1).losses
    story = improve(choosing, population=30, generations=2)
    assert not any(one.kept for one in story)  # a regret tree solves this problem
    assert choosing.rule is rule
    assert np.array_equal(choosing.held_out(trials=1).losses, judged)


def test_held_out_judges_the_rule_that_is_in_use() -> None:
    choosing = maker(by="regret tree")
    seen = []

    def learner(found: Any) -> Any:
        seen.append(len(found.databases))
        return Predictions(found.options, {name: Level(at) for at, name in enumerate(found.options)})

    choosing.learn_by(learner, learner(choosing.outcomes))
    judged = choosing.held_out(trials=1)
    assert seen == [10, *[9] * 10]
    assert all(chosen == {"Cells": 1} for chosen in judged.choices)


class Level:
    """A loss that never changes."""

    needs: tuple[str, ...] = ()
    text = "level"

    def __init__(self, level: float) -> None:
        self.level = level

    def log_losses(self, names: Any, features: Any) -> Any:
        return np.full(len(features), float(self.level))

    def refitted(self, names: Any, features: Any, log_losses: Any) -> Level:
        return self


def test_questions_have_their_price_in_expected_regret() -> None:
    choosing = maker(by="regret tree", rho=0.2)
    found = choosing.outcomes
    assert found is not None
    free = priced_regrets(found, choosing.rule, 0.0)
    assert np.allclose(priced_regrets(found, choosing.rule, 0.2), free / 0.8)  # its one question is asked on every walk


def test_compositions_have_derived_sensitivities_and_cover_the_examples_of_the_thesis() -> None:
    found = list(atoms(1, thresholds=[0, 30]))
    for one in found:
        assert all(0 < moves <= 31 for moves in one.feature().sensitivity(16))
    [spread] = [one for one in found if one.stages == 3 and "group by" not in one.text]
    x = [0, 0, 1, 2, 90, 100, 3, 1]
    assert spread.feature().value(x) == (np.array(x) > np.mean(x) + np.std(x)).sum()
    ratio = next(ratios([Composition("{{select max(values) from db}}")]))
    assert ratio.feature().value([3, 1]) == 0.75
    assert len(ratio.feature().sensitivity(2)) == 2


def test_proposals_are_judged_on_other_groups_and_pay_for_themselves() -> None:
    blind = maker(informed_by=[], by="regret tree", rho=0.2)
    candidates = [one for one in atoms(1, thresholds=[30]) if "group by" not in one.text]
    tried = propose(blind, candidates=candidates)
    assert [one.regret_after for one in tried] == sorted(one.regret_after for one in tried)
    best = tried[0]
    assert best.kept
    assert best.regret_after < 0.9 * best.regret_before
    assert "worth adding" in str(best)
    seeing = maker(informed_by=[best.question], by="regret tree", rho=0.2)
    assert seeing.rule.needs == (best.question.name,)


def test_metafeatures_of_records_are_composed_of_shared_attributes() -> None:
    tables = [
        ArrayColumns({"a": np.arange(6) % 2, "class": np.zeros(6, dtype=int)}, {"a": 2, "class": 2}),
        ArrayColumns({"b": np.arange(6) % 3, "class": np.zeros(6, dtype=int)}, {"b": 3, "class": 2}),
    ]
    names = {one.attributes for one in for_records(tables, "class")}
    assert names == {("class",)}
    assert {one.attributes for one in for_records(tables[:1], "class")} == {("a",), ("class",), ("a", "class")}

    class Majority(Option):
        def answer(self, db: Any, query: Any, budget: Any) -> Any:
            return int(db.vector("class").measure(identity(2), budget).argmax())

    class First(Option):
        def answer(self, db: Any, query: Any, budget: Any) -> Any:
            return 0

    def wrong(answer: Any, data: Any, query: Any) -> float:
        return float((data.codes("class") != answer).mean()) + 0.01

    def table(ones: int, n: int) -> ArrayColumns:
        return ArrayColumns({"class": (np.arange(n) < ones).astype(int)}, {"class": 2})

    public = {
        f"{ones} of {n}": table(ones, n) for ones, n in ((0, 40), (400, 420), (5, 300), (280, 300), (1, 20), (90, 100))
    }
    choosing = ChoiceMaker(options=[Majority, First], trained_on=public, loss=wrong, trials=2, copies=2, rho=0.2)
    candidates = [one for one in for_records(list(public.values())) if one.stages == 1 and "max" in one.text]
    tried = propose(choosing, candidates=candidates)
    assert {one.question.attributes for one in tried} == {("class",)}
    assert of(tried[0].question.feature, "class").name == tried[0].text


def test_metafeatures_are_found_for_tables_of_delphi() -> None:
    toy = {"flat": np.ones(32, dtype=int), "steep": np.arange(32) ** 3, "peak": np.eye(1, 32, dtype=int)[0]}
    table = delphi.collect(
        "range-1d", ["Laplace", "Uniform"], shapes=toy, sides=[32], exponents=[5, 12], trials=2, workers=1
    )
    search = search_of_table(table.where([cell.queries == "identity" for cell in table.inputs]), copies=2)
    [one] = propose(search, candidates=[Composition("{{select max(values) from db}}")])
    assert one.regret_before == pytest.approx(search.regrets().mean())
    assert one.regret_after > 0


def test_too_little_to_learn_from_is_refused() -> None:
    few = maker(trained_on=[[1, 2], [3, 4]], queries=workloads.identity)
    with pytest.raises(BadInput, match="four groups at least"):
        improve(few)
    with pytest.raises(BadInput, match="three groups at least"):
        propose(few)
