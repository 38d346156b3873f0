"""DPCube: noisy cells show where the data are even, and what is even is counted once more."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import sqrt

import numpy as np

from jostle.algorithms._kdtree import Halves, halves, prune
from jostle.algorithms._parameter_rules import SHARE
from jostle.algorithms.registry import algorithm
from jostle.kernel.budget import Budget
from jostle.kernel.partition import Counts, Vector
from jostle.kernel.source import Source
from jostle.kernel.strategy import Blocks, blocks, identity
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
    then one of the leaves, which are disjoint and depend on the first stage alone; each has noise of its own (the authors'
    code in two dimensions draws the same noise in both stages, which takes it off again). The rest is post-processing.
    """
    tree = halves(x.shape)
    first, second = budget.split(first_stage, 1 - first_stage)
    cells = _first_stage(x, workload, first, tree)
    leaves = cells.even_leaves(tree, x.noise_variance(identity(x.shape), second))
    partition = tree.partition(leaves)
    reduced = x.reduce(partition)
    counts = reduced.laplace(identity(reduced.shape), second)
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
        totals, total_noise = x.laplace(measured, for_blocks), max(x.noise_variance(measured, for_blocks), 1e-9)
    cells = x.laplace(identity(x.shape), budget)[tree.order]
    return _FirstStage(cells, max(x.noise_variance(identity(x.shape), budget), 1e-9), begins, totals, total_noise)


@lru_cache(maxsize=16)
def _blocks(shape: tuple[int, ...]) -> tuple[Counts, Blocks]:
    """Where the blocks begin in the tree's order, and their totals."""
    tree = halves(shape)
    begins = tree.nodes_within(BLOCK)
    return begins, blocks(tree.partition(begins), shape)
