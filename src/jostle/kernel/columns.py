"""Where private records are: one column of codes an attribute, behind a record source alone.

Whoever holds columns sees the records. They are for the kernel, for what reads a table into them, and for public data.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Protocol, final

import numpy as np
from numpy.typing import NDArray

from jostle.kernel.errors import BadInput
from jostle.kernel.partition import Counts


class Columns(Protocol):
    """Where the records are: trusted code behind a record source, in memory or in an engine."""

    @property
    def sizes(self) -> Mapping[str, int]:
        """The number of values of every attribute."""

    @property
    def rows(self) -> int:
        """The number of records: private unless the neighbours make it public."""

    def counts(self, names: Sequence[str]) -> Counts:
        """How many records have each combination of values, flat, the last attribute changing fastest."""

    def listed(self, names: Sequence[str]) -> tuple[dict[str, NDArray[np.integer]], Counts]:
        """Combinations of values that records have, an array an attribute, and how many records each stands for."""

    def with_table(self, name: str, of: Sequence[str], table: Counts) -> Columns:
        """One more attribute, whose value is the table's at the values of others."""

    def where(self, name: str, value: int) -> Columns:
        """The records with that value."""


@final
class ArrayColumns:
    """Records in memory: one array of codes an attribute.

    >>> ArrayColumns({"a": np.array([0, 1, 1])}, {"a": 2}).counts(["a"]).tolist()
    [1, 2]
    """

    def __init__(self, codes: Mapping[str, NDArray[np.integer]], sizes: Mapping[str, int]) -> None:
        lengths = {len(column) for column in codes.values()}
        if set(codes) != set(sizes) or len(lengths) > 1:
            raise BadInput("codes", "must have one array of the same length an attribute", "encode all columns of one table")
        self._sizes = dict(sizes)
        self._rows = lengths.pop() if lengths else 0
        self._codes = {name: _narrow(np.asarray(column), sizes[name]) for name, column in codes.items()}

    @property
    def sizes(self) -> Mapping[str, int]:
        """The number of values of every attribute."""
        return self._sizes

    @property
    def rows(self) -> int:
        """The number of records."""
        return self._rows

    def codes(self, name: str) -> NDArray[np.integer]:
        """An attribute's values: for operators alone."""
        return self._codes[name]

    def counts(self, names: Sequence[str]) -> Counts:
        """By one pass over the records."""
        cells = math.prod(self._sizes[name] for name in names)
        return np.bincount(self._place(names), minlength=cells).astype(np.int64, copy=False)

    def listed(self, names: Sequence[str]) -> tuple[dict[str, NDArray[np.integer]], Counts]:
        """Every record by itself."""
        return {name: self._codes[name] for name in names}, np.ones(self._rows, dtype=np.int64)

    def with_table(self, name: str, of: Sequence[str], table: Counts) -> ArrayColumns:
        """By looking up."""
        derived = object.__new__(ArrayColumns)
        size = int(table.max()) + 1
        derived._rows = self._rows
        derived._sizes = self._sizes | {name: size}
        derived._codes = self._codes | {name: _narrow(table.reshape(-1)[self._place(of)], size)}
        return derived

    def where(self, name: str, value: int) -> ArrayColumns:
        """By a mask."""
        kept = self._codes[name] == value
        return ArrayColumns({other: codes[kept] for other, codes in self._codes.items()}, self._sizes)

    def _place(self, names: Sequence[str]) -> NDArray[np.integer]:
        place = self._codes[names[0]].astype(np.int64)
        for name in names[1:]:
            place *= self._sizes[name]
            place += self._codes[name]
        return place


def _narrow(codes: NDArray[np.integer], size: int) -> NDArray[np.integer]:
    """In the smallest type that holds them. Checked where they are made: an error here would depend on private values."""
    smallest: NDArray[np.integer] = codes.astype(np.min_scalar_type(max(size - 1, 0)))
    return smallest
