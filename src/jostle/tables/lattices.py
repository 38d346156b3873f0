"""Numbers of a column as whole numbers on a public lattice between its declared bounds, in an engine.

Rounding is monotone and the bounds are rounded as values are, so a row's point lies between those of the bounds. It is
held between them once more in the query, whatever an engine's arithmetic does. Proof: docs/proofs/totals.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import ibis

from jostle.kernel.errors import BadInput
from jostle.kernel.functions.totals import STEPS, Sum
from jostle.schema import Column, Integer, Numeric
from jostle.tables.cells.readings import literal
from jostle.tables.cells.staged_columns import Expression
from jostle.tables.view import EngineRows

NARROWEST = 1e-250
"""A column's bounds are at least this far apart, or the lattice between them would be too fine for floats."""

NO_NUMBER = -1
"""The point of a row without a number between the bounds."""


@dataclass(frozen=True)
class NumberLattice:
    """Whole numbers from 0 to `points`, for the values of a column from `start` on."""

    column: str
    declared: Numeric
    points: int
    rate: float
    """How many points a unit of the column has."""

    start: float
    """What is subtracted from a value before it is rounded down."""

    first: int
    """The point of the lower bound, which is subtracted afterwards."""

    @classmethod
    def between_bounds(cls, name: str, declared: Numeric) -> NumberLattice:
        """For means and variances: as many points as a mixture has, from the lower bound to the upper one."""
        _check_width(name, declared)
        low, width = float(declared.low), float(declared.high) - float(declared.low)
        return cls(name, declared, STEPS, STEPS / width, low, 0)

    @classmethod
    def of_sums(cls, name: str, declared: Numeric) -> NumberLattice:
        """For sums: a lattice with a point at 0, and single whole numbers where these fit.

        No point is beyond 2^30. Large whole numbers are rounded down to a coarser lattice for that.
        """
        _check_width(name, declared)
        rate = math.ldexp(1.0, 30 - math.frexp(max(abs(declared.low), abs(declared.high)))[1])
        if isinstance(declared, Integer):
            rate = min(1.0, rate)
        first = _bound(declared.low, rate)
        return cls(name, declared, _bound(declared.high, rate) - first, rate, 0.0, first)

    @property
    def sum(self) -> Sum:
        """The sum of the column, in points."""
        return Sum(self.column, self.first, self.first + self.points)

    def point(self, rows: EngineRows) -> Expression:
        """The point of each row; −1 if it has no number between the bounds."""
        value, cell = rows.table[self.column], rows.cell(self.column)
        above = value - literal(self.start) if self.start else value
        half = 0.5 / self.rate
        # What is nearer to 0 than half a point is 0: PostgreSQL does not suffer products that underflow.
        near = (above < literal(half)) & (above > literal(-half))
        point = ibis.ifelse(near, literal(0.0), above * literal(self.rate)).floor().cast("int64") - self.first
        held = ibis.cases((point < 0, 0), (point > self.points, self.points), else_=point)
        return ibis.ifelse((cell >= 0) & (cell < self.declared.values), held, NO_NUMBER).cast("int64")


@dataclass(frozen=True)
class Presence:
    """Whether a row has a value in a column: 0 if it has, and no number if not. Numbers count between the bounds."""

    column: str
    declared: Column

    def point(self, rows: EngineRows) -> Expression:
        cell = rows.cell(self.column)
        known = rows.table[self.column].notnull()
        if isinstance(self.declared, Numeric):
            known = (cell >= 0) & (cell < self.declared.values)
        return ibis.ifelse(known, 0, NO_NUMBER).cast("int64")


def _bound(value: float, rate: float) -> int:
    """A declared bound on the lattice, rounded as values are."""
    return 0 if abs(value) < 0.5 / rate else math.floor(value * rate)


def _check_width(name: str, declared: Numeric) -> None:
    if declared.high - declared.low < NARROWEST:
        raise BadInput("column", f"{name!r} has bounds too close to each other", "declare it in a smaller unit")
