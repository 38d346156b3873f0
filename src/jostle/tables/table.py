"""A private table: rows that nobody sees, transformations that cost nothing, and measurements that are charged.

Every transformation works row by row by public rules, or sorts rows into disjoint parts, so that one row of the table is at
most one row afterwards (stability 1). What would let a row count several times is refused. Proof: docs/proofs/tables.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NoReturn, final

from ibis.common.annotations import ValidationError
from ibis.common.exceptions import IbisError

from jostle.kernel.budget import Budget
from jostle.kernel.errors import BadInput, JostleError, PlanError
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.records import ReleaseRecords
from jostle.schema import Boolean, Category, Column, Integer, Schema
from jostle.tables import measurements, predicates, sql
from jostle.tables.budget_source import AccountPayer, PartPayer, Payer
from jostle.tables.cells.staged_columns import RESERVED
from jostle.tables.columns import EngineColumns
from jostle.tables.conditions import checked
from jostle.tables.engines.sources import share_files
from jostle.tables.lookups import looked_up_column
from jostle.tables.quantiles_and_top import fine_cells
from jostle.tables.totals import numeric
from jostle.tables.unit import Unit
from jostle.tables.view import Derive, InCell, View, Where

MOST_PARTS = 1024
"""A table is partitioned into at most so many parts."""

Condition = str | Callable[[Any], Any]
"""SQL text, or a function from an Ibis table of the declared columns to an expression."""


@final
class Table(measurements.Measurements):
    """A private table. Make one with `jostle.open`."""

    def __init__(self, views: Sequence[View], payer: Payer, name: str, unit: Unit | None) -> None:
        self._views, self._payer, self._name, self._unit = tuple(views), payer, name, unit

    @property
    def name(self) -> str:
        """What it is publicly called: the name of its account."""
        return self._name

    @property
    def schema(self) -> Schema:
        """The columns that may be asked about."""
        return self._views[0].schema

    @property
    def unit(self) -> Unit | None:
        """Whose rows are protected together; None where it is each row by itself."""
        return self._unit

    @property
    def neighbours(self) -> Neighbours:
        """What one person may change without it being noticed."""
        return self._payer.neighbours

    @property
    def remaining(self) -> Fraction:
        """The ε that is left."""
        return self._payer.remaining

    # ------------------------------------------------------------------------------------------- transformations

    def where(self, condition: Condition) -> Table:
        """The rows for which a condition on declared columns is true.

        The condition is SQL text, such as `"sex = 'F' AND age >= 18"`, or a function, such as `lambda t: t.age >= 18`. It
        sees numbers and days moved between their declared bounds, categories by their names, and nulls. What might fail on
        some rows is refused.
        """
        return self._with([view.then(Where(_operation(view, condition, "where"))) for view in self._views])

    def select(self, *columns: str) -> Table:
        """These columns alone."""
        kept = {name: self.schema.column(name) for name in columns}
        if not kept:
            raise BadInput("columns", "are none", f"name some of {', '.join(self.schema)}")
        return self._with([view.selecting(Schema(kept)) for view in self._views])

    def derive(self, name: str, value: Condition, column: Column) -> Table:
        """One more column, with a value from the others and a declared range, row by row."""
        self._check_new(name, column)
        return self._with([view.then(Derive(name, column, _operation(view, value, "derive"))) for view in self._views])

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
            problem = (
                "is not a public mapping; a row of a private table may meet any number of others, and no noise hides that"
            )
            raise BadInput(
                "lookup", problem, "pass a dictionary from values to values, or join in the database and bound a person"
            )
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
        if not isinstance(other, Table) or not _same_account(self._payer, other._payer):
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
        """A new column must not take the place of what says whose row it is, or of names that are used inside."""
        if not isinstance(name, str):
            raise BadInput("name", "must be a text", "name the new column")
        Schema({name: column})  # which says what is wrong with either
        taken = name.lower().startswith(RESERVED) or (self._unit is not None and name.lower() == self._unit.column.lower())
        if taken:
            raise BadInput("name", f"{name!r} is kept for other things", "give the column another name")
        alike = [known for known in self.schema if known.lower() == name.lower() and known != name]
        if alike:
            raise BadInput("name", f"some engines do not tell {name!r} from {alike[0]!r}", "give the column another name")

    def partition(self, by: str, *, epsilon: Any = None) -> dict[str, Table]:
        """A table for each cell of a column, by its label, each with ε to spend: charged once, because they are disjoint.

        The charge is made here, whole, whatever is asked of the parts. Rows without a cell are in no part. Where the unit is
        a person, each person's rows are bounded now, over all parts together.
        """
        column = self.schema.column(by)
        if column.size > MOST_PARTS:
            raise BadInput("by", f"{by!r} has more than {MOST_PARTS} cells", "partition by a coarser column")
        if len(set(column.labels)) < column.size:  # parts are found by their labels, and some would be lost
            raise BadInput("by", f"{by!r} has cells with the same label", "use fewer bins, or other names")
        columns = EngineColumns.of(self._views, [by])
        views = [view.having(by).sampled_once() for view in self._views]
        records, token = self._paid(columns, epsilon, filtered=self._filtered, note=f"partition by {by}")
        parts: dict[str, Table] = {}
        for cell, (label, (part, budget)) in enumerate(zip(column.labels, records.split(by, token), strict=True)):
            if not isinstance(part, ReleaseRecords):
                raise PlanError("a part of a release is none")
            of_part = [view.then(InCell(by, cell)) for view in views]
            parts[label] = Table(
                of_part, PartPayer(part, budget, f"{by} = {label}"), f"{self.name}, {by} = {label}", self._unit
            )
        return parts

    def records(self, *columns: str, epsilon: Any = None, in_memory: bool = False) -> tuple[ReleaseRecords, Budget]:
        """A record source over some columns, and a token for it: what a private classifier learns from.

        Rows that lack a cell in one of the columns do not count. Where the unit is a person, rows are bounded once. By
        default every count is a query; `in_memory` fetches the cells of all rows, as numbers, which is faster for plans that
        ask often.
        """
        complete = EngineColumns.of(self._views, columns or tuple(self.schema)).complete()
        complete.check()
        source = complete.in_memory() if in_memory else complete
        filtered = self._filtered or any(self.schema[name].drops for name in complete.sizes)
        return self._payer.records(source, epsilon, filtered=filtered, note=f"records of {', '.join(complete.sizes)}")

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
        return self._payer.records(complete.in_memory() if in_memory else complete, epsilon, filtered=True, note=note)

    # ------------------------------------------------------------------------------------------------------- SQL

    def sql(self, text: str, *, epsilon: Any = None, within: float | None = None) -> Any:
        """Answer a SELECT statement: `SELECT age, COUNT(*) FROM people WHERE sex = 'F' GROUP BY age`.

        It is the same question as `histogram`, `count`, `sum`, `mean` or `quantiles` would ask, at the same price, and the
        answer is what those give. Every cell of the columns after GROUP BY has an answer, also those without rows. What is
        not supported is refused, with the clause named.
        """
        return self.ask_sql(text).release(epsilon=epsilon, within=within)

    def ask_sql(self, text: str) -> Any:
        """The question behind `sql`, to preview before it is paid for."""
        return sql.asked(text, self)

    # --------------------------------------------------------------------------------------------------- the rest

    def _quantile_rows(self, column: str) -> Table:
        fine = fine_cells(numeric(self.schema, column))
        return self._with([view.foreseen(column) for view in self._views]).bin(column, fine)

    @property
    def _filtered(self) -> bool:
        return any(view.filtered for view in self._views)

    def _with(self, views: Sequence[View]) -> Table:
        return Table(views, self._payer, self._name, self._unit)

    def __repr__(self) -> str:
        whose = "each row" if self.unit is None else f"{self.unit.column} ({self.unit.max_rows} rows)"
        return f"<Table {self.name!r} with {', '.join(self.schema)}; protects {whose}, {self.neighbours.relation}>"

    def __reduce__(self) -> NoReturn:
        raise PlanError("a private table cannot be pickled or copied: open it in the process that uses it")


def _operation(view: View, said: Condition, argument: str) -> Any:
    """What was said about a row, as an operation over the view's form, checked."""
    form = view.form
    if not isinstance(said, str) and not callable(said):
        raise BadInput(argument, "must be SQL text or a function", "pass for instance lambda t: t.age > 30")
    try:
        expression = predicates.condition(said, form, view.schema) if isinstance(said, str) else said(form)
    except (
        IbisError,
        ValidationError,
        AttributeError,
        TypeError,
    ) as error:  # about columns and types alone: a form has no rows
        raise BadInput(argument, f"makes no sense: {error}", f"use {', '.join(view.schema)} as they are declared") from None
    except BadInput as refused:
        if refused.argument == argument or refused.argument != "where":
            raise
        raise BadInput(argument, refused.problem, refused.remedy) from None  # a condition in SQL is called `where` there
    except JostleError:
        raise
    except Exception as error:  # of a function of the caller's, or a constant such as 1/0
        raise BadInput(argument, f"fails before it sees a row, by {type(error).__name__}: {error}", "repair it") from error
    try:
        operation = checked(expression, form, view.schema, argument)
    except RecursionError:
        raise BadInput(argument, "is nested too deeply", "say it in a simpler way, or in several steps") from None
    if argument == "where" and not operation.dtype.is_boolean():
        raise BadInput(argument, "is neither true nor false", "compare something, for instance age >= 18")
    return operation


def _same_account(one: Payer, other: Payer) -> bool:
    """Whether both pay from one account: of one ledger, not only of one name."""
    if not isinstance(one, AccountPayer) or not isinstance(other, AccountPayer):
        return False
    mine, others = ((repr(p.account.ledger), p.account.name, p.account.neighbours) for p in (one, other))
    return mine == others
