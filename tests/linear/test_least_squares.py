"""Least squares from products alone, against dense algebra."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

from jostle.kernel.errors import BadInput
from jostle.kernel.strategies import Strategy, boxes, hierarchy, identity, matrix, prefix, stack, total, wavelet
from jostle.linear.fitting.least_squares import nonnegative_least_squares


def strategies_over(n: int, rng: np.random.Generator) -> list[Strategy]:
    lows = rng.integers(0, n, size=(2 * n, 1))
    highs = np.array([[rng.integers(low, n) + 1] for (low,) in lows])
    return [
        identity(n),
        prefix(n),
        hierarchy(n, 3),
        wavelet(n),
        stack(total(n), identity(n), weights=[0.3, 1.0]),
        matrix(rng.normal(size=(n + 2, n))),
        boxes(n, lows, highs),  # some cells may be in no box
    ]


@settings(max_examples=10)
@given(st.integers(2, 9), st.integers(0, 2**32))
def test_non_negative_least_squares_fits_as_well_as_the_active_set_method(n, seed):
    rng = np.random.default_rng(seed)
    for strategy in strategies_over(n, rng):
        answers = rng.normal(size=(3, strategy.rows))
        found = nonnegative_least_squares(strategy, answers, iterations=5000, slack=1e-12)
        assert (found >= 0).all()
        dense = strategy.dense()
        for x, y in zip(found, answers, strict=True):
            assert np.linalg.norm(dense @ x - y) <= nnls(dense, y)[1] + 1e-4


@pytest.mark.parametrize("shape", [(12,), (4, 5), (1, 6), (2, 3, 2)])
def test_boxes_of_any_dimension_from_any_start(shape):
    rng = np.random.default_rng(3)
    lows = np.array([[rng.integers(0, n) for n in shape] for _ in range(30)])
    highs = np.array([[rng.integers(low, n) + 1 for low, n in zip(row, shape, strict=True)] for row in lows])
    queries = boxes(shape, lows, highs)
    answers = rng.normal(2.0, 3.0, size=(2, 30))
    start = rng.normal(size=(2, queries.size))
    found = nonnegative_least_squares(queries, answers, start=start, iterations=20_000, slack=1e-13)
    for x, y in zip(found, answers, strict=True):
        assert np.linalg.norm(queries.dense() @ x - y) <= nnls(queries.dense(), y)[1] + 1e-4


def test_what_does_not_fit_is_refused():
    with pytest.raises(BadInput, match="answers"):
        nonnegative_least_squares(identity(4), np.zeros(3))
