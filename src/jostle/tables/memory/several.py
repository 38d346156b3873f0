"""Histograms over several sets of columns: asked again they are as they were, and others follow from what was measured.

Privacy: nothing here touches a row. What is kept was released, as it was; what counts is rows that have a cell in all of the
columns, and that is a part of every frame.
"""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from jostle.answers.recalled import Reused
from jostle.kernel.budget import Price
from jostle.kernel.partition import Vector
from jostle.kernel.source import ReleaseSource
from jostle.kernel.strategies import Identity
from jostle.tables.memory.asking import CONSISTENT, FRESH
from jostle.tables.memory.bodies import Remembered
from jostle.tables.memory.buying import left_in
from jostle.tables.memory.frames import Frame, frame_of
from jostle.tables.memory.memory import Memory
from jostle.tables.memory.states import digest, known_rows
from jostle.tables.memory.store import NOT_USED, MemoryFault, unused

if TYPE_CHECKING:
    from jostle.tables.marginals import MarginalsQuestion
    from jostle.tables.question import Measurement

Axes: TypeAlias = tuple[str, ...]
Histograms: TypeAlias = dict[Axes, tuple[Vector, float, float]]
"""By its columns: its cells, the margin of each, and the variance."""


@dataclass(frozen=True)
class SeveralPlaces:
    """Where histograms over several sets of columns are among what is remembered."""

    memory: Memory
    rows: str
    frames: Mapping[Axes, Frame]
    topic: str
    drawn: bool


def places_of(question: MarginalsQuestion) -> SeveralPlaces | None:
    """None if nothing is remembered of the table, or if it is not certain which rows the question is about."""
    memory, views = question.table._budget.memory, question.table._views
    rows = None if memory is None else memory.rows_of(views)
    if memory is None or rows is None:
        return None
    [view] = views
    for name in dict.fromkeys(name for axes in question.sets for name in axes):
        view = view.having(name)
    known, schema = known_rows(view), question.table.schema
    frames = {axes: frame_of(known, [(known.columns[name], schema[name].size) for name in axes]) for axes in question.sets}
    weights = None if question.weights is None else [repr(question.weights[axes]) for axes in question.sets]
    listed = [[frames[axes].key, list(question._shape(axes))] for axes in question.sets]
    about = digest("marginals", listed, weights, question.least)
    return SeveralPlaces(memory, rows, frames, f"a:{rows}:{about}", view.unit is not None)


def as_before(question: MarginalsQuestion, price: Price) -> tuple[Histograms, dict[str, Any]] | None:
    """The same histograms, if they were paid for with at least as much, and what is paid for them now: nothing."""
    if FRESH.get() or CONSISTENT.get():
        return None
    try:
        places = places_of(question)
        found = None if places is None else places.memory.answer(f"{places.topic}:{price.measure}", price.amount)
        if places is None or found is None:
            return None
        said, arrays, kept = found
        tables: Histograms = {}
        for place, axes in enumerate(question.sets):
            off, variance = arrays[f"noise {place}"].tolist()
            tables[axes] = arrays[f"cells {place}"].reshape(question._shape(axes)), off, variance
    except NOT_USED as failure:  # nothing is charged yet
        unused(failure)
        return None
    places.memory.note_saving(price.measure, price.amount, free=True)
    paid, when = Price(Fraction(said["amount"]), price.measure), kept.at.replace("T", " ")[:16]
    words = f"The same question was answered on {when} UTC for {paid}. It costs nothing again."
    budget = question.table._budget
    nothing = {"spent": Fraction(0), "remaining": budget.remaining, "measure": price.measure, "left_in": left_in(budget)}
    reused = (str(Reused(words, price.amount, price.measure)),)
    return tables, nothing | {"neighbours": question.table.neighbours, "charges": (), "reused": reused}


def remember(question: MarginalsQuestion, tables: Histograms, seen: Sequence[Measurement], price: Price) -> None:
    """Keep the histograms as they were released, and what was measured for them. What goes wrong is a warning."""
    try:
        places = places_of(question)
        if places is None:
            return
        # All prices are fixed before the first of them is measured, so none has decided about another.
        measured = [one for one in seen if isinstance(one.source, ReleaseSource)]
        plain = len(measured) == len(places.frames) and all(isinstance(one.strategy, Identity) for one in measured)
        draw = uuid.uuid4().hex[:12] if places.drawn else ""
        said: dict[str, Any] = {"draw": draw, "what": question.what, "price": str(price)}
        kept = []
        for frame, one in zip(places.frames.values(), measured if plain else (), strict=False):
            numbers = np.asarray(one.numbers, dtype=np.int64).reshape(-1)
            noise: dict[str, Any] = {"unit": one.strategy.unit, "noise": one.noise.kind, "amount": one.noise.amount}
            kept.append(Remembered(places.rows, frame, numbers, **noise, **said))
        arrays = {f"cells {place}": np.asarray(tables[axes][0]).reshape(-1) for place, axes in enumerate(question.sets)}
        arrays |= {f"noise {place}": np.array(tables[axes][1:]) for place, axes in enumerate(question.sets)}
        about = {"measure": price.measure, "what": question.what}
        topic = f"{places.topic}:{price.measure}"
        places.memory.keep(kept, lambda: [places.memory.kept_answer(topic, price.amount, about, arrays)])
    except Exception as failure:  # noqa: BLE001  # it is paid for, whatever goes wrong here
        warnings.warn(f"What was released could not be kept for later questions: {failure}", MemoryFault, stacklevel=2)
