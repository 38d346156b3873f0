"""The queries behind quantiles: how far the rank of each cell's end is from where a level would be reached.

A quantile at level α is read where the estimated sums P̂ reach αT̂. So its rank is off by the error of P − αT there, in which
the total's error has a part. Over all levels between 0 and 1, the squares of that error add up to

    ∫ (P − αT)² dα = (P − T/2)² + T²/12,

so that n centred sums and one total, of weight √(n/12), stand for every level at every one of n ends. These queries say what
a strategy is to be best for; they are not measured as they stand.
"""

from __future__ import annotations

from math import sqrt
from typing import Any, final

import numpy as np

from jostle.kernel.strategy import Strategy


@final
class Ranks(Strategy):
    """The sums of the first 1, 2, …, n cells, each less half of the total; and the total, weighted by the levels' spread.

    >>> Ranks(3).dense().tolist()
    [[0.5, -0.5, -0.5], [0.5, 0.5, -0.5], [0.5, 0.5, 0.5], [0.5, 0.5, 0.5]]
    """

    unit = 2

    def __init__(self, n: int) -> None:
        self.shape, self.rows = (n,), n + 1
        self.weight = max(1, round(2 * sqrt(n / 12)))

    def apply(self, x: Any) -> Any:
        """What lies in each sum less what lies behind it, and the total."""
        sums = np.cumsum(x, axis=-1)
        total = sums[..., -1:]
        return np.concatenate([2 * sums - total, self.weight * total], axis=-1)

    def adjoint(self, y: Any) -> Any:
        """The sums that a cell lies in, less those that end before it, and its part of the total."""
        sums = np.cumsum(y[..., -2::-1], axis=-1)[..., ::-1]
        return 2 * sums - sums[..., :1] + self.weight * y[..., -1:]

    @property
    def norm(self) -> int:
        """A cell counts for or against every sum."""
        return self.rows - 1 + self.weight

    @property
    def squares(self) -> int:
        """The sum of squares of a column, the same for all, in squared units."""
        return self.rows - 1 + self.weight**2

    @property
    def bounds(self) -> tuple[int, int]:
        """What lies behind a sum, and the total."""
        return -1, self.weight
