"""Strategies that measure every cell and a few overlapping sums besides, with least squares in closed form.

McKenna, Miklau, Hay, Machanavajjhala: Optimizing error of high-dimensional statistical queries under differential privacy,
PVLDB 11(10), 2018, Section 5.2 (p-identity strategies and OPT₀). Each column of [I; Θ] is divided by its sum, so that all
cells weigh the same and no noise is wasted. Public arithmetic: nothing here sees data.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from jostle.kernel.errors import BadInput
from jostle.kernel.partition import Vector
from jostle.kernel.strategies import Matrix, matrix

GramProduct = Callable[[Vector], Vector]
"""From rows r to r WᵀW, for a workload W."""


class PIdentity:
    """Every cell, and p sums Θx of non-negative weights; the strategy to measure is `queries`.

    With `squares`, columns are divided by their L2 norm, which Gaussian noise goes by.

    >>> import numpy as np
    >>> strategy = PIdentity(np.array([[1.0, 1.0]]), (2,))
    >>> strategy.queries.dense().tolist()
    [[0.5, 0.0], [0.0, 0.5], [0.5, 0.5]]
    >>> strategy.least_squares(np.array([1.5, 2.0, 5.0])).tolist()
    [4.0, 5.0]
    """

    queries: Matrix
    """What is measured: cells first, then sums; no column weighs more than 1, up to rounding to a lattice."""

    def __init__(self, theta: Any, shape: tuple[int, ...], *, squares: bool = False) -> None:
        from scipy.sparse import csr_array, diags_array, vstack

        rows = csr_array(theta, dtype=np.float64)
        if rows.ndim != 2 or rows.shape[1] != np.prod(shape) or not np.isfinite(rows.data).all() or (rows.data < 0).any():
            raise BadInput("theta", f"must be non-negative rows over {shape}", "pass one column per cell")
        cells = 1 / (np.sqrt(1 + rows.power(2).sum(axis=0)) if squares else 1 + rows.sum(axis=0))
        self.queries = matrix(vstack([diags_array(cells), rows @ diags_array(cells)], format="csr"), shape)
        self._squares = squares
        # What was rounded to the lattice is what will be measured: solve for that.
        self.cells, self.theta = _parts(self.queries)

    @property
    def shape(self) -> tuple[int, ...]:
        """The domain."""
        return self.queries.shape

    @cached_property
    def _inverse(self) -> Vector:
        """(I + ΘΘᵀ)⁻¹, small: one row per sum."""
        return _inverse(self.theta)

    def least_squares(self, answers: Vector) -> Vector:
        """The cells that fit all noisy answers best: the cells' own, corrected by how far their sums are off (Woodbury)."""
        return least_squares_of((self.cells, self.theta, self._inverse), answers)

    def variance(self, gram: GramProduct, diagonal: Vector) -> float:
        """The workload's total variance after least squares, for noise of variance 1 at a norm of 1: L2, with `squares`."""
        unit, moved = self.queries.unit, self.queries.squared_sensitivities()[0]
        norm = math.sqrt(moved) / unit if self._squares else self.queries.norm / unit
        scaled = self.theta.toarray() / self.cells
        inner = gram(scaled) @ scaled.T
        return float(norm**2 * ((diagonal / self.cells**2).sum() - (self._inverse * inner).sum()))


Split = tuple[Vector, Any, Vector]
"""What each cell is measured with; the sums, in these; and (I + ΘΘᵀ)⁻¹, small: one row per sum."""


@lru_cache(maxsize=4)
def split_of(strategy: Matrix) -> Split | None:
    """What a matrix measures, if it is every cell and some sums besides; otherwise None.

    >>> split_of(PIdentity(np.array([[1.0, 1.0]]), (2,)).queries)[0].tolist()
    [0.5, 0.5]
    """
    entries, size = strategy.entries, strategy.size
    if not np.array_equal(entries.indptr[: size + 1], np.arange(size + 1)) or not np.array_equal(
        entries.indices[:size], np.arange(size)
    ):
        return None
    cells, theta = _parts(strategy)
    return None if (cells == 0).any() else (cells, theta, _inverse(theta))


def least_squares_of(split: Split, answers: Vector) -> Vector:
    """The cells that fit all noisy answers best: the cells' own, corrected by how far their sums are off (Woodbury)."""
    cells, theta, inverse = split
    lead, size = answers.shape[:-1], cells.size
    own = answers[..., :size].reshape(-1, size).T
    sums = answers[..., size:].reshape(own.shape[1], -1).T
    fitted = own + theta.T @ (inverse @ (sums - theta @ own))
    return np.asarray((fitted / cells[:, None]).T.reshape(*lead, size))


def _parts(strategy: Matrix) -> tuple[Vector, Any]:
    from scipy.sparse import csr_array, diags_array

    measured = strategy.entries.astype(np.float64) / strategy.unit
    cells = measured[: strategy.size].diagonal()
    return cells, csr_array(measured[strategy.size :] @ diags_array(1 / cells))


def _inverse(theta: Any) -> Vector:
    inner = (theta @ theta.T).toarray()
    return np.asarray(np.linalg.inv(inner + np.eye(len(inner))))


def refine(theta: Vector, gram: GramProduct, diagonal: Vector, *, iterations: int) -> Vector:
    """Better sums for a workload from given ones, by gradient descent (L-BFGS) on the total variance.

    A step takes one product with the workload's Gram matrix and O(np²) besides.

    >>> import numpy as np
    >>> everything = np.ones((1, 4))  # the workload: nothing but the total, which the first row is to measure
    >>> before, _ = total_variance(everything, lambda rows: rows @ np.ones((4, 4)), np.ones(4))
    >>> theta = refine(everything, lambda rows: rows @ np.ones((4, 4)), np.ones(4), iterations=50)
    >>> round(before, 1), round(total_variance(theta, lambda rows: rows @ np.ones((4, 4)), np.ones(4))[0], 1)
    (3.2, 1.0)
    """
    from scipy.optimize import Bounds, minimize

    if not theta.size:
        return theta
    p, n = theta.shape
    size = float(diagonal.sum())

    def cost(flat: Vector) -> tuple[float, Vector]:
        value, slope = total_variance(flat.reshape(p, n), gram, diagonal)
        return value / size, slope.reshape(-1) / size

    found = minimize(
        cost,
        theta.reshape(-1),
        jac=True,
        bounds=Bounds(0.0, np.inf),
        method="L-BFGS-B",
        options={"maxiter": iterations, "maxfun": 2 * iterations},
    )
    return np.asarray(found.x.reshape(p, n))


def total_variance(theta: Vector, gram: GramProduct, diagonal: Vector) -> tuple[float, Vector]:
    """The workload's total variance as a function of Θ, for noise of variance 1 at a norm of 1, and its gradient.

    With d = 1 + the columns' sums, X = Θ diag(d) and C = (I + ΘΘᵀ)⁻¹ it is Σ diag(WᵀW) d² − tr(C X WᵀW Xᵀ).
    """
    d = 1 + theta.sum(axis=0)
    scaled = theta * d
    seen = gram(scaled)
    inverse = np.linalg.inv(theta @ theta.T + np.eye(len(theta)))
    inner = seen @ scaled.T
    value = float((diagonal * d**2).sum() - (inverse * inner).sum())
    along = -2 * (inverse @ seen)
    slope = along * d + 2 * (inverse @ inner @ inverse) @ theta
    slope += 2 * diagonal * d + (along * theta).sum(axis=0)
    return value, slope
