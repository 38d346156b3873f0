"""Bayes: noisy cells, each shrunk to what cells like it seem to hold (after Robbins 1956)."""

from __future__ import annotations

import numpy as np

from jostle.algorithms.registry import algorithm
from jostle.kernel.budget import Budget
from jostle.kernel.partition import Vector
from jostle.kernel.source import Source
from jostle.kernel.strategies import identity
from jostle.linear.shrinkage import small_problems
from jostle.linear.shrinkage.bayes import smooth
from jostle.linear.shrinkage.few_cells import MOST, shrink_few
from jostle.linear.shrinkage.leaves import regular
from jostle.linear.shrinkage.plateaus import snakes
from jostle.linear.shrinkage.priors import SHARP
from jostle.workloads import Workload

REACHES = {1: (4, 16, 64), 2: (1, 3, 6)}
"""How far around a cell its context reaches, by dimension."""

CENTRES = {1: (8, 16, 64), 2: (2, 3, 6)}
"""And the means that it may be thought to differ little from: over many cells, so that they are hardly noisy."""

NEAR = {1: (2, 4), 2: (1, 2)}
"""The same where cells are few, and what is around them is averaged with all else."""

ROW = 128
"""From this many cells on, there is enough to see how levels change along the domain."""

SHORT = 20.0
"""On a grid, sums over more cells than that add up what estimates along its rows and columns have wrong together."""


def shrunk(noisy: Vector, scale: float, workload: Workload) -> Vector:
    """Posterior means of noisy cells, possibly with a leading axis of trials: all that the plan does with what it measured.

    >>> from jostle import workloads
    >>> shrunk(np.array([[0.0, 1, -1, 40, 0, 2]]), 1.0, workloads.identity(6)).round().tolist()
    [[0.0, 0.0, 0.0, 40.0, 0.0, 0.0]]
    """
    if scale == 0:
        return noisy
    shape, size = workload.domain, noisy.shape[-1]
    line = regular(shape, shape)
    level = size >= ROW and (len(shape) == 1 or workload.average_length <= SHORT)
    ways = snakes(shape) if level else []

    def around(reaches: tuple[int, ...]) -> list[Vector]:
        return line.surroundings(noisy, [reach for reach in reaches if 4 * reach <= max(shape)])

    if size <= MOST and scale >= SHARP:
        rows = noisy.reshape(-1, size)
        near = [centre.reshape(-1, size) for centre in around(NEAR[len(shape)])]
        return shrink_few(rows, scale, near).reshape(noisy.shape)
    together = not ways and scale >= SHARP and small_problems.suits(size)
    if noisy.ndim > 1 and not together:
        return np.stack([shrunk(row, scale, workload) for row in noisy])
    contexts, centres = around(REACHES[len(shape)]), around(CENTRES[len(shape)])
    return (
        small_problems.smooth_rows(noisy, scale, contexts, centres)
        if noisy.ndim > 1
        else smooth(noisy, scale, contexts, centres, ways)
    )


@algorithm(
    name="Bayes",
    tasks=("range-1d", "range-2d"),
    cite="robbins1956empirical",
    data_dependent=True,
    version=4,
    finish=shrunk,
)
def bayes(x: Source, workload: Workload, budget: Budget) -> Vector:
    """Discrete Laplace noise on every cell, then the posterior mean under a prior fitted to all noisy cells (Section 4).

    Cells are distinguished by the noisy density around them, or taken to differ little from it, where the likelihood pays
    for it; and cells in a row may share a level. The two are averaged by how well they foretell a cell from the others. Up
    to 64 cells are too few to fit a prior to: there the posterior mean is averaged over many priors.
    Made for single cells: sums over long ranges inherit the prior's error, and `Adaptive` or a hierarchy serves them better.

    Privacy: one Laplace measurement of the cells; the prior is fitted to what was released.
    """
    cells = identity(x.shape)
    scale = x.noise_scale(cells, budget)
    return shrunk(x.measure(cells, budget), scale, workload)
