"""Release in a simulation, work out the intervals, and compare both with the data. What was measured is kept in a folder."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from jostle import algorithms
from jostle.answers.release import run_of
from jostle.choice.traces import collect_traces
from jostle.kernel.budget import SYMBOLS, Price
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.partition import Counts, Vector
from jostle.simulate import estimates
from jostle.simulate.calibration import signal
from jostle.simulate.calibration import widened as with_factors
from jostle.simulate.margins import raw_margins, to_whole
from jostle.workloads import Workload

RUNS = 20
"""How often an algorithm runs on the data themselves for the ideal intervals; at half of the places between them, the 95 %
quantile of so few errors is right in the mean (that of an interpolation from end to end is 7 % too low)."""

NARROWEST = 0.25
"""The share of each release's intervals that are looked at by themselves, the narrowest."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """What a line of the table is about."""

    algorithm: str
    workload: str
    shape: tuple[int, ...]
    price: Price
    neighbours: str = "add_remove"

    def __str__(self) -> str:
        domain = "x".join(map(str, self.shape))
        return f"{self.algorithm} {self.workload} {domain} {SYMBOLS[self.price.measure]}={float(self.price.amount):g}" + (
            "" if self.neighbours == "add_remove" else f" {self.neighbours}"
        )


@dataclass(frozen=True, kw_only=True)
class Coverage:
    """One cell of the table on one data set."""

    cell: Cell
    dataset: str
    off: Vector
    """How far off each answer is, one row per release."""

    raw: Vector
    """What the intervals say of it, before they are widened."""

    by: tuple[str, ...]
    """Per release, the algorithm that answered; of a choosing algorithm, the one that it chose."""

    signals: tuple[float, ...]
    """Per release, the logarithm of ε times the records per cell, as released."""

    ideal: Vector
    """The 95 % quantile of each answer's error over runs on the data themselves."""

    single: float
    """That of all answers' errors together: the one width that would do for all answers."""

    records: int
    """How many records there are."""

    widened: Vector | None = None
    """What the intervals say of it by other factors than those that jostle has."""

    @cached_property
    def margins(self) -> Vector:
        """What the intervals say of it."""
        found = self.widened
        if found is None:
            rows = zip(self.raw, self.by, self.signals, strict=True)
            found = np.array([with_factors(row, name, self.kind, strength) for row, name, strength in rows])
        calibrated = [algorithms.get(name).data_dependent for name in self.by]
        return np.where(np.array(calibrated)[:, np.newaxis], np.maximum(found, to_whole(self.off)), found)

    @property
    def kind(self) -> tuple[str, tuple[int, ...]]:
        """The kind of workload and the domain."""
        return self.cell.workload, self.cell.shape

    @property
    def ratios(self) -> Vector:
        """How far off each answer is, in margins; 0 where a number is certain."""
        return np.where(self.off <= 1e-9, 0.0, self.off / np.maximum(self.margins, 1e-9))

    @property
    def covered(self) -> float:
        """The share of intervals that hold."""
        return float((self.ratios <= 1 + 1e-9).mean())

    @property
    def narrowest(self) -> float:
        """The same among the narrowest quarter of each release's intervals."""
        limits = np.quantile(self.margins, NARROWEST, axis=1, keepdims=True)
        return float((self.ratios <= 1 + 1e-9)[self.margins <= limits].mean())

    @property
    def width(self) -> float:
        """The mean width over the ideal one."""
        return float(self.margins.mean() / self.ideal.mean()) if self.ideal.mean() > 0 else 1.0

    @property
    def of_single(self) -> float:
        """The mean width over that of one that would do for all answers."""
        return float(self.margins.mean() / self.single) if self.single > 0 else 1.0


def measure(
    cell: Cell, asked: Workload, x: Counts, *, dataset: str, releases: int, seed: int = 0, runs: int = RUNS
) -> Coverage:
    """Release some times in a simulation, and compare what was released with the data.

    >>> from jostle import workloads
    >>> cell = Cell(algorithm="Laplace", workload="identity", shape=(4,), price=Price.of(1))
    >>> found = measure(cell, workloads.identity(4), np.array([3, 0, 9, 2]), dataset="four", releases=5)
    >>> 0.5 <= found.covered <= 1.0, 0.8 <= found.width <= 1.5
    (True, True)
    """
    plan, relation, right = algorithms.get(cell.algorithm), Neighbours.of(cell.neighbours), asked @ x
    seed = zlib.crc32(f"{cell} {dataset} {seed}".encode())
    off, raw, by, signals = [], [], [], []
    for number in range(releases):
        with collect_traces() as traces:
            (estimate,) = next(
                iter(estimates(plan, x, asked, cell.price, trials=1, seed=seed + number, neighbours=relation))
            )
        run = run_of(plan, estimate, asked, cell.price, relation, {}, traces[-1] if traces else None)
        off.append(np.abs(asked @ estimate - right))
        raw.append(raw_margins(*run))
        by.append(run[0].name)
        signals.append(signal(estimate, Price.of(run[3])))
    truth = estimates(plan, x, asked, cell.price, trials=runs, seed=seed + releases, neighbours=relation)
    errors = np.abs((asked @ np.concatenate(list(truth))) - right)
    return Coverage(
        cell=cell,
        dataset=dataset,
        off=np.array(off),
        raw=np.array(raw),
        by=tuple(by),
        signals=tuple(signals),
        ideal=np.quantile(errors, 0.95, axis=0, method="hazen"),
        single=float(np.quantile(errors, 0.95)),
        records=int(x.sum()),
    )


def file_of(folder: Path, cell: Cell, dataset: str, records: int) -> Path:
    """Where a measurement is kept."""
    return folder / f"{cell} {dataset} {records}.npz"


def kept(folder: Path | None, cell: Cell, dataset: str, records: int, found: Callable[[], Coverage]) -> Coverage:
    """What was measured before, or is now (`found` is called) and then kept."""
    if folder is None:
        return found()
    file = file_of(folder, cell, dataset, records)
    if file.exists():
        with np.load(file) as read:
            arrays: dict[str, Any] = {name: read[name].astype(np.float64) for name in _ARRAYS}
            return Coverage(
                cell=cell,
                dataset=dataset,
                by=tuple(map(str, read["by"])),
                signals=tuple(map(float, read["signals"])),
                single=float(read["single"]),
                records=records,
                **arrays,
            )
    one = found()
    folder.mkdir(parents=True, exist_ok=True)
    small: dict[str, Any] = {name: getattr(one, name).astype(np.float32) for name in _ARRAYS}
    partly = file.with_suffix(".part.npz")  # a run that is stopped leaves no half a file
    np.savez_compressed(partly, by=one.by, signals=one.signals, single=one.single, **small)
    partly.replace(file)
    return one


_ARRAYS = ("off", "raw", "ideal")
