"""AdaptiveGrid: boxes within boxes, each as fine as the data can fill, and empirical Bayes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from jostle.algorithms._grids import known_total
from jostle.algorithms.bayes import bayes
from jostle.algorithms.opt_bayes import LARGEST, opt_bayes
from jostle.algorithms.registry import algorithm
from jostle.kernel.budget import Budget
from jostle.kernel.errors import BadInput
from jostle.kernel.partition import Counts, Vector
from jostle.kernel.source import Source
from jostle.kernel.strategy import blocks, total
from jostle.linear.bayes import shrink_by_scale
from jostle.linear.fusion import Sums, fuse_nested, shared_errors
from jostle.linear.leaves import Leaves, cut, regular
from jostle.linear.workloads import Workload


@algorithm(name="AdaptiveGrid", tasks=("range-2d",), cite="qardaji2013differentially", data_dependent=True, version=6)
def adaptive_grid(
    x: Source,
    workload: Workload,
    budget: Budget,
    *,
    stages: int | None = None,
) -> Vector:
    """AGrid's idea (Section 4.3) carried on: each stage cuts the boxes of the one before by their noisy counts.

    A box is cut so that its pieces hold a few records for each 1/ε of the next stage. The last stage's leaves are shrunk by
    empirical Bayes and fused with the coarser counts. On small domains, for short queries and where records are many, one
    stage that measures all cells is best (OPT-Bayes, Bayes).

    Privacy: one Laplace measurement a stage, of boxes that depend on the noisy counts of the stages before alone; and a
    small one of the number of records, if that is not public and decides how many stages there are.
    """
    if stages not in (None, 1, 3):
        raise BadInput("stages", f"must be 1 or 3, got {stages!r:.40}", "leave it out")
    number, rest = (stages, budget) if stages is not None else _usual_stages(x, workload, budget)
    if number == 1:
        plan = opt_bayes if x.size <= LARGEST and workload.average_length > FEW_CELLS else bayes
        return plan.plan(x, workload, rest)
    return _in_stages(x, rest, THREE)


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

THREE = Recipe((0.15, 0.3, 0.55), (8.0, 4.0), (6, 128))
"""Three stages."""

SHORT, MEDIUM = 1 / 24, 1 / 11
"""What share of the domain's side short queries' have at most, on average, and medium ones'."""

FEW_CELLS = 4.0
"""Sums of so few cells on average gain little from overlapping sums, and more from what cells beside them say."""

FULL = 0.25
"""With so many records a cell, for noise of scale 1, there is little resolution to save, and one stage is best.

Found on the public grids that selectors are trained on, with 32×32 cells; on grids that they are not trained on, three
stages win at 0.17 records a cell and lose at 17.
"""

LOOK = 0.01
"""The share of the budget that tells how many records there are, where that decides."""


def _usual_stages(x: Source, workload: Workload, budget: Budget) -> tuple[int, Budget]:
    """How many stages serve best, by the domain, the queries and the noisy number of records; and what is left of ε."""
    side = x.size ** (1 / len(x.shape))
    length = _side_of(workload) / side
    if side <= 16 or length < SHORT:
        return 1, budget
    if side > 32 and length >= MEDIUM:
        return 3, budget
    needed = FULL * x.size * x.noise_scale(total(x.shape), budget)
    records, _, rest = known_total(x, budget, LOOK)
    return (1 if records > needed else 3), rest


def _side_of(workload: Workload) -> float:
    """The queries' side on average, if they were squares; the domain's where they are not sums of cells."""
    lengths = workload.lengths if workload.lengths.min() >= 0 else np.array([float(workload.shape[1])])
    return float((lengths ** (1 / len(workload.domain))).mean())


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
