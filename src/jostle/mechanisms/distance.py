"""Randomized response by distance: places near the true one are likelier than those far away. No account is charged."""

from __future__ import annotations

import math
import secrets
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from jostle.kernel.arguments import whole
from jostle.kernel.budget import exact
from jostle.kernel.errors import BadInput
from jostle.kernel.partition import Counts, Vector

ONE: Final = 2**50
"""The weight of the true place; all weights are whole numbers, so that places are drawn with exact probabilities."""

MOST_PLACES: Final = 2_500


class DistanceResponse:
    """A place drawn with probability in proportion to exp(−a · distance to the true one): ε-differentially private.

    **It protects before collection.** Each person runs it on their own value; nobody else ever has that value.

    Places are the cells of a line, `DistanceResponse(10, epsilon=…)`, or of a grid, `DistanceResponse(10, 10, epsilon=…)`.
    The distance is the number of steps along the axes. `a` is the largest that ε allows: the exponential mechanism would
    take ε/(2·diameter) for any score; here, all pairs of places are compared, which allows about twice as much.

    The lecture *DP algorithm primitives* (Duke, CompSci 590.01, 2018) names this score beside that of randomized response.

    Privacy: the loss between two true places is the largest log ratio of their probabilities over all answers. It is bounded
    from the whole weights for every pair when the object is made, and is at most ε. A value that is no place is answered as
    a place that is drawn uniformly: a mixture loses no more than its parts.

    >>> grid = DistanceResponse(10, 10, epsilon=math.log(3))
    >>> place = grid.respond((4, 7))
    >>> round(grid.rate, 3), round(grid.mean_distance((4, 7)), 2), round(float(grid.probabilities((4, 7))[4, 7]), 4)
    (0.061, 5.17, 0.0139)
    """

    def __init__(self, *sides: int, epsilon: Any) -> None:
        shape = tuple(whole(side) or 0 for side in sides)
        if len(shape) not in (1, 2) or min(shape) < 1 or not 2 <= math.prod(shape) <= MOST_PLACES:
            raise BadInput(
                "sides", f"must be one or two numbers, for 2 to {MOST_PLACES:,} places", "pass for instance 10, 10"
            )
        self.epsilon, self.shape, self.size = float(exact(epsilon)), shape, math.prod(shape)
        at = np.indices(shape).reshape(len(shape), -1)
        self._distances: Counts = np.abs(at[:, :, None] - at[:, None, :]).sum(axis=0)
        low, high = 0.0, self.epsilon
        for _ in range(60):  # the loss grows with the rate, up to rounding; `low` was checked
            middle = (low + high) / 2
            low, high = (middle, high) if self._loss(middle) <= self.epsilon * (1 - 1e-9) else (low, middle)
        self.rate: float = low
        """How fast weights fall: by a factor of e^−rate per step."""
        self._weights = self._whole(low)[self._distances]

    def _whole(self, rate: float) -> Counts:
        """The weight of each distance: never 0, so that no place is impossible."""
        steps = np.arange(int(self._distances.max()) + 1)
        return np.asarray(np.maximum(np.floor(ONE * np.exp(-rate * steps)), 1), dtype=np.int64)

    def _loss(self, rate: float) -> float:
        """The largest log ratio of the probabilities of an answer, over all pairs of true places.

        Two places that are δ apart differ by at most δ in their distance to an answer.
        """
        weights = self._whole(rate)
        logs, reach = np.log(weights.astype(np.float64)), np.arange(weights.size)
        apart = np.array([(logs[: weights.size - step] - logs[step:]).max() for step in reach])
        apart = np.maximum.accumulate(apart)
        totals = np.log(weights[self._distances].sum(axis=1).astype(np.float64))
        return float((apart[self._distances] + totals[None, :] - totals[:, None]).max())

    def respond(self, value: Any) -> Any:
        """Randomize one's own place, with exact probabilities from the operating system's entropy. It cannot be seeded."""
        place = self._place(value)
        weights = self._weights[secrets.randbelow(self.size) if place < 0 else place]
        drawn = secrets.randbelow(int(weights.sum()))
        chosen = int(np.searchsorted(np.cumsum(weights), drawn, side="right"))
        return chosen if len(self.shape) == 1 else tuple(int(i) for i in np.unravel_index(chosen, self.shape))

    def probabilities(self, value: Any) -> Vector:
        """How likely each answer is for a person at this place, in the shape of the places."""
        place = self._checked(value)
        return np.asarray(self._weights[place] / self._weights[place].sum()).reshape(self.shape)

    def mean_distance(self, value: Any) -> float:
        """How far the answer of a person at this place is off, on average."""
        place = self._checked(value)
        return float((self.probabilities(value).reshape(-1) * self._distances[place]).sum())

    def estimate(self, answers: Sequence[Any]) -> Vector:
        """The part of the people at each place, without bias, from all answers; it may be below 0. Post-processing.

        >>> line = DistanceResponse(3, epsilon=4)
        >>> line.estimate([0] * 90 + [1] * 10).round(1).tolist()
        [1.0, -0.0, -0.0]
        """
        counted = np.bincount([self._checked(one) for one in answers], minlength=self.size)
        if not counted.sum():
            raise BadInput("answers", "are empty", "pass one answer per person")
        laws = self._weights / self._weights.sum(axis=1, keepdims=True)
        return np.asarray(np.linalg.solve(laws.T, counted / counted.sum())).reshape(self.shape)

    def _checked(self, value: Any) -> int:
        place = self._place(value)
        if place < 0:
            raise BadInput("value", "is no place", f"pass one within {self.shape}")
        return place

    def _place(self, value: Any) -> int:
        """The number of a place; -1 if there is no such place. Never raises: an error would give the value away."""
        parts = value if isinstance(value, (tuple, list)) else (value,)
        steps = [whole(part) for part in parts]
        if len(steps) != len(self.shape):
            return -1
        inside = [step for step, side in zip(steps, self.shape, strict=True) if step is not None and 0 <= step < side]
        return int(np.ravel_multi_index(tuple(inside), self.shape)) if len(inside) == len(steps) else -1

    def __repr__(self) -> str:
        return f"<DistanceResponse over {'×'.join(map(str, self.shape))} places, ε = {self.epsilon:.6g}>"
