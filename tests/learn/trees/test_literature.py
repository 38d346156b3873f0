"""Trees and forests as estimators: scikit-learn's conventions, releases, words and pictures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from jostle.kernel.errors import BadInput
from jostle.kernel.ledger import Ledger
from jostle.learn.trees.adaptive import PrivateTree
from jostle.learn.trees.literature import (
    FletcherIslam,
    FriedmanSchuster,
    Jagannathan,
    Mohammed,
    PatilSingh,
    SulqTree,
    TreeEstimator,
)
from jostle.schema import Category, Integer, Schema

ESTIMATORS: list[type[TreeEstimator]] = [
    FriedmanSchuster,
    Mohammed,
    SulqTree,
    Jagannathan,
    PatilSingh,
    FletcherIslam,
    PrivateTree,
]
SCHEMA = Schema(
    {"age": Integer(0, 99, bins=20), "town": Category(["Ulm", "Ghent", "Porto"]), "class": Category(["no", "yes"])}
)


def people(rows: int = 2_000, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    age, town = rng.integers(0, 100, rows), rng.integers(0, 3, rows)
    yes = (age >= 40) ^ (rng.random(rows) < 0.1)
    table = np.array([age.astype(object), np.array(["Ulm", "Ghent", "Porto"], dtype=object)[town]]).T
    return table, np.where(yes, "yes", "no")


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: one.__name__)
def test_estimators_fit_predict_and_can_be_cloned(estimator: type[TreeEstimator]) -> None:
    X, y = people()
    model = clone(estimator(epsilon=20, schema=SCHEMA, random_state=1)).fit(X, y)
    assert model.classes_.tolist() == ["no", "yes"]
    assert model.spent_ == 20
    assert model.score(X, y) > (0.55 if estimator is not PatilSingh else 0.5)
    assert model.predict_proba(X[:7]).sum(axis=1) == pytest.approx(1)
    assert "ε = 20" in model.explain()
    parameters = model.get_params()
    assert set(model._learner().tunables) <= set(parameters) | {"depth"}
    assert all(parameters[name] == default for name, default in model._learner().tunables.items())


@pytest.mark.parametrize("estimator", [FriedmanSchuster, PrivateTree, FletcherIslam], ids=lambda one: one.__name__)
def test_a_release_is_charged_again_by_every_fit(estimator: type[TreeEstimator], tmp_path: Path) -> None:
    X, y = people(200)
    with Ledger(tmp_path / "budget.db") as ledger:
        account = ledger.account("people", cap=3)
        model = estimator(epsilon=1, schema=SCHEMA, account=account)
        assert not model.fit(X, y).simulated_
        assert account.remaining == 2
        model.fit(X, y)
        assert account.remaining == 1


def test_a_bad_tunable_costs_nothing(tmp_path: Path) -> None:
    X, y = people(50)
    with Ledger(tmp_path / "budget.db") as ledger:
        account = ledger.account("people", cap=1)
        for model in (
            PrivateTree(schema=SCHEMA, account=account, depth=-3),
            FriedmanSchuster(schema=SCHEMA, account=account, criterion="luck"),
            Jagannathan(schema=SCHEMA, account=account, trees=0),
            PrivateTree(epsilon=1e-12, schema=SCHEMA, account=account),
        ):
            with pytest.raises(BadInput):
                model.fit(X, y)
        assert account.remaining == 1


def test_the_private_tree_finds_what_there_is() -> None:
    X, y = people(5_000)
    test, truth = people(2_000, seed=1)
    model = PrivateTree(epsilon=1, schema=SCHEMA, random_state=0).fit(X, y)
    assert model.score(test, truth) > 0.87  # at most 0.9, as a tenth of the labels are wrong
    assert "age < 40" in model.explain()


def test_values_that_nobody_foresaw_are_predicted_too() -> None:
    X, y = people(300)
    model = PrivateTree(epsilon=1, schema=SCHEMA, random_state=0).fit(X, y)
    odd = np.array([[None, "Ulm"], [400, "Atlantis"], ["old", None]], dtype=object)
    assert set(model.predict(odd)) <= {"no", "yes"}


def test_no_records_and_one_class_make_a_model() -> None:
    X, y = people(300)
    empty = PrivateTree(epsilon=1, schema=SCHEMA, random_state=0).fit(X[:0], y[:0])
    assert empty.predict(X[:2]).shape == (2,)
    alike = PrivateTree(epsilon=5, schema=SCHEMA, random_state=0).fit(X, np.full(300, "yes"))
    assert alike.predict(X[:5]).tolist() == ["yes"] * 5


def test_a_tree_plots_in_one_file(tmp_path: Path) -> None:
    X, y = people()
    model = PrivateTree(epsilon=2, schema=SCHEMA, depth=3, random_state=0).fit(X, y)
    figure = model.plot()
    points = sum(len(trace.x) for trace in figure.data if trace.mode != "lines")
    assert points == sum(1 for _ in model.model_.reachable())
    assert {trace.name for trace in figure.data if trace.showlegend is not False} == {"no", "yes"}
    page = tmp_path / "tree.html"
    figure.write_html(page, include_plotlyjs=True)
    text = page.read_text("utf-8")
    assert "age" in text
    assert '<script src="http' not in text
    few = model.plot(most_leaves=2)
    assert "drawn down to" in few.layout.title.text
    assert Jagannathan(epsilon=2, schema=SCHEMA, random_state=0).fit(X, y).plot(number=1).data


def test_an_unfitted_tree_has_no_picture() -> None:
    with pytest.raises(NotFittedError):
        PrivateTree(schema=SCHEMA).plot()
