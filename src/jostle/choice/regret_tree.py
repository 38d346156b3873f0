"""Regret trees: grown by splitting inputs until no split helps (Algorithm 1 of the Pythia paper), walked, and shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from jostle.kernel.compiled import compiled
from jostle.kernel.errors import BadInput
from jostle.kernel.partition import Counts, Vector

GINI, GROUP, AVERAGE, VARIANCE, LEAST = range(5)
"""The criteria by number, for compiled code."""


CRITERIA: Final = MappingProxyType(
    {
        "best-algorithm": GINI,
        "group-regret": GROUP,
        "average-regret": AVERAGE,
        "regret-variance": VARIANCE,
        "expected-regret": LEAST,
    }
)
"""The paper's four criteria, and the regret of the best single option of a node, which is what a leaf costs.

As they are printed, two of the paper's do not branch, and give the best blind choice: the mean regret of all options,
weighted by size, is the same for every split of a node; and the variance between the options' mean regrets is convex in
these means, so that no split lowers it (Jensen). The regret of the best single option is concave in them: none raises it.
"""

DEEPEST: Final = 12
"""The most splits from the root to a leaf."""

ROUNDING = 1e-9
"""A split has to lower the impurity by more than this share of it."""


@dataclass(frozen=True)
class InnerNode:
    """Inputs whose feature is at most `at` go to the node numbered `low`, the others to `high`."""

    feature: str
    at: float
    low: int
    high: int


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


Tree = tuple[InnerNode | Leaf, ...]
"""Nodes from the root on; a node comes before those that it leads to."""

Ask = Callable[[str], float]
"""The value of a feature, by its name; it may be noisy."""


@dataclass(frozen=True)
class Step:
    """One question of a walk, its answer, and what followed from it, in words."""

    feature: str
    value: float
    found: str


@dataclass(frozen=True)
class Decision:
    """Where a walk ended: the option to run, the expected regret of every option, and the questions on the way."""

    choice: str
    regrets: dict[str, float]
    path: tuple[Step, ...]


def walk(tree: Tree, ask: Ask) -> tuple[Leaf, list[Step]]:
    """Walk from the root to a leaf, and ask only for the features on the way.

    >>> tree = (InnerNode("scale", 5.0, 1, 2), Leaf(0, (1.0, 2.0), 9, 1.0), Leaf(1, (2.0, 1.0), 9, 1.0))
    >>> leaf, steps = walk(tree, lambda feature: 7.0)
    >>> leaf.choice, steps
    (1, [Step(feature='scale', value=7.0, found='> 5')])
    """
    node, steps = tree[0], list[Step]()
    while isinstance(node, InnerNode):
        value = ask(node.feature)
        low = value <= node.at
        steps.append(Step(node.feature, value, f"{'≤' if low else '>'} {node.at:.6g}"))
        node = tree[node.low if low else node.high]
    return node, steps


def features_of(*trees: Tree) -> tuple[str, ...]:
    """The features that trees split on, each once."""
    return tuple(dict.fromkeys(node.feature for tree in trees for node in tree if isinstance(node, InnerNode)))


def tree_lines(tree: Tree, options: Sequence[str], indent: str = "", number: int = 0) -> list[str]:
    """The tree as indented lines of text."""
    node = tree[number]
    if isinstance(node, Leaf):
        seen = f", best on {node.optimal:.0%} of {node.inputs} inputs" if node.inputs else ""
        return [f"{indent}{options[node.choice]} (expected regret {node.regrets[node.choice]:.3g}{seen})"]
    low, high = (tree_lines(tree, options, indent + "  ", side) for side in (node.low, node.high))
    return [f"{indent}{node.feature} ≤ {node.at:.6g}:", *low, f"{indent}else:", *high]


@dataclass(frozen=True, kw_only=True)
class Growth:
    """How a tree is grown."""

    criterion: str = "expected-regret"
    """What a split is to lower."""

    depth: int = 6
    """The most splits from the root to a leaf."""

    least: float = 10.0
    """The fewest inputs of a leaf."""

    theta: float = 0.2
    """How far the mean regrets within a group of like options may be apart (only for "group-regret")."""

    guard: float = 0.0
    """How much of an option's worst regret in a leaf is added to its mean: keeps options of unbounded risk away."""

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
class _Inputs:
    """The inputs that a tree is grown on."""

    names: Sequence[str]
    features: Vector
    """Inputs × features."""

    regrets: Vector
    """Inputs × options."""

    weights: Vector

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
    merge: bool = True,
) -> Tree:
    """A tree over inputs with these features (inputs × features) and regrets (inputs × options).

    With `groups`, branches are cut back where they do not pay on data sets that had no part in choosing the options. With
    `merge`, a branch whose leaves all make the same choice becomes a leaf: its questions would be paid for in vain.

    >>> x, regrets = np.array([[1.0], [2.0], [8.0], [9.0]]), np.array([[1, 5], [1, 4], [9, 1], [9, 1.0]])
    >>> tree = grow(["scale"], x, regrets, growth=Growth(least=1))
    >>> tree[0], [node.choice for node in tree if isinstance(node, Leaf)]
    (InnerNode(feature='scale', at=5.0, low=1, high=2), [0, 1])
    """
    inputs = _Inputs(
        names=names,
        features=features,
        regrets=regrets,
        weights=np.ones(len(features)) if weights is None else weights,
        groups=np.zeros(len(features), dtype=np.int64) if groups is None else groups,
        prices=[0.0] * len(names) if prices is None else prices,
    )
    branch = _branch(inputs, np.arange(len(features)), 0, frozenset(), growth or Growth(), prune=groups is not None)
    return _numbered(_merged(branch) if merge else branch)


@dataclass(frozen=True)
class _Branch:
    """A part of a tree while it grows: a leaf, or a split with two branches."""

    cost: float
    """What it costs: regrets times weights, with options chosen on the other data sets."""

    leaf: Leaf
    """The leaf that could stand in its place."""

    split: tuple[str, float, _Branch, _Branch] | None = None
    """Feature, threshold and both sides."""


def _branch(inputs: _Inputs, rows: Counts, depth: int, paid: frozenset[int], growth: Growth, *, prune: bool) -> _Branch:
    """Split while it helps; then cut back what does not pay. Paying for a feature makes everything below dearer."""
    weights, regrets = inputs.weights[rows], inputs.regrets[rows]
    plain = _Branch(_honest_cost(inputs, rows, growth), _leaf(regrets, inputs.labels[rows], weights, growth))
    found = _split(inputs, rows, paid, growth) if depth < growth.depth else None
    if found is None:
        return plain
    column, at = found
    low = inputs.features[rows, column] <= at
    below, above = (_branch(inputs, rows[side], depth + 1, paid | {column}, growth, prune=prune) for side in (low, ~low))
    cost = (below.cost + above.cost) * (1.0 if column in paid else 1.0 + inputs.prices[column])
    if prune and cost > plain.cost * (1 - growth.worth):
        return plain
    return _Branch(cost, plain.leaf, (inputs.names[column], at, below, above))


def _merged(branch: _Branch) -> _Branch:
    """Splits that lead to one choice, whatever the answer, become leaves, from the lowest up."""
    if branch.split is None:
        return branch
    feature, at, low, high = branch.split
    low, high = _merged(low), _merged(high)
    if low.split is not None or high.split is not None or low.leaf.choice != high.leaf.choice:
        return replace(branch, split=(feature, at, low, high))
    optimal = np.average([low.leaf.optimal, high.leaf.optimal], weights=[max(low.leaf.inputs, 1), max(high.leaf.inputs, 1)])
    return _Branch(branch.cost, replace(branch.leaf, choice=low.leaf.choice, optimal=float(optimal)))


def _numbered(root: _Branch) -> Tree:
    """The nodes in the order of their depth."""
    nodes: list[InnerNode | Leaf] = []
    waiting = [root]
    while waiting:
        branch = waiting.pop(0)
        if branch.split is None:
            nodes.append(branch.leaf)
        else:
            feature, at, low, high = branch.split
            first = len(nodes) + len(waiting) + 1
            nodes.append(InnerNode(feature, at, first, first + 1))
            waiting += [low, high]
    return tuple(nodes)


def _honest_cost(inputs: _Inputs, rows: Counts, growth: Growth) -> float:
    """The regrets of one option for all of these inputs, chosen for each data set on the others; of one, on itself."""
    groups, where = np.unique(inputs.groups[rows], return_inverse=True)
    weights, regrets = inputs.weights[rows], inputs.regrets[rows]
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


def _split(inputs: _Inputs, rows: Counts, paid: frozenset[int], growth: Growth) -> tuple[int, float] | None:
    """The feature and the threshold that lower the impurity most; None if nothing does."""
    criterion = CRITERIA[growth.criterion]
    weights = inputs.weights[rows]
    best = np.bincount(inputs.labels[rows], weights, inputs.regrets.shape[1])
    sums = weights @ inputs.regrets[rows]
    now = weights.sum() * impurity(criterion, weights.sum(), best, sums, growth.theta)
    found, least = None, now - ROUNDING * abs(now)
    for column in range(len(inputs.names)):
        order = rows[np.argsort(inputs.features[rows, column], kind="stable")]
        columns = (inputs.features[order, column], inputs.weights[order], inputs.labels[order], inputs.regrets[order])
        both, at = best_split(criterion, *columns, growth.least, growth.theta)
        if column not in paid and criterion == LEAST:
            both *= 1.0 + inputs.prices[column]
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


# ---------------------------------------------------------------------------------------------------- impurity

# How mixed a node is (Section 5.3 of the Pythia paper), and where to split it: compiled loops. All criteria are functions of
# three things about the inputs in a node: how many there are, how often each option is the best, and the sum of each
# option's regrets. So one sweep over the inputs in the order of a feature tries every split.


@compiled
def group_share(best: Any, mean: Any, theta: float) -> Any:
    """The largest Σ g² over clusterings of options whose mean regrets differ by at most θ within a cluster.

    By Claim 5.1 clusters are runs of the options in the order of their regrets, so a dynamic program finds the best one.
    """
    order = np.argsort(mean)
    number = order.size
    reached = np.zeros(number + 1)
    for last in range(number):
        share = 0.0
        top = -1.0
        for first in range(last, -1, -1):
            if not mean[order[last]] - mean[order[first]] <= theta:
                break
            share += best[order[first]]
            top = max(top, reached[first] + share * share)
        reached[last + 1] = top
    return reached[number]


@compiled
def impurity(criterion: int, weight: float, best: Any, sums: Any, theta: float) -> Any:
    """The impurity of a node: the total weight of its inputs, of those that each option is best on, and summed regrets."""
    if criterion == GINI:
        return 1.0 - (best * best).sum() / weight**2
    if criterion == GROUP:
        return 1.0 - group_share(best / weight, sums / weight, theta)
    if criterion == AVERAGE:
        return sums.mean() / weight
    if criterion == VARIANCE:
        return ((sums / weight - sums.mean() / weight) ** 2).mean()
    return sums.min() / weight


@compiled
def best_split(
    criterion: int, values: Any, weights: Any, labels: Any, regrets: Any, least: float, theta: float
) -> tuple[float, float]:
    """The threshold on one feature whose two sides are purest, and their weighted impurity; infinity if none leaves enough.

    `values` rise; `labels` and `regrets` are in the same order. A threshold lies half-way between two values.
    """
    number = regrets.shape[1]
    below, above = np.zeros(number), np.zeros(number)
    best_below, best_above = np.zeros(number), np.zeros(number)
    weight_below, weight_above = 0.0, 0.0
    for row in range(values.size):
        weight_above += weights[row]
        best_above[labels[row]] += weights[row]
        above += weights[row] * regrets[row]
    found, at = np.inf, 0.0
    for row in range(values.size - 1):
        weight = weights[row]
        weight_below += weight
        weight_above -= weight
        best_below[labels[row]] += weight
        best_above[labels[row]] -= weight
        below += weight * regrets[row]
        above -= weight * regrets[row]
        if values[row] == values[row + 1] or weight_below < least or weight_above < least:
            continue
        both = weight_below * impurity(criterion, weight_below, best_below, below, theta)
        both += weight_above * impurity(criterion, weight_above, best_above, above, theta)
        if both < found:
            found, at = both, (values[row] + values[row + 1]) / 2
    return found, at
