"""Numbers about the data that are not linear, each with a lemma that bounds how far one record moves it.

A statistic's value is an exact integer in units of 1/unit, so that noise on it is discrete. Its `sensitivities`, in the same
units, are how far it moves when one record is added or removed, and when one is replaced. The rules of `expressions` derive
them, except for the cheapest cut's.
Proofs: docs/proofs/statistics.md; tests/kernel/test_statistics.py tries them on random neighbours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import final

import numpy as np

from jostle.kernel.errors import BadInput
from jostle.kernel.functions import intervals
from jostle.kernel.functions.expressions import Term, cells, clipped, grouped, largest, set_once, variation
from jostle.kernel.partition import Counts, Partition

FINEST = 2**30
"""One record moves what is measured by at most this many units: finer ones would not change the noise."""

PRICE_UNIT = 2**10
"""Prices of intervals are rounded to this fraction of a record."""


class Statistic:
    """A private number with a proven sensitivity: that of a term, unless a subclass has a lemma of its own."""

    @property
    def name(self) -> str:
        """What the ledger calls it; public facts only."""
        return type(self).__name__

    def rule(self, size: int) -> Term:
        """How it is made from that many cells, by rules that derive its sensitivities."""
        raise NotImplementedError

    def unit(self, size: int) -> int:
        """The value is a whole multiple of 1/unit."""
        return _derived(self, size).unit(size)

    def sensitivities(self, size: int) -> tuple[int, int]:
        """How far one record moves it, in units: added or removed, replaced. `size` is the number of cells."""
        return _derived(self, size).sensitivities(size)

    def value(self, x: Counts) -> int:
        """The true value in units: for operators only."""
        return _derived(self, x.size).value(x)

    def check(self, size: int) -> None:
        """Raise if it cannot be measured over a domain of that size."""


@final
class Derived(Statistic):
    """A term of one entry as a statistic: what `Source.statistic` measures.

    >>> from jostle.kernel.functions.expressions import LATTICE, length
    >>> Derived(length(cells(4), centred=True, divisor=4), "stddev").sensitivities(4)[0] / LATTICE  # √3/4
    0.4330...
    """

    __setattr__ = set_once

    def __init__(self, term: Term, text: str) -> None:
        if type(term) is not Term or term.entries != 1:
            raise BadInput("expression", "must be one number", "add up or reduce the vector first")
        self.term, self.text = term, text
        self._unit = self._lattice(max(term.reach, term.span))

    def _lattice(self, furthest: int) -> int:
        """The term's own unit, where its values fit in 64 bits, else the finest power of two with which they do."""
        term = self.term
        if term.mass < 2**61 and furthest <= FINEST:
            return term.unit
        unit = min(2**61 * term.unit // (term.mass + 1), FINEST * term.unit // (furthest + 1))
        if unit < 1:
            raise BadInput("expression", "could be too large for 64 bits", "divide it by a public number")
        return int(2 ** (unit.bit_length() - 1))

    @property
    def name(self) -> str:
        return self.text

    def unit(self, size: int) -> int:
        return self._unit

    def sensitivities(self, size: int) -> tuple[int, int]:
        """The derived bounds, rounded up."""
        return self._up(self.term.reach), self._up(self.term.span)

    def _up(self, move: int) -> int:
        return -(-move * self._unit // self.term.unit)

    def value(self, x: Counts) -> int:
        """Exact, then rounded down."""
        return int(self.term.values(x)[0]) * self._unit // self.term.unit

    def check(self, size: int) -> None:
        if self.term.labels is not None and self.term.labels.size != size:
            raise BadInput("expression", f"is over {self.term.labels.size} cells, not {size}", "build it for this domain")


@lru_cache(maxsize=8)
def _derived(statistic: Statistic, size: int) -> Derived:
    return Derived(statistic.rule(size), statistic.name)


def _total(of: Term) -> Term:
    return grouped(of, Partition(np.zeros(of.entries, dtype=np.int64), (1,)))


@final
@dataclass(frozen=True)
class Scale(Statistic):
    """The number of records. Replacing one changes nothing.

    >>> Scale().value(np.array([3, 0, 4])), Scale().sensitivities(3)
    (7, (1, 0))
    """

    def rule(self, size: int) -> Term:
        return _total(cells(size))


@final
@dataclass(frozen=True)
class NonZeroCells(Statistic):
    """The number of cells that are not empty. A replaced record may fill one and empty another, or only one of the two.

    >>> NonZeroCells().value(np.array([3, 0, 4])), NonZeroCells().sensitivities(3)
    (2, (1, 1))
    """

    def rule(self, size: int) -> Term:
        return _total(clipped(cells(size), 0, 1))


@final
@dataclass(frozen=True)
class LargestCell(Statistic):
    """The largest count. A maximum moves no further than what it is taken over.

    >>> LargestCell().value(np.array([3, 0, 4])), LargestCell().sensitivities(3)
    (4, (1, 1))
    """

    def rule(self, size: int) -> Term:
        return largest(cells(size))


@final
@dataclass(frozen=True)
class TotalVariation(Statistic):
    """Half the L1 distance from the uniform vector of the same total: the counts above the mean, less the mean.

    >>> TotalVariation().value(np.array([3, 0, 3])) / TotalVariation().unit(3), TotalVariation().sensitivities(3)
    (2.0, (2, 3))
    """

    def rule(self, size: int) -> Term:
        return variation(cells(size))


@final
@dataclass(frozen=True)
class PartitionCost(Statistic):
    """Partitionality: what the cheapest cut into intervals costs, by deviation from the median plus a price per interval.

    >>> PartitionCost(price=3.0).value(np.array([1, 1, 5, 5])) / PartitionCost(price=3.0).unit(4)
    6.0
    """

    price: float
    """What an interval costs besides its deviation: a public number, such as the noise on its total."""

    def __post_init__(self) -> None:
        check_price(self.price)

    def unit(self, size: int) -> int:
        return PRICE_UNIT

    def check(self, size: int) -> None:
        """The prices of all intervals together must fit in 64 bits."""
        check_price(self.price, size)

    def sensitivities(self, size: int) -> tuple[int, int]:
        """Every cut has one interval with the record, whose deviation moves by at most 1; so does the least cost."""
        return (PRICE_UNIT, 2 * PRICE_UNIT) if size > 1 else (0, 0)

    def value(self, x: Counts) -> int:
        return intervals.cheapest_cut(intervals.deviations(x) * PRICE_UNIT + round(self.price * PRICE_UNIT))[0]


def check_price(price: float, size: int = 1) -> None:
    """Raise unless it is a number that an interval can cost, in a domain of that size."""
    if not (isinstance(price, (int, float)) and math.isfinite(price) and 0 <= price * size < 2**40):
        raise BadInput("price", f"must be a public number between 0 and 2^40/{size}, got {price!r}", "pass for instance 2.0")
