"""QuadTree against dense weighted least squares."""

from __future__ import annotations

import numpy as np
import pytest

from jostle import simulate, workloads
from jostle.kernel.strategies import hierarchy
from tests.algorithms.expected import mean_square, square_error


@pytest.mark.parametrize("shape", [(8, 8), (3, 7)])
def test_the_error_is_that_of_weighted_least_squares(shape):
    workload = workloads.random_rectangles(shape, 30, seed=0)
    levels = len(hierarchy(shape, 2).levels)
    tree = hierarchy(shape, 2, weights=[2 ** (level / 3) for level in range(levels)])
    errors = simulate.errors("QuadTree", np.ones(shape, dtype=int), workload, 0.5, trials=4000, seed=1)
    assert mean_square(errors) == pytest.approx(square_error(tree, workload, epsilon=0.5), rel=0.1)


def test_budget_grows_towards_the_cells():
    """Cormode et al. compare even and geometric budgets; the geometric ones win on small boxes."""
    workload = workloads.random_rectangles((16, 16), 200, seed=0, lengths=(0.0, 0.25))
    even, geometric = (
        simulate.errors("QuadTree", np.ones((16, 16), dtype=int), workload, 0.5, trials=300, seed=1, growth=growth)
        for growth in (1.0, 2 ** (1 / 3))
    )
    assert mean_square(geometric) < mean_square(even)
