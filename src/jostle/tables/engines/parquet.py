"""Tables in Parquet files: which types they may declare, and how they are read.

Privacy: all files declare a column alike, with a type of the closed list (`types`), so that no value of one
file decides how, or whether, those of another are read. Declarations are public; no value is looked at to open a table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlglot as sg

from jostle.kernel.errors import BadInput
from jostle.schema.arrow import decoded, is_text, plain_type
from jostle.tables.engines.files import embedded, registered
from jostle.tables.engines.types import check_types
from jostle.tables.run_in_engine import run_in_engine

_NODES = "name, type, num_children, repetition_type, converted_type, logical_type, scale, precision"

_ANNOTATED: Mapping[str, str] = {
    "UTF8": "string",
    "StringType()": "string",
    "DATE": "date",
    "DateType()": "date",
    "NullType()": "null",
    "TIMESTAMP_MICROS": "timestamp[us, UTC]",
    "TIMESTAMP_MILLIS": "timestamp[ms, UTC]",
}
"""What an annotation makes of the type under it; the format has an older and a newer name for most."""

_BARE: Mapping[str, str] = {
    "BOOLEAN": "bool",
    "INT32": "int32",
    "INT64": "int64",
    "FLOAT": "float",
    "DOUBLE": "double",
    "INT96": "int96",
}
_WHOLE = re.compile(r"(U?INT)_(8|16|32|64)")
_UNITS = {"MilliSeconds": "ms", "MicroSeconds": "us", "NanoSeconds": "ns"}


def parquet_table(paths: Sequence[Path], wanted: Sequence[str], person: str | None = None) -> Any:
    """Parquet files as a table: by DuckDB, unless a column is wanted that it may fail to read."""
    connection = embedded()
    patterns = [_as_pattern(path) + "/**/*.parquet" if path.is_dir() else _as_pattern(path) for path in paths]
    listed = ", ".join(sg.exp.Literal.string(pattern).sql("duckdb") for pattern in patterns)
    query = f"SELECT file_name, {_NODES} FROM parquet_schema([{listed}])"  # noqa: S608 (literals)
    nodes = run_in_engine("opening the file", lambda: connection.con.execute(query).fetchall())
    found = _declared_once(nodes, wanted)
    check_types(found, found, "parquet", person)
    options = run_in_engine("opening the file", lambda: _options(connection.con))
    if any(_needs_arrow(kind, options) for kind in found.values()):
        files = [Path(one) for path in paths for one in _files(path)]
        return registered(run_in_engine("opening the file", lambda: ParquetRows.of(files, list(found))), "opening the file")
    # Folders' names are texts. DuckDB would look at all of them to guess a type, and one more could make it another.
    settings = ["union_by_name = true", "hive_types_autocast = false"]
    settings += ["utf8_validation = 'replace'"] if "utf8_validation" in options else []
    made = f"CREATE VIEW data AS FROM read_parquet([{listed}], {', '.join(settings)})"
    run_in_engine("opening the file", lambda: connection.con.execute(made))
    return run_in_engine("opening the file", lambda: connection.table("data"))


def _needs_arrow(kind: str, options: str) -> bool:
    """DuckDB fails on some times in milliseconds, and Ibis does not know DuckDB's nanoseconds with a zone.

    Before its version 2, DuckDB also fails on texts that are no UTF-8.
    """
    fails_on_texts = kind == "string" and "utf8_validation" not in options
    return kind.startswith("timestamp[ms") or kind == "timestamp[ns, UTC]" or fails_on_texts


def _declared_once(nodes: Sequence[tuple[Any, ...]], wanted: Sequence[str]) -> dict[str, str]:
    """The type of each wanted column that some file has; refused if two files declare it in different ways."""
    found: dict[str, set[str]] = {}
    files: dict[str, list[tuple[Any, ...]]] = {}
    for file, *node in nodes:
        files.setdefault(file, []).append(tuple(node))
    for of_file in files.values():
        for name, kind in _columns(of_file):
            if name in wanted:
                found.setdefault(name, set()).add(kind)
    for name, kinds in found.items():
        if len(kinds) > 1:
            problem = f"the files declare {name!r} in different ways: {', '.join(sorted(kinds))}"
            raise BadInput("data", problem, "write it with the same type to all files")
    return {name: kinds.pop() for name, kinds in found.items()}


def _columns(nodes: Sequence[tuple[Any, ...]]) -> Iterator[tuple[str, str]]:
    """The columns of a file and their types, from its schema, which lists each node before those below it."""
    below = 0  # how many nodes of the current column are still to come
    for name, kind, children, repetition, converted, logical, scale, precision in nodes[1:]:
        if below:
            below += (children or 0) - 1
            continue
        below = children or 0
        if children or repetition == "REPEATED":
            yield name, "nested values"
        else:
            yield name, _declared(kind, converted or "", logical or "", scale, precision)


def _declared(kind: str, converted: str, logical: str, scale: int | None, precision: int | None) -> str:
    """The type that a column declares, by one name for both ways to write it.

    >>> _declared("INT64", "", "TimestampType(isAdjustedToUTC=0, unit=TimeUnit(MICROS=MicroSeconds()))", None, None)
    'timestamp[us]'
    >>> _declared("BYTE_ARRAY", "UTF8", "", None, None), _declared("BYTE_ARRAY", "", "", None, None)
    ('string', 'BYTE_ARRAY')
    """
    if logical.startswith("TimestampType"):
        unit = next(short for long, short in _UNITS.items() if long in logical)
        return f"timestamp[{unit}, UTC]" if "isAdjustedToUTC=1" in logical else f"timestamp[{unit}]"
    if converted == "DECIMAL" or logical.startswith("DecimalType"):
        return (
            f"decimal({precision},{scale})"
            if precision is not None and precision <= 38
            else f"decimal of {precision} digits"
        )
    if whole := _WHOLE.fullmatch(converted):
        return f"{whole[1].lower()}{whole[2]}"
    if annotation := logical or converted:
        return _ANNOTATED.get(annotation, annotation)
    return _BARE.get(kind, kind)


@dataclass(frozen=True)
class ParquetRows:
    """Some columns of Parquet files, as a stream of Arrow's: for those in which DuckDB may fail on a value."""

    files: tuple[Path, ...]
    schema: Any

    @classmethod
    def of(cls, files: Sequence[Path], wanted: Sequence[str]) -> ParquetRows:
        """Files that declare each of these columns alike."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        kinds: dict[str, Any] = {}
        for declared in map(pq.read_schema, files):
            for name in wanted:
                if name in declared.names:
                    kind = plain_type(declared.field(name).type)
                    kinds[name] = pa.large_string() if is_text(kind) else kind
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
        columns = nothing | {name: decoded(batch.column(name)).cast(self.schema.field(name).type) for name in there}
        return pa.record_batch([columns[name] for name in self.schema.names], schema=self.schema)


def _options(connection: Any) -> str:
    """The options of this DuckDB's reader of Parquet."""
    query = "SELECT parameters FROM duckdb_functions() WHERE function_name = 'read_parquet'"
    return " ".join(str(known) for known in connection.execute(query).fetchall())


def _as_pattern(path: Path) -> str:
    """A path, for a reader that takes paths for patterns: otherwise `data[1].parquet` would be `data1.parquet`."""
    return re.sub(r"([*?\[])", r"[\1]", str(path))


def _files(path: Path) -> list[Path]:
    return sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
