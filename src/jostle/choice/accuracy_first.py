"""Accuracy first: raise ε step by step until the answers are good enough, and pay only for the last step and the tests."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from jostle.kernel.arguments import check_whole
from jostle.kernel.arrays import LARGEST_TOTAL, counts
from jostle.kernel.budget import Budget, exact
from jostle.kernel.errors import BadInput
from jostle.kernel.partition import Counts, Vector
from jostle.kernel.strategies import LARGEST_ENTRY
from jostle.mechanisms.gradual import GradualRelease
from jostle.mechanisms.threshold import AboveThreshold
from jostle.workloads import Workload

FARTHEST = 2**53
"""Errors further than this from `within`, in units of the workload, are clipped: a float holds all others exactly."""


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


def _in_bounds(released: Counts) -> Counts:
    """The released counts, clipped where noise exceeds the largest number of records, so that no answer overflows 64 bits.

    >>> _in_bounds(np.array([-3, 2**62])).tolist()
    [-3, 549755813888]
    """
    if np.abs(released.astype(np.float64)).sum() < LARGEST_TOTAL:
        return released
    most = LARGEST_TOTAL // released.size
    return np.clip(released, -most, most)
