"""Drafts of schemas: what kind each column may be, from its name and its declared type. No value is read."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jostle.kernel.errors import BadInput
from jostle.schema.schema import TextFormat
from jostle.tables.cells.staged_columns import RESERVED
from jostle.tables.engines.files import OTHER_DELIMITERS
from jostle.tables.engines.sources import connect, has_line_of_names, is_frame, names_of

HINTS: Mapping[str, frozenset[str]] = {
    "boolean": frozenset({"is", "has", "was", "flag"}),
    "date": frozenset({"date", "day", "birthday", "born", "at"}),
    "integer": frozenset({"age", "year", "years", "months", "weeks", "days", "hours", "children", "number", "num", "count"}),
    "real": frozenset(
        {"income", "price", "amount", "salary", "wage", "wages", "rate", "score", "weight", "height", "cost", "balance"}
        | {"length", "distance", "duration", "temperature", "lat", "latitude", "lon", "longitude"}
    ),
}
"""Words in a name that suggest a kind, where the type says nothing. They are guesses, and marked as such."""


def kinds_of(
    data: Any,
    *,
    table: str | None = None,
    columns: Sequence[str] | None = None,
    header: bool = False,
    form: TextFormat | None = None,
) -> dict[str, str]:
    """The kind that each column may be.

    Of a text file, say `header=True` if its first line holds the columns' names, or pass the names as `columns`.
    `form` says how the file is written.

    >>> import pandas
    >>> kinds_of(pandas.DataFrame({"age": [31], "city": ["Bern"], "member": [True]}))
    {'age': 'integer', 'city': 'category', 'member': 'boolean'}
    """
    check_first_line(data, columns, header=header)
    wanted = names_of(data) if is_frame(data) else []
    opened = connect(data, table=table, wanted=wanted, columns=columns, engine="duckdb", form=form).table
    types = {name: kind for name, kind in opened.schema().items() if not name.startswith(RESERVED)}
    if header and len(types) == 1:
        _check_delimiter(*types)
    return {name: _kind(name, types[name]) for name in wanted or types}


def _check_delimiter(name: str) -> None:
    """Refuse one long name that is several. The caller declared that it is a name, so it may be repeated."""
    sign = next((one for one in OTHER_DELIMITERS if one in name), None)
    if sign is not None:
        shown = '"\\t"' if sign == "\t" else f'"{sign}"'
        raise BadInput(
            "data", f'its first line has one name, "{name}": is the delimiter {shown}?', f"pass delimiter={shown}"
        )


def check_first_line(data: Any, columns: Sequence[str] | None, *, header: bool) -> None:
    """Raise unless the caller declared what the first line of a text file holds, before anything of it is read.

    Names and a record look alike, and whoever shows the one would show the other.
    """
    paths = [Path(one) for one in (data if isinstance(data, list) else [data]) if isinstance(one, (str, os.PathLike))]
    texts = [path.name for path in paths if has_line_of_names(path)]
    if header and columns is not None:
        raise BadInput("header", "says that the first line holds the names, and columns says that it does not", "pass one")
    if texts and columns is None and not header:
        problem = f"the first line of {texts[0]} may hold the columns' names or a record, and jostle cannot tell which"
        raise BadInput(
            "header",
            f"{problem} without showing it",
            "pass header=True if it holds the names, or columns=[…] if it does not",
        )


def _kind(name: str, declared: Any) -> str:
    """By the declared type, or else by the words of the name."""
    by_type = {
        "boolean": declared.is_boolean(),
        "date": declared.is_date() or declared.is_timestamp(),
        "integer": declared.is_integer(),
        "real": declared.is_floating() or declared.is_decimal(),
    }
    for kind, it_is in by_type.items():
        if it_is:
            return kind
    words = set(re.split(r"[^a-z]+", name.lower()))
    return next((kind for kind, hints in HINTS.items() if words & hints), "category")
