"""The rows of a table in their engine, sorted into cells: what is counted, and how a person's rows are bounded.

Privacy: every step from the table to a view works row by row and depends only on public things, so one row of the table
is at most one row of a view (stability 1). Where the unit is a person, `bounded` keeps at most `max_rows` rows of each
person, after everything that drops rows. Proof: docs/proofs/tables.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

import ibis
import ibis.expr.operations as ops
import numpy as np

from jostle.kernel.errors import BadInput
from jostle.kernel.partition import Counts
from jostle.schema import Category, Column, Schema, Text
from jostle.tables.bounded_rows import HASHED, PERSON, BoundedSample, bounded, bounded_in_groups, person
from jostle.tables.cells.cells import Placed, has_long_list, place, place_category, reading, with_long_lists
from jostle.tables.cells.distinct_texts import HASH as TEXT_HASH
from jostle.tables.cells.distinct_texts import PLACE, DistinctTexts, as_read, with_distinct_texts
from jostle.tables.cells.readings import Raw
from jostle.tables.cells.staged_columns import DAYS, NUMBERS, RESERVED, Expression, Stages, run
from jostle.tables.run_in_engine import Query
from jostle.tables.unit import Unit

CELL, COUNT, VALUE, SQUARES, PERSONS, GROUP = (
    f"{RESERVED}{name}" for name in ("cell", "count", "value", "squares", "persons", "group")
)
MOST_READINGS = 16
"""How many readings of a table are kept. Ibis takes longer to write one down than most engines take to count its rows."""

LOWER_BITS = 30
"""Squares of points are added up in two parts, the lower one of this many bits, so that 64 bits hold both sums."""


@dataclass(frozen=True)
class Where:
    """Keep the rows for which a condition is true: neither false nor null."""

    condition: Any
    """An Ibis operation over the view's form."""


@dataclass(frozen=True)
class InCell:
    """Keep the rows in one cell of a column; None stands for any cell, or any below a number."""

    name: str
    cell: int | None = None
    below: int | None = None

    def keeps(self, cell: Expression) -> Expression:
        if self.cell is not None:
            return cell == self.cell
        return cell >= 0 if self.below is None else (cell >= 0) & (cell < self.below)


@dataclass(frozen=True)
class Derive:
    """One more column, or another in its place, with a value from the others."""

    name: str
    column: Column
    value: Any
    """An Ibis operation over the view's form."""

    listed: bool = field(default=False, compare=False)
    """Whether the column lists every value that there can be."""


Step: TypeAlias = Where | InCell | Derive


@dataclass(frozen=True, repr=False)  # in its interactive mode, Ibis shows rows of a table that is printed
class EngineRows:
    """Rows in their engine: an Ibis table with some columns' plain values by their names, and their cells in others."""

    table: Any
    cells: Mapping[str, str]
    """The name of the column with each column's cells."""

    texts: Mapping[str, DistinctTexts] = field(default_factory=dict)
    """Columns that were read once per distinct text."""

    def cell(self, name: str) -> Expression:
        """The number of the cell in a column."""
        return self.table[self.cells[name]]


@dataclass(frozen=True, repr=False)
class View:
    """A table in its engine, and what happens to its rows before they are counted. Only what is needed becomes a query."""

    base: Any
    """The Ibis table, or a sample of one."""

    declared: Schema
    """The columns that are read from it."""

    schema: Schema
    """The columns that questions may be about, after all steps."""

    unit: Unit | None
    """Whose rows are one person's, if they are to be bounded when they are counted."""

    filtered: bool
    """Whether some rows of the table may be missing here."""

    origin: frozenset[Path]
    """The files with the rows; none where the rows are in a database, a frame or Spark."""

    steps: tuple[Step, ...] = ()
    """What happens, in order."""

    placed: Mapping[str, str] | None = None
    """Where the base has plain values and cells already, the names of the cells' columns."""

    whose: str | None = None
    """The column of the base that says whose row it is."""

    of_persons: bool = False
    """Whether these rows are a sample in which each person's were bounded."""

    live: bool = False
    """Whether the table's rows may change while it is open, as those of a database that others write to."""

    source: str = ""
    """What tells the table from others, if what is released of it is to be remembered: a digest of public things."""

    scanned: bool = False
    """Whether DuckDB reads rows cheaply, as often as it likes, and compares their texts by bytes: of Parquet and frames."""

    readings: dict[Any, EngineRows] = field(default_factory=dict, compare=False)
    """How columns of the base are read, by all that a reading follows from. Views of the same base share them; they hold no
    rows."""

    @classmethod
    def of(
        cls,
        base: Any,
        schema: Schema,
        unit: Unit | None,
        *,
        filtered: bool,
        origin: frozenset[Path] = frozenset(),
        whose: str | None = None,
        live: bool = False,
        source: str = "",
        scanned: bool = False,
    ) -> View:
        check_names(schema, unit)
        column = None if unit is None else whose or unit.column
        more: dict[str, Any] = {"whose": column, "live": live, "source": source, "scanned": scanned}
        return cls(base, schema, schema, unit, filtered or unit is not None, origin, **more)

    @property
    def backend(self) -> Any:
        """Ibis' connection to the engine."""
        return self.base.backend if isinstance(self.base, BoundedSample) else self.base.get_backend()

    @property
    def engine(self) -> str:
        return str(self.backend.name)

    @property
    def form(self) -> Any:
        """An Ibis table without rows, to write conditions about."""
        return ibis.table({name: plain_type(column) for name, column in self.schema.items()}, name="table")

    def then(self, step: Step) -> View:
        if isinstance(step, Derive):
            return replace(self, schema=Schema(dict(self.schema) | {step.name: step.column}), steps=(*self.steps, step))
        return replace(self, steps=(*self.steps, step), filtered=True)

    def selecting(self, schema: Schema) -> View:
        return replace(self, schema=schema)

    def having(self, name: str) -> View:
        """The rows that have a cell in this column."""
        return self.then(InCell(name))

    def foreseen(self, name: str) -> View:
        """The rows whose value in this column is among those that the schema foresees."""
        return self.then(InCell(name, below=self.schema[name].values))

    def rows(self, names: Sequence[str]) -> EngineRows:
        """The rows after all steps, with these columns."""
        needed, steps = _needed(names, self.steps)
        rows = self._read([name for name in self.declared if name in needed])
        for step in steps:
            rows = self._after(rows, step)
        return rows

    def _read(self, names: Sequence[str]) -> EngineRows:
        if isinstance(self.base, BoundedSample):
            return EngineRows(self.base.table, self.placed or {})
        # By the declarations, too: a view of the same base may declare a column of the same name in other cells.
        read = (self.whose, *((name, self.declared[name]) for name in [*names, *self.says_nobody]))
        found = self.readings.get(read)
        if found is None:
            found = self._reading(names)
            if len(self.readings) < MOST_READINGS and not any(has_long_list(self.declared[name]) for name in names):
                self.readings[read] = found  # without lists that an engine holds for as long as there is a reading
        return found

    def _reading(self, names: Sequence[str]) -> EngineRows:
        columns = {name: self.declared[name] for name in dict.fromkeys([*names, *self.says_nobody])}
        beside = [f"{kind}{name}" for kind in (NUMBERS, DAYS) for name in columns]
        beside = [name for name in beside if name in self.base.columns]
        used = dict.fromkeys([*columns, *beside, *([self.whose] if self.whose else [])])
        # What is not declared is left behind first, so that no name of the table's own is one of ours.
        table = self.base.select(*used) if used else self.base
        several = {*self.says_nobody, *(name for name in columns if any(one is not None for one in _beside(table, name)))}
        free = [name for name, column in columns.items() if isinstance(column, Text) and name not in several]
        table, texts = with_distinct_texts(table, columns, free) if self.scanned and free else (table, {})
        rest = {n: column for n, column in columns.items() if n not in texts}
        read = {n: reading(column, table[n], self.engine, *_beside(table, n)) for n, column in rest.items()}
        table, raws = run(table, read, self.engine)
        table, found = with_long_lists(table, rest, raws)
        table, placed = run(table, {n: _placing(c, raws[n], found.get(n)) for n, c in rest.items()}, self.engine)
        cells = {name: f"{CELL}_{number}" for number, name in enumerate(columns)}
        at = {n: (one.plain, one.cell) for n, one in placed.items()} | {n: as_read(table, one) for n, one in texts.items()}
        selected = [part for n in columns for part in (at[n][0].name(n), at[n][1].name(cells[n]))]
        selected += [table[one.name(what)] for one in texts.values() for what in (PLACE, TEXT_HASH)]
        whose = ibis.literal(0) if self.whose is None else person(table[self.whose], self.engine)
        for name in self.says_nobody:
            whose = ibis.ifelse(raws[name].present, whose, ibis.null(whose.type()))
        return EngineRows(table.select(*selected, whose.name(PERSON)), cells, texts)

    @property
    def says_nobody(self) -> list[str]:
        """The column with persons, if texts in it are declared to stand for nobody: whoever shares one is no person."""
        named = [] if self.unit is None else [self.unit.column]
        return [name for name in named if name in self.declared and self.declared[name].missing]

    def _after(self, rows: EngineRows, step: Step) -> EngineRows:
        if isinstance(step, Where):
            return replace(rows, table=rows.table.filter(_bound(step.condition, rows.table)))
        if isinstance(step, InCell):
            return replace(rows, table=rows.table.filter(step.keeps(rows.cell(step.name))))
        table = rows.table.mutate(**{VALUE: _bound(step.value, rows.table)})
        table, raws = run(table, {step.name: reading(step.column, table[VALUE], self.engine)}, self.engine)
        table, placed = run(table, {step.name: place(step.column, replace(raws[step.name], plain=True))}, self.engine)
        name = f"{CELL}_{len(rows.table.columns)}"
        made = [placed[step.name].plain.name(step.name), placed[step.name].cell.name(name)]
        kept = [kept for kept in rows.table.columns if kept not in (step.name, name)]
        texts = {known: one for known, one in rows.texts.items() if known != step.name}
        return EngineRows(table.select(*kept, *made), {**rows.cells, step.name: name}, texts)

    def bounded(self, table: Any, by: Sequence[str] = ()) -> Any:
        """At most `max_rows` rows of each person, by a fresh key; rows without a person are dropped.

        With columns of groups, of at most `max_groups` of these, and at most `max_rows_per_group` rows of each.
        """
        if self.unit is None:
            return table
        if by and self.unit.bounds_groups:
            table = bounded_in_groups(table, by, self.unit.max_groups, self.unit.max_rows_per_group, self.backend)
            if self.unit.groups_bound_rows:
                return table
        return bounded(table, self.unit.max_rows, self.backend)

    @property
    def knows_persons(self) -> bool:
        """Whether rows say whose they are."""
        return self.unit is not None or self.of_persons

    def count_query(
        self,
        names: Sequence[str],
        keys: Callable[[EngineRows], tuple[Expression, dict[str, Expression]]],
        group: Callable[[EngineRows], Expression] | None = None,
    ) -> Query:
        """How many rows have each combination of some numbers, given which rows count, the numbers, and rows' groups.

        Where rows have groups, persons are bounded in these first.
        """

        def write() -> Any:
            rows = self.rows(names)
            counting, numbers = keys(rows)
            groups = {} if group is None else {GROUP: group(rows).cast("int64")}
            chosen = rows.table.filter(counting).select(rows.table[PERSON], **numbers, **groups)
            table = self.bounded(chosen, [*groups])
            return table.group_by(*(table[name] for name in numbers)).agg(**{COUNT: table.count()})

        return Query("counting rows", write, self.backend, drawn=isinstance(self.base, BoundedSample))

    def sums_query(
        self,
        names: Sequence[str],
        summands: Callable[[EngineRows], tuple[Expression, dict[str, Expression], list[Expression]]],
        *,
        squares: bool,
        persons: bool,
        texts: Mapping[str, str] | None = None,
    ) -> Query:
        """Per group, the rows that count and the exact sums of some points, given which count, their groups and points.

        A negative point stands for a missing value and is not added. Persons are bounded in groups and rows of groups first.
        `texts` are groups that are texts of columns.
        """

        def write() -> Any:
            rows = self.rows(names)
            counting, groups, points = summands(rows)
            chosen = {**groups, **{f"{VALUE}_{number}": point for number, point in enumerate(points)}}
            known = {group: rows.texts[name] for group, name in (texts or {}).items() if name in rows.texts}
            chosen |= {group: rows.table[one.name(PLACE)] for group, one in known.items()}
            chosen |= {HASHED + group: rows.table[one.name(TEXT_HASH)] for group, one in known.items()}
            table = self.bounded(rows.table.filter(counting).select(rows.table[PERSON], **chosen), [*groups])
            sums = {COUNT: table.count(), **({PERSONS: table[PERSON].nunique()} if persons else {})}
            for number in range(len(points)):
                point = table[f"{VALUE}_{number}"]
                there = ibis.ifelse(point < 0, 0, point)
                sums |= {f"{COUNT}_{number}": ibis.ifelse(point < 0, 0, 1).sum(), f"{VALUE}_{number}": there.sum()}
                if squares:
                    above = there * there >> LOWER_BITS
                    sums |= {f"{SQUARES}_{number}_0": (there * there - (above << LOWER_BITS)).sum()}
                    sums |= {f"{SQUARES}_{number}_1": above.sum()}
            answer = table.group_by(*(table[name] for name in groups)).agg(**sums)
            for group, one in known.items():
                answer = one.spelled(answer, group)
            return answer

        return Query("adding up", write, self.backend, drawn=isinstance(self.base, BoundedSample))

    def sampled_once(self, names: Sequence[str] | None = None) -> View:
        """The same rows, bounded once and for good: all further questions are about the same rows.

        Rows that may change in the meantime are copied as well, where each is protected by itself: a row that moved from one
        part of a table to another would count in both.
        """
        if self.unit is None and not self.live:
            return self
        rows = self.rows(list(self.schema) if names is None else names)
        sample = BoundedSample(self.backend, lambda: self.bounded(rows.table))
        made: dict[str, Any] = {
            "base": sample,
            "declared": self.schema,
            "placed": rows.cells,
            "of_persons": self.knows_persons,
            "readings": {},
        }
        return replace(self, unit=None, steps=(), whose=None, live=False, **made)


def check_names(schema: Schema, unit: Unit | None) -> None:
    """Refuse names that are used inside, and names that some engines take for the same."""
    for argument, name in [*(("schema", name) for name in schema), *([("unit", unit.column)] if unit else [])]:
        if name.lower().startswith(RESERVED):
            raise BadInput(argument, f"{name!r} is a name that is kept for other things", "give it another name")
    if len({name.lower() for name in schema}) < len(schema):
        problem = "has columns whose names differ only in capitals, which some engines do not tell apart"
        raise BadInput("schema", problem, "give one of them another name")


def plain_type(column: Column) -> str:
    """The type of a column's plain values."""
    return {"category": "string", "text": "string", "date": "date", "boolean": "boolean"}.get(column.kind, "float64")


def fields(node: Any) -> set[str]:
    """The columns that an expression looks at."""
    return {field.name for field in node.find(ops.Field)}


def _needed(names: Sequence[str], steps: Sequence[Step]) -> tuple[set[str], list[Step]]:
    """Which columns of the table are needed for some columns at the end, and which steps."""
    needed, used = set(names), []
    for step in reversed(steps):
        if isinstance(step, Derive):
            if step.name not in needed:
                continue
            needed = (needed - {step.name}) | fields(step.value)
        elif isinstance(step, Where):
            needed |= fields(step.condition)
        else:
            needed.add(step.name)
        used.append(step)
    return needed, used[::-1]


def _bound(node: Any, table: Any) -> Expression:
    """An expression over a form, over a table."""
    return node.replace({field: table[field.name].op() for field in node.find(ops.Field)}).to_expr()


def whole_numbers(answer: Any, name: str) -> Counts:
    """A column of an engine's answer as whole numbers."""
    # Not by Arrow's to_numpy, which would load pandas first.
    return np.asarray(np.from_dlpack(answer[name].combine_chunks()), dtype=np.int64)


def _beside(table: Any, name: str) -> list[Expression | None]:
    """The columns with those values of a column that are numbers, and days, if it has such columns beside it."""
    names = [f"{kind}{name}" for kind in (NUMBERS, DAYS)]
    return [table[each] if each in table.columns else None for each in names]


def _placing(column: Column, value: Raw, found: tuple[Expression, Expression] | None) -> Stages[Placed]:
    if isinstance(column, Category) and found is not None:
        return place_category(column, value, *found)
    return place(column, value)
