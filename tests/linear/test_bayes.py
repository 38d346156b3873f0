"""Empirical Bayes against brute force: densities, EM, moments, and what shrinking is worth."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jostle.linear.shrinkage import priors
from jostle.linear.shrinkage.bayes import shrink, shrink_by_scale
from jostle.linear.shrinkage.priors import _flat_moments


def kernel(values, support, scale):
    return np.exp(-np.abs(values[:, None] - support[None, :]) / scale)


@settings(max_examples=60)
@given(st.integers(1, 30), st.integers(1, 12), st.floats(0.3, 20), st.integers(0, 2**32))
def test_em_in_linear_time_is_em_with_the_whole_matrix(cells, points, scale, seed):
    rng = np.random.default_rng(seed)
    distinct = np.sort(rng.normal(scale=5 * scale, size=cells))
    seen = rng.integers(1, 4, size=cells)
    values, cells = np.repeat(distinct, seen), int(seen.sum())
    support = np.unique(np.round(rng.uniform(0, 10 * scale, size=points), 2))
    weights = np.full(support.size, 1 / support.size)
    before, after, likelihood = priors.maximise(distinct, seen, support, weights, scale, 3)
    matrix = kernel(values, support, scale)
    for _ in range(3):
        density = matrix @ weights
        expected, kept = np.log(density).sum(), weights
        weights = weights * (matrix.T @ (1 / density)) / cells
    np.testing.assert_allclose(before, kept, rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(after, weights, rtol=1e-7, atol=1e-12)
    assert likelihood == pytest.approx(expected)


@settings(max_examples=60)
@given(st.integers(1, 30), st.integers(1, 12), st.floats(0.3, 20), st.integers(0, 2**32))
def test_moments_in_linear_time_are_sums_over_the_support(cells, points, scale, seed):
    rng = np.random.default_rng(seed)
    values = np.sort(rng.normal(scale=5 * scale, size=cells)) + 10**6
    support = np.unique(np.round(rng.uniform(0, 10 * scale, size=points), 2)) + 10**6
    weights = rng.uniform(0.1, 1, size=support.size)
    distance = support[None, :] - values[:, None]
    mass = kernel(values, support, scale) * weights
    expected = np.stack([(mass * distance**k).sum(axis=1) for k in range(3)])
    np.testing.assert_allclose(priors.moments(values, support, weights, scale), expected, rtol=1e-6, atol=1e-9)


def test_likelihood_never_falls():
    rng = np.random.default_rng(3)
    values = np.sort(rng.poisson(2, size=200) + rng.laplace(scale=2, size=200))
    support = priors.count_supports(values[None], np.array([values.size]), 2.0)[0][0]
    flat = np.full(support.size, 1 / support.size)
    found = [
        priors.maximise(values, np.ones(200, dtype=np.int64), support, flat, 2.0, rounds)[2] for rounds in (1, 2, 5, 20, 80)
    ]
    assert (np.diff(found) >= -1e-9).all()


@pytest.mark.parametrize("u", [-3.0, 0.0, 0.7, 12.0])
def test_flat_moments_are_integrals(u):
    at = np.linspace(0, 200, 2_000_001)
    weight = np.exp(-np.abs(at - u) / 1.5)
    expected = [np.trapezoid(weight * (at - u) ** k, at) for k in range(3)]
    np.testing.assert_allclose(_flat_moments(np.array([u]), 1.5)[:, 0], expected, rtol=1e-4)


@pytest.mark.parametrize(("seed", "epsilon"), [(0, 0.1), (1, 1.0)])
def test_shrinking_sparse_counts_beats_the_noise_by_far(seed, epsilon):
    rng = np.random.default_rng(seed)
    x = np.where(rng.uniform(size=2000) < 0.05, rng.integers(50, 500, size=2000), 0)
    y = x + np.round(rng.laplace(scale=1 / epsilon, size=2000))
    shrunk = shrink(y, 1 / epsilon)
    assert np.linalg.norm(shrunk.means - x) < 0.5 * np.linalg.norm(y - x)
    assert (shrunk.means >= 0).all()


def test_variances_are_honest_on_average():
    rng = np.random.default_rng(7)
    ratios = []
    for _ in range(20):
        x = rng.poisson(rng.gamma(0.5, 20, size=1000))
        y = x + np.round(rng.laplace(scale=5, size=1000))
        shrunk = shrink(y, 5.0)
        ratios.append(((shrunk.means - x) ** 2).sum() / shrunk.variances.sum())
    assert 0.8 < np.mean(ratios) < 1.2


def test_a_context_is_used_where_it_tells_something_and_not_where_it_does_not():
    rng = np.random.default_rng(1)
    x = np.where(np.arange(1000) < 500, 0, 30)
    y = x + np.round(rng.laplace(scale=20, size=1000))
    place = np.arange(1000.0)
    told = shrink(y, 20.0, [place])
    assert told.groups.max() >= 1
    assert np.linalg.norm(told.means - x) < 0.5 * np.linalg.norm(shrink(y, 20.0).means - x)
    assert shrink(y, 20.0, [rng.normal(size=1000)]).groups.max() == 0


@given(st.lists(st.integers(-50, 10**6), min_size=1, max_size=40), st.sampled_from([0.1, 1.0, 30.0, 1e6]))
def test_any_values_give_finite_means(values, scale):
    shrunk = shrink(np.array(values, dtype=float), scale)
    assert np.isfinite(shrunk.means).all()
    assert (shrunk.variances >= 0).all()


def test_scales_are_kept_apart():
    y = np.array([0.0, 1.0, 2.0, 100.0, 120.0])
    shrunk = shrink_by_scale(y, np.array([1.0, 1.0, 1.0, 50.0, 50.0]))
    assert set(shrunk.groups[:3]) & set(shrunk.groups[3:]) == set()
