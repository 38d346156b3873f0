"""Accuracy first: raise ε step by step until the answers are good enough, and pay only for the last step and the tests."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from jostle.kernel.arguments import LARGEST_TOTAL, check_whole, counts
from jostle.kernel.budget import Budget, exact
from jostle.kernel.errors import BadInput
from jostle.kernel.partition import Counts, Vector
from jostle.kernel.strategies import LARGEST_ENTRY
from jostle.mechanisms.gradual import GradualRelease
from jostle.mechanisms.sensitivity import Sensitivity
from jostle.mechanisms.threshold import AboveThreshold
from jostle.workloads import Workload

FARTHEST = 2**53
"""Errors further than this from `within`, in units of the workload, are clipped: a float holds all others exactly."""

NEIGHBOURS_TRIED = 200
"""Random pairs of neighbours that a stated sensitivity is tried on."""


@dataclass(frozen=True, eq=False)
class Accurate:
    """Answers that were good enough, or the best that the budget could buy."""

    answers: Vector
    estimate: Vector
    enough: bool
    """The result of a noisy test."""

    steps: int
    spent: Fraction
    """The last step's ε and the test's."""


def accuracy_first(
    x: Any, workload: Workload, *, within: float, budget: Budget, steps: int = 8, test: Any = 0.2, note: str = ""
) -> Accurate:
    """Answer a workload on counts so that no answer is off by more than `within`, with as little ε as that takes.

    `budget` is the most to spend; `test` is the share of it for all tests together. ε doubles with each step. Steps that are
    not reached are not charged.

    Ligett, Neel, Roth, Waggoner, Wu: Accuracy first: selecting a differential privacy level for accuracy-constrained ERM,
    NIPS 2017, Algorithms 2 and 4.

    Privacy: the first t gradual releases together are ε_t-differentially private. The largest error of an answer, given what
    was released, is moved by one record as far as one query is; all tests together are one above-threshold search. It is
    computed in the workload's whole units: no rounding adds to what a record moves. Both run side by side, and pure ε adds
    up then, too. So what is spent is ε_t + ε of the tests: ex-post privacy, as the paper calls it, since t depends on the
    data; never more than the budget.

    >>> from jostle import mechanisms, workloads
    >>> budget = mechanisms.simulation(seed=0).grant(4)
    >>> found = accuracy_first([500, 20, 90, 7], workloads.prefix(4), within=40, budget=budget)
    >>> found.enough, found.spent < 4
    (True, True)
    """
    vector, domain = counts(x)
    if not isinstance(workload, Workload):
        raise BadInput("workload", "must be a workload", "pass for instance jostle.workloads.prefix(100)")
    workload.check(domain)
    share = exact(test, "test")
    if share >= 1:
        raise BadInput("test", "must be a share below 1", "pass for instance 0.2")
    check_whole(steps, "steps", "pass for instance 8", least=1, most=40)
    wish = Fraction(float(exact(within, "within")))
    if type(budget) is not Budget:
        raise BadInput("budget", "must be a token", "pass for instance account.grant(1)")
    low, high = workload.queries.bounds
    if max(-low, high) > LARGEST_ENTRY:
        raise BadInput("workload", "has entries that are too large or too fine for exact answers", "round its weights")
    tests, rest = budget.split(share, 1 - share)
    epsilons = [rest.pure / 2 ** (steps - 1 - step) for step in range(steps)]
    release = GradualRelease(vector, sensitivity=(1, 2), epsilons=epsilons, budget=rest, note=note)
    limit = wish * workload.queries.unit
    whole = math.floor(limit)
    search = AboveThreshold(float(whole - limit), sensitivity=(max(-low, high), high - low), budget=tests, note=note)
    truth, estimate, enough = workload.queries.apply(vector), np.zeros_like(vector), False
    while not enough and release.steps < steps:
        estimate = _in_bounds(release.next())
        error = int(np.abs(workload.queries.apply(estimate) - truth).max())
        enough = search.above(max(-FARTHEST, min(FARTHEST, whole - error)))
    taken, values = release.steps, estimate.astype(np.float64)
    return Accurate(workload @ estimate, values.reshape(domain), enough, taken, release.spent + tests.amount)


def accurate_enough(
    x: Any,
    error: Callable[[Vector, Vector], float],
    *,
    sensitivity: Any,
    within: float,
    budget: Budget,
    steps: int = 8,
    test: Any = 0.2,
    seed: int = 0,
    note: str = "",
) -> Accurate:
    """Release counts so that your own measure of error is no more than `within`, with as little ε as that takes.

    `error(estimate, x)` is any number that you want to be small, such as the number of records that a model made from the
    estimate gets wrong. `sensitivity` is yours to prove: how far one record in `x` moves the error of a *fixed* estimate, as
    one number or as the pair `(add_remove, replace)`. It is tried on random neighbours before anything is charged, and
    refused if they contradict it; this finds mistakes, and proves nothing. The function has to return a number for all
    counts: one that raises silently counts as too large, and such a jump is not covered by a sensitivity.

    Ligett, Neel, Roth, Waggoner, Wu: Accuracy first, NIPS 2017, Algorithm 4 with any query of bounded sensitivity.

    Privacy: as for `accuracy_first`. Given the estimates that were released, each error is a query of the stated
    sensitivity, and all tests together are one above-threshold search.

    >>> from jostle import mechanisms
    >>> def wrong(estimate, x):  # by a model that predicts the larger class of each pair of cells
    ...     return x.sum() - x[np.arange(2), estimate.argmax(axis=1)].sum()
    >>> budget = mechanisms.simulation(seed=0).grant(4)
    >>> found = accurate_enough([[40, 3], [5, 60]], wrong, sensitivity=1, within=20, budget=budget)
    >>> found.enough
    True
    """
    vector, domain = counts(x)
    share, wish = exact(test, "test"), float(exact(within, "within"))
    if share >= 1:
        raise BadInput("test", "must be a share below 1", "pass for instance 0.2")
    check_whole(steps, "steps", "pass for instance 8", least=1, most=40)
    if type(budget) is not Budget:
        raise BadInput("budget", "must be a token", "pass for instance account.grant(1)")
    stated = Sensitivity.of(sensitivity)
    _check_on_neighbours(error, domain, stated, seed)
    tests, rest = budget.split(share, 1 - share)
    epsilons = [rest.pure / 2 ** (steps - 1 - step) for step in range(steps)]
    release = GradualRelease(vector, sensitivity=(1, 2), epsilons=epsilons, budget=rest, note=note)
    search = AboveThreshold(-wish, sensitivity=(stated.add_remove, stated.replace), budget=tests, note=note)
    truth, estimate, enough = vector.reshape(domain), np.zeros_like(vector), False
    while not enough and release.steps < steps:
        estimate = _in_bounds(release.next())
        enough = bool(search.above(-_measured_error(error, estimate.reshape(domain).astype(np.float64), truth)))
    values = estimate.astype(np.float64)
    return Accurate(values, values.reshape(domain), enough, release.steps, release.spent + tests.amount)


def _measured_error(error: Callable[[Vector, Vector], float], estimate: Vector, x: Any) -> float:
    """The error; one that raises, or is no number, is as large as can be. So a failure says nothing but "not yet"."""
    try:
        value = float(error(estimate, x.copy()))
    except Exception:  # noqa: BLE001  # it may raise anything, and its message may hold private numbers
        return float(FARTHEST)
    return min(value, float(FARTHEST)) if value == value else float(FARTHEST)


def _check_on_neighbours(
    error: Callable[[Vector, Vector], float], domain: tuple[int, ...], stated: Sensitivity, seed: int
) -> None:
    """Refuse a stated sensitivity that random public neighbours contradict, and an error that fails on public counts."""
    rng = np.random.default_rng(seed)
    for _ in range(NEIGHBOURS_TRIED):
        x: Any = rng.integers(0, rng.choice([2, 10, 1000]), domain)
        estimate = (x + rng.laplace(0, rng.choice([1.0, 30.0]), domain)).round()
        near = x.copy().reshape(-1)
        near[rng.integers(near.size)] += 1
        try:
            moved = abs(float(error(estimate, near.reshape(domain))) - float(error(estimate, x)))
        except Exception as failed:
            problem = f"raised {type(failed).__name__} on public counts: {failed}"
            raise BadInput("error", problem, "let it return a number for any counts") from failed
        if not moved <= float(stated.add_remove) * (1 + 1e-9):
            problem = f"is not {float(stated.add_remove):g}: one record moves the error by {moved:g} on public counts"
            raise BadInput("sensitivity", problem, "state how far one record can move the error of any fixed estimate")


def _in_bounds(released: Counts) -> Counts:
    """The released counts, clipped where noise exceeds the largest number of records, so that no answer overflows 64 bits.

    >>> _in_bounds(np.array([-3, 2**62])).tolist()
    [-3, 549755813888]
    """
    if np.abs(released.astype(np.float64)).sum() < LARGEST_TOTAL:
        return released
    most = LARGEST_TOTAL // released.size
    return np.clip(released, -most, most)
