"""Projections: their optimality conditions, and that they never lead away from the truth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

from jostle import workloads
from jostle.kernel.errors import BadInput
from jostle.linear.fitting.projections import (
    project_l1_ball,
    project_nonnegative,
    project_simplex,
    project_to_scale,
)

seeds = st.integers(0, 2**32)


@given(st.integers(1, 12), seeds)
def test_the_simplex(n, seed):
    rng = np.random.default_rng(seed)
    y, total = rng.normal(size=(3, n)), rng.uniform(0.0, 4.0, 3)
    x = project_simplex(y, total)
    np.testing.assert_allclose(x.sum(axis=-1), total, atol=1e-9)
    assert (x >= 0).all()
    # What is above 0 lost the same amount everywhere, and what is 0 would have lost more: the optimality conditions.
    for row, before in zip(x, y, strict=True):
        lost = before - row
        above = row > 1e-12
        if above.any():
            np.testing.assert_allclose(lost[above], lost[above][0], atol=1e-9)
            assert (before[~above] <= lost[above][0] + 1e-9).all()


@given(st.integers(1, 8), seeds)
def test_the_ball(n, seed):
    rng = np.random.default_rng(seed)
    y, radius = rng.normal(size=n), rng.uniform(0.01, 3.0)
    x = project_l1_ball(y, radius)
    assert np.abs(x).sum() <= radius + 1e-9
    if np.abs(y).sum() <= radius:
        assert (x == y).all()
    # No point of the ball is on the far side of the plane through x that y looks at.
    for corner in radius * np.vstack([np.eye(n), -np.eye(n)]):
        assert (y - x) @ (corner - x) <= 1e-9


def test_the_scale_of_noisy_features():
    y = np.array([[5.0, -1.0, 5.0], [1.0, 0.0, 1.0]])
    np.testing.assert_allclose(np.abs(project_to_scale(y, np.array([6.0, 6.0]), slack=1.0)).sum(axis=-1), [7.0, 2.0])
    assert np.abs(project_to_scale(y, -20.0, slack=1.0)).sum() == 0


def test_a_negative_total_is_refused():
    with pytest.raises(BadInput, match="total"):
        project_simplex(np.zeros(2), -1.0)


@settings(max_examples=40)
@given(st.integers(1, 10), seeds)
def test_the_projection_on_non_negative_counts_is_nearest_in_the_answers(n, seed):
    rng = np.random.default_rng(seed)
    estimate = rng.normal(1.0, 2.0, size=(2, n))
    for workload in (workloads.identity(n), workloads.prefix(n)):
        dense = workload.queries.dense()
        for found, start in zip(project_nonnegative(workload, estimate), estimate, strict=True):
            assert found.min() >= -1e-12
            assert np.linalg.norm(dense @ (found - start)) <= nnls(dense, dense @ start)[1] + 1e-9


@settings(max_examples=40)
@given(st.integers(1, 10), seeds, st.booleans())
def test_it_never_leads_away_from_the_truth(n, seed, known):
    rng = np.random.default_rng(seed)
    truth = rng.poisson(1.0, n)
    estimate = truth + rng.laplace(scale=3.0, size=(4, n))
    for workload in (workloads.identity(n), workloads.prefix(n)):
        found = project_nonnegative(workload, estimate, total=int(truth.sum()) if known else None)
        before, after = (np.linalg.norm(workload @ e - workload @ truth, axis=-1) for e in (estimate, found))
        assert (after <= before + 1e-9).all()
        if known:
            np.testing.assert_allclose(found.sum(axis=-1), truth.sum(), atol=1e-9)


def test_rectangles_come_out_nearer_to_the_truth():
    rng = np.random.default_rng(2)
    truth = rng.poisson(0.05, size=(16, 16)).reshape(-1)
    workload = workloads.random_rectangles((16, 16), 200, seed=1)
    estimate = truth + rng.laplace(scale=2.0, size=(8, 256))
    found = project_nonnegative(workload, estimate)
    before, after = (np.linalg.norm(workload @ e - workload @ truth, axis=-1) for e in (estimate, found))
    assert (found >= 0).all()
    assert (after < before).all()
