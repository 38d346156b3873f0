"""Propose, test, release: its (ε, δ) by enumeration, what it is calibrated to, and who pays."""

from __future__ import annotations

import bisect
import math
from fractions import Fraction
from itertools import combinations_with_replacement
from pathlib import Path

import numpy as np
import pytest

from jostle import mechanisms
from jostle.kernel.budget import CountingPurse
from jostle.kernel.errors import BadInput
from jostle.kernel.ledger import Ledger
from jostle.kernel.measures import Approximate
from jostle.kernel.neighbours import Neighbours
from jostle.mechanisms import propose_test_release, utility
from jostle.mechanisms.propose_test_release import needed_distance
from tests.kernel.helpers import RELATIONS, Recorder
from tests.mechanisms.helpers import discrete_tail, hoeffding


def outcomes(distance: int, apart: int, epsilon: float, delta: float) -> tuple[float, float]:
    """The probabilities that the test passes and that it fails, each to its last digits."""
    scale = Fraction(apart) / (Fraction(epsilon) / 2)
    short = needed_distance(Fraction(apart), scale, delta) - distance
    return float(discrete_tail(float(scale), short)), float(discrete_tail(float(scale), 1 - short))


@pytest.mark.parametrize("apart", [1, 3])
@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (0.1, 1e-3), (4.0, 0.3), (20.0, 1e-12)])
def test_neighbours_lose_epsilon_but_for_delta(apart, epsilon, delta):
    """Where a distance reaches `apart`, the release takes half of ε, and the test the other; elsewhere δ forgives it."""
    for distance in range(60):
        for moved in range(distance, distance + apart + 1):
            one, other = outcomes(distance, apart, epsilon, delta), outcomes(moved, apart, epsilon, delta)
            half = math.exp(epsilon / 2) * (1 + 1e-12)
            assert other[0] <= half * one[0]
            assert one[1] <= half * other[1] + 1e-300
            if moved < apart:  # the values may be anything: every answer is on one side alone
                assert max(one[0], other[0]) <= delta
    assert outcomes(apart - 1, apart, epsilon, delta)[0] >= delta * math.exp(
        -2 * epsilon / apart
    )  # and not needlessly strict


@pytest.mark.parametrize("neighbours", RELATIONS, ids=str)
def test_half_of_epsilon_is_for_the_distance_and_half_for_the_value(neighbours):
    recorder = Recorder()
    budget = CountingPurse(Neighbours.of(neighbours), recorder).grant("1/3", delta=1e-6)
    propose_test_release(5.0, sensitivity=3, distance=10**6, budget=budget)
    assert recorder.scales == [neighbours.sensitivity(1, 1) * 6, neighbours.sensitivity(3, 6) * 6]


def test_both_are_drawn_whether_it_passes_or_not():
    asked = []
    for distance in (0, 10**6, -5):
        recorder = Recorder()
        propose_test_release(
            5.0, sensitivity=3, distance=distance, budget=CountingPurse(Neighbours(), recorder).grant(1, delta=1e-6)
        )
        asked.append([(name, scale) for name, scale, _ in recorder.asked])
    assert asked[0] == asked[1] == asked[2]


def test_an_answer_comes_as_often_as_is_said():
    far, trials = utility.propose_test_release_distance(1, 1e-6), 20_000
    assert outcomes(far, 1, 1, 1e-6)[0] >= 0.95 > outcomes(far - 1, 1, 1, 1e-6)[0]
    budget = mechanisms.simulation(seed=0, trials=trials).grant(1, delta=1e-6)
    answers = propose_test_release(7.0, sensitivity=1, distance=far, budget=budget)
    assert np.isfinite(answers).mean() == pytest.approx(outcomes(far, 1, 1, 1e-6)[0], abs=hoeffding(trials))
    assert np.nanmedian(answers) == pytest.approx(7, abs=0.2)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 7.0])
def test_both_ways(epsilon):
    far = utility.propose_test_release_distance(epsilon, 1e-6)
    least = utility.propose_test_release_epsilon(far, 1e-6)
    assert least <= epsilon
    assert utility.propose_test_release_distance(least, 1e-6) <= far
    assert utility.propose_test_release_distance(0.99 * least, 1e-6) > far


def test_a_release_is_charged_to_the_delta_for_selections(tmp_path):
    with Ledger(tmp_path / "budget.db") as ledger:
        people = ledger.account("people", cap=Approximate(epsilon=1, delta=1e-6))
        how = {"sensitivity": "1/100", "distance": 10**6}
        answer = propose_test_release(36, **how, budget=people.grant("1/2", delta="1/4000000"))
        assert type(answer) is float
        assert answer == pytest.approx(36, abs=2)
        assert propose_test_release(36, sensitivity=1, distance=-9, budget=people.grant("1/4", delta="1/8000000")) is None
        charges = ledger.events("people")[1:]
        assert [(charge.operator, charge.amount) for charge in charges] == [
            ("propose_test_release", Fraction(1, 2)),
            ("propose_test_release", Fraction(1, 4)),
        ]
        assert people.left.delta == Fraction(1, 8_000_000)


def test_what_is_refused_costs_nothing(account):
    with pytest.raises(BadInput, match="has no δ.*use `laplace`"):
        propose_test_release(1, sensitivity=1, distance=3, budget=account.grant(1))
    free = mechanisms.simulation(seed=0)
    for wrong, named in (
        ({"value": [1, 2]}, "value"),
        ({"distance": [3]}, "distance"),
        ({"distance": np.zeros(2)}, "distance"),
        ({"sensitivity": 0}, "sensitivity"),
    ):
        with pytest.raises(BadInput, match=named):
            propose_test_release(**{"value": 1, "sensitivity": 1, "distance": 3, **wrong}, budget=free.grant(1, delta=1e-6))
    assert account.spent == 0


@pytest.mark.parametrize(
    ("distance", "passes"),
    [
        *((large, True) for large in (math.inf, 1e6, np.int64(10**6), Fraction(10**9, 7), 10**30)),
        *((small, False) for small in (0.5, -math.inf, math.nan, None)),
    ],
)
def test_no_distance_is_refused_for_what_it_is(distance, passes):
    """A program may return infinity where nothing leads away, and a whole number elsewhere: that is a private bit."""
    budget = mechanisms.simulation(seed=0).grant(1, delta=1e-6)
    assert (propose_test_release(36, sensitivity=1, distance=distance, budget=budget) is not None) == passes


def test_the_distance_of_the_page_is_one_that_a_record_moves_by_one():
    """On all lists of up to nine ages of three kinds: and where it is 1 or more, no record moves the median."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "mechanisms" / "propose-test-release.md").read_text("utf-8")
    wanted = ("middle = ", "below = ", "upto = ", "distance = ")
    lines = [
        line.removeprefix(">>> ") for line in page.splitlines() if line.startswith(tuple(f">>> {one}" for one in wanted))
    ]
    assert len(lines) == len(wanted)

    def facts(ages: tuple[int, ...]) -> tuple[int, int]:
        found = {"bisect": bisect, "ages": ages}
        exec("\n".join(lines), found)  # noqa: S102  # what the page shows
        return max(found["distance"], 0), found["middle"]

    for size in range(1, 9):
        for ages in combinations_with_replacement(range(3), size):
            for more in range(3):
                (distance, middle), (other, moved) = facts(ages), facts(tuple(sorted((*ages, more))))
                assert abs(distance - other) <= 1
                assert middle == moved or distance == other == 0
