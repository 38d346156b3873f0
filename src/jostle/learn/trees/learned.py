"""The tree program with learned choices: how many trees, which splits, whether a level is split (L1), and by what (L2).

The choice points are those of `jostle.choice`. They were trained by whole runs on made-up tables; the learned rules come
with the package. With a fixed answer at each choice point, the program is one of the algorithms in literature.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
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
from jostle.kernel.functions.criteria import Majority
from jostle.kernel.records import Records
from jostle.kernel.strategies import identity
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

FACTS: Final = ("depth", "worth", "branching", "classes", "attributes", "purity", "gain")
"""What a choice may depend on, see `facts`. The schema is public; support, purity and gain are noisy and paid for."""

GAIN: Final = "gain"
"""The question that is asked only if some rule needs it."""

GAIN_PERCENT: Final = 2
"""The price of each of the three steps of that question, in percent of the budget."""

TREES: Final[Mapping[str, int]] = {"one": 1, "ten": 10}
VALUES: Final = ("all", "one")
STOPPING: Final = ("go on", "stop", "small ones stop", "sparse ones stop")
SPLITTING: Final = ("max", "gini", "entropy", "random")

BINS, DEEPEST, LEAF_WEIGHT, GROWTH = 16, 8, 2, Fraction(2)
"""As in our own tree: lower levels get more of the budget, and the leaves most."""

BRANCH: Final = "(branch)"
"""The attribute that says in which branch of one split a record is."""

CORRECT: Final = "(correct)"
"""The attribute that says whether a record's class is the one that its branch predicts."""

SHIPPED: Final = "tree.json"
"""The file under `learn/shipped`."""


@dataclass(frozen=True)
class Points:
    """The choice points: categories into all values at once or one against the rest, how many trees vote, L1 and L2."""

    values: ChoicePoint
    trees: ChoicePoint
    stopping: ChoicePoint
    splitting: ChoicePoint

    def every(self) -> tuple[ChoicePoint, ...]:
        return self.values, self.trees, self.stopping, self.splitting

    @property
    def needs(self) -> set[str]:
        """All facts that some rule asks for."""
        return {name for point in self.every() for name in point.rule.needs}

    def save(self, path: Path, about: Mapping[str, Any]) -> None:
        """Write what they learned."""
        learned = {
            point.name: choice_files.tree_entries(point.rule.tree, digits=4, threshold_digits=5) for point in self.every()
        }
        path.write_text(choice_files.written({"about": dict(about)} | learned), encoding="utf-8")


def points(text: str | None = None) -> Points:
    """The choice points, with learned rules if the text of their file is given."""
    made = Points(
        ChoicePoint("values", VALUES, facts=FACTS),
        ChoicePoint("trees", list(TREES), facts=FACTS),
        ChoicePoint("stopping", STOPPING, facts=FACTS),
        ChoicePoint("split", SPLITTING, facts=FACTS),
    )
    if text is not None:
        entries = choice_files.parse(text, "tree")
        for point in made.every():
            if point.name != "values" or point.name in entries:  # older files know no such choice
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

    Privacy: see `looked` for what is asked first, with a part of the budget of its own. The choices follow from those
    answers, from ε and from the schema. Then, as for every tree of the program, each level's rules and the leaves get a part
    of the rest, and nodes of a level are disjoint; trees of a forest share it evenly.
    """
    return chosen_trees(records, task, budget, _shipped())


def chosen_trees(records: Records, task: Task, budget: Budget, choice: Points, *, ask_gain: bool = False) -> Tree | Forest:
    """The program with these choice points. With `ask_gain`, as in training, the gain is asked, needed or not."""
    check_names(task)
    dearest = Program(NoisySize(), best_split("entropy"), DEEPEST, LEAF_WEIGHT, GROWTH)
    check_payable(dearest, budget.pure * (100 - PERCENT - 3 * GAIN_PERCENT) / 100, max(TREES.values()))
    binned, candidates = candidates_for(records, task, bins=BINS)
    looks, budget = looked(binned, task, candidates, budget, gain=ask_gain or GAIN in choice.needs)
    known = facts(records, task, candidates, looks, budget.rate, 0)
    ways, budget = choice.values(records, budget, **known)
    records, candidates = candidates_for(records, task, bins=BINS, ways="one" if ways == "one" else "all")
    many, rest = choice.trees(records, budget, **known)
    levels = decided(records, task, rest, candidates, choice, looks, rate=rest.rate / TREES[many])
    tokens = rest.split_evenly(TREES[many]) if levels else [rest]  # trees without a split are one leaf
    grown = []
    for tree, token in enumerate(tokens):
        draw = np.random.default_rng(tree)  # public: random shapes need not be secret
        grown.append(prevailing(grow_levels(records, task, token, candidates, levels, looks, draw=draw), task))
    return grown[0] if len(grown) == 1 else Forest(grown)


@dataclass(frozen=True)
class Looks:
    """What was asked about the records: noisy, and paid for."""

    number: float
    """How many there are: the support."""

    purity: float = 1.0
    """The share of the most frequent class."""

    gain: float = 0.0
    """How many more records the best single split classifies correctly than the most frequent class does."""


def looked(records: Records, task: Task, candidates: SplitCandidates, budget: Budget, *, gain: bool) -> tuple[Looks, Budget]:
    """Support and purity from one noisy count per class; then, if wanted, the gain of the best split at the root.

    Privacy: the counts of the classes are one measurement of disjoint cells. The gain is three more steps, each with a token
    of its own: one noisy choice of a split; noisy counts of the classes in its branches; and one noisy count of the records
    whose class is the one with the largest count of their branch, a public rule by then.
    """
    token, rest = budget.split(PERCENT, 100 - PERCENT)
    vector = records.vector(task.label)
    counts = vector.measure(identity(vector.shape), token)
    number = max(1.0, float(counts.sum()) if records.total is None else float(records.total))
    prevailing_class = float(counts.max())
    looks = Looks(number, min(max(prevailing_class / number, 1 / counts.size), 1.0))
    if not gain:
        return looks, rest
    others = 100 - PERCENT - GAIN_PERCENT
    choosing, rest = rest.split(GAIN_PERCENT, others)
    counting, rest = rest.split(GAIN_PERCENT, others - GAIN_PERCENT)
    judging, rest = rest.split(GAIN_PERCENT, others - 2 * GAIN_PERCENT)
    splits = candidates.counted
    allowed = np.array([[split.arity > 1 for split in splits]])
    place = records.choose_each(splits, Majority(), choosing, label=task.label, allowed=allowed)[0]
    split = splits[place]  # where none is possible, place is −1, and all splits have one branch
    sorted_ = records.derive(BRANCH, (split.attribute,), split.branches)
    cells = sorted_.vector(BRANCH, task.label)
    noisy = cells.measure(identity(cells.shape), counting).reshape(cells.shape)
    right = (np.arange(counts.size) == noisy.argmax(axis=1)[:, None]).astype(np.int64)  # public: of what was released
    judged = sorted_.derive(CORRECT, (BRANCH, task.label), right).vector(CORRECT)
    correct = float(judged.measure(identity(2), judging)[1])
    return replace(looks, gain=max(correct - prevailing_class, 0.0)), rest


def decided(
    records: Records,
    task: Task,
    budget: Budget,
    candidates: SplitCandidates,
    choice: Points,
    looks: Looks,
    *,
    rate: float,
    depth: int = DEEPEST,
) -> list[tuple[str, str]]:
    """What both choice points say for every level, from the root down, until L1 says to stop; `rate` is that of a tree.

    All facts are known before any level is paid for, so no budget is kept for levels that will not exist.
    """
    levels: list[tuple[str, str]] = []
    for level in range(depth):
        known = facts(records, task, candidates, looks, rate, level)
        stop, _ = choice.stopping(records, budget, **known)
        if stop == "stop":
            break
        levels.append((stop, choice.splitting(records, budget, **known).branch))
    return levels


def grow_levels(
    records: Records,
    task: Task,
    budget: Budget,
    candidates: SplitCandidates,
    levels: Sequence[tuple[str, str]],
    looks: Looks,
    *,
    draw: np.random.Generator,
    leaf_weight: int = LEAF_WEIGHT,
    growth: Fraction = GROWTH,
) -> GrownTree:
    """Grow a tree by what was decided for its levels."""
    noise = sqrt(2) * task.sizes[task.label] / budget.rate
    program = Program(
        AtDepth(),
        RandomSplit(draw),
        len(levels),
        leaf_weight,
        growth=growth,
        records_expected=looks.number,
        by_level=tuple((_stopping(stop, noise), _splitting(split, draw)) for stop, split in levels),
    )
    return grow(records, task, budget, program, candidates)


def facts(
    records: Records, task: Task, candidates: SplitCandidates, looks: Looks, rate: float, depth: int
) -> dict[str, float]:
    """The facts about the nodes of a level.

    The depth; `worth`, a node's records times ε if splits are even, and the number of branches of splits, both as powers of
    ten; the numbers of classes and attributes; the share of the most frequent class; and `gain`, the records that one split
    gets right beyond those of that class, times ε, as a power of ten. Purity and gain are those of the root.
    """
    each = rate / float(records.neighbours.sensitivity(1, 2))
    worth, branching = looks.number * each, log10(candidates.mean_branching)
    return {
        "depth": float(depth),
        "worth": log10(max(worth, 1.0)) - depth * branching,
        "branching": branching,
        "classes": float(task.sizes[task.label]),
        "attributes": float(len(task.attributes)),
        "purity": looks.purity,
        GAIN: log10(max(looks.gain * each, 1.0)),
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
