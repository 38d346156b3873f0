"""Regret trees: grown by splitting inputs on their features until no split helps (Algorithm 1 of the Pythia paper)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

import numpy as np

from jostle.choice import impurity
from jostle.kernel.errors import BadInput
from jostle.kernel.partition import Counts, Vector

CRITERIA: Final = MappingProxyType(
    {
        "best-algorithm": impurity.GINI,
        "group-regret": impurity.GROUP,
        "average-regret": impurity.AVERAGE,
        "regret-variance": impurity.VARIANCE,
        "expected-regret": impurity.LEAST,
    }
)
"""The paper's four criteria, and the regret of the best single option of a node, which is what a leaf costs.

As they are printed, two of the paper's do not branch, and give the best blind choice: the mean regret of all options,
weighted by size, is the same for every split of a node; and the variance between the options' mean regrets is convex in
these means, so that no split lowers it (Jensen). The regret of the best single option is concave in them: none raises it.
"""

DEEPEST: Final = 12
"""So many splits a way from the root to a leaf may have."""

ROUNDING = 1e-9
"""A split has to lower the impurity by more than such a share of it."""


@dataclass(frozen=True)
class Split:
    """An inner node: inputs whose feature is at most `at` go to the node numbered `low`, the others to `high`."""

    feature: str
    """The feature's name."""

    at: float
    """The threshold."""

    low: int
    """Where to go if the feature is at most the threshold."""

    high: int
    """Where to go if it is above."""


@dataclass(frozen=True)
class Leaf:
    """The end of a walk."""

    choice: int
    """The option, by number."""

    regrets: tuple[float, ...]
    """The mean regret of every option on the training inputs that end here."""

    inputs: int
    """How many training inputs end here."""

    optimal: float
    """On which share of them the choice is the best option (Fig. 8)."""


Tree = tuple[Split | Leaf, ...]
"""Nodes from the root on; a node comes before those that it leads to."""


@dataclass(frozen=True, kw_only=True)
class Growth:
    """How a tree is grown."""

    criterion: str = "expected-regret"
    """What a split is to lower."""

    depth: int = 6
    """The most splits on a way from the root to a leaf."""

    least: float = 10.0
    """The fewest inputs of a leaf."""

    theta: float = 0.2
    """How far the mean regrets within a group of like options may be apart ("group-regret" alone)."""

    guard: float = 0.0
    """How much of an option's worst regret in a leaf counts beside its mean: keeps options of unbounded risk away."""

    worth: float = 0.0
    """By which share a branch has to lower the regret on other data sets not to be cut back."""

    def __post_init__(self) -> None:
        if self.criterion not in CRITERIA:
            raise BadInput("criterion", f"{self.criterion!r} is unknown", f"use one of {', '.join(CRITERIA)}")
        if not 0 <= self.depth <= DEEPEST:
            raise BadInput("depth", f"must be from 0 to {DEEPEST}, got {self.depth!r}", "pass for instance 6")
        for name in ("least", "theta", "guard", "worth"):
            if not 0 <= getattr(self, name) < np.inf:
                raise BadInput(name, "must be a number of at least 0", "leave it out")


@dataclass(frozen=True, kw_only=True)
class Sample:
    """What a tree is grown on."""

    names: Sequence[str]
    """The features."""

    features: Vector
    """One row an input, one column a feature."""

    regrets: Vector
    """One row an input, one column an option."""

    weights: Vector
    """How much each input counts."""

    groups: Counts
    """The data set that each input comes from, by number: inputs of one data set are alike."""

    prices: Sequence[float]
    """By how much all errors grow once a feature is paid for; 0 for public ones."""

    labels: Counts = field(init=False)
    """The best option of each input."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", self.regrets.argmin(axis=1))


def grow(
    names: Sequence[str],
    features: Vector,
    regrets: Vector,
    weights: Vector | None = None,
    growth: Growth | None = None,
    *,
    groups: Counts | None = None,
    prices: Sequence[float] | None = None,
) -> Tree:
    """A tree over inputs with these features (one row an input) and regrets (one column an option).

    With `groups`, branches are cut back where they do not pay on data sets that had no part in choosing the options.

    >>> x, regrets = np.array([[1.0], [2.0], [8.0], [9.0]]), np.array([[1, 5], [1, 4], [9, 1], [9, 1.0]])
    >>> tree = grow(["scale"], x, regrets, growth=Growth(least=1))
    >>> tree[0], [node.choice for node in tree if isinstance(node, Leaf)]
    (Split(feature='scale', at=5.0, low=1, high=2), [0, 1])
    """
    sample = Sample(
        names=names,
        features=features,
        regrets=regrets,
        weights=np.ones(len(features)) if weights is None else weights,
        groups=np.zeros(len(features), dtype=np.int64) if groups is None else groups,
        prices=[0.0] * len(names) if prices is None else prices,
    )
    branch = _branch(sample, np.arange(len(features)), 0, frozenset(), growth or Growth(), prune=groups is not None)
    return _numbered(branch)


@dataclass(frozen=True)
class _Branch:
    """A part of a tree while it grows: a leaf, or a split with two branches."""

    cost: float
    """What it costs: regrets times weights, with options chosen on the other data sets."""

    leaf: Leaf
    """The leaf that could stand in its place."""

    split: tuple[str, float, _Branch, _Branch] | None = None
    """Feature, threshold and both sides."""


def _branch(sample: Sample, rows: Counts, depth: int, paid: frozenset[int], growth: Growth, *, prune: bool) -> _Branch:
    """Split while it helps; then cut back what does not pay. Paying for a feature makes everything below dearer."""
    weights, regrets = sample.weights[rows], sample.regrets[rows]
    plain = _Branch(_honest_cost(sample, rows, growth), _leaf(regrets, sample.labels[rows], weights, growth))
    found = _split(sample, rows, paid, growth) if depth < growth.depth else None
    if found is None:
        return plain
    column, at = found
    low = sample.features[rows, column] <= at
    below, above = (_branch(sample, rows[side], depth + 1, paid | {column}, growth, prune=prune) for side in (low, ~low))
    cost = (below.cost + above.cost) * (1.0 if column in paid else 1.0 + sample.prices[column])
    if prune and cost > plain.cost * (1 - growth.worth):
        return plain
    return _Branch(cost, plain.leaf, (sample.names[column], at, below, above))


def _numbered(root: _Branch) -> Tree:
    """The nodes in the order of their depth."""
    nodes: list[Split | Leaf] = []
    waiting = [root]
    while waiting:
        branch = waiting.pop(0)
        if branch.split is None:
            nodes.append(branch.leaf)
        else:
            feature, at, low, high = branch.split
            first = len(nodes) + len(waiting) + 1
            nodes.append(Split(feature, at, first, first + 1))
            waiting += [low, high]
    return tuple(nodes)


def _honest_cost(sample: Sample, rows: Counts, growth: Growth) -> float:
    """The regrets of one option for all of these inputs, chosen for each data set on the others; of one, on itself."""
    groups, where = np.unique(sample.groups[rows], return_inverse=True)
    weights, regrets = sample.weights[rows], sample.regrets[rows]
    sums, worst = np.zeros((groups.size, regrets.shape[1])), np.zeros((groups.size, regrets.shape[1]))
    np.add.at(sums, where, weights[:, None] * regrets)
    np.maximum.at(worst, where, regrets)
    counts = np.bincount(where, weights)
    if groups.size == 1:
        return float(sums[0, (sums[0] / counts[0] + growth.guard * worst[0]).argmin()])
    cost = 0.0
    for group in range(groups.size):
        others = np.arange(groups.size) != group
        seen = sums[others].sum(axis=0) / counts[others].sum() + growth.guard * worst[others].max(axis=0)
        cost += sums[group, seen.argmin()]
    return float(cost)


def _split(sample: Sample, rows: Counts, paid: frozenset[int], growth: Growth) -> tuple[int, float] | None:
    """The feature and the threshold that lower the impurity most; None if nothing does."""
    criterion = CRITERIA[growth.criterion]
    weights = sample.weights[rows]
    best = np.bincount(sample.labels[rows], weights, sample.regrets.shape[1])
    sums = weights @ sample.regrets[rows]
    now = weights.sum() * impurity.impurity(criterion, weights.sum(), best, sums, growth.theta)
    found, least = None, now - ROUNDING * abs(now)
    for column in range(len(sample.names)):
        order = rows[np.argsort(sample.features[rows, column], kind="stable")]
        columns = (sample.features[order, column], sample.weights[order], sample.labels[order], sample.regrets[order])
        both, at = impurity.best_split(criterion, *columns, growth.least, growth.theta)
        if column not in paid and criterion == impurity.LEAST:
            both *= 1.0 + sample.prices[column]
        if both < least:
            found, least = (column, float(at)), both
    return found


def _leaf(regrets: Vector, labels: Counts, weights: Vector, growth: Growth) -> Leaf:
    mean = weights @ regrets / weights.sum()
    shares = np.bincount(labels, weights, regrets.shape[1]) / weights.sum()
    if growth.criterion == "best-algorithm":
        choice = int(shares.argmax())
    else:
        choice = int((mean + growth.guard * regrets.max(axis=0)).argmin())
    return Leaf(choice, tuple(float(regret) for regret in mean), round(float(weights.sum())), float(shares[choice]))
