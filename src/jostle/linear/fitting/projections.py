"""Projections on what is known about the counts, along the last axis. Post-processing only.

A projection on a convex set that holds the truth never moves an estimate away from it. It does bias sums of what it changes:
clipping noisy zeros raises the sum over any range of them. So project in the norm of the question: cells for a histogram,
prefix sums for a distribution function.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jostle.kernel.errors import BadInput
from jostle.kernel.partition import Vector
from jostle.kernel.strategies import Identity, Prefix
from jostle.linear.fitting.isotonic import isotonic
from jostle.linear.fitting.least_squares import nonnegative_least_squares
from jostle.workloads import Workload


def project_simplex(y: Vector, total: Any) -> Vector:
    """The nearest non-negative vector that sums to `total`: one number, or one per vector.

    Held, Wolfe, Crowder: Validation of subgradient optimization, Mathematical Programming 6, 1974.

    >>> project_simplex(np.array([0.5, -1.0, 2.5]), 2.0).tolist()
    [0.0, 0.0, 2.0]
    """
    values = np.asarray(y, dtype=np.float64)
    sums = np.broadcast_to(np.asarray(total, dtype=np.float64), values.shape[:-1])[..., None]
    if not (sums >= 0).all():
        raise BadInput("total", "must be at least 0", "clip it first")
    falling = -np.sort(-values, axis=-1)
    # Where k values stay, each of them loses the same excess; k is the largest number for which the k-th stays above 0.
    excess = (np.cumsum(falling, axis=-1) - sums) / np.arange(1, values.shape[-1] + 1)
    stay = np.maximum((falling > excess).sum(axis=-1, keepdims=True), 1)
    return np.asarray(np.maximum(values - np.take_along_axis(excess, stay - 1, axis=-1), 0.0))


def project_l1_ball(y: Vector, radius: Any) -> Vector:
    """The nearest vector whose absolute values sum to at most `radius`: one number, or one per vector.

    >>> project_l1_ball(np.array([3.0, -1.0]), 2.0).tolist(), project_l1_ball(np.array([3.0, -1.0]), 9.0).tolist()
    ([2.0, -0.0], [3.0, -1.0])
    """
    values = np.asarray(y, dtype=np.float64)
    radii = np.broadcast_to(np.asarray(radius, dtype=np.float64), values.shape[:-1])
    inside = (np.abs(values).sum(axis=-1) <= radii)[..., None]
    return np.asarray(np.where(inside, values, np.copysign(project_simplex(np.abs(values), radii), values)))


def project_to_scale(y: Vector, scale: Any, slack: float) -> Vector:
    """A histogram whose counts sum to no more than a noisy total and some slack: ‖y‖₁ ≤ s̃ + ξ.

    Kotsogiannis, Machanavajjhala, Hay, Miklau: Pythia: data dependent differentially private algorithm selection, SIGMOD
    2017, Section 7.1; there ξ is the scale of the noise on s̃.

    >>> project_to_scale(np.array([6.0, -4.0, 8.0]), scale=9.0, slack=1.0).round(2).tolist()
    [3.33, -1.33, 5.33]
    """
    return project_l1_ball(y, np.maximum(np.asarray(scale, dtype=np.float64) + slack, 0.0))


def project_nonnegative(workload: Workload, estimate: Vector, *, total: int | None = None) -> Vector:
    """Counts of at least 0 whose answers to the workload are nearest to the estimate's, with this total if it is known.

    The true answers are those of counts of at least 0, so the estimate's only get nearer to them. For cells and prefixes it
    is exact; other workloads are fitted by some dozens of steps of `nonnegative_least_squares`, without regard to the total:
    on noisy targets the last steps are not worth their time.

    >>> from jostle import workloads
    >>> project_nonnegative(workloads.prefix(3), np.array([2.0, -1.0, 3.0])).tolist()
    [1.5, 0.0, 2.5]
    """
    if isinstance(workload.queries, Identity):
        return np.maximum(estimate, 0.0) if total is None else project_simplex(estimate, float(total))
    if isinstance(workload.queries, Prefix):
        return _rising(np.cumsum(estimate, axis=-1), total)
    return nonnegative_least_squares(workload.queries, workload @ estimate, start=estimate, iterations=1000, slack=0.05)


def _rising(sums: Vector, total: int | None) -> Vector:
    """The counts behind the nearest prefix sums that never fall."""
    if total is None:
        return np.diff(isotonic(sums, lower=0.0), axis=-1, prepend=0.0)
    inner = isotonic(sums[..., :-1], lower=0.0, upper=float(total))
    last = np.full((*sums.shape[:-1], 1), float(total))
    return np.diff(np.concatenate([inner, last], axis=-1), axis=-1, prepend=0.0)
