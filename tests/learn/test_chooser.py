"""The classifier that chooses: its chooser, its trace and its price."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from jostle.answers.prices import rounded_down
from jostle.choice.regret_tree import InnerNode, Leaf
from jostle.kernel.errors import BadInput
from jostle.kernel.ledger import Ledger
from jostle.kernel.measures import Concentrated, largest_rho
from jostle.learn.chooser import ADDITIVE, FEATURES, FEWEST, KINDS, OPTIONS, PLENTY, Chooser, features
from jostle.learn.classifier import PrivateClassifier
from jostle.learn.task import Task
from jostle.schema import Boolean, Category, Integer, Schema

SCHEMA = Schema({"age": Integer(0, 99), "sex": Category(["F", "M"]), "class": Category(["no", "yes"])})
TASK = Task(("age", "sex"), "class", SCHEMA)


def leaf(*regrets: float) -> Leaf:
    return Leaf(int(np.argmin(regrets)), regrets, 10, 1.0)


def chooser() -> Chooser:
    tree = (InnerNode("worth", 3.0, 1, 2), leaf(0.0, 0.2, 0.1), leaf(0.5, 0.0, 0.1))
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


def test_with_many_records_the_model_that_sees_combinations_is_taken() -> None:
    both = Chooser(("Logistic", "Stacked"), dict.fromkeys(KINDS, ((leaf(0.0, 0.1),),)), {})
    facts = {"grid": 0.0, "classes": 2.0}
    assert both.pick(facts | {"worth": float(np.log10(PLENTY)) - 0.01}).option == "Logistic"
    found = both.pick(facts | {"worth": 4.0})
    assert found.option == "Stacked"
    assert found.path[-1] == "worth = 4 > 3.48"
    alone = Chooser(("Single", "Logistic"), dict.fromkeys(KINDS, ((leaf(0.1, 0.0),),)), {})
    assert alone.pick(facts | {"worth": 4.0}).option == "Logistic"


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
    assert f"Learner: {model.model_.pick.option}, chosen privately." in text
    assert "On public tables like yours, it misclassifies" in text
    assert model.trace_.pick.option in OPTIONS
    assert model.trace_.facts["attributes"] == 2


@pytest.mark.parametrize(("attributes", "measure"), [(2, "pure"), (56, "pure"), (57, "concentrated")])
def test_a_delta_buys_gaussian_noise_only_where_that_is_half_as_loud(attributes: int, measure: str) -> None:
    names = [f"a{number}" for number in range(attributes)]
    columns = Schema({**{name: Boolean() for name in names}, "class": Boolean()})
    asked, task = PrivateClassifier(epsilon=1, delta=1e-6, schema=columns), Task(tuple(names), "class", columns)
    price = asked._measured(asked._price(), task)
    assert price.measure == measure
    assert measure != "pure" or price.amount == 1
    replacing = PrivateClassifier(epsilon=1, delta=1e-6, schema=columns, neighbours="replace")
    assert replacing._measured(replacing._price(), task).measure == "pure", "the lemma of Gaussian noise is for add_remove"


def test_a_delta_is_not_spent_where_epsilon_alone_errs_less_but_an_account_pays_what_it_is_asked(tmp_path: Path) -> None:
    X, y = people(200)
    asked = {"epsilon": 1, "delta": 1e-6, "schema": SCHEMA}
    alone = PrivateClassifier(**asked, random_state=0).fit(X, y)
    assert (alone.spent_, alone.measure_) == (1, "pure")
    assert "ε = 1 and δ = 1e-06, of which only ε was charged" in alone.explain()
    with Ledger(tmp_path / "budget.db") as ledger:
        account = ledger.account("people", cap=Concentrated(rounded_down(largest_rho(1, 1e-6))))
        assert PrivateClassifier(**asked, account=account).fit(X, y).measure_ == "concentrated"


def test_a_release_is_charged_once_and_whole() -> None:
    X, y = people(200)
    model = PrivateClassifier(epsilon=0.5, schema=SCHEMA).fit(X, y)
    assert model.spent_ == 0.5
    assert not model.simulated_


def test_many_attributes_are_heard_together_where_records_are_enough() -> None:
    """Joint sees a few attributes: where an additive model would be heard, both are taken."""
    regrets = {"Joint": 0.0, "Stacked": 0.2}
    joint = Chooser(tuple(regrets), dict.fromkeys(KINDS, ((leaf(*regrets.values()),),)), {})
    facts = features(TASK, [700.0, 300.0], 0.1) | {"grid": 0.0}
    for worth, need, option in ((3.3, 1.0, "Joint"), (3.31, 0.9, "Joint"), (3.31, 1.0, "Stacked")):
        assert joint.pick(facts | {"worth": worth, "need": need}).option == option
    assert joint.pick(facts | {"worth": 3.4, "need": 1.0}).path[-1] == "need = 1 > 0.903"


def test_a_quieter_additive_model_is_taken_where_its_sums_are_heard() -> None:
    task = Task(tuple("abcdefgh"), "sick", {name: Boolean() for name in (*"abcdefgh", "sick")})
    chooser = Chooser.load()
    few, more = ([number * 0.6, number * 0.4] for number in (200, 2_000))
    assert chooser.pick(features(task, few, 0.1), gaussian=True) == chooser.pick(features(task, few, 0.1))
    facts = features(task, more, 0.1)
    assert chooser.pick(facts).option not in ADDITIVE
    assert chooser.pick(facts, gaussian=True).option == "Logistic"
    assert "Gaussian" in chooser.pick(facts, gaussian=True).path[-1]
