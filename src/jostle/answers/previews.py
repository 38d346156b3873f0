"""How far off answers would be, before anything is paid. Only the question, ε and the neighbours have a part in it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from jostle import algorithms
from jostle.algorithms import Algorithm
from jostle.kernel.arguments import whole
from jostle.kernel.budget import PURE, SYMBOLS, Price, exact, round_up
from jostle.kernel.errors import BadInput
from jostle.kernel.neighbours import Neighbours
from jostle.schema.rows import short
from jostle.simulate import calibration
from jostle.simulate.calibration import signal
from jostle.simulate.margins import BLIND, settled_plan, within_95
from jostle.workloads import Workload

MOST_ROWS = 2**61

SMALLEST, LARGEST = Fraction(1, 10**6), Fraction(10**4)
"""The search for an ε stays between these."""


@dataclass(frozen=True, kw_only=True)
class Preview:
    """What to expect of a release, at no cost."""

    epsilon: Fraction
    """What the release would be charged: ε, unless the measure is ρ."""

    margin: float
    """Half the width of a 95 % interval around a typical answer."""

    widest: float
    """The same, for the answer that is hardest."""

    algorithm: str
    """The algorithm that would answer."""

    stand_in: str
    """The algorithm whose error this is: where the error of `algorithm` depends on the data, one that is no better."""

    measure: str = PURE
    """What the charge would be in."""

    assumed: str = ""
    """What the margin rests on besides the question, in words: a number of rows, and data like public ones."""

    def __str__(self) -> str:
        typical, widest = short(self.margin), short(self.widest)
        most = "" if self.assumed or typical == widest else f", ±{widest} for the hardest answer"
        given = f", {self.assumed}" if self.assumed else ""
        whose = f"Algorithm: {self.algorithm}."
        if self.stand_in != self.algorithm:
            whose = f"This is the error of {self.stand_in}; {self.algorithm} should do no worse."
        at = f"{SYMBOLS[self.measure]} = {round_up(self.epsilon):g}"
        return f"Expected error at {at}: ±{typical}{most} (95 % confidence){given}. {whose}"


@dataclass(frozen=True, kw_only=True)
class PreviewWithMemory(Preview):
    """What to expect where something was released before."""

    paid_for: float | None
    """How close a typical answer is by what was released before, at no cost; None if it does not follow from that."""

    def __str__(self) -> str:
        if self.paid_for is None:
            return super().__str__()
        return f"{super().__str__()} {self.saving}"

    @property
    def is_free(self) -> bool:
        """Whether what was released before is close enough."""
        return self.paid_for is not None and self.paid_for <= self.margin * (1 + 1e-9)

    @property
    def saving(self) -> str:
        """What is paid for already, in a sentence."""
        if self.paid_for is None:
            return ""
        free = " It would cost nothing." if self.is_free else ""
        return f"±{short(self.paid_for)} is already paid for.{free}"


@dataclass(frozen=True, kw_only=True)
class GroupPreviews(Preview):
    """What to expect of several aggregates: `margin` is that of the first, `widest` the largest that is known."""

    margins: Mapping[str, float]
    """Per aggregate; NaN for means and variances of a number of rows that nobody gave."""

    even_chance: int | None = None
    """Where groups are selected privately, the number of people from which on a group is shown in half of all cases."""

    cost: Price | None = None
    """What would be charged, less what was paid for before; None where nothing is remembered."""

    @property
    def saving(self) -> str:
        """What is paid for already, in a sentence."""
        if self.cost is None or self.cost.amount >= self.epsilon:
            return ""
        if not self.cost.amount:
            return "All of it is already paid for. It would cost nothing."
        return f"Some of it is already paid for: at most {self.cost} would be charged."

    @classmethod
    def of(cls, price: Price, margins: Mapping[str, float], **more: Any) -> GroupPreviews:
        known = [one for one in margins.values() if not math.isnan(one)]
        widest, first = max(known, default=math.nan), next(iter(margins.values()))
        noise = "Laplace" if price.measure == PURE else "Gaussian"
        named: dict[str, Any] = {"algorithm": noise, "stand_in": noise, "measure": price.measure}
        return cls(epsilon=price.amount, margin=first, widest=widest, margins=dict(margins), **named, **more)

    def __str__(self) -> str:
        each = ", ".join(
            f"{name} ± {short(off)}" if not math.isnan(off) else f"{name} (depends on the rows of a group)"
            for name, off in self.margins.items()
        )
        given = f", {self.assumed}" if self.assumed else ""
        shown = "" if self.even_chance is None else f" A group of {self.even_chance:,} has an even chance to be shown."
        at = f"{SYMBOLS[self.measure]} = {round_up(self.epsilon):g}"
        saving = f" {self.saving}" if self.saving else ""
        return f"Expected error at {at} (95 % confidence): {each}{given}.{shown}{saving}"


def preview(
    plan: Algorithm,
    workload: Workload,
    epsilon: Any,
    neighbours: Neighbours,
    tunables: dict[str, Any],
    rows: int | None = None,
) -> Preview:
    """The margins of the algorithm in closed form, or of one in its place whose error is the same on all data.

    With a number of rows, the margin that an algorithm whose error depends on the data typically has on public data with as
    many rows per cell: the median over data sets, as `jostle bench coverage --fit` measured it.
    """
    price, expected = Price.of(epsilon), checked_rows(rows)
    settled, own = settled_plan(plan, workload, tunables, price)
    named: dict[str, Any] = {"algorithm": plan.name, "measure": price.measure}
    if not plan.data_dependent or not settled.data_dependent:
        each = within_95(settled, np.zeros(workload.domain), workload, price, neighbours, own)
        typical, widest = float(np.median(each)), float(each.max())
        return Preview(epsilon=price.amount, margin=typical, widest=widest, stand_in=plan.name, **named)
    stand_in = algorithms.get("Laplace" if workload.kind == "identity" else "HB")
    each = within_95(stand_in, np.zeros(workload.domain), workload, price, neighbours, {})
    typical, widest = float(np.median(each)), float(each.max())
    margin = None
    if expected is not None:
        even = np.full(workload.shape[1], expected / workload.shape[1])
        if settled.name in BLIND:  # its intervals depend on nothing else
            margin = float(np.median(within_95(settled, even, workload, price, neighbours, own)))
        else:
            part = calibration.typical(settled.name, (workload.kind, workload.domain), signal(even, price))
            margin = None if part is None else part * typical
    if margin is None:
        return Preview(epsilon=price.amount, margin=typical, widest=widest, stand_in=stand_in.name, **named)
    given = f"if there are {expected:,} rows, and data like public ones"
    return Preview(epsilon=price.amount, margin=margin, widest=widest, stand_in=plan.name, assumed=given, **named)


def checked_rows(rows: Any) -> int | None:
    """About how many rows there are, if the caller says so."""
    expected = whole(rows)
    if rows is not None and (expected is None or not 1 <= expected <= MOST_ROWS):
        raise BadInput(
            "rows", "must be a whole number of at least 1", "say about how many there are in all, for instance rows=1000"
        )
    return expected


def epsilon_within(within: Any, previewed: Callable[..., Preview]) -> Fraction:
    """The smallest ε, to two digits, at which a typical answer is expected to be that close."""
    return price_within(within, previewed, PURE).amount


def price_within(within: Any, previewed: Callable[..., Preview], measure: str) -> Price:
    """The smallest price in a measure, to two digits of ε or ρ, at which a typical answer is expected to be that close."""
    wish = exact(within, "within")

    def suffices(amount: Fraction) -> bool:
        return bool(previewed(epsilon=Price(amount, measure)).margin <= wish)

    # Noise is in proportion to 1/ε or 1/√ρ, so the guess is near, except for whole numbers that hardly get any.
    ratio = exact(max(previewed(epsilon=Price(Fraction(1), measure)).margin, 1e-3)) / wish
    guess = rounded_up(min(max(ratio if measure == PURE else ratio**2, SMALLEST), LARGEST))
    if suffices(guess):
        low, high = guess / 4, guess
        while low > SMALLEST and suffices(low):
            low, high = low / 4, low
    else:
        low, high = guess, guess * 4
        while high < LARGEST and not suffices(high):
            low, high = high, high * 4
    for _ in range(6):
        middle = rounded_up((low + high) / 2)
        if middle in (low, high):
            break
        low, high = (low, middle) if suffices(middle) else (middle, high)
    return Price(min(max(high, SMALLEST), LARGEST), measure)


def rounded_up(amount: Fraction, digits: int = 2) -> Fraction:
    """To this number of digits.

    >>> rounded_up(Fraction(1, 3)), rounded_up(Fraction(299573, 1000), 3)
    (Fraction(17, 50), Fraction(300, 1))
    """
    unit = Fraction(10) ** (math.floor(math.log10(amount)) - digits + 1)
    return math.ceil(amount / unit) * unit
