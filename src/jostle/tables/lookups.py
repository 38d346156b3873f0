"""Columns that are looked up in a public table, as steps of a view."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ibis

from jostle.kernel.errors import BadInput
from jostle.schema import Boolean, Category, Column, Date, Numeric
from jostle.schema.values import text
from jostle.tables.view import Derive, plain_type

LONGEST_LOOKUP = 1024
"""So many entries a lookup may have."""


def looked_up_column(on: str, key: Column, lookup: Mapping[Any, Any], name: str, column: Column) -> Derive:
    """The step that adds a column by a lookup from another's plain values. A key that is missing there gives null."""
    if not lookup or len(lookup) > LONGEST_LOOKUP:
        raise BadInput("lookup", f"must have 1 to {LONGEST_LOOKUP} entries", "look up by a coarser column")
    form = ibis.table({on: plain_type(key)}, name="table")
    ways = [(form[on] == _plain_key(key, at), _constant(column, value)) for at, value in lookup.items() if value is not None]
    if len({text(at) for at in lookup}) != len(lookup):
        raise BadInput("lookup", "has a key twice, also when written as text", "name each once")
    return Derive(name, column, ibis.cases(*ways, else_=ibis.null(plain_type(column))).op())


def _plain_key(key: Column, at: Any) -> Any:
    """How the value looks among the plain ones."""
    if isinstance(key, Boolean):
        return bool(at)
    if isinstance(key, Category):
        names = dict(zip(key.keys, key.names, strict=True))
        if text(at) not in names:
            raise BadInput("lookup", f"{at!r} is none of the categories", f"use some of {', '.join(key.names[:20])}")
        return names[text(at)]
    return float(at)


def _constant(column: Column, value: Any) -> Any:
    """A public value of the new column, of the type that its plain values have."""
    if isinstance(column, Numeric):
        return float(value)
    if isinstance(column, Boolean):
        return bool(value)
    return value if isinstance(column, Date) else str(value)
