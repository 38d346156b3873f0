"""The prevailing class, privately: what everything else has to beat."""

from __future__ import annotations

import numpy as np

from jostle.kernel.budget import Budget
from jostle.kernel.records import Records
from jostle.learn._cells import CellModel, measure
from jostle.learn.estimator import PrivateEstimator
from jostle.learn.registry import learner
from jostle.learn.task import Task


@learner(name="Majority", cite="dwork2006calibrating")
def majority(records: Records, task: Task, budget: Budget) -> CellModel:
    """The overall shares of the classes, for every record alike.

    Privacy: one Laplace measurement of the number of records of each class, or of the lead of one over the other, with the
    whole budget.
    """
    whole = np.zeros(task.sizes[task.attributes[0]], dtype=np.int64)
    measured = measure(records.derive("(all)", [task.attributes[0]], whole), ["(all)"], task.label, budget)
    return CellModel((), (), measured.shares(), "Every record gets the classes' overall shares.")


class PrivateMajority(PrivateEstimator):
    """Predicts the prevailing class, whatever the attributes say.

    >>> from jostle.schema import Category, Integer, Schema
    >>> schema = Schema({"age": Integer(0, 99), "class": Category(["no", "yes"])})
    >>> model = PrivateMajority(epsilon=1, schema=schema, random_state=0)
    >>> model.fit([[30], [70], [80]] * 20, ["no", "yes", "yes"] * 20).predict([[33]]).tolist()
    ['yes']
    """

    learner = "Majority"
    poor = True
