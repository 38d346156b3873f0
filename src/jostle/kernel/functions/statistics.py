"""Numbers about the data that are not linear, each with a lemma that bounds how far one record moves it.

A statistic's value is an exact integer in units of 1/unit, so that noise on it is discrete. `moves` gives its
sensitivities in units: when one record is added or removed, and when one is replaced.
Proofs: docs/proofs/statistics.md; tests/kernel/test_statistics.py tries them on random neighbours.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import numpy as np

from jostle.kernel.arrays import LARGEST_TOTAL
from jostle.kernel.errors import BadInput
from jostle.kernel.partition import Counts

LATTICE = 2**20
"""Statistics that are not rational are rounded down to this fraction of one."""


class Statistic(ABC):
    """A private number with a proven sensitivity."""

    @property
    def name(self) -> str:
        """What the ledger calls it; public facts alone."""
        return type(self).__name__

    def unit(self, size: int) -> int:
        """The value is a whole multiple of 1/unit."""
        return 1

    @abstractmethod
    def moves(self, size: int) -> tuple[int, int]:
        """How far one record moves it, in units: added or removed, replaced. `size` is the number of cells."""

    @abstractmethod
    def value(self, x: Counts) -> int:
        """The true value in units: for operators alone."""

    def check(self, size: int) -> None:
        """Raise if it cannot be asked of a domain of that size."""


@final
@dataclass(frozen=True)
class Scale(Statistic):
    """The number of records.

    >>> Scale().value(np.array([3, 0, 4])), Scale().moves(3)
    (7, (1, 0))
    """

    def moves(self, size: int) -> tuple[int, int]:
        """A record counts once; replacing it changes nothing."""
        return 1, 0

    def value(self, x: Counts) -> int:
        """The total."""
        return int(x.sum())


@final
@dataclass(frozen=True)
class NonZeroCells(Statistic):
    """The number of cells that are not empty.

    >>> NonZeroCells().value(np.array([3, 0, 4])), NonZeroCells().moves(3)
    (2, (1, 1))
    """

    def moves(self, size: int) -> tuple[int, int]:
        """One cell fills or empties; a replaced record may fill one and empty another, or only one of the two."""
        return (1, 1) if size > 1 else (1, 0)

    def value(self, x: Counts) -> int:
        """Count them."""
        return int(np.count_nonzero(x))


@final
@dataclass(frozen=True)
class LargestCell(Statistic):
    """The largest count.

    >>> LargestCell().value(np.array([3, 0, 4]))
    4
    """

    def moves(self, size: int) -> tuple[int, int]:
        """A maximum moves no further than what it is taken over."""
        return (1, 1) if size > 1 else (1, 0)

    def value(self, x: Counts) -> int:
        """The maximum."""
        return int(x.max())


@final
@dataclass(frozen=True)
class TotalVariation(Statistic):
    """Half the L1 distance from the uniform vector of the same total: what lies above the mean.

    >>> TotalVariation().value(np.array([3, 0, 3])) / TotalVariation().unit(3), TotalVariation().moves(3)
    (2.0, (2, 3))
    """

    def unit(self, size: int) -> int:
        """The mean is a multiple of 1/size."""
        return size

    def check(self, size: int) -> None:
        """In units of 1/size the value must fit in 64 bits, whatever the data."""
        if size * LARGEST_TOTAL > 2**62:
            raise BadInput("statistic", f"is exact over at most {2**62 // LARGEST_TOTAL} cells", "reduce the domain first")

    def moves(self, size: int) -> tuple[int, int]:
        """1 − 1/d, and 1."""
        return size - 1, size if size > 1 else 0

    def value(self, x: Counts) -> int:
        """The counts above the mean, less the mean, times the number of cells."""
        total = int(x.sum())
        above = x[x > total // x.size]
        return x.size * int(above.sum()) - above.size * total


@final
@dataclass(frozen=True)
class PartitionCost(Statistic):
    """Partitionality: what the cheapest cut into intervals costs, by deviation from the median plus a price an interval.

    >>> PartitionCost(price=3.0).value(np.array([1, 1, 5, 5])) / PartitionCost(price=3.0).unit(4)
    6.0
    """

    price: float
    """What an interval costs besides its deviation: a public number, such as the noise on its total."""

    def __post_init__(self) -> None:
        check_price(self.price)

    def unit(self, size: int) -> int:
        """The price is kept to so much of a record."""
        return PRICE_UNIT

    def check(self, size: int) -> None:
        """The prices of all intervals together must fit in 64 bits."""
        check_price(self.price, size)

    def moves(self, size: int) -> tuple[int, int]:
        """Every cut has one interval with the record, whose deviation moves by at most 1; so does the least cost."""
        return (PRICE_UNIT, 2 * PRICE_UNIT) if size > 1 else (0, 0)

    def value(self, x: Counts) -> int:
        """By dynamic programming."""
        from jostle.kernel.functions import intervals

        return intervals.cheapest_cut(intervals.deviations(x) * PRICE_UNIT + round(self.price * PRICE_UNIT))[0]


PRICE_UNIT = 2**10
"""Prices of intervals are rounded to this fraction of a record."""


def check_price(price: float, size: int = 1) -> None:
    """Raise unless it is a number that an interval can cost, in a domain of that size."""
    if not (isinstance(price, (int, float)) and math.isfinite(price) and 0 <= price * size < 2**40):
        raise BadInput("price", f"must be a public number between 0 and 2^40/{size}, got {price!r}", "pass for instance 2.0")
