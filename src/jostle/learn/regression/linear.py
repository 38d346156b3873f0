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
        return noise_size(self.variances)

    @cached_property
    def seen(self) -> NDArray[np.bool_]:
        """Which features are there at all, beyond noise: what no record has would only add noise."""
        there = present(np.diag(self.products), np.diag(self.variances))
        there[0] = True
        return there

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
            ridge = ridge_for(self.noise_size, len(values), float(values.min(initial=np.inf)))
        pulled = vectors.T @ (self.with_label[1:] - self.records * label * mean)
        raised = np.maximum(values, 0.0) + ridge
        slopes = vectors @ np.where(raised > 0, pulled / np.where(raised > 0, raised, 1.0), 0.0)
        return np.concatenate([[label - float(mean @ slopes)], slopes]), ridge


@dataclass(frozen=True, eq=False, kw_only=True)
class CoefficientModel:
    """A number for each feature; what is predicted follows from the sum of what a record's features have."""

    features: Mapping[str, LinearFeatures]
    slopes: FloatArray
    """In units of features from −1 to 1, the constant first."""

    ridge: float
    bounds: tuple[float, float]
    summary: str
    exact: bool = True
    """Whether the sums have noise of known variance and nothing else, so that coefficients have intervals."""

    def predictor(self, codes: Mapping[str, IntArray]) -> FloatArray:
        """The sum for each record."""
        total = self.slopes[0]
        for name, at in offsets(self.features).items():
            one = self.features[name]
            total = total + (one.matrix @ self.slopes[at])[one.bins[codes[name]]]
        return np.asarray(total)

    def predict(self, codes: Mapping[str, IntArray]) -> FloatArray:
        """A number for each record, within the bounds."""
        raise NotImplementedError

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
    def in_units(self) -> FloatArray:
        """From slopes to coefficients in the columns' own units: one row per coefficient, the constant first."""
        at = offsets(self.features)
        found = np.eye(len(self.slopes))
        for name, one in self.features.items():
            if one.labels[:1] == (name,):
                start = at[name].start
                found[start, start] = 1 / one.half
                found[0, start] = -one.centre / one.half
        return found

    @property
    def values(self) -> FloatArray:
        """The coefficients in the columns' own units, the constant first."""
        return np.asarray(self.in_units @ self.slopes)

    def intervals(self, *, population: bool) -> tuple[FloatArray, FloatArray]:
        """Ends of 95 % intervals; infinite where the noise leaves a coefficient open.

        They are about what the same fit without noise gives on the same records; with `population`, about what it would give
        on all that these records are drawn from.
        """
        raise NotImplementedError

    def _around(
        self, seen: NDArray[np.bool_], free: FloatArray, covariance: FloatArray, hidden: NDArray[np.bool_]
    ) -> tuple[FloatArray, FloatArray]:
        """Intervals of those that were seen, around slopes without a ridge whose error has this covariance."""
        units = self.in_units[np.ix_(seen, seen)]
        variance = np.einsum("ij,jk,ik->i", units, covariance, units)
        reach, middle = np.full(len(seen), np.inf), np.zeros(len(seen))
        reach[seen] = np.where(hidden, np.inf, NORMAL * np.sqrt(np.maximum(variance, 0.0)))
        middle[seen] = units @ free
        return middle - reach, middle + reach

    def to_pandas(self, *, population: bool = False) -> pd.DataFrame:
        """Coefficients with their intervals."""
        import pandas as pd

        labels = ["(constant)", *(label for one in self.features.values() for label in one.labels)]
        low, high = self.intervals(population=population)
        return pd.DataFrame({"coefficient": labels, "value": self.values, "low": low, "high": high})


@dataclass(frozen=True, eq=False, kw_only=True)
class LinearModel(CoefficientModel):
    """The sum is the label, from −1 to 1 between its bounds."""

    moments: Moments

    @property
    def _scale(self) -> tuple[float, float]:
        """The middle of the label's range, and half of it."""
        low, high = self.bounds
        return (low + high) / 2, (high - low) / 2

    def predict(self, codes: Mapping[str, IntArray]) -> FloatArray:
        middle, half = self._scale
        return np.asarray(np.clip(middle + half * self.predictor(codes), *self.bounds))

    @property
    def values(self) -> FloatArray:
        return self._in_label_units(super().values)

    def _in_label_units(self, coefficients: FloatArray) -> FloatArray:
        middle, half = self._scale
        found = half * coefficients
        found[0] += middle
        return found

    def intervals(self, *, population: bool) -> tuple[FloatArray, FloatArray]:
        seen = self.moments.seen
        low, high = self._around(seen, *_unshrunk(self.moments.of(seen), population=population))
        return self._in_label_units(low), self._in_label_units(high)


def noise_size(variances: FloatArray) -> float:
    """About how large noise with these variances is as a matrix: its largest eigenvalue seldom exceeds twice this number."""
    return math.sqrt(float(variances.sum(axis=1).max()))


def present(squares: FloatArray, variances: FloatArray) -> NDArray[np.bool_]:
    """Which features have a sum of squares that stands out from its noise."""
    return np.asarray(squares > PRESENT * np.sqrt(variances))


def ridge_for(noise: float, size: int, least: float) -> float:
    """What raises the smallest eigenvalue to what noise may have added to any (Wang 2018, Algorithm 2)."""
    return max(0.0, math.sqrt(math.log(2 * max(size, 1) ** 2 / FAILURE)) * noise - max(least, 0.0))


def open_coefficients(values: FloatArray, vectors: FloatArray, noise: float) -> NDArray[np.bool_]:
    """Which coefficients have a share in directions that noise leaves open."""
    away = vectors[:, values < CLEAR * 2 * noise]
    return np.asarray((away**2).sum(axis=1) > ENTANGLED)


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
    return free, inverse @ middle @ inverse.T, open_coefficients(values, vectors, known.noise_size)
