"""The kernel's operators on records: histograms, choices among splits, parts, and minimisers of a loss.

An input is a tuple of records, and a record a tuple of codes. As for vectors, hard pairs are found from what a criterion
computes, by trying all records, and not from the span that it states.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from jostle.audit.choices import furthest, telling
from jostle.audit.entries import RELATIONS, Audited, FreePurse, Pair
from jostle.kernel.budget import Budget
from jostle.kernel.columns import ArrayColumns
from jostle.kernel.criteria import CappedEntropy, ClearMajority, Criterion, Gini, Majority
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.objective import Additive
from jostle.kernel.partition import Vector
from jostle.kernel.records import Records, ReleaseRecords, SimulatedRecords, Split
from jostle.kernel.strategy import identity, total

Rows = tuple[tuple[int, ...], ...]
Ask = Callable[[Records, Budget], Any]

SIZES = {"a": 2, "b": 2, "class": 2}
"""The attributes of the records that operators are audited on."""

SPLITS = (Split("a", np.array([0, 1])), Split("b", np.array([0, 1])))

_STARTS: tuple[Rows, ...] = (
    (),
    ((0, 0, 0),),
    ((0, 0, 0), (0, 1, 1)),
    ((0, 0, 0), (0, 1, 1), (1, 0, 1), (1, 1, 0)),
    ((0, 0, 0),) * 6 + ((0, 1, 1),) * 2,
    ((0, 0, 0),) * 6 + ((1, 1, 1),) * 6,
    ((0, 0, 0),) * 6 + ((0, 1, 1), (1, 0, 0), (1, 0, 0)) + ((1, 1, 1),) * 6,
    ((0, 0, 0),) * 6 + ((0, 0, 1),) * 6 + ((1, 0, 1),) * 4 + ((1, 1, 0),),
)
"""Nothing, one, a clear choice, a tie, and crowds, some of which disagree."""


def columns(rows: Rows, sizes: Mapping[str, int]) -> ArrayColumns:
    """Records as the kernel wants them."""
    table = np.array(rows, dtype=np.int64).reshape(len(rows), len(sizes))
    return ArrayColumns({name: table[:, place] for place, name in enumerate(sizes)}, sizes)


def of_records(ask: Ask, sizes: Mapping[str, int], *, filtered: bool = False, batched: bool = False) -> dict[str, Any]:
    """Runs of what is asked of a record source with one budget; the answer is a row of numbers, or one row a trial."""

    def sampled(records: SimulatedRecords | ReleaseRecords, epsilon: Fraction, samples: int) -> Vector:
        rows = [np.ravel(ask(records, records.grant(epsilon))) for _ in range(samples)]
        return np.asarray(rows, dtype=np.float64)

    def run(side: Rows, epsilon: Fraction, neighbours: Neighbours, samples: int, seed: int) -> Vector:
        trials = samples if batched else None
        table = SimulatedRecords(columns(side, sizes), seed=seed, neighbours=neighbours, filtered=filtered, trials=trials)
        if batched:
            return np.asarray(ask(table, table.grant(epsilon)), dtype=np.float64).reshape(samples, -1)
        return sampled(table, epsilon, samples)

    def exact(side: Rows, epsilon: Fraction, neighbours: Neighbours, samples: int, seed: int) -> Vector:
        table = columns(side, sizes)
        return sampled(ReleaseRecords(table, purse=FreePurse(neighbours), filtered=filtered), epsilon, samples)

    return {"run": run, "exact": exact, "pace": "batched" if batched else "single"}


def neighbours_of(rows: Rows, relation: Neighbours, sizes: Mapping[str, int]) -> Iterator[tuple[str, Rows]]:
    """Every neighbour of some records, and in words what was done to them.

    >>> len(list(neighbours_of(((0, 0, 0),), Neighbours("replace"), SIZES)))
    7
    """
    every = list(product(*(range(size) for size in sizes.values())))
    if relation.relation == "add_remove":
        yield from ((f"one record more: {new}", (*rows, new)) for new in every)
    else:
        for place, old in enumerate(rows):
            if old not in rows[:place]:
                yield from (
                    (f"{old} becomes {new}", (*rows[:place], new, *rows[place + 1 :])) for new in every if new != old
                )


def entries() -> list[Audited]:
    """Every operator on records."""
    return [*_histograms(), *(_choice(name, one) for name, one in criteria().items()), _choices_by_group(), *_minimisers()]


def criteria() -> dict[str, Criterion]:
    """One criterion of every kind. The price and the cap are small, so that both are reached."""
    return {
        "Majority": Majority(),
        "ClearMajority": ClearMajority(price=1.0),
        "Gini": Gini(),
        "CappedEntropy": CappedEntropy(cap=4),
    }


def _histograms() -> Iterator[Audited]:
    def vector(records: Records, budget: Budget) -> Vector:
        return records.vector("a", "class").laplace(identity((2, 2)), budget)

    def derived(records: Records, budget: Budget) -> Vector:
        return records.derive("same", ("a", "b"), np.array([[0, 1], [1, 0]])).vector("same").laplace(identity(2), budget)

    def parts(records: Records, budget: Budget) -> Vector:
        seen = [part.vector("b").laplace(total(2), token) for part, token in records.split("a", budget)]
        return np.concatenate(seen, axis=-1)

    def counted(records: Records, budget: Budget) -> Vector:
        """What is public of the total, and a measurement of it."""
        measured = records.vector("a").laplace(total(2), budget)
        known = np.full_like(measured, -1 if records.total is None else records.total)
        return np.concatenate([known, measured], axis=-1)

    def moved(relation: Neighbours) -> list[Pair]:
        if relation.relation == "add_remove":
            return [Pair("nothing and one record", (), ((0, 0, 0),)), Pair("one more", _STARTS[4], (*_STARTS[4], (1, 1, 1)))]
        return [Pair("a record changes all its values", ((0, 0, 0),), ((1, 0, 1),))]

    def counts(relation: Neighbours) -> list[Pair]:
        """Among filtered records, one may also begin to count."""
        return [Pair("nothing and one record", (), ((0, 0, 0),))]

    for name, ask, pairs in (("vector", vector, moved), ("derive", derived, moved), ("split", parts, moved)):
        runs = of_records(ask, SIZES, batched=True)
        yield Audited(name=f"records: {name}", family="operator", pairs=pairs, tight=RELATIONS, **runs)
    yield Audited(
        name="records: filtered",
        family="operator",
        pairs=counts,
        tight=RELATIONS,
        **of_records(counted, SIZES, filtered=True, batched=True),
    )


def _choice(name: str, criterion: Criterion) -> Audited:
    def scores(rows: Rows) -> Vector:
        table = columns(rows, SIZES)
        found = [criterion.scores(table.counts((split.attribute, "class")).reshape(1, 2, 2))[0] for split in SPLITS]
        return np.array(found) / criterion.unit

    def pairs(relation: Neighbours) -> list[Pair]:
        known = {
            Pair(what, rows, moved): (scores(rows), scores(moved))
            for rows in _STARTS
            for what, moved in neighbours_of(rows, relation, SIZES)
        }
        reach = furthest(after - before for before, after in known.values())  # seen, not stated
        return sorted(known, key=lambda pair: telling(*known[pair], reach), reverse=True)[:2]

    def ask(records: Records, budget: Budget) -> Vector:
        return np.transpose(records.choose_each(SPLITS, criterion, budget, label="class"))

    return Audited(
        name=f"records: choose_each, {name}",
        family="operator",
        pairs=pairs,
        tight=RELATIONS,
        **of_records(ask, SIZES, batched=True),
    )


def _choices_by_group() -> Audited:
    """A record that leaves its group moves the scores of two groups at once."""
    sizes = {"group": 2, **SIZES}

    def ask(records: Records, budget: Budget) -> Vector:
        return np.transpose(records.choose_each(SPLITS, Majority(), budget, label="class", by="group"))

    def pairs(relation: Neighbours) -> list[Pair]:
        rows = tuple((group, 0, 0, 0) for group in (0, 1)) + tuple((group, 0, 1, 1) for group in (0, 1))
        if relation.relation == "add_remove":
            return [Pair("one record more in a group", rows[:3], rows)]
        tie = ((0, 0, 0, 0), (0, 1, 0, 1), (1, 0, 0, 0))  # in both groups, before the record leaves one for the other
        return [Pair("a record leaves its group", (*tie, (0, 0, 1, 1)), (*tie, (1, 1, 0, 1)))]

    runs = of_records(ask, sizes, batched=True)
    return Audited(name="records: choose_each by group", family="operator", pairs=pairs, tight=RELATIONS, **runs)


COPIES = 16
"""So many values the attribute has that a loss is minimised over: as many runs are made at once."""


def _minimisers() -> Iterator[Audited]:
    """A small ridge, and one coefficient a value, each with a copy of the same records.

    A record's loss depends on the coefficient of its own value alone, and every coefficient has a random pull, and hiding
    noise, of its own. So the coefficients are independent, but for where the search ends, which is certified to be nearer to
    the minimum than what the hiding noise is for: each is a run on its own copy.
    """

    def entry(name: str, classes: int, ridge: float) -> Audited:
        sizes = {"a": COPIES, "class": classes}
        objective = Additive("class", {"a": np.eye(COPIES)}, ridge=ridge)

        def copied(side: Rows) -> ArrayColumns:
            return columns(tuple((copy, label) for copy in range(COPIES) for _, label in side), sizes)

        def sampled(records: SimulatedRecords | ReleaseRecords, epsilon: Fraction, samples: int) -> Vector:
            calls = range(-(-samples // COPIES))
            found = [np.transpose(records.minimise(objective, records.grant(epsilon))) for _ in calls]
            return np.concatenate(found)[:samples]

        def run(side: Rows, epsilon: Fraction, neighbours: Neighbours, samples: int, seed: int) -> Vector:
            return sampled(SimulatedRecords(copied(side), seed=seed, neighbours=neighbours), epsilon, samples)

        def exact(side: Rows, epsilon: Fraction, neighbours: Neighbours, samples: int, seed: int) -> Vector:
            return sampled(ReleaseRecords(copied(side), purse=FreePurse(neighbours)), epsilon, samples)

        def pairs(relation: Neighbours) -> list[Pair]:
            many: Rows = ((0, 0),) * 3
            if relation.relation == "add_remove":
                return [Pair("the first of a class", many, (*many, (0, 1)))]
            return [Pair("another class", ((0, 0),), ((0, 1),))]

        unknown = "the bound on the Jacobian holds for all data, and no data are known that meet it"
        return Audited(name=name, family="operator", pairs=pairs, unknown=unknown, run=run, exact=exact)

    yield entry("records: minimise", 2, 1 / 16)
    yield entry("records: minimise, three classes", 3, 8.0)


def moved_records(one: Sequence[Any], other: Sequence[Any]) -> tuple[int, int]:
    """How many records are in one alone, and in the other alone.

    >>> moved_records(((0, 1), (0, 1)), ((0, 1), (1, 1)))
    (1, 1)
    """
    left = list(other)
    alone = 0
    for record in one:
        if record in left:
            left.remove(record)
        else:
            alone += 1
    return alone, len(left)
