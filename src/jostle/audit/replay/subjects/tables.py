"""Questions to private tables: from the rows in their engine to the answer, for single rows and for persons with several."""

from __future__ import annotations

import sqlite3
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction
from functools import cache, partial
from itertools import count, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np

from jostle.audit.replay.run import Case, Subject
from jostle.audit.replay.subjects.table_rows import (
    CROWD,
    MOST_ROWS,
    SCHEMA,
    Form,
    Row,
    draw_row,
    draw_rows,
    neighbour,
    person,
)
from jostle.audit.replay.tape import Recording, TapeAccount, TapeLedger
from jostle.kernel.neighbours import Neighbours, Relation
from jostle.schema import Category, Integer, Schema
from jostle.tables import bounded_rows

if TYPE_CHECKING:
    from jostle.tables.table import Table
    from jostle.tables.unit import Unit
    from jostle.tables.view import View

NEIGHBOURS = 8
"""Neighbours of each recording."""

EPSILONS = (Fraction(1), Fraction(1, 10), Fraction(5))
NAME = "people"

Ask = Callable[["Table", Any], Any]
"""Asks a table for something, at a price."""


def _parts(table: Table, epsilon: Fraction) -> Any:
    parts = table.partition("g", epsilon=epsilon)
    return {name: part.count() if place else part.histogram("b") for place, (name, part) in enumerate(parts.items())}


def _transformed(table: Table, epsilon: Fraction) -> Any:
    doubled = table.derive("y", "v * 2", Integer(-6, 18, bins=5)).join({"a": "A", "b": "B"}, on="g", name="z", column=_ZONES)
    return doubled.where("x < 5 OR b").select("y", "z").histogram("y", "z", epsilon=epsilon, algorithm="Laplace")


_ZONES = Category(["A", "B"], outside="drop", null="drop")


def _grouped(table: Table, epsilon: Fraction) -> Any:
    from jostle.tables.aggregates import count as rows
    from jostle.tables.aggregates import mean, std
    from jostle.tables.aggregates import sum as total

    what: dict[str, Any] = {"n": rows(), "average": mean("v"), "spread": std("x"), "all": total("v")}
    return table.group_by("g", "b").aggregate(**what, epsilon=epsilon)


def _keyed(*names: str) -> Ask:
    """Groups that nobody listed."""

    def ask(table: Table, epsilon: Fraction) -> Any:
        from jostle.tables.aggregates import count as rows
        from jostle.tables.aggregates import sum as total

        return table.group_by(*names, keys="private").aggregate(n=rows(), all=total("v"), epsilon=epsilon)

    return ask


def _keyed_by_counts(table: Table, epsilon: Fraction) -> Any:
    """Groups that nobody listed, by the noisy counts that select them."""
    from jostle.tables.aggregates import count as rows
    from jostle.tables.aggregates import count_distinct_units as persons

    people = rows() if table.unit is None else persons()
    return table.group_by("t", keys="private").aggregate(n=people, epsilon=epsilon)


def _remembered(table: Table, epsilon: Fraction) -> Any:
    """Counts and sums, the same again, which is free, what follows from them, and the same more precisely."""
    share = epsilon / 6

    def counts(*names: str, price: Fraction = share) -> Any:
        return table.histogram(*names, epsilon=price, algorithm="Laplace")

    asked = [counts("g", "b"), counts("g", "b"), counts("g"), counts("g", "b", price=share * 3 / 2)]
    return [*asked, *(table.sum("v", by="g", epsilon=share) for _ in range(2)), table.remaining]


def _records(table: Table, epsilon: Fraction) -> Any:
    from jostle.kernel.strategies import identity

    records, token = table.records("g", "b", epsilon=epsilon)
    source = records.vector("g", "b")
    return source.measure(identity(source.shape), token)


def _checked(table: Table, epsilon: Fraction) -> Any:
    from jostle.tables.check_bounds import check_bounds

    return check_bounds(table, epsilon=epsilon)


def _synthesized(table: Table, epsilon: Fraction) -> Any:
    """Everything that was released and what was made of it, but the records: those are drawn with coins of their own."""
    found = table.synthesize("g", "b", "v", epsilon=epsilon).synthesis
    return [
        [one.values for one in found.measured],
        found.steps,
        found.total,
        found.fitted.counts((0, 1)),
        list(found.bounds),
    ]


QUESTIONS: dict[str, Ask] = {
    "count": lambda table, epsilon: table.where("v >= 2").count(epsilon=epsilon),
    "count, within": lambda table, epsilon: table.count(within=9 * MOST_ROWS / float(epsilon)),
    "histogram": lambda table, epsilon: table.histogram("g", epsilon=epsilon),
    "histogram of two": lambda table, epsilon: table.histogram("g", "d", epsilon=epsilon, algorithm="Laplace"),
    "histogram, wide": lambda table, epsilon: table.histogram("w", epsilon=epsilon, algorithm="HB"),
    "ranges": lambda table, epsilon: table.ranges("v", [(-3, 2), (0, 9), (4, 4)], epsilon=epsilon),
    "marginals": lambda table, epsilon: table.marginals(("g", "b"), ("b", "v"), "d", epsilon=epsilon),
    "batch": lambda table, epsilon: table.batch(table.ask("g", algorithm="Laplace"), table.ask_count(), epsilon=epsilon),
    "synthesize": _synthesized,
    "quantiles": lambda table, epsilon: table.quantiles("x", [0.1, 0.5, 0.9], epsilon=epsilon),
    "median": lambda table, epsilon: table.median("v", epsilon=epsilon),
    "top": lambda table, epsilon: table.top("v", k=3, epsilon=epsilon),
    "sum": lambda table, epsilon: table.sum("x", epsilon=epsilon),
    "sum by group": lambda table, epsilon: table.sum("v", by="g", epsilon=epsilon),
    "mean": lambda table, epsilon: table.mean("x", epsilon=epsilon),
    "mean by group": lambda table, epsilon: table.mean("v", by="g", epsilon=epsilon),
    "sql": lambda table, epsilon: table.sql("SELECT g, COUNT(*) FROM people WHERE v > 0 GROUP BY g", epsilon=epsilon),
    "sql, mean": lambda table, epsilon: table.sql("SELECT b, AVG(v) FROM people GROUP BY b", epsilon=epsilon),
    "group_by": _grouped,
    "partition": _parts,
    "transformed": _transformed,
    "records": _records,
    "check_bounds": _checked,
    "group_by, private keys": _keyed("t"),
    "group_by, private keys of two": _keyed("b", "t"),
    "group_by, private keys by noisy counts": _keyed_by_counts,
    "histogram, remembered": _remembered,
}
"""Every question that can be asked of a table, and what can be done to it before."""

WITH_KEYS = tuple(name for name in QUESTIONS if "private keys" in name)
"""What needs an account with a δ."""

WITH_MEMORY = ("histogram, remembered",)
"""What uses again what was released before."""

NOT_IN_RHO = ("count, within", "check_bounds", *WITH_KEYS, *WITH_MEMORY)
IN_RHO = tuple(name for name in QUESTIONS if name not in NOT_IN_RHO)
"""What is also paid for in ρ: all but what has a price of its own kind, or Laplace noise by itself."""

IN_FORMS: dict[Form, tuple[str, ...]] = {
    "sqlite": ("count", "histogram of two", "mean by group", "check_bounds"),
    "arrow": ("count",),
    "frame": ("histogram",),
    "text": ("count",),
}
"""What is also asked where rows are elsewhere than in DuckDB. Opening a table is a part of each."""


class LiveTable:
    """A table of an engine whose rows are exchanged for others. It is opened once, as nothing of that looks at rows.

    Ibis takes longer to write a query than DuckDB to run it, so a query that was written before is not written again.
    """

    def __init__(self, form: Form, unit: Unit | None, account: TapeAccount) -> None:
        import ibis

        self.form, self._path = form, Path(_folder().name) / f"{unit}.db"
        if form == "duckdb":
            self._connection = ibis.duckdb.connect(threads=1)  # for a handful of rows, others only get in the way
            self._connection.create_table(NAME, schema=ibis.schema(_TYPES))
            data: Any = self._connection.table(NAME)
        else:
            data = _sqlite(self._path, [])
        self.views = _opened(data, unit, account, table=NAME if form == "sqlite" else None)._views
        _write_once(self.views)

    def fill(self, rows: tuple[Row, ...]) -> None:
        if self.form == "sqlite":
            _sqlite(self._path, rows)
            return
        engine = self._connection.con
        for (name,) in engine.execute("SELECT table_name FROM duckdb_tables() WHERE temporary").fetchall():
            engine.execute(f"DROP TABLE {name}")  # a sample of an earlier run: this one gives its own the same names
        engine.execute(f"DELETE FROM {NAME}")  # noqa: S608 (a name of ours)
        engine.register("new_rows", _arrow(rows))
        engine.execute(f"INSERT INTO {NAME} SELECT * FROM new_rows")  # noqa: S608
        engine.unregister("new_rows")


def _write_once(views: Sequence[View]) -> None:
    """Keep the text of each query, for all tables of the same form: they have the same names and types.

    A text that an engine has planned once is not planned again: a plan looks at names and types, which stay.
    """
    for backend in (view.backend for view in views):
        backend.compile = partial(_text_of, backend.compile)
        backend._run_pre_execute_hooks = partial(_prepared_once, backend._run_pre_execute_hooks, set())
        if backend.name == "duckdb":
            backend._safe_raw_sql = partial(_planned_once, backend._safe_raw_sql, set())


def _prepared_once(prepare: Callable[[Any], Any], prepared: set[Any], expression: Any) -> None:
    """Public lists that a query is joined to stay in the engine, once they are there."""
    if (what := expression.op()) not in prepared:
        prepare(expression)
        prepared.add(what)


@contextmanager
def _planned_once(ask: Callable[..., Any], planned: set[str], statement: Any, *more: Any, **how: Any) -> Iterator[Any]:
    """An engine's answer to a statement, but for plans that it made before, which nobody reads."""
    if statement in planned:
        yield _NoRows()
        return
    with ask(statement, *more, **how) as answer:
        yield answer
    if isinstance(statement, str) and statement.startswith("EXPLAIN "):
        planned.add(statement)


class _NoRows:
    def fetchall(self) -> list[Any]:
        return []


_texts: dict[Any, Any] = {}


def _text_of(write: Callable[[Any], Any], expression: Any) -> Any:
    what = expression.op()  # a query that follows the data is another one
    if what not in _texts:
        _texts[what] = write(expression)
    return _texts[what]


@contextmanager
def bounded_once() -> Iterator[None]:
    """Keep the expression that bounds each person's rows of the same table by the same key: it follows from both alone."""
    with mock.patch.object(bounded_rows, "_kept_rows", partial(_kept_before, bounded_rows._kept_rows)):
        yield


_kept: dict[Any, Any] = {}


def _kept_before(bound: Callable[..., Any], table: Any, most: int, backend: Any, whose: Sequence[str], key: int) -> Any:
    what = (table.op(), most, tuple(whose), key)
    if what not in _kept:
        _kept[what] = bound(table, most, backend, whose, key)
    return _kept[what]


_TYPES = {
    "who": "int64",
    "g": "string",
    "v": "int64",
    "x": "float64",
    "d": "date",
    "b": "boolean",
    "w": "int64",
    "t": "string",
}


@dataclass(eq=False)
class TableData:
    """Rows, wherever they are."""

    rows: tuple[Row, ...]
    form: Form
    unit: Unit | None

    def opened(self, account: TapeAccount, version: str | None = None) -> Table:
        """A table with these rows and this account. With a version, what is released of it is remembered."""
        from jostle.tables.budget_source import AccountBudget, protected_unit
        from jostle.tables.table import Table

        if self.form not in ("duckdb", "sqlite"):
            table = _opened(self._data(), self.unit, account)
            _write_once(table._views)
            return table
        live = _live(self.form, self.unit)
        live.fill(self.rows)
        views = live.views if version is None else tuple(replace(view, source="rows") for view in live.views)
        return Table(views, AccountBudget(account, protected_unit(self.unit), version=version), NAME, self.unit)

    def _data(self) -> Any:
        if self.form == "arrow":
            return _arrow(self.rows)
        if self.form == "text":
            return str(_text(Path(_folder().name) / "rows.csv", self.rows))
        import pandas as pd

        columns = {name: [row[place] for row in self.rows] for place, name in enumerate(_TYPES)}
        return pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in columns.items()})


@cache
def _live(form: Form, unit: Unit | None) -> LiveTable:
    """Opened where nobody listens: what Ibis warns of when a table is opened has nothing to do with its rows."""
    whose = ("row", 1) if unit is None else ("who", unit.max_rows)
    with warnings.catch_warnings(action="ignore"):
        return LiveTable(form, unit, TapeAccount(Recording(seed=0), Neighbours(rows=whose[1]), whose[0]))


def _opened(data: Any, unit: Unit | None, account: TapeAccount, table: str | None = None) -> Table:
    """Through the front door."""
    from jostle.tables.opening import open as open_table

    relation = account.neighbours.relation
    how: dict[str, Any] = {"unit": unit, "neighbours": relation, "name": NAME, "budget": account.limit, "table": table}
    return open_table(data, schema=Schema(SCHEMA), ledger=TapeLedger(account), **how)


def _arrow(rows: Sequence[Row]) -> Any:
    import pyarrow as pa

    kinds = {"int64": pa.int64(), "string": pa.string(), "float64": pa.float64(), "date": pa.date32(), "boolean": pa.bool_()}
    columns = enumerate(_TYPES.items())
    return pa.table({name: pa.array([row[at] for row in rows], kinds[kind]) for at, (name, kind) in columns})


@cache
def _folder() -> Any:
    return tempfile.TemporaryDirectory()  # it goes with the process


def _plain(rows: Sequence[Row]) -> list[list[Any]]:
    """Without dates, which texts stand for."""
    return [[str(value) if isinstance(value, date) else value for value in row] for row in rows]


def _text(path: Path, rows: Sequence[Row]) -> Path:
    lines = [",".join("" if value is None else str(value) for value in row) for row in [list(_TYPES), *_plain(rows)]]
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return path


def _sqlite(path: Path, rows: Sequence[Row]) -> str:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(f"CREATE TABLE IF NOT EXISTS {NAME} ({', '.join(_TYPES)})")
        connection.execute(f"DELETE FROM {NAME}")  # noqa: S608 (a name of ours)
        connection.executemany(f"INSERT INTO {NAME} VALUES ({', '.join('?' * len(_TYPES))})", _plain(rows))  # noqa: S608
    return str(path)


def _case(number: int, form: Form, by_person: bool, *, crowded: bool = False) -> Case:
    from jostle.tables.unit import Unit

    rng = np.random.default_rng([number, by_person, len(form)])
    relation: Relation = "replace" if number % 2 else "add_remove"
    unit = Unit("who", max_rows=MOST_ROWS if number % 3 else 1) if by_person else None
    neighbours = Neighbours(relation, unit.max_rows if unit else 1)
    kind = number % 6 if number < 12 else int(rng.integers(6))
    rows = draw_rows(CROWD if crowded else kind, form, rng)
    if relation == "replace" and not [row for row in rows if row[0] is not None]:
        rows.append(draw_row(person(5, form), form, rng))
    others = [neighbour(rows, relation, by_person, form, rng) for _ in range(NEIGHBOURS)]
    if form in ("duckdb", "sqlite"):
        _live(form, unit)
    data, *made = (TableData(tuple(one), form, unit) for one in (rows, *others))
    return Case(
        name=f"{len(rows)} rows",
        data=data,
        others=made,
        neighbours=neighbours,
        epsilon=EPSILONS[(number + number // 6) % len(EPSILONS)],
        unit="who" if by_person else "row",
    )


def cases(form: Form, by_person: bool, *, crowded: bool = False) -> Callable[[int], Iterator[Case]]:
    """Cases of rows in this form; if crowded, half of them of many people, so that many share a value."""

    def found(pairs: int) -> Iterator[Case]:
        made = (_case(number, form, by_person, crowded=crowded and number % 4 < 2) for number in count())
        return islice(made, -(-pairs // NEIGHBOURS))

    return found


def subjects() -> list[Subject]:
    """Every question, for rows and for persons, in DuckDB; and some where rows are elsewhere."""
    asked = [("duckdb", name) for name in QUESTIONS] + [(form, name) for form, names in IN_FORMS.items() for name in names]
    return [_subject(form, name, by_person) for form, name in asked for by_person in (False, True)]  # type: ignore[arg-type]


def _subject(form: Form, name: str, by_person: bool) -> Subject:
    def run(case: Case, data: TableData, account: TapeAccount) -> Any:
        with bounded_once():
            paying = account.finding_keys if name in WITH_KEYS else account
            table = data.opened(paying, "1" if name in WITH_MEMORY else None)
            return repr(table), QUESTIONS[name](table, case.epsilon)

    where = "" if form == "duckdb" else f" ({form})"
    called = f"table: {name}{where}{' by person' if by_person else ''}"
    paid = form == "duckdb" and name in IN_RHO and not by_person
    how: dict[str, Any] = {"in_rho": paid, "cases_in_rho": _mixed(form)}
    found = cases(form, by_person, crowded=name in WITH_KEYS)
    return Subject(name=called, family="table", run=run, cases=found, **how)


def _mixed(form: Form) -> Callable[[int], Iterator[Case]]:
    """Cases of rows and of persons by turns."""

    def found(pairs: int) -> Iterator[Case]:
        made = (_case(number // 2, form, bool(number % 2)) for number in count())
        return islice(made, -(-pairs // NEIGHBOURS))

    return found
