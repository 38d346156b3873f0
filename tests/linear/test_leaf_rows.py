"""Rows for leaves of different widths: against dense algebra, and better than rows that ignore the widths."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jostle.linear.design.leaf_rows import _variance, leaf_rows, prefix_gram
from jostle.linear.design.prefix_rows import CELL_WEIGHT, prefix_rows


def prefixes(widths):
    """The prefix sums of the cells as a matrix over leaves that share their count evenly."""
    cells = np.repeat(np.eye(widths.size) / widths, widths, axis=0)
    return np.cumsum(cells, axis=0)


def variance(widths, d, rows):
    """The variance of all prefix sums together, for noise of variance 1, by dense algebra."""
    strategy = np.vstack([d * np.eye(widths.size), rows])
    queries = prefixes(widths)
    return np.trace(queries @ np.linalg.inv(strategy.T @ strategy) @ queries.T)


@settings(max_examples=50)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=12), st.integers(0, 2**32))
def test_the_gram_matrix_is_that_of_the_prefixes(widths, seed):
    widths = np.array(widths)
    vectors = np.random.default_rng(seed).normal(size=(3, widths.size))
    gram, trace = prefix_gram(widths)
    dense = prefixes(widths).T @ prefixes(widths)
    np.testing.assert_allclose(gram(vectors), vectors @ dense, atol=1e-9)
    assert trace == pytest.approx(np.trace(dense))


def test_the_variance_is_that_of_least_squares_and_the_gradient_its_slope():
    rng = np.random.default_rng(0)
    widths = np.array([1, 5, 2, 2, 30, 1])
    gram, trace = prefix_gram(widths)
    roots = rng.uniform(0.2, 1, size=3 * 6)
    value, gradient = _variance(roots, 3, 0.3, gram, trace)
    squares = roots.reshape(3, 6) ** 2 + 1e-9
    assert value * trace == pytest.approx(variance(widths, 0.3, squares / squares.sum(axis=0) * 0.7))
    for k in range(0, 18, 4):
        step = np.zeros(18)
        step[k] = 1e-6
        slope = (_variance(roots + step, 3, 0.3, gram, trace)[0] - _variance(roots - step, 3, 0.3, gram, trace)[0]) / 2e-6
        assert gradient[k] == pytest.approx(slope, rel=1e-4, abs=1e-6)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.sampled_from([1, 2, 3, 40, 128]), min_size=1, max_size=60))
def test_columns_add_up_to_one_and_nothing_is_lost(widths):
    widths = np.array(widths)
    d, rows = leaf_rows(widths)
    assert (rows >= 0).all()
    np.testing.assert_allclose(rows.sum(axis=0) + d, 1)
    assert variance(widths, d, rows) <= 1.001 * variance(widths, CELL_WEIGHT, prefix_rows(widths.size))


def test_where_most_cells_are_in_wide_leaves_the_error_falls_by_a_fifth():
    widths = np.array([1] * 140 + [128] * 31)
    d, rows = leaf_rows(widths)
    assert np.sqrt(variance(widths, d, rows) / variance(widths, CELL_WEIGHT, prefix_rows(171))) < 0.8


def test_many_leaves_are_optimised_in_groups():
    d, rows = leaf_rows(np.array([1] * 900 + [8] * 101))
    assert rows.shape[1] == 1001
    np.testing.assert_allclose(rows.sum(axis=0) + d, 1)
