"""QuadTree: squares within squares (Cormode et al. 2012)."""

from __future__ import annotations

from jostle.algorithms._parameter_rules import number
from jostle.algorithms.registry import algorithm
from jostle.kernel.budget import Budget
from jostle.kernel.partition import Vector
from jostle.kernel.source import Source
from jostle.kernel.strategies import hierarchy
from jostle.linear.fitting.trees import tree_least_squares
from jostle.workloads import Workload


@algorithm(
    name="QuadTree",
    tasks=("range-2d",),
    cite="cormode2012differentially",
    data_dependent=False,
    batched=True,
    takes={"growth": number(0.01, 100)},
)
def quadtree(x: Source, workload: Workload, budget: Budget, *, growth: float = 2 ** (1 / 3)) -> Vector:
    """A grid that is halved along both axes down to the cells, made consistent.

    Each level gets `growth` times the budget of the one above it (Section 4.2, Lemma 3); estimates are the weighted least
    squares ones (Section 5).

    Privacy: one Laplace measurement of the tree, which depends only on the domain. The rest is post-processing.
    """
    levels = len(hierarchy(x.shape, 2).levels)
    tree = hierarchy(x.shape, 2, weights=[growth**level for level in range(levels)])
    return tree_least_squares(tree, x.measure(tree, budget))
