"""How large a mechanism's noise gets, at a confidence, in units of its scale: what `utility` turns into errors and ε."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from jostle.kernel.errors import BadInput
from jostle.kernel.neighbours import Neighbours
from jostle.mechanisms.arguments import Moves, check_confidence, check_positive
from jostle.mechanisms.threshold import scales


def laplace_quantile(confidence: float, numbers: int) -> float:
    """The t with P(some |error| > t · scale) = 1 − confidence."""
    return -math.log(-math.expm1(math.log(check_confidence(confidence)) / check_positive(numbers, "numbers")))


def exponential_quantile(candidates: float, best: float, confidence: float) -> float:
    """How far below the best a choice of the exponential mechanism is: all worse candidates together are that unlikely."""
    if not 0 < best <= candidates:
        raise BadInput("best", "must be above 0 and at most the number of candidates", "leave it out")
    return math.log(candidates / best) - math.log(1 - check_confidence(confidence))


def noisy_max_quantile(candidates: int, confidence: float) -> float:
    """The t with (candidates − 1) · P(difference of two Laplace variables > t) = 1 − confidence; that is e^−t(2 + t)/4."""
    tail = 1 - check_confidence(confidence)
    return root(lambda t: t - math.log((candidates - 1) * (2 + t) / (4 * tail))) if candidates > 1 else 0.0


def one_sided_quantile(candidates: int, confidence: float) -> float:
    """The t with (candidates − 1) · P(difference of two exponential variables > t) = 1 − confidence; that is e^−t/2."""
    tail = 2 * (1 - check_confidence(confidence))
    return math.log((candidates - 1) / tail) if candidates - 1 > tail else 0.0


def two_sums_quantile(neighbours: Neighbours, confidence: float) -> float:
    """How many widths both sums of a mean are off at most, times ε."""
    return float(neighbours.sensitivity(1, 2)) * math.log(2 / (1 - check_confidence(confidence)))


def threshold_quantile(queries: int, positives: int, sensitivity: float, monotone: bool, confidence: float) -> float:
    """How far the threshold's noise and the largest of the queries' together are off at most, times ε."""
    check_positive(queries, "queries")
    check_positive(positives, "positives")
    moves = Moves.of(sensitivity, monotone=monotone)
    threshold, query = scales(moves, Neighbours(), Fraction(1), positives, monotone)
    tail = (1 - check_confidence(confidence)) / 2
    return float(threshold) * -math.log(tail) + float(query) * math.log(queries / tail)


def margin_quantile(delta: float, kept: int, confidence: float) -> float:
    """The threshold of the search times ε, plus noise in the other direction, and without the 2 · sensitivity."""
    check_positive(kept, "kept")
    if not 0 < delta < 1:
        raise BadInput("delta", f"must be between 0 and 1, got {delta!r}", "pass for instance 1e-6")
    sought = 6 * math.log(2 * kept / delta) + 9 * math.log(6 / delta) + 12 * math.log(6 * kept * (kept + 1) / delta)
    return sought + 21 * math.log(3 / (1 - check_confidence(confidence)))


def apart(sensitivity: float, monotone: bool) -> float:
    """How far one record moves two scores apart: twice as far as one of them, unless both move in the same direction."""
    return check_positive(sensitivity, "sensitivity") * (1 if monotone else 2)


def root(rising: Callable[[float], float]) -> float:
    """Where a function that rises from below 0 is 0."""
    low, high = 0.0, 1.0
    while rising(high) < 0:
        low, high = high, 2 * high
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) < 0 else (low, middle)
    return high
