"""The kernel's operators on records: histograms, choices among splits, parts, and minimisers of a loss.

An input is a tuple of records, and a record a tuple of codes. As for vectors, hard pairs are found from what a criterion
computes, by trying all records, and not from the span that it states.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from jostle.audit.entries import (
    RELATIONS,
    Ask,
    Audited,
    FreePurse,
    InputAndPurse,
    Pair,
    Pairs,
    by_relation,
    samplers,
)
from jostle.audit.entries.selection_law import most_telling
from jostle.kernel.budget import Budget
from jostle.kernel.functions.criteria import CappedEntropy, ClearMajority, Criterion, Gini, Majority
from jostle.kernel.functions.gaps import GRAIN as GAP_GRAIN
from jostle.kernel.functions.gaps import MarginalGap
from jostle.kernel.functions.objective import Additive
from jostle.kernel.functions.totals import (
    STEPS,
    CellSums,
    CellTotal,
    Contribution,
    Mixture,
    RecordCount,
    Sum,
    WeightedTotals,
)
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.partition import Vector
from jostle.kernel.records import ArrayColumns, Records, ReleaseRecords, SimulatedRecords, Split
from jostle.kernel.strategies import identity, total

CodedRows = tuple[tuple[int, ...], ...]

SIZES = {"a": 2, "b": 2, "class": 2}
"""The attributes of the records that operators are audited on."""

SPLITS = (Split("a", np.array([0, 1])), Split("b", np.array([0, 1])))

_STARTS: tuple[CodedRows, ...] = (
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


def columns(rows: CodedRows, sizes: Mapping[str, int], *, filtered: bool = False) -> ArrayColumns:
    """Records in the form that the kernel reads; with `filtered`, those with a value in the last column."""
    table = np.array(rows, dtype=np.int64).reshape(len(rows), len(sizes))
    codes = {name: table[:, place] for place, name in enumerate(sizes)}
    return ArrayColumns.having(list(sizes)[-1], codes, sizes) if filtered else ArrayColumns(codes, sizes)


def of_records(ask: Ask, sizes: Mapping[str, int], *, filtered: bool = False, batched: bool = False) -> dict[str, Any]:
    """Samplers of a function of a record source and one budget, which returns a row of numbers, or one row per trial."""

    def simulated(side: CodedRows, neighbours: Neighbours, seed: int, trials: int | None) -> InputAndPurse:
        data = columns(side, sizes, filtered=filtered)
        return (SimulatedRecords(data, seed=seed, neighbours=neighbours, trials=trials),) * 2

    def released(side: CodedRows, neighbours: Neighbours) -> InputAndPurse:
        return (ReleaseRecords(columns(side, sizes, filtered=filtered), purse=FreePurse(neighbours)),) * 2

    return samplers(ask, simulated, released, batched=batched)


def neighbours_of(rows: CodedRows, relation: Neighbours, sizes: Mapping[str, int]) -> Iterator[tuple[str, CodedRows]]:
    """Every neighbour of some records, with what was done to them in words.

    >>> len(list(neighbours_of(((0, 0, 0),), Neighbours("replace"), SIZES)))
    7
    """
    every = list(product(*(range(size) for size in sizes.values())))
    if relation.relation == "add_remove":
        yield from ((f"one record more: {new}", (*rows, new)) for new in every)
        return
    for old in dict.fromkeys(rows):
        place = rows.index(old)
        for new in every:
            if new != old:
                yield f"{old} becomes {new}", (*rows[:place], new, *rows[place + 1 :])


def entries() -> list[Audited]:
    """Every operator on records."""
    return [
        *_histograms(),
        *_totals(),
        *(_choice(name, one) for name, one in criteria().items()),
        _choices_by_group(),
        _choice_of_a_marginal(),
        *_selections(),
        *_minimisers(),
    ]


def criteria() -> dict[str, Criterion]:
    """One criterion of every kind. The price and the cap are small, so that both are reached."""
    return {
        "Majority": Majority(),
        "ClearMajority": ClearMajority(price=1.0),
        "Gini": Gini(),
        "CappedEntropy": CappedEntropy(cap=4),
    }


def _entry(name: str, ask: Ask, pairs: Pairs, sizes: Mapping[str, int] = SIZES, *, filtered: bool = False) -> Audited:
    runs = of_records(ask, sizes, filtered=filtered, batched=True)
    return Audited(name=f"records: {name}", family="operator", pairs=pairs, tight=RELATIONS, **runs)


def _histograms() -> Iterator[Audited]:
    def vector(records: Records, budget: Budget) -> Vector:
        return records.vector("a", "class").measure(identity((2, 2)), budget)

    def derived(records: Records, budget: Budget) -> Vector:
        return records.derive("same", ("a", "b"), np.array([[0, 1], [1, 0]])).vector("same").measure(identity(2), budget)

    def judged(records: Records, budget: Budget) -> Vector:
        return records.judged(("a", "b"), lambda codes: codes["a"] ^ codes["b"], 2).measure(identity(2), budget)

    def parts(records: Records, budget: Budget) -> Vector:
        seen = [part.vector("b").measure(total(2), token) for part, token in records.split("a", budget)]
        return np.concatenate(seen, axis=-1)

    def paid(records: Records, budget: Budget) -> Vector:
        plan, whole = records.paid(budget, "two steps")
        steps = zip(("a", "class"), whole.split(1, 1), strict=True)
        return np.concatenate([plan.vector(name).measure(identity(2), token) for name, token in steps], axis=-1)

    def counted(records: Records, budget: Budget) -> Vector:
        """What is public about the total, and a measurement of it."""
        measured = records.vector("a").measure(total(2), budget)
        known = np.full_like(measured, -1 if records.total is None else records.total)
        return np.concatenate([known, measured], axis=-1)

    first, crowd = Pair("nothing and one record", (), ((0, 0, 0),)), _STARTS[4]
    moved = by_relation(
        [first, Pair("one more", crowd, (*crowd, (1, 1, 1)))],
        [Pair("a record changes all its values", ((0, 0, 0),), ((1, 0, 1),))],
    )
    for name, ask in (("vector", vector), ("derive", derived), ("judged", judged), ("split", parts), ("paid", paid)):
        yield _entry(name, ask, moved)
    # Among filtered records, one may also begin to count.
    yield _entry("filtered", counted, by_relation([first], [first]), filtered=True)


def _totals() -> Iterator[Audited]:
    """Sums between bounds on both sides of 0, and the polynomials behind means: a record at a bound, and one that moves."""

    def entry(name: str, measured: CellTotal, size: int, far: tuple[int, int]) -> Audited:
        def ask(records: Records, budget: Budget) -> Vector:
            (found,) = records.totals(["g"], WeightedTotals([measured], [1]), budget)
            return found.values.reshape(*found.values.shape[:-2], -1)

        pairs = by_relation(
            [Pair("one record more, at a bound", (), ((0, far[0]),))],
            [Pair("a record leaves its cell", ((0, far[0]),), ((1, far[1]),))],
        )
        return _entry(name, ask, pairs, {"g": 2, "v": size})

    yield entry("totals, sum from −100 to 10", Sum("v", -100, 10), 112, (0, 0))
    yield entry("totals, mixture", Mixture("v"), STEPS + 2, (0, STEPS))


def _choice(name: str, criterion: Criterion) -> Audited:
    def scores(rows: CodedRows) -> Vector:
        table = columns(rows, SIZES)
        found = [criterion.scores(table.counts((split.attribute, "class")).reshape(1, 2, 2))[0] for split in SPLITS]
        return np.array(found) / criterion.unit

    def pairs(relation: Neighbours) -> list[Pair]:
        known = [Pair(what, rows, moved) for rows in _STARTS for what, moved in neighbours_of(rows, relation, SIZES)]
        return most_telling(known, scores)

    def ask(records: Records, budget: Budget) -> Vector:
        return np.transpose(records.choose_each(SPLITS, criterion, budget, label="class"))

    return _entry(f"choose_each, {name}", ask, pairs)


def _choices_by_group() -> Audited:
    """A record that leaves its group moves the scores of two groups at once."""

    def ask(records: Records, budget: Budget) -> Vector:
        return np.transpose(records.choose_each(SPLITS, Majority(), budget, label="class", by="group"))

    rows = tuple((group, 0, 0, 0) for group in (0, 1)) + tuple((group, 0, 1, 1) for group in (0, 1))
    tie = ((0, 0, 0, 0), (0, 1, 0, 1), (1, 0, 0, 0))  # in both groups, before the record leaves one for the other
    pairs = by_relation(
        [Pair("one record more in a group", rows[:3], rows)],
        [Pair("a record leaves its group", (*tie, (0, 0, 1, 1)), (*tie, (1, 1, 0, 1)))],
    )
    return _entry("choose_each by group", ask, pairs, {"group": 2, **SIZES})


def gaps() -> list[MarginalGap]:
    """Histograms whose estimates a record may come nearer to in one and go away from in the other."""
    return [MarginalGap(("a",), np.array([9.0, 0.0]), 3), MarginalGap(("b", "class"), np.array([0.0, 2.5, 0.0, 0.0]), 2)]


def _choice_of_a_marginal() -> Audited:
    def scores(rows: CodedRows) -> Vector:
        table = columns(rows, SIZES)
        return np.array([gap.score(table.counts(gap.names)) for gap in gaps()]) / GAP_GRAIN

    def pairs(relation: Neighbours) -> list[Pair]:
        known = [Pair(what, rows, moved) for rows in _STARTS for what, moved in neighbours_of(rows, relation, SIZES)]
        return most_telling(known, scores)

    def ask(records: Records, budget: Budget) -> Vector:
        return np.atleast_1d(records.choose_marginal(gaps(), budget))[:, np.newaxis]

    return _entry("choose_marginal", ask, pairs)


SELECTION_DELTA = 0.01
"""A δ that samples can tell from 0."""


@dataclass(frozen=True)
class KeysOfEqualSize:
    """Records with a number of keys, each of which has as many people, who have no other key."""

    people: int
    keys: int
    sizes: Mapping[str, int] = field(default_factory=dict)
    filtered: bool = False

    def contribution(self, by: Sequence[str]) -> Contribution:
        return Contribution(1, 1, 1, persons=True)

    def keyed_sums(self, by: Sequence[str], points: Mapping[str, int], *, squares: bool) -> tuple[Any, CellSums]:
        each = np.full(self.keys, self.people, dtype=object)
        return [(key,) for key in range(self.keys)], CellSums(each, each)


def _selections() -> Iterator[Audited]:
    """Keys are drawn independently, and those of other people do not change: so each key is a run on its own copy."""

    def named(records: Any, token: Budget) -> tuple[Any, Any]:
        return records.select_keys(["key"], WeightedTotals([RecordCount()], [1]), token)[0], 1.0

    def entry(operator: str, select: Callable[[Any, Budget], tuple[Any, Any]]) -> Audited:
        def sampled(records: Any, epsilon: Fraction, samples: int) -> Vector:
            keys, shown = select(records, records.grant(epsilon, delta=SELECTION_DELTA))
            found = np.zeros((samples, 1))
            found[[key for (key,) in keys], 0] = shown
            return found

        def run(side: int, epsilon: Fraction, neighbours: Neighbours, samples: int, seed: int) -> Vector:
            keys: Any = KeysOfEqualSize(side, samples)
            return sampled(SimulatedRecords(keys, seed=seed, neighbours=neighbours), epsilon, samples)

        def exact(side: int, epsilon: Fraction, neighbours: Neighbours, samples: int, seed: int) -> Vector:
            keys: Any = KeysOfEqualSize(side, samples)
            return sampled(ReleaseRecords(keys, purse=FreePurse(neighbours)), epsilon, samples)

        pairs = [Pair(f"one more than {people} people", people, people + 1) for people in (0, 2, 4, 8)]
        return Audited(
            name=f"records: {operator}",
            family="operator",
            pairs=by_relation(pairs, pairs),
            run=run,
            exact=exact,
            delta=SELECTION_DELTA,
            unknown="how many people are hardest depends on ε and δ, and under replace two keys change",
            in_rho=False,
        )

    yield entry("select_keys", named)
    yield entry("count_keys", lambda records, token: records.count_keys(["key"], token))


COPIES = 16
"""Values of the attribute that a loss is minimised over: one call makes this many runs."""


def _minimisers() -> Iterator[Audited]:
    """A small ridge, and one coefficient per value, each with a copy of the same records.

    A record's loss depends only on the coefficient of its own value, and every coefficient has a random pull, and hiding
    noise, of its own. So the coefficients are independent, but for where the search ends, which is certified to be nearer to
    the minimum than what the hiding noise is for: each is a run on its own copy.
    """
    many: CodedRows = ((0, 0),) * 3
    pairs = by_relation([Pair("the first of a class", many, (*many, (0, 1)))], [Pair("another class", ((0, 0),), ((0, 1),))])
    unknown = "the bound on the Jacobian holds for all data, and no data are known that meet it"

    def entry(name: str, classes: int, ridge: float) -> Audited:
        objective = Additive("class", {"a": np.eye(COPIES)}, ridge=ridge)

        def copied(side: CodedRows) -> ArrayColumns:
            copies = tuple((copy, label) for copy in range(COPIES) for _, label in side)
            return columns(copies, {"a": COPIES, "class": classes})

        def sampled(records: SimulatedRecords | ReleaseRecords, epsilon: Fraction, samples: int) -> Vector:
            calls = range(-(-samples // COPIES))
            found = [np.transpose(records.minimise(objective, records.grant(epsilon))) for _ in calls]
            return np.concatenate(found)[:samples]

        def run(side: CodedRows, epsilon: Fraction, neighbours: Neighbours, samples: int, seed: int) -> Vector:
            return sampled(SimulatedRecords(copied(side), seed=seed, neighbours=neighbours), epsilon, samples)

        def exact(side: CodedRows, epsilon: Fraction, neighbours: Neighbours, samples: int, seed: int) -> Vector:
            return sampled(ReleaseRecords(copied(side), purse=FreePurse(neighbours)), epsilon, samples)

        return Audited(name=name, family="operator", pairs=pairs, unknown=unknown, run=run, exact=exact)

    yield entry("records: minimise", 2, 1 / 16)
    yield entry("records: minimise, three classes", 3, 8.0)


def moved_records(one: Sequence[Any], other: Sequence[Any]) -> tuple[int, int]:
    """How many records are only in the first input, and how many only in the second.

    >>> moved_records(((0, 1), (0, 1)), ((0, 1), (1, 1)))
    (1, 1)
    """
    first, second = Counter(one), Counter(other)
    return (first - second).total(), (second - first).total()
