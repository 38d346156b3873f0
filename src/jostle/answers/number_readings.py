"""A count, sum, mean or variance per group, read from the noisy numbers of one total, with intervals at any confidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from jostle.answers.noise_intervals import (
    MISSED,
    Ends,
    margin,
    of_sample,
    share,
    share_ends,
    spread,
    spread_ends,
    whole_margin,
)
from jostle.kernel.partition import Vector

Kind = Literal["whole", "sum", "mean", "variance", "std"]


@dataclass(frozen=True)
class NumberReading:
    """How an aggregate follows from noisy numbers, one row of them per group."""

    kind: Kind
    """A plain sum of whole numbers, a weighted sum, or what numbers say of values between two bounds."""

    numbers: Vector
    scale: float
    gaussian: bool

    weights: Vector | None = None
    """Of a weighted sum."""

    low: float = 0.0
    width: float = 1.0
    """The bounds of values, and how far they are apart."""

    rate: float = 1.0
    """A plain sum is in units of which so many make 1."""

    ddof: int = 0
    """1 for variances of samples."""

    def found(self, missed: float = MISSED) -> Ends:
        """The aggregate of each group, and the ends of its interval, which misses it with this chance at most.

        >>> counts = NumberReading("whole", np.array([[120.0], [40.0]]), 10.0, gaussian=False)
        >>> [each.tolist() for each in counts.found()], counts.found(0.005)[2].tolist()
        ([[120.0, 40.0], [90.0, 10.0], [150.0, 70.0]], [173.0, 93.0])
        """
        numbers, law = self.numbers, {"gaussian": self.gaussian}
        if self.kind == "whole":
            value = numbers.sum(axis=1) / self.rate
            off = whole_margin(numbers.shape[1], self.scale, missed, **law) / self.rate
            return value, value - off, value + off
        if self.weights is not None:
            value, off = numbers @ self.weights, margin(self.weights, self.scale, missed, **law)
            return value, value - off, value + off
        how: dict[str, Any] = {"scale": self.scale, "missed": missed, **law}
        if self.kind == "mean":
            value, low, high = share(numbers), *share_ends(numbers, **how)
            return self.low + self.width * value, self.low + self.width * low, self.low + self.width * high
        squared: Any = [self.width**2 * each for each in (spread(numbers), *spread_ends(numbers, **how))]
        if self.ddof:
            squared = of_sample(squared, numbers, **how)
        value, low, high = map(np.sqrt, squared) if self.kind == "std" else squared
        return value, low, high
