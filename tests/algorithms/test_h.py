"""H against dense least squares."""

from __future__ import annotations

import numpy as np
import pytest

from jostle import simulate, workloads
from jostle.kernel.strategies import hierarchy
from tests.algorithms.expected import mean_square, square_error


@pytest.mark.parametrize("workload", [workloads.prefix(16), workloads.identity(13), workloads.all_ranges(9)])
@pytest.mark.parametrize("root", [False, True])
def test_the_error_is_that_of_least_squares(workload, root):
    expected = square_error(hierarchy(workload.domain, 2, root=root), workload, epsilon=0.5)
    errors = simulate.errors("H", np.arange(workload.shape[1]), workload, 0.5, trials=4000, seed=1, root=root)
    assert mean_square(errors) == pytest.approx(expected, rel=0.1)


@pytest.mark.parametrize("n", [64, 256])
def test_the_root_is_not_worth_its_share(n):
    for workload in (workloads.prefix(n), workloads.identity(n)):
        with_root, without = (square_error(hierarchy(n, 2, root=root), workload, epsilon=1.0) for root in (True, False))
        assert without < with_root
