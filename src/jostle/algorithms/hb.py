"""HB: a tree of counts whose branching suits the domain (Qardaji, Yang, Li 2013)."""

from __future__ import annotations

from functools import cache
from math import ceil, log

from jostle.algorithms._parameter_rules import TRUTH, whole_number
from jostle.algorithms.registry import algorithm
from jostle.kernel.budget import Budget
from jostle.kernel.partition import Vector
from jostle.kernel.source import Source
from jostle.kernel.strategies import hierarchy
from jostle.linear.fitting.trees import average_range_variance, tree_least_squares
from jostle.workloads import Workload


@algorithm(
    name="HB",
    tasks=("range-1d", "range-2d"),
    cite="qardaji2013understanding",
    data_dependent=False,
    batched=True,
    takes={"branching": whole_number(2, 2**24), "root": TRUTH},
)
def hb(x: Source, workload: Workload, budget: Budget, *, branching: int | None = None, root: bool = False) -> Vector:
    """A tree of counts whose branching minimises the variance of a range (Section 4, Equation 3), made consistent.

    The root is not measured unless asked for, as in the paper; the authors of DPBench measure it, at a loss.

    Privacy: one Laplace measurement of the tree, which depends only on the domain. The rest is post-processing.
    """
    tree = hierarchy(x.shape, branching or best_branching(x.shape), root=root)
    return tree_least_squares(tree, x.measure(tree, budget))


@cache
def best_branching(shape: tuple[int, ...]) -> int:
    """The branching with the least average variance of a range.

    On a line it is the authors' formula. On a grid theirs is rough, so the variance after least squares is computed.

    >>> best_branching((256,)), best_branching((1024,)), best_branching((4096,)), best_branching((128, 128))
    (16, 32, 16, 26)
    """
    longest = max(max(shape), 2)
    if len(shape) == 1:
        # The variance rises with the branching while the height stays, so the smallest branching of each height will do.
        heights = range(1, longest.bit_length() + 1)
        smallest: set[int] = {max(2, ceil(round(longest ** (1 / height), 9))) for height in heights}
        return min(sorted(smallest), key=lambda b: _range_variance(longest, b))
    best: int = min({*range(2, min(longest, 128) + 1), longest}, key=lambda b: _grid_variance(shape, b))
    return best


def _grid_variance(shape: tuple[int, ...], branching: int) -> float:
    tree = hierarchy(shape, branching, root=False)
    return average_range_variance(tree) * (tree.norm / tree.unit) ** 2


def _range_variance(n: int, branching: int) -> float:
    height = ceil(round(log(n, branching), 9)) if n > 1 else 1
    return float((branching - 1) * height**3 - 2 * (branching + 1) * height**2 / 3)
