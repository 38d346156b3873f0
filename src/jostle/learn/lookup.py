"""What a released model tells, as one more attribute of the private records: by looking up, so that it costs nothing.

A histogram's cell is found one attribute after the other; an additive model's sums are added up in whole steps. Both are
chains of public tables over the records' values, so a record stays one record (docs/proofs/records.md, `derive`).
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from jostle.kernel.errors import InternalError
from jostle.kernel.records import Records
from jostle.learn._cells import CellModel
from jostle.learn.logistic import AdditiveModel
from jostle.learn.registry import FloatArray, IntArray, Model
from jostle.learn.task import Task

LEVELS: Final = 2_048
"""Sums of scores are kept in so many steps; where the sums of more than two classes are compared, in at most a quarter.

Where two sums are within a few steps, the class that is looked up may differ from the one that the model predicts.
"""

LARGEST: Final = 2**21
"""So many cells the table has that two sums are compared by."""

_PLACE: Final = "(place)"
_SUM: Final = "(sum)"
_BEST: Final = "(best)"
_STEP: Final = "(step)"


def told(records: Records, task: Task, model: Model, name: str) -> Records:
    """The records with one attribute more: the class that a model tells for each.

    >>> from jostle.kernel.columns import ArrayColumns
    >>> from jostle.kernel.records import SimulatedRecords
    >>> from jostle.schema import Boolean
    >>> task = Task(("wet",), "class", {"wet": Boolean(), "class": Boolean()})
    >>> columns = ArrayColumns({"wet": np.array([0, 1, 1]), "class": np.array([0, 0, 1])}, task.sizes)
    >>> model = CellModel(("wet",), (np.arange(4),), np.array([[0.9, 0.1], [0.2, 0.8], [1, 0], [1, 0]]), "")
    >>> records = told(SimulatedRecords(columns, seed=0), task, model, "told")
    >>> records.sizes["told"]
    2
    """
    if isinstance(model, CellModel):
        return _by_cells(records, task, model, name)
    if isinstance(model, AdditiveModel):
        return _by_sums(records, task, model, name)
    raise InternalError(f"what a {type(model).__name__} tells cannot be looked up")


def _by_cells(records: Records, task: Task, model: CellModel, name: str) -> Records:
    classes = model.table.argmax(axis=1)
    if not model.attributes:
        return records.derive(name, [task.attributes[0]], np.full(task.sizes[task.attributes[0]], classes[0]))
    records = records.derive(_PLACE, [model.attributes[0]], model.bins[0])
    for attribute, bins in zip(model.attributes[1:], model.bins[1:], strict=True):
        places = np.arange(records.sizes[_PLACE])[:, None] * (int(bins.max()) + 1) + bins
        records = records.derive(_PLACE, [_PLACE, attribute], places)
    return records.derive(name, [_PLACE], classes)


def _by_sums(records: Records, task: Task, model: AdditiveModel, name: str) -> Records:
    tables = dict(model.tables)
    if len(task.classes) <= 2:
        leads = {attribute: table[:, -1] - table[:, 0] for attribute, table in tables.items()}
        records, middle = _summed(records, leads, _SUM, LEVELS, _reach(leads))
        return records.derive(name, [_SUM], (np.arange(records.sizes[_SUM]) > middle).astype(np.int64))
    centred = {attribute: table - table.mean(axis=1, keepdims=True) for attribute, table in tables.items()}
    reach, levels = _reach(centred), min(LEVELS // 4, math.isqrt(LARGEST // len(task.classes)))
    for number in range(len(task.classes)):
        scores = {attribute: table[:, number] for attribute, table in centred.items()}
        records, _ = _summed(records, scores, _SUM if number else _BEST, levels, reach)
        records = _compared(records, number, name)
    return records


def _reach(scores: dict[str, FloatArray]) -> float:
    """No sum is larger."""
    return sum(float(np.abs(score).max()) for score in scores.values()) or 1.0


def _summed(records: Records, scores: dict[str, FloatArray], name: str, levels: int, reach: float) -> tuple[Records, int]:
    """The sum of the attributes' scores in whole steps, and which of these stands for zero."""
    middle = levels // 2 - 1
    steps: dict[str, IntArray] = {a: np.rint(score * middle / reach).astype(np.int64) for a, score in scores.items()}
    first, *others = steps
    records = records.derive(name, [first], np.clip(middle + steps[first], 0, levels - 1))
    for attribute in others:
        distinct, which = np.unique(steps[attribute], return_inverse=True)  # few, however many values there are
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
