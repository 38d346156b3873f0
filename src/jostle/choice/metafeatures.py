"""Metafeatures: private numbers about a database that inform a choice, each with its price.

A metafeature is a tuple of private expressions and a free function of their noisy values. It is written as a function of the
database, or as SQL text:

>>> @metafeature
... def sparsity(db):
...     return (db.values > 0).count() / db.size
>>> uniformity = metafeature("stddev(select sum(values) from db group by x/xgrp, y/ygrp)", xgrp=8, ygrp=8)
>>> sparsity.sensitivity((64, 64)), sparsity.value([[3, 0], [0, 0]])
((Fraction(1, 4096),), 0.25)

Privacy: each expression is one measurement of the kernel at an equal share of the budget (sequential composition); the
function sees what was measured and public facts, so it is post-processing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final, overload

import numpy as np

from jostle.choice.expressions import Database, sql
from jostle.choice.expressions.private import PrivateNumber, Shape
from jostle.choice.expressions.public import Domain, PublicNumber
from jostle.kernel.arrays import counts
from jostle.kernel.budget import Budget, exact
from jostle.kernel.errors import BadInput
from jostle.kernel.functions.statistics import Derived
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.noise import calibrate
from jostle.kernel.source import Source

MOST_EXPRESSIONS = 16
"""The most expressions that may share the budget of one metafeature."""


@final
@dataclass(frozen=True)
class MeasuredExpressions:
    """Private expressions, and what to make of them once they were measured.

    >>> from jostle.choice.expressions import db, largest
    >>> MeasuredExpressions((largest(db.values), db.values.sum()), lambda most, all_: most / all_).then(1.0, 4.0)
    0.25
    """

    expressions: tuple[PrivateNumber, ...]
    """Each is measured on its own."""

    then: Callable[..., Any]
    """A function of the measured numbers, in order: it sees nothing else that is private, so it is free."""

    def __post_init__(self) -> None:
        if not 1 <= len(self.expressions) <= MOST_EXPRESSIONS:
            raise BadInput("expressions", f"must be 1 to {MOST_EXPRESSIONS}", "split the metafeature")
        for expression in self.expressions:
            if not isinstance(expression, PrivateNumber):
                kind = type(expression).__name__
                raise BadInput("expressions", f"must be private numbers, got {kind}", "reduce cells with sum(), stddev, …")


def measured(*expressions: PrivateNumber, then: Callable[..., Any]) -> MeasuredExpressions:
    """Measure all expressions, then apply a free function to them: for ratios and whatever else has no bound of its own.

    >>> @metafeature
    ... def concentration(db):
    ...     return measured(largest(db.values), db.values.sum(), then=lambda most, all_: most / max(all_, 1))
    >>> from jostle.choice.expressions import largest
    >>> concentration.value([3, 1])
    0.75
    """
    return MeasuredExpressions(expressions, then)


@final
class Metafeature:
    """A named number about a database; make one with `metafeature`."""

    def __init__(
        self, name: str, define: Callable[[Database], Any], axes: tuple[str, ...] | None = None, text: str = ""
    ) -> None:
        self.name, self.axes, self.__doc__ = name, axes, text
        self._define = define
        self._last: tuple[Domain, tuple[tuple[Derived, ...], Callable[..., Any]]] | None = None

    def _on(self, shape: Shape) -> tuple[tuple[Derived, ...], Callable[..., Any]]:
        """The statistics over a domain, and what to make of them; derived once for calls over the same domain."""
        domain = Domain.of(shape, self.axes)
        last = self._last  # looked at once: another thread may ask about another domain meanwhile
        if last is not None and list(last[0].sizes.items()) == list(domain.sizes.items()):
            return last[1]
        plan = self._define(Database(domain))
        plan = plan if isinstance(plan, MeasuredExpressions) else MeasuredExpressions((plan,), _as_it_is)
        found = tuple(e.on(domain) for e in plan.expressions), plan.then
        self._last = domain, found  # only the last domain is kept
        return found

    def measure(self, source: Source, budget: Budget) -> Any:
        """The noisy number, one per trial in a simulation of several. Everything is checked before the first charge.

        >>> from jostle.choice.expressions import largest
        >>> from jostle.kernel.source import SimulatedSource
        >>> source = SimulatedSource([3, 0, 4], seed=1)
        >>> metafeature(lambda db: largest(db.values)).measure(source, source.grant(1))
        5.0
        """
        statistics, then = self._on(source.shape)
        if type(budget) is not Budget:
            raise BadInput(
                "budget", "must be a token that was granted for the source", "pass source.grant(0.1) or a part of it"
            )
        for statistic in statistics:
            calibrate(_moves(statistic, source.size, source.neighbours), budget.pure / len(statistics))
        shares = budget.split_evenly(len(statistics)) if len(statistics) > 1 else (budget,)
        values = [source.statistic(statistic, share) for statistic, share in zip(statistics, shares, strict=True)]
        return then(*(float(value) if np.ndim(value) == 0 else value for value in values))

    def value(self, x: object) -> Any:
        """The number on public data, without noise."""
        vector, shape = counts(x)
        statistics, then = self._on(shape)
        return then(*(statistic.value(vector) / statistic.unit(vector.size) for statistic in statistics))

    def sensitivity(self, shape: Shape, neighbours: Neighbours | str = "add_remove") -> tuple[Fraction, ...]:
        """How far neighbours move each expression at most, as derived."""
        domain, relation = Domain.of(shape, self.axes), Neighbours.of(neighbours)
        return tuple(_moves(s, domain.size, relation) / s.unit(domain.size) for s in self._on(domain)[0])

    def noise_scale(self, shape: Shape, epsilon: object, neighbours: Neighbours | str = "add_remove") -> tuple[float, ...]:
        """The scale of the noise on each expression if the metafeature is measured with this ε: public numbers.

        >>> metafeature("select count(values) from db where values > 0").noise_scale(64, 0.5)
        (2.0,)
        """
        domain, relation = Domain.of(shape, self.axes), Neighbours.of(neighbours)
        statistics = self._on(domain)[0]
        share = exact(epsilon) / len(statistics)
        return tuple(float(calibrate(_moves(s, domain.size, relation), share) / s.unit(domain.size)) for s in statistics)

    def __repr__(self) -> str:
        return f"<metafeature {self.name}>"


@overload
def metafeature(definition: Callable[..., Any], *, axes: tuple[str, ...] | None = None) -> Metafeature: ...
@overload
def metafeature(
    definition: str, *, name: str = "", axes: tuple[str, ...] | None = None, **parameters: PublicNumber | float
) -> Metafeature: ...
def metafeature(definition: Any, *, name: str = "", axes: tuple[str, ...] | None = None, **parameters: Any) -> Metafeature:
    """A metafeature from a function of the database, as a decorator, or from SQL text with its public parameters.

    The function is given a `Database` of known domain, on which `db.size` and `db.x_range` are numbers, and returns a
    private number, or `measured(…, then=…)`. `axes` are the names of the domain's dimensions, unless they are x, y and z.

    >>> metafeature("select max(values) from db", name="peak")
    <metafeature peak>
    """
    if isinstance(definition, str):
        expression = sql(definition, **parameters)
        if not isinstance(expression, PrivateNumber):
            raise BadInput("definition", "gives many numbers", "reduce them, for instance with stddev(…)")
        return Metafeature(name or definition, lambda _: expression, axes, definition)
    if not callable(definition) or parameters:
        raise BadInput("definition", "must be a function of the database, or SQL text", "decorate `def sparsity(db): …`")
    named = name or getattr(definition, "__name__", "metafeature")
    return Metafeature(named, definition, axes, getattr(definition, "__doc__", None) or "")


def _as_it_is(value: Any) -> Any:
    return value


def _moves(statistic: Derived, size: int, neighbours: Neighbours) -> Fraction:
    return neighbours.sensitivity(*statistic.sensitivities(size))
