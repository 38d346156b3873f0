"""A tree of halves over a domain of any dimension, and its pruning, compiled.

Cells are put in the order in which the tree has its leaves, so that every node is an interval of that order. Nodes are in
preorder: a node's first child follows it, and `second` says where its second child is.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from jostle.kernel.compiled import compiled
from jostle.kernel.partition import Counts, Partition


class Halves(NamedTuple):
    """A tree in which each node is cut in the middle of its longest side."""

    order: Counts
    """The cells, as they stand in the tree's leaves."""

    lows: Counts
    """Where each node begins in that order."""

    highs: Counts
    """And where it ends."""

    second: Counts
    """The second child of each node; 0 for leaves."""

    def partition(self, begins: Counts) -> Partition:
        """The domain, cut where these nodes begin."""
        sizes = np.diff(begins, append=self.order.size)
        labels = np.empty(self.order.size, dtype=np.int64)
        labels[self.order] = np.repeat(np.arange(begins.size), sizes)
        return Partition.of(labels)

    def nodes_within(self, size: int) -> Counts:
        """Where the largest nodes of at most so many cells begin."""
        return np.asarray(_within(self.lows, self.highs, self.second, size))


@lru_cache(maxsize=16)
def halves(shape: tuple[int, ...]) -> Halves:
    """The tree over a domain.

    >>> halves((2, 2)).order.tolist(), halves((2, 2)).second.tolist()
    ([0, 1, 2, 3], [4, 3, 0, 0, 6, 0, 0])
    """
    return Halves(*_halves(np.array(shape, dtype=np.int64)))


@compiled
def _halves(shape: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    axes = shape.size
    cells, deepest = 1, 2
    for axis in range(axes):
        cells *= shape[axis]
        while 1 << deepest < 4 * shape[axis]:
            deepest += 1
    order = np.empty(cells, dtype=np.int64)
    lows = np.empty(2 * cells - 1, dtype=np.int64)
    highs = np.empty(2 * cells - 1, dtype=np.int64)
    second = np.zeros(2 * cells - 1, dtype=np.int64)
    # The boxes that wait to be cut, the next one last: their corners, and whose second child they are, if they are one.
    first = np.zeros((axes * deepest, axes), dtype=np.int64)
    last = np.empty((axes * deepest, axes), dtype=np.int64)
    parents = np.empty(axes * deepest, dtype=np.int64)
    for axis in range(axes):
        last[0, axis] = shape[axis]
    parents[0] = -1
    top, node, done = 0, 0, 0
    while top >= 0:
        if parents[top] >= 0:
            second[parents[top]] = node
        longest, size = 0, 1
        for axis in range(axes):
            size *= last[top, axis] - first[top, axis]
            if last[top, axis] - first[top, axis] > last[top, longest] - first[top, longest]:
                longest = axis
        lows[node] = done
        highs[node] = done + size
        if size == 1:
            cell = 0
            for axis in range(axes):
                cell = cell * shape[axis] + first[top, axis]
            order[done] = cell
            done += 1
            top -= 1
        else:
            middle = (first[top, longest] + last[top, longest] + 1) // 2
            for axis in range(axes):
                first[top + 1, axis] = first[top, axis]
                last[top + 1, axis] = last[top, axis]
            first[top, longest] = middle
            last[top + 1, longest] = middle
            parents[top] = node
            parents[top + 1] = -1
            top += 1
        node += 1
    return order, lows, highs, second


@compiled
def _within(lows: np.ndarray, highs: np.ndarray, second: np.ndarray, size: int) -> np.ndarray:
    begins = np.empty(highs[0], dtype=np.int64)
    number = 0
    node = 0
    while node < lows.size:
        if highs[node] - lows[node] <= size:
            begins[number] = lows[node]
            number += 1
            node += 2 * (highs[node] - lows[node]) - 1  # a node of k cells has 2k − 1 nodes below and including it
        else:
            node += 1
    return begins[:number]


@compiled
def prune(
    lows: np.ndarray,
    highs: np.ndarray,
    second: np.ndarray,
    cells: np.ndarray,
    noise: np.ndarray,
    blocks: np.ndarray,
    cell: float,
    block: np.ndarray,
    leaf: float,
    price: float,
) -> np.ndarray:
    """Where the leaves begin of the pruned tree with the least expected squared error of the cells.

    `cells` are noisy, each with variance `noise`; they were made to agree with noisy totals of the blocks that begin at
    `blocks`, which have the variances `block`; `cell` is the variance of a cell before. All cells of a leaf are to share its
    total evenly, measured once more with variance `leaf`.

    A leaf's error is its cells' squared distances from their mean, less what noise makes of them, plus the noise on its
    mean; and a price for the choice, in units of the noise on a cell's mean.
    """
    n = cells.size
    sums = np.zeros(n + 1)
    squares = np.zeros(n + 1)
    energy = np.zeros(n + 1)
    middle = cells.mean()
    for i in range(n):
        sums[i + 1] = sums[i] + (cells[i] - middle)
        squares[i + 1] = squares[i] + (cells[i] - middle) ** 2
        energy[i + 1] = energy[i] + noise[i]
    of = np.zeros(n, dtype=np.int64)
    above = np.zeros(blocks.size + 1)
    for b in range(blocks.size):
        above[b + 1] = above[b] + block[b]
        for i in range(blocks[b], blocks[b + 1] if b + 1 < blocks.size else n):
            of[i] = b
    best = np.empty(lows.size)
    whole = np.empty(lows.size, dtype=np.bool_)
    for node in range(lows.size - 1, -1, -1):
        low, high = lows[node], highs[node]
        k = high - low
        b = of[low]
        width = (blocks[b + 1] if b + 1 < blocks.size else n) - blocks[b]
        if k < width:
            variance = k * cell * (1 - k / width) + block[b] * (k / width) ** 2
        else:
            variance = above[of[high - 1] + 1] - above[b]
        total = sums[high] - sums[low]
        spread = squares[high] - squares[low] - total * total / k
        error = spread - (energy[high] - energy[low] - variance / k) + variance * leaf / (variance + leaf) / k
        cost = error + price * min(cell, variance / k)
        parts = best[node + 1] + best[second[node]] if k > 1 else np.inf
        whole[node] = cost <= parts
        best[node] = min(cost, parts)
    kept: np.ndarray = _kept(lows, highs, whole)
    return kept


@compiled
def _kept(lows: np.ndarray, highs: np.ndarray, whole: np.ndarray) -> np.ndarray:
    begins = np.empty(highs[0], dtype=np.int64)
    number = 0
    node = 0
    while node < lows.size:
        if whole[node]:
            begins[number] = lows[node]
            number += 1
            node += 2 * (highs[node] - lows[node]) - 1
        else:
            node += 1
    return begins[:number]
