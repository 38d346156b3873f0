"""Public labelled tables, split and encoded, and how often a learner is wrong on one: simulations, which charge nothing."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle.datasets.artificial import HELD_OUT, artificial
from jostle.datasets.labelled import Labelled, split
from jostle.kernel.records import ArrayColumns, SimulatedRecords
from jostle.learn.registry import FloatArray, IntArray, Learner
from jostle.learn.task import Task

Encoded = dict[str, IntArray]

Parts = tuple[Task, Encoded, Encoded]
"""The task, the records to learn from, and those to test with."""


def error(learner: Learner, task: Task, train: Encoded, test: Encoded, epsilon: float, **run: Any) -> float:
    """The share of test records that a model of the training records gets wrong; `run` as in `predictions`."""
    found = predictions(learner, task, train, test, epsilon, **run)
    return float((found.argmax(axis=1) != test[task.label]).mean())


def calibration_error(learner: Learner, task: Task, train: Encoded, test: Encoded, epsilon: float, **run: Any) -> float:
    """The expected calibration error of such a model's predictions on the test records; `run` as in `predictions`."""
    found = predictions(learner, task, train, test, epsilon, **run)
    return expected_calibration_error(found.max(axis=1), found.argmax(axis=1) == test[task.label])


def predictions(
    learner: Learner,
    task: Task,
    train: Encoded,
    test: Encoded,
    epsilon: float,
    *,
    seed: object,
    neighbours: str,
    **tunables: str,
) -> FloatArray:
    """The probabilities that a model of the training records gives to the test records: a simulation on public data."""
    columns = ArrayColumns.having(task.label, train, task.sizes)
    records = SimulatedRecords(columns, seed=seed, neighbours=neighbours)
    return learner.run(records, task, records.grant(epsilon), **tunables).scores(test)


BINS = 15
"""Of probabilities, for the expected calibration error."""


def expected_calibration_error(sure: FloatArray, right: NDArray[np.bool_]) -> float:
    """How far the probability of a prediction is from the share of right ones: the mean distance over 15 bins, by records.

    >>> expected_calibration_error(np.array([0.9, 0.9, 0.6, 0.6]), np.array([True, True, True, False])).__round__(3)
    0.1
    """
    place = np.minimum((sure * BINS).astype(np.int64), BINS - 1)
    off = np.bincount(place, weights=sure - right, minlength=BINS)
    return float(np.abs(off).sum() / max(sure.size, 1))


@lru_cache(maxsize=2)
def parts(table: str, seed: int) -> Parts:
    """A table by its name, split by a seed. Made-up tables, such as "artificial-7", have one split."""
    if not table.startswith("artificial-"):
        return encoded_parts(*split(table, seed))
    made = artificial(int(table.removeprefix("artificial-")))
    cut = np.arange(len(made))
    return encoded_parts(made.take(cut[:-HELD_OUT]), made.take(cut[-HELD_OUT:]))


def encoded_parts(train: Labelled, test: Labelled) -> Parts:
    """A split table, encoded."""
    task = Task(train.attributes, train.label, train.schema)
    return task, encoded(task, train), encoded(task, test)


def encoded(task: Task, table: Labelled) -> Encoded:
    """A table's codes, without records whose class the schema does not name."""
    codes = task.encode_records({**table.columns, task.label: table.y})
    counted = codes[task.label] >= 0
    return {name: column[counted] for name, column in codes.items()}
