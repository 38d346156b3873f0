"""Pythia: measures what a selector asks for, picks an option and runs it with the rest of the budget."""

from __future__ import annotations

from pathlib import Path
from types import MappingProxyType
from typing import Final

import numpy as np

from jostle import algorithms
from jostle.algorithms._parameter_rules import SHARE, TRUTH
from jostle.algorithms.registry import TASKS, algorithm
from jostle.choice import default_algorithm, traces
from jostle.choice.features import FEATURES, Feature, exchange_rate
from jostle.choice.selectors import Decision, Selector, find
from jostle.choice.traces import Seen, Trace
from jostle.kernel.budget import Budget, exact
from jostle.kernel.partition import Vector
from jostle.kernel.source import Source
from jostle.linear.fitting.isotonic import isotonic
from jostle.linear.fitting.projections import project_to_scale
from jostle.workloads import Workload

SLACKS: Final = MappingProxyType({"identity": 1.0, "prefix": 3.0})
"""How many noise scales the true total may lie above the noisy one in the projection of these workloads.

For cells it is the paper's; a bound that is too low costs them little. For prefix sums it costs much: there the total lies
above the bound once in 40 times. Found on HEPTH, NETTRACE and INCOME over 1,024 cells, for Laplace, HB and OPT.
"""


def settled(
    workload: Workload, *, selector: Selector | str | Path | None = None, rho: float | None = None, project: bool = True
) -> str | None:
    """The option that a walk comes to by public features alone: it is run with the whole budget, whatever the data are.

    None where the walk asks for a private feature. The other arguments are those of `pythia`, and make no difference here.

    >>> from jostle import workloads
    >>> grid = workloads.random_rectangles((32, 32), 50, seed=0, lengths="medium")
    >>> settled(workloads.identity(100)), settled(workloads.prefix(1000)), settled(grid)
    ('Bayes', 'Adaptive', None)
    """
    found = find(selector, _task(workload))
    if found is None:
        return default_algorithm.usual(workload)[0]

    def public(feature: Feature) -> float:
        if feature.public is None:
            raise _Private
        return feature.public(workload)

    try:
        return found.walk(public).choice
    except _Private:
        return None


class _Private(Exception):
    """A walk asked for something that has to be paid for."""


@algorithm(
    name="Pythia",
    tasks=("range-1d", "range-2d"),
    cite="kotsogiannis2017pythia",
    data_dependent=True,
    choosing=True,
    takes={"rho": SHARE, "project": TRUTH},
    settled=settled,
)
def pythia(
    x: Source,
    workload: Workload,
    budget: Budget,
    *,
    selector: Selector | str | Path | None = None,
    rho: float | None = None,
    project: bool = True,
) -> Vector:
    """Walk a selector from its root, paying for a feature when it is asked, and run the option at the end (Algorithm 3).

    `selector` is one that was trained, a file, or the name of a shipped one; without it the one shipped for the task is
    used, and where there is none, a public rule. `rho` is the share of the budget that all private features together may
    use; without it, the share that the selector was trained for.

    Privacy: each private feature is one statistic of the kernel, with a fixed share of the budget: rho over the number of
    private features that the selector can ask. Which feature is asked next, which option is run and with how much depends on
    released values alone, and on every path the shares and the rest add up to the budget: adaptive sequential composition.
    The option is private under the same neighbours. The projection sees its estimate and the released features.
    """
    found = find(selector, _task(workload))
    if found is None:
        choice, _ = default_algorithm.usual(workload)
        _trace(workload, budget, budget, "the public rule", Decision(choice, {}, ()))
        return algorithms.get(choice).run(x, workload, budget)
    asked = _Asked(x, workload, budget, found, found.about.rho if rho is None else rho)
    decision = found.walk(asked)
    option = algorithms.get(decision.choice)
    projected = _bound(asked, workload) if project and not option.data_dependent else None
    _trace(workload, budget, asked.rest, f"a {found.kind}", decision, asked, projected)
    estimate = option.run(x, workload, asked.rest)
    return estimate if projected is None else _project(workload, estimate, projected)


class _Asked:
    """Answers a walk's questions: public ones for nothing, private ones each with its share of the budget, once."""

    def __init__(self, x: Source, workload: Workload, budget: Budget, selector: Selector, rho: float) -> None:
        self.seen: dict[str, Seen] = {}
        self.about, self.rest, self._x, self._workload = selector.about, budget, x, workload
        self.rate = exchange_rate(budget, x.neighbours)
        paid = [name for name in selector.private_features if FEATURES[name].known(x, workload, self.rate) is None]
        for name in paid:
            FEATURES[name].check(x.size, self.rate)
        self._share = budget.epsilon * exact(rho, "rho") / max(len(paid), 1)

    def __call__(self, feature: Feature) -> float:
        if feature.name not in self.seen:
            self.seen[feature.name] = self._ask(feature)
        return self.seen[feature.name].value

    def _ask(self, feature: Feature) -> Seen:
        known = feature.known(self._x, self._workload, self.rate)
        if known is not None:
            return Seen(name=feature.name, value=known)
        token, self.rest = self.rest.split(self._share, self.rest.epsilon - self._share)
        value = feature.measure(self._x, token, self.rate)
        noise = feature.noise_scale(self._x.size, float(token.epsilon), self.rate, self._x.neighbours)
        return Seen(name=feature.name, value=value, epsilon=token.epsilon, noise=noise)

    @property
    def notes(self) -> tuple[str, ...]:
        """What lies outside of training; the domain, which is public, also if it was not asked for."""
        values = {"domain": float(self._x.size)} | {seen.name: seen.value for seen in self.seen.values()}
        outside = [note for name, value in values.items() for note in self.about.notes(name, value)]
        return (*outside, *(f"{name} has changed since the selector was trained" for name in self.about.outdated))


def _task(workload: Workload) -> str:
    dimensions = len(workload.domain)
    return next(task for task, number in TASKS.items() if number == dimensions)


def _bound(asked: _Asked, workload: Workload) -> tuple[float, float] | None:
    """The noisy total in records and the slack for its noise, where it was measured and the workload is one to project."""
    scale = asked.seen.get("scale")
    if scale is None or workload.kind not in SLACKS:
        return None
    return max(scale.value, 0.0) / asked.rate, SLACKS[workload.kind] * scale.noise / asked.rate


def _project(workload: Workload, estimate: Vector, bound: tuple[float, float]) -> Vector:
    """Counts whose absolute values sum to no more than the bound, or prefix sums that rise from 0 to it (Section 7.1)."""
    total, slack = bound
    if workload.kind == "identity":
        return project_to_scale(estimate, total, slack)
    rising = isotonic(np.cumsum(estimate, axis=-1), lower=0.0, upper=total + slack)
    return np.diff(rising, axis=-1, prepend=0.0)


def _trace(
    workload: Workload,
    budget: Budget,
    rest: Budget,
    chooser: str,
    decision: Decision,
    asked: _Asked | None = None,
    projected: tuple[float, float] | None = None,
) -> None:
    if not traces.collecting():
        return
    bound = "" if projected is None else f"{workload.kind} within a total of {projected[0]:.6g} + {projected[1]:.3g}"
    traces.record(
        Trace(
            task=_task(workload),
            selector=chooser,
            choice=decision.choice,
            epsilon=budget.epsilon,
            remainder=rest.epsilon,
            features=() if asked is None else tuple(asked.seen.values()),
            path=tuple(f"{step.feature} {step.found}" for step in decision.path),
            regrets=decision.regrets,
            projection=bound,
            notes=() if asked is None else asked.notes,
        )
    )
