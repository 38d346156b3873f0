"""The large-margin mechanism: its (ε, δ), by enumeration, and that an account with a δ pays for it, and no other."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from jostle import mechanisms
from jostle.kernel.budget import Cost
from jostle.kernel.errors import BadInput, Overdraft, PlanError
from jostle.kernel.ledger import Ledger
from jostle.kernel.measures import Approximate
from jostle.mechanisms.margin import noise_scales, thresholds
from tests.mechanisms.helpers import discrete_pmf, discrete_tail, hoeffding


def probabilities(scores, epsilon, delta):
    """Each candidate's, on whole scores of sensitivity 1: summed over the noise on the best score and on the threshold."""
    on_best, on_search = noise_scales(Fraction(1), Fraction(epsilon))
    best, offset, query = float(on_best), float(on_search[0]), float(on_search[1])
    order = np.argsort(-np.array(scores), kind="stable")
    gaps = max(scores) - np.array(scores)[order]
    limits = thresholds(len(scores), Fraction(1), Fraction(epsilon), delta)
    wide = [round(40 * scale) for scale in (best, offset)]
    # Only the difference of the two noises matters.
    both = np.convolve(discrete_pmf(best, wide[0]), discrete_pmf(offset, wide[1]))
    shift = np.arange(-sum(wide), sum(wide) + 1)  # noise on the threshold less noise on the best score
    going, found = both.copy(), np.zeros(len(scores))
    for kept in range(1, len(scores) + 1):
        stop = discrete_tail(query, shift + limits[kept - 1] - gaps[kept]) if kept < len(scores) else np.ones_like(going)
        weights = np.exp(-gaps[:kept] * epsilon / 6)
        found[order[:kept]] += (going * stop).sum() * weights / weights.sum()
        going = going * (1 - stop)
    return found


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 0.05), (3.0, 0.01)])
def test_neighbours_lose_epsilon_but_for_delta(epsilon, delta):
    worst = 0.0
    margin = int(thresholds(3, Fraction(1), Fraction(epsilon), delta)[0])
    for gaps in ([0, 0, 0], [0, 0, margin], [0, 1, margin + 5], [0, margin // 2, margin], [0, margin, margin]):
        scores = [-gap for gap in gaps]
        one = probabilities(scores, epsilon, delta)
        assert one.sum() == pytest.approx(1)
        for move in itertools.product((-1, 0, 1), repeat=3):
            other = probabilities(list(np.add(scores, move)), epsilon, delta)
            worst = max(worst, np.maximum(one - math.exp(epsilon) * other, 0).sum())
    assert worst <= delta


def test_it_is_drawn_with_its_probabilities():
    scores, samples = [0, 0, -100], 3000
    expected = probabilities(scores, 1.0, 0.1)
    found = [
        mechanisms.large_margin(range(3), scores, sensitivity=(1, 1), budget=token(seed, 0.1)) for seed in range(samples)
    ]
    assert (
        np.abs(np.bincount(found, minlength=3) / samples - expected).max() < hoeffding(samples, 3) + 0.01
    )  # it is drawn on a finer lattice


def test_the_number_of_candidates_does_not_matter_where_the_margin_is_large():
    gap = mechanisms.utility.large_margin_gap(1, 1e-6, kept=1, confidence=0.9999)
    scores = np.zeros(200_000)
    scores[77] = gap
    chosen = [
        mechanisms.large_margin(range(scores.size), scores, sensitivity=1, budget=token(seed, 1e-6)) for seed in range(20)
    ]
    assert chosen == [77] * 20


def test_a_release_is_charged_to_the_delta_for_selections(tmp_path):
    scores = {"first": 2_000, **{f"other {place}": 0 for place in range(50)}}
    with Ledger(tmp_path / "budget.db") as ledger:
        people = ledger.account("people", cap=Approximate(epsilon=1, delta=1e-6))
        budget = people.grant("1/2", delta="1/4000000")
        assert mechanisms.large_margin(scores, sensitivity=1, budget=budget, note="which one") == "first"
        charge = ledger.events("people")[-1]
        assert (charge.operator, charge.cost) == ("large_margin", Cost.key_selection("1/2", "1/4000000"))
        assert (people.left.delta, people.left.pure) == (Fraction(1, 4_000_000), Fraction(1, 2))
        with pytest.raises(PlanError, match="a token is spent or split once"):
            mechanisms.large_margin(scores, sensitivity=1, budget=budget)
        with pytest.raises(Overdraft):
            people.grant("1/4", delta="1/3000000")
        with pytest.raises(PlanError, match="pays for a selection that has a δ, and no other does"):
            mechanisms.permute_and_flip(scores, sensitivity=1, budget=people.grant("1/4", delta="1/8000000"))


def test_a_budget_without_a_delta_does_not_pay_for_it(account):
    for budget in (account.grant(1), mechanisms.simulation(seed=0).grant(1), mechanisms.simulation(seed=0).grant(rho=1)):
        with pytest.raises(BadInput, match="has no δ.*account.grant.1, delta=1e-6. of an .ε, δ. account"):
            mechanisms.large_margin("ab", [1, 2], sensitivity=1, budget=budget)
    with pytest.raises(BadInput, match="must be a budget token"):
        mechanisms.large_margin("ab", [1, 2], sensitivity=1, budget=account)
    with pytest.raises(BadInput, match="the account .* has no δ"):
        account.grant(1, delta=1e-6)
    assert account.spent == 0


@pytest.mark.parametrize("delta", [0, 1, -1, 2, float("nan")])
def test_delta_is_above_0_and_below_1(delta):
    with pytest.raises(BadInput, match="delta"):
        token(0, delta)


def token(seed, delta):
    return mechanisms.simulation(seed=seed).grant(1, delta=delta)
