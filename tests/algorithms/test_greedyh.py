"""GreedyH against dense least squares and against fixed weights."""

from __future__ import annotations

import numpy as np
import pytest

from jostle import simulate, workloads
from jostle.algorithms.greedyh import weighted_tree
from jostle.kernel.strategies import hierarchy
from tests.algorithms.expected import mean_square, square_error

ASKED = [workloads.prefix(32), workloads.identity(32), workloads.all_ranges(16), workloads.ranges(50, [0, 9], [30, 12])]


@pytest.mark.parametrize("workload", ASKED, ids=str)
def test_the_error_is_that_of_least_squares(workload):
    expected = square_error(weighted_tree(workload.queries), workload, epsilon=0.5)
    errors = simulate.errors("GreedyH", np.arange(workload.shape[1]), workload, 0.5, trials=4000, seed=1)
    assert mean_square(errors) == pytest.approx(expected, rel=0.15)


@pytest.mark.parametrize("workload", ASKED, ids=str)
def test_it_beats_even_weights(workload):
    mine = square_error(weighted_tree(workload.queries), workload, epsilon=0.1)
    for root in (True, False):
        assert mine <= square_error(hierarchy(workload.domain, 2, root=root), workload, epsilon=0.1)


def test_a_histogram_is_measured_cell_by_cell():
    assert weighted_tree(workloads.identity(100).queries).grids == ((100,),)


def test_cells_that_nobody_asks_for_are_still_estimated():
    errors = simulate.errors("GreedyH", np.arange(16), workloads.total(16), 1.0, trials=2000, seed=0)
    # A noisy total alone would have a mean square of 1.85.
    assert mean_square(errors) < 2.2
