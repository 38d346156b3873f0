"""Private decision trees and forests of the literature, as settings of one program."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from jostle.kernel.budget import Budget
from jostle.kernel.records import Records
from jostle.learn.cells import known_total
from jostle.learn.estimator import PrivateEstimator
from jostle.learn.registry import check_whole, learner
from jostle.learn.task import Task
from jostle.learn.trees.choice_points import (
    AtDepth,
    BestSplit,
    ExpectedSupport,
    NoisyCounts,
    NoisySize,
    RandomSplit,
    best_split,
    candidates_for,
)
from jostle.learn.trees.model import Forest, Tree
from jostle.learn.trees.program import Program, check_payable, counted, grow, noisy_majority, pruned

if TYPE_CHECKING:
    import plotly.graph_objects as go

TREES = 1, 1000
"""The fewest and the most trees of a forest."""

PERCENT = 5
"""The price of a noisy number of records, in percent of the budget."""


@learner(name="FriedmanSchuster", cite="friedman2010data")
def friedman_schuster(
    records: Records, task: Task, budget: Budget, *, depth: int = 5, criterion: str = "gini", prune: bool = True
) -> Tree:
    """A tree whose nodes are split by a noisy choice while their noisy size is above the noise, then pruned as in C4.5.

    The size of a leaf is the sum of its classes' counts, so the last level's whole part goes to these.

    Privacy: every level gets an equal part of the budget, half of it for one noisy count of each node, half for one noisy
    choice in each node; nodes of a level are disjoint. The last part is for noisy counts of the classes in all leaves, which
    are disjoint. Thresholds, caps and pruning use only released numbers.
    """
    return _friedman_schuster(records, task, budget, depth, criterion, prune=prune)


@learner(name="Mohammed", cite="mohammed2011differentially")
def mohammed(records: Records, task: Task, budget: Budget, *, depth: int = 4, criterion: str = "entropy") -> Tree:
    """A tree of fixed depth: all of a level's budget goes to the choice of its splits, one level's to the leaves.

    Privacy: one noisy choice in each of a level's nodes, which are disjoint; an equal part of the budget for every level and
    for noisy counts of the classes in all leaves.
    """
    rule = best_split(criterion)
    records, candidates = candidates_for(records, task)
    program = Program(AtDepth(), rule, depth, leaf_weight=1)
    return noisy_majority(counted(grow(records, task, budget, program, candidates), task), task)


@learner(name="SuLQ-ID3", cite="blum2005practical")
def sulq(records: Records, task: Task, budget: Budget, *, depth: int = 3) -> Tree:
    """ID3 on noisy counts: the naive method, for comparison.

    Privacy: an equal part of the budget for every level and for the leaves; at a level an equal part of that for each
    attribute's noisy counts of nodes × values × classes. Everything else is computed from noisy counts.
    """
    records, candidates = candidates_for(records, task)
    program = Program(AtDepth(), NoisyCounts(), depth, leaf_weight=1)
    return noisy_majority(counted(grow(records, task, budget, program, candidates), task), task)


@learner(name="Jagannathan", cite="jagannathan2009practical")
def jagannathan(records: Records, task: Task, budget: Budget, *, trees: int = 10, shape_seed: int = 0) -> Forest:
    """Trees whose splits are drawn at random, so that all of the budget goes to the leaves (Section 4).

    The depth is the smaller of half the number of attributes and log_b n − 1, b being the mean number of branches. The
    number of records n is private, so a twentieth of the budget pays for a noisy one.

    Privacy: one noisy total, then for each tree an equal part of the budget for noisy counts of the classes in its leaves,
    which are disjoint. The trees' shapes are drawn from a public seed.
    """
    _check_forest(trees, shape_seed, budget)
    records, candidates = candidates_for(records, task)
    number, budget = known_total(records, budget, percent=PERCENT)
    levels = math.log(max(number, 2.0), candidates.mean_branching) - 1
    depth = max(1, min(len(task.attributes) // 2, int(levels)))
    grown = []
    for tree, token in enumerate(budget.split_evenly(trees)):
        program = Program(AtDepth(), RandomSplit(np.random.default_rng([shape_seed, tree])), depth, 1)
        grown.append(noisy_majority(counted(grow(records, task, token, program, candidates), task), task))
    return Forest(grown)


@learner(name="PatilSingh", cite="patil2014differential")
def patil_singh(records: Records, task: Task, budget: Budget, *, depth: int = 5, trees: int = 10) -> Forest:
    """Friedman & Schuster's tree with entropy, ten times, each at a tenth of the budget.

    Privacy: that of each tree, at an equal part of the budget; the parts add up.
    """
    check_whole("trees", trees, *TREES, remedy="pass for instance 10")
    check_payable(Program(NoisySize(), BestSplit(), depth, 2), budget.pure, trees)
    tokens = budget.split_evenly(trees)
    return Forest([_friedman_schuster(records, task, token, depth, "entropy", prune=True) for token in tokens])


@learner(name="FletcherIslam", cite="fletcher2015differentially")
def fletcher_islam(records: Records, task: Task, budget: Budget, *, trees: int | None = None, shape_seed: int = 0) -> Forest:
    """Random trees, as many as attributes, split until a leaf is expected to hold less than the noise of its counts.

    A leaf is expected to hold what even splits would leave it. The number of records is private, so a twentieth of the
    budget pays for a noisy one.

    Privacy: one noisy total, then for each tree an equal part of the budget for noisy counts of the classes in its leaves,
    which are disjoint. The trees' shapes are drawn from a public seed; their depths follow from the noisy total.
    """
    many = len(task.attributes) if trees is None else trees
    _check_forest(many, shape_seed, budget)
    records, candidates = candidates_for(records, task)
    number, budget = known_total(records, budget, percent=PERCENT)
    grown = []
    for tree, token in enumerate(budget.split_evenly(many)):
        noise = math.sqrt(2) * task.sizes[task.label] / token.rate
        rule = RandomSplit(np.random.default_rng([shape_seed, tree]))
        program = Program(ExpectedSupport(noise), rule, len(task.attributes), 1, records_expected=number)
        grown.append(noisy_majority(counted(grow(records, task, token, program, candidates), task), task))
    return Forest(grown)


def _friedman_schuster(records: Records, task: Task, budget: Budget, depth: int, criterion: str, *, prune: bool) -> Tree:
    rule = best_split(criterion)
    records, candidates = candidates_for(records, task)
    program = Program(NoisySize(), rule, depth, leaf_weight=2)
    grown = counted(grow(records, task, budget, program, candidates), task)
    return pruned(grown, task) if prune else noisy_majority(grown, task)


def _check_forest(trees: Any, shape_seed: Any, budget: Budget) -> None:
    check_whole("trees", trees, *TREES, remedy="pass for instance 10")
    check_whole("shape_seed", shape_seed, 0)
    check_payable(Program(AtDepth(), RandomSplit(np.random.default_rng(0)), 0, 1), budget.pure / 20, trees)


# ------------------------------------------------------------------------------------------------------- estimators


class TreeEstimator(PrivateEstimator):
    """The base of estimators of trees and forests: they have a picture."""

    def plot(self, **options: Any) -> go.Figure:
        """The fitted tree, or the forest's first, as a Plotly figure."""
        check_is_fitted(self, "model_")
        figure: go.Figure = self.model_.plot(**options)  # type: ignore[attr-defined]
        return figure


@dataclass(eq=False, repr=False, kw_only=True)
class FriedmanSchuster(TreeEstimator):
    """Friedman & Schuster's private C4.5: stops at nodes whose noisy size is below the noise, and prunes.

    `criterion` is "gini", "entropy" or "max".

    >>> from jostle.schema import Boolean, Category, Schema
    >>> schema = Schema({"sweet": Boolean(), "class": Category(["lemon", "plum"])})
    >>> model = FriedmanSchuster(epsilon=5, schema=schema, depth=1, random_state=0)
    >>> model.fit([[True], [False]] * 200, ["plum", "lemon"] * 200).predict([[False], [True]]).tolist()
    ['lemon', 'plum']
    """

    learner = "FriedmanSchuster"

    depth: int = 5
    criterion: str = "gini"
    prune: bool = True


@dataclass(eq=False, repr=False, kw_only=True)
class Mohammed(TreeEstimator):
    """Mohammed et al.'s tree of fixed depth: no budget for stopping.

    >>> Mohammed(epsilon=1, depth=3).depth
    3
    """

    learner = "Mohammed"

    depth: int = 4
    criterion: str = "entropy"


@dataclass(eq=False, repr=False, kw_only=True)
class SulqTree(TreeEstimator):
    """ID3 on noisy counts of every attribute: the naive baseline.

    >>> SulqTree(epsilon=1).depth
    3
    """

    learner = "SuLQ-ID3"

    depth: int = 3


@dataclass(eq=False, repr=False, kw_only=True)
class Jagannathan(TreeEstimator):
    """Jagannathan et al.'s forest of random trees: all of the budget goes to the leaves.

    `shape_seed` draws the trees' shapes, which are public and do not depend on the records.

    >>> Jagannathan(epsilon=1).trees
    10
    """

    learner = "Jagannathan"
    poor = True

    trees: int = 10
    shape_seed: int = 0


@dataclass(eq=False, repr=False, kw_only=True)
class PatilSingh(TreeEstimator):
    """Patil & Singh's forest: Friedman & Schuster's tree with entropy, several times.

    >>> PatilSingh(epsilon=1).trees
    10
    """

    learner = "PatilSingh"

    depth: int = 5
    trees: int = 10


@dataclass(eq=False, repr=False, kw_only=True)
class FletcherIslam(TreeEstimator):
    """Fletcher & Islam's forest of random trees, as deep as the noise allows.

    Without `trees`, there are as many trees as attributes. `shape_seed` draws the trees' shapes, which are public.

    >>> FletcherIslam(epsilon=1).trees is None
    True
    """

    learner = "FletcherIslam"
    poor = True

    trees: int | None = None
    shape_seed: int = 0
