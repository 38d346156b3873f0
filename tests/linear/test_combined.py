"""Noisy histograms put together: the estimates are those of generalised least squares, and their laws are right."""

from __future__ import annotations

import numpy as np
import pytest

from jostle.linear.fitting import combined as module
from jostle.linear.fitting.combined import NoisyCells, combined
from jostle.linear.laws import NoiseLaw


def brute_force(asked, answers, measured):
    """Least squares with dense matrices, as in a book: (AᵀV⁻¹A)⁻¹ and weights from it."""
    rows, spread, values = [], [], []
    for one in measured:
        for cell in range(one.values.size):
            rows.append((one.cells == cell).astype(float))
            spread.append(one.variance)
            values.append(one.values[cell])
    design, weight = np.array(rows), 1 / np.array(spread)
    inverse = np.linalg.pinv(design.T @ (weight[:, None] * design))
    wanted = np.array([(asked == answer).astype(float) for answer in range(answers)])
    return wanted @ inverse @ design.T @ (weight * np.array(values)), np.diag(wanted @ inverse @ wanted.T)


@pytest.mark.parametrize("seed", range(8))
def test_estimates_and_variances_are_those_of_generalised_least_squares(seed):
    rng = np.random.default_rng(seed)
    atoms = np.arange(24)
    a, b, c = atoms // 12, atoms // 4 % 3, atoms % 4
    frames = [a * 3 + b, b * 4 + c, c, np.where(a == 0, c, -1), np.zeros(24, dtype=int), atoms]
    measured = [
        NoisyCells(
            cells, rng.normal(size=cells.max() + 1), NoiseLaw.gaussian(float(rng.uniform(1, 9))), int(rng.integers(1, 4))
        )
        for cells in frames
    ]
    for asked in (a, b, a * 4 + c, np.where(b == 1, c, -1)):
        found = combined(asked, asked.max() + 1, measured)
        estimates, variances = brute_force(asked, asked.max() + 1, measured)
        np.testing.assert_allclose(found.estimates, estimates, atol=1e-8)
        np.testing.assert_allclose(found.variances, variances, rtol=1e-8)


def test_two_marginals_of_one_joint_have_the_variance_of_the_closed_form():
    """A cell of the marginal over k columns' values, from n×k cells of variance v and from itself of variance w."""
    n, k, v, w = 5, 3, 2.0, 4.0
    joint = np.arange(n * k)
    cells = NoisyCells(joint, np.zeros(n * k), NoiseLaw.gaussian(v))
    own = NoisyCells(joint // k, np.zeros(n), NoiseLaw.gaussian(w))
    found = combined(joint // k, n, [cells, own])
    np.testing.assert_allclose(found.variances, 1 / (1 / (k * v) + 1 / w))


def test_what_does_not_follow_is_not_estimated():
    atoms = np.arange(6)
    pairs = NoisyCells(atoms // 2, np.zeros(3), NoiseLaw.gaussian(1.0))
    assert combined(atoms, 6, [pairs]) is None
    assert combined(np.where(atoms < 3, 0, -1), 1, [pairs]) is None
    assert combined(np.where(atoms < 4, 0, -1), 1, [pairs]) is not None
    part = NoisyCells(np.where(atoms < 3, atoms, -1), np.zeros(3), NoiseLaw.gaussian(1.0))
    assert combined(np.zeros(6, dtype=int), 1, [part]) is None


def test_many_atoms_take_the_other_way_to_the_same_estimates(monkeypatch):
    rng = np.random.default_rng(1)
    atoms = np.arange(60)
    fine = NoisyCells(atoms, rng.normal(size=60), NoiseLaw.gaussian(1.0))
    coarse = NoisyCells(atoms // 6, rng.normal(size=10), NoiseLaw.gaussian(5.0))
    queries = np.tril(np.ones((10, 10)))
    for asked in (None, queries):
        best = combined(atoms // 6, 10, [fine, coarse], asked)
        with monkeypatch.context() as patch:
            patch.setattr(module, "MOST_ATOMS", 1)
            other = combined(atoms // 6, 10, [fine, coarse], asked)
        np.testing.assert_allclose(other.estimates, best.estimates)
        np.testing.assert_allclose(other.variances, best.variances)
        np.testing.assert_allclose(other.margins, best.margins)
    monkeypatch.setattr(module, "MOST_ATOMS", 1)
    assert combined(atoms, 60, [coarse]) is None


def test_intervals_of_combinations_hold_in_95_of_100_cases():
    """Seeded; by Hoeffding's bound a coverage of 95 % would be below 94.2 % with a chance below 10⁻⁶ per answer."""
    rng, runs = np.random.default_rng(2), 100_000
    atoms = np.arange(8)
    fine, coarse = NoiseLaw.discrete_laplace(10), NoiseLaw.discrete_laplace(25)
    found = combined(atoms // 4, 2, [NoisyCells(atoms, np.zeros(8), fine), NoisyCells(atoms // 4, np.zeros(2), coarse)])
    noise = [rng.geometric(-np.expm1(-1 / s), (2, runs, n)) for s, n in ((10, 8), (25, 2))]
    off = sum((one[0] - one[1]) @ weights.T for one, (_, weights) in zip(noise, found.used, strict=True))
    assert (np.abs((np.abs(off) <= found.margins).mean(axis=0) - 0.95) < 0.0085).all()
    simulated = found.simulated_errors(20_000)
    np.testing.assert_allclose(simulated.var(axis=0), found.variances, rtol=0.1)


def test_numbers_with_hardly_any_noise_are_taken_as_they_are():
    exact = NoisyCells(np.arange(3), np.array([5.0, 6.0, 7.0]), NoiseLaw.discrete_laplace(0.1))
    rough = NoisyCells(np.arange(3), np.array([50.0, 60.0, 70.0]), NoiseLaw.discrete_laplace(10))
    found = combined(np.array([0, 0, 1]), 2, [exact, rough])
    assert found.estimates.tolist() == [11.0, 7.0]
    assert found.margins.tolist() == [0.0, 0.0]
