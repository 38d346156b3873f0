"""How far a model is off from a table in histograms that were not measured: bounds that hold in 95 of 100 cases.

A choice takes nearly the worst histogram. So what was chosen, and then measured, bounds how bad all others can be (McKenna,
Mullins, Sheldon and Miklau, 2022, Section 5). Post-processing. Proof: docs/proofs/synthetic.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from jostle.kernel.functions.gaps import GRAIN
from jostle.synthetic.estimate import Fitted
from jostle.synthetic.junction_tree import Clique
from jostle.synthetic.model import FloatArray
from jostle.synthetic.select import Offer

FAILURE = 0.05
"""How often a bound may fail."""


@dataclass(frozen=True, eq=False)
class GapBound:
    """The L1 distance of a histogram's counts from their estimates is at most `distance` records."""

    axes: Clique
    estimate: FloatArray
    """The estimates at the time of the choice, flat."""

    distance: float

    def against(self, fitted: Fitted) -> GapBound:
        """The bound on the distance from another model: larger by how far the two models are apart."""
        now = fitted.counts(self.axes).reshape(-1)
        return GapBound(self.axes, now, self.distance + float(np.abs(now - self.estimate).sum()))


def gap_bounds(offered: Offer, chosen: int, noisy: FloatArray, deviation: float, scale: float) -> Mapping[Clique, GapBound]:
    """Bounds for every candidate of a choice, each of which holds with probability 0.95.

    With probability 0.975 the chosen score is at least a candidate's less scale · ln(candidates / 0.025). And with that
    probability the chosen gap is at most its noisy one plus a one-sided bound on the noise (Cantelli's inequality): noise
    makes a sum of absolute values larger on average, never smaller.
    """
    half = FAILURE / 2
    gap = offered.gaps[chosen]
    tail = deviation * math.sqrt(noisy.size * (1 - half) / half)
    seen = float(np.abs(noisy - gap.estimate / GRAIN).sum()) + tail
    best = gap.weight * (seen - gap.handicap) + scale * math.log(len(offered.gaps) / half)
    found = {}
    for axes, one in zip(offered.axes, offered.gaps, strict=True):
        distance = seen if one is gap else one.handicap + best / one.weight
        found[axes] = GapBound(axes, one.estimate / GRAIN, max(distance, 0.0))
    return found
