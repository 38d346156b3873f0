"""AHP: cells whose noisy counts are alike share one fresh count (Zhang et al. 2014)."""

from __future__ import annotations

from math import log, log10, sqrt

import numpy as np

from jostle.algorithms._parameter_rules import SHARE, number
from jostle.algorithms.registry import algorithm
from jostle.kernel.budget import Budget
from jostle.kernel.compiled import compiled
from jostle.kernel.partition import Counts, Partition, Vector
from jostle.kernel.source import Source
from jostle.kernel.strategies import identity, total
from jostle.workloads import Workload

PRICE = 0.5
"""What a cluster costs besides its error, as a share of a cell's variance, so that noise alone makes few; set on public
histograms, DPBench's."""

TRAINED = ([-1, 0, 1, 2, 3, 4], [0.75, 0.88, 0.9, 0.82, 0.7, 0.6], [0.35, 0.2, 0.2, 0.5, 0.7, 0.7])
"""By the logarithm of the records per cell times ε: the share of the first stage, and the cut-off. Read off a grid of both
on public histograms: five of DPBench's in one dimension and four in two."""


@algorithm(
    name="AHP",
    tasks=("range-1d", "range-2d"),
    cite="zhang2014towards",
    data_dependent=True,
    takes={"to_cells": SHARE, "cut_off": number(0, 1e6)},
)
def ahp(x: Source, workload: Workload, budget: Budget, *, to_cells: float = 0.85, cut_off: float = 0.35) -> Vector:
    """Clusters of cells with similar noisy counts, wherever they lie, each counted anew (Algorithm 1).

    The noisy counts are set to 0 below a cut-off, sorted, and cut into clusters at the least expected error: by dynamic
    programming, where the paper goes greedily. A cluster's estimate is its new count averaged with the noisy counts of its
    cells, which the paper throws away: without those that lie so low that noise alone would have brought them there.

    Privacy: one Laplace measurement of the cells (`to_cells` of the budget) and one of the clusters, which depend only on
    the first measurement. The rest is post-processing.
    """
    first, second = budget.split(to_cells, 1 - to_cells)
    cells = x.measure(identity(x.shape), first)
    variance = max(x.noise_variance(identity(x.shape), first), 1e-9)
    clusters, kept = _cluster(cells, variance, x.noise_variance(identity(x.shape), second), cut_off)
    reduced = x.reduce(clusters)
    counts = reduced.measure(identity(reduced.shape), second)
    return clusters.spread(
        _average(clusters, kept, cells, variance, counts, reduced.noise_variance(identity(reduced.shape), second))
    )


@algorithm(
    name="AHP-adaptive",
    tasks=("range-1d", "range-2d"),
    cite="hay2016principled",
    data_dependent=True,
    takes={"to_total": SHARE},
)
def ahp_adaptive(x: Source, workload: Workload, budget: Budget, *, to_total: float = 0.02) -> Vector:
    """AHP with a split of the budget and a cut-off that suit the number of records, as DPBench proposes (Section 6.4: AHP*).

    Privacy: one Laplace measurement of the total (`to_total` of the budget; none where the total is public), from which both
    parameters follow; then as AHP. DPBench takes them from the true total, which nobody paid for.
    """
    records, rate = x.total, budget.rate
    if records is None:
        first, budget = budget.split(to_total, 1 - to_total)
        records = int(x.measure(total(x.shape), first)[0])
    signal = log10(max(records * rate, 1.0) / x.size)
    to_cells, cut_off = (float(np.interp(signal, TRAINED[0], values)) for values in TRAINED[1:])
    return ahp.plan(x, workload, budget, to_cells=to_cells, cut_off=cut_off)


def _cluster(cells: Vector, cell: float, cluster: float, cut_off: float) -> tuple[Partition, Counts]:
    """The clusters, the one of cells below the cut-off first, and which cells lie above it."""
    kept = np.flatnonzero(cells > cut_off * log(cells.size) * sqrt(cell / 2))
    kept = kept[np.argsort(cells[kept], kind="stable")]
    labels = np.zeros(cells.size, dtype=np.int64)
    if kept.size:
        begins = cheapest_clusters(cells[kept], cell, cluster, PRICE * cell)
        sizes = np.diff(begins, append=kept.size)
        labels[kept] = np.repeat(np.arange(sizes.size), sizes) + (kept.size < cells.size)
    return Partition.of(labels), kept


def _average(clusters: Partition, kept: Counts, cells: Vector, cell: float, counts: Vector, cluster: float) -> Vector:
    """The clusters' totals: new counts and noisy cells, by precision."""
    sizes = clusters.sizes
    low = cells.size - kept.size
    above = slice(1, None) if low else slice(None)
    totals = np.array(counts)
    if kept.size:
        sums = np.asarray(clusters.sums(cells))[above]
        lowest = np.array(cells[kept][np.cumsum(sizes[above]) - sizes[above]])
        below = np.ones(cells.size, dtype=bool)
        below[kept] = False
        level = max(float(np.median(cells[below])), 0.0) if low else 0.0
        # Of the cells below, noise alone lifts this many as high as the cluster's lowest (Laplace's tail, twice for safety).
        lifted = low * np.exp(-(lowest - level) / sqrt(cell / 2))
        false = np.minimum(lifted / (kept.size - np.cumsum(sizes[above]) + sizes[above]), 1.0)
        means = sums / sizes[above]
        expected = sizes[above] * (means * (1 - false) + level * false)
        doubt = sizes[above] * cell + false * (1 - false) * sums**2
        totals[above] += (expected - totals[above]) * cluster / (doubt + cluster)
    return np.maximum(totals, 0.0)


@compiled
def cheapest_clusters(values: np.ndarray, cell: float, cluster: float, price: float) -> np.ndarray:
    """Where clusters begin in sorted values, so that squares within them and the noise on their means cost least.

    A cluster of k costs its squared distances from its mean, plus what noise does to its k cells if `cell` is the variance
    of each value and `cluster` that of the cluster's total, measured anew and averaged with the values': cell · cluster / (k
    · cell + cluster); plus a price.

    Squared distances and convex functions of k satisfy the quadrangle inequality, so a later beginning that is better once
    stays better: O(n log n) with a queue of the beginnings that are best for some end (Galil and Park, 1992).
    """
    n = values.size
    sums = np.zeros(n + 1)
    squares = np.zeros(n + 1)
    middle = values.mean() if n else 0.0  # large values would lose their differences in the squares
    for i in range(n):
        sums[i + 1] = sums[i] + (values[i] - middle)
        squares[i + 1] = squares[i] + (values[i] - middle) ** 2
    best = np.zeros(n + 1)
    last = np.zeros(n + 1, dtype=np.int64)
    queue = np.zeros(n + 1, dtype=np.int64)
    since = np.zeros(n + 1, dtype=np.int64)
    head, tail = 0, 0
    since[0] = 1
    for end in range(1, n + 1):
        while head < tail and since[head + 1] <= end:
            head += 1
        begin = queue[head]
        last[end] = begin
        best[end] = best[begin] + _cost(sums, squares, begin, end, cell, cluster) + price
        if end == n:
            break
        while tail >= head:
            # From which end on is it better to begin here than at the last beginning in the queue?
            other = queue[tail]
            low, high = end + 1, n + 1
            while low < high:
                at = (low + high) // 2
                here = best[end] + _cost(sums, squares, end, at, cell, cluster)
                if here <= best[other] + _cost(sums, squares, other, at, cell, cluster):
                    high = at
                else:
                    low = at + 1
            if tail > head and low <= since[tail]:
                tail -= 1
                continue
            if low <= n:
                tail += 1
                queue[tail] = end
                since[tail] = low
            break
    begins: np.ndarray = _begins(last)
    return begins


@compiled
def _cost(sums: np.ndarray, squares: np.ndarray, begin: int, end: int, cell: float, cluster: float) -> float:
    k = end - begin
    total = sums[end] - sums[begin]
    spread: float = max(squares[end] - squares[begin] - total * total / k, 0.0)
    return spread + cell * cluster / (k * cell + cluster)


@compiled
def _begins(last: np.ndarray) -> np.ndarray:
    at = last.size - 1
    number = 0
    while at > 0:
        at = last[at]
        number += 1
    begins = np.zeros(number, dtype=np.int64)
    at = last.size - 1
    while at > 0:
        at = last[at]
        number -= 1
        begins[number] = at
    return begins
