"""A person's rows, bounded in the engine: drawn at random for each question, or once for all questions about a table.

Privacy: which of a person's rows are kept depends on that person's rows and on fresh random numbers, so that others' rows
stay as they are when a person comes or goes. Proof: docs/proofs/tables.md, "A person's rows".
"""

from __future__ import annotations

import secrets
import threading
import uuid
from collections.abc import Callable
from typing import Any

import ibis
import sqlglot as sg
import sqlglot.expressions as sge

from jostle.tables.asking import asked, query_of
from jostle.tables.stages import RESERVED, Expression

PERSON, RANDOM, RANK = (f"{RESERVED}{name}" for name in ("person", "random", "rank"))


def person(value: Expression) -> Expression:
    """Whose row it is. NaN and an empty text are nobody, as null is."""
    kind = value.type()
    if kind.is_floating():
        return ibis.ifelse(value.isnan(), ibis.null(kind), value)
    if kind.is_decimal():  # PostgreSQL's may be NaN, too, and all of these are equal
        return ibis.ifelse(value.cast("string") == "NaN", ibis.null(kind), value)
    return ibis.ifelse(value.strip() == "", ibis.null(kind), value) if kind.is_string() else value


def bounded(table: Any, most: int, backend: Any) -> Any:
    """At most so many rows a person, at random; rows without a person are dropped."""
    _reseed(backend)
    # The random column comes first, and the window then: DuckDB refuses a random order in a window.
    drawn = table.filter(table[PERSON].notnull()).mutate(**{RANDOM: ibis.random()})
    window = ibis.window(group_by=drawn[PERSON], order_by=drawn[RANDOM])
    ranked = drawn.mutate(**{RANK: ibis.row_number().over(window)})
    return ranked.filter(ranked[RANK] < most).drop(RANDOM, RANK)


class Sample:
    """Rows that are drawn when they are first asked for, and are the same from then on.

    Not before, so that whatever they are drawn for has been charged; and once, whoever asks first: parts that drew for
    themselves would have more of a person's rows together than the person has in each.
    """

    def __init__(self, backend: Any, rows: Callable[[], Any]) -> None:
        self.backend, self._rows = backend, rows
        self._table: Any = None
        self._drawing = threading.Lock()

    @property
    def table(self) -> Any:
        """The rows, as an Ibis table."""
        with self._drawing:
            if self._table is None:
                self._table = _kept(self.backend, self._rows())
            return self._table


def _reseed(backend: Any) -> None:
    """Random numbers that nobody foresees, whatever seed was set before on a connection that we were handed."""
    if backend.name in ("duckdb", "postgres"):
        seed = secrets.randbelow(2**53) / 2**52 - 1
        asked("sampling", lambda: backend.raw_sql(f"SELECT setseed({seed!r})").fetchall(), backend)


def _kept(backend: Any, table: Any) -> Any:
    """A temporary table with these rows, where the data are; it goes with the connection."""
    name, query = f"{RESERVED}{uuid.uuid4().hex}", asked("sampling", lambda: query_of(table, backend), backend)
    if backend.name == "pyspark":
        frame = asked("sampling", lambda: backend._session.sql(query).localCheckpoint(), backend)
        asked("sampling", lambda: frame.createOrReplaceTempView(name), backend)
    else:
        made = sge.Create(this=sge.to_table(name), kind="TABLE", expression=sg.parse_one(query, dialect=backend.dialect))
        made.set("properties", sge.Properties(expressions=[sge.TemporaryProperty()]))
        asked("sampling", lambda: backend.raw_sql(made.sql(backend.dialect)), backend)
    chosen = sg.select("*").from_(name).sql(backend.dialect)
    return asked("sampling", lambda: backend.sql(chosen, schema=table.schema()), backend)
