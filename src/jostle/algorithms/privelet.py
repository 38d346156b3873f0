"""Privelet: noise on the Haar wavelet's coefficients (Xiao, Wang, Gehrke 2010)."""

from __future__ import annotations

from jostle.algorithms.registry import algorithm
from jostle.kernel.budget import Budget
from jostle.kernel.partition import Vector
from jostle.kernel.source import Source
from jostle.kernel.strategies import wavelet
from jostle.linear.fitting.trees import cells_of
from jostle.workloads import Workload


@algorithm(name="Privelet", tasks=("range-1d", "range-2d"), cite="xiao2010wavelet", data_dependent=False, batched=True)
def privelet(x: Source, workload: Workload, budget: Budget) -> Vector:
    """The Haar wavelet, with noise that fits each coefficient's weight (Section 4.2; in two dimensions 6.1), and back.

    The paper divides a coefficient by its block's size and its noise likewise; here neither is divided, which is the same.

    Privacy: one Laplace measurement of the coefficients. The rest is post-processing.
    """
    coefficients = wavelet(x.shape)
    return cells_of(coefficients, x.measure(coefficients, budget))
