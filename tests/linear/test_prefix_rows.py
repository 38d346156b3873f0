"""The optimised rows: their norm, their variance, and that the shipped file is what the optimiser finds."""

from __future__ import annotations

import numpy as np
import pytest

from jostle.linear.design.prefix_rows import CELL_WEIGHT, prefix_rows
from tools.optimise_prefix_rows import optimise, variance


def prefix_error(n):
    """The root of the expected squared error of all prefix sums at ε = 1, by dense algebra."""
    strategy = np.vstack([CELL_WEIGHT * np.eye(n), prefix_rows(n)])
    inverse = np.linalg.inv(strategy.T @ strategy)
    prefixes = np.tril(np.ones((n, n)))
    return np.sqrt(2 * np.trace(prefixes @ inverse @ prefixes.T))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 8, 9, 100, 1000, 5000])
def test_columns_have_norm_one(n):
    rows = prefix_rows(n)
    assert (rows >= 0).all()
    np.testing.assert_allclose(rows.sum(axis=0) + CELL_WEIGHT, 1)


@pytest.mark.parametrize(("n", "at_most"), [(64, 44), (256, 121), (300, 138), (512, 200), (1024, 325)])
def test_prefix_sums_have_the_error_that_was_optimised(n, at_most):
    assert prefix_error(n) < at_most


def test_the_gradient_is_the_slope():
    rng = np.random.default_rng(0)
    roots = rng.uniform(0.2, 1, size=3 * 8)
    value, gradient = variance(roots, 8, 4)
    for k in range(0, 24, 5):
        step = np.zeros(24)
        step[k] = 1e-6
        slope = (variance(roots + step, 8, 4)[0] - variance(roots - step, 8, 4)[0]) / 2e-6
        assert gradient[k] == pytest.approx(slope, rel=1e-4, abs=1e-6 * value)


def test_blocks_are_accounted_for_exactly():
    rng = np.random.default_rng(1)
    roots = rng.uniform(0.2, 1, size=(3, 8))
    squares = roots**2 + 1e-9
    wide = np.repeat(squares / squares.sum(axis=0) * (1 - CELL_WEIGHT), 4, axis=1)
    strategy = np.vstack([CELL_WEIGHT * np.eye(32), wide])
    prefixes = np.tril(np.ones((32, 32)))
    expected = np.trace(prefixes @ np.linalg.inv(strategy.T @ strategy) @ prefixes.T)
    assert variance(roots.reshape(-1), 8, 4)[0] * 32 == pytest.approx(expected)


@pytest.mark.parametrize("n", [16, 64])
def test_the_shipped_rows_are_what_the_optimiser_finds(n):
    np.testing.assert_allclose(prefix_rows(n), optimise(n)[1], atol=0.02)
