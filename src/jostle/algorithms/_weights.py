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
            error = answers[query]
            for cell in range(estimate.size):
                error -= rows[query, cell] * estimate[cell]
            whole = 0.0
            for cell in range(estimate.size):
                estimate[cell] *= np.exp(rows[query, cell] * error / (2.0 * total))
                whole += estimate[cell]
            for cell in range(estimate.size):
                estimate[cell] *= total / whole


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
    density = np.empty(sizes.shape)
    value = _evaluate(density, sizes, lows, highs, answers, doubts, multipliers, total)
    for _ in range(100):
        sums = _running_sums(density, sizes)
        curvature, gradient = _derivatives(sums, lows, highs, answers, doubts, multipliers, total)
        if np.abs(gradient).max() <= tolerance:
            break
        step = _solve(curvature, gradient)
        rise, length = 1e-4 * float(step @ gradient), 1.0
        while True:
            trial = multipliers + length * step
            found = _evaluate(density, sizes, lows, highs, answers, doubts, trial, total)
            if found >= value + length * rise or length < 1e-6:
                break
            length /= 2
        multipliers[:], value = trial, found
    return density


@compiled
def _evaluate(
    density: np.ndarray,
    sizes: np.ndarray,
    lows: np.ndarray,
    highs: np.ndarray,
    answers: np.ndarray,
    doubts: np.ndarray,
    multipliers: np.ndarray,
    total: float,
) -> float:
    """The densities for these multipliers, in place, and the function that they are to maximise."""
    rows, columns = sizes.shape
    logs = np.zeros((rows + 1, columns + 1))
    value: float = 0.0
    for i in range(answers.size):
        logs[lows[i, 0], lows[i, 1]] += multipliers[i]
        logs[lows[i, 0], highs[i, 1]] -= multipliers[i]
        logs[highs[i, 0], lows[i, 1]] -= multipliers[i]
        logs[highs[i, 0], highs[i, 1]] += multipliers[i]
        value += answers[i] * multipliers[i] - 0.5 * doubts[i] * multipliers[i] ** 2
    above = np.zeros(columns)
    largest = -np.inf
    for r in range(rows):
        along = 0.0
        for c in range(columns):
            along += logs[r, c]
            above[c] += along
            density[r, c] = above[c]
            largest = max(largest, above[c])
    whole = 0.0
    for r in range(rows):
        for c in range(columns):
            density[r, c] = np.exp(density[r, c] - largest)
            whole += density[r, c] * sizes[r, c]
    for r in range(rows):
        for c in range(columns):
            density[r, c] *= total / whole
    value -= total * (largest + np.log(whole))
    return value


@compiled
def _running_sums(density: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    sums = np.zeros((sizes.shape[0] + 1, sizes.shape[1] + 1))
    for r in range(sizes.shape[0]):
        along = 0.0
        for c in range(sizes.shape[1]):
            along += density[r, c] * sizes[r, c]
            sums[r + 1, c + 1] = sums[r, c + 1] + along
    return sums


@compiled
def _derivatives(
    sums: np.ndarray,
    lows: np.ndarray,
    highs: np.ndarray,
    answers: np.ndarray,
    doubts: np.ndarray,
    multipliers: np.ndarray,
    total: float,
) -> tuple[np.ndarray, np.ndarray]:
    """The lower half of minus the second derivatives, covariances of the boxes and doubts; and the first derivatives."""
    number = doubts.size
    inside = np.empty(number)
    gradient = np.empty(number)
    curvature = np.empty((number, number))
    for i in range(number):
        for j in range(i, -1, -1):
            r0, c0 = max(lows[i, 0], lows[j, 0]), max(lows[i, 1], lows[j, 1])
            r1, c1 = min(highs[i, 0], highs[j, 0]), min(highs[i, 1], highs[j, 1])
            common = sums[r1, c1] - sums[r0, c1] - sums[r1, c0] + sums[r0, c0] if r0 < r1 and c0 < c1 else 0.0
            if i == j:
                inside[i] = common
                gradient[i] = answers[i] - common - doubts[i] * multipliers[i]
            curvature[i, j] = common - inside[i] * inside[j] / total
        curvature[i, i] = max(curvature[i, i], 0.0) * (1 + 1e-9) + doubts[i]
    return curvature, gradient


@compiled
def _solve(matrix: np.ndarray, right: np.ndarray) -> np.ndarray:
    """By Cholesky's decomposition of the lower half, in place."""
    number = right.size
    solution = right.copy()
    for i in range(number):
        for j in range(i + 1):
            rest = matrix[i, j]
            for k in range(j):
                rest -= matrix[i, k] * matrix[j, k]
            matrix[i, j] = np.sqrt(max(rest, 1e-12 * matrix[i, i])) if i == j else rest / matrix[j, j]
        for k in range(i):
            solution[i] -= matrix[i, k] * solution[k]
        solution[i] /= matrix[i, i]
    for i in range(number - 1, -1, -1):
        solution[i] /= matrix[i, i]
        for j in range(i):
            solution[j] -= matrix[i, j] * solution[i]
    return solution
