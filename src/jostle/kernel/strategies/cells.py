"""Strategies: the queries that a plan measures, from single cells to any matrix. `trees.py` has those that are trees.

What they share, and why their answers are exact, is in `queries.py`. Proof: docs/proofs/strategies.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, final

import numpy as np

from jostle.kernel.arguments import domain_of
from jostle.kernel.errors import BadInput
from jostle.kernel.partition import Counts, Partition, check_partition, fixed
from jostle.kernel.strategies.base import LARGEST_ENTRY, Strategy, check_proven, check_weights, lattice

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@final
class Identity(Strategy):
    """Every cell on its own."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        cells = math.prod(shape)
        super().__init__(shape, cells, norm=1, squares=(1, 2 if cells > 1 else 0))  # a record is in one cell

    def apply(self, x: Any) -> Any:
        return x

    def adjoint(self, y: Any) -> Any:
        return y


@final
class Total(Strategy):
    """The number of records. Under `replace` it does not move at all."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__(shape, 1, norm=1, diameter=0, squares=(1, 0))  # a record counts once, and all columns are the same

    def apply(self, x: Any) -> Any:
        return x.sum(axis=-1, keepdims=True)

    def adjoint(self, y: Any) -> Any:
        return np.repeat(y, self.size, axis=-1)


@final
class Prefix(Strategy):
    """Sums of the first 1, 2, …, n cells."""

    def __init__(self, n: int) -> None:
        # The first cell is in every prefix; columns i and j differ in |i − j| rows.
        super().__init__((n,), n, norm=n, diameter=n - 1, squares=(n, n - 1))

    def apply(self, x: Any) -> Any:
        return np.cumsum(x, axis=-1)

    def adjoint(self, y: Any) -> Any:
        return np.cumsum(y[..., ::-1], axis=-1)[..., ::-1]

    @property
    def column_norms(self) -> Counts:
        """Cell i is in all prefixes but the first i."""
        return np.arange(self.rows, 0, -1, dtype=np.int64)


@final
class Blocks(Strategy):
    """The totals of the groups of a partition."""

    def __init__(self, partition: Partition, shape: tuple[int, ...]) -> None:
        check_partition(partition, math.prod(shape))
        # A record is in one group; a replaced one moves two groups, if there are two.
        apart = 0 if partition.groups == 1 else 2
        super().__init__(shape, partition.groups, norm=1, diameter=apart, squares=(1, apart))
        self.partition = partition

    def apply(self, x: Any) -> Any:
        return self.partition.sums(x)

    def adjoint(self, y: Any) -> Any:
        return y[..., self.partition.labels]


@final
class Boxes(Strategy):
    """Half-open ranges in one dimension, rectangles in two, boxes beyond: any number of them."""

    def __init__(self, shape: tuple[int, ...], lows: Counts, highs: Counts) -> None:
        if (lows < 0).any() or (highs > np.array(shape)).any() or (lows >= highs).any():
            raise BadInput("lows, highs", f"must satisfy 0 <= low < high <= size over {shape}", "ranges are half-open")
        super().__init__(shape, lows.shape[0])
        self.lows, self.highs = fixed(lows.copy()), fixed(highs.copy())
        self._strides = np.cumprod([1, *(n + 1 for n in shape[:0:-1])])[::-1]

    @cached_property
    def _corners(self) -> list[tuple[int, Counts]]:
        """Inclusion and exclusion: the signed corners of every box in a table of running sums, padded by zeros."""
        corners = []
        for pick in np.ndindex(*(2,) * len(self.shape)):
            at = np.where(np.array(pick, dtype=bool), self.highs, self.lows) @ self._strides
            corners.append(((-1) ** (len(pick) - sum(pick)), at))
        return corners

    def apply(self, x: Any) -> Any:
        lead = x.shape[:-1]
        sums = np.pad(x.reshape(*lead, *self.shape), [(0, 0)] * len(lead) + [(1, 0)] * len(self.shape))
        for axis in range(len(lead), sums.ndim):
            sums = np.cumsum(sums, axis=axis)
        flat = sums.reshape(*lead, -1)
        return sum(sign * flat[..., at] for sign, at in self._corners)

    def adjoint(self, y: Any) -> Any:
        lead = y.shape[:-1]
        steps = np.zeros((math.prod(n + 1 for n in self.shape), math.prod(lead)), dtype=y.dtype)
        for sign, at in self._corners:
            np.add.at(steps, at, sign * y.reshape(-1, self.rows).T)
        grid = steps.T.reshape(*lead, *(n + 1 for n in self.shape))
        for axis in range(len(lead), grid.ndim):
            grid = np.flip(np.cumsum(np.flip(grid, axis), axis=axis), axis)
        inside: Any = grid[(Ellipsis,) + (slice(1, None),) * len(self.shape)]  # the type checker follows this form
        return inside.reshape(*lead, -1)

    @cached_property
    def column_norms(self) -> Counts:
        """In how many boxes each cell lies."""
        return fixed(np.array(self.adjoint(np.ones(self.rows, dtype=np.int64))))


@final
class Matrix(Strategy):
    """Any sparse matrix, over the unit that it was rounded to."""

    def __init__(self, entries: csr_array, shape: tuple[int, ...], unit: int) -> None:
        self.entries = entries.astype(np.int64)
        self.entries.sum_duplicates()  # which SciPy would do later, in place
        bounds = int(min(self.entries.min(), 0)), int(max(self.entries.max(), 0))
        super().__init__(shape, entries.shape[0], unit=unit, bounds=bounds)
        if entries.shape[1] != self.size:
            raise BadInput("entries", f"have {entries.shape[1]} columns for {self.size} cells", "pass one for each cell")
        for part in (self.entries.data, self.entries.indices, self.entries.indptr):
            fixed(part)

    def apply(self, x: Any) -> Any:
        return (self.entries @ x.reshape(-1, self.size).T).T.reshape(*x.shape[:-1], self.rows)

    def adjoint(self, y: Any) -> Any:
        return (self.entries.T @ y.reshape(-1, self.rows).T).T.reshape(*y.shape[:-1], self.size)

    @cached_property
    def column_norms(self) -> Counts:
        """Column sums of absolute values, in exact integers."""
        return fixed(np.array(abs(self.entries).sum(axis=0), dtype=np.int64))

    @cached_property
    def column_squares(self) -> Any:
        """Column sums of squares, in Python's whole numbers: squares of many large entries may not fit in 64 bits."""
        kind = np.int64 if max(map(abs, self.bounds)) ** 2 * self.rows < 2**62 else object
        sums = np.zeros(self.size, dtype=kind)
        np.add.at(sums, self.entries.indices, self.entries.data.astype(kind) ** 2)
        return sums.astype(object)

    @cached_property
    def diameter(self) -> int:
        """Exact on small domains; twice the norm beyond, where looking at all pairs would take too long."""
        if self.size > 128:
            return 2 * self.norm
        columns = self.entries.toarray().T
        return int(max(np.abs(columns - column).sum(axis=1).max() for column in columns))

    def squared_sensitivities(self) -> tuple[int, int]:
        """Exact on small domains, as the diameter is."""
        return self._exact_squares if self.size <= 128 else super().squared_sensitivities()

    @cached_property
    def _exact_squares(self) -> tuple[int, int]:
        columns = self.entries.toarray().T.astype(object)
        apart = max(((columns - column) ** 2).sum(axis=1).max() for column in columns)
        return int(self.column_squares.max()), int(apart)


@final
class Residual(Strategy):
    """A histogram over some axes, less what its sums along the centred ones say: n times each number, less their sum.

    Its unit is the product of the sizes n of the centred axes; along any other axis it is an ordinary histogram.
    """

    def __init__(self, shape: tuple[int, ...], kept: tuple[int, ...], centred: tuple[int, ...]) -> None:
        if not set(centred) <= set(kept) <= set(range(len(shape))) or len({*centred}) + len({*kept}) < len(centred + kept):
            raise BadInput("kept, centred", "must be axes, each once, the centred ones kept", "pass kept=(0,), centred=(0,)")
        sizes, rows = [shape[axis] for axis in centred], math.prod(shape[axis] for axis in kept)
        unit, square, norm = math.prod(sizes), math.prod(n * n - n for n in sizes), math.prod(2 * n - 2 for n in sizes)
        if unit > LARGEST_ENTRY:
            raise BadInput("centred", f"axes have more than {LARGEST_ENTRY} cells together", "centre fewer axes")
        # Columns have the product Π n(n − 1), with −n in place of n(n − 1) where they differ: least if in one small axis.
        below = 2 * square // (min(sizes) - 1) if min(sizes, default=1) > 1 else 0
        far, squares = (2 * norm, (square, 2 * square + below)) if rows > 1 else (0, (square, 0))
        super().__init__(shape, rows, norm=norm, diameter=far, squares=squares, unit=unit, bounds=(-unit, unit))
        self.kept, self.centred = kept, centred

    def apply(self, x: Any) -> Any:
        summed = tuple(axis - len(self.shape) for axis in range(len(self.shape)) if axis not in self.kept)
        grid = x.reshape(*x.shape[:-1], *self.shape).sum(axis=summed, keepdims=True)
        return self._less_sums(grid).reshape(*x.shape[:-1], -1)

    def adjoint(self, y: Any) -> Any:
        grid = y.reshape(*y.shape[:-1], *(n if axis in self.kept else 1 for axis, n in enumerate(self.shape)))
        return np.broadcast_to(self._less_sums(grid), (*y.shape[:-1], *self.shape)).reshape(*y.shape[:-1], -1)

    def _less_sums(self, grid: Any) -> Any:
        for axis in self.centred:
            grid = grid * self.shape[axis] - grid.sum(axis=axis - len(self.shape), keepdims=True)
        return grid


@final
class Stack(Strategy):
    """Several strategies over one domain, measured at once, each with a weight: more weight, less noise."""

    def __init__(self, parts: Sequence[Strategy], weights: Sequence[int], unit: int) -> None:
        for part in parts:
            check_proven(part)
        check_weights(weights)
        common = int(np.lcm.reduce([part.unit for part in parts]))
        self.factors = tuple(w * (common // part.unit) for w, part in zip(weights, parts, strict=True))
        self.parts = tuple(parts)
        ends = [end * f for f, part in zip(self.factors, parts, strict=True) for end in part.bounds]
        bounds = min(ends), max(ends)
        super().__init__(parts[0].shape, sum(part.rows for part in parts), unit=unit * common, bounds=bounds)

    def apply(self, x: Any) -> Any:
        return np.concatenate([part.apply(x) * f for f, part in zip(self.factors, self.parts, strict=True)], axis=-1)

    def adjoint(self, y: Any) -> Any:
        return sum(part.adjoint(rows) * f for f, part, rows in zip(self.factors, self.parts, self.by_part(y), strict=True))

    def by_part(self, y: Any) -> list[Any]:
        """The rows, cut into those of each part."""
        return np.split(y, np.cumsum([part.rows for part in self.parts])[:-1], axis=-1)

    @cached_property
    def column_norms(self) -> Counts:
        """The parts' own, added up."""
        return fixed(np.sum([part.column_norms * f for f, part in zip(self.factors, self.parts, strict=True)], axis=0))

    @cached_property
    def column_squares(self) -> Any:
        """The parts' own, times the squares of their factors, added up."""
        return sum(part.column_squares * f**2 for f, part in zip(self.factors, self.parts, strict=True))

    @property
    def diameter(self) -> int:
        """At most the sum of the parts' diameters, and at most twice the norm."""
        return min(sum(f * part.diameter for f, part in zip(self.factors, self.parts, strict=True)), 2 * self.norm)

    def squared_sensitivities(self) -> tuple[int, int]:
        """When a record is replaced, at most the sum of the parts' own, too."""
        square, apart = super().squared_sensitivities()
        each = (f**2 * part.squared_sensitivities()[1] for f, part in zip(self.factors, self.parts, strict=True))
        return square, min(apart, sum(each))


def identity(shape: int | tuple[int, ...]) -> Identity:
    """Every cell on its own.

    >>> identity((2, 2)).norm, identity((2, 2)).diameter
    (1, 2)
    """
    return _identity(domain_of(shape))


def total(shape: int | tuple[int, ...]) -> Total:
    """The number of records.

    >>> total(4).norm, total(4).diameter
    (1, 0)
    """
    return Total(domain_of(shape))


def prefix(n: int) -> Prefix:
    """All prefix sums, measured directly.

    >>> prefix(4).norm, prefix(4).diameter
    (4, 3)
    """
    axes = domain_of(n)
    if len(axes) != 1:
        raise BadInput("n", "prefixes are of a line of cells, not of a grid", "pass one whole number")
    return Prefix(*axes)


def blocks(partition: Partition, shape: int | tuple[int, ...] | None = None) -> Blocks:
    """The totals of a partition's groups.

    >>> blocks(Partition.intervals([0, 2], 4)).dense().tolist()
    [[1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]]
    """
    return Blocks(partition, domain_of(partition.labels.size if shape is None else shape))


def grid(shape: int | tuple[int, ...], cells: int | tuple[int, ...]) -> Blocks:
    """The totals of a regular grid of boxes.

    >>> grid((4, 4), (2, 2)).rows
    4
    """
    domain = domain_of(shape)
    return Blocks(Partition.grid(domain, (cells,) * len(domain) if isinstance(cells, int) else cells), domain)


def boxes(shape: int | tuple[int, ...], lows: Any, highs: Any) -> Boxes:
    """Boxes from their corners: `lows` is inside, `highs` just outside; one row per box.

    >>> boxes(4, [[0], [1]], [[2], [4]]).dense().astype(int).tolist()
    [[1, 1, 0, 0], [0, 1, 1, 1]]
    """
    domain = domain_of(shape)
    try:
        low, high = (np.asarray(a).reshape(-1, len(domain)) for a in (lows, highs))
        fit = low.shape == high.shape and low.size > 0 and low.dtype.kind in "iu" and high.dtype.kind in "iu"
    except ValueError:  # ragged, or a part of a corner
        fit = False
    if not fit:
        raise BadInput("lows, highs", "must be the same number of whole corners, one row per box", "pass two integer arrays")
    return Boxes(domain, low.astype(np.int64), high.astype(np.int64))


def matrix(entries: Any, shape: int | tuple[int, ...] | None = None) -> Matrix:
    """Any matrix, dense or sparse; real entries are rounded to a lattice of 2^-20 of the largest.

    >>> matrix([[1, -1], [0.5, 0]]).norm, matrix([[1, -1], [0.5, 0]]).unit
    (1572864, 1048576)
    """
    from scipy.sparse import csr_array

    sparse = csr_array(entries, copy=True)
    if sparse.ndim != 2 or not sparse.shape[0]:
        raise BadInput("entries", "must be a matrix with at least one row", "pass for instance [[1, 0, -1]]")
    data, unit = lattice(sparse.data if sparse.nnz else [1.0])
    whole = csr_array((data[: sparse.nnz], sparse.indices, sparse.indptr), shape=sparse.shape)
    domain = domain_of(sparse.shape[1] if shape is None else shape)
    if math.prod(domain) != sparse.shape[1]:
        raise BadInput("shape", f"{domain} has another number of cells than the matrix has columns", "make them agree")
    return Matrix(whole, domain, unit)


def residual(shape: int | tuple[int, ...], kept: Sequence[int], centred: Sequence[int] | None = None) -> Residual:
    """The histogram over the axes that are kept, centred along some of them: by default along all.

    >>> residual((2, 3), kept=[1]).dense().round(2).tolist()[0]
    [0.67, -0.33, -0.33, 0.67, -0.33, -0.33]
    """
    return Residual(domain_of(shape), tuple(kept), tuple(kept if centred is None else centred))


def stack(*parts: Strategy, weights: Sequence[float] | None = None) -> Stack:
    """Several strategies at once; a part with twice the weight gets half the noise.

    >>> stack(identity(4), total(4), weights=[1, 2]).norm
    3
    """
    if not parts or any(part.shape != parts[0].shape for part in parts):
        raise BadInput("parts", "must be one or more strategies over the same domain", "build them from one shape")
    if weights is not None and (len(weights) != len(parts) or min(weights) <= 0):
        raise BadInput("weights", "must be one number above 0 per part", f"pass {len(parts)} of them")
    whole, unit = lattice([1] * len(parts) if weights is None else weights)
    return Stack(parts, [int(w) for w in whole], unit)


@lru_cache(maxsize=64)
def _identity(shape: tuple[int, ...]) -> Identity:
    return Identity(shape)
