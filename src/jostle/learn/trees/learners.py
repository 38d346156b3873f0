"""Private decision trees and forests: the algorithms of the literature as settings of one program, and our own."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jostle.kernel.budget import Budget
from jostle.kernel.criteria import Criterion, Gini, Majority
from jostle.kernel.errors import BadInput
from jostle.kernel.records import Records
from jostle.kernel.strategy import total
from jostle.learn.registry import learner
from jostle.learn.task import Task
from jostle.learn.trees.candidates import candidates_for
from jostle.learn.trees.choice_points import (
    AtDepth,
    BestSplit,
    Candidates,
    ExpectedSupport,
    NoisyCounts,
    NoisySize,
    RandomSplit,
)
from jostle.learn.trees.leaves import counted, noisy_majority, pruned, without_unreachable
from jostle.learn.trees.model import Forest, Tree
from jostle.learn.trees.program import Program, check_payable, grow


@learner(name="FriedmanSchuster", cite="friedman2010data")
def friedman_schuster(
    records: Records, task: Task, budget: Budget, *, depth: int = 5, criterion: str = "gini", prune: bool = True
) -> Tree:
    """A tree whose nodes are split by a noisy choice while their noisy size is above the noise, then pruned as in C4.5.

    The size of a leaf is the sum of its classes' counts, so the last level's whole part goes to these.

    Privacy: every level gets an equal part of the budget, half of it for one noisy count of each node, half for one noisy
    choice in each node; nodes of a level are disjoint. The last part is for noisy counts of the classes in all leaves, which
    are disjoint. Thresholds, caps and pruning use released numbers alone.
    """
    return _friedman_schuster(records, task, budget, depth, criterion, prune=prune)


@learner(name="Mohammed", cite="mohammed2011differentially")
def mohammed(records: Records, task: Task, budget: Budget, *, depth: int = 4, criterion: str = "entropy") -> Tree:
    """A tree of fixed depth: all of a level's budget goes to the choice of its splits, one level's to the leaves.

    Privacy: one noisy choice in each of a level's nodes, which are disjoint; an equal part of the budget for every level and
    for noisy counts of the classes in all leaves.
    """
    rule = criterion_named(criterion)
    records, candidates = candidates_for(records, task)
    program = Program(AtDepth(), BestSplit(rule), depth, leaf_weight=1)
    return noisy_majority(counted(grow(records, task, budget, program, candidates), task), task)


@learner(name="SuLQ-ID3", cite="blum2005practical")
def sulq(records: Records, task: Task, budget: Budget, *, depth: int = 3) -> Tree:
    """ID3 on noisy counts: the naive way, for comparison.

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
    number, budget = noisy_total(records, task, budget)
    branching = mean_branching(candidates)
    depth = max(1, min(len(task.attributes) // 2, int(math.log(max(number, 2.0), branching) - 1)))
    grown = []
    for tree, token in enumerate(budget.split_evenly(trees)):
        rule = RandomSplit(np.random.default_rng([shape_seed, tree]))
        shape = grow(records, task, token, Program(AtDepth(), rule, depth, 1), candidates)
        grown.append(noisy_majority(counted(shape, task), task))
    return Forest(grown)


@learner(name="PatilSingh", cite="patil2014differential")
def patil_singh(records: Records, task: Task, budget: Budget, *, depth: int = 5, trees: int = 10) -> Forest:
    """Friedman & Schuster's tree with entropy, ten times, each at a tenth of the budget.

    Privacy: that of each tree, at an equal part of the budget; the parts add up.
    """
    _check_trees(trees)
    check_payable(Program(NoisySize(), BestSplit(), depth, 2), budget.epsilon, trees)
    tokens = budget.split_evenly(trees)
    return Forest([_friedman_schuster(records, task, token, depth, "entropy", prune=True) for token in tokens])


@learner(name="FletcherIslam", cite="fletcher2015differentially")
def fletcher_islam(records: Records, task: Task, budget: Budget, *, trees: int | None = None, shape_seed: int = 0) -> Forest:
    """Random trees, as many as attributes, split until a leaf is expected to hold less than the noise of its counts.

    What a leaf is expected to hold is what even splits would leave it. The number of records is private, so a twentieth of
    the budget pays for a noisy one.

    Privacy: one noisy total, then for each tree an equal part of the budget for noisy counts of the classes in its leaves,
    which are disjoint. The trees' shapes are drawn from a public seed; their depths follow from the noisy total.
    """
    many = len(task.attributes) if trees is None else trees
    _check_forest(many, shape_seed, budget)
    records, candidates = candidates_for(records, task)
    number, budget = noisy_total(records, task, budget)
    grown = []
    for tree, token in enumerate(budget.split_evenly(many)):
        noise = math.sqrt(2) * task.sizes[task.label] / float(token.epsilon)
        rule = RandomSplit(np.random.default_rng([shape_seed, tree]))
        program = Program(ExpectedSupport(noise), rule, len(task.attributes), 1, records_expected=number)
        grown.append(noisy_majority(counted(grow(records, task, token, program, candidates), task), task))
    return Forest(grown)


def _friedman_schuster(records: Records, task: Task, budget: Budget, depth: int, criterion: str, *, prune: bool) -> Tree:
    rule = criterion_named(criterion)
    records, candidates = candidates_for(records, task)
    program = Program(NoisySize(), BestSplit(rule), depth, leaf_weight=2)
    grown = counted(grow(records, task, budget, program, candidates), task)
    return without_unreachable(pruned(grown, task)) if prune else noisy_majority(grown, task)


def noisy_total(records: Records, task: Task, budget: Budget) -> tuple[float, Budget]:
    """The number of records, for a twentieth of the budget unless it is public, and what is left of the budget."""
    if records.total is not None:
        return float(records.total), budget
    first, rest = budget.split(1, 19)
    size = records.sizes[task.label]
    return float(records.vector(task.label).laplace(total(size), first)[0]), rest


def mean_branching(candidates: Candidates) -> float:
    """One number an attribute: that of its values, or two where it is cut."""
    arity = {split.attribute: split.arity for split in candidates.counted}
    return max(sum(arity.values()) / len(arity), 1.5)


def criterion_named(name: str) -> Criterion | None:
    """The criterion of that name; None for the entropy, whose cap follows the data's noisy size."""
    known: dict[str, Criterion | None] = {"entropy": None, "gini": Gini(), "max": Majority()}
    if name not in known:
        raise BadInput("criterion", f"{name!r} is unknown", f"use one of {', '.join(known)}")
    return known[name]


def _check_trees(trees: Any) -> None:
    if isinstance(trees, bool) or not isinstance(trees, int) or not 1 <= trees <= 1000:
        raise BadInput("trees", "must be a whole number from 1 to 1000", "pass for instance 10")


def _check_forest(trees: Any, shape_seed: Any, budget: Budget) -> None:
    _check_trees(trees)
    if isinstance(shape_seed, bool) or not isinstance(shape_seed, int) or shape_seed < 0:
        raise BadInput("shape_seed", "must be a whole number of at least 0", "leave it out")
    check_payable(Program(AtDepth(), RandomSplit(np.random.default_rng(0)), 0, 1), budget.epsilon / 20, trees)
