"""Cells of records and the class that prevails in each: what joint histograms, single attributes and grids share.

All of it is public or post-processing, but for `measure`, which is one Laplace measurement of disjoint cells.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from jostle.kernel.budget import Budget
from jostle.kernel.partition import Counts
from jostle.kernel.queries import Strategy
from jostle.kernel.records import LARGEST_VECTOR, Records
from jostle.kernel.strategy import identity, matrix, total
from jostle.learn._smoothing import smoothed
from jostle.learn.registry import FloatArray, IntArray
from jostle.learn.task import Task

FEW_CELLS = 1_024
"""The leads of so many cells are made once: they are public, and asked for in every run."""


def foreseen(task: Task, attribute: str) -> int:
    """How many of an attribute's cells are for values that the schema names: the others are rarely met."""
    return task.columns[attribute].values


def coarse(task: Task, attribute: str, bins: int) -> Counts:
    """A public table from an attribute's cells to at most so many equally wide bins, where it is numeric.

    Categories keep a bin each. What the schema does not foresee shares one bin after the others.

    >>> from jostle.schema import Boolean, Integer
    >>> task = Task(("age",), "sick", {"age": Integer(0, 99, bins=10), "sick": Boolean()})
    >>> coarse(task, "age", 4).tolist()
    [0, 0, 0, 1, 1, 2, 2, 2, 3, 3, 4]
    """
    size, values = task.sizes[attribute], foreseen(task, attribute)
    table = np.arange(size, dtype=np.int64)
    if task.is_numeric(attribute):
        bins = min(bins, values)
        table[:values] = np.arange(values) * bins // values
        values = bins
    table[foreseen(task, attribute) :] = values
    table.setflags(write=False)
    return table


def room(task: Task, most: int) -> int:
    """How many cells a histogram may have, at most so many: the kernel counts no more of them times classes."""
    return min(most, LARGEST_VECTOR // len(task.classes))


def balance(cells: int, classes: int) -> Strategy:
    """What is measured of cells × classes: for two classes the second's lead over the first, else every count.

    Either way a record is in one row, once. The lead has half the variance that two noisy counts' difference would have.

    >>> balance(2, 2).dense().tolist()
    [[-1.0, 1.0, 0.0, 0.0], [0.0, 0.0, -1.0, 1.0]]
    """
    if classes != 2:
        return identity((cells, classes))
    return _few_leads(cells) if cells <= FEW_CELLS else _leads(cells)


def _leads(cells: int) -> Strategy:
    from scipy.sparse import csr_array

    leads = csr_array(
        (np.tile([-1, 1], cells), np.arange(2 * cells), np.arange(0, 2 * cells + 1, 2)), shape=(cells, 2 * cells)
    )
    return matrix(leads, (cells, 2))


_few_leads = lru_cache(maxsize=64)(_leads)


@dataclass(frozen=True)
class Leaves:
    """What was measured of the classes in disjoint cells."""

    noisy: FloatArray
    """For two classes the noisy lead of the second in each cell; else noisy counts, one row a cell."""

    scale: float
    """Of the noise."""

    def shares(self, shape: tuple[int, ...] = ()) -> FloatArray:
        """Probabilities of the classes in each cell, as far as the noise lets them be told: one row a cell.

        Where the cells are the combinations of several attributes' bins, so many of each, cells are also told by others.
        """
        told = _from_leads if self.noisy.ndim == 1 else _from_counts
        return told(self.noisy, self.scale, shape)


def known_total(records: Records, budget: Budget, given: float | None = None) -> tuple[float, Budget]:
    """About how many records there are, and what is left: nothing is paid where it is public or was paid for."""
    known = records.total if given is None else given
    if known is not None:
        return max(1.0, float(known)), budget
    first, rest = budget.split(3, 97)
    counted = records.vector(next(iter(records.sizes)))
    return max(1.0, float(counted.laplace(total(counted.shape), first)[0])), rest


def measure(records: Records, names: Sequence[str], label: str, budget: Budget) -> Leaves:
    """The classes in each combination of these attributes' values, by one Laplace measurement."""
    vector = records.vector(*names, label)
    classes = records.sizes[label]
    cells = vector.size // classes
    strategy = balance(cells, classes)
    scale = vector.noise_scale(strategy, budget)
    noisy = vector.laplace(strategy, budget)
    return Leaves(noisy if classes == 2 else noisy.reshape(cells, classes), scale)


def _from_leads(noisy: FloatArray, scale: float, shape: tuple[int, ...]) -> FloatArray:
    """How sure it is that the second class leads, by the leads' posterior means."""
    means = _posterior(noisy, scale, shape)
    second = 0.5 + 0.5 * means / (np.abs(means) + 2 * scale)
    return np.column_stack([1 - second, second])


def _from_counts(noisy: FloatArray, scale: float, shape: tuple[int, ...]) -> FloatArray:
    """For each class its overall share of the cell's records, and by how much it exceeds that, both as posterior means."""
    classes = noisy.shape[1]
    if classes == 1:
        return np.ones_like(noisy)
    overall = np.maximum(noisy.sum(axis=0), scale)
    overall = overall / overall.sum()
    sizes = np.maximum(_posterior(noisy.sum(axis=1), scale * np.sqrt(classes), shape), 0)
    beyond = noisy - noisy.sum(axis=1, keepdims=True) * overall
    spreads = scale * np.sqrt((1 - overall) ** 2 + (classes - 1) * overall**2)
    excess = np.column_stack([_posterior(beyond[:, c], float(spreads[c]), shape) for c in range(classes)])
    counts = np.maximum(sizes[:, None] * overall + excess, 0) + overall * scale / 4
    return np.asarray(counts / counts.sum(axis=1, keepdims=True))


def _posterior(noisy: FloatArray, scale: float, shape: tuple[int, ...]) -> FloatArray:
    """Posterior means, around what the rest of the table lets guess where there are several attributes.

    Privacy: post-processing. It starts from noisy numbers that were paid for, their noise's scale and public widths.
    """
    if len(shape) < 2:
        return posterior_leads(noisy, scale)
    guess = smoothed(noisy, max(scale, _NO_NOISE), shape)
    return guess + posterior_leads(noisy - guess, scale)


_ROUNDS = 30
_NO_NOISE = 1e-6
"""Less noise on a count is none; and the product of two such scales is a number."""

_PER_FACTOR = 2


def posterior_leads(noisy: FloatArray, scale: float) -> FloatArray:
    """Posterior means of signed numbers under Laplace noise: empirical Bayes with a smooth prior.

    The prior is a mixture: nothing at all, or exponentially distributed to either side, with scales from a fraction of the
    noise's to the largest number's. Its weights are those that make the noisy numbers likeliest. Where most cells lean to
    one side, a lead within the noise to the other is then taken for noise.

    >>> bool(posterior_leads(np.array([-9.0, -8, -7, -9, -8, 1]), 2.0)[-1] < 0)
    True
    """
    if not noisy.size:
        return noisy
    scale = max(scale, _NO_NOISE)
    largest = max(float(np.abs(noisy).max()), scale)
    steps = max(1, int(np.ceil(_PER_FACTOR * np.log2(4 * largest / scale))))
    scales = scale / 4 * 2 ** (np.arange(steps + 1) / _PER_FACTOR)
    densities, firsts = _smeared(noisy, scale, scales)
    weights = np.full(densities.shape[0], 1 / densities.shape[0])
    shares, added = np.empty_like(densities), np.add.reduce
    for _ in range(_ROUNDS):
        np.multiply(weights[:, None], densities, out=shares)
        shares /= added(shares, axis=0)
        weights = (added(shares, axis=1) + 1 / weights.size) / (noisy.size + 1)
    return np.asarray((weights @ firsts) / (weights @ densities))


def _smeared(noisy: FloatArray, scale: float, scales: FloatArray) -> tuple[FloatArray, FloatArray]:
    """For each part of the prior, the density of each noisy number, and that times the mean of the true one given it."""
    sides = np.array([[-1.0], [1.0]])
    density, first = _one_sided(sides * noisy, scale, scales.tolist())
    densities = np.concatenate([_laplace(noisy, scale)[None], density.reshape(-1, noisy.size)])
    firsts = np.concatenate([np.zeros((1, noisy.size)), (sides * first).reshape(-1, noisy.size)])
    return densities, firsts


def _laplace(u: FloatArray, scale: float) -> FloatArray:
    return np.asarray(np.exp(-np.abs(u) / scale) / (2 * scale))


def _one_sided(u: FloatArray, b: float, scales: Sequence[float]) -> tuple[FloatArray, FloatArray]:
    """∫₀^∞ e^(−d/s)/s · e^(−|u−d|/b)/(2b) · (1, d) dd in closed form, for b ≠ s; where they meet, s is moved a little.

    For each scale s in turn, along a new first axis.
    """

    def each(numbers: list[float]) -> FloatArray:
        return np.array(numbers).reshape(-1, *[1] * u.ndim)

    moved = [b * 1.001 if abs(s - b) < 1e-3 * b else s for s in scales]
    outer = [1 / s + 1 / b for s in moved]  # beyond u both fall
    inner = [1 / s - 1 / b for s in moved]  # below u they fall against each other
    up, down = np.maximum(u, 0.0), np.minimum(u, 0.0)
    at_u = np.exp(-up / each(moved) + down / b)  # the product at d = max(u, 0)
    at_zero = np.exp(-np.abs(u) / b)
    tail, tail_first = at_u / each(outer), at_u * (up / each(outer) + each([1 / o**2 for o in outer]))
    body = np.where(u > 0, (at_zero - at_u) / each(inner), 0.0)
    body_first = np.where(u > 0, (at_zero - at_u) / each([i**2 for i in inner]) - up * at_u / each(inner), 0.0)
    front = each([1 / (2 * b * s) for s in moved])
    return front * (tail + body), front * (tail_first + body_first)


@dataclass(frozen=True)
class CellModel:
    """The classes' shares in each combination of some attributes' bins."""

    attributes: tuple[str, ...]
    """Which attributes tell."""

    bins: tuple[Counts, ...]
    """For each of them, the bin of each of its cells."""

    table: FloatArray
    """One row a combination, the last attribute changing fastest; one column a class."""

    summary: str
    """In words."""

    def scores(self, codes: Mapping[str, IntArray]) -> FloatArray:
        """By looking up."""
        place = np.zeros(len(next(iter(codes.values()))), dtype=np.int64)
        for name, table in zip(self.attributes, self.bins, strict=True):
            place = place * (int(table.max()) + 1) + table[codes[name]]
        return self.table[place]

    def describe(self) -> str:
        """What it looks at."""
        return self.summary
