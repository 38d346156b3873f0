"""AdaptiveGrid: blocks, cells within them and leaves within those, each as fine as the data can fill, and empirical Bayes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from jostle.algorithms.registry import algorithm
from jostle.kernel.budget import Budget
from jostle.kernel.partition import Counts, Vector
from jostle.kernel.source import Source
from jostle.kernel.strategy import blocks
from jostle.linear.bayes import shrink_by_scale
from jostle.linear.fusion import Sums, fuse_nested, shared_errors
from jostle.linear.leaves import Leaves, cut, regular
from jostle.linear.workloads import Workload


@algorithm(name="AdaptiveGrid", tasks=("range-2d",), cite="qardaji2013differentially", data_dependent=True)
def adaptive_grid(
    x: Source,
    workload: Workload,
    budget: Budget,
    *,
    shares: tuple[float, ...] = (0.15, 0.3, 0.55),
    first: int = 4,
    records: tuple[float, ...] = (8.0, 4.0),
    most: tuple[int, ...] = (6, 128),
) -> Vector:
    """AGrid's idea (Section 4.3) carried on: each stage cuts the boxes of the one before by their noisy counts.

    A box is cut so that its pieces hold about `records`/ε records, ε being that of the next stage. The last stage's leaves are shrunk by empirical Bayes
    and fused with the coarser counts.

    Privacy: one Laplace measurement a stage, of boxes that depend on the noisy counts of the stages before alone.
    """
    tokens = budget.split(*shares)
    boxes = regular(x.shape, (first,) * len(x.shape))
    stages: list[Stage] = []
    for number, token in enumerate(tokens):
        sums = blocks(boxes.partition, x.shape)
        noise = x.noise_variance(sums, token)
        noisy = x.laplace(sums, token)
        stages.append(Stage(boxes, noisy, np.full(boxes.number, noise)))
        if number < len(records):
            boxes = cut(boxes, np.minimum(_pieces(noisy, records[number] / float(tokens[number + 1].epsilon)), most[number]))
    if noise == 0:
        return boxes.partition.spread(noisy)
    for coarse, fine in pairwise(stages):
        _join_uncut(coarse, fine)
    last = stages[-1]
    leaves = shrink_by_scale(last.noisy, np.sqrt(last.variances / 2), boxes.surroundings(last.noisy, (1, 3, 6)))
    levels = [Sums(fine.boxes.parents, coarse.noisy, coarse.variances) for coarse, fine in pairwise(stages)]
    return boxes.partition.spread(fuse_nested(leaves, shared_errors(leaves, last.variances), levels[::-1]))


@dataclass
class Stage:
    """Boxes and their noisy counts."""

    boxes: Leaves
    """Where."""

    noisy: Vector
    """What was measured."""

    variances: Vector
    """How noisy each is; infinite once it was joined to a finer stage's."""


def _join_uncut(coarse: Stage, fine: Stage) -> None:
    """A box that was not cut is measured twice: average both by precision, before anything is shrunk."""
    parents = fine.boxes.parents
    whole = np.flatnonzero(np.bincount(parents)[parents] == 1)
    above = parents[whole]
    share = coarse.variances[above] / (coarse.variances[above] + fine.variances[whole])
    fine.noisy[whole] = share * fine.noisy[whole] + (1 - share) * coarse.noisy[above]
    fine.variances[whole] = share * fine.variances[whole]
    coarse.variances[above] = np.inf


def _pieces(noisy: Vector, records: float) -> Counts:
    """Into how many pieces along each axis, for pieces of so many records."""
    return np.ceil(np.sqrt(np.maximum(noisy, 0) / records)).astype(np.int64)
