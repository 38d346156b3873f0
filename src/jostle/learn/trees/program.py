"""One program for all private decision trees: it grows a tree level by level, with two choice points, and labels its leaves.

With fixed rules at L1 (stopping) and L2 (split) it is one of the algorithms in literature.py; with learned rules for each
level it is the one in learned.py. Every record is in one node of a level, so a level's budget is spent once (parallel
composition), and levels add up. Budget that the levels do not use goes to the leaves, so that the whole budget is spent.
Public rules limit the number of nodes, so the tables are small.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import final

import numpy as np

from jostle.kernel.budget import Budget
from jostle.kernel.errors import BadInput
from jostle.kernel.records import Records, Split
from jostle.kernel.strategies import identity
from jostle.learn.cells import measure
from jostle.learn.registry import FloatArray, check_whole
from jostle.learn.task import Task
from jostle.learn.trees.choice_points import NODE, Flags, Level, SplitCandidates, Splitting, Stopping
from jostle.learn.trees.model import Node, Tree

LARGEST_TABLE = 2**23
"""The most cells of nodes × values × classes: attributes with too many values for it are no longer split."""

DEEPEST = 64
"""The largest depth that may be given."""

SMALLEST = Fraction(1, 2**26)
"""The least ε of a level: with less, noise would exceed what counts can hold."""

CONFIDENCE = 0.25
"""C4.5's: errors are estimated by the upper end of an interval that the true rate exceeds with this probability."""


@final
@dataclass(frozen=True)
class Program:
    """Everything that is fixed before the first record is used: L1, L2 and the sizes of tree and budget."""

    stopping: Stopping
    splitting: Splitting

    depth: int
    """The most splits between the root and a leaf."""

    leaf_weight: int
    """The leaves' part of the budget, relative to the weights of the rules at the last level."""

    growth: Fraction = Fraction(1)
    """How many times more budget a level gets than the one above: its nodes have fewer records."""

    most_nodes: int = 4096
    """The most live nodes of a tree; the nodes with the largest expected size are split first."""

    records_expected: float | None = None
    """A noisy number of records, for rules that need one."""

    by_level: tuple[tuple[Stopping, Splitting], ...] = ()
    """The rules of the first levels, if they differ from those of the others."""

    def __post_init__(self) -> None:
        check_whole("depth", self.depth, 0, DEEPEST, remedy="pass for instance 5")
        check_whole("most_nodes", self.most_nodes, 1, remedy="pass for instance 4096")

    def rules(self, depth: int) -> tuple[Stopping, Splitting]:
        """L1 and L2 at a level."""
        return self.by_level[depth] if depth < len(self.by_level) else (self.stopping, self.splitting)

    def level_weight(self, depth: int) -> Fraction:
        return self.weight_from(depth) - self.weight_from(depth + 1)

    def weight_from(self, depth: int) -> Fraction:
        """The total weight of the levels from this one on and of the leaves."""
        return self._weights[depth]

    @cached_property
    def _weights(self) -> tuple[Fraction, ...]:
        weights = tuple(sum(rule.weight for rule in self.rules(depth)) for depth in range(self.depth))
        return _weights_from(weights, self.leaf_weight, self.growth)


@lru_cache(maxsize=1024)
def _weights_from(levels: tuple[int, ...], leaves: int, growth: Fraction) -> tuple[Fraction, ...]:
    """For each level the total weight of it, all levels below and the leaves; last the leaves' own. Public, and used often.

    >>> [str(weight) for weight in _weights_from((1, 1), 2, Fraction(3, 2))]
    ['11/2', '9/2', '3']
    """
    last = leaves * growth ** max(len(levels) - 1, 0)
    upwards = [weight * growth**depth for depth, weight in enumerate(levels)][::-1]
    return tuple(accumulate(upwards, initial=last))[::-1]


@dataclass(eq=False)
class GrownTree:
    """A tree whose leaves are not labelled yet."""

    nodes: tuple[Node, ...]
    """The root first; children after their parents."""

    leaves: tuple[int, ...]
    """The numbers of the leaves, in the order of the values of NODE."""

    records: Records
    """Sorted into the leaves by the attribute NODE."""

    budget: Budget
    """The budget that is left for the leaves."""

    sizes: dict[int, float]
    """Noisy numbers of records of the nodes whose rule measured them."""


def is_payable(program: Program, epsilon: Fraction, trees: int = 1) -> bool:
    """Whether the first level's part is large enough to draw noise for."""
    return epsilon / trees / program.weight_from(0) >= SMALLEST


def check_payable(program: Program, epsilon: Fraction, trees: int = 1) -> None:
    """Raise, before anything is charged, if the first level's part would be too small to draw noise for."""
    if not is_payable(program, epsilon, trees):
        raise BadInput("epsilon", "is too small for this many levels and trees", "raise it, or use fewer levels or trees")


def grow(records: Records, task: Task, budget: Budget, program: Program, candidates: SplitCandidates) -> GrownTree:
    """Split level by level. The rest of the budget is for all leaves together, because they are disjoint."""
    first, state = task.attributes[0], _LiveNodes(candidates)
    sorted_ = records.derive(NODE, (first,), np.zeros(records.sizes[first], dtype=np.int64))
    rest, sizes = budget, dict[int, float]()
    check_payable(program, budget.pure)
    for depth in range(program.depth):
        fitting = candidates.among(LARGEST_TABLE // (len(state.live) * task.sizes[task.label]))
        allowed = state.allowed(fitting)
        if not allowed.any():
            break
        level = Level(
            sorted_,
            task.label,
            depth,
            budget.price.times(program.level_weight(depth) / program.weight_from(0)).rate,
            fitting,
            allowed,
            state.expected,
            program.records_expected,
        )
        later, now = program.weight_from(depth + 1), program.growth**depth
        stopping, splitting = program.rules(depth)
        token, rest = _share(rest, stopping.weight * now, splitting.weight * now + later)
        stopped = stopping.stop(level, token)
        if level.sizes is not None:
            sizes |= dict(zip(state.live, level.sizes.tolist(), strict=True))
        level.allowed = allowed & ~stopped[:, None]
        if not level.allowed.any():
            break
        token, rest = _share(rest, splitting.weight * now, later)
        chosen = splitting.choose(level, token)
        sorted_ = state.split(chosen, sorted_, fitting, program.most_nodes)
    return GrownTree(tuple(state.nodes), tuple(state.live), sorted_, rest, sizes)


def _share(rest: Budget, weight: Fraction, others: Fraction) -> tuple[Budget | None, Budget]:
    if not weight:
        return None, rest
    token, rest = rest.split(weight, others)
    return token, rest


class _LiveNodes:
    """The live nodes, and which values of each attribute can still occur in them."""

    def __init__(self, candidates: SplitCandidates) -> None:
        self.nodes = [Node(0)]
        self.live = [0]
        self.expected: FloatArray = np.ones(1)
        self._sizes = {split.attribute: split.branches.size for split in candidates.counted}
        self._starts = dict(zip(self._sizes, np.cumsum([0, *self._sizes.values()])[:-1].tolist(), strict=True))
        self._possible = np.ones((1, sum(self._sizes.values())), dtype=np.bool_)
        self._open = np.ones(1, dtype=np.bool_)

    def allowed(self, candidates: SplitCandidates) -> Flags:
        """Live nodes × candidates: whether at least two branches can have records."""
        possible = self._possible[self._open].T.copy()  # values × open nodes: adding up rows is fast
        reached = np.zeros((len(candidates.counted), possible.shape[1]), dtype=np.int64)
        for place, split in enumerate(candidates.counted):
            mine = possible[self._place(split)]
            if split.arity == split.branches.size:  # one branch per value
                reached[place] = mine.sum(axis=0)
                continue
            for branch in range(split.arity):
                reached[place] += mine[split.branches == branch].any(axis=0)
        allowed = np.zeros((len(self.live), len(candidates.counted)), dtype=np.bool_)
        allowed[self._open] = (reached >= 2).T
        return allowed

    def split(self, chosen: list[int], records: Records, candidates: SplitCandidates, most: int) -> Records:
        """Replace nodes by their children, as far as the limit allows; the other nodes are leaves from now on."""
        splits = self._within([candidates.counted[choice] if choice >= 0 else None for choice in chosen], most)
        live, rows, expected, open_ = list[int](), list[Flags](), list[float](), list[bool]()
        firsts = []
        for place, split in enumerate(splits):
            firsts.append(len(live))
            live += [self.live[place]] if split is None else self._children(place, candidates.routed[chosen[place]])
            rows += [self._possible[place]] if split is None else self._narrowed(place, split)
            arity = 1 if split is None else split.arity
            expected += [float(self.expected[place]) / arity] * arity
            open_ += [split is not None] * arity
        moved = self._move(records, splits, firsts, len(live))
        self.live, self._possible = live, np.array(rows)
        self.expected, self._open = np.array(expected), np.array(open_)
        return moved

    def _children(self, place: int, routed: Split) -> list[int]:
        """Add a node's children, and return their numbers."""
        parent = self.nodes[self.live[place]]
        children = list(range(len(self.nodes), len(self.nodes) + routed.arity))
        self.nodes[self.live[place]] = replace(parent, split=routed, children=tuple(children))
        self.nodes += [Node(parent.depth + 1) for _ in children]
        return children

    def _narrowed(self, place: int, split: Split) -> list[Flags]:
        """Which values can still occur in each child."""
        rows = []
        for branch in range(split.arity):
            row = self._possible[place].copy()
            row[self._place(split)] &= split.branches == branch
            rows.append(row)
        return rows

    def _within(self, splits: list[Split | None], most: int) -> list[Split | None]:
        """The splits without those beyond the limit of nodes: the nodes with the smallest expected size are not split."""
        total, kept = len(self.live), list(splits)
        for place in np.argsort(-self.expected, kind="stable").tolist():
            split = splits[place]
            if split is not None and total + split.arity - 1 > most:
                kept[place] = None
            elif split is not None:
                total += split.arity - 1
        return kept

    def _move(self, records: Records, splits: list[Split | None], firsts: list[int], live: int) -> Records:
        """Sort records into the new nodes, by one table over (node, value) per attribute; old numbers follow new ones."""
        old = len(splits)
        records = records.derive(NODE, (NODE,), live + np.arange(old))
        for attribute in dict.fromkeys(split.attribute for split in splits if split is not None):
            table = np.repeat(np.arange(records.sizes[NODE])[:, None], self._sizes[attribute], axis=1)
            for place, split in enumerate(splits):
                if split is not None and split.attribute == attribute:
                    table[live + place] = firsts[place] + split.branches
            records = records.derive(NODE, (NODE, attribute), table)
        final = np.concatenate([np.arange(live), firsts])
        return records.derive(NODE, (NODE,), final[: records.sizes[NODE]])

    def _place(self, split: Split) -> slice:
        start = self._starts[split.attribute]
        return slice(start, start + self._sizes[split.attribute])


# ------------------------------------------------------------------------------------------- predictions in leaves


@dataclass(frozen=True, eq=False)
class CountedTree:
    """A tree with noisy counts of the classes in its nodes."""

    nodes: tuple[Node, ...]
    """The root first; children after their parents."""

    counts: FloatArray
    """Nodes × classes. An inner node has the signed sums of its leaves' counts, so that noise cancels out."""

    scale: float
    """The scale of the noise on a leaf's counts."""

    @classmethod
    def of_leaves(cls, nodes: tuple[Node, ...], leaves: Sequence[int], noisy: FloatArray, scale: float) -> CountedTree:
        """From noisy counts of the leaves, in the order of `leaves`."""
        counts = np.zeros((len(nodes), noisy.shape[1]))
        counts[list(leaves)] = noisy
        for number in _inner_upwards(nodes):
            counts[number] = counts[list(nodes[number].children)].sum(axis=0)
        return cls(nodes, counts, scale)


def counted(grown: GrownTree, task: Task) -> CountedTree:
    """Count the classes in all leaves: one Laplace measurement of disjoint cells, with the rest of the budget."""
    vector = grown.records.vector(NODE, task.label)
    every = identity(vector.shape)
    scale = vector.noise_scale(every, grown.budget)
    noisy = vector.measure(every, grown.budget).reshape(vector.shape)
    return CountedTree.of_leaves(grown.nodes, grown.leaves, noisy, scale)


def noisy_majority(tree: CountedTree, task: Task) -> Tree:
    """Every leaf predicts the class with the largest noisy count; shares are in proportion to the counts above 0."""
    return Tree(task, tree.nodes, _proportions(tree.counts))


def pruned(tree: CountedTree, task: Task) -> Tree:
    """C4.5's error-based pruning: a subtree gives way to a leaf that is expected to err no more often.

    An inner node's counts are the sums of its leaves'. Errors among N records, E of which are not of the largest class, are
    estimated as N times the upper confidence limit of a binomial rate (Quinlan 1993, Section 4.2).
    """
    kept = np.maximum(tree.counts, 0)
    sizes = kept.sum(axis=1)
    as_leaf = expected_errors(sizes, sizes - kept.max(axis=1))
    as_tree, nodes = as_leaf.copy(), list(tree.nodes)
    for number in _inner_upwards(tree.nodes):
        children = nodes[number].children
        as_tree[number] = as_tree[list(children)].sum()
        if as_leaf[number] <= as_tree[number]:
            as_tree[number] = as_leaf[number]
            nodes[number] = Node(nodes[number].depth)
    return _without_unreachable(Tree(task, tuple(nodes), _proportions(tree.counts)))


def expected_errors(sizes: FloatArray, errors: FloatArray) -> FloatArray:
    """N·U(E, N), U being the upper confidence limit of the rate of E errors among N; neither need be whole.

    Quinlan's example: 6 · 0.206, 9 · 0.143, 1 · 0.75.

    >>> expected_errors(np.array([6.0, 9, 1]), np.array([0.0, 0, 0])).round(3).tolist()
    [1.238, 1.285, 0.75]
    """
    from scipy.special import betaincinv

    rates = betaincinv(errors + 1, np.maximum(sizes - errors, 1e-9), 1 - CONFIDENCE)
    return np.asarray(np.where(sizes > 0, sizes * rates, 0.0))


def prevailing(grown: GrownTree, task: Task, total: float | None = None) -> Tree:
    """Our own estimate of the classes' shares in each leaf; `total` is the number of records, if it was paid for.

    Two classes: from their noisy difference, each leaf's in view of all leaves' (empirical Bayes). More classes: from noisy
    counts, shrunk towards the shares in the node above.
    """
    if task.sizes[task.label] != 2:
        return shrunk_to_parents(counted(grown, task), task)
    shares = np.full((len(grown.nodes), 2), 0.5)
    shares[list(grown.leaves)] = measure(grown.records, (NODE,), task.label, grown.budget, total).shares()
    for number in _inner_upwards(grown.nodes):
        shares[number] = shares[list(grown.nodes[number].children)].mean(axis=0)
    return Tree(task, grown.nodes, shares)


def _inner_upwards(nodes: Sequence[Node]) -> list[int]:
    """The numbers of the inner nodes, children before their parents."""
    return [number for number in range(len(nodes) - 1, -1, -1) if nodes[number].children]


def shrunk_to_parents(tree: CountedTree, task: Task, weight: float = 2.0) -> Tree:
    """Shares as if every node had `weight` times the noise's scale more records, with the parent's shares."""
    shares = _proportions(tree.counts)
    for number, node in enumerate(tree.nodes):
        if node.children:
            below = list(node.children)
            shares[below] = _proportions(np.maximum(tree.counts[below], 0) + weight * tree.scale * shares[number])
    return Tree(task, tree.nodes, shares)


def _proportions(counts: FloatArray) -> FloatArray:
    """Shares in proportion to the positive counts; if there are none, the largest gets all."""
    positive = np.maximum(counts, 0)
    nothing = positive.sum(axis=1) <= 0
    positive[nothing] = counts[nothing] >= counts[nothing].max(axis=1, keepdims=True)
    return np.asarray(positive / positive.sum(axis=1, keepdims=True))


def _without_unreachable(tree: Tree) -> Tree:
    """The same tree, without the nodes that pruning cut off."""
    order = sorted(tree.reachable())
    number = {old: new for new, old in enumerate(order)}
    nodes = tuple(
        replace(tree.nodes[old], children=tuple(number[child] for child in tree.nodes[old].children)) for old in order
    )
    return Tree(tree.task, nodes, tree.shares[order])
