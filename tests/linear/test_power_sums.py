"""Sums of powers of weights from a strategy's structure, beside all weights from its dense matrix."""

import numpy as np
import pytest

from jostle import workloads
from jostle.kernel.strategies import Strategy, hierarchy, matrix, wavelet
from jostle.linear.boxes import boxes_of
from jostle.linear.design.p_identity import PIdentity
from jostle.linear.power_sums import least_squares, power_sums
from jostle.workloads import Workload

RANDOM = np.random.default_rng(0)


def overlapping(shape: tuple[int, ...]) -> Strategy:
    sums = RANDOM.random((3, int(np.prod(shape))))
    return PIdentity(np.where(sums < 0.6, sums, 0.0), shape).queries


def asked(shape: tuple[int, ...]) -> list[Workload]:
    lows = RANDOM.integers(0, shape, (20, len(shape)))
    highs = RANDOM.integers(lows + 1, np.array(shape) + 1)
    if len(shape) == 2:
        return [workloads.rectangles(shape, lows, highs), workloads.marginals(shape, (0,), (1,), (0, 1), ())]
    return [workloads.identity(shape), workloads.prefix(*shape), workloads.ranges(*shape, lows[:, 0], highs[:, 0])]


@pytest.mark.parametrize("shape", [(1,), (7,), (37,), (64,), (6, 8), (13, 3)])
def test_power_sums_are_those_of_all_weights(shape: tuple[int, ...]) -> None:
    growing = [1.3**level for level in range(len(hierarchy(shape, 2).levels))]
    strategies = [
        *(hierarchy(shape, branching, root=root) for branching in (2, 3, 16) for root in (True, False)),
        hierarchy(shape, 2, weights=growing),
        wavelet(shape),
        overlapping(shape),
    ]
    for strategy in strategies:
        cells = least_squares(strategy, np.eye(strategy.rows))
        assert cells is not None
        for workload in asked(shape):
            weights = workload.queries.dense() @ cells.T / strategy.unit  # of numbers in units
            expected = np.array([(weights**k).sum(axis=1) for k in (2, 4, 6)])
            np.testing.assert_allclose(power_sums(strategy, workload.queries), expected, rtol=1e-7, atol=1e-18)


def test_least_squares_are_those_of_the_dense_matrix() -> None:
    for strategy in (hierarchy((5, 4), 2), overlapping((5, 4)), hierarchy(9, 3, root=False)):
        answers = RANDOM.normal(size=strategy.rows)
        expected = np.linalg.lstsq(strategy.dense(), answers, rcond=None)[0]
        np.testing.assert_allclose(least_squares(strategy, answers), expected, atol=1e-9)
    assert least_squares(matrix([[1, 1], [0, 1]]), np.ones(2)) is None
    assert least_squares(hierarchy((2, 2, 2), 2), np.ones(9)) is None


def test_boxes_are_where_queries_count() -> None:
    shape = (4, 3)
    for workload in (workloads.identity(shape), workloads.total(shape), *asked(shape)):
        ends = boxes_of(workload.queries)
        assert ends is not None
        places = np.stack(np.unravel_index(np.arange(12), shape), axis=1)
        inside = ((ends[0][:, None] <= places) & (places < ends[1][:, None])).all(axis=2)
        np.testing.assert_array_equal(inside, workload.queries.dense())
    assert boxes_of(workloads.marginals((2, 3, 2), (0, 2)).queries) is not None
    corners = workloads.matrix([[1, 0, 1]])
    assert boxes_of(corners.queries) is None
    assert power_sums(hierarchy(3, 2), corners.queries) is None
