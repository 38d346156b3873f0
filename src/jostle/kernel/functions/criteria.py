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
from typing import final

import numpy as np

from jostle.kernel.errors import BadInput
from jostle.kernel.partition import Counts

GRAIN = 2**10
"""Scores that are not whole are rounded to this fraction of a record, term by term."""


class Criterion(ABC):
    """A score of a split, the larger the better, in exact units."""

    @property
    def name(self) -> str:
        """What the ledger calls it."""
        return type(self).__name__

    @property
    def unit(self) -> int:
        """Scores are whole multiples of 1/unit."""
        return GRAIN

    @abstractmethod
    def span(self) -> int:
        """How far an added record moves two splits' scores apart at most, in units; a replaced one twice as far."""

    @abstractmethod
    def scores(self, counts: Counts) -> Counts:
        """For counts over (…, branches, classes) the scores over (…): for operators alone."""


@final
@dataclass(frozen=True)
class Majority(Criterion):
    """How many records the largest class of their branch has: the talk's max.

    >>> Majority().scores(np.array([[[5, 1], [0, 4]]])).tolist(), Majority().span()
    ([9], 1)
    """

    @property
    def unit(self) -> int:
        """Whole records."""
        return 1

    def span(self) -> int:
        """A record raises one maximum by 0 or 1."""
        return 1

    def scores(self, counts: Counts) -> Counts:
        """The largest class of each branch, added up."""
        return np.asarray(counts.max(axis=-1).sum(axis=-1))


@final
@dataclass(frozen=True)
class ClearMajority(Criterion):
    """How many records the largest class of their branch has, less a price a branch, but no fewer than the second largest.

    The price stands for what noise and chance take from a branch. An empty branch costs nothing, and one with too few
    records for a class to lead by the price gains nothing: so many small branches do not pass for a good split.

    >>> ClearMajority(price=2).scores(np.array([[[9, 1], [1, 2], [1, 0]]])).tolist(), ClearMajority(price=2).span()
    ([128], 16)
    """

    price: float
    """In records: public, or from what was paid for. Rounded to a sixteenth."""

    def __post_init__(self) -> None:
        if isinstance(self.price, bool) or not isinstance(self.price, (int, float)) or not 0 <= self.price <= 2**30:
            raise BadInput("price", "must be a number of records from 0 to 2^30", "pass for instance 1.5")

    @property
    def unit(self) -> int:
        """Sixteenths of a record, so that prices below one can be told apart."""
        return 16

    def span(self) -> int:
        """A record adds to the largest class, or to the second, or to neither: the score rises by one record at most."""
        return self.unit

    def scores(self, counts: Counts) -> Counts:
        """The larger of the second largest class and the largest less the price, added up over the branches."""
        if counts.shape[-1] < 2:
            counts = np.concatenate([counts, np.zeros_like(counts)], axis=-1)
        second, first = np.moveaxis(np.partition(counts, -2, axis=-1)[..., -2:], -1, 0) * self.unit
        return np.asarray(np.maximum(second, first - round(self.price * self.unit)).sum(axis=-1))


@final
@dataclass(frozen=True)
class Gini(Criterion):
    """Minus the weighted Gini index: −Σ_j (τ_j − Σ_c τ_jc²/τ_j).

    >>> (Gini().scores(np.array([[[2, 2], [0, 4]]])) / GRAIN).tolist(), Gini().span() / GRAIN
    ([-2.0], 2.0)
    """

    def span(self) -> int:
        """A record lowers it by less than 2."""
        return 2 * GRAIN

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
    so many records a branch the two are the same.

    >>> (CappedEntropy(cap=1024).scores(np.array([[[2, 2], [0, 4]]])) / GRAIN).round(2).tolist()
    [-4.0]
    """

    cap: int
    """A public number, or one that was paid for: such as a noisy number of records."""

    def __post_init__(self) -> None:
        if isinstance(self.cap, bool) or not isinstance(self.cap, int) or not 2 <= self.cap <= 2**22:
            raise BadInput("cap", "must be a whole number from 2 to 2^22", "pass for instance 65536")

    def span(self) -> int:
        """The slope of the line: log₂cap + 1/ln 2, up to rounding."""
        return int(_slopes(self.cap)[-1])

    def scores(self, counts: Counts) -> Counts:
        """−Σ_j [φ(τ_j) − Σ_c φ(τ_jc)] with φ from a table whose slopes increase exactly."""
        return np.asarray((self._phi(counts).sum(axis=-1) - self._phi(counts.sum(axis=-1))).sum(axis=-1))

    def _phi(self, counts: Counts) -> Counts:
        table = _sums(self.cap)
        return np.asarray(table[np.minimum(counts, self.cap)] + np.maximum(counts - self.cap, 0) * self.span())


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
