"""SQL text, parsed with sqlglot within limits, and what the reader asks of its nodes."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

from sqlglot import TokenType, exp, parse, tokenize
from sqlglot.errors import SqlglotError

from jostle.choice.expressions.public import PublicNumber, public, short
from jostle.kernel.errors import BadInput

LONGEST: Final = 2_000
MOST_TOKENS: Final = 400
DEEPEST: Final = 20
"""Limits of a text: characters, tokens, and parentheses within each other."""

_QUOTED: Final = '"values"'


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
    """The same in small letters. Axes alone may differ by capitals."""
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
