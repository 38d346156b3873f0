"""Randomized response by distance: exact probabilities for every pair of places, and the lecture's grid."""

from __future__ import annotations

import math

import numpy as np
import pytest

from jostle.kernel.errors import BadInput
from jostle.mechanisms import RandomizedResponse
from jostle.mechanisms.distance import DistanceResponse


@pytest.mark.parametrize(
    ("sides", "epsilon"), [((2,), 1), ((7,), "0.3"), ((10, 10), math.log(3)), ((3, 5), 4), ((2, 2), 12)]
)
def test_no_answer_tells_two_places_further_apart_than_epsilon(sides, epsilon):
    response = DistanceResponse(*sides, epsilon=epsilon)
    places = list(np.ndindex(sides))
    laws = np.array([response.probabilities(place).reshape(-1) for place in places])
    assert np.allclose(laws.sum(axis=1), 1)
    worst = float(np.log(laws[:, None, :] / laws[None, :, :]).max())
    assert worst <= float(epsilon)
    assert worst > 0.99 * float(epsilon)  # nothing is given away, so the noise is no larger than it has to be


def test_the_answer_is_nearer_than_by_uniform_lies():
    near, uniform = DistanceResponse(10, 10, epsilon=2), RandomizedResponse(10, 10, epsilon=2)
    distances = np.abs(np.indices((10, 10)) - np.array([4, 7])[:, None, None]).sum(axis=0)
    by_lies = float(uniform.q) * distances.sum()
    assert near.mean_distance((4, 7)) < by_lies
    assert near.probabilities((4, 7))[4, 7] < float(uniform.p)  # but the exact place is named less often


def test_answers_are_places_and_what_is_no_place_is_answered_too():
    line, grid = DistanceResponse(5, epsilon=1), DistanceResponse(2, 3, epsilon=1)
    assert all(line.respond(value) in range(5) for value in (0, 4, 99, None, "x", (1, 2), float("nan")))
    assert all(grid.respond(value) in set(np.ndindex(2, 3)) for value in ((1, 2), (9, 9), None, 3))
    answers = [line.respond(2) for _ in range(4000)]
    bound = math.sqrt(math.log(2 / (1e-6 / 5)) / 8000)  # Hoeffding, for five places
    assert np.abs(np.bincount(answers, minlength=5) / 4000 - line.probabilities(2)).max() < bound


def test_estimates_are_without_bias_and_mistakes_are_refused():
    line = DistanceResponse(4, epsilon=3)
    truth = np.array([0.5, 0.2, 0.0, 0.3])
    answers = np.repeat(np.arange(4), np.rint(1e6 * sum(t * line.probabilities(i) for i, t in enumerate(truth))).astype(int))
    assert np.allclose(line.estimate(answers.tolist()), truth, atol=1e-4)
    for sides in ((), (1,), (3, 3, 3), (100, 100), ("x",)):
        with pytest.raises(BadInput):
            DistanceResponse(*sides, epsilon=1)
    with pytest.raises(BadInput, match="is no place"):
        line.probabilities(4)
