"""Noisy histograms over several axes, each cell drawn to what it would be if the axes had nothing to do with each other.

Most cells of a table of several columns hold next to nothing, and the sums along its axes say which. So a cell is drawn to
the product of these sums' shares, by as much as cells with products like its own are off by noise alone. It is empirical
Bayes (Efron, Morris: Stein's estimation rule and its competitors, 1973) in groups of cells, without a constant that was
fitted to data. Post-processing only.
"""

from __future__ import annotations

import math

import numpy as np

from jostle.kernel.partition import Vector


def drawn_to_independence(noisy: Vector, variance: float) -> Vector:
    """Cells of at least 0, closer to the true ones in the mean; `variance` is that of the noise on each cell.

    A group has about twice the root of the number of cells. Of one axis, cells are drawn to their mean.

    >>> noisy = np.array([[90.0, -8.0, 7.0], [9.0, -6.0, 2.0]])
    >>> drawn_to_independence(noisy, 50.0).round().tolist()
    [[82.0, 0.0, 7.0], [5.0, 0.0, 0.0]]
    """
    if noisy.size < 2 or not variance > 0:
        return np.maximum(noisy, 0.0)
    expected = _independent(noisy).reshape(-1)
    order = np.argsort(expected, kind="stable")
    prior, apart = expected[order], (noisy.reshape(-1) - expected)[order]
    starts = np.linspace(0, noisy.size, max(1, round(math.sqrt(noisy.size) / 2)), endpoint=False).astype(np.int64)
    sizes = np.diff([*starts, noisy.size])
    beyond = np.maximum(np.add.reduceat(apart**2, starts) / sizes - variance, 0.0)  # what is not noise, in each group
    kept = np.repeat(beyond / (beyond + variance), sizes)
    found = np.empty(noisy.size)
    found[order] = np.maximum(prior + kept * apart, 0.0)
    return found.reshape(noisy.shape)


def _independent(noisy: Vector) -> Vector:
    """The product of the shares along each axis, times the sum of all cells; of one axis, the mean."""
    total = max(float(noisy.sum()), 0.0)
    if noisy.ndim < 2 or not total:
        return np.full(noisy.shape, total / noisy.size)
    found = np.full(noisy.shape, total)
    for place in range(noisy.ndim):
        along = np.maximum(noisy.sum(axis=tuple(other for other in range(noisy.ndim) if other != place)), 0.0)
        shape = [1] * noisy.ndim
        shape[place] = -1
        found = found * (along / along.sum()).reshape(shape)
    return found
