"""Stability-based selection: what it is calibrated to, and that it chooses."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from jostle import mechanisms
from jostle.kernel.budget import CountingPurse
from jostle.kernel.errors import BadInput
from jostle.kernel.ledger import Ledger
from jostle.kernel.measures import Approximate
from jostle.kernel.neighbours import Neighbours
from tests.kernel.helpers import RELATIONS
from tests.mechanisms.helpers import recorded


def train(candidate, rows, generator):
    return candidate + rows.sum() * 0 + generator.random() * 0


def score(model, rows):
    return -abs(model - rows.mean())


ROWS = {"training": np.ones(10), "validation": np.full(10, 7.0)}


@pytest.mark.parametrize("neighbours", RELATIONS, ids=str)
@pytest.mark.parametrize(
    ("stability", "moves"),
    [
        ((2, 1), (2, 4)),
        ((1, 2), (2, 4)),
        ((1, 3), (3, 6)),
        ((3, 1), (3, 6)),
        (((1, 1), (2, 0)), (2, 1)),
        (((1, 1), (2, 3)), (2, 3)),
        (((2, 3), (3, 2)), (3, 3)),
    ],
)
def test_the_noise_is_for_the_less_stable_of_the_two(stability, moves, neighbours):
    """Beside the scores that it is added to, since a lattice that is too fine would make both larger: they are 4 apart."""
    budget, recorder = recorded("1/3", neighbours)
    mechanisms.stable_selection([1, 5, 9], train, score, **ROWS, stability=stability, budget=budget)
    (scale,), (scores,) = recorder.scales, recorder.values
    apart = Fraction(int(scores.max()) - int(scores.min()), 4)
    assert scale / apart == neighbours.sensitivity(2 * moves[0], 2 * moves[1]) * 3


def test_it_chooses_what_validates_best(account):
    chosen = mechanisms.stable_selection([1, 5, 9], train, score, **ROWS, stability=(0.01, 0.01), budget=account.grant(1))
    assert chosen in (5, 9)
    assert account.spent == 1


def test_training_sees_the_same_random_numbers_whatever_the_data():
    seen = []

    def draws(candidate, rows, generator):
        seen.append((candidate, generator.random()))
        return 0

    for rows in (np.ones(3), np.zeros(4)):
        budget = mechanisms.simulation(seed=len(seen)).grant(1)
        mechanisms.stable_selection(
            "ab", draws, lambda m, r: 0.0, training=rows, validation=rows, stability=(1, 1), budget=budget
        )
    assert seen[:2] == seen[2:]
    assert seen[0][1] != seen[1][1]


@pytest.mark.parametrize("stability", [1, (1, 1, 1), (0, 1), (1, -1), (1, float("nan")), "ab"])
def test_stability_is_a_pair_of_positive_numbers(account, stability):
    with pytest.raises(BadInput, match="stability"):
        mechanisms.stable_selection([1], train, score, **ROWS, stability=stability, budget=account.grant(1))
    assert account.spent == 0


def test_a_score_that_is_no_number_is_the_worst_and_is_charged(account):
    scores = {1: float("nan"), 2: 0.0}
    settings = {**ROWS, "stability": ("1/1000", "1/1000"), "budget": account.grant(1)}
    assert mechanisms.stable_selection([1, 2], lambda one, rows, draw: one, lambda one, rows: scores[one], **settings) == 2
    assert account.spent == 1


def test_with_a_delta_the_generators_are_seeded_anew_and_the_noise_is_the_same(tmp_path):
    seen = []

    def draws(candidate, rows, generator):
        seen.append(generator.random())
        return candidate

    how = {"stability": (2, 1), "training": ROWS["training"], "validation": ROWS["validation"]}
    with Ledger(tmp_path / "budget.db") as ledger:
        people = ledger.account("people", cap=Approximate(epsilon=9, delta=1e-6))
        for _ in range(2):
            budget = people.grant(4, delta=1e-7)
            assert mechanisms.stable_selection([1, 400], draws, score, **how, budget=budget) == 1
        assert [event.operator for event in ledger.events("people")[1:]] == ["stable_selection"] * 2
        assert people.left.delta == Fraction(3, 10**7)
    assert len(set(seen)) == 4
    noises = []
    for given in ({}, {"delta": 1e-7}):
        _, recorder = recorded()
        token = CountingPurse(Neighbours(), recorder).grant("1/3", **given)
        mechanisms.stable_selection([1, 5, 9], lambda candidate, *_: candidate, score, **how, budget=token)
        ((_, scale, scores),) = [one for one in recorder.asked if one[0] == "noisy_max"]
        noises.append((scale, scores.tolist()))
    assert noises[0] == noises[1]
