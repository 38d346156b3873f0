"""Leaves: boxes of cells that fit the data's density, and what is around each. Public post-processing only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from jostle.kernel.partition import Counts, Partition, Vector
from jostle.kernel.strategies import boxes


@dataclass(frozen=True)
class BoxLeaves:
    """Disjoint boxes that cover a domain, in the order of the boxes that they were cut from."""

    shape: tuple[int, ...]
    """The domain."""

    lows: Counts
    """The first corner of each, one row per leaf."""

    highs: Counts
    """The corner just outside."""

    parents: Counts
    """The box that each was cut from."""

    @property
    def number(self) -> int:
        return len(self.lows)

    @cached_property
    def areas(self) -> Counts:
        """How many cells each has."""
        return np.asarray(np.prod(self.highs - self.lows, axis=1))

    @cached_property
    def partition(self) -> Partition:
        number = np.arange(self.number, dtype=np.int64)
        return Partition(np.asarray(boxes(self.shape, self.lows, self.highs).adjoint(number)), (self.number,))

    def surroundings(self, values: Vector, reaches: Sequence[int]) -> list[Vector]:
        """For each reach: what each leaf would hold at the density up to `reach` of its widths away, without itself.

        The values may have a leading axis of trials.
        """
        density = (values / self.areas)[..., self.partition.labels]
        widths = self.highs - self.lows
        found = []
        for reach in reaches:
            lows = np.maximum(self.lows - reach * widths, 0)
            highs = np.minimum(self.highs + reach * widths, self.shape)
            areas = np.prod(highs - lows, axis=1) - self.areas
            around = boxes(self.shape, lows, highs).apply(density) - values
            found.append(np.where(areas > 0, around / np.maximum(areas, 1) * self.areas, 0.0))
        return found


def regular(shape: tuple[int, ...], cells: tuple[int, ...]) -> BoxLeaves:
    """A regular grid: this many boxes of nearly equal size along each axis, or single cells where there are fewer.

    >>> regular((8,), (2,)).lows.reshape(-1).tolist(), regular((2, 2), (9, 9)).number
    ([0, 4], 4)
    """
    axes = [np.arange(min(c, n) + 1) * n // min(c, n) for n, c in zip(shape, cells, strict=True)]
    where = np.indices([len(axis) - 1 for axis in axes]).reshape(len(shape), -1).T
    lows = np.stack([axis[where[:, k]] for k, axis in enumerate(axes)], axis=1)
    highs = np.stack([axis[where[:, k] + 1] for k, axis in enumerate(axes)], axis=1)
    return BoxLeaves(shape, lows, highs, np.zeros(len(lows), dtype=np.int64))


def cut(leaves: BoxLeaves, pieces: Counts) -> BoxLeaves:
    """Cut each leaf into that many pieces along each axis, or into its cells where it has fewer.

    >>> cut(regular((8,), (2,)), np.array([1, 2])).lows.reshape(-1).tolist()
    [0, 4, 6]
    """
    size = leaves.highs - leaves.lows
    along = np.minimum(np.maximum(pieces, 1)[:, None], size)
    parents, place = _pieces(along)
    first, size, along = leaves.lows[parents], size[parents], along[parents]
    return BoxLeaves(leaves.shape, first + place * size // along, first + (place + 1) * size // along, parents)


def cut_to_width(leaves: BoxLeaves, widths: Counts) -> BoxLeaves:
    """Cut each leaf into boxes of its own row of `widths`; the last along each axis may be narrower.

    >>> cut_to_width(regular((5,), (1,)), np.array([[3]])).lows.reshape(-1).tolist()
    [0, 3]
    """
    parents, place = _pieces(-(-(leaves.highs - leaves.lows) // widths))
    lows = leaves.lows[parents] + place * widths[parents]
    return BoxLeaves(leaves.shape, lows, np.minimum(lows + widths[parents], leaves.highs[parents]), parents)


def _pieces(along: Counts) -> tuple[Counts, Counts]:
    """For each piece of each leaf, given how many there are along each axis: the leaf, and the piece's place within it."""
    number = np.prod(along, axis=1)
    parents = np.repeat(np.arange(len(along)), number)
    within = np.arange(number.sum()) - np.repeat(np.cumsum(number) - number, number)
    place = np.empty((parents.size, along.shape[1]), dtype=np.int64)
    for axis in reversed(range(along.shape[1])):
        within, place[:, axis] = np.divmod(within, along[parents, axis])
    return parents, place
