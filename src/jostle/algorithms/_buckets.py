"""DAWA's buckets: their totals by a tree over them that suits the workload, and by all that is known already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import log2

import numpy as np

from jostle.kernel.budget import Budget
from jostle.kernel.partition import Counts, Partition, Vector
from jostle.kernel.queries import Strategy
from jostle.kernel.source import Source
from jostle.kernel.trees import Hierarchy, hierarchy
from jostle.linear.design.levels import best_weights, level_energies, weighted
from jostle.linear.fitting.nested import Nested

CERTAIN = 1e9
"""The precision of a number that is known exactly, in place of infinity."""

LEAST = 1e-2
"""Levels of less than so much of the largest weight are not measured; the buckets themselves always are."""


@dataclass(frozen=True)
class Buckets:
    """Intervals of a line, groups of them that may be measured as well, and noisy numbers that there are of either."""

    starts: Counts
    """Where the buckets begin."""

    levels: Sequence[Counts]
    """From coarse to fine, the numbers of the buckets with which groups begin; the last level has every bucket."""

    values: Sequence[Vector]
    """What was measured of each group."""

    precisions: Sequence[Vector]
    """One over its variance; 0 where nothing was measured."""

    within: Vector | float = 0.0
    """How far each cell is believed to be from its bucket's mean."""

    @classmethod
    def unmeasured(cls, starts: Counts) -> Buckets:
        """Nothing is known of them; their groups are those of a binary tree.

        >>> [level.tolist() for level in Buckets.unmeasured(np.array([0, 4, 6])).levels]
        [[0], [0, 1], [0, 1, 2]]
        """
        levels = [level for (level,) in hierarchy(starts.size, 2).levels]
        nothing = [np.zeros(level.size) for level in levels]
        return cls(starts, levels, nothing, nothing)

    def totals(self, line: Source, queries: Strategy, budget: Budget) -> Vector:
        """Measure the groups of buckets that serve the queries best, and fit the buckets to all numbers that there are."""
        reduced = line.reduce(Partition.intervals(self.starts, line.size))
        weights = self._weights(queries)
        every = Hierarchy(reduced.shape, [(level,) for level in self.levels], [1] * weights.size, 1)
        tree = weighted(every, weights)
        noise = max(reduced.noise_variance(tree, budget), 1.0 / CERTAIN)
        parts = tree.by_level(reduced.laplace(tree, budget))
        values, precisions = list(self.values), list(self.precisions)
        for k, weight, answers in zip(np.flatnonzero(weights), tree.weights, parts, strict=True):
            share = weight / tree.unit
            precision = precisions[k] + share**2 / noise
            values[k] = (precisions[k] * values[k] + answers * (share / noise)) / precision
            precisions[k] = precision
        if line.total is not None and self.levels[0].size == 1:
            values[0], precisions[0] = np.array([float(line.total)]), np.array([CERTAIN])
        return Nested(self.levels, values, precisions).fitted()[-1]

    def spread(self, totals: Vector, size: int) -> Vector:
        """The cells of a line of that size: each bucket's total shared out."""
        sizes = np.diff(self.starts, append=size)
        return np.repeat(totals / sizes, sizes) + self.within

    def _weights(self, queries: Strategy) -> Vector:
        """A weight a level: those of a regular tree, each at the level whose number of groups comes closest."""
        scale = round(log2(self.starts.size))
        sizes = np.log2([level.size for level in self.levels])
        weights = np.zeros(sizes.size)
        for size, weight in enumerate(_regular_weights(queries, scale)):
            weights[np.argmin(np.abs(sizes - size * sizes[-1] / max(scale, 1)))] += weight
        weights[weights < LEAST * weights.max()] = 0.0
        weights[-1] = max(weights[-1], LEAST * weights.max())
        return weights


@lru_cache(maxsize=256)
def _regular_weights(queries: Strategy, scale: int) -> Vector:
    """The best weights of the levels of a binary tree over 2^scale buckets of equal size."""
    blocks, energies = _energies(queries)
    upto = np.interp(np.arange(scale + 1), blocks, energies)
    return best_weights(hierarchy(2**scale, 2), np.maximum(np.diff(upto, prepend=0.0), 0.0))[0]


@lru_cache(maxsize=64)
def _energies(queries: Strategy) -> tuple[Vector, Vector]:
    """How much of the queries can be told with equal blocks of cells: the logarithm of how many, and squared lengths."""
    tree = hierarchy(queries.shape, 2)
    return np.log2([np.prod(grid) for grid in tree.grids]), np.cumsum(level_energies(tree, queries))
