"""What a database session must be like before a table is read through it.

Privacy: whether a query succeeds must not depend on a value. A session may have settings, and a database may have functions
under the names of the engine's own, that make it so. Our own connections are set; those that a caller hands in are checked
and never changed, because the caller uses them for other things as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from jostle.kernel.errors import BadInput
from jostle.tables.run_in_engine import run_in_engine

SETTINGS: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "duckdb": {
        "default_collation": ("", "binary"),  # two persons whose names differ in capitals would be one
        "dialect_compatibility_mode": ("none",),
        "integer_division": ("false",),
        "max_execution_time": ("0",),  # whether a query ends in time depends on the rows
        "warnings_as_errors": ("false",),
    },
    "postgres": {
        "server_encoding": ("utf8",),  # texts of other encodings may have bytes that are no characters
        "client_encoding": ("utf8",),
        "standard_conforming_strings": ("on",),  # patterns have backslashes
        "statement_timeout": ("0",),  # whether a query ends in time depends on the rows
        "transaction_timeout": ("0",),
        "transform_null_equals": ("off",),
    },
    "sqlite": {},
}
"""The values that a setting may have, in small letters, for each engine. What a version does not know is skipped."""

_OF_DUCKDB = "SELECT name, value FROM system.main.duckdb_settings()"
_OF_POSTGRES = "SELECT name, setting FROM pg_catalog.pg_settings"

_MACROS = "SELECT DISTINCT function_name FROM system.main.duckdb_functions() WHERE internal = {}"
"""The names of functions in DuckDB. Qualified, because a macro may have the name of a function of the catalog, too."""

_OF_ONE_KIND = """
    SELECT p.{prefix}name::pg_catalog.text FROM pg_catalog.{catalog} p
    WHERE p.{prefix}namespace OPERATOR(pg_catalog.=) ANY (SELECT oid FROM schemas)
      AND EXISTS (
        SELECT FROM pg_catalog.{catalog} q WHERE q.{prefix}name OPERATOR(pg_catalog.=) p.{prefix}name
          AND q.{prefix}namespace OPERATOR(pg_catalog.=) 'pg_catalog'::pg_catalog.regnamespace::pg_catalog.oid)
      AND NOT p.oid OPERATOR(pg_catalog.=) ANY (SELECT oid FROM of_extensions)
"""
_KINDS = (("pg_proc", "pro"), ("pg_operator", "opr"), ("pg_type", "typ"))
_OVERLOADS = """
    WITH schemas AS (
        SELECT oid FROM pg_catalog.pg_namespace
        WHERE nspname OPERATOR(pg_catalog.=) ANY (pg_catalog.current_schemas(true))
          AND nspname OPERATOR(pg_catalog.<>) 'pg_catalog'
    ), of_extensions AS (
        SELECT objid AS oid FROM pg_catalog.pg_depend WHERE deptype OPERATOR(pg_catalog.=) 'e'
    )""" + "    UNION".join(_OF_ONE_KIND.format(catalog=one, prefix=prefix) for one, prefix in _KINDS)  # noqa: S608  # our own names
"""Functions, operators and types that PostgreSQL might take in place of its own: they are found without a schema, and have
the name of one of its own. Those of extensions (citext, pg_trgm) are left alone."""


def check_session(connection: Any) -> None:
    """Raise if a setting or a function of the session could make a query's success depend on a value.

    >>> import ibis
    >>> connection = ibis.duckdb.connect()
    >>> _ = connection.raw_sql("SET default_collation = 'NOCASE'")
    >>> check_session(connection)
    Traceback (most recent call last):
    jostle.kernel.errors.BadInput: data: the connection's setting default_collation is 'NOCASE', with which answers may \
depend on values in ways that are not accounted for. Remedy: set it to ''.
    """
    engine = connection.name
    found = run_in_engine("reading the session's settings", lambda: _settings(connection), connection)
    for name, allowed in SETTINGS[engine].items():
        if name not in found or found[name].lower() in allowed:
            continue
        if name == "server_encoding":
            problem = "the database's encoding is not UTF8, so that some of its texts could not be read"
            raise BadInput("data", problem, "keep the table in a database whose encoding is UTF8")
        problem = (
            f"the connection's setting {name} is {found[name]!r}, with which answers may depend on values in ways that "
        )
        raise BadInput("data", problem + "are not accounted for", f"set it to {allowed[0]!r}")
    replaced = run_in_engine("listing functions", lambda: _replaced(connection), connection)
    if replaced:
        problem = (
            f"the database has a function of its own in place of the engine's {replaced[0]!r}, which may fail on a value"
        )
        raise BadInput("data", problem, "drop or rename it")


def set_session(connection: Any) -> None:
    """Set what `check_session` asks for, on a connection of our own to PostgreSQL."""
    known = run_in_engine("reading the session's settings", lambda: _settings(connection), connection)
    wanted = {
        name: values[0] for name, values in SETTINGS["postgres"].items() if name in known and name != "server_encoding"
    }

    def apply() -> None:
        for name, value in {**wanted, "TimeZone": "UTC"}.items():
            rows_of(connection, "SELECT pg_catalog.set_config(%s, %s, false)", (name, value))

    run_in_engine("connecting to the database", apply, connection)


def rows_of(connection: Any, query: str, values: Iterable[Any] = ()) -> list[tuple[Any, ...]]:
    """The rows of a question to the catalog. No transaction and no cursor is left behind."""
    if connection.name == "postgres":
        with connection.con.transaction(), connection.con.cursor() as cursor:
            return list(cursor.execute(query, tuple(values)).fetchall())
    return list(connection.con.execute(query, list(values)).fetchall())


def _settings(connection: Any) -> dict[str, str]:
    if connection.name == "sqlite":
        return {}
    query = _OF_DUCKDB if connection.name == "duckdb" else _OF_POSTGRES
    rows = [[one.decode() if isinstance(one, bytes) else one for one in row] for row in rows_of(connection, query)]
    return {name: "" if value is None else str(value) for name, value in rows}  # without an encoding, texts are bytes


def _replaced(connection: Any) -> list[str]:
    """The engine's functions that others stand in place of."""
    if connection.name == "postgres":
        return sorted(name for (name,) in rows_of(connection, _OVERLOADS))
    if connection.name == "sqlite":
        return []
    added = {name.lower() for (name,) in rows_of(connection, _MACROS.format("false"))}
    own = {name.lower() for (name,) in rows_of(connection, _MACROS.format("true"))} if added else set()
    return sorted(added & own)
