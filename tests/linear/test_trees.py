"""Least squares on trees against the dense pseudo-inverse."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jostle.kernel.strategies import hierarchy, wavelet
from jostle.linear.fitting.trees import average_range_variance, cells_of, tree_least_squares


@settings(max_examples=60)
@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=2).map(tuple),
    st.integers(2, 5),
    st.booleans(),
    st.booleans(),
    st.integers(0, 2**32),
)
def test_least_squares_is_the_pseudo_inverse(shape, branching, root, weighted, seed):
    rng = np.random.default_rng(seed)
    tree = hierarchy(shape, branching, root=root)
    if weighted:
        tree = hierarchy(shape, branching, root=root, weights=tuple(rng.uniform(0.2, 1.0, len(tree.levels))))
    answers = rng.normal(size=(3, tree.rows))
    expected = answers @ np.linalg.pinv(tree.dense()).T
    np.testing.assert_allclose(tree_least_squares(tree, answers), expected, atol=1e-8)
    np.testing.assert_allclose(tree_least_squares(tree, answers[0]), expected[0], atol=1e-8)


def test_consistent_answers_stay_as_they_are():
    x = np.random.default_rng(0).integers(0, 50, size=(20, 30))
    tree = hierarchy((20, 30), 3)
    np.testing.assert_allclose(tree_least_squares(tree, tree @ x), x.reshape(-1), atol=1e-9)


@pytest.mark.parametrize(("shape", "branching"), [((16,), 4), ((64,), 8), ((16, 16), 4)])
@pytest.mark.parametrize("root", [True, False])
def test_average_variance_of_a_range(shape, branching, root):
    tree = hierarchy(shape, branching, root=root)
    matrix = tree.dense()
    covariance = np.linalg.inv(matrix.T @ matrix)
    lines = [_all_ranges(n) for n in shape]
    ranges = lines[0] if len(shape) == 1 else np.kron(lines[0], lines[1])
    exact = np.einsum("qi,ij,qj->q", ranges, covariance, ranges).mean()
    assert average_range_variance(tree) == pytest.approx(exact, rel=0.12)


def _all_ranges(n):
    return np.array([[a <= i < b for i in range(n)] for a in range(n) for b in range(a + 1, n + 1)], dtype=float)


@given(st.lists(st.integers(1, 9), min_size=1, max_size=3).map(tuple), st.integers(0, 2**32))
def test_the_wavelet_is_undone(shape, seed):
    x = np.random.default_rng(seed).integers(0, 1000, size=(2, int(np.prod(shape))))
    transform = wavelet(shape)
    np.testing.assert_allclose(cells_of(transform, transform.apply(x).astype(float)), x, atol=1e-9)
