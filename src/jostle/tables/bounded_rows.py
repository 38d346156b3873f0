"""A person's rows, bounded in the engine: chosen anew for each question, or once for all questions about a table.

Privacy: which of a person's rows are kept is a function of that person's own rows and of a key that is drawn without a look
at the data. Hence others' rows stay as they are when a person comes or goes, whatever the hash is: the key only makes the
choice fair. (An engine's own random numbers would not do: which row gets which number depends on all rows before it.)
Proof: docs/proofs/tables.md, "A person's rows".
"""

from __future__ import annotations

import secrets
import threading
import uuid
from collections.abc import Callable, Sequence
from typing import Any

import ibis

from jostle.kernel.errors import BadInput
from jostle.schema.values import LONGEST_TEXT
from jostle.tables.cells.readings import builtin, octets, octets_of, typed_text
from jostle.tables.cells.staged_columns import RESERVED, Expression
from jostle.tables.run_in_engine import Query, run_in_engine

PERSON, HASH, COPY, ORDER, RANK = (f"{RESERVED}{name}" for name in ("person", "hash", "copy", "order", "rank"))

_HASHES = {
    "duckdb": builtin("hash", ("string",), "uint64"),
    "postgres": builtin("hashtextextended", ("string", "int64"), "int64"),
    "pyspark": builtin("xxhash64", ("string",), "int64"),
    "sqlite": builtin(f"{RESERVED}hash", ("binary",), "int64"),
}
"""The engine's hash function of a text: any function will do for privacy, and these mix well."""

WIDEST_SAMPLE = 400
"""A row of a temporary table in PostgreSQL has space for this many columns, whatever their values are (18 bytes each)."""


def person(value: Expression, engine: str) -> Expression:
    """Whose row it is, so that equal persons look the same. Nobody (null) are: NaN, blank texts, very long texts."""
    kind = value.type()
    if engine == "sqlite":
        return _sqlite_person(value)
    if kind.is_floating():
        wide = value.cast("float64")
        return ibis.ifelse(wide.isnan(), ibis.null("float64"), _one_zero(wide))
    if kind.is_decimal() and engine == "postgres":  # has a NaN, and both 1.0 and 1.00
        return ibis.ifelse(value.cast("string") == "NaN", ibis.null(kind), _trim_scale(value))
    if kind.is_string():
        named, nobody = typed_text(value, engine), ibis.null("string")
        too_long = octets(named, engine) > LONGEST_TEXT  # first: PostgreSQL fails to strip very long texts
        # Several names that are no UTF-8 may be read as one, with this sign in place of their bytes.
        unread = ibis.literal(False) if engine != "duckdb" else named.contains("\ufffd")
        return ibis.cases((too_long, nobody), (unread, nobody), (named.strip() == "", nobody), else_=named)
    return value


def _sqlite_person(value: Expression) -> Expression:
    """SQLite compares 1 and 1.0 as numbers, but tells 1 from '1': each becomes a text that says what it is."""
    stored, whole, real = value.typeof(), value.cast("int64"), value.cast("float64")
    number = ibis.ifelse(real == whole, whole.cast("string"), _printf("%!.17g", real))
    long = octets(value, "sqlite") > LONGEST_TEXT
    return ibis.cases(
        (stored == "integer", ibis.literal("n") + whole.cast("string")),
        (stored == "real", ibis.literal("n") + number),
        ((stored == "text") & ~long & (value.strip() != ""), ibis.literal("t") + value),
        ((stored == "blob") & ~long, ibis.literal("b") + _hex(value)),
        else_=ibis.null("string"),
    )


_trim_scale = builtin("trim_scale", ("decimal",), "decimal")
_printf = builtin("printf", ("string", "float64"), "string")
_hex = builtin("hex", ("string",), "string")


def bounded(table: Any, most: int, backend: Any, key: int | None = None) -> Any:
    """At most `most` rows of each person; rows without a person are dropped.

    Rows are ranked by a keyed hash of the person, the row's values and the number of the copy: a person's equal rows are
    numbered, so that each of them is as likely to be kept as any other row. Every order below is complete but for rows that
    are equal in all columns, so that the rows which are kept do not depend on the order in which an engine finds them.
    """
    return _kept_rows(table, most, backend, [PERSON], secrets.randbits(62) if key is None else key)


def bounded_in_groups(
    table: Any, by: Sequence[str], groups: int | None, rows_per_group: int | None, backend: Any, key: int | None = None
) -> Any:
    """Bound the number of groups of each person, and the number of rows of each person per group.

    Some columns together say which group a row is in. Texts among them are bytes: a collation could tie two of them.

    Which groups a person keeps follows from a keyed hash of the person and the group, among the groups of the person's own
    rows; which rows, as in `bounded`. Rows without a person are dropped.
    """
    key = secrets.randbits(62) if key is None else key
    if rows_per_group is not None:
        table = _kept_rows(table, rows_per_group, backend, [PERSON, *by], key)
    if groups is not None:
        _register_hash(backend)
        table = table.filter(table[PERSON].notnull())
        each = [table[name] for name in (PERSON, *by)]
        table = table.mutate(**{HASH: _hash(backend.name, ibis.literal(f"{key} groups"), *each)})
        by_hash = ibis.window(group_by=table[PERSON], order_by=[table[name] for name in (HASH, *by)])
        table = table.mutate(**{RANK: ibis.dense_rank().over(by_hash)})
        table = table.filter(table[RANK] < groups).drop(HASH, RANK)
    return table


def _kept_rows(table: Any, most: int, backend: Any, whose: Sequence[str], key: int) -> Any:
    """At most `most` rows of those that share the values of some columns, the person's among them."""
    engine = backend.name
    _register_hash(backend)
    table = table.filter(table[PERSON].notnull())
    floats = {name: _one_zero(table[name]) for name in table.columns if table[name].type().is_floating()}
    table = table.mutate(**floats) if floats else table
    values = [name for name in table.columns if name != PERSON]
    table = table.mutate(**{HASH: _hash(engine, ibis.literal(str(key)), *(table[name] for name in (PERSON, *values)))})
    copies = ibis.window(group_by=[table[PERSON], table[HASH]], order_by=[table[HASH], *_in_order(table, values, engine)])
    table = table.mutate(**{COPY: ibis.row_number().over(copies)})
    table = table.mutate(**{ORDER: _hash(engine, table[HASH], table[COPY])})
    order = [table[ORDER], table[HASH], *_in_order(table, values, engine), table[COPY]]
    by_hash = ibis.window(group_by=[table[name] for name in whose], order_by=order)
    table = table.mutate(**{RANK: ibis.row_number().over(by_hash)})
    return table.filter(table[RANK] < most).drop(HASH, COPY, ORDER, RANK)


def _in_order(table: Any, names: Sequence[str], engine: str) -> list[Expression]:
    """The values of some columns, by which no two different rows are tied.

    Texts by their bytes: a collation could tie two of them. Free texts differ where the numbers of their cells do not.
    """
    return [octets_of(table[name], engine) if table[name].type().is_string() else table[name] for name in names]


def _hash(engine: str, *values: Expression) -> Expression:
    """A number from some values. Values that are written alike have the same one, which costs fairness and nothing else."""
    words = _joined([ibis.literal(":") + value.cast("string").fill_null("") for value in values])
    if engine == "sqlite":  # hands its texts to Python, which would fail on bytes that are no UTF-8
        words = words.cast("binary")
    return _HASHES[engine](words, ibis.literal(0)) if engine == "postgres" else _HASHES[engine](words)


def _joined(texts: Sequence[Expression]) -> Expression:
    """Texts one after another, joined by halves: a long chain would be nested too deeply."""
    half = len(texts) // 2
    return texts[0] if not half else _joined(texts[:half]) + _joined(texts[half:])


def _one_zero(value: Expression) -> Expression:
    """Without the sign of a zero: the two zeros are equal, but are not written alike."""
    return ibis.ifelse(value == 0, ibis.literal(0.0), value)


def _register_hash(backend: Any) -> None:
    """SQLite has no hash function of its own."""
    if backend.name == "sqlite":
        run_in_engine(
            "sampling", lambda: backend.con.create_function(f"{RESERVED}hash", 1, _digest, deterministic=True), backend
        )


def _digest(words: bytes) -> int:
    from hashlib import blake2b

    return int.from_bytes(blake2b(words, digest_size=8).digest(), "big", signed=True)


class BoundedSample:
    """Rows that are chosen and kept when they are first needed, and are the same from then on.

    Not before, so that whatever they are kept for has been charged; and only once: parts that chose for themselves would
    have more of a person's rows together than the person has in each. What an engine may refuse, it refuses here, before
    the charge: the query is planned, and an empty table is made and dropped.
    """

    def __init__(self, backend: Any, rows: Callable[[], Any]) -> None:
        self.backend, self._query = backend, Query("sampling", rows, backend)
        self._table: Any = None
        self._drawing = threading.Lock()
        _check_width(backend, self._query.table.columns)
        self._query.check()
        if backend.name != "pyspark":
            name = f"{RESERVED}{uuid.uuid4().hex}"
            run_in_engine("making a temporary table, before it was charged", lambda: _probe(backend, name), backend)

    @property
    def table(self) -> Any:
        """The rows, as an Ibis table."""
        with self._drawing:
            if self._table is None:
                self._table = _kept(self._query)
            return self._table


def _check_width(backend: Any, columns: Sequence[str]) -> None:
    """A row of PostgreSQL's must fit a page, and whether one of more columns does depends on its values."""
    if backend.name == "postgres" and len(columns) > WIDEST_SAMPLE:
        problem = f"this needs a temporary table with more than {WIDEST_SAMPLE} columns, too wide for PostgreSQL"
        raise BadInput("columns", problem, "select fewer columns first: table.select(…)")


def _probe(backend: Any, name: str) -> None:
    """Whether this role may make temporary tables here."""
    _execute(backend, f"CREATE TEMPORARY TABLE {name} AS SELECT 1 AS x")
    _execute(backend, f"DROP TABLE {name}")


def _execute(backend: Any, statement: str) -> None:
    with backend._safe_raw_sql(statement):
        pass


def _kept(query: Query) -> Any:
    """A temporary table with these rows, where the data are; it goes with the connection."""
    backend, name = query.backend, f"{RESERVED}{uuid.uuid4().hex}"
    if backend.name == "pyspark":
        frame = run_in_engine("sampling", lambda: backend._session.sql(query.text).localCheckpoint(), backend)
        run_in_engine("sampling", lambda: frame.createOrReplaceTempView(name), backend)
    else:
        run_in_engine("sampling", lambda: _execute(backend, f"CREATE TEMPORARY TABLE {name} AS {query.text}"), backend)
    chosen = f"SELECT * FROM {name}"  # noqa: S608 (a name of ours)
    return run_in_engine("sampling", lambda: backend.sql(chosen, schema=query.table.schema()), backend)
