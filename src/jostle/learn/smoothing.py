"""Estimates of the classes in noisy cells: all of it is post-processing of released numbers.

Where cells are combinations of several attributes' bins, each cell is first guessed from the others, by two methods that
fail on different tables: by sums over one attribute, two … that stand out from their noise, and by patterns that several
slices of the table share. The cells' own numbers then correct the guess by empirical Bayes, see `posterior_leads`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from jostle.learn.registry import FloatArray

_ROUNDS = 30
_NO_NOISE = 1e-6
"""Smaller scales count as this one, so that the product of two of them is not rounded to 0."""

_PER_FACTOR = 2

_VARIANCE = 2.0
"""Of Laplace noise whose scale is 1."""


def shares_from_leads(
    noisy: FloatArray, scale: float, shape: tuple[int, ...] = (), total: float | None = None
) -> FloatArray:
    """The two classes' shares in each cell, from the posterior means of the second's leads.

    `total` is the number of all records, if it is known: those beyond the leads must be somewhere, see `beyond_leads`.

    >>> shares_from_leads(np.array([400.0]), 1.0, total=1_000).round(2).tolist()
    [[0.3, 0.7]]
    """
    means = _posterior(noisy, scale, shape)
    sizes = np.abs(means) + 2 * scale
    if total is not None:
        sizes += beyond_leads(means, scale, total)
    second = 0.5 + 0.5 * means / sizes
    return np.column_stack([1 - second, second])


EVENLY: Final = 0.75
"""Records beyond the leads go with this power of the lead: with 0 cells would have equally many, with 1 equal shares.

Of 0, 0.3, 0.5, 0.75 and 1 it has the least log loss on collected and made-up tables, at ε = 0.3 and at 2.
"""


def beyond_leads(leads: FloatArray, scale: float, total: float) -> FloatArray:
    """How many records each cell may have beyond its lead, half of each class: more where the lead is larger.

    All together they are those that the leads leave over. So the mean probability is about the share of right predictions.

    Privacy: post-processing of noisy leads and of a number of records that is public or was paid for.
    """
    weights = weights_beyond(leads, scale)
    left = max(total - float(np.abs(leads).sum()), 0.0)
    return np.asarray(weights * left / max(float(weights.sum()), _NO_NOISE))


def weights_beyond(leads: FloatArray, scale: float) -> FloatArray:
    """What cells with these leads have of the records beyond the leads, in proportion; leads below the noise have little."""
    sizes = np.abs(leads)
    return np.asarray(sizes * (sizes + scale) ** (EVENLY - 1))


def shares_from_counts(noisy: FloatArray, scale: float, shape: tuple[int, ...] = ()) -> FloatArray:
    """Each class's shares, from posterior means of the cells' sizes and of how much it exceeds its overall share there."""
    classes = noisy.shape[1]
    if classes == 1:
        return np.ones_like(noisy)
    overall = np.maximum(noisy.sum(axis=0), scale)
    overall = overall / overall.sum()
    sizes = np.maximum(_posterior(noisy.sum(axis=1), scale * np.sqrt(classes), shape), 0)
    beyond = noisy - noisy.sum(axis=1, keepdims=True) * overall
    spreads = scale * np.sqrt((1 - overall) ** 2 + (classes - 1) * overall**2)
    excess = np.column_stack([_posterior(beyond[:, c], float(spreads[c]), shape) for c in range(classes)])
    counts = np.maximum(sizes[:, None] * overall + excess, 0) + overall * scale / 4
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))


def _posterior(noisy: FloatArray, scale: float, shape: tuple[int, ...]) -> FloatArray:
    """Posterior means; with several attributes, of the differences from a guess by the rest of the table.

    Privacy: post-processing of noisy numbers that were paid for, their noise's scale and public widths.
    """
    if len(shape) < 2:
        return posterior_leads(noisy, scale)
    guess = smoothed(noisy, max(scale, _NO_NOISE), shape)
    return guess + posterior_leads(noisy - guess, scale)


def posterior_leads(noisy: FloatArray, scale: float) -> FloatArray:
    """Posterior means of signed numbers under Laplace noise: empirical Bayes with a smooth prior.

    The prior is a mixture: exactly zero, or exponentially distributed to either side, with scales from a fraction of the
    noise's to the largest number's. Its weights are those that make the noisy numbers likeliest. Where most cells lean to
    one side, a small lead to the other side therefore counts as noise.

    >>> bool(posterior_leads(np.array([-9.0, -8, -7, -9, -8, 1]), 2.0)[-1] < 0)
    True
    """
    if not noisy.size:
        return noisy
    scale = max(scale, _NO_NOISE)
    largest = max(float(np.abs(noisy).max()), scale)
    steps = max(1, int(np.ceil(_PER_FACTOR * np.log2(4 * largest / scale))))
    scales = scale / 4 * 2 ** (np.arange(steps + 1) / _PER_FACTOR)
    densities, firsts = _smeared(noisy, scale, scales)
    weights = np.full(densities.shape[0], 1 / densities.shape[0])
    shares, added = np.empty_like(densities), np.add.reduce
    for _ in range(_ROUNDS):
        np.multiply(weights[:, None], densities, out=shares)
        shares /= added(shares, axis=0)
        weights = (added(shares, axis=1) + 1 / weights.size) / (noisy.size + 1)
    return np.asarray((weights @ firsts) / (weights @ densities))


def _smeared(noisy: FloatArray, scale: float, scales: FloatArray) -> tuple[FloatArray, FloatArray]:
    """For each part of the prior, the density of each noisy number, and that times the mean of the true number given it."""
    sides = np.array([[-1.0], [1.0]])
    density, first = _one_sided(sides * noisy, scale, scales.tolist())
    densities = np.concatenate([_laplace(noisy, scale)[None], density.reshape(-1, noisy.size)])
    firsts = np.concatenate([np.zeros((1, noisy.size)), (sides * first).reshape(-1, noisy.size)])
    return densities, firsts


def _laplace(u: FloatArray, scale: float) -> FloatArray:
    return np.asarray(np.exp(-np.abs(u) / scale) / (2 * scale))


def _one_sided(u: FloatArray, b: float, scales: Sequence[float]) -> tuple[FloatArray, FloatArray]:
    """∫₀^∞ e^(−d/s)/s · e^(−|u−d|/b)/(2b) · (1, d) dd in closed form, for b ≠ s; where they meet, s is moved a little.

    For each scale s in turn, along a new first axis.
    """

    def each(numbers: list[float]) -> FloatArray:
        return np.array(numbers).reshape(-1, *[1] * u.ndim)

    moved = [b * 1.001 if abs(s - b) < 1e-3 * b else s for s in scales]
    outer = [1 / s + 1 / b for s in moved]  # beyond u both fall
    inner = [1 / s - 1 / b for s in moved]  # below u they fall against each other
    up, down = np.maximum(u, 0.0), np.minimum(u, 0.0)
    at_u = np.exp(-up / each(moved) + down / b)  # the product at d = max(u, 0)
    at_zero = np.exp(-np.abs(u) / b)
    tail, tail_first = at_u / each(outer), at_u * (up / each(outer) + each([1 / o**2 for o in outer]))
    body = np.where(u > 0, (at_zero - at_u) / each(inner), 0.0)
    body_first = np.where(u > 0, (at_zero - at_u) / each([i**2 for i in inner]) - up * at_u / each(inner), 0.0)
    front = each([1 / (2 * b * s) for s in moved])
    return front * (tail + body), front * (tail_first + body_first)


def smoothed(noisy: FloatArray, scale: float, shape: tuple[int, ...]) -> FloatArray:
    """The middle between two guesses at a table of this shape that has Laplace noise of this scale on every cell.

    Chosen among some twenty methods that were tried on collected and made-up tables; no reported figure uses these tables.

    >>> slope = np.add.outer(np.arange(12.0), np.arange(12.0)).ravel()
    >>> noisy = slope + np.random.default_rng(0).laplace(scale=5, size=slope.size)
    >>> bool(np.abs(smoothed(noisy, 5.0, (12, 12)) - slope).mean() < 0.5 * np.abs(noisy - slope).mean())
    True
    """
    table = noisy.reshape(shape) / scale
    return np.asarray(scale * (by_parts(table) + by_rank(table)) / 2).reshape(noisy.shape)


def by_parts(table: FloatArray) -> FloatArray:
    """The mean, the effect of each attribute, of each two … but not of all at once: each shrunk towards 0 by its noise.

    That is the analysis of variance of a table whose noise has scale 1. A part whose squares add up to no more than pure
    noise would is set to 0; the others are shrunk by the noise's share (as in James and Stein, 1961).

    >>> by_parts(np.add.outer([0.0, 1000, 5000], [0.0, 2000])).round().tolist()
    [[0.0, 2000.0], [1000.0, 3000.0], [5000.0, 7000.0]]
    """
    return np.asarray(np.broadcast_to(_shrunken(table, 0, 1, 1), table.shape))


def _shrunken(part: FloatArray, axis: int, repeats: int, freedom: int) -> FloatArray:
    """A part that has been averaged or centred along the axes before this one, decomposed along the others.

    Each of its numbers stands for `repeats` cells, and it has `freedom` degrees of freedom.
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
    """The table as a matrix, once per attribute, with its singular values shrunk by its noise; the mean of these matrices.

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
    """The singular values are shrunk to minimise the squared error (Gavish and Donoho 2017, for the Frobenius norm)."""
    few, many = sorted(matrix.shape)
    unit, ratio = np.sqrt(_VARIANCE * many), few / many
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    levels = np.maximum(values / unit, 1 + np.sqrt(ratio))  # the largest of pure noise: it is shrunk to 0
    kept = unit * np.sqrt(np.maximum((levels**2 - ratio - 1) ** 2 - 4 * ratio, 0)) / levels
    return np.asarray((left * kept) @ right)
