"""Overlapping histograms made consistent by weighted least squares, exactly and without the vector over all axes.

A histogram over some axes is a sum of orthogonal components, one for each subset S of them: what depends on the axes of S
together and on no fewer. Noise that is independent and equal in all cells stays uncorrelated between components. So the
least-squares solution takes each component from all histograms that have it, weighted by how well each knows it: a
histogram whose cells have variance v knows the sums over a subset S with variance v times the number of cells added up.

The decomposition is Hoeffding's (1948); for private marginals it is used by Xiao, He, Zhang, Kifer: An optimal and scalable
matrix mechanism for noisy marginals under convex loss functions, NeurIPS 2023. Post-processing only.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain, combinations
from typing import TypeAlias

import numpy as np

from jostle.kernel.partition import Vector
from jostle.linear.laws import NoiseLaw, margins

Axes: TypeAlias = tuple[str, ...]

Component: TypeAlias = tuple[Axes, Vector, float]
"""What depends on some axes together and on no fewer: the axes in order, its values, and their variance before centring."""

NO_NOISE = 1e-30
"""Variances below this count as this: at a very large ε they are 0 in floats."""


def consistent(
    noisy: Mapping[Axes, Vector], variances: Mapping[Axes, float]
) -> tuple[dict[Axes, Vector], dict[Axes, float]]:
    """The nearest consistent histograms, and the variance of their cells; `variances` are those of the noisy cells.

    Axes have names, and the same size wherever they occur.

    >>> noisy = {("a",): np.array([4.0, 8.0]), ("b",): np.array([5.0, 5.0])}
    >>> found, variances = consistent(noisy, {("a",): 1.0, ("b",): 1.0})
    >>> found[("a",)].tolist(), found[("b",)].tolist()  # both add up to 11
    ([3.5, 7.5], [5.5, 5.5])
    >>> variances[("a",)]
    0.75
    """
    sums: dict[frozenset[str], Component] = {}
    for axes, values in noisy.items():
        for subset in subsets(axes):
            key, weight = frozenset(subset), _precision(axes, values.shape, subset, variances[axes])
            part = weight * _component(axes, values, subset)
            order, added, total = sums.get(key, (subset, np.zeros(()), 0.0))
            moved = part if part.ndim == 0 else np.transpose(part, [subset.index(axis) for axis in order])
            sums[key] = order, added + moved, total + weight
    components = {key: (order, np.asarray(added / total), 1 / total) for key, (order, added, total) in sums.items()}
    found, spread = {}, {}
    for axes, values in noisy.items():
        found[axes], spread[axes] = put_together(axes, values.shape, components)
    return found, spread


def margins_of_cells(shapes: Mapping[Axes, tuple[int, ...]], laws: Mapping[Axes, NoiseLaw]) -> dict[Axes, float]:
    """Half the width of a 95 % interval around a cell of each consistent histogram, by the law of each one's noise.

    All cells of a histogram are alike. Least squares is a projection: what a cell's noise adds to another's estimate
    is, up to variances, what that one's noise adds to the cell's. So a cell's weights are what 1 in its place becomes.

    >>> noise = NoiseLaw.discrete_laplace(100)
    >>> alike = {("a",): (2,), ("b",): (2,)}
    >>> [round(off) for off in margins_of_cells(alike, dict.fromkeys(alike, noise)).values()]
    [251, 251]
    """
    variances = {axes: max(law.second, NO_NOISE) for axes, law in laws.items()}
    found = {}
    for axes in shapes:
        one = {other: np.zeros(shape) for other, shape in shapes.items()}
        one[axes].flat[0] = 1.0
        fitted = consistent(one, variances)[0]
        weights = {other: fitted[other].reshape(-1) * (variances[axes] / variances[other]) for other in shapes}
        sums = [(laws[other], np.array([[(w**k).sum()] for k in (2, 4, 6)])) for other, w in weights.items()]
        found[axes] = float(margins(sums)[0])
    return found


def subsets(axes: Axes) -> list[Axes]:
    """All subsets of some axes, each in their order, the smaller ones first.

    >>> subsets(("a", "b"))
    [(), ('a',), ('b',), ('a', 'b')]
    """
    return list(chain.from_iterable(combinations(axes, size) for size in range(len(axes) + 1)))


def _others(axes: Axes, shape: tuple[int, ...], subset: Axes) -> int:
    """How many cells are added up to the histogram over a subset."""
    return int(np.prod([size for axis, size in zip(axes, shape, strict=True) if axis not in subset], dtype=object))


def _precision(axes: Axes, shape: tuple[int, ...], subset: Axes, variance: float) -> float:
    return 1 / (max(variance, NO_NOISE) * _others(axes, shape, subset))


def _component(axes: Axes, values: Vector, subset: Axes) -> Vector:
    """Sums over the other axes, less the means along each axis of the subset."""
    return centred(values.sum(axis=tuple(place for place, axis in enumerate(axes) if axis not in subset)))


def centred(values: Vector) -> Vector:
    """Values less the means along each axis.

    >>> centred(np.array([[1.0, 2.0], [3.0, 8.0]])).tolist()
    [[1.0, -1.0], [-1.0, 1.0]]
    """
    for place in range(np.ndim(values)):
        values = values - values.mean(axis=place, keepdims=True)
    return np.asarray(values)


def put_together(axes: Axes, shape: tuple[int, ...], components: Mapping[frozenset[str], Component]) -> tuple[Vector, float]:
    """The histogram that has these components, and the variance of its cells. A component that is not there is 0.

    >>> put_together(("a",), (2,), {frozenset(): ((), np.array(6.0), 1.0), frozenset("a"): (("a",), np.array([1, -1]), 2.0)})
    (array([4., 2.]), 1.25)
    """
    values, variance = np.zeros(shape), 0.0
    for subset in subsets(axes):
        if frozenset(subset) not in components:
            continue
        order, part, spread = components[frozenset(subset)]
        others = _others(axes, shape, subset)
        if part.ndim:
            part = np.transpose(part, [order.index(axis) for axis in subset])
        sizes = [size if axis in subset else 1 for axis, size in zip(axes, shape, strict=True)]
        values = values + np.reshape(part / others, sizes)
        kept = [1 - 1 / size for axis, size in zip(axes, shape, strict=True) if axis in subset]
        variance += float(np.prod(kept)) * spread / others**2
    return values, variance
