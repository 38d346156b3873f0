"""What is measured: which algorithms, on which questions, domains, prices and data; and the lines of the table."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from jostle import algorithms
from jostle.kernel.budget import Price
from jostle.kernel.partition import Counts
from jostle.simulate.calibration import FEW
from jostle.workloads import Workload
from jostle_bench.coverage.inputs import KINDS, asked, inputs
from jostle_bench.coverage.measuring import RUNS, Cell, Coverage, kept, measure

DOMAINS = ((256,), (6,), (16,), (45,), (32, 32), (8, 8))
"""The domains that factors are fitted on."""

SLOW = ("Adaptive", "AdaptiveGrid", "Bayes", "MWEM", "MWEM-adaptive", "OPT-Bayes", "PHP", "Pythia")
"""Algorithms of which fewer draws, releases and runs are measured on many cells."""

FOR_PREFIXES = 2
"""So many times as many releases are measured for prefixes: all answers of one are off by nearly the same."""

Task = tuple[Cell, str, int, Callable[[], Coverage]]
"""A cell of the table, a data set, its number of records, and how to measure the one on the other."""


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is measured, in every combination."""

    named: Sequence[str] = ()
    """The algorithms; all, if there is none."""

    kinds: Sequence[str] = ()
    """The workloads; all, if there is none."""

    prices: Sequence[Price]
    domains: Sequence[tuple[int, ...]]
    neighbours: str = "add_remove"
    releases: int = 2
    draws: int = 2
    unseen: bool = False
    """Whether data are of families that no fit has seen."""

    every: int = 1
    """Of the prices, each data set is measured at every one (1), every other (2), every third (3), in turn."""

    folder: Path | None = None
    """Where public data are."""

    def tasks(self) -> Iterator[Task]:
        """One by one; algorithms that give exact intervals on all data are looked at only if they are named."""
        for shape in self.domains:
            known = algorithms.names(task=f"range-{len(shape)}d")
            for name in self.named or [name for name in known if algorithms.get(name).data_dependent]:
                if name not in known:
                    continue
                for kind in KINDS[len(shape)]:
                    if not self.kinds or kind in self.kinds:
                        yield from self._on(shape, name, kind)

    def _on(self, shape: tuple[int, ...], name: str, kind: str) -> Iterator[Task]:
        slow = name in SLOW and math.prod(shape) > FEW
        workload = asked(kind, shape)
        releases = 1 if slow else self.releases * (FOR_PREFIXES if kind == "prefix" else 1)
        about = {"releases": releases, "runs": RUNS // 2 if slow else RUNS}
        data = inputs(self.folder, shape, draws=1 if slow else self.draws, unseen=self.unseen)
        for turn, (dataset, x) in enumerate(data):
            for price in self.prices[turn % self.every :: self.every]:
                cell = Cell(algorithm=name, workload=workload.kind, shape=shape, price=price, neighbours=self.neighbours)
                yield cell, dataset, int(x.sum()), partial(_measured, cell, workload, x, dataset, **about)


def _measured(cell: Cell, asked: Workload, x: Counts, dataset: str, *, releases: int, runs: int) -> Coverage:
    return measure(cell, asked, x, dataset=dataset, releases=releases, runs=runs)


def measured(
    tasks: Sequence[Task], results: Path | None, after: Callable[[Cell], object] = lambda cell: None
) -> list[Coverage]:
    """All of them; what a folder has from before is not measured again."""
    found = []
    for cell, dataset, records, now in tasks:
        found.append(kept(results, cell, dataset, records, now))
        after(cell)
    return found


@dataclass(frozen=True)
class Row:
    """A row of the table: an algorithm and a workload on a kind of domain, over all prices and data sets."""

    algorithm: str
    workload: str
    domain: str
    covered: float
    worst: float
    """The share that holds at the price where fewest do."""

    narrowest: float
    worst_narrowest: float
    width: float
    of_single: float
    doubt: float
    """The standard error at the worst price, by the differences between data sets."""

    releases: int


def rows(found: Sequence[Coverage]) -> list[Row]:
    """One for each algorithm, workload and kind of domain; every data set counts the same."""
    groups: dict[tuple[str, str, str], list[Coverage]] = {}
    for one in found:
        groups.setdefault((one.cell.algorithm, one.cell.workload, domain(one.cell)), []).append(one)
    out = []
    for (algorithm, workload, about), of in sorted(groups.items()):
        by_price: dict[Price, list[Coverage]] = {}
        for one in of:
            by_price.setdefault(one.cell.price, []).append(one)
        held = {price: np.array([one.covered for one in some]) for price, some in by_price.items()}
        worst = min(held, key=lambda price: float(held[price].mean()))
        each = held[worst]
        narrow = [float(np.mean([one.narrowest for one in some])) for some in by_price.values()]
        out.append(
            Row(
                algorithm,
                workload,
                about,
                float(np.mean([one.covered for one in of])),
                float(each.mean()),
                float(np.mean(narrow)),
                min(narrow),
                float(np.mean([one.width for one in of])),
                float(np.mean([one.of_single for one in of])),
                float(each.std(ddof=1) / np.sqrt(each.size)) if each.size > 1 else math.nan,
                sum(len(one.raw) for one in of),
            )
        )
    return out


def domain(cell: Cell) -> str:
    """The kind of domain that a row is about."""
    few = math.prod(cell.shape) <= FEW
    return f"few, {len(cell.shape)}D" if few else "x".join(map(str, cell.shape))
