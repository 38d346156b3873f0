"""StructureFirst: bins are chosen privately, then counted (after Xu et al. 2012)."""

from __future__ import annotations

from math import sqrt

from jostle.algorithms._parameter_rules import SHARE
from jostle.algorithms.registry import algorithm
from jostle.kernel.budget import Budget
from jostle.kernel.partition import Vector
from jostle.kernel.source import IntervalCost, Source
from jostle.kernel.strategies import identity
from jostle.workloads import Workload

NOISE_GAIN = 4.0
"""About how much better noise can make a bin look, in scales of a count's noise at the same ε; set on
public histograms, DPBench's, as the share of the structure."""


@algorithm(
    name="StructureFirst",
    tasks=("range-1d",),
    cite="xu2012differentially",
    data_dependent=True,
    takes={"to_structure": SHARE},
)
def structure_first(x: Source, workload: Workload, budget: Budget, *, to_structure: float = 0.25) -> Vector:
    """Nearly even bins by a private choice, then one noisy count per bin (Section 5, repaired).

    The paper draws a fixed number of boundaries one after the other, by squared errors: a record moves these by as much as
    the counts are large, so they would have to be cut off at a public bound. Here all boundaries are chosen at once by
    distances from the bins' medians, which one record moves by at most 1, however large the counts are; a price for each bin
    takes the place of their number. The authors' code also counts all records for nothing.

    Privacy: one private partition (`to_structure` of the budget) and one Laplace measurement of its bins. The price is
    public: it comes from the noise that either stage gets. Faults of the original: docs/proofs/structure-first.md.
    """
    first, second = budget.split(to_structure, 1 - to_structure)
    of_choice, of_count = (sqrt(x.noise_variance(identity(x.shape), token) / 2) for token in (first, second))
    price = min(of_count + NOISE_GAIN * of_choice, 2.0**39 / x.size)  # beyond it, costs could not be compared exactly
    bins = x.partition(IntervalCost(price=price), first)
    reduced = x.reduce(bins)
    return bins.spread(reduced.measure(identity(reduced.shape), second))
