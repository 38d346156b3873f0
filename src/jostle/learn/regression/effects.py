"""From noisy sums in bins to smooth effects: post-processing.

Effects are drawn from a Gaussian process over the bins, whose size and roughness are the most likely ones, given the noise.
So where noise is large they are nearly a line, or nothing; where it is small they follow the means.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from jostle.kernel.partition import Counts
from jostle.learn.cells import width
from jostle.learn.registry import FloatArray
from jostle.learn.regression.task import is_ordered
from jostle.schema import Column

SIZES = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8)
"""The sizes of effects that are tried, in parts of half the range."""

ROUGHNESS: tuple[float | None, ...] = (None, 0.5, 0.25, 0.12)
"""How far apart two places are whose effects differ, in parts of an attribute's range; None for straight lines."""


def coordinates(columns: Sequence[Column], bins: Sequence[Counts]) -> FloatArray:
    """A place for each combination of bins: an ordered attribute is an axis; other bins have an axis each.

    >>> from jostle.schema import Integer
    >>> coordinates([Integer(0, 2)], [np.array([0, 1, 1, 2])]).tolist()
    [[-0.5, 0.0], [0.5, 0.0], [0.0, 0.5]]
    """
    found = np.zeros((1, 0))
    for column, table in zip(columns, bins, strict=True):
        count = width(table)
        named = int(table[column.values - 1]) + 1 if is_ordered(column) else 0
        line = np.zeros((count, 1 if named else 0))
        if named:
            line[:named, 0] = np.linspace(-0.5, 0.5, named) if named > 1 else 0.0
        axes = np.hstack([line, 0.5 * np.eye(count)[:, named:]])
        found = np.hstack([np.repeat(found, count, axis=0), np.tile(axes, (len(found), 1))])
    return found


def smooth_effects(sums: FloatArray, counts: FloatArray, variance: float, half: float, places: FloatArray) -> FloatArray:
    """The effect in each bin, from noisy sums of what is left and noisy counts, each with noise of this variance per unit.

    >>> places = np.linspace(-0.5, 0.5, 5)[:, None]
    >>> smooth_effects(np.array([-80.0, -41.0, 1.0, 39.0, 81.0]), np.full(5, 10.0), 0.01, 10.0, places).round().tolist()
    [-8.0, -4.0, 0.0, 4.0, 8.0]
    >>> smooth_effects(np.array([-8.0, 30.0, 1.0, -39.0, 8.0]), np.full(5, 10.0), 100.0, 10.0, places).round().tolist()
    [0.0, 0.0, 0.0, 0.0, 0.0]
    """
    held = np.maximum(counts, 0.0)
    noise = variance * half**2 * np.eye(len(sums))
    best, found = -np.inf, np.zeros(len(sums))
    for shape in _shapes(places):
        for size in SIZES:
            spread = (size * half) ** 2 * shape
            factor = np.linalg.cholesky(held[:, None] * spread * held + noise)
            white = np.linalg.solve(factor, sums)
            likely = -0.5 * float(white @ white) - float(np.log(np.diag(factor)).sum())
            if likely > best:
                best, found = likely, spread @ (held * np.linalg.solve(factor.T, white))
    return found


def _shapes(places: FloatArray) -> list[FloatArray]:
    lines = 0.25 + places @ places.T * 4
    apart = ((places[:, None] - places[None]) ** 2).sum(axis=-1)
    return [lines if scale is None else lines + np.exp(-apart / (2 * scale**2)) for scale in ROUGHNESS]
