"""What to measure for histograms over several sets of axes under Gaussian noise, in closed form.

A histogram is a sum of components, one for each subset A of its axes: what depends on the axes of A together and on no
fewer. The component of A is measured once, by a `residual` of the kernel, however many histograms have it. Its noise has
the variance s_A in each cell before it is centred. With p_A = Π (nᵢ − 1)/nᵢ over the axes i of A, a cell of a histogram
over B has the variance Σ s_A p_A / Π nᵢ², the sum over the subsets A of B and the product over the axes of B that are not in
A. The component costs ρ in proportion to q_A / s_A, where q_A is the squared L2 sensitivity of the residual: p_A when
records are added or removed. So the least Σ c_A s_A at a given ρ has s_A in proportion to √(q_A / c_A), and is
(Σ √(c_A q_A))² for noise of variance 1 at a sensitivity of 1. When records are added or removed, no Gaussian measurement of
queries has less.

Xiao, He, Zhang, Kifer: An optimal and scalable matrix mechanism for noisy marginals under convex loss functions, NeurIPS
2023 (Section 4). The largest variance is least at the weights for which the weighted sum's least is largest, by duality: the
weights are raised where the variance is above the others', and the sum's least never falls. Public arithmetic.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Final, Literal, TypeAlias, get_args

import numpy as np

from jostle.kernel.arguments import check_one_of
from jostle.kernel.errors import BadInput
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.partition import Vector
from jostle.kernel.strategies import LARGEST_ENTRY, Residual, residual
from jostle.linear.fitting.marginals import Axes, Component, centred, put_together, subsets

Aim: TypeAlias = Literal["total", "largest"]
"""Which variance is to be least: all cells' together, or the largest of any cell."""

_FINENESS: Final = 2**40
"""Shares of ρ are kept to this part of the whole."""

_CLOSE: Final = 1e-3
"""The largest variance is least up to this part."""


@dataclass(frozen=True)
class Residue:
    """One component to measure."""

    axes: Axes
    """The axes that it is about, in the order of the histogram that it is taken from."""

    of: Axes
    """The axes of that histogram."""

    queries: Residual
    """What to measure on it."""

    share: int
    """Its part of ρ; parts are in proportion to these."""


@dataclass(frozen=True)
class ResidualPlan:
    """What to measure, and how exact each histogram will be."""

    residues: Sequence[Residue]
    shapes: Mapping[Axes, tuple[int, ...]]

    @cached_property
    def shares(self) -> list[int]:
        """The parts of ρ, one for each residue."""
        return [residue.share for residue in self.residues]

    @cached_property
    def _whole(self) -> int:
        return sum(self.shares)

    def share_of(self, residue: Residue) -> Fraction:
        """The part of a residue, as a fraction of the whole."""
        return Fraction(residue.share, self._whole)

    def histograms(self, measured: Sequence[Vector], variances: Sequence[float]) -> dict[Axes, tuple[Vector, float]]:
        """All histograms from noisy residues, with the variance of their cells; `variances` are those of the noise."""
        components: dict[frozenset[str], Component] = {}
        for residue, noisy, variance in zip(self.residues, measured, variances, strict=True):
            sizes = [self._size(axis) for axis in residue.axes]
            components[frozenset(residue.axes)] = residue.axes, centred(noisy.reshape(sizes)), variance
        return {axes: put_together(axes, shape, components) for axes, shape in self.shapes.items()}

    def variances(self, noise: Sequence[float]) -> dict[Axes, float]:
        """The variance of each histogram's cells, given that of the noise on each residue."""
        found = dict(zip((frozenset(residue.axes) for residue in self.residues), noise, strict=True))
        return {
            axes: sum(found.get(frozenset(part), 0.0) * _weight(axes, shape, part) for part in subsets(axes))
            for axes, shape in self.shapes.items()
        }

    def _size(self, axis: str) -> int:
        return next(shape[axes.index(axis)] for axes, shape in self.shapes.items() if axis in axes)


def plan_residuals(
    shapes: Mapping[Axes, tuple[int, ...]],
    neighbours: Neighbours | None = None,
    *,
    weights: Mapping[Axes, float] | None = None,
    least: Aim = "total",
) -> ResidualPlan:
    """The best plan for histograms of these shapes, by their axes; a weight says how much a histogram's variances count.

    >>> plan = plan_residuals({("a", "b"): (2, 3), ("b",): (3,)})
    >>> [(residue.axes, residue.of) for residue in plan.residues]
    [((), ('a', 'b')), (('a',), ('a', 'b')), (('b',), ('a', 'b')), (('a', 'b'), ('a', 'b'))]
    """
    check_one_of(least, "least", get_args(Aim))
    relation = neighbours or Neighbours()
    parts = _components(shapes)
    queries = [_queries(shapes[of], of, axes) for axes, of in parts.values()]
    costs = np.array([_cost(one, relation) for one in queries])
    place = {key: number for number, key in enumerate(parts)}
    pairs = [
        (place[frozenset(part)], number, _weight(axes, shape, part))
        for number, (axes, shape) in enumerate(shapes.items())
        for part in subsets(axes)
        if frozenset(part) in place
    ]
    components, histograms, each = (np.array(column) for column in zip(*pairs, strict=True))
    wanted = np.array([1.0 if weights is None else weights[axes] for axes in shapes])
    problem = _VarianceProblem(costs, components, histograms, each)
    cells = np.array([math.prod(shape) for shape in shapes.values()], dtype=np.float64)
    noise = problem.least_total(wanted * cells) if least == "total" else problem.least_largest(wanted)
    spent = costs / noise
    shares = np.maximum(np.round(spent / spent.sum() * _FINENESS), 1).astype(np.int64).tolist()
    found = zip(parts.values(), queries, shares, strict=True)
    return ResidualPlan([Residue(axes, of, one, share) for (axes, of), one, share in found], shapes)


def check_marginal_weights(weights: Any, sets: Sequence[Axes]) -> dict[Axes, float] | None:
    """Weights by their axes, from one number per set.

    >>> check_marginal_weights([1, 4], [("a",), ("b",)])
    {('a',): 1.0, ('b',): 4.0}
    """
    if weights is None:
        return None
    try:
        found = [float(weight) for weight in weights]
    except (TypeError, ValueError, OverflowError):
        found = []
    if len(found) != len(sets) or not all(1e-9 < weight < 1e9 for weight in found):
        raise BadInput("weights", "must be one number from 1e-9 to 1e9 per set of columns", f"pass {len(sets)} numbers")
    return dict(zip(sets, found, strict=True))


@dataclass(frozen=True)
class _VarianceProblem:
    """Components by their cost, and what the noise on each adds to a cell of each histogram that has it."""

    costs: Vector
    components: Any
    histograms: Any
    each: Vector

    def least_total(self, weights: Vector) -> Vector:
        """The noise on each component for the least weighted sum of the histograms' variances."""
        counts = np.bincount(self.components, self.each * weights[self.histograms], minlength=self.costs.size)
        noise = np.sqrt(self.costs / counts)
        return np.asarray(noise * (self.costs / noise).sum())

    def least_largest(self, weights: Vector) -> Vector:
        """The same for the least of the largest weighted variance. Each step raises the least weighted sum (Jensen)."""
        duals = np.ones(weights.size) / weights.size
        for _ in range(5_000):
            noise = self.least_total(duals * weights)
            reached = weights * np.bincount(self.histograms, self.each * noise[self.components], minlength=weights.size)
            if reached.max() <= (1 + _CLOSE) * (duals * reached).sum():
                break
            duals = duals * reached**2
            duals = np.maximum(duals / duals.sum(), 1e-12)
        return noise


def _components(shapes: Mapping[Axes, tuple[int, ...]]) -> dict[frozenset[str], tuple[Axes, Axes]]:
    """Every subset of a set of axes, once, in the order of the largest set that has it. Axes of one cell have no part."""
    found: dict[frozenset[str], tuple[Axes, Axes]] = {}
    largest = sorted(shapes, key=len, reverse=True)
    for axes in largest:
        several = tuple(axis for axis, size in zip(axes, shapes[axes], strict=True) if size > 1)
        for part in subsets(several):
            found.setdefault(frozenset(part), (part, axes))
    return found


def _queries(shape: tuple[int, ...], axes: Axes, part: Axes) -> Residual:
    """Centred along as many axes as exact answers allow: the rest is centred afterwards, and costs a little more."""
    kept, along, cells = [axes.index(axis) for axis in part], [], 1
    for place in sorted(kept, key=lambda place: shape[place]):  # where there are few cells, it saves most
        cells *= shape[place]
        if cells <= LARGEST_ENTRY:
            along.append(place)
    return residual(shape, kept, along)


def _cost(queries: Residual, neighbours: Neighbours) -> float:
    """The squared L2 sensitivity; where nothing moves at all, next to nothing."""
    return max(float(neighbours.squared_sensitivity(*queries.squared_sensitivities()) / queries.unit**2), 1e-12)


def _weight(axes: Axes, shape: tuple[int, ...], part: Axes) -> float:
    """What noise of variance 1 on a residue adds to the variance of a cell."""
    found = 1.0
    for axis, size in zip(axes, shape, strict=True):
        found *= 1 - 1 / size if axis in part else 1 / size**2
    return found
