"""Pool adjacent violators, compiled."""

from __future__ import annotations

import numpy as np

from jostle.kernel.compiled import compiled


@compiled
def pool(rows: np.ndarray, weights: np.ndarray) -> None:
    """Replace each row by the nearest one that never falls: a stack of pools, merged while the last two are out of order."""
    n = rows.shape[1]
    means = np.empty(n)
    masses = np.empty(n)
    ends = np.empty(n, dtype=np.int64)
    for r in range(rows.shape[0]):
        top = -1
        for i in range(n):
            top += 1
            means[top], masses[top], ends[top] = rows[r, i], weights[i], i + 1
            while top > 0 and means[top - 1] >= means[top]:
                mass = masses[top - 1] + masses[top]
                means[top - 1] += (means[top] - means[top - 1]) * (masses[top] / mass)
                masses[top - 1], ends[top - 1] = mass, ends[top]
                top -= 1
        start = 0
        for k in range(top + 1):
            rows[r, start : ends[k]] = means[k]
            start = ends[k]
