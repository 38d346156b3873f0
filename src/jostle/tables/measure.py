"""What may be asked of a private table, each with its price. Everything is checked before anything is charged.

Privacy: a row is in one cell of a histogram, so counts go into a source of the kernel, whose lemmas hold; some rows may not
count, which `filtered` says. Sums and means are of whole numbers on a public lattice between the declared bounds; a row
moves them by no more than those bounds, and by that much when it begins or ceases to count. Proof: docs/proofs/tables.md.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from jostle.kernel.errors import BadInput, InternalError
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.source import ReleaseSource
from jostle.linear import workloads
from jostle.linear.workloads import Workload
from jostle.mechanisms.additive import discrete_laplace
from jostle.releases import Release, answered, planned
from jostle.schema import Column, Integer, Numeric, Schema
from jostle.tables.columns import EngineColumns
from jostle.tables.figures import Figure
from jostle.tables.previews import Preview, epsilon_within, preview
from jostle.tables.readings import literal
from jostle.tables.stages import Expression
from jostle.tables.view import Rows, View

if TYPE_CHECKING:
    from jostle.tables.payers import Payer

LARGEST_HISTOGRAM = 2**24
"""So many cells a histogram of a table may have."""

ROWS = "rows"
STEPS = 2**30
"""Values of a mean are rounded to this part of the bounds' width."""


class Measurements(ABC):
    """The measurements, over whatever has views and a payer."""

    _views: tuple[View, ...]
    _payer: Payer

    @property
    @abstractmethod
    def schema(self) -> Schema:
        """The columns that may be asked about."""

    @property
    @abstractmethod
    def _filtered(self) -> bool:
        """Whether some rows of the table do not count."""

    def count(self, *, epsilon: Any = None, within: float | None = None) -> Release:
        """The number of rows."""
        columns = EngineColumns(self._views, {ROWS: 1}, {ROWS: ((), np.zeros(1, dtype=np.int64))})
        asked = Question(self, columns, [ROWS], workloads.identity(1), {"figure": ["count"]}, "count", "Laplace")
        return asked.release(epsilon=epsilon, within=within)

    def histogram(
        self, *columns: str, epsilon: Any = None, within: float | None = None, algorithm: str | None = None, **tunables: Any
    ) -> Release:
        """How many rows are in each cell of a column, or in each combination of two columns' cells.

        `within` asks for the ε at which answers are expected to be so close, in 95 of 100 cases.
        """
        return self.ask(*columns, algorithm=algorithm, **tunables).release(epsilon=epsilon, within=within)

    def ranges(
        self,
        column: str,
        ranges: Workload | Sequence[tuple[Any, Any]],
        *,
        epsilon: Any = None,
        within: float | None = None,
        algorithm: str | None = None,
        **tunables: Any,
    ) -> Release:
        """How many rows lie in each of some ranges of a column.

        A range is a pair of its first and its last value, such as (18, 64), and has all cells from the one's to the other's.
        A workload over the column's cells can be passed, too.
        """
        return self.ask_ranges(column, ranges, algorithm=algorithm, **tunables).release(epsilon=epsilon, within=within)

    def ask(self, *columns: str, algorithm: str | None = None, **tunables: Any) -> Question:
        """The question behind `histogram`, to preview before it is paid for."""
        if len(columns) not in (1, 2) or len(set(columns)) != len(columns):
            raise BadInput("columns", f"are {len(columns)}, or twice the same", "ask for a histogram of one or two columns")
        shape = tuple(self.schema.column(name).size for name in columns)
        if math.prod(shape) > LARGEST_HISTOGRAM:
            problem = f"have {math.prod(shape):,} cells together, and a histogram has at most {LARGEST_HISTOGRAM:,}"
            raise BadInput("columns", problem, "put the columns into fewer cells with bin(), or ask for them one by one")
        labels = list(product(*(self.schema[name].labels for name in columns)))
        about = {name: [label[place] for label in labels] for place, name in enumerate(columns)}
        asked = workloads.identity(shape if len(shape) > 1 else shape[0])
        what = f"histogram of {' and '.join(columns)}"
        return Question(self, EngineColumns.of(self._views, columns), columns, asked, about, what, algorithm, tunables)

    def ask_ranges(
        self, column: str, ranges: Workload | Sequence[tuple[Any, Any]], *, algorithm: str | None = None, **tunables: Any
    ) -> Question:
        """The question behind `ranges`, to preview before it is paid for."""
        declared = self.schema.column(column)
        asked, about = _asked_ranges(declared, ranges)
        columns = EngineColumns.of(self._views, [column])
        return Question(self, columns, [column], asked, about, f"ranges of {column}", algorithm, tunables)

    def sum(self, column: str, *, epsilon: Any = None) -> Figure:
        """The sum of a column, clipped to its declared bounds. Rows without a number between them count as 0."""
        declared = _numeric(self.schema, column)
        scale = (
            1.0 if isinstance(declared, Integer) else math.ldexp(1.0, 30 - math.frexp(max(-declared.low, declared.high))[1])
        )
        low, high = math.floor(declared.low * scale), math.floor(declared.high * scale)
        far = max(abs(low), abs(high))
        _, budget = self._paid(column, epsilon, f"sum of {column}")
        total, _ = self._sums(column, declared, lambda plain: plain * literal(scale))
        noisy = discrete_laplace(total, sensitivity=(far, max(far, high - low)), budget=budget, note=f"sum of {column}")
        size = budget.neighbours.sensitivity(far, max(far, high - low))
        margin = float(size / budget.epsilon) * math.log(20) / scale
        return self._figure(f"sum of {column}", noisy / scale, margin, budget)

    def mean(self, column: str, *, epsilon: Any = None) -> Figure:
        """The mean of a column, clipped to its declared bounds, over the rows that have a number between them.

        How far the values are above the lower bound and how far below the upper one are measured together, at the price of
        one, as in `jostle.mechanisms.clipped_mean`.
        """
        declared = _numeric(self.schema, column)
        low, width = float(declared.low), float(declared.high) - float(declared.low)
        _, budget = self._paid(column, epsilon, f"mean of {column}")
        points, rows = self._sums(column, declared, lambda plain: (plain - literal(low)) * literal(STEPS / width), STEPS)
        both = np.array([points, STEPS * rows - points])
        noisy = discrete_laplace(both, sensitivity=(STEPS, 2 * STEPS), budget=budget, note=f"mean of {column}")
        scale = float(budget.neighbours.sensitivity(STEPS, 2 * STEPS) / budget.epsilon)
        again = noisy + np.random.default_rng(0).laplace(scale=scale, size=(4000, 2))
        value, others = (low + width * _share(pair) for pair in (noisy, again))
        return self._figure(f"mean of {column}", float(value), float(np.quantile(np.abs(others - value), 0.95)), budget)

    def _paid(self, column: str, epsilon: Any, note: str) -> tuple[Any, Any]:
        return self._payer.records(EngineColumns.of(self._views, [column]), epsilon, filtered=True, note=note)

    def _sums(self, name: str, column: Numeric, point: Any, most: int | None = None) -> tuple[int, int]:
        """The exact sum of points on a lattice over the rows with a number, and how many those are."""

        def value(rows: Rows) -> tuple[Expression, Expression]:
            cell, at = rows.cell(name), point(rows.table[name]).floor().cast("int64")
            counting = (cell >= 0) & (cell < column.values)
            return counting, at if most is None else (at > most).ifelse(most, at)

        sums = [view.sums(name, value) for view in self._views]
        return sum(total for total, _ in sums), sum(rows for _, rows in sums)

    def _figure(self, what: str, value: float, margin: float, budget: Any) -> Figure:
        return Figure(
            what=what,
            value=float(value),
            margin=margin,
            spent=budget.epsilon,
            remaining=self._payer.remaining,
            neighbours=budget.neighbours,
        )


class Question:
    """Something to be asked of a table: it can be previewed at no cost, and released at a price."""

    def __init__(
        self,
        table: Measurements,
        columns: EngineColumns,
        names: Sequence[str],
        asked: Workload,
        about: Mapping[str, Sequence[str]],
        what: str,
        algorithm: str | None = None,
        tunables: dict[str, Any] | None = None,
    ) -> None:
        self._table, self._columns, self._names = table, columns, names
        self.workload, self.about, self.what = asked, about, what
        self._tunables = tunables or {}
        if "seed" in self._tunables:
            raise BadInput("seed", "a release cannot be seeded", "leave it out")
        self.algorithm, self._why = planned(asked, algorithm, self._tunables)

    def preview(self, *, epsilon: Any) -> Preview:
        """How far answers would be off: from public things alone, at no cost."""
        return preview(self.algorithm, self.workload, epsilon, self._neighbours, self._tunables)

    def epsilon_within(self, within: float) -> Any:
        """The ε at which answers are expected to be so close, in 95 of 100 cases."""
        return epsilon_within(within, partial(self.preview))

    def release(self, *, epsilon: Any = None, within: float | None = None) -> Release:
        """Ask it, and pay for it."""
        if within is not None:
            if epsilon is not None:
                raise BadInput("within", "says how close answers must be, and epsilon what they cost", "pass one of them")
            epsilon = self.epsilon_within(within)
        note = f"{self.algorithm.name}: {self.what}"[:400]
        payer = self._table._payer
        records, budget = payer.records(self._columns, epsilon, filtered=self._filtered, note=note)
        source = records.vector(*self._names)
        if not isinstance(source, ReleaseSource):
            raise InternalError("a release became a simulation")
        return answered(
            source,
            budget,
            self.workload,
            self.algorithm,
            self._why,
            remaining=lambda: payer.remaining,
            tunables=self._tunables,
            about=self.about,
        )

    @property
    def _filtered(self) -> bool:
        declared = self._table.schema
        return self._table._filtered or any(declared[name].drops for name in self._names if name in declared)

    @property
    def _neighbours(self) -> Neighbours:
        neighbours = self._table._payer.neighbours
        return neighbours.among_filtered() if self._filtered else neighbours

    def __repr__(self) -> str:
        return f"<Question: {self.what}, by {self.algorithm.name}>"


def _asked_ranges(column: Column, ranges: Any) -> tuple[Workload, dict[str, list[str]]]:
    if isinstance(ranges, Workload):
        ranges.check((column.size,))
        return ranges, {"query": [str(number) for number in range(ranges.shape[0])]}
    try:
        pairs = [(first, last) for first, last in ranges]
    except (TypeError, ValueError):
        pairs = []
    if not pairs:
        raise BadInput("ranges", "must be pairs of a first and a last value", "pass for instance [(0, 17), (18, 64)]")
    cells = np.array([column.encode([first, last]) for first, last in pairs])
    if (cells < 0).any() or (cells[:, 0] > cells[:, 1]).any():
        raise BadInput(
            "ranges", "have ends that are no values of the column, or in the wrong order", "write the first one first"
        )
    asked = workloads.ranges(column.size, cells[:, 0], cells[:, 1] + 1)
    return asked, {"first": [str(first) for first, _ in pairs], "last": [str(last) for _, last in pairs]}


def _numeric(schema: Schema, name: str) -> Numeric:
    column = schema.column(name)
    if not isinstance(column, Numeric):
        raise BadInput("column", f"{name!r} is not declared as numbers", "use one that is an Integer or a Real")
    return column


def _share(pair: Any) -> Any:
    """What part of the whole the first of two noisy numbers is; half where there seems to be nothing."""
    whole = pair.sum(axis=-1)
    return np.clip(np.where(whole > 0, pair[..., 0] / np.where(whole > 0, whole, 1), 0.5), 0.0, 1.0)
