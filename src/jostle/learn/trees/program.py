"""One program for all private decision trees: level by level, on counts by group, with two choice points.

With fixed rules at L1 (stopping) and L2 (split) it is each of the algorithms in trees.py; with learned ones, level by level,
it is the one in learned_tree.py. Every record is in one node of a level, so what is spent on a level is spent once (parallel
composition), and levels add up. What the levels do not use goes to the leaves, so that the whole budget is spent. The number
of nodes is limited by public rules: the tables are small.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import accumulate
from typing import final

import numpy as np

from jostle.kernel.budget import Budget
from jostle.kernel.errors import BadInput
from jostle.kernel.partition import Counts
from jostle.kernel.records import Records, Split
from jostle.learn.registry import FloatArray
from jostle.learn.task import Task
from jostle.learn.trees.choice_points import NODE, Candidates, Flags, Level, Splitting, Stopping
from jostle.learn.trees.model import Node

LARGEST_TABLE = 2**23
"""So many cells may nodes × values × classes have: an attribute with more values than that lets is no longer split by."""

DEEPEST = 64

SMALLEST = Fraction(1, 2**26)
"""The least ε of a level: below it, noise would be beyond what counts can hold."""


@final
@dataclass(frozen=True)
class Program:
    """What is fixed before any record is looked at."""

    stopping: Stopping
    """L1."""

    splitting: Splitting
    """L2."""

    depth: int
    """The most splits on a way from the root to a leaf."""

    leaf_weight: int
    """The leaves' part of the budget, beside the weights of the rules at the last level."""

    growth: Fraction = Fraction(1)
    """How much more a level is given than the one above: its nodes have fewer records to tell with."""

    most_nodes: int = 4096
    """Nodes are split while the tree has no more live ones; those that are expected to hold most come first."""

    records_expected: float | None = None
    """A noisy number of records, for rules that need one."""

    by_level: tuple[tuple[Stopping, Splitting], ...] = ()
    """The rules of the first levels, where they differ from those of the others."""

    def __post_init__(self) -> None:
        if isinstance(self.depth, bool) or not isinstance(self.depth, int) or not 0 <= self.depth <= DEEPEST:
            raise BadInput("depth", f"must be a whole number from 0 to {DEEPEST}", "pass for instance 5")
        if isinstance(self.most_nodes, bool) or not isinstance(self.most_nodes, int) or self.most_nodes < 1:
            raise BadInput("most_nodes", "must be a whole number of at least 1", "pass for instance 4096")

    def rules(self, depth: int) -> tuple[Stopping, Splitting]:
        """L1 and L2 at a level."""
        return self.by_level[depth] if depth < len(self.by_level) else (self.stopping, self.splitting)

    def level_weight(self, depth: int) -> Fraction:
        """What a level weighs."""
        return self.weight_from(depth) - self.weight_from(depth + 1)

    def weight_from(self, depth: int) -> Fraction:
        """What the levels from this one on and the leaves weigh together."""
        return self._weights[depth]

    @cached_property
    def _weights(self) -> tuple[Fraction, ...]:
        asked = tuple(sum(rule.weight for rule in self.rules(depth)) for depth in range(self.depth))
        return _weights_from(asked, self.leaf_weight, self.growth)


@lru_cache(maxsize=1024)
def _weights_from(levels: tuple[int, ...], leaves: int, growth: Fraction) -> tuple[Fraction, ...]:
    """What each level, all below it and the leaves weigh together, and the leaves alone last: public, and asked for often.

    >>> [str(weight) for weight in _weights_from((1, 1), 2, Fraction(3, 2))]
    ['11/2', '9/2', '3']
    """
    last = leaves * growth ** max(len(levels) - 1, 0)
    upwards = [weight * growth**depth for depth, weight in enumerate(levels)][::-1]
    return tuple(accumulate(upwards, initial=last))[::-1]


@dataclass(eq=False)
class Shape:
    """A tree whose leaves are not labelled yet."""

    nodes: tuple[Node, ...]
    """The root first; children after their parents."""

    leaves: tuple[int, ...]
    """The numbers of the leaves, in the order of the values of NODE."""

    records: Records
    """Sorted into the leaves by the attribute NODE."""

    budget: Budget
    """What is left for the leaves."""

    sizes: dict[int, float]
    """Noisy numbers of records of nodes whose rule asked for them."""


def is_payable(program: Program, epsilon: Fraction, trees: int = 1) -> bool:
    """Whether the first level's part is large enough to draw noise for."""
    return epsilon / trees / program.weight_from(0) >= SMALLEST


def check_payable(program: Program, epsilon: Fraction, trees: int = 1) -> None:
    """Raise, before anything is charged, if the first level's part would be too small to draw noise for."""
    if not is_payable(program, epsilon, trees):
        raise BadInput("epsilon", "is too small for so many levels and trees", "use a larger one, or fewer of them")


def grow(records: Records, task: Task, budget: Budget, program: Program, candidates: Candidates) -> Shape:
    """Split level by level; what is left of the budget is for the leaves, all together, as they are disjoint."""
    sorted_, state = records.derive(NODE, (task.attributes[0],), _zeros(records, task)), _State(task, candidates)
    rest, sizes = budget, dict[int, float]()
    check_payable(program, budget.epsilon)
    unit = budget.epsilon / program.weight_from(0)
    for depth in range(program.depth):
        fitting = candidates.among(LARGEST_TABLE // (len(state.live) * task.sizes[task.label]))
        allowed = state.allowed(fitting)
        if not allowed.any():
            break
        level = Level(
            sorted_,
            task.label,
            depth,
            float(unit * program.level_weight(depth)),
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
    return Shape(tuple(state.nodes), tuple(state.live), sorted_, rest, sizes)


def _zeros(records: Records, task: Task) -> Counts:
    return np.zeros(records.sizes[task.attributes[0]], dtype=np.int64)


def _share(rest: Budget, weight: Fraction, others: Fraction) -> tuple[Budget | None, Budget]:
    if not weight:
        return None, rest
    token, rest = rest.split(weight, others)
    return token, rest


class _State:
    """The live nodes, and which values of each attribute can still occur in them."""

    def __init__(self, task: Task, candidates: Candidates) -> None:
        self.nodes = [Node(0)]
        self.live = [0]
        self.expected: FloatArray = np.ones(1)
        self._sizes = {split.attribute: split.branches.size for split in candidates.counted}
        self._starts = dict(zip(self._sizes, np.cumsum([0, *self._sizes.values()])[:-1].tolist(), strict=True))
        self._possible = np.ones((1, sum(self._sizes.values())), dtype=np.bool_)
        self._open = np.ones(1, dtype=np.bool_)

    def allowed(self, candidates: Candidates) -> Flags:
        """Live nodes × candidates: whether two branches at least can have records."""
        possible = self._possible[self._open].T.copy()  # values × open nodes: rows of it are added up quickly
        reached = np.zeros((len(candidates.counted), possible.shape[1]), dtype=np.int64)
        for place, split in enumerate(candidates.counted):
            mine = possible[self._place(split)]
            if split.arity == split.branches.size:  # a branch a value
                reached[place] = mine.sum(axis=0)
                continue
            for branch in range(split.arity):
                reached[place] += mine[split.branches == branch].any(axis=0)
        allowed = np.zeros((len(self.live), len(candidates.counted)), dtype=np.bool_)
        allowed[self._open] = (reached >= 2).T
        return allowed

    def split(self, chosen: list[int], records: Records, candidates: Candidates, most: int) -> Records:
        """Put children in the place of nodes that are split, as far as the limit lets; the others are leaves from now on."""
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
        """The numbers of a node's new children."""
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
        """Without the splits that would make more nodes than the limit: the smallest expected ones give way."""
        total, kept = len(self.live), list(splits)
        for place in np.argsort(-self.expected, kind="stable").tolist():
            split = splits[place]
            if split is not None and total + split.arity - 1 > most:
                kept[place] = None
            elif split is not None:
                total += split.arity - 1
        return kept

    def _move(self, records: Records, splits: list[Split | None], firsts: list[int], live: int) -> Records:
        """Sort the records into the new nodes: a table over (node, value) an attribute; old numbers come after new ones."""
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
