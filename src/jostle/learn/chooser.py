"""Which learner for which records: trees over public facts and a noisy class histogram, grown on public tables.

The file that comes with the package says which options there are and what each is expected to lose, leaf by leaf.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from math import log10
from pathlib import Path
from typing import Any, Final

import numpy as np

from jostle.choice import files as choice_files
from jostle.choice.regret_tree import Tree, walk
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


INSURED: Final = {"Logistic": "Stacked"}
"""A learner that sees no combinations of attributes, and the one that has it as its first part and sees them."""

PLENTY: Final = 3_000.0
"""From this many records times ε, the second is taken in place of the first.

It then loses at most a few hundredths of the errors where combinations say nothing, and up to three quarters of the errors
go where they say much, which a choice by size and shape cannot know. On collected tables that are left out, errors beyond
those of the best option fall by a tenth; from 1,000 or from 5,000 on they fall about as much.
"""

SUMS_TOO: Final = 2_000.0
"""From this many records times ε, Stacked is taken in place of Joint, too, if the sums of an additive model are heard.

Joint sees a few attributes, and loses most where many tell a little each; which choices by size and shape cannot know. On 23
such inputs, nearly all of collected tables, errors are 1.049 times those of the best option with Joint and at worst 1.27
times; with Stacked 1.031 and 1.11.
"""

FEWEST: Final = 25.0
"""With fewer records times ε, Majority is chosen, except where there is a grid, which needs no choice of attributes.

The number of records is then below the noise of the classes' counts, which cost 2 % of ε: a choice would have no basis.
"""


HEARD: Final = 8.0
"""If records times ε, over the noise of a sum, are at least this, an additive model under Gaussian noise is taken.

The trees were grown at ε, where the noise of one with k attributes is QUIETER·√k times as loud. Found on 25 made-up tables
of two classes, at ρ = 0.0005, 0.005 and 0.05: errors beyond those of the better of both and of Majority fall from 5.6 % to
1.8 %; found on one half of the tables and judged on the other, to 1.6 and 4 %.
"""

QUIETER: Final = 0.855


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

    def pick(self, facts: Mapping[str, float], *, gaussian: bool = False) -> Pick:
        """Walk the trees for the task's kind; a grid is an option only where there is one.

        `gaussian` says that an additive model would have Gaussian noise.
        """
        if facts["worth"] < log10(FEWEST) and not facts["grid"] and "Majority" in self.options:
            return Pick("Majority", (f"worth = {facts['worth']:.3g} < {log10(FEWEST):.3g}",), {"Majority": 0.0})
        walks = [walk(tree, facts.__getitem__) for tree in self.trees[kind_of(facts)]]
        path = [f"{step.feature} = {step.value:.3g} {step.found}" for step in walks[0][1]]
        mean = np.mean([leaf.regrets for leaf, _ in walks], axis=0)
        every = dict(zip(self.options, map(float, mean), strict=True))
        expected = {name: loss for name, loss in every.items() if fits_facts(name, facts)}
        option = min(expected, key=lambda name: expected[name] * TWO_MODELS.get(name, 1.0))
        if gaussian and not facts["grid"] and option not in ADDITIVE and "Logistic" in expected:
            heard = facts["need"] + log10(QUIETER * facts["attributes"] ** 0.5)
            if heard >= log10(HEARD):
                option = "Logistic"
                path.append(f"need, under Gaussian noise = {heard:.3g} > {log10(HEARD):.3g}")
        plain = option == "Joint" and "Stacked" in expected
        if plain and facts["worth"] >= log10(SUMS_TOO) and facts["need"] >= log10(HEARD):
            option = "Stacked"
            path.append(f"need = {facts['need']:.3g} > {log10(HEARD):.3g}")
        if facts["worth"] >= log10(PLENTY) and INSURED.get(option) in expected:
            option = INSURED[option]
            path.append(f"worth = {facts['worth']:.3g} > {log10(PLENTY):.3g}")
        return Pick(option, tuple(path), expected)

    def save(self, path: Path) -> None:
        """Write the file."""
        trees = {
            kind: [choice_files.tree_entries(tree, digits=4, threshold_digits=5) for tree in grown]
            for kind, grown in self.trees.items()
        }
        document = {"about": dict(self.about), "options": list(self.options), "trees": trees}
        path.write_text(choice_files.written(document), encoding="utf-8")

    @classmethod
    def load(cls, path: Path | None = None) -> Chooser:
        """Read a file, or the one that comes with the package."""
        return _shipped() if path is None else _parsed(_content(path), str(path))


def shipped_text() -> str:
    """The file that comes with the package."""
    return (files("jostle.learn") / "shipped" / SHIPPED).read_text("utf-8")


def _content(path: Path) -> bytes:
    """One byte more than a document may have, so that a file from elsewhere cannot fill the memory."""
    check_no_database(path, "chooser")
    try:
        with path.open("rb") as stream:
            return stream.read(choice_files.LARGEST + 1)
    except OSError:
        raise BadInput("chooser", f"{path} cannot be read", "name a file that `Chooser.save` wrote") from None


@lru_cache(maxsize=1)
def _shipped() -> Chooser:
    return _parsed(shipped_text(), SHIPPED)


def _parsed(text: str | bytes, name: str) -> Chooser:
    try:
        entries = choice_files.parse(text, "chooser")
        about, options, kinds = entries.plain("about"), entries.texts("options"), entries.table("trees")
        trees = {kind: choice_files.read_trees(kinds, kind, len(options), FEATURES) for kind in KINDS}
    except BadInput:
        raise BadInput("chooser", f"{name} is no file of a chooser", "write one with `jostle bench learn --train`") from None
    return Chooser(options, trees, about)
