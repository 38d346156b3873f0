"""DPCube: noisy cells show where the data are even, and what is even is counted once more (Xiao et al. 2014)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import sqrt
from typing import NamedTuple

import numpy as np

from jostle.algorithms._parameter_rules import SHARE
from jostle.algorithms.registry import algorithm
from jostle.kernel.budget import Budget
from jostle.kernel.compiled import compiled
from jostle.kernel.partition import Counts, Partition, Vector
from jostle.kernel.source import Source
from jostle.kernel.strategies import Blocks, blocks, identity
from jostle.workloads import Workload

BLOCK = 32
"""Workloads whose queries are longer than this on average get totals of blocks of this size in the first stage."""

PRICE = 5.0
"""What a leaf costs besides its error, in variances of a cell, where neighbours are alike: noise must not be structure.
Set, as the size of blocks, on public histograms, DPBench's."""

MEDIAN_STEP = 1.1462
"""The median distance of two numbers with Laplace noise of scale 1: the solution of (1 + t/2) exp(−t) = 1/2."""


@algorithm(
    name="DPCube", tasks=("range-1d", "range-2d"), cite="xiao2014dpcube", data_dependent=True, takes={"first_stage": SHARE}
)
def dpcube(x: Source, workload: Workload, budget: Budget, *, first_stage: float = 0.5) -> Vector:
    """Noisy cells, a k-d tree over them whose leaves are nearly even, and their totals, in one estimate (Section 5).

    The tree is that of all halves, pruned bottom-up at the least expected error, where the paper cuts top-down by
    thresholds. For workloads of long ranges, half of the first stage goes to blocks of cells, as the sums of many noisy
    cells say little about them. Leaves, blocks and cells are fused by least squares.

    Privacy: Laplace measurements of the cells and, for long ranges, of fixed blocks (together `first_stage` of the budget),
    then one of the leaves, which are disjoint and depend only on the first stage; each has noise of its own (the authors'
    code in two dimensions draws the same noise in both stages, which takes it off again). The rest is post-processing.
    """
    tree = halves(x.shape)
    first, second = budget.split(first_stage, 1 - first_stage)
    cells = _first_stage(x, workload, first, tree)
    leaves = cells.even_leaves(tree, x.noise_variance(identity(x.shape), second))
    partition = tree.partition(leaves)
    reduced = x.reduce(partition)
    counts = reduced.measure(identity(reduced.shape), second)
    return partition.spread(cells.fuse(leaves, counts, reduced.noise_variance(identity(reduced.shape), second)))


@dataclass(frozen=True)
class _FirstStage:
    """Noisy cells in the tree's order, and noisy totals of blocks of them."""

    cells: Vector
    noise: float
    begins: Counts
    totals: Vector
    total_noise: float

    def even_leaves(self, tree: Halves, leaf_noise: float) -> Counts:
        """Where the leaves of the pruned tree begin."""
        sizes = np.diff(self.begins, append=self.cells.size)
        sums = np.add.reduceat(self.cells, self.begins)
        variance = 1 / (1 / (sizes * self.noise) + 1 / self.total_noise)
        change = variance / self.total_noise * (self.totals - sums)
        cells = self.cells + np.repeat(change / sizes, sizes)
        noise = np.repeat(self.noise * (1 - 1 / sizes) + variance / sizes**2, sizes)
        return np.asarray(prune(*tree[1:], cells, noise, self.begins, self.noise, variance, leaf_noise, self._price()))

    def _price(self) -> float:
        """Less where neighbours differ by more than noise: most cells are leaves of their own then."""
        steps = np.abs(np.diff(self.cells)) if self.cells.size > 1 else np.zeros(1)
        return PRICE / max(1.0, float(np.median(steps)) / (MEDIAN_STEP * sqrt(self.noise / 2))) ** 2

    def fuse(self, leaves: Counts, counts: Vector, leaf_noise: float) -> Vector:
        """The leaves' totals by least squares: their own counts and their cells' sums, then those of the blocks."""
        sums, spread = np.add.reduceat(self.cells, leaves), np.diff(leaves, append=self.cells.size) * self.noise
        totals = sums + (counts - sums) * spread / (spread + leaf_noise)
        variance = spread * leaf_noise / (spread + leaf_noise)
        # A leaf lies in a block or consists of blocks: compare the two where both begin.
        joint = np.intersect1d(leaves, self.begins)
        of_leaves, of_blocks = np.searchsorted(leaves, joint), np.searchsorted(self.begins, joint)
        lacking = np.add.reduceat(self.totals, of_blocks) - np.add.reduceat(totals, of_leaves)
        doubt = np.add.reduceat(variance, of_leaves) + np.diff(of_blocks, append=self.begins.size) * self.total_noise
        return totals + variance * np.repeat(lacking / doubt, np.diff(of_leaves, append=leaves.size))


def _first_stage(x: Source, workload: Workload, budget: Budget, tree: Halves) -> _FirstStage:
    begins, measured = _blocks(x.shape)
    totals: Vector = np.zeros(begins.size)
    total_noise = np.inf
    if workload.average_length > BLOCK and begins.size > 1:
        budget, for_blocks = budget.split(1, 1)
        totals, total_noise = x.measure(measured, for_blocks), max(x.noise_variance(measured, for_blocks), 1e-9)
    cells = x.measure(identity(x.shape), budget)[tree.order]
    return _FirstStage(cells, max(x.noise_variance(identity(x.shape), budget), 1e-9), begins, totals, total_noise)


@lru_cache(maxsize=16)
def _blocks(shape: tuple[int, ...]) -> tuple[Counts, Blocks]:
    """Where the blocks begin in the tree's order, and their totals."""
    tree = halves(shape)
    begins = tree.nodes_within(BLOCK)
    return begins, blocks(tree.partition(begins), shape)


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
        """Where the largest nodes of at most that many cells begin."""
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
