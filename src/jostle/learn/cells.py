"""Cells of records and the class that prevails in each: shared by histograms, grids, trees and additive models.

All of it is public or post-processing, except `measure` and `known_total`, which are one Laplace measurement each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from jostle.kernel.budget import Budget
from jostle.kernel.partition import Counts
from jostle.kernel.records import LARGEST_VECTOR, Records
from jostle.kernel.strategies import Strategy, identity, matrix, total
from jostle.learn.registry import FloatArray, IntArray
from jostle.learn.smoothing import shares_from_counts, shares_from_leads
from jostle.learn.task import Task

FEW_CELLS = 1_024
"""The strategy for the leads of up to this many cells is made once: it is public, and every run needs it."""


def coarse(task: Task, attribute: str, bins: int) -> Counts:
    """A public table from the cells of a numeric attribute to at most `bins` equally wide bins.

    Categories keep one bin each. Values that the schema does not name share one bin after the others.

    >>> from jostle.schema import Boolean, Integer
    >>> task = Task(("age",), "sick", {"age": Integer(0, 99, bins=10), "sick": Boolean()})
    >>> coarse(task, "age", 4).tolist()
    [0, 0, 0, 1, 1, 2, 2, 2, 3, 3, 4]
    """
    known = task.known(attribute)
    table = np.arange(task.sizes[attribute], dtype=np.int64)
    bins = min(bins, known) if task.is_numeric(attribute) else known
    table[:known] = table[:known] * bins // known
    table[known:] = bins
    table.setflags(write=False)
    return table


def width(table: IntArray) -> int:
    """The number of bins of a table."""
    return int(table.max()) + 1


def binned(attribute: str) -> str:
    """The name of the attribute that `derive_bins` derives."""
    return f"({attribute} in bins)"


def derive_bins(records: Records, tables: Mapping[str, Counts]) -> Records:
    """The records with one more attribute per table, see `binned`."""
    for attribute, table in tables.items():
        records = records.derive(binned(attribute), [attribute], table)
    return records


def most_cells(task: Task, limit: int) -> int:
    """How many cells a histogram may have: the kernel limits cells times classes."""
    return min(limit, LARGEST_VECTOR // len(task.classes))


def class_strategy(cells: int, classes: int) -> Strategy:
    """What is measured of cells × classes: for two classes the second's lead over the first, else every count.

    Either way a record is in one row, once. The lead has half the variance of the difference of two noisy counts.

    >>> class_strategy(2, 2).dense().tolist()
    [[-1.0, 1.0, 0.0, 0.0], [0.0, 0.0, -1.0, 1.0]]
    """
    if classes != 2:
        return identity((cells, classes))
    return _few_leads(cells) if cells <= FEW_CELLS else _leads(cells)


def _leads(cells: int) -> Strategy:
    from scipy.sparse import csr_array

    entries = np.tile([-1, 1], cells), np.arange(2 * cells), np.arange(0, 2 * cells + 1, 2)
    return matrix(csr_array(entries, shape=(cells, 2 * cells)), (cells, 2))


_few_leads = lru_cache(maxsize=64)(_leads)


@dataclass(frozen=True)
class NoisyClasses:
    """A measurement of the classes in disjoint cells."""

    noisy: FloatArray
    """For two classes the noisy lead of the second in each cell; else noisy counts, one row per cell."""

    scale: float
    """The scale of the noise."""

    total: float | None = None
    """About how many records all cells have together, if that is known."""

    def shares(self, shape: tuple[int, ...] = ()) -> FloatArray:
        """Estimated probabilities of the classes, one row per cell.

        `shape` is the number of bins of each attribute, if the cells are the combinations of several attributes' bins: then
        cells with some of the same values help to estimate each other.
        """
        if self.noisy.ndim == 1:
            return shares_from_leads(self.noisy, self.scale, shape, self.total)
        return shares_from_counts(self.noisy, self.scale, shape)


def known_total(records: Records, budget: Budget, given: float | None = None, *, percent: int = 3) -> tuple[float, Budget]:
    """About how many records there are, and the budget that is left. A public or already measured number costs nothing."""
    known = records.total if given is None else given
    if known is not None:
        return max(1.0, float(known)), budget
    first, rest = budget.split(percent, 100 - percent)
    counted = records.vector(next(iter(records.sizes)))
    return max(1.0, float(counted.measure(total(counted.shape), first)[0])), rest


def measure(records: Records, names: Sequence[str], label: str, budget: Budget, total: float | None = None) -> NoisyClasses:
    """The classes in each combination of these attributes' values, by one Laplace measurement.

    `total` is the number of records, if it is public or was paid for.
    """
    vector = records.vector(*names, label)
    classes = records.sizes[label]
    cells = vector.size // classes
    strategy = class_strategy(cells, classes)
    scale = vector.noise_scale(strategy, budget)
    noisy = vector.measure(strategy, budget)
    return NoisyClasses(noisy if classes == 2 else noisy.reshape(cells, classes), scale, total)


@dataclass(frozen=True)
class CellModel:
    """The classes' shares in each combination of some attributes' bins."""

    attributes: tuple[str, ...]
    """The attributes that it looks at."""

    bins: tuple[Counts, ...]
    """For each of them, the bin of each of its cells."""

    table: FloatArray
    """One row per combination, the last attribute changing fastest; one column per class."""

    summary: str

    def scores(self, codes: Mapping[str, IntArray]) -> FloatArray:
        place = np.zeros(len(next(iter(codes.values()))), dtype=np.int64)
        for name, table in zip(self.attributes, self.bins, strict=True):
            place = place * width(table) + table[codes[name]]
        return self.table[place]

    def describe(self) -> str:
        return self.summary
