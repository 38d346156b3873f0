"""Overlapping tents at every scale: the strategy for prefix sums under Gaussian noise, which costs the L2 norm of a column.

The least total variance of all prefix sums is a convex problem in the Gram matrix G of the strategy, whose diagonal may not
exceed 1. Its solution is dense, but smooth: a sum of tents, which rise and fall linearly, of half-widths n, n/2, n/4, … and
two tents per half-width, comes within 0.2 % of it in standard deviation, with some 50 numbers per cell. The tents of a scale
weigh less or more along the domain, because the first cells are in more prefix sums than the last. Each column is divided by
its norm. `tools/optimise_prefix_tents.py` found the weights, which are shipped; they are stretched to any size.

What no strategy can go below is (1/n) Σ 1/(2 sin((2i − 1)π/(4n + 2))) for noise of standard deviation 1: the nuclear norm of
the prefix sums over n. Public arithmetic: nothing here sees data.
"""

from __future__ import annotations

import math
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from jostle.kernel.arguments import domain_of
from jostle.kernel.errors import BadInput
from jostle.kernel.partition import Vector
from jostle.kernel.strategies.base import RESOLUTION
from jostle.kernel.strategies.cells import Matrix

SHIPPED = Path(__file__).with_name("prefix_tents.npz")
"""Made by `python tools/optimise_prefix_tents.py`, from a checkout."""

KNOTS = 5
"""Along the domain, the logarithm of a scale's weights is linear between this many places."""

_SMALLEST, _LARGEST = 8, 4096


def prefix_tents(n: int) -> Matrix:
    """The strategy, in whole units, for a line of n cells; no column's L2 norm exceeds its unit.

    >>> strategy = prefix_tents(64)
    >>> squares = (strategy.entries**2).sum(axis=0)
    >>> bool((squares <= strategy.unit**2).all()), bool(squares.min() > 0.9999 * strategy.unit**2)
    (True, True)
    """
    axes = domain_of(n)
    if len(axes) != 1:
        raise BadInput("n", "prefixes are of a line of cells, not of a grid", "pass one whole number")
    return _prefix_tents(*axes)


@lru_cache(maxsize=16)
def _prefix_tents(n: int) -> Matrix:
    from scipy.sparse import csr_array, diags_array

    rows, basis = tents_at_every_scale(n)
    weighted = diags_array(np.exp(basis @ _logarithms(n).reshape(-1) / 2)) @ rows
    norms = np.sqrt((weighted**2).sum(axis=0))
    columns = weighted @ diags_array(RESOLUTION / norms)
    columns.data = np.trunc(columns.data * (1 - 2.0**-40))  # towards 0, so that no norm grows
    columns.eliminate_zeros()
    return Matrix(csr_array(columns.astype(np.int64)), (n,), RESOLUTION)


def prefix_bound(n: int) -> float:
    """What the root mean square error of all prefix sums cannot go below, for noise of standard deviation 1.

    >>> round(prefix_bound(256), 4)
    2.4714
    """
    return float(np.mean(0.5 / np.sin((2 * np.arange(1, n + 1) - 1) * np.pi / (4 * n + 2))))


def least_squares_cells(strategy: Matrix, answers: Vector) -> Vector:
    """The cells that fit noisy answers of equal variance best; leading axes are solved at once.

    A few are found by conjugate gradients, many by a factorisation that is made once.

    >>> strategy = prefix_tents(32)
    >>> bool(np.allclose(least_squares_cells(strategy, strategy @ np.arange(32)), np.arange(32)))
    True
    """
    entries, transposed = _as_floats(strategy)
    residual = transposed @ np.asarray(answers, dtype=np.float64).reshape(-1, strategy.rows).T
    if residual.shape[1] >= _MANY:
        from scipy.linalg import cho_solve

        return np.asarray(cho_solve(_factor(strategy), residual).T.reshape(*np.shape(answers)[:-1], strategy.size))
    x, direction = np.zeros_like(residual), residual
    size = (residual**2).sum(axis=0)
    enough = size * 1e-24
    for _ in range(20 * strategy.size):
        if (size <= enough).all():
            break
        pushed = transposed @ (entries @ direction)
        step = size / np.maximum((direction * pushed).sum(axis=0), np.finfo(float).tiny)
        x = x + step * direction
        residual = residual - step * pushed
        before, size = size, (residual**2).sum(axis=0)
        direction = residual + size / np.maximum(before, np.finfo(float).tiny) * direction
    return np.asarray(x.T.reshape(*np.shape(answers)[:-1], strategy.size))


_MANY = 16
"""From this number of right-hand sides on, a factorisation pays."""


@lru_cache(maxsize=4)
def _as_floats(strategy: Matrix) -> tuple[Any, Any]:
    entries = strategy.entries.astype(np.float64) / strategy.unit
    return entries, entries.T.tocsr()


@lru_cache(maxsize=2)
def _factor(strategy: Matrix) -> Any:
    from scipy.linalg import cho_factor

    entries, transposed = _as_floats(strategy)
    return cho_factor((transposed @ entries).toarray())


def scales(n: int) -> list[float]:
    """The half-widths of the tents: n, n/2, n/4, … down to about 2.

    >>> scales(10)
    [10.0, 5.0, 2.5]
    """
    return [n / 2**k for k in range(max(1, math.floor(math.log2(n / math.sqrt(2))) + 1))]


def tents_at_every_scale(n: int) -> tuple[Any, Any]:
    """All tents and then the cells, one row each, and the basis of their weights' logarithms (both sparse).

    The basis has one column per scale and knot. Knots are denser towards the ends: their places are even in
    ln((c + s)/(n − c + s)) for a tent of half-width s around c.

    >>> rows, basis = tents_at_every_scale(4)
    >>> rows.toarray()[:3].tolist()
    [[0.375, 0.125, 0.0, 0.0], [0.875, 0.625, 0.375, 0.125], [0.625, 0.875, 0.875, 0.625]]
    >>> rows.shape, basis.shape
    ((16, 4), (16, 15))
    """
    from scipy.sparse import csr_array, eye_array, vstack

    parts, columns, shares = [], [], []
    for level, scale in enumerate([*scales(n), 0.0]):
        if scale:
            step = scale / 2
            centres = np.arange(-1, round(n / step) + 2).astype(np.float64) * step
            part = _tents(n, centres, scale)
        else:
            centres, part, scale = np.arange(n).astype(np.float64) + 0.5, eye_array(n, format="csr"), 1.0
        inside = np.clip(centres, 0, n)
        place = np.log((inside + scale) / (n - inside + scale)) / math.log((n + scale) / scale)
        knot = (place + 1) / 2 * (KNOTS - 1)
        left = np.clip(knot.astype(np.int64), 0, KNOTS - 2)
        parts.append(part)
        columns.append(level * KNOTS + left)
        shares.append(knot - left)
    column, share = np.concatenate(columns), np.concatenate(shares)
    row = np.arange(len(column))
    basis = csr_array(
        (np.concatenate([1 - share, share]), (np.tile(row, 2), np.concatenate([column, column + 1]))),
        shape=(len(row), len(parts) * KNOTS),
    )
    return csr_array(vstack(parts)), basis


def _tents(n: int, centres: Vector, scale: float) -> Any:
    """One row per centre: 1 − |x − centre|/scale at the middles of the cells, where that is above 0."""
    from scipy.sparse import csr_array

    low = np.clip(np.ceil(centres - scale - 0.5), 0, n).astype(np.int64)
    high = np.clip(np.floor(centres + scale - 0.5) + 1, 0, n).astype(np.int64)
    lengths = np.maximum(high - low, 0)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    at = np.arange(starts[-1]) - np.repeat(starts[:-1] - low, lengths)
    heights = 1 - np.abs(at + 0.5 - np.repeat(centres, lengths)) / scale
    return csr_array((np.maximum(heights, 0.0), at, starts), shape=(len(centres), n))


def _logarithms(n: int) -> Vector:
    """The logarithms of the weights, one row per scale: those of the shipped size with as many scales."""
    levels = len(scales(n)) + 1
    shipped = _shipped()
    size = min(max(_SMALLEST, 2 ** (levels - 1)), _LARGEST)
    return fitted(shipped[size], levels)


def fitted(logarithms: Vector, levels: int) -> Vector:
    """Weights for another number of scales: the middle ones, which hardly differ, are repeated or left out.

    >>> fitted(np.arange(4.0)[:, None], 6)[:, 0].tolist(), fitted(np.arange(4.0)[:, None], 3)[:, 0].tolist()
    ([0.0, 1.0, 1.0, 1.0, 2.0, 3.0], [0.0, 2.0, 3.0])
    """
    top = min(len(logarithms), levels) // 2
    bottom = min(len(logarithms), levels) - top
    middle = np.repeat(logarithms[top - 1 : top], levels - top - bottom, axis=0)
    return np.concatenate([logarithms[:top], middle, logarithms[len(logarithms) - bottom :]])


@cache
def _shipped() -> dict[int, Vector]:
    with np.load(SHIPPED, allow_pickle=False) as stored:
        return {int(name): stored[name].astype(np.float64) for name in stored.files}
