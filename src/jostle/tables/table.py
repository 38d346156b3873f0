"""A private table: rows that nobody sees, transformations that cost nothing, and measurements that are charged.

Every transformation works row by row by public rules, or sorts rows into disjoint parts, so that one row of the table is at
most one row afterwards (stability 1). A transformation that would let a row count several times is refused.

Every measurement is checked before it is charged. Privacy: a row is in one cell of a histogram, so counts go into a source
of the kernel, whose lemmas hold; some rows may not count, which the columns know. So do sums, means and variances
(`groups`). Quantiles and the largest cells are read from released counts. Proof: docs/proofs/tables.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NoReturn, final

import numpy as np

from jostle import workloads
from jostle.answers.batches import BatchAnswer
from jostle.answers.prices import price_of
from jostle.answers.quantiles_and_top import Quantiles, Top
from jostle.answers.release import Release, with_own_rho
from jostle.answers.released_numbers import Marginals, ReleasedNumber, ReleasedNumbers
from jostle.kernel.arguments import whole
from jostle.kernel.budget import Budget, Price
from jostle.kernel.errors import BadInput, PlanError
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.records import ReleaseRecords
from jostle.linear.design.residuals import Aim
from jostle.schema import Boolean, Category, Column, Integer, Schema
from jostle.tables.aggregates import Aggregate, Ratio
from jostle.tables.batches import BatchQuestion
from jostle.tables.budget_source import AccountBudget, BudgetSource, PartBudget
from jostle.tables.cells.staged_columns import RESERVED
from jostle.tables.columns import EngineColumns
from jostle.tables.conditions import Condition, looked_up_column, operation
from jostle.tables.engines.sources import share_files
from jostle.tables.grouped_table import GroupedTable
from jostle.tables.groups import GroupsQuestion
from jostle.tables.marginals import MarginalsQuestion
from jostle.tables.post_processing import SelectAnswer
from jostle.tables.private_keys import groups_question
from jostle.tables.question import CountsQuestion, QuantilesQuestion, Question, cell_labels
from jostle.tables.relations import Lookups
from jostle.tables.sql import SelectQuestion, parse_select
from jostle.tables.sums_and_means import SumOrMeanQuestion
from jostle.tables.unit import Unit
from jostle.tables.view import Derive, InCell, View, Where
from jostle.workloads import Workload

if TYPE_CHECKING:
    from jostle.answers.synthetic_table import SyntheticTable
    from jostle.tables.synthesis import SynthesisQuestion

MOST_PARTS = 1024
"""A table is partitioned into at most this many parts."""

LARGEST_HISTOGRAM = 2**24
"""A histogram of a table has at most this many cells."""

AXES = 2
"""Algorithms know a line of cells and a grid. Cells of more columns stand in one line."""

ROWS = "rows"


@final
class Table:
    """A private table. Make one with `jostle.open`.

    Each measurement takes `epsilon`, what it may cost, or `within`: then it takes the ε at which answers are expected to be
    that close, in 95 of 100 cases. Each has a question behind it (`ask`, `ask_count`, …), which can be previewed at no cost.
    """

    def __init__(self, views: Sequence[View], budget: BudgetSource, name: str, unit: Unit | None) -> None:
        self._views, self._budget, self._name, self._unit = tuple(views), budget, name, unit

    @property
    def name(self) -> str:
        """The public name of the table, which is the name of its account."""
        return self._name

    @property
    def schema(self) -> Schema:
        """The columns that questions may be about."""
        return self._views[0].schema

    @property
    def unit(self) -> Unit | None:
        """Whose rows are protected together; None if each row is protected by itself."""
        return self._unit

    @property
    def neighbours(self) -> Neighbours:
        """What one person may change without it being noticed."""
        return self._budget.neighbours

    @property
    def remaining(self) -> Fraction:
        """The ε that is left."""
        return self._budget.remaining

    # ------------------------------------------------------------------------------------------- transformations

    def where(self, condition: Condition) -> Table:
        """The rows for which a condition on declared columns is true.

        The condition is SQL text, such as `"sex = 'F' AND age >= 18"`, or a function, such as `lambda t: t.age >= 18`. It
        sees numbers and days moved between their declared bounds, categories by their names, and nulls. What might fail on
        some rows is refused.
        """
        return self._with([view.then(Where(operation(view, condition, "where"))) for view in self._views])

    def fresh(self) -> Table:
        """The same rows, whose questions are asked anew: nothing that was released before is used, and nothing is kept."""
        budget = self._budget.without_memory() if isinstance(self._budget, AccountBudget) else self._budget
        return Table(self._views, budget, self._name, self._unit)

    def select(self, *columns: str) -> Table:
        """Only these columns."""
        kept = {name: self.schema.column(name) for name in columns}
        if not kept:
            raise BadInput("columns", "are missing", f"name some of {', '.join(self.schema)}")
        return self._with([view.selecting(Schema(kept)) for view in self._views])

    def derive(self, name: str, value: Condition, column: Column) -> Table:
        """One more column, with a value from the others and a declared range, row by row."""
        return self._derived(name, value, column)

    def _derived(self, name: str, value: Condition, column: Column, *, listed: bool = False) -> Table:
        """With `listed`, the column has a cell for every value that there can be."""
        self._check_new(name, column)
        made = [Derive(name, column, operation(view, value, "derive"), listed) for view in self._views]
        return self._with([view.then(step) for view, step in zip(self._views, made, strict=True)])

    def bin(self, name: str, column: Column) -> Table:
        """A column in other cells, such as `table.bin("age", Integer(0, 99, bins=10))`."""
        self.schema.column(name)
        return self.derive(name, lambda form: form[name], column)

    def join(self, lookup: Mapping[Any, Any], *, on: str, name: str, column: Column) -> Table:
        """One more column, looked up in a public table by the value of another: `{"8001": "Zürich", …}`.

        A private table cannot be joined: one of its rows may meet any number of others, so there is no bound on what one
        person changes.
        """
        if isinstance(lookup, Table) or not isinstance(lookup, Mapping):
            problem = "is not a public mapping: a row of a private table may meet any number of others, which no noise hides"
            remedy = "pass a dictionary from values to values, or join in the database and bound a person"
            raise BadInput("lookup", problem, remedy)
        key = self.schema.column(on)
        if not isinstance(key, (Category, Boolean)) and not (isinstance(key, Integer) and key.width == 1):
            raise BadInput("on", f"{on!r} has cells of several values", "look up by a category, or by single whole numbers")
        self._check_new(name, column)
        return self._with([view.then(looked_up_column(on, key, lookup, name, column)) for view in self._views])

    def union(self, other: Table) -> Table:
        """The rows of both tables, which must be of different files and share an account.

        You declare that no row is in both: that neither file is a copy of the other, or of a part of it. jostle finds a file
        that is named twice, also by a link or in a folder, but it does not compare rows. Frames, databases, Spark and Ibis
        tables cannot be united, because another object may hold the same rows. Put their rows together first (concatenate
        the frames, or UNION ALL into a table), and open them as one table. Where the unit is a person, open both files as
        one table as well, `jostle.open([one, another], …)`: a person's rows in both would add up to more than the account
        is kept for.
        """
        if not isinstance(other, Table) or not self._budget.is_same_account(other._budget):
            problem = "is no table with this one's account, in the same ledger and under the same neighbours"
            raise BadInput("other", problem, "open both under the same name, with the same ledger")
        if self.unit is not None or other.unit is not None:
            problem = "a person's rows in both tables would add up, and the account is kept for fewer"
            raise BadInput("other", problem, "open both as one table, where each person's rows are bounded together")
        if not all(view.origin for table in (self, other) for view in table._views):
            problem = "may have rows of this table: only tables of different files can be united"
            remedy = "concatenate the frames, or UNION ALL the rows into a table, and open them as one"
            raise BadInput("other", problem, remedy)
        mine, others = ({file for view in table._views for file in view.origin} for table in (self, other))
        if any(share_files(one, another) for one in mine for another in others):
            raise BadInput("other", "has rows of this table, which would count twice", "say both conditions in one: … OR …")
        if dict(other.schema) != dict(self.schema):
            raise BadInput("other", "has other columns", "select the same columns of both, declared alike")
        return self._with([*self._views, *other._views])

    def _check_new(self, name: str, column: Column) -> None:
        """A new column must not replace the column with persons, or have a name that is used inside."""
        if not isinstance(name, str):
            raise BadInput("name", "must be a text", "name the new column")
        Schema({name: column})  # which says what is wrong with either
        person = None if self._unit is None else self._unit.column.lower()
        if name.lower().startswith(RESERVED) or name.lower() == person:
            raise BadInput("name", f"{name!r} is kept for other things", "give the column another name")
        alike = [known for known in self.schema if known.lower() == name.lower() and known != name]
        if alike:
            raise BadInput("name", f"some engines do not tell {name!r} from {alike[0]!r}", "give the column another name")

    def partition(self, by: str, *, epsilon: Any = None, rho: Any = None) -> dict[str, Table]:
        """One table per cell of a column, by its label, each with ε to spend: charged once, because they are disjoint.

        The whole ε is charged here, whatever questions the parts get. Rows without a cell are in no part. Where the unit is
        a person, each person's rows are bounded now, over all parts together.
        """
        column = self.schema.column(by)
        if column.size > MOST_PARTS:
            raise BadInput("by", f"{by!r} has more than {MOST_PARTS} cells", "partition by a coarser column")
        if len(set(column.labels)) < column.size:  # parts are found by their labels, and some would be lost
            raise BadInput("by", f"{by!r} has cells with the same label", "use fewer bins, or other names")
        columns = EngineColumns.of(self._views, [by])
        views = [view.having(by).sampled_once() for view in self._views]
        columns.check()
        records, token = self._budget.records(
            columns, epsilon if rho is None else Price.of(epsilon, rho), note=f"partition by {by}"
        )
        parts: dict[str, Table] = {}
        for cell, (label, (part, budget)) in enumerate(zip(column.labels, records.split(by, token), strict=True)):
            if not isinstance(part, ReleaseRecords):
                raise PlanError("a part of a release is no release")
            of_part, called = [view.then(InCell(by, cell)) for view in views], f"{by} = {label}"
            parts[label] = Table(of_part, PartBudget(part, budget, called), f"{self.name}, {called}", self._unit)
        return parts

    def records(self, *columns: str, epsilon: Any = None, in_memory: bool = False) -> tuple[ReleaseRecords, Budget]:
        """A record source over some columns, and a token for it: what a private classifier learns from.

        Rows that lack a cell in one of the columns do not count. Where the unit is a person, rows are bounded once. By
        default every count is a query; `in_memory` fetches the cells of all rows, as numbers, which is faster for plans that
        count often.
        """
        complete = EngineColumns.of(self._views, columns or tuple(self.schema)).complete()
        complete.check()
        source = complete.in_memory() if in_memory else complete
        return self._budget.records(source, epsilon, note=f"records of {', '.join(complete.sizes)}")

    def labelled(
        self, sizes: Mapping[str, int], label: str, *, epsilon: Any = None, note: str = "", in_memory: bool = True
    ) -> tuple[ReleaseRecords, Budget]:
        """A record source for a classifier, and a token for it: rows with a class, and a cell for whatever a row has.

        `sizes` are those of a task: where a column would drop a row that lacks a value, the row has a cell more.
        """
        for name, size in sizes.items():
            column = self.schema.column(name)
            fits = (column.values,) if name == label else (column.size, column.size + 1)
            if size not in fits:
                raise BadInput("sizes", f"that of {name!r} is not the schema's", "pass those of a task over this schema")
        complete = EngineColumns.labelled(self._views, sizes, label).complete()
        complete.check()
        return self._budget.records(complete.in_memory() if in_memory else complete, epsilon, note=note)

    def check_pays(self, *prices: Price) -> None:
        """Raise unless there is enough for all of these, one after the other."""
        self._budget.check_all(prices)

    # -------------------------------------------------------------------------------------------------- measurements

    def count(self, *, epsilon: Any = None, within: float | None = None, rho: Any = None) -> Release:
        """The number of rows."""
        return self.ask_count().release(epsilon=epsilon, within=within, rho=rho)

    def histogram(
        self,
        *columns: str,
        epsilon: Any = None,
        within: float | None = None,
        rho: Any = None,
        algorithm: str | None = None,
        **tunables: Any,
    ) -> Release:
        """How many rows are in each cell of a column, or in each combination of several columns' cells."""
        tunables, rho = with_own_rho(tunables, rho, epsilon, within)
        return self.ask(*columns, algorithm=algorithm, **tunables).release(epsilon=epsilon, within=within, rho=rho)

    def ranges(
        self,
        column: str,
        ranges: Workload | Sequence[tuple[Any, Any]],
        *,
        epsilon: Any = None,
        within: float | None = None,
        rho: Any = None,
        algorithm: str | None = None,
        **tunables: Any,
    ) -> Release:
        """How many rows lie in each of some ranges of a column.

        A range is a pair of its first and its last value, such as (18, 64), and has all cells from the first value's to the
        last value's. You can pass a workload over the column's cells, too.
        """
        tunables, rho = with_own_rho(tunables, rho, epsilon, within)
        question = self.ask_ranges(column, ranges, algorithm=algorithm, **tunables)
        return question.release(epsilon=epsilon, within=within, rho=rho)

    def marginals(
        self,
        *columns: Sequence[str] | str,
        epsilon: Any = None,
        within: float | None = None,
        rho: Any = None,
        weights: Sequence[float] | None = None,
        least: Aim = "total",
    ) -> Marginals:
        """Histograms over several sets of columns, which agree: `marginals(("age", "sex"), ("sex", "race"))`.

        The vector over all columns is never built. Rows that lack a cell in one of the columns do not count in any. By
        default, the sum of all cells' variances is least, which leaves small histograms more noise than large ones.
        `weights`, one per set, count some more, and `least="largest"` makes the largest variance of any cell least.
        """
        question = self.ask_marginals(*columns, weights=weights, least=least)
        return question.release(epsilon=epsilon, within=within, rho=rho)

    def quantiles(
        self,
        column: str,
        levels: Sequence[float],
        *,
        epsilon: Any = None,
        within: float | None = None,
        rho: Any = None,
        algorithm: str | None = None,
    ) -> Quantiles:
        """Values of a column below which given parts of the rows lie, such as [0.25, 0.5, 0.75]: any number for one price.

        They are read from the distribution function over up to 4,096 cells, which is measured once.
        """
        question = self.ask_quantiles(column, levels, algorithm=algorithm)
        return question.release(epsilon=epsilon, within=within, rho=rho)

    def median(self, column: str, *, epsilon: Any = None, within: float | None = None, rho: Any = None) -> Quantiles:
        """The value with half of the rows below it."""
        return self.quantiles(column, [0.5], epsilon=epsilon, within=within, rho=rho)

    def top(
        self,
        *columns: str,
        k: int = 10,
        epsilon: Any = None,
        within: float | None = None,
        rho: Any = None,
        algorithm: str | None = None,
    ) -> Top:
        """The k cells with most rows, and their counts.

        All cells are measured at once, because a row is in one of them: noise is the same for any k.
        """
        cells = whole(k)
        if cells is None or cells < 1:
            raise BadInput("k", "must be a whole number of at least 1", "say how many cells, for instance k=10")
        released = self.histogram(*columns, epsilon=epsilon, within=within, rho=rho, algorithm=algorithm)
        return Top(release=released, k=cells, **released.price)

    def sum(
        self, column: str, *, by: str | None = None, epsilon: Any = None, within: float | None = None, rho: Any = None
    ) -> ReleasedNumber | ReleasedNumbers:
        """The sum of a column, clipped to its declared bounds; with `by`, for each cell of another column, at one price.

        Rows without a number between the bounds count as 0.
        """
        return self.ask_total("sum", column, by).release(epsilon=epsilon, within=within, rho=rho)

    def mean(
        self, column: str, *, by: str | None = None, epsilon: Any = None, within: float | None = None, rho: Any = None
    ) -> ReleasedNumber | ReleasedNumbers:
        """The mean of a column, clipped to its declared bounds, over the rows that have a number between them.

        With `by`, for each cell of another column, at one price. How far the values are above the lower bound and how far
        below the upper one are measured together, at the price of one, as in `jostle.mechanisms.clipped_mean`. How close a
        mean is depends on the number of rows, so `within` is refused.
        """
        return self.ask_total("mean", column, by).release(epsilon=epsilon, within=within, rho=rho)

    def synthesize(
        self,
        *columns: str,
        epsilon: Any = None,
        delta: Any = None,
        rho: Any = None,
        rows: int | None = None,
        workload: Sequence[Sequence[str]] | None = None,
        label: str | None = None,
        strategy: str | None = None,
    ) -> SyntheticTable:
        """Synthetic records with these columns, or with all of them: one price for any question that may follow.

        Pay in `epsilon`, in `rho`, or with `epsilon` and `delta` in the ρ that these allow, which is better for more than a
        few columns. By default, there are about as many records as the table has, and all sets of up to three columns count
        alike; `workload` lists sets that matter, `label` names a column that is to be predicted. Which histograms may be
        measured is a `strategy`, such as "tree"; by default it is chosen, which costs nothing. Rows that lack a cell in one
        of the columns are left out.
        """
        question = self.ask_synthesis(*columns, rows=rows, workload=workload, label=label, strategy=strategy)
        return question.release(epsilon=price_of(epsilon, delta, rho))

    def group_by(self, *columns: str, keys: Any = None, keys_delta: Any = None) -> GroupedTable:
        """Group rows by the cells of some columns: `table.group_by("ward", "sex").aggregate(n=count(), epsilon=1)`.

        Without columns, all rows are one group. By default, every combination of the columns' cells is a group, also one
        without rows. `keys` lists some of them, `keys=["north", "south"]` or `keys=[("north", "F"), …]`; rows of other
        groups are left out. `keys="private"` is for groups that nobody can list, such as free text: in an account with a δ,
        those are shown that have enough people. Half of the price, and `keys_delta` of the account's δ for keys (by default
        a tenth of it), pay for the selection.
        """
        return GroupedTable(self, columns, keys, keys_delta)

    def sql(
        self,
        text: str,
        *,
        epsilon: Any = None,
        within: float | None = None,
        rho: Any = None,
        lookups: Lookups | None = None,
        keys: str | None = None,
        keys_delta: Any = None,
    ) -> SelectAnswer:
        """Answer a SELECT statement: `SELECT age, COUNT(*) AS n FROM people WHERE sex = 'F' GROUP BY age ORDER BY n DESC`.

        All aggregates share one price. Arithmetic on them, HAVING, ORDER BY and LIMIT are computed from what is released,
        and free. Every cell of the columns after GROUP BY has an answer, also those without rows. `lookups` are public
        tables to join, by name: frames, or dictionaries. What is not supported is refused by its name. With
        `keys="private"`, only those groups have an answer that have enough people, as in `group_by`.
        """
        question = self.ask_sql(text, lookups=lookups, keys=keys, keys_delta=keys_delta)
        return question.release(epsilon=epsilon, within=within, rho=rho)

    def batch(
        self,
        *questions: Question[Any],
        epsilon: Any = None,
        within: float | None = None,
        rho: Any = None,
        weights: Sequence[float] | None = None,
    ) -> BatchAnswer:
        """Answer several questions at one price: `people.batch(people.ask("age"), people.ask_count(), epsilon=1)`.

        Before anything is charged, it is decided from public facts whether Laplace or Gaussian noise has less error, and
        which share each question gets; `weights` count some more than others. In an (ε, δ) account, `epsilon` is what the
        batch costs by itself at the account's δ. `explain()` of the answer says what was decided, and why.
        """
        return self.ask_batch(*questions, weights=weights).release(epsilon=epsilon, within=within, rho=rho)

    # ----------------------------------------------------------------------------------------------------- questions

    def ask_count(self) -> CountsQuestion:
        """The question behind `count`, to preview before it is paid for."""
        columns = EngineColumns(self._views, {}).with_table(ROWS, (), np.zeros(1, dtype=np.int64)).in_groups(())
        about, reason = {"figure": ["count"]}, "because one number is asked for"
        one = workloads.identity(1)
        return CountsQuestion(self, columns, [ROWS], one, "count", about=about, named="Laplace", reason=reason)

    def ask(self, *columns: str, algorithm: str | None = None, **tunables: Any) -> CountsQuestion:
        """The question behind `histogram`, to preview before it is paid for."""
        shape = tuple(self.schema.column(name).size for name in columns)
        if not columns or len(set(columns)) != len(columns):
            raise BadInput("columns", f"are {len(columns)}, or twice the same", "name one or more columns, each once")
        cells = math.prod(shape)
        if cells > LARGEST_HISTOGRAM:
            problem = f"have {cells:,} cells together, and a histogram has at most {LARGEST_HISTOGRAM:,}"
            remedy = "put the columns into fewer cells with bin(), or ask for marginals() of fewer columns each"
            raise BadInput("columns", problem, remedy)
        return CountsQuestion(
            self,
            EngineColumns.of(self._views, columns).in_groups(columns),
            columns,
            workloads.identity(shape if len(shape) == AXES else cells),
            f"histogram of {' and '.join(columns)}",
            about=cell_labels(self.schema, columns),
            named=algorithm,
            tunables=tunables,
        )

    def ask_ranges(
        self, column: str, ranges: Workload | Sequence[tuple[Any, Any]], *, algorithm: str | None = None, **tunables: Any
    ) -> CountsQuestion:
        """The question behind `ranges`, to preview before it is paid for."""
        workload, about = _ranges(self.schema.column(column), ranges)
        columns, what = EngineColumns.of(self._views, [column]), f"ranges of {column}"
        return CountsQuestion(self, columns, [column], workload, what, about=about, named=algorithm, tunables=tunables)

    def ask_marginals(
        self, *columns: Sequence[str] | str, weights: Sequence[float] | None = None, least: Aim = "total"
    ) -> MarginalsQuestion:
        """The question behind `marginals`, to preview before it is paid for."""
        return MarginalsQuestion(self, columns, weights=weights, least=least)

    def ask_synthesis(
        self, *columns: str, rows: Any = None, workload: Any = None, label: Any = None, strategy: Any = None
    ) -> SynthesisQuestion:
        """The question behind `synthesize`, to preview before it is paid for: how far off counts by one column would be."""
        from jostle.tables.synthesis import SynthesisQuestion

        return SynthesisQuestion(self, columns, rows=rows, workload=workload, label=label, strategy=strategy)

    def ask_quantiles(self, column: str, levels: Sequence[float], *, algorithm: str | None = None) -> QuantilesQuestion:
        """The question behind `quantiles`, to preview before it is paid for: how many *rows* off the ranks would be."""
        return QuantilesQuestion(self, column, levels, algorithm)

    def ask_total(self, kind: Any, column: str, by: str | None = None) -> SumOrMeanQuestion:
        """The question behind `sum` and `mean`, to preview before it is paid for."""
        return SumOrMeanQuestion(self, kind, column, by)

    def ask_groups(
        self,
        columns: Sequence[str],
        aggregates: Mapping[str, Aggregate | Ratio],
        *,
        weights: Mapping[str, float] | None = None,
        keys: Any = None,
        keys_delta: Any = None,
    ) -> GroupsQuestion:
        """The question behind `group_by(…).aggregate(…)`, to preview before it is paid for."""
        return groups_question(self, columns, aggregates, weights=weights, keys=keys, keys_delta=keys_delta)

    def ask_batch(self, *questions: Question[Any], weights: Sequence[float] | None = None) -> BatchQuestion:
        """The question behind `batch`, to preview before it is paid for."""
        return BatchQuestion(self, questions, weights)

    def ask_sql(
        self, text: str, *, lookups: Lookups | None = None, keys: str | None = None, keys_delta: Any = None
    ) -> SelectQuestion:
        """The question behind `sql`, to preview before it is paid for."""
        return parse_select(text, self, lookups, keys=keys, keys_delta=keys_delta)

    # ------------------------------------------------------------------------------------------------------ the rest

    def _with(self, views: Sequence[View]) -> Table:
        return Table(views, self._budget, self._name, self._unit)

    def __repr__(self) -> str:
        whose = "each row" if self.unit is None else f"{self.unit.column} ({self.unit.max_rows} rows)"
        return f"<Table {self.name!r} with {', '.join(self.schema)}; protects {whose}, {self.neighbours.relation}>"

    def __reduce__(self) -> NoReturn:
        raise PlanError("a private table cannot be pickled or copied: open it in the process that uses it")


def _ranges(column: Column, ranges: Any) -> tuple[Workload, dict[str, list[str]]]:
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
    workload = workloads.ranges(column.size, cells[:, 0], cells[:, 1] + 1)
    return workload, {"first": [str(first) for first, _ in pairs], "last": [str(last) for _, last in pairs]}
