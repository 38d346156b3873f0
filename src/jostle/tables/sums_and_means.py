"""Sums and means of a column, over all rows or per cell of another column.

Privacy: values are whole numbers on a public lattice between the declared bounds. A row that counts moves the sum of its
cell by no more than the larger bound, and one that changes also leaves a cell for another; the two numbers behind a mean
move by the bounds' width together. All sums are measured at once. Proof: docs/proofs/tables.md, "Sums and means".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

import ibis
import numpy as np

from jostle.answers.answer import remaining_after
from jostle.answers.previews import Preview
from jostle.answers.released_numbers import ReleasedNumber, ReleasedNumbers
from jostle.kernel.arguments import whole
from jostle.kernel.budget import Budget, Price, exact
from jostle.kernel.errors import BadInput
from jostle.kernel.noise import calibrate
from jostle.kernel.partition import Counts, Vector
from jostle.schema import Integer
from jostle.tables.cells.readings import literal
from jostle.tables.cells.staged_columns import Expression
from jostle.tables.columns import EngineColumns
from jostle.tables.question import Question, notes_on, numeric
from jostle.tables.run_in_engine import Query
from jostle.tables.view import CELL, COUNT, VALUE, EngineRows, whole_numbers

if TYPE_CHECKING:
    from jostle.tables.table import Table

STEPS = 2**30
"""Values of a mean are rounded to this part of the bounds' width."""

NARROWEST = 1e-250
"""A column's bounds are at least this far apart, or the lattice between them would be too fine for floats."""

MOST_WHOLE = 2**61
"""Sums count as no more than this. Clipping does not move them further apart."""

MOST_GROUPS = 4096
"""Another column that sums are grouped by has at most this many cells."""

_Noisily: TypeAlias = Callable[[Counts], Counts]


@dataclass(eq=False, repr=False)
class SumOrMeanQuestion(Question[ReleasedNumber | ReleasedNumbers]):
    """A sum or a mean of a column, over all rows or per cell of another column."""

    table: Table
    kind: Literal["sum", "mean"]
    name: str
    by: str | None = None

    def __post_init__(self) -> None:
        self._declared = numeric(self.table.schema, self.name)
        if self._declared.high - self._declared.low < NARROWEST:
            raise BadInput("column", f"{self.name!r} has bounds too close to each other", "declare it in a smaller unit")
        group = None if self.by is None else self.table.schema.column(self.by)
        if group is not None and group.size > MOST_GROUPS:
            raise BadInput("by", f"{self.by!r} has more than {MOST_GROUPS} cells", "group by a coarser column")
        self._labels = ["all"] if group is None else group.labels
        self.what = f"{self.kind} of {self.name}" + (f" by {self.by}" if self.by else "")

    def preview(self, *, epsilon: Any, rows: int | None = None) -> Preview:
        """How far off a sum would be; or a mean over this many rows: how many there really are is private."""
        price = Price.of(epsilon)
        pure = float(price.pure)
        margin = self._mean_margin(pure, rows) if self.kind == "mean" else self._sum_margin(pure)
        named = {"algorithm": "Laplace", "stand_in": "Laplace", "measure": price.measure}
        return Preview(epsilon=price.amount, margin=margin, widest=margin, **named)

    def check(self, epsilon: Any) -> None:
        """Refuse an ε for which noise cannot be drawn, before anything is charged or read."""
        calibrate(self.table.neighbours.sensitivity(*self._moved()), Price.of(epsilon).pure)

    def epsilon_within(self, within: Any) -> Fraction:
        """The ε at which a sum is expected to be that close, in 95 of 100 cases."""
        if self.kind == "mean":
            problem = "a mean's error depends on the number of rows, which is private, so that no ε follows from it"
            raise BadInput("within", problem, "say what the mean may cost, for instance epsilon=0.1")
        wish = float(exact(within, "within"))
        try:
            epsilon = exact(self.preview(epsilon=1).margin / wish)
            self.check(epsilon)
        except BadInput:  # which would speak of an ε that nobody named
            problem = "is so far from the column's bounds that noise cannot be drawn for it"
            raise BadInput("within", problem, "say how far the sum may be off, in the unit of the column") from None
        return epsilon

    def _release(self, epsilon: Any) -> ReleasedNumber | ReleasedNumbers:
        """Nothing is added up before the charge is made."""
        if epsilon is not None:
            self.check(epsilon)
        source, names = self.table._budget, list(dict.fromkeys([self.name, *([self.by] if self.by else [])]))
        queries = [view.sums_query(names, self._summands) for view in self.table._views]
        for query in queries:
            query.check()
        columns = replace(EngineColumns.of(self.table._views, names), leaves_out=True)  # rows without a number
        budget = source.records(columns, epsilon, note=self.what)[1]
        scale = calibrate(budget.neighbours.sensitivity(*self._moved()), budget.pure)
        noise = budget.draw(operator="discrete_laplace", note=source.noted(self.what))

        def noisily(values: Counts) -> Counts:
            return np.asarray(noise.discrete_laplace(values.reshape(-1), scale), dtype=np.int64).reshape(values.shape)

        totals, rows = self._added_up(queries)
        find = self._sums if self.kind == "sum" else self._means
        values, margins, between = find(totals, rows, budget, noisily)
        fields: dict[str, Any] = {"what": self.what, "between": between, "spent": budget.amount}
        fields |= {"remaining": remaining_after(budget, lambda: source.remaining)}
        counted = [self.by] if self.by else []
        fields |= {"neighbours": budget.neighbours, "charges": budget.charges}
        fields |= {"measure": budget.measure, "left_in": budget.left_in}
        fields |= {"notes": notes_on(self.table.schema, self.table.unit, counted, [self.name])}
        if self.by is None:
            return ReleasedNumber(value=float(values[0]), margin=float(margins[0]), **fields)
        return ReleasedNumbers(name=self.kind, about={self.by: self._labels}, answers=values, margins=margins, **fields)

    def _sums(
        self, totals: list[int], rows: list[int], budget: Budget, noisily: _Noisily
    ) -> tuple[Vector, Vector, tuple[float, float]]:
        """The sums, their margins, and no bounds."""
        margins = np.full(len(totals), self._sum_margin(float(budget.pure)))
        return noisily(_whole(totals)) / self._lattice()[2], margins, (-math.inf, math.inf)

    def _means(
        self, points: list[int], rows: list[int], budget: Budget, noisily: _Noisily
    ) -> tuple[Vector, Vector, tuple[float, float]]:
        """The means, their margins and bounds, by two numbers each: how far all values are above and below the bounds."""
        low, width = float(self._declared.low), float(self._declared.high) - float(self._declared.low)
        noisy = noisily(_whole([[above, STEPS * count - above] for above, count in zip(points, rows, strict=True)]))
        scale = float(budget.neighbours.sensitivity(STEPS, 2 * STEPS) / budget.pure)
        values = low + width * share(noisy)
        ends = low + width * np.array([interval(pair, scale) for pair in noisy])
        return values, np.abs(ends - values[:, np.newaxis]).max(axis=1), (low, low + width)

    def _lattice(self) -> tuple[int, int, float]:
        """The bounds as whole numbers, and how many of them a unit has.

        No point is beyond 2^30, so that an engine would need 2^33 rows for a sum that 64 bits do not hold. Large whole
        numbers are rounded down to a coarser lattice for that.
        """
        declared = self._declared
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
        moves = float(self.table.neighbours.sensitivity(*self._moved()))
        return moves / epsilon * math.log(20) / self._lattice()[2]

    def _mean_margin(self, epsilon: float, rows: int | None) -> float:
        """The noise of the two numbers behind a mean moves it by a part each, which add up to one over the rows."""
        expected = whole(rows)
        if expected is None or not 1 <= expected <= MOST_WHOLE:
            problem = "a mean's error depends on the number of rows, which is private and unknown before the release"
            raise BadInput("rows", problem, "say about how many you expect, for instance rows=1000")
        width, moves = float(self._declared.high) - float(self._declared.low), self.table.neighbours.sensitivity(1, 2)
        return width * min(float(moves) / epsilon * math.log(20) / expected, 1.0)

    def _summands(self, rows: EngineRows) -> tuple[Expression, Expression, Expression]:
        """Which rows count, the point on the lattice that each adds, and its group."""
        low, width = float(self._declared.low), float(self._declared.high) - float(self._declared.low)
        value, cell = rows.table[self.name], rows.cell(self.name)
        if self.kind == "sum":
            point = _point(value, self._lattice()[2])
        else:
            point = _point(value - literal(low), STEPS / width)
            point = (point > STEPS).ifelse(STEPS, point)
        group = ibis.literal(0).cast("int64") if self.by is None else rows.cell(self.by)
        return (cell >= 0) & (cell < self._declared.values) & (group >= 0), point, group

    def _added_up(self, queries: list[Query]) -> tuple[list[int], list[int]]:
        """Per cell, the exact sum of points over the rows with a number, and how many those are."""
        totals, rows = [0] * len(self._labels), [0] * len(self._labels)  # exact: sums of 64-bit numbers may wrap around
        for query in queries:
            found = query.fetch()
            sums = [int(total) for total in found[VALUE].to_pylist()]
            for group, total, count in zip(whole_numbers(found, CELL), sums, whole_numbers(found, COUNT), strict=True):
                totals[int(group)] += total
                rows[int(group)] += int(count)
        return totals, rows


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


# ------------------------------------------------------------------------------------------------- means as shares
#
# A mean between two bounds is a share: of how far all values together are above the lower one, in that and how far they
# are below the upper one. All of this is post-processing of the two noisy numbers.

MISSED: Final = 0.05
"""The chance that a true share is not in its interval."""

ALIKE: Final = 1e-5
"""Scales that differ by less count as equal: the formula for others would divide by next to nothing."""

_PLACES: Final = tuple(place / 64 for place in range(65))
_HALVINGS: Final = 50


def share(pair: Any) -> Any:
    """What part of the whole the first of two noisy numbers is, pair by pair; half where there seems to be nothing.

    >>> share(np.array([[30, 10], [-3, 1]])).tolist()
    [0.75, 0.5]
    """
    whole = pair.sum(axis=-1)
    return np.clip(np.where(whole > 0, pair[..., 0] / np.where(whole > 0, whole, 1), 0.5), 0.0, 1.0)


def interval(pair: Vector, scale: float) -> tuple[float, float]:
    """Between which shares the true one lies, in 95 of 100 cases, however few there are to share (Fieller 1954).

    The true numbers a and b have the share r = a / (a + b), for which a(1 − r) − b r = 0. With Laplace noise of a known
    scale on both, the same of the noisy numbers is pure noise, of a known law: the interval has all shares for which it is
    not too large for that. Where the whole cannot be distinguished from nothing, these are all shares there are.

    >>> low, high = interval(np.array([30_000.0, 10_000.0]), scale=10)
    >>> round(low, 4), round(high, 4)
    (0.7494, 0.7506)
    >>> interval(np.array([3.0, -1.0]), scale=10)
    (0.0, 1.0)
    """
    above, below = float(pair[0]), float(pair[1])

    def holds(r: float) -> bool:
        return _tail(abs(above * (1 - r) - below * r) / scale, 1 - r, r) >= MISSED

    places = sorted({*_PLACES, float(share(pair))})
    held = [place for place, r in enumerate(places) if holds(r)]
    if not held:
        return 0.0, 1.0
    first, last = held[0], held[-1]
    low = 0.0 if first == 0 else _border(places[first - 1], places[first], holds)
    high = 1.0 if last == len(places) - 1 else _border(places[last + 1], places[last], holds)
    return low, high


def _tail(far: float, one: float, other: float) -> float:
    """The chance that Laplace noise of one scale and of another add up to as much, on either side."""
    one, other = max(one, other), min(one, other)
    if one - other < ALIKE:
        return (1 + far / (2 * one)) * math.exp(-far / one)
    less = other**2 * math.exp(-far / other) if other else 0.0
    return (one**2 * math.exp(-far / one) - less) / (one**2 - other**2)


def _border(outside: float, inside: float, holds: Callable[[float], bool]) -> float:
    """Where the interval ends between two shares: the outer end of what is left after halving."""
    for _ in range(_HALVINGS):
        middle = (outside + inside) / 2
        outside, inside = (outside, middle) if holds(middle) else (middle, inside)
    return outside
