"""Bayes: noisy cells, each shrunk to what cells like it seem to hold."""

from __future__ import annotations

from jostle.algorithms.registry import algorithm
from jostle.kernel.budget import Budget
from jostle.kernel.partition import Vector
from jostle.kernel.source import Source
from jostle.kernel.strategy import identity
from jostle.linear.bayes import shrink
from jostle.linear.leaves import regular
from jostle.linear.workloads import Workload

REACHES = {1: (4, 16, 64), 2: (1, 3, 6)}


@algorithm(name="Bayes", tasks=("range-1d", "range-2d"), cite="robbins1956empirical", data_dependent=True)
def bayes(x: Source, workload: Workload, budget: Budget) -> Vector:
    """Discrete Laplace noise on every cell, then the posterior mean under a prior fitted to all noisy cells (Section 4).

    Cells are told apart by the noisy density around them where the likelihood pays for it. Made for single cells: sums over
    long ranges inherit the prior's error, and `Adaptive` or a hierarchy serves them better.

    Privacy: one Laplace measurement of the cells; the prior is fitted to what was released.
    """
    cells = identity(x.shape)
    scale = x.noise_scale(cells, budget)
    noisy = x.laplace(cells, budget)
    if scale == 0:
        return noisy
    around = regular(x.shape, x.shape).surroundings(noisy, [r for r in REACHES[len(x.shape)] if 4 * r <= max(x.shape)])
    return shrink(noisy, scale, around).means
