"""Selecting keys: probabilities against the closed form, (ε, δ) by enumeration, and draws against their probabilities."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from jostle.kernel.budget import Price
from jostle.kernel.decimals import context, decimal, normal
from jostle.kernel.errors import BadInput, PlanError
from jostle.kernel.functions.totals import Contribution
from jostle.kernel.key_selection import (
    CERTAIN,
    KeySelection,
    best_method,
    counted_selection,
    gaussian_selection,
    optimal_selection,
    rule_for,
)
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.noise import ExactNoise, SimulatedNoise

EPSILONS = st.integers(1, 300).map(lambda k: Fraction(k, 100))
DELTAS = st.integers(3, 30).map(lambda k: Fraction(1, 2**k))


def optimal_probability(people: object, epsilon: float, delta: float) -> np.ndarray:
    """π(n), the largest probability with which a key of n people may be released, one key per person: the closed form."""
    n = np.asarray(people, dtype=np.float64)
    growth = math.expm1(epsilon)
    turn = 1 + math.floor(math.log((growth + 2 * delta) / (delta * (growth + 2))) / epsilon)
    rising = delta * np.expm1(np.minimum(n, turn) * epsilon) / growth
    left = np.exp(-np.maximum(n - turn, 0) * epsilon)
    return np.minimum((1 - left) * (1 + delta / growth) + left * rising, 1.0)


def below_exp(epsilon):
    return Fraction(context().exp(decimal(epsilon, context()))) * (1 - Fraction(1, 10**45))


@given(EPSILONS, DELTAS, st.integers(1, 4))
def test_consecutive_probabilities_are_private_exactly(epsilon, delta, groups):
    """For one key, (ε, δ) is four inequalities between the probabilities at n and n + 1, here in fractions."""
    factor, part = below_exp(epsilon / groups), delta / groups
    chances = [Fraction(int(units), CERTAIN) for units in optimal_selection(epsilon, delta, groups).table]
    assert chances[0] == 0
    assert chances[-1] == 1
    for here, there in itertools.pairwise(chances):
        assert here <= there <= factor * here + part
        assert 1 - here <= factor * (1 - there) + part


@given(st.floats(0.05, 5), st.integers(2, 8))
def test_the_recursion_is_the_closed_form_to_ten_digits(epsilon, digits):
    delta = 10.0**-digits
    table = optimal_selection(epsilon, delta).table / CERTAIN
    np.testing.assert_allclose(table, optimal_probability(np.arange(len(table)), epsilon, delta), rtol=1e-10)


@pytest.mark.parametrize(("groups", "optimal", "gaussian"), [(1, 14, 22), (10, 132, 74), (100, 1313, 251)])
def test_people_for_an_even_chance(groups, optimal, gaussian):
    assert optimal_selection(1, 1e-6, groups).even_chance == optimal
    assert gaussian_selection(1, 1e-6, groups).even_chance <= gaussian
    assert best_method(1, 1e-6, groups).even_chance == min(optimal, gaussian_selection(1, 1e-6, groups).even_chance)


@pytest.mark.parametrize(
    ("make", "epsilon", "delta", "groups"),
    [
        (gaussian_selection, 1, 1e-6, 2),
        (gaussian_selection, 3, 1e-3, 2),
        (gaussian_selection, "1/100", "1/10", 2),
        (gaussian_selection, 1, "1/100", 3),
        (optimal_selection, 1, 1e-6, 2),
        (optimal_selection, 2, "1/20", 3),
    ],
)
def test_no_person_with_several_keys_gets_through(make, epsilon, delta, groups):
    """All outcomes of a person's keys, at all numbers of other people: the worst set of outcomes, both ways."""
    rule = make(epsilon, delta, groups)
    chances = rule.table / CERTAIN
    before = chances[np.unique(np.linspace(0, len(chances) - 2, 60).astype(int))]
    after = chances[np.unique(np.linspace(0, len(chances) - 2, 60).astype(int)) + 1]
    factor = math.exp(rule.epsilon)
    added, removed = 0.0, 0.0
    for bits in itertools.product((0, 1), repeat=groups):
        with_person, without = 1.0, 1.0
        for axis, bit in enumerate(bits):
            shape = [-1 if k == axis else 1 for k in range(groups)]
            with_person = with_person * (after if bit else 1 - after).reshape(shape)
            without = without * (before if bit else 1 - before).reshape(shape)
        added = added + np.maximum(with_person - factor * without, 0)
        removed = removed + np.maximum(without - factor * with_person, 0)
    assert max(np.max(added), np.max(removed)) <= float(rule.delta) + 1e-14


COUNTED = [(1, 1e-6, 1), (2, "1/20", 3), ("1/10", 1e-3, 2), (3, "3/10", 1), (50, 1e-6, 1)]


def weights_of(rule):
    """Of noise from −k to k, in units of 2^-63."""
    return [int(upper) - int(lower) for lower, upper in itertools.pairwise(rule.table)]


def shown_law(weights, people):
    """What is seen of a key, exactly: None is nothing at all."""
    end, law = len(weights) // 2, {None: CERTAIN if people == 0 else 0}
    for place, weight in enumerate(weights if people else []):
        seen = people + place - end
        seen = seen if seen > end else None
        law[seen] = law.get(seen, 0) + weight
    return law


@pytest.mark.parametrize(("epsilon", "delta", "groups"), COUNTED)
def test_noisy_numbers_are_private_by_enumeration(epsilon, delta, groups):
    """Every number of people up to 3k, one more and one less, and a key that leaves while another comes."""
    for relation in ("add_remove", "replace"):
        price, neighbours = Price.of(epsilon, delta=delta), Neighbours(relation, rows=groups)
        rule = rule_for(price, neighbours, Contribution(cells=groups), counted_selection)
        weights = weights_of(rule)
        steps = 2 if relation == "replace" else 1
        factor = below_exp(min(Fraction(price.amount) / steps, Fraction(40)) / groups)
        part = rule.delta / groups
        assert part * groups * (1 + (below_exp(price.amount / 2) if steps == 2 else 0)) <= price.delta
        laws = [shown_law(weights, people) for people in range(3 * (len(weights) // 2) + 2)]
        for here, there in itertools.pairwise(laws):
            for one, other in ((here, there), (there, here)):
                beyond = sum(max(chance - factor * other.get(seen, 0), 0) for seen, chance in one.items())
                assert beyond <= part * CERTAIN


@given(EPSILONS, DELTAS, st.integers(1, 3))
def test_the_scale_of_counted_noise_is_that_of_epsilon_per_key(epsilon, delta, groups):
    """Outwards, each probability is the next one times e^ε, rounded down; noise is symmetric, and ends at δ or less."""
    weights = weights_of(counted_selection(epsilon, delta, groups))
    growth, end = below_exp(epsilon / groups), len(weights) // 2
    assert sum(weights) == CERTAIN
    assert weights == weights[::-1]
    assert 0 < weights[0] <= delta / groups * CERTAIN
    assert [math.floor(growth * weight) for weight in weights[: end - 1]] == weights[1:end]
    assert weights[end - 1] <= weights[end] <= growth * weights[end - 1]
    assert weights[end] >= growth * weights[end - 1] * (1 - Fraction(1, 10**5))
    earliest = optimal_selection(epsilon, delta, groups).even_chance
    assert earliest <= end + 1 <= earliest + 1  # no rule shows keys of fewer people than the optimal one


def test_noisy_numbers_follow_their_law():
    rule, size, people = counted_selection(1, "1/50"), 200_000, 3
    weights = weights_of(rule)
    found = rule.count(np.full(size, people), ExactNoise())
    law = shown_law(weights, people)
    numbers = sorted(law, key=lambda seen: seen or 0)
    expected = np.array([law[seen] / CERTAIN * size for seen in numbers])
    observed = np.array([(found == (seen or 0)).sum() for seen in numbers])
    assert observed.sum() == size
    assert expected.min() > 50
    assert stats.chi2.sf(((observed - expected) ** 2 / expected).sum(), len(numbers) - 1) > 1e-7
    assert not rule.count(np.zeros(1000, dtype=np.int64), ExactNoise()).any()
    end = len(weights) // 2
    for largest, off in ((False, -end), (True, end)):
        assert rule.count(np.array([0, end, 3 * end + 5]), Extreme(largest)).tolist() == [
            0,
            2 * end if largest else 0,
            3 * end + 5 + off,
        ]
    with pytest.raises(PlanError, match="optimal"):
        optimal_selection(1, 1e-6).count(np.array([1]), ExactNoise())


def test_the_error_function_is_as_exact_as_gaussian_tables_need():
    for x in np.linspace(-9.5, 9.5, 400):
        low, high = normal(Decimal(float(x)))
        error = abs(Fraction(math.erfc(-x / math.sqrt(2)) / 2) - (Fraction(low) + Fraction(high)) / 2)
        assert error < Fraction(1, 2**50)


def test_a_selection_of_many_keys_follows_the_table():
    rule = optimal_selection(1, 1e-2)
    people = np.arange(100_000) % 12
    keys = rule.select(people, ExactNoise())
    assert keys.shape == people.shape
    for n in range(12):
        share, size = keys[people == n].mean(), (people == n).sum()
        # Hoeffding, with a failure probability of 10^-6 in all twelve comparisons.
        assert abs(share - float(rule.probability(n))) <= math.sqrt(math.log(2 * 12 / 1e-6) / (2 * size))
    assert not keys[people == 0].any()


def test_simulated_trials_come_along_a_leading_axis():
    rule = best_method(1, 1e-6, 10)
    keys = rule.select(np.array([0, 70, 10**9]), SimulatedNoise(seed=1, trials=400))
    assert keys.shape == (400, 3)
    assert not keys[:, 0].any()
    assert keys[:, 2].all()
    assert 0.2 < keys[:, 1].mean() < 0.8
    assert rule.select(np.zeros(0, dtype=np.int64), ExactNoise()).shape == (0,)


class Extreme:
    """The smallest or the largest draw that there is."""

    def __init__(self, largest):
        self.largest = largest

    def below(self, bound):
        return bound - 1 if self.largest else 0


def test_impossible_keys_stay_hidden_and_certain_ones_appear_whatever_is_drawn():
    for rule in (optimal_selection(1, 1e-6), gaussian_selection(1, 1e-6, 5)):
        assert isinstance(rule, KeySelection)
        assert rule.select(np.array([0, 1, 10**6]), Extreme(largest=False)).tolist() == [False, True, True]
        assert rule.select(np.array([0, 1, 10**6]), Extreme(largest=True)).tolist() == [False, False, True]


@pytest.mark.parametrize(
    ("arguments", "argument"),
    [
        ((0, 1e-6), "epsilon"),
        ((1, 0), "delta"),
        ((1, 1), "delta"),
        ((1, 1e-6, 0), "groups_per_person"),
        ((1e-9, 1e-6), "epsilon"),
    ],
)
def test_bad_arguments_are_refused_by_name(arguments, argument):
    for make in (best_method, counted_selection):
        with pytest.raises(BadInput) as caught:
            make(*arguments)
        assert caught.value.argument == argument
