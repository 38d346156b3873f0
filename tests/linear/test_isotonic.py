"""Isotonic regression against the min-max formula."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jostle.kernel.errors import BadInput
from jostle.linear.fitting.isotonic import isotonic


def by_formula(y, weights):
    """The i-th value is the largest, over starts up to i, of the least mean of an interval from there to i or beyond."""
    n = len(y)

    def mean(a, b):
        return np.average(y[a:b], weights=weights[a:b])

    return np.array([max(min(mean(a, b) for b in range(i + 1, n + 1)) for a in range(i + 1)) for i in range(n)])


@given(st.integers(1, 12), st.integers(0, 2**32), st.booleans())
def test_it_is_the_min_max_formula(n, seed, ties):
    rng = np.random.default_rng(seed)
    y = rng.integers(-2, 3, size=(2, n)).astype(float) if ties else rng.normal(size=(2, n))
    weights = rng.uniform(0.1, 2.0, n)
    expected = np.array([by_formula(row, weights) for row in y])
    np.testing.assert_allclose(isotonic(y, weights=weights), expected, atol=1e-9)
    np.testing.assert_allclose(isotonic(-y, weights=weights, falling=True), -expected, atol=1e-9)
    np.testing.assert_allclose(isotonic(y[0]), by_formula(y[0], np.ones(n)), atol=1e-9)


def test_bounds_hold_and_the_argument_stays_as_it_was():
    y = np.array([3.0, -5.0, 1.0, 9.0])
    fitted = isotonic(y, lower=0.0, upper=4.0)
    assert fitted.tolist() == [0.0, 0.0, 1.0, 4.0]
    assert y.tolist() == [3.0, -5.0, 1.0, 9.0]
    assert isotonic(np.zeros((2, 0))).shape == (2, 0)


def test_what_makes_no_sense_is_refused():
    with pytest.raises(BadInput, match="weights"):
        isotonic(np.zeros(3), weights=np.array([1.0, 0.0, 1.0]))
    with pytest.raises(BadInput, match="lower"):
        isotonic(np.zeros(3), lower=2.0, upper=1.0)


def test_a_million_places_take_no_time():
    y = np.random.default_rng(0).normal(size=10**6)
    assert (np.diff(isotonic(y)) >= 0).all()
