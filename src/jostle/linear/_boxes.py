"""Non-negative least squares for boxes on a line or a grid, compiled: one pass over the cells each way an iteration."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True)
def fit_boxes(
    lows: np.ndarray,
    highs: np.ndarray,
    targets: np.ndarray,
    steps: np.ndarray,
    x: np.ndarray,
    iterations: int,
    slack: float,
) -> int:
    """Move the grid x towards the non-negative one whose sums over the boxes are nearest to the targets.

    Gradient descent with momentum and one step size a cell; momentum begins anew when it points uphill. Ends when
    twenty iterations brought the sums nearer to the targets by no more than `slack` of the squared distance; gives their number.
    """
    rows, columns = x.shape
    sums = np.zeros((rows + 1, columns + 1))
    corners = np.zeros((rows + 1, columns + 1))
    ahead = x.copy()
    momentum = 1.0
    before = np.inf
    for iteration in range(iterations):
        for i in range(rows):
            line = 0.0
            for j in range(columns):
                line += ahead[i, j]
                sums[i + 1, j + 1] = sums[i, j + 1] + line
        corners[:] = 0.0
        distance = 0.0
        for q in range(targets.size):
            a, b, c, d = lows[q, 0], lows[q, 1], highs[q, 0], highs[q, 1]
            off = sums[c, d] - sums[a, d] - sums[c, b] + sums[a, b] - targets[q]
            distance += off * off
            corners[c, d] += off
            corners[a, d] -= off
            corners[c, b] -= off
            corners[a, b] += off
        # A cell's slope is the sum over the boxes that hold it: that of their signed corners behind it.
        for i in range(rows - 1, -1, -1):
            line = 0.0
            for j in range(columns - 1, -1, -1):
                line += corners[i + 1, j + 1]
                corners[i + 1, j + 1] = line if i == rows - 1 else line + corners[i + 2, j + 1]
        uphill = 0.0
        for i in range(rows):
            for j in range(columns):
                slope = corners[i + 1, j + 1]
                new = max(0.0, ahead[i, j] - steps[i, j] * slope)
                change = new - x[i, j]
                uphill += (ahead[i, j] - new) * change / steps[i, j]
                ahead[i, j] = change
                x[i, j] = new
        if iteration % 20 == 0:
            if distance >= (1.0 - slack) * before:
                return iteration + 1
            before = distance
        grown = 1.0 if uphill > 0.0 else (1.0 + np.sqrt(1.0 + 4.0 * momentum * momentum)) / 2.0
        share = 0.0 if uphill > 0.0 else (momentum - 1.0) / grown
        for i in range(rows):
            for j in range(columns):
                ahead[i, j] = x[i, j] + share * ahead[i, j]
        momentum = grown
    return iterations
