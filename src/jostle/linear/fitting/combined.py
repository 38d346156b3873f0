"""Several noisy histograms of the same rows, put together by generalised least squares: one estimate per answer.

Each histogram has cells that are unions of common atoms. With few atoms, the best linear unbiased estimate is computed
(Gauss and Markov; Aitken 1935). With many, each histogram whose cells are parts of the question's gives an estimate of its
own, and these are averaged by their precision. Either way an answer is a weighted sum of noisy numbers, so its law is known.
Post-processing only: the weights depend on frames and variances, never on the noisy numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jostle.kernel.partition import Counts, Vector
from jostle.linear.laws import NoiseLaw, margins, whole_margins

MOST_ATOMS = 512
"""Up to this many atoms, least squares is solved as it is: in some milliseconds."""

SMALLEST_SCALE = 1.0
"""Noise of a smaller scale is far from smooth: numbers with such noise are added up, and not weighted with others."""

_NO_NOISE = 1e-12
_NEARLY_NORMAL = 64
_ESTIMABLE = 1e-7


@dataclass(frozen=True)
class NoisyCells:
    """One noisy histogram, by the atoms of a common domain."""

    cells: Counts
    """Per atom, the cell that it is in; −1 if it is in none."""

    values: Vector
    """The noisy number of each cell."""

    law: NoiseLaw
    """The law of the noise on each of the numbers that a cell is the sum of."""

    summed: int = 1
    """How many numbers were added up for each cell."""

    @property
    def variance(self) -> float:
        return max(self.law.second, _NO_NOISE) * self.summed


@dataclass(frozen=True)
class Combined:
    """Estimates, and the weight of every noisy number in each of them."""

    estimates: Vector
    used: tuple[tuple[NoisyCells, Any], ...]
    """Per histogram with a part in it, the weights of its cells: one row per answer."""

    @property
    def margins(self) -> Vector:
        """Half the width of a 95 % interval around each estimate."""
        if len(self.used) == 1:
            cells, weights = self.used[0]
            if math.isfinite(cells.law.scale) and bool(np.isin(_entries(weights), (-1.0, 0.0, 1.0)).all()):
                return whole_margins(_row_sums(np.abs(weights)) * cells.summed, cells.law.scale)
        sums = [
            (cells.law, np.array([_row_sums(_power(weights, order)) * cells.summed for order in (2, 4, 6)]))
            for cells, weights in self.used
        ]
        return margins(sums)

    @property
    def variances(self) -> Vector:
        return np.asarray(np.sum([_row_sums(_power(weights, 2)) * cells.variance for cells, weights in self.used], axis=0))

    def simulated_errors(self, trials: int, seed: int = 0) -> Vector:
        """How far off the estimates would be in some runs, by noise of the same variances: one row per run."""
        rng = np.random.default_rng(seed)
        found = np.zeros((trials, len(self.estimates)))
        for cells, weights in self.used:
            kurtosis = cells.law.fourth / max(cells.law.second, _NO_NOISE) ** 2
            shape = (trials, cells.values.size)
            if kurtosis > 1e-9 and cells.summed < _NEARLY_NORMAL:  # a sum of Laplace variables is normal given a gamma one
                noise = rng.standard_normal(shape) * np.sqrt(rng.gamma(cells.summed, 1.0, shape))
            else:
                noise = rng.standard_normal(shape) * math.sqrt(cells.summed)
            found += math.sqrt(max(cells.law.second, 0.0)) * np.asarray((weights @ noise.T).T)
        return found


def combined(asked: Counts, answers: int, measured: Sequence[NoisyCells], queries: Any = None) -> Combined | None:
    """The best estimates of counts by the cells that atoms are in, or of queries over these; None if they do not follow.

    `asked` has the cell of each atom, −1 if it is in none, and `answers` the number of cells; `queries` has one row per
    answer and one column per cell.

    >>> one = NoisyCells(np.array([0, 1]), np.array([4.0, 8.0]), NoiseLaw.gaussian(1.0))
    >>> both = NoisyCells(np.array([0, 0]), np.array([15.0]), NoiseLaw.gaussian(1.0))
    >>> found = combined(np.array([0, 1]), 2, [one, both])
    >>> found.estimates.tolist(), found.variances.round(6).tolist()  # 15 − 12 is shared out among three numbers
    ([5.0, 9.0], [0.666667, 0.666667])
    """
    smooth = [one for one in measured if one.law.scale >= SMALLEST_SCALE]
    rough = [one for one in measured if one.law.scale < SMALLEST_SCALE]
    if rough:  # of numbers with nearly no noise, the best one by itself
        alone = [found for one in rough if (found := _covering(asked, answers, [one], queries)) is not None]
        if alone:
            return min(alone, key=lambda found: float(found.variances.max()))
    if not smooth:
        return None
    atoms = np.unique(np.stack([asked, *(one.cells for one in smooth)]), axis=1)
    if atoms.shape[1] > MOST_ATOMS:
        return _covering(asked, answers, smooth, queries)
    return _least_squares(atoms, answers, smooth, queries)


def _least_squares(atoms: Counts, answers: int, measured: Sequence[NoisyCells], queries: Any) -> Combined | None:
    wanted = np.zeros((answers, atoms.shape[1]))
    inside = atoms[0] >= 0
    wanted[atoms[0][inside], np.flatnonzero(inside)] = 1.0
    if queries is not None:
        wanted = np.asarray(queries @ wanted)
    normal = np.zeros((atoms.shape[1],) * 2)
    for cells, one in zip(atoms[1:], measured, strict=True):
        normal += ((cells[:, np.newaxis] == cells) & (cells >= 0)) / one.variance
    root = 1 / np.sqrt(np.where(np.diag(normal) > 0, np.diag(normal), 1.0))  # so that all atoms are of one size
    values, vectors = np.linalg.eigh(normal * root * root[:, np.newaxis])
    kept = values > 1e-11 * max(values[-1], 1e-300)
    scaled = (wanted * root) @ vectors
    if np.abs(scaled[:, ~kept]).max(initial=0.0) > _ESTIMABLE * np.abs(scaled).max(initial=1e-300):
        return None  # nothing is known of a part of some answer
    solved = ((scaled[:, kept] / values[kept]) @ vectors[:, kept].T) * root
    used, estimates = [], np.zeros(len(wanted))
    for cells, one in zip(atoms[1:], measured, strict=True):
        weights = np.zeros((len(wanted), one.values.size))
        np.add.at(weights.T, cells[cells >= 0], solved.T[cells >= 0])
        weights /= one.variance
        weights = np.where(np.abs(weights) < 1e-12, 0.0, weights)
        weights = np.where(np.abs(weights - np.round(weights)) < 1e-9, np.round(weights), weights)
        if weights.any():
            used.append((one, weights))
            estimates += weights @ one.values
    return Combined(estimates, tuple(used)) if used else None


def _covering(asked: Counts, answers: int, measured: Sequence[NoisyCells], queries: Any) -> Combined | None:
    """From histograms whose cells are parts of those asked for: each cell by the sum of its parts, averaged by precision."""
    from scipy import sparse

    sums: list[tuple[NoisyCells, Any, Vector]] = []
    for one in measured:
        goes = np.full(one.values.size, -2, dtype=np.int64)
        goes[one.cells[one.cells >= 0]] = asked[one.cells >= 0]
        if (goes[one.cells[one.cells >= 0]] != asked[one.cells >= 0]).any() or (asked[one.cells < 0] >= 0).any():
            continue  # some cell is in part outside, or does not have all of it
        parts = np.flatnonzero(goes >= 0)
        adds = sparse.csr_array((np.ones(parts.size), (goes[parts], parts)), shape=(answers, one.values.size))
        sums.append((one, adds, np.asarray(adds.sum(axis=1)).reshape(-1) * one.variance))
    if not sums:
        return None
    if len(sums) > 1:
        exact = [index for index, (_, _, spread) in enumerate(sums) if spread.max(initial=0.0) <= _NO_NOISE]
        sums = [sums[exact[0]]] if exact else sums
    precision = np.sum([1 / np.maximum(spread, _NO_NOISE) for _, _, spread in sums], axis=0)
    used, estimates = [], 0.0
    for one, adds, spread in sums:
        share = 1 / np.maximum(spread, _NO_NOISE) / precision if len(sums) > 1 else np.ones(answers)
        weights: Any = sparse.diags_array(share) @ adds
        weights = weights if queries is None else np.asarray(queries @ weights.toarray())
        used.append((one, weights))
        estimates = estimates + weights @ one.values
    return Combined(np.asarray(estimates, dtype=np.float64), tuple(used))


def _entries(weights: Any) -> Vector:
    return np.asarray(weights.data if hasattr(weights, "tocsr") else weights)


def _power(weights: Any, order: int) -> Any:
    return weights.power(order) if hasattr(weights, "tocsr") else weights**order


def _row_sums(weights: Any) -> Vector:
    return np.asarray(weights.sum(axis=1), dtype=np.float64).reshape(-1)
