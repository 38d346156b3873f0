"""The kinds of columns: their cells and labels, and the rules for values that the schema does not foresee."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any, ClassVar, Literal, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from jostle.kernel.arguments import finite, whole
from jostle.kernel.errors import BadInput
from jostle.schema.arrow import as_array
from jostle.schema.rows import IntervalLabel
from jostle.schema.values import (
    BLANKS,
    LONGEST_TEXT,
    as_numbers,
    is_missing,
    is_one_of,
    is_too_long,
    is_writable,
    text,
    unmasked,
)
from jostle.schema.written import check_signs, number_example

Codes: TypeAlias = NDArray[np.int64]
Coded: TypeAlias = tuple[Codes, NDArray[np.bool_], NDArray[np.bool_]]
Outside = Literal["clip", "own", "drop"]
Null = Literal["own", "drop"]

LARGEST_COLUMN = 2**20
"""A column has at most this many cells."""

EVERY_VALUE = 4096
"""By default, whole numbers in a range no longer than this have a cell each."""

DEFAULT_BINS = 256
"""By default, real numbers, and whole numbers in a longer range, have this many cells."""

LARGEST_WHOLE = 2**52
"""The largest whole number, up or down: all of them are floating-point numbers too."""

OTHER, MISSING = "(other)", "(missing)"
"""The labels of the cells for values that the schema does not foresee, and for nulls."""

MOST_MISSING = 64
"""A column has at most this many texts for missing values: each is compared with every value."""

DROPPED = -1
"""The code of a value whose record does not count."""


class Column(ABC):
    """The public description of a column: how many cells it has, and which one a value falls into."""

    kind: ClassVar[str]
    """The word for it in a schema file."""

    outside: Outside
    """What happens to values that are not foreseen: moved to the nearest cell, put in a cell of their own, or dropped."""

    null: Null
    """What happens to nulls and NaN: a cell of their own, or dropped."""

    missing: Sequence[str]
    """Codes for missing values, such as "NA" or "-9": these texts, and numbers that are written so, are nulls."""

    @property
    @abstractmethod
    def values(self) -> int:
        """The number of cells for values that are foreseen."""

    @abstractmethod
    def place(self, array: NDArray[Any]) -> Coded:
        """Per value: its cell (the nearest one if it is outside), whether it is outside, and whether it is missing."""

    @property
    @abstractmethod
    def names(self) -> list[str]:
        """The labels of the cells for values that are foreseen."""

    @property
    def labels(self) -> list[str]:
        """The labels of all cells, in order."""
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
    def absent(self) -> int:
        """The code of nulls."""
        return self.values + (self.outside == "own") if self.null == "own" else DROPPED

    @property
    def written(self) -> str:
        """What a text has to be to count as a value, in words."""
        return "a value"

    @property
    def drops(self) -> bool:
        """Whether some values make a record not count."""
        return self.outside == "drop" or self.null == "drop"

    def encode(self, values: Any) -> Codes:
        """The cell of each value; −1 where the record does not count.

        >>> from jostle.schema import Integer
        >>> Integer(0, 99, bins=10).encode([5, 99, 123, None]).tolist()
        [0, 9, 9, -1]
        """
        array = unmasked(values) if isinstance(values, np.ndarray) else as_array(values, dtype=object)
        codes, outside, missing = self.place(array.reshape(-1))
        if self.missing:
            missing = missing | is_one_of(array.reshape(-1), self.missing)
        if self.outside != "clip":
            codes = np.where(outside, self.other, codes)
        return np.where(missing, self.absent, codes).astype(np.int64)

    def _check_rules(self) -> None:
        if self.outside not in ("clip", "own", "drop"):
            raise BadInput("outside", f"{self.outside!r} is unknown", "use 'clip', 'own' or 'drop'")
        if self.null not in ("own", "drop"):
            raise BadInput("null", f"{self.null!r} is unknown", "use 'own' or 'drop'")
        if self.size > LARGEST_COLUMN:
            raise BadInput("bins", f"a column has at most {LARGEST_COLUMN} cells", "use fewer")
        self._check_missing()

    def _check_missing(self) -> None:
        said = self.missing
        if isinstance(said, str) or not isinstance(said, Sequence) or not all(isinstance(one, str) for one in said):
            raise BadInput("missing", "must be a list of texts", 'pass for instance ["NA", "?"]')
        if not all(map(is_writable, said)):
            raise BadInput("missing", "one of them is no Unicode text", "write it without halves of surrogate pairs")
        if any(map(is_too_long, said)):
            raise BadInput("missing", f"one of them has more than {LONGEST_TEXT} bytes", "leave it out, or shorten it")
        if len(said) > MOST_MISSING:
            raise BadInput("missing", f"are more than {MOST_MISSING} texts", "name fewer")
        object.__setattr__(self, "missing", tuple(dict.fromkeys(one.strip(BLANKS) for one in said)))

    def to_dict(self) -> dict[str, Any]:
        """Its lines in a schema file: the kind, and the settings that differ from the defaults."""
        said = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}  # type: ignore[arg-type]
        return {"kind": self.kind} | {name: list(v) if isinstance(v, tuple) else v for name, v in said.items()}


# ------------------------------------------------------------------------------------------- categories and booleans


def _check_missing_are_no_values(column: Column) -> None:
    """A text cannot be a value of the column and a code for missing values."""
    if column.missing and not column.place(np.array(column.missing, dtype=object))[1].all():
        raise BadInput("missing", "are values of the column too", "take them out of one of the two")


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
    missing: Sequence[str] = ()

    def __post_init__(self) -> None:
        if hasattr(self.categories, "tolist"):  # of NumPy or pandas, such as a public frame's column.unique()
            object.__setattr__(self, "categories", self.categories.tolist())
        if isinstance(self.categories, (str, bytes)) or not isinstance(self.categories, Sequence) or not self.categories:
            raise BadInput("categories", "must be a list of values", 'pass for instance ["F", "M"]')
        values = tuple(c if isinstance(c, (str, bool)) else finite(c) for c in self.categories)
        object.__setattr__(self, "categories", values)
        if None in values:
            raise BadInput("categories", "must be texts, finite numbers or booleans", "write each as one of these")
        if not all(is_writable(c) for c in self.categories if isinstance(c, str)):
            raise BadInput("categories", "one of them is no Unicode text", "write it without halves of surrogate pairs")
        if any(is_too_long(c) for c in self.categories if isinstance(c, str)):
            raise BadInput("categories", f"one of them has more than {LONGEST_TEXT} bytes", "leave it out, or shorten it")
        if len(set(self.keys)) != len(self.categories):
            raise BadInput("categories", "must differ from each other, also when written as text", "name each once")
        if {OTHER, MISSING} & set(self.names):
            raise BadInput("categories", f"{OTHER} and {MISSING} are what other cells are called", "leave them out")
        if self.outside == "clip":
            raise BadInput("outside", "categories have no nearest one", "use 'own' or 'drop'")
        self._check_rules()
        _check_missing_are_no_values(self)

    @property
    def values(self) -> int:
        return len(self.categories)

    @property
    def names(self) -> list[str]:
        return [str(c) for c in self.categories]

    @property
    def keys(self) -> list[str | None]:
        """The texts that values are compared with."""
        return [text(c) for c in self.categories]

    def place(self, array: NDArray[Any]) -> Coded:
        """By equality as text, so that 1, 1.0 and "1" are one category."""
        codes = {key: i for i, key in enumerate(self.keys)}
        missing = is_missing(array)
        if array.dtype.kind in "biuf":
            distinct, back = np.unique(array, return_inverse=True)
            found = np.array([codes.get(text(v), self.values) for v in distinct.tolist()], dtype=np.int64)[back]
        else:
            found = np.array([codes.get(text(v), self.values) for v in array.tolist()], dtype=np.int64)
        return np.minimum(found, self.values - 1), found == self.values, missing


@final
@dataclass(frozen=True)
class Boolean(Column):
    """False and true, however they are written: booleans, 0 and 1, or the words.

    Rows with other values, or without one, do not count; `outside="own"` and `null="own"` give them cells of their own.

    >>> Boolean().encode([True, "false", 1, "maybe"]).tolist()
    [1, 0, 1, -1]
    """

    kind = "boolean"
    outside: Outside = "drop"
    null: Null = "drop"
    missing: Sequence[str] = ()

    def __post_init__(self) -> None:
        if self.outside == "clip":
            raise BadInput("outside", "there is no nearest truth value", "use 'own' or 'drop'")
        self._check_rules()
        _check_missing_are_no_values(self)

    @property
    def values(self) -> int:
        return 2

    @property
    def names(self) -> list[str]:
        return ["false", "true"]

    def place(self, array: NDArray[Any]) -> Coded:
        known = {"false": 0, "0": 0, "true": 1, "1": 1}
        found = np.array([known.get((text(v) or "").lower(), 2) for v in array.tolist()], dtype=np.int64)
        return np.minimum(found, 1), found == 2, is_missing(array)


# ---------------------------------------------------------------------------------------------------------- numbers


class Numeric(Column):
    """A column of numbers between declared bounds, in cells."""

    low: Any
    high: Any
    bins: int | None
    decimal: str
    """The sign before the decimals, in texts: a point or a comma."""

    thousands: str
    """The mark between thousands, in texts; empty if there is none."""

    @property
    def written(self) -> str:
        if isinstance(self, Integer) and not self.thousands:
            return "a number"
        return f"a number such as {number_example(self.decimal, self.thousands, whole=isinstance(self, Integer))}"

    def _take_bounds(self, read: Callable[[object], Any], problem: str, remedy: str) -> None:
        for name in ("low", "high"):
            bound = read(getattr(self, name))
            if bound is None:
                raise BadInput(name, problem, remedy)
            object.__setattr__(self, name, bound)

    def _check_rules(self) -> None:
        super()._check_rules()
        if (self.decimal, self.thousands) != (".", ""):
            check_signs(self.decimal, self.thousands)

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
        return int(self.edges.size - 1)

    @property
    def names(self) -> list[str]:
        """The intervals, with as many digits as tell them apart."""
        edges = [f"{edge:g}" for edge in self.edges]
        if len(set(edges)) < len(edges):
            edges = [repr(float(edge)) for edge in self.edges]
        texts = [f"[{a}, {b}{']' if i + 2 == len(edges) else ')'}" for i, (a, b) in enumerate(pairwise(edges))]
        # Half-open in frames, the last one too: only intervals of one kind sort.
        return [IntervalLabel(text, float(a), float(b), "left") for text, (a, b) in zip(texts, pairwise(edges), strict=True)]


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
    decimal: str = "."
    thousands: str = ""

    def __post_init__(self) -> None:
        self._take_bounds(whole, "must be a whole number", "pass for instance 0")
        if not self.low < self.high:
            raise BadInput("high", "must be above low", "write the smallest value first")
        if max(abs(self.low), abs(self.high)) > LARGEST_WHOLE:
            raise BadInput(
                "high", "must be at most 2^52, and low at least -2^52", "declare narrower bounds, or leave it out"
            )
        object.__setattr__(self, "bins", _bins(self.bins))
        if self.bins is None and self.high - self.low >= EVERY_VALUE:
            object.__setattr__(self, "bins", DEFAULT_BINS)
        self._check_rules()

    @property
    def width(self) -> int:
        """How many values a cell has."""
        span = self.high - self.low + 1
        return 1 if self.bins is None else -(-span // self.bins)

    @property
    def edges(self) -> NDArray[np.float64]:
        inner = np.arange(self.low, self.high + 1, self.width, dtype=np.float64)
        return np.append(inner, float(self.high + 1))

    @property
    def names(self) -> list[str]:
        """The numbers, or the first and the last of each cell."""
        starts = range(self.low, self.high + 1, self.width)
        ends = [min(s + self.width - 1, self.high) for s in starts]
        if self.width == 1:
            return [str(start) for start in starts]
        texts = [str(a) if a == b else f"{a}–{b}" for a, b in zip(starts, ends, strict=True)]
        return [IntervalLabel(text, a, b, "both") for text, a, b in zip(texts, starts, ends, strict=True)]

    def place(self, array: NDArray[Any]) -> Coded:
        """Fractions are rounded down."""
        numbers, missing = as_numbers(array, self.decimal, self.thousands)
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
    decimal: str = "."
    thousands: str = ""

    def __post_init__(self) -> None:
        self._take_bounds(finite, "must be a finite number", "pass for instance 0.0")
        if not self.low < self.high or not 1e-250 < self.high - self.low < math.inf:
            raise BadInput("high", "must be above low, by a number of moderate size", "write the smallest value first")
        object.__setattr__(self, "bins", _bins(self.bins))
        if self.spacing not in ("linear", "log"):
            raise BadInput("spacing", f"{self.spacing!r} is unknown", "use 'linear' or 'log'")
        object.__setattr__(self, "cuts", _cuts(self.cuts, self.low, self.high))
        if self.bins is None and not self.cuts:
            object.__setattr__(self, "bins", DEFAULT_BINS)
        if self.bins is not None and self.cuts:
            raise BadInput("bins", "say either how many cells there are, or where the cuts are", "leave one of them out")
        if not self.even and self.values > EVERY_VALUE:
            raise BadInput("bins", f"cells that are not equally wide are at most {EVERY_VALUE}", "use fewer")
        self._check_rules()

    @property
    def even(self) -> bool:
        return self.bins is not None and self.spacing == "linear"

    @property
    def rate(self) -> float:
        """Cells per unit, where they are equally wide: a value's cell is floor((value − low) · rate)."""
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

    def place(self, array: NDArray[Any]) -> Coded:
        """The same arithmetic as in an engine, so that a value at a border falls into the same cell everywhere."""
        numbers, missing = as_numbers(array, self.decimal, self.thousands)
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
