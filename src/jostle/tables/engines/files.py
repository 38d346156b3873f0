"""Tables in files, read by the embedded engine, which writes nothing to disk. Parquet has a module of its own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jostle.kernel.errors import BadInput
from jostle.schema.values import NUMBER
from jostle.tables.engines.lines import Lines, names_in
from jostle.tables.run_in_engine import run_in_engine

TEXT_FILES = (".csv", ".tsv", ".txt", ".data")
PARQUET_FILES = (".parquet", ".pq")


def embedded() -> Any:
    """A DuckDB of its own, in memory, which writes nothing to disk: not even what does not fit.

    The day of a time with a time zone is that of UTC, as in the other engines, wherever this machine is.
    """
    import ibis

    connection = quiet(ibis.duckdb.connect(temp_directory=""))
    knows_zones = "SELECT loaded FROM duckdb_extensions() WHERE extension_name = 'icu'"
    if (True,) in connection.con.execute(knows_zones).fetchall():
        connection.con.execute("SET TimeZone = 'UTC'")
    return connection


def quiet(connection: Any) -> Any:
    """DuckDB would print a bar for long queries on standard output, where released answers go."""
    # Asked first: in a notebook without ipywidgets there is no bar, and DuckDB does not let it be switched off once more.
    if connection.con.execute("SELECT current_setting('enable_progress_bar')").fetchall()[0][0]:
        connection.con.execute("SET enable_progress_bar = false")
    return connection


def are_parquet(paths: Sequence[Path]) -> bool:
    """Whether files, or folders of files, are Parquet rather than text; refused if they are neither."""
    suffixes = {path.suffix.lower() for path in paths}
    if all(path.is_dir() for path in paths) or suffixes <= set(PARQUET_FILES):
        return True
    if not suffixes <= set(TEXT_FILES):
        known = ", ".join((*TEXT_FILES, *PARQUET_FILES))
        raise BadInput(
            "data", f"files that end in {', '.join(sorted(suffixes))} are unknown", f"pass one that ends in {known}"
        )
    return False


def text_table(paths: Sequence[Path], wanted: Sequence[str], columns: Sequence[str] | None) -> Any:
    """The lines of text files as a table of texts."""
    names = column_names(paths[0], wanted, columns)
    separator = separator_of(paths[0])
    lines = Lines(tuple(paths), tuple(names), tuple(wanted or names), separator, header=columns is None)
    return registered(lines, "opening the file")


def column_names(path: Path, wanted: Sequence[str], columns: Sequence[str] | None) -> list[str]:
    """The names of a text file's columns, made different where they are the same."""
    said = names_in(path, separator_of(path)) if columns is None else list(columns)
    names: list[str] = []
    for place, name in enumerate(said):
        stripped = name.strip() or f"column {place + 1}"
        names.append(stripped if stripped.lower() not in map(str.lower, names) else f"{stripped} ({place + 1})")
    if not names:
        raise BadInput("data", f"{path.name} has no line with the columns' names", "pass columns=[…] if it has none")
    if columns is None and any(re.fullmatch(NUMBER, name) for name in names):  # it is not repeated: it may be a row
        problem = f"the first line of {path.name} has a number where a name is expected"
        raise BadInput("data", problem, "pass columns=[…], the names in order, if the file has no line with them")
    for name in wanted:
        if name not in names:
            remedy = "check that the first line has the names, or pass columns=[…] if it has none"
            raise BadInput("schema", f"the text file has no column {name!r}", remedy)
    return names


def check_columns(there: Sequence[str], wanted: Sequence[str]) -> None:
    """Raise unless all columns are there. For public names only: the first line of a text file may be a record."""
    for name in wanted:
        if name not in there:
            raise BadInput("schema", f"the table has no column {name!r}", f"use some of {', '.join(map(str, there))}")


def separator_of(path: Path) -> str:
    """By how the file is called."""
    return "\t" if path.suffix.lower() == ".tsv" else ","


def registered(rows: Any, step: str) -> Any:
    """Rows that the embedded engine reads as often as it needs to, as an Ibis table."""
    connection = embedded()
    connection.con.register("data", rows)
    return run_in_engine(step, lambda: connection.table("data"))
