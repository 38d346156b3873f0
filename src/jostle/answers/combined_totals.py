"""Counts, sums and means of groups that several releases say something about, put together by least squares.

A column's numbers x lie between 0 and 1, where its bounds are. What is measured of a group is linear in four numbers: the
sums of x², 2x(1 − x) and (1 − x)² over its rows, and the rows without a number. Each group has an estimate of its own
(Aitken 1935). All of this is post-processing: weights depend on variances, never on noisy numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from jostle.answers.noise_intervals import NumberSum, held_where
from jostle.kernel.partition import Counts, Vector
from jostle.linear.laws import NoiseLaw, margins

FORMS: dict[str, Any] = {
    "mixture 0": [[1, 1, 1, 0], [0, 0, 0, 1]],
    "mixture 1": [[1, 0.5, 0, 0], [0, 0.5, 1, 0], [0, 0, 0, 1]],
    "mixture 2": [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]],
    "rows": [[1, 1, 1, 1]],
}
"""What is measured, in the four numbers: the last row of a mixture is that of rows without a number."""

ROWS, NUMBERS, ABOVE = 0, 1, 2
"""What follows: the rows of a group, those with a number, and the sum of x."""

_FOLLOWS = np.array([[1, 1, 1, 1], [1, 1, 1, 0], [1, 0.5, 0, 0]])
_ESTIMABLE = 1e-7
_TRIED = np.linspace(0.0, 1.0, 9)
_NO_NOISE = 1e-12


@dataclass(frozen=True)
class MeasuredGroups:
    """What one release says about the groups."""

    values: Vector
    """One row per group, of the numbers in the form."""

    added: Counts
    """Per group, how many noisy numbers each of them is the sum of."""

    form: Vector
    """One row of four weights per number."""

    law: NoiseLaw


@dataclass(frozen=True)
class _Part:
    """The weights of one release's numbers in what follows: by group, by what follows, by number."""

    measured: MeasuredGroups
    weights: Vector


@dataclass(frozen=True)
class CombinedTotals:
    """Estimates of what follows, and the law of their noise."""

    estimates: Vector
    """One row per group."""

    parts: Sequence[_Part]
    known: Sequence[bool]
    """Which of what follows is known."""

    @classmethod
    def of(cls, measured: Sequence[MeasuredGroups]) -> CombinedTotals:
        """By the least variance, group by group."""
        groups = len(measured[0].added)
        normal = np.zeros((groups, 4, 4))
        spreads = [max(one.law.second, _NO_NOISE) * one.added for one in measured]
        for one, spread in zip(measured, spreads, strict=True):
            normal += (one.form.T @ one.form) / spread[:, np.newaxis, np.newaxis]
        diagonal = np.einsum("gii->gi", normal)
        root = 1 / np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
        values, vectors = np.linalg.eigh(normal * root[:, :, np.newaxis] * root[:, np.newaxis, :])
        kept = values > 1e-10 * np.maximum(values[:, -1:], 1e-300)
        scaled = np.einsum("fi,gi,gij->gfj", _FOLLOWS, root, vectors)
        beyond = np.abs(np.where(kept[:, np.newaxis, :], 0.0, scaled)).max(axis=(0, 2))
        known = beyond <= _ESTIMABLE * np.abs(scaled).max(axis=(0, 2))
        inverse = np.where(kept, 1 / np.where(kept, values, 1.0), 0.0)
        solved = np.einsum("gfj,gj,gij,gi->gfi", scaled, inverse, vectors, root)
        parts, estimates = [], np.zeros((groups, len(_FOLLOWS)))
        for one, spread in zip(measured, spreads, strict=True):
            weights = np.einsum("gfi,ni->gfn", solved, one.form) / spread[:, np.newaxis, np.newaxis]
            parts.append(_Part(one, weights))
            estimates += np.einsum("gfn,gn->gf", weights, one.values)
        return cls(estimates, parts, known.tolist())

    # ------------------------------------------------------------------------------------------------- what is read

    def linear(self, weights: Sequence[float]) -> tuple[Vector, Vector]:
        """A weighted sum of what follows, and half the width of its interval."""
        each = np.asarray(weights, dtype=np.float64)
        return self.estimates @ each, self.linear_by(np.tile(each, (len(self.estimates), 1)))

    def linear_by(self, weights: Vector) -> Vector:
        """Half the width of the interval around a weighted sum of what follows, with weights of its own for each group."""
        sums = []
        for part in self.parts:
            used = np.einsum("gf,gfn->gn", weights, part.weights)
            sums.append((part.measured.law, np.stack([(used**k).sum(axis=1) * part.measured.added for k in (2, 4, 6)])))
        return margins(sums)

    def mean(self) -> tuple[Vector, Vector, Vector]:
        """The mean of x, and the ends of its interval: for the true mean r, the sum of x − r is pure noise."""
        above, numbers = self.estimates[:, ABOVE], self.estimates[:, NUMBERS]
        best = np.clip(np.where(numbers > 0, above / np.where(numbers > 0, numbers, 1), 0.5), 0.0, 1.0)

        def holds(r: Vector) -> Any:
            return np.abs(above[:, np.newaxis] - r * numbers[:, np.newaxis]) <= self._beyond(r)

        return best, *held_where(holds, best)

    def _beyond(self, r: Vector) -> Vector:
        """The margin of the sum of x less r times the numbers, for some r per group."""
        sums = []
        for law, powers in self._powers:
            each = [sum(coefficient[:, np.newaxis] * r**i for i, coefficient in enumerate(one)) for one in powers]
            sums.append((law, np.maximum(np.stack(each), 0.0).reshape(3, -1)))
        return margins(sums).reshape(r.shape)

    @cached_property
    def _powers(self) -> list[tuple[NoiseLaw, list[list[Vector]]]]:
        """Per release, the sums of (a − r b)², (a − r b)⁴ and (a − r b)⁶ over its numbers, as polynomials in r."""
        found = []
        for part in self.parts:
            a, b, added = part.weights[:, ABOVE], part.weights[:, NUMBERS], part.measured.added
            powers = [
                [math.comb(k, i) * (-1) ** i * (a ** (k - i) * b**i).sum(axis=1) * added for i in range(k + 1)]
                for k in (2, 4, 6)
            ]
            found.append((part.measured.law, powers))
        return found

    # ------------------------------------------------------------------------------------------------ is it close enough

    def margins_of(self, kinds: Sequence[str], low: float, width: float) -> Vector | None:
        """What decides whether aggregates are close enough, one row each: None if one of them does not follow.

        For a mean, the margins of the sum of x less r times the numbers, for several r.
        """
        rows = []
        for kind in kinds:
            needs: tuple[int, ...]
            if kind == "mean":
                needs, each = (NUMBERS, ABOVE), [*self._beyond(np.tile(_TRIED, (len(self.estimates), 1))).T]
            else:
                weights = weights_of(kind, low, width)
                needs, each = tuple(np.flatnonzero(weights).tolist()), [self.linear(weights)[1]]
            if not all(self.known[one] for one in needs):
                return None
            rows += each
        return np.stack(rows)


@dataclass(frozen=True)
class CombinedSum(NumberSum):
    """A count or a sum of groups, which several releases say something about."""

    totals: CombinedTotals
    weights: Sequence[float]

    @cached_property
    def value(self) -> Vector:
        return self.totals.linear(self.weights)[0]

    @cached_property
    def margin(self) -> Vector:
        return self.totals.linear(self.weights)[1]

    def is_noise(self, other: NumberSum, r: Vector) -> Any:
        """For sums of the same totals by the law of both together."""
        if not isinstance(other, CombinedSum) or other.totals is not self.totals:
            return super().is_noise(other, r)
        far = self.totals.linear_by(np.asarray(self.weights) - r[:, np.newaxis] * np.asarray(other.weights))
        return np.abs(self.value - r * other.value) <= far


def weights_of(kind: str, low: float, width: float) -> list[float]:
    """A count or a sum of the column, as a weighted sum of what follows."""
    return {"rows": [1.0, 0.0, 0.0], "count": [0.0, 1.0, 0.0], "sum": [0.0, low, width]}[kind]


def form_of_sum(low: float, width: float, rate: float) -> Vector:
    """A sum of the column's values, in points of this rate, in the four numbers."""
    return rate * np.array([[low + width, low + width / 2, low, 0.0]])
