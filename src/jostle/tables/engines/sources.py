"""Where tables come from: files, frames, databases and Spark, all as Ibis tables.

What is read from a source besides its rows is public: the names of its tables and columns, and the types that a database, a
Parquet file or a frame declares. Types are never guessed from values: every column of a text file is text, and the schema
says what it means. Lines of a text file that cannot be parsed are skipped silently, because
reporting them would reveal data.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from jostle.kernel.errors import BadInput
from jostle.schema.files import is_sqlite
from jostle.schema.schema import TextFormat
from jostle.tables.engines.databases import CATALOGUED, Found, at_url, database_file, only_table, ordinary
from jostle.tables.engines.files import check_columns, has_line_of_names, kind_of, registered, stem_of, text_table
from jostle.tables.engines.frames import check_frame, check_labels, to_arrow
from jostle.tables.engines.parquet import parquet_table
from jostle.tables.engines.places import RowPlace, files_at, places_in_spark
from jostle.tables.engines.spark import ibis_table, local_spark, saved_table, spark_files, spark_table
from jostle.tables.engines.workbooks import workbook_frame
from jostle.tables.run_in_engine import run_in_engine

__all__ = [
    "ENGINES",
    "OpenedTable",
    "check_columns",
    "connect",
    "has_line_of_names",
    "identities",
    "is_frame",
    "listed",
    "local_spark",
    "names_of",
    "share_files",
]

ENGINES = ("duckdb", "postgres", "pyspark", "sqlite")
"""The engines whose arithmetic the tests compare with NumPy's, cell by cell."""

DATABASE_FILES = (".duckdb", ".ddb", ".db", ".sqlite", ".sqlite3")
KINDS_OF_DATA = "a path (CSV, Parquet, Excel, DuckDB, SQLite), a postgresql:// URL, a frame, a Spark session, an Ibis table"


@dataclass(frozen=True, repr=False)
class OpenedTable:
    """A table in its engine."""

    table: Any
    """The Ibis table."""

    name: str | None
    """What it is publicly called."""

    filtered: bool = False
    """Whether some rows may be lost on the way, by a public rule."""

    origin: frozenset[Path] = frozenset()
    """The files with the rows; none where the rows are in a database, a frame or Spark."""

    live: bool = False
    """Whether others may write to the table while it is open. Files and frames must stay as they are: a precondition."""

    scanned: bool = False
    """Whether DuckDB reads it cheaply, as often as it likes, and compares texts by bytes: Parquet and frames."""

    places: frozenset[RowPlace] = frozenset()
    """Where its rows are, by what is publicly known."""


def is_frame(data: object) -> bool:
    """Whether it is a frame of pandas or Polars, or an Arrow table."""
    kind = type(data)
    return (kind.__module__.split(".")[0], kind.__name__) in (
        ("pandas", "DataFrame"),
        ("polars", "DataFrame"),
        ("pyarrow", "Table"),
    )


def names_of(frame: Any) -> list[str]:
    """The names of a frame's columns."""
    return [str(name) for name in (frame.column_names if hasattr(frame, "column_names") else frame.columns)]


def connect(
    data: Any,
    *,
    table: str | None,
    wanted: Sequence[str],
    columns: Sequence[str] | None,
    engine: str,
    person: str | None = None,
    form: TextFormat | None = None,
    views: bool = False,
) -> OpenedTable:
    """The table that somebody means, wherever it is. `wanted` are the columns that will be used; `person` says whose.

    `form` says how a text file is written, or which sheet of a workbook is meant; with `views`, views are opened
    as well, which were declared stable.
    """
    data = listed(data)
    opened = _connect(data, table, wanted, columns, engine, person, form or TextFormat(), views=views)
    of_caller = type(data).__module__.split(".")[0] == "ibis"  # who has the connection and may write to it
    live = of_caller or opened.table.get_backend().name in ("postgres", "sqlite")
    return replace(opened, origin=_origin(data), live=live)


def listed(data: Any) -> Any:
    """Several paths as a list, whatever kind of sequence they came in, so that all who look at them see the same ones."""
    return list(data) if isinstance(data, Sequence) and not isinstance(data, (str, bytes)) else data


def _origin(data: Any) -> frozenset[Path]:
    """The files that data were read from, if they are files of text or Parquet. Others may have the same rows elsewhere."""
    named = data if isinstance(data, list) else [data]
    if not all(isinstance(one, (str, os.PathLike)) for one in named):
        return frozenset()
    paths = [Path(one) for one in named if "://" not in str(one)]
    return frozenset(path.resolve() for path in paths if path.suffix.lower() not in DATABASE_FILES)


def _connect(
    data: Any,
    table: str | None,
    wanted: Sequence[str],
    columns: Sequence[str] | None,
    engine: str,
    person: str | None,
    form: TextFormat,
    *,
    views: bool,
) -> OpenedTable:
    if engine not in ("duckdb", "spark"):
        raise BadInput("engine", f"{engine!r} is unknown", "use 'duckdb', or 'spark' to read files with Spark in local mode")
    if is_frame(data):
        check_columns(names_of(data), wanted)
        check_labels(data, wanted)
        check_frame(data, wanted, person)
        return replace(_frame(data, wanted, person), places=frozenset({RowPlace.of_frame(names_of(data))}))
    package = type(data).__module__.split(".")[0]
    if package == "ibis" and hasattr(data, "get_backend"):
        return _ibis(data, wanted, person, views=views)
    if package == "pyspark":
        return _spark(data, table, wanted, person)
    if isinstance(data, str) and "://" in data:
        return _found(at_url(data, table, wanted, person, views=views))
    if isinstance(data, (str, os.PathLike)) and Path(data).suffix.lower() in DATABASE_FILES:
        return _found(database_file(Path(data), table, wanted, person, views=views))
    named = data if isinstance(data, list) else [data]
    if named and all(isinstance(one, (str, os.PathLike)) for one in named):
        paths = [Path(one) for one in named]
        return replace(_files(paths, wanted, columns, engine, person, form), places=files_at(paths))
    raise BadInput("data", f"a {type(data).__name__} cannot be opened", f"pass {KINDS_OF_DATA}")


def _found(there: Found) -> OpenedTable:
    return OpenedTable(there.table, there.name, places=there.places)


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
    paths: Sequence[Path],
    wanted: Sequence[str],
    columns: Sequence[str] | None,
    engine: str,
    person: str | None,
    form: TextFormat,
) -> OpenedTable:
    for path in paths:
        if not os.path.exists(path):  # noqa: PTH110  # Path.exists raises where a name is too long to be one
            raise BadInput("data", f"there is no file {str(path)!r}", "check the path")
        if path.is_file() and run_in_engine("opening the file", partial(is_sqlite, path)):  # it may be an open ledger
            raise BadInput("data", f"{path.name} is a database of SQLite", "give it a name that ends in .db")
    kind = kind_of(paths)
    if kind == "workbook":
        frame = workbook_frame(paths, wanted, columns, form.sheet, engine)
        return replace(_frame(frame, wanted or names_of(frame), person), name=stem_of(paths[0]), filtered=True)
    if engine == "spark":
        rows = spark_files(paths, wanted, columns, person, form, parquet=kind == "parquet")
    else:
        rows = parquet_table(paths, wanted, person) if kind == "parquet" else text_table(paths, wanted, columns, form)
    columnar = kind == "parquet"
    return OpenedTable(rows, stem_of(paths[0]), filtered=not columnar, scanned=columnar and engine == "duckdb")


def _frame(frame: Any, wanted: Sequence[str], person: str | None) -> OpenedTable:
    arrow = run_in_engine("reading the frame", lambda: to_arrow(frame, wanted, person))
    return OpenedTable(registered(arrow, "reading the frame"), None, scanned=True)


def _ibis(data: Any, wanted: Sequence[str], person: str | None, *, views: bool) -> OpenedTable:
    """A table of a database; the rows of a join or a group would not be rows of the table."""
    import ibis.expr.operations as ops

    of = data.op()
    if isinstance(of, ops.InMemoryTable):
        raise BadInput("data", "is a frame that Ibis holds in memory", "pass the frame itself")
    if type(of) is not ops.DatabaseTable:
        raise BadInput("data", "is a query, not a table", "pass the table, and use where() and derive() then")
    connection = data.get_backend()
    if connection.name == "pyspark":
        return _of_spark(ibis_table(data, wanted, person), of.name)
    if connection.name not in CATALOGUED:
        raise BadInput("data", f"the engine {connection.name!r} is not supported", f"use one of {', '.join(ENGINES)}")
    named = tuple(filter(None, (of.namespace.catalog, of.namespace.database)))
    return _found(ordinary(connection, of.name, named, wanted, person, views=views))


def _spark(data: Any, table: str | None, wanted: Sequence[str], person: str | None) -> OpenedTable:
    """A session and the name of a table, or a frame of a session."""
    import ibis

    if hasattr(data, "createOrReplaceTempView"):
        return replace(_of_spark(spark_table(data, wanted, person)), name=table)
    name = table or only_table(run_in_engine("using the Spark session", lambda: ibis.pyspark.connect(data)))
    return replace(_of_spark(saved_table(data, name.split("."), wanted, person), name), name=name.rpartition(".")[2])


def _of_spark(table: Any, saved_as: str = "") -> OpenedTable:
    """A table of Spark, which has a name of its own there by now."""

    def looked() -> frozenset[RowPlace]:
        return places_in_spark(table.get_backend()._session.table(table.op().name), saved_as)

    return OpenedTable(table, saved_as or None, places=run_in_engine("looking at the Spark frame", looked))
