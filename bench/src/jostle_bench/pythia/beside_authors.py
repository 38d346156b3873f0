"""Pythia beside the errors of the original authors' code, on the inputs of a reference (`simulate.reference`).

That code is given things for free which ours pays for: MWEM and the grids know the true total. Its DAWA is not private as
coded; regret against it is for information, and tells what soundness costs. All inputs are public.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import numpy as np

from jostle.choice.selectors import Selector
from jostle.kernel.partition import Vector
from jostle.simulate.grid import SUITE
from jostle.simulate.parallel import in_parallel
from jostle.simulate.runner import errors
from jostle_bench.pythia.experiments import OURS, Experiment
from jostle_bench.reference import NOT_PRIVATE, ReferenceCell, Theirs, counterparts

SAME: Final = MappingProxyType(
    {
        "BEIJING-CABS-S": "BJ-TAXI-S",
        "BEIJING-CABS-E": "BJ-TAXI-E",
        "SF-CABS-S": "SF-TAXI-S",
        "SF-CABS-E": "SF-TAXI-E",
        "GOWALLA": "CHECKING-2D",
        "MDSALARY-OVERT": "MD-SALARY-2D",
        "LOAN-FUNDED-INCOME": "LOAN-2D",
        "STROKE": "STROKE-2D",
    }
)
"""Data sets that a reference calls by other names than the paper: a selector must be trained without them all the same."""


@dataclass(frozen=True, kw_only=True)
class Beside:
    """Pythia and the authors' code on one input."""

    cell: ReferenceCell
    """The input."""

    mean: float
    """Pythia's mean error."""

    private: float
    """The least mean error of the suite by its authors' code, without what is not private as coded."""

    every: float
    """The same with it: with DAWA as its authors coded it."""


Work = tuple[ReferenceCell, Selector, float, float, int, int]


def works(found: Experiment, rows: Sequence[Theirs], *, trials: int = 20) -> list[Work]:
    """The reference's inputs, each with a selector that has not seen its data set, and the least errors of the suite."""
    suite = SUITE[found.task]
    private = _least(rows, found.task, [name for name in suite if name not in NOT_PRIVATE])
    every = _least(rows, found.task, suite)
    names = {cell.dataset: SAME.get(cell.dataset, cell.dataset) for cell in private}
    selectors = {name: found.selector(OURS, without=name) for name in dict.fromkeys(names.values())}
    return [
        (cell, selectors[names[cell.dataset]], least, every[cell], trials, found.seed) for cell, least in private.items()
    ]


def _least(rows: Sequence[Theirs], task: str, names: Sequence[str]) -> dict[ReferenceCell, float]:
    """The least mean error on each input of a task, among the reference's versions of some of our algorithms."""
    theirs = {there for name in names for there in counterparts(name, task)}
    least: dict[ReferenceCell, float] = {}
    for row in rows:
        if row.cell.task == task and row.algorithm in theirs:
            least[row.cell] = min(row.mean, least.get(row.cell, row.mean))
    return least


def runs(todo: list[Work], *, workers: int) -> Generator[Beside]:
    """Run Pythia on each input, in the order in which they are done."""
    return in_parallel(run, todo, workers=workers)


def run(work: Work) -> Beside:
    """Run Pythia on one input, here."""
    cell, selector, private, every, trials, seed = work
    found = errors("Pythia", cell.vector(), cell.workload(), cell.epsilon, trials=trials, seed=seed, selector=selector)
    return Beside(cell=cell, mean=float(found.mean()), private=private, every=every)


def groups(ran: Sequence[Beside]) -> dict[str, tuple[Vector, Vector]]:
    """For each workload and ε, the regrets against what is private, and against all."""
    kinds = sorted({(one.cell.queries, one.cell.epsilon) for one in ran})
    found = {}
    for queries, epsilon in kinds:
        chosen = [one for one in ran if (one.cell.queries, one.cell.epsilon) == (queries, epsilon)]
        ours, private, every = (np.array([getattr(one, part) for one in chosen]) for part in ("mean", "private", "every"))
        found[f"{queries}, ε = {epsilon:g}"] = (ours / private, ours / every)
    return found
