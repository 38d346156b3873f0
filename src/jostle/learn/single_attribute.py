"""One attribute that says the most."""

from __future__ import annotations

from jostle.kernel.budget import Budget
from jostle.kernel.records import Records
from jostle.learn._cells import CellModel
from jostle.learn.estimator import PrivateEstimator
from jostle.learn.joint import joint
from jostle.learn.registry import learner
from jostle.learn.task import Task


@learner(name="Single", cite="mohammed2011differentially", built_on=("Joint",))
def single(records: Records, task: Task, budget: Budget, *, total: float | None = None) -> CellModel:
    """A noisy histogram over the one attribute that promises the most right predictions; the best where records are few.

    Privacy: that of a joint histogram whose sets have one attribute at most.
    """
    return joint.plan(records, task, budget, largest_set=1, total=total)  # type: ignore[return-value]


class PrivateSingle(PrivateEstimator):
    """Predicts the prevailing class among records that agree in one attribute, which is chosen privately.

    >>> from jostle.schema import Category, Integer, Schema
    >>> schema = Schema({"age": Integer(0, 99), "class": Category(["no", "yes"])})
    >>> model = PrivateSingle(epsilon=1, schema=schema, random_state=0)
    >>> ages = list(range(100)) * 5
    >>> model.fit([[age] for age in ages], ["yes" if age >= 50 else "no" for age in ages]).predict([[3], [90]]).tolist()
    ['no', 'yes']
    """

    learner = "Single"
    poor = True
