"""A private decision tree that is as deep as records and budget allow."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from jostle.kernel.budget import Budget
from jostle.kernel.errors import BadInput
from jostle.kernel.records import Records
from jostle.learn.cells import known_total
from jostle.learn.registry import check_whole, learner
from jostle.learn.task import Task
from jostle.learn.trees.choice_points import (
    AtDepth,
    BestSplit,
    CategorySplits,
    SplitCandidates,
    best_split,
    candidates_for,
    check_names,
)
from jostle.learn.trees.literature import PERCENT, TreeEstimator
from jostle.learn.trees.model import Tree
from jostle.learn.trees.program import Program, check_payable, grow, is_payable, prevailing

# These defaults, and "max" as the criterion, were chosen by the errors of some forty settings on held-out parts of Nursery,
# Contraceptive, HIV-1, Skin, Credit and Adult. Reported errors on the same parts are therefore slightly too small.

RECORDS_PER_CLASS, MOST_CLASSES = 5, 4
"""With even splits, a leaf should have this many records times ε per class, for at most this many classes."""

DEEPEST_BY_ITSELF = 12
"""The largest depth, unless `depth` is given."""

COARSE, FINE, MANY = 16, 64, 20_000
"""Numbers are cut between COARSE cells, or FINE ones from MANY records times ε."""

GROWTH = Fraction(2)
"""Each level gets twice the budget of the one above: a half has half the records, so it needs twice the ε."""

LEAF_WEIGHT = 2
"""The leaves get twice as much as the last level."""


@learner(name="Tree", cite="friedman2010data", version=2)
def tree(
    records: Records,
    task: Task,
    budget: Budget,
    *,
    depth: int | None = None,
    criterion: str = "max",
    ways: CategorySplits = "all",
    bins: int | None = None,
) -> Tree:
    """A tree with more of the budget for lower levels and most for the leaves; its depth follows the records.

    At that depth, even splits would leave about five records per class in a leaf, times 1/ε. Splits are chosen by the number
    of records of the prevailing classes, which needs the least noise. Two classes are compared by the noisy difference of
    their counts, which has half the variance of the difference of noisy counts.

    Privacy: a twentieth of the budget for a noisy number of records, unless depth and bins are given; then for each level
    one noisy choice in each of its nodes, which are disjoint; then one measurement of the classes in all leaves, which are
    disjoint. The parts add up to the budget. Predictions are computed from the measurements.
    """
    return _tree(records, task, budget, depth, criterion, ways, bins)


@learner(name="BinaryTree", cite="friedman2010data", version=2)
def binary_tree(
    records: Records,
    task: Task,
    budget: Budget,
    *,
    depth: int | None = None,
    criterion: str = "max",
    bins: int | None = None,
) -> Tree:
    """The same, with categories split into one value and the rest: better where some have many values.

    Privacy: that of Tree.
    """
    return _tree(records, task, budget, depth, criterion, "one", bins)


def _tree(
    records: Records,
    task: Task,
    budget: Budget,
    depth: int | None,
    criterion: str,
    ways: CategorySplits,
    bins: int | None,
) -> Tree:
    if ways not in ("all", "one", "both"):
        raise BadInput("ways", f"{ways!r} is unknown", "use 'all', 'one' or 'both'")
    if bins is not None:
        check_whole("bins", bins, 2, 2**12, remedy="pass for instance 16")
    check_names(task)
    splitting = best_split(criterion)
    check_payable(_program(splitting, 1 if depth is None else depth), budget.pure * 19 / 20)
    rate, worth, number = budget.rate, 0.0, None
    if depth is None or bins is None:
        number, budget = known_total(records, budget, percent=PERCENT)
        worth = number * rate
        bins = bins or (FINE if worth >= MANY else COARSE)
    records, candidates = candidates_for(records, task, bins=bins, ways=ways)
    if depth is None:
        depth = min(_depth(worth, task, candidates), _deepest_payable(splitting, budget.pure))
    return prevailing(grow(records, task, budget, _program(splitting, depth), candidates), task, number)


def _program(splitting: BestSplit, depth: int) -> Program:
    return Program(AtDepth(), splitting, depth, LEAF_WEIGHT, growth=GROWTH)


def _depth(records_times_epsilon: float, task: Task, candidates: SplitCandidates) -> int:
    """How many even splits leave the right number of records in a leaf."""
    enough = RECORDS_PER_CLASS * min(task.sizes[task.label], MOST_CLASSES)
    leaves = max(records_times_epsilon / enough, 1.0)
    return min(max(1, round(math.log(leaves, candidates.mean_branching))), DEEPEST_BY_ITSELF)


@lru_cache(maxsize=256)
def _deepest_payable(splitting: BestSplit, epsilon: Fraction) -> int:
    """The most levels of which the first, which gets the least, can still be paid for."""
    depths = range(2, DEEPEST_BY_ITSELF + 1)
    return max((depth for depth in depths if is_payable(_program(splitting, depth), epsilon)), default=1)


@dataclass(eq=False, repr=False, kw_only=True)
class PrivateTree(TreeEstimator):
    """A private decision tree, which can be printed and plotted.

    `depth` is the most splits above a leaf; `criterion` is "max", "gini" or "entropy". `ways` says how categories are
    split: into "all" values at once, "one" against the rest, or "both"; numbers are cut between `bins` cells. Without
    `depth` or `bins`, a part of the budget pays for a noisy number of records, from which they follow.

    >>> from jostle.schema import Category, Integer, Schema
    >>> schema = Schema({"age": Integer(0, 99), "class": Category(["no", "yes"])})
    >>> ages = list(range(100)) * 10
    >>> model = PrivateTree(epsilon=1, schema=schema, depth=1, bins=4, random_state=0)
    >>> model = model.fit([[age] for age in ages], ["yes" if age >= 50 else "no" for age in ages])
    >>> model.predict([[3], [90]]).tolist()
    ['no', 'yes']
    >>> print(model.model_.describe())
    A tree of 2 leaves, at most 1 splits deep.
    age < 50 → no (100%)
    age ≥ 50 → yes (100%)
    """

    learner = "Tree"

    depth: int | None = None
    criterion: str = "max"
    ways: CategorySplits = "all"
    bins: int | None = None
