"""Laplace noise on numbers that the caller computed, with the sensitivity that the caller states."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from jostle.kernel.budget import Budget
from jostle.kernel.errors import BadInput
from jostle.kernel.noise import Noise, calibrate
from jostle.kernel.partition import Vector
from jostle.mechanisms.arguments import LARGEST, check_budget, is_nothing, is_whole, numbers, whole_numbers
from jostle.mechanisms.sensitivity import Lattice, Sensitivity


def laplace(value: Any, *, sensitivity: Any, budget: Budget, note: str = "") -> Any:
    """A real number, or an array of them, plus Laplace noise of scale sensitivity/ε: ε-differentially private.

    The noise is drawn on a lattice finer than the floats, so that the last bits of the answer give nothing away.

    Dwork, McSherry, Nissim, Smith: Calibrating noise to sensitivity in private data analysis, TCC 2006.

    `sensitivity` is yours to prove: how far one record, added or removed, moves the value (all numbers of an array
    together, in absolute values). Replacing a record then counts twice. Where less is known to suffice, pass the pair
    `(add_remove, replace)`. It has to hold for the numbers as you pass them, rounding errors included; for a column of
    numbers, `clipped_sum` and `clipped_mean` derive it for you. Whole numbers above 2^53, decimals, fractions and texts are
    rounded to floats, and the sensitivity has to hold after that: use `discrete_laplace` for large whole ones. A NaN counts
    as 0, and numbers beyond 2^500 as 2^500.

    See `utility.laplace_error` for error bars, or `accuracy` where the scale is known.

    >>> from jostle import mechanisms
    >>> budget = mechanisms.simulation(seed=0).grant(0.5)  # public data; account.grant(0.5) for a release
    >>> round(laplace(120.5, sensitivity=1, budget=budget), 2)
    121.14
    """
    array, stated = numbers(value, "value"), Sensitivity.of(sensitivity)
    add_noise = laplace_noise(array, stated.size(check_budget(budget).neighbours), budget.pure)
    return add_noise(budget.draw(operator="laplace", note=note))


def laplace_noise(values: Vector, size: Fraction, epsilon: Fraction) -> Callable[[Noise], Any]:
    """What adds noise of scale size/epsilon to real numbers. All that can be refused is refused here, before a charge."""
    if size / epsilon > LARGEST:
        raise BadInput("budget", "has an ε that asks for noise beyond all numbers", "use a larger epsilon")
    clipped = np.nan_to_num(values, nan=0.0, posinf=LARGEST, neginf=-LARGEST)
    flat = np.clip(clipped, -LARGEST, LARGEST).reshape(-1)
    return lambda noise: _shaped(noise.laplace(flat, size, epsilon), values.shape, float)


def discrete_laplace(value: Any, *, sensitivity: Any, budget: Budget, note: str = "") -> Any:
    """A whole number, or an array of them, plus whole Laplace noise: ε-differentially private.

    The noise is k with probability in proportion to exp(−ε|k|/sensitivity), exactly. For counts it is the better choice: the
    answer is a count, and its variance is a little smaller than that of continuous noise.

    Ghosh, Roughgarden, Sundararajan: Universally utility-maximizing privacy mechanisms, STOC 2009 (the geometric mechanism).

    `sensitivity` is stated as for `laplace`. Numbers beyond 2^61 count as 2^61. Arrays of floats, and NumPy's of texts, are
    refused. In a list or a column of objects or texts, each value is read by itself, exactly: anything that is not a number
    counts as 0, and others are rounded down, so the sensitivity must hold after that. A missing number counts as 0, too.

    See `utility.discrete_laplace_error` for error bars.

    >>> from jostle import mechanisms
    >>> budget = mechanisms.simulation(seed=0).grant(0.5)
    >>> discrete_laplace(120, sensitivity=1, budget=budget)
    119
    """
    array, stated = whole_numbers(value, "value"), Sensitivity.of(sensitivity)
    if array is None:
        raise BadInput("value", "must be whole numbers", "use `laplace` for real numbers")
    whole = is_whole(value) or is_nothing(value)
    stated = stated if whole else Lattice.whole(stated).sensitivity  # rounding takes what is closer than 1 apart
    scale = calibrate(stated.size(check_budget(budget).neighbours), budget.pure)
    noise = budget.draw(operator="discrete_laplace", note=note)
    return _shaped(noise.discrete_laplace(array.reshape(-1), scale), array.shape, int)


def _shaped(noisy: Any, shape: tuple[int, ...], kind: type) -> Any:
    """The answer in the value's own shape, after a leading axis of trials if there is one; one number as a number."""
    answer = np.asarray(noisy).reshape((*np.shape(noisy)[:-1], *shape))
    if answer.ndim == 0:
        return kind(answer)
    return answer.astype(np.int64 if kind is int else np.float64)
