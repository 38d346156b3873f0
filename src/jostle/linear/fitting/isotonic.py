"""Isotonic regression: the nearest sequence that never falls, in linear time (pool adjacent violators).

Barlow, Bartholomew, Bremner, Brunk: Statistical inference under order restrictions, 1972. Post-processing only.
"""

from __future__ import annotations

import numpy as np

from jostle.kernel.compiled import compiled
from jostle.kernel.errors import BadInput
from jostle.kernel.partition import Vector


def isotonic(
    y: Vector, *, weights: Vector | None = None, lower: float = -np.inf, upper: float = np.inf, falling: bool = False
) -> Vector:
    """The sequence between `lower` and `upper` that never falls (or never rises) and is nearest to y in least squares.

    Acts along the last axis. `weights` are one number above 0 per place, the same for every sequence.

    >>> isotonic(np.array([1.0, 3.0, 2.0, 5.0])).tolist()
    [1.0, 2.5, 2.5, 5.0]
    >>> isotonic(np.array([1.0, 3.0, 2.0, 5.0]), falling=True, lower=2.6).tolist()
    [2.75, 2.75, 2.75, 2.75]
    """
    values = np.asarray(y, dtype=np.float64)
    each = np.ones(values.shape[-1]) if weights is None else np.asarray(weights, dtype=np.float64)
    if each.shape != values.shape[-1:] or not (each > 0).all() or not np.isfinite(each).all():
        raise BadInput("weights", "must be one finite number above 0 per place", f"pass {values.shape[-1]} of them")
    if lower > upper:
        raise BadInput("lower", f"{lower} is above upper, {upper}", "swap them")
    turned, order = (values[..., ::-1], each[::-1]) if falling else (values, each)
    rows = np.array(turned, order="C", ndmin=2).reshape(int(np.prod(values.shape[:-1])), values.shape[-1])
    pool(rows, np.ascontiguousarray(order))
    fitted = rows.reshape(values.shape).clip(lower, upper)  # the bounds may be applied last: the pools keep their order
    return fitted[..., ::-1] if falling else fitted


@compiled
def pool(rows: np.ndarray, weights: np.ndarray) -> None:
    """Replace each row by the nearest one that never falls: a stack of pools, merged while the last two are out of order."""
    n = rows.shape[1]
    means = np.empty(n)
    masses = np.empty(n)
    ends = np.empty(n, dtype=np.int64)
    for r in range(rows.shape[0]):
        top = -1
        for i in range(n):
            top += 1
            means[top], masses[top], ends[top] = rows[r, i], weights[i], i + 1
            while top > 0 and means[top - 1] >= means[top]:
                mass = masses[top - 1] + masses[top]
                means[top - 1] += (means[top] - means[top - 1]) * (masses[top] / mass)
                masses[top - 1], ends[top - 1] = mass, ends[top]
                top -= 1
        start = 0
        for k in range(top + 1):
            rows[r, start : ends[k]] = means[k]
            start = ends[k]
