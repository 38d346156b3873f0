"""Rows that, measured beside leaves of different widths, answer the prefix sums of the cells with little variance.

As `prefix_rows`, where all leaves are one cell wide: a strategy [d·I; R] over leaves, the columns of R adding
up to 1 − d. But a leaf of many cells ends many prefixes, so what lies before it is worth more than what lies within a dense
stretch of narrow leaves. A few steps of gradient descent on the variance of all prefixes, cell by cell, move the rows
accordingly. Public arithmetic on the leaves' widths: nothing here sees data.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from jostle.kernel.partition import Counts, Vector
from jostle.linear.design.prefix_rows import CELL_WEIGHT, interpolated, prefix_rows

_ROUNDS = 15
_POINTS = 384
_CELL_WEIGHTS = (0.15, 0.25, 0.35, 0.45)
_BENT = (0.0, 0.5)

GramProduct = Callable[[Vector], Vector]


def leaf_rows(widths: Counts) -> tuple[float, Vector]:
    """The leaves' own weight d, and R: non-negative, its columns adding up to 1 − d.

    >>> d, rows = leaf_rows(np.array([1, 1, 1, 1, 60, 64]))
    >>> bool(np.allclose(rows.sum(axis=0), 1 - d)), rows.shape[1]
    (True, 6)
    """
    number = widths.size
    if number < 4 or (widths == widths[0]).all():
        return CELL_WEIGHT, prefix_rows(number)
    group = -(-number // _POINTS)
    starts = np.arange(0, number, group)
    d, rows = _optimise(np.add.reduceat(widths, starts))
    return d, np.repeat(rows, np.diff(np.append(starts, number)), axis=1)


def _optimise(widths: Counts) -> tuple[float, Vector]:
    from scipy.optimize import minimize

    gram, trace = prefix_gram(widths)

    def variance(shares: Vector, d: float) -> float:
        return _variance(np.sqrt(shares).reshape(-1), len(shares), d, gram, trace)[0]

    shares = min((_bent(widths, by) for by in _BENT), key=lambda rows: variance(rows, CELL_WEIGHT))
    for _ in range(2):
        d = min(_CELL_WEIGHTS, key=lambda weight: variance(shares, weight))
        start = np.sqrt(shares + 1e-3).reshape(-1)
        found = minimize(
            _variance, start, args=(len(shares), d, gram, trace), jac=True, method="L-BFGS-B", options={"maxiter": _ROUNDS}
        )
        squares = found.x.reshape(shares.shape) ** 2 + 1e-9
        shares = squares / squares.sum(axis=0)
    return d, shares * (1 - d)


def _bent(widths: Counts, by: float) -> Vector:
    """The rows for equal leaves, drawn along an axis on which a leaf takes a mean of equal shares and its share of cells."""
    number = widths.size
    rows = prefix_rows(number)
    steps = (1 - by) + by * widths * (number / widths.sum())
    bent = interpolated(rows, np.cumsum(steps) - steps / 2 - 0.5)
    return np.asarray(bent / bent.sum(axis=0))


def prefix_gram(widths: Counts) -> tuple[GramProduct, float]:
    """WᵀW of the prefix sums of cells as functions of the leaves, whose cells share their count evenly, and its trace.

    A prefix that ends k cells into a leaf of w cells is the sum s of the leaves before plus k/w of the leaf. Over
    k = 1 … w the squares add up to w·s² + (w + 1)·s·v + (w + 1)(2w + 1)/(6w)·v².
    """
    whole = widths.astype(np.float64)
    half, own = (whole + 1) / 2, (whole + 1) * (2 * whole + 1) / (6 * whole)

    def gram(vectors: Vector) -> Vector:
        before = np.cumsum(vectors, axis=1) - vectors
        ended = whole * before + half * vectors
        after = np.cumsum(ended[:, ::-1], axis=1)[:, ::-1] - ended
        return np.asarray(after + half * before + own * vectors)

    return gram, float((np.cumsum(whole[::-1])[::-1] - whole + own).sum())


def _variance(roots: Vector, rows_: int, d: float, gram: GramProduct, trace: float) -> tuple[float, Vector]:
    """tr(W (d²I + R'R)⁻¹ W') over the trace of W'W, and its gradient in the square roots of R before normalisation."""
    free = roots.reshape(rows_, -1)
    squares = free**2 + 1e-9
    columns = squares.sum(axis=0)
    rows = squares / columns * (1 - d)
    inner = np.linalg.inv(np.eye(rows_) + rows @ rows.T / d**2)
    value = trace / d**2 - np.sum((rows @ gram(rows).T) * inner) / d**4
    pulled = gram(inner @ rows / d**2)
    gradient = -2 * (pulled / d**2 - (pulled @ rows.T) @ inner @ rows / d**4)
    through = (gradient - (gradient * squares).sum(axis=0) / columns) * (1 - d) / columns
    return value / trace, (through * 2 * free).reshape(-1) / trace
