"""What a model tells as an attribute of the records, and the learner that builds on it."""

from __future__ import annotations

import numpy as np
import pytest

from jostle.kernel.errors import InternalError
from jostle.kernel.records import ArrayColumns, SimulatedRecords
from jostle.kernel.strategies import identity
from jostle.learn.histograms import joint, majority
from jostle.learn.logistic import logistic
from jostle.learn.registry import Learner, Model
from jostle.learn.stacked import StackedModel, stacked, with_prediction
from jostle.learn.task import Task
from jostle.schema import Category, Integer

Codes = dict[str, np.ndarray]


def task_of(classes: int) -> Task:
    columns = {f"x{i}": Integer(0, 9) for i in range(5)} | {"c": Category(["u", "v", "w"])}
    return Task((*columns,), "class", columns | {"class": Category(list(range(classes)))})


def codes_of(task: Task, rows: int, seed: int = 0) -> Codes:
    """A sum over the numbers; and where c is v, the opposite of it: no additive model can tell."""
    draw = np.random.default_rng(seed)
    codes = {name: draw.integers(0, task.columns[name].values, rows) for name in task.attributes}
    total = sum(codes[f"x{i}"] for i in range(5)) / 45
    total = np.where(codes["c"] == 1, 1 - total, total) + draw.normal(0, 0.02, rows)
    classes = len(task.classes)
    codes["class"] = np.clip(((total - 0.25) * 2 * classes).astype(np.int64), 0, classes - 1)
    return codes


def records_of(task: Task, codes: Codes) -> SimulatedRecords:
    return SimulatedRecords(ArrayColumns(codes, task.sizes), seed=0)


@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("learner", [joint, logistic, majority], ids=lambda one: one.name)
def test_what_is_looked_up_is_what_the_model_predicts(learner: Learner, classes: int) -> None:
    task = task_of(classes)
    codes = codes_of(task, 3_000)
    records = records_of(task, codes)
    model = learner.run(records, task, records.grant(2))
    found = with_prediction(records, task, model, "prediction")
    counts = found.vector("prediction", "class").measure(
        identity((found.sizes["prediction"], classes)), records.grant(10**6)
    )
    predicted = model.scores(codes).argmax(axis=1)
    expected = np.zeros((found.sizes["prediction"], classes))
    np.add.at(expected, (predicted, codes["class"]), 1)
    off = np.abs(counts.reshape(expected.shape) - expected).sum() / 2
    assert off <= (0 if learner is not logistic else 0.03 * 3_000)  # sums in whole steps: near ties may go either way


def test_a_model_that_cannot_be_looked_up_is_our_fault() -> None:
    class Strange:
        def scores(self, codes: Codes) -> np.ndarray:
            return np.ones((len(codes["c"]), 2))

        def describe(self) -> str:
            return ""

    task = task_of(2)
    with pytest.raises(InternalError):
        with_prediction(records_of(task, codes_of(task, 10)), task, Strange(), "prediction")


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("rows", [0, 1, 2_000])
def test_it_spends_all_and_its_scores_are_shares(classes: int, rows: int) -> None:
    task = task_of(classes)
    records = records_of(task, codes_of(task, rows))
    model = stacked.run(records, task, records.grant("1/2"))
    assert records.unspent == 0
    shares = model.scores(codes_of(task, 50, seed=1))
    assert shares.shape == (50, classes)
    assert shares.sum(axis=1) == pytest.approx(1)
    assert model.describe()


def wrong(model: Model, codes: Codes) -> float:
    return float((model.scores(codes).argmax(axis=1) != codes["class"]).mean())


def test_it_corrects_what_an_additive_model_cannot_tell() -> None:
    task = task_of(2)
    train, test = codes_of(task, 10_000), codes_of(task, 4_000, seed=1)
    records = records_of(task, train)
    model = stacked.run(records, task, records.grant(4))
    assert isinstance(model, StackedModel)
    additive = logistic.run(records, task, records.grant(4))
    assert wrong(model, test) < wrong(additive, test) - 0.1


def test_a_column_may_be_called_prediction() -> None:
    columns = {"prediction": Category(["a", "b"]), "class": Category([0, 1])}
    task = Task(("prediction",), "class", columns)
    codes = {"prediction": np.arange(1_000) % 2, "class": np.arange(1_000) % 2}
    records = records_of(task, codes)
    assert wrong(stacked.run(records, task, records.grant(1)), codes) == 0
