"""Adaptive: leaves that the data can fill, an optimised strategy on them, empirical Bayes (after McKenna et al. 2018)."""

from __future__ import annotations

import numpy as np

from jostle.algorithms._parameter_rules import FACTOR, SHARE, SIZE
from jostle.algorithms.opt import best_strategy, by_squares
from jostle.algorithms.registry import algorithm
from jostle.kernel.budget import Budget
from jostle.kernel.partition import Vector
from jostle.kernel.source import Source
from jostle.kernel.strategies import blocks as blocks_of
from jostle.kernel.strategies import matrix
from jostle.linear.design.leaf_rows import leaf_rows
from jostle.linear.fitting.projections import project_nonnegative
from jostle.linear.shrinkage.bayes import shrink
from jostle.linear.shrinkage.fusion import fuse_rows, shared_errors
from jostle.linear.shrinkage.leaves import cut, regular
from jostle.workloads import Workload

DENSE = 0.25
"""From this many leaves per cell on, little resolution is saved, and a strategy over all cells serves ranges better."""

RANGES = ("prefix", "ranges", "all ranges")
"""The workloads that it is true of."""


@algorithm(
    name="Adaptive",
    tasks=("range-1d",),
    cite="mckenna2018optimizing",
    data_dependent=True,
    version=4,
    takes={"first": SHARE, "blocks": SIZE, "records": FACTOR},
)
def adaptive(
    x: Source, workload: Workload, budget: Budget, *, first: float = 0.05, blocks: int = 32, records: float = 12.0
) -> Vector:
    """A few percent on coarse blocks decide how finely each is cut; leaves and optimised rows get the rest; all is fused.

    A leaf is to hold about `records`/ε records: finer ones would drown in noise. The strategy on the leaves is optimised for
    their widths (Section 5.2), the leaves are shrunk by empirical Bayes, and leaves, rows and blocks meet in one Gaussian
    update.

    Privacy: one Laplace measurement of the blocks, and one of the leaves and rows, which depend only on the noisy blocks.
    """
    coarse, fine = budget.split(first, 1 - first)
    line = regular(x.shape, (blocks,))
    sums = blocks_of(line.partition)
    block_noise = x.noise_variance(sums, coarse)
    noisy_blocks = x.measure(sums, coarse)
    pieces = np.ceil(np.clip(noisy_blocks * (budget.rate / records), 0, x.size)).astype(np.int64)
    leaves = cut(line, pieces)
    if workload.kind in RANGES and leaves.number > x.size * DENSE:
        found = best_strategy(workload, squares=by_squares(fine))
        return project_nonnegative(workload, found.solve(x.measure(found.queries, fine)), total=x.total)

    from scipy.sparse import eye_array, vstack

    weight, rows = leaf_rows(leaves.areas)
    strategy = matrix(vstack([eye_array(leaves.number) * weight, rows], format="csr"))
    # What was rounded to the lattice is what will be measured: go on with that. Large counts show the difference.
    measured = strategy.entries.astype(np.float64) / strategy.unit
    weight, rows = float(measured[0, 0]), measured[leaves.number :].toarray()
    reduced = x.reduce(leaves.partition)
    noise = reduced.noise_variance(strategy, fine)
    scale = reduced.noise_scale(strategy, fine) / weight
    answers = reduced.measure(strategy, fine)
    noisy = answers[: leaves.number] / weight
    if scale == 0:
        return leaves.partition.spread(noisy)
    cells = shrink(noisy, scale, leaves.surroundings(noisy, [r for r in (4, 16, 64) if 4 * r <= leaves.number]))
    rows = np.vstack([rows, np.arange(line.number)[:, None] == leaves.parents])
    seen = np.concatenate([answers[leaves.number :], noisy_blocks])
    variances = np.repeat([noise, block_noise], [answers.size - leaves.number, line.number])
    fused = fuse_rows(cells, shared_errors(cells, noise / weight**2), rows, seen, variances)
    estimate = leaves.partition.spread(fused)
    return project_nonnegative(workload, estimate, total=x.total) if workload.kind == "prefix" else estimate
