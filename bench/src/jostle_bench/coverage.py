"""How often 95 % intervals hold on public data, and how wide they are beside the ideal ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from jostle import algorithms, workloads
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.partition import Counts, Vector
from jostle.simulate import estimates
from jostle.simulate.margins import within_95
from jostle.workloads import Workload

RUNS = 60
"""How often an algorithm runs on the data themselves for the ideal intervals."""


@dataclass(frozen=True)
class Coverage:
    """One algorithm, kind of workload and ε on one data set."""

    algorithm: str
    workload: str
    epsilon: float
    dataset: str
    covered: float
    """The share of intervals that hold."""

    narrowest: float
    """The same among the narrowest quarter of each release's intervals."""

    width: float
    """The mean width over that of the 95 % quantiles of the true errors."""

    ratios: Vector
    """How far off each answer is, in margins."""


def asked(kind: str, shape: tuple[int, ...]) -> Workload:
    """A workload of this kind over a domain."""
    if kind == "prefix":
        return workloads.prefix(shape[0])
    if kind == "identity":
        return workloads.identity(shape)
    rng = np.random.default_rng(7)
    ends = np.sort([[rng.choice(n + 1, 2, replace=False) for n in shape] for _ in range(200)], axis=2)
    if len(shape) == 1:
        return workloads.ranges(shape[0], ends[:, 0, 0], ends[:, 0, 1])
    return workloads.rectangles(shape, ends[:, :, 0], ends[:, :, 1])


def measure(
    algorithm: str,
    workload: Workload,
    epsilon: Any,
    x: Counts,
    *,
    dataset: str,
    releases: int,
    seed: int = 0,
    neighbours: str = "add_remove",
) -> Coverage:
    """Release some times in a simulation, and compare what was released with the data.

    >>> cells = workloads.identity(4)
    >>> found = measure("Laplace", cells, 1.0, np.array([3, 0, 9, 2]), dataset="four", releases=5)
    >>> 0.5 <= found.covered <= 1.0, 0.8 <= found.width <= 1.5
    (True, True)
    """
    plan, relation, right = algorithms.get(algorithm), Neighbours.of(neighbours), workload @ x
    keywords: dict[str, Any] = {"seed": 10_000 + seed, "neighbours": relation}
    off, margins, narrow = [], [], []
    for estimate in np.concatenate(list(estimates(plan, x, workload, epsilon, trials=releases, **keywords))):
        found = within_95(plan, estimate, workload, Fraction(str(epsilon)), relation, {})
        off.append(np.abs(workload @ estimate - right))
        margins.append(found)
        narrow.append(found <= np.quantile(found, 0.25))
    keywords["seed"] = 20_000 + seed
    true = np.concatenate(list(estimates(plan, x, workload, epsilon, trials=RUNS, **keywords)))
    ideal = np.quantile(np.abs((workload @ true) - right), 0.95, axis=0).mean()
    held = np.array(off) <= np.array(margins) + 1e-9
    ratios = np.array(off) / np.maximum(margins, 1e-9)
    return Coverage(
        algorithm=algorithm,
        workload=workload.kind,
        epsilon=float(epsilon),
        dataset=dataset,
        covered=float(held.mean()),
        narrowest=float(held[np.array(narrow)].mean()),
        width=float(np.mean(margins) / ideal) if ideal > 0 else 1.0,
        ratios=ratios.reshape(-1),
    )


def shapes(file: Any, kind: str, cells: int) -> Iterator[tuple[str, Vector]]:
    """The shapes in a file of counts, with neighbouring cells added up to this many (on each axis of a grid)."""
    for name in file.files:
        counts = np.asarray(file[name], dtype=np.float64)
        if counts.ndim != (1 if kind == "1d" else 2) or any(n % cells for n in counts.shape):
            continue
        for axis in range(counts.ndim):
            step = counts.shape[axis] // cells
            counts = np.add.reduceat(counts, np.arange(0, counts.shape[axis], step), axis=axis)
        if counts.sum() > 0:
            yield name, counts / counts.sum()


def artificial(shape: tuple[int, ...]) -> Iterator[tuple[str, Vector]]:
    """Made-up shapes, for where there are no data: even, falling, in clusters, and sparse."""
    rng = np.random.default_rng(5)
    along = np.add.outer(np.arange(shape[0]) / shape[0], np.arange(shape[-1]) / shape[-1] if len(shape) > 1 else 0.0)
    along = along.reshape(shape)
    made = {
        "even": np.ones(shape),
        "falling": np.exp(-6 * along),
        "clusters": np.exp(-((along % 0.25 - 0.1) ** 2) * 400) + 0.01,
        "sparse": rng.random(shape) ** 30,
    }
    for name, counts in made.items():
        yield name, counts / counts.sum()


def inputs(folder: Path | None, shape: tuple[int, ...]) -> Iterator[tuple[str, Counts]]:
    """Data sets over a domain, with 1,000 to 100,000 records: the shapes in a folder, or made-up ones."""
    name = f"dpbench_{len(shape)}d"
    if folder is not None and (folder / f"{name}.npz").exists():
        with np.load(folder / f"{name}.npz") as file:
            known = list(shapes(file, f"{len(shape)}d", shape[0]))
    else:
        known = list(artificial(shape))
    for number, (called, shares) in enumerate(known):
        yield called, drawn(shares, round(10 ** (3 + number % 4 * 2 / 3)), number)


def drawn(shares: Vector, records: int, seed: int) -> Counts:
    """That many records with these shares."""
    flat = np.random.default_rng(seed).multinomial(records, shares.reshape(-1))
    return np.asarray(flat.reshape(shares.shape), dtype=np.int64)


WANTED = 0.955
"""The share of intervals that should hold: a little more than they say, because data sets differ."""


def fitted(found: Sequence[Coverage]) -> dict[tuple[str, str], tuple[float, float]]:
    """Per algorithm and workload: by how much margins must be multiplied, and what they cover then on a data set left out.

    Every data set counts as much as every other. A factor below 1 counts as 1: intervals are never made narrower.
    """
    out = {}
    for cell in dict.fromkeys((one.algorithm, one.workload) for one in found):
        of = [one for one in found if (one.algorithm, one.workload) == cell]
        names = sorted({one.dataset for one in of})
        held = []
        for name in names:
            factor = _factor([one.ratios for one in of if one.dataset != name])
            held += [float((one.ratios <= factor).mean()) for one in of if one.dataset == name]
        out[cell] = _factor([one.ratios for one in of]), float(np.mean(held))
    return out


def _factor(ratios: Sequence[Vector]) -> float:
    """The least factor of at least 1 at which the mean coverage is as wanted, to two digits."""
    for factor in np.arange(1.0, 20.0, 0.05):
        if not ratios or np.mean([(one <= factor).mean() for one in ratios]) >= WANTED:
            break
    return round(float(factor), 2)


def summary(found: Sequence[Coverage]) -> dict[tuple[str, str, float], tuple[float, ...]]:
    """Per algorithm, workload and ε: the mean coverage, that of the narrowest quarter, and the mean width."""
    cells = dict.fromkeys((one.algorithm, one.workload, one.epsilon) for one in found)
    return {
        cell: tuple(
            float(np.mean([getattr(one, of) for one in found if (one.algorithm, one.workload, one.epsilon) == cell]))
            for of in ("covered", "narrowest", "width")
        )
        for cell in cells
    }
