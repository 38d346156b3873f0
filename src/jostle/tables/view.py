"""The rows of a table in their engine, sorted into cells: what is counted, and how a person's rows are bounded.

Privacy: every step from the table to a view works row by row and depends on public things alone, so one row of the table
is at most one row of a view (stability 1). Where the unit is a person, `bounded` keeps at most `max_rows` rows a person, at
random, after everything that drops rows. Proof: docs/proofs/tables.md.
"""

from __future__ import annotations

import secrets
import uuid
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import ibis
import ibis.expr.operations as ops
import numpy as np
import pyarrow as pa
import sqlglot as sg
import sqlglot.expressions as sge

from jostle.kernel.errors import BadInput, JostleError
from jostle.kernel.partition import Counts
from jostle.schema import OTHER, Category, Column, Schema
from jostle.tables.cells import Placed, category_keys, place, place_category
from jostle.tables.readings import Raw, builtin, raw
from jostle.tables.stages import RESERVED, Expression, Stages, run
from jostle.tables.unit import Unit

PERSON, RANDOM, RANK, CELL, COUNT, VALUE = (
    f"{RESERVED}{name}" for name in ("person", "random", "rank", "cell", "count", "value")
)

NUMBERS = " (as numbers)"
"""The end of the name of a column beside another, with those of its values that are numbers."""

MANY_CATEGORIES = 64
"""Longer lists of categories are joined to the table; shorter ones are compared one by one."""


class EngineError(JostleError):
    """The engine did not do what it was asked. What it said is not repeated, because it may quote values of the table."""

    def __init__(self, step: str) -> None:
        self.step = step
        super().__init__(
            f"The engine failed while {step}. Nothing was released, and its own message is withheld because it may quote "
            "private values. Check that the data can be reached and read, that there is memory enough, and try again."
        )


def asked(step: str, question: Callable[[], Any]) -> Any:
    """What the engine answers; a failure is told without its words, and without the exception that has them.

    Its warnings are not shown either: they, too, may quote values, and they are not for whoever asks for a release.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return question()
    except JostleError:
        raise
    except Exception:  # noqa: BLE001  # whatever an engine raises may quote values
        failure = EngineError(step)
    raise failure  # outside of the handler, which would attach the engine's exception to this one


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
        """Whether a row with that cell is kept."""
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


Step: TypeAlias = Where | InCell | Derive


@dataclass(frozen=True)
class Rows:
    """Rows in their engine: an Ibis table with some columns' plain values by their names, and their cells beside them."""

    table: Any
    cells: Mapping[str, str]
    """The name of the column with each column's cells."""

    def cell(self, name: str) -> Expression:
        """The number of the cell in a column."""
        return self.table[self.cells[name]]


@dataclass(frozen=True)
class View:
    """A table in its engine, and what happens to its rows before they are counted. Only what is needed becomes a query."""

    base: Any
    """The Ibis table."""

    declared: Schema
    """The columns that are read from it."""

    schema: Schema
    """The columns that may be asked about, after all steps."""

    unit: Unit | None
    """Whose rows are one person's, if they are to be bounded when they are counted."""

    filtered: bool
    """Whether a row of the table may be none here."""

    origin: frozenset[Hashable]
    """What tells the data from others: two views of one table share it."""

    steps: tuple[Step, ...] = ()
    """What happens, in order."""

    placed: Mapping[str, str] | None = None
    """Where the base has plain values and cells already, the names of the cells' columns."""

    @classmethod
    def of(
        cls, base: Any, schema: Schema, unit: Unit | None, *, filtered: bool, origin: frozenset[Hashable] = frozenset()
    ) -> View:
        """A table of an engine, by its schema."""
        for name in schema:
            if name.lower().startswith(RESERVED):
                raise BadInput("schema", f"{name!r} is a name that is kept for other things", "give it another name")
        return cls(base, schema, schema, unit, filtered or unit is not None, origin)

    @property
    def engine(self) -> str:
        """Which engine it is."""
        return str(self.base.get_backend().name)

    @property
    def form(self) -> Any:
        """An Ibis table without rows, to write conditions about."""
        return ibis.table({name: plain_type(column) for name, column in self.schema.items()}, name="table")

    def then(self, step: Step) -> View:
        """One step more."""
        if isinstance(step, Derive):
            return replace(self, schema=Schema(dict(self.schema) | {step.name: step.column}), steps=(*self.steps, step))
        return replace(self, steps=(*self.steps, step), filtered=True)

    def selecting(self, schema: Schema) -> View:
        """Fewer columns to ask about."""
        return replace(self, schema=schema)

    def having(self, name: str) -> View:
        """The rows that have a cell in this column."""
        return self.then(InCell(name))

    def foreseen(self, name: str) -> View:
        """The rows whose value in this column is among those that the schema foresees."""
        return self.then(InCell(name, below=self.schema[name].values))

    def rows(self, names: Sequence[str]) -> Rows:
        """The rows after all steps, with these columns."""
        needed, steps = _needed(names, self.steps)
        rows = self._read([name for name in self.declared if name in needed])
        for step in steps:
            rows = self._after(rows, step)
        return rows

    def _read(self, names: Sequence[str]) -> Rows:
        if self.placed is not None:
            return Rows(self.base, self.placed)
        table, columns = self.base, {name: self.declared[name] for name in names}
        table, raws = run(table, {n: raw(table[n], self.engine, _numbers(table, n)) for n in columns}, self.engine)
        table, found = _with_long_lists(table, columns, raws)
        table, placed = run(table, {n: _placing(c, raws[n], found.get(n)) for n, c in columns.items()}, self.engine)
        cells = {name: f"{CELL}_{number}" for number, name in enumerate(columns)}
        selected = {name: at.plain for name, at in placed.items()} | {cells[name]: at.cell for name, at in placed.items()}
        selected[PERSON] = ibis.literal(0) if self.unit is None else _person(table[self.unit.column])
        return Rows(table.select(**selected), cells)

    def _after(self, rows: Rows, step: Step) -> Rows:
        if isinstance(step, Where):
            return replace(rows, table=rows.table.filter(_bound(step.condition, rows.table)))
        if isinstance(step, InCell):
            return replace(rows, table=rows.table.filter(step.keeps(rows.cell(step.name))))
        table = rows.table.mutate(**{VALUE: _bound(step.value, rows.table)})
        table, raws = run(table, {step.name: raw(table[VALUE], self.engine)}, self.engine)
        table, placed = run(table, {step.name: place(step.column, raws[step.name])}, self.engine)
        name = f"{CELL}_{len(rows.table.columns)}"
        made = {step.name: placed[step.name].plain, name: placed[step.name].cell}
        kept = [name for name in rows.table.columns if name not in made]
        return Rows(table.select(*kept, **made), {**rows.cells, step.name: name})

    def bounded(self, table: Any) -> Any:
        """At most `max_rows` rows a person, at random; rows without a person are dropped."""
        if self.unit is None:
            return table
        _reseed(self.base.get_backend())
        # The random column comes first, and the window then: DuckDB refuses a random order in a window.
        drawn = table.filter(table[PERSON].notnull()).mutate(**{RANDOM: ibis.random()})
        window = ibis.window(group_by=drawn[PERSON], order_by=drawn[RANDOM])
        ranked = drawn.mutate(**{RANK: ibis.row_number().over(window)})
        return ranked.filter(ranked[RANK] < self.unit.max_rows).drop(RANDOM, RANK)

    def counted(self, names: Sequence[str], keys: Callable[[Rows], tuple[Expression, dict[str, Expression]]]) -> Any:
        """How many rows have each combination of some numbers, given which rows count and the numbers: an Arrow table."""
        rows = self.rows(names)
        counting, numbers = keys(rows)
        table = self.bounded(rows.table.filter(counting).select(rows.table[PERSON], **numbers))
        grouped = table.group_by(*(table[name] for name in numbers)).agg(**{COUNT: table.count()})
        return asked("counting rows", grouped.to_pyarrow)

    def sums(
        self, names: Sequence[str], value: Callable[[Rows], tuple[Expression, Expression, Expression]]
    ) -> tuple[Counts, list[int], Counts]:
        """Given which rows count, a whole number and a group: the groups, their exact sums, and how many rows count."""
        rows = self.rows(names)
        counting, number, group = value(rows)
        table = self.bounded(rows.table.filter(counting).select(rows.table[PERSON], **{VALUE: number, CELL: group}))
        totals = table.group_by(table[CELL]).agg(**{VALUE: table[VALUE].sum(), COUNT: table.count()})
        answer = asked("adding up", totals.to_pyarrow)
        return whole(answer, CELL), [int(total) for total in answer[VALUE].to_pylist()], whole(answer, COUNT)

    def sampled_once(self, names: Sequence[str] | None = None) -> View:
        """The same rows, bounded now and for good: whatever is asked of them then is asked of the same rows."""
        if self.unit is None:
            return self
        rows = self.rows(list(self.schema) if names is None else names)
        kept = keep(self.base.get_backend(), self.bounded(rows.table))
        return replace(self, base=kept, declared=self.schema, unit=None, steps=(), placed=rows.cells)


def _reseed(backend: Any) -> None:
    """Random numbers that nobody foresees, whatever seed was set before on a connection that we were handed."""
    if backend.name in ("duckdb", "postgres"):
        seed = secrets.randbelow(2**53) / 2**52 - 1
        asked("sampling", lambda: backend.raw_sql(f"SELECT setseed({seed!r})").fetchall())


def plain_type(column: Column) -> str:
    """The type of a column's plain values."""
    return {"category": "string", "date": "date", "boolean": "boolean"}.get(column.kind, "float64")


def fields(node: Any) -> set[str]:
    """The columns that an expression looks at."""
    return {field.name for field in node.find(ops.Field)}


def _needed(names: Sequence[str], steps: Sequence[Step]) -> tuple[set[str], list[Step]]:
    """Which columns of the table are needed for some columns at the end, and which steps."""
    needed, taken = set(names), []
    for step in reversed(steps):
        if isinstance(step, Derive):
            if step.name not in needed:
                continue
            needed = (needed - {step.name}) | fields(step.value)
        elif isinstance(step, Where):
            needed |= fields(step.condition)
        else:
            needed.add(step.name)
        taken.append(step)
    return needed, taken[::-1]


def _bound(node: Any, table: Any) -> Expression:
    """An expression over a form, over a table."""
    return node.replace({field: table[field.name].op() for field in node.find(ops.Field)}).to_expr()


def keep(backend: Any, table: Any) -> Any:
    """A temporary table with these rows, where the data are; it goes with the connection."""
    name, query = f"{RESERVED}{uuid.uuid4().hex}", backend.compile(table)
    if backend.name == "pyspark":
        frame = asked("sampling", lambda: backend._session.sql(query).localCheckpoint())
        asked("sampling", lambda: frame.createOrReplaceTempView(name))
    else:
        made = sge.Create(this=sge.to_table(name), kind="TABLE", expression=sg.parse_one(query, dialect=backend.dialect))
        made.set("properties", sge.Properties(expressions=[sge.TemporaryProperty()]))
        asked("sampling", lambda: backend.raw_sql(made.sql(backend.dialect)))
    chosen = sg.select("*").from_(name).sql(backend.dialect)
    return asked("sampling", lambda: backend.sql(chosen, schema=table.schema()))


def whole(answer: Any, name: str) -> Counts:
    """A column of an engine's answer as whole numbers."""
    return np.asarray(answer[name].to_numpy(), dtype=np.int64)


def _numbers(table: Any, name: str) -> Expression | None:
    beside = f"{name}{NUMBERS}"
    return table[beside] if beside in table.columns else None


def _placing(column: Column, value: Raw, found: tuple[Expression, Expression] | None) -> Stages[Placed]:
    if isinstance(column, Category) and found is not None:
        return place_category(column, value, *found)
    return place(column, value)


def _person(raw: Expression) -> Expression:
    """NaN is nobody, as null is."""
    return ibis.ifelse(raw.isnan(), ibis.null(raw.type()), raw) if raw.type().is_floating() else raw


def _with_long_lists(
    table: Any, columns: Mapping[str, Column], raws: Mapping[str, Raw]
) -> tuple[Any, dict[str, tuple[Expression, Expression]]]:
    """The table joined to its long lists of categories, and each value's number in its list, and its name.

    A key is in a list once, so a row stays one row. Texts are compared byte by byte, written in hexadecimal digits: by the
    rules of a collation, several keys could be the same.
    """
    joined: dict[str, list[int]] = {}
    long = {n: c for n, c in columns.items() if isinstance(c, Category) and c.values > MANY_CATEGORIES}
    for name, column in long.items():
        names = column.names
        for stored, keys in category_keys(column, raws[name]):
            if keys:
                number, codes = sum(map(len, joined.values())), [*keys.values()]
                joined.setdefault(name, []).append(number)
                key, code, word = (f"{RESERVED}{what}_{number}" for what in ("key", "code", "word"))
                words = [names[place] for place in codes]
                texts = stored.type().is_string()
                listed_keys = [_digits(one) if texts else one for one in keys]
                listed = ibis.memtable(pa.table({key: listed_keys, code: codes, word: words}))
                table = table.left_join(listed, (_in_digits(stored, table) if texts else stored) == listed[key])
    found = {}
    for name, column in long.items():
        codes, words = ([table[f"{RESERVED}{what}_{n}"] for n in joined.get(name, [])] for what in ("code", "word"))
        found[name] = ibis.coalesce(*codes, ibis.literal(column.values)), ibis.coalesce(*words, ibis.literal(OTHER))
    return table, found


_hex = builtin("hex", ("string",), "string")
"""A text's bytes in digits, as DuckDB, Spark and SQLite call it."""

_convert_to, _encode = (
    builtin("convert_to", ("string", "string"), "binary"),
    builtin("encode", ("binary", "string"), "string"),
)
"""A text's bytes, and bytes in digits, in PostgreSQL."""


def _in_digits(text: Expression, table: Any) -> Expression:
    """The bytes of a text in the engine, written as `_digits` does."""
    if table.get_backend().name == "postgres":
        return _encode(_convert_to(text, "UTF8"), "hex").upper()
    return _hex(text)


def _digits(key: str | float) -> str:
    return str(key).encode().hex().upper()
