"""Fits to noisy histograms: they reach what they are told, and do not follow noise where there are no records."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from jostle.synthetic.estimate import NoisyMarginal, _FitProblem, combined, fit, interaction_size, total_of
from jostle.synthetic.junction_tree import JunctionTree
from jostle.synthetic.model import summed

RNG = np.random.default_rng(0)
COUNTS = RNG.multinomial(10_000, RNG.dirichlet(np.ones(24))).reshape(2, 3, 4).astype(float)


def told(axes: tuple[int, ...], variance: float = 1e-4, noise: float = 0.0) -> NoisyMarginal:
    values = summed(COUNTS, (0, 1, 2), axes)
    return NoisyMarginal(axes, values + noise * RNG.normal(size=values.shape), variance, None if len(axes) == 1 else values)


def test_histograms_that_agree_are_reproduced() -> None:
    sets = [(0,), (1,), (2,), (0, 1), (1, 2), (0, 2)]
    tree = JunctionTree.over([2, 3, 4], sets)
    found = fit(tree, [told(axes) for axes in sets], 10_000, steps=500)
    for axes in sets:
        assert np.abs(found.counts(axes) - summed(COUNTS, (0, 1, 2), axes)).max() < 1


def test_without_noise_on_pairs_a_chain_is_the_flattest_distribution() -> None:
    """Given the middle, the ends are independent: the closed form of a chain."""
    found = fit(JunctionTree.over([2, 3, 4], [(0, 1), (1, 2)]), [told((0, 1)), told((1, 2))], 10_000, steps=500)
    left, right = summed(COUNTS, (0, 1, 2), (0, 1)), summed(COUNTS, (0, 1, 2), (1, 2))
    wanted = left[:, :, None] * right[None] / left.sum(axis=0)[None, :, None]
    assert np.abs(found.counts((0, 1, 2)) - wanted).max() < 1


def test_the_slope_is_that_of_the_function() -> None:
    sets = [(0,), (0, 1), (1, 2)]
    problem = _FitProblem(JunctionTree.over([2, 3, 4], sets), [told(axes, 25.0, 5.0) for axes in sets], 10_000)
    here = RNG.normal(size=problem.units.size)
    slope = problem.value(here)[1]
    assert np.allclose(slope, approx_fprime(here, lambda at: problem.value(at)[0], 1e-6), atol=1e-5)


def test_noise_where_nothing_is_expected_is_not_believed() -> None:
    """Independent columns, measured together with much noise: the fit stays with independence."""
    rng = np.random.default_rng(1)
    shares = np.outer(rng.dirichlet(np.ones(20)), rng.dirichlet(np.ones(20)))
    counts = 10_000 * shares
    singles = [NoisyMarginal((axis,), counts.sum(axis=1 - axis), 1.0) for axis in (0, 1)]
    noisy = NoisyMarginal((0, 1), counts + 100 * rng.normal(size=counts.shape), 1e4, counts)
    found = fit(JunctionTree.over([20, 20], [(0, 1)]), [*singles, noisy], 10_000)
    assert np.abs(found.counts((0, 1)) - counts).sum() < 0.1 * np.abs(noisy.values - counts).sum()


def test_repeated_measurements_are_averaged_by_their_precision() -> None:
    (one,) = combined([NoisyMarginal((1,), np.array([0.0]), 4.0), NoisyMarginal((1,), np.array([10.0]), 1.0)])
    assert one.values.tolist() == [8.0]
    assert one.variance == pytest.approx(0.8)


def test_the_total_is_estimated_from_what_was_measured_and_at_least_one() -> None:
    assert total_of([told((0,)), told((1,))]) == pytest.approx(10_000)
    assert total_of([NoisyMarginal((0,), np.array([-50.0, 3.0]), 1.0)]) == 1.0


def test_the_size_of_interactions_is_small_where_there_is_only_noise() -> None:
    expected = np.full(500, 1000.0)
    assert interaction_size(expected + 30 * np.random.default_rng(0).normal(size=500), expected, 900.0) == 2.0**-4
