"""PHP: a line is cut in two, privately, and its parts again, until they look even (Ács, Castelluccia, Chen 2012)."""

from __future__ import annotations

from fractions import Fraction
from math import log, sqrt

import numpy as np

from jostle.algorithms._parameter_rules import SHARE, whole_number
from jostle.algorithms.registry import algorithm
from jostle.kernel.budget import Budget
from jostle.kernel.functions.scores import SplitScore
from jostle.kernel.partition import Partition, Vector
from jostle.kernel.source import Source
from jostle.kernel.strategies import identity
from jostle.workloads import Workload

FINEST = 64
"""Parts that are no longer than this fraction of the line are not cut any further, but asked once whether they are even."""


@algorithm(
    name="PHP",
    tasks=("range-1d",),
    cite="acs2012differentially",
    data_dependent=True,
    takes={"to_cuts": SHARE, "levels": whole_number(1, 1_000)},
)
def php(x: Source, workload: Workload, budget: Budget, *, to_cuts: float = 0.5, levels: int | None = None) -> Vector:
    """Bisection by private choices, then one noisy count per part (Section IV-B: P-HPartition).

    A cut is chosen by how many records it finds on the wrong side if the part were even. The paper scores how far the cells
    on each side are from their mean, which moves twice as far with one record, and hardly sees a single large cell until it
    is alone. Not to cut is a candidate as well; its score is what the best of that many useless cuts would get. The first
    cut need not beat chance: a useless one costs one count, where to miss it may cost all. Short parts that are not even are
    counted cell by cell. What is not needed for cuts goes to the counts.

    Privacy: on each of log₂n − 2 levels a private choice in every part, in parallel, together with `to_cuts` of the budget;
    then one Laplace measurement of the parts' totals. The parts depend only on the choices. Proof of the score:
    docs/proofs/statistics.md.
    """
    rounds = max(1, (x.size - 1).bit_length() - 2) if levels is None else levels
    share, left = Fraction(str(to_cuts)) / rounds, Fraction(1)
    starts, waiting = [0], [(0, x.size)] if x.size > 1 else []
    for _ in range(rounds):
        if waiting:
            left -= share
            token, budget = budget.split(share, left)
            noise = sqrt(x.noise_variance(identity(x.shape), budget) / 2)
            waiting = _bisect(x, waiting, token, noise, starts)
    for low, high in waiting:
        starts.extend(range(low + 1, high))
    parts = Partition.intervals(sorted(starts), x.size)
    reduced = x.reduce(parts)
    return parts.spread(reduced.measure(identity(reduced.shape), budget))


def _bisect(
    x: Source, parts: list[tuple[int, int]], budget: Budget, noise: float, starts: list[int]
) -> list[tuple[int, int]]:
    """Cut each part where that is worth it: note down where new parts start, and return those that may be cut again."""
    waiting = []
    for (low, high), (part, token) in zip(parts, _sources(x, parts, budget), strict=False):
        cut = low + (_first_cut(part, token, noise) if part is x else _cut(part, token, noise))
        if cut == low:
            continue
        if part.size <= max(x.size // FINEST, 4):
            starts.extend(range(low + 1, high))
            continue
        starts.append(cut)
        waiting += [(a, b) for a, b in ((low, cut), (cut, high)) if b - a > 1]
    return waiting


def _sources(x: Source, parts: list[tuple[int, int]], budget: Budget) -> list[tuple[Source, Budget]]:
    """The parts' own sources and tokens; last, what is in none of them."""
    if parts == [(0, x.size)]:
        return [(x, budget)]
    labels = np.full(x.size, len(parts))
    for number, (low, high) in enumerate(parts):
        labels[low:high] = number
    return x.split(Partition.of(labels), budget)


def _first_cut(whole: Source, token: Budget, noise: float) -> int:
    """A cut that is worth one more count, at one of few places: it leaves no part too short for its count to tell much."""
    blocks = min(whole.size, FINEST)
    coarse = whole.reduce(Partition.grid((whole.size,), (blocks,)))
    chosen = coarse.choose(range(blocks), SplitScore(blocks, _price(noise, coarse)), token)
    return -(-chosen * whole.size // blocks)


def _cut(part: Source, token: Budget, noise: float) -> int:
    """A cut that is worth one more count, and more than the best of that many useless ones by chance; 0 if no cut is."""
    chance = 2 * sqrt(part.noise_variance(identity(part.shape), token) / 2) * log(part.size)
    return part.choose(range(part.size), SplitScore(part.size, _price(noise + chance, part)), token)


def _price(records: float, part: Source) -> float:
    """As much as can be compared exactly."""
    return min(records, 2.0**39 / part.size)
