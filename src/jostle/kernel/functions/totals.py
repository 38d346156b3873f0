"""Sums over records, one per cell: what a record adds to its cell, and how far a record moves all sums together.

A record is in one cell, and adds to the numbers of that cell only. What it adds is a whole number between public bounds
(`Sum`), or several that are never negative and add up to one public number (`Mixture`), from which counts, means and
variances follow. Proof: docs/proofs/totals.md.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import NamedTuple, Protocol, final, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from jostle.kernel.arguments import check_of_kernel, check_whole
from jostle.kernel.budget import PURE, Price, exact
from jostle.kernel.errors import BadInput
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.noise import Noise, calibrate, calibrate_square
from jostle.kernel.partition import Counts, Vector
from jostle.kernel.source import AddedNoise

MOST_POINTS = 2**31
"""A record's whole number is at most this far above the lower bound: 64 bits then hold the sum over 2^32 records."""

STEPS = 2**30
"""The points of a mixture."""

MOST_WHOLE = 2**61
"""Sums count as no more than this. Clipping does not move them further apart."""

Codes = NDArray[np.integer]
Exact = NDArray[np.object_]
"""Python's whole numbers, which do not overflow."""


class Contribution(NamedTuple):
    """What columns hold every person to, by a rule about that person's own records. None: what the neighbours say."""

    records: int | None = None
    """The most records of one person."""

    cells: int | None = None
    """The most cells in which one person has records."""

    per_cell: int | None = None
    """The most records of one person in one cell."""

    persons: bool = False
    """Whether the columns know which records are one person's."""


@dataclass(frozen=True)
class PowerSums:
    """Per cell, over the records that have a number: how many they are, and the sums of the numbers and their squares."""

    counted: Exact
    sums: Exact
    squares: Exact


@dataclass(frozen=True)
class CellSums:
    """What columns add up, exactly."""

    records: Exact
    """The records of each cell."""

    persons: Exact
    """The persons with records in each cell; zeros where nobody asked for them."""

    numbers: Mapping[str, PowerSums] = field(default_factory=dict)
    """By attribute."""

    def of(self, places: Counts) -> CellSums:
        """Those of some cells, and nothing of any other."""
        numbers = {
            name: PowerSums(*(sums[places] for sums in (one.counted, one.sums, one.squares)))
            for name, one in self.numbers.items()
        }
        return CellSums(self.records[places], self.persons[places], numbers)


@runtime_checkable
class SummedColumns(Protocol):
    """Columns that can be added up. Trusted code, as all columns are."""

    @property
    def numbers(self) -> Mapping[str, object]:
        """The attributes that can be added up, by name."""

    def cell_sums(self, by: Sequence[str], points: Mapping[str, int], *, squares: bool, persons: bool) -> CellSums:
        """Sums per combination of the values of `by`, the last one's changing fastest; without any, over all records.

        An attribute of `points` has a whole number from 0 to that many per record; any other code is no number.
        """

    def contribution(self, by: Sequence[str]) -> Contribution:
        """What `cell_sums` by these attributes holds every person to."""


class CellTotal(ABC):
    """Something that is added up per cell."""

    points: Mapping[str, int] = {}
    """The attribute that has the numbers, and the largest of them."""

    of_persons: bool = False
    """Whether persons are counted, not records."""

    squares: bool = False
    """Whether sums of squares are needed."""

    unit: int = 1
    """What a record, or one of a sum's units, counts as."""

    signed: bool = False
    """Whether one record may add to a number, and another take from it."""

    @abstractmethod
    def sensitivities(self, cells: int) -> tuple[int, int]:
        """How far, in L1 distance, a record that comes or goes moves the numbers of all cells, and one that is replaced."""

    @abstractmethod
    def squared_sensitivities(self, cells: int) -> tuple[int, int]:
        """The same in L2 distance, squared: for Gaussian noise."""

    @abstractmethod
    def values(self, sums: CellSums) -> Exact:
        """The numbers: one row per cell."""

    def squared_by_person(self, cells: int, person: Neighbours, per_cell: int) -> Fraction:
        """The squared L2 distance that one person moves them, with at most `per_cell` records in each cell."""
        added, replaced = self.squared_sensitivities(cells)
        full, rest = divmod(person.rows, min(per_cell, person.rows))
        spread = added * (full * min(per_cell, person.rows) ** 2 + rest**2)
        if person.relation == "replace":
            spread *= 4 if self.signed else 2
        return min(Fraction(spread), person.squared_sensitivity(added, replaced))

    def noisy(self, sums: CellSums, added: AddedNoise, noise: Noise) -> NoisyTotals:
        """The numbers, clipped to what can be measured, with noise."""
        clipped = np.ascontiguousarray(np.clip(self.values(sums), -MOST_WHOLE, MOST_WHOLE).astype(np.int64))
        return NoisyTotals(np.asarray(added.on(clipped, noise) / self.unit), *added.law(self.unit))


@final
@dataclass(frozen=True)
class RecordCount(CellTotal):
    """How many records each cell has; `persons` counts persons instead, each once in every cell with records of theirs."""

    of_persons: bool = False

    def sensitivities(self, cells: int) -> tuple[int, int]:
        return 1, min(cells, 2)

    squared_sensitivities = sensitivities

    def values(self, sums: CellSums) -> Exact:
        return (sums.persons if self.of_persons else sums.records)[:, np.newaxis]


@final
@dataclass(frozen=True)
class Sum(CellTotal):
    """The sum of a whole number per record, between public bounds; an attribute's code is how far it is above `low`."""

    attribute: str
    low: int
    high: int

    def __post_init__(self) -> None:
        check_whole(self.low, "low", "pass a public bound", least=-MOST_POINTS, most=MOST_POINTS)
        check_whole(self.high, "high", "pass a public bound above the other", least=self.low, most=self.low + MOST_POINTS)
        object.__setattr__(self, "points", {self.attribute: self.high - self.low})
        object.__setattr__(self, "signed", self.low < 0 < self.high)

    def sensitivities(self, cells: int) -> tuple[int, int]:
        far = max(abs(self.low), abs(self.high))
        return far, max(far, self.high - self.low) if cells == 1 else 2 * far

    def squared_sensitivities(self, cells: int) -> tuple[int, int]:
        far, apart = max(abs(self.low), abs(self.high)), self.high - self.low
        return far**2, max(far, apart) ** 2 if cells == 1 else max(apart**2, 2 * far**2)

    def values(self, sums: CellSums) -> Exact:
        found = sums.numbers[self.attribute]
        total: Exact = self.low * found.counted + found.sums
        return total[:, np.newaxis]


@final
@dataclass(frozen=True)
class Mixture(CellTotal):
    """Sums of the Bernstein polynomials of a number x from 0 to 1, over the records that have one.

    Those of degree 0 are 1, of degree 1 x and 1 − x, of degree 2 x², 2x(1 − x) and (1 − x)². A record's are never negative
    and add up to 1. With `rest`, one more number counts the records without a number. The attribute has the points of x
    from 0 to `STEPS`; sums are in this unit, but for degree 0.
    """

    attribute: str
    degree: int = 1
    rest: bool = False

    def __post_init__(self) -> None:
        check_whole(self.degree, "degree", "pass 1 for means, 2 for variances", least=0, most=2)
        object.__setattr__(self, "points", {self.attribute: STEPS})
        object.__setattr__(self, "squares", self.degree > 1)
        object.__setattr__(self, "unit", STEPS if self.degree else 1)

    def sensitivities(self, cells: int) -> tuple[int, int]:
        return self._once, 2 * self._once

    def squared_sensitivities(self, cells: int) -> tuple[int, int]:
        return self._once**2, 2 * self._once**2

    @property
    def _once(self) -> int:
        """What a record adds up to. Of degree 2, three sums are rounded down to the unit, which moves each by 1 at most."""
        return self.unit + (3 if self.squares else 0)

    def values(self, sums: CellSums) -> Exact:
        n, s, q = (getattr(sums.numbers[self.attribute], name) for name in ("counted", "sums", "squares"))
        if self.degree == 2:
            numbers = [q // STEPS, 2 * (STEPS * s - q) // STEPS, (STEPS**2 * n - 2 * STEPS * s + q) // STEPS]
        else:
            numbers = [s, STEPS * n - s] if self.degree else [n]
        return np.stack([*numbers, *([self.unit * (sums.records - n)] if self.rest else [])], axis=1)


class NoisyTotals(NamedTuple):
    """The noisy numbers of one total."""

    values: Vector
    """One row per cell, and along a leading axis per trial; in units, so that a record counts as 1."""

    scale: float
    """The scale of the discrete Laplace noise on each number, or the σ of Gaussian noise, in the same unit."""

    gaussian: bool = False
    """Whether the noise is Gaussian."""


@dataclass(frozen=True)
class WeightedTotals:
    """Several totals over the same cells, each with a share of one budget."""

    totals: Sequence[CellTotal]
    shares: Sequence[Fraction | int]

    def __post_init__(self) -> None:
        for total in self.totals:
            check_of_kernel(total, CellTotal, "totals")
        named = [name for total in self.totals for name in total.points]
        if not self.totals or len(self.totals) != len(self.shares) or len(set(named)) < len(named):
            raise BadInput(
                "totals", "must be one or more, with one share each, about different attributes", "ask for each once"
            )
        shares = [exact(share, "shares") for share in self.shares]
        object.__setattr__(self, "shares", tuple(share / sum(shares) for share in shares))

    @property
    def points(self) -> dict[str, int]:
        """The attributes with numbers, and the largest number of each."""
        return {name: most for total in self.totals for name, most in total.points.items()}

    def noises(self, cells: int, neighbours: Neighbours, held: Contribution, price: Price) -> list[AddedNoise]:
        """The noise of each, by what one person moves it and by its share of ε or ρ. Public."""
        found = []
        for one, share in zip(self.totals, self.shares, strict=True):
            person, amount = neighbours.bounded(held.cells if one.of_persons else held.records), price.amount * share
            if price.measure == PURE:
                scale = calibrate(person.sensitivity(*one.sensitivities(cells)), amount)
                found.append(AddedNoise("laplace", scale))
            else:
                per_cell = min(person.rows, (1 if one.of_persons and held.persons else held.per_cell) or person.rows)
                square = one.squared_by_person(cells, person, per_cell)
                found.append(AddedNoise("gaussian", calibrate_square(square, amount)))
        return found


def power_sums(cells: int, place: Codes, codes: Sequence[Codes], points: Sequence[int]) -> tuple[Exact, list[PowerSums]]:
    """In memory: the records of each cell, and the sums of each attribute's numbers, given each record's cell and codes."""
    found = []
    for code, most in zip(codes, points, strict=True):
        has, number = place[code <= most], code[code <= most].astype(object)
        found.append(PowerSums(*(_added(cells, has, amount) for amount in (1, number, number**2))))
    return _added(cells, place, 1), found


def _added(cells: int, place: Codes, amounts: Exact | int) -> Exact:
    sums = np.zeros(cells, dtype=object)
    np.add.at(sums, place, amounts)
    return sums
