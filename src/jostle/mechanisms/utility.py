"""How far off an answer is at a given ε, and which ε keeps it that close: both directions, for every mechanism.

Everything here is about public numbers. An error holds with the stated confidence, for any data; where a formula is not
exact, it errs on the safe side. `sensitivity` is the number for the neighbours at hand. Randomized response has these
as methods.

For most mechanisms the error times ε does not depend on ε. Then one formula gives either from the other.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from statistics import NormalDist
from typing import Any, Final

import numpy as np

from jostle.kernel.errors import BadInput
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.partition import Vector
from jostle.mechanisms.arguments import check_bounds, check_confidence, check_positive, finite_scores
from jostle.mechanisms.propose_test_release import needed_distance
from jostle.mechanisms.sampling import exponential_weights
from jostle.mechanisms.sensitivity import Lattice, Sensitivity
from jostle.mechanisms.threshold import scales


def accuracy(scale: float, confidence: float = 0.95, *, numbers: int = 1) -> float:
    """How far Laplace noise of this scale is off at most: P(|error| > t · scale) = e^−t.

    With several numbers, the largest of their errors.

    >>> round(accuracy(2.0, 0.95), 3), round(accuracy(2.0, 0.95, numbers=100), 3)
    (5.991, 15.151)
    """
    return check_positive(scale, "scale") * _laplace_quantile(confidence, numbers)


def scale_for_accuracy(error: float, confidence: float = 0.95, *, numbers: int = 1) -> float:
    """The scale of Laplace noise that is off by at most this: the inverse of `accuracy`.

    >>> round(scale_for_accuracy(5.991, 0.95), 3)
    2.0
    """
    return check_positive(error, "error") / _laplace_quantile(confidence, numbers)


def _laplace_quantile(confidence: float, numbers: int) -> float:
    """The t with P(some |error| > t · scale) = 1 − confidence."""
    return -math.log(-math.expm1(math.log(check_confidence(confidence)) / check_positive(numbers, "numbers")))


def laplace_error(epsilon: float, *, sensitivity: float, confidence: float = 0.95, numbers: int = 1) -> float:
    """How far `laplace` is off: sensitivity/ε · ln(1/(1 − confidence)).

    >>> round(laplace_error(0.5, sensitivity=1), 3)
    5.991
    """
    scale = check_positive(sensitivity, "sensitivity") / check_positive(epsilon, "epsilon")
    return accuracy(scale, confidence, numbers=numbers)


def laplace_epsilon(error: float, *, sensitivity: float, confidence: float = 0.95, numbers: int = 1) -> float:
    """The ε at which `laplace` is off by at most this.

    >>> round(laplace_epsilon(5.991, sensitivity=1), 3)
    0.5
    """
    return check_positive(sensitivity, "sensitivity") / scale_for_accuracy(error, confidence, numbers=numbers)


def discrete_laplace_error(epsilon: float, *, sensitivity: float = 1, confidence: float = 0.95) -> int:
    """How far `discrete_laplace`, and a step of `GradualRelease`, is off: the least m with P(|error| > m) ≤ 1 − confidence.

    P(|error| > m) = 2a^(m+1)/(1 + a), where a = exp(−ε/sensitivity).

    >>> discrete_laplace_error(0.5)
    6
    """
    rate = check_positive(epsilon, "epsilon") / check_positive(sensitivity, "sensitivity")
    tail = 1 - check_confidence(confidence)
    return max(0, math.ceil(math.log(2 / ((1 + math.exp(-rate)) * tail)) / rate - 1 - 1e-9))


def discrete_laplace_epsilon(error: int, *, sensitivity: float = 1, confidence: float = 0.95) -> float:
    """The least ε at which `discrete_laplace` is off by at most this whole number.

    >>> round(discrete_laplace_epsilon(6), 3)
    0.457
    """
    tail, steps = 1 - check_confidence(confidence), check_positive(error + 1, "error")
    size = check_positive(sensitivity, "sensitivity")
    return size * _root(lambda rate: steps * rate - math.log(2 / ((1 + math.exp(-rate)) * tail)))


_SUMMED: Final = 10.0**4
"""Up to this standard deviation, the probabilities of a discrete Gaussian are added up; beyond it, it is a Gaussian."""


def discrete_gaussian_error(rho: float, *, sensitivity: float = 1, confidence: float = 0.95) -> int:
    """How far discrete Gaussian noise of variance sensitivity²/2ρ is off: the least m with P(|error| > m) ≤ 1 − confidence.

    >>> discrete_gaussian_error(0.02), discrete_gaussian_error(2e-8), discrete_gaussian_error(50)
    (10, 9800, 0)
    """
    sigma = check_positive(sensitivity, "sensitivity") / math.sqrt(2 * check_positive(rho, "rho"))
    tail = 1 - check_confidence(confidence)
    if sigma > _SUMMED:
        return math.ceil(NormalDist().inv_cdf(1 - tail / 2) * sigma - 0.5)
    weights = [math.exp(-0.5 * (number / sigma) ** 2) for number in range(math.ceil(12 * sigma) + 2)]
    beyond, total = 0.0, 2 * math.fsum(weights) - 1
    for number in range(len(weights) - 1, 0, -1):
        beyond += 2 * weights[number]
        if beyond > tail * total * (1 + 1e-9):
            return number
    return 0


def exponential_error(
    epsilon: float,
    *,
    candidates: float,
    best: float = 1,
    sensitivity: float = 1,
    monotone: bool = False,
    confidence: float = 0.95,
) -> float:
    """How far below the best the score of what `exponential` chose is, at most.

    It is reach/ε · (ln(candidates/best) + ln(1/(1 − confidence))): all worse candidates together are that unlikely.

    `best` is how many candidates have the best score. For `exponential_line`, both are lengths; for `quantiles`, the
    error is in ranks.

    McSherry, Talwar: Mechanism design via differential privacy, FOCS 2007; Dwork, Roth, 2014, Theorem 3.11.

    >>> round(exponential_error(1, candidates=4, confidence=1 - math.exp(-3)), 2)
    8.77
    """
    scale = _reach(sensitivity, monotone) / check_positive(epsilon, "epsilon")
    if not 0 < best <= candidates:
        raise BadInput("best", "must be above 0 and at most the number of candidates", "leave it out")
    return scale * (math.log(candidates / best) - math.log(1 - check_confidence(confidence)))


def exponential_epsilon(error: float, **settings: Any) -> float:
    """The ε at which `exponential_error`, with the same settings, is this: both are in inverse proportion.

    >>> round(exponential_epsilon(8.77, candidates=4, confidence=1 - math.exp(-3)), 2)
    1.0
    """
    return exponential_error(check_positive(error, "error"), **settings)


def exponential_probabilities(
    scores: Any,
    *,
    epsilon: float,
    sensitivity: Any = 1,
    monotone: bool = False,
    neighbours: Neighbours | str = "add_remove",
    lengths: Any = None,
) -> Vector:
    """The probability of each candidate, or of each piece of these lengths, on **public** scores.

    >>> exponential_probabilities([27, 23, 9, 0], epsilon=0.1).round(2).tolist()
    [0.4, 0.33, 0.16, 0.1]
    """
    stated, relation = Sensitivity.of(sensitivity, monotone=monotone), Neighbours.of(neighbours)
    lattice = Lattice.for_sensitivity(stated, relation)
    reach = lattice.sensitivity.reach(relation, monotone=monotone)
    values, sizes = finite_scores(scores), None if lengths is None else finite_scores(lengths, "lengths")
    if values.size == 0:
        raise BadInput("scores", "are empty", "pass at least one")
    if sizes is not None and (sizes.size != values.size or sizes.min() < 0 or sizes.max() == 0):
        raise BadInput("lengths", "must be one per score, not negative, and not all 0", "pass for instance np.diff(edges)")
    gaps = lattice.gaps(values, sizes)
    weights = exponential_weights(gaps, reach / Fraction(check_positive(epsilon, "epsilon")), sizes)
    return np.asarray(weights / weights.sum())


def report_noisy_max_error(
    epsilon: float, *, candidates: int, sensitivity: float = 1, monotone: bool = False, confidence: float = 0.95
) -> float:
    """How far below the best the score of what `report_noisy_max` chose is, at most.

    It is reach/ε · t with (candidates − 1) · e^−t(2 + t)/4 = 1 − confidence: that is how likely another candidate's Laplace
    noise is t larger than the best one's.

    >>> round(report_noisy_max_error(1, candidates=4), 2)
    9.19
    """
    scale, tail = _reach(sensitivity, monotone) / check_positive(epsilon, "epsilon"), 1 - check_confidence(confidence)
    if candidates <= 1:
        return 0.0
    return scale * _root(lambda t: t - math.log((candidates - 1) * (2 + t) / (4 * tail)))


def report_noisy_max_epsilon(error: float, **settings: Any) -> float:
    """The ε at which `report_noisy_max_error`, with the same settings, is this: both are in inverse proportion.

    >>> round(report_noisy_max_epsilon(9.19, candidates=4), 2)
    1.0
    """
    return report_noisy_max_error(check_positive(error, "error"), **settings)


def permute_and_flip_error(
    epsilon: float, *, candidates: int, sensitivity: float = 1, monotone: bool = False, confidence: float = 0.95
) -> float:
    """How far below the best the score of what `permute_and_flip` chose is; also for `stable_selection`.

    It is reach/ε · t with (candidates − 1) · e^−t/2 = 1 − confidence: that is how likely another candidate's exponential
    noise is t larger than the best one's.

    >>> round(permute_and_flip_error(1, candidates=4), 2)
    6.8
    """
    scale, tail = _reach(sensitivity, monotone) / check_positive(epsilon, "epsilon"), 2 * (1 - check_confidence(confidence))
    return scale * math.log((candidates - 1) / tail) if candidates - 1 > tail else 0.0


def permute_and_flip_epsilon(error: float, **settings: Any) -> float:
    """The ε at which `permute_and_flip_error`, with the same settings, is this: both are in inverse proportion.

    >>> round(permute_and_flip_epsilon(6.8, candidates=4), 2)
    1.0
    """
    return permute_and_flip_error(check_positive(error, "error"), **settings)


def above_threshold_error(
    epsilon: float,
    *,
    queries: int,
    positives: int = 1,
    sensitivity: float = 1,
    monotone: bool = False,
    confidence: float = 0.95,
) -> float:
    """How far a query may be on the wrong side of the threshold and still be answered wrongly by `AboveThreshold`.

    The noise on the threshold and that on each query, half of the remaining chance for each (Dwork, Roth, 2014, Theorem
    3.24).

    >>> round(above_threshold_error(1, queries=100), 1)
    36.6
    """
    check_positive(queries, "queries")
    check_positive(positives, "positives")
    stated = Sensitivity.of(sensitivity, monotone=monotone)
    threshold, query = scales(stated, Neighbours(), Fraction(1), positives, monotone)
    tail = (1 - check_confidence(confidence)) / 2
    off = float(threshold) * -math.log(tail) + float(query) * math.log(queries / tail)
    return off / check_positive(epsilon, "epsilon")


def above_threshold_epsilon(error: float, **settings: Any) -> float:
    """The ε at which `above_threshold_error`, with the same settings, is this: both are in inverse proportion.

    >>> round(above_threshold_epsilon(36.6, queries=100), 2)
    1.0
    """
    return above_threshold_error(check_positive(error, "error"), **settings)


def clipped_mean_error(
    epsilon: float,
    *,
    records: int,
    bounds: tuple[float, float],
    confidence: float = 0.95,
    neighbours: Neighbours | str = "add_remove",
) -> float:
    """How far `clipped_mean` is off on this many records; for `clipped_sum`, there is `laplace_error`.

    Where records are replaced: laplace_error of the width over their number. Where they are added and removed, both
    sums are off by at most t widths with t = ln(2/(1 − confidence))/ε, and the mean by width · t/(records − 2t). Where
    one person has several records, t is that many times as large.

    >>> round(clipped_mean_error(1, records=1000, bounds=(0, 100)), 3)
    0.372
    """
    width, public, widths_off = _two_sums(records, bounds, confidence, neighbours)
    if public:
        return laplace_error(epsilon, sensitivity=width / records, confidence=confidence)
    off = widths_off / check_positive(epsilon, "epsilon")
    return width * off / (records - 2 * off) if records > 3 * off else width


def clipped_mean_epsilon(
    error: float,
    *,
    records: int,
    bounds: tuple[float, float],
    confidence: float = 0.95,
    neighbours: Neighbours | str = "add_remove",
) -> float:
    """The ε at which `clipped_mean_error` is this.

    >>> round(clipped_mean_epsilon(0.372, records=1000, bounds=(0, 100)), 2)
    1.0
    """
    width, public, widths_off = _two_sums(records, bounds, confidence, neighbours)
    if public:
        return laplace_epsilon(error, sensitivity=width / records, confidence=confidence)
    return widths_off * (width + 2 * check_positive(error, "error")) / (error * records)


def _two_sums(
    records: int, bounds: tuple[float, float], confidence: float, neighbours: Neighbours | str
) -> tuple[float, bool, float]:
    """The bounds' width, whether the number of records is public, and how many widths both sums are off at most, times ε."""
    (low, high), relation = check_bounds(bounds), Neighbours.of(neighbours)
    check_positive(records, "records")
    off = float(relation.sensitivity(1, 2)) * math.log(2 / (1 - check_confidence(confidence)))
    return high - low, relation.total_is_public, off


def large_margin_gap(
    epsilon: float, delta: float, *, kept: int = 1, sensitivity: float = 1, confidence: float = 0.95
) -> float:
    """How far behind the best all but `kept` candidates must be for `large_margin` to forget them, however many there are.

    >>> round(large_margin_gap(1, 1e-6, kept=1))
    511
    """
    size = check_positive(sensitivity, "sensitivity")
    return 2 * size + size * _margin(delta, kept, confidence) / check_positive(epsilon, "epsilon")


def large_margin_epsilon(
    gap: float, delta: float, *, kept: int = 1, sensitivity: float = 1, confidence: float = 0.95
) -> float:
    """The ε at which `large_margin_gap` is this.

    >>> round(large_margin_epsilon(511, 1e-6, kept=1), 2)
    1.0
    """
    size = check_positive(sensitivity, "sensitivity")
    return size * _margin(delta, kept, confidence) / check_positive(check_positive(gap, "gap") - 2 * size, "gap")


def propose_test_release_distance(epsilon: float, delta: float, *, confidence: float = 0.95) -> int:
    """The least distance from which `propose_test_release` answers with this probability, where a person has one record.

    The answer is then off by what `laplace_error` says of half of ε and the proposed sensitivity.

    >>> propose_test_release_distance(1, 1e-6)
    33
    """
    scale = 2 / check_positive(epsilon, "epsilon")
    needed = needed_distance(Fraction(1), Fraction(scale), _share(delta))
    # Noise of −m or less fails a distance m − 1 above what is needed. It has the probability a^m/(1 + a), a = exp(−1/scale).
    below = -scale * math.log((1 - check_confidence(confidence)) * (1 + math.exp(-1 / scale)))
    return needed + max(math.ceil(below - 1e-9), 1) - 1


def propose_test_release_epsilon(distance: int, delta: float, *, confidence: float = 0.95) -> float:
    """The least ε at which `propose_test_release_distance` is at most this.

    >>> round(propose_test_release_epsilon(33, 1e-6), 2)
    0.99
    """
    check_positive(distance - 1, "distance")

    def spare(epsilon: float) -> float:
        return distance - propose_test_release_distance(epsilon, delta, confidence=confidence) if epsilon else -1.0

    return _root(spare)


def _margin(delta: float, kept: int, confidence: float) -> float:
    """The threshold of the search times ε, plus noise in the other direction, and without the 2 · sensitivity."""
    check_positive(kept, "kept")
    delta = _share(delta)
    sought = 6 * math.log(2 * kept / delta) + 9 * math.log(6 / delta) + 12 * math.log(6 * kept * (kept + 1) / delta)
    return sought + 21 * math.log(3 / (1 - check_confidence(confidence)))


def _share(delta: float) -> float:
    if not 0 < delta < 1:
        raise BadInput("delta", f"must be between 0 and 1, got {delta!r}", "pass for instance 1e-6")
    return delta


def _reach(sensitivity: float, monotone: bool) -> float:
    """How far one record moves two scores apart: twice as far as one of them, unless both move in the same direction."""
    return check_positive(sensitivity, "sensitivity") * (1 if monotone else 2)


def _root(rising: Callable[[float], float]) -> float:
    """Where a function that rises from below 0 is 0, rounded up."""
    low, high = 0.0, 1.0
    while rising(high) < 0:
        low, high = high, 2 * high
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if rising(middle) < 0 else (low, middle)
    return high
