"""Closed forms of the data-independent plans, and HB's choice of branching."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from jostle import simulate, workloads
from jostle.algorithms.hb import best_branching
from jostle.kernel.noise import variance
from jostle.kernel.strategies import hierarchy


def mean_square(name, x, workload, epsilon, trials=4000, **tunables):
    errors = simulate.errors(name, x, workload, epsilon, trials=trials, seed=11, **tunables)
    return (errors**2).mean(), 6 * (errors**2).std() / np.sqrt(trials)


@pytest.mark.parametrize(("neighbours", "factor"), [("add_remove", 1), ("replace", 2)])
@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_laplace_has_the_variance_of_its_noise(neighbours, factor, epsilon):
    x = np.arange(30)
    errors = simulate.errors("Laplace", x, workloads.identity(30), epsilon, trials=4000, seed=11, neighbours=neighbours)
    expected = 30 * variance(factor / Fraction(str(epsilon)))
    assert abs((errors**2).mean() - expected) < 6 * (errors**2).std() / np.sqrt(4000)


@pytest.mark.parametrize("root", [True, False])
@pytest.mark.parametrize("kind", ["identity", "prefix"])
@pytest.mark.parametrize(("n", "branching"), [(16, 4), (10, 3), (27, 3), (12, 2)])
def test_hb_has_the_error_of_the_dense_least_squares(root, kind, n, branching):
    workload = getattr(workloads, kind)(n)
    tree = hierarchy(n, branching, root=root)
    rows, matrix = workload.queries.dense(), tree.dense()
    expected = variance(Fraction(tree.norm)) * np.trace(rows @ np.linalg.inv(matrix.T @ matrix) @ rows.T)
    found, slack = mean_square("HB", np.zeros(n, dtype=int), workload, 1, branching=branching, root=root)
    assert abs(found - expected) < slack


def test_uniform_is_biased_by_the_shape_alone():
    x = np.array([10, 0, 0, 10])
    found, slack = mean_square("Uniform", x, workloads.identity(4), 1)
    expected = ((x - x.mean()) ** 2).sum() + variance(Fraction(1)) / 4
    assert abs(found - expected) < slack
    public = simulate.errors("Uniform", x, workloads.total(4), 1, trials=3, seed=0, neighbours="replace")
    assert (public == 0).all()


def test_hb_branches_as_its_authors_say():
    assert [best_branching((n,)) for n in (256, 1024, 4096)] == [16, 32, 16]


@pytest.mark.parametrize("shape", [(32, 32), (24, 40)])
def test_hb_on_a_grid_is_near_the_best_branching(shape):
    rng = np.random.default_rng(0)
    corners = [np.sort(rng.integers(0, n + 1, size=(400, 2)), axis=1) for n in shape]
    kept = np.all([c[:, 0] < c[:, 1] for c in corners], axis=0)
    lows, highs = (np.stack([c[kept, side] for c in corners], axis=1) for side in (0, 1))
    workload = workloads.rectangles(shape, lows, highs)
    zeros = np.zeros(shape, dtype=int)
    ours = mean_square("HB", zeros, workload, 1, trials=600)[0]
    others = [mean_square("HB", zeros, workload, 1, trials=600, branching=b)[0] for b in (2, 4, 6, 8, 12, 16, 32)]
    assert ours < 1.15 * min(others)


def test_noise_at_training_scale_has_its_variance():
    errors = simulate.errors("Laplace", np.zeros(4096, dtype=int), workloads.identity(4096), 1, trials=50, seed=2)
    ratio = (errors**2).sum() / (50 * 4096 * variance(Fraction(1)))
    # The kurtosis of discrete Laplace noise is below 7, so the variance of one squared term is below 6 of its mean squared.
    assert abs(ratio - 1) < 6 * np.sqrt(6 / (50 * 4096))
