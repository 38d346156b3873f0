"""StructureFirst: bins are chosen privately, then counted."""

from __future__ import annotations

from math import sqrt

from jostle.algorithms.registry import algorithm
from jostle.kernel.budget import Budget
from jostle.kernel.partition import Vector
from jostle.kernel.source import IntervalCost, Source
from jostle.kernel.strategy import identity
from jostle.linear.workloads import Workload

OFFSET = 4.0
"""By how many times its scale the luckiest noise makes an interval look better than it is, about: the price of an interval covers it."""


@algorithm(name="StructureFirst", tasks=("range-1d",), cite="xu2012differentially", data_dependent=True)
def structure_first(x: Source, workload: Workload, budget: Budget, *, to_structure: float = 0.5) -> Vector:
    """Privacy: x"""
    first, second = budget.split(to_structure, 1 - to_structure)
    noise = sqrt(x.noise_variance(identity(x.shape), second) / 2)
    scale = float(x.neighbours.sensitivity(2, 4) / first.epsilon)
    bins = x.partition(IntervalCost(price=min(noise + OFFSET * scale, 2.0**39 / x.size)), first)
    reduced = x.reduce(bins)
    return bins.spread(reduced.laplace(identity(reduced.shape), second))
