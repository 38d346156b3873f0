"""The public description of a table: which columns it has, which values are possible, and which cell each value falls into.

A schema is written by a person who knows the subject, never read from the data: a bound or a list of categories taken from
private records is a leak. Values that the schema does not foresee follow a declared rule and never raise.
"""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import date, timedelta
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Literal, final

import numpy as np
from numpy.typing import NDArray

from jostle._values import as_days, as_numbers, is_missing, text
from jostle.kernel.errors import BadInput

Codes = NDArray[np.int64]
Outside = Literal["clip", "own", "drop"]
Null = Literal["own", "drop"]

LARGEST_COLUMN = 2**20
"""So many cells a column may have."""

EVERY_VALUE = 4096
"""Whole numbers in a range no longer than this have a cell each, unless said otherwise."""

OTHER, MISSING = "(other)", "(missing)"
"""The labels of the cells for what the schema does not foresee, and for nulls."""

DROPPED = -1
"""The code of a value whose record does not count."""


class Column(ABC):
    """What is publicly known of a column: how many cells it has, and which one a value falls into."""

    kind: ClassVar[str]
    """The word for it in a schema file."""

    outside: Outside
    """What happens to values that are not foreseen: moved to the nearest cell, given a cell of their own, or dropped."""

    null: Null
    """What happens to nulls and NaN: a cell of their own, or dropped."""

    @property
    @abstractmethod
    def values(self) -> int:
        """The number of cells for values that are foreseen."""

    @abstractmethod
    def place(self, array: NDArray[Any]) -> tuple[Codes, NDArray[np.bool_], NDArray[np.bool_]]:
        """For each value its cell (the nearest one if it is outside), whether it is outside, and whether it is missing."""

    @property
    @abstractmethod
    def names(self) -> list[str]:
        """What the cells for foreseen values are called."""

    @property
    def labels(self) -> list[str]:
        """What all cells are called, in order."""
        return [*self.names, *([OTHER] if self.outside == "own" else []), *([MISSING] if self.null == "own" else [])]

    @property
    def size(self) -> int:
        """The number of cells."""
        return self.values + (self.outside == "own") + (self.null == "own")

    @property
    def other(self) -> int:
        """The code of values outside, where they have a cell of their own or are dropped."""
        return self.values if self.outside == "own" else DROPPED

    @property
    def missing(self) -> int:
        """The code of nulls."""
        return self.values + (self.outside == "own") if self.null == "own" else DROPPED

    @property
    def drops(self) -> bool:
        """Whether some values make a record not count."""
        return self.outside == "drop" or self.null == "drop"

    def encode(self, values: Any) -> Codes:
        """The cell of each value; −1 where the record does not count.

        >>> Integer(0, 99, bins=10).encode([5, 99, 123, None]).tolist()
        [0, 9, 9, -1]
        """
        array = values if isinstance(values, np.ndarray) else np.asarray(values, dtype=object)
        codes, outside, missing = self.place(array.reshape(-1))
        if self.outside != "clip":
            codes = np.where(outside, self.other, codes)
        return np.where(missing, self.missing, codes).astype(np.int64)

    def _check_rules(self) -> None:
        if self.outside not in ("clip", "own", "drop"):
            raise BadInput("outside", f"{self.outside!r} is unknown", "use 'clip', 'own' or 'drop'")
        if self.null not in ("own", "drop"):
            raise BadInput("null", f"{self.null!r} is unknown", "use 'own' or 'drop'")
        if self.size > LARGEST_COLUMN:
            raise BadInput("bins", f"a column has at most {LARGEST_COLUMN} cells", "use fewer")

    def to_dict(self) -> dict[str, Any]:
        """What a schema file says about it: its kind, and what differs from the defaults."""
        said = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}  # type: ignore[arg-type]
        return {"kind": self.kind} | {name: list(v) if isinstance(v, tuple) else v for name, v in said.items()}


@final
@dataclass(frozen=True)
class Category(Column):
    """A column with a list of possible values.

    >>> Category(["F", "M"]).encode(["M", "F", "?", None]).tolist()
    [1, 0, 2, 3]
    """

    kind = "category"
    categories: Sequence[Any]
    outside: Outside = "own"
    null: Null = "own"

    def __post_init__(self) -> None:
        if isinstance(self.categories, (str, bytes)) or not isinstance(self.categories, Sequence) or not self.categories:
            raise BadInput("categories", "must be a list of values", 'pass for instance ["F", "M"]')
        object.__setattr__(self, "categories", tuple(self.categories))
        if any(
            not isinstance(c, (str, int, float, bool)) or (isinstance(c, float) and not math.isfinite(c))
            for c in self.categories
        ):
            raise BadInput("categories", "must be texts, finite numbers or booleans", "write each as one of these")
        if len(set(self.keys)) != len(self.categories):
            raise BadInput("categories", "must differ from each other, also when written as text", "name each once")
        if {OTHER, MISSING} & set(self.names):
            raise BadInput("categories", f"{OTHER} and {MISSING} are what other cells are called", "leave them out")
        if self.outside == "clip":
            raise BadInput("outside", "categories have no nearest one", "use 'own' or 'drop'")
        self._check_rules()

    @property
    def values(self) -> int:
        """One cell a category."""
        return len(self.categories)

    @property
    def names(self) -> list[str]:
        """The categories as text."""
        return [str(c) for c in self.categories]

    @property
    def keys(self) -> list[str | None]:
        """What values are compared with."""
        return [text(c) for c in self.categories]

    def place(self, array: NDArray[Any]) -> tuple[Codes, NDArray[np.bool_], NDArray[np.bool_]]:
        """By equality as text, so that 1, 1.0 and "1" are one category."""
        codes = {key: i for i, key in enumerate(self.keys)}
        missing = is_missing(array)
        if array.dtype.kind in "biuf":
            distinct, back = np.unique(array, return_inverse=True)
            found = np.array([codes.get(text(v), self.values) for v in distinct.tolist()], dtype=np.int64)[back]
        else:
            found = np.array([codes.get(text(v), self.values) for v in array.tolist()], dtype=np.int64)
        return np.minimum(found, self.values - 1), found == self.values, missing


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

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            if isinstance(getattr(self, name), bool) or not isinstance(getattr(self, name), int):
                raise BadInput(name, "must be a whole number", "pass for instance 0")
        if not self.low < self.high or max(abs(self.low), abs(self.high)) > 2**52:
            raise BadInput("high", "must be above low, and both at most 2^52", "write the smallest value first")
        _check_bins(self.bins)
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

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            if not _is_number(getattr(self, name)):
                raise BadInput(name, "must be a finite number", "pass for instance 0.0")
        if not self.low < self.high or not 1e-250 < self.high - self.low < math.inf:
            raise BadInput("high", "must be above low, by a number of moderate size", "write the smallest value first")
        _check_bins(self.bins)
        if self.spacing not in ("linear", "log"):
            raise BadInput("spacing", f"{self.spacing!r} is unknown", "use 'linear' or 'log'")
        object.__setattr__(self, "cuts", tuple(self.cuts))
        inside = all(_is_number(c) and self.low < c < self.high for c in self.cuts)
        if not inside or any(a >= b for a, b in pairwise(self.cuts)):
            raise BadInput("cuts", "must be increasing numbers between low and high", "pass for instance [1, 10, 100]")
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


@final
@dataclass(frozen=True)
class Date(Column):
    """Days from low to high, both included, by day, week (seven days from low on), month or year.

    >>> Date(date(2024, 1, 1), date(2024, 12, 31), every="month").size
    12
    """

    kind = "date"
    low: date
    high: date
    every: Literal["day", "week", "month", "year"] = "day"
    outside: Outside = "clip"
    null: Null = "drop"

    def __post_init__(self) -> None:
        for name in ("low", "high"):
            value = getattr(self, name)
            if isinstance(value, str):
                try:
                    object.__setattr__(self, name, date.fromisoformat(value))
                except ValueError:
                    raise BadInput(name, "must be a date", "write it as 2024-12-31") from None
            elif type(value) is not date:
                raise BadInput(name, "must be a date", "pass a datetime.date, or write it as 2024-12-31")
        if not self.low < self.high:
            raise BadInput("high", "must be after low", "write the first day first")
        if self.every not in ("day", "week", "month", "year"):
            raise BadInput("every", f"{self.every!r} is unknown", "use 'day', 'week', 'month' or 'year'")
        self._check_rules()

    @property
    def values(self) -> int:
        """One cell a period."""
        return int(self._cell(np.array([self.high], dtype="datetime64[D]"))[0]) + 1

    @property
    def names(self) -> list[str]:
        """The first day, the month or the year of each cell."""
        if self.every in ("day", "week"):
            step = 1 if self.every == "day" else 7
            return [(self.low + timedelta(days=step * i)).isoformat() for i in range(self.values)]
        if self.every == "year":
            return [str(self.low.year + i) for i in range(self.values)]
        first = self.low.year * 12 + self.low.month - 1
        return [f"{(first + i) // 12}-{(first + i) % 12 + 1:02d}" for i in range(self.values)]

    def place(self, array: NDArray[Any]) -> tuple[Codes, NDArray[np.bool_], NDArray[np.bool_]]:
        """Times of day are ignored."""
        days = as_days(array)
        missing = np.isnat(days)
        low, high = np.datetime64(self.low), np.datetime64(self.high)
        kept = np.where(missing, low, days)
        return self._cell(np.clip(kept, low, high)), (kept < low) | (kept > high), missing

    def _cell(self, days: NDArray[Any]) -> Codes:
        if self.every in ("day", "week"):
            since = (days - np.datetime64(self.low)).astype(np.int64)
            return np.asarray(since // (1 if self.every == "day" else 7), dtype=np.int64)
        unit = {"month": "datetime64[M]", "year": "datetime64[Y]"}[self.every]
        return np.asarray(days.astype(unit).astype(np.int64) - np.datetime64(self.low).astype(unit).astype(np.int64))


@final
@dataclass(frozen=True)
class Boolean(Column):
    """False and true, however they are written: booleans, 0 and 1, or the words.

    >>> Boolean().encode([True, "false", 1, "maybe"]).tolist()
    [1, 0, 1, 2]
    """

    kind = "boolean"
    outside: Outside = "own"
    null: Null = "own"

    def __post_init__(self) -> None:
        if self.outside == "clip":
            raise BadInput("outside", "there is no nearest truth value", "use 'own' or 'drop'")
        self._check_rules()

    @property
    def values(self) -> int:
        """Two."""
        return 2

    @property
    def names(self) -> list[str]:
        """In words."""
        return ["false", "true"]

    def place(self, array: NDArray[Any]) -> tuple[Codes, NDArray[np.bool_], NDArray[np.bool_]]:
        """By the word."""
        known = {"false": 0, "0": 0, "true": 1, "1": 1}
        found = np.array([known.get((text(v) or "").lower(), 2) for v in array.tolist()], dtype=np.int64)
        return np.minimum(found, 1), found == 2, is_missing(array)


KINDS: Mapping[str, type[Column]] = MappingProxyType({c.kind: c for c in (Category, Integer, Real, Date, Boolean)})
"""The words for a column's kind in a schema file."""


@final
class Schema(Mapping[str, Column]):
    """The columns that may be asked about, by name. Columns of the table that are not named here do not exist for a release.

    >>> people = Schema(age=Integer(0, 99), sex=Category(["F", "M"]))
    >>> people["age"].size, list(people)
    (100, ['age', 'sex'])
    """

    def __init__(self, columns: Mapping[str, Column] | None = None, /, **more: Column) -> None:
        if columns is not None and not isinstance(columns, Mapping):
            raise BadInput("schema", "must map names to columns", 'pass for instance {"age": Integer(0, 99)}')
        self._columns = dict(columns or {}) | more
        for name, column in self._columns.items():
            if not isinstance(name, str) or not name:
                raise BadInput("schema", "every column has a name", "name columns as in the table")
            if not isinstance(column, Column):
                raise BadInput(
                    f"schema[{name!r}]", "is not described", f"use one of {', '.join(k.__name__ for k in KINDS.values())}"
                )
        if not self._columns:
            raise BadInput("schema", "has no columns", "describe at least one")

    def __getitem__(self, name: str) -> Column:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __repr__(self) -> str:
        return f"<Schema of {', '.join(f'{name} ({c.size})' for name, c in self._columns.items())}>"

    def column(self, name: object) -> Column:
        """The column, or an error that lists those there are."""
        if not isinstance(name, str) or name not in self._columns:
            raise BadInput("column", f"{name!r} is not in the schema", f"use one of {', '.join(self._columns)}")
        return self._columns[name]

    @classmethod
    def load(cls, path: str | Path) -> Schema:
        """Read a schema file. One with anything left *to be confirmed* is refused."""
        from jostle._schema_files import read

        return read(Path(path))

    def save(self, path: str | Path) -> None:
        """Write a schema file."""
        from jostle._schema_files import write

        write(self, Path(path))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def _check_bins(bins: Any) -> None:
    if bins is not None and (isinstance(bins, bool) or not isinstance(bins, int) or not 1 <= bins <= LARGEST_COLUMN):
        raise BadInput("bins", f"must be a whole number from 1 to {LARGEST_COLUMN}", "pass for instance 64")
