"""Synthetic records: a noisy histogram over a few buckets, made consistent, and records that have just these counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from jostle.kernel.budget import Budget
from jostle.kernel.errors import BadInput
from jostle.kernel.partition import Counts
from jostle.kernel.records import Records
from jostle.kernel.strategy import identity
from jostle.learn.registry import FloatArray
from jostle.learn.task import Task
from jostle.linear.fitting.projections import project_simplex

if TYPE_CHECKING:
    from pandas import DataFrame

LARGEST = 2**20
"""So many cells a histogram may have, classes included."""

MOST = 10**9 - 1
"""So many records are made at most: noise may pretend any number, and NumPy draws from no more."""

Buckets = Mapping[str, Counts]
"""For each attribute of a histogram the bucket of each of its cells, numbered without gaps."""


@dataclass(frozen=True, eq=False)
class Synthetic:
    """As many records as there were, none of which is anybody's: public, and of any use."""

    task: Task
    """What the columns are."""

    buckets: Buckets
    """The columns that it has beside the label, and how their cells are put together."""

    counts: Counts
    """The records in each combination of buckets, one row a combination, the last attribute changing fastest; by class."""

    def __len__(self) -> int:
        return int(self.counts.sum())

    def cells(self) -> dict[str, Counts]:
        """The bucket of each attribute in each combination."""
        places = np.unravel_index(np.arange(len(self.counts)), self._shape)
        return dict(zip(self.buckets, places, strict=True))

    def to_frame(self) -> DataFrame:
        """One row a record, with the buckets' names; the records are in no order but that of the buckets."""
        import pandas as pd

        cell, label = np.divmod(np.arange(self.counts.size), self.counts.shape[1])
        rows = np.repeat(np.arange(self.counts.size), self.counts.reshape(-1))
        columns: dict[str, Any] = {
            name: np.array(bucket_names(self.task, name, self.buckets[name]), dtype=object)[codes[cell[rows]]]
            for name, codes in self.cells().items()
        }
        return pd.DataFrame(columns | {self.task.label: self.task.classes[label[rows]]})

    def to_csv(self, path: str | Path) -> None:
        """Write the records to a file."""
        self.to_frame().to_csv(path, index=False)

    @property
    def _shape(self) -> tuple[int, ...]:
        return tuple(widths(self.buckets).values())


def widths(buckets: Buckets) -> dict[str, int]:
    """The number of buckets of each attribute."""
    return {name: int(table.max()) + 1 for name, table in buckets.items()}


def synthesize(records: Records, task: Task, buckets: Buckets, budget: Budget, total: float) -> Synthetic:
    """Records with about the counts that these have, as many as `total` says: a public number, or one that was paid for.

    Privacy: one Laplace measurement of disjoint cells, buckets × classes, with the whole budget; under `replace` a record
    moves two of them by one. All else is post-processing.
    """
    buckets = checked_buckets(task, buckets)
    for name, table in buckets.items():
        records = records.derive(_cut(name), [name], table)
    vector = records.vector(*map(_cut, buckets), task.label)
    noisy = vector.laplace(identity(vector.shape), budget)
    counts = consistent(noisy, min(max(round(total), 0), MOST))
    return Synthetic(task, buckets, counts.reshape(-1, len(task.classes)))


def consistent(noisy: FloatArray, total: int) -> Counts:
    """The nearest counts: whole numbers, none negative, that add up to the total.

    Clipping negative counts alone would invent records: about a noise scale's worth for every two empty cells.

    >>> consistent(np.array([5.4, -3.0, 2.2, 0.9]), 6).tolist()
    [5, 0, 1, 0]
    """
    return largest_remainder(project_simplex(noisy, float(total)), total)


def largest_remainder(shares: FloatArray, total: int) -> Counts:
    """Whole numbers that add up to the total: each share is rounded down, and those with the largest rests get one more.

    >>> largest_remainder(np.array([1.5, 0.3, 2.2]), 4).tolist()
    [2, 0, 2]
    """
    whole = np.floor(shares).astype(np.int64)
    missing = int(np.clip(total - whole.sum(), 0, whole.size))
    whole[np.argsort(whole - shares, kind="stable")[:missing]] += 1
    return whole


def bucket_names(task: Task, attribute: str, table: Counts) -> list[str]:
    """What the buckets are called: by their only cell, or by the first and the last."""
    labels = [*task.columns[attribute].labels, *(["(missing)"] if task.columns[attribute].drops else [])]
    inside = [np.flatnonzero(table == bucket) for bucket in range(int(table.max()) + 1)]
    if task.is_numeric(attribute):
        return [labels[one[0]] if one.size == 1 else f"{labels[one[0]]} … {labels[one[-1]]}" for one in inside]
    return [" | ".join(labels[cell] for cell in one) for one in inside]


def checked_buckets(task: Task, buckets: Any) -> Buckets:
    """Buckets as arrays. Raises, before anything is charged, unless every cell has one and the histogram is small enough."""
    if not isinstance(buckets, Mapping) or not buckets:
        raise BadInput("buckets", "are none", "name at least one attribute, and say which bucket each of its cells is in")
    checked = {name: _checked_table(task, name, table) for name, table in buckets.items()}
    if prod(widths(checked).values()) * len(task.classes) > LARGEST:
        raise BadInput("buckets", f"have more than {LARGEST:,} combinations", "use fewer or coarser ones")
    return checked


def _checked_table(task: Task, name: Any, table: Any) -> Counts:
    if name not in task.attributes:
        raise BadInput("buckets", f"{name!r} is no attribute", f"use some of {', '.join(task.attributes)}")
    try:
        known = np.asarray(table)
    except (TypeError, ValueError):
        known = np.empty(0)
    if known.shape != (task.sizes[name],) or known.dtype.kind not in "iu":
        raise BadInput("buckets", f"of {name!r} must be {task.sizes[name]} whole numbers", "give one to each cell")
    if set(known.tolist()) != set(range(int(known.max()) + 1)):
        raise BadInput("buckets", f"of {name!r} must be numbered without gaps", "number them from 0")
    return known.astype(np.int64)


def _cut(attribute: str) -> str:
    return f"({attribute} in buckets)"
