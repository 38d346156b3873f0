"""Tables in files: text and Parquet, read by the embedded engine, which writes nothing to disk."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlglot as sg

from jostle.kernel.errors import BadInput
from jostle.schema.arrow import decoded, plain_type
from jostle.schema.values import NUMBER
from jostle.tables.asking import asked
from jostle.tables.lines import Lines, names_in

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


# -------------------------------------------------------------------------------------------------------------- text


def text_table(paths: Sequence[Path], wanted: Sequence[str], columns: Sequence[str] | None) -> Any:
    """The lines of text files as a table of texts."""
    names = column_names(paths[0], wanted, columns)
    separator = separator_of(paths[0])
    lines = Lines(tuple(paths), tuple(names), tuple(wanted or names), separator, header=columns is None)
    return _registered(lines, "opening the file")


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


def separator_of(path: Path) -> str:
    """By how the file is called."""
    return "\t" if path.suffix.lower() == ".tsv" else ","


# ----------------------------------------------------------------------------------------------------------- Parquet


def parquet_table(paths: Sequence[Path], wanted: Sequence[str]) -> Any:
    """Parquet files as a table: by DuckDB, unless a column is wanted that it may fail to read."""
    connection = embedded()
    places = [str(path / "**" / "*.parquet") if path.is_dir() else str(path) for path in paths]
    patterns = [_as_pattern(path) + "/**/*.parquet" if path.is_dir() else _as_pattern(path) for path in paths]
    listed = ", ".join(sg.exp.Literal.string(pattern).sql("duckdb") for pattern in patterns)
    options = asked("opening the file", lambda: _options(connection.con))
    # A file may say the old name of a type, the new one, or both.
    fails = ["TIMESTAMP_MILLIS", "MILLIS=MilliSeconds()"]
    fails += [] if "utf8_validation" in options else ["UTF8", "StringType()"]
    types = f"SELECT DISTINCT name, converted_type, logical_type FROM parquet_schema([{listed}])"  # noqa: S608 (literals)
    kinds = asked("opening the file", lambda: connection.con.execute(types).fetchall())
    if any(name in wanted and any(fail in f"{old} {new}" for fail in fails) for name, old, new in kinds):
        files = [Path(one) for place in places for one in _found(place)]
        return _registered(asked("opening the file", lambda: ParquetRows.of(files, wanted)), "opening the file")
    # Folders' names are texts. DuckDB would look at all of them to guess a type, and one more could make it another.
    settings = ["union_by_name = true", "hive_types_autocast = false"]
    settings += ["utf8_validation = 'replace'"] if "utf8_validation" in options else []
    query = f"CREATE VIEW data AS FROM read_parquet([{listed}], {', '.join(settings)})"
    asked("opening the file", lambda: connection.con.execute(query))
    return asked("opening the file", lambda: connection.table("data"))


@dataclass(frozen=True)
class ParquetRows:
    """Some columns of Parquet files, as a stream of Arrow's: for those in which DuckDB may fail on a value.

    DuckDB counts times in microseconds, and fails on times in milliseconds that are too far away for that. Before its
    version 2, it also fails on texts that are no UTF-8.
    """

    files: tuple[Path, ...]
    schema: Any

    @classmethod
    def of(cls, files: Sequence[Path], wanted: Sequence[str]) -> ParquetRows:
        """Refused if the files do not declare a column alike: values of one type may not fit another."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        declared = [pq.read_schema(file) for file in files]
        kinds: dict[str, Any] = {}
        for name in wanted:
            found = {plain_type(one.field(name).type) for one in declared if name in one.names}
            if len(found) > 1:
                raise BadInput("data", f"the files declare {name!r} in different ways", "write it as one type in all files")
            kinds |= {name: found.pop()} if found else {}
        return cls(tuple(files), pa.schema(list(kinds.items())))

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        import pyarrow as pa

        return pa.RecordBatchReader.from_batches(self.schema, self._batches()).__arrow_c_stream__(requested_schema)

    def _batches(self) -> Iterator[Any]:
        import pyarrow.parquet as pq

        for path in self.files:
            with pq.ParquetFile(path) as file:
                there = [name for name in self.schema.names if name in file.schema_arrow.names]
                for batch in file.iter_batches(columns=there):
                    yield self._completed(batch, there)

    def _completed(self, batch: Any, there: Sequence[str]) -> Any:
        import pyarrow as pa

        nothing = {field.name: pa.nulls(batch.num_rows, field.type) for field in self.schema if field.name not in there}
        columns = nothing | {name: decoded(batch.column(name)) for name in there}
        return pa.record_batch([columns[name] for name in self.schema.names], schema=self.schema)


def _registered(rows: Any, step: str) -> Any:
    connection = embedded()
    connection.con.register("data", rows)
    return asked(step, lambda: connection.table("data"))


def _options(connection: Any) -> str:
    """What this DuckDB's reader of Parquet can be told."""
    query = "SELECT parameters FROM duckdb_functions() WHERE function_name = 'read_parquet'"
    return " ".join(str(known) for known in connection.execute(query).fetchall())


def _as_pattern(path: Path) -> str:
    """A path, for a reader that takes paths for patterns: otherwise `data[1].parquet` would be `data1.parquet`."""
    return re.sub(r"([*?\[])", r"[\1]", str(path))


def _found(place: str) -> list[Path]:
    path = Path(place)
    if path.name != "*.parquet" or path.parent.name != "**":
        return [path]
    return sorted(path.parent.parent.rglob("*.parquet"))
