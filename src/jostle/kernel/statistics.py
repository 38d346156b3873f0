"""Numbers about the data that are not linear, each with a lemma that bounds how far one record moves it.

A statistic's value is an exact integer in units of 1/unit, so that noise on it is discrete. `moves` gives its
sensitivities in units: when one record is added or removed, and when one is replaced.
Proofs: docs/proofs/statistics.md; tests/kernel/test_statistics.py tries them on random neighbours.

A score is a statistic with one value a candidate. Its `ranges` bound how far two candidates' scores may move apart:
a noisy maximum is calibrated to that. Where all scores move in the same direction it is half of what one would need
otherwise.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import final

import numpy as np

from jostle.kernel.errors import BadInput
from jostle.kernel.partition import Counts, Partition, Vector, check_partition
from jostle.kernel.strategy import LARGEST_TOTAL, Strategy, check_measurable

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
class GroupDeviation(Statistic):
    """The standard deviation of the totals of groups of cells, rounded down to the lattice.

    >>> GroupDeviation(Partition.intervals([0, 2], 4)).value(np.array([1, 2, 3, 4])) / LATTICE
    2.0
    """

    partition: Partition
    """The groups."""

    ddof: int = 0
    """0 divides the squares by the number of groups, 1 by one less."""

    def __post_init__(self) -> None:
        if self.ddof not in (0, 1) or self.partition.groups <= self.ddof:
            raise BadInput("ddof", "must be 0, or 1 with at least two groups", "leave it out")

    @property
    def name(self) -> str:
        """Its groups are public."""
        return f"GroupDeviation of {self.partition.groups} groups"

    def unit(self, size: int) -> int:
        """A square root is not rational: keep so much of it."""
        return LATTICE

    def moves(self, size: int) -> tuple[int, int]:
        """√(k−1)/k and √(2/k), or 1/√k and √(2/(k−1)) with one degree of freedom less; rounded up on the lattice."""
        k = self.partition.groups
        if k == 1:
            return 0, 0
        if self.ddof == 0:
            return _root_up(k - 1, k * k), _root_up(2, k)
        return _root_up(1, k), _root_up(2, k - 1)

    def value(self, x: Counts) -> int:
        """In exact integers up to the one root."""
        sums = [int(total) for total in self.partition.sums(x)]
        k = len(sums)
        spread = k * sum(s * s for s in sums) - sum(sums) ** 2
        return math.isqrt(spread * LATTICE**2 // (k * (k - self.ddof)))

    def check(self, size: int) -> None:
        """The groups must be those of the domain."""
        check_partition(self.partition, size)


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
        from jostle.kernel import intervals

        return intervals.cheapest_cut(intervals.deviations(x) * PRICE_UNIT + round(self.price * PRICE_UNIT))[0]


PRICE_UNIT = 2**10
"""Prices of intervals are rounded to this fraction of a record."""


def check_price(price: float, size: int = 1) -> None:
    """Raise unless it is a number that an interval can cost, in a domain of that size."""
    if not (isinstance(price, (int, float)) and math.isfinite(price) and 0 <= price * size < 2**40):
        raise BadInput("price", f"must be a public number between 0 and 2^40/{size}, got {price!r}", "pass for instance 2.0")


def _root_up(numerator: int, denominator: int) -> int:
    """√(numerator/denominator) on the lattice, rounded up."""
    return math.isqrt(numerator * LATTICE**2 // denominator) + 1


class Score(ABC):
    """One private number a candidate, of which the best is to be found."""

    @property
    def name(self) -> str:
        """What the ledger calls it; public facts alone."""
        return type(self).__name__

    @abstractmethod
    def ranges(self) -> tuple[int, int]:
        """How far one record moves two candidates' scores apart at most: added or removed, replaced."""

    @abstractmethod
    def values(self, x: Counts) -> Counts:
        """The true scores: for operators alone."""

    @abstractmethod
    def check(self, size: int, candidates: int) -> None:
        """Raise if it cannot be asked."""


@final
@dataclass(frozen=True, eq=False)
class QueryScore(Score):
    """The answer to each query of a strategy: the candidate that counts most.

    >>> from jostle.kernel.strategy import identity
    >>> QueryScore(identity(3)).ranges()
    (1, 2)
    """

    queries: Strategy
    """One row a candidate."""

    def ranges(self) -> tuple[int, int]:
        """A record adds one column to the scores, whose entries lie within the strategy's bounds."""
        low, high = self.queries.bounds
        return high - low, 2 * (high - low)

    def values(self, x: Counts) -> Counts:
        """The answers."""
        return np.asarray(self.queries.apply(x))

    def check(self, size: int, candidates: int) -> None:
        """One row a candidate, one column a cell."""
        _check_queries(self.queries, size, candidates)


@final
@dataclass(frozen=True, eq=False)
class QueryDistance(Score):
    """How far each query's answer is from a public estimate of it: the candidate that is known worst (MWEM's choice).

    >>> from jostle.kernel.strategy import identity
    >>> QueryDistance(identity(3), np.array([1.0, 2.0, 3.0])).ranges()[0] / QueryDistance(identity(3), np.zeros(3)).grain
    2.0
    """

    queries: Strategy
    """One row a candidate."""

    estimates: Vector
    """What each query is believed to answer."""

    grain: int = 2**10
    """Estimates are rounded to this fraction of the strategy's unit; a public choice."""

    def __post_init__(self) -> None:
        if not isinstance(self.grain, int) or not 1 <= self.grain <= 2**20:
            raise BadInput("grain", "must be a whole number from 1 to 2^20", "leave it out")

    def ranges(self) -> tuple[int, int]:
        """Each distance moves up or down as far as its answer does, so two of them move apart twice as far."""
        low, high = self.queries.bounds
        return 2 * max(-low, high) * self.grain, 2 * (high - low) * self.grain

    def values(self, x: Counts) -> Counts:
        """Distances from the rounded estimates, in exact integers."""
        rounded = np.round(np.asarray(self.estimates) * (self.queries.unit * self.grain)).astype(np.int64)
        return np.abs(np.asarray(self.queries.apply(x)) * self.grain - rounded)

    def check(self, size: int, candidates: int) -> None:
        """One row a candidate, one column a cell, one finite estimate a row."""
        _check_queries(self.queries, size, candidates)
        if np.shape(self.estimates) != (self.queries.rows,) or not np.isfinite(self.estimates).all():
            raise BadInput("estimates", f"must be {self.queries.rows} finite numbers", "pass one estimate a query")
        low, high = self.queries.bounds
        if max(np.abs(self.estimates).max() * self.queries.unit, max(-low, high) * LARGEST_TOTAL) * self.grain > 2**61:
            raise BadInput("estimates", "are too large to be compared exactly", "clip them to the possible counts")


@final
@dataclass(frozen=True)
class SplitScore(Score):
    """Where to cut a line of cells in two: how many records are on the wrong side of the cut, if all cells were alike.

    Candidate 0 is not to cut; it scores the price, a public number. Candidate c cuts before cell c; it scores |S_c − S·c/k|,
    where S_c is the sum of the first c of k cells and S that of all, in units of 1/k.

    >>> SplitScore(cells=4, price=1.5).values(np.array([0, 0, 4, 4])).tolist()
    [6, 8, 16, 8]
    """

    cells: int
    """The number of cells of the line."""

    price: float
    """What a cut has to be worth, in records."""

    def ranges(self) -> tuple[int, int]:
        """A record in cell i moves score c by k − c if c > i, else by c, up or down; a replaced one by at most k."""
        k = self.cells
        return (0, 0) if k == 1 else (2 * k - 3, k if k == 2 else 2 * k)

    def values(self, x: Counts) -> Counts:
        """In exact integers."""
        sums = np.cumsum(x)
        wrong = np.abs(self.cells * sums[:-1] - np.arange(1, self.cells) * sums[-1])
        return np.concatenate([[round(self.price * self.cells)], wrong])

    def check(self, size: int, candidates: int) -> None:
        """One candidate a cell, and numbers that fit in 64 bits."""
        if type(self.cells) is not int or not size == candidates == self.cells:
            raise BadInput(
                "candidates", f"must be one for each of {size} cells: no cut, or a cut before cell c", "pass range(cells)"
            )
        check_price(self.price, size)
        if size * LARGEST_TOTAL > 2**62:
            raise BadInput("cells", f"must be at most {2**62 // LARGEST_TOTAL}", "reduce the domain first")


def _check_queries(queries: Strategy, size: int, candidates: int) -> None:
    check_measurable(queries)
    if queries.size != size or queries.rows != candidates:
        raise BadInput(
            "queries", f"have {queries.rows} rows over {queries.size} cells, not {candidates} over {size}", "make them fit"
        )
