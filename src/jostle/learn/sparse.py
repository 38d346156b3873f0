"""An additive model of a few attributes, which are chosen privately: for records that are too few for all attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import prod
from typing import Final

import numpy as np

from jostle.kernel.budget import Budget
from jostle.kernel.criteria import ClearMajority
from jostle.kernel.errors import BadInput
from jostle.kernel.partition import Counts
from jostle.kernel.records import Records, Split
from jostle.learn._cells import coarse, known_total, room
from jostle.learn.estimator import PrivateEstimator
from jostle.learn.logistic import cells_of, logistic, plenty
from jostle.learn.majority import majority
from jostle.learn.registry import Model, learner
from jostle.learn.task import Task

FEW: Final = 3
"""So many attributes are chosen at most: on made-up tables 2 and 4 do no better."""

BINS: Final = 5
"""The bins of a numeric attribute while attributes are compared: better than 3 on made-up tables."""

MOST: Final = 1_000
"""So many sets of attributes are compared at most: each one more needs more signal to stand out."""

PERCENT: Final = 30
"""What the choice costs, in percent of the budget: on made-up tables 20 and 40 do as well."""

ENOUGH, ENOUGH_FOR_MORE = 3.0, 1.25
"""From so many times the records on that an additive model of all attributes needs, it has all of them.

For two classes and for more. Found on made-up tables, where from 2 to 3 and from 1 to 1.5 make no difference.
"""

SMALLEST, LARGEST = 32, 2**16
"""The cells that a set may have in any case, and those that none may exceed."""


@learner(name="Sparse", cite="chaudhuri2011differentially", built_on=("Logistic", "Majority"))
def sparse(records: Records, task: Task, budget: Budget, *, few: int = FEW, total: float | None = None) -> Model:
    """The few attributes that together promise the most right predictions, and an additive model of these alone.

    The noise of an additive model grows with its attributes, so that where records are few, a few attributes tell more than
    all. A set of them is worth the records in the largest class of each combination of values, less a price for noise. Where
    records are enough, all attributes are taken and nothing is chosen.

    Privacy: a noisy number of records (3 % of the budget) unless it is public or one that was paid for is given; then, if
    these are too few for all attributes, one choice of a set (30 % of what is left); and an additive model of its attributes
    by objective perturbation, or the noisy majority if the set is empty, with the rest, one after the other. Whether to
    choose, prices and candidates follow from the schema and from what was released before.
    """
    if isinstance(few, bool) or not isinstance(few, int) or few < 1:
        raise BadInput("few", "must be a whole number of at least 1", "leave it out, or pass for instance 3")
    cells = cells_of(task)
    known, rest = known_total(records, budget, total)
    rate = float(rest.epsilon / records.neighbours.sensitivity(1, 2))
    enough = ENOUGH if len(task.classes) <= 2 else ENOUGH_FOR_MORE
    if len(task.attributes) <= few or plenty(task, cells, known * rate) >= enough:
        return logistic.run(records, task, rest, total=known)
    choice, rest = rest.split(PERCENT, 100 - PERCENT)
    chosen = choose_attributes(records, task, choice, known, few, room(task, LARGEST))
    if not chosen:
        return majority.run(records, task, rest)
    fewer = Task(chosen, task.label, {name: task.columns[name] for name in (*chosen, task.label)})
    return logistic.run(records, fewer, rest, total=known)


def choose_attributes(
    records: Records, task: Task, budget: Budget, total: float, few: int = FEW, largest: int = LARGEST
) -> tuple[str, ...]:
    """The set of at most so many attributes that promises most: one noisy maximum over all sets, the empty one included.

    None has more than so many cells.
    """
    tables = {name: coarse(task, name, BINS) for name in task.attributes}
    for name, table in tables.items():
        records = records.derive(_cut(name), [name], table)
    first = task.attributes[0]
    records = records.derive(_ALL, [first], np.zeros(task.sizes[first], dtype=np.int64))
    epsilon = float(budget.epsilon / records.neighbours.sensitivity(1, 2)) * 100 / PERCENT
    sets = _sets(tables, few, int(np.clip(total * epsilon, min(SMALLEST, largest), largest)))
    criterion = ClearMajority(price=float(np.clip(0.3 / epsilon + 0.5, 0, 2**30)))  # about what noise and chance pretend
    (place,) = records.choose_each([_split(one, tables) for one in sets], criterion, budget, label=task.label)
    return sets[place]


_ALL = "(all)"


def _cut(attribute: str) -> str:
    return f"({attribute} in few)"


def _sets(tables: Mapping[str, Counts], few: int, cells: int) -> list[tuple[str, ...]]:
    """All sets of no attribute, one, two … that have no more than so many cells, as long as they are not too many."""
    widths = {name: int(table.max()) + 1 for name, table in tables.items()}
    found: list[tuple[str, ...]] = [()]
    for size in range(1, min(few, len(tables)) + 1):
        new = [one for one in combinations(tables, size) if prod(widths[name] for name in one) <= cells]
        if not new or (size > 1 and len(found) + len(new) > MOST):
            break
        found += new
    return found


def _split(chosen: Sequence[str], tables: Mapping[str, Counts]) -> Split:
    names = [_cut(name) for name in chosen] or [_ALL]
    return Split(names[0], np.arange(prod(int(tables[name].max()) + 1 for name in chosen)), tuple(names[1:]))


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
