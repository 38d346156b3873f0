"""Counts, sums, means and variances of groups that were paid for before.

Each total that a question measures is looked up by itself. What is remembered with noise that is small enough is read as it
was released; the rest is bought, with the shares of the price that it would have had. A mixture (`Mixture` of the kernel) is
a histogram with one more column: a row is in part in the cell of its number and in part in that of the rest. So the rows of
a group follow from the mixtures of any of its columns.

Privacy: what is bought is one `totals` of the kernel, charged as any other. Its price follows from public numbers.
"""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from jostle.answers.combined_totals import CombinedTotals
from jostle.answers.recalled import Reused
from jostle.kernel.budget import Price
from jostle.kernel.functions.totals import CellTotal, Mixture, NoisyTotals, RecordCount, Sum, WeightedTotals
from jostle.kernel.partition import Vector
from jostle.kernel.source import AddedNoise
from jostle.schema import Numeric
from jostle.tables.columns import EngineColumns
from jostle.tables.lattices import NumberLattice, Presence
from jostle.tables.memory.asking import FRESH
from jostle.tables.memory.bodies import Remembered
from jostle.tables.memory.buying import left_in
from jostle.tables.memory.frames import Frame, frame_of
from jostle.tables.memory.memory import Memory, number_by_number, together
from jostle.tables.memory.moments import Asked, Completed, completed, mixture_form, sum_form
from jostle.tables.memory.states import LEFT_OUT, KnownRows, StateColumn, digest, known_rows
from jostle.tables.memory.store import NOT_USED, MemoryFault, unused
from jostle.tables.memory.widened import WideRows, widened

if TYPE_CHECKING:
    from jostle.tables.groups import GroupsQuestion
    from jostle.tables.view import View

Axis = tuple[StateColumn, int]


@dataclass(frozen=True)
class TotalsPlace:
    """Where a question about groups is among what is remembered."""

    memory: Memory
    rows: str
    view: View
    known: KnownRows

    def frame(self, question: GroupsQuestion, total: CellTotal, wide: WideRows | None = None) -> Frame:
        """The cells of the groups, and of the numbers of a total."""
        known = self.known if wide is None else wide.known
        groups = [(known.columns[name], question.table.schema[name].size) for name in question.groups]
        axes: list[Axis] = [*groups, *_numbers_of(question, total, known)]
        return frame_of(known, axes) if wide is None else wide.frame(*axes)


def totals_place(question: GroupsQuestion) -> TotalsPlace | None:
    """None if nothing is remembered of the table, or if it is not certain what the question is about."""
    memory, columns = question.table._budget.memory, question._columns
    rows = None if memory is None else memory.rows_of(columns.views)
    listed = columns.keeping or columns.leaves_out or columns.among or columns.only
    if memory is None or rows is None or listed or any(one.total.of_persons for one in question._measured):
        return None
    [view] = columns.views
    if view.unit is not None:  # a person's groups may be bounded, too: only the same question is about the same rows
        rows = digest("groups", rows, list(question.groups), sorted(columns.numbers), columns.rows_without_numbers)
    return TotalsPlace(memory, rows, view, known_rows(view))


def _numbers_of(question: GroupsQuestion, total: CellTotal, known: KnownRows) -> list[Axis]:
    """The column of a total's numbers: its states are the polynomials, and rows without a number."""
    if isinstance(total, RecordCount):
        return []
    if not isinstance(total, (Mixture, Sum)):
        raise TypeError("a total that is not known")
    root = _number_root(known.columns[total.attribute], question._numbers[total.attribute], total)
    if isinstance(total, Sum):  # no count follows from a sum: its second state stands for that, and is always left out
        return [(StateColumn(root, root, np.array([0, LEFT_OUT]), None), 1)]
    rest = total.degree + 1 if total.rest else LEFT_OUT
    cells = np.array([*range(total.degree + 1), rest])
    return [(StateColumn(root, root, cells, None), total.degree + 1 + total.rest)]


def _number_root(column: StateColumn, lattice: NumberLattice | Presence, total: Mixture | Sum) -> str:
    """What tells the numbers of a total from those of others: by the column, its bounds, and how they are rounded."""
    declared = {key: str(value) for key, value in lattice.declared.to_dict().items()}
    said: list[Any] = [column.key, column.root, declared]
    if isinstance(lattice, NumberLattice):
        said += [lattice.points, repr(lattice.rate), repr(lattice.start), lattice.first]
    return digest("sum", said, total.low, total.high) if isinstance(total, Sum) else digest("mixture", total.degree, said)


def _forms(question: GroupsQuestion, name: str, known: KnownRows) -> dict[str, Vector]:
    """Every form in which numbers of a column are measured, by what tells it from others."""
    column, declared = known.columns[name], question.table.schema[name]
    found = {_number_root(column, Presence(name, declared), Mixture(name, 0)): mixture_form(0)}
    if isinstance(declared, Numeric):
        fine, coarse = NumberLattice.between_bounds(name, declared), NumberLattice.of_sums(name, declared)
        found |= {_number_root(column, fine, Mixture(name, degree)): mixture_form(degree) for degree in (1, 2)}
        low, width = question._range(name)
        found[_number_root(column, coarse, coarse.sum)] = sum_form(low, width, coarse.rate)
    return found


# ------------------------------------------------------------------------------------------------------------- recalling


@dataclass(frozen=True)
class ToBuy:
    """What a question's numbers are made of: which are remembered, which are bought, and for how much."""

    place: TotalsPlace
    wide: WideRows | None
    found: dict[int, NoisyTotals]
    together: dict[int, Completed]
    missing: dict[int, Price]

    @property
    def amount(self) -> Fraction:
        """What would be charged."""
        return sum((one.amount for one in self.missing.values()), Fraction(0))


def to_buy(question: GroupsQuestion, price: Price) -> ToBuy | None:
    """What is missing at this price, before anything is charged; None if nothing can be remembered."""
    if FRESH.get():
        return None
    try:
        place = totals_place(question)
        found = {} if place is None else _recalled(question, place, price)
        wide = None if place is None else _wide(question, place, price)
    except NOT_USED as failure:  # nothing is charged yet: ask anew
        unused(failure)
        return None
    if place is None:
        return None
    shares = question._weighted(price.measure).shares
    prices = {number: price.times(Fraction(share)) for number, share in enumerate(shares) if number not in found}
    together = _completed(question, place, wide, prices)
    bought = {number: together[number].price if number in together else whole for number, whole in prices.items()}
    missing = {number: one for number, one in bought.items() if one is not None}
    return ToBuy(place, wide, found, together, missing)


def measured_totals(
    question: GroupsQuestion, price: Price
) -> tuple[list[NoisyTotals | CombinedTotals], dict[str, Any]] | None:
    """The noisy numbers of all totals, from before or bought now, and what was paid; None if nothing can be remembered."""
    plan = to_buy(question, price)
    if plan is None:
        return None
    paid = _nothing_paid(question, price)
    new: dict[int, tuple[NoisyTotals, Remembered]] = {}
    if plan.missing:
        new, paid = _bought(question, plan.place, plan.wide, plan.missing)
    read: dict[int, NoisyTotals | CombinedTotals] = {**plan.found, **{number: one for number, (one, _) in new.items()}}
    for number, one in plan.together.items():
        if number not in new:
            read[number] = one.found
            continue
        try:
            read[number] = one.with_new(new[number][1]) or new[number][0]
        except Exception as failure:  # noqa: BLE001  # it is paid for, whatever goes wrong here
            warnings.warn(f"What is remembered could not be used: {failure}", MemoryFault, stacklevel=2)
    saved = price.amount - plan.amount
    if saved:
        plan.place.memory.note_saving(price.measure, saved, free=not plan.missing)
        words = "All of it was released before." if not plan.missing else "Some of the numbers were released before."
        paid |= {"reused": (str(Reused(words, saved, price.measure)),)}
    return [read[number] for number in range(len(question._measured))], paid


def _completed(
    question: GroupsQuestion, place: TotalsPlace, wide: WideRows | None, prices: Mapping[int, Price]
) -> dict[int, Completed]:
    """The totals that are made of what several releases say, with what is bought for them."""
    found: dict[int, Completed] = {}
    if place.memory.store is None or place.view.unit is not None:  # each draw is of other rows
        return found
    try:
        groups = [(place.known.columns[name], question.table.schema[name].size) for name in question.groups]
        frame = frame_of(place.known, groups)
        remembered = place.memory.measurements(place.rows, frame)
        for number, price in prices.items() if remembered else ():
            one = question._measured[number]
            name = next((each.column for each in one.aggregates.values() if each.column), None)
            numeric = name is not None and isinstance(question.table.schema[name], Numeric)
            between = question._range(name) if name is not None and numeric else (0.0, 1.0)
            asked = Asked.of(frame, one, between, {} if name is None else _forms(question, name, place.known))
            made = (
                None
                if asked is None
                else completed(asked, remembered, price, partial(_planned, question, place, wide, one.total))
            )
            if made is not None:
                found[number] = made
    except NOT_USED as failure:  # nothing is charged yet
        unused(failure)
        return {}
    return found


def _planned(
    question: GroupsQuestion, place: TotalsPlace, wide: WideRows | None, total: CellTotal, price: Price
) -> Remembered:
    """A total as it would be measured at a price, without numbers."""
    frame = place.frame(question, total, wide)
    [noise] = question._noises_of(WeightedTotals([total], [1]), price)
    zeros = np.zeros(frame.size, dtype=np.int64)
    return Remembered(place.rows, frame, zeros, total.unit, noise.kind, noise.amount)


def _recalled(question: GroupsQuestion, place: TotalsPlace, price: Price) -> dict[int, NoisyTotals]:
    """The totals that are remembered with no more noise than they would have, number by number as they were released."""
    if place.memory.store is None:
        return {}
    found = {}
    for number, (one, noise) in enumerate(zip(question._measured, question._noises(price), strict=True)):
        frame = place.frame(question, one.total)
        for remembered in place.memory.measurements(place.rows, frame):
            alike = (remembered.noise, remembered.unit) == (noise.kind, one.total.unit)
            if alike and remembered.amount <= noise.amount:
                values = _number_by_number(frame, remembered, drawn=place.view.unit is not None)
                if values is not None:
                    law = AddedNoise(noise.kind, remembered.amount).law(one.total.unit)
                    found[number] = NoisyTotals(values.reshape(question._size, -1), *law)
                    break
    return found


def _number_by_number(frame: Frame, remembered: Remembered, *, drawn: bool) -> Any:
    """The numbers of a frame, if each of them is one of the remembered numbers."""
    read = together(frame, [remembered], drawn=drawn)
    return None if read is None or not number_by_number(read.found) else read.found.estimates


# ---------------------------------------------------------------------------------------------------------------- buying


def _wide(question: GroupsQuestion, place: TotalsPlace, price: Price) -> WideRows | None:
    """The rows with cells for what conditions leave out, if the noise is the same, and every number is still one number."""
    numbers = sum(place.frame(question, one.total).size for one in question._measured)
    wide = widened(place.view, question.groups, numbers)
    if wide is None:
        return None
    columns = _wide_columns(question, wide)
    by = (*wide.labels, *question.groups)
    cells = int(np.prod([columns.sizes[name] for name in by]))
    relation = question.table.neighbours.among_filtered() if columns.filtered else question.table.neighbours
    totals = question._weighted(price.measure)
    if totals.noises(cells, relation, columns.contribution(by), price) != question._noises(price):
        return None
    for one in question._measured:
        asked = place.frame(question, one.total)
        if _number_by_number(asked, _planned(question, place, wide, one.total, price), drawn=False) is None:
            return None
    return wide


def _wide_columns(question: GroupsQuestion, wide: WideRows) -> EngineColumns:
    mine = question._columns
    return replace(wide.columns, numbers=mine.numbers, rows_without_numbers=mine.rows_without_numbers)


def _bought(
    question: GroupsQuestion, place: TotalsPlace, wide: WideRows | None, prices: Mapping[int, Price]
) -> tuple[dict[int, tuple[NoisyTotals, Remembered]], dict[str, Any]]:
    """Measure some of the totals, each at its price, keep what was released, and read what was asked for."""
    source = question.table._budget
    whole = Price(sum((one.amount for one in prices.values()), Fraction(0)), next(iter(prices.values())).measure)
    columns = question._columns if wide is None else _wide_columns(question, wide)
    by = question._by if wide is None else (*wide.labels, *question.groups)
    totals, columns = _with_rest(question, place, columns, by, prices, whole)
    weighted = WeightedTotals(totals, [one.amount for one in prices.values()])
    columns = replace(columns, numbers={name: one for name, one in columns.numbers.items() if name in weighted.points})
    columns.check_sums(by, squares=any(one.squares for one in totals), persons=False)
    cells = _cells_by(columns, by)
    frames = [place.frame(question, total, wide) for total in totals]
    asked = [place.frame(question, question._measured[number].total) for number in prices]
    records, budget = source.records(columns, whole, note=question.what)
    noises = weighted.noises(cells, records.neighbours, columns.contribution(by), budget.price)
    noisy = records.totals(by, weighted, budget)
    draw = uuid.uuid4().hex[:12] if place.view.unit is not None else ""
    said = {"draw": draw, "what": question.what, "price": str(whole)}
    kept, answers = [], {}
    for place_of, (number, numbers) in enumerate(zip(prices, noisy, strict=True)):
        total, noise, frame = totals[place_of], noises[place_of], frames[place_of]
        released = np.rint(numbers.values * total.unit).astype(np.int64).reshape(-1)
        one = Remembered(place.rows, frame, released, total.unit, noise.kind, noise.amount, **said)
        kept.append(one)
        if wide is not None:  # which was tried with noise of this law before the charge
            read = _number_by_number(asked[place_of], one, drawn=False)
            numbers = numbers._replace(values=np.asarray(read).reshape(question._size, -1))
        answers[number] = numbers, one
    place.memory.keep(kept)
    return answers, question._paid(budget) | {"neighbours": records.neighbours}


def _with_rest(
    question: GroupsQuestion,
    place: TotalsPlace,
    columns: EngineColumns,
    by: Sequence[str],
    prices: Mapping[int, Price],
    whole: Price,
) -> tuple[list[CellTotal], EngineColumns]:
    """The totals, each with the rows that have no number, if that makes no difference to any noise.

    A row counts in part in the cells of its number, or else among the rest. So the rest costs nothing, and the rows of each
    group follow later. Where persons' rows are drawn, they would be drawn from others.
    """
    totals = [question._measured[number].total for number in prices]
    more = [replace(one, rest=True) if isinstance(one, Mixture) else one for one in totals]
    if more == totals or place.view.unit is not None:
        return totals, columns
    every = replace(columns, rows_without_numbers=True)
    noises = []
    for listed, counted in ((totals, columns), (more, every)):
        relation = question.table.neighbours.among_filtered() if counted.filtered else question.table.neighbours
        shared = WeightedTotals(listed, [one.amount for one in prices.values()])
        noises.append(shared.noises(_cells_by(counted, by), relation, counted.contribution(by), whole))
    return (more, every) if noises[0] == noises[1] else (totals, columns)


def _cells_by(columns: EngineColumns, by: Sequence[str]) -> int:
    return int(np.prod([columns.sizes[name] for name in by], dtype=object)) if by else 1


def _nothing_paid(question: GroupsQuestion, price: Price) -> dict[str, Any]:
    budget = question.table._budget
    relation = question.table.neighbours.among_filtered() if question._columns.filtered else question.table.neighbours
    paid = {"spent": Fraction(0), "remaining": budget.remaining, "charges": (), "neighbours": relation}
    return paid | {"measure": price.measure, "left_in": left_in(budget)}
