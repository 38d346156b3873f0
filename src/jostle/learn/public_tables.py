"""Public labelled tables, split and encoded, and how often a learner is wrong on one: simulations, which charge nothing."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from jostle.datasets.artificial import HELD_OUT, artificial
from jostle.datasets.labelled import Labelled, split
from jostle.kernel.records import ArrayColumns, SimulatedRecords
from jostle.learn.registry import IntArray, Learner
from jostle.learn.task import Task

Encoded = dict[str, IntArray]

Parts = tuple[Task, Encoded, Encoded]
"""The task, the records to learn from, and those to test with."""


def error(
    learner: Learner,
    task: Task,
    train: Encoded,
    test: Encoded,
    epsilon: float,
    *,
    seed: object,
    neighbours: str,
    **tunables: str,
) -> float:
    """The share of test records that a model of the training records gets wrong: a simulation on public data."""
    columns = ArrayColumns.having(task.label, train, task.sizes)
    records = SimulatedRecords(columns, seed=seed, neighbours=neighbours)
    model = learner.run(records, task, records.grant(epsilon), **tunables)
    return float((model.scores(test).argmax(axis=1) != test[task.label]).mean())


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
