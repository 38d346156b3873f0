"""Empirical Bayes for cells in a row that share a level: a hidden Markov chain of levels under Laplace noise.

From one cell to the next the level stays, drifts a little, or jumps to a level drawn anew; how often it does each, and
where new levels lie, is fitted to the noisy counts themselves. The posterior mean of every cell given all cells then
follows exactly, forward and backward along the row (Baum, Petrie, Soules and Weiss 1970). It finds runs of zeros, steps and
slopes of any length without knowing which. Post-processing only.
"""

from __future__ import annotations

import math

import numpy as np

from jostle.kernel.compiled import compiled
from jostle.kernel.partition import Counts, Vector

REACH = 10.0
"""A cell's level is sought within this many scales of its noisy count: noise is larger once in e¹⁰ cells."""

DRIFT = 4.0
"""How many scales a level drifts on average, if it drifts."""

MOVES = (0.5, 0.3, 0.2)
"""How often a level stays, drifts and jumps, before the counts are looked at."""

ROUNDS = 8
"""How often these and the prior are improved; more does not pay."""

LONGEST = 2**15
"""Longer rows are taken in pieces, to bound the memory."""


def plateaus(noisy: Vector, scale: float) -> tuple[Vector, Vector]:
    """Posterior means of counts in a row under Laplace noise of that scale, and how well the others foretell each.

    The latter is the density of a cell's noisy count given all the others, without the noise's constant.

    >>> steps = np.repeat([3.0, 40.0, 0.0], 32)
    >>> noisy = steps + np.random.default_rng(0).laplace(scale=2, size=96).round()
    >>> means, foretold = plateaus(noisy, scale=2.0)
    >>> bool(((means - steps) ** 2).mean() < 0.25 * ((noisy - steps) ** 2).mean())
    True
    """
    if noisy.size > LONGEST:
        pieces = np.array_split(noisy, math.ceil(noisy.size / LONGEST))
        means, foretold = zip(*(plateaus(piece, scale) for piece in pieces), strict=True)
        return np.concatenate(means), np.concatenate(foretold)
    step = max(1.0, math.floor(scale / 3))
    noisy = np.maximum(noisy, -3 * REACH * scale)  # below 0 a count says the same of all levels, however far
    first = np.maximum(np.floor((noisy - REACH * scale) / step), 0).astype(np.int64)
    last = np.maximum(np.ceil((noisy + REACH * scale) / step), 3).astype(np.int64)
    number = last - first + 1
    place, size = places(first, number, np.argsort(first, kind="stable"))
    likely = likelihoods(noisy, float(scale), step, first, number)
    prior, moves, near = np.full(size, 1.0 / size), np.array(MOVES), math.exp(-step / (DRIFT * scale))
    for _ in range(ROUNDS):
        ahead, filtered, sums = forward(likely, first, number, place, prior, moves, near)
        later, prior, moves = backward(likely, first, number, place, prior, moves, near, filtered, sums)
    given_all, given_others = filtered * later, ahead * later
    mass = given_all.sum(axis=1)
    levels = (first[:, None] + np.arange(likely.shape[1])) * step
    means = (given_all * levels).sum(axis=1) / mass
    return means, sums * mass / (given_others.sum(axis=1) + 1e-300)


def snakes(shape: tuple[int, ...]) -> list[Counts]:
    """Ways to go through all cells from neighbour to neighbour: along the line, or along the rows and along the columns.

    >>> [way.tolist() for way in snakes((2, 3))]
    [[0, 1, 2, 5, 4, 3], [0, 3, 4, 1, 2, 5]]
    """
    cells = np.arange(math.prod(shape)).reshape(shape)
    ways = [cells] if len(shape) == 1 else [cells, cells.T]
    return [_back_and_forth(way) for way in ways]


def _back_and_forth(cells: Counts) -> Counts:
    """Rows after each other, every second one backwards."""
    if cells.ndim > 1:
        cells = cells.copy()
        cells[1::2] = cells[1::2, ::-1]
    return cells.reshape(-1)


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
    """Every level's mass, spread to both sides by a factor per step, in a window that begins that many levels further."""
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
    likely: Vector, first: Counts, number: Counts, place: Counts, prior: Vector, moves: Vector, near: float
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
    likely: Vector,
    first: Counts,
    number: Counts,
    place: Counts,
    prior: Vector,
    moves: Vector,
    near: float,
    filtered: Vector,
    sums: Vector,
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
