"""The splits that a tree may use, and the two choice points of the tree program: whether to split a node (L1), and how (L2).

A rule is a small object. It says how large a part of a level's budget it needs (its weight), and decides for all open nodes
of a level at once, by operators of the record source and by public facts. A learned choice is one more rule.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol, final

import numpy as np
from numpy.typing import NDArray

from jostle.kernel.budget import Budget
from jostle.kernel.errors import BadInput
from jostle.kernel.functions.criteria import CappedEntropy, Criterion, Gini, Majority
from jostle.kernel.partition import Counts
from jostle.kernel.records import Records, Split
from jostle.kernel.strategies import identity
from jostle.learn.cells import width
from jostle.learn.registry import FloatArray
from jostle.learn.task import Task, once_per_task

Flags = NDArray[np.bool_]

CategorySplits = Literal["all", "one", "both"]
"""How categories are split: into all values at once, one value against the rest, or either."""

WIDEST = 4096
"""Categories with more values are not split: that many nodes would hold nothing but noise."""

LARGEST_HANDICAP = 2.0**39
"""The largest handicap that the operator accepts. With that much noise, no weight matters."""

NODE = "(node)"
"""The attribute that says in which node a record is."""


# ---------------------------------------------------------------------------------------------------- public splits


@dataclass(frozen=True, eq=False)
class SplitCandidates:
    """The splits that a tree may use: public."""

    counted: Sequence[Split]
    """The splits over the attributes that records are counted by, some of them in coarser cells."""

    routed: Sequence[Split]
    """The same splits over the task's own codes."""

    prior: FloatArray
    """Each split's prior weight: 1 per attribute, shared among its cuts by the width of their cells."""

    branches: int
    """The largest number of branches of a split: the papers' t."""

    def among(self, most_values: int) -> SplitCandidates:
        """The splits whose attribute has at most this many values."""
        kept = [place for place, split in enumerate(self.counted) if split.branches.size <= most_values]
        if len(kept) == len(self.counted):
            return self
        counted, routed = [self.counted[place] for place in kept], [self.routed[place] for place in kept]
        return replace(self, counted=counted, routed=routed, prior=self.prior[kept])

    @property
    def mean_branching(self) -> float:
        """The mean over the attributes of the number of branches: that of its values, or two where it is cut."""
        arity = {split.attribute: split.arity for split in self.counted}
        return max(sum(arity.values()) / len(arity), 1.5)


def candidates_for(
    records: Records, task: Task, *, bins: int = 32, ways: CategorySplits = "all"
) -> tuple[Records, SplitCandidates]:
    """The splits of a task, and the records with coarser attributes where numbers have more than `bins` cells.

    A category is split into all its values at once, or into one value and the rest; a number is cut in two. A category with
    very many values is not split. Values that the schema does not name share a branch of a category, and join the low branch
    of a number.
    """
    check_names(task)
    coarser, candidates = _candidates(task, bins, ways)
    for name, attribute, table in coarser:
        records = records.derive(name, (attribute,), table)
    return records, candidates


@once_per_task
def _candidates(task: Task, bins: int, ways: CategorySplits) -> tuple[list[tuple[str, str, Counts]], SplitCandidates]:
    """The coarser attributes, each with its source and the cell of each of its values; and the splits."""
    coarser: list[tuple[str, str, Counts]] = []
    counted: list[Split] = []
    routed: list[Split] = []
    prior: list[float] = []
    for attribute in task.attributes:
        table, weights, tables = (
            _numeric(task, attribute, bins) if task.is_numeric(attribute) else _category(task, attribute, ways)
        )
        name = attribute
        if not np.array_equal(table, np.arange(table.size)):
            name = f"({attribute} in {width(table)})"
            table.setflags(write=False)
            coarser.append((name, attribute, table))
        counted += [Split(name, branches) for branches in tables]
        routed += [Split(attribute, branches[table]) for branches in tables]
        prior += weights.tolist()
    if not counted:  # no split is possible: a split into one branch, which is never allowed
        whole = Split(task.attributes[0], np.zeros(task.sizes[task.attributes[0]], dtype=np.int64))
        counted, routed, prior = [whole], [whole], [1.0]
    return coarser, SplitCandidates(
        tuple(counted), tuple(routed), np.array(prior), branches=max(split.arity for split in counted)
    )


def check_names(task: Task) -> None:
    """Raise, before anything is charged, if a column is called like the attribute that trees sort records by."""
    if NODE in task.columns:
        raise BadInput("attributes", f"{NODE!r} is the name that trees give to their nodes", "rename the column")


def _numeric(task: Task, attribute: str, bins: int) -> tuple[Counts, FloatArray, list[Counts]]:
    """The cell of each value, and the cuts between cells, each weighted by the width of its cells."""
    size, values = task.sizes[attribute], task.known(attribute)
    cells = min(bins, values)
    table = np.append(np.arange(values) * cells // values, np.zeros(size - values, dtype=np.int64))
    edges = task.columns[attribute].edges  # type: ignore[attr-defined]
    wide = np.bincount(table[:values], weights=np.diff(edges), minlength=cells)
    widths = wide[:-1] + wide[1:]
    cuts = [(np.arange(cells) >= cut).astype(np.int64) for cut in range(1, cells)]
    return table, widths / max(widths.sum(), 1e-300), cuts


def _category(task: Task, attribute: str, ways: CategorySplits) -> tuple[Counts, FloatArray, list[Counts]]:
    """The cell of each value, and one split into all of them, or one split per value against the rest."""
    cells = np.arange(task.sizes[attribute])
    table = np.minimum(cells, task.known(attribute))
    size = width(table)
    singles = [(np.arange(size) == value).astype(np.int64) for value in range(size)] if size > 2 else []
    tables = {"all": [np.arange(size)], "one": singles or [np.arange(size)], "both": [np.arange(size), *singles]}[ways]
    weights = (
        np.array([branches.max() == size - 1 for branches in tables]) / 2
        if singles and ways == "both"
        else np.zeros(len(tables))
    )
    weights[weights == 0] = (1 - weights.sum()) / max((weights == 0).sum(), 1)
    return (table, weights, tables) if 1 < size <= WIDEST else (table, weights[:0], [])


# ----------------------------------------------------------------------------------------------------------- rules


@dataclass(eq=False)
class Level:
    """What a rule may use: the records sorted by node, and public facts about the nodes."""

    records: Records
    """The records, with the attribute NODE, whose values are the live nodes: open ones and leaves."""

    label: str
    """The attribute to predict."""

    depth: int
    """The number of splits above the open nodes."""

    epsilon: float
    """The ε of this level."""

    candidates: SplitCandidates
    """The splits to choose among."""

    allowed: Flags
    """Live nodes × candidates: whether the split still separates some values in the node; False for leaves."""

    expected: FloatArray
    """The share of the records that each live node would have if every split were even."""

    records_expected: float | None
    """A noisy number of all records, if one was measured."""

    sizes: FloatArray | None = None
    """Noisy numbers of records in the live nodes, if a stopping rule measured them at this level."""

    @property
    def live(self) -> int:
        return int(self.allowed.shape[0])

    @property
    def classes(self) -> int:
        return self.records.sizes[self.label]


class Stopping(Protocol):
    """L1: which open nodes become leaves now, besides those at the depth limit and those that nothing can split."""

    @property
    def weight(self) -> int:
        """Its part of a level's budget; with 0 it gets none."""
        ...

    def stop(self, level: Level, budget: Budget | None) -> Flags:
        """One flag per live node."""
        ...


class Splitting(Protocol):
    """L2: by which candidate each open node is split."""

    @property
    def weight(self) -> int:
        """Its part of a level's budget; with 0 it gets none."""
        ...

    def choose(self, level: Level, budget: Budget | None) -> list[int]:
        """The number of a candidate for each live node; −1 for none."""
        ...


# --------------------------------------------------------------------------------------------------------- stopping


@final
@dataclass(frozen=True)
class AtDepth:
    """Nodes are split down to the depth limit (Mohammed et al., Jagannathan et al.)."""

    weight: int = 0

    def stop(self, level: Level, budget: Budget | None) -> Flags:
        return np.zeros(level.live, dtype=np.bool_)


@final
@dataclass(frozen=True)
class NoisySize:
    """A node is a leaf if its noisy size, cut evenly, is below the noise: size/(t·|C|) < √2/ε (Friedman & Schuster)."""

    weight: int = 1

    def stop(self, level: Level, budget: Budget | None) -> Flags:
        """By one noisy count per node; the nodes are disjoint."""
        level.sizes = level.records.vector(NODE).measure(identity((level.live,)), _paid(budget))
        return np.asarray(level.sizes / (level.candidates.branches * level.classes) < math.sqrt(2) / level.epsilon)


@final
@dataclass(frozen=True)
class ExpectedSupport:
    """A node is a leaf if its expected size after even splits is below the noise of a leaf's counts (Fletcher & Islam)."""

    noise: float
    """√2 |C|/ε, with a leaf's ε."""

    weight: int = 0

    def stop(self, level: Level, budget: Budget | None) -> Flags:
        return np.asarray(level.expected * (level.records_expected or 0.0) < self.noise)


# -------------------------------------------------------------------------------------------------------- splitting


@final
@dataclass(frozen=True)
class BestSplit:
    """A nearly best split by a criterion, with noise (Friedman & Schuster, Mohammed et al., Patil & Singh).

    By permute and flip, which is never worse than the exponential mechanism. A cut of a number is weighted by the width of
    its cells; all cuts of an attribute together weigh as much as another attribute.
    """

    criterion: Criterion | None = None
    """None: entropy with a cap that follows the noisy sizes, where a stopping rule measures them, else 2^16."""

    weight: int = 1

    def choose(self, level: Level, budget: Budget | None) -> list[int]:
        """By one noisy maximum per node; the nodes are disjoint."""
        token = _paid(budget)
        criterion = self.criterion or CappedEntropy(_cap(level))
        span = level.records.neighbours.in_part().sensitivity(*criterion.sensitivities())
        scale = float(span / token.exponential) / criterion.unit
        handicaps = np.minimum(-scale * np.log(level.candidates.prior), LARGEST_HANDICAP)
        return level.records.choose_each(
            level.candidates.counted,
            criterion,
            token,
            label=level.label,
            by=NODE,
            allowed=level.allowed,
            handicaps=handicaps,
        )


def best_split(criterion: str) -> BestSplit:
    """The best split by the criterion of that name; the entropy's cap follows the noisy sizes."""
    known: dict[str, Criterion | None] = {"entropy": None, "gini": Gini(), "max": Majority()}
    if criterion not in known:
        raise BadInput("criterion", f"{criterion!r} is unknown", f"use one of {', '.join(known)}")
    return BestSplit(known[criterion])


@final
@dataclass(frozen=True)
class RandomSplit:
    """A split that does not depend on the records (Jagannathan et al., Fletcher & Islam): free.

    It is drawn from a public seed, so the shape of a tree may be public.
    """

    random: np.random.Generator
    weight: int = 0

    def choose(self, level: Level, budget: Budget | None) -> list[int]:
        """A random attribute, and one of its cuts by width."""
        chosen = np.full(level.live, -1)
        for node in np.flatnonzero(level.allowed.any(axis=1)):
            weights = np.where(level.allowed[node], level.candidates.prior, 0.0)
            chosen[node] = self.random.choice(weights.size, p=weights / weights.sum())
        return [int(place) for place in chosen]


@final
@dataclass(frozen=True)
class NoisyCounts:
    """The best split by information gain on noisy counts of every attribute's values: SuLQ's ID3, the naive method.

    The attributes share the budget, because a record is in a count of each. A value's noisy count is the sum of those of its
    classes, so it need not be measured.
    """

    weight: int = 1

    def choose(self, level: Level, budget: Budget | None) -> list[int]:
        """By one Laplace measurement per attribute, of nodes × values × classes."""
        names = list(dict.fromkeys(split.attribute for split in level.candidates.counted))
        tokens = dict(zip(names, _paid(budget).split_evenly(len(names)), strict=True))
        noisy: dict[str, FloatArray] = {}
        for name, token in tokens.items():
            source = level.records.vector(NODE, name, level.label)
            noisy[name] = np.maximum(source.measure(identity(source.shape), token), 0).reshape(source.shape)
        scores = np.column_stack([_information(noisy[s.attribute], s) for s in level.candidates.counted])
        scores = np.where(level.allowed, scores, -np.inf)
        return [int(np.argmax(row)) if np.isfinite(row).any() else -1 for row in scores]


def _information(counts: FloatArray, split: Split) -> FloatArray:
    """Minus the conditional entropy times the number of records, for counts over (nodes, values, classes)."""
    goes_to = (np.arange(split.arity)[:, None] == split.branches).astype(np.float64)
    branches = goes_to @ counts
    sizes = branches.sum(axis=-1, keepdims=True)
    ratio = np.divide(branches, sizes, out=np.ones_like(branches), where=branches > 0)
    return np.asarray((branches * np.log2(ratio)).sum(axis=(-1, -2)))


def _cap(level: Level) -> int:
    if level.sizes is None:
        return 2**16
    largest = max(float(level.sizes.max()), 16.0)
    return int(min(2 ** math.ceil(math.log2(largest)), 2**22))


def _paid(budget: Budget | None) -> Budget:
    if budget is None:
        raise TypeError("a rule with a weight needs a budget")
    return budget
