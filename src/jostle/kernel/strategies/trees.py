"""Strategies that are trees: nested grids of counts, and the Haar wavelet. Proof: docs/proofs/strategies.md."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import Any, final

import numpy as np

from jostle.kernel.arguments import domain_of
from jostle.kernel.errors import BadInput
from jostle.kernel.partition import fixed
from jostle.kernel.strategies.base import Strategy, check_weights, lattice


@final
class Hierarchy(Strategy):
    """Nested grids from coarse to fine, each level with a weight; the last level has every cell.

    Rows run from the coarsest level to the finest, within a level in row-major order. A block that cannot be cut
    further is counted again on the levels below: every record is then in one block per level, and measuring it more
    often than the norm already allows costs nothing.
    """

    def __init__(
        self, shape: tuple[int, ...], levels: Sequence[tuple[np.ndarray, ...]], weights: Sequence[int], unit: int
    ) -> None:
        check_weights(weights)
        _check_nested(shape, levels, weights)
        self.levels = tuple(tuple(fixed(np.array(starts)) for starts in level) for level in levels)
        self.weights, self.grids = tuple(weights), tuple(tuple(len(starts) for starts in level) for level in levels)
        blocks = [math.prod(grid) for grid in self.grids]
        # A record is in one block per level; a replaced one moves two blocks on every level that has two.
        apart = 2 * sum(w for w, count in zip(weights, blocks, strict=True) if count > 1)
        squares = sum(w**2 for w in weights), 2 * sum(w**2 for w, count in zip(weights, blocks, strict=True) if count > 1)
        sizes: dict[str, Any] = {"norm": sum(weights), "diameter": apart, "squares": squares, "bounds": (0, max(weights))}
        super().__init__(shape, sum(blocks), unit=unit, **sizes)

    def apply(self, x: Any) -> Any:
        """Block sums, each level from the one below it."""
        lead = x.shape[:-1]
        sums = x.reshape(*lead, *self.shape)
        blocks: list[Any] = []
        for k in reversed(range(len(self.levels))):
            if k < len(self.levels) - 1:
                sums = self.merge(sums, k)
            flat = sums.reshape(*lead, -1)
            blocks.append(flat if self.weights[k] == 1 else flat * self.weights[k])
        return np.concatenate(blocks[::-1], axis=-1)

    def adjoint(self, y: Any) -> Any:
        """Each cell takes the sum of its blocks' numbers, weighted."""
        parts = self.by_level(y)
        down = parts[0] * self.weights[0]
        for k in range(1, len(self.levels)):
            down = self.repeat(down, k - 1) + parts[k] * self.weights[k]
        return down.reshape(*y.shape[:-1], -1)

    def by_level(self, y: Any) -> list[Any]:
        """The rows, cut into one grid per level."""
        ends = np.cumsum([int(np.prod(grid)) for grid in self.grids])
        flat = np.split(y, ends[:-1], axis=-1)
        return [part.reshape(*y.shape[:-1], *grid) for part, grid in zip(flat, self.grids, strict=True)]

    @cached_property
    def _children(self) -> list[list[np.ndarray]]:
        """For each level but the last and each axis: where each block's children begin on the next level."""
        pairs = zip(self.levels, self.levels[1:], strict=False)
        return [[np.searchsorted(fine, coarse) for coarse, fine in zip(up, down, strict=True)] for up, down in pairs]

    def merge(self, fine: Any, level: int) -> Any:
        """Sum a grid of level + 1 to the blocks of `level`."""
        for axis, starts in enumerate(self._children[level]):
            fine = np.add.reduceat(fine, starts, axis=axis - len(self.shape))
        return fine

    def repeat(self, coarse: Any, level: int) -> Any:
        """Give each block's number to its children on level + 1."""
        for axis, starts in enumerate(self._children[level]):
            counts = np.diff(starts, append=self.grids[level + 1][axis])
            coarse = np.repeat(coarse, counts, axis=axis - len(self.shape))
        return coarse


@final
class Wavelet(Strategy):
    """Haar: the total and, for each node of a binary tree, left half minus right half; in d dimensions the product.

    Axes that are no power of two are padded with cells that are known to be empty.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.padded = tuple(1 << (n - 1).bit_length() for n in shape)
        # A cell is in the total and in one node per level, on each axis. In one dimension, two leaves of different halves
        # share the total and, with opposite signs, the root. Left halves count up, right halves down.
        norm = math.prod(p.bit_length() for p in self.padded)
        apart = 2 * (norm - 1) if len(shape) == 1 else None
        # Entries are −1, 0 and 1; and two columns never form an obtuse angle: docs/proofs/strategies.md.
        squares = norm, 2 * norm if math.prod(shape) > 1 else 0
        super().__init__(shape, math.prod(self.padded), norm=norm, diameter=apart, squares=squares, bounds=(-1, 1))

    def apply(self, x: Any) -> Any:
        lead = x.shape[:-1]
        widths = [(0, 0)] * len(lead) + [(0, p - n) for p, n in zip(self.padded, self.shape, strict=True)]
        grid = np.pad(x.reshape(*lead, *self.shape), widths)
        for axis in range(len(lead), grid.ndim):
            grid = _along(grid, axis, _haar)
        return grid.reshape(*lead, -1)

    def adjoint(self, y: Any) -> Any:
        lead = y.shape[:-1]
        grid = y.reshape(*lead, *self.padded)
        for axis in range(len(lead), grid.ndim):
            grid = _along(grid, axis, _haar_transposed)
        return grid[(..., *(slice(n) for n in self.shape))].reshape(*lead, -1)


def _along(grid: Any, axis: int, transform: Any) -> Any:
    return np.moveaxis(transform(np.moveaxis(grid, axis, -1)), -1, axis)


def _haar(x: Any) -> Any:
    out = np.empty_like(x)
    while x.shape[-1] > 1:
        left, right = x[..., 0::2], x[..., 1::2]
        out[..., left.shape[-1] : x.shape[-1]] = left - right
        x = left + right
    out[..., :1] = x
    return out


def _haar_transposed(y: Any) -> Any:
    x = y[..., :1]
    while x.shape[-1] < y.shape[-1]:
        half = y[..., x.shape[-1] : 2 * x.shape[-1]]
        x = np.stack([x + half, x - half], axis=-1).reshape(*y.shape[:-1], -1)
    return x


def hierarchy(
    shape: int | tuple[int, ...], branching: int, *, root: bool = True, weights: Sequence[float] | None = None
) -> Hierarchy:
    """Nested grids: every block is cut into at most `branching` nearly equal ones along each axis, down to the cells.

    >>> tree = hierarchy(4, 2)
    >>> tree.dense().astype(int).tolist()[:3], tree.norm, tree.diameter
    ([[1, 1, 1, 1], [1, 1, 0, 0], [0, 0, 1, 1]], 3, 4)
    """
    if branching < 2:
        raise BadInput("branching", f"must be at least 2, got {branching}", "pass for instance 16")
    return _hierarchy(domain_of(shape), int(branching), root, None if weights is None else tuple(weights))


def wavelet(shape: int | tuple[int, ...]) -> Wavelet:
    """The Haar wavelet.

    >>> wavelet(4).dense().astype(int).tolist()
    [[1, 1, 1, 1], [1, 1, -1, -1], [1, -1, 0, 0], [0, 0, 1, -1]]
    """
    return Wavelet(domain_of(shape))


@lru_cache(maxsize=32)
def _hierarchy(shape: tuple[int, ...], branching: int, root: bool, weights: tuple[float, ...] | None) -> Hierarchy:
    levels = [tuple(np.zeros(1, dtype=np.int64) for _ in shape)]
    while any(len(starts) < n for starts, n in zip(levels[-1], shape, strict=True)):
        levels.append(tuple(_cut(starts, n, branching) for starts, n in zip(levels[-1], shape, strict=True)))
    if not root and len(levels) > 1:
        levels = levels[1:]
    if weights is not None and (len(weights) != len(levels) or min(weights) <= 0):
        raise BadInput("weights", "must be one number above 0 per level", f"pass {len(levels)} of them")
    whole, unit = lattice([1] * len(levels) if weights is None else weights)
    return Hierarchy(shape, levels, [int(w) for w in whole], unit)


def _check_nested(shape: tuple[int, ...], levels: Sequence[tuple[np.ndarray, ...]], weights: Sequence[int]) -> None:
    """A record is in one block per level only if blocks begin at 0, rise, and are cut further down to the cells."""
    fits = len(levels) == len(weights) > 0 and all(len(level) == len(shape) for level in levels)
    for axis, n in enumerate(shape):
        finer = np.arange(n)
        for level in reversed(levels if fits else ()):
            starts = level[axis]
            fits = fits and starts.size > 0 and starts[0] == 0 and bool((np.diff(starts) > 0).all())
            fits = fits and starts[-1] < n and bool((finer[np.searchsorted(finer, starts)] == starts).all())
            finer = starts
        fits = fits and levels[-1][axis].size == n
    if not fits:
        raise BadInput("levels", "must be nested grids, one weight each, the last of single cells", "use `hierarchy`")


def _cut(starts: np.ndarray, n: int, branching: int) -> np.ndarray:
    """Cut each interval into at most `branching` nearly equal ones."""
    lengths = np.diff(starts, append=n)
    pieces = np.minimum(lengths, branching)
    within = np.arange(pieces.sum()) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    return np.asarray(np.repeat(starts, pieces) + within * np.repeat(lengths, pieces) // np.repeat(pieces, pieces))
