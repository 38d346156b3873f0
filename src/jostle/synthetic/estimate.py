"""From noisy histograms to a distribution over all attributes: post-processing, deterministic, without private data.

The distribution is the one of the exponential family P ∝ exp(Σ θ), with a potential θ per measured cell, that minimises

    N · log Σ exp(Σ θ) − Σ θ·y + ½ Σ r·θ²        (y: noisy counts, N: their total)

which is convex. Its dual is least squares with weights 1/r plus the negative entropy (McKenna, Sheldon and Miklau, 2019), so
without r it would be the flattest distribution that explains the noisy counts. The ridge r = σ²/(τ²·c) makes it a posterior
mode instead: noise of variance σ² on a count near c, and interactions of size τ, which is estimated from the noisy counts
themselves. Where noise exceeds what a cell can hold, the distribution stays with what is known from smaller histograms.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from jostle.synthetic.junction_tree import Clique, JunctionTree
from jostle.synthetic.model import CliqueModel, FloatArray, spread, summed

SPREADS = 2.0 ** np.arange(-4, 3.5, 0.5)
"""The sizes τ of interactions that are tried."""

CLEAR = 2.0
"""A count that exceeds this many standard deviations of its noise is believed to be there."""

SMALLEST_COUNT = 1e-3
"""A count is expected to be at least this, in records."""

SINGLE_SPREAD = 3.0
"""The size τ for single attributes: their counts follow no other histogram, so they are hardly drawn to any."""


@dataclass(frozen=True, eq=False)
class NoisyMarginal:
    """A histogram over some attributes, with noise, and what was believed of it before it was measured."""

    axes: Clique
    values: FloatArray
    variance: float
    expected: FloatArray | None = None
    """Counts by the model before; None for the first measurement of a single attribute."""

    def ridge(self) -> tuple[FloatArray, FloatArray]:
        """The weight r of each cell's squared potential, and about how many records the cell has."""
        deviation = math.sqrt(self.variance)
        if self.expected is None:
            near = np.maximum(self.values, deviation)
            return self.variance / (SINGLE_SPREAD**2 * near), near
        expected = np.maximum(self.expected, SMALLEST_COUNT)
        near = np.maximum(expected, self.values - CLEAR * deviation)
        size = interaction_size(self.values, expected, self.variance)
        return self.variance / (size**2 * near), near


def interaction_size(values: FloatArray, expected: FloatArray, variance: float) -> float:
    """How far counts are from what is expected, in parts of it: the most likely of some sizes, given the noise.

    >>> rng = np.random.default_rng(0)
    >>> expected = np.full(1000, 500.0)
    >>> interaction_size(expected * (1 + 0.25 * rng.normal(size=1000)) + 10 * rng.normal(size=1000), expected, 100.0)
    0.25
    """
    square = (values - expected).reshape(-1) ** 2
    spreads = variance + np.outer(SPREADS**2, expected.reshape(-1) ** 2)
    surprise = (np.log(spreads) + square / spreads).sum(axis=1)
    return float(SPREADS[int(np.argmin(surprise))])


def combined(measured: Sequence[NoisyMarginal]) -> list[NoisyMarginal]:
    """One measurement per set of attributes: repeated ones are averaged by the inverse of their variances.

    >>> twice = [NoisyMarginal((0,), np.array([1.0]), 1.0), NoisyMarginal((0,), np.array([4.0]), 2.0)]
    >>> [(one.values.tolist(), round(one.variance, 3)) for one in combined(twice)]
    [([2.0], 0.667)]
    """
    groups: dict[Clique, list[NoisyMarginal]] = {}
    for one in measured:
        groups.setdefault(one.axes, []).append(one)
    return [_averaged(axes, group) for axes, group in groups.items()]


def _averaged(axes: Clique, group: Sequence[NoisyMarginal]) -> NoisyMarginal:
    precision = sum(1 / one.variance for one in group)
    values = np.sum([one.values / one.variance for one in group], axis=0) / precision
    return NoisyMarginal(axes, values, 1 / precision, group[0].expected)


def total_of(measured: Sequence[NoisyMarginal]) -> float:
    """About how many records there are: the histograms' sums, averaged by the inverse of their variances; at least 1.

    >>> total_of([NoisyMarginal((0,), np.array([4.0, 6.0]), 1.0), NoisyMarginal((1,), np.array([12.5] + [0.0] * 3), 0.5)])
    11.25
    """
    weights = [1 / (one.variance * one.values.size) for one in measured]
    sums = [float(one.values.sum()) for one in measured]
    return max(1.0, math.fsum(w * s for w, s in zip(weights, sums, strict=True)) / math.fsum(weights))


@dataclass(frozen=True, eq=False)
class Fitted:
    """A model, and the potentials behind it, from which the next fit starts."""

    model: CliqueModel
    total: float
    potentials: Mapping[Clique, FloatArray] = field(default_factory=dict)

    def counts(self, axes: Sequence[int]) -> FloatArray:
        """About how many records have each combination of these attributes' values."""
        return self.total * self.model.marginal(axes)


def fit(
    tree: JunctionTree,
    measured: Sequence[NoisyMarginal],
    total: float,
    start: Mapping[Clique, FloatArray] | None = None,
    *,
    steps: int = 100,
) -> Fitted:
    """The model that explains the measurements best, over cliques that hold all of them."""
    from scipy.optimize import minimize

    known = combined(measured)
    problem = _FitProblem(tree, known, total)
    begin = [(start or {}).get(one.axes, np.zeros(one.values.size)).reshape(-1) for one in known]
    found = minimize(
        problem.value,
        np.concatenate(begin) * problem.units,
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": steps, "maxcor": 12, "ftol": 1e-10, "gtol": 1e-7},
    )
    potentials = problem.parts(found.x / problem.units)
    return Fitted(problem.model(potentials), total, dict(zip([one.axes for one in known], potentials, strict=True)))


class _FitProblem:
    """The function that is minimised, of potentials in units that make its curvature about the same everywhere."""

    def __init__(self, tree: JunctionTree, known: Sequence[NoisyMarginal], total: float) -> None:
        self._tree, self._known, self._total = tree, known, total
        self._homes = [self._home(one.axes) for one in known]
        self._shapes = [tuple(tree.sizes[axis] for axis in one.axes) for one in known]
        ridges, near = zip(*(one.ridge() for one in known), strict=True)
        self._ridge = np.concatenate([one.reshape(-1) for one in ridges])
        self._noisy = np.concatenate([one.values.reshape(-1) for one in known])
        self.units = np.sqrt(np.concatenate([one.reshape(-1) for one in near]) + self._ridge)
        self._cuts = np.cumsum([one.values.size for one in known])[:-1]

    def _home(self, axes: Clique) -> int:
        home = self._tree.home(axes)
        if home is None:
            raise ValueError("a measurement lies in no clique")
        return home

    def parts(self, flat: FloatArray) -> list[FloatArray]:
        """One array per measurement."""
        return [part.reshape(shape) for part, shape in zip(np.split(flat, self._cuts), self._shapes, strict=True)]

    def model(self, potentials: Sequence[FloatArray]) -> CliqueModel:
        tree = self._tree
        logs = [np.zeros([tree.sizes[axis] for axis in clique]) for clique in tree.cliques]
        for one, home, potential in zip(self._known, self._homes, potentials, strict=True):
            logs[home] += spread(potential, one.axes, tree.cliques[home])
        return CliqueModel.of(tree, logs)

    def value(self, scaled: FloatArray) -> tuple[float, FloatArray]:
        flat = scaled / self.units
        model = self.model(self.parts(flat))
        counts = np.concatenate(
            [
                summed(model.beliefs[home], self._tree.cliques[home], one.axes).reshape(-1)
                for one, home in zip(self._known, self._homes, strict=True)
            ]
        )
        pull = self._ridge * flat
        worth = self._total * model.log_sum - float(flat @ self._noisy) + 0.5 * float(flat @ pull)
        slope = (self._total * counts - self._noisy + pull) / self.units
        return worth / self._total, slope / self._total
