"""A guess at every cell of a noisy table from the other cells: all of it is post-processing of what was released.

Two ways are taken, since they fail on different tables: sums over one attribute, two … that stand out from their noise, and
patterns that several slices of the table share. What a guess gets wrong is for the cells themselves to say: see
`_cells.posterior_leads`.
"""

from __future__ import annotations

import numpy as np

from jostle.learn.registry import FloatArray

_VARIANCE = 2.0
"""Of Laplace noise whose scale is 1."""


def smoothed(noisy: FloatArray, scale: float, shape: tuple[int, ...]) -> FloatArray:
    """The middle between two guesses at a table of this shape that has Laplace noise of this scale on every cell.

    Taken from some twenty ways that were tried on collected and made-up tables, none of which a figure is reported on.

    >>> slope = np.add.outer(np.arange(12.0), np.arange(12.0)).ravel()
    >>> noisy = slope + np.random.default_rng(0).laplace(scale=5, size=slope.size)
    >>> bool(np.abs(smoothed(noisy, 5.0, (12, 12)) - slope).mean() < 0.5 * np.abs(noisy - slope).mean())
    True
    """
    table = noisy.reshape(shape) / scale
    return np.asarray(scale * (by_parts(table) + by_rank(table)) / 2).reshape(noisy.shape)


def by_parts(table: FloatArray) -> FloatArray:
    """The mean, the effect of each attribute, of each two … but not of all at once: each drawn to 0 as its noise asks.

    That is the analysis of variance of a table whose noise has scale 1. A part whose squares add up to no more than noise
    alone would make is taken for noise; of the others, noise's share is taken off (as James and Stein, 1961, do).

    >>> by_parts(np.add.outer([0.0, 1000, 5000], [0.0, 2000])).round().tolist()
    [[0.0, 2000.0], [1000.0, 3000.0], [5000.0, 7000.0]]
    """
    return np.asarray(np.broadcast_to(_shrunken(table, 0, 1, 1), table.shape))


def _shrunken(part: FloatArray, axis: int, repeats: int, freedom: int) -> FloatArray:
    """A part that has been averaged or centred along the axes before this one, taken apart along the others.

    Each of its numbers stands for so many cells, and so many numbers of it are free.
    """
    if axis < part.ndim:
        width, mean = part.shape[axis], part.mean(axis=axis, keepdims=True)
        same = _shrunken(mean, axis + 1, repeats * width, freedom)
        return same + _shrunken(part - mean, axis + 1, repeats, freedom * (width - 1))
    if part.size == 1:
        return part  # the mean of all
    squares, chance = float((part**2).sum()) * repeats, _VARIANCE * freedom
    return part * (1 - chance / squares) if repeats > 1 and squares > chance else np.zeros_like(part)


def by_rank(table: FloatArray) -> FloatArray:
    """For each attribute the table as a matrix, whose singular values are drawn to 0 as its noise asks; the mean of these.

    Slices of a table are often multiples of a few patterns, which a few singular values hold; noise is in all of them.

    >>> by_rank(np.outer([1000.0, 0, 5000], [1.0, 3])).round().tolist()
    [[1000.0, 3000.0], [0.0, 0.0], [5000.0, 15000.0]]
    """
    found = np.zeros(table.shape)
    for axis in range(table.ndim):
        slices = np.moveaxis(table, axis, 0)
        matrix = _of_low_rank(slices.reshape(slices.shape[0], -1))
        found += np.moveaxis(matrix.reshape(slices.shape), 0, axis) / table.ndim
    return found


def _of_low_rank(matrix: FloatArray) -> FloatArray:
    """With the singular values that promise the least squared error (Gavish and Donoho 2017, for the Frobenius norm)."""
    few, many = sorted(matrix.shape)
    unit, ratio = np.sqrt(_VARIANCE * many), few / many
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    levels = np.maximum(values / unit, 1 + np.sqrt(ratio))  # the largest that noise alone makes: it is drawn to 0
    kept = unit * np.sqrt(np.maximum((levels**2 - ratio - 1) ** 2 - 4 * ratio, 0)) / levels
    return np.asarray((left * kept) @ right)
