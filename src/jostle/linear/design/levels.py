"""How much of the budget each level of a tree should get for a given workload.

Functions that are constant on the blocks of one level and sum to 0 on those of the level above are eigenvectors of a regular
tree's normal equations. So the workload's total variance after least squares is a sum over levels of the workload's energy
there over the precision there, and choosing weights is a problem with as many unknowns as levels, however large the domain.
Public arithmetic: nothing here sees data.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from jostle.kernel.errors import BadInput
from jostle.kernel.partition import Vector
from jostle.kernel.strategies import Boxes, Hierarchy, Identity, Prefix, Strategy, lattice

_PROBES = 128
_NEGLIGIBLE = 1e-3
_CELLS = 1e-2
"""The cells get this share even if the workload does not look at them: an estimate of every one is asked for."""


def level_energies(tree: Hierarchy, queries: Strategy) -> Vector:
    """The squared length of what each level's functions add to those of the levels above, summed over the queries.

    Exact for cells, prefixes and boxes; by random probes for other queries.

    >>> from jostle.kernel.strategies import identity, prefix
    >>> from jostle.kernel.strategies import hierarchy
    >>> level_energies(hierarchy(4, 2), identity(4)).tolist()
    [1.0, 1.0, 2.0]
    >>> level_energies(hierarchy(4, 2), prefix(4)).tolist()
    [7.5, 1.5, 1.0]
    """
    if isinstance(queries, Identity):
        upto = np.array([np.prod(grid) for grid in tree.grids], dtype=np.float64)
    elif isinstance(queries, Prefix):
        upto = np.array([_prefix_energy(queries.rows, *level) for level in tree.levels])
    elif isinstance(queries, Boxes):
        upto = _box_energies(tree, queries.lows, queries.highs)
    else:
        return _probed_energies(tree, queries)
    return np.maximum(np.diff(upto, prepend=0.0), 0.0)


def _prefix_energy(n: int, starts: np.ndarray) -> float:
    """Each block lies whole in the prefixes that end behind it, and in part in as many as it has cells."""
    stops = np.append(starts[1:], n).astype(np.float64)
    sizes = stops - starts
    return float(((sizes + 1) * (2 * sizes + 1) / 6 + (n - stops) * sizes).sum())


def _box_energies(tree: Hierarchy, lows: np.ndarray, highs: np.ndarray) -> Vector:
    """The averages of a box over the blocks of a grid are a product over the axes, and so is their squared length."""
    upto = []
    for level in tree.levels:
        lengths = [
            _line_energies(n, starts, lows[:, axis], highs[:, axis])
            for axis, (n, starts) in enumerate(zip(tree.shape, level, strict=True))
        ]
        upto.append(float(np.prod(lengths, axis=0).sum()))
    return np.array(upto)


def _line_energies(n: int, starts: np.ndarray, lows: np.ndarray, highs: np.ndarray) -> Vector:
    """On one axis: blocks inside a range count whole, the two at its ends by the square of what the range has of them."""
    stops = np.append(starts[1:], n)
    sizes = stops - starts
    first, last = (np.searchsorted(starts, cells, side="right") - 1 for cells in (lows, highs - 1))
    left, right = np.minimum(stops[first], highs) - lows, highs - starts[last]
    ends = left**2 / sizes[first] + right**2 / sizes[last] + starts[last] - stops[first]
    return np.asarray(np.where(first == last, left**2 / sizes[first], ends))


def _probed_energies(tree: Hierarchy, queries: Strategy) -> Vector:
    """The mean squared length of the answers to random signs, each projected on the functions of one level."""
    probes = int(np.clip(2**22 // max(queries.size, queries.rows), 4, _PROBES))
    sums: Any = np.random.default_rng(0).choice([-1.0, 1.0], size=(probes, *tree.shape))
    sizes: Any = np.ones(tree.shape)
    means = [sums]
    for k in reversed(range(len(tree.levels) - 1)):
        sums, sizes = tree.merge(sums, k), tree.merge(sizes, k)
        means.append(sums / sizes)
    means.reverse()
    energies = []
    for k, mean in enumerate(means):
        detail = mean if k == 0 else mean - tree.repeat(means[k - 1], k - 1)
        for below in range(k, len(means) - 1):
            detail = tree.repeat(detail, below)
        answers = queries.apply(detail.reshape(probes, -1)) / queries.unit
        energies.append(float(np.square(answers).sum()) / probes)
    return np.array(energies)


def best_weights(tree: Hierarchy, energies: Vector, *, squares: bool = False) -> tuple[Vector, float]:
    """The weights of the levels, of sum 1, that answer the workload best, and its total variance for noise of variance 1.

    With `squares`, noise goes by the L2 norm: the sum of the weights' squares is 1. A level may get nothing, but the cells
    always get some.

    >>> from jostle.kernel.strategies import identity
    >>> from jostle.kernel.strategies import hierarchy
    >>> tree = hierarchy(4, 2)
    >>> weights, variance = best_weights(tree, level_energies(tree, identity(4)))
    >>> weights.round(3).tolist(), round(variance, 3)
    ([0.0, 0.0, 1.0], 4.0)
    """
    from scipy.optimize import minimize

    cells = np.array([np.prod(tree.shape) / np.prod(grid) for grid in tree.grids])
    levels = len(cells)

    def cost(w: Vector) -> tuple[float, Vector]:
        """The logarithm of the variance at a norm of 1, which no common factor of the weights changes, and its slope."""
        precision = np.cumsum((w**2 * cells)[::-1])[::-1]
        total = (energies / precision).sum()
        slope = -2 * w * cells * np.cumsum(energies / precision**2) / total
        if squares:
            return np.log(w @ w) + np.log(total), slope + 2 * w / (w @ w)
        return 2 * np.log(w.sum()) + np.log(total), slope + 2 / w.sum()

    # To drop a level or to keep it can both be locally best: start from even weights and from some that favour the cells.
    rise = np.linspace(0, 1, levels)
    starts = [np.ones(levels), 2.0 ** (rise * levels / 3), *(np.exp(-step * (1 - rise) * levels) for step in (0.5, 2))]
    bounds = [(0.0, None)] * (levels - 1) + [(1e-6, None)]
    found = [minimize(cost, start / start.sum(), jac=True, bounds=bounds, method="L-BFGS-B") for start in starts]
    best = min(found, key=lambda result: float(result.fun))
    weights = best.x / best.x.sum()
    weights[-1] = max(weights[-1], _CELLS)
    weights /= np.sqrt(weights @ weights) if squares else weights.sum()
    return weights, float(np.exp(cost(weights)[0]))


def weighted(tree: Hierarchy, weights: Vector) -> Hierarchy:
    """The tree with these weights, without the levels whose weight is next to nothing.

    >>> from jostle.kernel.strategies import hierarchy
    >>> weighted(hierarchy(4, 2), np.array([0.0, 1.0, 2.0])).grids
    ((2,), (4,))
    """
    kept = np.flatnonzero(weights > _NEGLIGIBLE * weights.max())
    if kept[-1] != len(weights) - 1:
        raise BadInput("weights", "leave the cells unmeasured", "give the last level a weight")
    whole, unit = lattice(weights[kept] / weights.max())
    return Hierarchy(tree.shape, [tree.levels[k] for k in kept], [int(w) for w in whole], unit)
