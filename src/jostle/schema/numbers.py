"""Columns of numbers, in cells between declared bounds."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from jostle.kernel.errors import BadInput
from jostle.schema.arguments import finite, whole
from jostle.schema.column import LARGEST_COLUMN, Codes, Column, Null, Outside
from jostle.schema.values import as_numbers

EVERY_VALUE = 4096
"""Whole numbers in a range no longer than this have a cell each, unless said otherwise."""

LARGEST_WHOLE = 2**52
"""So large a whole number may be, up or down: all of them are floating-point numbers too."""


class Numeric(Column):
    """A column of numbers between declared bounds, in cells."""

    low: Any
    high: Any
    bins: int | None

    @property
    @abstractmethod
    def edges(self) -> NDArray[np.float64]:
        """The borders of the cells: cell i is from edge i up to, not including, edge i + 1; the last includes it."""

    @property
    def even(self) -> bool:
        """Whether all cells are equally wide, so that a value's cell can be computed."""
        return True

    @property
    def values(self) -> int:
        """One cell a bin."""
        return int(self.edges.size - 1)

    @property
    def names(self) -> list[str]:
        """The intervals, with as many digits as tell them apart."""
        edges = [f"{edge:g}" for edge in self.edges]
        if len(set(edges)) < len(edges):
            edges = [repr(float(edge)) for edge in self.edges]
        return [f"[{a}, {b}{']' if i + 2 == len(edges) else ')'}" for i, (a, b) in enumerate(pairwise(edges))]


@final
@dataclass(frozen=True)
class Integer(Numeric):
    """Whole numbers from low to high, both included, in cells of equally many (the last may have fewer).

    >>> Integer(17, 90).size, Integer(0, 99, bins=10).names[:2]
    (74, ['0–9', '10–19'])
    """

    kind = "integer"
    low: int
    high: int
    bins: int | None = None
    outside: Outside = "clip"
    null: Null = "drop"
    missing: Sequence[str] = ()

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            bound = whole(getattr(self, name))
            if bound is None:
                raise BadInput(name, "must be a whole number", "pass for instance 0")
            object.__setattr__(self, name, bound)
        if not self.low < self.high:
            raise BadInput("high", "must be above low", "write the smallest value first")
        if max(abs(self.low), abs(self.high)) > LARGEST_WHOLE:
            raise BadInput(
                "high", "must be at most 2^52, and low at least -2^52", "declare narrower bounds, or leave it out"
            )
        object.__setattr__(self, "bins", _bins(self.bins))
        if self.bins is None and self.high - self.low >= EVERY_VALUE:
            raise BadInput("bins", f"are needed for more than {EVERY_VALUE} values", "say how many cells, for instance 64")
        self._check_rules()

    @property
    def width(self) -> int:
        """How many values a cell has."""
        span = self.high - self.low + 1
        return 1 if self.bins is None else -(-span // self.bins)

    @property
    def edges(self) -> NDArray[np.float64]:
        """Borders at whole numbers."""
        inner = np.arange(self.low, self.high + 1, self.width, dtype=np.float64)
        return np.append(inner, float(self.high + 1))

    @property
    def names(self) -> list[str]:
        """The numbers, or the first and the last of each cell."""
        starts = range(self.low, self.high + 1, self.width)
        ends = [min(s + self.width - 1, self.high) for s in starts]
        return [str(a) if a == b else f"{a}–{b}" for a, b in zip(starts, ends, strict=True)]

    def place(self, array: NDArray[Any]) -> tuple[Codes, NDArray[np.bool_], NDArray[np.bool_]]:
        """Fractions are rounded down."""
        numbers, missing = as_numbers(array)
        outside = (numbers < self.low) | (numbers >= self.high + 1)
        whole = np.floor(np.clip(numbers, self.low, self.high)).astype(np.int64)
        return (whole - self.low) // self.width, outside, missing


@final
@dataclass(frozen=True)
class Real(Numeric):
    """Real numbers from low to high in cells: equally wide, widening from low on (spacing="log"), or between given edges.

    >>> Real(0, 1, bins=4).encode([0.0, 0.3, 1.0, 7.0]).tolist()
    [0, 1, 3, 3]
    """

    kind = "real"
    low: float
    high: float
    bins: int | None = None
    spacing: Literal["linear", "log"] = "linear"
    cuts: Sequence[float] = ()
    outside: Outside = "clip"
    null: Null = "drop"
    missing: Sequence[str] = ()

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            bound = finite(getattr(self, name))
            if bound is None:
                raise BadInput(name, "must be a finite number", "pass for instance 0.0")
            object.__setattr__(self, name, bound)
        if not self.low < self.high or not 1e-250 < self.high - self.low < math.inf:
            raise BadInput("high", "must be above low, by a number of moderate size", "write the smallest value first")
        object.__setattr__(self, "bins", _bins(self.bins))
        if self.spacing not in ("linear", "log"):
            raise BadInput("spacing", f"{self.spacing!r} is unknown", "use 'linear' or 'log'")
        object.__setattr__(self, "cuts", _cuts(self.cuts, self.low, self.high))
        if (self.bins is None) == (not self.cuts):
            raise BadInput("bins", "say either how many cells there are, or where the cuts are", "pass for instance bins=64")
        if not self.even and self.values > EVERY_VALUE:
            raise BadInput("bins", f"cells that are not equally wide are at most {EVERY_VALUE}", "use fewer")
        self._check_rules()

    @property
    def even(self) -> bool:
        """Whether a value's cell can be computed."""
        return self.bins is not None and self.spacing == "linear"

    @property
    def rate(self) -> float:
        """Cells a unit, where they are equally wide: a value's cell is floor((value − low) · rate)."""
        return (self.bins or 1) / (self.high - self.low)

    @property
    def edges(self) -> NDArray[np.float64]:
        """Evenly, evenly on the scale of log(1 + value − low), or as given."""
        if self.bins is None:
            return np.array([self.low, *self.cuts, self.high], dtype=np.float64)
        steps = np.linspace(0, 1, self.bins + 1)
        span = self.high - self.low
        inner = steps * span if self.spacing == "linear" else np.expm1(steps * math.log1p(span))
        inner[-1] = span
        return self.low + inner

    def place(self, array: NDArray[Any]) -> tuple[Codes, NDArray[np.bool_], NDArray[np.bool_]]:
        """The same arithmetic as in an engine, so that a value at a border falls into the same cell everywhere."""
        numbers, missing = as_numbers(array)
        outside = (numbers < self.low) | (numbers > self.high)
        inside = np.clip(numbers, self.low, self.high)
        if self.even:
            codes = np.floor((inside - self.low) * self.rate).astype(np.int64)
        else:
            codes = np.searchsorted(self.edges[1:-1], inside, side="right")
        return np.minimum(codes, self.values - 1), outside, missing


def _bins(said: Any) -> int | None:
    bins = whole(said)
    if said is not None and (bins is None or not 1 <= bins <= LARGEST_COLUMN):
        raise BadInput("bins", f"must be a whole number from 1 to {LARGEST_COLUMN}", "pass for instance 64")
    return bins


def _cuts(said: Any, low: float, high: float) -> tuple[float, ...]:
    try:
        listed = [finite(cut) for cut in said]
    except TypeError:
        listed = [None]
    cuts = tuple(cut for cut in listed if cut is not None and low < cut < high)
    if len(cuts) < len(listed) or any(a >= b for a, b in pairwise(cuts)):
        raise BadInput("cuts", "must be increasing numbers between low and high", "pass for instance [1, 10, 100]")
    return cuts
