"""How far a private choice among a few candidates gives two inputs away: the law of permute-and-flip, in numbers.

Of all neighbours that move scores as far apart as they can be moved, some show it and some hardly do: where the candidate
that falls behind had no chance anyway, no sample will tell. This law says which pairs are worth their samples. It is not
believed by anybody: what a pair proves is measured.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from jostle.kernel.partition import Vector

EPSILON = 2.0
"""Pairs are compared at this ε."""

SAMPLES = 20_000
"""By what so many samples would prove."""

_DEVIATIONS = 4.5
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)


def chances(scores: Vector, reach: float, epsilon: float = EPSILON) -> Vector:
    """The chance of each candidate, if two scores move apart by `reach` at most.

    A candidate whose score is a gap g below the best wins with p ∫ ∏ (1 − p′ t) dt over 0 ≤ t ≤ 1, for p = exp(−ε g / reach)
    and p′ those of the others (McKenna, Sheldon, 2020). The integral of a polynomial is exact for up to 32 candidates.

    >>> chances(np.array([0.0, 1.0]), 1.0, epsilon=math.log(2)).round(6).tolist()  # half of 1/2, and the rest
    [0.25, 0.75]
    """
    kept = np.exp(-epsilon * (scores.max() - scores) / reach)
    times = (_NODES + 1) / 2
    survive = 1 - kept[:, None] * times
    found = [np.prod(np.delete(survive, place, axis=0), axis=0) @ _WEIGHTS / 2 for place in range(kept.size)]
    return np.asarray(kept * np.array(found))


def telling(one: Vector, other: Vector, reach: float) -> float:
    """The ε that samples of the winner would prove about two vectors of scores, in the better direction.

    >>> tie = np.zeros(6)
    >>> telling(tie, np.array([0, 1, 1, 1, 1, 1.0]), 1.0) > telling(tie, np.array([1.0, 0, 0, 0, 0, 0]), 1.0)
    True
    """
    if reach <= 0:
        return 0.0
    before, after = chances(one, reach), chances(other, reach)
    return max(_proven(before, after), _proven(after, before))


def _proven(likely: Vector, rare: Vector) -> float:
    """For the best of the events that one candidate wins, and that it does not."""
    events = [(likely, rare), (1 - likely, 1 - rare)]
    return max(float(np.log(_below(p).clip(1e-9) / _above(q)).max()) for p, q in events)


def _below(chance: Vector) -> Vector:
    return chance - _DEVIATIONS * np.sqrt(chance / SAMPLES)


def _above(chance: Vector) -> Vector:
    return chance + _DEVIATIONS * np.sqrt(chance / SAMPLES) + _DEVIATIONS**2 / SAMPLES


def furthest(moves: Iterable[Vector]) -> float:
    """How far any of these changes of scores moves two candidates apart.

    >>> furthest([np.array([0, 1.0]), np.array([2.0, -1.0])])
    3.0
    """
    return max((float(move.max() - move.min()) for move in moves), default=math.nan)
