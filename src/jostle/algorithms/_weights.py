"""Multiplicative weights on runs of cells that the measured queries do not tell apart, compiled.

Neighbouring cells that lie in the same measured queries keep the same weight for ever, so a run of them is one mass. A
history of t ranges makes at most 2t + 1 runs, however long the line is. A query is a list of segments: runs that it counts
alike.
"""

from __future__ import annotations

import numpy as np

from jostle.kernel.compiled import compiled


@compiled
def fit(
    mass: np.ndarray,
    multipliers: np.ndarray,
    first: np.ndarray,
    lows: np.ndarray,
    highs: np.ndarray,
    values: np.ndarray,
    answers: np.ndarray,
    doubt: float,
    sweeps: int,
    tolerance: float,
) -> None:
    """Sweep over the history until no answer moves by more than the tolerance: changes `mass` and `multipliers`.

    Each step multiplies the masses in a query by the exponential of its value times a step, and scales all to the total. The
    step is the one for which answer + doubt · multiplier is what was measured; the multiplier is the sum of the query's
    steps.
    """
    total = mass.sum()
    for _ in range(sweeps):
        moved = 0.0
        whole = mass.sum()
        for query in range(answers.size):
            begin, end = first[query], first[query + 1]
            weights, sums = _sums(mass, lows[begin:end], highs[begin:end], values[begin:end], total / whole)
            step, change = _solve(weights, sums, answers[query], doubt, multipliers[query], total)
            multipliers[query] += step
            moved = max(moved, abs(change))
            whole = _multiply(mass, lows[begin:end], highs[begin:end], values[begin:end], step, whole)
        _rescale(mass, total)
        if moved <= tolerance:
            break


@compiled
def replay(
    mass: np.ndarray,
    first: np.ndarray,
    lows: np.ndarray,
    highs: np.ndarray,
    values: np.ndarray,
    answers: np.ndarray,
    sweeps: int,
) -> None:
    """The authors' own update: so many sweeps over the history, each step half the error over the total."""
    total = mass.sum()
    for _ in range(sweeps):
        whole = mass.sum()
        for query in range(answers.size):
            begin, end = first[query], first[query + 1]
            weights, sums = _sums(mass, lows[begin:end], highs[begin:end], values[begin:end], total / whole)
            step = (answers[query] - (weights * sums).sum()) / (2.0 * total)
            whole = _multiply(mass, lows[begin:end], highs[begin:end], values[begin:end], step, whole)
        _rescale(mass, total)


@compiled
def _sums(
    mass: np.ndarray, lows: np.ndarray, highs: np.ndarray, values: np.ndarray, scale: float
) -> tuple[np.ndarray, np.ndarray]:
    """The masses in a query by value; queries that count all their cells alike have one."""
    number = 1
    for at in range(1, values.size):
        if values[at] != values[0]:
            number = values.size
    sums = np.zeros(number)
    for at in range(lows.size):
        inside = 0.0
        for run in range(lows[at], highs[at]):
            inside += mass[run]
        sums[at if number > 1 else 0] += inside * scale
    return values[:number], sums


@compiled
def _multiply(mass: np.ndarray, lows: np.ndarray, highs: np.ndarray, values: np.ndarray, step: float, whole: float) -> float:
    """Multiply a query's masses, and say what all then add up to, if it was `whole`."""
    added = 0.0
    factor = np.exp(values[0] * step)
    for at in range(lows.size):
        if values[at] != values[0]:
            factor = np.exp(values[at] * step)
        for run in range(lows[at], highs[at]):
            grown = mass[run] * factor
            added += grown - mass[run]
            mass[run] = grown
    # Where most is taken away, the difference of two large numbers would be all rounding.
    return whole + added if added > -0.9 * whole else mass.sum()


@compiled
def _rescale(mass: np.ndarray, total: float) -> None:
    """To the total, and no run so close to nothing that no later step could bring it back."""
    mass *= total / mass.sum()
    for run in range(mass.size):
        mass[run] = max(mass[run], 1e-20 * total)


@compiled
def _solve(
    weights: np.ndarray, sums: np.ndarray, answer: float, doubt: float, multiplier: float, total: float
) -> tuple[float, float]:
    """The step that fits one answer, by Newton's method between bounds, and how far the query's answer then moves."""
    outside = max(total - sums.sum(), 0.0)
    before = (weights * sums).sum()
    low, high, step, now = -60.0, 60.0, 0.0, before
    for _ in range(60):
        whole, linear, square = outside, 0.0, 0.0
        for at in range(sums.size):
            grown = sums[at] * np.exp(weights[at] * step)
            whole += grown
            linear += weights[at] * grown
            square += weights[at] * weights[at] * grown
        now = total * linear / whole
        gap = now + doubt * (multiplier + step) - answer
        if abs(gap) <= 1e-6 * doubt:
            break
        if gap > 0:
            high = step
        else:
            low = step
        step -= gap / (total * (square / whole - (linear / whole) ** 2) + doubt)
        if not low < step < high:
            step = (low + high) / 2
    return step, now - before
