"""The registry: what a private learner must say about itself before it may touch data."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from jostle.algorithms.references import REFERENCES, Reference
from jostle.kernel.budget import Budget
from jostle.kernel.errors import BadInput, PlanError
from jostle.kernel.records import Records
from jostle.learn.task import Task

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
class Learner:
    """A plan and what is publicly known about it."""

    name: str
    """How people call it."""

    cite: str
    """The key of its paper in `algorithms/references.py`."""

    plan: Plan
    """From records, a task and a budget to a model."""

    tunables: MappingProxyType[str, object]
    """Its own arguments with their defaults."""

    version: int
    """Raised when its results change: stored errors of older versions are then measured again."""

    built_on: tuple[str, ...] = ()
    """The learners that it runs: if one of them changes, so does it."""

    file: Callable[[], str] | None = None
    """Reads what comes with the package and its results follow from, if anything."""

    @property
    def stamp(self) -> tuple[object, ...]:
        """What its results follow from: stored ones with another stamp are measured again."""
        parts = [_registry[name].stamp for name in self.built_on]
        return (self.version, sorted(self.tunables.items()), *parts, self.file() if self.file else "")

    @property
    def reference(self) -> Reference:
        """Where it comes from."""
        return REFERENCES[self.cite]

    def check(self, tunables: Mapping[str, Any]) -> None:
        """Raise, before anything is charged, if it has no such tunables."""
        for name in tunables:
            if name not in self.tunables:
                known = ", ".join(self.tunables) or "none"
                raise BadInput(name, f"is no tunable of {self.name}", f"look for a typing error; it has: {known}")

    def run(self, records: Records, task: Task, budget: Budget, **tunables: Any) -> Model:
        """The model."""
        self.check(tunables)
        task.check(records.sizes)
        return self.plan(records, task, budget, **tunables)


def learner(
    *, name: str, cite: str, version: int = 1, built_on: tuple[str, ...] = (), file: Callable[[], str] | None = None
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
            tunables=_tunables(name, plan),
            version=version,
            built_on=built_on,
            file=file,
        )
        _check_claims(found)
        _registry[name] = found
        return found

    return register


def registered() -> dict[str, Learner]:
    """What has been registered so far."""
    return dict(_registry)


def _tunables(name: str, plan: Plan) -> MappingProxyType[str, object]:
    parameters = list(inspect.signature(plan).parameters.values())
    extra = parameters[3:]
    if len(parameters) < 3 or any(p.kind is not p.KEYWORD_ONLY or p.default is p.empty for p in extra):
        raise PlanError(f"{name}: a plan takes records, a task and a budget, then tunables by keyword, each with a default")
    return MappingProxyType({p.name: p.default for p in extra})


def _check_claims(found: Learner) -> None:
    if not re.search(r"^\s*Privacy: \S", found.plan.__doc__ or "", re.MULTILINE):
        raise PlanError(
            f'{found.name}: its docstring needs a paragraph that begins with "Privacy:" and says why it is private'
        )
    if found.cite not in REFERENCES:
        raise PlanError(f"{found.name}: {found.cite!r} is no key of algorithms/references.py; add the paper there")
    known = _registry.get(found.name)
    if known is not None and known.plan.__module__ != found.plan.__module__:
        raise PlanError(f"{found.name}: the name is taken by {known.plan.__module__}")
