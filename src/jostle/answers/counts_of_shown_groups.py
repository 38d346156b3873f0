"""Counts of groups that are shown because their own noisy counts are large: their intervals, given that they are shown.

A group is shown if its number of people plus noise from −k to k is above k. Of a small group that is so only if the noise
was upward, so intervals are by the law of the number on condition that it is shown. All of this is post-processing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np

from jostle.answers.noise_intervals import MISSED, Ends, NumberReading
from jostle.kernel.key_selection import KeySelection
from jostle.kernel.partition import Counts, Vector


@final
@dataclass(frozen=True)
class NoiseOfRule:
    """The noise by which `counted_selection` selects.

    >>> from jostle.kernel.key_selection import counted_selection
    >>> noise = NoiseOfRule.of(counted_selection(1, 1e-6))
    >>> noise.end, round(noise.variance, 2), noise.margin()
    (14, 1.84, 3)
    """

    end: int
    """The largest number that it can be."""

    at_least: Vector
    """The probability that it is −k or more, 1 − k or more, …, k or more, and more than k, which is 0."""

    @classmethod
    def of(cls, rule: KeySelection) -> NoiseOfRule:
        """That of a rule; symmetric, so that the probabilities of a table are read from its end."""
        return cls(len(rule.table) // 2 - 1, rule.table[::-1] / float(rule.table[-1]))

    @property
    def variance(self) -> float:
        places = np.arange(1, self.end + 1)
        return float(2 * (places**2 * -np.diff(self.at_least)[self.end + 1 :]).sum())

    def margin(self, missed: float = MISSED) -> int:
        """How far off a number is at most, where all are shown: with a chance to be farther off of `missed`."""
        return int(np.argmax(2 * self.at_least[self.end + 1 :] <= missed))

    def ends(self, shown: Counts, missed: float = MISSED) -> tuple[Vector, Vector]:
        """Per number that is shown, the fewest and the most people of whom it would not be in the outer part of its law.

        Each end is found by halving: the chances rise and fall with the number of people. They are exact but for how floats
        and the table are rounded, for which intervals are wider by a millionth of the chance. The number itself is always
        within.

        >>> from jostle.kernel.key_selection import counted_selection
        >>> [end.tolist() for end in NoiseOfRule.of(counted_selection(1, 1e-6)).ends(np.array([15, 17, 200]))]
        [[1.0, 3.0, 197.0], [17.0, 20.0, 203.0]]
        """
        part = missed / 2 * (1 - 1e-6)

        def low_enough(people: Counts) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
            return self._chance(shown - people) >= part * self._chance(self.end + 1 - people)

        def high_enough(people: Counts) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
            seen = self._chance(self.end + 1 - people)
            return seen - self._chance(shown + 1 - people) >= part * seen

        low, first = np.maximum(shown - self.end, 1) - 1, shown.copy()  # not enough, and enough
        high, last = shown.copy(), shown + self.end + 1  # enough, or the number itself, and too many
        for _ in range(math.ceil(math.log2(self.end + 2)) + 1):
            middle = (low + first + 1) // 2
            fits = low_enough(middle) | (middle >= first)
            low, first = np.where(fits, low, middle), np.where(fits, np.minimum(middle, first), first)
            middle = (high + last) // 2
            fits = high_enough(middle) | (middle <= high)
            high, last = np.where(fits, np.maximum(middle, high), high), np.where(fits, last, middle)
        return first.astype(np.float64), high.astype(np.float64)

    def _chance(self, least: Counts) -> Vector:
        """That noise is so much or more."""
        found: Vector = self.at_least[np.clip(least + self.end, 0, 2 * self.end + 1)]
        return found


@dataclass(frozen=True)
class ShownCounts(NumberReading):
    """Counts of groups that are shown because of them."""

    rule: NoiseOfRule = NoiseOfRule(0, np.ones(1))

    def found(self, missed: float = MISSED) -> Ends:
        """The count of each group, and the ends of its interval on condition that the group is shown."""
        shown = self.numbers[:, 0]
        return shown, *self.rule.ends(shown.astype(np.int64), missed)
