"""A linear model from noisy sums of products, with intervals for its coefficients: post-processing."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from jostle.learn.registry import FloatArray, IntArray
from jostle.learn.regression.features import LinearFeatures, offsets

if TYPE_CHECKING:
    import pandas as pd

NORMAL = 1.959963984540054
"""The 97.5 % quantile of the normal distribution."""

CLEAR = 3.0
"""Directions whose eigenvalue exceeds this many times the size of the noise are known well enough for intervals."""

TINY = 1e-9
"""Stands for an eigenvalue of 0."""

ENTANGLED = 1e-2
"""A coefficient with a larger share of directions that are not known well has no interval."""

PRESENT = 4.0
"""A feature is left out unless its sum of squares exceeds this many standard deviations of its noise."""

FAILURE = 0.05
"""The ridge suffices with a probability of at least one minus this (Wang 2018, Algorithm 2)."""


@dataclass(frozen=True, eq=False)
class Moments:
    """Noisy sums over records of products of features, the constant first, and the label from −1 to 1."""

    products: FloatArray
    """LinearFeatures × features: symmetric."""

    with_label: FloatArray
    label_square: float
    variances: FloatArray
    """Of the noise on `products`."""

    label_variances: FloatArray
    """Of the noise on `with_label`."""

    @property
    def records(self) -> float:
        """About how many records there are: at least one."""
        return max(float(self.products[0, 0]), 1.0)

    @cached_property
    def noise_size(self) -> float:
        """About how large the noise is as a matrix: its largest eigenvalue seldom exceeds twice this number."""
        return math.sqrt(float(self.variances.sum(axis=1).max()))

    @cached_property
    def seen(self) -> NDArray[np.bool_]:
        """Which features are there at all, beyond noise: what no record has would only add noise."""
        there = np.diag(self.products) > PRESENT * np.sqrt(np.diag(self.variances))
        found: NDArray[np.bool_] = np.where(np.arange(len(there)) == 0, True, there)
        return found

    def of(self, kept: NDArray[np.bool_]) -> Moments:
        """Those of some features only."""
        square = np.ix_(kept, kept)
        label = self.with_label[kept], self.label_square
        return Moments(self.products[square], *label, self.variances[square], self.label_variances[kept])

    def solve(self, ridge: float | None) -> tuple[FloatArray, float]:
        """Coefficients, and the ridge: in records, on all but the constant. By default just as large as noise requires.

        That is AdaSSP's (Wang 2018): the smallest eigenvalue is raised to what noise may have added to any.
        """
        if not self.seen.all():
            slopes = np.zeros(len(self.seen))
            slopes[self.seen], ridge = self.of(self.seen).solve(ridge)
            return slopes, ridge
        mean = self.products[0, 1:] / self.records
        centred = self.products[1:, 1:] - self.records * np.outer(mean, mean)
        label = float(np.clip(self.with_label[0] / self.records, -1, 1))
        values, vectors = np.linalg.eigh(centred)
        if ridge is None:
            least = math.sqrt(math.log(2 * max(len(values), 1) ** 2 / FAILURE)) * self.noise_size
            ridge = max(0.0, least - max(float(values.min(initial=np.inf)), 0.0))
        pulled = vectors.T @ (self.with_label[1:] - self.records * label * mean)
        raised = np.maximum(values, 0.0) + ridge
        slopes = vectors @ np.where(raised > 0, pulled / np.where(raised > 0, raised, 1.0), 0.0)
        return np.concatenate([[label - float(mean @ slopes)], slopes]), ridge


@dataclass(frozen=True, eq=False)
class LinearModel:
    """A number for each feature; a prediction is the sum of what a record's features have, within the label's bounds."""

    features: Mapping[str, LinearFeatures]
    moments: Moments
    slopes: FloatArray
    """In units of features from −1 to 1 and a label from −1 to 1, the constant first."""

    ridge: float
    bounds: tuple[float, float]
    summary: str
    exact: bool = True
    """Whether the moments have noise of known variance and nothing else, so that coefficients have intervals."""

    def predict(self, codes: Mapping[str, IntArray]) -> FloatArray:
        """A number for each record."""
        total = self.slopes[0]
        for name, at in offsets(self.features).items():
            one = self.features[name]
            total = total + (one.matrix @ self.slopes[at])[one.bins[codes[name]]]
        low, high = self.bounds
        return np.asarray(np.clip((low + high) / 2 + (high - low) / 2 * total, low, high))

    def scores(self, codes: Mapping[str, IntArray]) -> FloatArray:
        """The predicted numbers, as one column."""
        return np.reshape(self.predict(codes), (-1, 1))

    def describe(self) -> str:
        size = sorted(
            self.features, key=lambda name: -float(np.abs(self.slopes[offsets(self.features)[name]]).max(initial=0))
        )
        leans = f" It leans on {', '.join(size[:5])} most." if size else ""
        return f"{self.summary}{leans}"

    @cached_property
    def _in_units(self) -> FloatArray:
        """From slopes to coefficients in the columns' own units: one row per coefficient, the constant first."""
        low, high = self.bounds
        half = (high - low) / 2
        matrix = half * np.eye(len(self.slopes))
        for name, at in offsets(self.features).items():
            one = self.features[name]
            if one.labels[:1] == (name,):
                matrix[at.start, at.start] = half / one.half
                matrix[0, at.start] = -half * one.centre / one.half
        return matrix

    @property
    def values(self) -> FloatArray:
        """The coefficients in the columns' own units, the constant first."""
        low, high = self.bounds
        found = self._in_units @ self.slopes
        found[0] += (low + high) / 2
        return np.asarray(found)

    def intervals(self, *, population: bool) -> tuple[FloatArray, FloatArray]:
        """Ends of 95 % intervals; infinite where the noise leaves a coefficient open.

        They are about what least squares without noise gives on the same records; with `population`, about what it would
        give on all that these records are drawn from.
        """
        low, high = self.bounds
        seen = self.moments.seen
        units = self._in_units[np.ix_(seen, seen)]
        free, covariance, hidden = _unshrunk(self.moments.of(seen), population=population)
        centre = units @ free
        centre[0] += (low + high) / 2
        variance = np.einsum("ij,jk,ik->i", units, covariance, units)
        reach = np.full(len(seen), np.inf)
        reach[seen] = np.where(hidden, np.inf, NORMAL * np.sqrt(np.maximum(variance, 0.0)))
        middle = np.zeros(len(seen))
        middle[seen] = centre
        return middle - reach, middle + reach

    def to_pandas(self, *, population: bool = False) -> pd.DataFrame:
        """Coefficients with their intervals."""
        import pandas as pd

        labels = ["(constant)", *(label for one in self.features.values() for label in one.labels)]
        low, high = self.intervals(population=population)
        return pd.DataFrame({"coefficient": labels, "value": self.values, "low": low, "high": high})


def _unshrunk(known: Moments, *, population: bool) -> tuple[FloatArray, FloatArray, NDArray[np.bool_]]:
    """Least squares without a ridge, the covariance of its error, and which coefficients noise leaves open.

    With noise E on the products and e on those with the label, the normal equations are off by e − E β at the true β.
    """
    values, vectors = np.linalg.eigh(known.products)
    inverse = (vectors / np.where(np.abs(values) > TINY, values, TINY)) @ vectors.T
    free = inverse @ known.with_label
    middle = known.variances * np.outer(free, free)  # E is symmetric: its entries are in two equations each
    np.fill_diagonal(middle, known.label_variances + known.variances @ free**2)
    if population:
        left = known.label_square - 2 * free @ known.with_label + free @ known.products @ free
        middle = middle + max(float(left), 0.0) / known.records * known.products
    away = vectors[:, values < CLEAR * 2 * known.noise_size]
    return free, inverse @ middle @ inverse.T, np.asarray((away**2).sum(axis=1) > ENTANGLED)
