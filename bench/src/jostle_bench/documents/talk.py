"""The experiments of *Data mining with differential privacy* (Friedman and Schuster, KDD 2010, and their talk)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from jostle.datasets.labelled import load
from jostle.learn import get
from jostle.learn.public_tables import Encoded, encoded_parts, error
from jostle.learn.task import Task
from jostle.schema import Category, Integer, Numeric
from jostle_bench.documents import c45

WAYS: Final = {
    "noisy counts": ("SuLQ-ID3", {}),
    "information gain": ("FriedmanSchuster", {"criterion": "entropy"}),
    "Gini": ("FriedmanSchuster", {"criterion": "gini"}),
    "Max": ("FriedmanSchuster", {"criterion": "max"}),
}
"""How a split is chosen, and our learner for it."""

BASELINE: Final = "C4.5, not private"
TESTED: Final = 5_000

PATIENTS: Final = """
Low Overweight High False Sick
Low Overweight High True Sick
Normal Overweight High False Healthy
High Normal High False Healthy
High Underweight Normal False Healthy
High Underweight Normal True Sick
Normal Underweight Normal True Healthy
Low Normal High False Sick
Low Underweight Normal False Healthy
High Normal Normal False Healthy
Low Normal Normal False Healthy
Normal Normal High True Healthy
Normal Overweight Normal False Healthy
High Normal High True Sick
"""
"""The talk's table of 14 patients: blood pressure, weight, temperature, cough, class."""


@dataclass(frozen=True)
class Accuracy:
    """The share of test records that a way to split gets right, in the mean over runs."""

    way: str
    epsilon: float
    records: int
    mean: float
    deviation: float


def patients() -> tuple[Encoded, dict[str, int], dict[str, list[str]]]:
    """The 14 patients as codes, the sizes of their columns, and the values.

    >>> codes, sizes, _ = patients()
    >>> tree = c45.id3(codes, sizes, "class", depth=4, prune=False)
    >>> tree.attribute, c45.error(tree, codes, "class")
    ('blood pressure', 0.0)
    """
    rows = [line.split() for line in PATIENTS.strip().splitlines()]
    names = ("blood pressure", "weight", "temperature", "cough", "class")
    values = {name: sorted({row[at] for row in rows}) for at, name in enumerate(names)}
    codes = {name: np.array([values[name].index(row[at]) for row in rows]) for at, name in enumerate(names)}
    return codes, {name: len(found) for name, found in values.items()}, values


def task_of(binary: int, numbers: int) -> Task:
    """Binary and continuous attributes, and a binary class."""
    columns: dict[str, Any] = {f"b{at}": Category(["0", "1"]) for at in range(binary)}
    columns |= {f"c{at}": Integer(0, 15) for at in range(numbers)}
    return Task.over(columns | {"class": Category(["0", "1"])}, "class")


def drawn(task: Task, depth: int, records: int, noise: float, seed: Sequence[int]) -> tuple[Encoded, Encoded]:
    """Records whose class follows a random tree of this depth, and test records without noise."""
    rng = np.random.default_rng(seed)
    shape = np.random.default_rng(seed[0])  # the tree is the same for all sizes
    split = _random_tree(task, depth, shape)
    parts = []
    for count, wrong in ((records, noise), (TESTED, 0.0)):
        codes: Encoded = {name: rng.integers(0, task.known(name), count) for name in task.attributes}
        truth = split(codes)
        codes["class"] = np.where(rng.random(count) < wrong, 1 - truth, truth)
        parts.append(codes)
    return parts[0], parts[1]


def _random_tree(task: Task, depth: int, rng: np.random.Generator) -> Any:
    """A function from codes to classes: splits drawn at random; both sides of the last split differ."""

    def node(left: tuple[str, ...], depth: int, label: int) -> Any:
        if depth == 0 or not left:
            return lambda codes: np.full(len(next(iter(codes.values()))), label)
        name = left[int(rng.integers(len(left)))]
        cut = int(rng.integers(1, task.known(name)))
        others = tuple(one for one in left if one != name)
        below = node(others, depth - 1, 0)
        above = node(others, depth - 1, 1)
        return lambda codes: np.where(codes[name] >= cut, above(codes), below(codes))

    return node(task.attributes, depth, 0)


def measured(
    task: Task, parts: Sequence[tuple[Encoded, Encoded]], epsilons: Sequence[float], depth: int, ways: Sequence[str]
) -> Iterator[Accuracy]:
    """Every way on every pair of records to learn from and to test with."""
    records = len(parts[0][0][task.label])
    for way in ways:
        name, given = WAYS[way]
        tunables: dict[str, Any] = {"depth": depth, **given}
        for epsilon in epsilons:
            right = [
                1 - error(get(name), task, train, test, epsilon, seed=run, neighbours="add_remove", **tunables)
                for run, (train, test) in enumerate(parts)
            ]
            yield Accuracy(way, epsilon, records, float(np.mean(right)), float(np.std(right)))
    sizes = {name: task.sizes[name] for name in (*task.attributes, task.label)}
    numbers = [name for name in task.attributes if isinstance(task.columns[name], Numeric)]
    right = []
    for train, test in parts:
        tree = c45.id3(train, sizes, task.label, depth=depth, numbers=numbers)
        right.append(1 - c45.error(tree, test, task.label))
    yield Accuracy(BASELINE, float("inf"), records, float(np.mean(right)), float(np.std(right)))


def single_split(sizes: Sequence[int], runs: int, epsilon: float = 0.1) -> list[Accuracy]:
    """Figure 1: ten binary attributes, one split, a tenth of the labels wrong."""
    task = task_of(10, 0)
    return [
        one
        for records in sizes
        for one in measured(
            task, [drawn(task, 1, records, 0.1, (run, records)) for run in range(runs)], [epsilon], 1, [*WAYS]
        )
    ]


def deeper_trees(sizes: Sequence[int], runs: int, epsilon: float = 1.0) -> list[Accuracy]:
    """Figure 2: seven binary and three continuous attributes, trees of depth five, no wrong labels."""
    task = task_of(7, 3)
    return [
        one
        for records in sizes
        for one in measured(
            task, [drawn(task, 5, records, 0.0, (run, records)) for run in range(runs)], [epsilon], 5, [*WAYS]
        )
    ]


def adult(epsilons: Sequence[float], runs: int) -> list[Accuracy]:
    """Figure 3: the 45,222 complete records of Adult, a fifth of them to test with."""
    both = [load("adult"), load("adult-test")]
    task, *_ = encoded_parts(*both)
    codes = {
        name: np.concatenate([np.asarray(part.columns[name], dtype=object) for part in both]) for name in both[0].columns
    }
    known = np.ones(len(codes[both[0].label]), dtype=bool)
    for name in task.attributes:
        known &= np.array([value not in ("?", None, "") and value == value for value in codes[name]])
    encoded = task.encode_records({name: column[known] for name, column in codes.items()})
    parts: list[tuple[Encoded, Encoded]] = []
    for run in range(runs):
        held = np.random.default_rng(run).random(int(known.sum())) < 0.2
        train: Encoded = {name: column[~held] for name, column in encoded.items()}
        test: Encoded = {name: column[held] for name, column in encoded.items()}
        parts.append((train, test))
    return list(measured(task, parts, epsilons, 5, [*WAYS]))
