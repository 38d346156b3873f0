"""Long lists of categories: joined to the table, because a comparison with each of thousands would take too long."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ibis
import pyarrow as pa

from jostle.schema import OTHER, Category, Column
from jostle.tables.cells.cells import category_keys
from jostle.tables.cells.readings import Raw, digits, in_digits
from jostle.tables.cells.staged_columns import RESERVED, Expression

MANY_CATEGORIES = 64
"""Longer lists of categories are joined to the table; shorter ones are compared one by one."""


def with_long_lists(
    table: Any, columns: Mapping[str, Column], raws: Mapping[str, Raw]
) -> tuple[Any, dict[str, tuple[Expression, Expression]]]:
    """The table joined to its long lists of categories, and each value's number in its list, and its name.

    A key is in a list once, so a row stays one row. Texts are compared byte by byte, written in hexadecimal digits: by the
    rules of a collation, several keys could be the same.
    """
    joined: dict[str, list[int]] = {}
    long = {n: c for n, c in columns.items() if isinstance(c, Category) and c.values > MANY_CATEGORIES}
    for name, column in long.items():
        names = column.names
        for stored, keys in category_keys(column, raws[name]):
            if keys:
                number, codes = sum(map(len, joined.values())), [*keys.values()]
                joined.setdefault(name, []).append(number)
                key, code, word = (f"{RESERVED}{what}_{number}" for what in ("key", "code", "word"))
                words = [names[place] for place in codes]
                texts = stored.type().is_string()
                listed_keys = [digits(one) if isinstance(one, str) else one for one in keys]
                listed = ibis.memtable(pa.table({key: listed_keys, code: codes, word: words}))
                table = table.left_join(listed, (_in_digits(stored, raws[name].engine) if texts else stored) == listed[key])
    found = {}
    for name, column in long.items():
        codes, words = ([table[f"{RESERVED}{what}_{n}"] for n in joined.get(name, [])] for what in ("code", "word"))
        found[name] = ibis.coalesce(*codes, ibis.literal(column.values)), ibis.coalesce(*words, ibis.literal(OTHER))
    return table, found


def _in_digits(stored: Expression, engine: str) -> Expression:
    """Null where there is no text: for SQLite, nothing has the digits of an empty one."""
    return ibis.ifelse(stored.isnull(), ibis.null("string"), in_digits(stored, engine))
