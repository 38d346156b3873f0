"""Error from ε, and ε from error: inverse to each other, and true."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from jostle import mechanisms
from jostle.kernel.errors import BadInput
from jostle.mechanisms import utility
from tests.kernel.helpers import RELATIONS
from tests.mechanisms.helpers import discrete_pmf, hoeffding, permute_and_flip_probabilities

PAIRS = {
    "laplace": (utility.laplace_error, utility.laplace_epsilon, {"sensitivity": 3.0}),
    "several": (utility.laplace_error, utility.laplace_epsilon, {"sensitivity": 1.0, "numbers": 50}),
    "exponential": (
        utility.exponential_error,
        utility.exponential_epsilon,
        {"candidates": 40, "best": 2, "sensitivity": 2.0},
    ),
    "monotone": (utility.exponential_error, utility.exponential_epsilon, {"candidates": 40, "monotone": True}),
    "line": (utility.exponential_error, utility.exponential_epsilon, {"candidates": 100.0, "best": 0.5}),
    "noisy max": (utility.report_noisy_max_error, utility.report_noisy_max_epsilon, {"candidates": 9, "sensitivity": 2.0}),
    "permute and flip": (utility.permute_and_flip_error, utility.permute_and_flip_epsilon, {"candidates": 9}),
    "above threshold": (utility.above_threshold_error, utility.above_threshold_epsilon, {"queries": 30, "positives": 3}),
    "mean": (utility.clipped_mean_error, utility.clipped_mean_epsilon, {"records": 5000, "bounds": (0, 10)}),
    "mean of n": (
        utility.clipped_mean_error,
        utility.clipped_mean_epsilon,
        {"records": 500, "bounds": (-1, 1), "neighbours": "replace"},
    ),
}


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_both_ways(pair, epsilon, confidence):
    error_of, epsilon_of, settings = PAIRS[pair]
    error = error_of(epsilon, **settings, confidence=confidence)
    assert epsilon_of(error, **settings, confidence=confidence) == pytest.approx(epsilon)
    assert error_of(2 * epsilon, **settings, confidence=confidence) < error


@pytest.mark.parametrize("sigma", [0.3, 1.0, 7.0, 9_999.0, 10_001.0])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_the_error_of_discrete_gaussian_noise_is_its_quantile(sigma, confidence):
    error = utility.discrete_gaussian_error(1 / (2 * sigma**2), confidence=confidence)
    numbers = np.arange(-150_000, 150_001)
    weights = np.exp(-0.5 * (numbers / sigma) ** 2)
    beyond = [weights[np.abs(numbers) > m].sum() / weights.sum() for m in (error, error - 1)]
    assert beyond[0] <= (1 - confidence) * (1 + 1e-6)
    assert error == 0 or beyond[1] > 1 - confidence


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 2.0])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_both_ways_in_whole_numbers(epsilon, confidence):
    error = utility.discrete_laplace_error(epsilon, confidence=confidence)
    least = utility.discrete_laplace_epsilon(error, confidence=confidence)
    assert least <= epsilon
    assert utility.discrete_laplace_error(least, confidence=confidence) == error
    tail = 1 - discrete_pmf(1 / epsilon, error).sum()
    assert tail <= 1 - confidence + 1e-12
    assert error == 0 or 1 - discrete_pmf(1 / epsilon, error - 1).sum() > 1 - confidence


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_both_ways_for_the_large_margin(epsilon):
    gap = utility.large_margin_gap(epsilon, 1e-5, kept=3, sensitivity=2, confidence=0.99)
    assert utility.large_margin_epsilon(gap, 1e-5, kept=3, sensitivity=2, confidence=0.99) == pytest.approx(epsilon)


@pytest.mark.parametrize("confidence", [0.2, 0.9, 1 - math.exp(-3)])
def test_accuracy_and_its_inverse(confidence):
    """P(|error| > tλ) = e^−t."""
    assert mechanisms.accuracy(2.5, confidence) == pytest.approx(-2.5 * math.log(1 - confidence))
    assert mechanisms.scale_for_accuracy(mechanisms.accuracy(2.5, confidence), confidence) == pytest.approx(2.5)
    noise = mechanisms.laplace(np.zeros(50_000), sensitivity=1, budget=mechanisms.simulation(seed=0).grant(0.4))
    within = (np.abs(noise) <= mechanisms.accuracy(2.5, confidence)).mean()
    assert within == pytest.approx(confidence, abs=hoeffding(50_000))


def test_the_largest_of_several_errors():
    budget = mechanisms.simulation(seed=0, trials=5000).grant(0.5)
    noise = mechanisms.laplace(np.zeros(20), sensitivity=1, budget=budget)
    within = (np.abs(noise).max(axis=1) <= mechanisms.accuracy(2.0, 0.9, numbers=20)).mean()
    assert within == pytest.approx(0.9, abs=hoeffding(5000))


SETS = [[0, 0, 0], [5, 4, 3, 0], [9, 1, 1, 1, 1], [20, 20, 0, 0]]


@pytest.mark.parametrize("scores", SETS)
@pytest.mark.parametrize("confidence", [0.3, 0.9])
def test_what_is_chosen_is_rarely_worse_than_stated(scores, confidence):
    best, count = max(scores), scores.count(max(scores))

    def short(probabilities, error):
        return sum(p for p, score in zip(probabilities, scores, strict=True) if score < best - error)

    settings = {"candidates": len(scores), "confidence": confidence}
    exponential = utility.exponential_probabilities(scores, epsilon=1)
    assert short(exponential, utility.exponential_error(1, **settings, best=count)) <= 1 - confidence
    flipped = permute_and_flip_probabilities(scores, 2)
    assert short(flipped, utility.permute_and_flip_error(1, **settings)) <= 1 - confidence + 1e-12
    noise = np.random.default_rng(0).laplace(scale=2, size=(20_000, len(scores)))
    noisy = np.bincount((noise + scores).argmax(axis=1), minlength=len(scores)) / 20_000
    assert short(noisy, utility.report_noisy_max_error(1, **settings)) <= 1 - confidence + hoeffding(20_000)


def test_the_sum_is_off_as_laplace_noise_is():
    values, trials = np.full(100, 3.0), 5000
    sums = mechanisms.clipped_sum(values, bounds=(0, 5), budget=mechanisms.simulation(seed=0, trials=trials).grant(1))
    error = utility.laplace_error(1, sensitivity=5, confidence=0.8)
    assert (np.abs(sums - 300) <= error).mean() == pytest.approx(0.8, abs=hoeffding(trials))


def test_the_rank_of_a_quantile_is_off_as_the_exponential_mechanism_is():
    """Distinct values, evenly spread: the best piece is one in ten thousand of the line; the score moves by 1/2."""
    values, trials = np.arange(10_000) + 0.5, 300
    error = utility.exponential_error(0.1, candidates=10_000, sensitivity=0.5, confidence=0.9)
    purse = mechanisms.simulation(seed=0)
    found = [mechanisms.median(values, bounds=(0, 10_000), budget=purse.grant("0.1")) for _ in range(trials)]
    assert (np.abs(np.array(found) - 5000) <= error + 1).mean() >= 0.9 - hoeffding(trials)


@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf])
def test_what_is_not_positive_is_refused(value):
    for call in (
        lambda: utility.laplace_error(value, sensitivity=1),
        lambda: utility.laplace_epsilon(value, sensitivity=1),
        lambda: utility.exponential_error(value, candidates=3),
        lambda: utility.exponential_epsilon(value, candidates=3),
        lambda: mechanisms.accuracy(value),
        lambda: mechanisms.scale_for_accuracy(value),
        lambda: utility.discrete_laplace_error(value),
    ):
        with pytest.raises(BadInput, match="must be a number above 0"):
            call()


@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf])
def test_what_is_counted_is_at_least_one(value):
    bounds = (0, 1)
    for call in (
        lambda: mechanisms.accuracy(1.0, numbers=value),
        lambda: utility.laplace_epsilon(1, sensitivity=value),
        lambda: utility.discrete_laplace_error(1, sensitivity=value),
        lambda: utility.discrete_laplace_epsilon(value - 1),
        lambda: utility.above_threshold_error(1, queries=value),
        lambda: utility.above_threshold_error(1, queries=3, positives=value),
        lambda: utility.clipped_mean_error(1, records=value, bounds=bounds, neighbours="replace"),
        lambda: utility.clipped_mean_epsilon(1, records=value, bounds=bounds),
        lambda: utility.large_margin_gap(1, 0.1, kept=value),
        lambda: mechanisms.RandomizedResponse(2, epsilon=1).error(value),
        lambda: mechanisms.RandomizedResponse(2, epsilon=1).variance(0.5, value),
        lambda: mechanisms.RandomizedResponse.epsilon_for(value, 100),
    ):
        with pytest.raises(BadInput, match="must be a number above 0"):
            call()


@pytest.mark.parametrize("delta", [0, 1, math.nan])
def test_delta_is_between_0_and_1(delta):
    with pytest.raises(BadInput, match="delta"):
        utility.large_margin_gap(1, delta)
    with pytest.raises(BadInput, match="delta"):
        utility.propose_test_release_distance(1, delta)


@pytest.mark.parametrize(("scores", "lengths"), [([], None), ([1, 2], [1]), ([1, 2], [-1, 2]), ([1, 2], [0, 0])])
def test_probabilities_need_scores_and_lengths(scores, lengths):
    with pytest.raises(BadInput, match="scores|lengths"):
        utility.exponential_probabilities(scores, epsilon=1, lengths=lengths)


@pytest.mark.parametrize("neighbours", RELATIONS, ids=repr)
def test_the_error_of_a_mean_holds_for_all_neighbours(neighbours):
    trials, settings = 4000, {"records": 2000, "bounds": (0, 10), "confidence": 0.9, "neighbours": neighbours}
    error = utility.clipped_mean_error(0.5, **settings)
    assert utility.clipped_mean_epsilon(error, **settings) == pytest.approx(0.5)
    purse = mechanisms.simulation(seed=0, neighbours=neighbours, trials=trials)
    means = mechanisms.clipped_mean(np.full(2000, 4.0), bounds=(0, 10), budget=purse.grant(0.5))
    assert (np.abs(means - 4) <= error).mean() >= 0.9 - hoeffding(trials)


@pytest.mark.parametrize("confidence", [0, 1, -1, 2, math.nan])
def test_confidence_is_between_0_and_1(confidence):
    for call in (mechanisms.accuracy, mechanisms.scale_for_accuracy):
        with pytest.raises(BadInput, match="confidence"):
            call(1.0, confidence)


@pytest.mark.parametrize("value", ["1/2", "0.95", None, Fraction(10**5000), Decimal("sNaN"), 1j, np.array([1.0, 2.0]), [1]])
def test_what_is_no_number_is_refused_by_name(value):
    calls = {
        "confidence": lambda: utility.accuracy(1.0, value),
        "scale": lambda: utility.accuracy(value),
        "error": lambda: utility.scale_for_accuracy(value),
        "epsilon": lambda: utility.laplace_error(value, sensitivity=1),
        "sensitivity": lambda: utility.laplace_error(1, sensitivity=value),
        "gap": lambda: utility.large_margin_epsilon(value, 1e-6),
    }
    for argument, call in calls.items():
        with pytest.raises(BadInput) as refused:
            call()
        assert refused.value.argument == argument
        assert len(str(refused.value)) < 200
    with pytest.raises(BadInput, match="confidence"):
        utility.accuracy(1.0, 1 - Fraction(1, 10**40))
    with pytest.raises(BadInput, match="error"):
        utility.scale_for_accuracy(10**5000)
    assert utility.accuracy(Fraction(1, 2), Decimal("0.95")) == utility.accuracy(0.5, 0.95)


def test_more_best_candidates_than_candidates_are_refused():
    with pytest.raises(BadInput, match="best"):
        utility.exponential_error(1, candidates=3, best=4)


def test_the_stated_probabilities_are_those_of_the_mechanism():
    found = utility.exponential_probabilities([3, 1, 2], epsilon=0.5, neighbours="replace", sensitivity=(1, 1))
    weights = np.exp(np.array([3, 1, 2]) * 0.5 / 2)
    assert found == pytest.approx(weights / weights.sum())
