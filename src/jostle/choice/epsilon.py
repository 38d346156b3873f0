"""Choosing ε: the least that keeps answers within the error that you can accept, known before you spend anything.

>>> from jostle import workloads
>>> wish = epsilon_for(workloads.identity(100), within=10, confidence=0.95, algorithm="Laplace")
>>> wish.epsilon, wish.how
(Fraction(57, 200), 'a closed form')

Privacy: nothing here looks at private data. Errors come from formulas, or from simulations on public data.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from decimal import ROUND_UP, Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from jostle import algorithms, plots
from jostle.algorithms import TASKS, Algorithm
from jostle.choice import default_algorithm
from jostle.kernel.arguments import check_finite, check_one_of, counts
from jostle.kernel.budget import CONCENTRATED, PURE, SYMBOLS, exact
from jostle.kernel.errors import BadInput
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.partition import Counts
from jostle.kernel.source import SimulatedSource
from jostle.kernel.strategies import identity
from jostle.mechanisms import utility
from jostle.simulate import estimates
from jostle.workloads import Workload

EVERYWHERE = ("Laplace", "HB", "OPT")
"""Algorithms whose error does not depend on the data: what is tried if none is named."""

LARGEST = 1e4
"""The largest ε to try: a larger one would promise nothing."""

SURE = 0.95
"""How sure a simulated quantile is not to be too small."""

_AROUND = (0.25, 0.5, 0.7, 1.0, 1.4, 2.0, 4.0)


@dataclass(frozen=True)
class EpsilonFor:
    """The least ε, or ρ, that meets a wish, and what others would give."""

    epsilon: Fraction
    """What to pay, rounded up to three digits: ε, unless the measure is ρ."""

    algorithm: str
    """The algorithm that needs this little."""

    within: float
    confidence: float
    how: str
    """Where the errors come from."""

    curve: tuple[tuple[float, float], ...]
    """Pairs of ε and the error that it gives with this confidence."""

    measure: str = PURE
    """What is paid in."""

    def __str__(self) -> str:
        return (
            f"{SYMBOLS[self.measure]} = {float(self.epsilon):g} keeps each answer within ±{self.within:g} "
            f"with {self.confidence:.0%} confidence "
            f"({self.algorithm}; by {self.how})"
        )

    def plot(self) -> Any:
        """A Plotly figure of the curve, with the wish."""
        title = f"Error of each answer with {self.confidence:.0%} confidence"
        x, y = zip(*self.curve, strict=True)
        symbol = SYMBOLS[self.measure]
        figure = plots.new(title, x=symbol, y="error", log_x=True, log_y=True)
        figure.add_scatter(x=x, y=y, mode="lines+markers", name=self.algorithm)
        figure.add_hline(y=self.within, line_dash="dot", annotation_text=f"±{self.within:g}")
        figure.add_vline(x=float(self.epsilon), line_dash="dot", annotation_text=f"{symbol} = {float(self.epsilon):g}")
        return figure

    def _repr_html_(self) -> str:
        return plots.in_words(str(self))


def epsilon_for(
    workload: Workload,
    within: float,
    confidence: float = 0.95,
    algorithm: str | Algorithm | None = None,
    neighbours: Neighbours | str = "add_remove",
    stand_in: Any = None,
    *,
    seed: int = 0,
    measure: str = PURE,
) -> EpsilonFor:
    """The least ε at which each answer is off by at most `within`, with this confidence, query by query.

    With `measure="concentrated"` it is the least ρ, with Gaussian noise.

    By default it takes the best algorithm among those whose error is the same on all data. An algorithm whose error depends
    on the data needs a `stand_in`: public counts like the private ones, such as last year's; the promise holds as far as
    they are alike. Without a stand-in, only the private data can tell: see `accuracy_first`.
    """
    if not isinstance(workload, Workload):
        raise BadInput("workload", "must be a workload", "pass for instance jostle.workloads.prefix(100)")
    wish = float(exact(within, "within"))
    check_one_of(measure, "measure", (PURE, CONCENTRATED))
    check_finite(confidence, "confidence", "pass for instance 0.95", least=0.5, most=0.999)
    relation, data = Neighbours.of(neighbours), _stand_in(stand_in, workload)
    plans = _plans(workload, algorithm, stand_in is not None)
    models = [_Errors(plan, workload, data, float(confidence), relation, seed, measure) for plan in plans]
    model = min(models, key=lambda one: one(Fraction(1))) if len(models) > 1 else models[0]
    rate = _least(lambda one: model(_amount(one, measure)), wish)
    around = [_amount(rate * factor, measure) for factor in _AROUND]
    curve = tuple((float(one), model(one)) for one in around)
    return EpsilonFor(_amount(rate, measure), model.plan.name, wish, float(confidence), model.how, curve, measure)


def _stand_in(stand_in: Any, workload: Workload) -> Counts:
    if stand_in is None:
        return np.zeros(workload.domain, dtype=np.int64)
    if type(stand_in) not in (np.ndarray, list, tuple):
        raise BadInput("stand_in", f"is of type {type(stand_in).__name__}, which may be private", "pass public counts")
    vector, domain = counts(stand_in)
    workload.check(domain)
    return vector.reshape(domain)


def _plans(workload: Workload, algorithm: str | Algorithm | None, has_stand_in: bool) -> list[Algorithm]:
    if algorithm is not None:
        plan = algorithms.get(algorithm)
        plan.check(workload, {})
        if plan.data_dependent and not has_stand_in:
            problem = f"is needed, as the error of {plan.name} depends on the data"
            raise BadInput("stand_in", problem, "pass public counts like yours, leave the algorithm out, or accuracy_first")
        return [plan]
    dimensions = len(workload.domain)
    if dimensions not in TASKS.values():
        raise BadInput("workload", f"has {dimensions} dimensions", f"use {' or '.join(map(str, TASKS.values()))}")
    names = [*EVERYWHERE, *([default_algorithm.for_workload(workload)[0]] if has_stand_in else [])]
    return [algorithms.get(name) for name in dict.fromkeys(names)]


class _Errors:
    """How far off answers are for an ε, or ρ, with the wished-for confidence; each is looked at once."""

    def __init__(
        self,
        plan: Algorithm,
        workload: Workload,
        data: Counts,
        confidence: float,
        neighbours: Neighbours,
        seed: int,
        measure: str,
    ) -> None:
        self.plan, self._workload, self._data, self._confidence = plan, workload, data, confidence
        self._neighbours, self._seed, self._measure = neighbours, seed, measure
        self._known: dict[Fraction, float] = {}
        closed = plan.name == "Laplace" and workload.kind == "identity"
        self._one: Callable[[Fraction], float] = self._formula if closed else self._simulated
        self.how = "a closed form" if closed else "simulation" + (" on the stand-in" if plan.data_dependent else "")

    def __call__(self, epsilon: Fraction) -> float:
        if epsilon not in self._known:
            self._known[epsilon] = self._one(epsilon)
        return self._known[epsilon]

    def _formula(self, amount: Fraction) -> float:
        if self._measure == PURE:
            size = float(self._neighbours.sensitivity(1, 2))
            return float(utility.discrete_laplace_error(float(amount), sensitivity=size, confidence=self._confidence))
        source = SimulatedSource(self._data, seed=0, neighbours=self._neighbours)
        variance = source.noise_variance(identity(self._data.shape), source.grant(rho=amount))
        return float(utility.discrete_gaussian_error(1 / (2 * variance), confidence=self._confidence))

    def _simulated(self, amount: Fraction) -> float:
        """The worst query's quantile; an order statistic that is not too small with probability SURE."""
        from scipy.stats import binom

        trials = max(100, math.ceil(5 / (1 - self._confidence)))
        epsilon, rho = (amount, None) if self._measure == PURE else (None, amount)
        keywords: dict[str, Any] = {"trials": trials, "seed": self._seed, "neighbours": self._neighbours}
        runs = estimates(self.plan, self._data, self._workload, epsilon, rho=rho, **keywords)
        truth = self._workload @ self._data.reshape(-1)
        off = np.sort(np.concatenate([np.abs((self._workload @ batch) - truth) for batch in runs]), axis=0)
        place = min(int(binom.ppf(SURE, trials, self._confidence)), trials - 1)
        return float(off[place].max())


def _least(error: Callable[[float], float], within: float) -> float:
    """The least rate (ε, or 2√ρ) by bisection from a guess: errors fall with it, about as one over it."""
    high = max(min(error(1.0) / within, LARGEST), 1e-6)
    while error(high) > within:
        high *= 1.5
        if high > LARGEST:
            raise BadInput("within", f"{within:g} is not reached by any ε up to {LARGEST:g}", "allow for more error")
    low = high / 2
    while low > 1e-9 and error(low) <= within:
        low, high = low / 2, low
    for _ in range(8):
        middle = math.sqrt(low * high)
        low, high = (low, middle) if error(middle) <= within else (middle, high)
    return high


def _amount(rate: float, measure: str) -> Fraction:
    """The ε of a rate, or the ρ whose Gaussian noise has the standard deviation of Laplace noise at that ε.

    >>> _amount(0.5, "pure"), _amount(0.5, "concentrated")
    (Fraction(1, 2), Fraction(1, 16))
    """
    return _rounded(rate if measure == PURE else rate**2 / 4)


def _rounded(epsilon: float) -> Fraction:
    """Up to three digits.

    >>> _rounded(0.12341)
    Fraction(31, 250)
    """
    number = Decimal(repr(epsilon))
    return Fraction(number.quantize(Decimal(1).scaleb(number.adjusted() - 2), rounding=ROUND_UP))
