"""Fusing shrunk cells with coarser noisy sums: Gaussian updates, public post-processing only.

Shrunk cells (`bayes`) have variances of their own, and all cells of one group share the error of their prior,
of variance about σ²/cells: leaving that out makes sums over many cells look far more certain than they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from jostle.kernel.partition import Counts, Vector
from jostle.linear.shrinkage.bayes import Shrunk


@dataclass(frozen=True)
class Sums:
    """Noisy sums over disjoint groups of the units below."""

    parents: Counts
    """For each unit below, the sum that it belongs to."""

    values: Vector
    """The noisy sums."""

    variances: Vector
    """The variance of the noise on each; infinite where a sum was used before."""


def shared_errors(cells: Shrunk, noise_variance: float | Vector) -> Vector:
    """For each group of shrunk cells, the variance of the error that they have in common: that of a mean of that many.

    >>> shared_errors(Shrunk(np.zeros(3), np.ones(3), np.array([0, 0, 1]), 0.0), 2.0).tolist()
    [1.0, 2.0]
    """
    number = np.bincount(cells.groups)
    return np.asarray(np.bincount(cells.groups, weights=np.broadcast_to(noise_variance, cells.groups.shape)) / number**2)


def fuse_nested(cells: Shrunk, shared: Vector, levels: Sequence[Sums]) -> Vector:
    """The cells given noisy sums over groups of them, over groups of those, and so on from fine to coarse; in linear time.

    >>> cells = Shrunk(np.array([1.0, 1.0]), np.array([1.0, 3.0]), np.array([0, 0]), 0.0)
    >>> fuse_nested(cells, np.zeros(1), [Sums(np.array([0, 0]), np.array([10.0]), np.zeros(1))]).round(6).tolist()
    [3.0, 7.0]
    """
    means, groups = cells.means, cells.groups
    many = np.zeros((1 + shared.size, means.size))
    many[0] = means
    many[1 + groups, np.arange(means.size)] = 1.0
    # The first row starts from the means; each further row shows how the sums would miss if one group's prior were off by
    # one.
    surprise = np.concatenate([part for part, *_ in _upwards(many, cells.variances, levels)], axis=1)
    pulls, misses = surprise[1:], surprise[0]
    precision = pulls @ pulls.T + np.diag(1.0 / np.maximum(shared, 1e-12))
    off = np.linalg.solve(precision, -pulls @ misses)
    return _downwards(means + off[groups], cells.variances, levels)


def _upwards(many: Vector, variances: Vector, levels: Sequence[Sums]) -> list[tuple[Any, Any, Any, Vector, Vector]]:
    """For each level: standardised surprises, sums and variances before the update, and values and variances after it."""
    out = []
    for level in levels:
        number = level.values.size
        before = np.stack([np.bincount(level.parents, weights=row, minlength=number) for row in many])
        spread = np.bincount(level.parents, weights=variances, minlength=number)
        surprise = -before
        surprise[0] += level.values
        precision = 1.0 / np.maximum(spread + level.variances, 1e-300)
        gain = spread * precision
        many, variances = before + gain * surprise, spread * (1 - gain)
        out.append((surprise * np.sqrt(precision), before, spread, many, variances))
    return out


def _downwards(means: Vector, variances: Vector, levels: Sequence[Sums]) -> Vector:
    steps = _upwards(means[None], variances, levels)
    own = [(means, variances), *((after[0], left) for *_, after, left in steps[:-1])]
    final = steps[-1][3][0]
    for level, (_, before, spread, _, _), (value, variance) in zip(
        reversed(levels), reversed(steps), reversed(own), strict=True
    ):
        lacking = (final - before[0]) / np.maximum(spread, 1e-300)
        final = value + variance * lacking[level.parents]
    return np.asarray(final)


def fuse_rows(cells: Shrunk, shared: Vector, rows: Vector, values: Vector, variances: Vector) -> Vector:
    """The cells given noisy answers to any rows, few compared with the cells.

    >>> cells = Shrunk(np.array([1.0, 1.0]), np.array([1.0, 3.0]), np.array([0, 0]), 0.0)
    >>> fuse_rows(cells, np.zeros(1), np.ones((1, 2)), np.array([10.0]), np.zeros(1)).tolist()
    [3.0, 7.0]
    """
    member = np.zeros((cells.means.size, shared.size))
    member[np.arange(cells.means.size), cells.groups] = 1.0
    gain = (rows * cells.variances).T + member @ (shared[:, None] * (rows @ member).T)
    expected = rows @ gain
    expected[np.diag_indices_from(expected)] += variances
    return np.asarray(cells.means + gain @ np.linalg.solve(expected, values - rows @ cells.means))


def as_rows(cells: int, levels: Sequence[Sums]) -> tuple[Vector, Vector, Vector]:
    """Noisy sums over groups of cells, over groups of those, and so on: as rows over the cells, values and variances.

    Sums that were used before are left out.

    >>> as_rows(3, [Sums(np.array([0, 0, 1]), np.array([5.0, 6.0]), np.array([2.0, np.inf]))])
    (array([[1., 1., 0.]]), array([5.]), array([2.]))
    """
    member, rows = np.arange(cells), [np.empty((0, cells))]
    for level in levels:
        member = level.parents[member]
        rows.append(member == np.arange(level.values.size)[:, None])
    variances = np.concatenate([np.empty(0), *(level.variances for level in levels)])
    values = np.concatenate([np.empty(0), *(level.values for level in levels)])
    fresh = np.isfinite(variances)
    return np.concatenate(rows)[fresh], values[fresh], variances[fresh]


def fuse_known(
    means: Vector, covariance: Vector, rows: Vector, values: Vector, variances: float | Vector
) -> tuple[Vector, Vector]:
    """Few cells of which means and covariance are known, given noisy answers to any rows; and what is then known of them.

    >>> means, covariance = fuse_known(np.array([1.0, 1.0]), np.diag([1.0, 3.0]), np.ones((1, 2)), np.array([10.0]), 0.0)
    >>> means.tolist(), covariance.tolist()
    ([3.0, 7.0], [[0.75, -0.75], [-0.75, 0.75]])
    """
    gain = covariance @ rows.T
    expected = rows @ gain
    expected[np.diag_indices_from(expected)] += variances
    pulled = np.linalg.solve(expected, np.column_stack([values - rows @ means, gain.T]))
    return np.asarray(means + gain @ pulled[:, 0]), np.asarray(covariance - gain @ pulled[:, 1:])


SLACK: Final = 0.2
"""How much farther than expected a shrunk estimate is trusted, as a share of the variance without shrinking.

Found on five kinds of made-up shapes over 8 × 8 and 60 cells, among 0 and 0.2: errors fall in the mean by 1 %, and those of
the worst kind of shape hardly rise.
"""


def held_back(
    gram: Vector, unbiased: Vector, variance: float, shrunk: Vector, covariance: Vector, slack: float = SLACK
) -> Vector:
    """Between an unbiased estimate and a shrunk one, where the answers are expected to err least (James and Stein 1961).

    `gram` is WᵀW of the workload, `variance` that of all unbiased answers, `covariance` what is left unknown after
    shrinking. If the prior is right, the two disagree by V − C in the squares of all answers, where V and C are their
    variances. By D in place of it, the squared error at the share c of the way is estimated by V − 2c(V − C) + c²D, which is
    least at (V − C)/D (Stein 1981; exact for posterior means under Gaussian noise).

    >>> held_back(np.eye(2), np.array([0.0, 9]), 2.0, np.array([3.0, 6]), np.eye(2) / 2, slack=0.0).round(2).tolist()
    [0.17, 8.83]
    >>> held_back(np.eye(2), np.array([0.0, 1]), 2.0, np.array([0.3, 0.6]), np.eye(2) / 2).tolist()
    [0.3, 0.6]
    """
    way = shrunk - unbiased
    apart = float(way @ gram @ way)
    expected = variance * (1 + slack) - float((gram * covariance).sum())
    return np.asarray(shrunk if apart <= expected else unbiased + max(expected, 0.0) / apart * way)
