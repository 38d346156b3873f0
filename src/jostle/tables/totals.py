"""Sums and means of a column, of all rows or for each cell of another column.

Privacy: values are whole numbers on a public lattice between the declared bounds. A row that counts moves the sum of its
cell by no more than the larger bound, and one that changes also leaves a cell for another; the two numbers behind a mean
move by the bounds' width together. All sums are measured at once. Proof: docs/proofs/tables.md, "Sums and means".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import ibis
import numpy as np

from jostle.answers.previews import Preview
from jostle.answers.release import what_is_left
from jostle.answers.released_numbers import Figure, Figures
from jostle.kernel.budget import Budget, exact
from jostle.kernel.errors import BadInput
from jostle.kernel.noise import calibrate
from jostle.kernel.partition import Counts, Vector
from jostle.schema import Column, Integer, Numeric, Schema
from jostle.schema.arguments import whole
from jostle.tables.cells.readings import literal
from jostle.tables.cells.staged_columns import Expression
from jostle.tables.columns import EngineColumns
from jostle.tables.ratios import interval, share
from jostle.tables.view import Rows

if TYPE_CHECKING:
    from jostle.tables.measurements import Measurements

STEPS = 2**30
"""Values of a mean are rounded to this part of the bounds' width."""

NARROWEST = 1e-250
"""A column's bounds are so far apart at least, or the lattice between them would be too fine for floats."""

MOST_WHOLE = 2**61
"""Sums count as no more than this. Clipping does not move them further apart."""

MOST_GROUPS = 4096
"""For so many cells of another column there may be a sum each."""

_Left: TypeAlias = Callable[[Fraction], Fraction]


@dataclass(frozen=True)
class Total:
    """A sum or a mean to be asked of a table: a question as others are."""

    table: Measurements
    kind: Literal["sum", "mean"]
    name: str
    by: str | None = None

    def __post_init__(self) -> None:
        declared = numeric(self.table.schema, self.name)
        if declared.high - declared.low < NARROWEST:
            raise BadInput("column", f"{self.name!r} has bounds too close to each other", "declare it in a smaller unit")
        if self.by is not None and self.table.schema.column(self.by).size > MOST_GROUPS:
            raise BadInput("by", f"{self.by!r} has more than {MOST_GROUPS} cells", "group by a coarser column")

    @property
    def what(self) -> str:
        """In words."""
        return f"{self.kind} of {self.name}" + (f" by {self.by}" if self.by else "")

    def preview(self, *, epsilon: Any, rows: int | None = None) -> Preview:
        """How far off a sum would be; or a mean, if it were over so many rows: how many there are is private."""
        amount = exact(epsilon)
        margin = self._mean_margin(float(amount), rows) if self.kind == "mean" else self._sum_margin(float(amount))
        return Preview(epsilon=amount, margin=margin, widest=margin, algorithm="Laplace", stand_in="Laplace")

    def check(self, epsilon: Any) -> None:
        """Refuse too small an ε, before anything is taken or asked."""
        calibrate(self.table._payer.neighbours.sensitivity(*self._moved()), exact(epsilon))

    def release(self, *, epsilon: Any = None, within: float | None = None) -> Figure | Figures:
        """Ask it, and pay for it."""
        if within is not None:
            if epsilon is not None:
                raise BadInput("within", "says how close answers must be, and epsilon what they cost", "pass one of them")
            epsilon = self.epsilon_within(within)
        return self._sums(epsilon) if self.kind == "sum" else self._means(epsilon)

    def epsilon_within(self, within: Any) -> Any:
        """The ε at which a sum is expected to be so close, in 95 of 100 cases."""
        if self.kind == "mean":
            problem = "a mean's error depends on the number of rows, which is private, so no ε can be told from it"
            raise BadInput("within", problem, "say what the mean may cost, for instance epsilon=0.1")
        wish = float(exact(within, "within"))
        try:
            epsilon = exact(self.preview(epsilon=1).margin / wish)
            self.check(epsilon)
        except BadInput:  # which would speak of an ε that nobody named
            problem = "is so far from the column's bounds that noise cannot be drawn for it"
            raise BadInput("within", problem, "say how far the sum may be off, in the unit of the column") from None
        return epsilon

    def _sums(self, epsilon: Any) -> Figure | Figures:
        scale = self._lattice()[2]
        budget, left, noisily = self._charged(epsilon)
        totals, _ = self._added_up(lambda plain: _point(plain, scale), None)
        noisy = noisily(_whole(totals))
        margins = np.full(len(totals), self._sum_margin(float(budget.epsilon)))
        return self._figures(noisy / scale, margins, budget, left)

    def _means(self, epsilon: Any) -> Figure | Figures:
        """The two numbers behind each mean: how far values are above the lower bound, and how far below the upper one."""
        declared = numeric(self.table.schema, self.name)
        low, width = float(declared.low), float(declared.high) - float(declared.low)
        budget, left, noisily = self._charged(epsilon)
        points, rows = self._added_up(lambda plain: _point(plain - literal(low), STEPS / width), STEPS)
        both = _whole([[above, STEPS * count - above] for above, count in zip(points, rows, strict=True)])
        noisy = noisily(both)
        scale = float(budget.neighbours.sensitivity(STEPS, 2 * STEPS) / budget.epsilon)
        value, margins = low + width * share(noisy), []
        for pair, centre in zip(noisy, value, strict=True):
            ends = low + width * np.array(interval(pair, scale))
            margins.append(np.abs(ends - centre).max())
        return self._figures(value, np.array(margins), budget, left, between=(low, low + width))

    def _lattice(self) -> tuple[int, int, float]:
        """The bounds as whole numbers, and how many of them a unit has.

        No point is beyond 2^30, so that an engine would need 2^33 rows for a sum that 64 bits do not hold. Large whole
        numbers are rounded down to a coarser lattice for that.
        """
        declared = numeric(self.table.schema, self.name)
        far = max(abs(declared.low), abs(declared.high))
        scale = math.ldexp(1.0, 30 - math.frexp(far)[1])
        if isinstance(declared, Integer):
            scale = min(1.0, scale)
        return _bound(declared.low, scale), _bound(declared.high, scale), scale

    def _moved(self) -> tuple[int, int]:
        """How far one row more or less, and one row changed, moves all that is measured."""
        return self._moves(*self._lattice()[:2]) if self.kind == "sum" else (STEPS, 2 * STEPS)

    def _moves(self, low: int, high: int) -> tuple[int, int]:
        """The same for all sums together, by the bounds of one row's."""
        far = max(abs(low), abs(high))
        return far, max(far, high - low) if self.by is None else 2 * far

    def _sum_margin(self, epsilon: float) -> float:
        moves = float(self.table._payer.neighbours.sensitivity(*self._moved()))
        return moves / epsilon * math.log(20) / self._lattice()[2]

    def _mean_margin(self, epsilon: float, rows: int | None) -> float:
        """The noise of the two numbers behind a mean moves it by a part each, which add up to one over the rows."""
        expected = whole(rows)
        if expected is None or not 1 <= expected <= MOST_WHOLE:
            problem = "a mean's error depends on the number of rows, which is private, and cannot be told before"
            raise BadInput("rows", problem, "say about how many you expect, for instance rows=1000")
        declared = numeric(self.table.schema, self.name)
        width, moves = float(declared.high) - float(declared.low), float(self.table._payer.neighbours.sensitivity(1, 2))
        return width * min(moves / epsilon * math.log(20) / expected, 1.0)

    def _charged(self, epsilon: Any) -> tuple[Budget, _Left, Callable[[Counts], Counts]]:
        """The token, which is spent, what tells how much is left, and what adds its noise to numbers.

        Nothing is added up before the charge is made.
        """
        if epsilon is not None:
            self.check(epsilon)
        columns = EngineColumns.of(self.table._views, self._names)
        budget = self.table._paid(columns, epsilon, filtered=True, note=self.what)[1]
        left = what_is_left(lambda: self.table._payer.remaining)
        scale = calibrate(budget.neighbours.sensitivity(*self._moved()), budget.epsilon)
        noise = budget.draw(operator="discrete_laplace", note=self.table._payer.noted(self.what))

        def noisily(values: Counts) -> Counts:
            return np.asarray(noise.discrete_laplace(values.reshape(-1), scale), dtype=np.int64).reshape(values.shape)

        return budget, left, noisily

    @property
    def _names(self) -> list[str]:
        return list(dict.fromkeys([self.name, *([self.by] if self.by else [])]))

    def _added_up(self, point: Callable[[Expression], Expression], most: int | None) -> tuple[list[int], list[int]]:
        """For each cell, the exact sum of points on a lattice over the rows with a number, and how many those are."""
        declared, cells = numeric(self.table.schema, self.name), 1 if self.by is None else self._group.size

        def value(rows: Rows) -> tuple[Expression, Expression, Expression]:
            cell, at = rows.cell(self.name), point(rows.table[self.name])
            counting = (cell >= 0) & (cell < declared.values)
            group = ibis.literal(0).cast("int64") if self.by is None else rows.cell(self.by)
            return counting & (group >= 0), at if most is None else (at > most).ifelse(most, at), group

        totals, rows = [0] * cells, [0] * cells  # of any size, because a sum of 64-bit numbers may wrap around
        for view in self.table._views:
            for group, total, count in zip(*view.sums(self._names, value), strict=True):
                totals[int(group)] += total
                rows[int(group)] += int(count)
        return totals, rows

    @property
    def _group(self) -> Column:
        return self.table.schema.column(self.by)

    def _figures(
        self,
        values: Any,
        margins: Vector,
        budget: Budget,
        left: _Left,
        between: tuple[float, float] = (-math.inf, math.inf),
    ) -> Figure | Figures:
        told: dict[str, Any] = {
            "between": between,
            "spent": budget.epsilon,
            "remaining": left(budget.epsilon),
            "neighbours": budget.neighbours,
            "charges": budget.charges,
        }
        if self.by is None:
            return Figure(what=self.what, value=float(values[0]), margin=float(margins[0]), **told)
        return Figures(
            what=self.what, name=self.kind, about={self.by: self._group.labels}, answers=values, margins=margins, **told
        )


def _point(value: Expression, scale: float) -> Expression:
    """A value on the lattice: rounded down, but to 0 if it is nearer to it than half a point.

    A product of very small numbers would underflow, which PostgreSQL does not suffer; so it is not computed.
    """
    half = 0.5 / scale
    near = (value < literal(half)) & (value > literal(-half))
    return ibis.ifelse(near, literal(0.0), value * literal(scale)).floor().cast("int64")


def _bound(value: float, scale: float) -> int:
    """A declared bound on the lattice, rounded as values are."""
    return 0 if abs(value) < 0.5 / scale else math.floor(value * scale)


def _whole(numbers: Any) -> Counts:
    """Whole numbers of any size, clipped to what can be measured."""
    clipped: Counts = np.clip(np.array(numbers, dtype=object), -MOST_WHOLE, MOST_WHOLE).astype(np.int64)
    return clipped


def numeric(schema: Schema, name: str) -> Numeric:
    """A column of numbers, or an error that says so."""
    column = schema.column(name)
    if not isinstance(column, Numeric):
        raise BadInput("column", f"{name!r} is not declared as numbers", "use one that is an Integer or a Real")
    return column
