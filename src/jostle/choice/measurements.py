"""Measurements that inform a choice: each is made when it is first needed, and paid for with its share of the budget."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Protocol

from jostle.choice.regret_tree import Decision
from jostle.choice.traces import Seen, Trace
from jostle.kernel.budget import PURE, Budget


class ChoiceQuestion(Protocol):
    """A number about a database and a query: public, or measured by the kernel. `epsilon` is the choice's whole budget."""

    @property
    def name(self) -> str: ...

    def known(self, db: Any, query: Any, epsilon: Fraction) -> float | None:
        """Its value where that is public; None if it has to be paid for."""
        ...

    def check(self, db: Any, query: Any, epsilon: Fraction, share: Fraction) -> None:
        """Raise, before anything is charged, if it cannot be answered with that share."""
        ...

    def measure(self, db: Any, query: Any, epsilon: Fraction, token: Budget) -> float:
        """Its noisy value, paid for with the token."""
        ...

    def noise(self, db: Any, query: Any, epsilon: Fraction, share: Fraction) -> float:
        """The scale of the noise on it, if it is one number with additive noise; else 0."""
        ...


class LazyMeasurements:
    """Answers the questions of a choice by name: public ones for free, private ones with a share of the budget each, once.

    Privacy: `rho` of the budget is shared evenly among the private questions that may be asked, whatever the data. When a
    question is first asked, its share is split off the token; `rest` is what remains. So the shares that were spent and the
    rest add up to the budget on every path: adaptive sequential composition. All questions are checked before any charge.
    """

    def __init__(
        self,
        questions: Sequence[ChoiceQuestion],
        db: Any,
        query: Any,
        budget: Budget,
        rho: Fraction,
        facts: Mapping[str, float] | None = None,
    ) -> None:
        self.rest, self.amount, self.measure = budget, budget.amount, budget.measure
        self.rate = budget.amount if budget.measure == PURE else Fraction(budget.rate)
        """The ε that the questions see: under ρ, that of like noise."""
        self.seen = {name: Seen(name=name, value=value) for name, value in (facts or {}).items()}
        self._where = (db, query, self.rate)
        self._questions = {one.name: one for one in questions}
        self._known = {one.name: one.known(*self._where) for one in questions}
        share = rho / max(sum(value is None for value in self._known.values()), 1)
        self._share = budget.amount * share
        self._share_rate = self._share if budget.measure == PURE else Fraction(budget.price.times(share).rate)
        for one in questions:
            one.check(*self._where, self._share_rate)

    def __call__(self, name: str) -> float:
        if name not in self.seen:
            self.seen[name] = self._ask(name)
        return self.seen[name].value

    def _ask(self, name: str) -> Seen:
        known, question = self._known[name], self._questions[name]
        if known is not None:
            return Seen(name=name, value=known)
        token, self.rest = self.rest.split(self._share, self.rest.amount - self._share)
        value = question.measure(*self._where, token)
        return Seen(name=name, value=value, epsilon=token.amount, noise=question.noise(*self._where, self._share_rate))

    def trace(
        self, task: str, chooser: str, decision: Decision, *, projection: str = "", notes: Sequence[str] = ()
    ) -> Trace:
        """The trace of a choice that was made with these measurements."""
        return Trace(
            task=task,
            selector=chooser,
            choice=decision.choice,
            epsilon=self.amount,
            remainder=self.rest.amount,
            measure=self.measure,
            features=tuple(self.seen.values()),
            path=tuple(f"{step.feature} {step.found}" for step in decision.path),
            regrets=decision.regrets,
            projection=projection,
            notes=tuple(notes),
        )
