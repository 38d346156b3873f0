"""One private classifier that picks the learner itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from jostle.kernel.budget import Budget, Price, exact
from jostle.kernel.errors import InternalError
from jostle.kernel.functions.objective import is_gaussian
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.records import Records
from jostle.kernel.strategies import identity
from jostle.learn.chooser import OPTIONS, QUIETER, Chooser, Pick, features, shipped_text
from jostle.learn.cuts import Recut, price, recut
from jostle.learn.estimator import FitSummary, PrivateEstimator
from jostle.learn.histograms import in_words
from jostle.learn.registry import CHOSEN, FloatArray, IntArray, Model, learner
from jostle.learn.task import Task

PERCENT = 2
"""The price of the classes' noisy counts, in percent of the budget."""

HALF_THE_NOISE = 2
"""So many times less noise of additive models is worth the louder noise of all others. A judgement, not a measurement."""


@dataclass(frozen=True)
class ChosenModel:
    """The chosen learner's model, and how the learner was chosen."""

    model: Model
    pick: Pick

    facts: Mapping[str, float]
    """What the choice could see."""

    def scores(self, codes: Mapping[str, IntArray]) -> FloatArray:
        return self.model.scores(codes)

    def describe(self) -> str:
        best = self.pick.expected.get(self.pick.option, 0.0)
        others = sorted((loss, name) for name, loss in self.pick.expected.items() if name != self.pick.option)
        said = (
            f"Learner: {self.pick.option}, chosen privately. On public tables like yours, it misclassifies "
            f"{100 * best:.1f} % more of the records than the best learner does."
        )
        if others:
            said += f" Others: {in_words([f'{name} {100 * loss:.1f} %' for loss, name in others])}."
        if self.pick.path:
            last = {(step.split(" ")[0], step.split(" ")[-2]): step for step in self.pick.path}  # the narrower bound
            said += f"\nWhat decided: {'; '.join(map(_in_words, last.values()))}."
        return f"{said}\n{self.model.describe()}"


_SAID = {
    "worth": "records × ε",
    "need": "records × ε over the noise of a sum",
    "depth": "attributes that can be combined",
    "cells": "values of all attributes",
    "numeric": "share of numbers",
    "share": "share of the largest class",
}
"""What the features of a choice are called in words."""

_POWERS = ("worth", "need", "cells")
"""Those that are powers of ten."""


def _in_words(step: str) -> str:
    """A step of a choice in words.

    >>> _in_words("share = 0.5 > 0.4"), _in_words("worth = 3.14 ≤ 4")
    ('share of the largest class 0.5 > 0.4', 'records × ε 1,380 ≤ 10,000')
    """
    feature, _, rest = step.partition(" = ")
    if feature in _POWERS:
        rest = " ".join(_plainly(part) for part in rest.split(" "))
    return f"{_SAID.get(feature, feature)} {rest}"


def _plainly(part: str) -> str:
    """Ten to this power, if it is a number."""
    try:
        number = 10 ** float(part)
    except ValueError:
        return part
    return f"{float(f'{number:.3g}'):,.10g}"


@learner(name=CHOSEN, cite="kotsogiannis2017pythia", version=8, built_on=OPTIONS, file=shipped_text)
def chosen(records: Records, task: Task, budget: Budget) -> ChosenModel:
    """The learner that a chooser, grown on public tables, expects to lose the least here.

    Where records are enough, numbers are first cut anew where the records are, see `cuts.recut`.

    Privacy: the classes' noisy counts (2 % of the budget), cuts if they are worth 3 to 10 % of the rest, then the chosen
    learner with what is left, one after the other. Whether to cut, and the choice, depend only on the schema, ε and these
    counts, so they are post-processing, and each learner is private for any budget that it is given (adaptive composition).
    """
    from jostle.learn import get

    look, rest = budget.split(PERCENT, 100 - PERCENT)
    classes = task.sizes[task.label]
    counts = np.maximum(records.vector(task.label).measure(identity((classes,)), look), 0)
    persons = float(records.neighbours.sensitivity(1, 2))
    total = max(1.0, float(counts.sum()))
    fresh = Recut(records, task, {})
    if percent := price(task, total, rest.rate / persons):
        cutting, rest = rest.split(percent, 100 - percent)
        fresh = recut(records, task, cutting)
    facts = features(fresh.task, counts.tolist(), rest.rate / persons)
    gaussian = is_gaussian(len(fresh.task.classes), records.neighbours, rest.price)
    pick = Chooser.load().pick(facts, gaussian=gaussian)
    found = get(pick.option)
    known = {"total": total} if "total" in found.tunables else {}
    return ChosenModel(fresh.model(found.run(fresh.records, fresh.task, rest, **known)), pick, facts)


@dataclass(frozen=True, kw_only=True)
class ChosenFit(FitSummary):
    """What a fit did, and why it chose its learner."""

    pick: Pick
    """The choice, with the questions that led to it and the expected losses of all options."""

    facts: Mapping[str, float]
    """What the choice could see: public facts, and shares and numbers that were paid for."""


class PrivateClassifier(PrivateEstimator):
    """Picks, within one ε, among private learners: histograms, grids, additive models, trees and the prevailing class.

    The choice was learned on public tables, and costs 2 % of ε. `explain()` describes it.

    >>> from jostle.schema import Category, Integer, Schema
    >>> schema = Schema({"age": Integer(0, 99), "class": Category(["no", "yes"])})
    >>> model = PrivateClassifier(epsilon=1, schema=schema, random_state=0)
    >>> ages = list(range(100)) * 20
    >>> model.fit([[age] for age in ages], ["yes" if age >= 50 else "no" for age in ages]).predict([[3], [90]]).tolist()
    ['no', 'yes']
    >>> model.explain().splitlines()[1].split()[0]
    'Learner:'
    """

    learner = CHOSEN

    def _measured(self, price: Price, task: Task) -> Price:
        """With a δ but no account: pure ε, which is within (ε, δ), unless ρ buys an additive model half of its noise.

        Public facts decide. One fit spends all that (ε, δ) allows, and ρ is a small part of it: at (1, 10⁻⁶), noise is 3.2
        times as loud as under pure ε in all but additive models with many attributes. An account, which may pay for more
        than one fit, is charged in ρ as it was asked to be.
        """
        if self.delta is None or self.account is not None:
            return price
        pure = Price.of(exact(self.epsilon))
        quieter = QUIETER * len(task.attributes) ** 0.5 * price.rate / pure.rate
        gaussian = is_gaussian(len(task.classes), Neighbours.of(self.neighbours), price)
        return price if gaussian and quieter >= HALF_THE_NOISE else pure

    def _trace(self, neighbours: Neighbours) -> Any:
        summary, model = super()._trace(neighbours), self.model_
        if not isinstance(model, ChosenModel):
            raise InternalError("the model does not say which learner was chosen")
        return ChosenFit(**vars(summary), pick=model.pick, facts=model.facts)
