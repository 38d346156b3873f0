"""The columns of a table, by name, and how a file with them is written."""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from difflib import get_close_matches
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, final

from jostle.kernel.errors import BadInput
from jostle.schema.columns import Boolean, Category, Column, Integer, Real
from jostle.schema.dates import Date
from jostle.schema.free_text import Text
from jostle.schema.values import is_writable

KINDS: Mapping[str, type[Column]] = MappingProxyType({c.kind: c for c in (Category, Integer, Real, Date, Boolean, Text)})
"""The words for a column's kind in a schema file."""


_CODE_PAGES: Final = (437, 720, 737, 775, 850, 852, 855, 857, 858, 860, 861, 862, 863, 865, 866)
_WINDOWS: Final = (874, *range(1250, 1259))
_LATIN: Final = tuple(part for part in range(1, 17) if part != 12)

UNIT_OF_TWO: Final = ("utf-16", "utf-16-le", "utf-16-be")
"""Encodings in which every character has two bytes, or four."""

ENCODINGS: Final = (
    *("utf-8", "ascii", *UNIT_OF_TWO),
    *(f"iso8859-{part}" for part in _LATIN),
    *(f"cp{page}" for page in (*_CODE_PAGES, *_WINDOWS)),
    *("koi8-r", "koi8-u", "mac-roman", "mac-latin2", "mac-cyrillic", "mac-greek", "mac-turkish"),
    *("big5", "big5hkscs", "cp932", "cp949", "cp950", "euc_jp", "euc_kr", "gb18030", "gb2312", "gbk", "johab", "shift_jis"),
)
"""Encodings in which a line feed is a line feed wherever it stands, and no byte changes how those after the next line feed
are read. A test tries all bytes of each."""


@final
@dataclass(frozen=True, kw_only=True)
class TextFormat:
    """How a text file is written, or which sheet of a workbook it is.

    >>> TextFormat(delimiter=";", encoding="latin-1")
    TextFormat(delimiter=';', encoding='iso8859-1', quoted_line_breaks=False, sheet=None)
    """

    delimiter: str | None = None
    """The sign between fields; by default a tab in files that end in .tsv, and a comma in others."""

    encoding: str = "utf-8"
    quoted_line_breaks: bool = False
    """Whether a line break between quotation marks is a part of the value. By default, a line ends a row, always."""

    sheet: str | None = None
    """The sheet of a workbook; by default the only one."""

    def __post_init__(self) -> None:
        sign = self.delimiter
        if sign is not None and not _is_sign(sign):
            raise BadInput("delimiter", "must be one sign, and neither a letter, a digit nor a quotation mark", _DELIMITER)
        object.__setattr__(self, "encoding", _encoding(self.encoding))
        if not isinstance(self.quoted_line_breaks, bool):
            raise BadInput("quoted_line_breaks", "must be true or false", "say whether values may have line breaks in them")
        if self.sheet is not None and not isinstance(self.sheet, str):
            raise BadInput("sheet", "must be the name of a sheet", "write it as it stands in the workbook")

    def with_settings(self, **said: Any) -> TextFormat:
        """The same, but for the settings that are said."""
        return replace(self, **{name: value for name, value in said.items() if value is not None})

    @property
    def settings(self) -> Mapping[str, Any]:
        """What differs from the defaults."""
        said = {each.name: getattr(self, each.name) for each in fields(self)}
        return {name: value for name, value in said.items() if value != getattr(TextFormat, name)}


SETTINGS: Final = tuple(each.name for each in fields(TextFormat))
_DELIMITER: Final = 'pass for instance delimiter=";"'


def _is_sign(sign: object) -> bool:
    if not isinstance(sign, str) or len(sign) != 1 or not sign.isascii():
        return False
    return sign == "\t" or (sign.isprintable() and not sign.isalnum() and sign != '"')


def _encoding(said: object) -> str:
    """The name of an encoding, by whatever other name it was called."""
    try:
        name = codecs.lookup(said).name if isinstance(said, str) else ""
    except (LookupError, ValueError):
        name = ""
    name = "utf-8" if name == "utf-8-sig" else name
    if name not in ENCODINGS:
        known = "utf-8, latin-1, cp1252, iso8859-15, cp850, mac-roman, utf-16, shift_jis, gb18030 or another of its kind"
        problem = "is unknown, or one in which a line cannot be read without those before it"
        raise BadInput("encoding", problem, f"use {known}")
    return name


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
        sizes = {name: "text" if isinstance(c, Text) else str(c.size) for name, c in self._columns.items()}
        return f"<Schema of {', '.join(f'{name} ({size})' for name, size in sizes.items())}>"

    def column(self, name: object) -> Column:
        """The column, or an error that lists those there are."""
        if not isinstance(name, str) or name not in self._columns:
            known, alike = ", ".join(self._columns), {one.lower(): one for one in self._columns}
            near = get_close_matches(str(name).lower(), alike, n=1, cutoff=0.6)
            remedy = f"did you mean {alike[near[0]]!r}? The columns are {known}" if near else f"use one of {known}"
            raise BadInput("column", f"{name!r} is not in the schema", remedy)
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
