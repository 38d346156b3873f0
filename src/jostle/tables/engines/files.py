"""Tables in files, read by the embedded engine, which writes nothing to disk. Parquet has a module of its own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from jostle.kernel.errors import BadInput
from jostle.schema.schema import TextFormat
from jostle.schema.values import NUMBER
from jostle.tables.engines.lines import COMPRESSED, Lines, names_in
from jostle.tables.run_in_engine import run_in_engine

TEXT_FILES = (".csv", ".tsv", ".txt", ".data")
PARQUET_FILES = (".parquet", ".pq")
WORKBOOKS = (".xlsx",)
FileKind = Literal["text", "parquet", "workbook"]
OTHER_DELIMITERS = (";", "\t", "|", ",")
"""Signs that people put between fields, to be looked for in a line of names that has none of those that were said."""


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


def suffix_of(path: Path) -> str:
    """How a file's name ends, without what says that it is compressed.

    >>> suffix_of(Path("people.CSV.gz")), suffix_of(Path("people.parquet"))
    ('.csv', '.parquet')
    """
    inner = Path(path.stem) if path.suffix.lower() in COMPRESSED else path
    return inner.suffix.lower()


def stem_of(path: Path) -> str:
    """A file's name without its endings: `people` for `people.csv.gz`."""
    return Path(path.stem).stem if path.suffix.lower() in COMPRESSED else path.stem


def is_text(path: Path) -> bool:
    """Whether it is a text file, by its name."""
    return suffix_of(path) in TEXT_FILES


def is_workbook(path: Path) -> bool:
    """Whether it is a workbook of Excel, by its name."""
    return suffix_of(path) in WORKBOOKS


def has_line_of_names(path: Path) -> bool:
    """Whether the first line, or the first row, may hold the columns' names: in text files and workbooks."""
    return is_text(path) or is_workbook(path)


def kind_of(paths: Sequence[Path]) -> FileKind:
    """What files, or folders of files, are by their names; refused if they are none of these, or of several kinds."""
    suffixes = {suffix_of(path) for path in paths}
    if all(path.is_dir() for path in paths):
        return "parquet"
    kinds: dict[FileKind, tuple[str, ...]] = {"text": TEXT_FILES, "parquet": PARQUET_FILES, "workbook": WORKBOOKS}
    found = next((kind for kind, endings in kinds.items() if suffixes <= set(endings)), None)
    compressed = any(path.suffix.lower() in COMPRESSED for path in paths)
    if found is None or (compressed and found != "text"):
        known = ", ".join((*TEXT_FILES, *PARQUET_FILES, *WORKBOOKS))
        ending = ", ".join(sorted({path.suffix.lower() for path in paths}))
        problem = f"files that end in {ending} are unknown" if found is None else "only text files may be compressed"
        also = " and ".join(COMPRESSED)
        raise BadInput("data", problem, f"pass one that ends in {known}; text files may be compressed ({also})")
    return found


def text_table(
    paths: Sequence[Path], wanted: Sequence[str], columns: Sequence[str] | None, form: TextFormat | None = None
) -> Any:
    """The lines of text files as a table of texts."""
    form = form or TextFormat()
    names = column_names(paths[0], wanted, columns, form)
    lines = Lines(
        tuple(paths),
        tuple(names),
        tuple(wanted or names),
        separator_of(paths[0], form),
        header=columns is None,
        encoding=form.encoding,
        quoted_line_breaks=form.quoted_line_breaks,
    )
    return registered(lines, "opening the file")


def column_names(
    path: Path, wanted: Sequence[str], columns: Sequence[str] | None, form: TextFormat | None = None
) -> list[str]:
    """The names of a text file's columns, made different where they are the same."""
    form, said = form or TextFormat(), columns
    if columns is None:
        separator = separator_of(path, form)
        said = run_in_engine(
            "opening the file", lambda: names_in(path, separator, form.encoding, records=form.quoted_line_breaks)
        )
    names = checked_names(said or [], path.name, header=columns is None)
    for name in wanted:
        if name not in names:
            raise _no_column(path, name, wanted, form, header=columns is None)
    return names


def checked_names(said: Sequence[str], file: str, *, header: bool) -> list[str]:
    """Names without blanks around them, made different where they are the same; refused if they look like a record."""
    names: list[str] = []
    for place, name in enumerate(said):
        stripped = name.strip() or f"column {place + 1}"
        names.append(stripped if stripped.lower() not in map(str.lower, names) else f"{stripped} ({place + 1})")
    if not names:
        raise BadInput("data", f"{file} has no line with the columns' names", "pass columns=[…] if it has none")
    if header and any(re.fullmatch(NUMBER, name) for name in names):  # it is not repeated: it may be a row
        problem = f"the first line of {file} has a number where a name is expected"
        raise BadInput("data", problem, "pass columns=[…], the names in order, if the file has no line with them")
    return names


def _no_column(path: Path, name: str, wanted: Sequence[str], form: TextFormat, *, header: bool) -> BadInput:
    """The refusal of a text file that lacks a column.

    Privacy: the first line may be a record, and nothing of it is repeated or even hinted at, unless it has all names of the
    schema between signs of another kind: then it is the line of names.
    """
    problem = f'no column "{name}"'
    if not header:
        return BadInput("data", problem, "name every column of the file, in its order: columns=[…]")
    separator = separator_of(path, form)
    for sign in OTHER_DELIMITERS:
        names = [] if sign == separator else [one.strip() for one in _names_or_none(path, sign, form)]
        if set(wanted) <= set(names):
            line = sign.join(names)
            shown = '"\\t"' if sign == "\t" else f'"{sign}"'
            problem += f'. Its first line has one name, "{line}": is the delimiter {shown}?'
            return BadInput("data", problem, f"pass delimiter={shown}")
    remedy = 'check that the first line has the names and the delimiter is right (delimiter=";"), or pass columns=[…]'
    return BadInput("data", problem, remedy)


def _names_or_none(path: Path, sign: str, form: TextFormat) -> list[str]:
    try:
        return names_in(path, sign, form.encoding, records=form.quoted_line_breaks)
    except BadInput:
        return []


def check_columns(there: Sequence[str], wanted: Sequence[str]) -> None:
    """Raise unless all columns are there. For public names only: the first line of a text file may be a record."""
    for name in wanted:
        if name not in there:
            raise BadInput("schema", f"the table has no column {name!r}", f"use some of {', '.join(map(str, there))}")


def separator_of(path: Path, form: TextFormat | None = None) -> str:
    """The sign between fields: as declared, or by how the file is called."""
    declared = None if form is None else form.delimiter
    return declared or ("\t" if suffix_of(path) == ".tsv" else ",")


def registered(rows: Any, step: str) -> Any:
    """Rows that the embedded engine reads as often as it needs to, as an Ibis table."""
    connection = embedded()
    connection.con.register("data", rows)
    return run_in_engine(step, lambda: connection.table("data"))
