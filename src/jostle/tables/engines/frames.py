"""Frames in memory as Arrow tables, which the embedded engine reads without a copy where it can.

Columns have types of a closed list (`types`). A column of Python objects becomes three, its texts, its
numbers and its days, value by value; values that are neither become a text that no schema names.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any
from uuid import UUID

import numpy as np

from jostle.kernel.errors import BadInput
from jostle.schema.arrow import OPAQUE, decoded, in_arrow, on_the_clock, one_by_one, plain
from jostle.schema.values import BEYOND, as_number, is_missing_value, iso, text
from jostle.tables.cells.staged_columns import DAYS, NUMBERS, WHOSE
from jostle.tables.engines.types import arrow_type, check_types, is_listed

LONGEST = 10**40
"""Whole numbers below it may say who somebody is by their digits."""

MOST_PLACES = 5_000
"""Decimals with more zeros than this before or after their digits are written by their digits."""

_COMPARABLE = (UUID, bytes, date, datetime, int, Decimal, Fraction)
"""Besides texts and numbers, persons may be of these types, which are compared without a failure. Others are nobody."""


_EPOCH = date(1970, 1, 1).toordinal()
_NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


def check_labels(frame: Any, wanted: Sequence[str]) -> None:
    """Raise unless each column that is wanted has a label of its own, which is a text. Labels are public, as names are.

    >>> import pandas
    >>> check_labels(pandas.DataFrame([[31, 45]]), ["0"])
    Traceback (most recent call last):
    jostle.kernel.errors.BadInput: data: its column '0' has a label that is no text. Remedy: rename it.
    """
    labels = [*(frame.column_names if hasattr(frame, "column_names") else frame.columns)]
    texts = [label for label in labels if isinstance(label, str)]
    for name in wanted:
        if texts.count(name) > 1:
            raise BadInput("data", f"has the column {name!r} more than once", "give each a name of its own")
        if name not in texts:
            raise BadInput("data", f"its column {name!r} has a label that is no text", "rename it")


def check_frame(frame: Any, wanted: Sequence[str], person: str | None = None) -> None:
    """Raise unless each wanted column has a type of the closed list. Types are public; no value is looked at.

    >>> import pyarrow
    >>> check_frame(pyarrow.table({"x": pyarrow.array([1], pyarrow.duration("s"))}), ["x"])
    Traceback (most recent call last):
    jostle.kernel.errors.BadInput: schema: the column 'x' has the type duration[s], which may fail on some values. \
Remedy: store it as string, or as another of bool, date32, decimal128, dictionary of texts, double, float, int16, int32, \
int64, int8, large_string, null, string_view, timestamp, uint16, uint32, uint64, uint8.
    """
    package = type(frame).__module__.split(".")[0]
    if package == "pyarrow":
        found = {name: arrow_type(frame.schema.field(name).type) for name in wanted}
        return check_types(found, wanted, "arrow", person)
    if package == "polars":
        return check_types({name: str(frame.schema[name]) for name in wanted}, wanted, "polars", person)
    held = {name: getattr(frame[name].dtype, "pyarrow_dtype", None) for name in wanted}
    in_arrow = {name: arrow_type(kind) for name, kind in held.items() if kind is not None}
    check_types(in_arrow, in_arrow, "arrow", person)
    own = {name: _pandas_type(frame[name].dtype) for name in wanted if name not in in_arrow}
    return check_types(own, own, "pandas", person)


def _pandas_type(kind: Any) -> str:
    """The name of a type; of categories, that of what they are."""
    categories = getattr(kind, "categories", None)
    if categories is None:
        return str(kind)
    inside = getattr(categories.dtype, "pyarrow_dtype", None)
    found, engine = (str(categories.dtype), "pandas") if inside is None else (arrow_type(inside), "arrow")
    return "category" if is_listed(found, engine) and not hasattr(categories.dtype, "categories") else f"category of {found}"


def to_arrow(frame: Any, wanted: Sequence[str], person: str | None = None) -> Any:
    """Some columns of a frame, and one that says whose rows they are."""
    import pyarrow as pa

    if type(frame).__module__.startswith("pandas"):
        columns: dict[str, Any] = {}
        for name in wanted:
            columns |= _from_pandas(name, one_by_one(frame[name]))
        return pa.table(columns if person is None else columns | {WHOSE: _persons(one_by_one(frame[person]))})
    table = frame.select(wanted) if hasattr(frame, "column_names") else frame.select(wanted).to_arrow()
    whole = {name: decoded(table[name]) for name in wanted}
    return pa.table(whole if person is None else whole | {WHOSE: _as_bytes(table[person])})


def _persons(series: Any) -> Any:
    """Who is who, in a column of any Python objects: equal ones are one person, and what is missing is nobody.

    A value that is no text and no number is not taken for another such value: two persons who were taken for one would take
    each other's place, and one of them could be noticed by the other's rows.
    """
    import pyarrow as pa

    column = in_arrow(series)
    if column is not None:
        return _as_bytes(column)
    if getattr(series.dtype, "kind", "O") in "biufM" and not hasattr(series.dtype, "categories"):
        return decoded(pa.array(series, from_pandas=True))
    return pa.array(map(_person, series.tolist()), pa.binary())


def _person(value: Any) -> bytes | None:
    r"""A person in bytes that follow from the value by itself, because they decide which of the person's rows are kept.

    Numbers in the order in which persons are found would not do: when one goes, those of all others change.

    >>> [_person(value) for value in (UUID(int=7), b"x", date(1, 1, 2))]
    [b'\xff00000000-0000-0000-0000-000000000007', b'\xffb x', b'\xffday 2']
    """
    if is_missing_value(value):
        return None
    written = _written(value)
    if written is not None:
        return written.encode("utf-8", "surrogatepass") or None
    if type(value) not in _COMPARABLE and type(value).__name__ != "Timestamp":
        return None
    try:  # no text begins with that byte
        return b"\xff" + (b"b " + value if isinstance(value, bytes) else _canonical(value).encode())
    except BEYOND:  # a zone that does not know its offset then
        return None


def _canonical(value: Any) -> str:
    """Equal values are written alike, and different ones differently."""
    if isinstance(value, UUID):
        return str(value)
    if type(value).__name__ == "Timestamp":  # a count of its own unit since 1970, in UTC, far beyond the calendar too
        since = int(value.asm8.astype(np.int64)) * _NANOSECONDS[value.unit]
        return f"{'at' if value.tzinfo is None else 'UTC'} {since}"
    if isinstance(value, datetime):
        offset = value.utcoffset()
        seconds = (value.toordinal() - _EPOCH) * 86_400 + value.hour * 3600 + value.minute * 60 + value.second
        late = 0 if offset is None else offset // timedelta(microseconds=1)
        return f"{'at' if offset is None else 'UTC'} {(seconds * 10**6 + value.microsecond - late) * 1000}"
    return f"day {value.toordinal()}" if isinstance(value, date) else _ratio(value)


def _ratio(value: int | Decimal | Fraction) -> str:
    """A number as a quotient; a decimal that has too many places for that by its own digits, without zeros at their end.

    >>> _ratio(10), _ratio(Decimal("10.0")), _ratio(Fraction(1, 2)), _ratio(Decimal("-10E+9999"))
    ('0xa/0x1', '0xa/0x1', '0x1/0x2', '-1e10000')
    """
    if isinstance(value, Decimal):
        sign, digits, exponent = value.as_tuple()
        if isinstance(exponent, str):
            return str(value)  # infinite
        kept = "".join(map(str, digits)).strip("0")
        power = exponent + len(digits) - len("".join(map(str, digits)).rstrip("0"))
        if kept and abs(power) > MOST_PLACES:
            return f"{'-' * sign}{kept}e{power}"
        value = Fraction(value) if kept else Fraction(0)
    return f"{value.numerator:#x}/{value.denominator:#x}"


def _written(value: Any) -> str | None:
    """A person who is a text or a number, written exactly: numbers that share a float are different persons.

    Texts are taken as they stand, as those of files are; only blanks are nobody.

    >>> _written(2**60 + 1), _written(1.0), _written(" 1"), _written(" "), _written(("a", 1))
    ('1152921504606846977', '1', ' 1', '', None)
    """
    if isinstance(value, str):
        return value if text(value) else ""
    if isinstance(value, np.timedelta64) or not isinstance(value, (int, np.integer, Decimal)):
        return text(value)
    if -LONGEST < value < LONGEST and value == int(value):
        return str(int(value))
    return text(value) if isinstance(value, Decimal) and float(value) == value else None


def _as_bytes(column: Any) -> Any:
    """Texts as their bytes: two that are no UTF-8 would be the same text after they are decoded. Blank ones are nobody."""
    import pyarrow as pa
    from pyarrow import compute

    texts = plain(column)
    if not (pa.types.is_string(texts.type) or pa.types.is_large_string(texts.type)):
        return texts
    blank = compute.equal(compute.binary_length(compute.ascii_trim_whitespace(texts)), 0)
    return compute.if_else(blank, pa.scalar(None, pa.large_binary()), texts.cast(pa.large_binary()))


def _from_pandas(name: str, series: Any) -> dict[str, Any]:
    import pyarrow as pa

    kind = series.dtype
    column = in_arrow(series)
    if column is not None:
        return {name: decoded(column)}
    if getattr(kind, "tz", None) is not None:
        series = on_the_clock(series)
    if getattr(kind, "kind", "O") in "biufM" and not hasattr(kind, "categories"):
        return {name: pa.array(series, from_pandas=True)}
    if kind == "string":
        return {name: pa.array(map(_clean, series.tolist()), pa.string())}
    values = series.tolist()
    texts, numbers = _told_apart(values)
    days = pa.array(map(_calendar_day, values), pa.date32())
    return {name: pa.array(texts, pa.string()), f"{NUMBERS}{name}": pa.array(numbers, pa.float64()), f"{DAYS}{name}": days}


def _told_apart(values: Iterable[Any]) -> tuple[list[str | None], list[float | None]]:
    texts: list[str | None] = []
    numbers: list[float | None] = []
    for value in values:
        number = None if isinstance(value, str) or is_missing_value(value) else as_number(value)
        numbers.append(number if number == number else None)
        texts.append(_clean(value) if number is None or number != number else None)
    return texts, numbers


def _calendar_day(value: Any) -> date | None:
    """The day of a day or a time; None for all other values, and for times beyond the calendar."""
    if not isinstance(value, date) or is_missing_value(value) or iso(value) is None:
        return None
    try:
        return date(value.year, value.month, value.day)
    except BEYOND:
        return None


def _clean(value: Any) -> str | None:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")  # half of a surrogate pair is no text
    if is_missing_value(value):
        return None
    return (iso(value) if isinstance(value, date) else None) or OPAQUE
