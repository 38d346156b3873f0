"""Logistic and Poisson regression from one noisy histogram, with intervals for coefficients.

The equations that maximum likelihood solves, Σ x (y − mean(x·β)) = 0, are sums over the combinations of attributes' values,
and linear in how many records each has and in the sum of their labels. So from noisy counts they are unbiased at any β, with
noise of known variance, and need no approximation by polynomials.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from jostle.kernel.budget import Budget
from jostle.kernel.errors import BadInput
from jostle.kernel.records import Records
from jostle.kernel.strategies import matrix
from jostle.learn.cells import binned, derive_bins
from jostle.learn.registry import FloatArray, IntArray
from jostle.learn.regression.features import LinearFeatures, linear_features, offsets
from jostle.learn.regression.linear import TINY, CoefficientModel, noise_size, open_coefficients, present, ridge_for
from jostle.learn.regression.synthesized import drawn_records
from jostle.learn.regression.task import RegressionTask

LOGISTIC, POISSON = "logistic", "poisson"
FAMILIES = (LOGISTIC, POISSON)

LARGEST = 2**18
"""The most combinations of attributes' values."""

MOST_ENTRIES = 2**24
"""The most combinations times coefficients: 128 megabytes."""

CROWD = 0.02
"""With fewer than (CROWD · records · ε)² combinations, noise on the equations stays small beside what they add up."""

FEWEST_CELLS = 64
"""So many combinations are always allowed."""

BINS = (16, 12, 8, 6, 5, 4, 3, 2)
"""How many bins a number may have: as many as there is space for."""

ENOUGH = 4
"""With fewer bins per number, a synthetic table is the better way."""

STEPS, LONGEST_STEP, NEAR = 60, 2.0, 1e-9
"""Of Newton's method: how often, how far a coefficient may move at once, and when it has arrived."""

FARTHEST = 30.0
"""Linear predictors beyond this are taken for it: they stand for 0, for 1, or for more than any bound."""


def check_family(task: RegressionTask, family: str) -> None:
    """Raise unless the label is of that kind: yes or no, or numbers from 0 on."""
    low, high = task.bounds
    if family == LOGISTIC and not (task.label_cells == 2 and (low, high) == (0.0, 1.0)):
        remedy = "describe it as Boolean(), Category([no, yes]) or Integer(0, 1)"
        raise BadInput("label", f"{task.label!r} must have two values for a logistic model", remedy)
    if family == POISSON and (low < 0 or high <= 0):
        remedy = "describe it as Integer(0, …), or use a linear model"
        raise BadInput("label", f"{task.label!r} must be a number from 0 on for a Poisson model", remedy)


def bins_for(task: RegressionTask, signal: float) -> int | None:
    """The most bins per number whose combinations are few enough, given records times ε; None if there is no such number.

    >>> from jostle.schema import Boolean, Real
    >>> task = RegressionTask.over({"x": Real(0, 1, bins=50), "y": Real(0, 1, bins=50), "z": Boolean()}, "z")
    >>> bins_for(task, 100.0), bins_for(task, 1e6)
    (6, 16)
    """
    limit = min(max((CROWD * signal) ** 2, FEWEST_CELLS), LARGEST)
    for bins in BINS:
        features = linear_features(task, bins)
        cells = math.prod(len(one.matrix) for one in features.values())
        if len(features) == len(task.attributes) and cells <= min(limit, MOST_ENTRIES // _size(features)):
            return bins
    return None


def _size(features: Mapping[str, LinearFeatures]) -> int:
    return 1 + sum(len(one.labels) for one in features.values())


@dataclass(frozen=True, eq=False)
class ScoreSums:
    """What the equations are made of, per combination of attributes' values: a record adds 1 to the two sums together."""

    family: str
    x: FloatArray
    """Combinations × coefficients, the constant first."""

    above: FloatArray
    """Sums of labels, in parts of `top`."""

    below: FloatArray
    """Sums of one minus that."""

    top: float
    variance: float
    """Of the noise on each sum."""

    @cached_property
    def counts(self) -> FloatArray:
        """About how many records each combination has."""
        return np.asarray(self.above + self.below)

    @cached_property
    def seen(self) -> NDArray[np.bool_]:
        """Which features are there at all, beyond noise."""
        squares = self.x**2
        there = present(self.counts @ squares, np.full(len(squares), 2 * self.variance) @ squares**2)
        there[0] = True
        return there

    def of(self, kept: NDArray[np.bool_]) -> ScoreSums:
        """Those of some features only."""
        return ScoreSums(self.family, self.x[:, kept], self.above, self.below, self.top, self.variance)

    def means(self, slopes: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The label that is expected in each combination, and by how much it rises with the linear predictor."""
        predictor = np.clip(self.x @ slopes, -FARTHEST, FARTHEST)
        return _means(self.family, predictor)

    def information(self, rise: FloatArray) -> tuple[FloatArray, float]:
        """By how much the equations move with the coefficients, and about how large the noise on that is, as a matrix."""
        weighted = self.x * (self.counts * rise)[:, None]
        squares = self.x**2
        variances = squares.T @ (squares * (2 * self.variance * rise**2)[:, None])
        return self.x.T @ weighted, noise_size(variances)

    def start(self) -> FloatArray:
        """The constant alone."""
        mean = float(np.clip(self.above.sum() / max(self.counts.sum(), 1.0), 0.01, 0.99)) * self.top
        slopes = np.zeros(self.x.shape[1])
        slopes[0] = math.log(mean / (1 - mean)) if self.family == LOGISTIC else math.log(mean)
        return slopes

    def solve(self, ridge: float, slopes: FloatArray) -> tuple[FloatArray, bool]:
        """Where the equations hold, with a ridge on all but the constant; and whether they do. Newton's method."""
        pull = np.full(len(slopes), ridge)
        pull[0] = 0.0
        for _ in range(STEPS):
            mean, rise = self.means(slopes)
            off = self.x.T @ (self.top * self.above - self.counts * mean) - pull * slopes
            information, noise = self.information(rise)
            values, vectors = np.linalg.eigh(information + np.diag(pull))
            floor = max(noise, 1e-6 * float(np.abs(values).max(initial=1.0)), 1e-12)
            step = vectors @ ((vectors.T @ off) / np.maximum(values, floor))
            longest = float(np.abs(step).max(initial=0.0))
            if longest < NEAR:
                return slopes, True
            slopes = slopes + step * min(1.0, LONGEST_STEP / longest)
        return slopes, longest < math.sqrt(NEAR)

    def fitted(self, ridge: float | None) -> tuple[FloatArray, float]:
        """Coefficients, and the ridge: by default what noise requires."""
        if not self.seen.all():
            slopes = np.zeros(len(self.seen))
            slopes[self.seen], ridge = self.of(self.seen).fitted(ridge)
            return slopes, ridge
        start = self.start()
        if ridge is None:
            information, noise = self.information(self.means(start)[1])
            least = float(np.linalg.eigvalsh(information).min(initial=np.inf))
            ridge = ridge_for(noise, len(start), least)
        return self.solve(ridge, start)[0], ridge


def _means(family: str, predictor: FloatArray) -> tuple[FloatArray, FloatArray]:
    if family == LOGISTIC:
        mean = 1 / (1 + np.exp(-predictor))
        return mean, mean * (1 - mean)
    mean = np.exp(predictor)
    return mean, mean


@dataclass(frozen=True, eq=False, kw_only=True)
class GeneralizedModel(CoefficientModel):
    """The sum is the log odds of a label of 1, or the logarithm of the label's mean."""

    sums: ScoreSums

    def predict(self, codes: Mapping[str, IntArray]) -> FloatArray:
        predictor = np.clip(self.predictor(codes), -FARTHEST, FARTHEST)
        return np.asarray(np.clip(_means(self.sums.family, predictor)[0], *self.bounds))

    def intervals(self, *, population: bool) -> tuple[FloatArray, FloatArray]:
        seen = self.sums.seen
        known = self.sums.of(seen)
        free, arrived = known.solve(0.0, self.slopes[seen])
        mean, rise = known.means(free)
        information, noise = known.information(rise)
        values, vectors = np.linalg.eigh(information)
        inverse = (vectors / np.maximum(values, TINY)) @ vectors.T
        spread = known.variance * ((known.top - mean) ** 2 + mean**2)
        middle = known.x.T @ (known.x * spread[:, None])
        if population:
            middle = middle + information
        hidden = open_coefficients(values, vectors, noise) | (not arrived)
        return self._around(seen, free, inverse @ middle @ inverse, hidden)


def generalized(
    records: Records, task: RegressionTask, budget: Budget, *, family: str, bins: int, ridge: float | None = None
) -> GeneralizedModel:
    """Logistic or Poisson regression, from sums of labels in every combination of attributes' bins.

    Privacy: one measurement of a public matrix over the joint histogram of attributes in bins and the label, with the whole
    budget: a record adds its label, in parts of the largest, to one row, and one minus that to another. The rest is
    post-processing.
    """
    from scipy.sparse import csr_array, eye_array, kron

    features = linear_features(task, bins)
    records = derive_bins(records, {name: one.bins for name, one in features.items()})
    vector = records.vector(*(binned(name) for name in features), task.label)
    top = task.bounds[1]
    share = np.clip(task.targets / top, 0.0, 1.0)
    cells = math.prod(vector.shape[:-1])
    strategy = matrix(kron(eye_array(cells), csr_array(np.stack([share, 1 - share]))), vector.shape)
    above, below = vector.measure(strategy, budget).reshape(-1, 2).T
    sums = ScoreSums(family, _design(features), above, below, top, vector.noise_variance(strategy, budget))
    summary = f"A {_named(family)} model of {_size(features) - 1} features, from {cells:,} combinations of values"
    return _model(features, sums, task, ridge, summary, exact=True)


def generalized_from_synthetic(
    records: Records, task: RegressionTask, budget: Budget, *, family: str, ridge: float | None = None
) -> GeneralizedModel:
    """The same from records that are drawn from a model of all columns: for many attributes; without intervals.

    Privacy: the synthesizer spends the budget, whole. The rest is post-processing.
    """
    made, codes, scale = drawn_records(records, task, budget)
    features = linear_features(task)
    x = np.ones((len(codes[task.label]), _size(features)))
    for name, at in offsets(features).items():
        x[:, at] = features[name].matrix[features[name].bins[codes[name]]]
    top = task.bounds[1]
    share = np.clip(task.targets[codes[task.label]] / top, 0.0, 1.0)
    sums = ScoreSums(family, x, scale * share, scale * (1 - share), top, 0.0)
    summary = f"A {_named(family)} model of {_size(features) - 1} features, from a synthetic table with {made} measurements"
    return _model(features, sums, task, 1.0 if ridge is None else ridge, summary, exact=False)


def _named(family: str) -> str:
    return {LOGISTIC: "logistic", POISSON: "Poisson"}[family]


def _model(
    features: Mapping[str, LinearFeatures],
    sums: ScoreSums,
    task: RegressionTask,
    ridge: float | None,
    summary: str,
    *,
    exact: bool,
) -> GeneralizedModel:
    slopes, used = sums.fitted(ridge)
    return GeneralizedModel(
        features=features,
        sums=sums,
        slopes=slopes,
        ridge=used,
        bounds=task.bounds,
        summary=f"{summary}, with a ridge of {used:,.0f}.",
        exact=exact,
    )


def _design(features: Mapping[str, LinearFeatures]) -> FloatArray:
    """The features of every combination of bins, the last attribute's changing fastest."""
    found = np.ones((1, 1))
    for one in features.values():
        left = np.repeat(found, len(one.matrix), axis=0)
        found = np.hstack([left, np.tile(one.matrix, (len(found), 1))])
    return found
