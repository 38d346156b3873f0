"""Private numbers, written as expressions over a data vector: their sensitivity is derived, never stated.

>>> spread = stddev(db.groupby(x=8, y=8).sum())
>>> sparsity = (db.values > 0).count() / db.size
>>> float(spread.sensitivity((64, 64))), sparsity.sensitivity((64, 64))
(0.124..., Fraction(1, 4096))

`db` stands for any data vector: cells with coordinates along named axes, and a count each. An expression is a plan for a
number: nothing is computed until it is derived for a domain, and nothing private is seen but what `measure` pays for.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Literal, final

from jostle.choice.expressions.cells import Cells, Filtered
from jostle.choice.expressions.private import Draft, Private, PrivateNumber, Scope, number, text_of, total
from jostle.choice.expressions.public import Coordinate, Domain, PublicNumber, check_axis, public, root
from jostle.kernel.errors import BadInput
from jostle.kernel.functions import expressions as rules


@final
class Database:
    """What expressions start from: cells with coordinates and counts.

    >>> db.x_range, db.values
    (PublicNumber(text='db.x_range', ...), <private db.values>)
    """

    def __init__(self, domain: Domain | None = None) -> None:
        self.domain = domain
        self.values = Cells("db.values", _leaf)
        self.where, self.groupby = self.values.where, self.values.groupby

    @property
    def size(self) -> Any:
        """The number of cells: a number if the domain is known, else what stands for it."""
        return self._known("db.size", lambda domain: domain.size)

    def _known(self, text: str, look_up: Callable[[Domain], int]) -> int | PublicNumber:
        if self.domain is not None:
            return look_up(self.domain)
        return PublicNumber(text, lambda domain: Fraction(look_up(domain)))

    def __getattr__(self, name: str) -> Any:
        """`db.x` is the coordinate along axis x, `db.x_range` the axis's size."""
        if name.startswith("_"):
            raise AttributeError(name)
        if name.endswith("_range"):
            return self._known(f"db.{name}", lambda domain: domain.range_of(name.removesuffix("_range")))
        return Coordinate(check_axis(name, self.domain.sizes) if self.domain else name)


def stddev(of: Cells, *, ddof: Literal[0, 1] = 0) -> PrivateNumber:
    """The standard deviation of the entries.

    >>> stddev(db.values).value([1, 3]), stddev(db.values, ddof=1).value([1, 1])
    (1.0, 0.0)
    """
    cells, less = check_cells(of, "stddev"), _check_ddof(ddof)
    return number(f"stddev({cells.text})", lambda v: rules.length(v, centred=True, divisor=v.entries - less), cells)


def _check_ddof(ddof: object) -> int:
    try:
        less = operator.index(ddof)  # type: ignore[arg-type]
    except TypeError:
        less = -1
    if less not in (0, 1):
        raise BadInput("ddof", "must be 0 or 1", "leave it out, or pass ddof=1")
    return less


def mean(of: Cells) -> PrivateNumber:
    """The mean of the entries: their sum over their number, which is public.

    >>> mean(db.values).value([1, 2])
    1.5
    """
    cells = check_cells(of, "mean")
    return number(f"mean({cells.text})", lambda v: rules.weighted(total(v), [1], v.entries), cells)


def norm(of: Cells, order: float = 2) -> PrivateNumber:
    """The sum of absolute values (1), the root of the sum of squares (2), or the largest absolute value (infinity).

    >>> norm(db.values).value([3, 4]), norm(db.values, 1).value([3, 4]), norm(db.values, math.inf).value([3, 4])
    (5.0, 7.0, 4.0)
    """
    cells = check_cells(of, "norm")
    if order not in _NORMS:
        raise BadInput("order", f"must be 1, 2 or infinity, got {order!r}", "use math.inf for the largest")
    return number(f"norm({cells.text}, {order})", _NORMS[order], cells if order == 2 else abs(cells))


_NORMS: dict[float, Callable[[rules.Term], rules.Term]] = {1: total, 2: rules.length, math.inf: rules.largest}
"""What is taken of the entries themselves (2), or of their absolute values."""


def largest(of: Private, other: object = None) -> Any:  # a number, or cells if two vectors are compared
    """The largest entry; of two arguments the larger one.

    >>> largest(db.values).value([3, 4]), largest(db.values.sum(), 10).value([3, 4])
    (4.0, 10.0)
    """
    if other is None:
        cells = check_cells(of, "largest")
        return number(f"largest({cells.text})", rules.largest, cells)
    return check_private(of)._joined(other, rules.larger, f"largest({of.text}, {text_of(other)})")


def smallest(of: Private, other: object = None) -> Any:
    """The smallest entry; of two arguments the smaller one.

    >>> smallest(db.values).value([3, 4]), smallest(db.values.sum(), 5).value([3, 4])
    (3.0, 5.0)
    """
    if other is None:
        return -largest(-check_cells(of, "smallest"))
    negative = -other if isinstance(other, Private) else -1 * public(other)
    return -largest(-check_private(of), negative)


def total_variation(of: Cells) -> PrivateNumber:
    """Half the L1 distance from the vector whose entries all are the mean.

    >>> total_variation(db.values).value([3, 0, 3])
    2.0
    """
    cells = check_cells(of, "total_variation")
    return number(f"total_variation({cells.text})", rules.variation, cells)


def median_deviation(of: Cells) -> PrivateNumber:
    """The sum of the entries' distances from their median.

    >>> median_deviation(db.values).value([3, 0, 5])
    5.0
    """
    cells = check_cells(of, "median_deviation")
    return number(f"median_deviation({cells.text})", rules.deviation, cells)


def sqrt(number: PublicNumber | float) -> PublicNumber:
    """The square root of a public number; that of a private one is refused, as it moves without bound near 0.

    >>> stddev(db.groupby(x=sqrt(db.x_range)).sum()).on(64).term.entries
    1
    """
    if isinstance(number, Private):
        raise BadInput(f"`sqrt({number.text})`", "moves too far near 0 for a bound", "measure it, then take the root")
    return root(number)


def sql(text: str, **parameters: PublicNumber | float) -> Any:
    """The private expression that a SQL text stands for: a number, or cells. Named parameters are public numbers.

    The table `db` has a row for every cell: its coordinates, such as x and y, and its count, `values`. The thesis marks
    private answers by `{{ … }}`; here, these are parentheses.

    >>> sql("stddev(select sum(values) from db group by x/xgrp, y/ygrp)", xgrp=8, ygrp=8).noise_scale((64, 64), 1)
    0.124...
    >>> sql("(select count(values) from db where values > 0) / domain_size").value([3, 0, 4, 0])
    0.5
    >>> sql("{{select count(values) from db where values > 0}} / domain_size").value([3, 0, 4, 0])
    0.5
    """
    from jostle.choice.expressions.sql_reader import read

    if isinstance(text, str):
        if text.count("{{") != text.count("}}"):
            raise BadInput("sql", "opens and closes {{ … }} a different number of times", "close each once")
        text = text.replace("{{", "(").replace("}}", ")")

    named = {name.lower(): public(value, name) for name, value in parameters.items()}
    if len(named) < len(parameters):
        raise BadInput("parameters", "have names that differ only by capitals, which SQL does not see", "rename one")
    return read(text, named)


def _leaf(scope: Scope) -> Draft:
    return rules.cells(scope.domain.size), scope.domain.places


def check_private(value: object) -> Private:
    """The expression, if it is private."""
    if not isinstance(value, Private):
        raise BadInput("expression", f"must be private, got {type(value).__name__}", "start from db.values")
    return value


def check_cells(value: object, function: str) -> Cells:
    """The cells; a number, or cells whose number is private, are no argument of the function."""
    if isinstance(value, Filtered):
        raise BadInput(
            f"`{function}({value.text})`",
            "depends on how many cells satisfy a condition, which is private",
            "measure sum and count",
        )
    if not isinstance(value, Cells):
        raise BadInput(f"`{function}({text_of(value)})`", "is of cells, not of one number", "pass for instance db.values")
    return value


db = Database()
"""Stands for any data vector."""
