"""Columns with a list of possible values: any categories, or false and true."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from jostle.kernel.errors import BadInput
from jostle.schema.arguments import finite
from jostle.schema.column import MISSING, OTHER, Codes, Column, Null, Outside
from jostle.schema.values import LONGEST_TEXT, is_missing, is_too_long, is_writable, text


def _check_apart(column: Column) -> None:
    """A text cannot stand for a value and for none."""
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
        if isinstance(self.categories, (str, bytes)) or not isinstance(self.categories, Sequence) or not self.categories:
            raise BadInput("categories", "must be a list of values", 'pass for instance ["F", "M"]')
        taken = tuple(c if isinstance(c, (str, bool)) else finite(c) for c in self.categories)
        object.__setattr__(self, "categories", taken)
        if None in taken:
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
        _check_apart(self)

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
    missing: Sequence[str] = ()

    def __post_init__(self) -> None:
        if self.outside == "clip":
            raise BadInput("outside", "there is no nearest truth value", "use 'own' or 'drop'")
        self._check_rules()
        _check_apart(self)

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
