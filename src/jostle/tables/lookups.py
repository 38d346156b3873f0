"""Columns that are looked up in a public table, as steps of a view."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date
from typing import Any

import ibis
import numpy as np

from jostle.kernel.errors import BadInput
from jostle.schema import Boolean, Category, Column, Date, Numeric, Schema
from jostle.schema.arguments import finite
from jostle.schema.values import as_days, as_number, is_missing_value, is_writable, text
from jostle.tables.conditions import checked
from jostle.tables.view import Derive, plain_type

LONGEST_LOOKUP = 1024
"""So many entries a lookup may have."""


def looked_up_column(on: str, key: Column, lookup: Mapping[Any, Any], name: str, column: Column) -> Derive:
    """The step that adds a column by a lookup from another's plain values. A key that is missing there gives null."""
    if not lookup or len(lookup) > LONGEST_LOOKUP:
        raise BadInput("lookup", f"must have 1 to {LONGEST_LOOKUP} entries", "look up by a coarser column")
    keys = [_plain_key(key, at) for at in lookup]
    if len(set(keys)) != len(keys):
        raise BadInput("lookup", "has a key twice, also when written as text", "name each once")
    values = [None if is_missing_value(value) else _constant(column, value) for value in lookup.values()]
    form = ibis.table({on: plain_type(key)}, name="table")
    ways = [(form[on] == at, value) for at, value in zip(keys, values, strict=True) if value is not None]
    if not ways:
        raise BadInput("lookup", "has no value but nulls", "say what the new column is for some of the keys")
    made = ibis.cases(*ways, else_=ibis.null(plain_type(column)))
    return Derive(name, column, checked(made, form, Schema({on: key}), "lookup"))


def _plain_key(key: Column, at: Any) -> Any:
    """How the value looks among the plain ones."""
    if isinstance(key, Boolean):
        return _truth(at)
    if isinstance(key, Category):
        names = dict(zip(key.keys, key.names, strict=True))
        if text(at) not in names:
            raise BadInput("lookup", f"{at!r} is none of the categories", f"use some of {', '.join(key.names[:20])}")
        return names[text(at)]
    return _number(at)


def _constant(column: Column, value: Any) -> Any:
    """A public value of the new column, of the type that its plain values have."""
    if isinstance(column, Numeric):
        return _number(value)
    if isinstance(column, Boolean):
        return _truth(value)
    return _day(value) if isinstance(column, Date) else _word(value)


def _number(value: Any) -> float:
    """A finite number, or one that is written as text."""
    number = as_number(value)
    found = finite(value) if math.isnan(number) else number
    if found is None or not math.isfinite(found):
        raise BadInput("lookup", f"{value!r} is no finite number", "write a number")
    return float(found)


def _truth(value: Any) -> bool:
    cell = Boolean().encode(_alone(value))[0]
    if cell not in (0, 1):
        raise BadInput("lookup", f"{value!r} is no truth value", "write True or False")
    return bool(cell)


def _day(value: Any) -> date:
    """A plain day: an engine would read texts and times row by row, and fail on some where a row reaches them."""
    day = as_days(_alone(value))[0].item()
    if type(day) is not date:
        raise BadInput("lookup", f"{value!r} is no day", "pass a datetime.date, or write it as '2024-12-31'")
    return day


def _word(value: Any) -> str:
    word = text(value)
    if word is None or not is_writable(word):
        raise BadInput("lookup", f"{value!r} is no category", "write texts, finite numbers or booleans")
    return word


def _alone(value: Any) -> Any:
    """As an array of one, also where the value is a sequence itself."""
    array = np.empty(1, dtype=object)
    array[0] = value
    return array
