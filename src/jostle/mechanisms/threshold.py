"""Above threshold, also known as the sparse vector technique: many questions, and only the rare yes costs."""

from __future__ import annotations

import threading
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np

from jostle.kernel.arguments import whole
from jostle.kernel.budget import Budget, Home
from jostle.kernel.errors import BadInput, PlanError
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.noise import calibrate
from jostle.mechanisms.arguments import check_budget, numbers
from jostle.mechanisms.sensitivity import Lattice, Sensitivity

MOST_POSITIVES = 2**40
"""The most answers of yes: noise grows with their number."""


class AboveThreshold:
    """Whether one query after the other is above a public threshold: all answers together are ε-differentially private.

    The whole ε is charged when this is made, before the first question. Any number of questions may be answered with
    no; after `positives` answers of yes it is used up. The threshold and every query get noise of their own; the noise
    on the threshold is drawn once and kept, the noise on a query grows with `positives`, and no noisy value is ever
    released.

    Dwork, Roth: The algorithmic foundations of differential privacy, 2014, Algorithm 1 and Theorem 3.23 (one yes); Lyu,
    Su, Li: Understanding the sparse vector technique for differential privacy, PVLDB 10(6), 2017 (several, monotone
    queries, and the split of ε), which also shows that of six published variants most are not private.

    `sensitivity` is how far one record, added or removed, moves any one query, or the pair `(add_remove, replace)`.
    Claim `monotone` only if adding a record, whichever it is, never lowers a query (or never raises one): counts, for
    instance. (Lyu, Su and Li ask less: one record may raise all queries, and another lower them all. That is enough where
    records are added and removed, not where they are replaced.)

    In a simulation with trials each search has noise of its own, and an answer is an array; a search that is used up
    answers no.

    See `utility.above_threshold_error` for how far on the wrong side a query may be.

    >>> from jostle import mechanisms
    >>> budget = mechanisms.simulation(seed=0).grant(1)
    >>> search = AboveThreshold(100, sensitivity=1, budget=budget)
    >>> [search.above(count) for count in (3, 40, 250)]
    [False, False, True]
    >>> search.above(1)
    Traceback (most recent call last):
    jostle.kernel.errors.PlanError: all answers of yes were given: make another one, with a budget of its own
    """

    def __init__(
        self,
        threshold: float,
        *,
        sensitivity: Any,
        budget: Budget,
        positives: int = 1,
        monotone: bool = False,
        note: str = "",
    ) -> None:
        most = whole(positives)
        if most is None or not 1 <= most <= MOST_POSITIVES:
            problem = f"must be a whole number from 1 to {MOST_POSITIVES}"
            raise BadInput("positives", problem, "pass how many answers of yes you need")
        limit, stated = numbers(threshold, "threshold"), Sensitivity.of(sensitivity, monotone=monotone)
        if limit.ndim or not np.isfinite(limit):
            raise BadInput("threshold", "must be one finite, public number", "pass for instance 100")
        neighbours = check_budget(budget).neighbours
        self._lattice = Lattice.for_sensitivity(stated, neighbours)
        noisy, self._scale = scales(self._lattice.sensitivity, neighbours, budget.pure, most, monotone)
        self._lock, self._home = threading.Lock(), Home()
        self._noise = budget.draw(operator="above_threshold", note=note)
        points, how = self._lattice.points(limit.reshape(1)), (noisy, self._scale)
        self._threshold = self._noise.outcome("threshold", how, points, lambda: self._drawn(limit, noisy))
        self._left: Any = np.full(np.shape(self._threshold), most)[()]

    def above(self, value: float) -> bool:
        """Whether the value, with noise, reaches the threshold, with noise. A NaN counts as a number below all others."""
        self._home.check()
        private = np.nan_to_num(numbers(value, "value"), nan=-np.inf)
        if private.ndim:
            raise BadInput("value", "must be one number", "ask one query at a time")
        with self._lock:
            if not np.any(self._left):
                raise PlanError("all answers of yes were given: make another one, with a budget of its own")
            points = self._lattice.points(private.reshape(1))
            answer: Any = self._noise.outcome("above threshold", self._scale, points, lambda: self._answered(private))
            self._left = self._left - answer
        return answer if np.ndim(answer) else bool(answer)

    @property
    def left(self) -> int:
        """How many answers of yes are left."""
        return self._left if np.ndim(self._left) else int(self._left)

    def _answered(self, private: Any) -> Any:
        return (self._drawn(private, self._scale) >= self._threshold) & (self._left > 0)

    def _drawn(self, value: Any, scale: Fraction) -> Any:
        return self._noise.discrete_laplace(self._lattice.points(value.reshape(1)), scale)[..., 0]

    def __repr__(self) -> str:
        return f"<AboveThreshold with {self.left} answers of yes left>"

    def __reduce__(self) -> NoReturn:
        raise PlanError("this cannot be copied or pickled: a copy would give answers of yes that nobody paid for")


def scales(
    stated: Sensitivity, neighbours: Neighbours, epsilon: Fraction, positives: int, monotone: bool
) -> tuple[Fraction, Fraction]:
    """The scales of noise on the threshold and on a query.

    A no on every query costs what the threshold costs, ε₁, if the threshold may move along with the queries; a yes
    costs a shift of the query by as much as both move apart, and each of them a part of ε₂. The variance of their
    difference is smallest if ε₁ : ε₂ = 1 : (positives · reach / sensitivity)^(2/3).

    >>> scales(Sensitivity.of(1), Neighbours(), Fraction(1), 4, False)
    (Fraction(5, 1), Fraction(10, 1))
    """
    size, reach = stated.size(neighbours), stated.reach(neighbours, monotone=monotone)
    ratio = float(positives * reach / size) if size else 1.0
    weight = Fraction(ratio ** (2 / 3)).limit_denominator(1000)
    first = epsilon / (1 + weight)
    return calibrate(size, first), calibrate(positives * reach, epsilon - first)
