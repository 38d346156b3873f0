"""Conditions that the schema alone shows to be impossible: a category that is not in the list, a number beyond the bounds.

Such a condition is a slip, and its answer would be a confident 0. Privacy: only the schema and the condition are looked at.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from difflib import get_close_matches
from typing import Any

import ibis.expr.operations as ops

from jostle.kernel.errors import BadInput
from jostle.schema import Category, Column, Date, Integer, Numeric, Schema
from jostle.schema.columns import OTHER

MOST_SHOWN = 12
"""A message lists at most this many categories."""

FLIPPED = {
    ops.Less: ops.Greater,
    ops.LessEqual: ops.GreaterEqual,
    ops.Greater: ops.Less,
    ops.GreaterEqual: ops.LessEqual,
    ops.Equals: ops.Equals,
}
"""Comparisons, and what they are with their sides exchanged."""

SIGNS = {ops.Less: "<", ops.LessEqual: "<=", ops.Greater: ">", ops.GreaterEqual: ">=", ops.Equals: "="}

Reason = tuple[str, str]
"""What is impossible, and what to write instead."""


def refuse_impossible(condition: Any, schema: Schema, argument: str) -> None:
    """Refuse a condition that no row can meet by the schema, and one with a category that there is not.

    In a derived value, conditions are those of its choices. What is always true is not refused.
    """
    if argument == "where":
        reason = _misspelt(condition, schema) or _never(condition, schema)
    else:
        reason = next((found for one in _conditions(condition) if (found := _misspelt(one, schema))), None)
    if reason is not None:
        raise BadInput(argument, *reason)


def _conditions(value: Any) -> Iterator[Any]:
    for case in value.find((ops.SearchedCase, ops.IfElse)):
        yield from case.cases if isinstance(case, ops.SearchedCase) else [case.bool_expr]


def _misspelt(node: Any, schema: Schema) -> Reason | None:
    """A category that is compared with for equality and is not in the schema's list, wherever it is not negated."""
    if isinstance(node, (ops.And, ops.Or)):
        return _misspelt(node.left, schema) or _misspelt(node.right, schema)
    for name, constants in _equalities(node):
        column = schema.get(name)
        if isinstance(column, Category):
            for value in constants:
                if isinstance(value, str) and value not in column.names and value != OTHER:
                    return _no_category(name, column, value)
    return None


def _equalities(node: Any) -> Iterator[tuple[str, list[Any]]]:
    """Columns, and constants that they are compared with for equality."""
    if isinstance(node, ops.Equals):
        for one, other in ((node.left, node.right), (node.right, node.left)):
            if isinstance(one, ops.Field) and isinstance(other, ops.Literal):
                yield one.name, [other.value]
    elif isinstance(node, ops.InValues) and isinstance(node.value, ops.Field):
        yield node.value.name, [one.value for one in node.options if isinstance(one, ops.Literal)]


def _no_category(name: str, column: Category, value: str) -> Reason:
    by_small = {known.lower(): known for known in column.names}
    near = get_close_matches(value.lower(), by_small, n=1, cutoff=0.6)
    shown = ", ".join(map(repr, column.names[:MOST_SHOWN])) + (", …" if len(column.names) > MOST_SHOWN else "")
    remedy = f"did you mean {by_small[near[0]]!r}? The categories are {shown}" if near else f"use one of {shown}"
    return f"{value!r} is not among the categories of {name!r}", remedy


def _never(node: Any, schema: Schema) -> Reason | None:
    """Why no row can meet it; None if one may."""
    if isinstance(node, ops.And):
        return _never(node.left, schema) or _never(node.right, schema)
    if isinstance(node, ops.Or):
        first, second = _never(node.left, schema), _never(node.right, schema)
        return first if second else None
    if isinstance(node, ops.Between):
        low = _beyond(ops.GreaterEqual, node.arg, node.lower_bound, schema)
        return low or _beyond(ops.LessEqual, node.arg, node.upper_bound, schema)
    if isinstance(node, ops.InValues):
        each = [_beyond(ops.Equals, node.value, one, schema) for one in node.options]
        return each[0] if each and all(each) else None
    if type(node) in FLIPPED:
        return _beyond(type(node), node.left, node.right, schema) or _beyond(
            FLIPPED[type(node)], node.right, node.left, schema
        )
    return None


def _beyond(comparison: Any, field: Any, constant: Any, schema: Schema) -> Reason | None:
    """A comparison of a column of numbers or days with a constant that is beyond its bounds."""
    if not isinstance(field, ops.Field) or field.name not in schema:
        return None
    value, column = _constant(constant), schema[field.name]
    if value is None or not isinstance(column, (Numeric, Date)) or isinstance(value, date) != isinstance(column, Date):
        return None
    bounds = f"{field.name!r} is declared from {column.low} to {column.high}"
    said = f"{field.name} {SIGNS[comparison]} {value} is never true"
    if not _may_hold(comparison, column, value):
        return f"{said}: {bounds}", "compare with a value between the bounds, or declare wider ones"
    if comparison is ops.Equals and isinstance(column, Integer) and value != int(value):
        return f"{said}: {field.name!r} has whole numbers", "write a whole number"
    return None


def _constant(node: Any) -> Any:
    """The number or the day of a constant, which may be negated or be a text that is cast to a day."""
    if isinstance(node, ops.Negate):
        inner = _constant(node.arg)
        return -inner if isinstance(inner, (int, float)) else None
    if isinstance(node, ops.Cast):
        try:
            return date.fromisoformat(node.arg.value) if node.to.is_date() else _constant(node.arg)
        except (AttributeError, TypeError, ValueError):
            return None
    value = node.value if isinstance(node, ops.Literal) else None
    return value if type(value) in (int, float, date) else None


def _may_hold(comparison: Any, column: Column, value: Any) -> bool:
    low, high = column.low, column.high  # type: ignore[attr-defined]
    if comparison in (ops.Less, ops.LessEqual):
        return bool(low < value if comparison is ops.Less else low <= value)
    if comparison in (ops.Greater, ops.GreaterEqual):
        return bool(high > value if comparison is ops.Greater else high >= value)
    return bool(low <= value <= high)
