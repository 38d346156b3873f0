"""Forward and backward along a line of noisy counts: the loops behind `plateaus`, compiled.

A cell's level is a whole number of steps of a lattice, sought near the cell's noisy count alone: `first` and `number` give
that window, and `place` where it begins in the prior, which is kept for every level of any window. `moves` has the shares of
the three ways from a level to the next: to stay, to drift, and to jump to a level of the prior.
"""

from __future__ import annotations

import numpy as np

from jostle.kernel.compiled import compiled


@compiled
def places(first: np.ndarray, number: np.ndarray, order: np.ndarray) -> tuple[np.ndarray, int]:
    """Where each window begins in an array of all levels that any window has, and how many these are.

    The windows are to be taken in rising order of their first level.
    """
    out = np.empty(first.size, dtype=np.int64)
    size, last, shift = 0, np.int64(-1), np.int64(0)
    for t in order:
        if first[t] > last:
            shift = size - first[t]
        out[t] = first[t] + shift
        if first[t] + number[t] - 1 > last:
            last = first[t] + number[t] - 1
            size = last + shift + 1
    return out, size


@compiled
def _drift(source: np.ndarray, apart: int, near: float, rising: np.ndarray, falling: np.ndarray, out: np.ndarray) -> None:
    """Every level's mass, spread to both sides by a factor for each step, in a window that begins so many levels further."""
    size = source.size
    rising[0] = source[0]
    for i in range(1, size):
        rising[i] = source[i] + near * rising[i - 1]
    falling[size - 1] = source[size - 1]
    for i in range(size - 2, -1, -1):
        falling[i] = source[i] + near * falling[i + 1]
    for j in range(out.size):
        i = j + apart
        if i < 0:
            out[j] = falling[0] * near**-i
        elif i >= size - 1:
            out[j] = rising[size - 1] * near ** (i - size + 1)
        else:
            out[j] = rising[i] + near * falling[i + 1]


@compiled
def likelihoods(noisy: np.ndarray, scale: float, step: float, first: np.ndarray, number: np.ndarray) -> np.ndarray:
    """How likely each noisy count is at each level of its window, one row per cell, without the noise's constant."""
    widest = 0
    for m in number:
        widest = max(widest, m)
    out = np.zeros((noisy.size, widest))
    for t in range(noisy.size):
        for j in range(number[t]):
            out[t, j] = np.exp(-abs(noisy[t] - (first[t] + j) * step) / scale)
    return out


@compiled
def forward(
    likely: np.ndarray,
    first: np.ndarray,
    number: np.ndarray,
    place: np.ndarray,
    prior: np.ndarray,
    moves: np.ndarray,
    near: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The chances of each cell's levels given the cells before it, the same given itself too, and what these added up to."""
    n, widest = likely.shape
    ahead, filtered, sums = np.zeros((n, widest)), np.zeros((n, widest)), np.zeros(n)
    drifted, rising, falling = np.zeros(widest), np.zeros(widest), np.zeros(widest)
    even = (1 - near) / (1 + near)
    for t in range(n):
        m = number[t]
        for j in range(m):
            ahead[t, j] = prior[place[t] + j] * (moves[2] if t > 0 else 1.0)
        if t > 0:
            k, apart = number[t - 1], first[t] - first[t - 1]
            _drift(filtered[t - 1, :k], apart, near, rising, falling, drifted[:m])
            for j in range(m):
                ahead[t, j] += moves[1] * even * drifted[j]
            for j in range(max(0, -apart), min(m, k - apart)):
                ahead[t, j] += moves[0] * filtered[t - 1, j + apart]
        total = 1e-300
        for j in range(m):
            filtered[t, j] = ahead[t, j] * likely[t, j]
            total += filtered[t, j]
        sums[t] = total
        for j in range(m):
            filtered[t, j] /= total
    return ahead, filtered, sums


@compiled
def backward(
    likely: np.ndarray,
    first: np.ndarray,
    number: np.ndarray,
    place: np.ndarray,
    prior: np.ndarray,
    moves: np.ndarray,
    near: float,
    filtered: np.ndarray,
    sums: np.ndarray,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What the cells after each say of its levels, and the next round's prior and moves (EM)."""
    n, widest = likely.shape
    later = np.zeros((n, widest))
    drifted, rising, falling, pull = np.zeros(widest), np.zeros(widest), np.zeros(widest), np.zeros(widest)
    even = (1 - near) / (1 + near)
    seen, moved = np.zeros(prior.size), np.zeros(3)
    for j in range(3):
        moved[j] = 1.0
    for j in range(widest):
        later[n - 1, j] = 1.0
    for t in range(n - 1, -1, -1):
        m = number[t]
        share = moves[2] if t > 0 else 1.0
        new = 0.0
        for j in range(m):
            pull[j] = likely[t, j] * later[t, j] / sums[t]
            weight = share * prior[place[t] + j] * pull[j]
            seen[place[t] + j] += weight
            new += weight
        if t == 0:
            break
        k, apart = number[t - 1], first[t] - first[t - 1]
        _drift(pull[:m], -apart, near, rising, falling, drifted[:k])
        moved[2] += new
        for i in range(k):
            value = moves[1] * even * drifted[i]
            moved[1] += filtered[t - 1, i] * value
            if 0 <= i - apart < m:
                same = moves[0] * pull[i - apart]
                moved[0] += filtered[t - 1, i] * same
                value += same
            later[t - 1, i] = value + new
    total = 0.0
    for weight in seen:
        total += weight
    for k in range(seen.size):
        seen[k] /= total
    total = moved[0] + moved[1] + moved[2]
    for j in range(3):
        moved[j] /= total
    return later, seen, moved
