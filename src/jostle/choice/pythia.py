"""Pythia: measures what a selector asks for, picks an option and runs it with the rest of the budget."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Final

import numpy as np

from jostle import algorithms
from jostle.algorithms._parameter_rules import SHARE, TRUTH
from jostle.algorithms.registry import TASKS, algorithm
from jostle.choice import default_algorithm, traces
from jostle.choice.features import FEATURES, exchange_rate
from jostle.choice.measurements import LazyMeasurements
from jostle.choice.regret_tree import Decision, Step
from jostle.choice.selectors import About, Selector, find
from jostle.kernel.budget import PURE, Budget, exact
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
    workload: Workload,
    *,
    measure: str = PURE,
    selector: Selector | str | Path | None = None,
    rho: float | None = None,
    project: bool = True,
    measure_all: bool = False,
) -> str | None:
    """The option that a walk reaches by public features only: it runs with the whole budget, whatever the data.

    None where the walk asks for a private feature, or all are measured. `measure` is that of the budget. The other arguments
    are those of `pythia`, and make no difference here.

    >>> from jostle import workloads
    >>> grid = workloads.random_rectangles((32, 32), 50, seed=0, lengths="medium")
    >>> settled(workloads.identity(100)), settled(workloads.prefix(1000)), settled(grid)
    ('Bayes', 'Adaptive', None)
    """
    found = _selector(selector, workload, measure)
    if found is None:
        return default_algorithm.for_workload(workload)[0]
    if measure_all and any(FEATURES[name].private for name in found.features):
        return None

    def public(name: str) -> float:
        look_up = FEATURES[name].public
        if look_up is None:
            raise _MustBePaid
        return look_up(workload)

    try:
        return found.decide(public).choice
    except _MustBePaid:
        return None


class _MustBePaid(Exception):
    """A walk asked for something that has to be paid for."""


@algorithm(
    name="Pythia",
    tasks=("range-1d", "range-2d"),
    cite="kotsogiannis2017pythia",
    data_dependent=True,
    choosing=True,
    takes={"rho": SHARE, "project": TRUTH, "measure_all": TRUTH},
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
    measure_all: bool = False,
) -> Vector:
    """Walk a selector from its root, paying for each feature when it is needed, and run the option at the end (Algorithm 3).

    `selector` is one that was trained, a file, or the name of a shipped one. Without it, the one shipped for the task and
    the budget's measure is used. A public rule decides for tasks without one, and on at most 64 cells. `rho` is the share
    of the budget that all private features together may use; without it, the share that the selector was trained for. With
    `measure_all`, every feature that the selector was trained with is measured before the walk, and ρ is spent whole
    (Algorithm 2).

    Privacy: each private feature is one statistic of the kernel, with a fixed share of the budget: rho over the number of
    private features that the selector can ask, or was trained with if all are measured. Which feature is asked next, which
    option is run and with how much depends on released values only, and on every path the shares and the rest add up to the
    budget: adaptive sequential composition. The option is private under the same neighbours. The projection sees its
    estimate and the released features.
    """
    found = _selector(selector, workload, budget.measure)
    if found is None:
        cells = float(workload.shape[1])
        path = (Step("workload", 0.0, workload.kind), Step("domain", cells, f"of {cells:g} cells"))
        decision = Decision(default_algorithm.for_workload(workload)[0], {}, path)
        nothing = LazyMeasurements([], x, workload, budget, Fraction(0))
        traces.record(nothing.trace(_task(workload), "the public rule", decision))
        return algorithms.get(decision.choice).run(x, workload, budget)
    share = exact(found.about.rho if rho is None else rho, "rho")
    names = found.features if measure_all else found.needs
    measured = LazyMeasurements([FEATURES[name] for name in names], x, workload, budget, share)
    for name in names if measure_all else ():
        measured(name)
    decision = found.decide(measured)
    option = algorithms.get(decision.choice)
    bound = _bound(measured, x, workload) if project and not option.data_dependent else None
    if traces.collecting():
        projection = "" if bound is None else f"{workload.kind} within a total of {bound[0]:.6g} + {bound[1]:.3g}"
        notes = _notes(found.about, measured, x.size)
        traces.record(measured.trace(_task(workload), found.kind, decision, projection=projection, notes=notes))
    estimate = option.run(x, workload, measured.rest)
    return estimate if bound is None else _project(workload, estimate, bound)


def _selector(selector: Selector | str | Path | None, workload: Workload, measure: str) -> Selector | None:
    """The selector that decides; None for the public rule."""
    if selector is None and default_algorithm.few_cells(workload):
        return None
    return find(selector, _task(workload), measure)


def _task(workload: Workload) -> str:
    dimensions = len(workload.domain)
    return next(task for task, number in TASKS.items() if number == dimensions)


def _bound(measured: LazyMeasurements, x: Source, workload: Workload) -> tuple[float, float] | None:
    """The noisy total in records and the slack for its noise, where it was measured and the workload is one to project."""
    scale = measured.seen.get("scale")
    if scale is None or workload.kind not in SLACKS:
        return None
    rate = exchange_rate(measured.rate, x.neighbours)
    return max(scale.value, 0.0) / rate, SLACKS[workload.kind] * scale.noise / rate


def _project(workload: Workload, estimate: Vector, bound: tuple[float, float]) -> Vector:
    """Counts whose absolute values sum to no more than the bound, or prefix sums that rise from 0 to it (Section 7.1)."""
    total, slack = bound
    if workload.kind == "identity":
        return project_to_scale(estimate, total, slack)
    rising = isotonic(np.cumsum(estimate, axis=-1), lower=0.0, upper=total + slack)
    return np.diff(rising, axis=-1, prepend=0.0)


def _notes(about: About, measured: LazyMeasurements, size: int) -> tuple[str, ...]:
    """What lies outside of training; the domain, which is public, also if no tree splits on it."""
    values = {"domain": float(size)} | {seen.name: seen.value for seen in measured.seen.values()}
    outside = [note for name, value in values.items() for note in about.notes(name, value)]
    return (*outside, *(f"{name} has changed since the selector was trained" for name in about.outdated))
