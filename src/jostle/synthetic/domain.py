"""The cells of columns: how they are put together where they have few records, and how values are drawn from them.

Which cells are put together follows from noisy counts, so it is post-processing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle.kernel.partition import Counts
from jostle.schema import Boolean, Category, Column, Date, Integer, Numeric
from jostle.schema.columns import OTHER
from jostle.synthetic.draw import IntArray, shared_out
from jostle.synthetic.model import FloatArray


@dataclass(frozen=True, eq=False)
class CoarseColumn:
    """A column's cells in groups, and each cell's share of its group."""

    groups: Counts
    """The group of each cell, numbered without gaps."""

    shares: FloatArray
    """How many records each cell has, about: not negative."""

    @property
    def size(self) -> int:
        """The number of groups."""
        return int(self.groups.max()) + 1

    def weights(self) -> FloatArray:
        """Groups × cells: the share of each cell in its own group; groups without records are divided evenly."""
        table = np.zeros((self.size, self.groups.size))
        table[self.groups, np.arange(self.groups.size)] = self.shares
        empty = table.sum(axis=1) <= 0
        table[empty] = (self.groups == np.flatnonzero(empty)[:, None]).astype(np.float64)
        return table

    def cells(self, drawn: IntArray, rng: np.random.Generator) -> IntArray:
        """A cell for each record's group."""
        return shared_out(drawn, self.weights(), rng)


def coarse_column(column: Column, noisy: FloatArray, least: float, most: int) -> CoarseColumn:
    """Cells with fewer than `least` records by noisy counts are put together: neighbours of ordered cells, else all of them.

    There are at most `most` groups of ordered cells.

    >>> coarse_column(Integer(0, 5), np.array([9.0, 1.0, 2.0, 8.0, -1.0, 1.0]), 5.0, 100).groups.tolist()
    [0, 1, 1, 2, 2, 2]
    >>> coarse_column(Category(["a", "b", "c"]), np.array([9.0, 1.0, 8.0, 0.0, 2.0]), 5.0, 100).groups.tolist()
    [0, 2, 1, 2, 2]
    """
    counts = np.maximum(np.asarray(noisy, dtype=np.float64), 0.0)
    ordered = column.values if isinstance(column, (Numeric, Date)) else 0
    groups = np.zeros(counts.size, dtype=np.int64)
    if ordered:
        groups[:ordered] = _runs(counts[:ordered], max(least, float(counts[:ordered].sum()) / most))
    following = int(groups[:ordered].max()) + 1 if ordered else 0
    others = np.arange(ordered, counts.size)
    large = others[counts[ordered:] >= least]
    groups[large] = following + np.arange(large.size)
    groups[np.setdiff1d(others, large)] = following + large.size
    return CoarseColumn(np.unique(groups, return_inverse=True)[1].astype(np.int64), counts)


def _runs(counts: FloatArray, least: float) -> Counts:
    """Neighbouring cells until they have enough; what is left at the end goes to the last run."""
    groups = np.zeros(counts.size, dtype=np.int64)
    group, gathered = 0, 0.0
    for cell, count in enumerate(counts.tolist()):
        if gathered >= least or (gathered > 0 and count >= least):
            group, gathered = group + 1, 0.0
        groups[cell] = group
        gathered += count
    if group and gathered < least:
        groups[groups == group] = group - 1
    return groups


# --------------------------------------------------------------------------------------------------- plain values


def plain_values(column: Column, cells: IntArray, rng: np.random.Generator) -> NDArray[Any]:
    """A value in each cell, each as likely: a number between its borders, a day, a category; None where it is missing.

    Where categories are texts, one that the schema does not list is called (other). Other values that are not foreseen are
    missing, because nothing is known of them.

    >>> plain_values(Integer(0, 9, bins=2), np.array([0, 1]), np.random.default_rng(0)).tolist()
    [4, 8]
    """
    known = cells < column.values
    values = np.empty(cells.size, dtype=object)
    values[:] = _inside(column, np.where(known, cells, 0), rng)
    values[~known] = None
    if isinstance(column, Category) and all(isinstance(one, str) for one in column.categories):
        values[(cells == column.other) & ~known] = OTHER
    return values


def _inside(column: Column, cells: IntArray, rng: np.random.Generator) -> Sequence[Any]:
    if isinstance(column, Category):
        return [column.categories[cell] for cell in cells.tolist()]
    if isinstance(column, Boolean):
        return [bool(cell) for cell in cells.tolist()]
    if isinstance(column, Integer):
        first = column.low + cells * column.width
        last = np.minimum(first + column.width - 1, column.high)
        return rng.integers(first, last + 1).tolist()  # type: ignore[no-any-return]
    if isinstance(column, Numeric):
        edges = column.edges
        return rng.uniform(edges[cells], edges[cells + 1]).tolist()  # type: ignore[no-any-return]
    if isinstance(column, Date):
        starts = first_days(column)
        days = rng.integers(starts[cells], starts[cells + 1])
        return [date.fromordinal(day) for day in days.tolist()]
    raise TypeError(f"{type(column).__name__} is no kind of column")


def first_days(column: Date) -> IntArray:
    """The first day of each cell, and the day after the last, as ordinals.

    >>> first_days(Date(date(2024, 1, 15), date(2024, 3, 2), every="month")).tolist() == [
    ...     date(2024, 1, 15).toordinal(), date(2024, 2, 1).toordinal(), date(2024, 3, 1).toordinal(),
    ...     date(2024, 3, 3).toordinal()]
    True
    """
    days = np.arange(np.datetime64(column.low), np.datetime64(column.high) + 1)
    cells = column.encode(days)
    starts = np.flatnonzero(np.diff(cells, prepend=-1))
    return np.append(starts, days.size).astype(np.int64) + column.low.toordinal()
