"""An additive model of a few attributes, which are chosen privately: for records that are too few for all attributes."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

import numpy as np

from jostle.kernel.budget import Budget
from jostle.kernel.records import Records
from jostle.learn.cells import coarse, known_total, most_cells
from jostle.learn.estimator import PrivateEstimator
from jostle.learn.histograms import BinnedAttribute, attribute_sets, choose_set, derive_sets, majority, most_sets
from jostle.learn.logistic import cells_of, logistic, plenty
from jostle.learn.registry import Model, check_whole, learner
from jostle.learn.task import Task

FEW: Final = 3
"""The most attributes that are chosen: on made-up tables 2 and 4 do no better."""

BINS: Final = 5
"""The bins of a numeric attribute while attributes are compared: better than 3 on made-up tables."""

PERCENT: Final = 30
"""The price of the choice, in percent of the budget: on made-up tables 20 and 40 do as well."""

ENOUGH, ENOUGH_FOR_MORE = 2.0, 1.25
"""From this multiple of the records that an additive model of all attributes needs, it has all of them.

For two classes and for more. Found on made-up tables, where from 2 to 3 and from 1 to 1.5 make no difference. On collected
ones between the two, 3 is better by 3 % in the mean; but where many attributes tell a little each, 2 is better by a factor.
"""

SMALLEST, LARGEST = 32, 2**16
"""The number of cells that a set may always have, and the largest number that it may ever have."""


@learner(name="Sparse", cite="chaudhuri2011differentially", version=3, built_on=("Logistic", "Majority"))
def sparse(records: Records, task: Task, budget: Budget, *, few: int = FEW, total: float | None = None) -> Model:
    """An additive model of the few attributes that together promise the most right predictions.

    The noise of an additive model grows with its attributes, so where records are few, a few attributes tell more than all.
    A set scores the records in the largest class of each combination of values, less a price for noise. Where records are
    enough, all attributes are used and nothing is chosen.

    Privacy: a noisy number of records (3 % of the budget) unless it is public or one that was paid for is given; then, if
    these are too few for all attributes, one choice of a set (30 % of what is left); and an additive model of its attributes
    by objective perturbation, or the noisy majority if the set is empty, with the rest, one after the other. Whether to
    choose, prices and candidates follow from the schema and from what was released before.
    """
    check_whole("few", few, 1, remedy="leave it out, or pass for instance 3")
    cells = cells_of(task)
    known, rest = known_total(records, budget, total)
    rate = rest.rate / float(records.neighbours.sensitivity(1, 2))
    enough = ENOUGH if len(task.classes) <= 2 else ENOUGH_FOR_MORE
    if len(task.attributes) <= few or plenty(task, cells, known * rate) >= enough:
        return logistic.run(records, task, rest, total=known)
    choice, rest = rest.split(PERCENT, 100 - PERCENT)
    chosen = choose_attributes(records, task, choice, known, few, most_cells(task, LARGEST))
    if not chosen:
        return majority.run(records, task, rest, total=known)
    fewer = Task(chosen, task.label, {name: task.columns[name] for name in (*chosen, task.label)})
    return logistic.run(records, fewer, rest, total=known)


def choose_attributes(
    records: Records, task: Task, budget: Budget, total: float, few: int = FEW, largest: int = LARGEST
) -> tuple[str, ...]:
    """The set of at most `few` attributes that promises most: one noisy maximum over all sets, the empty one included.

    No set has more than `largest` cells.
    """
    offered = [BinnedAttribute(name, coarse(task, name, BINS), BINS) for name in task.attributes]
    rate = budget.price.times(Fraction(100, PERCENT)).rate / float(records.neighbours.sensitivity(1, 2))
    cells = int(np.clip(total * rate, min(SMALLEST, largest), largest))
    most = max(most_sets(total), len(offered) + 1)
    sets = attribute_sets(offered, (), cells, most, few)  # each attribute by itself in any case
    chosen = choose_set(derive_sets(records, task, offered), task, sets, rate, budget)
    return tuple(one.attribute for one in chosen)


class PrivateSparse(PrivateEstimator):
    """An additive logistic model of the few attributes that tell most, which are chosen privately.

    >>> from jostle.schema import Category, Integer, Schema
    >>> columns = {f"noise {i}": Integer(0, 9) for i in range(8)} | {"age": Integer(0, 99)}
    >>> schema = Schema(columns | {"class": Category(["no", "yes"])})
    >>> draws = np.random.default_rng(0).integers(0, 10, size=(500, 8))
    >>> ages = np.arange(500) % 100
    >>> model = PrivateSparse(epsilon=1, schema=schema, random_state=0)
    >>> model.fit(np.column_stack([draws, ages]), np.where(ages < 50, "no", "yes")).predict([[5] * 8 + [90]]).tolist()
    ['yes']
    """

    learner = "Sparse"
