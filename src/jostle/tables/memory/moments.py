"""What several releases say together about the rows, sums and means of groups, and what is missing to be close enough.

Each group of the question is a union of cells of every release that is used, and these are added up. So groups are estimated
one by one, from counts and from all forms of sums of the column (`jostle.answers.combined_totals`).

Privacy: nothing here touches a row. Weights and prices follow from variances and frames, which are public.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from jostle.answers.combined_totals import FORMS, CombinedTotals, MeasuredGroups, form_of_sum
from jostle.kernel.budget import Price
from jostle.kernel.partition import Counts, Vector
from jostle.tables.memory.bodies import Remembered
from jostle.tables.memory.frames import Frame
from jostle.tables.memory.memory import MOST_ATOMS, joint, reduced
from jostle.tables.memory.states import LEFT_OUT

if TYPE_CHECKING:
    from jostle.tables.group_prices import Measured

WORTH_IT = Fraction(95, 100)
"""What is missing is bought if it costs at most this part of the whole."""

READ = ("count", "sum", "mean")
_SEARCHED = 8
_FINE = 10**4


@dataclass(frozen=True)
class Asked:
    """What is asked of the groups: aggregates of one column, or the rows."""

    frame: Frame
    """The groups."""

    kinds: tuple[str, ...]
    low: float
    width: float
    forms: Mapping[str, Vector]
    """What tells forms of the column's numbers from other columns, and what they are."""

    @classmethod
    def of(cls, frame: Frame, one: Measured, between: tuple[float, float], forms: Mapping[str, Vector]) -> Asked | None:
        """None if an aggregate is of a kind that is not put together, such as a variance."""
        if any(each.kind not in READ for each in one.aggregates.values()):
            return None
        kinds = dict.fromkeys("rows" if each.column is None else each.kind for each in one.aggregates.values())
        if "sum" in kinds and len(kinds) > 1:  # somebody may divide one by the other
            kinds["mean"] = None
        return cls(frame, tuple(kinds), *between, forms)

    def said_by(self, one: Remembered) -> MeasuredGroups | None:
        """What a release says about the groups; None if they are no unions of its cells."""
        scale = one.law.scale
        number = next((root for root in one.frame.roots if root in self.forms), None)
        if scale < 1:  # noise in steps, which have a law of their own
            return None
        kept = self.frame if number is None else Frame({**self.frame.offsets, number: one.frame.offsets[number]}, 1)
        small = reduced(one, kept)
        if small is None:
            return None
        found = _cells(self.frame, {root: small.offsets[root] for root in small.offsets if root != number})
        if found is None:
            return None
        groups, cells = found
        steps = np.zeros(1, dtype=np.int64) if number is None else small.offsets[number]
        there = steps != LEFT_OUT
        form = np.asarray(FORMS["rows"] if number is None else self.forms[number], dtype=np.float64)[there]
        values = np.zeros((self.frame.size, len(form)))
        for place, step in enumerate(steps[there].tolist()):
            at = np.searchsorted(small.places, cells + step)
            np.add.at(values[:, place], groups, small.values[at])
        return MeasuredGroups(values, small.summed * np.bincount(groups, minlength=self.frame.size), form, one.law)


def _cells(frame: Frame, offsets: Mapping[str, Counts]) -> tuple[Counts, Counts] | None:
    """The group of each cell, and the cells; None if groups are no unions of cells, or one has none."""
    columns = []
    for root in {*frame.offsets, *offsets}:
        mine = frame.offsets.get(root)
        other = offsets.get(root)
        if mine is None or (other is not None and len(other) != len(mine)):
            return None
        columns.append(np.unique(np.stack([mine, np.zeros_like(mine) if other is None else other]), axis=1))
    if np.prod([one.shape[1] for one in columns], dtype=np.float64) > MOST_ATOMS:
        return None
    asked, cells = (joint([one[place] for one in columns]) for place in (0, 1))
    if (cells[asked >= 0] < 0).any():
        return None  # some rows of a group were not counted
    pairs = np.unique(np.stack([cells, asked])[:, cells >= 0], axis=1)
    if len(np.unique(pairs[0])) < pairs.shape[1]:
        return None  # a cell is in several groups, or in part in none
    inside = pairs[1] >= 0
    groups = pairs[1][inside]
    return (groups, pairs[0][inside]) if len(np.unique(groups)) == frame.size else None


# -------------------------------------------------------------------------------------------------- what is missing


@dataclass(frozen=True)
class Completed:
    """What is known of a total, and the price of what is missing; None if nothing is."""

    asked: Asked
    known: Sequence[MeasuredGroups]
    price: Price | None

    @property
    def found(self) -> CombinedTotals:
        """What is known by now."""
        return CombinedTotals.of(self.known)

    def with_new(self, one: Remembered) -> CombinedTotals | None:
        """What it says together with a new release."""
        new = self.asked.said_by(one)
        return None if new is None else CombinedTotals.of([*self.known, new])


def completed(asked: Asked, remembered: Sequence[Remembered], price: Price, planned: Any) -> Completed | None:
    """How to make aggregates as close as they would be at this price: None if that is not worth it.

    `planned` says what would be measured at a price, without numbers.
    """
    known = [said for one in remembered if (said := asked.said_by(one)) is not None]
    alone = asked.said_by(planned(price))
    if not known or alone is None:
        return None
    wanted = CombinedTotals.of([alone]).margins_of(asked.kinds, asked.low, asked.width)
    if wanted is None:
        return None

    def enough(part: Fraction | None) -> bool:
        new = None if part is None else asked.said_by(planned(price.times(part)))
        if part is not None and new is None:
            return False
        found = CombinedTotals.of(known if new is None else [*known, new]).margins_of(asked.kinds, asked.low, asked.width)
        return found is not None and bool((found <= wanted * (1 + 1e-9)).all())

    if enough(None):
        return Completed(asked, known, None)
    if not enough(WORTH_IT):
        return None
    low, high = Fraction(1, 1000), WORTH_IT
    for _ in range(_SEARCHED):
        middle = Fraction(round((low + high) / 2 * _FINE), _FINE)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return Completed(asked, known, price.times(high))


def mixture_form(degree: int) -> Vector:
    """State by state."""
    return np.asarray(FORMS[f"mixture {degree}"], dtype=np.float64)


def sum_form(low: float, width: float, rate: float) -> Vector:
    """Its second state is always left out."""
    return np.concatenate([form_of_sum(low, width, rate), np.zeros((1, 4))])
