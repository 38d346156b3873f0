"""Least squares for any strategy, from its products alone; with or without the counts being at least 0. Post-processing alone.

Strategies of a known form have faster ways: `tree_least_squares`, `Wavelet.invert` and `PIdentity.least_squares`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jostle.kernel.errors import BadInput
from jostle.kernel.partition import Vector
from jostle.kernel.strategy import Strategy


def least_squares(
    strategy: Strategy, answers: Vector, *, deviations: Vector | None = None, tolerance: float = 1e-10
) -> Vector:
    """The shortest vector of cells that fits the noisy answers best (Fong, Saunders: LSMR, SIAM J. Sci. Comput. 33(5), 2011).

    `deviations` are the standard deviations of the noise, one a query, where they differ. Leading axes are solved at once.

    >>> from jostle.kernel.strategy import identity, stack, total
    >>> least_squares(stack(total(2), identity(2)), np.array([10.0, 3.0, 4.0])).round(6).tolist()
    [4.0, 5.0]
    """
    from scipy.sparse.linalg import LinearOperator, lsmr

    scale = _scale(strategy, deviations)
    values = _rows(strategy, answers)

    def apply(x: Vector) -> Any:
        return (strategy.apply(x.reshape(-1, strategy.size)) * scale).reshape(-1)

    def adjoint(y: Vector) -> Any:
        return strategy.adjoint(y.reshape(-1, strategy.rows) * scale).reshape(-1)

    shape = (values.size, len(values) * strategy.size)
    operator = LinearOperator(shape, matvec=apply, rmatvec=adjoint, dtype=np.float64)
    weighted = (values * scale * strategy.unit).reshape(-1)
    found = lsmr(operator, weighted, atol=tolerance, btol=tolerance, conlim=0, maxiter=max(100, 4 * strategy.size))[0]
    return np.asarray(found.reshape(*answers.shape[:-1], strategy.size))


def nonnegative_least_squares(
    strategy: Strategy,
    answers: Vector,
    *,
    deviations: Vector | None = None,
    start: Vector | None = None,
    iterations: int = 1000,
    tolerance: float = 1e-6,
) -> Vector:
    """The cells of at least 0 that fit the noisy answers best, by projected gradient descent with momentum.

    Beck, Teboulle: A fast iterative shrinkage-thresholding algorithm, SIAM J. Imaging Sci. 2(1), 2009; momentum begins anew
    whenever it points uphill (O'Donoghue, Candès: Adaptive restart for accelerated gradient schemes, 2015). It ends when no
    cell moves by more than `tolerance` of the largest. Leading axes are solved at once.

    >>> from jostle.kernel.strategy import identity, stack, total
    >>> nonnegative_least_squares(stack(total(2), identity(2)), np.array([4.0, -3.0, 3.0])).round(4).tolist()
    [0.0, 3.5]
    """
    scale = _scale(strategy, deviations)
    targets = _rows(strategy, answers) * scale * strategy.unit
    step = 1 / _largest(strategy, scale)
    shape = (len(targets), strategy.size)
    first = np.zeros(shape) if start is None else np.array(start, dtype=np.float64).reshape(shape)
    x = np.maximum(first, 0.0)
    ahead, momentum = x.copy(), np.ones((len(x), 1))
    for _ in range(iterations):
        slope = strategy.adjoint((strategy.apply(ahead) * scale - targets) * scale)
        new = np.maximum(ahead - step * slope, 0.0)
        moved = new - x
        uphill = ((ahead - new) * moved).sum(axis=-1, keepdims=True) > 0
        grown = np.where(uphill, 1.0, (1 + np.sqrt(1 + 4 * momentum**2)) / 2)
        ahead = new + np.where(uphill, 0.0, (momentum - 1) / grown) * moved
        x, momentum = new, grown
        if np.abs(moved).max() <= tolerance * np.abs(x).max():
            break
    return np.asarray(x.reshape(*answers.shape[:-1], strategy.size))


def _scale(strategy: Strategy, deviations: Vector | None) -> Any:
    """What each query is divided by: its noise, relative to the least, over the unit."""
    if deviations is None:
        return 1 / strategy.unit
    noise = np.asarray(deviations, dtype=np.float64)
    if noise.shape != (strategy.rows,) or not (noise > 0).all() or not np.isfinite(noise).all():
        raise BadInput("deviations", "must be one finite number above 0 a query", f"pass {strategy.rows} of them")
    return noise.min() / noise / strategy.unit


def _rows(strategy: Strategy, answers: Vector) -> Vector:
    if answers.shape[-1:] != (strategy.rows,):
        raise BadInput("answers", f"have shape {answers.shape}, the strategy {strategy.rows} queries", "pass one a query")
    return np.asarray(answers, dtype=np.float64).reshape(-1, strategy.rows)


def _largest(strategy: Strategy, scale: Any) -> float:
    """A little more than the largest eigenvalue of the normal equations, by power iteration from a fixed start."""
    x = np.random.default_rng(0).uniform(0.5, 1.0, strategy.size)
    size = 0.0
    for _ in range(50):
        x = strategy.adjoint(strategy.apply(x) * scale**2)
        before, size = size, float(np.linalg.norm(x))
        if size == 0.0:
            return 1.0
        x = x / size
        if abs(size - before) <= 1e-4 * size:
            break
    return 1.02 * size
