"""The loops over records behind objective perturbation: how each record pulls at the scores, and how its loss bends.

Sums of pulls are compensated (Neumaier's), so that their error does not grow with the number of records squared.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from jostle.kernel.compiled import compiled

WITHIN = 1 - 2.0**-20
"""Constants of the loss are moved so far to the safe side, for rounding."""


@compiled
def border_slope(bend: float) -> Any:
    """The slope at which a logistic loss's curvature begins to exceed bend·(1/2 − slope)."""
    return WITHIN * bend / (1 + bend + math.sqrt(1 + bend * bend))


@compiled
def bent(lead: float, bend: float) -> Any:
    """A loss that falls with the lead: its slope's size, below 1/2, and its curvature.

    Logistic, except that the curvature is nowhere above bend·(1/2 − slope).
    """
    start = border_slope(bend)
    border = math.log(1 / start - 1)
    if lead >= border:
        odds = math.exp(-lead)
        slope = odds / (1 + odds)
        return slope, slope * (1 - slope)
    short = (0.5 - start) * math.exp(bend * (lead - border))
    return 0.5 - short, bend * short


@compiled
def lead(z: Any, label: int, others: Any) -> Any:
    """How far a class's score is above the others', added up as odds; fills in the others' shares of these."""
    top = -math.inf
    for c in range(z.size):
        if c != label:
            top = max(top, z[c])
    total = 0.0
    for c in range(z.size):
        others[c] = 0.0 if c == label else math.exp(z[c] - top)
        total += others[c]
    others /= total
    return z[label] - top - math.log(total)


@compiled
def _add(places: Any, weight: float, pull: Any, curve: Any, slopes: Any, lost: Any, bends: Any) -> None:
    """Count a record's derivatives in all its cells; what a sum loses to rounding is kept beside it."""
    for i, place in enumerate(places):
        for c in range(pull.size):
            term, before = weight * pull[c], slopes[place, c]
            after = before + term
            slopes[place, c] = after
            lost[place, c] += (before - after) + term if abs(before) >= abs(term) else (term - after) + before
        for j in range(i + 1):  # the other half follows by symmetry
            part = weight / 2 if j == i else weight
            for c in range(pull.size):
                for e in range(pull.size):
                    bends[place, c, places[j], e] += part * curve[c, e]


@compiled
def sums(places: Any, labels: Any, weights: Any, cells: Any, bend: float) -> Any:
    """The loss's derivatives by the scores of cells: first (cells × scores) and second (cells × scores, twice)."""
    count, scores = cells.shape
    slopes, lost = np.zeros((count, scores)), np.zeros((count, scores))
    bends = np.zeros((count, scores, count, scores))
    z, others = np.empty(scores), np.empty(scores)
    pull, curve = np.empty(scores), np.empty((scores, scores))
    for i in range(places.shape[0]):
        z[:] = 0.0
        for place in places[i]:
            for c in range(scores):
                z[c] += cells[place, c]
        if scores == 1:
            sign = 2.0 * labels[i] - 1.0
            slope, curvature = bent(sign * z[0], bend)
            pull[0], curve[0, 0] = -sign * slope, curvature
        else:
            slope, curvature = bent(lead(z, labels[i], others), bend)
            others[labels[i]] = -1.0  # now the direction in which the lead falls
            for c in range(scores):
                pull[c] = slope * others[c]
                for e in range(scores):
                    curve[c, e] = (curvature - slope * (c != labels[i] and e != labels[i])) * others[c] * others[e]
                if c != labels[i]:
                    curve[c, c] += slope * others[c]
        _add(places[i], weights[i], pull, curve, slopes, lost, bends)
    return slopes + lost, bends + bends.transpose(2, 3, 0, 1)
