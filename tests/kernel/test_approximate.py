"""Post-processing, composition and disjointness, for (ε, δ): on laws that are added up, and on what accounts charge."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jostle import mechanisms
from jostle.kernel.errors import Overdraft
from jostle.kernel.ledger import Ledger
from jostle.kernel.measures import Approximate, gaussian_delta
from jostle.kernel.partition import Partition
from jostle.kernel.source import ReleaseSource
from jostle.kernel.strategies import total

EPSILONS = st.floats(0, 3)


@st.composite
def laws(draw: st.DrawFn, outcomes: int | None = None) -> np.ndarray:
    """Two laws over the same few outcomes, of which some may be impossible."""
    width = outcomes or draw(st.integers(2, 5))
    weights = np.array(draw(st.lists(st.integers(0, 9), min_size=2 * width, max_size=2 * width)), float).reshape(2, -1)
    weights[:, 0] += 1
    return weights / weights.sum(axis=1, keepdims=True)


def beyond(pair: np.ndarray, epsilon: float) -> float:
    """The least δ for which the first law is within e^ε of the second, and the other way round."""
    one, other = pair
    return max(np.maximum(a - math.exp(epsilon) * b, 0).sum() for a, b in ((one, other), (other, one)))


@given(laws(), EPSILONS, st.integers(0, 2**32 - 1))
def test_what_is_done_with_an_answer_loses_nothing(pair, epsilon, seed):
    channel = np.random.default_rng(seed).dirichlet(np.ones(4) / 3, size=pair.shape[1])
    assert beyond(pair @ channel, epsilon) <= beyond(pair, epsilon) + 1e-12


@given(laws(), laws(outcomes=4), laws(outcomes=4), EPSILONS, EPSILONS)
def test_one_after_the_other_they_add_up(first, then, other, epsilon, more):
    """Which of two mechanisms is asked second depends on what the first one answered."""
    seconds = [(then, other)[place % 2] for place in range(first.shape[1])]
    both = np.array([np.concatenate([first[x, k] * seconds[k][x] for k in range(first.shape[1])]) for x in (0, 1)])
    delta = beyond(first, epsilon) + max(beyond(then, more), beyond(other, more))
    assert beyond(both, epsilon + more) <= delta + 1e-12


@given(laws(), laws(), EPSILONS)
def test_disjoint_parts_lose_what_the_one_loses_that_has_the_person(part, unchanged, epsilon):
    same = unchanged[0]
    both = np.array([np.outer(side, same).reshape(-1) for side in part])
    assert beyond(both, epsilon) == pytest.approx(beyond(part, epsilon), abs=1e-12)


@given(laws(), laws(), EPSILONS)
def test_somebody_who_moves_from_one_part_to_another_is_in_both(first, second, epsilon):
    """So each part has to hide it with half of what is paid: two parts at (ε, δ) are (2ε, (1 + e^ε)δ)."""
    both = np.array([np.outer(first[x], second[x]).reshape(-1) for x in (0, 1)])
    delta = max(beyond(first, epsilon), beyond(second, epsilon))
    assert beyond(both, 2 * epsilon) <= (1 + math.exp(epsilon)) * delta + 1e-12


def test_an_account_charges_by_these_rules(tmp_path):
    """Parts once, what comes after a release not at all, and each selection its δ."""
    with Ledger(tmp_path / "budget.db") as ledger:
        people = ledger.account("people", cap=Approximate(epsilon=1, delta=1e-6))
        source = ReleaseSource([30, 40, 50, 60], purse=people.purse())
        parts = source.split(Partition.intervals([0, 2], 4), source.grant(rho="1/200"))
        sums = [part.measure(total(2), token) for part, token in parts]
        assert people.left.rho == people.limit.rho - Fraction(1, 200)
        shares = np.maximum(sums, 0) / max(1.0, float(np.maximum(sums, 0).sum()))
        assert shares.shape == (2, 1)
        assert people.left.rho == people.limit.rho - Fraction(1, 200)
        for used in (1, 2):
            budget = people.grant("1/100", delta="1/5000000")
            mechanisms.large_margin(["a", "b"], [900, 0], sensitivity=1, budget=budget)
            assert people.left.delta == Fraction(1, 2_000_000) - Fraction(used, 5_000_000)
        with pytest.raises(Overdraft):
            people.grant("1/100", delta="1/5000000")


def test_of_gaussian_noise_they_are_closed_forms():
    """k answers with noise σ are one with noise σ/√k; parts of a person who does not move are one answer."""
    for answers in (2, 9, 100):
        together, one = (
            gaussian_delta(Fraction(1), Fraction(20)),
            gaussian_delta(Fraction(1), Fraction(20 * math.isqrt(answers))),
        )
        assert one <= together
        assert gaussian_delta(Fraction(1), Fraction(20) / answers) >= together
