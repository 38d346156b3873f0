"""Error bars of a release, simulated on the released numbers: these are public, so it costs no privacy."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import chain
from typing import Any, TypeAlias

import numpy as np

from jostle import algorithms
from jostle.algorithms import Algorithm
from jostle.kernel.budget import Price
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.partition import Counts, Vector
from jostle.simulate.runner import estimates_together
from jostle.workloads import Workload

Run: TypeAlias = tuple[Algorithm, Vector, Workload, Fraction | Price, Neighbours, dict[str, Any]]
"""A release: the algorithm, its estimate, the workload, its price, the neighbours, and the algorithm's own arguments."""

STAND_INS = 10
TRIALS = 20
POOL = 200
"""How many simulated errors decide a margin: those of the cell itself, and of cells with similar counts if the cell was
simulated less often."""

ENOUGH_ERRORS = 2000
"""Where errors are pooled, runs are simulated until all cells together have about this many errors."""

LEAST_TRIALS = 2
"""But each stand-in for the data is answered at least this often."""

MANY = 2**17
"""For more answers, fewer runs are simulated, and only the largest errors of each are kept: all would fill the memory."""

_AT_ONCE = 2**20


def within_95(
    plan: Algorithm,
    estimate: Vector,
    asked: Workload,
    price: Fraction | Price,
    neighbours: Neighbours,
    tunables: dict[str, Any],
) -> Vector:
    """Half the width of a 95 % interval around each answer.

    >>> import jostle
    >>> cells, rows = jostle.workloads.identity(3), jostle.Neighbours("add_remove")
    >>> within_95(jostle.algorithms.get("Laplace"), np.array([5.0, 0.0, 9.0]), cells, Fraction(1), rows, {}).round()
    array([3., 3., 3.])
    """
    plan, tunables = _settled(plan, asked, tunables)
    found = simulated_errors(asked, plan, estimate, asked, price, neighbours, tunables)
    if _pools(plan, asked):
        return pooled_quantile(np.abs(np.concatenate(list(found))), estimate.reshape(-1))
    if asked.shape[0] > MANY:
        return _quantile_of_many(found, asked.shape[0], STAND_INS * _trials(plan, asked))
    return np.asarray(np.quantile(np.abs(np.concatenate(list(found))), 0.95, axis=0))


def simulated_errors(
    asked: Workload,
    plan: Algorithm,
    estimate: Vector,
    made_for: Workload,
    price: Fraction | Price,
    neighbours: Neighbours,
    tunables: dict[str, Any],
) -> Iterator[Vector]:
    """The errors of simulated runs, in batches with one row per run, on data from which the estimate may come.

    An estimate that was smoothed is easier to answer than the data behind it. So the stand-ins for the data are rougher: the
    estimate, less errors as a first simulation shows them, with the spread of counts (Poisson).
    """
    rng = np.random.default_rng(0)
    plan, tunables = _settled(plan, made_for, tunables)
    flat = estimate.reshape(-1)

    def stand_ins(centres: Iterable[Vector]) -> list[Counts]:
        most = 2.0**40 / estimate.size
        return [rng.poisson(np.clip(centre, 0, most)).reshape(made_for.domain) for centre in centres]

    def simulated(data: list[Counts], trials: int, seeds: range) -> Iterator[Iterator[Vector]]:
        return estimates_together(plan, data, made_for, price, trials=trials, seeds=seeds, neighbours=neighbours, **tunables)

    first = stand_ins([flat])
    (runs,) = simulated(first, STAND_INS, range(1))
    rough = stand_ins(flat - (run - first[0].reshape(-1)) for run in chain.from_iterable(runs))
    found = simulated(rough, _trials(plan, asked), range(1, STAND_INS + 1))
    for data, batches in zip(rough, found, strict=True):
        right = asked @ data
        for batch in batches:
            yield (asked @ batch) - right


def _settled(plan: Algorithm, made_for: Workload, tunables: dict[str, Any]) -> tuple[Algorithm, dict[str, Any]]:
    """The algorithm that a choosing plan always runs for this question, if there is one; otherwise the plan itself."""
    name = None if plan.settled is None else plan.settled(made_for, **tunables)
    return (plan, tunables) if name is None else (algorithms.get(name), {})


def pooled_quantile(off: Vector, estimate: Vector) -> Vector:
    """The 95 % quantile of each cell's errors together with those of the cells whose estimates are next to its own.

    One row of `off` has the errors of one run. Of n errors that could as well have been the release's own, the
    ⌈0.95 (n + 1)⌉-th is not passed by it with a probability of at least 0.95; a quantile between two of them often is.

    >>> pooled_quantile(np.array([[1.0, 2.0, 3.0]] * 100), np.array([30.0, 10.0, 20.0])).tolist()
    [3.0, 3.0, 3.0]
    """
    runs, cells = off.shape
    order = np.argsort(estimate, kind="stable")
    ranked, out = off[:, order].T, np.empty(cells)
    half = math.ceil((POOL / runs - 1) / 2) if runs < POOL else 0
    for width in range(min(half + 1, cells), min(2 * half + 1, cells) + 1):
        # Pools of one width: in the middle all that are whole, at both ends those that are cut short.
        ranks = np.arange(cells)
        low, high = np.maximum(ranks - half, 0), np.minimum(ranks + half + 1, cells)
        ranks = ranks[high - low == width]
        place = min(math.ceil(0.95 * (width * runs + 1)), width * runs) - 1
        for some in np.array_split(ranks, math.ceil(ranks.size * width * runs / _AT_ONCE) or 1):
            pools = ranked[low[some, None] + np.arange(width)].reshape(some.size, width * runs)
            out[order[some]] = np.partition(pools, place, axis=1)[:, place] if some.size else []
    return out


def _pools(plan: Algorithm, asked: Workload) -> bool:
    """Whether cells with similar counts have similar errors: each is shrunk towards cells like it, if not many."""
    return plan.finish is not None and asked.kind == "identity" and asked.shape[0] <= MANY


def _trials(plan: Algorithm, asked: Workload) -> int:
    """How often each stand-in for the data is answered."""
    if _pools(plan, asked):
        return min(max(ENOUGH_ERRORS // (STAND_INS * asked.shape[0]), LEAST_TRIALS), TRIALS)
    return TRIALS if plan.batched and asked.shape[0] <= MANY else TRIALS // 4


def _quantile_of_many(found: Iterator[Vector], queries: int, runs: int) -> Vector:
    """The same quantile without all errors in memory: smaller ones are forgotten as others come in."""
    place = 0.95 * (runs - 1)
    largest = np.zeros((runs - math.floor(place), queries))  # falling; the quantile lies between the last two
    for run in chain.from_iterable(found):
        off = np.abs(run)
        for kept in largest:
            smaller = np.minimum(kept, off)
            np.maximum(kept, off, out=kept)
            off = smaller
    return np.asarray(largest[-1] + (place - math.floor(place)) * (largest[-2] - largest[-1]))
