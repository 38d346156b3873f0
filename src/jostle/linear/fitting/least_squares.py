"""Counts of at least 0 by least squares, for any strategy, from its products. Post-processing only."""

from __future__ import annotations

import numpy as np

from jostle.kernel.compiled import compiled
from jostle.kernel.errors import BadInput
from jostle.kernel.partition import Vector
from jostle.kernel.strategies import Boxes, Strategy


def nonnegative_least_squares(
    strategy: Strategy,
    answers: Vector,
    *,
    start: Vector | None = None,
    iterations: int = 2000,
    slack: float = 1e-5,
) -> Vector:
    """The cells of at least 0 that fit the noisy answers best, by projected gradient descent with momentum.

    Beck, Teboulle: A fast iterative shrinkage-thresholding algorithm, SIAM J. Imaging Sci. 2(1), 2009; momentum begins anew
    whenever it points uphill (O'Donoghue, Candès: Adaptive restart for accelerated gradient schemes, 2015). Ends when twenty
    iterations improved the squared distance by no more than `slack` of it. Leading axes are solved at once.

    >>> from jostle.kernel.strategies import identity, stack, total
    >>> nonnegative_least_squares(stack(total(2), identity(2)), np.array([4.0, -3.0, 3.0])).round(4).tolist()
    [0.0, 3.5]
    """
    if answers.shape[-1:] != (strategy.rows,):
        raise BadInput("answers", f"have shape {answers.shape}, the strategy {strategy.rows} queries", "pass one per query")
    values = np.asarray(answers, dtype=np.float64).reshape(-1, strategy.rows)
    shape = (len(values), strategy.size)
    x = np.zeros(shape) if start is None else np.maximum(np.asarray(start, dtype=np.float64).reshape(shape), 0.0)
    steps = _steps(strategy)
    if isinstance(strategy, Boxes) and len(strategy.shape) <= 2:
        _fit_boxes(strategy, values, steps, x, iterations, slack)
    else:
        x = _fit(strategy, values, steps, x, iterations, slack)
    return np.asarray(x.reshape(*answers.shape[:-1], strategy.size))


def _fit_boxes(boxes: Boxes, values: Vector, steps: Vector, x: Vector, iterations: int, slack: float) -> None:
    """The same descent on boxes, compiled; in place. A line is a grid of one row."""
    line = len(boxes.shape) == 1
    shape = (1, *boxes.shape) if line else boxes.shape
    lows = np.insert(boxes.lows, 0, 0, axis=1) if line else boxes.lows
    highs = np.insert(boxes.highs, 0, 1, axis=1) if line else boxes.highs
    for target, cells in zip(values, x, strict=True):
        _descend(lows, highs, target, steps.reshape(shape), cells.reshape(shape), iterations, slack)


def _fit(strategy: Strategy, targets: Vector, steps: Vector, x: Vector, iterations: int, slack: float) -> Vector:
    scale = 1 / strategy.unit
    ahead, momentum, before = x, np.ones((len(x), 1)), np.inf
    for iteration in range(iterations):
        off = strategy.apply(ahead) * scale - targets
        new = np.maximum(ahead - steps * strategy.adjoint(off * scale), 0.0)
        moved = new - x
        uphill = ((ahead - new) * moved / steps).sum(axis=-1, keepdims=True) > 0
        grown = np.where(uphill, 1.0, (1 + np.sqrt(1 + 4 * momentum**2)) / 2)
        ahead = new + np.where(uphill, 0.0, (momentum - 1) / grown) * moved
        x, momentum = new, grown
        if iteration % 20 == 0:
            distance = (off**2).sum(axis=-1)
            if (distance >= (1 - slack) * before).all():
                break
            before = distance
    return np.asarray(x)


def _steps(strategy: Strategy) -> Vector:
    """A step for each cell under which descent cannot overshoot.

    The row sums of a non-negative symmetric matrix, as a diagonal, exceed the matrix by a positive semidefinite one. Where
    queries have negative entries: one step for all, from the largest eigenvalue (power iteration from a fixed start).
    """
    scale = 1 / strategy.unit
    if strategy.bounds[0] >= 0:
        curvature = np.asarray(strategy.adjoint(strategy.apply(np.ones(strategy.size)) * scale**2), dtype=np.float64)
        return 1 / np.where(curvature > 0, curvature, 1.0)
    x, size = np.random.default_rng(0).uniform(0.5, 1.0, strategy.size), 1.0
    for _ in range(100):
        x = strategy.adjoint(strategy.apply(x / size) * scale**2)
        size = float(np.linalg.norm(x)) or 1.0
    return np.full(strategy.size, 1 / (1.05 * size))


@compiled
def _descend(
    lows: np.ndarray, highs: np.ndarray, targets: np.ndarray, steps: np.ndarray, x: np.ndarray, iterations: int, slack: float
) -> int:
    """Move the grid x towards the non-negative one whose sums over the boxes are nearest to the targets.

    Gradient descent with momentum and one step size per cell; momentum begins anew when it points uphill. Ends when twenty
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
