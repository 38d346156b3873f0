"""Privelet against the dense wavelet."""

from __future__ import annotations

import numpy as np
import pytest

from jostle import algorithms, simulate, workloads
from jostle.kernel.source import SimulatedSource
from jostle.kernel.strategies import wavelet
from tests.algorithms.expected import mean_square, square_error


@pytest.mark.parametrize("shape", [(1,), (8,), (11,), (4, 4), (3, 5)])
def test_without_noise_to_speak_of_the_counts_come_back(shape):
    x = np.random.default_rng(0).poisson(20.0, shape)
    source = SimulatedSource(x, seed=0)
    estimate = algorithms.get("Privelet").run(source, workloads.identity(shape), source.grant(10**6))
    np.testing.assert_allclose(estimate, x.reshape(-1), atol=0.01)


@pytest.mark.parametrize("workload", [workloads.prefix(16), workloads.identity(16), workloads.identity((4, 8))])
def test_the_error_is_that_of_the_inverse_transform(workload):
    expected = square_error(wavelet(workload.domain), workload, epsilon=0.5)
    errors = simulate.errors("Privelet", np.zeros(workload.domain, dtype=int), workload, 0.5, trials=4000, seed=1)
    assert mean_square(errors) == pytest.approx(expected, rel=0.1)
