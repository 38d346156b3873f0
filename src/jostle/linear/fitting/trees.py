"""Least squares on trees of counts, and wavelets undone, in linear time.

Hay, Rastogi, Miklau, Suciu: Boosting the accuracy of differentially private histograms through consistency, PVLDB 3(1),
2010, Section 4; here for any weights per level, any number of children and any dimension (Qardaji, Yang, Li: Understanding
hierarchical methods for differentially private histograms, PVLDB 6(14), 2013, Section 3.2). Post-processing only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from jostle.kernel.partition import Counts, Vector
from jostle.kernel.strategies import Hierarchy, Wavelet


def tree_least_squares(tree: Hierarchy, answers: Vector) -> Vector:
    """The cells that fit all noisy counts of the tree best.

    Upwards, each block's estimate is the average of its own count and of its children's sum, by precision; downwards, what
    the children lack of their parent is shared among them by variance.

    >>> from jostle.kernel.strategies import hierarchy
    >>> tree_least_squares(hierarchy(2, 2), np.array([10.0, 3.0, 4.0])).tolist()
    [4.0, 5.0]
    """
    gains, shares = gains_and_shares(tree)
    parts = tree.by_level(answers)
    values = [part / (w / tree.unit) if w != tree.unit else part for part, w in zip(parts, tree.weights, strict=True)]
    sums: list[Any] = [None] * len(values)
    for k in range(len(values) - 2, -1, -1):
        sums[k] = tree.merge(values[k + 1], k)
        values[k] = values[k] + gains[k] * (sums[k] - values[k])
    for k in range(len(values) - 1):
        values[k + 1] = values[k + 1] + shares[k + 1] * tree.repeat(values[k] - sums[k], k)
    return np.asarray(values[-1].reshape(*answers.shape[:-1], -1))


@lru_cache(maxsize=32)
def gains_and_shares(tree: Hierarchy) -> tuple[list[Any], list[Any]]:
    """For each level: how much the children's sum counts in a block's estimate, and a child's share of what is lacking.

    One number where it is the same for all blocks of a level, as it is in regular trees, which then run without look-ups.
    """
    noise = [1.0 / w**2 for w in tree.weights]
    variances: list[Any] = list(noise)
    gains: list[Any] = [None] * len(noise)
    shares: list[Any] = [None] * len(noise)
    for k in range(len(noise) - 2, -1, -1):
        children = _children(tree, k)
        if np.ndim(variances[k + 1]) == 0 and children is not None:
            below = variances[k + 1] * children
            shares[k + 1] = 1 / children
        else:
            each = np.broadcast_to(variances[k + 1], tree.grids[k + 1])
            below = tree.merge(each, k)
            shares[k + 1] = each / tree.repeat(below, k)
        gains[k] = noise[k] / (noise[k] + below)
        variances[k] = below * gains[k]
    return gains, shares


def _children(tree: Hierarchy, level: int) -> int | None:
    """How many children every block of a level has, or None if that differs."""
    number = 1
    for coarse, fine in zip(tree.levels[level], tree.levels[level + 1], strict=True):
        each = len(fine) // len(coarse)
        if not np.array_equal(fine[::each], coarse):
            return None
        number *= each
    return number


def average_range_variance(tree: Hierarchy) -> float:
    """The variance of a random range after least squares, for noise of variance 1 on the counts; from the domain only.

    Functions that are constant on the blocks of one level and sum to 0 on those above are eigenvectors of the tree's normal
    equations, so a range's variance is a sum over levels of the energy that it has there. Ranges are drawn evenly along each
    axis, independently. Exact for regular trees up to the drawing of end points inside a block, and close for others.

    >>> from jostle.kernel.strategies import hierarchy
    >>> round(average_range_variance(hierarchy(64, 64, root=False)), 2)
    22.0
    """
    weights = np.array(tree.weights) / tree.unit
    cells = np.array([np.prod(tree.shape) / np.prod(grid) for grid in tree.grids])
    precision = np.cumsum((weights**2 * cells)[::-1])[::-1]
    energies = [np.diff([_energy(n, grid[axis]) for grid in tree.grids], prepend=0.0) for axis, n in enumerate(tree.shape)]
    joint = energies[0]
    level = np.arange(len(tree.grids))
    for energy in energies[1:]:
        # The level of a product of two functions is the finer one of theirs.
        finer = np.maximum.outer(level, level)
        joint = np.bincount(finer.reshape(-1), weights=np.multiply.outer(joint, energy).reshape(-1))
    return float((joint / precision).sum())


def _energy(n: int, blocks: int) -> float:
    """The mean squared length of a random range's averages over that many equal blocks of a line of n cells."""
    size = n / blocks
    lost = size * (1 - 1 / size**2) * ((1 - 1 / blocks) / 3 + 1 / (6 * blocks))
    return (n + 2) / 3 - lost


def cells_of(transform: Wavelet, coefficients: Vector) -> Vector:
    """Cells from a wavelet's coefficients: the transform is square, and its rows are at right angles on the padded domain.

    >>> from jostle.kernel.strategies import wavelet
    >>> cells_of(wavelet(4), wavelet(4).apply(np.array([3, 0, 4, 1]))).tolist()
    [3.0, 0.0, 4.0, 1.0]
    """
    return np.asarray(transform.adjoint(coefficients / _squares(transform.padded)))


@lru_cache(maxsize=64)
def _squares(padded: tuple[int, ...]) -> Vector:
    """The squared length of each row: how many cells its two halves have together."""
    found = np.ones(1)
    for n in padded:
        starts = 2 ** np.floor(np.log2(np.maximum(np.arange(n), 1)))
        found = np.multiply.outer(found, n / starts).reshape(-1)
    found.setflags(write=False)
    return found


@dataclass(frozen=True)
class Nested:
    """Noisy sums of nested intervals.

    >>> sums = Nested([np.array([0]), np.array([0, 1])], [np.array([10.0]), np.array([3.0, 4.0])], [np.ones(1), np.ones(2)])
    >>> [level.tolist() for level in sums.fitted()]
    [[9.0], [4.0, 5.0]]
    """

    starts: Sequence[Counts]
    """Where the intervals of each level begin."""

    values: Sequence[Vector]
    """A number for each interval; of no account where its precision is 0."""

    precisions: Sequence[Vector]
    """One over the variance of each; above 0 on the finest level."""

    @cached_property
    def _first_child(self) -> list[Counts]:
        pairs = zip(self.starts, self.starts[1:], strict=False)
        return [np.searchsorted(finer, level) for level, finer in pairs]

    @cached_property
    def upwards(self) -> tuple[list[Vector], list[Vector]]:
        """The best estimate of each interval from its own number and those of the intervals within it, and its variance."""
        values, variances = [np.asarray(self.values[-1])], [1.0 / np.asarray(self.precisions[-1])]
        for k in reversed(range(len(self.starts) - 1)):
            below, spread = (np.add.reduceat(part[0], self._first_child[k]) for part in (values, variances))
            variance = spread / (1.0 + self.precisions[k] * spread)
            values.insert(0, below + self.precisions[k] * variance * (self.values[k] - below))
            variances.insert(0, variance)
        return values, variances

    def fitted(self) -> list[Vector]:
        """The sums of each level that fit all numbers best: those of a level add up to those of the level above."""
        values, variances = self.upwards
        fitted = [values[0]]
        for k, first in enumerate(self._first_child):
            below, spread = np.add.reduceat(values[k + 1], first), np.add.reduceat(variances[k + 1], first)
            number = np.diff(first, append=values[k + 1].size)
            fitted.append(values[k + 1] + variances[k + 1] * np.repeat((fitted[k] - below) / spread, number))
        return fitted
