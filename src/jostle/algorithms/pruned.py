"""Pruned: nested blocks, cut further only where they hold much, and a tree over what is left."""

from __future__ import annotations

from jostle.algorithms.dawa import dawa
from jostle.algorithms.registry import algorithm
from jostle.kernel.budget import Budget
from jostle.kernel.partition import Vector
from jostle.kernel.source import Source
from jostle.workloads import Workload


@algorithm(name="Pruned", tasks=("range-1d", "range-2d"), cite="li2014data", data_dependent=True)
def pruned(x: Source, workload: Workload, budget: Budget) -> Vector:
    """DAWA's two stages (Section 2) with another first one: noisy counts of nested blocks say which are worth cutting.

    Along Hilbert's curve the blocks of a grid are squares, as in a quadtree. Both stages' counts meet in one estimate.

    Privacy: a Laplace measurement of blocks that the domain fixes, from which buckets are made by post-processing; then a
    Laplace measurement of a tree over the buckets, which depends on them and on the workload alone.
    """
    return dawa.plan(x, workload, budget, partition="blocks")
