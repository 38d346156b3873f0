"""The queries behind quantiles: how far off the rank of a value is that was read where a level seems to be reached.

A quantile at level α is read where the estimated sums P̂ reach αT̂. So its rank is off by the error of P − αT there, in which
the total's error has a part. Over all levels between 0 and 1, squares at one place add up to

    ∫ (P − αT)² dα = (P − T/2)² + T²/12.

Where quantiles lie is private, so places are weighted without a look at data: a quarter for anywhere between the bounds; a
quarter for any order of magnitude from the nearer bound, as bounds are declared with room to spare; and half for all of them
in the first cell or all in the last, where zeros lie, and whatever was clipped. In such a cell x the rank is read evenly, at
αT̂/x̂ of it, and is off by α times the error of x − T, if nearly all is in it: squares add up to (T − x)²/3.

Each row is a number of records, and rows that count more are there several times. They say what a strategy is to be best
for; they are not measured as they stand.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, final

import numpy as np

from jostle.kernel.partition import Counts
from jostle.kernel.queries import Strategy


@final
class Ranks(Strategy):
    """The sums of the first 1, 2, …, n cells less half of the total; the total; and the total less the first or last cell.

    >>> Ranks(2).copies.tolist()
    [2, 2, 1, 1, 1]
    >>> Ranks(2).dense().tolist()[::2]
    [[0.5, -0.5], [0.5, 0.5], [1.0, 1.0], [1.0, 0.0]]
    """

    unit = 2

    def __init__(self, n: int) -> None:
        totals = [max(1, round(n / 6)), max(1, round(n / 3)), max(1, round(n / 3))]
        self.copies = np.concatenate([1 + _near_the_ends(n), totals])
        """How often each of the n + 3 different rows is there."""
        self.shape, self.rows = (n,), int(self.copies.sum())

    def apply(self, x: Any) -> Any:
        """What lies in each sum less what lies behind it, and the three totals."""
        sums = np.cumsum(x, axis=-1)
        total = sums[..., -1:]
        each = np.concatenate([2 * sums - total, 2 * total, 2 * (total - x[..., [0, -1]])], axis=-1)
        return np.repeat(each, self.copies, axis=-1)

    def adjoint(self, y: Any) -> Any:
        """The sums that a cell lies in, less those that end before it, and its part of the totals."""
        each = np.add.reduceat(y, np.cumsum(self.copies) - self.copies, axis=-1)
        sums = np.cumsum(each[..., self.size - 1 :: -1], axis=-1)[..., ::-1]
        cells = 2 * sums - sums[..., :1] + 2 * each[..., -3:].sum(axis=-1, keepdims=True)
        cells[..., 0] -= 2 * each[..., -2]
        cells[..., -1] -= 2 * each[..., -1]
        return cells

    @cached_property
    def _in_totals(self) -> Counts:
        """In how many of the totals each cell is."""
        inside = np.full(self.size, self.copies[-3:].sum())
        inside[0] -= self.copies[-2]
        inside[-1] -= self.copies[-1]
        return inside

    @property
    def column_norms(self) -> Counts:
        """A cell counts for or against every sum."""
        return np.asarray(self.copies[:-3].sum() + 2 * self._in_totals)

    @property
    def norm(self) -> int:
        """That of a cell between the ends, if there is one."""
        return int(self.column_norms.max())

    @property
    def squares(self) -> Counts:
        """The sum of squares in each column, in squared units."""
        return np.asarray(self.copies[:-3].sum() + 4 * self._in_totals)

    @property
    def bounds(self) -> tuple[int, int]:
        """What lies behind a sum, and the totals."""
        return -1, 2


def _near_the_ends(n: int) -> Counts:
    """N more copies of the sums, shared in proportion to one over the distance from the nearer end; rounded as they add up.

    >>> _near_the_ends(8).tolist()
    [2, 0, 1, 0, 1, 1, 1, 2]
    """
    last = np.arange(n)
    share = 1 / (1 + np.minimum(last, np.maximum(n - 2 - last, 0)))
    return np.asarray(np.diff(np.rint(n * np.cumsum(share) / share.sum()), prepend=0), dtype=np.int64)
