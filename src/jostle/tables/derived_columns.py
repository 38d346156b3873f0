"""What is publicly known of a derived value: its list of values, or its bounds, by those of the columns it is made of.

Privacy: everything here follows from the schema and the text of the question. A list may have values that no row has, never
the other way round: a row whose value is not in the list is in no cell, or in that for other values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise, product
from typing import Any

import sqlglot.expressions as sge

from jostle.kernel.errors import BadInput
from jostle.schema import Boolean, Category, Column, Date, Integer, Numeric, Real, Schema
from jostle.schema.columns import MISSING, OTHER
from jostle.tables.conditions import range_of
from jostle.tables.predicates import constant, translated
from jostle.tables.scalars import SCALARS, branches, cast, operands, simplified
from jostle.tables.sql_days import first_day, moved, truncated

MOST_VALUES = 4096
"""A derived column to group by has at most this many values."""

MOST_COMBINATIONS = 2**16
"""Values of a function are listed from at most this many combinations of its arguments'."""

TRUTH = (
    sge.EQ,
    sge.NEQ,
    sge.LT,
    sge.LTE,
    sge.GT,
    sge.GTE,
    sge.And,
    sge.Or,
    sge.Not,
    sge.In,
    sge.Between,
    sge.Like,
    sge.ILike,
)
DAY_PARTS = {sge.Month: (1, 12), sge.Quarter: (1, 4), sge.Day: (1, 31), sge.DayOfMonth: (1, 31)}
WEEKDAYS = {sge.DayOfWeek: (0, 6), sge.DayOfWeekIso: (1, 7)}
STEPS = (sge.Floor, sge.Ceil, sge.Round, sge.IntDiv)
FINE = 1024
"""Bounds of a sum's or a mean's values have this many cells between them, which nobody counts."""


@dataclass(frozen=True)
class GroupColumn:
    """A column to group by: the expression behind it, its cells, and what they are called."""

    value: Any
    """The expression in SQL whose value places a row in a cell."""

    column: Column
    labels: tuple[str, ...]
    """What each cell is called."""

    values: tuple[Any, ...]
    """What each cell stands for, to compute and to sort with; None for missing values."""


def declared(schema: Schema, name: str) -> GroupColumn:
    """A column of the schema as it is.

    >>> declared(Schema(age=Integer(0, 2)), "age").values
    (0, 1, 2)
    """
    column = schema[name]
    return GroupColumn(sge.column(name), column, tuple(column.labels), tuple(cell_values(column)))


def cell_values(column: Column) -> list[Any]:
    """What each cell of a column stands for: its value, or the first of several."""
    known: list[Any]
    if isinstance(column, Integer):
        known = list(range(column.low, column.high + 1, column.width))
    elif isinstance(column, Numeric):
        known = column.edges[:-1].tolist()
    elif isinstance(column, Boolean):
        known = [False, True]
    elif isinstance(column, Date):
        known = _days(column)
    else:
        known = column.names
    return [*known, *([OTHER] if column.outside == "own" else []), *([None] if column.null == "own" else [])]


def _days(column: Date) -> list[date]:
    unit = column.every.upper()
    first = column.low if unit in ("DAY", "WEEK") else first_day(column.low, unit)
    return [moved(first, unit, step) for step in range(column.values)]


def group_column(tree: Any, schema: Schema) -> GroupColumn:
    """The column that rows are grouped by, if the schema lists the values that the expression may have."""
    rounded = truncated(tree)
    if rounded is not None:
        return _rounded_days(tree, *rounded, schema)
    found = values_of(tree, schema)
    if found is None or len(found) > MOST_VALUES:
        problem = f"GROUP BY {tree.sql()} has no short list of values that the schema would show"
        raise BadInput("sql", problem, "round it to steps, as in FLOOR(age / 10) * 10, or group by a declared column")
    listed = [value for value in found if value is not None]
    null: Any = "own" if None in found else "drop"
    missing = ([MISSING], [None]) if None in found else ([], [])
    if not listed:
        raise BadInput("sql", f"GROUP BY {tree.sql()} has no value", "group by a column")
    if all(isinstance(value, bool) for value in listed):
        labels, values = ["false", "true"], [False, True]
        return GroupColumn(tree, Boolean(outside="drop", null=null), (*labels, *missing[0]), (*values, *missing[1]))
    if all(isinstance(value, str) for value in listed):
        return _texts(tree, listed, null)
    if all(type(value) in (int, float) for value in listed):
        return _numbers(tree, sorted(set(listed)), null, missing)
    raise BadInput("sql", f"GROUP BY {tree.sql()} has values of several kinds", "group by numbers, texts or truth values")


def _texts(tree: Any, listed: Sequence[str], null: Any) -> GroupColumn:
    """Engines do not all agree on capitals: what they change is in a cell for other values where it is not in the list."""
    names = [value for value in dict.fromkeys(listed) if value not in (OTHER, MISSING)]
    changed = tree.find(sge.Lower, sge.Upper) is not None
    column = Category(names, outside="own" if OTHER in listed or changed else "drop", null=null)
    return GroupColumn(tree, column, tuple(column.labels), tuple(cell_values(column)))


def _numbers(tree: Any, listed: Sequence[float], null: Any, missing: tuple[list[Any], list[Any]]) -> GroupColumn:
    """Numbers at equal steps, by the number of their step; others by where they lie between the middles of their list."""
    if all(float(value).is_integer() for value in listed):
        whole = [int(value) for value in listed]
        step = math.gcd(*(value - whole[0] for value in whole)) or 1
        every = list(range(whole[0], whole[-1] + 1, step))
        labels = (*map(str, every), *missing[0])
        if len(every) <= MOST_VALUES:
            if step == 1:
                column = Integer(every[0], max(every[-1], every[0] + 1), null=null)
                return GroupColumn(tree, column, _cut(column.labels, every, labels), _filled(column, every, missing[1]))
            from_first = sge.Sub(this=sge.paren(tree.copy()), expression=_number(every[0]))
            place = sge.Div(this=sge.paren(from_first), expression=_number(step))
            column = Integer(0, max(len(every) - 1, 1), null=null)
            return GroupColumn(place, column, labels, (*every, *missing[1]))
    if len(listed) == 1:
        listed = [listed[0], listed[0] + 1]
    middles = [(a + b) / 2 for a, b in pairwise(listed)]
    width = max(listed[-1] - listed[0], 1.0)
    between = Real(listed[0] - width, listed[-1] + width, cuts=middles, null=null)
    return GroupColumn(tree, between, (*(f"{value:g}" for value in listed), *missing[0]), (*listed, *missing[1]))


def _cut(labels: Sequence[str], every: Sequence[int], wanted: tuple[str, ...]) -> tuple[str, ...]:
    """A column has at least two cells, also where there is one value."""
    return wanted if len(every) > 1 else tuple(labels)


def _filled(column: Integer, every: Sequence[int], missing: Sequence[Any]) -> tuple[Any, ...]:
    return (*range(column.low, column.high + 1), *missing) if len(every) == 1 else (*every, *missing)


def _number(value: float) -> Any:
    literal = sge.Literal.number(abs(value))
    return sge.Neg(this=literal) if value < 0 else literal


def _rounded_days(tree: Any, unit: str, inner: Any, schema: Schema) -> GroupColumn:
    """The same days, in longer periods."""
    while isinstance(inner, (sge.Paren, sge.Cast)):
        inner = inner.this
    column = schema.get(inner.name) if isinstance(inner, sge.Column) else None
    if not isinstance(column, Date):
        raise BadInput("sql", f"{tree.sql()} does not round a column of dates", "round a column that is declared as a Date")
    as_text = isinstance(tree, (sge.TimeToStr, sge.ToChar))
    if unit == "QUARTER":
        return _quarters(inner, column)
    every: Any = unit.lower()
    low = first_day(column.low, unit) if unit == "WEEK" else column.low
    made = Date(low, max(column.high, low + timedelta(days=1)), every=every, outside=column.outside, null=column.null)
    days = cell_values(made)
    labels = made.labels if as_text else [str(day) for day in days[: made.values]] + made.labels[made.values :]
    return GroupColumn(inner, made, tuple(labels), tuple(labels[: made.values] + days[made.values :] if as_text else days))


def _quarters(inner: Any, column: Date) -> GroupColumn:
    """Quarters by their number."""
    first, last = first_day(column.low, "QUARTER"), first_day(column.high, "QUARTER")
    number = (last.year - first.year) * 4 + (last.month - first.month) // 3
    quarter = sge.Add(
        this=sge.Mul(this=sge.Year(this=inner.copy()), expression=_number(4)), expression=sge.Quarter(this=inner.copy())
    )
    place = sge.Sub(this=quarter, expression=_number(first.year * 4 + (first.month + 2) // 3))
    made = Integer(0, max(number, 1), null=column.null)
    days = [moved(first, "QUARTER", step) for step in range(made.values)]
    return GroupColumn(
        place, made, (*map(str, days), *made.labels[made.values :]), (*days, *([None] * (made.null == "own")))
    )


# -------------------------------------------------------------------------------------------------------------- values


def values_of(tree: Any, schema: Schema) -> list[Any] | None:
    """All values that an expression may have, by the schema; None if they are not listed, or too many.

    >>> import sqlglot as sg
    >>> values_of(sg.parse_one("FLOOR(age / 10) * 10"), Schema(age=Integer(0, 39)))
    [0, 10, 20, 30]
    """
    tree = simplified(tree)
    if isinstance(tree, (sge.Paren, sge.TryCast, sge.Cast)):
        inner = values_of(tree.this, schema)
        if inner is None or isinstance(tree, sge.Paren):
            return inner
        return _distinct([None if value is None else cast(tree, value) for value in inner])
    if isinstance(tree, sge.Column):
        return _column_values(schema[tree.name]) if tree.name in schema else None
    if isinstance(tree, (sge.Literal, sge.Boolean, sge.Null)):
        return [constant(tree)]
    if isinstance(tree, sge.Is):
        return [False, True]
    if isinstance(tree, TRUTH):
        return [False, True, *([None] if _nullable(tree, schema) else [])]
    if isinstance(tree, sge.Case):
        every = [[None] if result is None else values_of(result, schema) for _, result in branches(tree)]
        return None if None in every else _distinct([value for one in every if one is not None for value in one])
    if isinstance(tree, (sge.Coalesce, sge.Nullif)):
        every = [values_of(one, schema) for one in (operands(tree) if isinstance(tree, sge.Coalesce) else [tree.this])]
        return None if None in every else _distinct([value for one in every if one is not None for value in one])
    if type(tree) in DAY_PARTS or type(tree) in WEEKDAYS or isinstance(tree, sge.Year):
        return _day_part(tree, schema)
    return _function_values(tree, schema)


def _distinct(values: Sequence[Any]) -> list[Any]:
    """Each value once, and truth values apart from 0 and 1."""
    return list({(type(value) is bool, value): value for value in values}.values())


def _function_values(tree: Any, schema: Schema) -> list[Any] | None:
    """A function's values for every combination of its arguments'; or whole numbers between its bounds."""
    every = [values_of(one, schema) for one in operands(tree)]
    known = [one for one in every if one is not None]
    if type(tree) in SCALARS and len(known) == len(every) and math.prod(map(len, known)) <= MOST_COMBINATIONS:
        literals = [sge.Placeholder(this=str(place)) for place in range(len(known))]
        try:
            return _distinct([_applied(tree, literals, row) for row in product(*known)])
        except (TypeError, ValueError, OverflowError, AttributeError):
            raise BadInput("sql", f"{tree.sql()} makes no sense", "use columns as they are declared") from None
    if not isinstance(tree, STEPS):
        return None
    digits = tree.args.get("decimals")
    scale = 10.0 ** (constant(digits) if isinstance(digits, sge.Literal) and not digits.is_string else 0)
    low, high, _ = bounds(tree, schema)
    if (high - low) * scale > MOST_VALUES:
        return None
    missing = [None] if _nullable(tree, schema) else []
    steps = range(math.floor(low * scale), math.ceil(high * scale) + 1)
    return [*(steps if scale == 1 else [step / scale for step in steps]), *missing]


def _applied(tree: Any, placeholders: Sequence[Any], row: Sequence[Any]) -> Any:
    if any(value is None for value in row):
        return None
    found = SCALARS[type(tree)](*row)
    if isinstance(found, float) and found.is_integer() and isinstance(tree, (sge.Round, sge.IntDiv)):
        return int(found)
    return found


def _column_values(column: Column) -> list[Any] | None:
    """A column's plain values, and None where missing values count."""
    missing = [None] if column.null == "own" else []
    if isinstance(column, Category):
        return [*column.names, *([OTHER] if column.outside == "own" else []), *missing]
    if isinstance(column, Boolean):
        return [False, True, *missing]
    if isinstance(column, Integer) and column.high - column.low < MOST_COMBINATIONS:
        return [*range(column.low, column.high + 1), *missing]
    return None


def _day_part(tree: Any, schema: Schema) -> list[Any] | None:
    inner = tree.this
    while isinstance(inner, (sge.Paren, sge.Cast)):
        inner = inner.this
    column = schema.get(inner.name) if isinstance(inner, sge.Column) else None
    if not isinstance(column, Date):
        return None
    missing = [None] if column.null == "own" else []
    if isinstance(tree, sge.Year):
        return [*range(column.low.year, column.high.year + 1), *missing]
    low, high = (DAY_PARTS | WEEKDAYS)[type(tree)]
    return [*range(low, high + 1), *missing]


def _nullable(tree: Any, schema: Schema) -> bool:
    """Whether it may be null for a row that its columns do not drop."""
    if tree.find(sge.Null, sge.Nullif) or any(case.args.get("default") is None for case in tree.find_all(sge.Case)):
        return True
    columns = [schema[one.name] for one in tree.find_all(sge.Column) if one.name in schema]
    return any(column.null == "own" for column in columns)


# -------------------------------------------------------------------------------------------------------------- bounds


def bounds(tree: Any, schema: Schema) -> tuple[float, float, bool]:
    """Between which numbers an expression is, and whether all its values are whole numbers."""
    low, high = range_of(lambda form: translated(tree, form, schema), schema)
    return low, high, _is_whole(tree, schema)


def value_column(tree: Any, schema: Schema) -> Column:
    """The column of an expression that is added up, averaged or ranked."""
    low, high, whole = bounds(tree, schema)
    if whole:
        first, last = math.floor(low), max(math.ceil(high), math.floor(low) + 1)
        if first > 0 and last - first == 1 and low == high:  # one value, or none
            first -= 1
            last -= 1
        return Integer(first, last, bins=FINE if last - first >= MOST_VALUES else None)
    width = (high - low) or 1.0
    return Real(low, low + width, bins=FINE)


def _is_whole(tree: Any, schema: Schema) -> bool:
    """Whether it is a whole number wherever it has a value."""
    tree = simplified(tree)
    if isinstance(tree, sge.Literal):
        return not tree.is_string and isinstance(constant(tree), int)
    if isinstance(tree, sge.Column):
        return isinstance(schema.get(tree.name), Integer)
    if isinstance(tree, sge.Case):
        return all(_is_whole(result, schema) for _, result in branches(tree) if result is not None)
    if isinstance(tree, sge.Round):
        return tree.args.get("decimals") is None
    if isinstance(tree, (sge.Cast, sge.TryCast)):
        return tree.to.this in sge.DataType.INTEGER_TYPES or _is_whole(tree.this, schema)
    if isinstance(tree, (sge.Floor, sge.Ceil, sge.IntDiv, sge.Year, sge.Null, *DAY_PARTS, *WEEKDAYS)):
        return True
    if isinstance(tree, (sge.Paren, sge.Add, sge.Sub, sge.Mul, sge.Neg, sge.Abs, sge.Coalesce, sge.Nullif, sge.Mod)):
        return all(_is_whole(one, schema) for one in operands(tree))
    return False
