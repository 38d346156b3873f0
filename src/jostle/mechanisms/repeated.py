"""The best of several runs of a private computation, at a price that does not grow with the number of runs."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from math import log
from typing import Any, Final, Literal, TypeVar

from jostle.kernel.budget import PURE, Budget, RunPurse
from jostle.kernel.errors import BadInput
from jostle.kernel.neighbours import Neighbours
from jostle.mechanisms.arguments import check_budget, check_positive

T = TypeVar("T")

MOST_RUNS: Final = 200
"""The largest mean number of runs: their numbers are drawn from a table."""

ROUNDING: Final = Fraction(1, 2**50)
"""Kept back from ε: the table ends, and its weights are rounded. Proof: docs/proofs/mechanisms.md."""

_DIGITS = 160
_PRICES: Final = {"geometric": 3, "logarithmic": 2}
"""How many times the ε of one run all runs together lose."""


class Attempt:
    """One of several runs. It may spend `epsilon` in all: as tokens for mechanisms, or as an account for anything else."""

    def __init__(self, purse: RunPurse, epsilon: Fraction, unit: str | None) -> None:
        self._purse, self.epsilon, self._unit = purse, epsilon, unit

    def __copy__(self, _: object = None) -> Attempt:
        """Itself: scikit-learn clones what an estimator has, and all clones pay from one run."""
        return self

    __deepcopy__ = __copy__

    @property
    def neighbours(self) -> Neighbours:
        """What one person may change."""
        return self._purse.neighbours

    @property
    def remaining(self) -> Fraction:
        """What it has not granted yet."""
        return self.epsilon - self._purse.granted

    def grant(self, epsilon: object = None) -> Budget:
        """A token of ε; without an amount, of all that this run may spend."""
        return self._purse.grant(self.epsilon if epsilon is None else epsilon)

    def purse(self, unit: str = "row") -> RunPurse:
        """What pays for a source, or for an estimator whose `account` this is."""
        from jostle.kernel.ledger.accounts import check_unit  # a database toolkit, which takes a while to load

        if self._unit is not None:
            check_unit("account", "of this run", self._unit, unit)
        return self._purse


def best_of(
    attempt: Callable[[Attempt], tuple[float, T]],
    *,
    budget: Budget,
    runs: float = 10,
    law: Literal["geometric", "logarithmic"] = "logarithmic",
    note: str = "",
) -> T:
    """The output with the largest score of a random number of runs: ε-differentially private, however many there are.

    `attempt(run)` draws what it tries at random, spends `run.epsilon` on the private data, and returns a score and an
    output. **Both have to be private for that ε**, as what is released is chosen by the score: measure it with noise. Runs
    must not know of each other. All
    runs lose together twice the ε of one (three times with the geometric law), so `run.epsilon` is half (a third) of the
    token's. The mean number of runs is `runs`. Only the best is returned; whatever an attempt prints, keeps or takes its
    time for is not protected.

    The number of runs is random for a reason: if it were fixed, as many runs would lose as many ε.

    Liu, Talwar: Private selection from private candidates, STOC 2019, Theorem 3.3 (geometric); Papernot, Steinke:
    Hyperparameter tuning with Rényi differential privacy, ICLR 2022, Corollary 3 (logarithmic).

    >>> from jostle import mechanisms
    >>> values = {"a": 40, "b": 90}
    >>> def attempt(run):  # a candidate at random, with a noisy score
    ...     name = secrets.choice(list(values))
    ...     return mechanisms.discrete_laplace(values[name], sensitivity=1, budget=run.grant()), name
    >>> import secrets
    >>> best_of(attempt, budget=mechanisms.simulation(seed=3).grant(2), runs=100, law="geometric")
    'b'
    """
    price = _PRICES.get(law)
    if price is None:
        raise BadInput("law", f"{law!r} is unknown", "pass 'geometric' or 'logarithmic'")
    mean = check_positive(runs, "runs")
    if not 1 < mean <= MOST_RUNS:
        raise BadInput("runs", f"must be above 1, and at most {MOST_RUNS:,}", "pass for instance 10")
    if check_budget(budget).measure != PURE:
        raise BadInput("budget", "must be of pure ε", "pass account.grant(1)")
    each = (budget.amount - ROUNDING) / price
    if each <= 0:
        raise BadInput("budget", "has an ε that is too small for several runs", "use a larger epsilon")
    table = numbers_of_runs(law, mean)
    noise = budget.draw(operator="best_of", note=note)
    if noise.trials is not None:
        raise BadInput("budget", "is of a simulation with trials", "run one trial at a time")

    def run() -> tuple[float, int, T]:
        purse = RunPurse(budget.neighbours, noise, each, budget.charges)
        try:
            score, output = attempt(Attempt(purse, each, budget.unit))
        finally:
            purse.end()
        return _ordered(score), noise.below(2**60), output  # between equal scores, either is as likely

    number, best = 1 + bisect_right(table, noise.below(table[-1])), run()
    for _ in range(number - 1):
        best = max(best, run(), key=lambda ranked: ranked[:2])
    return best[2]


def _ordered(score: Any) -> float:
    """A score that can be compared with any other; what is no number is the lowest."""
    try:
        number = float(score)
    except (TypeError, ValueError, OverflowError):
        return -float("inf")
    return -float("inf") if number != number else number


@lru_cache(maxsize=64)
def numbers_of_runs(law: str, mean: float) -> tuple[int, ...]:
    """Cumulative whole weights of 1, 2, … runs: γ(1 − γ)^k, or (1 − γ)^k / k, until they are below 2^−80 of the first.

    >>> table = numbers_of_runs("geometric", 2)
    >>> table[0] / table[-1], len(table)
    (0.5, 81)
    """
    stop = 1 / mean if law == "geometric" else _stop_of_logarithmic(mean)
    keep, ends = Fraction(1 - stop), Fraction(1, 2**80)
    unit, weights, left, number = 2**_DIGITS, list[int](), Fraction(1), 1
    while left >= ends:
        weights.append(int(unit * left / (1 if law == "geometric" else number)))
        left, number = Fraction(int(left * keep * 2**_DIGITS), 2**_DIGITS), number + 1
    return tuple(accumulate(weights))


def _stop_of_logarithmic(mean: float) -> float:
    """γ at which the logarithmic law has this mean, (1 − γ) / (γ ln(1/γ)), by bisection. Any γ would be private."""
    low, high = 1e-9, 1 - 1e-9
    for _ in range(100):
        middle = (low * high) ** 0.5
        low, high = (middle, high) if (1 - middle) / (middle * -log(middle)) > mean else (low, middle)
    return low
