"""The closed list of types that a table's columns and persons may have, for each engine.

Privacy: whether a query succeeds must not depend on a value, and equal persons must be one person. Both are shown for the
types on this list (docs/proofs/tables.md, "Types"), and for no other: whatever is not listed is refused by its declared
type, before anything is charged. A list of types that cause trouble would never be complete.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from jostle.kernel.errors import BadInput
from jostle.schema.arrow import is_text

TYPES: Mapping[str, frozenset[str]] = {
    "arrow": frozenset(
        {"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float", "double"}
        | {"decimal128", "date32", "timestamp", "string", "large_string", "string_view", "dictionary of texts", "null"}
    ),
    "pandas": frozenset(
        {"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"}
        | {"boolean", "Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64", "Float32", "Float64"}
        | {"datetime64", "str", "string", "object", "category"}
    ),
    "parquet": frozenset(
        {"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float", "double", "decimal"}
        | {"date", "timestamp", "int96", "string", "null"}
    ),
    "polars": frozenset(
        {"Boolean", "Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64", "Float32", "Float64"}
        | {"Decimal", "Date", "Datetime", "String", "Categorical", "Enum", "Null"}
    ),
    "duckdb": frozenset(
        {"BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT"}
        | {"FLOAT", "DOUBLE", "DECIMAL", "DATE", "TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"}
        | {"TIMESTAMP WITH TIME ZONE", "VARCHAR", "ENUM", "UUID"}
    ),
    "postgres": frozenset(
        {"bool", "int2", "int4", "int8", "float4", "float8", "numeric", "date", "timestamp", "timestamptz"}
        | {"text", "varchar", "bpchar", "enum", "uuid"}
    ),
    "pyspark": frozenset(
        {"boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "decimal", "date", "timestamp"}
        | {"timestamp_ntz", "string"}
    ),
    "sqlite": frozenset({"any"}),
}
"""The engines' own names of types. SQLite's columns hold values of any of its five types, all of which are read."""

NOT_PERSONS = frozenset(
    {"timestamp", "int96", "datetime64", "Datetime", "timestamptz", "timestamp_ntz", "TIMESTAMP", "TIMESTAMP_S"}
    | {"TIMESTAMP_MS", "TIMESTAMP_NS", "TIMESTAMP WITH TIME ZONE"}
)
"""Times are not persons: DuckDB fails to write some of them as texts."""

TEXT = {"duckdb": "VARCHAR", "postgres": "text", "polars": "String", "sqlite": "any"}
"""What a text is called, where it is not `string`."""


def check_types(found: Mapping[str, str], wanted: Iterable[str], engine: str, person: str | None = None) -> None:
    """Raise unless each wanted column has a type on the engine's list. `found` has the engine's own names of the types.

    >>> check_types({"id": "HUGEINT"}, ["id"], "duckdb")
    Traceback (most recent call last):
    jostle.kernel.errors.BadInput: schema: the column 'id' has the type HUGEINT, which may fail on some values. \
Remedy: store it as VARCHAR, or as another of BIGINT, BOOLEAN, DATE, DECIMAL, DOUBLE, ENUM, FLOAT, INTEGER, SMALLINT, \
TIMESTAMP, TIMESTAMP WITH TIME ZONE, TIMESTAMP_MS, TIMESTAMP_NS, TIMESTAMP_S, TINYINT, UBIGINT, UINTEGER, USMALLINT, \
UTINYINT, UUID.
    """
    known, text = TYPES[engine], TEXT.get(engine, "string")
    for name in wanted:
        if name == person and bare(found[name]) in NOT_PERSONS:
            problem = f"the column {name!r} has the type {found[name][:60]}, by which persons cannot be told apart"
            raise BadInput("unit", problem, f"store it as {text}, or as a whole number")
        if not is_listed(found[name], engine):
            problem = f"the column {name!r} has the type {found[name][:60]}, which may fail on some values"
            others = ", ".join(sorted(known - {text}))
            argument = "unit" if name == person else "schema"
            raise BadInput(argument, problem, f"store it as {text}, or as another of {others}")


def is_listed(kind: str, engine: str) -> bool:
    """Whether a type is on an engine's list."""
    return bare(kind) in TYPES[engine]


def arrow_type(kind: Any) -> str:
    """The name of a type of Arrow's. Dictionaries hold texts, and decimals have digits on both sides of the point.

    >>> import pyarrow
    >>> arrow_type(pyarrow.dictionary(pyarrow.int8(), pyarrow.string())), arrow_type(pyarrow.decimal128(3, -1))
    ('dictionary of texts', 'decimal128 with scale -1')
    """
    import pyarrow as pa

    if pa.types.is_dictionary(kind) and is_text(kind.value_type):
        return "dictionary of texts"
    if pa.types.is_decimal128(kind) and not 0 <= kind.scale <= kind.precision:
        return f"decimal128 with scale {kind.scale}"
    return str(kind)


def bare(kind: str) -> str:
    """A type without its parameters. Only days and times have parameters in brackets: elsewhere, brackets mean lists.

    >>> bare("DECIMAL(18,3)"), bare("timestamp[us, tz=UTC]"), bare("ENUM('a', 'b')"), bare("INTEGER[3]")
    ('DECIMAL', 'timestamp', 'ENUM', 'INTEGER[3]')
    """
    return re.sub(r"(?s)\(.*\)$|(?<=^timestamp)\[.+\]$|(?<=^datetime64)\[.+\]$|(?<=^date32)\[.+\]$", "", kind)
