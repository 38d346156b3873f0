"""Non-negative least squares for boxes on a line or a grid, compiled: one pass over the cells each way an iteration."""

from __future__ import annotations

import numpy as np

from jostle.kernel.compiled import compiled


@compiled
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

    Gradient descent with momentum and one step size a cell; momentum begins anew when it points uphill. Ends when twenty
    iterations lowered the squared distance from the targets by no more than `slack` of it; gives how many there were.
    """
    rows, columns = x.shape
    table = np.zeros((rows + 1, columns + 1))
    slopes = np.zeros((rows + 1, columns + 1))
    ahead = x.copy()
    momentum = 1.0
    before = np.inf
    for iteration in range(iterations):
        _sums(ahead, table)
        distance = _slopes(lows, highs, targets, table, slopes)
        uphill = 0.0
        for i in range(rows):
            for j in range(columns):
                new = max(0.0, ahead[i, j] - steps[i, j] * slopes[i + 1, j + 1])
                change = new - x[i, j]
                uphill += (ahead[i, j] - new) * change / steps[i, j]
                ahead[i, j] = change
                x[i, j] = new
        grown = 1.0 if uphill > 0.0 else (1.0 + np.sqrt(1.0 + 4.0 * momentum * momentum)) / 2.0
        share = 0.0 if uphill > 0.0 else (momentum - 1.0) / grown
        ahead *= share
        ahead += x
        momentum = grown
        if iteration % 20 == 0:
            if distance >= (1.0 - slack) * before:
                return iteration + 1
            before = distance
    return iterations


@compiled
def _sums(x: np.ndarray, table: np.ndarray) -> None:
    """Running sums along both axes, behind a row and a column of zeros."""
    for i in range(x.shape[0]):
        line = 0.0
        for j in range(x.shape[1]):
            line += x[i, j]
            table[i + 1, j + 1] = table[i, j + 1] + line


@compiled
def _slopes(lows: np.ndarray, highs: np.ndarray, targets: np.ndarray, table: np.ndarray, slopes: np.ndarray) -> float:
    """For each cell, how far the boxes that hold it are off: sums of the boxes' signed corners behind the cell."""
    slopes[:] = 0.0
    distance = 0.0
    for q in range(targets.size):
        a, b, c, d = lows[q, 0], lows[q, 1], highs[q, 0], highs[q, 1]
        off = table[c, d] - table[a, d] - table[c, b] + table[a, b] - targets[q]
        distance += off * off
        slopes[c, d] += off
        slopes[a, d] -= off
        slopes[c, b] -= off
        slopes[a, b] += off
    last = slopes.shape[0] - 1
    for i in range(last, 0, -1):
        line = 0.0
        for j in range(slopes.shape[1] - 1, 0, -1):
            line += slopes[i, j]
            slopes[i, j] = line if i == last else line + slopes[i + 1, j]
    return distance
