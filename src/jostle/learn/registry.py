"""The registry: what a private learner must say about itself before it may touch data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from jostle.algorithms._registration import Registered
from jostle.kernel.budget import Budget
from jostle.kernel.records import Records
from jostle.learn.task import Task
from jostle.schema.arguments import finite

CHOSEN = "Chosen"
"""The learner behind `PrivateClassifier`."""

IntArray = NDArray[np.integer]
FloatArray = NDArray[np.float64]


class Model(Protocol):
    """What a learner releases: everything in it was paid for."""

    def scores(self, codes: Mapping[str, IntArray]) -> FloatArray:
        """For each record the probabilities of the classes: one row a record, each adding up to 1."""
        ...

    def describe(self) -> str:
        """The model in words."""
        ...


Plan = Callable[..., Model]

_registry: dict[str, Learner] = {}


@dataclass(frozen=True, kw_only=True)
class Learner(Registered):
    """A plan and what is publicly known about it."""

    inputs: ClassVar[str] = "records, a task and a budget"

    plan: Plan
    """From records, a task and a budget to a model."""

    built_on: tuple[str, ...] = ()
    """The learners that it runs: if one of them changes, so does it."""

    file: Callable[[], str] | None = None
    """Reads what comes with the package and its results follow from, if anything."""

    follows: Callable[[Mapping[str, Any]], object] | None = None
    """From tunables to what else its results follow from, such as the version of an algorithm that they name."""

    before_release: Callable[[Mapping[str, Any]], None] | None = None
    """Raises if these tunables are for simulations alone: called before a release has charged anything."""

    def stamp(self, tunables: Mapping[str, Any] = MappingProxyType({})) -> tuple[object, ...]:
        """What its results with these tunables follow from: stored ones with another stamp are measured again."""
        parts = [_registry[name].stamp() for name in self.built_on]
        own = (self.version, sorted(self.tunables.items()), *parts, self.file() if self.file else "")
        return (*own, self.follows(self.tunables | tunables)) if self.follows else own

    def check(self, tunables: Mapping[str, Any]) -> None:
        """Raise, before anything is charged, if it has no such tunables."""
        self.check_tunables(tunables)

    def check_release(self, tunables: Mapping[str, Any]) -> None:
        """Raise, before anything is charged, if with these tunables it is for simulations alone."""
        if self.before_release is not None:
            self.before_release(self.tunables | tunables)

    def run(self, records: Records, task: Task, budget: Budget, **tunables: Any) -> Model:
        """The model. Numbers of NumPy's among the tunables, as from `np.arange`, are taken as Python's."""
        self.check(tunables)
        task.check(records.sizes)
        return self.plan(records, task, budget, **{name: _plain(value) for name, value in tunables.items()})


def _plain(value: Any) -> Any:
    """A number of NumPy's as Python's, which have no largest one; anything else as it is.

    >>> [type(_plain(value)).__name__ for value in (np.int8(3), np.float32(0.5), np.bool_(True), None)]
    ['int', 'float', 'bool', 'NoneType']
    """
    number = finite(value) if isinstance(value, np.number) else None
    return value if number is None else number


def learner(
    *,
    name: str,
    cite: str,
    version: int = 1,
    built_on: tuple[str, ...] = (),
    file: Callable[[], str] | None = None,
    follows: Callable[[Mapping[str, Any]], object] | None = None,
    before_release: Callable[[Mapping[str, Any]], None] | None = None,
) -> Callable[[Plan], Learner]:
    """Register a plan. Refused without a citation or a paragraph that begins with "Privacy:".

    >>> @learner(name="Nothing", cite="dwork2006calibrating")
    ... def nothing(records, task, budget):
    ...     "Guesses."
    Traceback (most recent call last):
    jostle.kernel.errors.PlanError: Nothing: its docstring needs a paragraph that begins with "Privacy:" and says why it is
    private
    """

    def register(plan: Plan) -> Learner:
        found = Learner(
            name=name,
            cite=cite,
            plan=plan,
            version=version,
            built_on=built_on,
            file=file,
            follows=follows,
            before_release=before_release,
        )
        found.check_claims(_registry.get(name))
        _registry[name] = found
        return found

    return register


def registered() -> dict[str, Learner]:
    """What has been registered so far."""
    return dict(_registry)
