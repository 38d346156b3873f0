"""The registry: what an algorithm must say about itself before it may touch data."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Final

import numpy as np

from jostle._registrars import registrars
from jostle.algorithms._parameter_rules import ParameterRule, check_values
from jostle.algorithms._registration import Registered, named
from jostle.kernel.budget import Budget
from jostle.kernel.errors import BadInput, PlanError
from jostle.kernel.partition import Vector
from jostle.kernel.source import Source
from jostle.linear import loading  # noqa: F401  # whoever runs an algorithm has its loops loaded quickly
from jostle.workloads import Workload

Plan = Callable[..., Vector]
Finish = Callable[[Vector, float, Workload], Vector]
"""From noisy cells, with or without a leading axis of trials, the scale of their noise and the workload to an estimate."""
Settled = Callable[..., "str | None"]

TASKS: Final = MappingProxyType({"range-1d": 1, "range-2d": 2})
"""What can be asked for, and over how many dimensions."""

_registry: dict[str, Algorithm] = {}


@dataclass(frozen=True, kw_only=True)
class Algorithm(Registered):
    """A plan and what is publicly known about it."""

    inputs: ClassVar[str] = "a source, a workload and a budget"

    plan: Plan
    """From a source, a workload and a budget to an estimate of the data vector."""

    tasks: tuple[str, ...]
    """What it can be used for."""

    data_dependent: bool
    """Whether its error depends on more of the data than the domain."""

    batched: bool = False
    """Whether the plan runs many simulated trials at once, along a leading axis."""

    choosing: bool = False
    """Whether it picks another algorithm and runs that one. It is then no option to be picked itself."""

    takes: Mapping[str, ParameterRule] = field(default_factory=dict)
    """Rules for the values of its own arguments."""

    finish: Finish | None = None
    """What the plan makes of noisy cells, if it measures every cell once and does nothing else with the data."""

    settled: Settled | None = None
    """The algorithm that a choosing plan runs with the whole budget on any data of this workload; None if it depends."""

    def check(self, workload: Workload, tunables: dict[str, Any]) -> None:
        """Raise, before anything is charged, if it cannot be run like this."""
        dimensions = len(workload.domain)
        if dimensions not in {TASKS[task] for task in self.tasks}:
            fit = [other.name for other in _registry.values() if dimensions in {TASKS[task] for task in other.tasks}]
            raise BadInput(
                "algorithm", f"{self.name} is not for {dimensions} dimensions", f"use one of {', '.join(sorted(fit))}"
            )
        if tunables:
            self.check_tunables(tunables)
            check_values(self.takes, self.tunables, tunables)

    def run(self, source: Source, workload: Workload, budget: Budget, **tunables: Any) -> Vector:
        """The estimate of the data vector, flat; in a batched simulation with an axis of trials before it."""
        self.check(workload, tunables)
        workload.check(source.shape)
        estimate = np.asarray(self.plan(source, workload, budget, **tunables), dtype=np.float64)
        if source.trials is not None and estimate.shape[:-1] != (source.trials,):
            raise PlanError(
                f"{self.name} promises batched=True but lost the axis of trials: of {source.trials} trials over "
                f"{source.size} cells, it returned shape {estimate.shape}. Compute along the last axis, or set batched=False"
            )
        if estimate.shape[-1:] != (source.size,) or not np.isfinite(estimate).all():
            raise PlanError(
                f"the plan of {self.name} must return {source.size} finite numbers; what it returned is not released"
            )
        return estimate


def algorithm(
    *,
    name: str,
    tasks: tuple[str, ...],
    cite: str,
    data_dependent: bool,
    batched: bool = False,
    version: int = 1,
    choosing: bool = False,
    takes: Mapping[str, ParameterRule] | None = None,
    finish: Finish | None = None,
    settled: Settled | None = None,
) -> Callable[[Plan], Algorithm]:
    """Register a plan. Refused without a citation, a known task or a paragraph that begins with "Privacy:".

    >>> @algorithm(name="Nothing", tasks=("range-1d",), cite="dwork2006calibrating", data_dependent=False)
    ... def nothing(x, workload, budget):
    ...     "Zeros."
    Traceback (most recent call last):
    jostle.kernel.errors.PlanError: Nothing: its docstring needs a paragraph that begins with "Privacy:" and says why it is
    private
    """

    def register(plan: Plan) -> Algorithm:
        found = Algorithm(
            name=name,
            tasks=tuple(tasks),
            cite=cite,
            data_dependent=data_dependent,
            batched=batched,
            version=version,
            plan=plan,
            choosing=choosing,
            takes=dict(takes or {}),
            finish=finish,
            settled=settled,
        )
        adopt([found])
        return found

    return register


def own() -> tuple[Algorithm, ...]:
    """What others than jostle itself have registered: another process does not know it."""
    return tuple(found for found in _registry.values() if not found.plan.__module__.startswith("jostle."))


def adopt(others: Iterable[Algorithm]) -> None:
    """Register algorithms, such as those of another process."""
    for found in others:
        found.check_claims(_registry.get(found.name))
        if not found.tasks or any(task not in TASKS for task in found.tasks):
            raise PlanError(f"{found.name}: tasks must be some of {', '.join(TASKS)}")
        _registry[found.name] = found


@cache
def _load() -> None:
    """Import every file of this folder, each of which registers what it defines, and run what the package's root added."""
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        import_module(f"{__package__}.{module.name}")
    for register in registrars:
        register()


def every() -> dict[str, Algorithm]:
    """All algorithms by name, the caller's own included."""
    _load()
    return dict(sorted(_registry.items()))


def names(task: str | None = None) -> list[str]:
    """The names of all algorithms, or of those for a task: "range-1d" or "range-2d"."""
    if task is not None and task not in TASKS:
        raise BadInput("task", f"{task!r} is unknown", f"use one of {', '.join(TASKS)}")
    return [name for name, found in every().items() if task is None or task in found.tasks]


def get(name: str | Algorithm) -> Algorithm:
    """The algorithm of that name."""
    return name if isinstance(name, Algorithm) else named(every(), name, "algorithm")
