"""Conditions and derived values: they look at declared columns, row by row, and never fail.

An expression that fails on some rows would reveal that there are such rows: a division by zero, a number too large, a text
that is no date. So an expression is made of operations that have a value wherever their arguments have one, and arithmetic
is followed through the declared bounds, so that nothing can overflow. One over several rows would not have stability 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from datetime import date
from typing import Any, TypeAlias

import ibis
import ibis.expr.operations as ops
import numpy as np
from ibis.common.annotations import ValidationError
from ibis.common.exceptions import IbisError

from jostle.kernel.arguments import finite
from jostle.kernel.errors import BadInput, JostleError
from jostle.schema import Boolean, Category, Column, Date, Numeric, Schema, Text
from jostle.schema.values import as_days, as_number, is_missing_value, is_writable, text
from jostle.tables.cells.readings import literal
from jostle.tables.impossible import refuse_impossible
from jostle.tables.predicates import from_sql
from jostle.tables.view import Derive, View, plain_type

Condition: TypeAlias = str | Callable[[Any], Any]
"""SQL text, or a function from an Ibis table of the declared columns to an expression."""

Range: TypeAlias = tuple[float, float]
"""Between which numbers a value is."""

LARGEST_WHOLE, LARGEST = 2.0**31 - 1, 2.0**53
"""Whole numbers and other numbers stay below these, in absolute value."""

LEAST = 2.0**-432
"""Factors become multiples of 2^-485, which is the last bit of this: no product of two is below the least float."""

LONGEST_PATTERN = 256
"""A pattern has at most this many bytes: SQLite fails on long ones, and others need a level of their stack per part."""

ORDER = (ops.Less, ops.LessEqual, ops.Greater, ops.GreaterEqual, ops.Between)
COMPARISONS = (*ORDER, ops.Equals, ops.NotEquals, ops.InValues)
ALLOWED = (
    *(*COMPARISONS, ops.Alias, ops.And, ops.Or, ops.Not, ops.Xor, ops.IsNull, ops.NotNull, ops.IfElse, ops.SearchedCase),
    *(ops.SimpleCase, ops.Coalesce, ops.Lowercase, ops.Uppercase, ops.StartsWith, ops.EndsWith, ops.StringContains),
    ops.StringSQLLike,
)
"""Operations that have a value for whatever they are given."""

PATTERNS = {ops.StringSQLLike: "pattern", ops.StartsWith: "start", ops.EndsWith: "end"}
"""What becomes a pattern in some engine, and which argument."""

PARTS = {ops.ExtractYear: (1, 9999), ops.ExtractQuarter: (1, 4), ops.ExtractMonth: (1, 12), ops.ExtractDay: (1, 31)}
"""The parts of a date, and which numbers they are."""


def operation(view: View, said: Condition, argument: str) -> Any:
    """A condition or a value of a row, as a checked operation over the view's form."""
    form = view.form
    if not isinstance(said, str) and not callable(said):
        raise BadInput(argument, "must be SQL text or a function", "pass for instance lambda t: t.age > 30")
    try:
        expression = from_sql(said, form, view.schema) if isinstance(said, str) else said(form)
    except (IbisError, ValidationError, AttributeError, TypeError) as error:  # about columns and types: a form has no rows
        raise BadInput(argument, f"makes no sense: {error}", f"use {', '.join(view.schema)} as they are declared") from None
    except BadInput as refused:
        if refused.argument == argument or refused.argument != "where":
            raise
        raise BadInput(argument, refused.problem, refused.remedy) from None  # a condition in SQL is called `where` there
    except JostleError:
        raise
    except Exception as error:  # of a function of the caller's, or a constant such as 1/0
        raise BadInput(argument, f"fails before it sees a row, by {type(error).__name__}: {error}", "repair it") from error
    try:
        _refuse_free_text(expression, view.schema, argument)
        found = checked(expression, form, view.schema, argument)
    except RecursionError:
        raise BadInput(argument, "is nested too deeply", "say it in a simpler way, or in several steps") from None
    if argument == "where" and not found.dtype.is_boolean():
        raise BadInput(argument, "is neither true nor false", "compare something, for instance age >= 18")
    refuse_impossible(expression.op(), view.schema, argument)
    return found


def _refuse_free_text(expression: Any, schema: Schema, argument: str) -> None:
    """Free text may hold anything, and what an engine computes from it may fail."""
    for one in expression.op().find(ops.Field) if isinstance(expression, ibis.Value) else []:
        if isinstance(schema.get(one.name), Text):
            remedy = f"declare the values of {one.name} that you need: Category([…])"
            raise BadInput(argument, f"{one.name!r} is free text, which can only be grouped by", remedy)


def checked(expression: Any, form: Any, schema: Schema, argument: str) -> Any:
    """The operation of an expression over a form, if it is allowed."""
    if not isinstance(expression, ibis.Value):
        problem = f"gives a {type(expression).__name__}, not an expression"
        raise BadInput(argument, problem, "pass for instance lambda t: t.age > 30")
    _Check(form.op(), schema, argument).range_of(expression.op())
    return expression.op().replace(_careful)


def range_of(value: Callable[[Any], Any], schema: Schema, argument: str = "sql") -> Range:
    """Between which numbers a value of a row is, by the schema."""
    form = ibis.table({name: plain_type(column) for name, column in schema.items()}, name="table")
    made = value(form)
    found = _Check(form.op(), schema, argument).range_of((made if isinstance(made, ibis.Value) else ibis.literal(made)).op())
    if found is None:
        raise BadInput(
            argument, "does arithmetic with a value that is no number", "use columns that are declared as numbers"
        )
    return found


def _careful(node: Any, arguments: Any) -> Any:
    """The same operation, but done in a way in which no engine fails.

    - Texts that stand for days become days here. An engine would read them row by row, and some of them it cannot read.
    - Other constants than whole numbers are floats of 64 bits. DuckDB would take decimals, which overflow.
    - Whole numbers are of 64 bits. An engine would take as few as a constant needs, and their product would overflow.
    - Factors and dividends lose what is below 2⁻⁴⁸⁵. PostgreSQL does not suffer results that underflow.

    And with the same value in every engine: of a quarter, SQLite would give the fraction that it is made from.
    """
    if isinstance(node, ops.Literal) and node.dtype.is_floating() and node.value is not None:
        return literal(node.value).op()
    if isinstance(node, ops.Cast) and node.to.is_date():
        return ibis.literal(date.fromisoformat(node.arg.value)).op()
    made = node if arguments is None else node.__recreate__(arguments)
    if isinstance(made, ops.ExtractQuarter):
        return ((made.arg.to_expr().month().cast("int64") + 2) / 3).floor().op()
    if type(made) not in ARITHMETIC:
        return made
    values = [_widened(value.to_expr()) for value in made.args]
    if isinstance(made, ops.Multiply):
        values = [_without_dust(value, was) for value, was in zip(values, node.args, strict=True)]
    elif isinstance(made, ops.Divide):
        values[0] = _without_dust(values[0], node.left)
    return type(made)(*values)


def _widened(value: Any) -> Any:
    return value.cast("int64") if value.type().is_integer() else value


def _without_dust(value: Any, was: Any) -> Any:
    """Added to a small number and taken away from it again, a float is a multiple of 2⁻⁴⁸⁵ and named once."""
    if isinstance(was, ops.Literal) and (was.value == 0 or abs(was.value) > LEAST * 2**60):
        return value
    return value + literal(LEAST) - literal(LEAST) if value.type().is_floating() else value


class _Check:
    """Follows an expression from its result to the columns, and the ranges of numbers on the way back."""

    def __init__(self, rows: Any, schema: Schema, argument: str) -> None:
        self.rows, self.schema, self.argument = rows, schema, argument
        self.known: dict[Any, Range | None] = {}

    def range_of(self, node: Any) -> Range | None:
        """Between which numbers it is; None if it is no number. Refused if it is not allowed."""
        if node not in self.known:
            self.known[node] = self._bounded(node, self._range(node))
        return self.known[node]

    def _range(self, node: Any) -> Range | None:
        if _kind(node.dtype) not in KINDS:
            raise self._refused(f"has a value of type {node.dtype}")
        if isinstance(node, ops.Field):
            return self._column(node)
        if isinstance(node, ops.Literal):
            return self._literal(node)
        if isinstance(node, ops.Cast):
            return self._cast(node)
        if type(node) in PARTS:
            self.range_of(node.arg)
            return PARTS[type(node)]
        if type(node) in ARITHMETIC:
            try:
                return ARITHMETIC[type(node)](*map(self._number, node.args))
            except ZeroDivisionError:
                raise self._refused("divides by what may be zero, by its declared bounds") from None
        if isinstance(node, ALLOWED):
            self._alike(node)
            return self._any_of([self.range_of(value) for value in _values(node.args)], node)
        raise self._refused(f"uses {type(node).__name__}, which is not among what can be said of one row without failing")

    def _alike(self, node: Any) -> None:
        """Engines would convert what meets another type, and fail on some values; and on some patterns."""
        for values in _meeting(node):
            kinds = {_kind(value.dtype) for value in _values(values)} - {None}
            if len(kinds) > 1:
                raise self._refused(f"compares or mixes {' with '.join(sorted(map(str, kinds)))}")
        if type(node) in PATTERNS:
            self._pattern(getattr(node, PATTERNS[type(node)]))
            if isinstance(node, ops.StringSQLLike) and (node.escape or "\\" in node.pattern.value):
                raise self._refused("has a pattern with a backslash, or with another character that escapes")

    def _pattern(self, node: Any) -> None:
        said = node.value if isinstance(node, ops.Literal) else None
        if not isinstance(said, str) or not is_writable(said) or len(said.encode()) > LONGEST_PATTERN:
            raise self._refused(f"has a pattern that is no plain text of at most {LONGEST_PATTERN} bytes")

    def _column(self, node: Any) -> Range | None:
        if node.rel != self.rows or node.name not in self.schema:
            raise self._refused(f"looks at {node.name!r}, which is not a declared column of this table")
        column = self.schema[node.name]
        return (float(column.low), float(column.high)) if isinstance(column, Numeric) else None

    def _literal(self, node: Any) -> Range | None:
        if node.value is None or type(node.value) in (str, bool, date):  # a time is a date, too, to isinstance
            return None
        if (node.dtype.is_integer() or node.dtype.is_floating()) and math.isfinite(node.value):
            return float(node.value), float(node.value)
        raise self._refused("has a constant that is neither a finite number, a text, a truth value nor a date")

    def _cast(self, node: Any) -> Range | None:
        """Numbers to floats; and a text that is written in the expression to the date that it is."""
        if isinstance(node.arg, ops.Literal) and isinstance(node.arg.value, str) and node.to.is_date():
            try:
                date.fromisoformat(node.arg.value)
            except ValueError:
                raise self._refused(f"compares a date with {node.arg.value!r}") from None
            return None
        inner = self.range_of(node.arg)
        if inner is None or not node.to.is_float64():
            raise self._refused("changes the type of a value")
        return inner

    def _number(self, node: Any) -> Range:
        if not isinstance(node, ops.Node) or (inner := self.range_of(node)) is None:
            raise self._refused("does arithmetic with what is no number")
        return inner

    def _any_of(self, ranges: list[Range | None], node: Any) -> Range | None:
        """A choice between numbers is one of them."""
        numbers = [r for r in ranges if r is not None]
        if not numbers or not node.dtype.is_numeric():
            return None
        return min(low for low, _ in numbers), max(high for _, high in numbers)

    def _bounded(self, node: Any, found: Range | None) -> Range | None:
        if found is None:
            return None
        largest = LARGEST_WHOLE if node.dtype.is_integer() and not isinstance(node, ops.Literal) else LARGEST
        if max(map(abs, found)) > largest:
            raise self._refused("may become too large a number, by the declared bounds of its columns")
        return found

    def _refused(self, problem: str) -> BadInput:
        names = ", ".join(self.schema)
        remedy = f"compare and combine {names} with and, or, not, in, between, is null, +, −, × and division by a number"
        return BadInput(self.argument, problem, remedy)


def _kind(dtype: Any) -> str | None:
    """What can be compared with each other; None is for what can be with everything."""
    numbers = dtype.is_integer() or dtype.is_floating()
    kinds = {"numbers": numbers, "texts": dtype.is_string(), "days": dtype.is_date(), "truth": dtype.is_boolean()}
    return None if dtype.is_null() else next((kind for kind, it_is in kinds.items() if it_is), str(dtype))


KINDS = (None, "numbers", "texts", "days", "truth")
"""What values may be: the plain values of columns are of these. Engines convert to other types, and fail on some values."""


def _meeting(node: Any) -> list[Any]:
    """Arguments of an operation that must be of one kind: what is compared, and what is chosen from."""
    if isinstance(node, (*COMPARISONS, ops.Coalesce)):
        return [node.args]
    if isinstance(node, ops.IfElse):
        return [(node.true_expr, node.false_null_expr)]
    if isinstance(node, (ops.SearchedCase, ops.SimpleCase)):
        chosen = (node.results, node.default)
        return [chosen, (node.base, node.cases)] if isinstance(node, ops.SimpleCase) else [chosen]
    return []


def _values(arguments: Any) -> list[Any]:
    """The expressions among an operation's arguments, which may be in tuples."""
    nodes: list[Any] = []
    for argument in arguments:
        nodes += _values(argument) if isinstance(argument, tuple) else [argument] if isinstance(argument, ops.Node) else []
    return nodes


def _corners(operation: Callable[[float, float], float]) -> Callable[[Range, Range], Range]:
    def applied(one: Range, other: Range) -> Range:
        found = [operation(a, b) for a in one for b in other]
        return min(found), max(found)

    return applied


def _divided(one: Range, other: Range) -> Range:
    if other[0] <= 0 <= other[1]:
        raise ZeroDivisionError
    return _corners(lambda a, b: _dusted(a) / b)(one, other)


def _dusted(number: float) -> float:
    """What `_without_dust` makes of a number, which may be 0. It keeps the order, so the bounds of a range stay bounds."""
    return number + LEAST - LEAST


ARITHMETIC: dict[Any, Callable[..., Range]] = {
    ops.Add: _corners(lambda a, b: a + b),
    ops.Subtract: _corners(lambda a, b: a - b),
    ops.Multiply: _corners(lambda a, b: _dusted(a) * _dusted(b)),
    ops.Divide: _divided,
    ops.Negate: lambda a: (-a[1], -a[0]),
    ops.Abs: lambda a: (0.0, max(map(abs, a))),
    ops.Floor: lambda a: (math.floor(a[0]), math.floor(a[1])),
    ops.Ceil: lambda a: (math.ceil(a[0]), math.ceil(a[1])),
}
"""Arithmetic that has a value wherever its arguments have one."""


# ----------------------------------------------------------------------------------------------------------- lookups

LONGEST_LOOKUP = 1024
"""A lookup has at most this many entries."""


def looked_up_column(on: str, key: Column, lookup: Mapping[Any, Any], name: str, column: Column) -> Derive:
    """The step that adds a column by a lookup from another's plain values. A key that is missing there gives null."""
    if not lookup or len(lookup) > LONGEST_LOOKUP:
        raise BadInput("lookup", f"must have 1 to {LONGEST_LOOKUP} entries", "look up by a coarser column")
    keys = [_plain_key(key, at) for at in lookup]
    if len(set(keys)) != len(keys):
        raise BadInput("lookup", "has a key twice, also when written as text", "name each once")
    values = [None if is_missing_value(value) else _constant(column, value) for value in lookup.values()]
    form = ibis.table({on: plain_type(key)}, name="table")
    cases = [(form[on] == at, value) for at, value in zip(keys, values, strict=True) if value is not None]
    if not cases:
        raise BadInput("lookup", "has no values, only nulls", "say what the new column is for some of the keys")
    made = ibis.cases(*cases, else_=ibis.null(plain_type(column)))
    return Derive(name, column, checked(made, form, Schema({on: key}), "lookup"))


def _plain_key(key: Column, at: Any) -> Any:
    """How the value looks among the plain ones."""
    if isinstance(key, Boolean):
        return _truth(at)
    if isinstance(key, Category):
        names = dict(zip(key.keys, key.names, strict=True))
        if text(at) not in names:
            raise BadInput("lookup", f"{at!r} is not among the categories", f"use some of {', '.join(key.names[:20])}")
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
