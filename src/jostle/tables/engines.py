"""Where tables come from: files, frames, databases and Spark, all as Ibis tables.

What is read from a source besides its rows is public: the names of its tables and columns, and the types that a database, a
Parquet file or a frame declares. Types are never guessed from values: every column of a text file is text, and the schema
says what it means. Lines of a text file that cannot be read are left out, without a word.
"""

from __future__ import annotations

import errno
import os
import stat
import weakref
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import sqlglot as sg

from jostle.kernel.errors import BadInput
from jostle.schema.files import is_sqlite
from jostle.tables.asking import asked
from jostle.tables.files import TEXT_FILES, are_parquet, embedded, parquet_table, quiet, text_table
from jostle.tables.frames import check_labels, is_frame, names_of, to_arrow
from jostle.tables.sparks import ibis_table, local_spark, saved_table, spark_files, spark_table

__all__ = [
    "ENGINES",
    "TEXT_FILES",
    "Opened",
    "check_columns",
    "connect",
    "identities",
    "listed",
    "local_spark",
    "share_files",
]

ENGINES = ("duckdb", "postgres", "pyspark", "sqlite")
"""The engines whose arithmetic the tests compare with NumPy's, cell by cell."""

DATABASE_FILES = (".duckdb", ".ddb", ".db", ".sqlite", ".sqlite3")
KINDS_OF_DATA = "a path (CSV, Parquet, DuckDB, SQLite), a postgresql:// URL, a frame, a Spark session or an Ibis table"


@dataclass(frozen=True, repr=False)
class Opened:
    """A table in its engine."""

    table: Any
    """The Ibis table."""

    name: str | None
    """What it is publicly called."""

    filtered: bool = False
    """Whether some rows may be lost on the way, by a public rule."""

    origin: frozenset[Hashable] = frozenset()
    """What tells the data from others: two tables that were opened on the same data share some of it."""


def connect(
    data: Any,
    *,
    table: str | None,
    wanted: Sequence[str],
    columns: Sequence[str] | None,
    engine: str,
    person: str | None = None,
) -> Opened:
    """The table that somebody means, wherever it is. `wanted` are the columns that will be used; `person` says whose."""
    data = listed(data)
    opened = _connect(data, table, wanted, columns, engine, person)
    return replace(opened, origin=frozenset(_origins(data, opened)))


def listed(data: Any) -> Any:
    """Several paths as a list, whatever kind of sequence they came in, so that all who look at them see the same ones."""
    return list(data) if isinstance(data, Sequence) and not isinstance(data, (str, bytes)) else data


def _origins(data: Any, opened: Opened) -> Iterator[Hashable]:
    """Each file by its path, a database's table by both their names, and what is in memory by itself.

    What is an Ibis table or in Spark has no origin that tells it from anything: another object, or another session, may have
    the same rows, and so may the files and databases behind it.
    """
    if isinstance(data, str) and "://" in data:
        yield data, opened.name
    elif isinstance(data, (str, os.PathLike)):
        yield str(Path(data).resolve()), opened.name if Path(data).suffix.lower() in DATABASE_FILES else None
    elif isinstance(data, list):
        yield from ((str(Path(one).resolve()), None) for one in data)
    elif type(data).__module__.startswith("ibis"):
        yield data.op()
    elif type(data).__module__.startswith("pyspark"):
        yield "spark"
    else:
        yield _Held(data), opened.name


class _Held:
    """An object in memory, which is itself and nothing else."""

    def __init__(self, data: object) -> None:
        self.data = data

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Held) and other.data is self.data

    def __hash__(self) -> int:
        return id(self.data)


def _connect(
    data: Any, table: str | None, wanted: Sequence[str], columns: Sequence[str] | None, engine: str, person: str | None
) -> Opened:
    if engine not in ("duckdb", "spark"):
        raise BadInput("engine", f"{engine!r} is unknown", "use 'duckdb', or 'spark' to read files with Spark in local mode")
    if is_frame(data):
        check_columns(names_of(data), wanted)
        check_labels(data, wanted)
        return _frame(data, wanted, person)
    package = type(data).__module__.split(".")[0]
    if package == "ibis" and hasattr(data, "get_backend"):
        return _ibis(data, wanted, person)
    if package == "pyspark":
        return _spark(data, table, wanted, person)
    if isinstance(data, str) and "://" in data:
        return _url(data, table)
    if isinstance(data, (str, os.PathLike)) and Path(data).suffix.lower() in DATABASE_FILES:
        return _database_file(Path(data), table)
    if isinstance(data, (str, os.PathLike)):
        return _files([Path(data)], wanted, columns, engine, person)
    if isinstance(data, list) and data and all(isinstance(one, (str, os.PathLike)) for one in data):
        return _files([Path(one) for one in data], wanted, columns, engine, person)
    raise BadInput("data", f"a {type(data).__name__} cannot be opened", f"pass {KINDS_OF_DATA}")


def check_columns(there: Sequence[str], wanted: Sequence[str]) -> None:
    """Raise unless all columns are there. Call it where names are public: not with what a text file's first line says."""
    for name in wanted:
        if name not in there:
            raise BadInput("schema", f"the table has no column {name!r}", f"use some of {', '.join(map(str, there))}")


def same_file(one: Path, other: Path) -> bool:
    """Whether two paths lead to the same file, also by another name (a hard link)."""
    return one == other or (one.exists() and other.exists() and one.samefile(other))


def share_files(one: Path, other: Path) -> bool:
    """Whether two paths lead to the same file, or one is in the other's folder, or some file is in both folders."""
    if same_file(one, other) or one in other.parents or other in one.parents:
        return True
    return (one.is_dir() or other.is_dir()) and not set(identities(one)).isdisjoint(identities(other))


NOWHERE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG)
"""What an operating system says of a link that leads nowhere, or of too long a name: there are no rows."""


def identities(path: Path) -> list[tuple[int, int]]:
    """What tells a file from others by any name: of a path, and of all that is in it if it is a folder.

    Folders behind links are folders as well, though not all readers follow them. What is there twice is twice in the list;
    a folder that is there twice is not entered again. What cannot be looked into is refused: it may be another's file.
    """
    found: list[tuple[int, int]] = []
    entered: set[tuple[int, int]] = set()
    waiting = [path]
    while waiting:
        place = waiting.pop()
        try:
            known = place.stat()
            found.append((known.st_dev, known.st_ino))
            if stat.S_ISDIR(known.st_mode) and found[-1] not in entered:
                entered.add(found[-1])
                waiting += place.iterdir()
        except ValueError:  # a name that no file can have
            continue
        except OSError as error:
            if error.errno not in NOWHERE:
                raise BadInput("data", f"{place} cannot be read", "take it out of the folder, or allow reading it") from None
    return found


def _files(
    paths: Sequence[Path], wanted: Sequence[str], columns: Sequence[str] | None, engine: str, person: str | None
) -> Opened:
    for path in paths:
        if not os.path.exists(path):  # noqa: PTH110  # Path.exists raises where a name is too long to be one
            raise BadInput("data", f"there is no file {str(path)!r}", f"check the path, or pass {KINDS_OF_DATA}")
        if path.is_file() and asked("opening the file", partial(is_sqlite, path)):  # it may be an open ledger
            raise BadInput("data", f"{path.name} is a database of SQLite", "give it a name that ends in .db")
    parquet = are_parquet(paths)
    if engine == "spark":
        rows = spark_files(paths, wanted, columns, person, parquet=parquet)
    else:
        rows = parquet_table(paths, wanted) if parquet else text_table(paths, wanted, columns)
    return Opened(rows, paths[0].stem, filtered=not parquet)


def _frame(frame: Any, wanted: Sequence[str], person: str | None) -> Opened:
    connection = embedded()
    arrow = asked("reading the frame", lambda: to_arrow(frame, wanted, person))
    connection.con.register("data", arrow)
    return Opened(asked("reading the frame", lambda: connection.table("data")), None)


def _ibis(data: Any, wanted: Sequence[str], person: str | None) -> Opened:
    """A table of a database or of a frame; the rows of a join or a group would not be rows of the table."""
    import ibis.expr.operations as ops

    if not isinstance(data.op(), (ops.DatabaseTable, ops.InMemoryTable)):
        raise BadInput("data", "is a query, not a table", "pass the table, and use where() and derive() then")
    connection, name = data.get_backend(), data.get_name()
    if connection.name == "sqlite" and isinstance(data.op(), ops.DatabaseTable):  # its types are those of the first row
        of, place = data.op().name, data.op().namespace.database
        return Opened(asked(f"looking for the table {name!r}", lambda: _sqlite_table(connection, of, place)), name)
    if connection.name == "postgres":
        _check_encoding(connection)
    if connection.name == "pyspark":
        return Opened(ibis_table(data, wanted, person), name)
    return Opened(data, name)


def _spark(data: Any, table: str | None, wanted: Sequence[str], person: str | None) -> Opened:
    """A session and the name of a table, or a frame of a session."""
    import ibis

    if hasattr(data, "createOrReplaceTempView"):
        return Opened(spark_table(data, wanted, person), table)
    name = table or _only_table(asked("using the Spark session", lambda: ibis.pyspark.connect(data)))
    return Opened(saved_table(data, name.split("."), wanted, person), name)


def _database_file(path: Path, table: str | None) -> Opened:
    import ibis

    if not path.is_file():
        raise BadInput("data", f"there is no file {str(path)!r}", "check the path")
    if not asked("opening the database", lambda: is_sqlite(path)):
        connection = asked(
            "opening the database", lambda: quiet(ibis.duckdb.connect(path, read_only=True, temp_directory=""))
        )
        return _one_of(connection, table)
    connection = asked("opening the database", lambda: ibis.sqlite.connect(path))
    _close_with(connection)
    connection.con.execute("PRAGMA temp_store = MEMORY")  # what it sorts would go to files otherwise
    name = table or _only_table(connection)
    return Opened(asked(f"looking for the table {name!r}", lambda: _sqlite_table(connection, name)), name)


def _sqlite_table(connection: Any, table: str, database: str | None = None) -> Any:
    """Every column as one of texts, because SQLite's declare nothing; Ibis would look at values to find their types.

    `database` is one that was attached to the connection.
    """
    import ibis

    quoted = sg.to_identifier(table, quoted=True).sql("sqlite")
    within = "" if database is None else sg.to_identifier(database, quoted=True).sql("sqlite") + "."
    names = [row[1] for row in connection.con.execute(f"PRAGMA {within}table_info({quoted})")]
    if not names:
        raise BadInput("table", f"there is no table {table!r}", f"use one of {', '.join(_tables(connection))}")
    query = sg.select(*(sg.column(name, quoted=True) for name in names)).from_(
        sg.exp.table_(table, db=database, quoted=True)
    )
    return connection.sql(query.sql("sqlite"), schema=ibis.schema(dict.fromkeys(names, "string")))


def _url(url: str, table: str | None) -> Opened:
    import ibis
    import sqlalchemy as sa

    where = asked("reading the URL", lambda: sa.make_url(url))
    if not where.drivername.startswith("postgres"):
        raise BadInput("data", f"{where.drivername}:// is unknown", f"pass {KINDS_OF_DATA}")
    options: dict[str, Any] = {key: value for key, value in where.query.items() if isinstance(value, str)}
    connection = asked(
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
    asked("connecting to the database", lambda: connection.raw_sql("SET TIME ZONE 'UTC'").close())
    _check_encoding(connection)
    return _one_of(connection, table)


def _check_encoding(connection: Any) -> None:
    """In PostgreSQL, texts of other encodings may have bytes that are no characters, and a query fails on them.

    The server's own encoding counts, not the one it speaks to us.
    """
    with asked("connecting to the database", lambda: connection.raw_sql("SHOW server_encoding")) as answer:
        if asked("connecting to the database", answer.fetchone) != ("UTF8",):
            problem = "the database's encoding is not UTF8, so that some of its texts could not be read"
            raise BadInput("data", problem, "keep the table in a database whose encoding is UTF8")


def _close_with(connection: Any) -> None:
    """Close a connection when nobody uses it any more."""
    weakref.finalize(connection, connection.con.close)


def _one_of(connection: Any, table: str | None) -> Opened:
    """The table by its name (`schema.table` where it needs one), or the only one there is."""
    table = table or _only_table(connection)
    schema, _, name = table.rpartition(".")
    place = {"database": schema} if schema else {}
    if (
        connection.name == "duckdb"
        and not schema
        and name not in (there := asked("listing tables", lambda: _tables(connection)))
    ):
        raise BadInput("table", f"there is no table {name!r}", f"use one of {', '.join(there)}")
    return Opened(asked(f"looking for the table {table!r}", lambda: connection.table(name, **place)), table)


def _tables(connection: Any) -> list[str]:
    """Ibis asks DuckDB for its tables in a way that DuckDB 2 has no more."""
    if connection.name == "duckdb":
        return [name for (name,) in connection.con.execute("SHOW TABLES").fetchall()]
    return [*connection.list_tables()]


def _only_table(connection: Any) -> str:
    names = asked("listing tables", lambda: _tables(connection))
    if len(names) != 1:
        listed = ", ".join(sorted(names)[:20]) or "none"
        raise BadInput("table", f"there is more than one, or none: {listed}", "say which with table=…")
    return str(names[0])
