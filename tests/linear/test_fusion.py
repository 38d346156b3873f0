"""Gaussian updates against dense linear algebra."""

from __future__ import annotations

import numpy as np
import pytest

from jostle.linear.shrinkage.bayes import Shrunk
from jostle.linear.shrinkage.fusion import Sums, fuse_nested, fuse_rows, shared_errors


def dense(cells, shared, rows, values, variances):
    prior = np.diag(cells.variances) + (cells.groups[:, None] == cells.groups) * shared[cells.groups]
    gain = prior @ rows.T @ np.linalg.inv(rows @ prior @ rows.T + np.diag(variances))
    return cells.means + gain @ (values - rows @ cells.means)


def some_cells(rng, number, groups):
    return Shrunk(
        rng.normal(size=number), rng.uniform(0.5, 2, size=number), np.sort(rng.integers(0, groups, size=number)), 0.0
    )


@pytest.mark.parametrize("seed", range(5))
def test_rows_of_any_form(seed):
    rng = np.random.default_rng(seed)
    cells = some_cells(rng, 12, 3)
    shared = rng.uniform(0.1, 1, size=cells.groups.max() + 1)
    rows, values, variances = rng.normal(size=(4, 12)), rng.normal(size=4), rng.uniform(0.1, 1, size=4)
    np.testing.assert_allclose(
        fuse_rows(cells, shared, rows, values, variances), dense(cells, shared, rows, values, variances)
    )


@pytest.mark.parametrize("seed", range(5))
def test_nested_sums_are_the_same_update_as_their_rows(seed):
    rng = np.random.default_rng(seed)
    cells = some_cells(rng, 12, 3)
    shared = rng.uniform(0.1, 1, size=cells.groups.max() + 1)
    middle, top = np.repeat(np.arange(5), [3, 1, 4, 2, 2]), np.array([0, 0, 1, 1, 1])
    fine = Sums(middle, rng.normal(size=5), np.array([0.5, 1.0, 2.0, np.inf, 0.3]))
    coarse = Sums(top, rng.normal(size=2), np.array([0.7, 0.9]))
    rows = np.vstack([np.arange(5)[:, None] == middle, np.arange(2)[:, None] == top[middle]]).astype(float)
    kept = np.array([True, True, True, False, True, True, True])
    values, variances = np.concatenate([fine.values, coarse.values]), np.concatenate([fine.variances, coarse.variances])
    expected = dense(cells, shared, rows[kept], values[kept], variances[kept])
    np.testing.assert_allclose(fuse_nested(cells, shared, [fine, coarse]), expected, atol=1e-8)


def test_shared_errors_are_those_of_a_mean():
    cells = Shrunk(np.zeros(4), np.ones(4), np.array([0, 0, 0, 1]), 0.0)
    assert shared_errors(cells, 3.0).tolist() == [1.0, 3.0]
