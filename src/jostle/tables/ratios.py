"""Means as shares: what part of a whole the first of two noisy numbers is, and the interval around it.

A mean between two bounds is a share: of how far all values together are above the lower one, in that and how far they are
below the upper one. All of this is post-processing of the two noisy numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from jostle.kernel.partition import Vector

MISSED: Final = 0.05
"""The chance that a true share is not in its interval."""

ALIKE: Final = 1e-5
"""Scales that differ by less are taken for the same: the formula for others would divide by next to nothing."""

_PLACES: Final = tuple(place / 64 for place in range(65))
_HALVINGS: Final = 50


def share(pair: Any) -> Any:
    """What part of the whole the first of two noisy numbers is, pair by pair; half where there seems to be nothing.

    >>> share(np.array([[30, 10], [-3, 1]])).tolist()
    [0.75, 0.5]
    """
    whole = pair.sum(axis=-1)
    return np.clip(np.where(whole > 0, pair[..., 0] / np.where(whole > 0, whole, 1), 0.5), 0.0, 1.0)


def interval(pair: Vector, scale: float) -> tuple[float, float]:
    """Between which shares the true one lies, in 95 of 100 cases, however few there are to share (Fieller 1954).

    The true numbers a and b have the share r = a / (a + b), for which a(1 − r) − b r = 0. With Laplace noise of a known
    scale on both, the same of the noisy numbers is noise alone, of a known law: the interval has all shares for which it is
    not too large for that. Where the whole cannot be told from nothing, these are all shares there are.

    >>> low, high = interval(np.array([30_000.0, 10_000.0]), scale=10)
    >>> round(low, 4), round(high, 4)
    (0.7494, 0.7506)
    >>> interval(np.array([3.0, -1.0]), scale=10)
    (0.0, 1.0)
    """
    above, below = float(pair[0]), float(pair[1])

    def holds(r: float) -> bool:
        return _tail(abs(above * (1 - r) - below * r) / scale, 1 - r, r) >= MISSED

    places = sorted({*_PLACES, float(share(pair))})
    held = [place for place, r in enumerate(places) if holds(r)]
    if not held:
        return 0.0, 1.0
    first, last = held[0], held[-1]
    low = 0.0 if first == 0 else _border(places[first - 1], places[first], holds)
    high = 1.0 if last == len(places) - 1 else _border(places[last + 1], places[last], holds)
    return low, high


def _tail(far: float, one: float, other: float) -> float:
    """The chance that Laplace noise of one scale and of another add up to as much, on either side."""
    one, other = max(one, other), min(one, other)
    if one - other < ALIKE:
        return (1 + far / (2 * one)) * math.exp(-far / one)
    less = other**2 * math.exp(-far / other) if other else 0.0
    return (one**2 * math.exp(-far / one) - less) / (one**2 - other**2)


def _border(outside: float, inside: float, holds: Callable[[float], bool]) -> float:
    """Where the interval ends between two shares: the outer end of what is left after halving."""
    for _ in range(_HALVINGS):
        middle = (outside + inside) / 2
        outside, inside = (outside, middle) if holds(middle) else (middle, inside)
    return outside
