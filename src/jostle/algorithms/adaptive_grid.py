"""AdaptiveGrid: boxes within boxes, each as fine as the data can fill, and empirical Bayes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from jostle.algorithms.bayes import bayes
from jostle.algorithms.opt_bayes import LARGEST, opt_bayes
from jostle.algorithms.registry import algorithm
from jostle.kernel.budget import Budget
from jostle.kernel.errors import BadInput
from jostle.kernel.partition import Counts, Vector
from jostle.kernel.source import Source
from jostle.kernel.strategy import blocks
from jostle.linear.bayes import shrink_by_scale
from jostle.linear.fusion import Sums, fuse_nested, shared_errors
from jostle.linear.leaves import Leaves, cut, regular
from jostle.linear.workloads import Workload


@algorithm(name="AdaptiveGrid", tasks=("range-2d",), cite="qardaji2013differentially", data_dependent=True, version=3)
def adaptive_grid(
    x: Source,
    workload: Workload,
    budget: Budget,
    *,
    stages: int | None = None,
) -> Vector:
    """AGrid's idea (Section 4.3) carried on: each stage cuts the boxes of the one before by their noisy counts.

    A box is cut so that its pieces hold a few records for each 1/ε of the next stage. The last stage's leaves are shrunk by
    empirical Bayes and fused with the coarser counts. How many stages there are depends on the domain and on how long the
    queries are: on small domains, and for short queries, one that measures all cells is best (OPT-Bayes, Bayes).

    Privacy: one Laplace measurement a stage, of boxes that depend on the noisy counts of the stages before alone.
    """
    number = stages or usual_stages(workload)
    if number not in STAGES:
        raise BadInput("stages", f"must be one of {', '.join(map(str, STAGES))}", "leave it out")
    if number == 1:
        plan = opt_bayes.plan if x.size <= LARGEST else bayes.plan
        return plan(x, workload, budget)
    return _in_stages(x, budget, STAGES[number])


@dataclass(frozen=True)
class Recipe:
    """How the budget and the domain are cut."""

    shares: tuple[float, ...]
    """What each stage gets."""

    records: tuple[float, ...]
    """How many records a piece is to hold, in units of 1/ε of the next stage."""

    most: tuple[int, ...]
    """Into how many pieces a box is cut at most, along each axis."""


FIRST = 4
"""The first stage's boxes along each axis."""

STAGES = {
    1: Recipe((1.0,), (), ()),
    2: Recipe((0.2, 0.8), (4.0,), (128,)),
    3: Recipe((0.15, 0.3, 0.55), (8.0, 4.0), (6, 128)),
}


def usual_stages(workload: Workload) -> int:
    """How many stages serve the workload best, from its domain and the average side of its queries.

    >>> from jostle import workloads
    >>> usual_stages(workloads.identity((128, 128))), usual_stages(workloads.total((128, 128)))
    (1, 3)
    """
    dimensions = len(workload.domain)
    side = float(workload.shape[1]) ** (1 / dimensions)
    length = float((workload.lengths ** (1 / dimensions)).mean()) / side if workload.lengths.min() >= 0 else 1.0
    if side <= 16 or length < 1 / 11:
        return 1
    return 2 if side <= 32 else 3


def _in_stages(x: Source, budget: Budget, recipe: Recipe) -> Vector:
    tokens = budget.split(*recipe.shares)
    boxes = regular(x.shape, (FIRST,) * len(x.shape))
    stages: list[Stage] = []
    for number, token in enumerate(tokens):
        sums = blocks(boxes.partition, x.shape)
        noise = x.noise_variance(sums, token)
        noisy = x.laplace(sums, token)
        stages.append(Stage(boxes, noisy, np.full(boxes.number, noise)))
        if number < len(recipe.records):
            pieces = _pieces(noisy, recipe.records[number] / float(tokens[number + 1].epsilon))
            boxes = cut(boxes, np.minimum(pieces, recipe.most[number]))
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
