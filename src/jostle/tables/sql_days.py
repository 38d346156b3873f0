"""Days that are written in SQL: constants, constants that are moved by an interval, and days rounded to a period."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import sqlglot.expressions as sge

from jostle.kernel.errors import BadInput

UNITS = ("DAY", "WEEK", "MONTH", "QUARTER", "YEAR")
"""What days are rounded to and moved by."""

FORMATS = {
    "%Y": "YEAR",
    "%Y-%m": "MONTH",
    "%Y-%m-%d": "DAY",
    "YYYY": "YEAR",
    "YYYY-MM": "MONTH",
    "YYYY-MM-DD": "DAY",
}
"""Texts of a day that a group may have, and what they round it to."""

FLIPPED = {sge.EQ: sge.EQ, sge.NEQ: sge.NEQ, sge.LT: sge.GT, sge.LTE: sge.GTE, sge.GT: sge.LT, sge.GTE: sge.LTE}
"""Comparisons, and what they are with their sides exchanged."""


def day_constant(tree: Any) -> date:
    """The day that a text stands for."""
    if not isinstance(tree, sge.Literal) or not tree.is_string:
        raise BadInput("where", f"{tree} is no date", "write it as '2024-12-31'")
    said = str(tree.this)
    try:
        return date.fromisoformat(said.removesuffix(" 00:00:00"))
    except ValueError:
        raise BadInput("where", f"{tree.sql()} is no date", "write it as '2024-12-31'") from None


def moved_day(tree: Any, left: Any, right: Any) -> date | None:
    """A constant day that is moved by an interval or a number of days, as in DATE '1998-12-01' - INTERVAL '90' DAY."""
    sign = {sge.Add: 1, sge.Sub: -1}.get(type(tree))
    if sign is None or type(left) is not date:
        return None
    unit, number = right if isinstance(right, tuple) else ("DAY", right)
    if type(number) is not int:
        return None
    try:
        return moved(left, unit, sign * number)
    except (OverflowError, ValueError):
        raise BadInput("where", f"{tree.sql()} is no day of the calendar", "write the day itself") from None


def moved(day: date, unit: str, number: int) -> date:
    """A day so many units later; at most the last day of its month.

    >>> moved(date(2024, 1, 31), "MONTH", 1)
    datetime.date(2024, 2, 29)
    """
    if unit in ("DAY", "WEEK"):
        return day + timedelta(days=number * (7 if unit == "WEEK" else 1))
    months = day.year * 12 + day.month - 1 + number * {"MONTH": 1, "QUARTER": 3, "YEAR": 12}[unit]
    first = date(months // 12, months % 12 + 1, 1)
    last = (first + timedelta(days=31)).replace(day=1) - timedelta(days=1) if first.year < 9999 else first.replace(day=28)
    return first.replace(day=min(day.day, last.day))


def length_of_time(tree: Any) -> tuple[str, int]:
    """The unit and the number of an INTERVAL."""
    unit = tree.args.get("unit")
    name = "DAY" if unit is None else unit.name.upper().removesuffix("S")
    try:
        number = int(tree.this.name)
    except (ValueError, AttributeError):
        raise BadInput("where", f"{tree.sql()} is not supported", "write for instance INTERVAL '90' DAY") from None
    if name not in UNITS:
        raise BadInput("where", f"{tree.sql()} is not supported", f"use a number of {', '.join(UNITS)}")
    return name, number


def truncated(tree: Any) -> tuple[str, Any] | None:
    """The unit and the value of DATE_TRUNC('month', value), or of a text such as TO_CHAR(value, 'YYYY-MM'); else None."""
    if isinstance(tree, (sge.DateTrunc, sge.TimestampTrunc)):
        unit = tree.args["unit"].name.upper()
        return (unit, tree.this) if unit in UNITS else None
    if isinstance(tree, (sge.TimeToStr, sge.ToChar)):
        unit = FORMATS.get(str(tree.args["format"].name))
        return (unit, tree.this) if unit else None
    return None


def first_day(day: date, unit: str) -> date:
    """The first day of the day's week (Monday), month, quarter or year.

    >>> first_day(date(2024, 5, 17), "QUARTER"), first_day(date(2024, 5, 17), "WEEK")
    (datetime.date(2024, 4, 1), datetime.date(2024, 5, 13))
    """
    if unit in ("DAY", "WEEK"):
        return day - timedelta(days=day.weekday() if unit == "WEEK" else 0)
    month = {"MONTH": day.month, "QUARTER": (day.month - 1) // 3 * 3 + 1, "YEAR": 1}[unit]
    return day.replace(month=month, day=1)


def comparison_of_days(tree: Any) -> Any:
    """A comparison of DATE_TRUNC(unit, d) with a day, as one of d itself; None if it is no such comparison."""
    found = truncated(tree.this) if type(tree) in FLIPPED else None
    if found is None and type(tree) in FLIPPED and truncated(tree.expression) is not None:
        return comparison_of_days(FLIPPED[type(tree)](this=tree.expression, expression=tree.this))
    if found is None:
        return None
    constant = tree.expression.this if isinstance(tree.expression, sge.Cast) else tree.expression
    if not isinstance(constant, sge.Literal) or isinstance(tree.this, (sge.TimeToStr, sge.ToChar)):
        raise BadInput("where", f"{tree.sql()!r} is not supported", "compare DATE_TRUNC with a constant day")
    unit, value = found
    day = day_constant(constant)
    first, after = first_day(day, unit), moved(first_day(day, unit), unit, 1)
    exact = first == day
    begins, ends = (sge.Cast(this=sge.Literal.string(d.isoformat()), to=sge.DataType.build("DATE")) for d in (first, after))
    least = begins if exact else ends
    comparisons: dict[Any, Any] = {
        sge.GTE: lambda: sge.GTE(this=value.copy(), expression=least),
        sge.LT: lambda: sge.LT(this=value.copy(), expression=least),
        sge.GT: lambda: sge.GTE(this=value.copy(), expression=ends),
        sge.LTE: lambda: sge.LT(this=value.copy(), expression=ends),
        sge.EQ: lambda: sge.and_(
            sge.GTE(this=value.copy(), expression=begins), sge.LT(this=value.copy(), expression=ends), copy=False
        ),
        sge.NEQ: lambda: sge.or_(
            sge.LT(this=value.copy(), expression=begins), sge.GTE(this=value.copy(), expression=ends), copy=False
        ),
    }
    if type(tree) in (sge.EQ, sge.NEQ) and not exact:
        raise BadInput("where", f"{tree.sql()} is never true", f"compare with a first day, such as '{first}'")
    return comparisons[type(tree)]()
