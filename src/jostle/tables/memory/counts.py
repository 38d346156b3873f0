"""Questions about counts that were paid for before, wholly or in part.

`recalled` answers from what was released. If that is not close enough, it buys what is missing: cells with as much noise as
leaves the combination with what is remembered as close as the whole price would have been. It never costs more than that.

Privacy: a purchase is one measurement of cells, charged as any other. Its price follows from variances, which are public.
"""

from __future__ import annotations

import math
import uuid
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from jostle.algorithms import get as algorithm_named
from jostle.answers.recalled import RecalledRelease, Reused, in_memory_words
from jostle.answers.release import Release
from jostle.kernel.budget import Price
from jostle.kernel.partition import Vector
from jostle.kernel.source import AddedNoise, ReleaseSource
from jostle.kernel.strategies import Identity
from jostle.linear.fitting.combined import Combined
from jostle.simulate.margins import within_95
from jostle.tables.memory.asking import CONSISTENT, FRESH
from jostle.tables.memory.bodies import Remembered
from jostle.tables.memory.buying import CountsPlace, left_in, place_of, planned, remembered, same_noise, whole_answer
from jostle.tables.memory.memory import Recollection, number_by_number, together
from jostle.tables.memory.store import NOT_USED, MemoryFault, unused

if TYPE_CHECKING:
    from jostle.tables.question import CountsQuestion, Measurement

LARGEST_QUERIES = 2**22
"""Queries over cells are worked out from memory if they have at most this many weights."""

WORTH_IT = Fraction(95, 100)
"""A purchase beside what is remembered is made if it costs at most this part of the whole price."""

WORTH_IT_OF_ADAPTIVE = Fraction(1, 2)
"""The same where the algorithm adapts to the data: its answers may be closer than it promises."""

FEW_CELLS = 16
"""Of fewer cells, each says too little about the others: remembered numbers are read as they are."""

_SEARCHED = 9
_DIGITS = 3


# ------------------------------------------------------------------------------------------------------- remembering


def remember(
    question: CountsQuestion, release: Release, source: ReleaseSource, seen: list[Measurement], *, whole: bool
) -> Remembered | None:
    """Keep what was released, and return the cells if they were measured. What goes wrong is a warning: it is paid for."""
    raw = None
    try:
        place = place_of(question)
        if place is not None:
            raw = _unbiased(question, place, source, seen, Price(release.spent, release.measure))
            place.memory.keep([raw] if raw else [], lambda: [whole_answer(question, place, release)] if whole else [])
    except Exception as failure:  # noqa: BLE001
        warnings.warn(f"What was released could not be kept for later questions: {failure}", MemoryFault, stacklevel=2)
    return raw


def _unbiased(
    question: CountsQuestion, place: CountsPlace, source: ReleaseSource, seen: list[Measurement], price: Price
) -> Remembered | None:
    """The measurement of the cells, if it is the only one of the release.

    What a plan drew besides, such as a choice, may have decided about it. Its own noise is independent of that, so given all
    of that it is unbiased. Of several measurements, one may have decided about another: then none is kept.
    """
    released = [one for one in seen if isinstance(one.source, ReleaseSource)]
    if len(released) != 1 or released[0].source is not source or not isinstance(released[0].strategy, Identity):
        return None
    [one] = released
    draw = uuid.uuid4().hex[:12] if place.drawn else ""
    return remembered(question, place.rows, place.frame, one, price, draw)


# ------------------------------------------------------------------------------------------------------------ recalling


@dataclass(frozen=True)
class Purchase:
    """What is missing: cells at this price, to be combined with what is remembered."""

    place: CountsPlace
    remembered: list[Remembered]
    price: Price
    instead_of: Price


def recalled(question: CountsQuestion, price: Price) -> RecalledRelease | None:
    """The answer, if it is remembered, or follows from what is, or is cheaper to complete than to ask anew."""
    try:
        found = None if FRESH.get() else _looked_up(question, price)
    except NOT_USED as failure:  # nothing is charged yet: ask anew
        unused(failure)
        return None
    return _completed(question, found) if isinstance(found, Purchase) else found


def _looked_up(question: CountsQuestion, price: Price) -> RecalledRelease | Purchase | None:
    place = place_of(question)
    if place is None or place.memory.store is None:
        return None
    found = None if CONSISTENT.get() else _as_before(question, place, price)
    return found or _from_measurements(question, place, price)


def _as_before(question: CountsQuestion, place: CountsPlace, price: Price) -> RecalledRelease | None:
    found = place.memory.answer(f"{place.topic}:{price.measure}", price.amount)
    if found is None:
        return None
    said, arrays, kept = found
    paid = Price(Fraction(said["amount"]), price.measure)
    chose = f", when {question.algorithm.name} chose {said['chose']}" if "chose" in said else ""
    when = kept.at.replace("T", " ")[:16]
    words = f"The same question was answered on {when} UTC for {paid}{chose}. It costs nothing again."
    estimate = np.asarray(arrays["estimate"], dtype=np.float64)
    place.memory.note_saving(price.measure, price.amount, free=True)
    reused = Reused(words, price.amount, price.measure)
    return _release(question, estimate, paid, reused, arrays.get("answers"), arrays.get("margins"))


def _from_measurements(question: CountsQuestion, place: CountsPlace, price: Price) -> RecalledRelease | Purchase | None:
    queries = _queries(question)
    remembered = place.memory.measurements(place.rows, place.frame)
    if not remembered or queries is False:
        return None
    wanted = _promised(question, price)
    found = together(place.frame, remembered, queries, drawn=place.drawn)
    cells = found if queries is None else together(place.frame, remembered, drawn=place.drawn)
    if found is not None and cells is not None and _suffices(found.found.margins, wanted):
        place.memory.note_saving(price.measure, price.amount, free=True)
        reused = Reused(in_memory_words(len(found.sources), None, price), price.amount, price.measure)
        adapted = None if queries is not None else _adapted(question, place, found, price, reused)
        release = adapted or _combined_release(question, found, cells, price, reused)
        if not CONSISTENT.get():
            place.memory.keep([], lambda: [whole_answer(question, place, release)])
        return release
    if place.drawn or queries is not None:  # a new draw is of other rows
        return None
    amount = _missing(question, place, remembered, price, wanted)
    return None if amount is None else Purchase(place, remembered, Price(amount, price.measure), price)


def _adapted(
    question: CountsQuestion, place: CountsPlace, found: Recollection, price: Price, reused: Reused
) -> RecalledRelease | None:
    """What `bought_widely` would make of the cells, if each is one number that was measured as this question would be.

    So the next ward gets its answers as the first one did: where cells are nearly empty, far closer than plain noise.
    """
    plan = algorithm_named("Bayes")
    if CONSISTENT.get() or not (question.algorithm.data_dependent and question.by_cells) or plan.finish is None:
        return None
    if place.frame.size < FEW_CELLS:
        return None
    if len(found.sources) != 1 or not number_by_number(found.found):
        return None
    [source] = found.sources
    alike = planned(question, place, price)
    paid = Price(price.amount * alike.amount / source.amount, price.measure) if source.amount else price
    if not same_noise(source, planned(question, place, paid)):
        return None
    scale = AddedNoise("laplace" if source.noise == "laplace" else "gaussian", source.amount).scale
    estimate = np.asarray(plan.finish(found.found.estimates, scale, question.workload), dtype=np.float64)
    reason = "because it costs the same for all conditions"
    return replace(_release(question, estimate, paid, reused, None, None), algorithm=plan, reason=reason, tunables={})


def _missing(
    question: CountsQuestion, place: CountsPlace, remembered: list[Remembered], price: Price, wanted: Vector
) -> Fraction | None:
    """The least price of cells that make the answers as close as wanted; None if that is not worth it."""
    most = _few_digits(price.amount * (WORTH_IT_OF_ADAPTIVE if question.algorithm.data_dependent else WORTH_IT))

    def enough(amount: Fraction) -> bool:
        found = together(place.frame, [*remembered, planned(question, place, Price(amount, price.measure))])
        return found is not None and len(found.sources) > 1 and _suffices(found.found.margins, wanted)

    if not enough(most):
        return None
    low, high = most / 1000, most
    for _ in range(_SEARCHED):
        middle = _few_digits((low + high) / 2)
        if middle in (low, high):
            break
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _completed(question: CountsQuestion, purchase: Purchase) -> RecalledRelease:
    """Buy what is missing. From the charge on, nothing may lose what was paid for, nor lead to a second charge."""
    place, price = purchase.place, purchase.instead_of
    bought, raw = question.measured_cells(purchase.price)
    paid = Price(bought.spent, bought.measure)
    release = None
    try:
        found = None if raw is None else together(place.frame, [*purchase.remembered, raw])
        if found is not None:
            words = in_memory_words(sum(one is not raw for one in found.sources), paid, price)
            reused = Reused(words, price.amount - paid.amount, price.measure)
            release = _combined_release(question, found, found, price, reused, bought)
    except Exception as failure:  # noqa: BLE001  # it is paid for, whatever goes wrong here
        warnings.warn(f"What is remembered could not be used: {failure}", MemoryFault, stacklevel=2)
    if release is None:
        words = "The numbers are those of the new measurement only."
        fields = {name: value for name, value in vars(bought).items() if name in bought.__dataclass_fields__}
        return RecalledRelease(**fields, paid=paid, reused=Reused(words, Fraction(0), price.measure))
    place.memory.keep([], lambda: [whole_answer(question, place, release)])
    place.memory.note_saving(price.measure, release.reused.saved, free=False)
    return release


def _promised(question: CountsQuestion, price: Price) -> Vector:
    """The margins that the question would have at this price: those of its preview, answer by answer."""
    plan, tunables = question.algorithm, question.tunables
    if plan.data_dependent:
        plan, tunables = algorithm_named("Laplace" if question.workload.kind == "identity" else "HB"), {}
    return within_95(plan, np.zeros(question.workload.domain), question.workload, price, question._neighbours, tunables)


def _suffices(margins: Vector, wanted: Vector) -> bool:
    return bool((margins <= wanted * (1 + 1e-9) + 1e-9).all())


def _queries(question: CountsQuestion) -> Any:
    """The queries over cells; None for the cells themselves, False if they are too many."""
    workload = question.workload
    if workload.kind == "identity":
        return None
    return workload.queries.dense() if math.prod(workload.shape) <= LARGEST_QUERIES else False


def _few_digits(amount: Fraction) -> Fraction:
    """Rounded down to three digits."""
    unit = Fraction(10) ** (math.floor(math.log10(amount)) - _DIGITS + 1)
    return math.floor(amount / unit) * unit


def already_paid(question: CountsQuestion) -> float | None:
    """How close a typical answer is by what is remembered, at no cost; None if it does not follow from it."""
    try:
        place, queries = place_of(question), _queries(question)
        if place is None or queries is False:
            return None
        found = place.memory.recollect(place.rows, place.frame, queries, drawn=place.drawn)
        return None if found is None else float(np.median(found.found.margins))
    except NOT_USED as failure:
        unused(failure)
        return None


def _combined_release(
    question: CountsQuestion,
    found: Recollection,
    cells: Recollection,
    price: Price,
    reused: Reused,
    bought: Release | None = None,
) -> RecalledRelease:
    answers, estimate = found.found.estimates, cells.found.estimates
    return _release(question, estimate, price, reused, answers, found.found.margins, found.found, bought)


def _release(
    question: CountsQuestion,
    estimate: Vector,
    paid: Price,
    reused: Reused,
    answers: Vector | None,
    margins: Vector | None,
    combined: Combined | None = None,
    bought: Release | None = None,
) -> RecalledRelease:
    """As it was then, if there are no margins; else by combination."""
    budget, as_before = question.table._budget, margins is None
    price: Mapping[str, Any]
    if bought is None:
        price = {"spent": Fraction(0), "remaining": budget.remaining, "measure": paid.measure, "left_in": left_in(budget)}
        price |= {"neighbours": question._neighbours, "notes": question.notes}
    else:
        price = bought.price
    return RecalledRelease(
        answers=question.workload @ estimate if answers is None else answers,
        estimate=estimate.reshape(question.workload.domain),
        workload=question.workload,
        algorithm=question.algorithm if as_before else algorithm_named("Laplace"),
        reason="because it was asked before" if as_before else "because only plain noisy numbers can be combined",
        tunables=question.tunables if as_before else {},
        about=question.about,
        paid=paid,
        reused=reused,
        off=margins,
        combined=combined,
        **price,
    )
