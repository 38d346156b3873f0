"""The median mechanism: what it charges, what it drops, and what all of its answers tell together."""

from __future__ import annotations

import itertools
import pickle
from fractions import Fraction

import numpy as np
import pytest

from jostle import mechanisms
from jostle.kernel.errors import BadInput, PlanError
from jostle.kernel.neighbours import Neighbours
from jostle.mechanisms.sensitivity import Sensitivity
from jostle.mechanisms.threshold import scales
from tests.mechanisms.helpers import discrete_pmf, discrete_tail, loss


def survey(purse, epsilon, **settings):
    return mechanisms.MedianMechanism(
        **{"candidates": 8, "error": 10, "sensitivity": 1} | settings, budget=purse.grant(epsilon)
    )


def test_half_is_charged_at_once_and_each_noisy_answer_its_part():
    purse = mechanisms.simulation(seed=0)
    asked = survey(purse, 6)
    assert purse.spent == 3
    assert [asked.answer(0, np.arange(8)) for _ in range(4)] == [3] * 4
    assert purse.spent == 3
    for number in range(1, 4):  # log₂ 8
        assert abs(asked.answer(10**6 * number, np.arange(8)) - 10**6 * number) < 100
        assert purse.spent == 3 + number
    assert repr(asked) == "<MedianMechanism with 8 candidates and 0 noisy answers left>"
    with pytest.raises(PlanError, match="all noisy answers were given"):
        asked.answer(0, np.arange(8))
    assert purse.spent == 6


def test_a_surprise_drops_all_candidates_that_are_far_from_the_answer():
    asked = survey(mechanisms.simulation(seed=1), 10_000, candidates=1000, error=100)
    assert asked.answer(900, np.arange(1000)) == 900
    assert asked.kept.tolist() == list(range(850, 951))
    assert asked.answer(905, np.arange(1000)) == 900  # the new median
    assert asked.paid == 1


def test_with_one_candidate_like_the_data_few_of_many_questions_are_paid_for():
    rng = np.random.default_rng(0)
    sets = rng.multinomial(5000, rng.dirichlet(np.ones(6), 256))
    truth, asked = sets[77], survey(mechanisms.simulation(seed=2), 20, candidates=256, error=500)
    for _ in range(300):
        cells = rng.random(6) < 0.5
        assert abs(asked.answer(int(truth[cells].sum()), sets[:, cells].sum(axis=1)) - truth[cells].sum()) < 600
    assert asked.paid <= 8
    assert 77 in asked.kept


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_every_list_of_answers_loses_at_most_epsilon(relation):
    """One candidate that says 0, one noisy answer: the law of a "far off" at each place, times that of the noisy answer."""
    epsilon, neighbours, far = Fraction(2), Neighbours(relation), 2
    move = 1 if relation == "add_remove" else 2
    noisy, query = scales(Sensitivity.of(1), neighbours, epsilon / 2, 1, False)
    width = round(60 * noisy)
    offsets, chances = np.arange(-width, width + 1), discrete_pmf(noisy, width)
    answer = discrete_pmf(move / (epsilon / 2), 400)

    def law(values):
        yes = [discrete_tail(query, offsets + far - abs(value)) for value in values]
        found = []
        for first in range(len(values)):
            searched = chances * np.prod([1 - one for one in yes[:first]], axis=0) * yes[first]
            found += [searched.sum() * answer[400 + shown - values[first]] for shown in range(-9, 10)]
        return [*found, (chances * np.prod([1 - one for one in yes], axis=0)).sum()]

    worst = 0.0
    for values in ([0, 0, 0], [3, -1, 2]):
        for step in itertools.product((-move, 0, move), repeat=3):
            worst = max(worst, loss(law(values), law(np.add(values, step).tolist())))
    assert 0.3 * epsilon < worst <= epsilon + 1e-9


@pytest.mark.parametrize(
    ("argument", "value"),
    [("candidates", 0), ("candidates", 1.5), ("answers", 0), ("error", 0), ("error", float("nan")), ("sensitivity", 0.5)],
)
def test_what_is_stated_wrongly_is_refused_before_any_charge(argument, value):
    purse = mechanisms.simulation(seed=0)
    with pytest.raises(BadInput, match=argument):
        survey(purse, 1, **{argument: value})
    assert purse.spent == 0


@pytest.mark.parametrize(
    ("value", "guesses"), [([1, 2], np.arange(8)), (1, np.arange(7)), (1, [[0] * 8]), (1.5, np.arange(8))]
)
def test_questions_of_another_form_are_refused(value, guesses):
    asked = survey(mechanisms.simulation(seed=0), 1)
    with pytest.raises(BadInput):
        asked.answer(value, guesses)
    assert asked.paid == 0


def test_it_has_no_copy_and_runs_one_trial():
    with pytest.raises(PlanError, match="pickled"):
        pickle.dumps(survey(mechanisms.simulation(seed=0), 1))
    with pytest.raises(PlanError, match="one trial"):
        survey(mechanisms.simulation(seed=0, trials=3), 1)
