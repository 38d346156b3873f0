"""A private decision tree that is as deep as records and budget allow."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from jostle.kernel.budget import Budget
from jostle.kernel.errors import BadInput
from jostle.kernel.records import Records
from jostle.learn.registry import learner
from jostle.learn.task import Task
from jostle.learn.trees.candidates import Ways, candidates_for, check_names
from jostle.learn.trees.choice_points import AtDepth, BestSplit, Candidates
from jostle.learn.trees.estimators import TreeEstimator
from jostle.learn.trees.learners import criterion_named, mean_branching, noisy_total
from jostle.learn.trees.leaves import prevailing
from jostle.learn.trees.model import Tree
from jostle.learn.trees.program import Program, check_payable, grow, is_payable

if TYPE_CHECKING:
    from jostle.kernel.ledger import Account

# These defaults, and "max" as the criterion, were picked by the errors of some forty settings on held-out parts of Nursery,
# Contraceptive, HIV-1, Skin, Credit and Adult. Errors on the same parts are therefore somewhat too good.

RECORDS_A_CLASS, MOST_CLASSES = 5, 4
"""So many records times ε a class, of at most so many classes, should a leaf have if splits were even."""

DEEPEST_BY_ITSELF = 12
"""No deeper, unless it is asked for."""

COARSE, FINE, MANY = 16, 64, 20_000
"""Numbers are cut between so many cells, finer ones where there are so many records times ε."""

GROWTH = Fraction(2)
"""Each level gets twice the budget of the one above: a half has half the records to tell with, so it needs twice the ε."""

LEAF_WEIGHT = 2
"""The leaves get twice as much as the last level."""


@learner(name="Tree", cite="friedman2010data")
def tree(
    records: Records,
    task: Task,
    budget: Budget,
    *,
    depth: int | None = None,
    criterion: str = "max",
    ways: Ways = "all",
    bins: int | None = None,
) -> Tree:
    """A tree with more of the budget for lower levels and most for the leaves; its depth follows the records.

    The depth is that at which even splits would leave a leaf some five records a class, times 1/ε. Splits are by the number
    of records of the prevailing classes, which needs the least noise. Two classes are told apart by the noisy difference of
    their counts, which has half the variance of the difference of noisy counts.

    Privacy: a twentieth of the budget for a noisy number of records, unless depth and bins are given; then for each level
    one noisy choice in each of its nodes, which are disjoint; then one measurement of the classes in all leaves, which are
    disjoint. The parts add up to the budget. What is predicted is computed from the measurements.
    """
    return _tree(records, task, budget, depth, criterion, ways, bins)


@learner(name="BinaryTree", cite="friedman2010data")
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
    records: Records, task: Task, budget: Budget, depth: int | None, criterion: str, ways: Ways, bins: int | None
) -> Tree:
    _check(ways, bins)
    check_names(task)
    splitting = BestSplit(criterion_named(criterion))
    check_payable(_program(splitting, 1 if depth is None else depth), budget.epsilon * 19 / 20)
    epsilon, worth = float(budget.epsilon), 0.0
    if depth is None or bins is None:
        number, budget = noisy_total(records, task, budget)
        worth = number * epsilon
        bins = bins or (FINE if worth >= MANY else COARSE)
    records, candidates = candidates_for(records, task, bins=bins, ways=ways)
    if depth is None:
        depth = min(_depth(worth, task, candidates), _deepest_payable(splitting, budget.epsilon))
    return prevailing(grow(records, task, budget, _program(splitting, depth), candidates), task)


def _program(splitting: BestSplit, depth: int) -> Program:
    return Program(AtDepth(), splitting, depth, LEAF_WEIGHT, growth=GROWTH)


def _depth(records_times_epsilon: float, task: Task, candidates: Candidates) -> int:
    """How often records can be split evenly until a leaf has no more than it should."""
    enough = RECORDS_A_CLASS * min(task.sizes[task.label], MOST_CLASSES)
    leaves = max(records_times_epsilon / enough, 1.0)
    return min(max(1, round(math.log(leaves, mean_branching(candidates)))), DEEPEST_BY_ITSELF)


@lru_cache(maxsize=256)
def _deepest_payable(splitting: BestSplit, epsilon: Fraction) -> int:
    """The most levels whose first can still be paid for: it gets the least."""
    depths = range(2, DEEPEST_BY_ITSELF + 1)
    return max((depth for depth in depths if is_payable(_program(splitting, depth), epsilon)), default=1)


def _check(ways: Any, bins: Any) -> None:
    if ways not in ("all", "one", "both"):
        raise BadInput("ways", f"{ways!r} is unknown", "use 'all', 'one' or 'both'")
    if bins is not None and (isinstance(bins, bool) or not isinstance(bins, int) or not 2 <= bins <= 2**12):
        raise BadInput("bins", "must be a whole number from 2 to 4096", "pass for instance 16")


class PrivateTree(TreeEstimator):
    """A private decision tree: it prints, and it plots.

    `depth` is the most splits on a way to a leaf; `criterion` is "max", "gini" or "entropy". `ways` says how categories are
    split: into "all" values at once, "one" against the rest, or "both"; numbers are cut between `bins` cells. Without a
    depth or bins, a part of the budget pays for a noisy number of records, which they follow.

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

    def __init__(
        self,
        epsilon: Any = 1.0,
        schema: Any = None,
        *,
        label: str = "class",
        neighbours: Any = "add_remove",
        account: Account | None = None,
        random_state: int | None = None,
        depth: int | None = None,
        criterion: str = "max",
        ways: Ways = "all",
        bins: int | None = None,
    ) -> None:
        super().__init__(epsilon, schema, label=label, neighbours=neighbours, account=account, random_state=random_state)
        self.depth, self.criterion, self.ways, self.bins = depth, criterion, ways, bins
