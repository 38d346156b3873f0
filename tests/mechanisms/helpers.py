"""What the tests of the mechanisms share: tokens whose engine writes down what it is asked, and thresholds."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from jostle.kernel.budget import Budget, CountingPurse
from jostle.kernel.neighbours import Neighbours
from tests.kernel.helpers import Recorder

FLUKE = 1e-8
"""A comparison of distributions fails by chance with this probability; all tests together make fewer than a hundred."""


def recorded(epsilon: Any = 1, neighbours: Neighbours | str = "add_remove") -> tuple[Budget, Recorder]:
    """A token whose engine is a recorder."""
    recorder = Recorder()
    return CountingPurse(Neighbours.of(neighbours), recorder).grant(epsilon), recorder


def hoeffding(samples: int, comparisons: int = 1) -> float:
    """How far the mean of so many values in [0, 1] is off, but with probability FLUKE; by DKW, a distribution function."""
    return math.sqrt(math.log(2 * comparisons / FLUKE) / (2 * samples))


def frequencies(draw: Callable[[], Any], outcomes: Sequence[Any], samples: int) -> np.ndarray:
    found = [draw() for _ in range(samples)]
    return np.array([sum(1 for one in found if one == outcome) for outcome in outcomes]) / samples


def exact_shares(weights: np.ndarray) -> list[Fraction]:
    """The probabilities with which `pick` draws from floats, which are exact fractions."""
    exact = [Fraction(float(weight)) for weight in weights]
    return [weight / sum(exact) for weight in exact]


def loss(one: Sequence[Any], other: Sequence[Any]) -> float:
    """The largest |log-ratio| of two distributions over the same outcomes; infinite where only one of them is 0."""
    worst = 0.0
    for p, q in zip(one, other, strict=True):
        if (p == 0) != (q == 0):
            return math.inf
        if p:
            worst = max(worst, abs(math.log(p / q)))
    return worst


def discrete_pmf(scale: float, reach: int) -> np.ndarray:
    """Discrete Laplace probabilities from −reach to reach."""
    a = math.exp(-1 / scale)
    return (1 - a) / (1 + a) * a ** np.abs(np.arange(-reach, reach + 1))


def discrete_tail(scale: float, at: np.ndarray) -> np.ndarray:
    """P(discrete Laplace ≥ at), for whole numbers."""
    a, at = math.exp(-1 / scale), np.asarray(at)
    upper = a ** np.maximum(at, 0) / (1 + a)
    lower = 1 - a ** np.maximum(1 - at, 1) / (1 + a)
    return np.where(at >= 1, upper, lower)


def permute_and_flip_probabilities(scores: Sequence[float], scale: float) -> list[float]:
    """By inclusion and exclusion over who else would have been accepted."""
    accept = [math.exp((score - max(scores)) / scale) for score in scores]
    found = []
    for i, mine in enumerate(accept):
        others = [p for j, p in enumerate(accept) if j != i]
        total = 0.0
        for size in range(len(others) + 1):
            for subset in itertools.combinations(others, size):
                total += (-1) ** size / (size + 1) * math.prod(subset)
        found.append(mine * total)
    return found
