"""SQL text as private expressions: parsed with sqlglot, read into the same tree that Python expressions build.

The table `db` has a row for every cell: its coordinates along the axes, and its count, which is called `values`. What has no
private meaning here (joins, orders, windows, …) is refused by its name, and so are texts too long to be meant.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import reduce
from typing import Any, Final

from sqlglot import TokenType, exp, parse, tokenize
from sqlglot.errors import SqlglotError

from jostle.choice import expressions as e
from jostle.choice.expressions.cells import Cells, Filtered, Flags
from jostle.choice.expressions.private import Private
from jostle.choice.expressions.public import Coordinate, Mask, PublicNumber, public, short
from jostle.kernel.errors import BadInput

LONGEST: Final = 2_000
MOST_TOKENS: Final = 400
DEEPEST: Final = 20
"""Limits of a text: characters, tokens, and parentheses within each other."""

_QUOTED: Final = '"values"'

VALUES: Final = "values"
TABLE: Final = "db"

Value = Private | PublicNumber | Filtered


@dataclass(frozen=True)
class SelectedCells:
    """What a SELECT selects from: cells under a name, a condition on their values, and how they are grouped."""

    name: str
    cells: Cells
    flags: Flags | None
    widths: Mapping[str, PublicNumber]


def read(text: str, parameters: Mapping[str, PublicNumber]) -> Private:
    """The expression that a text stands for."""
    try:
        return _SqlText(parameters).private(tree(text))
    except RecursionError:
        raise BadInput("sql", "is nested too deeply", "make it simpler") from None


class _SqlText:
    """One text, with its parameters. Methods read one kind of node each; what has no method is refused."""

    def __init__(self, parameters: Mapping[str, PublicNumber]) -> None:
        self.parameters = parameters

    def private(self, node: Any) -> Private:
        """The whole text: it must depend on the data."""
        value = self.value(node, None)
        if not isinstance(value, Private):
            raise BadInput("sql", "is no private expression", "select something from db")
        return value

    def value(self, node: Any, rows: SelectedCells | None) -> Any:
        """A node inside (or, without rows, outside) a SELECT."""
        if isinstance(node, (exp.Paren, exp.Subquery)):
            check_clauses(node, "this")
            return self.value(node.this, rows)
        if isinstance(node, exp.Select):
            return self.inner(node, rows)
        if isinstance(node, exp.Literal) and not node.is_string:
            return literal(node)
        if isinstance(node, exp.Neg):
            return -1 * self.value(node.this, rows)
        if type(node) in _ARITHMETIC:
            return _ARITHMETIC[type(node)](self.value(node.this, rows), self.value(node.expression, rows))
        if isinstance(node, (exp.Column, exp.Placeholder)):
            return self.named(node, rows)
        if isinstance(node, exp.Func):
            return self.function(node, rows)
        raise refused(node)

    def named(self, node: Any, rows: SelectedCells | None) -> Any:
        """The values, a parameter, or a public number of the domain."""
        name = name_of(node)
        if rows is not None and isinstance(node, exp.Column) and name == rows.name:
            if rows.flags is not None or rows.widths:  # which cells remain is private; groups have no values of their own
                problem = "stands outside of sum or count, under a condition on values or in groups"
                raise BadInput(f"`{name}`", problem, f"write sum({name}) or count({name})")
            return rows.cells
        if name in self.parameters:
            return self.parameters[name]
        if name == "domain_size":
            return e.db.size
        if name.endswith("_range") and not name.startswith("_"):
            return getattr(e.db, written(node)[: -len("_range")] + "_range")
        raise BadInput(f"`{name}`", "is neither the values nor a parameter here", f"pass it: sql(…, {name}=8)")

    def function(self, node: Any, rows: SelectedCells | None) -> Any:
        """An aggregate of rows, or a function of numbers, or of the cells that a SELECT gives."""
        name = (node.name if isinstance(node, exp.Anonymous) else node.sql_name()).lower()
        if rows is not None and name in _AGGREGATES:
            return self.aggregate(node, name, rows)
        if name not in _FUNCTIONS:
            raise refused(node)
        arity, does = _FUNCTIONS[name]
        values = [self.value(argument, rows) for argument in arguments(node)]
        if len(values) != arity:
            raise BadInput(f"`{shown(node)}`", f"takes {arity} arguments, not {len(values)}", "leave out the others")
        return does(*values)

    def aggregate(self, node: Any, name: str, rows: SelectedCells) -> Any:
        """Over all rows that satisfy the condition, or by group."""
        inside = arguments(node)
        if len(inside) != 1:
            raise refused(node)
        star = isinstance(inside[0], exp.Star)
        # The condition and the groups are of this aggregate, and not of what stands within it.
        of: Any = rows.cells if star else self.value(inside[0], replace(rows, flags=None, widths={}))
        if not isinstance(of, Cells) or (star and name != "count"):
            raise BadInput(f"`{shown(node)}`", "must be over the values", f"write {name}({rows.name})")
        if rows.flags is not None:
            of = of.where(rows.flags)
        if not rows.widths:
            return getattr(of, name)() if name in ("sum", "count") else _FUNCTIONS[name][1](of)
        if name not in ("sum", "count"):
            raise BadInput(f"`{shown(node)}`", "has no derived bound by group", "use sum or count by group")
        return getattr(of.groupby(**rows.widths), name)()

    def inner(self, node: Any, rows: SelectedCells | None) -> Any:
        """A SELECT as an argument; within another, which has rows of its own, it must give one number."""
        found = self.select(node)
        if rows is not None and isinstance(found, Cells):
            raise BadInput(f"`{shown(node)}`", "gives many rows within another SELECT", "put it into FROM")
        return found

    def select(self, node: Any) -> Any:
        """One expression over the rows of a table or of another SELECT."""
        check_clauses(node, "expressions", "from_", "where", "group")
        if len(node.expressions) != 1:
            raise BadInput(f"`{shown(node)}`", "selects more or less than one thing", "select one expression")
        return self.value(unalias(node.expressions[0])[0], self.rows(node))

    def rows(self, node: Any) -> SelectedCells:
        """FROM, WHERE and GROUP BY: first the region, then the condition on the values in it."""
        name, cells = self.table(node)
        where = node.args.get("where")
        parts = [] if where is None else conjuncts(where.this)
        on_values = [part for part in parts if any(name_of(column) == name for column in part.find_all(exp.Column))]
        for part in parts:
            if part not in on_values:
                cells = cells.where(self.condition(part, name, cells))
        conditions = [self.condition(part, name, cells) for part in on_values]
        flags: Flags | None = reduce(operator.and_, conditions) if conditions else None
        return SelectedCells(name, cells, flags, self.widths(node.args.get("group")))

    def table(self, node: Any) -> tuple[str, Cells]:
        """The data, or the cells of an inner SELECT under the name of its column."""
        source = node.args.get("from_")
        if source is None:
            raise BadInput(f"`{shown(node)}`", "has no FROM", f"write … from {TABLE}")
        inner = source.this
        if isinstance(inner, exp.Subquery) and isinstance(inner.this, exp.Select):
            check_clauses(inner, "this", "alias")
            cells = self.select(inner.this)
            if not isinstance(cells, Cells):
                raise BadInput(f"`{shown(inner)}`", "is one number, not a table", "group it by something")
            return unalias(inner.this.expressions[0])[1] or VALUES, cells
        if not isinstance(inner, exp.Table) or inner.name.lower() != TABLE:
            raise BadInput(f"`{shown(inner)}`", "is not a table here", f"the data are called {TABLE}")
        check_clauses(inner, "this")
        return VALUES, e.db.values

    def widths(self, group: exp.Group | None) -> dict[str, PublicNumber]:
        """GROUP BY x/8, y: intervals of coordinates."""
        widths: dict[str, PublicNumber] = {}
        if group is not None:
            check_clauses(group, "expressions")
            for key in group.expressions:
                axis, width = self.interval(key)
                if axis.lower() in (other.lower() for other in widths):
                    raise BadInput(f"`{shown(group)}`", f"groups by {axis} twice", "name each axis once")
                widths[axis] = width
        return widths

    def interval(self, key: Any) -> tuple[str, PublicNumber]:
        """x, x/8, floor(x/8) or x div 8."""
        if isinstance(key, (exp.Paren, exp.Floor)):
            check_clauses(key, "this")
            return self.interval(key.this)
        if isinstance(key, exp.Column):
            return written(key), public(1)
        if isinstance(key, (exp.Div, exp.IntDiv)) and isinstance(key.this, exp.Column):
            return written(key.this), self.number(key.expression)
        raise BadInput(f"`{shown(key)}`", "is no interval of coordinates", "group by x, or by x/8")

    def number(self, node: Any) -> PublicNumber:
        value = self.value(node, None)
        if not isinstance(value, PublicNumber):
            raise BadInput(f"`{shown(node)}`", "must be public", "measure it first, then pass it as a parameter")
        return value

    def condition(self, node: Any, name: str, cells: Cells) -> Any:
        """A mask, or flags; only AND, at the top, can connect the two."""
        if isinstance(node, exp.Paren):
            return self.condition(node.this, name, cells)
        if isinstance(node, exp.Not):
            return ~self.condition(node.this, name, cells)
        if isinstance(node, (exp.And, exp.Or)):
            left, right = (self.condition(side, name, cells) for side in (node.this, node.expression))
            if isinstance(left, Mask) is not isinstance(right, Mask):
                problem = "mixes coordinates and values"
                raise BadInput(f"`{shown(node)}`", problem, "connect such conditions by AND, at the top of WHERE")
            return left & right if isinstance(node, exp.And) else left | right
        if isinstance(node, exp.Between):
            check_clauses(node, "this", "low", "high")
            at: Any = self.operand(node.this, name, cells)
            low, high = self.number(node.args["low"]), self.number(node.args["high"])
            return at.compared(">=", low) & at.compared("<=", high)
        if isinstance(node, exp.In) and node.expressions:
            check_clauses(node, "this", "expressions")
            at = self.operand(node.this, name, cells)
            return reduce(operator.or_, [at.compared("=", self.number(item)) for item in node.expressions])
        if type(node) in _SIGNS:
            return self.comparison(node, name, cells)
        raise refused(node)

    def comparison(self, node: Any, name: str, cells: Cells) -> Any:
        sign, left, right = _SIGNS[type(node)], node.this, node.expression
        if not isinstance(left, exp.Column) or name_of(left) in self.parameters:
            sign, left, right = _FLIPPED[sign], right, left
        return self.operand(left, name, cells).compared(sign, self.number(right))

    def operand(self, node: Any, name: str, cells: Cells) -> Any:
        """What is compared: the values, or a coordinate."""
        if not isinstance(node, exp.Column):
            raise BadInput(f"`{shown(node)}`", "cannot be compared", "compare values or a coordinate with a public number")
        return cells if name_of(node) == name else Coordinate(written(node))


_SIGNS: Final = {exp.LT: "<", exp.LTE: "<=", exp.GT: ">", exp.GTE: ">=", exp.EQ: "=", exp.NEQ: "<>"}
_FLIPPED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "=", "<>": "<>"}
_ARITHMETIC: Final[Mapping[type, Callable[[Any, Any], Any]]] = {
    exp.Add: operator.add,
    exp.Sub: operator.sub,
    exp.Mul: operator.mul,
    exp.Div: operator.truediv,
}
_FUNCTIONS: Final[Mapping[str, tuple[int, Callable[..., Any]]]] = {
    "sum": (1, lambda of: e.check_cells(of, "sum").sum()),
    "avg": (1, e.mean),
    "mean": (1, e.mean),
    "max": (1, e.largest),
    "min": (1, e.smallest),
    "stddev": (1, e.stddev),
    "stddev_pop": (1, e.stddev),
    "stddev_samp": (1, lambda of: e.stddev(of, ddof=1)),
    "total_variation": (1, e.total_variation),
    "median_deviation": (1, e.median_deviation),
    "l1": (1, lambda of: e.norm(of, 1)),
    "l2": (1, lambda of: e.norm(of, 2)),
    "linf": (1, lambda of: e.norm(of, math.inf)),
    "abs": (1, lambda of: abs(e.check_private(of))),
    "greatest": (2, lambda one, other: _first_private(e.largest, one, other)),
    "least": (2, lambda one, other: _first_private(e.smallest, one, other)),
    "clip": (3, lambda of, least, most: e.check_private(of).clip(least, most)),
    "sqrt": (1, e.sqrt),
}
"""What a text may call, besides aggregates of rows. `stddev` divides by the number of entries, as it does in Python."""
_OF_ENTRIES: Final = ("abs", "greatest", "least", "clip", "sqrt")
_AGGREGATES: Final = {"count", *_FUNCTIONS} - {*_OF_ENTRIES}
"""What makes one number of many rows, so that conditions and groups are about it."""


def _first_private(function: Callable[[Any, Any], Any], one: Any, other: Any) -> Any:
    return function(one, other) if isinstance(one, Private) else function(other, one)


# ----------------------------------------------------------------------------------------------- text and nodes


def tree(text: str) -> Any:
    """The parsed text, within the limits. `groupby` in one word is understood.

    >>> tree("select sum(values) from db groupby x").sql()
    'SELECT SUM("values") FROM db GROUP BY x'
    """
    if len(text) > LONGEST:
        raise BadInput("sql", f"has more than {LONGEST} characters", "split it into several expressions")
    try:
        tokens = tokenize(text)
        deep = most = 0
        for token in tokens:
            deep += {TokenType.L_PAREN: 1, TokenType.R_PAREN: -1}.get(token.token_type, 0)
            most = max(most, deep)
        if len(tokens) > MOST_TOKENS or most > DEEPEST:
            raise BadInput("sql", f"has more than {MOST_TOKENS} words or {DEEPEST} nested parentheses", "make it simpler")
        for token in reversed(tokens):
            if token.token_type is TokenType.VAR and token.text.lower() == "groupby":
                text = f"{text[: token.start]}group by{text[token.end + 1 :]}"
            elif token.token_type is TokenType.VALUES:  # a word of SQL's own, unless it is quoted
                text = f"{text[: token.start]}{_QUOTED}{text[token.end + 1 :]}"
        statements = parse(text)
    except SqlglotError as error:
        reason = short(str(error).splitlines()[0])
        raise BadInput("sql", f"cannot be parsed: {reason}", "write for instance select sum(values) from db") from None
    if len(statements) != 1 or statements[0] is None:
        raise BadInput("sql", "must be one expression or one SELECT", "leave out what follows the semicolon")
    return statements[0]


def literal(node: Any) -> PublicNumber:
    """A number that was written out; its size is looked at before it is computed."""
    try:
        written = Decimal(node.this)
        if not written.is_finite() or len(node.this) > 40 or abs(written.adjusted()) > 20:
            raise ValueError
        return public(Fraction(written))
    except (ValueError, ArithmeticError, BadInput):
        raise BadInput(f"`{shown(node)}`", "is no number of reasonable length", "write for instance 8 or 0.5") from None


def written(node: Any) -> str:
    """A column or a parameter, without its table."""
    return str(node.this if isinstance(node.this, str) else node.name)


def name_of(node: Any) -> str:
    """The same in small letters; only axes may differ by capitals."""
    return written(node).lower()


def unalias(node: Any) -> tuple[Any, str]:
    """What is selected, and under which name."""
    return (node.this, node.alias.lower()) if isinstance(node, exp.Alias) else (node, "")


def conjuncts(node: Any) -> list[Any]:
    """The parts of a chain of ANDs, without recursion."""
    parts, left = [], [node]
    while left:
        at = left.pop()
        if isinstance(at, (exp.And, exp.Paren)) and (isinstance(at, exp.And) or isinstance(at.this, exp.And)):
            left += [at.expression, at.this] if isinstance(at, exp.And) else [at.this]
        else:
            parts.append(at)
    return parts


def arguments(node: Any) -> list[Any]:
    """In order; an argument that is a list of them counts as many."""
    found: list[Any] = []
    names = ("expressions",) if isinstance(node, exp.Anonymous) else tuple(node.arg_types)
    for name in names:
        value = node.args.get(name)
        found += value if isinstance(value, list) else [value] if isinstance(value, exp.Expr) else []
    return found


def check_clauses(node: Any, *allowed: str) -> None:
    """Refuse every clause that was written and is not understood."""
    for clause, value in node.args.items():
        if value and clause not in allowed:
            raise BadInput(f"`{shown(node)}`", f"has a clause that is not supported: {clause.strip('_')}", "leave it out")


def shown(node: Any) -> str:
    """A node as SQL, no longer than what is shown."""
    return short(node.sql().replace(_QUOTED, "values"))


def refused(node: Any) -> BadInput:
    """What to raise for a node that has no private meaning."""
    remedy = "use sums and counts by group, and Lipschitz functions of them such as stddev"
    return BadInput(f"`{shown(node)}`", f"is not supported in private expressions ({type(node).__name__})", remedy)
