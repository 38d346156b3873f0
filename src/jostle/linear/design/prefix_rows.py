"""Rows that, measured beside the cells, answer prefix sums and ranges with little variance.

A strategy of the form [d·I; R] (McKenna, Miklau, Hay, Machanavajjhala: Optimizing error of high-dimensional statistical
queries under
differential privacy, PVLDB 11(10), 2018: OPT₀, p-identity), with one d for all cells, so that all cells get the same noise,
and with the
columns of R adding up to 1 − d, so that every column's norm is 1. R minimises the total variance of all prefix sums after
least squares.

R is piecewise linear along the domain: it is optimised at no more than 512 points, for domains of 8, 16, … 4,096 cells, and
drawn out to any
other size. `python -m jostle.linear.design.prefix_rows` computes the file that comes with the package, in about ten seconds.
"""

from __future__ import annotations

from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

import numpy as np

from jostle.kernel.partition import Vector

CELL_WEIGHT = 0.45
"""d: what is left for the rows is 1 − d. The optimum is flat between 0.4 and 0.5."""

_FILE = "prefix_rows.npz"
_POINTS = 512
_ROWS = {8: 2, 16: 3, 32: 5, 64: 7, 128: 10, 256: 16, 512: 24, 1024: 40, 2048: 64, 4096: 104}


@lru_cache(maxsize=64)
def prefix_rows(n: int) -> Vector:
    """R for n cells: non-negative, its columns adding up to 1 − d.

    >>> rows = prefix_rows(100)
    >>> rows.shape, bool(np.allclose(rows.sum(axis=0), 1 - CELL_WEIGHT))
    ((10, 100), True)
    """
    if n < 4:
        return np.full((1, n), 1 - CELL_WEIGHT)
    size = min(max(8, 1 << (n - 1).bit_length()), max(_ROWS))
    points = _shipped()[size].astype(np.float64)
    at = np.clip((np.arange(n) + 0.5) * points.shape[1] / n - 0.5, 0, points.shape[1] - 1)
    low = np.floor(at).astype(np.int64)
    high = np.minimum(low + 1, points.shape[1] - 1)
    rows = points[:, low] * (1 - (at - low)) + points[:, high] * (at - low)
    return np.asarray(rows / rows.sum(axis=0) * (1 - CELL_WEIGHT))


@cache
def _shipped() -> dict[int, Any]:
    with (files("jostle.linear") / _FILE).open("rb") as file, np.load(file) as stored:
        return {int(name): stored[name] for name in stored.files}


def optimise(n: int) -> tuple[float, Vector]:
    """The variance of all prefix sums together, for noise of variance 1, and R at its points.

    >>> variance, rows = optimise(16)
    >>> rows.shape
    (3, 16)
    """
    from scipy.optimize import minimize

    points = min(n, _POINTS)
    start = np.sqrt(_first_guess(points, _ROWS[n]))
    found = minimize(
        _variance, start.reshape(-1), args=(points, n // points), jac=True, method="L-BFGS-B", options={"maxiter": 250}
    )
    squares = found.x.reshape(start.shape) ** 2 + 1e-9
    return float(found.fun), squares / squares.sum(axis=0) * (1 - CELL_WEIGHT)


def _first_guess(points: int, rows: int) -> Vector:
    """Overlapping tents of two widths and one slope: the form that the optimum takes from random starts too."""
    at = (np.arange(points) + 0.5) / points
    narrow = max(1, round(0.8 * (rows - 1)))
    wide = rows - 1 - narrow
    tents = [
        np.clip(1 - np.abs(at - (k + 0.5) / number) * number / 1.2, 0, None)
        for number in (narrow, wide)
        for k in range(number)
    ]
    return np.array([*tents, 1.2 - at][:rows]) + 0.02


def _variance(roots: Vector, points: int, width: int) -> tuple[float, Vector]:
    """tr(P (d²I + R'R)⁻¹ P') and its gradient in the square roots of R before normalisation, in O(points × rows²).

    R is constant on blocks of `width` cells. What a prefix has within blocks is measured by the cells alone; between
    blocks, prefix sums of blocks have the Gram matrix K = width²·P'P − width(width − 1)/2·11' − (width² − 1)/6·I.
    """
    free = roots.reshape(-1, points)
    squares = free**2 + 1e-9
    columns = squares.sum(axis=0)
    rows = squares / columns * (1 - CELL_WEIGHT)
    cells = CELL_WEIGHT**2

    def gram(vectors: Vector) -> Vector:
        twice = np.cumsum(np.cumsum(vectors, axis=1)[:, ::-1], axis=1)[:, ::-1]
        totals = vectors.sum(axis=1, keepdims=True)
        return np.asarray(width**2 * twice - width * (width - 1) / 2 * totals - (width**2 - 1) / 6 * vectors)

    inner = np.linalg.inv(np.eye(len(rows)) + rows @ rows.T * (width / cells))
    n = points * width
    value = n * (n + 1) / 2 / cells - np.sum((rows @ gram(rows).T) * inner) * width / cells**2
    solved = inner @ rows / cells
    pulled = gram(solved)
    gradient = -2 * width * (pulled / cells - (pulled @ rows.T) @ inner @ rows * (width / cells**2))
    through = (gradient - (gradient * squares).sum(axis=0) / columns) * (1 - CELL_WEIGHT) / columns
    return value / n, (through * 2 * free).reshape(-1) / n


if __name__ == "__main__":
    found = {str(n): optimise(n)[1].astype(np.float16) for n in _ROWS}
    np.savez_compressed(str(files("jostle.linear") / _FILE), **found)  # type: ignore[arg-type]  # names are sizes
