"""The additive logistic model: what it measures, with which share of the budget, and what it learns."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jostle import learn
from jostle.datasets import labelled
from jostle.kernel.functions.objective import Additive
from jostle.kernel.records import ArrayColumns, SimulatedRecords
from jostle.learn.logistic import FINEST, PrivateLogistic, _features, coarse
from jostle.learn.task import Task
from jostle.schema import Category, Integer, Schema

TASK = Task(("n", "c"), "class", {"n": Integer(0, 99), "c": Category(["x", "y"]), "class": Category(["a", "b", "c"])})


def records(rows: int = 5_000, **options: Any) -> SimulatedRecords:
    rng = np.random.default_rng(0)
    n = rng.integers(0, 100, rows)
    codes = {"n": n, "c": rng.integers(0, 2, rows), "class": n * 3 // 100}
    return SimulatedRecords(ArrayColumns(codes, TASK.sizes), seed=0, **options)


@pytest.mark.parametrize("bins", [1, 2, 8, 31, 32, 50])
def test_features_of_a_number_add_up_to_one_and_are_even_between_bins(bins: int) -> None:
    cells = coarse(TASK, "n", FINEST)
    matrix = _features(TASK, "n", cells, bins)
    values = int(cells[TASK.known("n") - 1]) + 1
    assert matrix.sum(axis=1) == pytest.approx(np.ones(values + 1))
    assert (matrix >= 0).all()
    assert matrix.shape[1] == min(bins, values) + 1
    assert np.count_nonzero(matrix, axis=1).max() <= 2
    assert matrix[-1].tolist() == [0.0] * (matrix.shape[1] - 1) + [1.0]  # what is missing has its own coefficient


class Spied:
    """Records that write down what is asked of them."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.asked = inner, []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def derive(self, *arguments: Any) -> Spied:
        self.inner = self.inner.derive(*arguments)
        return self

    def minimise(self, objective: Additive, budget: Any) -> Any:
        self.asked.append((objective, budget.epsilon))
        return self.inner.minimise(objective, budget)


@pytest.mark.parametrize(
    ("neighbours", "tunables", "share"),
    [
        ("add_remove", {}, Fraction(98, 100)),
        ("add_remove", {"total": 5_000.0}, Fraction(1)),
        ("add_remove", {"bins": 8, "ridge": 4}, Fraction(1)),
        ("add_remove", {"bins": 8}, Fraction(98, 100)),
        ("replace", {}, Fraction(1)),
    ],
)
def test_a_number_of_records_is_paid_for_only_where_it_is_needed_and_not_public(
    neighbours: str, tunables: dict[str, Any], share: Fraction
) -> None:
    source = Spied(records(neighbours=neighbours))
    learn.get("Logistic").run(source, TASK, source.grant(1), **tunables)
    ((_, paid),) = source.asked
    assert paid == share
    assert source.unspent == 0


def test_the_ridge_falls_and_the_bins_grow_with_the_records() -> None:
    found = []
    for total in (1e2, 1e4, 1e7):
        source = Spied(records())
        learn.get("Logistic").run(source, TASK, source.grant(1), total=total)
        ((objective, _),) = source.asked
        found.append((objective.ridge, objective.features["(n in bins)"].shape[1]))
    ridges, widths = zip(*found, strict=True)
    assert ridges[0] > ridges[1] >= ridges[2]
    assert widths[0] <= widths[1] < widths[2]


def test_it_learns_what_is_additive() -> None:
    fitted = learn.get("Logistic").run(source := records(), TASK, source.grant(2))
    codes = {"n": np.array([5, 50, 95]), "c": np.array([0, 1, 0])}
    assert fitted.scores(codes).argmax(axis=1).tolist() == [0, 1, 2]
    assert "It leans on n" in fitted.describe()


def test_it_beats_the_majority_on_public_records_and_a_release_agrees(jostle_data: Path) -> None:
    """The error at ε = 1 is 0.146 with a standard deviation below 0.003; the majority's is 0.24.

    A release is not seeded: 0.2 is eighteen standard deviations away, where even Laplace noise has a tail of 10⁻¹¹.
    """
    train, test = labelled.split("adult", 0, jostle_data)
    for seed, most in ((0, 0.165), (None, 0.2)):
        model = PrivateLogistic(epsilon=1, schema=train.schema, label=train.label, random_state=seed).fit(train.X, train.y)
        assert np.mean(model.predict(test.X) != test.y) < most


def test_many_classes_and_one_attribute_do_not_fail() -> None:
    schema = Schema({"n": Integer(0, 9), "class": Category(list(range(12)))})
    model = PrivateLogistic(epsilon=0.01, schema=schema, random_state=0).fit([[1], [2]], [1, 11])
    assert model.predict_proba([[1], [None]]).shape == (2, 12)
