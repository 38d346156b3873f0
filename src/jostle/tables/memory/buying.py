"""Where a question about counts is among what is remembered, and how its cells are bought.

Privacy: what is bought is one measurement of cells, charged as any other. Its price follows from public numbers.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from jostle.algorithms import get as algorithm_named
from jostle.answers.answer import paid_with
from jostle.answers.recalled import RecalledRelease
from jostle.answers.release import Release
from jostle.kernel.budget import CONCENTRATED, PURE, Price
from jostle.kernel.strategies import identity
from jostle.tables.columns import EngineColumns
from jostle.tables.memory.asking import FRESH
from jostle.tables.memory.bodies import Remembered
from jostle.tables.memory.frames import Frame, frame_of
from jostle.tables.memory.memory import Memory, number_by_number, together
from jostle.tables.memory.states import StateColumn, digest, known_rows
from jostle.tables.memory.store import NOT_USED, Keepsake, unused
from jostle.tables.memory.widened import widened

if TYPE_CHECKING:
    from jostle.tables.budget_source import BudgetSource
    from jostle.tables.question import CountsQuestion, Measurement


@dataclass(frozen=True)
class CountsPlace:
    """Where a question is among what is remembered."""

    memory: Memory
    rows: str
    frame: Frame
    drawn: bool
    """Whether persons' rows are drawn anew for each measurement."""

    topic: str
    """That of whole answers."""


def place_of(question: CountsQuestion) -> CountsPlace | None:
    """None if nothing is remembered of the table, or if it is not certain which rows the question is about."""
    memory, columns = question.table._budget.memory, question.columns
    rows = None if memory is None else memory.rows_of(columns.views)
    odd = columns.keeping or columns.leaves_out or columns.among or columns.only or columns.numbers
    if memory is None or rows is None or odd:
        return None
    if columns.grouped_by is not None:  # persons are held to some groups, so it is about rows of its own
        rows = digest("grouped", rows, list(columns.grouped_by))
    [view] = columns.views
    known = known_rows(view)
    axes: list[tuple[StateColumn, int]] = []
    for name in question.names:
        if name in columns.tables:
            if columns.tables[name][1] or columns.sizes[name] != 1:
                return None
            continue  # all rows are in one cell
        axes.append((known.columns[name], columns.sizes[name]))
    frame = frame_of(known, axes)
    if frame.size != math.prod(question.workload.domain):
        return None
    queries = "" if question.workload.kind == "identity" else _fingerprint(question)
    said = json.dumps({name: repr(value) for name, value in sorted(question.tunables.items())})
    about = digest("counts", frame.key, list(question.workload.domain), queries, question.algorithm.name, said)
    return CountsPlace(memory, rows, frame, view.unit is not None, f"a:{rows}:{about}")


def _fingerprint(question: CountsQuestion) -> str:
    """What tells the queries from others."""
    queries = question.workload.queries
    probes = np.random.default_rng(0).integers(0, 2**20, size=(2, queries.size))
    return digest(queries.rows, queries.unit, np.asarray(queries.apply(probes)).tolist())


def whole_answer(question: CountsQuestion, place: CountsPlace, release: Release) -> Keepsake:
    """A released answer as it stands, for when the same question is asked again."""
    said = {"measure": release.measure, "reason": release.reason, "what": question.what}
    if release.trace is not None:
        said |= {"chose": str(release.trace.choice)}
    estimate = release.estimate.reshape(-1)
    whole = bool((estimate == np.round(estimate)).all() and np.abs(estimate).max(initial=0.0) < 2**53)
    arrays: dict[str, Any] = {"estimate": estimate.astype(np.int64) if whole else estimate}
    amount = release.spent
    if isinstance(release, RecalledRelease):  # worth what the question may have cost, whatever was bought for it
        amount = release.paid.amount
    if isinstance(release, RecalledRelease) and release.off is not None:
        arrays |= {"margins": release.margins} | (
            {} if release.workload.kind == "identity" else {"answers": release.answers}
        )
    return place.memory.kept_answer(f"{place.topic}:{release.measure}", amount, said, arrays)


def planned(question: CountsQuestion, place: CountsPlace, price: Price, wide: Widened | None = None) -> Remembered:
    """A measurement of the cells as it would be at a price, without numbers."""
    from jostle.tables.question import no_rows

    frame, columns = (place.frame, question.columns) if wide is None else (wide.frame, wide.columns)
    relation = question.table.neighbours
    shape = question.workload.domain if wide is None else (frame.size,)
    empty = no_rows(shape, relation.among_filtered() if columns.filtered else relation)
    token = empty.grant(price)
    scale = Fraction(empty.noise_scale(identity(empty.shape), token))
    amount, noise = (scale, "laplace") if price.measure == PURE else (2 * scale**2, "gaussian")
    numbers = np.zeros(frame.size, dtype=np.int64)
    return Remembered(place.rows, frame, numbers, unit=1, noise=noise, amount=amount)


# ------------------------------------------------------------------------------------------------------- buying widely


@dataclass(frozen=True)
class Widened:
    """The columns to count in place of a question's, and the frame of their cells."""

    columns: EngineColumns
    names: tuple[str, ...]
    frame: Frame


def wide_question(question: CountsQuestion, place: CountsPlace) -> Widened | None:
    """The question with cells also for rows that its conditions leave out, if there are such conditions."""
    if question.columns.grouped_by is not None:
        return None
    [view] = question.columns.views
    axes = [name for name in question.names if name not in question.columns.tables]
    wide = widened(view, axes, place.frame.size)
    if wide is None:
        return None
    frame = wide.frame(*((wide.known.columns[name], question.columns.sizes[name]) for name in axes))
    return Widened(wide.columns, (*wide.labels, *axes), frame)


def bought_widely(question: CountsQuestion, price: Price, *, plain: bool = False) -> tuple[Release, Remembered] | None:
    """The answer from a measurement with cells also for rows that the conditions leave out; None if it is not the same.

    Every answer has the noise of one cell, as if only the question's cells had been measured. All that can fail for the
    question's sake is tried before the charge.
    """
    if FRESH.get() or question.workload.kind != "identity" or not (plain or question.by_cells):
        return None
    try:
        place = place_of(question)
        wide = None if place is None else wide_question(question, place)
        weights = None if place is None or wide is None else _read_from(question, place, wide, price)
    except NOT_USED as failure:  # nothing is charged yet
        unused(failure)
        return None
    if place is None or wide is None or weights is None:
        return None
    return _measured_widely(question, place, wide, weights, price, plain=plain)


def _read_from(question: CountsQuestion, place: CountsPlace, wide: Widened, price: Price) -> Any:
    """The weights that read the question's cells from the wider ones, each from one; None if that is not the same."""
    wished = planned(question, place, price, wide)
    reads = together(place.frame, [wished])
    if reads is None or not same_noise(wished, planned(question, place, price)):
        return None
    return reads.found.used[0][1] if number_by_number(reads.found) else None


def left_in(budget: BudgetSource) -> str:
    """The measure of what an account has left."""
    measure = getattr(getattr(budget, "account", None), "measure", PURE)
    return CONCENTRATED if measure == CONCENTRATED else PURE


def same_noise(one: Remembered, other: Remembered) -> bool:
    """Whether numbers of two measurements have noise of the same law."""
    return (one.noise, one.unit, one.amount) == (other.noise, other.unit, other.amount)


def remembered(
    question: CountsQuestion, rows: str, frame: Frame, one: Measurement, price: Price, draw: str = ""
) -> Remembered:
    """A measurement of cells, as it was released."""
    numbers = np.asarray(one.numbers, dtype=np.int64).reshape(-1)
    noise: dict[str, Any] = {"unit": one.strategy.unit, "noise": one.noise.kind, "amount": one.noise.amount}
    return Remembered(rows, frame, numbers, draw=draw, what=question.what, price=str(price), **noise)


def _measured_widely(
    question: CountsQuestion, place: CountsPlace, wide: Widened, weights: Any, price: Price, *, plain: bool
) -> tuple[Release, Remembered]:
    from jostle.tables.question import of_domain, witnessed

    plan = algorithm_named("Laplace" if plain or not question.algorithm.data_dependent else "Bayes")
    source = question.table._budget
    wide.columns.check(wide.names)
    records, budget = source.records(wide.columns, price, note=f"{plan.name}: {question.what}")
    cells = of_domain(records.vector(*wide.names), (wide.frame.size,))
    with witnessed() as seen:
        cells.measure(identity(cells.shape), budget)
    [one] = seen
    raw = remembered(question, place.rows, wide.frame, one, price)
    estimate = np.asarray(weights @ raw.values, dtype=np.float64)
    if plan.finish is not None:
        estimate = plan.finish(estimate, one.noise.scale, question.workload)
    release = Release(
        answers=estimate,
        estimate=estimate.reshape(question.workload.domain),
        workload=question.workload,
        algorithm=plan,
        reason=question.reason or "" if plan is question.algorithm else "because it costs the same for all conditions",
        neighbours=question._neighbours,
        about=question.about,
        notes=question.notes,
        **paid_with(budget, lambda: source.remaining),
    )
    place.memory.keep([raw], lambda: [] if plain else [whole_answer(question, place, release)])
    return release, raw
