"""Noise of a known kind on every cell: whether it is what a peer adds, and what errors follow from it on any data.

A peer that reads single records is run on few inputs. If what it adds to each cell there is noise of the kind that it names,
at scale 1/ε, uncorrelated between cells, then its errors on other data are known without running it: no data change them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

import numpy as np

from jostle.kernel.partition import Vector

BOUND: Final = 4.9
"""Standard deviations that a test statistic may be off: a normal variable is further away with a probability of 1e-6."""


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A distribution of noise at scale 1/ε."""

    variance: Callable[[float], float]
    """By ε."""

    fourth: Callable[[float], float]
    """The fourth moment, by ε."""

    draw: Callable[[np.random.Generator, float, tuple[int, ...]], Vector]
    """So many of them at an ε."""


def _discrete(draw: np.random.Generator, epsilon: float, shape: tuple[int, ...]) -> Vector:
    one, other = draw.geometric(-math.expm1(-epsilon), size=(2, *shape))
    return np.asarray(one - other, dtype=np.float64)


def _discrete_variance(epsilon: float) -> float:
    return 1 / (2 * math.sinh(epsilon / 2) ** 2)


KINDS: Final = MappingProxyType(
    {
        "Laplace": Kind(
            variance=lambda epsilon: 2 / epsilon**2,
            fourth=lambda epsilon: 24 / epsilon**4,
            draw=lambda draw, epsilon, shape: draw.laplace(scale=1 / epsilon, size=shape),
        ),
        "discrete Laplace": Kind(
            variance=_discrete_variance,
            fourth=lambda epsilon: _discrete_variance(epsilon) * (1 + 6 * _discrete_variance(epsilon)),
            draw=_discrete,
        ),
    }
)
"""What adapters may name as the noise of their histograms."""


@dataclass(frozen=True, kw_only=True)
class Checked:
    """What was added to cells, beside noise of a kind."""

    numbers: int
    """How many cells of how many runs."""

    variance: float
    """The mean square over that of the kind."""

    statistics: tuple[float, float, float]
    """Standard deviations by which the mean, the mean square and the product of neighbouring cells are off."""

    @property
    def passed(self) -> bool:
        """Whether none of them is off by more than chance explains."""
        return max(map(abs, self.statistics)) <= BOUND

    @property
    def noticed(self) -> float:
        """By which part the scale would have to be off for it to be noticed every other time."""
        return BOUND * math.sqrt(5 / self.numbers) / 2  # the square of Laplace noise has a variance of 5 squared means


def check(kind: str, added: Sequence[tuple[float, Vector]]) -> Checked:
    """From ε and what was added to the cells of an input, one row per run, for several inputs.

    >>> draw = np.random.default_rng(0)
    >>> added = [(epsilon, KINDS["Laplace"].draw(draw, epsilon, (10, 256))) for epsilon in (0.1, 1.0)]
    >>> check("Laplace", added).passed, check("Laplace", [(epsilon, 1.2 * noise) for epsilon, noise in added]).passed
    (True, False)
    """
    sums, spreads, numbers = np.zeros(3), np.zeros(3), 0
    for epsilon, noise in added:
        variance = KINDS[kind].variance(epsilon)
        sure = KINDS[kind].fourth(epsilon) / variance**2 - 1
        unit = noise / math.sqrt(variance)
        pairs = unit[:, :-1] * unit[:, 1:]
        sums += unit.sum(), (unit**2 - 1).sum(), pairs.sum()
        spreads += unit.size, sure * unit.size, pairs.size
        numbers += unit.size
    mean, square, product = (float(one) for one in sums / np.sqrt(spreads))
    return Checked(numbers=numbers, variance=1 + float(sums[1]) / numbers, statistics=(mean, square, product))
