"""The two choice points of the tree program: whether a node is split (L1), and by what (L2).

A rule is a small object. It says how much of a level's budget it wants beside the other (its weight), and decides for all
open nodes of a level at once, by operators of the record source and by public facts. A learned choice is one more.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol, final

import numpy as np
from numpy.typing import NDArray

from jostle.kernel.budget import Budget
from jostle.kernel.criteria import CappedEntropy, Criterion
from jostle.kernel.records import Records, Split
from jostle.kernel.strategy import identity
from jostle.learn.registry import FloatArray

Flags = NDArray[np.bool_]

LARGEST_HANDICAP = 2.0**39
"""The operator takes no larger ones. Beside so much noise no weight matters."""

NODE = "(node)"
"""The attribute that says in which of the nodes a record is."""


@dataclass(frozen=True, eq=False)
class Candidates:
    """The splits that a tree may use: public."""

    counted: Sequence[Split]
    """Over the attributes that the records are counted by, some of them in coarser cells."""

    routed: Sequence[Split]
    """The same over the task's own codes."""

    prior: FloatArray
    """How much weight each has before anything is known: one an attribute, shared among cuts by the width of their cells."""

    branches: int
    """The most branches that a split has: the papers' t."""

    def among(self, most_values: int) -> Candidates:
        """Those whose attribute has no more values."""
        kept = [place for place, split in enumerate(self.counted) if split.branches.size <= most_values]
        if len(kept) == len(self.counted):
            return self
        counted, routed = [self.counted[place] for place in kept], [self.routed[place] for place in kept]
        return replace(self, counted=counted, routed=routed, prior=self.prior[kept])


@dataclass(eq=False)
class Level:
    """What a rule may look at: the records sorted by node, and public facts about the nodes."""

    records: Records
    """With the attribute NODE, whose values are the live nodes: open ones and leaves."""

    label: str
    """The attribute to predict."""

    depth: int
    """How many splits are above the open nodes."""

    epsilon: float
    """What is spent on this level."""

    candidates: Candidates
    """Among which splits are chosen."""

    allowed: Flags
    """Live nodes × candidates: those that still tell some values apart in an open node, none elsewhere."""

    expected: FloatArray
    """Which part of the records a live node would have if every split were even."""

    records_expected: float | None
    """A noisy number of all records, if it was asked for."""

    sizes: FloatArray | None = None
    """Noisy numbers of records in the live nodes, if a stopping rule asked for them at this level."""

    @property
    def live(self) -> int:
        """The number of live nodes."""
        return int(self.allowed.shape[0])

    @property
    def classes(self) -> int:
        """The number of classes."""
        return self.records.sizes[self.label]


class Stopping(Protocol):
    """L1: which of the open nodes become leaves now, beside those at the depth limit and those that nothing can split."""

    @property
    def weight(self) -> int:
        """Its part of a level's budget; with 0 it is given none."""
        ...

    def stop(self, level: Level, budget: Budget | None) -> Flags:
        """One flag a live node."""
        ...


class Splitting(Protocol):
    """L2: by which candidate each open node is split."""

    @property
    def weight(self) -> int:
        """Its part of a level's budget; with 0 it is given none."""
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
        """None."""
        return np.zeros(level.live, dtype=np.bool_)


@final
@dataclass(frozen=True)
class NoisySize:
    """A node is a leaf if its noisy size, cut evenly, is below the noise: size/(t·|C|) < √2/ε (Friedman & Schuster)."""

    weight: int = 1

    def stop(self, level: Level, budget: Budget | None) -> Flags:
        """By one noisy count a node; the nodes are disjoint."""
        level.sizes = level.records.vector(NODE).laplace(identity((level.live,)), _paid(budget))
        return np.asarray(level.sizes / (level.candidates.branches * level.classes) < math.sqrt(2) / level.epsilon)


@final
@dataclass(frozen=True)
class ExpectedSupport:
    """A node is a leaf if what it would hold after even splits is below the noise of a leaf's counts (Fletcher & Islam)."""

    noise: float
    """√2 |C|/ε, with a leaf's ε."""

    weight: int = 0

    def stop(self, level: Level, budget: Budget | None) -> Flags:
        """From the noisy number of all records."""
        return np.asarray(level.expected * (level.records_expected or 0.0) < self.noise)


# -------------------------------------------------------------------------------------------------------- splitting


@final
@dataclass(frozen=True)
class BestSplit:
    """A nearly best split by a criterion, with noise (Friedman & Schuster, Mohammed et al., Patil & Singh).

    By permute and flip, which is never worse than the exponential mechanism. A cut of a number weighs as much as its cells
    are wide, as the talk's ranges do; all cuts of an attribute together weigh as much as another attribute.
    """

    criterion: Criterion | None = None
    """None: entropy with a cap that follows the noisy sizes, where a stopping rule measures them, else 2^16."""

    weight: int = 1

    def choose(self, level: Level, budget: Budget | None) -> list[int]:
        """One noisy maximum a node; the nodes are disjoint."""
        token = _paid(budget)
        criterion = self.criterion or CappedEntropy(_cap(level))
        span = level.records.neighbours.in_part().sensitivity(criterion.span(), 2 * criterion.span())
        scale = float(span / token.epsilon) / criterion.unit
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


@final
@dataclass(frozen=True)
class RandomSplit:
    """A split that has nothing to do with the records (Jagannathan et al., Fletcher & Islam): free.

    Drawn from a public seed, so that the shape of a tree can be known before any record is.
    """

    random: np.random.Generator
    weight: int = 0

    def choose(self, level: Level, budget: Budget | None) -> list[int]:
        """An attribute at random, and among its cuts one by width."""
        chosen = np.full(level.live, -1)
        for node in np.flatnonzero(level.allowed.any(axis=1)):
            weights = np.where(level.allowed[node], level.candidates.prior, 0.0)
            chosen[node] = self.random.choice(weights.size, p=weights / weights.sum())
        return [int(place) for place in chosen]


@final
@dataclass(frozen=True)
class NoisyCounts:
    """The best split by information gain on noisy counts of every attribute's values: SuLQ's ID3, the naive way.

    The budget is shared among all attributes, as one record is in a count of each. A value's noisy count is the sum of those
    of its classes, so it need not be asked for.
    """

    weight: int = 1

    def choose(self, level: Level, budget: Budget | None) -> list[int]:
        """By one Laplace measurement an attribute, of nodes × values × classes."""
        names = list(dict.fromkeys(split.attribute for split in level.candidates.counted))
        tokens = dict(zip(names, _paid(budget).split_evenly(len(names)), strict=True))
        noisy: dict[str, FloatArray] = {}
        for name, token in tokens.items():
            source = level.records.vector(NODE, name, level.label)
            noisy[name] = np.maximum(source.laplace(identity(source.shape), token), 0).reshape(source.shape)
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
        raise TypeError("a rule with a weight is given a budget")
    return budget
