"""Overlapping sums: like the blocks of a tree, but each fades into its neighbours.

A level of a tree cuts the domain into blocks, and a range that ends inside a block gets little from it. Left to itself,
gradient descent over p-identity strategies finds sums of another form: tents, which rise and fall linearly over twice their
spacing and add up to 1 everywhere, so that a level of them costs what a level of blocks costs. On a few levels of evenly
spaced tents the best weights are found in about a second. Public arithmetic: nothing here sees data.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from jostle.kernel.partition import Counts, Vector
from jostle.linear.design.gram import Gram

_MOST = 640
"""Levels are added from coarse to fine up to this many tents in all: matrices of that size are inverted on the way."""

_WORTH = 4e-3
"""A change of the levels must lower the variance by this share."""


def tents(shape: tuple[int, ...], spacing: float) -> Any:
    """One row per tent (sparse), spaced that many cells apart along each axis; the product over the axes.

    >>> tents((4,), 2).toarray().tolist()
    [[0.75, 0.25, 0.0, 0.0], [0.25, 0.75, 0.75, 0.25], [0.0, 0.0, 0.25, 0.75]]
    """
    from functools import reduce

    from scipy.sparse import csr_array, kron

    return csr_array(
        reduce(lambda rows, more: kron(rows, more, format="csr"), [_line(n, round(n / spacing)) for n in shape])
    )


def _line(n: int, steps: int) -> Any:
    """Tents at both ends of a line and at `steps` − 1 places between; a constant if there is not one step."""
    from scipy.sparse import csr_array

    if steps < 1:
        return csr_array(np.ones((1, n)))
    place = (np.arange(n) + 0.5) / n * steps
    left = np.minimum(place.astype(np.int64), steps - 1)
    values = np.concatenate([left + 1 - place, place - left])
    return csr_array((values, (np.concatenate([left, left + 1]), np.tile(np.arange(n), 2))), shape=(steps + 1, n))


def best_tents(shape: tuple[int, ...], gram: Gram) -> Any:
    """The rows of a p-identity strategy (sparse) for a workload: one to three levels of tents, weighted to answer it best.

    >>> from jostle import workloads
    >>> best_tents((64,), Gram.of(workloads.prefix(64))).shape
    (5, 64)
    """
    from scipy.sparse import csr_array, diags_array, vstack

    levels = _levels(shape)
    rows = csr_array(vstack(levels))
    level = np.repeat(np.arange(len(levels)), [part.shape[0] for part in levels])
    problem = _Weights(level, (rows @ rows.T).toarray(), gram.rows(rows.toarray()) @ rows.T, float(gram.diagonal.sum()))
    chosen = problem.search(len(levels))
    weights = np.zeros(len(levels))
    weights[list(chosen)] = problem.solve(chosen)[1]
    kept = np.flatnonzero(weights[level])
    return csr_array(diags_array(weights[level][kept]) @ rows[kept])


def _levels(shape: tuple[int, ...]) -> list[Any]:
    """Spacings from the whole domain down, each half of the one before."""
    found: list[Any] = []
    spacing = float(max(shape))
    while not found or (spacing >= 2 and sum(part.shape[0] for part in found) < _MOST / 2 ** len(shape)):
        found.append(tents(shape, spacing))
        spacing /= 2
    return found


@dataclass
class _Weights:
    """Which levels to measure, and with what weights. Tents add up to 1, so every column sums to 1 + the weights' sum."""

    level: Counts
    overlap: Vector
    inner: Vector
    size: float
    solved: dict[tuple[int, ...], tuple[float, Vector]] = field(default_factory=dict)

    def search(self, levels: int) -> tuple[int, ...]:
        """Add a level, move one to the next spacing, or both, whichever helps most, as long as something does."""
        best: tuple[int, ...] = ()
        while True:
            moved = {best} | {
                _sorted({*best} - {k} | {k + step}) for k in best for step in (-1, 1) if 0 <= k + step < levels
            }
            near = moved | {_sorted({*chosen, k}) for chosen in moved for k in range(levels)}
            better = min((chosen for chosen in near if 0 < len(chosen) <= 3), key=lambda chosen: self.solve(chosen)[0])
            if best and self.solve(better)[0] > self.solve(best)[0] - _WORTH:
                return best
            best = better

    def solve(self, chosen: tuple[int, ...]) -> tuple[float, Vector]:
        """The logarithm of the workload's variance with the best weights for these levels, and the weights."""
        from scipy.optimize import minimize

        if chosen not in self.solved:
            index = np.flatnonzero(np.isin(self.level, chosen))
            level = np.searchsorted(chosen, self.level[index])
            overlap, inner = self.overlap[np.ix_(index, index)], self.inner[np.ix_(index, index)]

            def cost(w: Vector) -> tuple[float, Vector]:
                each = w[level]
                inverse = np.linalg.inv(overlap * np.outer(each, each) + np.eye(len(each)))
                known = (inverse * inner) @ each
                fall = inverse @ (inner * np.outer(each, each)) @ inverse
                slope = np.bincount(level, (fall * overlap) @ each - known)
                left = self.size - float(each @ known)
                return 2 * np.log1p(w.sum()) + np.log(left), 2 / (1 + w.sum()) + 2 * slope / left

            bounds = [(0.0, None)] * len(chosen)
            found = minimize(cost, np.full(len(chosen), 0.5), jac=True, bounds=bounds, method="L-BFGS-B", tol=1e-4)
            self.solved[chosen] = float(found.fun), found.x
        return self.solved[chosen]


def _sorted(levels: set[int]) -> tuple[int, ...]:
    return tuple(sorted(levels))
