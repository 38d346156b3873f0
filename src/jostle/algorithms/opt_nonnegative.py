"""OPT-nonnegative: a strategy optimised for the workload, and counts that are at least 0."""

from __future__ import annotations

from jostle.algorithms.opt import best_strategy
from jostle.algorithms.registry import algorithm
from jostle.kernel.budget import Budget
from jostle.kernel.partition import Vector
from jostle.kernel.source import Source
from jostle.linear.fitting.projections import project_nonnegative
from jostle.workloads import Workload


@algorithm(
    name="OPT-nonnegative",
    tasks=("range-1d", "range-2d"),
    cite="mckenna2018optimizing",
    data_dependent=True,
    batched=True,
)
def opt_nonnegative(x: Source, workload: Workload, budget: Budget) -> Vector:
    """What OPT measures, then the counts of at least 0 whose answers to the workload are nearest to OPT's.

    Nearest in the answers that are asked for, not in the cells: sums over sparse parts of the domain stay free of the bias
    that clipped cells have, and the error falls on every input. Answers to other questions may be worse than OPT's.

    Privacy: one Laplace measurement of a strategy that depends on the workload alone. The rest is post-processing.
    """
    found = best_strategy(workload)
    return project_nonnegative(workload, found.solve(x.laplace(found.queries, budget)), total=x.total)
