"""A column of free text: nobody lists its values, so it has no cells until some of them are selected privately."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final, NoReturn, final

from numpy.typing import NDArray

from jostle.kernel.errors import BadInput
from jostle.schema.columns import DROPPED, Column, Null, Outside

LONGEST_KEY: Final = 500
"""Texts of more bytes are no groups: rows that have one do not count."""


@final
@dataclass(frozen=True)
class Text(Column):
    """Free text, of which nobody knows the possible values: for `group_by(…, keys="private")`, and for nothing else.

    Whole numbers count as the texts of their digits. Blanks around a text do not count. Rows without a text do not count;
    with `null="own"` they are a group, which is selected like any other. Rows with more than 500 bytes never count.

    >>> Text().kind, Text(missing=["NA"]).missing
    ('text', ('NA',))
    >>> Text().size
    Traceback (most recent call last):
    jostle.kernel.errors.BadInput: column: free text has no list of values. Remedy: group by it with keys="private", or \
declare the values that are publicly known: Category([…]).
    """

    kind = "text"
    outside: ClassVar[Outside] = "drop"  # type: ignore[misc]  # there is nothing to choose
    null: Null = "drop"
    missing: Sequence[str] = ()

    def __post_init__(self) -> None:
        if self.null not in ("own", "drop"):
            raise BadInput("null", f"{self.null!r} is unknown", "use 'own' or 'drop'")
        self._check_missing()

    @property
    def values(self) -> int:
        self._refuse()

    @property
    def names(self) -> list[str]:
        self._refuse()

    def place(self, array: NDArray[Any]) -> NoReturn:
        self._refuse()

    @property
    def absent(self) -> int:
        """In an engine, texts are in cell 0."""
        return 1 if self.null == "own" else DROPPED

    @property
    def written(self) -> str:
        return "a text"

    @staticmethod
    def _refuse() -> NoReturn:
        remedy = 'group by it with keys="private", or declare the values that are publicly known: Category([…])'
        raise BadInput("column", "free text has no list of values", remedy)
