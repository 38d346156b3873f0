"""Consistent marginals, compared with dense weighted least squares over the whole domain."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jostle.linear.fitting.marginals import consistent

SIZES = {"a": 2, "b": 3, "c": 4, "d": 1}


def dense(axes):
    """The matrix from the vector over all axes to one histogram."""
    places = dict(zip(SIZES, np.indices(tuple(SIZES.values())).reshape(len(SIZES), -1), strict=True))
    shape = tuple(SIZES[axis] for axis in axes)
    flat = np.ravel_multi_index([places[axis] for axis in axes], shape)
    matrix = np.zeros((int(np.prod(shape)), flat.size))
    matrix[flat, np.arange(flat.size)] = 1
    return matrix


@given(
    sets=st.lists(
        st.permutations(list(SIZES)).flatmap(lambda p: st.integers(1, 4).map(lambda k: tuple(p[:k]))),
        min_size=1,
        max_size=4,
        unique_by=frozenset,
    ),
    seed=st.integers(0, 100),
)
def test_they_are_the_weighted_least_squares_solution_with_its_variances(sets, seed):
    rng = np.random.default_rng(seed)
    noisy = {axes: rng.normal(5, 3, [SIZES[axis] for axis in axes]) for axes in sets}
    variances = {axes: float(rng.uniform(0.5, 4)) for axes in sets}
    weighted = np.vstack([dense(axes) / np.sqrt(variances[axes]) for axes in sets])
    answers = np.concatenate([noisy[axes].reshape(-1) / np.sqrt(variances[axes]) for axes in sets])
    x = np.linalg.lstsq(weighted, answers, rcond=None)[0]
    covariance = np.linalg.pinv(weighted.T @ weighted)
    found, spread = consistent(noisy, variances)
    for axes in sets:
        assert found[axes].reshape(-1) == pytest.approx(dense(axes) @ x, abs=1e-8)
        assert np.diag(dense(axes) @ covariance @ dense(axes).T) == pytest.approx(spread[axes], abs=1e-8)


def test_exact_histograms_stay_as_they_are():
    x = np.arange(24.0).reshape(2, 3, 4)
    exact = {("a", "b"): x.sum(2), ("c",): x.sum((0, 1)), ("c", "a"): x.sum(1).T}
    found, _ = consistent(exact, {("a", "b"): 1.0, ("c",): 3.0, ("c", "a"): 0.5})
    for axes, values in exact.items():
        assert found[axes] == pytest.approx(values)
