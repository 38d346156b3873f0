"""Which learner for which records: trees over public facts and a noisy class histogram, grown on public tables.

The file that comes with the package says which options there are and what each is expected to lose, leaf by leaf.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib.resources import files
from math import log10
from pathlib import Path
from typing import Any, Final

import numpy as np

from jostle.choice.regret_tree import Leaf, Split, Tree
from jostle.choice.strict_json import LARGEST
from jostle.kernel.errors import BadInput
from jostle.learn.grids import fits
from jostle.learn.logistic import MOST
from jostle.learn.task import Task
from jostle.schema.files import check_no_database

OPTIONS: Final = ("Majority", "Single", "Joint", "Grid", "Logistic", "Tree", "Stacked")
"""The learners to choose among.

Grown without Stacked, choosers lose more on collected tables that are left out; with Sparse beside it they lose no less.
"""

TWO_MODELS: Final = {"Stacked": 1.1}
"""A learner that makes two models is chosen only if every other one is expected to lose this many times as much.

Two models are harder to read than one. Fixed with errors on the census in view; on tables that are left out in turn, made-up
or collected, it makes next to no difference.
"""

ADDITIVE: Final = ("Logistic", "Stacked")
"""The learners that have a score for each class, of which there may be `logistic.MOST`."""

SHIPPED: Final = "classifier.json"
"""The file under `learn/shipped`."""

FEATURES: Final = ("worth", "need", "depth", "attributes", "cells", "classes", "numeric", "share")
"""What a choice may depend on, see `features`."""


KINDS: Final = ("few numbers", "others")
"""Tasks with a grid, and tasks without: each kind has trees of its own."""


FEWEST: Final = 50.0
"""With fewer records times ε, Majority is chosen, except where there is a grid, which needs no choice of attributes.

The number of records is then below the noise of the classes' counts, which cost 2 % of ε: a choice would have no basis.
"""


def kind_of(facts: Mapping[str, float]) -> str:
    """The kind of a task with these features."""
    return KINDS[0] if facts["grid"] > 0 else KINDS[1]


def fits_facts(option: str, facts: Mapping[str, float]) -> bool:
    """Whether a learner can be used for a task with these features: grids and additive models cannot always."""
    if option in ADDITIVE:
        return facts["classes"] <= MOST
    return option != "Grid" or facts["grid"] > 0


def features(task: Task, counts: Sequence[float], epsilon: float) -> dict[str, float]:
    """Facts about a task: all are public except the classes' noisy counts, which were paid for.

    `worth`: records times ε; `need`: records times ε over the noise of a sum over all attributes (both as powers of ten);
    `depth`: how many attributes of average width can be combined before cells are emptier than noise; the number of
    `attributes`, of all their `cells` (as a power of ten) and of `classes`; the share of `numeric` attributes;
    the noisy `share` of the largest class; and whether it can have a `grid`.

    >>> from jostle.schema import Boolean, Integer
    >>> task = Task(("age",), "sick", {"age": Integer(0, 99), "sick": Boolean()})
    >>> features(task, [700.0, 300.0], 0.1)["worth"], features(task, [700.0, 300.0], 0.1)["share"]
    (2.0, 0.7)
    """
    total = max(1.0, float(sum(counts)))
    cells = sum(min(32, task.known(name)) for name in task.attributes)
    number, classes = len(task.attributes), len(task.classes)
    worth = total * epsilon
    return {
        "worth": log10(worth),
        "need": log10(worth / (number * cells**0.5 * max(1, classes - 1))),
        "depth": log10(max(worth, 1.0)) * number / sum(log10(min(16, task.known(name)) + 1) for name in task.attributes),
        "attributes": float(number),
        "cells": log10(cells),
        "classes": float(classes),
        "numeric": sum(task.is_numeric(name) for name in task.attributes) / number,
        "share": float(np.clip(max(counts) / total, 0, 1)),
        "grid": float(fits(task)),
    }


@dataclass(frozen=True)
class Pick:
    """A choice, and how it came about."""

    option: str
    """The learner."""

    path: tuple[str, ...]
    """The questions on the way, with their answers: those of the first tree, where several vote."""

    expected: Mapping[str, float]
    """What each option was off the best on tables like this one, as a share of records; see `training.HARM`."""


@dataclass(frozen=True)
class Chooser:
    """Trees that tell which option to take; several vote with what they expect."""

    options: tuple[str, ...]
    """The learners, by the numbers that the trees have for them."""

    trees: Mapping[str, tuple[Tree, ...]]
    """The trees for each kind of task."""

    about: Mapping[str, Any]
    """How they were grown."""

    def pick(self, facts: Mapping[str, float]) -> Pick:
        """Walk the trees for the task's kind; a grid is an option only where there is one."""
        if facts["worth"] < log10(FEWEST) and not facts["grid"] and "Majority" in self.options:
            return Pick("Majority", (f"worth = {facts['worth']:.3g} < {log10(FEWEST):.3g}",), {"Majority": 0.0})
        path: list[str] = []
        leaves: list[Leaf] = []
        for tree in self.trees[kind_of(facts)]:
            node = tree[0]
            while isinstance(node, Split):
                low = facts[node.feature] <= node.at
                if not leaves:
                    path.append(f"{node.feature} = {facts[node.feature]:.3g} {'≤' if low else '>'} {node.at:.3g}")
                node = tree[node.low if low else node.high]
            leaves.append(node)
        mean = np.mean([leaf.regrets for leaf in leaves], axis=0)
        every = dict(zip(self.options, map(float, mean), strict=True))
        expected = {name: loss for name, loss in every.items() if fits_facts(name, facts)}
        return Pick(min(expected, key=lambda name: expected[name] * TWO_MODELS.get(name, 1.0)), tuple(path), expected)

    def save(self, path: Path) -> None:
        """Write the file."""
        trees = {kind: [[_shown(node) for node in tree] for tree in grown] for kind, grown in self.trees.items()}
        document = {"about": dict(self.about), "options": list(self.options), "trees": trees}
        path.write_text(json.dumps(document, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path | None = None) -> Chooser:
        """Read a file, or the one that comes with the package."""
        return _shipped() if path is None else _parsed(_text(path), str(path))


def shipped_text() -> str:
    """The file that comes with the package."""
    return (files("jostle.learn") / "shipped" / SHIPPED).read_text("utf-8")


@lru_cache(maxsize=1)
def _shipped() -> Chooser:
    return _parsed(shipped_text(), SHIPPED)


def _text(path: Path) -> str:
    """No more than a document may have, so that a file from elsewhere cannot fill the memory."""
    check_no_database(path, "chooser")
    try:
        with path.open("rb") as stream:
            return stream.read(LARGEST).decode("utf-8", "replace")
    except OSError:
        raise BadInput("chooser", f"{path} cannot be read", "name a file that `Chooser.save` wrote") from None


def _shown(node: Split | Leaf) -> dict[str, Any]:
    if isinstance(node, Split):
        return asdict(node) | {"at": float(f"{node.at:.5g}")}
    regrets = [float(f"{loss:.4g}") for loss in node.regrets]
    return asdict(node) | {"regrets": regrets, "optimal": round(node.optimal, 3)}


def _parsed(text: str, name: str) -> Chooser:
    try:
        document = json.loads(text)
        options = tuple(map(str, document["options"]))
        trees = {
            kind: tuple(
                tuple(_node(node, at, len(tree)) for at, node in enumerate(tree)) for tree in document["trees"][kind]
            )
            for kind in KINDS
        }
        every = [tree for grown in trees.values() for tree in grown]
        leaves = [node for tree in every for node in tree if isinstance(node, Leaf)]
        sound = all(trees.values()) and all(every) and all(len(leaf.regrets) == len(options) for leaf in leaves)
    except (KeyError, TypeError, ValueError, OverflowError, RecursionError):
        sound = False
    if not sound:
        raise BadInput("chooser", f"{name} is no file of a chooser", "write one with `jostle bench learn --train`")
    return Chooser(options, trees, document.get("about", {}))


def _node(node: Mapping[str, Any], number: int, nodes: int) -> Split | Leaf:
    """Ways lead to later nodes only, so every walk ends."""
    if "feature" not in node:
        regrets = tuple(float(loss) for loss in node["regrets"])
        return Leaf(int(node["choice"]), regrets, int(node["inputs"]), float(node["optimal"]))
    low, high = int(node["low"]), int(node["high"])
    if node["feature"] not in FEATURES or not (number < low < nodes and number < high < nodes):
        raise ValueError
    return Split(str(node["feature"]), float(node["at"]), low, high)
