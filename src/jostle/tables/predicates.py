"""Expressions over one row as SQL text: parsed by sqlglot and built again with Ibis. Nothing of the text reaches an engine.

What is built here is checked by `conditions`: every operation has a value wherever its arguments have one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import date
from typing import Any

import ibis
import sqlglot as sg
import sqlglot.expressions as sge
from sqlglot.errors import SqlglotError

from jostle.kernel.errors import BadInput
from jostle.schema import Boolean, Category, Date, Numeric, Schema
from jostle.schema.values import as_number
from jostle.schema.values import text as as_text
from jostle.tables.cells.staged_columns import Expression
from jostle.tables.sql_days import comparison_of_days, day_constant, length_of_time, moved_day

LONGEST = 10_000
"""A condition or a statement has at most this many characters."""


def from_sql(said: str, rows: Any, schema: Schema) -> Expression:
    """The expression that a condition in SQL stands for, such as `sex = 'F' AND age BETWEEN 18 AND 64`."""
    if len(said) > LONGEST:
        raise BadInput("where", f"is longer than {LONGEST} characters", "say it in fewer words")
    try:
        tree = sg.parse_one(said, into=sge.Condition)
    except (SqlglotError, RecursionError):
        raise BadInput("where", "is no condition in SQL", "write for instance sex = 'F' AND age >= 18") from None
    return translated(tree, rows, schema)


def translated(tree: Any, rows: Any, schema: Schema) -> Expression:
    """An expression of sqlglot as one of Ibis over the rows."""
    try:
        return _Translator(rows, schema).of(tree)
    except (RecursionError, OverflowError):
        raise BadInput("where", "is nested too deeply, or has too large a number", "say it in a simpler way") from None


class _Translator:
    def __init__(self, rows: Any, schema: Schema) -> None:
        self.rows, self.schema = rows, schema

    def of(self, tree: Any) -> Any:
        handler = getattr(self, f"_{type(tree).__name__.lower()}", None) if type(tree) not in BINARY else self._of_two
        if handler is None or not _understood(tree):
            raise _unsupported(tree)
        made = handler(tree)
        return ~made if tree.args.get("negate") else made  # NOT LIKE is one operation, to some versions of the parser

    def _of_two(self, tree: Any) -> Any:
        truncated = comparison_of_days(tree)
        if truncated is not None:
            return self.of(truncated)
        left, right = self._alike(tree.this, tree.expression)
        _check_constants(tree, left, right)
        if isinstance(left, date) or isinstance(right, date):
            moved = moved_day(tree, left, right)
            if moved is not None:
                return moved
        return BINARY[type(tree)](left, right)

    def _alike(self, *trees: Any) -> list[Any]:
        """The parts of a comparison: a constant is read as its column is declared.

        A text that is compared with a day is a day; a number that is compared with a category is how that category is
        written, and 0 and 1 are truth values.
        """
        column = next((c for c in map(self._declared, trees) if c is not None), None)
        made = [None if _is_constant(tree) else self.of(tree) for tree in trees]
        days = isinstance(column, Date) or any(isinstance(m, ibis.Value) and m.type().is_date() for m in made)
        found = []
        for tree, value in zip(trees, made, strict=True):
            if value is not None or not _is_constant(tree):
                found.append(value)
            elif days and isinstance(tree, sge.Literal) and tree.is_string:
                found.append(day_constant(tree))
            else:
                found.append(_as_declared(column, self.of(tree)))
        return found

    def _declared(self, tree: Any) -> Any:
        tree = tree.unnest() if isinstance(tree, sge.Paren) else tree
        return self.schema.get(tree.name) if isinstance(tree, sge.Column) else None

    def _column(self, tree: Any) -> Any:
        if tree.name not in self.schema:
            remedy = f"use one of {', '.join(self.schema)}, and write texts in single quotes: '{tree.name}'"
            raise BadInput("where", f"{tree.name!r} is not in the schema", remedy)
        return self.rows[tree.name]

    def _literal(self, tree: Any) -> Any:
        return constant(tree)

    _boolean = _literal

    def _null(self, _: Any) -> Any:
        return ibis.null()

    def _paren(self, tree: Any) -> Any:
        return self.of(tree.this)

    def _not(self, tree: Any) -> Any:
        value = self.of(tree.this)
        _check_constants(tree, value)
        return not value if isinstance(value, bool) else ~value

    def _neg(self, tree: Any) -> Any:
        value = self.of(tree.this)
        _check_constants(tree, value)
        return -value

    def _is(self, tree: Any) -> Any:
        value = self._expression(tree.this)
        if isinstance(tree.expression, sge.Null):
            return value.isnull()
        if isinstance(tree.expression, sge.Boolean):
            return (value == bool(tree.expression.this)).fill_null(False)  # which is never null: a null is not true
        raise BadInput("where", f"{tree.sql()!r} is not supported", "use IS NULL or IS NOT NULL")

    def _nullsafeeq(self, tree: Any) -> Any:
        sides = self._alike(tree.this, tree.expression)
        left, right = (side if isinstance(side, ibis.Value) else ibis.literal(side) for side in sides)
        return (left == right).fill_null(False) | (left.isnull() & right.isnull())

    def _nullsafeneq(self, tree: Any) -> Any:
        return ~self._nullsafeeq(tree)

    def _in(self, tree: Any) -> Any:
        if tree.args.get("query") is not None:
            raise BadInput("where", "IN (SELECT …) looks at other rows", "list the values: sex IN ('F', 'M')")
        if not tree.expressions or not all(_is_constant(value) for value in tree.expressions):
            raise BadInput("where", "IN needs a list of constants", "write for instance sex IN ('F', 'M')")
        value, *listed = self._alike(tree.this, *tree.expressions)
        return (value if isinstance(value, ibis.Value) else ibis.literal(value)).isin(listed)

    def _between(self, tree: Any) -> Any:
        value, low, high = self._alike(tree.this, tree.args["low"], tree.args["high"])
        return value.between(low, high)

    def _like(self, tree: Any) -> Any:
        if not isinstance(tree.expression, sge.Literal) or not tree.expression.is_string:
            raise BadInput("where", "LIKE needs a text", "write for instance city LIKE 'New%'")
        return self._expression(tree.this).like(str(tree.expression.this))

    def _ilike(self, tree: Any) -> Any:
        if not isinstance(tree.expression, sge.Literal) or not tree.expression.is_string:
            raise BadInput("where", "ILIKE needs a text", "write for instance city ILIKE 'new%'")
        return self._expression(tree.this).lower().like(str(tree.expression.this).lower())

    # ------------------------------------------------------------------------------------------------------- choices

    def _case(self, tree: Any) -> Any:
        conditions = [one.this for one in tree.args["ifs"]]
        if tree.this is not None:
            conditions = [sge.EQ(this=tree.this.copy(), expression=one.copy()) for one in conditions]
        return self._chosen(conditions, [one.args["true"] for one in tree.args["ifs"]], tree.args.get("default"))

    def _if(self, tree: Any) -> Any:
        return self._chosen([tree.this], [tree.args["true"]], tree.args.get("false"))

    def _chosen(self, conditions: list[Any], results: list[Any], default: Any) -> Any:
        values = [self.of(value) for value in results]
        otherwise = ibis.null() if default is None else self.of(default)
        return ibis.cases(*zip(map(self.of, conditions), values, strict=True), else_=otherwise)

    def _coalesce(self, tree: Any) -> Any:
        return ibis.coalesce(*self._alike(tree.this, *tree.expressions))

    def _nullif(self, tree: Any) -> Any:
        value, other = self._alike(tree.this, tree.expression)
        return ibis.ifelse(value == other, ibis.null(), value)

    # ------------------------------------------------------------------------------------------------------- numbers

    def _expression(self, tree: Any) -> Any:
        value = self.of(tree)
        return value if isinstance(value, ibis.Value) else ibis.literal(value)

    def _abs(self, tree: Any) -> Any:
        return self._expression(tree.this).abs()

    def _floor(self, tree: Any) -> Any:
        return self._expression(tree.this).floor()

    def _ceil(self, tree: Any) -> Any:
        return self._expression(tree.this).ceil()

    def _round(self, tree: Any) -> Any:
        """Halves are rounded up."""
        digits = tree.args.get("decimals")
        places = 0 if digits is None else self.of(digits)
        if type(places) is not int or not -9 <= places <= 9:
            raise BadInput("where", f"{tree.sql()!r} is not supported", "round to -9 to 9 decimals")
        if places == 0:
            return (self._expression(tree.this) + 0.5).floor()
        scale = 10.0 ** abs(places)
        value = self._expression(tree.this)
        return ((value * scale if places > 0 else value / scale) + 0.5).floor() * (1 / scale if places > 0 else scale)

    def _intdiv(self, tree: Any) -> Any:
        """Rounded down."""
        return (self._expression(tree.this) / self.of(tree.expression)).floor()

    def _mod(self, tree: Any) -> Any:
        """What is left after division, rounded down, by a number."""
        value, by = self._expression(tree.this), self.of(tree.expression)
        if type(by) not in (int, float) or by <= 0:
            raise BadInput("where", f"{tree.sql()!r} is not supported", "take the remainder by a number above 0")
        return value - (value / by).floor() * by

    def _cast(self, tree: Any) -> Any:
        """Casts that every value has: a constant text to a day, a number to a number, a truth value to 0 or 1."""
        if any(v for key, v in tree.to.args.items() if key not in ("this", "nested", "expressions", "kind")):
            raise _no_cast(tree)
        if tree.to.this in DAYS:
            if isinstance(tree.this, sge.Literal):
                return day_constant(tree.this)
            value = self._expression(tree.this)
            if not value.type().is_date():
                raise _no_cast(tree)
            return value
        value = self._expression(tree.this)
        if tree.to.this is sge.DataType.Type.BOOLEAN and value.type().is_boolean():
            return value
        if tree.to.this in TEXTS and value.type().is_string():
            return value
        if tree.to.this not in WHOLE + FLOATS or not (value.type().is_numeric() or value.type().is_boolean()):
            raise _no_cast(tree)
        if value.type().is_boolean():
            value = ibis.cases((value, 1), (~value, 0), else_=ibis.null())
        return (value + 0.5).floor() if tree.to.this in WHOLE and value.type().is_floating() else value

    _trycast = _cast

    # --------------------------------------------------------------------------------------------------------- texts

    def _lower(self, tree: Any) -> Any:
        return self._expression(tree.this).lower()

    def _upper(self, tree: Any) -> Any:
        return self._expression(tree.this).upper()

    # ---------------------------------------------------------------------------------------------------------- days

    def _date(self, tree: Any) -> Any:
        return day_constant(tree.this) if isinstance(tree.this, sge.Literal) else self._cast(sge.cast(tree.this, "DATE"))

    def _year(self, tree: Any) -> Any:
        return self._day_of(tree.this).year()

    def _month(self, tree: Any) -> Any:
        return self._day_of(tree.this).month()

    def _quarter(self, tree: Any) -> Any:
        return self._day_of(tree.this).quarter()

    def _day(self, tree: Any) -> Any:
        return self._day_of(tree.this).day()

    _dayofmonth = _day

    def _dayofweek(self, tree: Any) -> Any:
        """0 for Sunday."""
        number = _day_number(self._day_of(tree.this))
        return number - (number / 7).floor() * 7

    def _dayofweekiso(self, tree: Any) -> Any:
        """1 for Monday to 7 for Sunday."""
        number = _day_number(self._day_of(tree.this)) - 1
        return number - (number / 7).floor() * 7 + 1

    def _extract(self, tree: Any) -> Any:
        part = PARTS_OF_A_DAY.get(tree.name.upper())
        if part is None:
            raise BadInput("where", f"{tree.sql()!r} is not supported", f"take one of {', '.join(PARTS_OF_A_DAY)}")
        return self.of(part(this=tree.expression.copy()))

    def _interval(self, tree: Any) -> Any:
        """A constant that days are moved by, and nothing else."""
        return length_of_time(tree)

    def _day_of(self, tree: Any) -> Any:
        value = self._expression(tree)
        if not value.type().is_date():
            raise BadInput("where", f"{tree.sql()} is no date", "take parts of a column that is declared as a Date")
        return value


def _day_number(day: Any) -> Any:
    """Days from a Sunday on, by the calendar's rule for leap years: whole numbers below 2²², so that nothing overflows."""
    early = day.month() <= 2
    year = ibis.ifelse(early, day.year() - 1, day.year())
    month = ibis.ifelse(early, day.month() + 9, day.month() - 3)
    leap = (year / 4).floor() - (year / 100).floor() + (year / 400).floor()
    return year * 365 + leap + ((month * 153 + 2) / 5).floor() + day.day() + 2


def _unsupported(tree: Any) -> BadInput:
    if isinstance(tree, (sge.Subquery, sge.Select, sge.Exists)):
        return BadInput("where", f"the sub-query {tree.sql()} looks at other rows", "write its value as a constant")
    if isinstance(tree, sge.Window):
        return BadInput("where", f"the window {tree.sql()} looks at other rows", "leave it out")
    remedy = "use comparisons, AND, OR, NOT, IN, BETWEEN, LIKE, IS NULL, CASE, arithmetic and parts of dates"
    return BadInput("where", f"{tree.sql()!r} is not supported", remedy)


def _no_cast(tree: Any) -> BadInput:
    problem = f"{tree.sql()!r} would fail on some values, which would reveal that there are such rows"
    return BadInput("where", problem, "use columns as they are declared in the schema")


def _understood(tree: Any) -> bool:
    """Whether nothing more is said than is read here: words such as SYMMETRIC would be read as if they were not there."""
    known = {"this", "expression", "_type", *MORE.get(type(tree), ())}
    return not any(value for name, value in tree.args.items() if name not in known)


def _check_constants(tree: Any, *values: Any) -> None:
    """Python reads some operations on constants in its own way: a negation as one of bits, a truth value as a number."""
    constants = [value for value in values if isinstance(value, (bool, int, float, str, date))]
    truth, numbers = isinstance(tree, LOGIC), isinstance(tree, COUNTING)
    if (truth and not all(isinstance(value, bool) for value in constants)) or (
        numbers and any(isinstance(value, (bool, str)) for value in constants)
    ):
        raise _unsupported(tree)


def constant(tree: Any) -> Any:
    """The value of a literal."""
    if isinstance(tree, sge.Boolean):
        return bool(tree.this)
    if isinstance(tree, sge.Null):
        return None
    if tree.is_string:
        return str(tree.this)
    try:
        return int(tree.this)
    except ValueError:
        return float(tree.this)


def _is_constant(tree: Any) -> bool:
    return isinstance(tree, (sge.Literal, sge.Boolean)) or (isinstance(tree, sge.Neg) and isinstance(tree.this, sge.Literal))


def _as_declared(column: Any, value: Any) -> Any:
    """A constant as the column that it is compared with is declared, if it is written in another way."""
    if isinstance(column, Category) and type(value) in (int, float, bool):
        known = dict(zip(column.keys, column.names, strict=True))
        if as_text(value) in known:
            return known[as_text(value)]
        raise _compared("a category", value, f"use one of {', '.join(map(repr, column.names[:12]))}")
    if isinstance(column, Boolean) and value in (0, 1):
        return bool(value)
    if isinstance(column, Boolean) and str(value).lower() in ("true", "false"):
        return str(value).lower() == "true"
    if isinstance(column, Boolean):
        raise _compared("a truth value", value, "write TRUE or FALSE")
    if isinstance(column, Numeric) and isinstance(value, (str, bool)):
        number = as_number(value) if isinstance(value, str) else math.nan
        if not math.isfinite(number):
            raise _compared("a number", value, f"use a number from {column.low} to {column.high}")
        return number
    return value


def _compared(kind: str, value: Any, remedy: str) -> BadInput:
    return BadInput("where", f"compares {kind} with {value!r}", remedy)


BINARY: dict[Any, Callable[[Any, Any], Any]] = {
    sge.And: lambda a, b: a & b,
    sge.Or: lambda a, b: a | b,
    sge.EQ: lambda a, b: a == b,
    sge.NEQ: lambda a, b: a != b,
    sge.LT: lambda a, b: a < b,
    sge.LTE: lambda a, b: a <= b,
    sge.GT: lambda a, b: a > b,
    sge.GTE: lambda a, b: a >= b,
    sge.Add: lambda a, b: a + b,
    sge.Sub: lambda a, b: a - b,
    sge.Mul: lambda a, b: a * b,
    sge.Div: lambda a, b: a / b,
}
"""Operations on two values."""

LOGIC, COUNTING = (sge.And, sge.Or, sge.Not), (sge.Add, sge.Sub, sge.Mul, sge.Div, sge.Neg)
"""What takes truth values, and what takes numbers."""

_Type = sge.DataType.Type
DAYS = (_Type.DATE, _Type.TIMESTAMP, _Type.DATETIME, *(t for t in _Type if t.name in ("DATE32", "TIMESTAMPNTZ")))
WHOLE = (_Type.INT, _Type.BIGINT, _Type.SMALLINT, _Type.TINYINT)
FLOATS = (_Type.DOUBLE, _Type.FLOAT, _Type.DECIMAL)
TEXTS = (_Type.TEXT, _Type.VARCHAR)

PARTS_OF_A_DAY = {
    "YEAR": sge.Year,
    "QUARTER": sge.Quarter,
    "MONTH": sge.Month,
    "DAY": sge.Day,
    "DOW": sge.DayOfWeek,
    "DAYOFWEEK": sge.DayOfWeek,
    "ISODOW": sge.DayOfWeekIso,
}
"""What EXTRACT takes of a day."""

MORE: dict[Any, tuple[str, ...]] = {
    sge.Column: ("table", "db", "catalog"),
    sge.Literal: ("is_string",),
    sge.Cast: ("to",),
    sge.TryCast: ("to", "safe"),
    sge.Between: ("low", "high", "negate"),
    sge.In: ("expressions", "negate", "query"),
    sge.Like: ("negate",),
    sge.ILike: ("negate",),
    sge.Is: ("negate",),
    sge.Case: ("ifs", "default"),
    sge.If: ("true", "false"),
    sge.Coalesce: ("expressions", "is_nvl", "is_null"),
    sge.Round: ("decimals",),
    sge.Div: ("typed", "safe"),
    sge.Interval: ("unit",),
}
"""What an operation may have besides its operands: that which the translator reads."""
