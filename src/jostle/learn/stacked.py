"""An additive model, then a joint histogram that can use its prediction: for tables with many records for their ε."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import count
from typing import Any, Final

import numpy as np

from jostle.kernel.budget import Budget
from jostle.kernel.errors import InternalError
from jostle.kernel.records import Records
from jostle.learn.cells import CellModel, known_total, width
from jostle.learn.estimator import PrivateEstimator
from jostle.learn.histograms import histogram_words, joint
from jostle.learn.logistic import AdditiveModel
from jostle.learn.registry import FloatArray, IntArray, Model, learner
from jostle.learn.sparse import sparse
from jostle.learn.task import Task
from jostle.schema import Category

FIRST: Final = Fraction(65, 100)
"""The additive model's share of the budget: on made-up tables three fifths and three quarters do as well."""

LEVELS: Final = 2_048
"""The number of steps that sums of scores are kept in; at most a quarter of it if the sums of several classes are compared.

Where two sums are within a few steps, the class that is looked up may differ from the one that the model predicts.
"""

LARGEST: Final = 2**21
"""The most cells of the table that two sums are compared by."""

_PLACE: Final = "(place)"
_SUM: Final = "(sum)"
_BEST: Final = "(best)"
_STEP: Final = "(step)"


@dataclass(frozen=True)
class StackedModel:
    """An additive model, and a histogram over a few attributes, among which may be the first model's prediction."""

    first: Model
    second: Model

    prediction: str
    """The name of the attribute that holds the first model's prediction."""

    def scores(self, codes: Mapping[str, IntArray]) -> FloatArray:
        return self.second.scores({**codes, self.prediction: self.first.scores(codes).argmax(axis=1)})

    def describe(self) -> str:
        first = f"The attribute {self.prediction!r} is what a first model predicts."
        return f"{self.second.describe()}\n{first} {self.first.describe()}"

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Version 0.1 pickled the attribute's name as `told`."""
        vars(self).update({"prediction" if name == "told" else name: value for name, value in state.items()})


@learner(name="Stacked", cite="chaudhuri2011differentially", built_on=("Joint", "Sparse"))
def stacked(records: Records, task: Task, budget: Budget, *, total: float | None = None) -> Model:
    """An additive model, then a joint histogram for which the model's prediction is one more attribute.

    The model sees many attributes that each tell a little; the histogram sees a few that tell something only together. The
    histogram's set of attributes is chosen for the right predictions that it promises. So it may be the model's prediction,
    the prediction corrected by a few attributes, only these attributes, or nothing.

    Privacy: a noisy number of records (3 % of the budget) unless it is public or one that was paid for is given; then the
    two learners, one after the other, each with its part of the rest. The first model is released, so its prediction for a
    record follows from the record by public tables.
    """
    known, rest = known_total(records, budget, total)
    one, other = rest.split(FIRST, 1 - FIRST)
    first = sparse.run(records, task, one, total=known)
    name = next(text for text in ("prediction" + "+" * more for more in count()) if text not in task.columns)
    records = with_prediction(records, task, first, name)
    cells = records.sizes[name]
    if cells == 1:  # the first class for every record: public, as the model is
        return joint.run(records, task, other, total=known)
    column = Category(list(range(cells - 1)), outside="drop", null="drop")  # its cell for other values makes `cells` cells
    wider = Task((*task.attributes, name), task.label, dict(task.columns) | {name: column})
    second = joint.run(records, wider, other, total=known)
    if isinstance(second, CellModel):
        second = replace(second, summary=histogram_words(wider, second.attributes, second.bins, complete=name))
    return StackedModel(first, second, name)


def with_prediction(records: Records, task: Task, model: Model, name: str) -> Records:
    """The records with one more attribute: the class that a released model predicts for each.

    A histogram's cell is found one attribute after the other; an additive model's sums are added up in whole steps. Both are
    chains of public tables over the records' values, so that it costs nothing, and a record stays one record
    (docs/proofs/records.md, `derive`).

    >>> from jostle.kernel.records import ArrayColumns
    >>> from jostle.kernel.records import SimulatedRecords
    >>> from jostle.schema import Boolean
    >>> task = Task(("wet",), "class", {"wet": Boolean(), "class": Boolean()})
    >>> columns = ArrayColumns({"wet": np.array([0, 1, 1]), "class": np.array([0, 0, 1])}, task.sizes)
    >>> model = CellModel(("wet",), (np.arange(3),), np.array([[0.9, 0.1], [0.2, 0.8], [1, 0]]), "")
    >>> with_prediction(SimulatedRecords(columns, seed=0), task, model, "prediction").sizes["prediction"]
    2
    """
    if isinstance(model, CellModel):
        return _by_cells(records, task, model, name)
    if isinstance(model, AdditiveModel):
        return _by_sums(records, task, model, name)
    raise InternalError(f"the predictions of a {type(model).__name__} cannot be looked up")


def _by_cells(records: Records, task: Task, model: CellModel, name: str) -> Records:
    classes = model.table.argmax(axis=1)
    if not model.attributes:
        return records.derive(name, [task.attributes[0]], np.full(task.sizes[task.attributes[0]], classes[0]))
    records = records.derive(_PLACE, [model.attributes[0]], model.bins[0])
    for attribute, bins in zip(model.attributes[1:], model.bins[1:], strict=True):
        places = np.arange(records.sizes[_PLACE])[:, None] * width(bins) + bins
        records = records.derive(_PLACE, [_PLACE, attribute], places)
    return records.derive(name, [_PLACE], classes)


def _by_sums(records: Records, task: Task, model: AdditiveModel, name: str) -> Records:
    tables = dict(model.tables)
    if len(task.classes) <= 2:
        leads = {attribute: table[:, -1] - table[:, 0] for attribute, table in tables.items()}
        records, middle = _summed(records, leads, _SUM, LEVELS, _largest_sum(leads))
        return records.derive(name, [_SUM], (np.arange(records.sizes[_SUM]) > middle).astype(np.int64))
    centred = {attribute: table - table.mean(axis=1, keepdims=True) for attribute, table in tables.items()}
    largest, levels = _largest_sum(centred), min(LEVELS // 4, math.isqrt(LARGEST // len(task.classes)))
    for number in range(len(task.classes)):
        scores = {attribute: table[:, number] for attribute, table in centred.items()}
        records, _ = _summed(records, scores, _SUM if number else _BEST, levels, largest)
        records = _compared(records, number, name)
    return records


def _largest_sum(scores: dict[str, FloatArray]) -> float:
    """An upper bound of the absolute sums."""
    return sum(float(np.abs(score).max()) for score in scores.values()) or 1.0


def _summed(records: Records, scores: dict[str, FloatArray], name: str, levels: int, largest: float) -> tuple[Records, int]:
    """The sum of the attributes' scores in whole steps, and the step that stands for zero."""
    middle = levels // 2 - 1
    steps: dict[str, IntArray] = {a: np.rint(score * middle / largest).astype(np.int64) for a, score in scores.items()}
    first, *others = steps
    records = records.derive(name, [first], np.clip(middle + steps[first], 0, levels - 1))
    for attribute in others:
        distinct, which = np.unique(steps[attribute], return_inverse=True)  # few, even for many values
        records = records.derive(_STEP, [attribute], which)
        sums = np.clip(np.arange(records.sizes[name])[:, None] + distinct, 0, levels - 1)
        records = records.derive(name, [name, _STEP], sums)
    return records, middle


def _compared(records: Records, number: int, name: str) -> Records:
    """The class with the largest sum so far, and that sum."""
    if number == 0:
        return records.derive(name, [_BEST], np.zeros(records.sizes[_BEST], dtype=np.int64))
    winner, best, now = np.ogrid[: records.sizes[name], : records.sizes[_BEST], : records.sizes[_SUM]]
    records = records.derive(name, [name, _BEST, _SUM], np.where(now > best, number, winner))
    return records.derive(_BEST, [_BEST, _SUM], np.maximum(best, now)[0])


class PrivateStacked(PrivateEstimator):
    """An additive model, and a histogram of a few attributes that corrects it where they tell more together.

    >>> from jostle.schema import Category, Integer, Schema
    >>> schema = Schema({"age": Integer(0, 99), "class": Category(["no", "yes"])})
    >>> model = PrivateStacked(epsilon=1, schema=schema, random_state=0)
    >>> ages = list(range(100)) * 20
    >>> model.fit([[age] for age in ages], ["yes" if age >= 50 else "no" for age in ages]).predict([[3], [90]]).tolist()
    ['no', 'yes']
    """

    learner = "Stacked"
