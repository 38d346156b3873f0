"""Where tables come from: files, frames, databases and Spark, all as Ibis tables.

What is read from a source besides its rows is public: the names of its tables and columns, and the types that a database, a
Parquet file or a frame declares. Types are never guessed from values: every column of a text file is text, and the schema
says what it means. Lines of a text file that cannot be read are left out, without a word.
"""

from __future__ import annotations

import csv
import os
import sys
import weakref
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import sqlglot as sg

from jostle.kernel.errors import BadInput
from jostle.tables.frames import is_frame, names_of, to_arrow
from jostle.tables.view import asked

ENGINES = ("duckdb", "postgres", "pyspark", "sqlite")
"""The engines whose arithmetic the tests compare with NumPy's, cell by cell."""

TEXT_FILES = (".csv", ".tsv", ".txt", ".data")
DATABASE_FILES = (".duckdb", ".ddb", ".db", ".sqlite", ".sqlite3")
KINDS_OF_DATA = "a path (CSV, Parquet, DuckDB, SQLite), a postgresql:// URL, a frame, a Spark session or an Ibis table"


@dataclass(frozen=True)
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


def connect(data: Any, *, table: str | None, wanted: Sequence[str], columns: Sequence[str] | None, engine: str) -> Opened:
    """The table that somebody means, wherever it is. `wanted` are the columns that will be used."""
    opened = _connect(data, table=table, wanted=wanted, columns=columns, engine=engine)
    return replace(opened, origin=frozenset(_origins(data, opened)))


def _origins(data: Any, opened: Opened) -> Iterator[Hashable]:
    """Each file by its path, a database's table by both their names, and what is in memory by itself."""
    if isinstance(data, str) and "://" in data:
        yield data, opened.name
    elif isinstance(data, (str, os.PathLike)):
        yield str(Path(data).resolve()), opened.name if Path(data).suffix.lower() in DATABASE_FILES else None
    elif isinstance(data, (list, tuple)):
        yield from ((str(Path(one).resolve()), None) for one in data)
    elif type(data).__module__.startswith("ibis"):
        yield data.op()
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


def _connect(data: Any, *, table: str | None, wanted: Sequence[str], columns: Sequence[str] | None, engine: str) -> Opened:
    if engine not in ("duckdb", "spark"):
        raise BadInput("engine", f"{engine!r} is unknown", "use 'duckdb', or 'spark' to read files with Spark in local mode")
    if is_frame(data):
        check_columns(names_of(data), wanted)
        return _frame(data, wanted)
    package = type(data).__module__.split(".")[0]
    if package == "ibis" and hasattr(data, "get_backend"):
        if not hasattr(data.op(), "name"):  # rows of a join or a group would not be rows of the table
            raise BadInput("data", "is a query, not a table", "pass the table, and use where() and derive() then")
        return Opened(data, data.get_name())
    if package == "pyspark":
        return _spark(data, table)
    if isinstance(data, str) and "://" in data:
        return _url(data, table)
    if isinstance(data, (str, os.PathLike)):
        return _file(Path(data), table, wanted, columns, engine)
    if isinstance(data, Sequence) and data and all(isinstance(one, (str, os.PathLike)) for one in data):
        return _files([Path(one) for one in data], wanted, columns, engine)
    raise BadInput("data", f"a {type(data).__name__} cannot be opened", f"pass {KINDS_OF_DATA}")


def check_columns(there: Sequence[str], wanted: Sequence[str]) -> None:
    """Raise unless all columns are there. Call it where names are public: not with what a text file's first line says."""
    for name in wanted:
        if name not in there:
            raise BadInput("schema", f"the table has no column {name!r}", f"use some of {', '.join(map(str, there))}")


def _file(path: Path, table: str | None, wanted: Sequence[str], columns: Sequence[str] | None, engine: str) -> Opened:
    if path.suffix.lower() in DATABASE_FILES:
        return _database_file(path, table)
    return _files([path], wanted, columns, engine)


def _files(paths: Sequence[Path], wanted: Sequence[str], columns: Sequence[str] | None, engine: str) -> Opened:
    for path in paths:
        if not path.exists():
            raise BadInput("data", f"there is no file {str(path)!r}", f"check the path, or pass {KINDS_OF_DATA}")
    suffixes = {path.suffix.lower() for path in paths}
    parquet = suffixes <= {".parquet", ".pq"} or all(path.is_dir() for path in paths)
    if not parquet and not suffixes <= set(TEXT_FILES):
        raise BadInput("data", f"files that end in {', '.join(sorted(suffixes))} are unknown", f"pass {KINDS_OF_DATA}")
    if engine == "spark":
        return _files_in_spark(paths, wanted, columns, parquet=parquet)
    connection = _embedded()
    if parquet:
        names = [str(path / "**" / "*.parquet") if path.is_dir() else str(path) for path in paths]
        asked("opening the file", lambda: _view_of_parquet(connection.con, names))
        return Opened(asked("opening the file", lambda: connection.table("data")), paths[0].stem)
    header, named = _header(paths[0], wanted, columns)
    asked(
        "opening the file",
        lambda: connection.con.read_csv(
            [str(path) for path in paths],
            columns=dict.fromkeys(named, "VARCHAR"),
            auto_detect=False,
            header=header,
            sep=_separator(paths[0]),
            quotechar='"',
            escapechar='"',
            ignore_errors=True,
            null_padding=True,
            strict_mode=False,
            parallel=False,
        ).create_view("data"),
    )
    return Opened(asked("opening the file", lambda: connection.table("data")), paths[0].stem, filtered=True)


def _view_of_parquet(connection: Any, names: Sequence[str]) -> None:
    """The files as a view. Where DuckDB can do that, bytes that are no text are replaced: otherwise they fail."""
    options = connection.execute("SELECT parameters FROM duckdb_functions() WHERE function_name = 'read_parquet'").fetchall()
    lenient = ", utf8_validation = 'replace'" if any("utf8_validation" in known for (known,) in options) else ""
    listed = ", ".join(sg.exp.Literal.string(name).sql("duckdb") for name in names)
    source = f"read_parquet([{listed}], union_by_name = true{lenient})"
    connection.execute(f"CREATE VIEW data AS FROM {source}")


def _header(path: Path, wanted: Sequence[str], columns: Sequence[str] | None) -> tuple[bool, list[str]]:
    """Whether the first line has the names, and the names, made different where they are the same."""
    if columns is None:
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as lines:
            said = next(csv.reader(lines, delimiter=_separator(path)), [])
    else:
        said = list(columns)
    names: list[str] = []
    for place, name in enumerate(said):
        stripped = name.strip() or f"column {place + 1}"
        names.append(stripped if stripped.lower() not in map(str.lower, names) else f"{stripped} ({place + 1})")
    if not names:
        raise BadInput("data", f"{path.name} has no line with the columns' names", "pass columns=[…] if it has none")
    for name in wanted:
        if name not in names:  # what stands in the first line is not repeated: it may be a row
            remedy = "check that the first line has the names, or pass columns=[…] if it has none"
            raise BadInput("schema", f"the text file has no column {name!r}", remedy)
    return columns is None, names


def _separator(path: Path) -> str:
    return "\t" if path.suffix.lower() == ".tsv" else ","


def _frame(frame: Any, wanted: Sequence[str]) -> Opened:
    connection = _embedded()
    arrow = asked("reading the frame", lambda: to_arrow(frame, wanted))
    connection.con.register("data", arrow)
    return Opened(asked("reading the frame", lambda: connection.table("data")), None)


def _embedded() -> Any:
    """A DuckDB of its own, in memory, which writes nothing to disk: not even what does not fit."""
    import ibis

    return _quiet(ibis.duckdb.connect(temp_directory=""))


def _quiet(connection: Any) -> Any:
    """DuckDB would print a bar for long queries on standard output, where released answers go."""
    # Asked first: in a notebook without ipywidgets there is no bar, and DuckDB does not let it be switched off once more.
    if connection.con.execute("SELECT current_setting('enable_progress_bar')").fetchall()[0][0]:
        connection.con.execute("SET enable_progress_bar = false")
    return connection


def _database_file(path: Path, table: str | None) -> Opened:
    import ibis

    if not path.is_file():
        raise BadInput("data", f"there is no file {str(path)!r}", "check the path")
    with path.open("rb") as file:
        is_sqlite = file.read(15) == b"SQLite format 3"
    if not is_sqlite:
        connection = asked(
            "opening the database", lambda: _quiet(ibis.duckdb.connect(path, read_only=True, temp_directory=""))
        )
        return _one_of(connection, table)
    connection = asked("opening the database", lambda: ibis.sqlite.connect(path))
    _close_with(connection)
    name = table or _only_table(connection)
    return Opened(asked(f"looking for the table {name!r}", lambda: _sqlite_table(connection, name)), name)


def _sqlite_table(connection: Any, table: str) -> Any:
    """Every column as one of texts, because SQLite's declare nothing; Ibis would look at values to find their types."""
    import ibis

    quoted = sg.to_identifier(table, quoted=True).sql("sqlite")
    names = [row[1] for row in connection.con.execute(f"PRAGMA table_info({quoted})")]
    if not names:
        raise BadInput("table", f"there is no table {table!r}", f"use one of {', '.join(_tables(connection))}")
    query = sg.select(*(sg.column(name, quoted=True) for name in names)).from_(sg.to_identifier(table, quoted=True))
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
    return _one_of(connection, table)


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


def _spark(data: Any, table: str | None) -> Opened:
    """A session and the name of a table, or a frame of a session."""
    import ibis

    if hasattr(data, "createOrReplaceTempView"):
        name = table or "data"
        asked("opening the Spark frame", lambda: data.createOrReplaceTempView(name))
        return Opened(asked("opening the Spark frame", lambda: ibis.pyspark.connect(data.sparkSession).table(name)), table)
    return _one_of(asked("using the Spark session", lambda: ibis.pyspark.connect(data)), table)


def _files_in_spark(paths: Sequence[Path], wanted: Sequence[str], columns: Sequence[str] | None, *, parquet: bool) -> Opened:
    import importlib.util

    if importlib.util.find_spec("pyspark") is None:
        raise BadInput("engine", "pyspark is not installed", "pip install 'jostle[spark]', which also needs Java 17")
    session = asked("starting Spark", local_spark)
    names = [str(path.resolve()) for path in paths]
    if parquet:
        return Opened(_spark(session.read.parquet(*names), None).table, paths[0].stem)
    header, named = _header(paths[0], wanted, columns)
    fields = ", ".join(f"`{name.replace('`', '``')}` STRING" for name in named)
    read = session.read.csv(names, schema=fields, header=header, sep=_separator(paths[0]), escape='"', mode="PERMISSIVE")
    return Opened(_spark(read, None).table, paths[0].stem, filtered=True)


def local_spark() -> Any:
    """Spark on this machine, quiet: its log would quote values."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[*]").appName("jostle")
    for key, value in (
        ("spark.ui.enabled", "false"),
        ("spark.sql.session.timeZone", "UTC"),
        ("spark.driver.bindAddress", "127.0.0.1"),
        ("spark.sql.shuffle.partitions", "8"),
    ):
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session
