"""Make the rows for prefix sums that come with the package: `python tools/optimise_prefix_rows.py` (about ten seconds)."""

from __future__ import annotations

import numpy as np

from jostle.kernel.partition import Vector
from jostle.linear.design.prefix_rows import CELL_WEIGHT, SHIPPED

POINTS = 512
"""Rows are optimised at no more points than this."""

ROWS = {8: 2, 16: 3, 32: 5, 64: 7, 128: 10, 256: 16, 512: 24, 1024: 40, 2048: 64, 4096: 104}
"""By the number of cells, how many rows there are."""


def optimise(n: int) -> tuple[float, Vector]:
    """The variance of all prefix sums together, for noise of variance 1, and R at its points.

    >>> total, rows = optimise(16)
    >>> rows.shape
    (3, 16)
    """
    from scipy.optimize import minimize

    points = min(n, POINTS)
    start = np.sqrt(first_guess(points, ROWS[n]))
    found = minimize(
        variance, start.reshape(-1), args=(points, n // points), jac=True, method="L-BFGS-B", options={"maxiter": 250}
    )
    squares = found.x.reshape(start.shape) ** 2 + 1e-9
    return float(found.fun), squares / squares.sum(axis=0) * (1 - CELL_WEIGHT)


def first_guess(points: int, rows: int) -> Vector:
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


def variance(roots: Vector, points: int, width: int) -> tuple[float, Vector]:
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
    found = {str(n): optimise(n)[1].astype(np.float16) for n in ROWS}
    np.savez_compressed(SHIPPED, allow_pickle=False, **found)
