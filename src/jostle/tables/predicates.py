"""Conditions as SQL text: parsed by sqlglot and built again as an expression. Nothing of the text reaches an engine."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any

import sqlglot as sg
import sqlglot.expressions as sge
from sqlglot.errors import SqlglotError

from jostle.kernel.errors import BadInput
from jostle.schema import Date, Schema
from jostle.tables.cells.staged_columns import Expression

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
        left, right = self._alike(tree.this, tree.expression)
        _check_constants(tree, left, right)
        return BINARY[type(tree)](left, right)

    def _alike(self, *trees: Any) -> list[Any]:
        """The parts of a comparison; a text that is compared with a day is a day."""
        days = any(isinstance(t, sge.Column) and isinstance(self.schema.get(t.name), Date) for t in trees)
        return [_day(t) if days and isinstance(t, sge.Literal) and t.is_string else self.of(t) for t in trees]

    def _column(self, tree: Any) -> Any:
        if tree.name not in self.schema:
            remedy = f"use one of {', '.join(self.schema)}, and write texts in single quotes: '{tree.name}'"
            raise BadInput("where", f"{tree.name!r} is not in the schema", remedy)
        return self.rows[tree.name]

    def _literal(self, tree: Any) -> Any:
        if tree.is_string:
            return str(tree.this)
        try:
            return int(tree.this)
        except ValueError:
            return float(tree.this)

    def _boolean(self, tree: Any) -> Any:
        return bool(tree.this)

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
        value = self.of(tree.this)
        if isinstance(tree.expression, sge.Null):
            return value.isnull()
        if isinstance(tree.expression, sge.Boolean):
            return (value == bool(tree.expression.this)).fill_null(False)  # which is never null: a null is not true
        raise BadInput("where", f"{tree.sql()!r} is not supported", "use IS NULL or IS NOT NULL")

    def _in(self, tree: Any) -> Any:
        if not tree.expressions or not all(isinstance(value, (sge.Literal, sge.Neg)) for value in tree.expressions):
            raise BadInput("where", "IN needs a list of constants", "write for instance sex IN ('F', 'M')")
        value, *listed = self._alike(tree.this, *tree.expressions)
        return value.isin(listed)

    def _between(self, tree: Any) -> Any:
        value, low, high = self._alike(tree.this, tree.args["low"], tree.args["high"])
        return value.between(low, high)

    def _like(self, tree: Any) -> Any:
        if not isinstance(tree.expression, sge.Literal) or not tree.expression.is_string:
            raise BadInput("where", "LIKE needs a text", "write for instance city LIKE 'New%'")
        return self.of(tree.this).like(str(tree.expression.this))

    def _date(self, tree: Any) -> Any:
        return _day(tree.this)

    def _cast(self, tree: Any) -> Any:
        if tree.to.this is not sge.DataType.Type.DATE or any(v for key, v in tree.to.args.items() if key != "this"):
            raise BadInput("where", f"{tree.sql()!r} is not supported", "compare columns as they are declared")
        return _day(tree.this)


def _unsupported(tree: Any) -> BadInput:
    remedy = "use comparisons, AND, OR, NOT, IN, BETWEEN, LIKE, IS NULL"
    return BadInput("where", f"{tree.sql()!r} is not supported", remedy)


def _understood(tree: Any) -> bool:
    """Whether nothing more is said than is read here: words such as SYMMETRIC would be read as if they were not there."""
    known = {"this", "expression", *MORE.get(type(tree), ())}
    return not any(value for name, value in tree.args.items() if name not in known)


def _check_constants(tree: Any, *values: Any) -> None:
    """Python reads some operations on constants in its own way: a negation as one of bits, a truth value as a number."""
    constants = [value for value in values if isinstance(value, (bool, int, float, str, date))]
    truth, numbers = isinstance(tree, LOGIC), isinstance(tree, COUNTING)
    if (truth and not all(isinstance(value, bool) for value in constants)) or (
        numbers and any(isinstance(value, (bool, str)) for value in constants)
    ):
        raise _unsupported(tree)


def _day(tree: Any) -> date:
    if not isinstance(tree, sge.Literal) or not tree.is_string:
        raise BadInput("where", f"{tree} is no date", "write it as '2024-12-31'")
    try:
        return date.fromisoformat(str(tree.this))
    except ValueError:
        raise BadInput("where", f"{tree.sql()} is no date", "write it as '2024-12-31'") from None


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

MORE: dict[Any, tuple[str, ...]] = {
    sge.Column: ("table", "db", "catalog"),
    sge.Literal: ("is_string",),
    sge.Cast: ("to",),
    sge.Between: ("low", "high", "negate"),
    sge.In: ("expressions", "negate"),
    sge.Like: ("negate",),
    sge.Is: ("negate",),
}
"""What an operation may have besides its operands: that which the translator reads."""
