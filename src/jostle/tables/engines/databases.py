"""Tables of databases: DuckDB, PostgreSQL and SQLite. Only ordinary tables are opened, with types on the closed list.

Privacy: what is checked here is checked before anything is charged, and follows only from catalogs.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import sqlglot as sg

from jostle.kernel.errors import BadInput
from jostle.schema.files import is_sqlite
from jostle.tables.engines.catalogs import Catalogued, ordinary_table
from jostle.tables.engines.files import check_columns, quiet
from jostle.tables.engines.places import RowPlace, places_in_database
from jostle.tables.engines.sessions import check_session, set_session
from jostle.tables.engines.types import check_types
from jostle.tables.run_in_engine import run_in_engine

CATALOGUED = ("duckdb", "postgres", "sqlite")
"""The engines whose catalogs say what a table is."""


class Found(NamedTuple):
    """A table of a database, as an Ibis table, what it is publicly called, and where its rows are."""

    table: Any
    name: str
    places: frozenset[RowPlace]


def ordinary(
    connection: Any, table: str, named: tuple[str, ...], wanted: Sequence[str], person: str | None, *, views: bool = False
) -> Found:
    """A table, if it and the columns that are wanted are such that no value can make a query fail.

    It is called by its name alone, so that one table has one name, whether its schema is named or not.
    """
    import ibis
    import ibis.expr.operations as ops

    check_session(connection)
    found = ordinary_table(connection, table, named, person, views=views)
    check_columns([*found.types], wanted)
    check_types(found.types, wanted, connection.name, person)
    step = f"looking for the table {table!r}"
    places = run_in_engine(step, lambda: places_in_database(connection, found.name, found.place), connection)
    if connection.name == "sqlite":
        return Found(run_in_engine(step, lambda: _sqlite_table(connection, found), connection), table, places)
    catalog, schema = found.place if len(found.place) == 2 else (None, found.place[0])
    known = run_in_engine(
        step,
        lambda: connection.get_schema(found.name, catalog=catalog, database=schema),
        connection,
    )
    # Ibis knows an enumeration of PostgreSQL only where the search path leads to it, and bpchar only with a length.
    kinds = {name: "string" if found.types[name] in ("enum", "bpchar") else kind for name, kind in known.items()}
    place = ops.Namespace(catalog=catalog, database=schema)
    rows = ops.DatabaseTable(found.name, schema=ibis.schema(kinds), source=connection, namespace=place).to_expr()
    return Found(rows, table, places)


def database_file(path: Path, table: str | None, wanted: Sequence[str], person: str | None, *, views: bool = False) -> Found:
    """A table of a file that is a database."""
    import ibis

    if not path.is_file():
        raise BadInput("data", f"there is no file {str(path)!r}", "check the path")
    if not run_in_engine("opening the database", lambda: is_sqlite(path)):
        connection = run_in_engine(
            "opening the database", lambda: quiet(ibis.duckdb.connect(path, read_only=True, temp_directory=""))
        )
        return one_of(connection, table, wanted, person, views=views)
    connection = run_in_engine("opening the database", lambda: ibis.sqlite.connect(path))
    _close_with(connection)
    connection.con.execute("PRAGMA temp_store = MEMORY")  # what it sorts would go to files otherwise
    return one_of(connection, table, wanted, person, views=views)


def _sqlite_table(connection: Any, found: Catalogued) -> Any:
    """Every column as one of texts, because SQLite's declare nothing; Ibis would look at values to find their types."""
    import ibis

    query = sg.select(*(sg.column(name, quoted=True) for name in found.types)).from_(
        sg.exp.table_(found.name, db=found.place[0], quoted=True)
    )
    return connection.sql(query.sql("sqlite"), schema=ibis.schema(dict.fromkeys(found.types, "string")))


def at_url(url: str, table: str | None, wanted: Sequence[str], person: str | None, *, views: bool = False) -> Found:
    """A table of a database that a URL leads to."""
    import ibis
    import sqlalchemy as sa

    where = run_in_engine("reading the URL", lambda: sa.make_url(url))
    if not where.drivername.startswith("postgres"):
        raise BadInput("data", f"{where.drivername}:// is unknown", "pass a URL that begins with postgresql://")
    options: dict[str, Any] = {key: value for key, value in where.query.items() if isinstance(value, str)}
    connection = run_in_engine(
        "connecting to the database",
        lambda: ibis.postgres.connect(
            host=where.host or "localhost",
            user=where.username,
            password=where.password,
            port=where.port or 5432,
            database=where.database,
            **options,
        ),
    )
    _close_with(connection)
    set_session(connection)
    check_session(connection)
    return one_of(connection, table, wanted, person, views=views)


def _close_with(connection: Any) -> None:
    """Close a connection when nobody uses it any more."""
    weakref.finalize(connection, connection.con.close)


def one_of(connection: Any, table: str | None, wanted: Sequence[str], person: str | None, *, views: bool = False) -> Found:
    """The table by its name (`schema.table` where it needs one), or the only one there is."""
    table = table or only_table(connection)
    schema, _, name = table.rpartition(".")
    named = tuple(schema.split(".", 1)) if schema else ()
    return ordinary(connection, name, named, wanted, person, views=views)


def _tables(connection: Any) -> list[str]:
    """Ibis asks DuckDB for its tables in a way that DuckDB 2 has no more."""
    if connection.name == "duckdb":
        return [name for (name,) in connection.con.execute("SHOW TABLES").fetchall()]
    return [*connection.list_tables()]


def only_table(connection: Any) -> str:
    """The name of the only table; refused if there are others."""
    names = run_in_engine("listing tables", lambda: _tables(connection))
    if len(names) != 1:
        listed = ", ".join(sorted(names)[:20]) or "none"
        raise BadInput("table", f"there is more than one, or none: {listed}", "say which with table=…")
    return str(names[0])
