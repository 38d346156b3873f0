"""Conditions become columns: rows that a condition leaves out are counted in cells of their own, at the same price.

A row is in one cell, so a histogram costs what one of its cells costs, with the same noise on each. Whoever asks for the
rows of one ward pays for all wards. So all are measured, what was asked for is answered, and the next ward is free.

Privacy: one measurement of counts with the sensitivity of a histogram. It is made only if its noise is that of the question.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import ibis.expr.operations as ops
import numpy as np

from jostle.kernel.partition import Counts
from jostle.schema import Boolean, Category, Column, Date, Integer, Schema
from jostle.tables.cells.cells import MOST_BRANCHES, runs
from jostle.tables.cells.staged_columns import RESERVED
from jostle.tables.columns import EngineColumns
from jostle.tables.memory.frames import Frame, frame_of
from jostle.tables.memory.states import (
    KnownRows,
    StateColumn,
    condition_states,
    conjuncts,
    declared_column,
    derived_column,
    known_rows,
)
from jostle.tables.view import Derive, Step, View, Where

LARGEST = 2**13
"""At most this many cells are measured where fewer were asked for: exact noise takes some microseconds each."""

FEW_TIMES = 512
"""And at most this many times as many."""

COPY, LABEL = f"{RESERVED}copy_", f"{RESERVED}label_"


@dataclass(frozen=True)
class Absorbed:
    """A column that conditions are about, with a label for each of its values: 0 for those that the conditions keep."""

    name: str
    copy: Derive
    labels: Counts
    """Per cell of the copy."""

    seen: StateColumn
    """The labels, state by state."""

    @property
    def size(self) -> int:
        return int(self.labels.max()) + 1


@dataclass(frozen=True)
class WideRows:
    """Rows without some conditions, and a column per absorbed one that says which of its values a row has."""

    columns: EngineColumns
    """Some columns to count by, and the labels."""

    labels: tuple[str, ...]
    known: KnownRows
    axes: tuple[tuple[StateColumn, int], ...]
    """Of the labels."""

    def frame(self, *more: tuple[StateColumn, int]) -> Frame:
        """The cells by the labels, and then by more columns."""
        return frame_of(self.known, [*self.axes, *more])


def widened(view: View, names: Sequence[str], cells: int) -> WideRows | None:
    """The rows of a view by some columns, with cells also for rows that its conditions leave out.

    None if there are no such conditions, or too many cells. `cells` is the number of those that are asked for.
    """
    if known_unit(view) is not None:  # a person's rows are drawn from all that count: with others, others would be drawn
        return None
    known = known_rows(view)
    taken = {known.columns[name].root for name in names}
    room = min(LARGEST, FEW_TIMES * cells) // max(cells, 1)
    absorbed: dict[str, Absorbed] = {}
    for one in sorted(_candidates(view, taken), key=lambda each: each.size):
        if one.size * math.prod(other.size for other in absorbed.values()) <= room:
            absorbed[one.seen.root] = one
    if not absorbed:
        return None
    wide = _without_conditions(view, absorbed)
    columns = EngineColumns.of([wide], [*names, *(one.copy.name for one in absorbed.values())])
    for number, one in enumerate(absorbed.values()):
        columns = columns.with_table(f"{LABEL}{number}", (one.copy.name,), one.labels)
    labels = tuple(f"{LABEL}{number}" for number in range(len(absorbed)))
    return WideRows(columns, labels, known_rows(wide), tuple((one.seen, one.size) for one in absorbed.values()))


def known_unit(view: View) -> Any:
    """Whose rows are bounded when they are counted, if anybody's are."""
    return view.unit


def _candidates(view: View, taken: set[str]) -> list[Absorbed]:
    """The declared columns that conditions are about and cells are not."""
    found = []
    kept = _conditions(view)
    for number, (name, column) in enumerate(view.declared.items()):
        seen = declared_column(name, column)
        if seen.root in kept and seen.root not in taken:
            one = _absorbed(number, name, column, seen, kept[seen.root], view)
            found += [] if one is None else [one]
    return found


def _absorbed(number: int, name: str, column: Column, seen: StateColumn, kept: Any, view: View) -> Absorbed | None:
    every = _every_value(column)
    if every is None:
        return None
    form = view.selecting(view.declared).form
    copy = Derive(f"{COPY}{number}", every, form[name].op())
    copied = derived_column(copy, {name: seen})
    if copied.root != seen.root:
        return None
    labels = np.full(every.size, -1, dtype=np.int64)
    others: dict[int, int] = {}
    for cell, keeps, declared in zip(copied.cells.tolist(), kept.tolist(), seen.cells.tolist(), strict=True):
        label = 0 if keeps else others.setdefault(declared, len(others) + 1)
        if labels[cell] not in (-1, label) and (labels[cell] == 0 or label == 0):
            return None  # the conditions tell values apart that are in one cell of the copy
        labels[cell] = label if labels[cell] == -1 else labels[cell]
    labels[labels == -1] = 0  # cells without any value
    if runs(labels) > MOST_BRANCHES or not kept.any() or kept.all():
        return None
    return Absorbed(name, copy, labels, replace(copied, cells=labels[copied.cells]))


def _every_value(column: Column) -> Column | None:
    """The same values, each with a cell of its own, and no row without a cell."""
    if isinstance(column, Category):
        return replace(column, outside="own", null="own", missing=())
    if isinstance(column, Boolean):
        return Boolean(outside="own", null="own")
    if isinstance(column, Integer) and column.high - column.low < MOST_BRANCHES:
        return Integer(column.low, column.high, outside="clip", null="own")
    if isinstance(column, Date) and (column.high - column.low).days < MOST_BRANCHES:
        return Date(column.low, column.high, every="day", outside="clip", null="own")
    return None


def _conditions(view: View) -> dict[str, Any]:
    """Per root, the states that conditions keep: of conditions only, not of other steps."""
    only = replace(view, steps=tuple(step for step in view.steps if isinstance(step, (Where, Derive))))
    return dict(known_rows(only).kept)


def _without_conditions(view: View, absorbed: Mapping[str, Absorbed]) -> View:
    """The view with copies of some columns first, and without the conditions on them."""
    steps: list[Step] = [one.copy for one in absorbed.values()]
    columns = {name: declared_column(name, column) for name, column in view.declared.items()}
    for step in view.steps:
        if isinstance(step, Derive):
            columns[step.name] = derived_column(step, columns)
        if not isinstance(step, Where):
            steps.append(step)
            continue
        parts = [part for part in conjuncts(step.condition) if condition_states(part, columns)[0] not in absorbed]
        if parts:
            steps.append(Where(reduce(lambda one, other: ops.And(one, other), parts)))
    schema = Schema(dict(view.schema) | {one.copy.name: one.copy.column for one in absorbed.values()})
    return replace(view, schema=schema, steps=tuple(steps))
