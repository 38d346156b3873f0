"""How many stages AdaptiveGrid takes, and what it pays to know."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from jostle import algorithms, simulate, workloads
from jostle.algorithms.adaptive_grid import FULL, LOOK, _usual_stages
from jostle.kernel.errors import BadInput
from jostle.kernel.source import SimulatedSource


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
    with pytest.raises(BadInput, match="stages: must be 1 or 3, got 2"):
        simulate.errors("AdaptiveGrid", np.ones((32, 32), dtype=int), boxes(32, 16), 1, trials=2, seed=0, stages=2)


@pytest.mark.parametrize(("width", "plan"), [(1, "Bayes"), (2, "Bayes"), (3, "OPT-Bayes")])
def test_one_stage_is_the_plan_that_serves_queries_of_that_size(width, plan):
    x = np.arange(256).reshape(16, 16) % 7
    found = []
    for name in ("AdaptiveGrid", plan):
        source = SimulatedSource(x, seed=3)
        found.append(algorithms.get(name).run(source, boxes(16, width), source.grant(Fraction(1))))
    np.testing.assert_array_equal(*found)
