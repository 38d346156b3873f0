"""What all columns share: cells, labels, and the rules for values that nobody foresaw."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import fields
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from jostle.kernel.errors import BadInput
from jostle.schema.arrow import as_array
from jostle.schema.values import BLANKS, LONGEST_TEXT, is_one_of, is_too_long, is_writable, unmasked

Codes = NDArray[np.int64]
Outside = Literal["clip", "own", "drop"]
Null = Literal["own", "drop"]

LARGEST_COLUMN = 2**20
"""So many cells a column may have."""

OTHER, MISSING = "(other)", "(missing)"
"""The labels of the cells for what the schema does not foresee, and for nulls."""

MOST_MISSING = 64
"""So many texts may stand for no value: each is compared with every value."""

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

    missing: Sequence[str]
    """Texts that stand for no value, such as "NA": they, and numbers that are written so, are nulls."""

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
    def absent(self) -> int:
        """The code of nulls."""
        return self.values + (self.outside == "own") if self.null == "own" else DROPPED

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
        """What a schema file says about it: its kind, and what differs from the defaults."""
        said = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}  # type: ignore[arg-type]
        return {"kind": self.kind} | {name: list(v) if isinstance(v, tuple) else v for name, v in said.items()}
