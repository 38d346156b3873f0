"""The classifier that chooses: its chooser, its trace, its price, and the experiments that it is grown and judged by."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from jostle import learn
from jostle.choice.trees import Leaf, Split
from jostle.datasets.artificial import SIGNALS
from jostle.kernel.errors import BadInput
from jostle.learn import registry
from jostle.learn.choosing import FEATURES, FEWEST, KINDS, OPTIONS, Chooser, features
from jostle.learn.classifier import PrivateClassifier
from jostle_bench.classifiers.experiments import Refused, Trial, measure, run
from jostle_bench.classifiers.report import FIGURES, Line, lines, markdown, picture, reached
from jostle.learn.task import Task
from jostle_bench.classifiers.training import tables, train, trials
from jostle.schema import Category, Integer, Schema
from jostle.simulate.results import Measured, Results

SCHEMA = Schema({"age": Integer(0, 99), "sex": Category(["F", "M"]), "class": Category(["no", "yes"])})
TASK = Task(("age", "sex"), "class", SCHEMA)


def leaf(*regrets: float) -> Leaf:
    return Leaf(int(np.argmin(regrets)), regrets, 10, 1.0)


def chooser() -> Chooser:
    tree = (Split("worth", 3.0, 1, 2), leaf(0.0, 0.2, 0.1), leaf(0.5, 0.0, 0.1))
    return Chooser(("Majority", "Grid", "Joint"), dict.fromkeys(KINDS, (tree,)), {"tables": 3})


def test_a_pick_follows_the_tree_and_passes_over_what_does_not_fit() -> None:
    few = {"worth": 4.0, "grid": 1.0}
    assert chooser().pick(few).option == "Grid"
    assert chooser().pick(few | {"grid": 0.0}).option == "Joint"
    assert chooser().pick(few | {"worth": 2.0}).option == "Majority"
    assert chooser().pick(few).path == ("worth = 4 > 3",)


def test_an_additive_model_is_not_taken_for_more_classes_than_it_may_have() -> None:
    additive = Chooser(("Single", "Logistic", "Stacked"), dict.fromkeys(KINDS, ((leaf(0.5, 0.1, 0.0),),)), {})
    facts = {"worth": 4.0, "grid": 0.0}
    assert additive.pick(facts | {"classes": 2_048.0}).option == "Stacked"
    assert additive.pick(facts | {"classes": 2_049.0}).option == "Single"


def test_with_next_to_no_records_the_prevailing_class_is_taken() -> None:
    few = {"worth": float(np.log10(FEWEST)) - 0.01, "grid": 0.0}
    joint = Chooser(("Majority", "Joint"), dict.fromkeys(KINDS, ((leaf(1.0, 0.0),),)), {})
    assert joint.pick(few).option == "Majority"
    assert joint.pick(few | {"worth": 2.0}).option == "Joint"
    assert joint.pick(few | {"grid": 1.0}).option == "Joint"
    assert replace(joint, options=("Single", "Joint")).pick(few).option == "Joint"


def test_a_chooser_is_read_as_it_was_written(tmp_path: Path) -> None:
    chooser().save(tmp_path / "c.json")
    assert Chooser.load(tmp_path / "c.json") == chooser()


@pytest.mark.parametrize("spoil", ["{", "[]", '{"options": ["Joint"], "trees": {}}', "loop", "short"])
def test_a_damaged_file_is_refused(spoil: str, tmp_path: Path) -> None:
    chooser().save(tmp_path / "c.json")
    document = json.loads((tmp_path / "c.json").read_text("utf-8"))
    if spoil == "loop":
        document["trees"][KINDS[0]][0][0]["low"] = 0
    if spoil == "short":
        document["options"] = ["Joint"]
    text = json.dumps(document) if spoil in ("loop", "short") else spoil
    (tmp_path / "c.json").write_text(text, "utf-8")
    with pytest.raises(BadInput, match="is no file of a chooser"):
        Chooser.load(tmp_path / "c.json")


def test_the_shipped_chooser_knows_every_option() -> None:
    shipped = Chooser.load()
    assert shipped.options == OPTIONS
    for counts in ([0.0, 0.0], [5.0, 3.0], [1e7, 1e6]):
        facts = features(TASK, counts, 0.1)
        assert set(FEATURES) < set(facts)
        assert shipped.pick(facts).option in OPTIONS


def test_scale_and_epsilon_can_be_exchanged() -> None:
    assert features(TASK, [700.0, 300.0], 0.1) == pytest.approx(features(TASK, [70.0, 30.0], 1.0))


def people(records: int) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(0)
    ages, sexes = draw.integers(0, 100, size=records), draw.choice(["F", "M"], size=records)
    return np.column_stack([ages.astype(object), sexes]), np.where(ages > 60, "yes", "no")


def test_a_classifier_learns_tells_why_and_spends_all() -> None:
    X, y = people(3_000)
    model = PrivateClassifier(epsilon=0.5, schema=SCHEMA, random_state=0).fit(X, y)
    assert (model.predict(X) == y).mean() > 0.9
    assert model.spent_ == 0.5
    assert model.classes_.tolist() == ["no", "yes"]
    text = model.explain()
    assert f"Chosen: {model.model_.pick.option}." in text
    assert "Expected loss against the best" in text
    assert model.trace_.pick.option in OPTIONS
    assert model.trace_.facts["attributes"] == 2


def test_a_release_is_charged_once_and_whole() -> None:
    X, y = people(200)
    model = PrivateClassifier(epsilon=0.5, schema=SCHEMA).fit(X, y)
    assert model.spent_ == 0.5
    assert not model.simulated_


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0])
def test_on_labels_that_follow_nothing_it_is_hardly_worse_than_the_majority(epsilon: float) -> None:
    """On made-up tables that had no part in the training; the price of choosing is three in a hundred records at most."""
    errors: dict[str, list[float]] = {"Chosen": [], "Majority": []}
    for name, found in errors.items():
        for number in range(440 + SIGNALS.index("nothing"), 506, len(SIGNALS)):
            one = measure(Trial(learner=name, table=f"artificial-{number}", split=0, epsilon=epsilon, draws=2))
            assert isinstance(one, Measured)
            found.append(one.mean)
    excess = np.subtract(errors["Chosen"], errors["Majority"])
    assert excess.mean() < 0.03
    assert excess.max() < 0.1


# ------------------------------------------------------------------------------------------------------ experiments


def test_a_trial_is_repeatable_and_a_misfit_is_refused() -> None:
    trial = Trial(learner="Majority", table="artificial-1", split=0, epsilon=1.0, draws=2)
    first, second = measure(trial), measure(trial)
    assert isinstance(first, Measured)
    assert isinstance(second, Measured)
    assert (first.mean, first.key) == (second.mean, trial.key)
    assert isinstance(measure(Trial(learner="Grid", table="artificial-1", split=0, epsilon=1.0, draws=1)), Refused)


def test_a_chooser_can_be_grown_and_goes_on_where_it_stopped(tmp_path: Path) -> None:
    number, options = SIGNALS.index("a place") + 1, ("Majority", "Single")
    made_up = tables(number, others=False)
    todo = trials(made_up, options=options)
    with Results(tmp_path / "results") as results:
        for outcome, _ in zip(run(todo, results, workers=1), range(3), strict=False):
            assert isinstance(outcome, Measured)
        done = len(results)
        assert sum(1 for _ in run(todo, results, workers=1)) == len(todo) - done
        grown = train(results, made_up, options=options)
    assert grown.options == options
    assert set(grown.trees) == set(KINDS)
    with pytest.raises(BadInput, match="results: lack some on table artificial-0"):
        train(Results(), tables(1, others=False), options=options)


def test_results_of_a_changed_learner_are_measured_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """If it changes, or one that it is built on, or the file that it follows."""
    every = learn.every()
    trials = {name: Trial(learner=name, table="artificial-0", split=0, epsilon=1.0) for name in every}
    before = {name: trial.key for name, trial in trials.items()}
    monkeypatch.setitem(registry._registry, "Joint", replace(every["Joint"], version=every["Joint"].version + 1))
    changed = {name for name, trial in trials.items() if trial.key != before[name]}
    assert changed == {"Joint", "Single", "Stacked", "Chosen"}  # Single is built on Joint, the others on both
    monkeypatch.undo()
    monkeypatch.setitem(registry._registry, "Chosen", replace(every["Chosen"], file=lambda: "another"))
    assert {name for name, trial in trials.items() if trial.key != before[name]} == {"Chosen"}
    monkeypatch.undo()
    monkeypatch.setitem(registry._registry, "Grid", replace(every["Grid"], version=every["Grid"].version + 1))
    assert {name for name, trial in trials.items() if trial.key != before[name]} == {"Grid", "Chosen"}


def test_lines_pages_and_pictures() -> None:
    figure = FIGURES["classifiers"].quick()
    results = Results()
    for trial in figure.trials(["Majority", "Joint"]):
        name, version, cell, digest, draws, seed, neighbours = trial.key
        results.add(
            Measured(
                algorithm=name, version=version, cell=cell, digest=digest, trials=draws, seed=seed, neighbours=neighbours,
                mean=0.2 if name == "Joint" else 0.3, stderr=0.01, seconds=0.1,
            )
        )  # fmt: skip
    found = lines(figure, results, ["Majority", "Joint"])
    assert [line.learner for line in found] == ["Joint", "Majority"]
    page = markdown({"classifiers": found}, command="jostle bench learn")
    assert "| Joint | – | – | – | .2000 ±.0100 | – | 1 |" in page
    assert "1 draws of the noise on each split" in page
    assert "<!-- picture: classifiers -->" in page
    assert "*goal*" in page
    assert len(picture(figure, found).data) == 2
    with pytest.raises(BadInput, match="'Jiont' is unknown"):
        figure.trials(["Jiont"])


def test_a_page_says_which_goals_were_missed() -> None:
    line = Line("hiv", "Chosen", {0.1: 0.224, 0.5: 0.13}, {0.1: 0.001, 0.5: 0.001})
    page = markdown({"classifiers": [line]}, command="jostle bench learn")
    assert "Chosen reaches 1 of 2 goals within two standard errors. Missed: hiv at 0.5." in page


def test_a_goal_is_reached_within_two_standard_errors() -> None:
    line = Line("hiv", "Chosen", {0.1: 0.224, 0.5: 0.13}, {0.1: 0.001, 0.5: 0.001})
    assert reached(line) == {0.1: True, 0.5: False}
