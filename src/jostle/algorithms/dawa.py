"""DAWA: buckets of cells that are nearly even, and a tree over the buckets that suits the workload (Li et al. 2014)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import log2
from types import MappingProxyType
from typing import Final, Literal

import numpy as np

from jostle.algorithms._parameter_rules import SHARE, number, one_of
from jostle.algorithms.registry import algorithm
from jostle.kernel.budget import Budget
from jostle.kernel.partition import Counts, Partition, Vector
from jostle.kernel.source import IntervalCost, Source
from jostle.kernel.strategies import Hierarchy, Strategy, hierarchy, identity
from jostle.linear.design.levels import best_weights, level_energies, weighted
from jostle.linear.fitting.trees import Nested
from jostle.linear.shrinkage.cuts import even_intervals
from jostle.workloads import Workload

LONG: Final = 32
"""For queries of this many cells on average, coarse counts are enough."""

SHARES: Final = MappingProxyType(
    {
        "noisy-minimum": (0.4, 0.2, 0.3),
        "exponential": (0.45, 0.15, 0.25),
        "counts": (0.8, 0.15, 0.3),
        "blocks": (0.4, 0.2, 0.5),
    }
)
"""The first stage's part of the budget: for short queries, for long ones on a line and for long ones on a grid."""

PRICES: Final = MappingProxyType(
    {
        "noisy-minimum": (6.0, 5.5, 5.0),
        "exponential": (4.3, 3.2, 3.0),
        "counts": (4.0, 0.9, 1.1),
        "blocks": (8.0, 8.0, 8.0),
    }
)
"""What a bucket costs, in scales of noise on one count of the first stage: for the same three."""

BRANCHING: Final = 4
"""How many blocks a block is cut into. Along Hilbert's curve, squares are cut into squares."""


@algorithm(
    name="DAWA",
    tasks=("range-1d", "range-2d"),
    cite="li2014data",
    data_dependent=True,
    takes={"partition": one_of(*SHARES), "first_stage": SHARE, "price": number(0, 1e6)},
)
def dawa(
    x: Source,
    workload: Workload,
    budget: Budget,
    *,
    partition: Literal["noisy-minimum", "exponential", "counts", "blocks"] | None = None,
    first_stage: float | None = None,
    price: float | None = None,
) -> Vector:
    """Cut the line into buckets whose cells are nearly even, then measure a tree over the buckets (Sections 3 and 4).

    A grid is first laid along Hilbert's curve. The partition as published is not private (docs/proofs/partition.md);
    these are:

    - "noisy-minimum": the cheapest cut after one-sided noise on the cost of every interval;
    - "exponential": a cut drawn by the exponential mechanism over all cuts;
    - "counts": the cheapest cut of noisy cells, with what noise adds to the costs taken off; the cells are used again;
    - "blocks": nested blocks with noisy counts, cut where the count is above the price; the counts are used again.

    The default is the most accurate of the first three, which look for even buckets as the paper does: "exponential" for
    long queries on a line, else "counts". "blocks" looks at how much a block holds instead; `Pruned` is DAWA with it. Both
    stages' numbers meet in one least squares estimate.

    Privacy: the kernel's `partition`, or a Laplace measurement of cells or of blocks that the domain fixes, from which
    buckets are made by post-processing; then a Laplace measurement of a tree over the buckets, which depends only on them
    and on the workload. The rest is post-processing.
    """
    kind = len(x.shape) if workload.average_length >= LONG else 0
    operator = partition or ("exponential" if kind == 1 else "counts")
    share = SHARES[operator][kind] if first_stage is None else first_stage
    first, second = budget.split(share, 1 - share)
    curve = hilbert_line((x.shape[0], x.shape[-1])) if len(x.shape) > 1 else None
    line = x if curve is None else x.reduce(curve)
    scales = PRICES[operator][kind] if price is None else price
    if operator == "blocks":
        buckets = _from_blocks(line, first, scales)
    elif operator == "counts":
        buckets = _from_cells(line, first, scales, again=kind == 0)
    else:
        buckets = _from_costs(line, first, scales, operator)
    estimate = buckets.spread(buckets.totals(line, workload.queries, second), line.size)
    return estimate if curve is None else estimate[curve.labels]


def _from_costs(line: Source, budget: Budget, scales: float, method: Literal["noisy-minimum", "exponential"]) -> Buckets:
    """The kernel's partition, by the deviations from the buckets' medians."""
    price = scales * line.noise_scale(identity(line.shape), budget)
    cut = line.partition(IntervalCost(min(price, 2.0**39 / line.size), method), budget)
    return Buckets.unmeasured(np.flatnonzero(np.diff(cut.labels, prepend=-1)))


def _from_cells(line: Source, budget: Budget, scales: float, *, again: bool) -> Buckets:
    """The cheapest cut of noisy cells, which may be used again.

    Buckets that look even are those that have gathered noise of one sign. Short queries lose little by that; long ones, to
    which the sums of many cells say little anyway, lose more than they gain.
    """
    cells = identity(line.shape)
    noise = line.noise_variance(cells, budget)
    noisy = line.measure(cells, budget)
    starts = even_intervals(noisy, line.noise_scale(cells, budget), scales)
    buckets = Buckets.unmeasured(starts)
    if not again or noise == 0:
        return buckets
    sizes = np.diff(starts, append=line.size)
    sums = np.add.reduceat(noisy, starts)
    return replace(
        buckets,
        values=[*buckets.values[:-1], sums],
        precisions=[*buckets.precisions[:-1], 1.0 / (sizes * noise)],
        within=shrunk(noisy - np.repeat(sums / sizes, sizes), starts, noise),
    )


def shrunk(apart: Vector, starts: Counts, noise: float) -> Vector:
    """Distances of cells from their bucket's mean, shrunk by as much as noise of that variance explains of them.

    Buckets were made to look even, so noise explains more of them than its own variance, and most in the shortest.

    >>> shrunk(np.array([1.0, -1.0, 20.0, -20.0]), np.array([0, 2]), noise=1.0).round(1).tolist()
    [0.0, -0.0, 19.9, -19.9]
    """
    sizes = np.diff(starts, append=apart.size)
    squares = np.add.reduceat(apart**2, starts)
    explained = np.maximum(sizes - 1, 1) * noise * (1.0 + 2.0 / np.sqrt(sizes))
    return np.asarray(apart * np.repeat(1.0 - explained / np.maximum(squares, explained), sizes))


def _from_blocks(line: Source, budget: Budget, scales: float) -> Buckets:
    """Nested blocks: a block of the line is cut if its noisy count is above the price; those that are not are buckets."""
    tree = _nested_blocks(line.size)
    noise = max(line.noise_variance(tree, budget), 1e-9)
    parts = tree.by_level(line.measure(tree, budget))
    shares = np.array(tree.weights) / tree.unit
    seen = Nested(
        [starts for (starts,) in tree.levels],
        [part / share for part, share in zip(parts, shares, strict=True)],
        [np.full(part.size, share**2 / noise) for part, share in zip(parts, shares, strict=True)],
    )
    return _pruned(seen, scales * line.noise_scale(identity(line.shape), budget), line.size)


def _pruned(seen: Nested, price: float, size: int) -> Buckets:
    """A block that is cut gives its own number, and one that is not all that the numbers within it say of it.

    The whole line is always cut: to take it for empty by mistake would be the worst of errors.
    """
    whole, variances = seen.upwards
    fitted = seen.fitted()
    begins = np.zeros(size, dtype=np.bool_)
    alive = np.ones(1, dtype=np.bool_)
    levels, values, precisions = [], [], []
    for k, starts in enumerate(seen.starts):
        begins[starts[alive]] = True
        levels.append(np.flatnonzero(begins))
        cut = alive & ((fitted[k] > price) | (k == 0)) & (k < len(seen.starts) - 1)
        at = np.searchsorted(levels[-1], starts[alive])
        values.append(np.zeros(levels[-1].size))
        precisions.append(np.zeros(levels[-1].size))
        values[-1][at] = np.where(cut, seen.values[k], whole[k])[alive]
        precisions[-1][at] = np.where(cut, seen.precisions[k], 1.0 / variances[k])[alive]
        if not cut.any():
            break
        alive = np.repeat(cut, np.diff(np.searchsorted(seen.starts[k + 1], starts), append=seen.starts[k + 1].size))
    return Buckets(levels[-1], [np.searchsorted(levels[-1], level) for level in levels], values, precisions)


@lru_cache(maxsize=16)
def _nested_blocks(size: int) -> Hierarchy:
    """Blocks within blocks down to the cells; the whole line and the cells matter little to where to cut."""
    levels = len(hierarchy(size, BRANCHING).levels)
    weights = np.ones(levels)
    weights[-1] = 0.05
    weights[0] = 0.01
    return hierarchy(size, BRANCHING, weights=tuple(weights))


CERTAIN = 1e9
"""The precision of a number that is known exactly, in place of infinity."""

LEAST = 1e-2
"""Levels of less than this share of the largest weight are not measured; the buckets themselves always are."""


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
        parts = tree.by_level(reduced.measure(tree, budget))
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
        """One weight per level: those of a regular tree, each at the level whose number of groups comes closest."""
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
    """How much of the queries can be answered with equal blocks of cells: the logarithm of how many, and squared lengths."""
    tree = hierarchy(queries.shape, 2)
    return np.log2([np.prod(grid) for grid in tree.grids]), np.cumsum(level_energies(tree, queries))


@lru_cache(maxsize=16)
def hilbert_line(shape: tuple[int, int]) -> Partition:
    """Every cell as a group of its own, numbered along the curve.

    A grid that is no square of a power of two takes the part of the curve of the next such square that lies in it.

    >>> hilbert_line((2, 2)).labels.tolist(), hilbert_line((1, 3)).labels.tolist()
    ([0, 3, 1, 2], [0, 1, 2])
    """
    rows, columns = (axis.reshape(-1).astype(np.int64) for axis in np.indices(shape))
    steps = _steps(rows, columns, max(max(shape) - 1, 1).bit_length())
    place = np.empty(steps.size, dtype=np.int64)
    place[np.argsort(steps)] = np.arange(steps.size)
    return Partition.of(place)


def _steps(rows: Counts, columns: Counts, bits: int) -> Counts:
    """How many cells of a square of side 2^bits the curve has passed before it comes to each cell.

    From the whole square down to the cells: which quarter, in the order in which the curve takes them, and then the cell's
    place in that quarter, turned as the curve turns it.
    """
    steps = np.zeros(rows.size, dtype=np.int64)
    last = (1 << bits) - 1
    for bit in reversed(range(bits)):
        right, low = columns >> bit & 1, rows >> bit & 1
        steps += (3 * right ^ low) << 2 * bit
        turned = (low == 0) & (right == 1)
        rows, columns = np.where(turned, last - rows, rows), np.where(turned, last - columns, columns)
        rows, columns = np.where(low == 0, columns, rows), np.where(low == 0, rows, columns)
    return steps


@algorithm(name="Pruned", tasks=("range-1d", "range-2d"), cite="li2014data", data_dependent=True)
def pruned(x: Source, workload: Workload, budget: Budget) -> Vector:
    """DAWA's two stages (Section 2) with another first one: noisy counts of nested blocks say which are worth cutting.

    Along Hilbert's curve the blocks of a grid are squares, as in a quadtree. Both stages' counts meet in one estimate.

    Privacy: a Laplace measurement of blocks that the domain fixes, from which buckets are made by post-processing; then a
    Laplace measurement of a tree over the buckets, which depends only on them and on the workload.
    """
    return dawa.plan(x, workload, budget, partition="blocks")
