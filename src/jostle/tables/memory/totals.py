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
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from jostle.answers.recalled import Reused
from jostle.kernel.budget import Price
from jostle.kernel.errors import JostleError
from jostle.kernel.functions.totals import CellTotal, Mixture, NoisyTotals, RecordCount, Sum, WeightedTotals
from jostle.kernel.source import AddedNoise
from jostle.tables.columns import EngineColumns
from jostle.tables.lattices import NumberLattice
from jostle.tables.memory.asking import FRESH
from jostle.tables.memory.bodies import Remembered
from jostle.tables.memory.buying import left_in
from jostle.tables.memory.frames import Frame, frame_of
from jostle.tables.memory.memory import Memory, together
from jostle.tables.memory.states import LEFT_OUT, KnownRows, StateColumn, digest, known_rows
from jostle.tables.memory.store import MemoryFault
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
    column, lattice = known.columns[total.attribute], question._numbers[total.attribute]
    declared = {key: str(value) for key, value in lattice.declared.to_dict().items()}
    said: list[Any] = [column.key, column.root, declared]
    if isinstance(lattice, NumberLattice):
        said += [lattice.points, repr(lattice.rate), repr(lattice.start), lattice.first]
    if isinstance(total, Sum):  # no count follows from a sum: its second state stands for that, and is always left out
        root = digest("sum", said, total.low, total.high)
        return [(StateColumn(root, root, np.array([0, LEFT_OUT]), None), 1)]
    root = digest("mixture", total.degree, said)
    rest = total.degree + 1 if total.rest else LEFT_OUT
    cells = np.array([*range(total.degree + 1), rest])
    return [(StateColumn(root, root, cells, None), total.degree + 1 + total.rest)]


# ------------------------------------------------------------------------------------------------------------- recalling


def measured_totals(question: GroupsQuestion, price: Price) -> tuple[list[NoisyTotals], dict[str, Any]] | None:
    """The noisy numbers of all totals, from before or bought now, and what was paid; None if nothing can be remembered."""
    if FRESH.get():
        return None
    try:
        place = totals_place(question)
        found = {} if place is None else _recalled(question, place, price)
        wide = None if place is None else _wide(question, place, price)
    except (JostleError, ArithmeticError, LookupError, TypeError, ValueError) as failure:  # nothing is charged yet: ask anew
        warnings.warn(f"What is remembered could not be used: {failure}", MemoryFault, stacklevel=2)
        return None
    if place is None:
        return None
    missing = [number for number in range(len(question._measured)) if number not in found]
    shares = question._weighted(price.measure).shares
    part = sum((Fraction(shares[number]) for number in missing), Fraction(0))
    paid = _nothing_paid(question, price)
    if missing:
        bought, paid = _bought(question, place, wide, missing, price.times(part))
        found |= dict(zip(missing, bought, strict=True))
    saved = price.amount * (1 - part)
    if saved:
        place.memory.note_saving(price.measure, saved, free=not missing)
        words = "All of it was released before." if not missing else "Some of the numbers were released before."
        paid |= {"reused": (str(Reused(words, saved, price.measure)),)}
    return [found[number] for number in range(len(question._measured))], paid


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
    if read is None:
        return None
    [(_, weights)] = read.found.used
    once = bool((abs(weights).sum(axis=1) == 1).all() and (weights.sum(axis=1) == 1).all())
    return read.found.estimates if once and read.found.used[0][0].summed == 1 else None


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
        asked, measured = place.frame(question, one.total), place.frame(question, one.total, wide)
        empty = Remembered("", measured, np.zeros(measured.size, dtype=np.int64), 1, "laplace", Fraction(10))
        if _number_by_number(asked, empty, drawn=False) is None:
            return None
    return wide


def _wide_columns(question: GroupsQuestion, wide: WideRows) -> EngineColumns:
    mine = question._columns
    return replace(wide.columns, numbers=mine.numbers, rows_without_numbers=mine.rows_without_numbers)


def _bought(
    question: GroupsQuestion, place: TotalsPlace, wide: WideRows | None, missing: Sequence[int], price: Price
) -> tuple[list[NoisyTotals], dict[str, Any]]:
    """Measure some of the totals, keep what was released, and read what was asked for."""
    source = question.table._budget
    totals = [question._measured[number].total for number in missing]
    weighted = WeightedTotals(totals, [question._weighted(price.measure).shares[number] for number in missing])
    columns = question._columns if wide is None else _wide_columns(question, wide)
    columns = replace(columns, numbers={name: one for name, one in columns.numbers.items() if name in weighted.points})
    by = question._by if wide is None else (*wide.labels, *question.groups)
    columns.check_sums(by, squares=any(one.squares for one in totals), persons=False)
    records, budget = source.records(columns, price, note=question.what)
    cells = int(np.prod([columns.sizes[name] for name in by], dtype=object)) if by else 1
    noises = weighted.noises(cells, records.neighbours, columns.contribution(by), budget.price)
    noisy = records.totals(by, weighted, budget)
    draw = uuid.uuid4().hex[:12] if place.view.unit is not None else ""
    kept, answers = [], []
    for total, numbers, noise in zip(totals, noisy, noises, strict=True):
        frame = place.frame(question, total, wide)
        whole = np.rint(numbers.values * total.unit).astype(np.int64).reshape(-1)
        said = {"draw": draw, "what": question.what, "price": str(price)}
        one = Remembered(place.rows, frame, whole, total.unit, noise.kind, noise.amount, **said)
        kept.append(one)
        read = numbers.values if wide is None else _number_by_number(place.frame(question, total), one, drawn=False)
        answers.append(numbers._replace(values=np.asarray(read).reshape(question._size, -1)))
    place.memory.keep(kept)
    return answers, question._paid(budget) | {"neighbours": records.neighbours}


def _nothing_paid(question: GroupsQuestion, price: Price) -> dict[str, Any]:
    budget = question.table._budget
    relation = question.table.neighbours.among_filtered() if question._columns.filtered else question.table.neighbours
    paid = {"spent": Fraction(0), "remaining": budget.remaining, "charges": (), "neighbours": relation}
    return paid | {"measure": price.measure, "left_in": left_in(budget)}
