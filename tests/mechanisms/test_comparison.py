"""Composition and post-processing in practice, and the lecture's comparisons of mechanisms."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from jostle import mechanisms
from jostle.kernel.errors import Overdraft
from jostle.kernel.partition import Partition
from jostle.kernel.source import ReleaseSource, simulation
from jostle.kernel.strategies import total
from jostle.mechanisms import RandomizedResponse, utility
from tests.mechanisms.helpers import discrete_pmf


def response_deviation(respondents, epsilon):
    """The standard deviation of a count by randomized response."""
    return respondents * math.sqrt(RandomizedResponse(2, epsilon=epsilon).variance(0.5, respondents))


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_laplace_does_not_depend_on_the_number_of_people_and_randomized_response_does(epsilon):
    """O(1/ε) against O(√N/ε)."""
    people = np.array([100, 400, 10_000])
    found = np.array([response_deviation(n, epsilon) for n in people])
    assert found / np.sqrt(people) == pytest.approx(math.exp(epsilon / 2) / math.expm1(epsilon))
    if epsilon < 1:
        assert found / np.sqrt(people) == pytest.approx(1 / epsilon, rel=0.01)
    assert (found > math.sqrt(2) / epsilon).all()


def test_the_two_deviations_are_seen_in_simulations():
    people, trials, epsilon = np.repeat([0, 1], [9_000, 1_000]), 400, 1.0
    response = RandomizedResponse(2, epsilon=epsilon)
    local = [10_000 * response.estimate(response.simulate(people, seed=seed)).fractions[1] for seed in range(trials)]
    central = mechanisms.laplace(1_000.0, sensitivity=1, budget=simulation(seed=0, trials=trials).grant(epsilon))
    assert np.std(local) == pytest.approx(response_deviation(10_000, epsilon), rel=0.25)
    assert np.std(central) == pytest.approx(math.sqrt(2) / epsilon, rel=0.25)
    assert np.std(local) > 50 * np.std(central)


def test_a_number_by_the_exponential_mechanism_is_laplace_noise_of_twice_the_scale():
    """With the score −|f − output|, on whole numbers: discrete Laplace noise of scale 2Δ/ε."""
    outputs = np.arange(-300, 301)
    found = utility.exponential_probabilities(-np.abs(outputs), epsilon=0.5, sensitivity=1)
    assert found == pytest.approx(discrete_pmf(2 / 0.5, 300), rel=1e-9)


def test_one_after_the_other_epsilons_add_up(account):
    budget = account.grant(1)
    first, second = budget.split(1, 3)
    mechanisms.discrete_laplace(40, sensitivity=1, budget=first)
    mechanisms.median([1, 2, 3], bounds=(0, 10), budget=second)
    assert account.spent == Fraction(1)
    assert [event.amount for event in account.ledger.events(account.name)[1:]] == [Fraction(1, 4), Fraction(3, 4)]


def test_disjoint_parts_share_one_epsilon(account):
    source = ReleaseSource([30, 40, 50, 60], purse=account.purse())
    parts = source.split(Partition.intervals([0, 2], 4), source.grant("1/2"))
    answers = [part.measure(total(2), token) for part, token in parts]
    assert len(answers) == 2
    assert account.spent == Fraction(1, 2)


def test_post_processing_is_free(account):
    noisy = mechanisms.discrete_laplace([30, 40, 50], sensitivity=1, budget=account.grant(1))
    shares = np.maximum(noisy, 0) / max(1, np.maximum(noisy, 0).sum())
    assert shares.shape == (3,)
    assert account.spent == 1


def test_a_cap_holds_for_all_mechanisms_together(account):
    account.ledger.set_cap(account.name, 1)
    mechanisms.laplace(1.0, sensitivity=1, budget=account.grant("0.9"))
    with pytest.raises(Overdraft, match=r"requested ε = 0\.2, remaining 0\.1\. Request at most 0\.1;"):
        mechanisms.median([1, 2], bounds=(0, 5), budget=account.grant("0.2"))
