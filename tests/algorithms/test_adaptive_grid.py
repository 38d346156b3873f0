"""How many stages AdaptiveGrid takes, what it pays to know, and how finely it cuts."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jostle import algorithms, simulate, workloads
from jostle.algorithms.adaptive_grid import (
    DOUBT,
    FIRST,
    FULL,
    LEAST,
    LOOK,
    MOST,
    RECORDS,
    SHARES,
    _usual_stages,
    dimension_of,
)
from jostle.kernel.errors import BadInput
from jostle.kernel.source import SimulatedSource
from jostle.linear.shrinkage.leaves import cut, regular


def boxes(side, width):
    """Squares of one width, all over the domain."""
    lows = np.array([(i, j) for i in range(0, side - width + 1, width) for j in range(0, side - width + 1, width)])
    return workloads.rectangles((side, side), lows, lows + width)


def stages(records, side, width, neighbours="add_remove"):
    x = np.zeros((side, side), dtype=int)
    x[0, 0] = records
    source = SimulatedSource(x, seed=0, neighbours=neighbours)
    number, rest = _usual_stages(source, boxes(side, width), source.grant(Fraction(1)))
    return number, rest.epsilon


def test_where_records_decide_their_noisy_number_is_paid_for():
    # Noise of scale 1/LOOK is as large as what lies between with a chance of exp(−10) at most; and the seed is fixed.
    needed = 64**2 * FULL
    (few, left), (many, left_too) = stages(0, 64, 4), stages(int(needed + 20 / LOOK), 64, 4)
    assert (few, many) == (3, 1)
    assert left == left_too == 1 - Fraction(str(LOOK))


def test_many_records_on_a_small_grid_are_measured_at_once():
    assert stages(10**6, 32, 16)[0] == 1


@pytest.mark.parametrize(("side", "width", "number"), [(16, 8, 1), (64, 2, 1), (64, 32, 3), (128, 64, 3)])
@pytest.mark.parametrize("records", [0, 10**6])
def test_elsewhere_the_question_decides_and_nothing_is_paid(side, width, number, records):
    assert stages(records, side, width) == (number, 1)


@pytest.mark.parametrize(("records", "number"), [(0, 3), (10**6, 1)])
def test_a_public_number_of_records_costs_nothing(records, number):
    assert stages(records, 32, 16, neighbours="replace") == (number, 1)


def test_other_numbers_of_stages_are_refused():
    with pytest.raises(BadInput, match="stages: must be one of 1, 3, got 2"):
        simulate.errors("AdaptiveGrid", np.ones((32, 32), dtype=int), boxes(32, 16), 1, trials=2, seed=0, stages=2)


@pytest.mark.parametrize(("width", "plan"), [(1, "Bayes"), (4, "Bayes"), (5, "OPT-Bayes")])
def test_one_stage_is_the_plan_that_serves_queries_of_that_size(width, plan):
    x = np.arange(256).reshape(16, 16) % 7
    found = []
    for name in ("AdaptiveGrid", plan):
        source = SimulatedSource(x, seed=3)
        found.append(algorithms.get(name).run(source, boxes(16, width), source.grant(Fraction(1))))
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize(("held", "dimension"), [(16, 2.0), (4, 1.0), (8, 1.5)])
def test_the_dimension_is_that_of_the_pieces_that_hold_records(held, dimension):
    # k^D of the k² pieces hold the same number of records each; a guess of the same dimension changes nothing.
    noisy = np.repeat([1e9, 0.0], [held, 16 - held])
    assert dimension_of(regular((64, 64), (4, 4)), noisy, 0.0, guess=dimension) == pytest.approx(dimension, abs=1e-6)


def test_what_noise_adds_to_squares_is_taken_off():
    rng = np.random.default_rng(5)
    even = regular((64, 64), (4, 4))
    found = [dimension_of(even, 60 + rng.laplace(scale=20, size=16), 800.0, guess=1.0) for _ in range(400)]
    # Without it the squares would be (3600 + 800)/3600 of what they are, and the mean of the shares, which the dimension
    # follows, off by so much.
    weight = 960.0**2 / (960.0**2 + 3 * 800 * 16)
    guessed = -np.log((weight / 16 + DOUBT / 4) / (weight + DOUBT)) / np.log(FIRST)
    assert np.mean(found) == pytest.approx(guessed, abs=0.02)


def test_a_guess_counts_for_half_a_box_and_the_least_dimension_holds():
    one = np.eye(16)[3] * 1e9
    mixed = (1 + DOUBT * FIRST**-2) / (1 + DOUBT)
    assert -np.log(mixed) / np.log(FIRST) < LEAST
    assert dimension_of(regular((64, 64), (4, 4)), one, 2.0, guess=2.0) == pytest.approx(LEAST, abs=1e-6)
    assert dimension_of(regular((64, 64), (4, 4)), np.zeros(16), 2.0, guess=1.3) == pytest.approx(1.3, abs=1e-6)


@given(st.lists(st.floats(-1e12, 1e12), min_size=16, max_size=16), st.floats(0, 1e6), st.floats(LEAST, 2.0))
def test_any_noise_gives_a_dimension_of_a_plane(noisy, noise, guess):
    assert LEAST <= dimension_of(regular((64, 64), (4, 4)), np.array(noisy), noise, guess) <= 2.0


def test_boxes_that_were_not_cut_say_nothing():
    boxes_ = cut(regular((64, 64), (4, 4)), np.r_[2, np.ones(15, dtype=int)])
    noisy = np.r_[1e9, 0, 0, 0, np.full(15, 1e9)]
    alone = dimension_of(boxes_, noisy, 0.0, guess=2.0)
    noisy[4:] = 0
    assert dimension_of(boxes_, noisy, 0.0, guess=2.0) == alone


def measured_boxes(x):
    """Into how many boxes each of the three stages cuts the domain."""
    seen = []

    class Watched(SimulatedSource):
        def measure(self, strategy, budget):
            noisy = super().measure(strategy, budget)
            seen.append(noisy.size)
            return noisy

    source = Watched(x, seed=1)
    algorithms.get("AdaptiveGrid").run(source, boxes(128, 64), source.grant(Fraction(1)))
    return seen


def test_few_heavy_cells_are_cut_out_and_spread_records_are_not():
    heavy, spread = np.zeros((128, 128), dtype=int), np.zeros((128, 128), dtype=int)
    heavy[::40, ::40] = 2000
    spread[:] = 2
    first, second, last = measured_boxes(heavy)
    assert first == FIRST**2
    assert second == (FIRST * MOST) ** 2
    assert last >= (FIRST * MOST) ** 2 - 16 + 16 * 10**2  # boxes of 10 or 11 cells along each axis are cut into cells
    assert measured_boxes(spread)[2] < 128**2 / 4


def test_stages_share_all_of_the_budget():
    assert sum(SHARES) == pytest.approx(1)
    assert RECORDS > 0
