"""What grids share: a total that is paid for, and boxes of equal width."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from jostle.kernel.budget import Budget
from jostle.kernel.partition import Counts, Vector
from jostle.kernel.source import Source
from jostle.kernel.strategy import total
from jostle.linear.shrinkage.leaves import BoxLeaves


def known_total(x: Source, budget: Budget, share: float) -> tuple[float, float, Budget]:
    """The number of records, the variance of its noise, and what is left of the budget: where it is public, all."""
    if x.total is not None:
        return float(x.total), 0.0, budget
    paid, rest = budget.split(share, 1 - share)
    everything = total(x.shape)
    noise = x.noise_variance(everything, paid)
    return float(x.laplace(everything, paid)[0]), noise, rest


def with_total(counts: Vector, variances: Vector, total: float, noise: float) -> Vector:
    """Least squares: share what the counts lack of the total among them by variance, as far as the total is the surer.

    >>> with_total(np.array([1.0, 1.0]), np.array([1.0, 3.0]), 10.0, 0.0).tolist()
    [3.0, 7.0]
    """
    doubt = variances.sum() + noise
    return counts + variances * ((total - counts.sum()) / doubt) if doubt > 0 else counts


@lru_cache(maxsize=64)
def boxes_of_width(shape: tuple[int, ...], widths: tuple[int, ...]) -> Leaves:
    """The domain in boxes of these widths; the last along each axis may be narrower.

    >>> boxes_of_width((5,), (2,)).lows.reshape(-1).tolist()
    [0, 2, 4]
    """
    whole = BoxLeaves(shape, np.zeros((1, len(shape)), dtype=np.int64), np.array([shape]), np.zeros(1, dtype=np.int64))
    return cut_to_width(whole, np.array([widths]))


def cut_to_width(leaves: BoxLeaves, widths: Counts) -> Leaves:
    """Cut each leaf into boxes of its own row of `widths`; the last along each axis may be narrower.

    >>> cut_to_width(boxes_of_width((5,), (4,)), np.array([[3], [1]])).lows.reshape(-1).tolist()
    [0, 3, 4]
    """
    along = -(-(leaves.highs - leaves.lows) // widths)
    number = np.prod(along, axis=1)
    parents = np.repeat(np.arange(leaves.number), number)
    within = np.arange(number.sum()) - np.repeat(np.cumsum(number) - number, number)
    lows = np.empty((parents.size, len(leaves.shape)), dtype=np.int64)
    for axis in reversed(range(len(leaves.shape))):
        pieces = along[parents, axis]
        lows[:, axis] = leaves.lows[parents, axis] + within % pieces * widths[parents, axis]
        within = within // pieces
    return BoxLeaves(leaves.shape, lows, np.minimum(lows + widths[parents], leaves.highs[parents]), parents)
