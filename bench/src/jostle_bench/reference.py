"""Ours beside a reference: errors that the original authors' code makes on given inputs.

A reference is a folder with `errors_1d.csv` and `errors_2d.csv` (dataset, domain, scale, epsilon, workload, algorithm,
trials, mean_l2, stderr_l2), the data vectors in `inputs_1d.npz` and `inputs_2d.npz` (named like "HEPTH|n4096|s100000";
rectangles like "WORKLOAD|randrect1000|n128x128" with inclusive corners r0, c0, r1, c1), and `seconds.csv` (domain,
algorithm, median). One of the two tasks may be missing, and the times.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from math import exp, log, sqrt
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeVar

import numpy as np

from jostle import algorithms, workloads
from jostle.kernel.errors import BadInput
from jostle.kernel.partition import Counts
from jostle.simulate.results import MeasuredError
from jostle.workloads import Workload

FACTOR: Final = 1.10
"""A cell's error may be this many times the reference's before it counts against us …"""

DOUBT: Final = 4.0
"""… and it counts only if it is above that by this many standard errors of the difference."""

NOT_PRIVATE: Final = frozenset({"DAWA", "EFPA", "StructureFirst"})
"""The reference's versions of these are not private as claimed, so their errors are no target."""

_THEIRS: Final = MappingProxyType({"MWEM-adaptive": "MWEM*", "AHP-adaptive": "AHP*", "StructureFirst": "SF"})
"""Our names where they differ from the reference's."""

_COLUMNS: Final = ("dataset", "domain", "scale", "epsilon", "workload", "algorithm", "trials", "mean_l2", "stderr_l2")

Taken = TypeVar("Taken")


def counterparts(name: str, task: str) -> tuple[str, ...]:
    """The reference's names for one of our algorithms; the better of them in a cell is what ours is compared with.

    Its DPCube comes in two variants, and its two-dimensional DAWA rounds its answers: the one without that is taken.

    >>> counterparts("MWEM-adaptive", "range-1d"), counterparts("DPCube", "range-1d"), counterparts("DAWA", "range-2d")
    (('MWEM*',), ('DPCube', 'DPCube_gz1'), ('DAWA_notrunc',))
    """
    if name == "DPCube":
        return ("DPCube", "DPCube_gz1")
    if name == "DAWA" and task == "range-2d":
        return ("DAWA_notrunc",)
    return (original_name(name),)


def original_name(name: str) -> str:
    """The reference's name for one of our algorithms.

    >>> original_name("StructureFirst"), original_name("HB")
    ('SF', 'HB')
    """
    return _THEIRS.get(name, name)


@dataclass(frozen=True, kw_only=True)
class ReferenceCell:
    """An input of the reference."""

    folder: Path
    """Where the reference is."""

    task: str
    """What is asked: "range-1d" or "range-2d"."""

    dataset: str
    """The data set's name."""

    domain: tuple[int, ...]
    """The axes of the data."""

    scale: int
    """The number of records."""

    epsilon: float
    """The budget."""

    queries: str
    """The workload's name."""

    @property
    def key(self) -> str:
        """Its name."""
        return f"{self._input}|e{self.epsilon:g}|{self.queries}"

    @property
    def _input(self) -> str:
        return f"{self.dataset}|n{_by(self.domain)}|s{self.scale}"

    def vector(self) -> Counts:
        """The data."""
        return _array(self.folder, self.task, self._input).reshape(self.domain)

    def workload(self) -> Workload:
        """The queries."""
        return _workload(self.folder, self.task, self.domain, self.queries)


@dataclass(frozen=True)
class Theirs:
    """An error of the reference."""

    cell: ReferenceCell
    """The input."""

    algorithm: str
    """The reference's name for the algorithm."""

    trials: int
    """How many runs there were."""

    mean: float
    """The mean of their L2 errors."""

    stderr: float
    """Its standard error."""


@dataclass(frozen=True)
class Ratio:
    """Ours and theirs on one input."""

    cell: ReferenceCell
    """The input."""

    ours: MeasuredError
    """What ours makes there."""

    theirs: Theirs
    """What the reference makes there."""

    @property
    def value(self) -> float:
        """Ours over theirs."""
        return self.ours.mean / self.theirs.mean

    @property
    def z(self) -> float:
        """By how many standard errors ours is above 1.10 times theirs."""
        spread = sqrt(self.ours.stderr**2 + (FACTOR * self.theirs.stderr) ** 2)
        gap = self.ours.mean - FACTOR * self.theirs.mean
        return gap / spread if spread else (float("inf") if gap > 0 else 0.0)

    @property
    def beyond_doubt(self) -> bool:
        """Whether ours is surely more than 1.10 times theirs."""
        return self.z > DOUBT


@dataclass(frozen=True)
class Comparison:
    """One of our algorithms beside the reference, over all inputs of a task."""

    algorithm: str
    """Our name for it."""

    task: str
    """The task."""

    ratios: list[Ratio]
    """Every input that both were tried on; at least one."""

    @property
    def is_target(self) -> bool:
        """Whether ours should be as accurate: not where the reference is not private."""
        return self.algorithm not in NOT_PRIVATE

    @property
    def mean(self) -> float:
        """The geometric mean of the ratios."""
        return _geometric(self.ratios)

    @property
    def groups(self) -> dict[tuple[str, float], float]:
        """The geometric mean for each workload and ε."""
        kinds = sorted({(ratio.cell.queries, ratio.cell.epsilon) for ratio in self.ratios})
        return {
            kind: _geometric([ratio for ratio in self.ratios if (ratio.cell.queries, ratio.cell.epsilon) == kind])
            for kind in kinds
        }

    @property
    def worst(self) -> Ratio:
        """The largest ratio; among those that are beyond doubt, if there are any."""
        return max(self.ratios, key=lambda ratio: (ratio.beyond_doubt, ratio.value))

    @property
    def as_accurate(self) -> bool:
        """Whether the mean is at most 1.00, to two decimals, and no cell is surely above 1.10."""
        return self.mean < 1.005 and not self.beyond_doubt

    @property
    def beyond_doubt(self) -> int:
        """In how many cells ours is surely more than 1.10 times theirs."""
        return sum(ratio.beyond_doubt for ratio in self.ratios)


def reference_folder(folder: str | Path | None = None) -> Path:
    """The folder of the reference: the one that is named, else the one that JOSTLE_REFERENCE names."""
    named = folder or os.environ.get("JOSTLE_REFERENCE")
    remedy = "pass --reference or set JOSTLE_REFERENCE to the folder with errors_1d.csv or errors_2d.csv"
    if not named:
        raise BadInput("reference", "no folder is named", remedy)
    found = Path(named).resolve()
    if not any((found / f"errors_{d}d.csv").is_file() for d in (1, 2)):
        raise BadInput("reference", f"{found} has neither errors_1d.csv nor errors_2d.csv", remedy)
    return found


def read(folder: Path) -> list[Theirs]:
    """Every error of the reference."""
    return [theirs for d in (1, 2) for theirs in _read(folder, d)]


def inputs(rows: Iterable[Theirs], *, task: str | None = None) -> list[ReferenceCell]:
    """The inputs of these rows, each once."""
    return list(dict.fromkeys(theirs.cell for theirs in rows if task in (None, theirs.cell.task)))


def sample(cells: Sequence[Taken], number: int | None, *, seed: int) -> list[Taken]:
    """So many of them at random, in their order; all if there are fewer, or if no number is given."""
    if number is None or number >= len(cells):
        return list(cells)
    if number < 1:
        raise BadInput("sample", f"must be at least 1, got {number}", "leave it out to take everything")
    chosen = np.random.default_rng(seed).choice(len(cells), number, replace=False)
    return [cells[place] for place in np.sort(chosen)]


def comparable(rows: Iterable[Theirs]) -> list[str]:
    """Our registered algorithms that the reference has, too."""
    there = {(theirs.cell.task, theirs.algorithm) for theirs in rows}
    return [
        name
        for name, found in algorithms.every().items()
        if any((task, theirs) in there for task in found.tasks for theirs in counterparts(name, task))
    ]


def missing(rows: Iterable[Theirs]) -> list[str]:
    """What the reference has and we have not, by its names; variants go by what stands before the underscore."""
    known = {original_name(name) for name in algorithms.names()}
    return sorted({theirs.algorithm.split("_")[0] for theirs in rows} - known)


def compare(rows: Sequence[Theirs], measured: Iterable[MeasuredError]) -> list[Comparison]:
    """Ours beside theirs, an algorithm and a task at a time, where there is something to compare."""
    ours = {(one.algorithm, one.cell): one for one in measured}
    found: dict[tuple[str, ReferenceCell], Theirs] = {(theirs.algorithm, theirs.cell): theirs for theirs in rows}
    compared = []
    for name, task in product(sorted({algorithm for algorithm, _ in ours}), algorithms.TASKS):
        ratios = []
        for cell in inputs(rows, task=task):
            beside = [found[there, cell] for there in counterparts(name, task) if (there, cell) in found]
            if beside and (name, cell.key) in ours:
                ratios.append(Ratio(cell, ours[name, cell.key], min(beside, key=lambda theirs: theirs.mean)))
        if ratios:
            compared.append(Comparison(name, task, ratios))
    return compared


def seconds(folder: Path) -> dict[tuple[tuple[int, ...], str], float]:
    """The median seconds of a run of the reference, by domain and its name of the algorithm; empty without the file."""
    file = folder / "seconds.csv"
    if not file.is_file():
        return {}
    try:
        with file.open(encoding="utf-8", newline="") as lines:
            return {(_domain(row["domain"]), row["algorithm"]): float(row["median"]) for row in csv.DictReader(lines)}
    except (KeyError, TypeError, ValueError):
        raise BadInput("reference", f"{file} cannot be read", "its columns must be domain, algorithm, median") from None


def _read(folder: Path, dimensions: int) -> list[Theirs]:
    file = folder / f"errors_{dimensions}d.csv"
    if not file.is_file():
        return []
    try:
        with file.open(encoding="utf-8", newline="") as lines:
            return [_theirs(folder, f"range-{dimensions}d", row) for row in csv.DictReader(lines)]
    except (KeyError, TypeError, ValueError):
        raise BadInput("reference", f"{file} cannot be read", f"its columns must be {', '.join(_COLUMNS)}") from None


def _theirs(folder: Path, task: str, row: dict[str, str]) -> Theirs:
    cell = ReferenceCell(
        folder=folder,
        task=task,
        dataset=row["dataset"],
        domain=_domain(row["domain"]),
        scale=int(float(row["scale"])),
        epsilon=float(row["epsilon"]),
        queries=row["workload"],
    )
    mean, spread = float(row["mean_l2"]), float(row["stderr_l2"])
    if not mean > 0 or not spread >= 0:
        raise ValueError
    return Theirs(cell, row["algorithm"], int(row["trials"]), mean, spread)


def _domain(text: str) -> tuple[int, ...]:
    return tuple(int(side) for side in text.split("x"))


def _by(domain: tuple[int, ...]) -> str:
    return "x".join(map(str, domain))


def _geometric(ratios: list[Ratio]) -> float:
    return exp(sum(log(max(ratio.value, 1e-300)) for ratio in ratios) / len(ratios))


@lru_cache(maxsize=128)
def _array(folder: Path, task: str, name: str) -> Counts:
    file = folder / f"inputs_{algorithms.TASKS[task]}d.npz"
    try:
        with np.load(file) as arrays:
            return np.asarray(arrays[name], dtype=np.int64)
    except (OSError, KeyError):
        raise BadInput("reference", f"{file} has no array {name!r}", "the folder is incomplete: complete it") from None


@lru_cache(maxsize=32)
def _workload(folder: Path, task: str, domain: tuple[int, ...], name: str) -> Workload:
    if name == "identity":
        return workloads.identity(domain)
    if name == "prefix" and len(domain) == 1:
        return workloads.prefix(*domain)
    corners = _array(folder, task, f"WORKLOAD|{name}|n{_by(domain)}")
    return workloads.rectangles(domain, corners[:, : len(domain)], corners[:, len(domain) :] + 1)
