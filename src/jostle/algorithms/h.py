"""H: a binary tree of counts (Hay et al. 2010)."""

from __future__ import annotations

from jostle.algorithms._parameter_rules import TRUTH, whole_number
from jostle.algorithms.registry import algorithm
from jostle.kernel.budget import Budget
from jostle.kernel.partition import Vector
from jostle.kernel.source import Source
from jostle.kernel.strategies import hierarchy
from jostle.linear.fitting.trees import tree_least_squares
from jostle.workloads import Workload


@algorithm(
    name="H",
    tasks=("range-1d",),
    cite="hay2010boosting",
    data_dependent=False,
    batched=True,
    takes={"branching": whole_number(2, 2**24), "root": TRUTH},
)
def h(x: Source, workload: Workload, budget: Budget, *, branching: int = 2, root: bool = False) -> Vector:
    """A binary tree of counts with the same noise on every level, made consistent (Section 4).

    The root is not measured unless asked for: one level less is less noise on all others, and a lower error in all.

    Privacy: one Laplace measurement of the tree, which depends only on the domain. The rest is post-processing.
    """
    tree = hierarchy(x.shape, branching, root=root)
    return tree_least_squares(tree, x.measure(tree, budget))
