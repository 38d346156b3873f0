"""Randomized response: the lecture's formulas, its slip, exact probabilities, and no charge for anyone."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from jostle import mechanisms
from jostle.kernel.errors import BadInput
from jostle.mechanisms import RandomizedResponse
from tests.mechanisms.helpers import hoeffding


def test_a_grid_as_in_the_lecture():
    grid = RandomizedResponse(10, 10, epsilon=math.log(3))
    assert float(grid.p) == pytest.approx(3 / 102, rel=1e-12)
    assert float(grid.q) == pytest.approx(1 / (math.exp(math.log(3)) + 100 - 1), rel=1e-12)
    exact = RandomizedResponse(10, 10, p=Fraction(3, 102))
    assert (exact.p, exact.q, exact.p + 99 * exact.q) == (Fraction(3, 102), Fraction(1, 102), 1)
    assert exact.epsilon == pytest.approx(math.log(3))


@pytest.mark.parametrize("size", [2, 3, 100])
@pytest.mark.parametrize("epsilon", ["0.001", "1", "5", "20"])
def test_the_loss_is_epsilon_or_a_little_less(size, epsilon):
    response = RandomizedResponse(size, epsilon=epsilon)
    assert response.p + (size - 1) * response.q == 1
    assert math.log(response.p / response.q) <= float(epsilon) + 1e-15
    assert response.epsilon == pytest.approx(float(epsilon), rel=1e-9)
    with localcontext() as context:
        context.prec = 200
        odds = response.p / response.q
        assert Decimal(odds.numerator) / Decimal(odds.denominator) <= Decimal(epsilon).exp()


def test_p_between_one_half_and_one_is_what_epsilon_allows():
    """1/(1 + e^ε) ≤ p ≤ e^ε/(1 + e^ε)."""
    response = RandomizedResponse(2, epsilon=1)
    assert float(response.p) == pytest.approx(math.e / (1 + math.e), rel=1e-12)
    assert float(response.q) == pytest.approx(1 / (1 + math.e), rel=1e-12)


def brute_force_variance(p, fraction, respondents):
    """Of the estimate, over all ways in which the coins may fall."""
    yes = round(fraction * respondents)
    mean = square = 0.0
    for first, second in itertools.product(range(yes + 1), range(respondents - yes + 1)):
        chance = math.comb(yes, first) * p**first * (1 - p) ** (yes - first)
        chance *= math.comb(respondents - yes, second) * (1 - p) ** second * p ** (respondents - yes - second)
        estimate = ((first + second) / respondents - (1 - p)) / (2 * p - 1)
        mean, square = mean + chance * estimate, square + chance * estimate**2
    return mean, square - mean**2


@pytest.mark.parametrize("p", [0.6, 0.75, 0.9])
@pytest.mark.parametrize("fraction", [0.0, 0.3, 1.0])
def test_the_variance_is_warners_not_the_slides(p, fraction):
    response, respondents = RandomizedResponse(2, p=p), 10
    mean, variance = brute_force_variance(p, fraction, respondents)
    assert mean == pytest.approx(fraction)  # without bias
    warner = (1 / (16 * (p - 0.5) ** 2) - 0.25) / respondents
    slide = 1 / (respondents * (16 * (p - 0.5) ** 2 - 0.25))
    assert response.variance(fraction, respondents) == pytest.approx(variance)
    assert variance == pytest.approx(warner)
    assert slide != pytest.approx(variance, rel=0.1)
    assert (slide < 0) == (p < 0.625)  # a negative variance, below five eighths
    sampled = response.variance(fraction, respondents, sampled=True)
    assert sampled == pytest.approx(warner + fraction * (1 - fraction) / respondents)


def test_the_variance_for_several_categories():
    response, trials = RandomizedResponse(4, epsilon=1), 3000
    people = np.repeat([0, 1, 2, 3], [10, 20, 30, 40])
    found = np.array([response.estimate(response.simulate(people, seed=seed)).fractions for seed in range(trials)])
    assert found.mean(axis=0) == pytest.approx([0.1, 0.2, 0.3, 0.4], abs=0.02)
    expected = [response.variance(part, 100) for part in (0.1, 0.2, 0.3, 0.4)]
    assert found.var(axis=0) == pytest.approx(expected, rel=0.15)
    assert response.estimate(people).deviations == pytest.approx(
        [math.sqrt(response.variance(min(1, max(0, part)), 100)) for part in response.estimate(people).fractions]
    )


def test_own_values_are_randomized_with_the_stated_probabilities():
    response, samples = RandomizedResponse(3, p="1/2"), 20_000
    seen = np.bincount([response.respond(2) for _ in range(samples)], minlength=3) / samples
    assert np.abs(seen - [0.25, 0.25, 0.5]).max() < hoeffding(samples, 3)


@pytest.mark.parametrize("size", [2, 3, 5])
def test_every_answer_of_every_person_has_the_stated_probability(size):
    """Also the last one: an answer that one person never gives tells them from all who do."""
    response, samples = RandomizedResponse(size, epsilon="1/2"), 4_000
    for value in range(size):
        seen = np.bincount([response.respond(value) for _ in range(samples)], minlength=size) / samples
        expected = np.where(np.arange(size) == value, float(response.p), float(response.q))
        assert np.abs(seen - expected).max() < min(hoeffding(samples, size**2), float(response.q))


def test_pairs_on_a_grid():
    response, samples = RandomizedResponse(2, 3, p="1/2"), 20_000
    answers = [response.respond((1, 2)) for _ in range(samples)]
    assert set(answers) == set(itertools.product(range(2), range(3)))
    assert answers.count((1, 2)) / samples == pytest.approx(0.5, abs=hoeffding(samples))
    estimate = response.estimate(answers)
    assert estimate.fractions.shape == (2, 3)
    assert estimate.fractions.sum() == pytest.approx(1)
    assert response.simulate([(0, 1), (1, 2)], seed=0).shape == (2, 2)


def test_simulated_answers_have_the_stated_probabilities():
    response, samples = RandomizedResponse(5, epsilon=1), 200_000
    seen = np.bincount(response.simulate(np.full(samples, 3), seed=0), minlength=5) / samples
    expected = np.full(5, float(response.q))
    expected[3] = float(response.p)
    assert np.abs(seen - expected).max() < hoeffding(samples, 5)
    assert (response.simulate([0, 1, 2], seed=4) == response.simulate([0, 1, 2], seed=4)).all()


def test_a_value_outside_of_the_categories_is_answered_at_random():
    """An error would be an answer. The loss against any other value is below ε: 1/k lies between q and p."""
    response, samples = RandomizedResponse(4, epsilon=2), 20_000
    for value in (-1, 4, 10**30):
        assert response.respond(value) in range(4)
    seen = np.bincount([response.respond(7) for _ in range(samples)], minlength=4) / samples
    assert np.abs(seen - 0.25).max() < hoeffding(samples, 4)


def test_it_says_where_the_protection_happens_and_that_nobody_pays():
    response = RandomizedResponse(2, epsilon=1)
    estimate = response.estimate([0, 1, 1])
    for told in (RandomizedResponse.__doc__, response.protection, estimate.protection, repr(response)):
        assert "before collection" in told
        assert "charged" in told
    assert estimate.epsilon == response.epsilon


@pytest.mark.parametrize("categories", [2, 7])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 4.0])
def test_error_and_epsilon_are_inverse(categories, epsilon):
    response = RandomizedResponse(categories, epsilon=epsilon)
    error = response.error(5000, 0.9)
    assert RandomizedResponse.epsilon_for(error, 5000, 0.9, categories=categories) == pytest.approx(epsilon)
    assert RandomizedResponse.epsilon_for(1e-9, 5000) == math.inf


def test_the_error_holds_as_often_as_stated():
    response, people, trials = RandomizedResponse(2, epsilon=1), np.repeat([0, 1], [700, 300]), 1000
    error = response.error(1000, 0.9)
    off = [abs(response.estimate(response.simulate(people, seed=seed)).fractions[1] - 0.3) for seed in range(trials)]
    assert np.mean(np.array(off) <= error) >= 0.9 - hoeffding(trials)


@pytest.mark.parametrize(
    ("shape", "settings", "argument"),
    [
        ((2,), {"p": 0.5}, "p"),
        ((2,), {"p": 0.3}, "p"),
        ((2,), {"p": 1}, "p"),
        ((2,), {"p": 1.5}, "p"),
        ((2,), {"p": float("nan")}, "p"),
        ((2,), {"p": -0.7}, "p"),
        ((3,), {"p": "1/3"}, "p"),
        ((2,), {"p": 0.7, "epsilon": 1}, "p, epsilon"),
        ((2,), {}, "p, epsilon"),
        ((2,), {"epsilon": 0}, "epsilon"),
        ((2,), {"epsilon": 50}, "epsilon"),
        ((2,), {"epsilon": 1e6}, "epsilon"),
        ((2,), {"epsilon": 1e-20}, "epsilon"),
        ((2,), {"epsilon": math.inf}, "epsilon"),
        ((1,), {"epsilon": 1}, "shape"),
        ((), {"epsilon": 1}, "shape"),
        ((2, 2, 2), {"epsilon": 1}, "shape"),
        ((2.5,), {"epsilon": 1}, "shape"),
        ((1, 1), {"epsilon": 1}, "shape"),
    ],
)
def test_bad_parameters_are_refused(shape, settings, argument):
    with pytest.raises(BadInput, match=f"^{argument}: .* Remedy: "):
        RandomizedResponse(*shape, **settings)


def test_bad_answers_and_seeds_are_refused():
    response, grid = RandomizedResponse(2, epsilon=1), RandomizedResponse(2, 2, epsilon=1)
    for answers in ([0, 2], [-1], ["a"], [[0, 1]], [0.5], [0, None], [], 1, "ab"):
        with pytest.raises(BadInput, match="^answers: "):
            response.estimate(answers)
    for answers in ([0, 1], [(0, 1), None], [(0, 2)], [(0, 1, 1)], [0.5, 1.5]):
        with pytest.raises(BadInput, match="^answers: "):
            grid.estimate(answers)
    for own, values in ((response, [[0, 1]]), (response, 1), (grid, [0, 1]), (grid, [(0, 1, 1)])):
        with pytest.raises(BadInput, match="^values: "):
            own.simulate(values, seed=0)
    for seed in (None, -1, 0.5, True):
        with pytest.raises(BadInput, match="seed"):
            response.simulate([0, 1], seed=seed)


NO_CATEGORY = [
    "?",
    b"?",
    "",
    None,
    math.nan,
    math.inf,
    0.5,
    1j,
    Decimal("sNaN"),
    Decimal("NaN"),
    Decimal("1e999999"),
    np.nan,
    [],
    {},
    (),
    (0, None),
    {1: 2},
]
NO_CATEGORY += [
    pd.NA,
    pd.NaT,
    np.datetime64("NaT"),
    np.array(0),
    np.zeros((2, 2)),
    object(),
    iter(()),
    (1, 2, 3),
    -1,
    10**400,
]


@pytest.mark.parametrize("categories", [(2,), (2, 2), (["yes", "no"],)], ids=["numbers", "grid", "labels"])
@pytest.mark.parametrize("value", NO_CATEGORY, ids=lambda value: type(value).__name__)
def test_no_value_is_ever_an_error(categories, value):
    response = RandomizedResponse(*categories, epsilon=20)
    answers = {response.respond(value) for _ in range(100)}
    assert len(answers) == response.size  # each misses with probability (3/4)^100 at most, about 3e-13


@pytest.mark.parametrize("value", [None, "yes", math.nan, 0.5])
def test_a_blank_is_answered_uniformly(value):
    response, samples = RandomizedResponse(4, epsilon=2), 20_000
    seen = np.bincount([response.respond(value) for _ in range(samples)], minlength=4) / samples
    assert np.abs(seen - 0.25).max() < hoeffding(samples, 4)


@pytest.mark.parametrize(
    ("categories", "values"),
    [
        ((2,), [None] * 20_000),
        ((2,), np.array([None, 7, "x", math.nan] * 5_000, dtype=object)),
        ((2,), [0.5, math.nan] * 10_000),
        ((2,), np.array([2, -1] * 10_000)),
        ((2,), pd.array([pd.NA, 2] * 10_000, dtype="Int64")),
        ((2, 1), [None, (0, 9), (1, 1, 1)] * 7_000),
        ((2, 1), np.array([[2, 0], [0, -1]] * 10_000)),
        ((["yes", "no"],), ["Yes", None, 0] * 7_000),
        (([0, 1],), ("0", "1", 2) * 7_000),
    ],
)
def test_simulated_blanks_are_answered_uniformly(categories, values):
    response = RandomizedResponse(*categories, epsilon=8)
    share = response.estimate(response.simulate(values, seed=0)).fractions.reshape(-1)[0]
    assert share == pytest.approx(0.5, abs=1.01 * hoeffding(20_000))


def test_blanks_beside_categories_leave_those_as_they_are():
    response = RandomizedResponse(3, epsilon=25)  # lies with a probability of 3e-11
    assert response.simulate([0, None, 2.0, "1", True], seed=0)[[0, 2, 4]].tolist() == [0, 2, 1]
    assert response.respond(2.0) == response.respond(np.int8(2)) == 2
    assert RandomizedResponse(2, 3, epsilon=25).simulate([(1, 2), None, (0, 1.0)], seed=0)[[0, 2]].tolist() == [
        [1, 2],
        [0, 1],
    ]


def test_labels_are_categories():
    response = RandomizedResponse(["yes", "no", None], epsilon=25)
    people = ["yes", "no", None, "no"]
    assert [response.respond(value) for value in people] == people
    assert response.simulate(people, seed=0).tolist() == people
    estimate = response.estimate(people)
    assert estimate.shares == pytest.approx({"yes": 0.25, "no": 0.5, None: 0.25}, abs=1e-6)
    assert estimate.labels == ("yes", "no", None)
    assert response.estimate(pd.Series(["no"])).shares["no"] == pytest.approx(1)
    with pytest.raises(BadInput, match="^answers: "):
        response.estimate(["yes", "No"])


def test_shares_of_numbered_categories():
    assert list(RandomizedResponse(3, epsilon=1).estimate([0, 1]).shares) == [0, 1, 2]
    assert list(RandomizedResponse(1, 2, epsilon=1).estimate([(0, 1)]).shares) == [(0, 0), (0, 1)]


@pytest.mark.parametrize(
    "labels", [[], ["yes"], ["yes", "yes"], [1, True], [["a"], ["b"]], [(0, 1), (1, 0)], "yes", ("yes", "no")]
)
def test_bad_labels_are_refused(labels):
    with pytest.raises(BadInput, match="^shape: .* Remedy: "):
        RandomizedResponse(labels, epsilon=1)


def test_numpys_whole_numbers_are_whole():
    response = RandomizedResponse(np.int64(3), np.uint8(200), epsilon=1)
    assert response.shape == (3, 200)
    assert [type(side) for side in response.shape] == [int, int]
    assert response.size == 600
    assert RandomizedResponse(np.int64(3), epsilon=1).p == RandomizedResponse(3, epsilon=1).p


def test_it_takes_no_budget():
    with pytest.raises(TypeError):
        RandomizedResponse(2, epsilon=1, budget=mechanisms.simulation(seed=0).grant(1))
