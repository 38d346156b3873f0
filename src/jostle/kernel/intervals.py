"""The cheapest cut of a line of cells into intervals: costs, dynamic program and their noisy minimum.

The cost of an interval is how far its counts are from being equal, plus a public price. Deviation is taken from the
*median*: one record more or less moves it by at most 1, where deviation from the mean, which DAWA's authors use, moves by
up to 2 − 2/length. Intervals have power-of-two lengths and begin anywhere, as in DAWA (Li, Hay, Miklau, Wang: A data- and
workload-aware algorithm for range queries under differential privacy, PVLDB 7(5), 2014, Section 3).

Proof, and what is wrong with the partition as it was published: docs/proofs/partition.md.
"""

from __future__ import annotations

import numpy as np

from jostle.kernel.compiled import compiled
from jostle.kernel.partition import Counts


def deviations(x: Counts) -> Counts:
    """Row k: the sum of distances from the median in the 2^k cells that begin at each cell; private numbers.

    >>> deviations(np.array([1, 5, 5, 2]))[:, :2].tolist()
    [[0, 0], [4, 0], [7, -1]]
    """
    ordered, ranks = np.unique(x, return_inverse=True)
    return np.asarray(_deviations(ordered.astype(np.int64), ranks.astype(np.int64)))


def lengths(size: int) -> Counts:
    """The lengths of intervals that are considered: 1, 2, 4, … up to the whole domain."""
    return 2 ** np.arange(size.bit_length(), dtype=np.int64)


def cheapest_cut(costs: Counts) -> tuple[int, Counts]:
    """The least total cost of a partition into the given intervals, and where its intervals begin.

    >>> cost, starts = cheapest_cut(deviations(np.array([1, 1, 5, 5])) + 3)
    >>> cost, starts.tolist()
    (6, [0, 2])
    """
    best, last = _cheapest(costs)
    starts = []
    end = costs.shape[1]
    while end > 0:
        end -= 1 << int(last[end])
        starts.append(end)
    return int(best[-1]), np.array(starts[::-1], dtype=np.int64)


@compiled
def _deviations(ordered: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """Slide a window of each length, its values counted and summed by rank in two Fenwick trees.

    The deviation from the median is the sum of the larger half minus the sum of the smaller half.
    """
    n = ranks.size
    levels = 0
    while (1 << levels) <= n:
        levels += 1
    out = np.full((levels, n), -1, dtype=np.int64)
    out[0] = 0
    width = ordered.size
    top = 1
    while top * 2 <= width:
        top *= 2
    counts = np.zeros(width + 1, dtype=np.int64)
    sums = np.zeros(width + 1, dtype=np.int64)
    for level in range(1, levels):
        length = 1 << level
        counts[:] = 0
        sums[:] = 0
        whole = 0
        for end in range(n):
            value = ordered[ranks[end]]
            whole += value
            at = ranks[end] + 1
            while at <= width:
                counts[at] += 1
                sums[at] += value
                at += at & -at
            if end >= length:
                value = ordered[ranks[end - length]]
                whole -= value
                at = ranks[end - length] + 1
                while at <= width:
                    counts[at] -= 1
                    sums[at] -= value
                    at += at & -at
            if end >= length - 1:
                missing = length // 2
                smaller = 0
                at = 0
                step = top
                while step > 0:
                    if at + step <= width and counts[at + step] <= missing:
                        at += step
                        missing -= counts[at]
                        smaller += sums[at]
                    step //= 2
                if missing > 0:
                    smaller += missing * ordered[at]
                out[level, end - length + 1] = whole - 2 * smaller
    return out


@compiled
def _cheapest(costs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    levels, n = costs.shape
    best = np.zeros(n + 1, dtype=np.int64)
    last = np.zeros(n + 1, dtype=np.int64)
    for end in range(1, n + 1):
        best[end] = best[end - 1] + costs[0, end - 1]
        for level in range(1, levels):
            start = end - (1 << level)
            if start < 0:
                break
            price = best[start] + costs[level, start]
            if price < best[end]:
                best[end] = price
                last[end] = level
    return best, last
