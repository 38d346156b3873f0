"""A histogram over the combinations of a few attributes: which ones is chosen privately, all at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from math import prod

import numpy as np

from jostle.kernel.budget import Budget
from jostle.kernel.criteria import ClearMajority
from jostle.kernel.errors import BadInput
from jostle.kernel.partition import Counts
from jostle.kernel.records import Records, Split
from jostle.learn._cells import CellModel, coarse, foreseen, known_total, measure, room
from jostle.learn.estimator import PrivateEstimator
from jostle.learn.registry import learner
from jostle.learn.task import Task, once_a_task

FINE, COARSE = 16, 5
"""The bins of a numeric attribute: it is offered twice, with about so many. A few attributes are offered in more ways.

Tuned, as are prices and the budget's shares, on splits of the census, nursery, contraceptive, HIV and credit tables.
"""

FEW = 4
"""So many attributes are few."""

LEVELS = (3, 5, 8, 12, 16, 24, 32)
"""The bins that few numeric attributes are offered with."""

LARGEST = 2**16
"""So many combinations a histogram has at most: more would take too long to draw noise for."""

CROWD, SMALLEST = 1.0, 32
"""And at most so many for each record times ε, or so many in any case: in more, nothing would stand out from the noise."""

DEAR = 2_000.0
"""Above so many records times ε, a second choice adds further attributes."""


@dataclass(frozen=True, eq=False)
class Variant:
    """An attribute at one resolution."""

    attribute: str
    """Which."""

    table: Counts
    """The bin of each of its cells."""

    bins: int
    """About how many bins it has."""

    @property
    def name(self) -> str:
        """Of the derived attribute."""
        return f"({self.attribute} in {self.bins})"

    @cached_property
    def width(self) -> int:
        """The number of bins."""
        return int(self.table.max()) + 1


@learner(name="Joint", cite="mohammed2011differentially", version=2)
def joint(
    records: Records,
    task: Task,
    budget: Budget,
    *,
    most: int = 1_000,
    largest_set: int | None = None,
    total: float | None = None,
) -> CellModel:
    """A noisy histogram over the set of attributes that promises the most right predictions, and no attribute is one too.

    All sets of one attribute, of two, of three … are candidates, each numeric attribute in fine and in coarse bins, as long
    as there are at most `most` of them. A set is worth the records in the largest class of their cell, less a price a cell
    for noise and chance. Where records times ε are many, a second choice adds further attributes. What is measured of
    a cell is weighed against what other cells with some of the same values let guess.

    Privacy: a noisy number of records (3 % of the budget) unless one that was paid for is given, one or two choices of a
    set (30 %, or 20 % and 15 %) and one Laplace measurement of the chosen set's cells with the rest, one after the other.
    Prices and candidates follow from the schema and from what was released before; shares of the classes, smoothing
    included, are post-processing.
    """
    for name, number in (("most", most), ("largest_set", largest_set)):
        if number is not None and (isinstance(number, bool) or not isinstance(number, int) or number < 1):
            raise BadInput(name, "must be a whole number of at least 1", "leave it out")
    total, rest = known_total(records, budget, total)
    variants = [variant for attribute in task.attributes for variant in _variants(task, attribute)]
    for variant in variants:
        records = records.derive(variant.name, [variant.attribute], variant.table)
    records = records.derive(_ALL, [task.attributes[0]], np.zeros(task.sizes[task.attributes[0]], dtype=np.int64))
    largest = room(task, LARGEST)
    limit = int(np.clip(total * float(rest.epsilon) * CROWD, min(SMALLEST, largest), largest))
    sets = _sets(variants, (), limit, most, largest_set)
    cut_short = len(sets[-1]) < min(len(task.attributes), largest_set or len(task.attributes))
    twice = cut_short and total * float(rest.epsilon) > DEAR
    *choices, leaves = rest.split(20, 15, 62) if twice else rest.split(30, 67)
    criterion = ClearMajority(price=float(np.clip(_price(float(leaves.epsilon)), 0, 2**30)))
    chosen: tuple[Variant, ...] = ()
    for choice in choices:
        sets = _sets(variants, chosen, limit, most, largest_set)
        (place,) = records.choose_each([_split(one) for one in sets], criterion, choice, label=task.label)
        chosen = sets[place]
    measured = measure(records, [variant.name for variant in chosen] or [_ALL], task.label, leaves)
    return CellModel(
        attributes=tuple(variant.attribute for variant in chosen),
        bins=tuple(variant.table for variant in chosen),
        table=measured.shares(tuple(variant.width for variant in chosen)),
        summary=_words(chosen),
    )


_ALL = "(all)"


def _price(epsilon: float) -> float:
    """What a cell costs in records: a third of the noise's scale, and half a record for chance."""
    return 0.3 / epsilon + 0.5


@once_a_task
def _variants(task: Task, attribute: str) -> list[Variant]:
    """An attribute at the resolutions that it is offered with; as few as needed where they are the same."""
    values = foreseen(task, attribute)
    if not task.is_numeric(attribute):
        levels: tuple[int, ...] = (values,)
    elif len(task.attributes) <= FEW:
        levels = (*(level for level in LEVELS if level < values), *([values] if values <= LEVELS[-1] else []))
    else:
        levels = (COARSE, min(values, FINE)) if values > COARSE + 1 else (values,)
    return [Variant(attribute, coarse(task, attribute, level), level) for level in levels]


def _sets(
    variants: Sequence[Variant], chosen: tuple[Variant, ...], limit: int, most: int, largest: int | None
) -> list[tuple[Variant, ...]]:
    """What was chosen, alone and with every set of further attributes: by their number, as long as they are not too many."""
    taken = {variant.attribute for variant in chosen}
    by_attribute: dict[str, list[Variant]] = {}
    for variant in variants:
        if variant.attribute not in taken:
            by_attribute.setdefault(variant.attribute, []).append(variant)
    start, found = prod(variant.width for variant in chosen), [chosen]
    for size in range(1, min(len(by_attribute), (largest or len(variants)) - len(chosen)) + 1):
        new = [
            (*chosen, *one)
            for names in combinations(by_attribute, size)
            for one in product(*(by_attribute[name] for name in names))
            if start * prod(variant.width for variant in one) <= limit
        ]
        if not new or len(found) + len(new) > most:
            break
        found += new
    return found


def _split(chosen: tuple[Variant, ...]) -> Split:
    names = [variant.name for variant in chosen] or [_ALL]
    return Split(names[0], np.arange(prod(variant.width for variant in chosen)), tuple(names[1:]))


def _words(chosen: tuple[Variant, ...]) -> str:
    if not chosen:
        return "No attribute was worth its noise: every record gets the classes' overall shares."
    return "A histogram over " + ", ".join(f"{variant.attribute} in {variant.bins}" for variant in chosen) + " bins."


class PrivateJoint(PrivateEstimator):
    """Predicts the prevailing class among records that agree in a few attributes, which are chosen privately.

    >>> from jostle.schema import Category, Integer, Schema
    >>> schema = Schema({"age": Integer(0, 99), "class": Category(["no", "yes"])})
    >>> model = PrivateJoint(epsilon=1, schema=schema, random_state=0)
    >>> ages = list(range(100)) * 5
    >>> model.fit([[age] for age in ages], ["yes" if age >= 50 else "no" for age in ages]).predict([[3], [90]]).tolist()
    ['no', 'yes']
    """

    learner = "Joint"
