"""The registry: what a private learner must say about itself before it may touch data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from jostle.algorithms._registration import Registered
from jostle.kernel.arguments import finite, whole
from jostle.kernel.budget import Budget
from jostle.kernel.errors import BadInput
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.records import ArrayColumns, Records, SimulatedRecords
from jostle.learn.task import Task

CHOSEN = "Chosen"
"""The learner behind `PrivateClassifier`."""

IntArray = NDArray[np.integer]
FloatArray = NDArray[np.float64]


class Model(Protocol):
    """What a learner releases: everything in it was paid for."""

    def scores(self, codes: Mapping[str, IntArray]) -> FloatArray:
        """The probabilities of the classes: one row per record, each adding up to 1."""
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
    """Reads the shipped file that its results depend on, if there is one."""

    follows: Callable[[Mapping[str, Any]], object] | None = None
    """From tunables to anything else that its results depend on, such as the version of an algorithm that they name."""

    before_release: Callable[[Mapping[str, Any]], None] | None = None
    """Raises if these tunables are only for simulations: called before a release has charged anything."""

    def stamp(self, tunables: Mapping[str, Any] = MappingProxyType({})) -> tuple[object, ...]:
        """All that its results with these tunables depend on. Stored results with another stamp are measured again."""
        parts = [_registry[name].stamp() for name in self.built_on]
        own = (self.version, sorted(self.tunables.items()), *parts, self.file() if self.file else "")
        return (*own, self.follows(self.tunables | tunables)) if self.follows else own

    def check(self, tunables: Mapping[str, Any]) -> None:
        """Raise, before anything is charged, if it has no such tunables."""
        self.check_tunables(tunables)

    def check_release(self, tunables: Mapping[str, Any]) -> None:
        """Raise, before anything is charged, if it allows these tunables only in simulations."""
        if self.before_release is not None:
            self.before_release(self.tunables | tunables)

    def run(self, records: Records, task: Task, budget: Budget, **tunables: Any) -> Model:
        """The model. NumPy's numbers among the tunables, as from `np.arange`, become Python's."""
        self.check(tunables)
        task.check(records.sizes)
        return self.plan(records, task, budget, **{name: _plain(value) for name, value in tunables.items()})

    def dry_run(
        self, task: Task, neighbours: Neighbours, epsilon: object, tunables: Mapping[str, Any], *, release: bool = True
    ) -> None:
        """Run on an empty table, to raise what a real run would raise about its arguments while nothing is charged.

        A learner may notice only midway that its arguments do not go together. Where its course depends on noise, a dry run
        sees one course of several. A dry run is a simulation, so `check_release` is called for what only a release refuses.

        Privacy: no record is looked at.
        """
        if release:
            self.check_release(tunables)
        nobody = {name: np.zeros(0, dtype=np.int64) for name in task.sizes}
        empty = ArrayColumns.having(task.label, nobody, task.sizes)  # as private records are made, of rows with a class
        records = SimulatedRecords(empty, seed=0, neighbours=neighbours)
        self.run(records, task, records.grant(epsilon), **tunables)


def _plain(value: Any) -> Any:
    """A NumPy number as Python's, which has no largest one; anything else unchanged.

    >>> [type(_plain(value)).__name__ for value in (np.int8(3), np.float32(0.5), np.bool_(True), None)]
    ['int', 'float', 'bool', 'NoneType']
    """
    number = finite(value) if isinstance(value, np.number) else None
    return value if number is None else number


def check_whole(argument: str, value: object, least: int, most: int | None = None, *, remedy: str = "leave it out") -> None:
    """Raise unless a tunable is a whole number within its bounds.

    >>> check_whole("trees", 0, 1, 1000, remedy="pass for instance 10")
    Traceback (most recent call last):
    jostle.kernel.errors.BadInput: trees: must be a whole number from 1 to 1000. Remedy: pass for instance 10.
    """
    number = whole(value)
    if number is None or number < least or (most is not None and number > most):
        bounds = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise BadInput(argument, f"must be a whole number {bounds}", remedy)


def check_number(argument: str, value: object, least: float, most: float, *, remedy: str = "leave it out") -> None:
    """Raise unless a tunable is a number within its bounds."""
    number = finite(value)
    if number is None or not least <= number <= most:
        raise BadInput(argument, f"must be a number from {least:.6g} to {most:,.10g}", remedy)


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
    """Register a plan. It needs a citation and a paragraph that begins with "Privacy:".

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
    """The learners that have been registered so far."""
    return dict(_registry)
