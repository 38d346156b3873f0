"""The closed list of types that a table's columns and persons may have, for each engine.

Privacy: whether a query succeeds must not depend on a value, and equal persons must be one person. Both are shown for the
types on this list (docs/proofs/tables.md, "Types"), and for no other: whatever is not listed is refused by its declared
type, before anything is charged. A list of types that cause trouble would never be complete.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from jostle.kernel.errors import BadInput

TYPES: Mapping[str, frozenset[str]] = {
    "arrow": frozenset(
        {"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float", "double"}
        | {"decimal128", "date32", "timestamp", "string", "large_string", "string_view", "dictionary", "null"}
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


def check_types(found: Mapping[str, str], wanted: Iterable[str], engine: str, person: str | None = None) -> None:
    """Raise unless each wanted column has a type on the engine's list. `found` has the engine's own names of the types.

    >>> check_types({"id": "HUGEINT"}, ["id"], "duckdb")
    Traceback (most recent call last):
    jostle.kernel.errors.BadInput: schema: the column 'id' has the type HUGEINT, which may fail on some values. \
Remedy: store it as VARCHAR, or as another of BIGINT, BOOLEAN, DATE, DECIMAL, DOUBLE, ENUM, FLOAT, INTEGER, SMALLINT, \
TIMESTAMP, TIMESTAMP WITH TIME ZONE, TIMESTAMP_MS, TIMESTAMP_NS, TIMESTAMP_S, TINYINT, UBIGINT, UINTEGER, USMALLINT, \
UTINYINT, UUID.
    """
    known = TYPES[engine]
    text = next(name for name in ("VARCHAR", "text", "string", "any") if name in known)
    for name in wanted:
        if bare(found[name]) not in known:
            problem = f"the column {name!r} has the type {found[name][:60]}, which may fail on some values"
            others = ", ".join(sorted(known - {text}))
            argument = "unit" if name == person else "schema"
            raise BadInput(argument, problem, f"store it as {text}, or as another of {others}")


def bare(kind: str) -> str:
    """A type without its parameters.

    >>> bare("DECIMAL(18,3)"), bare("timestamp[us, tz=UTC]"), bare("ENUM('a', 'b')"), bare("INTEGER[]")
    ('DECIMAL', 'timestamp', 'ENUM', 'INTEGER[]')
    """
    return re.sub(r"(?s)(\(.*\)|\[.+\]|<.*>)$", "", kind)
