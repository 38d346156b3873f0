"""The cheapest cut of sorted values into clusters, compiled."""

from __future__ import annotations

import numpy as np

from jostle.kernel.compiled import compiled


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
