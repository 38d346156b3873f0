"""One private classifier that picks the learner itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from jostle.kernel.budget import Budget
from jostle.kernel.errors import InternalError
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.records import Records
from jostle.kernel.strategies import identity
from jostle.learn.chooser import OPTIONS, Chooser, Pick, features, shipped_text
from jostle.learn.cuts import Recut, price, recut
from jostle.learn.estimator import FitSummary, PrivateEstimator
from jostle.learn.registry import CHOSEN, FloatArray, IntArray, Model, learner
from jostle.learn.task import Task

PERCENT = 2
"""The price of the classes' noisy counts, in percent of the budget."""


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
        ranked = sorted(self.pick.expected.items(), key=lambda one: one[1])
        others = ", ".join(f"{name} {loss:.1%}" for name, loss in ranked)
        because = f"\nReasons: {'; '.join(self.pick.path)}." if self.pick.path else ""
        return f"Chosen: {self.pick.option}.{because}\nExpected loss against the best: {others}.\n{self.model.describe()}"


@learner(name=CHOSEN, cite="kotsogiannis2017pythia", version=5, built_on=OPTIONS, file=shipped_text)
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
    pick = Chooser.load().pick(facts)
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
    'Chosen:'
    """

    learner = CHOSEN

    def _trace(self, neighbours: Neighbours) -> Any:
        summary, model = super()._trace(neighbours), self.model_
        if not isinstance(model, ChosenModel):
            raise InternalError("the model does not say which learner was chosen")
        return ChosenFit(**vars(summary), pick=model.pick, facts=model.facts)
