"""Uniform: the total, spread evenly (Hay et al. 2016)."""

from __future__ import annotations

import numpy as np

from jostle.algorithms.registry import algorithm
from jostle.kernel.budget import Budget
from jostle.kernel.partition import Vector
from jostle.kernel.source import Source
from jostle.kernel.strategies import total
from jostle.workloads import Workload


@algorithm(name="Uniform", tasks=("range-1d", "range-2d"), cite="hay2016principled", data_dependent=True, batched=True)
def uniform(x: Source, workload: Workload, budget: Budget) -> Vector:
    """A noisy total shared evenly among the cells (Section 4.2, a baseline).

    Privacy: one Laplace measurement of the total. Under `replace` the total is public and comes back exact.
    """
    return np.repeat(x.measure(total(x.shape), budget) / x.size, x.size, axis=-1)
