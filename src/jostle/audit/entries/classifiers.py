"""Every learner in the registry, on so few records that one of them matters; what is released are a model's predictions."""

from __future__ import annotations

from typing import Any

import numpy as np

from jostle import learn
from jostle.audit.entries import Audited, Pair, Pairs, by_relation
from jostle.audit.entries.records import CodedRows, of_records
from jostle.kernel.budget import Budget
from jostle.kernel.partition import Vector
from jostle.kernel.records import Records
from jostle.learn import Learner, Task, cuts, held_out
from jostle.learn.regression.regress import REGRESSION
from jostle.learn.regression.task import RegressionTask
from jostle.schema import Boolean, Category, Integer

MIXED = Task(
    ("colour", "size"),
    "sick",
    {"colour": Category(["red", "blue"]), "size": Integer(0, 3), "sick": Boolean()},
)
"""A category and a number, each with a cell for unforeseen values."""

TASKS = {"Grid": Task(("size",), "sick", {"size": Integer(0, 3), "sick": Boolean()})}
"""Tasks of the learners that accept only numbers."""

FEWER: dict[str, dict[str, Any]] = {
    "Jagannathan": {"trees": 2},
    "PatilSingh": {"trees": 2, "depth": 2},
    "Mohammed": {"depth": 2},
    "SuLQ-ID3": {"depth": 2},
}
"""Trees and levels that are all alike, each with an equal part of ε: if there are fewer, each has more of ε to lose. Two
attributes leave little to split below the second level."""


NUMBER = RegressionTask(
    ("colour", "size"),
    "pay",
    {"colour": Category(["red", "blue"]), "size": Integer(0, 3), "pay": Integer(0, 3)},
)
"""As above, with a number to predict."""

YES_OR_NO = RegressionTask(
    ("colour", "size"), "sick", {**{name: NUMBER.columns[name] for name in NUMBER.attributes}, "sick": Boolean()}
)
"""As above, with two values to predict, as 0 and 1."""

REGRESSIONS: dict[str, dict[str, Any]] = {
    "linear": {"model": "linear", "method": "moments"},
    "additive": {"model": "additive", "steps": 1},
    "from a synthetic table": {"model": "linear", "method": "synthetic"},
    "Poisson": {"model": "poisson"},
    "logistic": {"model": "logistic", "method": "moments"},
    "chosen": {},
}
"""The ways to predict a number."""


def entries() -> list[Audited]:
    """Every registered learner, a user's own included, and a model that is tested on records that were held out."""
    learners = [_entry(found) for found in learn.every().values()]
    return [*learners, _held_out(), _cuts(), *map(_regression, REGRESSIONS)]


def pairs(task: Task) -> Pairs:
    """A rare label among many equal records, a value that nobody else has, and nothing against one record."""
    width = len(task.attributes)
    usual, rare = (0,) * width, tuple(task.sizes[name] - 1 for name in task.attributes)
    crowd: CodedRows = ((*usual, 0),) * 6
    alone = Pair("nothing and one record", (), ((*usual, 1),))
    # Rows without a label do not count, and a replaced record may lose its label: then it is there, or it is not.
    return by_relation(
        [Pair("a rare label", crowd, (*crowd, (*usual, 1))), alone, Pair("rare", crowd, (*crowd, (*rare, 1)))],
        [Pair("rare values and label", crowd, (*crowd[1:], (*rare, 1))), Pair("gone", crowd, crowd[1:]), alone],
    )


def _entry(found: Learner) -> Audited:
    task = TASKS.get(found.name, MIXED)
    grid = np.indices(tuple(task.sizes[name] for name in task.attributes)).reshape(len(task.attributes), -1)
    codes = dict(zip(task.attributes, grid, strict=True))

    def ask(records: Records, budget: Budget) -> Vector:
        model = found.run(records, task, budget, **FEWER.get(found.name, {}))
        return model.scores(codes)[:, 1:]  # the first class has the rest

    runs = of_records(ask, task.sizes, filtered=True) | {"pace": "slow"}
    return Audited(name=f"classifier: {found.name}", family="classifier", pairs=pairs(task), **runs)


def _held_out() -> Audited:
    """What is released are the model's predictions and its accuracy. A record is learned from, or tested on."""
    task, learner = MIXED, learn.get("Majority")
    sizes = {**{name: task.sizes[name] for name in task.attributes}, held_out.PART: 2, task.label: task.sizes[task.label]}
    codes = {name: np.zeros(1, dtype=np.int64) for name in task.attributes}

    def ask(records: Any, budget: Budget) -> Vector:
        found = held_out.learn_and_test(records, task, learner, budget.price)
        return np.array([found.accuracy, *found.model.scores(codes)[0, 1:]])

    right: CodedRows = ((0, 0, 0, 0),) * 6 + ((0, 0, 1, 0),) * 6
    pairs = by_relation(
        [Pair("one more is learned from", right, (*right, (0, 0, 0, 1))), Pair("is tested", right, (*right, (0, 0, 1, 1)))],
        [Pair("one is no longer right", right, (*right[:-1], (0, 0, 1, 1)))],
    )
    runs = of_records(ask, sizes, filtered=True) | {"pace": "slow"}
    return Audited(name="learn_and_test", family="classifier", pairs=pairs, **runs)


def _regression(way: str) -> Audited:
    """What is released are a model's predictions of all combinations of values."""
    task = YES_OR_NO if way == "logistic" else NUMBER
    grid = np.indices(tuple(task.sizes[name] for name in task.attributes)).reshape(len(task.attributes), -1)
    codes = dict(zip(task.attributes, grid, strict=True))

    def ask(records: Records, budget: Budget) -> Vector:
        return np.asarray(REGRESSION.run(records, task, budget, **REGRESSIONS[way]).scores(codes)).T

    usual, crowd, most = (0, 0), ((0, 0, 0),) * 6, task.label_cells - 1
    alone = Pair("nothing and one record", (), ((*usual, most),))
    known = by_relation(
        [Pair("one that is far off", crowd, (*crowd, (*usual, most))), alone, Pair("rare", crowd, (*crowd, (2, 4, most)))],
        [Pair("one that moves far", crowd, (*crowd[1:], (*usual, most))), Pair("gone", crowd, crowd[1:]), alone],
    )
    runs = of_records(ask, task.sizes, filtered=True) | {"pace": "slow"}
    return Audited(name=f"regression: {way}", family="classifier", pairs=known, **runs)


def _cuts() -> Audited:
    """What is released are the new cells of a number with forty: one record more in a cell that is empty otherwise."""
    task = Task(("age",), "sick", {"age": Integer(0, 39), "sick": Boolean()})

    def ask(records: Records, budget: Budget) -> Vector:
        return cuts.recut(records, task, budget).tables["age"].astype(np.float64)

    alone: CodedRows = ((30, 0),)
    pairs = by_relation(
        [Pair("nothing and one record", (), alone), Pair("one far out", ((1, 0),) * 3, (*((1, 0),) * 3, *alone))],
        [Pair("one moves far out", ((1, 0),) * 3, (*((1, 0),) * 2, *alone))],
    )
    runs = of_records(ask, task.sizes) | {"pace": "slow"}
    return Audited(name="cuts", family="classifier", pairs=pairs, **runs)
