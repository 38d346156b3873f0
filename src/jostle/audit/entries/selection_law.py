"""How much a private choice among a few candidates reveals about two inputs: the law of permute-and-flip, in numbers.

Of all neighbours that move scores as far apart as possible, some show it and some hardly do: where the candidate that falls
behind had no chance anyway, no sample shows the difference. This law says which pairs deserve their samples. No verdict
rests on it: what a pair proves is measured.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from jostle.audit.entries import Pair
from jostle.kernel.partition import Vector

EPSILON = 2.0
"""Pairs are compared at this ε."""

SAMPLES = 20_000
"""Pairs are compared by what this many samples would prove."""

_DEVIATIONS = 4.5
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)


def chances(scores: Vector, reach: float, epsilon: float = EPSILON) -> Vector:
    """The chance of each candidate, if two scores move apart by `reach` at most.

    A candidate whose score is a gap g below the best wins with p ∫ ∏ (1 − p′ t) dt over 0 ≤ t ≤ 1, for p = exp(−ε g / reach)
    and p′ those of the others (McKenna, Sheldon, 2020). The integral of a polynomial is exact for up to 32 candidates.

    >>> import math
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
    # The events that one candidate wins, and that it does not, in both directions.
    events = [(before, after), (after, before), (1 - before, 1 - after), (1 - after, 1 - before)]
    return max(float(np.log(_below(likely).clip(1e-9) / _above(rare)).max()) for likely, rare in events)


def _below(chance: Vector) -> Vector:
    return chance - _DEVIATIONS * np.sqrt(chance / SAMPLES)


def _above(chance: Vector) -> Vector:
    return chance + _DEVIATIONS * np.sqrt(chance / SAMPLES) + _DEVIATIONS**2 / SAMPLES


def most_telling(pairs: Sequence[Pair], scores: Callable[[Any], Vector]) -> list[Pair]:
    """The two pairs that tell most, where the reach is how far scores are seen, and not stated, to move apart."""
    known = [(scores(pair.one), scores(pair.other)) for pair in pairs]
    reach = max(float(np.ptp(after - before)) for before, after in known)
    order = sorted(range(len(pairs)), key=lambda place: telling(*known[place], reach), reverse=True)
    return [pairs[place] for place in order[:2]]
