"""Workloads: the linear queries that somebody wants answered.

A workload is known by its products: `w @ x` gives the answers and `w.T @ y` goes back, without the matrix being built.
Ranges are half-open, as Python's are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final, final

import numpy as np

from jostle.kernel import strategies
from jostle.kernel.arguments import check_whole, domain_of
from jostle.kernel.errors import BadInput
from jostle.kernel.partition import Counts, Partition, Vector
from jostle.kernel.strategies import Boxes, Strategy

Shape = int | tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Workload:
    """Queries over a domain.

    >>> prefix(4) @ [1, 2, 3, 4]
    array([ 1.,  3.,  6., 10.])
    """

    kind: str
    """What it is, in a word: identity, prefix, ranges, …"""

    queries: Strategy
    """The operator behind it; a source can also measure it as it stands."""

    @property
    def domain(self) -> tuple[int, ...]:
        """The axes of the data."""
        return self.queries.shape

    @property
    def shape(self) -> tuple[int, int]:
        """The number of queries and of cells."""
        return self.queries.rows, self.queries.size

    def __matmul__(self, x: Any) -> Vector:
        """The answers; x may be flat or have the domain's shape, with further axes before."""
        return np.asarray(self.queries @ x)

    @property
    def T(self) -> Transposed:  # noqa: N802  # the usual name
        """The transpose, for `w.T @ y`."""
        return Transposed(self.queries)

    @cached_property
    def lengths(self) -> Vector:
        """How many cells each query has, counted by its weights.

        >>> prefix(3).lengths.tolist()
        [1.0, 2.0, 3.0]
        """
        return self @ np.ones(self.queries.size)

    @property
    def average_length(self) -> float:
        """The paper's first feature of a workload: how long its queries are on average.

        >>> identity(8).average_length, prefix(8).average_length
        (1.0, 4.5)
        """
        return float(self.lengths.mean())

    @property
    def features(self) -> dict[str, float]:
        """Public numbers that tell workloads apart; none depends on the data.

        >>> identity(8).features
        {'queries': 8.0, 'cells': 8.0, 'average_length': 1.0, 'relative_length': 0.125, 'dimensions': 1.0}
        """
        queries, cells = self.shape
        return {
            "queries": float(queries),
            "cells": float(cells),
            "average_length": self.average_length,
            "relative_length": self.average_length / cells,
            "dimensions": float(len(self.domain)),
        }

    def check(self, shape: tuple[int, ...]) -> None:
        """Raise unless it can be asked of data over this domain."""
        if self.domain != shape:
            raise BadInput("workload", f"is over {self.domain}, the data are over {shape}", "build it for the data's shape")

    def __repr__(self) -> str:
        return f"<{self.kind}: {self.shape[0]} queries over {'×'.join(map(str, self.domain))}>"


@dataclass(frozen=True, eq=False)
class Transposed:
    """The transpose of a workload, known by its product."""

    queries: Strategy
    """The operator that is transposed."""

    @property
    def shape(self) -> tuple[int, int]:
        return self.queries.size, self.queries.rows

    def __matmul__(self, y: Any) -> Vector:
        """For each cell, the sum over the queries that it is in."""
        answers = np.asarray(y, dtype=np.float64)
        if answers.shape[-1:] != (self.queries.rows,):
            raise BadInput(
                "y", f"has shape {answers.shape}, the workload {self.queries.rows} queries", "pass one answer per query"
            )
        return np.asarray(self.queries.adjoint(answers) / self.queries.unit)


def identity(shape: Shape) -> Workload:
    """Every cell on its own: a histogram.

    >>> identity((2, 3))
    <identity: 6 queries over 2×3>
    """
    return Workload("identity", strategies.identity(shape))


def prefix(n: int) -> Workload:
    """All sums of the first cells: an empirical distribution function.

    >>> prefix(4).T @ [1, 1, 1, 1]
    array([4., 3., 2., 1.])
    """
    return Workload("prefix", strategies.prefix(n))


MOST_RANKS: Final = 2**24
"""Ranks may be asked for over at most this many cells."""


def ranks(n: int) -> Workload:
    """What the ranks of quantiles depend on, at any level: sums less half of the total; and the total, also without an end.

    Rows that count more are there several times.

    >>> ranks(4) @ [1, 2, 3, 4]
    array([-4., -4., -2., -2.,  1.,  1.,  5.,  5., 10.,  9.,  6.])
    """
    axes = domain_of(n)
    if len(axes) != 1:
        raise BadInput("n", "ranks are along a line of cells, not over a grid", "pass one whole number")
    if axes[0] > MOST_RANKS:
        raise BadInput("n", f"must be at most {MOST_RANKS:,}", "put neighbouring cells together")
    return Workload("ranks", Ranks(*axes))


def total(shape: Shape) -> Workload:
    """The number of records.

    >>> total((2, 2)) @ [[1, 2], [3, 4]]
    array([10.])
    """
    return Workload("total", strategies.total(shape))


def ranges(n: int, starts: Any, stops: Any) -> Workload:
    """Half-open ranges of a line of n cells.

    >>> ranges(4, starts=[0, 1], stops=[2, 4]) @ [1, 2, 3, 4]
    array([3., 9.])
    """
    if len(domain_of(n)) != 1:
        raise BadInput("n", "has several dimensions", "pass the number of cells, or use `rectangles`")
    return Workload("ranges", strategies.boxes(n, starts, stops))


def rectangles(shape: tuple[int, ...], lows: Any, highs: Any) -> Workload:
    """Half-open boxes of a grid: one row of lows and one of highs per box.

    >>> rectangles((2, 2), lows=[[0, 0], [1, 0]], highs=[[2, 1], [2, 2]]) @ [[1, 2], [3, 4]]
    array([4., 7.])
    """
    return Workload("rectangles", strategies.boxes(shape, lows, highs))


def all_ranges(n: int) -> Workload:
    """Every range of a line of n cells, of which there are n(n + 1)/2.

    >>> all_ranges(3) @ [1, 2, 3]
    array([1., 3., 6., 2., 5., 3.])
    """
    size, *others = domain_of(n)
    if others:
        raise BadInput("n", "has several dimensions", "pass the number of cells, or use `rectangles`")
    if size > 8192:
        raise BadInput(
            "n", f"has {size * (size + 1) // 2} ranges, too many to answer one by one", "use `prefix` or `ranges`"
        )
    starts, ends = np.triu_indices(size)
    return Workload("all ranges", Boxes((size,), starts[:, None].astype(np.int64), ends[:, None].astype(np.int64) + 1))


def marginals(shape: tuple[int, ...], *axes: tuple[int, ...]) -> Workload:
    """Histograms over some of the axes, one after the other; without `axes`, over each axis on its own.

    >>> marginals((2, 2), (0,), ()) @ [[1, 2], [3, 4]]
    array([ 3.,  7., 10.])
    """
    domain = domain_of(shape)
    kept = axes or tuple((axis,) for axis in range(len(domain)))
    if not all(_are_axes(keep, len(domain)) for keep in kept):
        raise BadInput("axes", f"must be tuples of different axes below {len(domain)}", "pass for instance (0,), (0, 1)")
    parts = [strategies.blocks(_keep(domain, keep), domain) for keep in kept]
    return Workload("marginals", parts[0] if len(parts) == 1 else strategies.stack(*parts))


def _are_axes(keep: object, dimensions: int) -> bool:
    """Whether it is a tuple of different axes."""
    if not isinstance(keep, Sequence) or not all(isinstance(axis, (int, np.integer)) for axis in keep):
        return False
    return len(set(keep)) == len(keep) and set(keep) <= set(range(dimensions))


def _keep(shape: tuple[int, ...], axes: tuple[int, ...]) -> Partition:
    sizes = tuple(shape[axis] for axis in axes) or (1,)
    where = np.indices(shape, sparse=True)
    labels = (
        np.ravel_multi_index(tuple(where[axis] for axis in axes), sizes) if axes else np.zeros((1,) * len(shape), dtype=int)
    )
    return Partition(np.broadcast_to(labels, shape).reshape(-1), sizes)


def matrix(entries: Any, shape: Shape | None = None) -> Workload:
    """Any queries, from a dense or sparse matrix with one row per query.

    >>> matrix([[1, 0, -1]]) @ [5, 1, 2]
    array([3.])
    """
    try:
        return Workload("matrix", strategies.matrix(entries, shape))
    except BadInput:
        raise
    except (TypeError, ValueError):  # of SciPy, about what it cannot read
        raise BadInput("entries", "are no matrix of numbers", "pass one row per query, all of one length") from None


LENGTHS: Final = MappingProxyType({"short": (0.0, 1 / 16), "medium": (1 / 16, 1 / 4), "long": (1 / 4, 1.0)})
"""Sides of boxes in the Pythia paper's workloads (Section 8.1) as shares of the axis: from the one to below the other."""


def random_rectangles(
    shape: tuple[int, ...], number: int, *, seed: int, lengths: str | tuple[float, float] = (0.0, 1.0)
) -> Workload:
    """Boxes drawn at random: "short", "medium", "long", "mixed" of these, or with sides between two shares of the axis.

    A side of m out of n cells has low · n ≤ m < high · n (up to n itself where high is 1), and at least one cell however
    small the axis. Lengths are drawn evenly, then places.

    >>> random_rectangles((128, 128), 1000, seed=0, lengths="short").lengths.max().item()  # sides of up to 7 cells
    49.0
    """
    number = check_whole(number, "number", "pass for instance 1000", least=1)
    if lengths == "mixed":
        shares = np.array(list(LENGTHS.values()))
    else:
        shares = np.array([LENGTHS.get(lengths, (-1.0, -1.0)) if isinstance(lengths, str) else lengths], dtype=np.float64)
    if shares.shape[1:] != (2,) or not ((shares[:, 0] >= 0) & (shares[:, 0] <= shares[:, 1]) & (shares[:, 1] <= 1)).all():
        known = ", ".join(LENGTHS)
        raise BadInput(
            "lengths", f"{lengths!r} is no kind and no pair of shares", f"use {known}, mixed or for instance (0, 0.25)"
        )
    rng = np.random.default_rng(seed)
    low, high = shares[rng.integers(len(shares), size=number)].T
    lows, highs = [], []
    for n in domain_of(shape):
        shortest = np.maximum(1, np.ceil(low * n)).astype(np.int64)
        longest = np.maximum(shortest, np.where(high == 1, n, np.ceil(high * n) - 1).astype(np.int64))
        side = rng.integers(shortest, longest, endpoint=True)
        start = rng.integers(0, n - side, endpoint=True)
        lows.append(start)
        highs.append(start + side)
    return rectangles(shape, np.stack(lows, axis=1), np.stack(highs, axis=1))


@final
class Ranks(Strategy):
    """The sums of the first 1, 2, …, n cells less half of the total; the total; and the total less the first or last cell.

    A quantile at level α is read where the estimated sums P̂ reach αT̂. So its rank is off by the error of P − αT there, in
    which the total's error has a part. Over all levels between 0 and 1, squares at one place add up to

        ∫ (P − αT)² dα = (P − T/2)² + T²/12.

    Where quantiles lie is private, so places are weighted without a look at data: a quarter for anywhere between the
    bounds; a quarter for any order of magnitude from the nearer bound, as bounds are declared with room to spare; and half
    for all of them in the first cell or all in the last, where zeros lie, and whatever was clipped. In such a cell x the
    rank is read evenly, at αT̂/x̂ of it, and is off by α times the error of x − T, if nearly all is in it: squares add up
    to (T − x)²/3.

    Each row is a number of records, and rows that count more are there several times. They say what a strategy is to be
    best for; they are not measured as they stand.

    >>> Ranks(2).copies.tolist()
    [2, 2, 1, 1, 1]
    >>> Ranks(2).dense().tolist()[::2]
    [[0.5, -0.5], [0.5, 0.5], [1.0, 1.0], [1.0, 0.0]]
    """

    unit = 2

    def __init__(self, n: int) -> None:
        totals = [max(1, round(n / 6)), max(1, round(n / 3)), max(1, round(n / 3))]
        self.copies = np.concatenate([1 + _near_the_ends(n), totals])
        """How often each of the n + 3 different rows is there."""
        self.shape, self.rows = (n,), int(self.copies.sum())

    def apply(self, x: Any) -> Any:
        """What lies in each sum less what lies behind it, and the three totals."""
        sums = np.cumsum(x, axis=-1)
        total = sums[..., -1:]
        each = np.concatenate([2 * sums - total, 2 * total, 2 * (total - x[..., [0, -1]])], axis=-1)
        return np.repeat(each, self.copies, axis=-1)

    def adjoint(self, y: Any) -> Any:
        """The sums that a cell lies in, less those that end before it, and its part of the totals."""
        each = np.add.reduceat(y, np.cumsum(self.copies) - self.copies, axis=-1)
        sums = np.cumsum(each[..., self.size - 1 :: -1], axis=-1)[..., ::-1]
        cells = 2 * sums - sums[..., :1] + 2 * each[..., -3:].sum(axis=-1, keepdims=True)
        cells[..., 0] -= 2 * each[..., -2]
        cells[..., -1] -= 2 * each[..., -1]
        return cells

    @cached_property
    def _in_totals(self) -> Counts:
        """In how many of the totals each cell is."""
        inside = np.full(self.size, self.copies[-3:].sum())
        inside[0] -= self.copies[-2]
        inside[-1] -= self.copies[-1]
        return inside

    @property
    def column_norms(self) -> Counts:
        """A cell counts for or against every sum."""
        return np.asarray(self.copies[:-3].sum() + 2 * self._in_totals)

    @property
    def norm(self) -> int:
        """That of a cell between the ends, if there is one."""
        return int(self.column_norms.max())

    @property
    def squares(self) -> Counts:
        """The sum of squares in each column, in squared units."""
        return np.asarray(self.copies[:-3].sum() + 4 * self._in_totals)

    @property
    def bounds(self) -> tuple[int, int]:
        """What lies behind a sum, and the totals."""
        return -1, 2


def _near_the_ends(n: int) -> Counts:
    """N more copies of the sums, shared in proportion to one over the distance from the nearer end; rounded as they add up.

    >>> _near_the_ends(8).tolist()
    [2, 0, 1, 0, 1, 1, 1, 2]
    """
    last = np.arange(n)
    share = 1 / (1 + np.minimum(last, np.maximum(n - 2 - last, 0)))
    return np.asarray(np.diff(np.rint(n * np.cumsum(share) / share.sum()), prepend=0), dtype=np.int64)
