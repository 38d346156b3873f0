"""Error bars of a release: exact where the error does not depend on the data, and otherwise simulated and calibrated.

Simulations run on the released numbers. These are public, so it costs no privacy. An estimate that was smoothed is easier to
answer than the data behind it, and a simulation on it would be too sure. So the stand-ins for the data are rougher, and some
algorithms' intervals are made wider (`calibration`). `jostle bench coverage` measures what they cover.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import chain
from typing import Any, Final, TypeAlias

import numpy as np

from jostle import algorithms
from jostle.algorithms import Algorithm
from jostle.kernel.budget import Price
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.partition import Counts, Vector
from jostle.linear.laws import whole_margins
from jostle.simulate.calibration import signal, widened
from jostle.simulate.linear_noise import LinearError
from jostle.simulate.runner import estimates, estimates_together
from jostle.workloads import Workload

Run: TypeAlias = tuple[Algorithm, Vector, Workload, Fraction | Price, Neighbours, dict[str, Any]]
"""A release: the algorithm, its estimate, the workload, ε, the neighbours, and the algorithm's own arguments."""

BLIND: Final = ("Uniform",)
"""Algorithms whose released numbers say nothing about how far off they are: an answer is only known to be between 0 and all
records, and that is its interval."""

STAND_INS = 10
"""The most stand-ins for the data; on more than 600 cells fewer, because each of them has many errors."""

TRIALS = 20
POOL = 200
"""How many simulated errors decide a margin: those of the cell itself, and of cells with similar counts if the cell was
simulated less often."""

ENOUGH_ERRORS = 6000
"""Where errors are pooled, runs are simulated until all cells together have about this many errors."""

MANY = 2**17
"""For more answers, fewer runs are simulated, and only the largest errors of each are kept: all would fill the memory."""

TOGETHER = 39
"""For intervals that hold at once, there are at least this many runs."""

UNSEEN = 399
"""How often an algorithm is run whose error does not depend on the data, where no closed form is known."""

_AT_ONCE = 2**20


def within_95(
    plan: Algorithm,
    estimate: Vector,
    asked: Workload,
    epsilon: Fraction | Price,
    neighbours: Neighbours,
    tunables: dict[str, Any],
) -> Vector:
    """Half the width of a 95 % interval around each answer.

    >>> import jostle
    >>> cells, rows = jostle.workloads.identity(3), jostle.Neighbours("add_remove")
    >>> within_95(jostle.algorithms.get("Laplace"), np.array([5.0, 0.0, 9.0]), cells, Fraction(1), rows, {})
    array([3., 3., 3.])
    """
    plan, tunables = settled_plan(plan, asked, tunables, epsilon)
    raw = raw_margins(plan, estimate, asked, epsilon, neighbours, tunables)
    if not plan.data_dependent or plan.name in BLIND:
        return raw
    found = widened(raw, plan.name, (asked.kind, asked.domain), signal(estimate, Price.of(epsilon)))
    return np.maximum(found, to_whole(asked @ estimate.reshape(-1))) if asked.queries.unit == 1 else found


def to_whole(answers: Vector) -> Vector:
    """How far the nearest whole number is: a count is one, so an interval that ends before it holds nothing.

    >>> to_whole(np.array([0.2, 3.9, 7.0])).round(2).tolist()
    [0.2, 0.1, 0.0]
    """
    return np.asarray(np.abs(answers - np.round(answers)))


def raw_margins(
    plan: Algorithm,
    estimate: Vector,
    asked: Workload,
    epsilon: Fraction | Price,
    neighbours: Neighbours,
    tunables: dict[str, Any],
) -> Vector:
    """The same before simulated ones are widened."""
    exact = exact_margins(asked, plan, estimate, asked, epsilon, neighbours, tunables)
    if exact is not None:
        return exact
    plan, tunables = settled_plan(plan, asked, tunables, epsilon)
    found = simulated_errors(asked, plan, estimate, asked, epsilon, neighbours, tunables)
    if plan.name in BLIND and asked.queries.unit == 1 and asked.queries.bounds == (0, 1):
        answers, total = asked @ estimate, abs(float(estimate.sum()))
        noise = float(whole_margins(np.ones(1), _scale(epsilon, neighbours))[0])
        widest = np.maximum(np.abs(answers), np.abs(total - answers))
        # Whatever the data are, at most one cell in 20 has 20 times as many records as cells have in the mean (Markov).
        return noise + (np.minimum(widest, 19 * total / estimate.size) if asked.kind == "identity" else widest)
    if asked.shape[0] > MANY:
        return _quantile_of_many(found, asked.shape[0], _runs(plan, asked))
    off = np.abs(np.concatenate(list(found)))
    return pooled_quantile(off, estimate.reshape(-1)) if _pools(plan, asked) else scaled_quantile(off)


def together_95(margins: Vector, *run: Any) -> Vector:
    """The margins, widened until all of them hold at once with 95 % confidence."""
    found = simulated_errors(run[2], *run, least=TOGETHER)
    beyond = [np.abs(batch) / np.maximum(margins, 1e-12) for batch in found]
    return np.asarray(margins * max(float(order_statistic(np.concatenate([one.max(axis=1) for one in beyond]))), 1.0))


def _scale(epsilon: Fraction | Price, neighbours: Neighbours) -> float:
    """The scale of the noise on the number of records."""
    return float(neighbours.sensitivity(1, 2)) / Price.of(epsilon).rate


def exact_margins(
    asked: Workload,
    plan: Algorithm,
    estimate: Vector,
    made_for: Workload,
    epsilon: Fraction | Price,
    neighbours: Neighbours,
    tunables: dict[str, Any],
) -> Vector | None:
    """The same in closed form, if the plan's error does not depend on the data and its law is known; otherwise None."""
    plan, tunables = settled_plan(plan, made_for, tunables, epsilon)
    if plan.data_dependent or not plan.batched:
        return None
    return LinearError(plan, made_for, epsilon, neighbours, tunables).margins(asked)


def simulated_errors(
    asked: Workload,
    plan: Algorithm,
    estimate: Vector,
    made_for: Workload,
    epsilon: Fraction | Price,
    neighbours: Neighbours,
    tunables: dict[str, Any],
    *,
    least: int = 1,
) -> Iterator[Vector]:
    """The errors of simulated runs, in batches with one row per run, on data from which the estimate may come.

    The stand-ins for the data are the estimate, less errors as a first simulation shows them, with the spread of counts
    (Poisson). Where the error does not depend on the data, no records will do. There are at least as many runs as `least`.
    """
    rng = np.random.default_rng(0)
    plan, tunables = settled_plan(plan, made_for, tunables, epsilon)
    flat = estimate.reshape(-1)
    keywords: dict[str, Any] = {"neighbours": neighbours, **tunables}
    if not plan.data_dependent:
        empty = np.zeros(made_for.domain, dtype=np.int64)
        for batch in estimates(plan, empty, made_for, epsilon, trials=max(_runs(plan, asked), least), seed=0, **keywords):
            yield asked @ batch
        return

    def stand_ins(centres: Iterable[Vector]) -> list[Counts]:
        most = 2.0**40 / estimate.size
        return [rng.poisson(np.clip(centre, 0, most)).reshape(made_for.domain) for centre in centres]

    def simulated(data: list[Counts], trials: int, seeds: range) -> Iterator[Iterator[Vector]]:
        return estimates_together(plan, data, made_for, epsilon, trials=trials, seeds=seeds, **keywords)

    first, number = stand_ins([flat]), _stand_ins(plan, asked)
    (runs,) = simulated(first, number, range(1))
    rough = stand_ins(flat - (run - first[0].reshape(-1)) for run in chain.from_iterable(runs))
    found = simulated(rough, math.ceil(max(_runs(plan, asked), least) / number), range(1, number + 1))
    for data, batches in zip(rough, found, strict=True):
        right = asked @ data
        for batch in batches:
            yield (asked @ batch) - right


def settled_plan(
    plan: Algorithm, made_for: Workload, tunables: dict[str, Any], price: Fraction | Price
) -> tuple[Algorithm, dict[str, Any]]:
    """The algorithm that a choosing plan always runs for this question, if there is one; otherwise the plan itself."""
    name = None if plan.settled is None else plan.settled(made_for, measure=Price.of(price).measure, **tunables)
    return (plan, tunables) if name is None else (algorithms.get(name), {})


def order_statistic(off: Vector) -> Vector:
    """What a further error does not exceed with a probability of at least 95 %, by errors along the first axis.

    Of n errors that could as well have been the release's own, the ⌈0.95 (n + 1)⌉-th is not passed by it with that
    probability; a quantile between two of them often is.

    >>> float(order_statistic(np.arange(1.0, 101.0))), float(order_statistic(np.arange(1.0, 11.0)))
    (96.0, 10.0)
    """
    runs = off.shape[0]
    place = min(math.ceil(0.95 * (runs + 1)), runs) - 1
    return np.asarray(np.partition(off, place, axis=0)[place])


def scaled_quantile(off: Vector) -> Vector:
    """The 95 % quantile of each answer's errors: its own root mean square, times what all answers together say of the rest.

    A root mean square takes far fewer runs than a quantile. An error is compared with that of the other runs.

    >>> errors = np.abs(np.random.default_rng(0).normal(size=(100, 200)) * np.repeat([1.0, 10.0], 100))
    >>> scaled_quantile(errors)[[0, 199]].round().tolist()
    [2.0, 18.0]
    """
    runs = off.shape[0]
    if runs < 3:
        return order_statistic(off)
    squares = off**2
    total = squares.sum(axis=0)
    others = np.sqrt((total - squares) / (runs - 1))
    ratios = np.divide(off, others, out=np.zeros_like(off), where=others > 0)
    return np.asarray(np.sqrt(total / runs) * order_statistic(ratios.reshape(-1)))


def pooled_quantile(off: Vector, estimate: Vector) -> Vector:
    """The 95 % quantile of each cell's errors together with those of the cells whose estimates are next to its own.

    One row of `off` has the errors of one run.

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
        for some in np.array_split(ranks, math.ceil(ranks.size * width * runs / _AT_ONCE) or 1):
            pools = ranked[low[some, None] + np.arange(width)].reshape(some.size, width * runs)
            out[order[some]] = order_statistic(pools.T) if some.size else []
    return out


def _pools(plan: Algorithm, asked: Workload) -> bool:
    """Whether cells with similar counts have similar errors, if there are not too many."""
    return plan.data_dependent and asked.kind == "identity" and asked.shape[0] <= MANY


def _stand_ins(plan: Algorithm, asked: Workload) -> int:
    """How many stand-ins for the data there are."""
    return min(max(ENOUGH_ERRORS // asked.shape[0], 1), STAND_INS) if _pools(plan, asked) else STAND_INS


def _runs(plan: Algorithm, asked: Workload) -> int:
    """How many errors each answer is simulated with."""
    if not plan.data_dependent:
        return UNSEEN
    number = _stand_ins(plan, asked)
    if _pools(plan, asked):
        return number * min(max(ENOUGH_ERRORS // (number * asked.shape[0]), 1), TRIALS)
    return number * (TRIALS if plan.batched and asked.shape[0] <= MANY else TRIALS // 4)


def _quantile_of_many(found: Iterator[Vector], queries: int, runs: int) -> Vector:
    """The order statistic without all errors in memory: smaller ones are forgotten as others come in."""
    kept = runs - min(math.ceil(0.95 * (runs + 1)), runs) + 1
    largest = np.zeros((kept, queries))  # falling
    for run in chain.from_iterable(found):
        off = np.abs(run)
        for row in largest:
            smaller = np.minimum(row, off)
            np.maximum(row, off, out=row)
            off = smaller
    return np.asarray(largest[-1])
