"""Histograms of the classes: over all records, over one attribute, or over a privately chosen set of attributes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, product
from math import prod

import numpy as np

from jostle.kernel.budget import Budget
from jostle.kernel.functions.criteria import ClearMajority
from jostle.kernel.partition import Counts
from jostle.kernel.records import Records, Split
from jostle.kernel.strategies import identity
from jostle.learn.cells import CellModel, NoisyClasses, coarse, known_total, measure, most_cells, width
from jostle.learn.estimator import PrivateEstimator
from jostle.learn.registry import check_whole, learner
from jostle.learn.task import Task, once_per_task

FINE, COARSE = 16, 5
"""A numeric attribute is offered twice, with about this many bins. If there are few attributes, it is offered more often.

Tuned, as are prices and the budget's shares, on splits of the census, nursery, contraceptive, HIV and credit tables.
"""

FEW = 4
"""Up to this many attributes are few."""

LEVELS = (3, 5, 8, 12, 16, 24, 32)
"""The numbers of bins that few numeric attributes are offered with."""

LARGEST = 2**16
"""The most combinations of a histogram: for more, drawing noise would take too long."""

CROWD, SMALLEST = 1.0, 32
"""A histogram has at most CROWD cells per record times ε, or SMALLEST in any case: more would drown in the noise."""

DEAR = 2_000.0
"""Above this many records times ε, a second choice adds further attributes."""

MOST_SETS, FEWEST_SETS, WORK = 8_000, 1_000, 1.5e8
"""A choice is among at most MOST_SETS sets, or fewer where records are many: sets times records are at most WORK.

Each set costs one count of all records; with these limits a fit takes about a second. FEWEST_SETS are always allowed.
"""

ALL = "(all)"
"""A derived attribute with a single value: the histogram over no attribute."""


@dataclass(frozen=True, eq=False)
class BinnedAttribute:
    """An attribute at one resolution."""

    attribute: str

    table: Counts
    """The bin of each of its cells."""

    bins: int
    """About how many bins it has."""

    @property
    def name(self) -> str:
        """The name of the derived attribute."""
        return f"({self.attribute} in {self.bins})"

    @cached_property
    def width(self) -> int:
        return width(self.table)


AttributeSet = tuple[BinnedAttribute, ...]


def attribute_sets(
    offered: Sequence[BinnedAttribute], chosen: AttributeSet, cells: int, most: int, largest: int | None
) -> list[AttributeSet]:
    """The chosen attributes by themselves, and with every set of further ones that has at most `cells` cells.

    Smaller sets come first. All sets of one size are listed or none, and at most `most` sets in total. No set has more than
    `largest` attributes.
    """
    resolutions: dict[str, list[BinnedAttribute]] = {}
    for one in offered:
        if one.attribute not in {known.attribute for known in chosen}:
            resolutions.setdefault(one.attribute, []).append(one)
    start, found = prod(one.width for one in chosen), [chosen]
    for size in range(1, min(len(resolutions), (largest or len(offered)) - len(chosen)) + 1):
        new = [
            (*chosen, *added)
            for names in combinations(resolutions, size)
            for added in product(*(resolutions[name] for name in names))
            if start * prod(one.width for one in added) <= cells
        ]
        if not new or len(found) + len(new) > most:
            break
        found += new
    return found


def most_sets(total: float) -> int:
    """How many sets a choice may be among, for a noisy number of records that was paid for.

    >>> most_sets(2_000.0), most_sets(50_000.0), most_sets(1e6)
    (8000, 3000, 1000)
    """
    return int(np.clip(WORK / max(total, 1.0), FEWEST_SETS, MOST_SETS))


def derive_sets(records: Records, task: Task, offered: Sequence[BinnedAttribute]) -> Records:
    """The records with the attributes that sets are made of."""
    for one in offered:
        records = records.derive(one.name, [one.attribute], one.table)
    return derive_all(records, task)


def derive_all(records: Records, task: Task) -> Records:
    """The records with the attribute ALL."""
    first = task.attributes[0]
    return records.derive(ALL, [first], np.zeros(task.sizes[first], dtype=np.int64))


def choose_set(records: Records, task: Task, sets: Sequence[AttributeSet], epsilon: float, budget: Budget) -> AttributeSet:
    """The set that promises the most right predictions, by one noisy maximum.

    A set scores the records that are in the largest class of their cell, less a price per cell: a third of the noise's scale
    for a measurement with `epsilon`, and half a record for chance.
    """
    criterion = ClearMajority(price=float(np.clip(0.3 / epsilon + 0.5, 0, 2**30)))
    (place,) = records.choose_each([_split(one) for one in sets], criterion, budget, label=task.label)
    return sets[place]


def _split(chosen: AttributeSet) -> Split:
    first, *others = [one.name for one in chosen] or [ALL]
    return Split(first, np.arange(prod(one.width for one in chosen)), tuple(others))


# --------------------------------------------------------------------------------------------------------- learners


@learner(name="Majority", cite="dwork2006calibrating", version=2)
def majority(records: Records, task: Task, budget: Budget, *, total: float | None = None) -> CellModel:
    """The overall shares of the classes, the same for every record.

    Privacy: one Laplace measurement with the whole budget: of the number of records of each class; or, for two classes and a
    number of records that is public or was paid for, of the lead of one over the other.
    """
    everyone, known = derive_all(records, task), records.total if total is None else total
    if known is not None:
        measured = measure(everyone, [ALL], task.label, budget, known)
    else:  # the lead alone, which has half the variance, would not say how large the classes' shares are
        vector = everyone.vector(ALL, task.label)
        every = identity(vector.shape)
        scale = vector.noise_scale(every, budget)
        measured = NoisyClasses(vector.measure(every, budget).reshape(1, -1), scale)
    return CellModel((), (), measured.shares(), "Every record gets the classes' overall shares.")


@learner(name="Joint", cite="mohammed2011differentially", version=4)
def joint(
    records: Records,
    task: Task,
    budget: Budget,
    *,
    most: int | None = None,
    largest_set: int | None = None,
    total: float | None = None,
) -> CellModel:
    """A noisy histogram over the set of attributes that promises the most right predictions; it may be the empty set.

    All sets of one attribute, of two, of three … are candidates, each numeric attribute in fine and in coarse bins, as long
    as there are at most `most` of them; by default up to 8,000, or fewer where records are many. A set scores the records
    in the largest class of their cell, less a price per cell for noise and chance. Where records times ε are many, a second
    choice adds further attributes. Each cell's measurement is weighed against a guess from other cells with some of the
    same values.

    Privacy: a noisy number of records (3 % of the budget) unless one that was paid for is given, one or two choices of a
    set (30 %, or 20 % and 15 %) and one Laplace measurement of the chosen set's cells with the rest, one after the other.
    Prices and candidates follow from the schema and from what was released before; shares of the classes, smoothing
    included, are post-processing.
    """
    if most is not None:
        check_whole("most", most, 1)
    if largest_set is not None:
        check_whole("largest_set", largest_set, 1)
    total, rest = known_total(records, budget, total)
    offered = [one for attribute in task.attributes for one in _resolutions(task, attribute)]
    records = derive_sets(records, task, offered)
    largest = most_cells(task, LARGEST)
    limit = int(np.clip(total * rest.rate * CROWD, min(SMALLEST, largest), largest))
    most = most or most_sets(total)
    sets = attribute_sets(offered, (), limit, most, largest_set)
    cut_short = len(sets[-1]) < min(len(task.attributes), largest_set or len(task.attributes))
    twice = cut_short and total * rest.rate > DEAR
    *choices, leaves = rest.split(20, 15, 62) if twice else rest.split(30, 67)
    chosen: AttributeSet = ()
    for choice in choices:
        sets = attribute_sets(offered, chosen, limit, most, largest_set) if chosen else sets
        chosen = choose_set(records, task, sets, leaves.rate, choice)
    measured = measure(records, [one.name for one in chosen] or [ALL], task.label, leaves, total)
    return CellModel(
        attributes=tuple(one.attribute for one in chosen),
        bins=tuple(one.table for one in chosen),
        table=measured.shares(tuple(one.width for one in chosen)),
        summary=histogram_words(task, [one.attribute for one in chosen], [one.table for one in chosen]),
    )


@once_per_task
def _resolutions(task: Task, attribute: str) -> list[BinnedAttribute]:
    """An attribute at the resolutions that it is offered with, without duplicates."""
    values = task.known(attribute)
    if not task.is_numeric(attribute):
        levels: tuple[int, ...] = (values,)
    elif len(task.attributes) <= FEW:
        levels = (*(level for level in LEVELS if level < values), *([values] if values <= LEVELS[-1] else []))
    else:
        levels = (COARSE, min(values, FINE)) if values > COARSE + 1 else (values,)
    return [BinnedAttribute(attribute, coarse(task, attribute, level), level) for level in levels]


def histogram_words(task: Task, attributes: Sequence[str], tables: Sequence[Counts], complete: str = "") -> str:
    """What a histogram is over, in words. The bin for values that the schema does not name is not counted.

    `complete` is an attribute that has no such bin, such as a prediction.
    """
    if not attributes:
        return "No attribute stood out from the noise, so every record gets the overall shares of the classes."
    listed = []
    for name, table in zip(attributes, tables, strict=True):
        unnamed = name != complete and task.sizes[name] > task.known(name)
        listed.append(f"{name} ({width(table) - unnamed} bins)")
    return f"A histogram over {in_words(listed)}."


def in_words(listed: Sequence[str]) -> str:
    """Names with commas, and an "and" before the last.

    >>> in_words(["age"]), in_words(["age", "sex", "pay"])
    ('age', 'age, sex and pay')
    """
    return " and ".join(filter(None, [", ".join(listed[:-1]), listed[-1]]))


@learner(name="Single", cite="mohammed2011differentially", built_on=("Joint",))
def single(records: Records, task: Task, budget: Budget, *, total: float | None = None) -> CellModel:
    """A noisy histogram over the one attribute that promises the most right predictions: best where records are few.

    Privacy: that of a joint histogram whose sets have at most one attribute.
    """
    return joint.plan(records, task, budget, largest_set=1, total=total)  # type: ignore[return-value]


# ------------------------------------------------------------------------------------------------------- estimators


class PrivateMajority(PrivateEstimator):
    """Predicts the prevailing class for every record: the baseline that everything else has to beat.

    >>> from jostle.schema import Category, Integer, Schema
    >>> schema = Schema({"age": Integer(0, 99), "class": Category(["no", "yes"])})
    >>> model = PrivateMajority(epsilon=1, schema=schema, random_state=0)
    >>> model.fit([[30], [70], [80]] * 20, ["no", "yes", "yes"] * 20).predict([[33]]).tolist()
    ['yes']
    """

    learner = "Majority"
    poor = True


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
