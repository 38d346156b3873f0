"""What texts in the thesis' notation come to: private expressions to be asked, and numbers made of their answers.

>>> from jostle.choice.notation import expression
>>> asking = evaluate(expression("2 * {{select sum(values) from db}} + 1"), {})
>>> next(asking)
<private db.values.sum()>
>>> asking.send(10)
Traceback (most recent call last):
StopIteration: 21

Privacy: the only way to data is to yield a private expression, for whoever pays to measure. What a text does with answers,
also as limits of later expressions, is post-processing.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Generator, Mapping
from typing import Any, Final

from jostle.choice.expressions import Database, sql, sqrt
from jostle.choice.expressions.private import Private, PrivateNumber
from jostle.choice.expressions.public import PublicNumber
from jostle.choice.notation import Attribute, Call, Node, Number, PrivateAnswer, Variable, expression, wrong
from jostle.kernel.errors import BadInput

Asking = Generator[PrivateNumber, Any, Any]
"""Yields private expressions, is sent their answers, and returns a value."""

_SIGNS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "^": operator.pow,
}


def _root(value: Any) -> Any:
    return math.sqrt(value) if isinstance(value, (int, float)) else sqrt(value)


def _logarithm(value: Any) -> float:
    if isinstance(value, Private):
        raise BadInput(f"`log({value.text})`", "has no bound", "measure it first: {{ … }}")
    return math.log(value)


FUNCTIONS: Final[Mapping[str, tuple[int, Callable[..., Any]]]] = {
    "sqrt": (1, _root),
    "log": (1, _logarithm),
    "abs": (1, abs),
    "max": (2, max),
    "min": (2, min),
}
"""What a text may call, with the number of arguments."""


def evaluate(node: Node, names: Mapping[str, Any]) -> Asking:
    """The value of a tree, given the values of names; private answers are asked for one after the other."""
    if isinstance(node, Number):
        return node.value
    if isinstance(node, PrivateAnswer):
        return (yield from _asked(node, names))
    if isinstance(node, Variable):
        if node.name not in names:
            raise wrong(node.at, f"{node.name} is not defined", f"use one of {', '.join(sorted(names)) or 'none'}")
        return names[node.name]
    if isinstance(node, Attribute):
        if node.of not in names:
            raise wrong(node.at, f"{node.of} is not defined", f"use one of {', '.join(sorted(names)) or 'none'}")
        return _attribute(node, names[node.of])
    if isinstance(node, Call):
        return (yield from _called(node, names))
    left = yield from evaluate(node.left, names)
    right = yield from evaluate(node.right, names)
    try:
        return _SIGNS[node.sign](left, right)
    except TypeError:
        raise wrong(node.at, f"{node.sign!r} does not go with these values", "use numbers on both sides") from None


def _attribute(node: Attribute, owner: Any) -> Any:
    try:
        if isinstance(owner, Database) or hasattr(owner, "looked_at"):  # a database, or the features of `predict`
            return getattr(owner, node.name)
    except (AttributeError, BadInput) as error:
        raise wrong(node.at, f"{node.of} has no {node.name}: {error}", "use another name") from None
    raise wrong(node.at, f"{node.of} is a value without properties", "use db.x_range, db.y_range or db.size")


def _called(node: Call, names: Mapping[str, Any]) -> Asking:
    if node.name not in FUNCTIONS:
        raise wrong(node.at, f"{node.name} is no function here", f"use one of {', '.join(FUNCTIONS)}")
    arity, function = FUNCTIONS[node.name]
    if len(node.arguments) != arity:
        raise wrong(node.at, f"{node.name} takes {arity}, not {len(node.arguments)}", "leave out or add arguments")
    values = [(yield from evaluate(node.arguments[0], names))]
    if arity == 2:
        values.append((yield from evaluate(node.arguments[1], names)))
    try:
        return function(*values)
    except TypeError:
        raise wrong(node.at, f"{node.name} does not go with these values", "use numbers") from None


def _asked(node: PrivateAnswer, names: Mapping[str, Any]) -> Asking:
    """Ask for the answers within, which become public limits of this one, and then for this one."""
    limits = dict[str, Any]()
    for number, inner in enumerate(node.within, start=1):
        limits[f"answer_{number}"] = yield from _asked(inner, names)
    public = {name: value for name, value in names.items() if isinstance(value, (int, float, PublicNumber))}
    try:
        private = sql(node.text, **(public | limits))
    except BadInput as refused:
        raise wrong(node.at, f"{refused.argument} {refused.problem}", refused.remedy) from None
    if not isinstance(private, PrivateNumber):
        raise wrong(node.at, "gives many numbers", "reduce them, for instance with stddev(…)")
    return (yield private)


def answers_of(text: str, parameters: Mapping[str, Any]) -> Callable[[Database], Any]:
    """What a text with private answers defines for a database.

    One answer that is only added to, or multiplied by, public numbers stays one private expression, with the sensitivity of
    the whole. Everything else becomes stages.
    """
    node = expression(text)
    return lambda db: as_simple_as_possible(lambda: evaluate(node, {"db": db, **parameters}))


def as_simple_as_possible(start: Callable[[], Asking]) -> Any:
    """One private expression, if what follows the only answer can be written as such; else the stages."""
    stages = start()
    try:
        whole = stages.send(next(stages))
    except StopIteration as done:
        if isinstance(done.value, PrivateNumber):
            return done.value
    except (BadInput, ArithmeticError, TypeError, ValueError):
        pass
    else:
        del whole  # a second answer is asked for
    return start()
