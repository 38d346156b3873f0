"""Linear and ridge regression from noisy sums of products (AdaSSP: Wang 2018)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np

from jostle.kernel.budget import Budget
from jostle.kernel.records import Records
from jostle.kernel.strategies import Strategy, matrix
from jostle.learn.cells import binned, derive_bins
from jostle.learn.registry import FloatArray
from jostle.learn.regression.features import LinearFeatures, linear_features, offsets
from jostle.learn.regression.linear import LinearModel, Moments
from jostle.learn.regression.task import RegressionTask

LABEL = "(label)"
"""Stands for the label among the features: its number from −1 to 1."""

FINEST_LABEL = 256
"""The most cells of the label."""


def linear(records: Records, task: RegressionTask, budget: Budget, *, ridge: float | None = None) -> LinearModel:
    """Least squares, with a ridge against noise, from the sums of all products of two features.

    Privacy: one measurement per attribute and one per pair of attributes, the label among them, each of a public matrix over
    their joint histogram, with parts of the budget in proportion to what a record adds to it. The rest is post-processing.
    """
    features = linear_features(task)
    blocks = {**features, LABEL: label_feature(task)}
    records = derive_bins(records, {name: one.bins for name, one in features.items()})
    records = records.derive(binned(LABEL), [task.label], blocks[LABEL].bins)
    pairs = [*((name,) for name in blocks), *combinations(blocks, 2)]
    sums = _MomentSums(features)
    planned = [(names, *products([blocks[name] for name in names])) for names in pairs]
    weights = [max(1, round(16 * strategy.norm / strategy.unit)) for _, _, strategy in planned]
    for (names, rows, strategy), token in zip(planned, budget.split(*weights), strict=True):
        vector = records.vector(*(binned(name) for name in names))
        noisy = vector.measure(strategy, token)
        sums.add(names, rows, noisy, vector.noise_variance(strategy, token))
    moments = sums.moments()
    slopes, used = moments.solve(ridge)
    summary = (
        f"A linear model of {len(slopes) - 1} features, from {len(pairs)} measurements, with a ridge of {used:,.0f} records."
    )
    return LinearModel(features=features, moments=moments, slopes=slopes, ridge=used, bounds=task.bounds, summary=summary)


def label_feature(task: RegressionTask) -> LinearFeatures:
    """The label's number from −1 to 1, for each of its cells, at most FINEST_LABEL of them."""
    cells = len(task.targets)
    bins = np.arange(cells, dtype=np.int64) * min(FINEST_LABEL, cells) // cells
    low, high = task.bounds
    mean = np.bincount(bins, task.targets) / np.bincount(bins)
    half = max((high - low) / 2, 1e-300)
    return LinearFeatures(LABEL, bins, ((mean - (low + high) / 2) / half)[:, None], (LABEL,))


def products(blocks: list[LinearFeatures]) -> tuple[list[tuple[int, int]], Strategy]:
    """What is measured of one attribute, or of two: which products of features, and the matrix over their histogram.

    Of one attribute, the features and the square of its number (−1 stands for the constant); a category's other products
    follow from its features. Of the label, the number of records as well.
    """
    if len(blocks) == 2:
        from scipy.sparse import csr_array, kron

        one, other = blocks
        rows = [(i, j) for i in range(one.matrix.shape[1]) for j in range(other.matrix.shape[1])]
        return rows, matrix(kron(csr_array(one.matrix.T), csr_array(other.matrix.T)), _shape(blocks))
    (only,) = blocks
    rows = [(-1, place) for place in range(only.matrix.shape[1])]
    entries = [*only.matrix.T]
    if not _is_indicator(only.matrix[:, 0]):
        rows.append((0, 0))
        entries.append(only.matrix[:, 0] ** 2)
    if only.attribute == LABEL:
        rows.append((-1, -1))
        entries.append(np.ones(len(only.matrix)))
    return rows, matrix(np.array(entries), _shape(blocks))


def _shape(blocks: list[LinearFeatures]) -> tuple[int, ...]:
    return tuple(len(one.matrix) for one in blocks)


def _is_indicator(column: FloatArray) -> bool:
    return bool(np.isin(column, (0.0, 1.0)).all())


class _MomentSums:
    """What was measured so far, in place."""

    def __init__(self, features: dict[str, LinearFeatures]) -> None:
        self._features, self._at = features, offsets(features)
        size = 1 + sum(len(one.labels) for one in features.values())
        self._products, self._variances = np.zeros((size, size)), np.zeros((size, size))
        self._label, self._label_variances = np.zeros(size), np.zeros(size)
        self._square = 0.0

    def add(self, names: tuple[str, ...], rows: list[tuple[int, int]], noisy: FloatArray, variance: float) -> None:
        for (one, other), value in zip(rows, noisy.tolist(), strict=True):
            if names == (LABEL,):
                self._add_label(one, other, value, variance)
            elif LABEL in names:
                place = self._at[names[0]].start + one
                self._label[place], self._label_variances[place] = value, variance
            else:
                for place in self._places(names, one, other):
                    self._products[place] = self._products[place[::-1]] = value
                    self._variances[place] = self._variances[place[::-1]] = variance

    def _add_label(self, one: int, other: int, value: float, variance: float) -> None:
        if (one, other) == (-1, -1):
            self._products[0, 0], self._variances[0, 0] = value, variance
        elif one == -1:
            self._label[0], self._label_variances[0] = value, variance
        else:
            self._square = value

    def _places(self, names: tuple[str, ...], one: int, other: int) -> Iterator[tuple[int, int]]:
        if len(names) == 2:
            yield self._at[names[0]].start + one, self._at[names[1]].start + other
            return
        start = self._at[names[0]].start
        if one >= 0:
            yield start + one, start + other
            return
        yield 0, start + other
        if _is_indicator(self._features[names[0]].matrix[:, other]):  # its square is itself
            yield start + other, start + other

    def moments(self) -> Moments:
        return Moments(self._products, self._label, self._square, self._variances, self._label_variances)
