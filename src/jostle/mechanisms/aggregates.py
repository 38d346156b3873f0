"""Sums and means of a column of numbers, clipped to public bounds. The sensitivity follows from the bounds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jostle.kernel.budget import Budget
from jostle.kernel.noise import calibrate
from jostle.kernel.partition import Counts, Vector
from jostle.mechanisms.arguments import among, check_bounds, column
from jostle.mechanisms.sensitivity import Sensitivity

STEPS = 2**30
"""Steps in the bounds' width, or in their larger end, that values are rounded to: then sums and sensitivities are whole."""


def clipped_sum(values: Any, *, bounds: tuple[float, float], budget: Budget, note: str = "", filtered: bool = False) -> Any:
    """The sum of a column, clipped to the bounds, plus Laplace noise: ε-differentially private.

    The scale is max(|low|, |high|)/ε where a record may be added or removed, and (high − low)/ε where one is replaced.

    Under `replace`, pass all records: where a condition or `dropna` left some out, their number is private. Say
    `filtered=True` then, and the scale is the larger of the two: a record may also begin or cease to count.

    Dwork, McSherry, Nissim, Smith: Calibrating noise to sensitivity in private data analysis, TCC 2006.

    A value outside of the bounds counts as the nearer bound, and NaN as the number between the bounds that is nearest
    to 0. Values are rounded to a public lattice of 2^30 steps, on which the sum is exact and its noise discrete.

    See `utility.laplace_error` for error bars, with ε times the scale above as the sensitivity.

    >>> from jostle import mechanisms
    >>> budget = mechanisms.simulation(seed=0).grant(1)
    >>> round(clipped_sum([30, 41, 52, float("nan"), 999], bounds=(0, 100), budget=budget), 1)
    189.0
    """
    private, (low, high) = column(values), check_bounds(bounds)
    neighbours = among(budget, filtered)
    filled = np.clip(np.where(np.isnan(private), min(max(0.0, low), high), private), low, high)
    if neighbours.total_is_public:  # then so is how often the lower bound is added
        offset, unit = low * private.size, (high - low) / STEPS
        points, stated = _steps(filled, low, high), Sensitivity.of((STEPS, STEPS))
    else:
        offset, unit = 0.0, math.ldexp(1.0, math.frexp(max(-low, high))[1] - 30)
        points, (first, last) = np.rint(filled / unit).astype(np.int64), np.rint(np.array([low, high]) / unit).astype(int)
        stated = Sensitivity.of((max(abs(int(first)), abs(int(last))), int(last - first)))
    scale = calibrate(stated.size(neighbours), budget.pure)
    noise = budget.draw(operator="clipped_sum", note=note)
    noisy = noise.discrete_laplace(points.sum(keepdims=True), scale)[..., 0]
    return _number(offset + noisy * unit)


def clipped_mean(values: Any, *, bounds: tuple[float, float], budget: Budget, note: str = "", filtered: bool = False) -> Any:
    """The mean of a column, clipped to the bounds: ε-differentially private.

    Where records are replaced, their number n is public, and the mean gets Laplace noise of scale (high − low)/(nε).
    Where they are added and removed, n is private, too. Then two sums get Laplace noise of scale (high − low)/ε each,
    how far the values are above the lower bound and below the upper one; they move by high − low *together*, and their
    ratio is the mean. (To pay for a sum and a count separately, with half of ε each, has twice the variance.)

    Under `replace`, pass all records: where a condition or `dropna` left some out, their number is private. Say
    `filtered=True` then, and there are two sums as well, of scale 2(high − low)/ε each.

    Dwork, McSherry, Nissim, Smith: Calibrating noise to sensitivity in private data analysis, TCC 2006.

    A value outside of the bounds counts as the nearer bound, NaN as the middle between them. The mean lies between the
    bounds; it is the middle if there seem to be no records.

    See `utility.clipped_mean_error` for error bars.

    >>> from jostle import mechanisms
    >>> budget = mechanisms.simulation(seed=0, neighbours="replace").grant(1)
    >>> round(clipped_mean(range(101), bounds=(0, 100), budget=budget), 1)
    49.7
    """
    private, (low, high) = column(values), check_bounds(bounds)
    neighbours = among(budget, filtered)
    public = neighbours.total_is_public
    points = _steps(np.clip(np.where(np.isnan(private), low / 2 + high / 2, private), low, high), low, high)
    # Replacing a record moves the sum by one width, and two sums, which move in opposite directions, by one width each.
    scale = calibrate(Sensitivity.of((STEPS, STEPS if public else 2 * STEPS)).size(neighbours), budget.pure)
    noise = budget.draw(operator="clipped_mean", note=note)
    above = int(points.sum())
    if public:
        part = noise.discrete_laplace(np.array([above]), scale)[..., 0]
        whole = np.full_like(part, STEPS * private.size)
    else:
        noisy = noise.discrete_laplace(np.array([above, STEPS * private.size - above]), scale)
        part, whole = noisy[..., 0], noisy.sum(axis=-1)
    fraction = np.where(whole > 0, part / np.where(whole > 0, whole, 1), 0.5)
    return _number(low + (high - low) * np.clip(fraction, 0.0, 1.0))


def _steps(values: Vector, low: float, high: float) -> Counts:
    """Where each value lies between the bounds, from 0 to STEPS."""
    return np.rint((values - low) / (high - low) * STEPS).astype(np.int64)


def _number(answer: Any) -> Any:
    """One number as a number; trials of a simulation as an array."""
    return float(answer) if np.ndim(answer) == 0 else np.asarray(answer, dtype=np.float64)
