"""From a column of a table to its cells, in the engine: `Column.encode`, said once more in an engine's terms.

Each column of a schema becomes two expressions. Its *cell* is the number that histograms count, −1 where the record does
not count. Its *plain* value is what conditions are written about: numbers and days moved between the declared bounds, a
category's name, null where there is nothing. Both are functions of the one row, so stability is 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import reduce, singledispatch
from operator import or_
from typing import Any, TypeAlias

import ibis
import numpy as np
import pyarrow as pa

from jostle.kernel.errors import InternalError
from jostle.schema import MISSING, OTHER, Boolean, Category, Column, Date, Integer, Real, Text
from jostle.schema.columns import DROPPED
from jostle.schema.free_text import LONGEST_KEY
from jostle.schema.values import text
from jostle.tables.cells.readings import (
    Raw,
    clipped,
    day_number,
    day_of,
    digits,
    in_digits,
    literal,
    matches,
    number_of,
    octets,
    raw,
)
from jostle.tables.cells.staged_columns import RESERVED, Expression, Stages

Keys: TypeAlias = dict[str | float, int]
"""What values are compared with, and the category of each."""

MOST_BRANCHES = 4096
"""A public table has at most this many runs of equal values, as an expression in an engine."""


@dataclass(frozen=True)
class Placed:
    """A column in the engine."""

    plain: Expression
    """The value, as conditions see it."""

    cell: Expression
    """The number of the cell; −1 where the record does not count."""


def reading(
    column: Column,
    stored: Expression,
    engine: str,
    numbers: Expression | None = None,
    days: Expression | None = None,
) -> Stages[Raw]:
    """A column as it is in the engine, with nothing where a value is one of the codes for missing values."""
    value = yield from raw(stored, engine, numbers, days)
    said = []
    if column.missing and value.text is not None:
        made = yield {"compared": in_digits(value.text, engine)}
        listed = made["compared"].isin([digits(key) for key in column.missing])
        said += [value.text.notnull() & listed.fill_null(False)]  # for SQLite, nothing has the digits of an empty text
    if value.number is not None:
        said += [(value.number == literal(float(key))).fill_null(False) for key in filter(_is_number, column.missing)]
    if not said:
        return value
    made = yield {"absent": reduce(or_, said)}
    absent, kept = made["absent"], {"text": value.text, "number": value.number, "day": value.day}
    blanked = {key: ibis.ifelse(absent, ibis.null(one.type()), one) for key, one in kept.items() if one is not None}
    made = yield {"present": value.present & ~absent, **blanked}
    return replace(value, **made)


@singledispatch
def place(column: Column, value: Raw) -> Stages[Placed]:
    """The two expressions for a column of a schema."""
    raise InternalError(f"columns of kind {column.kind!r} have no cells in an engine")


@place.register
def _(column: Integer, value: Raw) -> Stages[Placed]:
    number = yield from number_of(value, column.decimal, column.thousands)
    if number is None:
        return _nothing(column, "float64")
    made = yield {"inside": clipped(number, literal(column.low), literal(column.high)).floor()}
    steps = (made["inside"] - literal(column.low)).cast("int64")
    cell = steps if column.width == 1 else steps // column.width
    outside = (number < literal(column.low)) | (number >= literal(column.high + 1))
    return Placed(made["inside"], _ruled(column, cell, outside, number.isnull()))


@place.register
def _(column: Real, value: Raw) -> Stages[Placed]:
    number = yield from number_of(value, column.decimal, column.thousands)
    if number is None:
        return _nothing(column, "float64")
    made = yield {"inside": clipped(number, literal(column.low), literal(column.high))}
    inside, last = made["inside"], column.values - 1
    if column.even:
        made = yield {"above": inside - literal(column.low)}
        # What is clearly in the first cell is not multiplied: PostgreSQL does not suffer products that underflow.
        scaled = ibis.ifelse(made["above"] < literal(0.5 / column.rate), literal(0.0), made["above"] * literal(column.rate))
        made = yield {"cell": scaled.floor().cast("int64")}
        cell = ibis.ifelse(made["cell"] > last, last, made["cell"])
    else:
        cell = _sorted_in(inside, column.edges[1:-1].tolist())
    outside = (number < literal(column.low)) | (number > literal(column.high))
    return Placed(inside, _ruled(column, cell, outside, number.isnull()))


@place.register
def _(column: Date, value: Raw) -> Stages[Placed]:
    day = yield from day_of(value, column.form)
    if day is None:
        return _nothing(column, "date")
    low, high = ibis.literal(column.low), ibis.literal(column.high)
    made = yield {"inside": clipped(day, low, high)}  # first, because an engine's dates may be infinite and have no year
    cell = yield from _period(made["inside"], column)
    return Placed(made["inside"], _ruled(column, cell, (day < low) | (day > high), day.isnull()))


@place.register
def _(column: Boolean, value: Raw) -> Stages[Placed]:
    cases: list[tuple[Expression, int]] = []
    for truth, word in enumerate(("[fF][aA][lL][sS][eE]|0", "[tT][rR][uU][eE]|1")):
        if value.text is not None:
            cases.append((matches(value.text, word, value.engine), truth))
        if value.number is not None:
            cases.append((value.number == literal(truth), truth))
    made = yield {"found": ibis.cases(*cases, else_=2) if cases else ibis.literal(2)}
    found = made["found"]
    plain = ibis.cases((found == 0, False), (found == 1, True), else_=ibis.null("boolean"))
    return Placed(plain, _ruled(column, found, found == 2, ~value.present))


@place.register
def _(column: Text, value: Raw) -> Stages[Placed]:
    """Cell 0 has all texts. An empty one is missing, and so is the word for missing values."""
    words = ibis.null("string") if value.text is None else value.text
    if value.number is not None:
        whole = (value.number == value.number.floor()) & (value.number < WHOLE) & (value.number > -WHOLE)
        made = yield {"whole": ibis.ifelse(whole, value.number, ibis.null("float64"))}  # first: others cannot be cast
        made = yield {"digits": made["whole"].cast("int64").cast("string")}
        words = ibis.coalesce(words, made["digits"])
    made = yield {"words": words}
    words = made["words"]
    missing = words.isnull() | (words == "") | (words == MISSING)
    made = yield {"missing": missing.fill_null(True), "long": (octets(words, value.engine) > LONGEST_KEY).fill_null(False)}
    left_out = made["missing"] | made["long"]
    cell = ibis.cases((made["missing"], column.absent), (made["long"], DROPPED), else_=0)
    return Placed(ibis.ifelse(left_out, ibis.null("string"), words), cell.cast("int64"))


WHOLE = literal(2.0**53)
"""Whole numbers beyond it are no texts: floats do not tell them apart."""


@place.register
def _(column: Category, value: Raw) -> Stages[Placed]:
    found = unknown = ibis.literal(column.values)
    for stored, keys in category_keys(column, value):
        made = yield {"compared": in_digits(stored, value.engine) if stored.type().is_string() else stored}
        same = [made["compared"] == (literal(key) if isinstance(key, float) else digits(key)) for key in keys]
        cases = ibis.cases(*zip(same, keys.values(), strict=True), else_=unknown) if keys else found
        found = ibis.ifelse(stored.isnull(), found, cases)
    made = yield {"found": found}
    names = looked_up(made["found"], np.array([*column.names, OTHER], dtype=object))
    return (yield from place_category(column, value, made["found"], names))


def place_category(column: Category, value: Raw, found: Expression, names: Expression) -> Stages[Placed]:
    """A category by its number in the list, which is the list's length for what is not there, and its name."""
    made = yield {"found": found, "names": names}
    found, names = made["found"], made["names"]
    plain = ibis.ifelse(value.present, names, ibis.null("string"))
    return Placed(plain, _ruled(column, found, found == column.values, ~value.present))


def category_keys(column: Category, value: Raw) -> list[tuple[Expression, Keys]]:
    """What to compare with which keys, to find a value's category: its text, or the number that it is."""
    texts: Keys = {key: code for code, key in enumerate(column.keys) if key is not None}
    numbers: Keys = {float(key): code for key, code in texts.items() if _is_number(str(key))}
    compared: list[tuple[Expression, Keys]] = []
    if value.number is not None:
        compared.append((value.number, numbers))
    if value.text is not None:
        compared.append((value.text, _named(column) | texts if value.plain else texts))
    return compared


def _named(column: Category) -> Keys:
    """Other texts for a category, among plain values: its name, and that of the same number as a float."""
    names: Keys = {str(float(key)): code for code, key in enumerate(column.keys) if key is not None and _is_number(key)}
    return names | {name: code for code, name in enumerate(column.names)}


def _is_number(key: str) -> bool:
    """Whether a number in a table would be written just so."""
    try:
        return text(float(key)) == key
    except (ValueError, OverflowError):
        return False


def _nothing(column: Column, kind: str) -> Placed:
    """For a type that the column cannot have: every value counts as missing."""
    return Placed(ibis.null(kind), ibis.literal(column.absent).cast("int64"))


def _ruled(column: Column, cell: Expression, outside: Expression, missing: Expression) -> Expression:
    """The column's rules for values that are not foreseen."""
    if column.outside != "clip":
        cell = ibis.ifelse(outside, column.other, cell)
    return ibis.ifelse(missing, column.absent, cell).cast("int64")


def _period(day: Expression, column: Date) -> Stages[Expression]:
    if column.every in ("day", "week"):
        since = (yield from day_number(day)) - _day_number(column.low)
        return since if column.every == "day" else since // 7
    year = day.year().cast("int64") - column.low.year
    return year if column.every == "year" else 12 * year + day.month().cast("int64") - column.low.month


def _day_number(day: date) -> int:
    """Days since 1 March of the year 0."""
    return day.toordinal() + 305


def _sorted_in(value: Expression, cuts: Sequence[float], first: int = 0) -> Expression:
    """How many cuts are not above the value: by halving, so that thousands of cuts take a dozen comparisons."""
    if not cuts:
        return ibis.literal(first)
    middle = len(cuts) // 2
    below, above = _sorted_in(value, cuts[:middle], first), _sorted_in(value, cuts[middle + 1 :], first + middle + 1)
    return ibis.ifelse(value < literal(cuts[middle]), below, above)


def looked_up(place: Expression, table: Any) -> Expression:
    """The public table's entry at a whole number, by halving over its runs of equal entries."""
    starts = np.flatnonzero(np.concatenate(([True], table[1:] != table[:-1])))
    return _halved(place, starts.tolist(), [table[start] for start in starts])


def runs(table: Any) -> int:
    """How many runs of equal entries a table has."""
    return 1 + int((table[1:] != table[:-1]).sum())


def _halved(place: Expression, starts: list[int], entries: list[Any]) -> Expression:
    if len(starts) == 1:
        entry = entries[0]
        # Of 64 bits: an engine would take as few as the entries need, and their product with a size would overflow.
        return ibis.literal(entry.item(), "int64") if isinstance(entry, np.integer) else ibis.literal(entry)
    middle = len(starts) // 2
    below, above = _halved(place, starts[:middle], entries[:middle]), _halved(place, starts[middle:], entries[middle:])
    return ibis.ifelse(place < starts[middle], below, above)


# ------------------------------------------------------------------------------------------- long lists of categories

MANY_CATEGORIES = 64
"""Longer lists of categories are joined to the table: a comparison with each of thousands would take too long."""


def has_long_list(column: Column) -> bool:
    """Whether a column has so many categories that rows are joined to the list of them."""
    return isinstance(column, Category) and column.values > MANY_CATEGORIES


def with_long_lists(
    table: Any, columns: Mapping[str, Column], raws: Mapping[str, Raw]
) -> tuple[Any, dict[str, tuple[Expression, Expression]]]:
    """The table joined to its long lists of categories, and each value's number in its list, and its name.

    A key is in a list once, so a row stays one row. Texts are compared byte by byte, written in hexadecimal digits: by the
    rules of a collation, several keys could be the same.
    """
    joined: dict[str, list[int]] = {}
    long = {n: c for n, c in columns.items() if isinstance(c, Category) and has_long_list(c)}
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
                table = table.left_join(
                    listed, (_digits_or_null(stored, raws[name].engine) if texts else stored) == listed[key]
                )
    found = {}
    for name, column in long.items():
        codes, words = ([table[f"{RESERVED}{what}_{n}"] for n in joined.get(name, [])] for what in ("code", "word"))
        found[name] = ibis.coalesce(*codes, ibis.literal(column.values)), ibis.coalesce(*words, ibis.literal(OTHER))
    return table, found


def _digits_or_null(stored: Expression, engine: str) -> Expression:
    """Null where there is no text: for SQLite, nothing has the digits of an empty one."""
    return ibis.ifelse(stored.isnull(), ibis.null("string"), in_digits(stored, engine))
