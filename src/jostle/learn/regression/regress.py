"""Which regression to run: chosen from public facts and a noisy number of records."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from jostle.kernel.arguments import check_one_of
from jostle.kernel.budget import Budget
from jostle.kernel.errors import BadInput
from jostle.kernel.functions.statistics import Scale
from jostle.kernel.records import Records
from jostle.learn.registry import Learner, check_number, check_whole
from jostle.learn.regression.features import linear_features
from jostle.learn.regression.generalized import (
    BINS,
    ENOUGH,
    FAMILIES,
    GeneralizedModel,
    bins_for,
    check_family,
    generalized,
    generalized_from_synthetic,
)
from jostle.learn.regression.linear import LinearModel
from jostle.learn.regression.moments import linear
from jostle.learn.regression.steps import StepsModel, stepwise
from jostle.learn.regression.synthesized import synthesized
from jostle.learn.regression.task import RegressionTask, is_ordered

MODELS = ("auto", "linear", "additive", *FAMILIES)
METHODS = ("auto", "moments", "synthetic")

LOOK = Fraction(2, 100)
"""The price of the number of records, where it is not public and something is to be chosen."""

CLEAR_FOR_MODEL, CLEAR_FOR_METHOD = 2_000.0, 300.0
"""From how many records times ε per measurement on, a linear model predicts better than an additive one in steps, and its
sums are better measured one by one than taken from a synthetic table. Found on Abalone, CASP, medical costs and a made-up
table."""


@dataclass(frozen=True, eq=False)
class Regression:
    """The model, and how it was chosen."""

    model: LinearModel | StepsModel | GeneralizedModel
    reason: str

    def scores(self, codes: Any) -> Any:
        """The predicted numbers, as one column."""
        return self.model.scores(codes)

    def describe(self) -> str:
        return f"{self.model.describe()}\n{self.reason}" if self.reason else self.model.describe()


def regress(
    records: Records,
    task: RegressionTask,
    budget: Budget,
    *,
    model: str = "auto",
    method: str = "auto",
    ridge: float | None = None,
    steps: int | None = None,
) -> Regression:
    """A linear, an additive, a logistic or a Poisson model of a number.

    Privacy: a noisy number of records (2 % of the budget), if something is to be chosen and the number is not public; then
    one of five plans with the rest, which spends it whole. The choice follows from that number and from public facts.
    """
    check_one_of(model, "model", MODELS)
    check_one_of(method, "method", METHODS)
    if ridge is not None:
        check_number("ridge", ridge, 0, 1e12, remedy="leave it out, or pass a number of records, such as 10")
    if steps is not None:
        check_whole("steps", steps, 1, 64, remedy="leave it out, or pass for instance 4")
    if model in FAMILIES:
        return _generalized(records, task, budget, model, method, ridge)
    reason = ""
    if model == "auto" or (model == "linear" and method == "auto"):
        clear, budget = _clearness(records, task, budget)
        reason = f"About {clear:,.0f} records times ε per measurement that a linear model needs: "
        if model == "auto":
            model = "linear" if clear >= CLEAR_FOR_MODEL else "additive"
            reason += f"{model}, because a linear model predicts better from about {CLEAR_FOR_MODEL:,.0f} on."
        else:
            method = "moments" if clear >= CLEAR_FOR_METHOD else "synthetic"
            reason += f"{method}, because measuring every sum is better from about {CLEAR_FOR_METHOD:,.0f} on."
    if model == "additive":
        return Regression(stepwise(records, task, budget, steps=steps), reason)
    plan = synthesized if method == "synthetic" else linear
    return Regression(plan(records, task, budget, ridge=ridge), reason)


def _generalized(
    records: Records, task: RegressionTask, budget: Budget, family: str, method: str, ridge: float | None
) -> Regression:
    """By a joint histogram where numbers keep enough bins, else from a synthetic table."""
    check_family(task, family)
    if method == "moments" and bins_for(task, math.inf) is None:
        problem = "would need a histogram of too many combinations of the attributes' values"
        raise BadInput("method", problem, 'leave attributes out, or use method="synthetic"')
    if method == "synthetic":
        return Regression(generalized_from_synthetic(records, task, budget, family=family, ridge=ridge), "")
    total, budget = _counted(records, task, budget)
    signal = total * budget.rate / float(records.neighbours.sensitivity(1, 2))
    bins = bins_for(task, signal)
    said = f"About {signal:,.0f} records times ε: "
    if method == "auto" and (bins is None or bins < min(ENOUGH, _widest(task))):
        reason = said + "synthetic, because noise leaves too few combinations of values for a joint histogram."
        return Regression(generalized_from_synthetic(records, task, budget, family=family, ridge=ridge), reason)
    bins = bins or BINS[-1]
    found = generalized(records, task, budget, family=family, bins=bins, ridge=ridge)
    return Regression(found, f"{said}numbers are cut into at most {bins} bins.")


def _widest(task: RegressionTask) -> int:
    """The most values of an ordered attribute; 0 without such an attribute."""
    return max((task.known(name) for name in task.attributes if is_ordered(task.columns[name])), default=0)


def _counted(records: Records, task: RegressionTask, budget: Budget) -> tuple[float, Budget]:
    """About how many records there are, and the budget that is left. A public number costs nothing."""
    if records.total is not None:
        return float(records.total), budget
    look, budget = budget.split(LOOK, 1 - LOOK)
    return max(0.0, float(records.vector(task.label).statistic(Scale(), look))), budget


def _clearness(records: Records, task: RegressionTask, budget: Budget) -> tuple[float, Budget]:
    """Records times ε, or its like for ρ, per measurement of a linear model; and the budget that is left."""
    total, budget = _counted(records, task, budget)
    attributes = len(linear_features(task)) + 1
    measurements = attributes + math.comb(attributes, 2)
    rate = budget.price.times(Fraction(1, measurements)).rate
    return total * rate / float(records.neighbours.sensitivity(1, 2)), budget


REGRESSION = Learner(name="Regression", cite="wang2018revisiting", plan=regress)
"""The plan behind `PrivateRegressor`. It is in no list of classifiers."""
