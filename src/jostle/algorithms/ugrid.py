"""UGrid: one grid, as fine as the number of records allows (Qardaji, Yang, Li 2013)."""

from __future__ import annotations

from functools import lru_cache
from math import sqrt

import numpy as np

from jostle.algorithms._parameter_rules import FACTOR, SHARE
from jostle.algorithms.registry import algorithm
from jostle.kernel.budget import Budget
from jostle.kernel.partition import Vector
from jostle.kernel.source import Source
from jostle.kernel.strategies import blocks, identity, total
from jostle.linear.shrinkage.leaves import BoxLeaves, cut_to_width, regular
from jostle.workloads import Workload


@algorithm(
    name="UGrid",
    tasks=("range-2d",),
    cite="qardaji2013differentially",
    data_dependent=True,
    takes={"c": FACTOR, "for_total": SHARE},
)
def ugrid(x: Source, workload: Workload, budget: Budget, *, c: float = 10.0, for_total: float = 0.05) -> Vector:
    """A grid of √(Nε/c) boxes along each axis, each counted and spread evenly (Section 4.2, Guideline 1).

    Finer boxes have more noise, coarser ones hide more of how records lie within them. The total that sets the grid is used
    again in the estimate, by least squares; ε is that of the noise, so that it halves where a record moves two counts.

    Privacy: a Laplace measurement of the total (`for_total` of the budget; none where it is public), which the authors take
    as known, and one of the boxes, which are disjoint and depend only on the noisy total. The rest is post-processing.
    """
    scale = max(x.noise_scale(identity(x.shape), budget), 1e-300)
    records, doubt, rest = known_total(x, budget, for_total)
    number = sqrt(max(records, 0.0) / (c * scale))
    leaves = boxes_of_width(x.shape, tuple(max(1, int(n / max(number, 1.0))) for n in x.shape))
    counts = blocks(leaves.partition, x.shape)
    noise = np.full(leaves.number, x.noise_variance(counts, rest))
    return leaves.partition.spread(with_total(x.measure(counts, rest), noise, records, doubt))


def known_total(x: Source, budget: Budget, share: float) -> tuple[float, float, Budget]:
    """The number of records, the variance of its noise, and what is left of the budget: where it is public, all."""
    if x.total is not None:
        return float(x.total), 0.0, budget
    paid, rest = budget.split(share, 1 - share)
    everything = total(x.shape)
    noise = x.noise_variance(everything, paid)
    return float(x.measure(everything, paid)[0]), noise, rest


def with_total(counts: Vector, variances: Vector, total: float, noise: float) -> Vector:
    """Least squares: share what the counts lack of the total among them by variance, as far as the total is the surer.

    >>> with_total(np.array([1.0, 1.0]), np.array([1.0, 3.0]), 10.0, 0.0).tolist()
    [3.0, 7.0]
    """
    doubt = variances.sum() + noise
    return counts + variances * ((total - counts.sum()) / doubt) if doubt > 0 else counts


@lru_cache(maxsize=64)
def boxes_of_width(shape: tuple[int, ...], widths: tuple[int, ...]) -> BoxLeaves:
    """The domain in boxes of these widths; the last along each axis may be narrower.

    >>> boxes_of_width((5,), (2,)).lows.reshape(-1).tolist()
    [0, 2, 4]
    """
    return cut_to_width(regular(shape, (1,) * len(shape)), np.array([widths]))
