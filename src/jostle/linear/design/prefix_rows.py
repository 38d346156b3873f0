"""Rows that, measured beside the cells, answer prefix sums and ranges with little variance.

A strategy of the form [d·I; R] (McKenna, Miklau, Hay, Machanavajjhala: Optimizing error of high-dimensional statistical
queries under differential privacy, PVLDB 11(10), 2018: OPT₀, p-identity). All cells have the same weight d, so all get the
same noise, and the columns of R add up to 1 − d, so every column's norm is 1. R minimises the total variance of all prefix
sums after least squares.

R is piecewise linear along the domain: `tools/optimise_prefix_rows.py` optimised it at no more than 512 points, for domains
of 8, 16, … 4,096 cells; here it is stretched to any other size.
"""

from __future__ import annotations

from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from jostle.kernel.partition import Vector

CELL_WEIGHT = 0.45
"""d: what is left for the rows is 1 − d. The optimum is flat between 0.4 and 0.5."""

SHIPPED = Path(__file__).with_name("prefix_rows.npz")
"""Made by `python tools/optimise_prefix_rows.py`, from a checkout."""

_SMALLEST, _LARGEST = 8, 4096


@lru_cache(maxsize=64)
def prefix_rows(n: int) -> Vector:
    """R for n cells: non-negative, its columns adding up to 1 − d.

    >>> rows = prefix_rows(100)
    >>> rows.shape, bool(np.allclose(rows.sum(axis=0), 1 - CELL_WEIGHT))
    ((10, 100), True)
    """
    if n < 4:
        return np.full((1, n), 1 - CELL_WEIGHT)
    size = min(max(_SMALLEST, 1 << (n - 1).bit_length()), _LARGEST)
    points = _shipped()[size].astype(np.float64)
    rows = interpolated(points, (np.arange(n) + 0.5) * points.shape[1] / n - 0.5)
    return np.asarray(rows / rows.sum(axis=0) * (1 - CELL_WEIGHT))


def interpolated(rows: Vector, at: Vector) -> Vector:
    """Rows at other places than their own, linearly between two of them; beyond the ends they are constant.

    >>> interpolated(np.array([[0.0, 1.0]]), np.array([-0.25, 0.25, 1.25])).tolist()
    [[0.0, 0.25, 1.0]]
    """
    last = rows.shape[1] - 1
    at = np.clip(at, 0, last)
    low = np.floor(at).astype(np.int64)
    return np.asarray(rows[:, low] * (1 - (at - low)) + rows[:, np.minimum(low + 1, last)] * (at - low))


@cache
def _shipped() -> dict[int, Any]:
    with np.load(SHIPPED, allow_pickle=False) as stored:
        return {int(name): stored[name] for name in stored.files}
