"""An additive model first, then a joint histogram that may look at what it tells: for tables with many records for ε."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import count
from typing import Final

from jostle.kernel.budget import Budget
from jostle.kernel.records import Records
from jostle.learn._cells import known_total
from jostle.learn.estimator import PrivateEstimator
from jostle.learn.joint import joint
from jostle.learn.lookup import told
from jostle.learn.registry import FloatArray, IntArray, Model, learner
from jostle.learn.sparse import sparse
from jostle.learn.task import Task
from jostle.schema import Category

FIRST: Final = Fraction(65, 100)
"""The additive model's share of the budget: on made-up tables three fifths and three quarters do as well."""


@dataclass(frozen=True)
class StackedModel:
    """A model, and a histogram over a few attributes, what the model tells being one of those that it could choose."""

    first: Model
    """The additive model."""

    second: Model
    """The histogram."""

    told: str
    """What the histogram calls the attribute that has what the model tells."""

    def scores(self, codes: Mapping[str, IntArray]) -> FloatArray:
        """The histogram's shares, at what the first model tells."""
        return self.second.scores({**codes, self.told: self.first.scores(codes).argmax(axis=1)})

    def describe(self) -> str:
        """Both."""
        return f"{self.second.describe()}\n{self.told!r} is what a first model tells. {self.first.describe()}"


@learner(name="Stacked", cite="chaudhuri2011differentially", built_on=("Joint", "Sparse"))
def stacked(records: Records, task: Task, budget: Budget, *, total: float | None = None) -> Model:
    """An additive model, then a joint histogram for which the class that the model tells is one attribute more.

    One sees what many attributes tell a little each, the other what a few tell together alone. The histogram's set of
    attributes is chosen for the right predictions that it promises, so it is what the first model tells, or that corrected
    by a few attributes, or these alone, or nothing.

    Privacy: a noisy number of records (3 % of the budget) unless it is public or one that was paid for is given; then the
    two learners, one after the other, each with its part of the rest. The first model is released, so what it tells of a
    record follows from the record by public tables.
    """
    known, rest = known_total(records, budget, total)
    one, other = rest.split(FIRST, 1 - FIRST)
    first = sparse.run(records, task, one, total=known)
    name = next(text for text in ("told" + "+" * more for more in count()) if text not in task.columns)
    records = told(records, task, first, name)
    cells = records.sizes[name]
    if cells == 1:  # it tells the first class whatever the record: public, as the model is
        return joint.run(records, task, other, total=known)
    column = Category(list(range(cells - 1)), outside="drop", null="drop")  # with the cell for others as many as there are
    wider = Task((*task.attributes, name), task.label, dict(task.columns) | {name: column})
    return StackedModel(first, joint.run(records, wider, other, total=known), name)


class PrivateStacked(PrivateEstimator):
    """An additive model, and a histogram of a few attributes that corrects it where these tell more together.

    >>> from jostle.schema import Category, Integer, Schema
    >>> schema = Schema({"age": Integer(0, 99), "class": Category(["no", "yes"])})
    >>> model = PrivateStacked(epsilon=1, schema=schema, random_state=0)
    >>> ages = list(range(100)) * 20
    >>> model.fit([[age] for age in ages], ["yes" if age >= 50 else "no" for age in ages]).predict([[3], [90]]).tolist()
    ['no', 'yes']
    """

    learner = "Stacked"
