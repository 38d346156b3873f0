"""How well a split of records by an attribute tells their classes apart: scores with exact integer lemmas.

Each is a sum over the branches of a split, and adding a record to one branch moves that branch's term within a range that
is the same for every split. All scores move in the same direction, so the choice among them needs half the noise.
Proofs: docs/proofs/criteria.md; tests/kernel/test_criteria.py tries them on random neighbours.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, final

import numpy as np

from jostle.kernel.arguments import check_finite, check_whole
from jostle.kernel.partition import Counts

GRAIN = 2**10
"""Scores that are not whole are rounded to this fraction of a record, term by term."""


class Criterion(ABC):
    """A score of a split, the larger the better, in exact units."""

    @property
    def name(self) -> str:
        """What the ledger calls it."""
        return type(self).__name__

    unit: ClassVar[int] = GRAIN
    """Scores are whole multiples of 1/unit."""

    def sensitivities(self) -> tuple[int, int]:
        """How far one record moves two splits' scores apart at most, in units: added or removed, replaced (twice as far)."""
        return self.gain, 2 * self.gain

    @property
    @abstractmethod
    def gain(self) -> int:
        """An added record moves every split's score up, or every one down, by at most this many units."""

    @abstractmethod
    def scores(self, counts: Counts) -> Counts:
        """For counts over (…, branches, classes) the scores over (…): for operators only."""


@final
@dataclass(frozen=True)
class Majority(Criterion):
    """How many records the largest class of their branch has: the talk's max.

    >>> Majority().scores(np.array([[[5, 1], [0, 4]]])).tolist(), Majority().gain
    ([9], 1)
    """

    unit: ClassVar[int] = 1
    gain: ClassVar[int] = 1  # a record raises one maximum by 0 or 1

    def scores(self, counts: Counts) -> Counts:
        return np.asarray(counts.max(axis=-1).sum(axis=-1))


@final
@dataclass(frozen=True)
class ClearMajority(Criterion):
    """How many records the largest class of their branch has, less a price per branch, but no fewer than the second largest.

    The price stands for what noise and chance take from a branch. An empty branch costs nothing, and one with too few
    records for a class to lead by the price gains nothing: so many small branches do not pass for a good split.

    >>> ClearMajority(price=2).scores(np.array([[[9, 1], [1, 2], [1, 0]]])).tolist(), ClearMajority(price=2).gain
    ([128], 16)
    """

    price: float
    """In records: public, or from what was paid for. Rounded to a sixteenth."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "price", check_finite(self.price, "price", "pass for instance 1.5", least=0, most=2**30))

    unit: ClassVar[int] = 16  # so that prices below one record can be told apart
    gain: ClassVar[int] = 16
    """A record adds to the largest class, or to the second, or to neither: the score rises by one record at most."""

    def scores(self, counts: Counts) -> Counts:
        """The larger of the second largest class and the largest less the price, added up over the branches."""
        if counts.shape[-1] < 2:
            counts = np.concatenate([counts, np.zeros_like(counts)], axis=-1)
        if counts.shape[-1] == 2:
            one, other = counts[..., 0] * self.unit, counts[..., 1] * self.unit
            second, first = np.minimum(one, other), np.maximum(one, other)
        else:
            second, first = np.moveaxis(np.partition(counts, -2, axis=-1)[..., -2:], -1, 0) * self.unit
        return np.asarray(np.maximum(second, first - round(self.price * self.unit)).sum(axis=-1))


@final
@dataclass(frozen=True)
class Gini(Criterion):
    """Minus the weighted Gini index: −Σ_j (τ_j − Σ_c τ_jc²/τ_j).

    >>> (Gini().scores(np.array([[[2, 2], [0, 4]]])) / GRAIN).tolist(), Gini().gain / GRAIN
    ([-2.0], 2.0)
    """

    gain: ClassVar[int] = 2 * GRAIN  # a record lowers it by less than 2

    def scores(self, counts: Counts) -> Counts:
        """Each branch's term rounded down in exact integers, so that the lemma survives rounding."""
        sizes = counts.sum(axis=-1)
        if sizes.max(initial=0) >= 2**31:  # squares no longer fit in 64 bits
            counts, sizes = counts.astype(object), sizes.astype(object)
        impure, divisor = sizes * sizes - (counts * counts).sum(axis=-1), np.maximum(sizes, 1)
        whole = impure // divisor  # apart from the rest, so that the grain is not multiplied with a square
        terms = (-(impure - whole * divisor) * GRAIN) // divisor - whole * GRAIN
        return np.asarray(terms.sum(axis=-1), dtype=np.int64)


@final
@dataclass(frozen=True)
class CappedEntropy(Criterion):
    """Minus the conditional entropy in bits times the number of records, with v·log₂v continued as a line beyond `cap`.

    The entropy's own sensitivity grows with the number of records, which is private; this one's is bounded by the cap. Up to
    that many records per branch, the two are the same.

    >>> (CappedEntropy(cap=1024).scores(np.array([[[2, 2], [0, 4]]])) / GRAIN).round(2).tolist()
    [-4.0]
    """

    cap: int
    """A public number, or one that was paid for: such as a noisy number of records."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "cap", check_whole(self.cap, "cap", "pass for instance 65536", least=2, most=2**22))

    @property
    def gain(self) -> int:
        """The slope of the line: log₂cap + 1/ln 2, up to rounding."""
        return int(_slopes(self.cap)[-1])

    def scores(self, counts: Counts) -> Counts:
        """−Σ_j [φ(τ_j) − Σ_c φ(τ_jc)] with φ from a table whose slopes increase exactly."""
        return np.asarray((self._phi(counts).sum(axis=-1) - self._phi(counts.sum(axis=-1))).sum(axis=-1))

    def _phi(self, counts: Counts) -> Counts:
        table = _sums(self.cap)
        return np.asarray(table[np.minimum(counts, self.cap)] + np.maximum(counts - self.cap, 0) * self.gain)


@lru_cache(maxsize=8)
def _slopes(cap: int) -> Counts:
    """φ(v + 1) − φ(v) for v below the cap, then the slope beyond it: whole units that never decrease."""
    v = np.arange(cap + 1, dtype=np.float64)
    phi = v * np.log2(np.maximum(v, 1))
    steep = math.log2(cap) + 1 / math.log(2)
    slopes = np.round(np.append(np.diff(phi), steep) * GRAIN).astype(np.int64)
    return np.maximum.accumulate(slopes)


@lru_cache(maxsize=8)
def _sums(cap: int) -> Counts:
    return np.concatenate([[0], np.cumsum(_slopes(cap)[:-1])])
