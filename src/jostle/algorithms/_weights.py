"""Multiplicative weights, compiled: the authors' replay of small steps, and where it leads to in the end.

The end is the most even vector that fits the measured answers. Its log-weights are sums of one multiplier a query, so
Newton's method on the multipliers gets there in a few steps.
"""

from __future__ import annotations

import numpy as np

from jostle.kernel.compiled import compiled


@compiled
def replay(estimate: np.ndarray, rows: np.ndarray, answers: np.ndarray, sweeps: int) -> None:
    """So many sweeps over the history, in place: cells in a query grow by exp(error/2·total), then all go to the total."""
    total = estimate.sum()
    for _ in range(sweeps):
        for query in range(answers.size):
            error = answers[query] - (rows[query] * estimate).sum()
            estimate *= np.exp(rows[query] * (error / (2.0 * total)))
            estimate *= total / estimate.sum()


@compiled
def fit_boxes(
    sizes: np.ndarray,
    lows: np.ndarray,
    highs: np.ndarray,
    answers: np.ndarray,
    doubts: np.ndarray,
    multipliers: np.ndarray,
    total: float,
    tolerance: float,
) -> np.ndarray:
    """The densities whose logarithms are Σ multiplier · [in the box], so that answer = box sum + doubt · multiplier.

    `sizes` are the numbers of cells of the grid's fields, `lows` and `highs` the boxes' corners on the grid. Begins at
    `multipliers` and leaves the last ones there. The multipliers maximise a concave function, of which each step is a Newton
    step, shortened until it leads upwards.
    """
    density: np.ndarray
    density, value = _evaluate(sizes, lows, highs, answers, doubts, multipliers, total)
    for _ in range(100):
        sums = _running_sums(density * sizes)
        gradient = answers - doubts * multipliers
        for i in range(answers.size):
            gradient[i] -= _box_sum(sums, lows[i, 0], lows[i, 1], highs[i, 0], highs[i, 1])
        if np.abs(gradient).max() <= tolerance:
            break
        step = _solve(_curvature(sums, lows, highs, doubts, total), gradient)
        rise = (step * gradient).sum()
        length = 1.0
        while True:
            trial = multipliers + length * step
            density, found = _evaluate(sizes, lows, highs, answers, doubts, trial, total)
            if found >= value + 1e-4 * length * rise or length < 1e-6:
                break
            length /= 2
        multipliers[:] = trial
        value = found
    return density


@compiled
def _evaluate(
    sizes: np.ndarray,
    lows: np.ndarray,
    highs: np.ndarray,
    answers: np.ndarray,
    doubts: np.ndarray,
    multipliers: np.ndarray,
    total: float,
) -> tuple[np.ndarray, float]:
    """The densities for these multipliers, and the function that they are to maximise."""
    logs = np.zeros((sizes.shape[0] + 1, sizes.shape[1] + 1))
    for i in range(answers.size):
        logs[lows[i, 0], lows[i, 1]] += multipliers[i]
        logs[lows[i, 0], highs[i, 1]] -= multipliers[i]
        logs[highs[i, 0], lows[i, 1]] -= multipliers[i]
        logs[highs[i, 0], highs[i, 1]] += multipliers[i]
    density = np.empty(sizes.shape)
    above = np.zeros(sizes.shape[1])
    largest = -np.inf
    for r in range(sizes.shape[0]):
        along = 0.0
        for c in range(sizes.shape[1]):
            along += logs[r, c]
            above[c] += along
            density[r, c] = above[c]
            largest = max(largest, above[c])
    whole = 0.0
    for r in range(sizes.shape[0]):
        for c in range(sizes.shape[1]):
            density[r, c] = np.exp(density[r, c] - largest)
            whole += density[r, c] * sizes[r, c]
    density *= total / whole
    linear = (answers * multipliers).sum() - 0.5 * (doubts * multipliers**2).sum()
    return density, linear - total * (largest + np.log(whole))


@compiled
def _running_sums(field: np.ndarray) -> np.ndarray:
    sums = np.zeros((field.shape[0] + 1, field.shape[1] + 1))
    for r in range(field.shape[0]):
        along = 0.0
        for c in range(field.shape[1]):
            along += field[r, c]
            sums[r + 1, c + 1] = sums[r, c + 1] + along
    return sums


@compiled
def _box_sum(sums: np.ndarray, r0: int, c0: int, r1: int, c1: int) -> float:
    if r0 >= r1 or c0 >= c1:
        return 0.0
    total: float = sums[r1, c1] - sums[r0, c1] - sums[r1, c0] + sums[r0, c0]
    return total


@compiled
def _curvature(sums: np.ndarray, lows: np.ndarray, highs: np.ndarray, doubts: np.ndarray, total: float) -> np.ndarray:
    """The matrix of second derivatives, up to its sign: covariances of the boxes, and the doubts."""
    number = doubts.size
    shares = np.empty(number)
    for i in range(number):
        shares[i] = _box_sum(sums, lows[i, 0], lows[i, 1], highs[i, 0], highs[i, 1]) / total
    matrix = np.empty((number, number))
    for i in range(number):
        for j in range(i + 1):
            common = _box_sum(
                sums,
                max(lows[i, 0], lows[j, 0]),
                max(lows[i, 1], lows[j, 1]),
                min(highs[i, 0], highs[j, 0]),
                min(highs[i, 1], highs[j, 1]),
            )
            matrix[i, j] = common - total * shares[i] * shares[j]
        matrix[i, i] = max(matrix[i, i], 0.0) * (1 + 1e-9) + doubts[i]
    return matrix


@compiled
def _solve(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """By Cholesky's decomposition of the lower half, in place."""
    number = right.size
    solution = right.copy()
    for i in range(number):
        for j in range(i + 1):
            rest = matrix[i, j] - (matrix[i, :j] * matrix[j, :j]).sum()
            matrix[i, j] = np.sqrt(max(rest, 1e-12 * matrix[i, i])) if i == j else rest / matrix[j, j]
        solution[i] = (solution[i] - (matrix[i, :i] * solution[:i]).sum()) / matrix[i, i]
    for i in range(number - 1, -1, -1):
        solution[i] /= matrix[i, i]
        for j in range(i):
            solution[j] -= matrix[i, j] * solution[i]
    return solution
