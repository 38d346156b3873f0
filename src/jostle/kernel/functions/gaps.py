"""How far public estimates of histograms are from the records' own, in L1: what a synthetic table should measure next.

Proof: docs/proofs/synthetic.md; tests/kernel/test_gaps.py tries it on all neighbours of small tables.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np

from jostle.kernel.arguments import check_finite, check_whole
from jostle.kernel.errors import BadInput
from jostle.kernel.partition import Counts, Vector, fixed

GRAIN: Final = 2**6
"""Estimates and handicaps are rounded to this fraction of a record."""

LARGEST: Final = 2**40
"""No estimate or handicap is larger, in total: then all scores are exact in 64 bits."""


@final
@dataclass(frozen=True, eq=False)
class MarginalGap:
    """A histogram that might be measured, with what is believed of it so far.

    Its score is weight × (Σ |count − estimate| − handicap), in exact units.

    >>> MarginalGap(("a",), np.array([2.0, 1.0]), weight=3, handicap=1).score(np.array([0, 4])) // GRAIN
    12
    """

    names: tuple[str, ...]
    """The attributes whose combinations of values are counted."""

    estimate: Vector
    """The public estimate of each count, flat, the last attribute changing fastest."""

    weight: int = 1
    """How much the histogram matters."""

    handicap: float = 0.0
    """A public number of records, such as what noise would add to the gap."""

    def __post_init__(self) -> None:
        estimate = np.asarray(self.estimate, dtype=np.float64).reshape(-1)
        if not np.isfinite(estimate).all() or np.abs(estimate).sum() > LARGEST:
            raise BadInput("estimate", "must be finite numbers of records", "clip it to possible counts")
        object.__setattr__(self, "estimate", fixed(np.round(estimate * GRAIN).astype(np.int64)))
        object.__setattr__(self, "weight", check_whole(self.weight, "weight", "leave it out", least=1, most=2**12))
        check_finite(self.handicap, "handicap", "leave it out", least=-LARGEST, most=LARGEST)

    def score(self, counts: Counts) -> int:
        """The true score: for operators only."""
        gap = np.abs(counts * GRAIN - self.estimate).sum()
        return self.weight * (int(gap) - round(self.handicap * GRAIN))


def gap_sensitivities(gaps: Sequence[MarginalGap]) -> tuple[int, int]:
    """How far one record moves two scores apart at most, in units: added or removed, replaced.

    One added moves one count of each histogram by one, and so each sum by at most one, up or down; one replaced by two.

    >>> gap_sensitivities([MarginalGap(("a",), np.zeros(2), weight=w) for w in (1, 5, 2)]) == (7 * GRAIN, 14 * GRAIN)
    True
    """
    apart = GRAIN * sum(sorted((gap.weight for gap in gaps), reverse=True)[:2])
    return apart, 2 * apart
