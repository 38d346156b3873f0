"""Whether a projected error is what Pythia really has: it is run, with selectors that have not seen the data set."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import Final

import numpy as np

from jostle.choice.selectors import Selector
from jostle.choice.traces import collect_traces
from jostle.kernel.errors import BadInput
from jostle.kernel.partition import Vector
from jostle.simulate.grid import GridCell
from jostle.simulate.parallel import in_parallel
from jostle.simulate.runner import errors
from jostle_bench.pythia.experiments import Experiment, Way

INPUTS: Final = 60
"""How many inputs per task are run by default."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Run:
    """Pythia on one input."""

    row: int
    """The input of the table, by number."""

    cell: GridCell
    """The input."""

    predicted: float
    """The error that was projected from the table."""

    mean: float
    """The mean error of the runs."""

    stderr: float
    """The standard error of that mean."""

    spent: float
    """The mean share of the budget that features took."""

    choices: tuple[str, ...]
    """What was chosen, run by run."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Deployed:
    """Pythia on a random sample of inputs, beside its projection."""

    way: Way
    """How its selectors were trained."""

    runs: list[Run]
    """One an input."""

    trials: int
    """How many runs of an input."""

    @property
    def ratios(self) -> Vector:
        """The error that was found over the projected one, on each input."""
        return np.array([one.mean / one.predicted for one in self.runs])

    def regrets(self, found: Experiment, against: tuple[str, ...] | list[str]) -> tuple[Vector, Vector]:
        """The regret on each input as found, and as projected."""
        best = found.table.only(*against).errors.min(axis=1)[[one.row for one in self.runs]]
        means, predicted = ([getattr(one, part) for one in self.runs] for part in ("mean", "predicted"))
        return np.asarray(means / best), np.asarray(predicted / best)

    @property
    def spent(self) -> float:
        """The mean share of the budget that features took."""
        return float(np.mean([one.spent for one in self.runs]))


Work = tuple[int, GridCell, Selector, float, int, int]


def works(found: Experiment, way: Way, *, inputs: int = INPUTS, trials: int = 20) -> list[Work]:
    """A random sample of the inputs, each with a selector that was trained without its data set, and its projected error."""
    if inputs < 1 or trials < 2:
        raise BadInput("deployed", "must have an input at least, and two trials", "pass for instance 60")
    rows = np.arange(len(found.table.inputs))
    if inputs < rows.size:
        rows = np.sort(np.random.default_rng(found.seed).choice(rows, inputs, replace=False))
    predicted = found.outcome(way).errors.mean(axis=0)
    cells = [found.table.inputs[row] for row in rows]
    selectors = {name: found.selector(way, without=name) for name in dict.fromkeys(cell.dataset for cell in cells)}
    return [
        (int(row), cell, selectors[cell.dataset], float(predicted[row]), trials, found.seed)
        for row, cell in zip(rows, cells, strict=True)
    ]


def runs(todo: list[Work], *, workers: int) -> Generator[Run]:
    """Run Pythia on each input, in the order in which they are done."""
    return in_parallel(run, todo, workers=workers)


def run(work: Work) -> Run:
    """Run Pythia on one input, here."""
    row, cell, selector, predicted, trials, seed = work
    with collect_traces() as traces:
        found = errors("Pythia", cell.vector(), cell.workload(), cell.epsilon, trials=trials, seed=seed, selector=selector)
    return Run(
        row=row,
        cell=cell,
        predicted=predicted,
        mean=float(found.mean()),
        stderr=float(found.std(ddof=1) / np.sqrt(found.size)),
        spent=float(np.mean([1 - float(trace.remainder / trace.epsilon) for trace in traces])),
        choices=tuple(trace.choice for trace in traces),
    )
