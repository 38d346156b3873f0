"""What the measurements on the Pythia paper's grid say: each algorithm against the best of the paper's suite."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from jostle.kernel.partition import Vector
from jostle.simulate import grid
from jostle.simulate.grid import GridCell
from jostle.simulate.results import MeasuredError


@dataclass(frozen=True)
class Line:
    """How far one way to choose is from the best of the suite: the mean over inputs of its error over the best error."""

    name: str
    """The algorithm, or the way to choose one."""

    means: dict[str, float]
    """The mean for each workload."""

    errors: dict[str, float]
    """The standard error of each mean, over inputs."""

    worst: float
    """The largest ratio on any input."""


@dataclass(frozen=True)
class GridReport:
    """The suite and our own options on the inputs that all of them were tried on."""

    task: str
    """The task."""

    inputs: dict[str, int]
    """How many inputs there were for each workload."""

    suite: list[Line]
    """Blind choice: one algorithm of the suite for all inputs."""

    options: list[Line]
    """Our own options, one for all inputs."""

    chosen: list[Line]
    """An option for each workload and domain, chosen on the other data sets; and what perfect choice would give."""

    ratios: dict[str, dict[str, list[float]]]
    """Every ratio, by algorithm and workload."""


def report(
    task: str, tried: Sequence[GridCell], names: Sequence[str], measured: Iterable[MeasuredError]
) -> GridReport | None:
    """What the measurements say, on the inputs on which every named algorithm was measured; None if there are none."""
    means = {(one.algorithm, one.cell): one.mean for one in measured}
    suite = grid.SUITE[task]
    own, blind = [name for name in names if name not in suite], [name for name in names if name in suite]
    shared = [cell for cell in tried if cell.task == task and all((name, cell.key) in means for name in names)]
    if not shared or not blind:
        return None
    found = {name: np.array([means[name, cell.key] for cell in shared]) for name in names}
    best = np.maximum(np.min([found[name] for name in blind], axis=0), 1e-12)
    ratios = {name: errors / best for name, errors in found.items()}
    lines = {name: _line(name, shared, ratios[name]) for name in names}
    chosen = []
    for title, among in (("ours, chosen on other data", own), ("any, chosen on other data", names)):
        if among:
            chosen.append(_line(title, shared, leave_one_out(shared, {name: ratios[name] for name in among})))
    if own:
        chosen.append(_line("ours, best on each input", shared, np.min([ratios[name] for name in own], axis=0)))
    kinds = [kind for kind in grid.WORKLOADS[task] if any(cell.queries == kind for cell in shared)]
    return GridReport(
        task=task,
        inputs={kind: sum(cell.queries == kind for cell in shared) for kind in kinds},
        suite=[lines[name] for name in blind],
        options=[lines[name] for name in own],
        chosen=chosen,
        ratios={
            name: {
                kind: [float(r) for r, cell in zip(ratios[name], shared, strict=True) if cell.queries == kind]
                for kind in kinds
            }
            for name in names
        },
    )


def leave_one_out(tried: Sequence[GridCell], ratios: dict[str, Vector]) -> Vector:
    """The ratio on each input of the algorithm with the least mean for its workload and domain on all other data sets.

    Where a small sample has no other data set on that domain, the choice is made on all domains; where it has none at all,
    there is nothing to choose by and the ratio is NaN.
    """
    names, table = list(ratios), np.array(list(ratios.values()))
    queries, datasets, sides = (np.array([getattr(cell, what) for cell in tried]) for what in ("queries", "dataset", "side"))
    found = np.full(len(tried), np.nan)
    for kind, dataset, side in {(cell.queries, cell.dataset, cell.side) for cell in tried}:
        others = (queries == kind) & (datasets != dataset)
        seen = others & (sides == side) if (others & (sides == side)).any() else others
        if seen.any():
            here = (queries == kind) & (datasets == dataset) & (sides == side)
            found[here] = ratios[names[int(table[:, seen].mean(axis=1).argmin())]][here]
    return found


def _line(name: str, tried: Sequence[GridCell], ratios: Vector) -> Line:
    means, errors = {}, {}
    for kind in grid.WORKLOADS[tried[0].task]:
        of_kind = np.array([cell.queries == kind for cell in tried]) & ~np.isnan(ratios)
        if of_kind.any():
            means[kind] = float(ratios[of_kind].mean())
            errors[kind] = float(ratios[of_kind].std(ddof=1) / np.sqrt(of_kind.sum())) if of_kind.sum() > 1 else float("nan")
    return Line(name, means, errors, float(np.nanmax(ratios)) if not np.isnan(ratios).all() else float("nan"))
