"""The columns of a table, by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import final

from jostle.kernel.errors import BadInput
from jostle.schema.columns import Boolean, Category, Column, Date, Integer, Real
from jostle.schema.text_format import TextFormat
from jostle.schema.values import is_writable

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
            if not isinstance(name, str) or not name or not is_writable(name):
                raise BadInput("schema", "every column has a name", "name columns as in the table")
            if not isinstance(column, Column):
                raise BadInput(
                    f"schema[{name!r}]", "is not described", f"use one of {', '.join(k.__name__ for k in KINDS.values())}"
                )
        if not self._columns:
            raise BadInput("schema", "has no columns", "describe at least one")
        self.text_format: TextFormat = columns.text_format if isinstance(columns, Schema) else TextFormat()
        """How a text file with these columns is written, or which sheet of a workbook has them."""

    def written_as(self, text_format: TextFormat) -> Schema:
        """The same columns, in a file that is written so."""
        made = Schema(self)
        made.text_format = text_format
        return made

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
        from jostle.schema.files import read

        return read(Path(path))

    def save(self, path: str | Path) -> None:
        """Write a schema file."""
        from jostle.schema.files import write

        write(self, Path(path))
