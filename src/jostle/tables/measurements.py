"""What may be asked of a private table, each with its price. Everything is checked before anything is charged.

Privacy: a row is in one cell of a histogram, so counts go into a source of the kernel, whose lemmas hold; some rows may not
count, which `filtered` says. Sums and means have lemmas of their own (`totals`). Quantiles and the largest cells are read
from released counts. Proof: docs/proofs/tables.md.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from jostle import workloads
from jostle.answers.previews import Preview
from jostle.answers.release import Release
from jostle.answers.released_numbers import Figure, Figures
from jostle.kernel.errors import BadInput
from jostle.schema import Column, Schema
from jostle.schema.arguments import whole
from jostle.tables.columns import EngineColumns
from jostle.tables.marginals import Marginals, MarginalsQuestion, labels
from jostle.tables.quantiles_and_top import Quantiles, Top, check_levels, fine_cells, quantile_workload
from jostle.tables.question import Question
from jostle.tables.totals import Total, numeric
from jostle.tables.view import View
from jostle.workloads import Workload

if TYPE_CHECKING:
    from jostle.kernel.budget import Budget
    from jostle.kernel.records import ReleaseRecords
    from jostle.tables.budget_source import Payer

LARGEST_HISTOGRAM = 2**24
"""So many cells a histogram of a table may have."""

AXES = 2
"""Algorithms know a line of cells and a grid. Cells of more columns stand in one line."""

ROWS = "rows"


class Measurements(ABC):
    """The measurements, over whatever has views and a payer.

    Each takes `epsilon`, what it may cost, or `within`: then it takes the ε at which answers are expected to be so close, in
    95 of 100 cases. Each has a question behind it (`ask`, `ask_count`, …), which can be previewed at no cost.
    """

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

    @abstractmethod
    def _quantile_rows(self, column: str) -> Measurements:
        """The rows with a number between the column's bounds, and the column in fine cells."""

    def _paid(self, columns: EngineColumns, epsilon: Any, *, filtered: bool, note: str) -> tuple[ReleaseRecords, Budget]:
        """A record source and a token, once it is known that the engine will answer."""
        columns.check()
        return self._payer.records(columns, epsilon, filtered=filtered, note=note)

    def count(self, *, epsilon: Any = None, within: float | None = None) -> Release:
        """The number of rows."""
        return self.ask_count().release(epsilon=epsilon, within=within)

    def histogram(
        self, *columns: str, epsilon: Any = None, within: float | None = None, algorithm: str | None = None, **tunables: Any
    ) -> Release:
        """How many rows are in each cell of a column, or in each combination of several columns' cells."""
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

    def marginals(self, *columns: Sequence[str] | str, epsilon: Any = None, within: float | None = None) -> Marginals:
        """Histograms over several sets of columns, which agree: `marginals(("age", "sex"), ("sex", "race"))`.

        Each set is measured with a share of ε; the vector over all columns is never built. Rows that lack a cell in one of
        the columns do not count in any.
        """
        return self.ask_marginals(*columns).release(epsilon=epsilon, within=within)

    def quantiles(
        self,
        column: str,
        levels: Sequence[float],
        *,
        epsilon: Any = None,
        within: float | None = None,
        algorithm: str | None = None,
    ) -> Quantiles:
        """Values of a column below which given parts of the rows lie, such as [0.25, 0.5, 0.75]: any number for one price.

        They are read from the distribution function over up to 4,096 cells, which is measured once.
        """
        return self.ask_quantiles(column, levels, algorithm=algorithm).release(epsilon=epsilon, within=within)

    def median(self, column: str, *, epsilon: Any = None, within: float | None = None) -> Quantiles:
        """The value with half of the rows below it."""
        return self.quantiles(column, [0.5], epsilon=epsilon, within=within)

    def top(
        self, *columns: str, k: int = 10, epsilon: Any = None, within: float | None = None, algorithm: str | None = None
    ) -> Top:
        """The k cells with most rows, and their counts.

        All cells are measured at once, because a row is in one of them: noise is the same for any k.
        """
        cells = whole(k)
        if cells is None or cells < 1:
            raise BadInput("k", "must be a whole number of at least 1", "say how many cells, for instance k=10")
        return Top(release=self.histogram(*columns, epsilon=epsilon, within=within, algorithm=algorithm), k=cells)

    def sum(
        self, column: str, *, by: str | None = None, epsilon: Any = None, within: float | None = None
    ) -> Figure | Figures:
        """The sum of a column, clipped to its declared bounds; with `by`, for each cell of another column, at one price.

        Rows without a number between the bounds count as 0.
        """
        return Total(self, "sum", column, by).release(epsilon=epsilon, within=within)

    def mean(self, column: str, *, by: str | None = None, epsilon: Any = None) -> Figure | Figures:
        """The mean of a column, clipped to its declared bounds, over the rows that have a number between them.

        With `by`, for each cell of another column, at one price. How far the values are above the lower bound and how far
        below the upper one are measured together, at the price of one, as in `jostle.mechanisms.clipped_mean`.
        """
        return Total(self, "mean", column, by).release(epsilon=epsilon)

    # ------------------------------------------------------------------------------------------------- questions

    def ask_count(self) -> Question:
        """The question behind `count`, to preview before it is paid for."""
        columns = EngineColumns(self._views, {}).with_table(ROWS, (), np.zeros(1, dtype=np.int64))
        one, because = workloads.identity(1), "because one number is asked for"
        return Question(self, columns, [ROWS], one, {"figure": ["count"]}, "count", "Laplace", because=because)

    def ask(self, *columns: str, algorithm: str | None = None, **tunables: Any) -> Question:
        """The question behind `histogram`, to preview before it is paid for."""
        shape = tuple(self.schema.column(name).size for name in columns)
        if not columns or len(set(columns)) != len(columns):
            raise BadInput("columns", f"are {len(columns)}, or twice the same", "name one or more columns, each once")
        cells = math.prod(shape)
        if cells > LARGEST_HISTOGRAM:
            problem = f"have {cells:,} cells together, and a histogram has at most {LARGEST_HISTOGRAM:,}"
            remedy = "put the columns into fewer cells with bin(), or ask for marginals() of fewer columns each"
            raise BadInput("columns", problem, remedy)
        asked = workloads.identity(shape if len(shape) == AXES else cells)
        about, what = labels(self.schema, columns), f"histogram of {' and '.join(columns)}"
        return Question(self, EngineColumns.of(self._views, columns), columns, asked, about, what, algorithm, tunables)

    def ask_ranges(
        self, column: str, ranges: Workload | Sequence[tuple[Any, Any]], *, algorithm: str | None = None, **tunables: Any
    ) -> Question:
        """The question behind `ranges`, to preview before it is paid for."""
        asked, about = _asked_ranges(self.schema.column(column), ranges)
        columns = EngineColumns.of(self._views, [column])
        return Question(self, columns, [column], asked, about, f"ranges of {column}", algorithm, tunables)

    def ask_marginals(self, *columns: Sequence[str] | str) -> MarginalsQuestion:
        """The question behind `marginals`, to preview before it is paid for."""
        return MarginalsQuestion(self, columns)

    def ask_quantiles(self, column: str, levels: Sequence[float], *, algorithm: str | None = None) -> QuantilesQuestion:
        """The question behind `quantiles`, to preview before it is paid for: how many *rows* off the ranks would be."""
        told, fine = check_levels(levels), fine_cells(numeric(self.schema, column))
        because = None if algorithm else "because its error is the same on all data, so that the intervals are right"
        counted = Question(
            rows := self._quantile_rows(column),
            EngineColumns.of(rows._views, [column]),
            [column],
            quantile_workload(fine.size, algorithm),
            {},
            f"quantiles of {column}",
            algorithm or "OPT",
            because=because,
        )
        return QuantilesQuestion(counted, column, told)

    def ask_total(self, kind: Any, column: str, by: str | None = None) -> Total:
        """The question behind `sum` and `mean`."""
        return Total(self, kind, column, by)


@dataclass(frozen=True)
class QuantilesQuestion:
    """Quantiles to be asked of a table. Its preview is of ranks: how many rows too many or too few may be below a value."""

    counted: Question
    column: str
    levels: tuple[float, ...]

    @property
    def what(self) -> str:
        """In words."""
        return f"quantiles of {self.column}"

    def preview(self, *, epsilon: Any) -> Preview:
        """How many rows off the ranks would be."""
        return self.counted.preview(epsilon=epsilon)

    def epsilon_within(self, within: float) -> Any:
        """The ε at which ranks are expected to be so close, in 95 of 100 cases."""
        return self.counted.epsilon_within(within)

    def release(self, *, epsilon: Any = None, within: float | None = None) -> Quantiles:
        """Ask it, and pay for it; `within` is in rows."""
        cells = numeric(self.counted._table.schema, self.column)
        released = self.counted.release(epsilon=epsilon, within=within)
        return Quantiles(column=self.column, levels=self.levels, cells=cells, release=released)


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
    # A cell for other values, or for none, is no end: it would be counted with all that stand before it.
    if (cells < 0).any() or (cells >= column.values).any() or (cells[:, 0] > cells[:, 1]).any():
        raise BadInput(
            "ranges", "have ends that are no values of the column, or in the wrong order", "write the first one first"
        )
    asked = workloads.ranges(column.size, cells[:, 0], cells[:, 1] + 1)
    return asked, {"first": [str(first) for first, _ in pairs], "last": [str(last) for _, last in pairs]}
