"""Laplace: noise on every cell (Dwork et al. 2006)."""

from __future__ import annotations

from jostle.algorithms.registry import algorithm
from jostle.kernel.budget import Budget
from jostle.kernel.partition import Vector
from jostle.kernel.source import Source
from jostle.kernel.strategies import identity
from jostle.workloads import Workload


@algorithm(name="Laplace", tasks=("range-1d", "range-2d"), cite="dwork2006calibrating", data_dependent=False, batched=True)
def laplace(x: Source, workload: Workload, budget: Budget) -> Vector:
    """Every cell on its own, with discrete Laplace noise (Section 3).

    Privacy: one Laplace measurement of the cells.
    """
    return x.measure(identity(x.shape), budget)
