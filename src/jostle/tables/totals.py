"""Sums and means of a column, of all rows or for each cell of another column.

Privacy: values are whole numbers on a public lattice between the declared bounds. A row that counts moves the sum of its
cell by no more than the larger bound, and one that changes also leaves a cell for another; the two numbers behind a mean
move by the bounds' width together. All sums are measured at once. Proof: docs/proofs/tables.md, "Sums and means".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import ibis
import numpy as np

from jostle.kernel.budget import Budget, exact
from jostle.kernel.errors import BadInput
from jostle.kernel.partition import Counts, Vector
from jostle.mechanisms.additive import discrete_laplace
from jostle.schema import Column, Integer, Numeric, Schema
from jostle.tables.columns import EngineColumns
from jostle.tables.figures import Figure, Figures
from jostle.tables.previews import Preview
from jostle.tables.readings import literal
from jostle.tables.stages import Expression
from jostle.tables.view import Rows

if TYPE_CHECKING:
    from jostle.tables.measure import Measurements

STEPS = 2**30
"""Values of a mean are rounded to this part of the bounds' width."""

MOST_GROUPS = 4096
"""For so many cells of another column there may be a sum each."""


@dataclass(frozen=True)
class Total:
    """A sum or a mean to be asked of a table: a question as others are."""

    table: Measurements
    kind: Literal["sum", "mean"]
    name: str
    by: str | None = None

    def __post_init__(self) -> None:
        numeric(self.table.schema, self.name)
        if self.by is not None and self.table.schema.column(self.by).size > MOST_GROUPS:
            raise BadInput("by", f"{self.by!r} has more than {MOST_GROUPS} cells", "group by a coarser column")

    @property
    def what(self) -> str:
        """In words."""
        return f"{self.kind} of {self.name}" + (f" by {self.by}" if self.by else "")

    def preview(self, *, epsilon: Any) -> Preview:
        """How far off a sum would be. A mean's error depends on how many rows there are, which is private."""
        if self.kind == "mean":
            problem = "a mean's error depends on the number of rows, which is private, and cannot be told before"
            raise BadInput("preview", problem, "preview the sum, and divide by about how many rows you expect")
        amount = exact(epsilon)
        margin = self._sum_margin(float(amount))
        return Preview(epsilon=amount, margin=margin, widest=margin, algorithm="Laplace", stand_in="Laplace")

    def release(self, *, epsilon: Any = None, within: float | None = None) -> Figure | Figures:
        """Ask it, and pay for it."""
        if within is not None:
            if epsilon is not None:
                raise BadInput("within", "says how close answers must be, and epsilon what they cost", "pass one of them")
            epsilon = self.epsilon_within(within)
        return self._sums(epsilon) if self.kind == "sum" else self._means(epsilon)

    def epsilon_within(self, within: Any) -> Any:
        """The ε at which a sum is expected to be so close, in 95 of 100 cases."""
        if isinstance(within, bool) or not isinstance(within, (int, float)) or not 0 < within < math.inf:
            raise BadInput("within", "must be a number above 0", "say how far answers may be off, for instance within=10")
        return exact(self.preview(epsilon=1).margin / within)

    def _sums(self, epsilon: Any) -> Figure | Figures:
        low, high, scale = self._lattice()
        budget = self._paid(epsilon)
        totals, _ = self._added_up(lambda plain: plain * literal(scale), None)
        noisy = discrete_laplace(totals, sensitivity=self._moves(low, high), budget=budget, note=self.what)
        margins = np.full(len(totals), self._sum_margin(float(budget.epsilon)))
        return self._figures(noisy / scale, margins, budget)

    def _means(self, epsilon: Any) -> Figure | Figures:
        """The two numbers behind each mean: how far values are above the lower bound, and how far below the upper one."""
        declared = numeric(self.table.schema, self.name)
        low, width = float(declared.low), float(declared.high) - float(declared.low)
        budget = self._paid(epsilon)
        points, rows = self._added_up(lambda plain: (plain - literal(low)) * literal(STEPS / width), STEPS)
        both = np.stack([points, STEPS * rows - points], axis=-1)
        noisy = discrete_laplace(both, sensitivity=(STEPS, 2 * STEPS), budget=budget, note=self.what)
        scale = float(budget.neighbours.sensitivity(STEPS, 2 * STEPS) / budget.epsilon)
        value, margins = low + width * share(noisy), []
        rng = np.random.default_rng(0)
        for pair, centre in zip(noisy, value, strict=True):
            again = low + width * share(pair + rng.laplace(scale=scale, size=(2000, 2)))
            margins.append(np.quantile(np.abs(again - centre), 0.95))
        return self._figures(value, np.array(margins), budget)

    def _lattice(self) -> tuple[int, int, float]:
        """The bounds as whole numbers, and how many of them a unit has."""
        declared = numeric(self.table.schema, self.name)
        far = max(-declared.low, declared.high)
        scale = 1.0 if isinstance(declared, Integer) else math.ldexp(1.0, 30 - math.frexp(far)[1])
        return math.floor(declared.low * scale), math.floor(declared.high * scale), scale

    def _moves(self, low: int, high: int) -> tuple[int, int]:
        """How far one row more or less, and one row changed, moves all sums together."""
        far = max(abs(low), abs(high))
        return far, max(far, high - low) if self.by is None else 2 * far

    def _sum_margin(self, epsilon: float) -> float:
        low, high, scale = self._lattice()
        return float(self.table._payer.neighbours.sensitivity(*self._moves(low, high))) / epsilon * math.log(20) / scale

    def _paid(self, epsilon: Any) -> Budget:
        columns = EngineColumns.of(self.table._views, [self.name])
        return self.table._payer.records(columns, epsilon, filtered=True, note=self.what)[1]

    def _added_up(self, point: Callable[[Expression], Expression], most: int | None) -> tuple[Counts, Counts]:
        """For each cell, the exact sum of points on a lattice over the rows with a number, and how many those are."""
        declared, cells = numeric(self.table.schema, self.name), 1 if self.by is None else self._group.size

        def value(rows: Rows) -> tuple[Expression, Expression, Expression]:
            cell, at = rows.cell(self.name), point(rows.table[self.name]).floor().cast("int64")
            counting = (cell >= 0) & (cell < declared.values)
            group = ibis.literal(0).cast("int64") if self.by is None else rows.cell(self.by)
            return counting & (group >= 0), at if most is None else (at > most).ifelse(most, at), group

        names = list(dict.fromkeys([self.name, *([self.by] if self.by else [])]))
        totals, rows = np.zeros(cells, dtype=np.int64), np.zeros(cells, dtype=np.int64)
        for view in self.table._views:
            groups, sums, counts = view.sums(names, value)
            np.add.at(totals, groups, sums)
            np.add.at(rows, groups, counts)
        return totals, rows

    @property
    def _group(self) -> Column:
        return self.table.schema.column(self.by)

    def _figures(self, values: Any, margins: Vector, budget: Budget) -> Figure | Figures:
        told: dict[str, Any] = {
            "spent": budget.epsilon,
            "remaining": self.table._payer.remaining,
            "neighbours": budget.neighbours,
        }
        if self.by is None:
            return Figure(what=self.what, value=float(values[0]), margin=float(margins[0]), **told)
        return Figures(
            what=self.what, name=self.kind, about={self.by: self._group.labels}, answers=values, margins=margins, **told
        )


def numeric(schema: Schema, name: str) -> Numeric:
    """A column of numbers, or an error that says so."""
    column = schema.column(name)
    if not isinstance(column, Numeric):
        raise BadInput("column", f"{name!r} is not declared as numbers", "use one that is an Integer or a Real")
    return column


def share(pair: Any) -> Any:
    """What part of the whole the first of two noisy numbers is; half where there seems to be nothing."""
    whole = pair.sum(axis=-1)
    return np.clip(np.where(whole > 0, pair[..., 0] / np.where(whole > 0, whole, 1), 0.5), 0.0, 1.0)
