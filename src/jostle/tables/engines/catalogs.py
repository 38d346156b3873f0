"""Whether a table of a database is an ordinary one, and the types of its columns, by the database's own catalog.

Privacy: whether a query succeeds must not depend on a value, and no row may be there more than once. What stands behind a
view, a foreign table or a generated column may do either. So only tables that the engine stores itself are opened, and the
types are those that the engine knows: Ibis takes DuckDB's HUGEINT for a decimal, and PostgreSQL's citext for a text. Proof:
docs/proofs/tables.md, "Ordinary tables".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from jostle.kernel.errors import BadInput
from jostle.tables.engines.sessions import rows_of
from jostle.tables.run_in_engine import run_in_engine

STABLE = "each row comes from one row"
"""What somebody declares about a view, word by word: one row of the tables behind it gives at most one row, none fails."""

VIEWS = ("a view", "a materialized view")

GENERATED = "generated column"
"""In place of the type of a column that is computed from others. No list of types has it, so it is refused if it is used."""


@dataclass(frozen=True)
class Catalogued:
    """An ordinary table."""

    name: str
    """What the catalog calls it."""

    place: tuple[str, ...]
    """Where it is: DuckDB's database and schema, PostgreSQL's schema, SQLite's attached database. Whoever names both opens
    this table and no other, whatever comes into the session later."""

    types: Mapping[str, str]
    """The engine's own name of each column's type."""


def ordinary_table(
    connection: Any,
    table: str,
    database: str | tuple[str, ...] | None = None,
    person: str | None = None,
    *,
    views: bool = False,
) -> Catalogued:
    """What the catalog says about a table, which the connection finds by this name; anything but a table is refused.

    `person` is the column that says whose row it is. Two different texts in it must be two persons, so collations are
    refused by which they would be one; in other columns they do no harm, because texts are compared by their bytes there.
    `views` are opened only if somebody declared that each of their rows comes from one row, and none of them fails.

    >>> import ibis
    >>> connection = ibis.duckdb.connect()
    >>> _ = connection.raw_sql("CREATE TABLE people (age UTINYINT, city VARCHAR); CREATE VIEW adults AS FROM people")
    >>> dict(ordinary_table(connection, "people").types)
    {'age': 'UTINYINT', 'city': 'VARCHAR'}
    >>> ordinary_table(connection, "adults")
    Traceback (most recent call last):
    jostle.kernel.errors.BadInput: table: 'adults' is a view, and a view may fail on a value or show a row more than once. \
Remedy: store its rows as a table (CREATE TABLE … AS SELECT …) and open that, or pass view="each row comes from one row" \
if that is so.
    """
    look = {"duckdb": _in_duckdb, "postgres": _in_postgres, "sqlite": _in_sqlite}[connection.name]
    step = f"looking for the table {table!r}"
    named = database if isinstance(database, tuple) else (database,) if database else ()
    return run_in_engine(step, lambda: look(connection, table, named, person, views), connection)  # type: ignore[no-any-return]


def _refused(name: str, what: str) -> BadInput:
    problem = f"{name!r} is {what}, and {what} may fail on a value or show a row more than once"
    remedy = "store its rows as a table (CREATE TABLE … AS SELECT …) and open that"
    return BadInput("table", problem, f'{remedy}, or pass view="{STABLE}" if that is so' if what in VIEWS else remedy)


def _collated(person: str) -> BadInput:
    problem = f"the column {person!r} has a collation by which different texts are the same person"
    return BadInput("unit", problem, "store it as a column without a collation of its own")


def _missing(name: str, there: list[str]) -> BadInput:
    listed = ", ".join(sorted(there)[:20])
    return BadInput("table", f"there is no table {name!r}", f"use one of {listed}" if listed else "create it first")


def quoted(name: str) -> str:
    """A name as all three engines read it.

    >>> quoted('a"b')
    '"a""b"'
    """
    return '"' + name.replace('"', '""') + '"'


# ------------------------------------------------------------------------------------------------------------ DuckDB

_THERE = """
    SELECT database_name, schema_name, table_name, true, sql FROM system.main.duckdb_tables()
    UNION ALL SELECT database_name, schema_name, view_name, false, '' FROM system.main.duckdb_views() WHERE NOT internal
"""
_DATABASES = "SELECT database_name, type FROM system.main.duckdb_databases()"
_COLUMNS = "FROM system.main.duckdb_columns() WHERE database_name = ? AND schema_name = ? AND table_name = ?"


def _in_duckdb(connection: Any, table: str, named: tuple[str, ...], person: str | None, views: bool) -> Catalogued:
    current = rows_of(connection, "SELECT current_database(), current_schema()")[0]
    there = rows_of(connection, _THERE)
    same = [one for one in there if one[2].lower() == table.lower() and _is_at(one[:2], named)]
    first = [one for one in same if one[0] == "temp"] or [one for one in same if one[:2] == current]
    first = first or [one for one in same if one[0] == current[0]] or same
    if not first:
        raise _missing(table, [one[2] for one in there if one[3]])
    if len(first) > 1:
        listed = ", ".join(".".join(one[:3]) for one in first)
        raise BadInput("table", f"{table!r} may be any of {listed}", "name its schema as well, as in 'schema.table'")
    *place, name, is_table, created = first[0]
    kind = dict(rows_of(connection, _DATABASES))[place[0]]
    if kind != "duckdb":
        raise _refused(name, f"a table of an attached database of type {kind!r}")
    if not is_table and not views:
        raise _refused(name, "a view")
    found = connection.con.execute(f"SELECT * {_COLUMNS} ORDER BY column_index", [*place, name])
    keys = [described[0] for described in found.description]
    columns = [dict(zip(keys, row, strict=True)) for row in found.fetchall()]
    if "is_generated" not in keys and "GENERATED ALWAYS" in created:  # before DuckDB 2, the catalog does not say which
        raise _refused(name, "a table with generated columns")
    types = {one["column_name"]: GENERATED if one.get("is_generated") else one["data_type"] for one in columns}
    full = ".".join(map(quoted, (*place, name)))
    if person is not None and types.get(person) == "VARCHAR" and _has_collation(connection, full, person):
        raise _collated(person)
    return Catalogued(name, tuple(place), types)


def _is_at(place: tuple[str, str], named: tuple[str, ...]) -> bool:
    """Whether that is the place which somebody named: a database and a schema, or one of the two."""
    database, schema = (part.lower() for part in place)
    said = tuple(part.lower() for part in named)
    return not said or said in ((database, schema), (schema,)) or (said == (database,) and schema == "main")


def _has_collation(connection: Any, table: str, column: str) -> bool:
    """DuckDB's catalog does not tell, but DuckDB refuses to compare texts of two collations, when a query is planned."""
    import duckdb

    name = quoted(column)
    try:
        query = f"EXPLAIN SELECT {name} = ('' COLLATE NFC), {name} = ('' COLLATE NOACCENT) FROM {table}"  # noqa: S608 (quoted)
        rows_of(connection, query)
    except duckdb.BinderException:
        return True
    return False


# -------------------------------------------------------------------------------------------------------- PostgreSQL

_FAMILY = """
    WITH RECURSIVE family AS (
        SELECT pg_catalog.to_regclass(%s)::pg_catalog.oid AS oid
        UNION SELECT i.inhrelid FROM pg_catalog.pg_inherits i JOIN family f ON i.inhparent OPERATOR(pg_catalog.=) f.oid
    )
    SELECT c.oid, n.nspname::pg_catalog.text, c.relname::pg_catalog.text, c.relkind::pg_catalog.text, c.relrowsecurity,
           (SELECT amname::pg_catalog.text FROM pg_catalog.pg_am a WHERE a.oid OPERATOR(pg_catalog.=) c.relam)
    FROM family JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) family.oid
    JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
    ORDER BY c.oid OPERATOR(pg_catalog.<>) pg_catalog.to_regclass(%s)::pg_catalog.oid
"""
"""A table first, and then everything whose rows are read with it: partitions and children, and theirs."""

_ATTRIBUTES = """
    SELECT a.attname::pg_catalog.text, t.typname::pg_catalog.text, t.typtype::pg_catalog.text, n.nspname::pg_catalog.text,
           a.attgenerated::pg_catalog.text, coalesce(c.collisdeterministic, true)
    FROM pg_catalog.pg_attribute a
    JOIN pg_catalog.pg_type t ON t.oid OPERATOR(pg_catalog.=) a.atttypid
    JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) t.typnamespace
    LEFT JOIN pg_catalog.pg_collation c ON c.oid OPERATOR(pg_catalog.=) a.attcollation
    WHERE a.attrelid OPERATOR(pg_catalog.=) ANY (%s::pg_catalog.oid[])
      AND a.attnum OPERATOR(pg_catalog.>) 0 AND NOT a.attisdropped
    ORDER BY a.attrelid OPERATOR(pg_catalog.<>) %s::pg_catalog.oid, a.attnum
"""
"""The columns of some tables, those of the first table first."""

_KINDS = {
    "v": "a view",
    "m": "a materialized view",
    "f": "a foreign table",
    "S": "a sequence",
    "i": "an index",
    "I": "an index",
    "c": "a composite type",
    "t": "a TOAST table",
}


def _in_postgres(connection: Any, table: str, named: tuple[str, ...], person: str | None, views: bool) -> Catalogued:
    said = ".".join(map(quoted, (*named[-1:], table)))
    family = rows_of(connection, _FAMILY, [said, said])
    if not family:
        raise _missing(table, [*connection.list_tables()])
    oid, place, name = family[0][:3]
    for _, _, of, kind, secured, method in family:
        if views and kind in ("v", "m") and of == name:
            continue
        if kind not in ("r", "p"):
            what = _KINDS.get(kind, "no table")
            raise _refused(name, what if of == name else f"a table with {what} ({of!r}) under it")
        if secured:
            problem = f"row-level security is on for {of!r}, so that its policies are computed for every row and may fail"
            raise BadInput("table", problem, "store the rows as a table without policies (CREATE TABLE … AS SELECT …)")
        if method not in (None, "heap"):
            raise _refused(name, f"a table with the access method {method!r}")
    oids = [one[0] for one in family]
    types: dict[str, str] = {}
    for column, kind, sort, where, generated, deterministic in rows_of(connection, _ATTRIBUTES, [oids, oid]):
        if generated:  # in a child, too, whose column may be generated where the table's is not
            types[column] = GENERATED
        elif column not in types:
            types[column] = kind if where == "pg_catalog" else "enum" if sort == "e" else f"{where}.{kind}"
        if column == person and not deterministic:
            raise _collated(column)
    own = {one[0] for one in rows_of(connection, _ATTRIBUTES, [[oid], oid])}
    return Catalogued(name, (place,), {column: kind for column, kind in types.items() if column in own})


# ------------------------------------------------------------------------------------------------------------ SQLite


def _in_sqlite(connection: Any, table: str, named: tuple[str, ...], person: str | None, views: bool) -> Catalogued:
    """As SQLite finds it: among the temporary tables, then in the main database, then in those that were attached."""
    places = [row[1] for row in rows_of(connection, "PRAGMA database_list")]
    places = sorted(places, key=lambda place: (place != "temp", place != "main"))
    listed = rows_of(connection, "PRAGMA table_list")
    for place in [place for place in places if not named or place.lower() == named[-1].lower()]:
        for at, name, kind, *_ in listed:
            if at == place and name.lower() == table.lower():
                return _sqlite_columns(connection, place, name, kind, person, views)
    raise _missing(table, [row[1] for row in listed if row[2] == "table" and not row[1].startswith("sqlite_")])


def _sqlite_columns(connection: Any, place: str, name: str, kind: str, person: str | None, views: bool) -> Catalogued:
    if kind != "table" and not (views and kind == "view"):
        raise _refused(name, {"view": "a view", "virtual": "a virtual table"}.get(kind, f"a {kind} table"))
    rows = rows_of(connection, f"PRAGMA {quoted(place)}.table_xinfo({quoted(name)})")
    types = {row[1]: GENERATED if row[6] in (2, 3) else "any" for row in rows if row[6] != 1}
    if person is not None and person in types and _collates(connection, f"{quoted(place)}.{quoted(name)}", person):
        raise _collated(person)
    return Catalogued(name, (place,), types)


def _collates(connection: Any, table: str, column: str) -> bool:
    """Whether SQLite's plan for groups of a column compares values in any other way than by their bytes.

    The plan says `k(1,B)` for one column that is compared by bytes; with a collation that nobody defined, there is no plan.
    """
    import sqlite3

    try:
        plan = rows_of(connection, f"EXPLAIN SELECT 1 FROM {table} GROUP BY {quoted(column)}")  # noqa: S608 (quoted)
    except sqlite3.OperationalError:
        return True
    return {step[5] for step in plan if step[1] == "Compare"} != {"k(1,B)"}
