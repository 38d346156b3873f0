"""AGrid: a coarse grid, each box of which is cut as finely as its own count allows (Qardaji, Yang, Li 2013)."""

from __future__ import annotations

from math import ceil, sqrt

import numpy as np

from jostle.algorithms._parameter_rules import FACTOR, SHARE, SIZE
from jostle.algorithms.registry import algorithm
from jostle.algorithms.ugrid import boxes_of_width, known_total, with_total
from jostle.kernel.budget import Budget
from jostle.kernel.partition import Vector
from jostle.kernel.source import Source
from jostle.kernel.strategies import blocks, identity
from jostle.linear.shrinkage.leaves import cut_to_width
from jostle.workloads import Workload


@algorithm(
    name="AGrid",
    tasks=("range-2d",),
    cite="qardaji2013differentially",
    data_dependent=True,
    takes={"c": FACTOR, "c2": FACTOR, "first_level": SHARE, "least": SIZE, "for_total": SHARE},
)
def agrid(
    x: Source,
    workload: Workload,
    budget: Budget,
    *,
    c: float = 10.0,
    c2: float = 5.0,
    first_level: float = 0.5,
    least: int = 10,
    for_total: float = 0.05,
) -> Vector:
    """A grid of a quarter of UGrid's fineness, and within each box one as fine as its noisy count allows (Section 4.3).

    The first level has at least `least` boxes along each axis and, where the domain allows, boxes of two cells and more:
    single cells would be measured twice in place of once. Both levels and the total meet in the least squares
    estimate, which has a closed form (Section 4.3, Constrained Inference).

    Privacy: a Laplace measurement of the total (`for_total` of the budget; none where it is public), which the authors take
    as known, one of the boxes, which depend on the noisy total, and one of the boxes within, which are disjoint and depend
    on the noisy counts of the first. The rest is post-processing.
    """
    cells = identity(x.shape)
    scale = max(x.noise_scale(cells, budget), 1e-300)
    records, doubt, rest = known_total(x, budget, for_total)
    coarse, fine = rest.split(first_level, 1 - first_level)
    fineness = max(least, ceil(min(sqrt(max(records, 0.0) / (c * scale)) / 4, max(x.shape))))
    boxes = boxes_of_width(x.shape, tuple(min(max(2, n // fineness), n) for n in x.shape))
    sums = blocks(boxes.partition, x.shape)
    noise, noisy = x.noise_variance(sums, coarse), x.measure(sums, coarse)

    pieces = np.ceil(np.sqrt(np.maximum(noisy, 0.0) / (c2 * max(x.noise_scale(cells, fine), 1e-300))))
    sizes = boxes.highs - boxes.lows
    leaves = cut_to_width(boxes, np.maximum(sizes // np.clip(pieces, 1, sizes.max()).astype(np.int64)[:, None], 1))
    counts = blocks(leaves.partition, x.shape)
    leaf_noise, within = x.noise_variance(counts, fine), x.measure(counts, fine)

    number = np.bincount(leaves.parents)
    sums_within, spread = np.bincount(leaves.parents, weights=within), number * leaf_noise
    share = spread / np.maximum(noise + spread, 1e-300)
    totals = with_total(sums_within + share * (noisy - sums_within), share * noise, records, doubt)
    return leaves.partition.spread(within + ((totals - sums_within) / number)[leaves.parents])
