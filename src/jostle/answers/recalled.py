"""Answers that come from what was released before, in part or as a whole."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from jostle.answers.answer import IntervalKind
from jostle.answers.release import Release
from jostle.kernel.budget import SYMBOLS, Price, round_up
from jostle.kernel.partition import Vector
from jostle.linear.fitting.combined import Combined
from jostle.schema.rows import short
from jostle.simulate.margins import Run, order_statistic, together_95, within_95

RUNS = 399
"""How many runs are simulated for intervals that hold at once."""


@dataclass(frozen=True)
class Reused:
    """What was used again, and what that saved."""

    said: str
    """In a sentence."""

    saved: Fraction
    """What was not charged, of what the question may have cost."""

    measure: str

    def __str__(self) -> str:
        if not self.saved:
            return self.said
        return f"{self.said} {SYMBOLS[self.measure]} = {round_up(self.saved):g} was saved."


@dataclass(frozen=True, kw_only=True)
class RecalledRelease(Release):
    """Counts that come from what was released before: as they were then, or put together by least squares."""

    paid: Price
    """What the numbers were paid for with, all in all; their intervals follow from it where they are as they were."""

    reused: Reused
    off: Vector | None = None
    """The margins of answers that were put together; None where the answers are as they were."""

    combined: Combined | None = None
    """The weights of the noisy numbers behind each answer, if it was put together just now."""

    @cached_property
    def margins(self) -> Vector:
        return within_95(*self._run) if self.off is None else self.off

    @property
    def interval_kind(self) -> IntervalKind:
        return super().interval_kind if self.off is None else "exact"

    @cached_property
    def margins_together(self) -> Vector:
        if self.off is None:
            return together_95(self.margins, *self._run)
        if self.combined is None:  # by the union of all misses; for Laplace noise, and more than is needed for sums of it
            return np.asarray(self.margins * math.log(20 * max(len(self.margins), 1)) / math.log(20))
        beyond = np.abs(self.combined.simulated_errors(RUNS)) / np.maximum(self.margins, 1e-12)
        return np.asarray(self.margins * max(float(order_statistic(beyond.max(axis=1))), 1.0))

    @property
    def _run(self) -> Run:
        return self.algorithm, self.estimate, self.workload, self.paid, self.neighbours, self.tunables

    def _explained(self) -> str:
        what, many = self._what_and_many
        typical = f"typically within ±{short(np.median(self.margins))} (95 %)"
        return f"{what}: {many} at {self._at}, {typical}. {self.reused} {self._left}"

    @property
    def _what_and_many(self) -> tuple[str, str]:
        what = super()._what_and_many[0]
        return what, "1 answer" if len(self.answers) == 1 else f"{len(self.answers):,} answers"

    @property
    def _chosen(self) -> str:
        return str(self.reused)

    def __repr__(self) -> str:
        return f"<RecalledRelease of {self.workload!r}, at {self._at}>"


def in_memory_words(used: int, bought: Price | None, whole: Price) -> str:
    """What an answer was made of, in a sentence.

    >>> in_memory_words(2, Price.of(0.1), Price.of(0.5))
    'Made of 2 earlier releases and one new measurement: ε = 0.1 instead of ε = 0.5.'
    """
    earlier = "1 earlier release" if used == 1 else f"{used} earlier releases"
    if bought is None:
        return f"Made of {earlier}, which are paid for." if used > 1 else f"Made of {earlier}, which is paid for."
    return f"Made of {earlier} and one new measurement: {bought} instead of {whole}."
