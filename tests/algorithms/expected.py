"""What a strategy's error must be, by dense algebra."""

from __future__ import annotations

import numpy as np

from jostle.kernel.budget import exact
from jostle.kernel.noise import variance
from jostle.kernel.strategies import Strategy
from jostle.workloads import Workload


def square_error(strategy: Strategy, workload: Workload, *, epsilon: float) -> float:
    """The expected squared error of the workload after least squares, under add/remove neighbours."""
    matrix, queries = strategy.dense(), workload.queries.dense()
    noise = variance(strategy.norm / exact(epsilon)) / strategy.unit**2
    return float(noise * np.square(queries @ np.linalg.pinv(matrix)).sum())


def mean_square(errors: np.ndarray) -> float:
    return float(np.square(errors).mean())
