"""GreedyH: a binary tree of counts whose levels are weighted for the workload (Li et al. 2014)."""

from __future__ import annotations

from jostle.algorithms.registry import algorithm
from jostle.kernel.budget import Budget
from jostle.kernel.partition import Vector
from jostle.kernel.source import Source
from jostle.kernel.strategies import Hierarchy, Strategy, hierarchy
from jostle.linear.design.levels import best_weights, level_energies, weighted
from jostle.linear.fitting.trees import tree_least_squares
from jostle.workloads import Workload


@algorithm(name="GreedyH", tasks=("range-1d",), cite="li2014data", data_dependent=False, batched=True)
def greedyh(x: Source, workload: Workload, budget: Budget) -> Vector:
    """A binary tree of counts, each level weighted by what it is worth to the workload, made consistent (Section 4).

    The paper sets one weight per level from the cells up, each with those below it fixed. Here all are set together: the
    workload's error is a short sum over the levels, so its least value is found as quickly. A level may come to nothing.

    Privacy: one Laplace measurement of a tree that depends only on the workload. The rest is post-processing.
    """
    tree = weighted_tree(workload.queries)
    return tree_least_squares(tree, x.measure(tree, budget))


def weighted_tree(queries: Strategy) -> Hierarchy:
    """The binary tree over the queries' domain, with the weights that answer them best.

    >>> from jostle.kernel.strategies import identity, prefix
    >>> weighted_tree(identity(256)).grids, weighted_tree(prefix(256)).grids
    (((256,),), ((2,), (16,), (256,)))
    """
    tree = hierarchy(queries.shape, 2)
    return weighted(tree, best_weights(tree, level_energies(tree, queries))[0])
