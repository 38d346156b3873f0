"""Groups of cells: how a domain is cut, as a public value."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import final

import numpy as np

from jostle.kernel.errors import BadInput, PlanError

Vector = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
Counts = np.ndarray[tuple[int, ...], np.dtype[np.int64]]


def fixed(array: Counts) -> Counts:
    """The same array, which nobody can change any more: lemmas rest on it, and plans see it."""
    array.setflags(write=False)
    return array


@final
@dataclass(frozen=True, eq=False)
class Partition:
    """Each cell of a domain belongs to exactly one group, so one record counts in exactly one.

    >>> halves = Partition.intervals([0, 2], 4)
    >>> halves.labels.tolist(), halves.sizes.tolist(), halves.groups
    ([0, 0, 1, 1], [2, 2], 2)
    """

    labels: Counts
    """For every cell, in row-major order, the number of its group, from 0 on without gaps."""

    shape: tuple[int, ...]
    """The domain that the reduced data have: one number, or a grid's rows and columns."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", tuple(map(int, self.shape)))  # a list could be changed
        labels = np.array(self.labels, dtype=np.int64)  # a copy: it must not change with the caller's array
        if labels.ndim != 1 or labels.size == 0 or labels.min() < 0:
            raise BadInput("labels", "must be one group number of 0 or more per cell", "number the groups from 0")
        if labels.max() >= self.groups or not np.bincount(labels, minlength=self.groups).all():
            raise BadInput("labels", f"must use every group from 0 to {self.groups - 1}", "number the groups without gaps")
        object.__setattr__(self, "labels", fixed(labels))

    @classmethod
    def of(cls, labels: object) -> Partition:
        """Any grouping, from one group number per cell."""
        array = np.asarray(labels, dtype=np.int64)
        return cls(array, (int(array.max(initial=0)) + 1,))

    @classmethod
    def intervals(cls, starts: object, size: int) -> Partition:
        """Consecutive cells, cut before each of `starts`, the first of which is 0."""
        first = np.asarray(starts, dtype=np.int64)
        if first.size == 0 or first[0] != 0 or first[-1] >= size or (np.diff(first) <= 0).any():
            raise BadInput("starts", "must begin at 0 and rise below the size", "pass for instance [0, 4, 9]")
        return cls(np.repeat(np.arange(first.size), np.diff(first, append=size)), (first.size,))

    @classmethod
    def grid(cls, shape: tuple[int, ...], cells: tuple[int, ...]) -> Partition:
        """Boxes of nearly equal size: along each axis that many intervals.

        >>> Partition.grid((2, 4), (1, 2)).labels.reshape(2, 4).tolist()
        [[0, 0, 1, 1], [0, 0, 1, 1]]
        """
        if len(shape) != len(cells) or any(not 1 <= c <= n for c, n in zip(cells, shape, strict=True)):
            raise BadInput("cells", f"must be between 1 and the size of each axis of {shape}", "use fewer cells")
        axes = [np.arange(n) * c // n for n, c in zip(shape, cells, strict=True)]
        return cls(np.ravel_multi_index(np.ix_(*axes), cells).reshape(-1), cells)

    @property
    def groups(self) -> int:
        """How many groups there are."""
        return math.prod(self.shape)

    @cached_property
    def sizes(self) -> Counts:
        """How many cells each group has."""
        return fixed(np.bincount(self.labels, minlength=self.groups))

    @cached_property
    def _order(self) -> Counts | None:
        """The cells group by group; None where they stand so already."""
        return None if (np.diff(self.labels) >= 0).all() else fixed(np.argsort(self.labels, kind="stable"))

    @cached_property
    def _starts(self) -> Counts:
        return fixed(np.cumsum(self.sizes) - self.sizes)

    def cells(self, group: int) -> Counts:
        """The cells of one group, in order."""
        inside = slice(int(self._starts[group]), int(self._starts[group] + self.sizes[group]))
        return np.arange(self.labels.size)[inside] if self._order is None else self._order[inside]

    def sums(self, x: Counts | Vector) -> Counts | Vector:
        """Totals by group, along the last axis.

        >>> Partition.intervals([0, 2], 4).sums(np.array([1, 2, 3, 4])).tolist()
        [3, 7]
        """
        ordered = x if self._order is None else x[..., self._order]
        return np.add.reduceat(ordered, self._starts, axis=-1)

    def spread(self, totals: Vector) -> Vector:
        """Post-processing: share each group's total evenly among its cells.

        >>> Partition.intervals([0, 2], 4).spread(np.array([3.0, 7.0])).tolist()
        [1.5, 1.5, 3.5, 3.5]
        """
        return (totals / self.sizes)[..., self.labels]


def check_partition(partition: object, size: int) -> None:
    """Raise unless it is a partition, of a domain of that size. Another class might count a record twice."""
    if type(partition) is not Partition:
        raise PlanError(f"{type(partition).__name__} is no partition of the kernel: make one with `Partition.of(labels)`")
    if partition.labels.size != size:
        raise BadInput("partition", f"is of {partition.labels.size} cells, the domain has {size}", "cut this domain")
