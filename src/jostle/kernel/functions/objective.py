"""The minimiser of a loss over records with a random linear term: objective perturbation with pure ε, or with ρ.

A record's score of a class is a sum of coefficients that its values pick, and its loss falls with the lead of its own class.
Neither a record's pull nor its loss's curvature is ever larger than the noise and the ridge can hide. The minimiser is found
up to a certified distance, which further noise hides. Proof: docs/proofs/objective.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from jostle.kernel.arguments import check_finite
from jostle.kernel.budget import CONCENTRATED, Price, round_down
from jostle.kernel.errors import BadInput
from jostle.kernel.functions import twofold
from jostle.kernel.functions.losses import WITHIN, sums
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.noise import Noise, calibrate, root_up
from jostle.kernel.partition import Counts, Vector

LARGEST: Final = 4096
"""So many cells, and so many coefficients, the scores of all classes may have."""

PULLS: Final = 2**28
"""The random linear term is a multiple of 1/PULLS."""

GRAIN: Final = 2**30
"""Coefficients are released as multiples of 1/GRAIN."""

TOLERANCE: Final = Fraction(1, 2**16)
"""So long the gradient may be where the search ends, with everything that rounding adds to it."""

SMALLEST_RIDGE, LARGEST_RIDGE = 2.0**-20, 2.0**40
"""What the ridge may be."""

LOUDEST: Final = 2**32
"""So large the sum of all coefficients' noise may be: beyond it, rounding alone would exceed half the tolerance."""

FAST: Final = 200
"""So many steps are tried in floats before those that end for certain."""

DOUBT: Final = float(TOLERANCE / 64)
"""A gradient of twice the digits is off by less."""

HIDING: Final = Fraction(1, 128)
"""The share of ε, or ρ, for the noise that hides where the search ended."""

BENT: Final = Fraction(1, 2)
"""Under ρ, how far a record bends the loss, in units of the ridge, over how far it pulls, in units of σ.

Found on the census table, among 1/4, 1/2 and 1.
"""

PRICE_OF_BENDING: Final = Fraction(3, 2)
"""Under ρ, what a square of the first costs, where one of the second costs 1: the proof's lemma."""

_PARTS = (1.0, 0.5, 0.25, 2.0**-4, *(2.0**-power for power in range(7, 32, 2)))
"""Of a Newton step: where the loss bends within a short way, only a small part of one shortens the gradient."""

_SAFELY = 1 - 2.0**-10
"""Curvatures under ρ are moved so far to the safe side: more than the constants of the loss are (`WITHIN`)."""

_SHARPEST = 64.0
_BLUNTEST = 2.0**-6


@final
@dataclass(frozen=True, eq=False)
class Additive:
    """Scores that add up over attributes. For two classes one score, of the second; for more one a class, adding up to zero.

    >>> model = Additive("class", {"age": np.eye(3)}, ridge=10)
    >>> model.reach
    (Fraction(1, 1), Fraction(1, 1))
    """

    label: str
    """Which attribute is the class."""

    features: Mapping[str, Vector]
    """One public matrix per attribute: one row per value, one column per coefficient. The identity gives each value one."""

    ridge: float
    """Half of this times the sum of squared coefficients is added to the loss."""

    def __post_init__(self) -> None:
        ridge = check_finite(self.ridge, "ridge", "pass for instance 10", least=SMALLEST_RIDGE, most=LARGEST_RIDGE)
        object.__setattr__(self, "ridge", ridge)
        found = {name: np.array(matrix, dtype=np.float64) for name, matrix in self.features.items()}
        if not found or self.label in found:
            raise BadInput("features", "must be for some attributes besides the label", "pass at least one")
        for name, matrix in found.items():
            if matrix.ndim != 2 or not matrix.size or not 2**-20 <= np.abs(matrix).max() <= 2**20:
                raise BadInput("features", f"that of {name!r} must be a matrix of moderate numbers", "use one row per value")
            matrix.setflags(write=False)  # what they reach is computed once
        object.__setattr__(self, "features", MappingProxyType(found))

    @cached_property
    def reach(self) -> tuple[Fraction, Fraction]:
        """A record's largest L1 norm over all features, and its largest squared L2 norm, exactly."""
        different = [{tuple(np.sort(np.abs(row[row != 0])).tolist()) for row in m} for m in self.features.values()]
        rows = [[[Fraction(v) for v in row] for row in m] for m in different]
        longest = sum((max(sum(row, Fraction(0)) for row in m) for m in rows), Fraction(0))
        return longest, sum((max(sum((v * v for v in row), Fraction(0)) for row in m) for m in rows), Fraction(0))

    def check(self, sizes: Mapping[str, int]) -> None:
        """Raise unless it can be asked of records with attributes of these sizes."""
        for name, matrix in self.features.items():
            if matrix.shape[0] != sizes[name]:
                raise BadInput("features", f"that of {name!r} needs a row for each of {sizes[name]} values", "make it fit")
        scores = 1 if sizes[self.label] <= 2 else sizes[self.label]
        if scores * max(sum(m.shape[side] for m in self.features.values()) for side in (0, 1)) > LARGEST:
            raise BadInput("features", f"have more than {LARGEST} cells or coefficients", "use fewer, or coarser ones")


@final
@dataclass(frozen=True)
class Calibration:
    """How much noise, and how sharply the loss may bend. Public."""

    pull: Fraction
    """The scale of the linear term's noise, in multiples of 1/PULLS."""

    bend: float
    """The loss's curvature is at most this times how far its slope is below 1/2."""

    hide: Fraction
    """The scale of the noise on the coefficients, in multiples of 1/GRAIN."""

    square: Fraction = Fraction(0)
    """The σ² of Gaussian noise in place of the first, in multiples of 1/PULLS²; 0 where that is Laplace noise."""


def calibration(objective: Additive, classes: int, neighbours: Neighbours, epsilon: Fraction) -> Calibration:
    """By the proof: what a record pulls, what it bends, and what the search leaves open, add up to ε.

    >>> found = calibration(Additive("class", {"age": np.eye(3)}, ridge=8), 2, Neighbours(), Fraction(128))
    >>> found.pull * 254 == PULLS
    True
    """
    hidden = epsilon * HIDING
    longest, squares = objective.reach
    ridge, rest = Fraction(objective.ridge), epsilon - hidden
    move = longest / 2 if classes <= 2 else longest
    if classes > 2:
        rest -= squares / ridge * Fraction(classes - 2, 2 * classes - 2) * neighbours.sensitivity(1, 1)
    pull, bend = Fraction(0), 0.0
    if rest > 0:
        pull = calibrate(neighbours.sensitivity(move, 2 * move) * PULLS, rest)
        bend = min(_SHARPEST, WITHIN * round_down(longest * PULLS / pull * ridge / squares))
    return _checked(objective, 1 if classes <= 2 else classes, neighbours, Calibration(pull, bend, hidden), "epsilon")


def calibration_for(objective: Additive, classes: int, neighbours: Neighbours, price: Price) -> Calibration:
    """By the price's measure: under ρ with Gaussian noise, where the lemma covers it, else with the ε that ρ pays for."""
    if is_gaussian(classes, neighbours, price):
        return gaussian_calibration(objective, price.amount)
    return calibration(objective, classes, neighbours, price.pure)


def is_gaussian(classes: int, neighbours: Neighbours, price: Price) -> bool:
    """Whether the noise on the linear term is Gaussian: the lemma is for two classes and one row, added or removed."""
    return price.measure == CONCENTRATED and classes <= 2 and neighbours == Neighbours()


def gaussian_calibration(objective: Additive, rho: Fraction) -> Calibration:
    """By the proof's lemma: ρ = (L² + 3/2·K²)/2 for a pull of L·σ and a curvature of K·ridge, and K = L/2.

    >>> found = gaussian_calibration(Additive("class", {"age": np.eye(3)}, ridge=8), Fraction(1))
    >>> found.square == PULLS**2 * Fraction(1, 8) * (1 + Fraction(3, 8)) / (1 - HIDING)
    True
    """
    squares, pull_squared = objective.reach[1], 2 * rho * (1 - HIDING) / (1 + PRICE_OF_BENDING * BENT**2)
    square = squares / 4 / pull_squared  # a record pulls by half of its features' norm at most
    curvature = _SAFELY * math.sqrt(round_down(pull_squared)) * float(BENT * Fraction(objective.ridge) / squares)
    bend = _SHARPEST if curvature >= 0.25 else min(_SHARPEST, 2 * curvature / math.sqrt(1 - 4 * curvature))
    found = Calibration(Fraction(root_up(square)) * PULLS, bend, Price(rho * HIDING, CONCENTRATED).pure, square * PULLS**2)
    return _checked(objective, 1, Neighbours(), found, "rho")


def _checked(objective: Additive, scores: int, neighbours: Neighbours, found: Calibration, argument: str) -> Calibration:
    """With the noise that hides where the search ended, in place of its ε."""
    if found.bend < _BLUNTEST:
        raise BadInput("ridge", f"is so small that the loss's curvature alone would cost {argument}", "use a larger one")
    size = sum(m.shape[1] for m in objective.features.values()) * scores
    if found.pull * (2 * size + 2_400) > LOUDEST * PULLS:
        raise BadInput(argument, "is too small for this number of coefficients: noise leaves no digits", "use a larger one")
    apart = 2 * (math.isqrt(size) + 1) * TOLERANCE / Fraction(objective.ridge) + Fraction(size, GRAIN)
    return replace(found, hide=calibrate(neighbours.sensitivity(apart, apart) * GRAIN, found.hide))


def release(
    objective: Additive, rows: dict[str, NDArray[np.integer]], weights: Counts, classes: int, noise: Noise, how: Calibration
) -> Vector:
    """For operators alone: noisy coefficients, one row a score, of the weighted rows."""
    scores = 1 if classes <= 2 else classes
    search = _NewtonSearch(objective, rows, weights, scores, how.bend)

    def draw() -> Vector:
        nothing = np.zeros((search.width, scores), dtype=np.int64)
        drawn = noise.discrete_gaussian(nothing, how.square) if how.square else noise.discrete_laplace(nothing, how.pull)
        return search.minimiser(centred(drawn))

    found = np.clip(noise.outcome("minimiser", how, search, draw), -GRAIN, GRAIN)
    return np.asarray(noise.discrete_laplace(np.round(found * GRAIN).astype(np.int64), how.hide) / GRAIN).T


def centred(drawn: Counts | Vector) -> Vector:
    """The linear term of whole draws: for several scores, less their mean, in whole numbers until the last step.

    So it is off by a few units of its own last digit, and not by those of what was drawn.

    >>> (centred(np.array([[2**60 + 1, 2**60, 2**60]])) * PULLS * 3).round(3).tolist()
    [[2.0, -1.0, -1.0]]
    """
    if drawn.shape[1] == 1:
        return np.asarray(drawn / PULLS)
    whole, left = np.divmod(drawn.sum(axis=1, keepdims=True), drawn.shape[1])
    return np.asarray(((drawn - whole) - left / drawn.shape[1]) / PULLS)


class _NewtonSearch:
    """Newton's method on the norm of the gradient; where that gets no further, on the loss, with twice the digits."""

    def __init__(
        self, objective: Additive, rows: dict[str, NDArray[np.integer]], weights: Counts, scores: int, bend: float
    ) -> None:
        matrices = list(objective.features.values())
        heights, widths = [m.shape[0] for m in matrices], [m.shape[1] for m in matrices]
        starts, self.width, self.scores, self.bend = np.cumsum([0, *heights]), sum(widths), scores, bend
        self.matrix = np.zeros((sum(heights), self.width))
        for m, top, left in zip(matrices, starts, np.cumsum([0, *widths]), strict=False):
            self.matrix[top : top + m.shape[0], left : left + m.shape[1]] = m
        self.places = np.empty((weights.size, len(matrices)), dtype=np.int32)
        for place, (name, top) in enumerate(zip(objective.features, starts, strict=False)):
            self.places[:, place] = rows[name]
            self.places[:, place] += top
        self.labels, self.weights = rows[objective.label].astype(np.int64), weights.astype(np.float64)
        self.filled = np.zeros(self.matrix.shape[0])
        for column in self.places.T:
            self.filled += np.bincount(column, self.weights, self.filled.size)
        self.ridge, (self.longest, self.squares) = float(objective.ridge), map(float, objective.reach)
        spread = int((self.matrix != 0).sum(axis=1).max())  # features that one value has
        self.terms, self.count = self.places.shape[1] + spread + 2, self.weights.sum()
        self.sums = self.longest * (self.count * (max(heights) + 2.0 * scores + 32.0))
        self.steepest = self.ridge + self.count * self.squares * (0.5 if scores == 1 else 1.0)

    def minimiser(self, pulls: Vector) -> Vector:
        """Coefficients at which the gradient is certified to be within the tolerance. It always ends: proof, step 6."""
        with np.errstate(all="ignore"):  # a step may lead far out, and a warning would tell
            here = np.zeros_like(pulls)
            gradient, hessian = self._derivatives(here, pulls)
            for _ in range(FAST):
                length, rounding = np.linalg.norm(gradient), self._rounding(here, pulls)
                if length + rounding <= float(TOLERANCE):
                    return here
                if length <= rounding:  # so many records that floats do not tell more
                    break
                step = self._newton(hessian, gradient)
                for share in (*_PARTS, 0.0):
                    if share == 0.0:  # a step along the gradient always comes closer
                        share, step = 1.0, -gradient / self.steepest
                    there = here + share * step
                    new = self._derivatives(there, pulls)
                    if np.linalg.norm(new[0]) <= (1 - share / 8) * np.linalg.norm(gradient):
                        break
                here, (gradient, hessian) = there, new
            return self._refined(here, pulls)

    def _refined(self, here: Vector, pulls: Vector) -> Vector:
        """The same, with gradients of twice the digits. A step halves the shortest gradient or makes the loss smaller."""
        rest = np.zeros_like(here)  # what the coefficients have beyond floats
        unit, shortest = twofold.UNIT + twofold.SUM * self.weights.size, math.inf
        gradient = self._precise_gradient(here, rest, pulls)
        while not np.linalg.norm(gradient) + self._rounding(here, pulls, unit) <= float(TOLERANCE):
            shortest = min(shortest, float(np.linalg.norm(gradient)))
            step = self._newton(self._derivatives(here, pulls)[1], gradient)
            there = _moved(here, rest, step)
            gradient = self._precise_gradient(*there, pulls)
            if not np.linalg.norm(gradient) <= shortest / 2:
                there = self._downhill(here, rest, pulls, step)
                gradient = self._precise_gradient(*there, pulls)
            here, rest = there
        return here

    def _downhill(self, here: Vector, rest: Vector, pulls: Vector, step: Vector) -> tuple[Vector, Vector]:
        """So far along a step, or else along the gradient, that the loss has fallen all the way, and by enough."""
        gradient = self._both_digits(here, rest, pulls)
        doubt, fall = DOUBT * float(np.linalg.norm(step)), -_along(gradient, step)
        if not 8 * doubt <= fall < math.inf:  # not certain to lead downhill
            step = -gradient.real / self.steepest
            doubt, fall = DOUBT * float(np.linalg.norm(step)), -_along(gradient, step)
        share, nearest, farthest = 1.0, 0.0, math.inf
        while True:
            there = _moved(here, rest, share * step)
            slope = _along(self._both_digits(*there, pulls), step)
            if -fall / 2 <= slope <= -doubt:
                return there
            nearest, farthest = (share, farthest) if slope < -fall / 2 else (nearest, share)
            share = 2 * share if farthest == math.inf else (nearest + farthest) / 2

    def _newton(self, hessian: Vector, gradient: Vector) -> Vector:
        """A Newton step; along the gradient where floats take the Hessian for singular."""
        try:
            return np.asarray(np.linalg.solve(hessian, -gradient.reshape(-1)).reshape(gradient.shape), dtype=np.float64)
        except np.linalg.LinAlgError:
            return np.asarray(-gradient / self.steepest)

    def _derivatives(self, here: Vector, pulls: Vector) -> tuple[Vector, Vector]:
        cells, size = self.matrix @ here, here.size
        slopes, bends = sums(self.places, self.labels, self.weights, cells, self.bend)
        bends = np.tensordot(np.tensordot(self.matrix, bends, (0, 0)), self.matrix, (2, 0))
        hessian = bends.transpose(0, 1, 3, 2).reshape(size, size)
        hessian[np.diag_indices(size)] += self.ridge
        return self.matrix.T @ slopes + self.ridge * here + pulls, hessian

    def _precise_gradient(self, here: Vector, rest: Vector, pulls: Vector) -> Vector:
        both = self._both_digits(here, rest, pulls)
        return np.asarray(both.real + both.imag)

    def _both_digits(self, here: Vector, rest: Vector, pulls: Vector) -> NDArray[np.complex128]:
        point, each = here + 1j * rest, np.eye(self.width)
        slopes = twofold.slopes(self.places, self.labels, self.weights, twofold.product(self.matrix, point), self.bend)
        terms = np.hstack([self.matrix.T, self.ridge * each, each]), np.vstack([slopes, point, pulls])
        return np.asarray(twofold.product(*terms))

    def _rounding(self, here: Vector, pulls: Vector, unit: float = 2.0**-53) -> float:
        """A bound on how far the computed gradient is from that of the term before it was rounded to the lattice.

        The unit is of sums over records; the term and the coefficients are rounded to floats in any case.
        """
        scored = float(self.filled @ (np.abs(self.matrix) @ np.abs(here)).max(axis=1))  # of all records, no sign counted
        margins = (0.25 if self.scores == 1 else 2.0) * self.terms * scored
        total = self.longest * margins + self.sums
        apart = 8 * (self.ridge * np.abs(here).sum() + np.abs(pulls).sum())
        return float(unit * total + 2.0**-53 * apart + 2 * math.sqrt(here.size) / PULLS)


def _along(gradient: NDArray[np.complex128], step: Vector) -> float:
    """The slope of the loss along a step, with both digits."""
    found = twofold.product(step.reshape(1, -1), gradient.reshape(-1, 1))[0, 0]
    return float(found.real + found.imag)


def _moved(here: Vector, rest: Vector, step: Vector) -> tuple[Vector, Vector]:
    """The sum with a step, again as floats and what they leave out (Knuth)."""
    total = here + step
    part = total - here
    rest = rest + ((here - (total - part)) + (step - part))
    return total + rest, rest - ((total + rest) - total)
