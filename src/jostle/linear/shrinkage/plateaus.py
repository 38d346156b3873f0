"""Empirical Bayes for cells in a row that share a level: a hidden Markov chain of levels under Laplace noise.

From one cell to the next the level stays, drifts a little, or jumps to a level drawn anew; how often it does each, and
where new levels lie, is fitted to the noisy counts themselves. The posterior mean of every cell given all cells then
follows exactly, forward and backward along the row (Baum, Petrie, Soules and Weiss 1970). It finds runs of zeros, steps and
slopes of any length without being told which. Post-processing alone.
"""

from __future__ import annotations

import math

import numpy as np

from jostle.kernel.partition import Counts, Vector
from jostle.linear.shrinkage import _plateaus

REACH = 10.0
"""A cell's level is sought within so many scales of its noisy count: noise is larger once in e¹⁰ cells."""

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
    place, size = _plateaus.places(first, number, np.argsort(first, kind="stable"))
    likely = _plateaus.likelihoods(noisy, float(scale), step, first, number)
    prior, moves, near = np.full(size, 1.0 / size), np.array(MOVES), math.exp(-step / (DRIFT * scale))
    for _ in range(ROUNDS):
        ahead, filtered, sums = _plateaus.forward(likely, first, number, place, prior, moves, near)
        later, prior, moves = _plateaus.backward(likely, first, number, place, prior, moves, near, filtered, sums)
    given_all, given_others = filtered * later, ahead * later
    mass = given_all.sum(axis=1)
    places = (first[:, None] + np.arange(likely.shape[1])) * step
    means = (given_all * places).sum(axis=1) / mass
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
