"""The tree program with learned choices: how many trees, whether a level is split (L1), and by what (L2).

The choice points are those of `jostle.choice`. They were trained by whole runs on made-up tables; the learned rules come
with the package. With a fixed answer at each choice point, the program is one of the algorithms in literature.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from importlib.resources import files
from math import log10, sqrt
from pathlib import Path
from typing import Any, Final

import numpy as np

from jostle.choice import files as choice_files
from jostle.choice.choice_point import ChoicePoint
from jostle.choice.decision_rules import RegretTree
from jostle.kernel.budget import Budget
from jostle.kernel.records import Records
from jostle.learn.cells import known_total
from jostle.learn.registry import learner
from jostle.learn.task import Task
from jostle.learn.trees.choice_points import (
    AtDepth,
    ExpectedSupport,
    NoisySize,
    RandomSplit,
    SplitCandidates,
    Splitting,
    Stopping,
    best_split,
    candidates_for,
    check_names,
)
from jostle.learn.trees.literature import PERCENT, TreeEstimator
from jostle.learn.trees.model import Forest, Tree
from jostle.learn.trees.program import GrownTree, Program, check_payable, grow, prevailing

FACTS: Final = ("depth", "worth", "branching", "classes", "attributes")
"""What a choice may depend on, see `facts`: all public, except the noisy number of records, which was paid for."""

TREES: Final[Mapping[str, int]] = {"one": 1, "ten": 10}
STOPPING: Final = ("go on", "stop", "small ones stop", "sparse ones stop")
SPLITTING: Final = ("max", "gini", "entropy", "random")

BINS, DEEPEST, LEAF_WEIGHT, GROWTH = 16, 8, 2, Fraction(2)
"""As in our own tree: lower levels get more of the budget, and the leaves most."""

SHIPPED: Final = "tree.json"
"""The file under `learn/shipped`."""


@dataclass(frozen=True)
class Points:
    """The choice points of the program: how many trees vote, L1 and L2."""

    trees: ChoicePoint
    stopping: ChoicePoint
    splitting: ChoicePoint

    def every(self) -> tuple[ChoicePoint, ...]:
        return self.trees, self.stopping, self.splitting

    def save(self, path: Path, about: Mapping[str, Any]) -> None:
        """Write what they learned."""
        learned = {
            point.name: choice_files.tree_entries(point.rule.tree, digits=4, threshold_digits=5) for point in self.every()
        }
        path.write_text(choice_files.written({"about": dict(about)} | learned), encoding="utf-8")


def points(text: str | None = None) -> Points:
    """The choice points, with learned rules if the text of their file is given."""
    made = Points(
        ChoicePoint("trees", list(TREES), facts=FACTS),
        ChoicePoint("stopping", STOPPING, facts=FACTS),
        ChoicePoint("split", SPLITTING, facts=FACTS),
    )
    if text is not None:
        entries = choice_files.parse(text, "tree")
        for point in made.every():
            point.rule = RegretTree(point.branches, choice_files.read_tree(entries, point.name, len(point.branches)))
    return made


def shipped_text() -> str:
    """The file that comes with the package."""
    return (files("jostle.learn") / "shipped" / SHIPPED).read_text("utf-8")


@lru_cache(maxsize=1)
def _shipped() -> Points:
    return points(shipped_text())


@learner(name="LearnedTree", cite="friedman2010data", file=shipped_text)
def learned_tree(records: Records, task: Task, budget: Budget) -> Tree | Forest:
    """A tree or a forest whose choices, level by level, were learned on public tables (the thesis' Figure 4.3).

    Privacy: a twentieth of the budget for a noisy number of records, unless it is public. The choices follow from that, from
    ε and from the schema. Then, as for every tree of the program, each level's rules and the leaves get a part of the
    budget, and nodes of a level are disjoint; trees of a forest share it evenly.
    """
    return chosen_trees(records, task, budget, _shipped())


def chosen_trees(records: Records, task: Task, budget: Budget, choice: Points) -> Tree | Forest:
    """The program with these choice points."""
    check_names(task)
    dearest = Program(NoisySize(), best_split("entropy"), DEEPEST, LEAF_WEIGHT, GROWTH)
    check_payable(dearest, budget.pure * 19 / 20, max(TREES.values()))
    number, budget = known_total(records, budget, percent=PERCENT)
    records, candidates = candidates_for(records, task, bins=BINS)
    known = facts(records, task, candidates, number, budget.rate, 0)
    many, rest = choice.trees(records, budget, **known)
    grown = []
    for tree, token in enumerate(rest.split_evenly(TREES[many])):
        draw = np.random.default_rng(tree)  # public: random shapes need not be secret
        shape = grow_by_choice(records, task, token, candidates, choice, number, draw=draw)
        grown.append(prevailing(shape, task))
    return grown[0] if len(grown) == 1 else Forest(grown)


def grow_by_choice(
    records: Records,
    task: Task,
    budget: Budget,
    candidates: SplitCandidates,
    choice: Points,
    number: float,
    *,
    draw: np.random.Generator,
    depth: int = DEEPEST,
    leaf_weight: int = LEAF_WEIGHT,
    growth: Fraction = GROWTH,
) -> GrownTree:
    """Decide both choice points for every level, from the root down, until L1 says to stop; then grow the tree.

    All facts are known before any level is paid for, so no budget is kept for levels that will not exist.
    """
    noise = sqrt(2) * task.sizes[task.label] / budget.rate
    by_level: list[tuple[Stopping, Splitting]] = []
    for level in range(depth):
        known = facts(records, task, candidates, number, budget.rate, level)
        stop, budget = choice.stopping(records, budget, **known)
        if stop == "stop":
            break
        split, budget = choice.splitting(records, budget, **known)
        by_level.append((_stopping(stop, noise), _splitting(split, draw)))
    program = Program(
        AtDepth(),
        RandomSplit(draw),
        len(by_level),
        leaf_weight,
        growth=growth,
        records_expected=number,
        by_level=tuple(by_level),
    )
    return grow(records, task, budget, program, candidates)


def facts(
    records: Records, task: Task, candidates: SplitCandidates, number: float, rate: float, depth: int
) -> dict[str, float]:
    """The facts about the nodes of a level.

    The depth; `worth`, a node's records times ε if splits are even, and the number of branches of splits, both as powers of
    ten; and the numbers of classes and attributes.
    """
    worth, branching = number * rate / float(records.neighbours.sensitivity(1, 2)), log10(candidates.mean_branching)
    return {
        "depth": float(depth),
        "worth": log10(max(worth, 1.0)) - depth * branching,
        "branching": branching,
        "classes": float(task.sizes[task.label]),
        "attributes": float(len(task.attributes)),
    }


def _stopping(branch: str, noise: float) -> Stopping:
    if branch == "small ones stop":
        return NoisySize()
    return ExpectedSupport(noise) if branch == "sparse ones stop" else AtDepth()


def _splitting(branch: str, draw: np.random.Generator) -> Splitting:
    return RandomSplit(draw) if branch == "random" else best_split(branch)


class LearnedTree(TreeEstimator):
    """A private tree, or a forest, whose stopping and splitting were learned on public tables.

    >>> from jostle.schema import Category, Integer, Schema
    >>> schema = Schema({"age": Integer(0, 99), "class": Category(["no", "yes"])})
    >>> ages = list(range(100)) * 20
    >>> model = LearnedTree(epsilon=1, schema=schema, random_state=0)
    >>> model.fit([[age] for age in ages], ["yes" if age >= 50 else "no" for age in ages]).predict([[3], [90]]).tolist()
    ['no', 'yes']
    """

    learner = "LearnedTree"
