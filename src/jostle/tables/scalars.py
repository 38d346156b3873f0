"""SQL functions of single values, in Python: for released numbers, and for values that a schema lists.

Privacy: nothing here sees a row. What is computed from released numbers is post-processing.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable
from datetime import date
from typing import Any

import sqlglot.expressions as sge

from jostle.kernel.errors import BadInput
from jostle.tables.predicates import DAYS, FLOATS, PARTS_OF_A_DAY, TEXTS, WHOLE, constant
from jostle.tables.sql_days import first_day, truncated


def divided(one: float, other: float) -> float | None:
    """A quotient; None where SQL has no value.

    >>> divided(1, 4), divided(1, 0)
    (0.25, None)
    """
    return None if other == 0 else one / other


def rounded(value: float, digits: float = 0) -> float:
    """To a number of decimals, halves away from zero.

    >>> rounded(2.5), rounded(-2.5), rounded(1234.567, 1), rounded(1250, -2)
    (3.0, -3.0, 1234.6, 1300.0)
    """
    scale = 10.0 ** int(digits)
    return math.copysign(math.floor(abs(value) * scale + 0.5) / scale, value)


def _defined(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, and None where it has no value."""

    def applied(*values: Any) -> Any:
        try:
            found = function(*values)
        except (ValueError, OverflowError, ZeroDivisionError):
            return None
        return None if isinstance(found, complex) else found

    return applied


def like(value: str, pattern: str) -> bool:
    """Whether a text is like a pattern of SQL.

    >>> like("New York", "New%"), like("abc", "a_c"), like("a.c", "abc")
    (True, True, False)
    """
    expression = "".join({"%": ".*", "_": "."}.get(letter, re.escape(letter)) for letter in pattern)
    return re.fullmatch(expression, value, re.DOTALL) is not None


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) and value.is_integer() else str(value)


def _part(value: str, start: int, length: int | None = None) -> str:
    return value[start - 1 :] if length is None else value[start - 1 : start - 1 + length]


SCALARS: dict[Any, Callable[..., Any]] = {
    sge.Add: operator.add,
    sge.Sub: operator.sub,
    sge.Mul: operator.mul,
    sge.Div: divided,
    sge.SafeDivide: divided,
    sge.IntDiv: lambda a, b: None if b == 0 else float(a // b),
    sge.Mod: lambda a, b: None if b == 0 else a % b,
    sge.Neg: operator.neg,
    sge.Abs: abs,
    sge.Floor: math.floor,
    sge.Ceil: math.ceil,
    sge.Round: rounded,
    sge.Trunc: math.trunc,
    sge.Sqrt: _defined(math.sqrt),
    sge.Exp: _defined(math.exp),
    sge.Ln: _defined(math.log),
    sge.Log: _defined(lambda a, b=None: math.log10(a) if b is None else math.log(b, a)),
    sge.Pow: _defined(lambda a, b: float(a) ** b),
    sge.Sign: lambda a: (a > 0) - (a < 0),
    sge.EQ: operator.eq,
    sge.NEQ: operator.ne,
    sge.LT: operator.lt,
    sge.LTE: operator.le,
    sge.GT: operator.gt,
    sge.GTE: operator.ge,
    sge.Like: like,
    sge.ILike: lambda a, b: like(a.lower(), b.lower()),
    sge.Lower: str.lower,
    sge.Upper: str.upper,
    sge.Length: len,
    sge.DPipe: lambda a, b: _text(a) + _text(b),
    sge.Concat: lambda *values: "".join(map(_text, values)),
    sge.Substring: _part,
    sge.Left: lambda a, n: a[:n],
    sge.Right: lambda a, n: a[-n:] if n else "",
    sge.Trim: str.strip,
    sge.Year: lambda d: d.year,
    sge.Month: lambda d: d.month,
    sge.Quarter: lambda d: (d.month + 2) // 3,
    sge.Day: lambda d: d.day,
    sge.DayOfMonth: lambda d: d.day,
    sge.DayOfWeek: lambda d: d.isoweekday() % 7,
    sge.DayOfWeekIso: lambda d: d.isoweekday(),
    sge.Pi: lambda: math.pi,
    sge.Greatest: lambda *values: max(values),
    sge.Least: lambda *values: min(values),
}
"""Functions of values that are there; of a null, they are null."""

RISING = (sge.Floor, sge.Ceil, sge.Round, sge.Trunc, sge.Sqrt, sge.Exp, sge.Ln)
"""Functions that never fall as their first argument rises, so that an interval's ends stay its ends."""


def operands(tree: Any) -> list[Any]:
    """The arguments of a function, in the order in which it takes them.

    >>> [one.sql() for one in operands(sge.Round(this=sge.column("a"), decimals=sge.Literal.number(2)))]
    ['a', '2']
    """
    if isinstance(tree, sge.Substring):
        return [one for one in (tree.this, tree.args.get("start"), tree.args.get("length")) if one is not None]
    later = [tree.args.get("expression"), tree.args.get("decimals"), *tree.expressions]
    return [one for one in (tree.args.get("this"), *later) if isinstance(one, sge.Expression)]


def simplified(tree: Any) -> Any:
    """EXTRACT as the function of the part; functions with several names by one."""
    if isinstance(tree, sge.Extract) and tree.name.upper() in PARTS_OF_A_DAY:
        return PARTS_OF_A_DAY[tree.name.upper()](this=tree.expression)
    return tree


def cast(tree: Any, value: Any) -> Any:
    """A value cast to the type that the expression names; None where that has no value."""
    to = tree.to.this
    try:
        if to in WHOLE:
            return int(rounded(float(value)))
        if to in FLOATS:
            return float(value)
        if to in DAYS:
            return date.fromisoformat(value) if isinstance(value, str) else value
    except (ValueError, OverflowError):
        return None
    if to in TEXTS:
        return _text(value)
    raise BadInput("sql", f"{tree.sql()} is not supported", "cast to INTEGER, DOUBLE, VARCHAR or DATE")


def evaluate(tree: Any, known: Callable[[Any], Any]) -> Any:
    """The value of an expression, given what its placeholders are. A null is None.

    >>> import sqlglot as sg
    >>> evaluate(sg.parse_one("CASE WHEN 2 > 1 THEN ROUND(10 / 3, 2) ELSE 0 END"), lambda _: None)
    3.33
    """
    if isinstance(tree, sge.Placeholder):
        return known(tree)
    if isinstance(tree, (sge.Literal, sge.Boolean, sge.Null)):
        return constant(tree)
    if isinstance(tree, sge.Paren):
        return evaluate(tree.this, known)
    if isinstance(tree, (sge.And, sge.Or, sge.Not, sge.Is, sge.In, sge.Between)):
        return _logic(tree, known)
    if isinstance(tree, (sge.Case, sge.Coalesce, sge.Nullif)):
        return _choice(tree, known)
    if isinstance(tree, (sge.Cast, sge.TryCast)):
        value = evaluate(tree.this, known)
        return None if value is None else cast(tree, value)
    if (found := truncated(tree)) is not None:
        day = evaluate(found[1], known)
        return None if day is None else first_day(day, found[0])
    tree = simplified(tree)
    if type(tree) not in SCALARS:
        raise BadInput("sql", f"{tree.sql()} is not supported", "leave it out, and compute it from what is released")
    values = [evaluate(one, known) for one in operands(tree)]
    found = None if any(value is None for value in values) else SCALARS[type(tree)](*values)
    return (None if found is None else not found) if tree.args.get("negate") else found


def _choice(tree: Any, known: Callable[[Any], Any]) -> Any:
    if isinstance(tree, sge.Coalesce):
        return next((v for one in operands(tree) if (v := evaluate(one, known)) is not None), None)
    if isinstance(tree, sge.Nullif):
        value = evaluate(tree.this, known)
        return None if value == evaluate(tree.expression, known) else value
    taken = next(result for condition, result in branches(tree) if condition is None or evaluate(condition, known) is True)
    return None if taken is None else evaluate(taken, known)


def branches(tree: Any) -> list[tuple[Any, Any]]:
    """The conditions of a CASE and what each gives; the last has none."""
    found = []
    for one in tree.args["ifs"]:
        condition = one.this if tree.this is None else sge.EQ(this=tree.this, expression=one.this)
        found.append((condition, one.args["true"]))
    return [*found, (None, tree.args.get("default"))]


def _logic(tree: Any, known: Callable[[Any], Any]) -> bool | None:
    """SQL's logic of three values."""
    first = evaluate(tree.this, known)
    if isinstance(tree, sge.Not):
        return None if first is None else not first
    if isinstance(tree, sge.Is):
        other = evaluate(tree.expression, known)
        found = first is None if other is None else first is other
        return not found if tree.args.get("negate") else found
    if isinstance(tree, (sge.And, sge.Or)):
        both = (first, evaluate(tree.expression, known))
        decides = isinstance(tree, sge.Or)
        return decides if decides in both else None if None in both else not decides
    if first is None:
        return None
    if isinstance(tree, sge.In):
        found = first in [evaluate(one, known) for one in tree.expressions]
    else:
        low, high = evaluate(tree.args["low"], known), evaluate(tree.args["high"], known)
        if low is None or high is None:
            return None
        found = low <= first <= high
    return not found if tree.args.get("negate") else found
