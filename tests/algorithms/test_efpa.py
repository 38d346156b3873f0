"""EFPA: what was wrong with it, the norms of its frequencies, and that its two measurements are averaged rightly."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from jostle import simulate, workloads
from jostle.algorithms.efpa import _geometric, _norms, _octaves, _scales, frequencies
from jostle.kernel.noise import variance
from tests.algorithms.asking import asked_of


def test_the_published_phases_tell_neighbours_apart():
    """Noise on magnitudes alone leaves each phase exact: one record in an empty table is then located with certainty."""
    for cell in range(8):
        coefficient = np.fft.rfft(np.eye(8)[cell])[1]
        noisy = 12.3 * coefficient / abs(coefficient)  # whatever the noise on the magnitude
        assert round(-np.angle(noisy) * 8 / (2 * np.pi)) % 8 == cell


@pytest.mark.parametrize("n", [64, 256, 1024])
def test_the_published_tail_moves_by_about_the_root_of_n(n):
    """The score of k is the norm of the coefficients from k on; one record moves it by √(n/2) at k = 1, not by 1."""
    tail = np.linalg.norm(np.fft.rfft(np.eye(n)[0])[1:])
    assert tail == pytest.approx(np.sqrt(n / 2))
    assert tail > 5


@pytest.mark.parametrize(("n", "k"), [(1, 1), (2, 1), (7, 3), (16, 2), (16, 8), (64, 16), (65, 33)])
def test_frequencies_are_the_coefficients_and_their_norm_is_bounded(n, k):
    strategy = frequencies(n, k)
    x = np.random.default_rng(0).integers(0, 100, size=n)
    parts, expected = strategy @ x, np.fft.rfft(x)[:k]
    assert np.allclose(parts[0], expected[0].real)
    assert np.allclose(parts[1::2] - 1j * parts[2::2], expected[1:], atol=1e-3)
    norm = np.abs(strategy.dense()).sum(axis=0).max()
    assert strategy.norm / strategy.unit == pytest.approx(norm)
    assert norm <= 1 + np.sqrt(2) * (k - 1) + 1e-3
    assert _norms(n)[k - 1] == pytest.approx(norm, abs=1e-3)


def test_the_sensitivity_of_two_eight_and_sixteen_coefficients():
    assert np.round(_norms(1024)[[1, 7, 15]], 1).tolist() == [2.4, 10.3, 20.8]


@pytest.mark.parametrize("n", [1, 2, 5, 8, 33])
def test_the_transform_is_orthonormal(n):
    x = np.random.default_rng(1).normal(size=n)
    spectrum = np.fft.rfft(x) * _scales(n)
    assert (np.abs(spectrum) ** 2).sum() == pytest.approx((x**2).sum())
    assert np.allclose(np.fft.irfft(spectrum / _scales(n), n), x)


def test_candidates_and_octaves():
    assert _geometric(1) == [1]
    assert _geometric(20) == [1, 2, 3, 4, 6, 8, 12, 16]
    assert _octaves(3, 20) == [(3, 6), (6, 12), (12, 20)]
    assert _octaves(1, 1) == []
    assert _octaves(5, 6) == [(5, 6)]


def test_the_total_is_the_average_of_both_measurements():
    """In even data nearly all but the total is shrunk away; the total comes from n noisy cells and from the coefficients."""
    x = np.full(64, 1000)
    errors = simulate.errors("EFPA", x, workloads.total(64), 1, trials=1_000, seed=5)
    cells, alone = 64 * variance(1 / Fraction(7, 10)), variance(1 / Fraction(3, 10))
    least = cells * alone / (cells + alone)
    assert least - 6 * (errors**2).std() / np.sqrt(1_000) < (errors**2).mean() < 3 * least


def test_smooth_data_gain_and_rough_data_lose_little():
    n = 512
    smooth = (500 * (1 + np.cos(2 * np.pi * np.arange(n) / n))).astype(int)
    rough = np.random.default_rng(0).integers(0, 10**6, size=n)
    for x, most in ((smooth, 0.45), (rough, 1.5)):
        for workload in (workloads.identity(n), workloads.prefix(n)):
            ours = simulate.errors("EFPA", x, workload, 1, trials=40, seed=1).mean()
            assert ours < most * simulate.errors("Laplace", x, workload, 1, trials=40, seed=1).mean()


def test_what_is_measured():
    asked = asked_of("EFPA", np.arange(64), workloads.identity(64))
    assert [what for what, *_ in asked] == ["Identity", "Matrix"]
    assert asked[1][1] % 2 == 1
    assert [float(epsilon) for *_, epsilon in asked] == pytest.approx([0.7, 0.3])


def test_the_matrix_of_a_large_domain_stays_small():
    assert _norms(2**18).size <= 3
    estimate = simulate.errors("EFPA", np.ones(2**15, dtype=int), workloads.total(2**15), 1, trials=1, seed=0)
    assert np.isfinite(estimate).all()


def test_the_rounding_of_weights_does_not_show_beside_very_large_counts():
    """Frequencies are measured with weights of 20 bits: off by hundreds beside counts of 10⁹."""
    x = np.random.default_rng(0).integers(0, 10**9, size=256)
    errors = simulate.errors("EFPA", x, workloads.identity(256), 10**6, trials=5, seed=0)
    assert np.max(errors) < 1e-3
