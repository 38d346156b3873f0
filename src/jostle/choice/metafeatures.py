"""Metafeatures: private numbers about a database that inform a choice, each with its price.

A metafeature is a tuple of private expressions and a free function of their noisy values. It is written as a function of the
database, or as text, in which `{{ … }}` stands for a private answer:

>>> @metafeature
... def sparsity(db):
...     return (db.values > 0).count() / db.size
>>> uniformity = metafeature("stddev(select sum(values) from db group by x/xgrp, y/ygrp)", xgrp=8, ygrp=8)
>>> sparsity.sensitivity((64, 64)), sparsity.value([[3, 0], [0, 0]])
((Fraction(1, 4096),), 0.25)

A metafeature in stages is a generator: it yields an expression, is sent the noisy answer, and may use it in the next one.

>>> from jostle.choice.expressions import mean, stddev
>>> @metafeature
... def high_cells(db):
...     middle, spread = (yield mean(db.values)), (yield stddev(db.values))
...     return (yield (db.values > middle + spread).count())
>>> high_cells.value([1, 1, 1, 9]), len(high_cells.sensitivity(4))
(1.0, 3)

Privacy: each expression is one measurement of the kernel at an equal share of the budget (sequential composition, which may
be adaptive); what follows sees only what was measured and public facts, so it is post-processing. The kernel derives the
sensitivity of the expression that it is given, so a later stage is calibrated by the limits that it really has.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple, final, overload

import numpy as np

from jostle.choice.expressions import Database, sql
from jostle.choice.expressions.private import PrivateNumber, Shape
from jostle.choice.expressions.public import Domain, PublicNumber
from jostle.kernel.arguments import counts
from jostle.kernel.budget import Budget, exact
from jostle.kernel.errors import BadInput, PlanError
from jostle.kernel.functions.statistics import Derived
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.noise import calibrate
from jostle.kernel.source import Source

MOST_EXPRESSIONS = 16
"""The most expressions that may share the budget of one metafeature."""

PROBES = (1.0, 0.0, -1.0, 1e6)
"""Answers that every stage is tried with, before anything is charged."""

Stages = Generator[PrivateNumber, Any, Any]
"""A metafeature in several stages: yields expressions, is sent their answers, and returns the number."""


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


class _Plan(NamedTuple):
    """A metafeature over one domain."""

    statistics: tuple[Derived, ...]
    """In the order in which they are measured; of stages, as they are for the answers of a probe."""

    then: Callable[..., Any] | None
    """What to make of the answers; None in stages, which have to be followed anew."""


@final
class Metafeature:
    """A named number about a database; make one with `metafeature`."""

    def __init__(
        self, name: str, define: Callable[[Database], Any], axes: tuple[str, ...] | None = None, text: str = ""
    ) -> None:
        self.name, self.axes, self.__doc__ = name, axes, text
        self._define = define
        self._last: tuple[Domain, _Plan] | None = None

    def _on(self, shape: Shape) -> _Plan:
        """The statistics over a domain, and what to make of them; derived once for calls over the same domain."""
        domain = Domain.of(shape, self.axes)
        last = self._last  # looked at once: another thread may ask about another domain meanwhile
        if last is not None and list(last[0].sizes.items()) == list(domain.sizes.items()):
            return last[1]
        plan = self._define(Database(domain))
        if isinstance(plan, Generator):
            found = _Plan(self._stages(domain), None)
        else:
            plan = plan if isinstance(plan, MeasuredExpressions) else MeasuredExpressions((plan,), _as_it_is)
            found = _Plan(tuple(e.on(domain) for e in plan.expressions), plan.then)
        self._last = domain, found  # only the last domain is kept
        return found

    def _stages(self, domain: Domain) -> tuple[Derived, ...]:
        """The statistics of all stages for the answers of the first probe.

        No other probe may change how many there are, or let a record move them further. So a refusal comes before the first
        charge.
        """
        tried = []
        for probe in PROBES:
            asked: list[Derived] = []

            def answer(expression: PrivateNumber, asked: list[Derived] = asked, probe: float = probe) -> float:
                asked.append(expression.on(domain))
                return probe

            with suppress(ArithmeticError):  # 1 / 0 is no reason to refuse: noise leads there with probability 0
                follow(self._define(Database(domain)), answer)
                tried.append(tuple(asked))
        size = domain.size
        moves = [[Fraction(m) / s.unit(size) for s in asked for m in s.sensitivities(size)] for asked in tried]
        steady = bool(moves) and bool(moves[0]) and all(len(found) == len(moves[0]) for found in moves)
        if not steady or any(one > first for found in moves for one, first in zip(found, moves[0], strict=True)):
            problem = f"{self.name}: the answer to one stage changes how many stages follow, or the noise that they need"
            raise BadInput("metafeature", problem, "use answers only as limits, as in (db.values > answer).count()")
        return tried[0]

    def is_plain(self, shape: Shape) -> bool:
        """Whether the number is one measured expression, as it is."""
        return self._on(shape).then is _as_it_is

    def measure(self, source: Source, budget: Budget) -> Any:
        """The noisy number, one per trial in a simulation of several. Everything is checked before the first charge.

        >>> from jostle.choice.expressions import largest
        >>> from jostle.kernel.source import SimulatedSource
        >>> source = SimulatedSource([3, 0, 4], seed=1)
        >>> metafeature(lambda db: largest(db.values)).measure(source, source.grant(1))
        5.0
        """
        statistics, then = self._on(source.shape)
        if then is None and getattr(source, "trials", None) is not None:
            raise BadInput("source", "runs several trials at once", "run one at a time: later stages differ")
        if type(budget) is not Budget:
            raise BadInput(
                "budget", "must be a token that was granted for the source", "pass source.grant(0.1) or a part of it"
            )
        for statistic in statistics:
            calibrate(_moves(statistic, source.size, source.neighbours), budget.pure / len(statistics))
        shares = budget.split_evenly(len(statistics)) if len(statistics) > 1 else (budget,)
        if then is not None:
            values = [source.statistic(statistic, share) for statistic, share in zip(statistics, shares, strict=True)]
            return then(*(float(value) if np.ndim(value) == 0 else value for value in values))
        domain, tokens = Domain.of(source.shape, self.axes), iter(shares)

        def answer(expression: PrivateNumber) -> float:
            token = next(tokens, None)
            if token is None:
                raise PlanError(f"the metafeature {self.name} has more stages than it declared")
            return float(source.statistic(expression.on(domain), token))

        return follow(self._define(Database(domain)), answer)

    def value(self, x: object) -> Any:
        """The number on public data, without noise."""
        vector, shape = counts(x)
        statistics, then = self._on(shape)
        if then is not None:
            return then(*(statistic.value(vector) / statistic.unit(vector.size) for statistic in statistics))
        domain = Domain.of(shape, self.axes)

        def answer(expression: PrivateNumber) -> float:
            statistic = expression.on(domain)
            return statistic.value(vector) / statistic.unit(vector.size)

        return follow(self._define(Database(domain)), answer)

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
    >>> metafeature("{{select max(values) from db}} / {{select sum(values) from db}}").value([3, 1])
    0.75
    """
    if isinstance(definition, str) and "{{" in definition:
        from jostle.choice.interpreter import answers_of

        return Metafeature(name or definition, answers_of(definition, parameters), axes, definition)
    if isinstance(definition, str):
        expression = sql(definition, **parameters)
        if not isinstance(expression, PrivateNumber):
            raise BadInput("definition", "gives many numbers", "reduce them, for instance with stddev(…)")
        return Metafeature(name or definition, lambda _: expression, axes, definition)
    if not callable(definition) or parameters:
        raise BadInput("definition", "must be a function of the database, or SQL text", "decorate `def sparsity(db): …`")
    named = name or getattr(definition, "__name__", "metafeature")
    return Metafeature(named, definition, axes, getattr(definition, "__doc__", None) or "")


def follow(stages: Stages, answer: Callable[[PrivateNumber], float]) -> Any:
    """What stages come to, with every expression answered in turn.

    Answers are handed on with six decimals, and no larger than 10¹²: any limit that is made of them can be written exactly.
    """
    value: float | None = None
    while True:
        try:
            expression = stages.send(value)
        except StopIteration as done:
            return done.value
        if not isinstance(expression, PrivateNumber):
            kind = type(expression).__name__
            raise BadInput("metafeature", f"must yield private numbers, got {kind}", "reduce cells with sum(), stddev, …")
        value = round(min(max(answer(expression), -1e12), 1e12), 6)


def _as_it_is(value: Any) -> Any:
    return value


def _moves(statistic: Derived, size: int, neighbours: Neighbours) -> Fraction:
    return neighbours.sensitivity(*statistic.sensitivities(size))
