"""Drafts of schemas: what kind each column may be, from its name and its declared type. No value is read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from jostle.tables.engines import connect
from jostle.tables.frames import is_frame, names_of

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


def kinds_of(data: Any, *, table: str | None = None, columns: Sequence[str] | None = None) -> dict[str, str]:
    """The kind that each column may be.

    >>> import pandas
    >>> kinds_of(pandas.DataFrame({"age": [31], "city": ["Bern"], "member": [True]}))
    {'age': 'integer', 'city': 'category', 'member': 'boolean'}
    """
    wanted = names_of(data) if is_frame(data) else []
    opened = connect(data, table=table, wanted=wanted, columns=columns, engine="duckdb").table
    types = dict(opened.schema().items())
    return {name: _kind(name, types[name]) for name in wanted or types}


def _kind(name: str, declared: Any) -> str:
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
