"""Intervals within intervals: least squares where every one has a precision of its own, in linear time.

A line is cut on several levels, from coarse to fine, each of which has the cuts of those before it. A level is known by
where its intervals begin. Post-processing alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from jostle.kernel.partition import Counts, Vector


@dataclass(frozen=True)
class Nested:
    """Noisy sums of nested intervals.

    >>> sums = Nested([np.array([0]), np.array([0, 1])], [np.array([10.0]), np.array([3.0, 4.0])], [np.ones(1), np.ones(2)])
    >>> [level.tolist() for level in sums.fitted()]
    [[9.0], [4.0, 5.0]]
    """

    starts: Sequence[Counts]
    """Where the intervals of each level begin."""

    values: Sequence[Vector]
    """A number for each interval; of no account where its precision is 0."""

    precisions: Sequence[Vector]
    """One over the variance of each; above 0 on the finest level."""

    @cached_property
    def _first_child(self) -> list[Counts]:
        pairs = zip(self.starts, self.starts[1:], strict=False)
        return [np.searchsorted(finer, level) for level, finer in pairs]

    @cached_property
    def upwards(self) -> tuple[list[Vector], list[Vector]]:
        """The best estimate of each interval from its own number and those of the intervals within it, and its variance."""
        values, variances = [np.asarray(self.values[-1])], [1.0 / np.asarray(self.precisions[-1])]
        for k in reversed(range(len(self.starts) - 1)):
            below, spread = (np.add.reduceat(part[0], self._first_child[k]) for part in (values, variances))
            variance = spread / (1.0 + self.precisions[k] * spread)
            values.insert(0, below + self.precisions[k] * variance * (self.values[k] - below))
            variances.insert(0, variance)
        return values, variances

    def fitted(self) -> list[Vector]:
        """The sums of each level that fit all numbers best: those of a level add up to those of the level above."""
        values, variances = self.upwards
        fitted = [values[0]]
        for k, first in enumerate(self._first_child):
            below, spread = np.add.reduceat(values[k + 1], first), np.add.reduceat(variances[k + 1], first)
            number = np.diff(first, append=values[k + 1].size)
            fitted.append(values[k + 1] + variances[k + 1] * np.repeat((fitted[k] - below) / spread, number))
        return fitted
