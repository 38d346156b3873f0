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
from jostle.tables.stages import Expression

LONGEST = 10_000
"""So many characters a condition may have."""


def condition(said: str, rows: Any, schema: Schema) -> Expression:
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
        if type(tree) in BINARY:
            left, right = tree.this, tree.expression
            return BINARY[type(tree)](*self._alike(left, right))
        handler = getattr(self, f"_{type(tree).__name__.lower()}", None)
        if handler is None:
            raise BadInput(
                "where", f"{tree.sql()!r} is not supported", "use comparisons, AND, OR, NOT, IN, BETWEEN, LIKE, IS NULL"
            )
        return handler(tree)

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
        return ~self.of(tree.this)

    def _neg(self, tree: Any) -> Any:
        return -self.of(tree.this)

    def _is(self, tree: Any) -> Any:
        value = self.of(tree.this)
        if isinstance(tree.expression, sge.Null):
            return value.isnull()
        if isinstance(tree.expression, sge.Boolean):
            return value == bool(tree.expression.this)
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
        if tree.to.this is not sge.DataType.Type.DATE:
            raise BadInput("where", f"{tree.sql()!r} is not supported", "compare columns as they are declared")
        return _day(tree.this)


def _day(tree: Any) -> date:
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
