"""Frames in memory as Arrow tables, which the embedded engine reads without a copy where it can.

Whatever a frame holds can be read: a column of Python objects becomes two, its texts and its numbers, and values that are
neither become a text that no schema names.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np

from jostle.kernel.errors import BadInput
from jostle.schema.values import as_number, is_missing_value, text
from jostle.tables.stages import NUMBERS, WHOSE

OPAQUE = "\x01"
"""Stands for a value that is neither text, number nor date: outside of every category, and missing as a number.

What begins with it does, too.
"""

LONGEST = 10**40
"""Whole numbers below it may say who somebody is by their digits."""


def is_frame(data: object) -> bool:
    """Whether it is a frame of pandas or Polars, or an Arrow table."""
    kind = type(data)
    return (kind.__module__.split(".")[0], kind.__name__) in (
        ("pandas", "DataFrame"),
        ("polars", "DataFrame"),
        ("pyarrow", "Table"),
    )


def names_of(frame: Any) -> list[str]:
    """The names of a frame's columns."""
    return [str(name) for name in (frame.column_names if hasattr(frame, "column_names") else frame.columns)]


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


def to_arrow(frame: Any, wanted: Sequence[str], person: str | None = None) -> Any:
    """Some columns of a frame, and one that says whose rows they are."""
    import pyarrow as pa

    if type(frame).__module__.startswith("pandas"):
        columns: dict[str, Any] = {}
        for name in wanted:
            columns |= _from_pandas(name, frame[name])
        return pa.table(columns if person is None else columns | {WHOSE: _persons(frame[person])})
    table = frame.select(wanted) if hasattr(frame, "column_names") else frame.select(wanted).to_arrow()
    whole = {name: decoded(table[name]) for name in wanted}
    return pa.table(whole if person is None else whole | {WHOSE: _as_bytes(table[person])})


def _persons(series: Any) -> Any:
    """Who is who, in a column of any Python objects: equal ones are one person, and what is missing is nobody.

    A value that is no text and no number is not taken for another such value: two persons who were taken for one would take
    each other's place, and one of them could be noticed by the other's rows.
    """
    import pyarrow as pa

    native = getattr(series.dtype, "kind", "O") in "biufM" and not hasattr(series.dtype, "categories")
    if native or _keeps_times_in_arrow(series):
        return decoded(pa.array(series, from_pandas=True))
    seen: dict[Any, int] = {}
    return pa.array([_person(value, seen) for value in series.tolist()], pa.binary())


def _person(value: Any, seen: dict[Any, int]) -> bytes | None:
    if is_missing_value(value):
        return None
    written = _written(value)
    if written is not None:
        return written.encode("utf-8", "surrogatepass") or None
    try:
        return b"\xff%d" % seen.setdefault(value, len(seen))  # no text begins with that byte
    except TypeError:  # lists and other things that cannot be compared are nobody
        return None


def _written(value: Any) -> str | None:
    """A person who is a text or a number, written exactly: numbers that share a float are different persons.

    Texts are taken as they stand, as those of files are; blanks alone are nobody.

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

    plain = _plain(column)
    if not (pa.types.is_string(plain.type) or pa.types.is_large_string(plain.type)):
        return plain
    blank = compute.equal(compute.binary_length(compute.ascii_trim_whitespace(plain)), 0)
    return compute.if_else(blank, pa.scalar(None, pa.large_binary()), plain.cast(pa.large_binary()))


def _from_pandas(name: str, series: Any) -> dict[str, Any]:
    import pyarrow as pa

    kind = series.dtype
    if _keeps_times_in_arrow(series):
        return {name: decoded(pa.array(series, from_pandas=True))}
    if getattr(kind, "tz", None) is not None:
        series = _on_the_clock(series)
    if getattr(kind, "kind", "O") in "biufM" and not hasattr(kind, "categories"):
        return {name: pa.array(series, from_pandas=True)}
    if kind == "string":
        return {name: pa.array(map(_clean, series.tolist()), pa.string())}
    texts, numbers = _told_apart(series.tolist())
    return {name: pa.array(texts, pa.string()), f"{NUMBERS}{name}": pa.array(numbers, pa.float64())}


def _keeps_times_in_arrow(series: Any) -> bool:
    """Whether a column of pandas holds Arrow's times, days or durations: Python's own do not go as far, and would fail."""
    import pyarrow as pa

    kind = getattr(series.dtype, "pyarrow_dtype", None)
    return kind is not None and bool(pa.types.is_temporal(kind))


def _on_the_clock(series: Any) -> Any:
    """Times without their zone: the day is the one on the clock where the time was written down.

    Near the ends of what a number of nanoseconds can say, and of the calendar, that clock could not be read, which would
    fail for such values alone. So they are counted in seconds, and those at the calendar's ends moved by up to a day.
    """
    import pandas as pd

    ends = (pd.Timestamp(day, tz="UTC").as_unit("s") for day in ("0001-01-02", "9999-12-30"))
    return series.dt.as_unit("s").clip(*ends).dt.tz_localize(None)


def _told_apart(values: Iterable[Any]) -> tuple[list[str | None], list[float | None]]:
    texts: list[str | None] = []
    numbers: list[float | None] = []
    for value in values:
        number = None if isinstance(value, str) or is_missing_value(value) else as_number(value)
        numbers.append(number if number == number else None)
        texts.append(_clean(value) if number is None or number != number else None)
    return texts, numbers


def _clean(value: Any) -> str | None:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")  # half of a surrogate pair is no text
    if is_missing_value(value):
        return None
    return value.isoformat() if isinstance(value, date) else OPAQUE


def plain_type(kind: Any) -> Any:
    """The type of a column of Arrow's as an engine gets it, by the column's own.

    DuckDB has no times with a zone beyond what it counts in microseconds, nor such durations, and fails on them, as on times
    of day that no day has. Without the zone, a time is the same one, in UTC. Durations and times of day are texts that no
    schema names. Texts in views are texts like others.

    >>> import pyarrow
    >>> plain_type(pyarrow.timestamp("ms", tz="Asia/Tokyo")), plain_type(pyarrow.duration("s"))
    (TimestampType(timestamp[ms]), DataType(string))
    """
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return plain_type(kind.value_type)
    if pa.types.is_timestamp(kind):
        return pa.timestamp(kind.unit)
    if pa.types.is_duration(kind) or pa.types.is_time(kind):
        return pa.string()
    return pa.large_string() if pa.types.is_string_view(kind) else kind


def _plain(column: Any) -> Any:
    """A column of Arrow's in its plain type, whatever bytes its texts have."""
    import pyarrow as pa
    from pyarrow import compute

    if pa.types.is_dictionary(column.type):
        return _plain(column.cast(column.type.value_type))
    if pa.types.is_duration(column.type) or pa.types.is_time(column.type):  # told apart, because they may be persons
        number = column.cast(pa.int32() if pa.types.is_time32(column.type) else pa.int64())
        return compute.binary_join_element_wise(OPAQUE, number.cast(pa.string()), "")
    if pa.types.is_string_view(column.type):
        return column.cast(pa.binary_view()).cast(pa.large_binary()).cast(pa.large_string(), safe=False)
    return column.cast(plain_type(column.type)) if pa.types.is_timestamp(column.type) else column


def decoded(column: Any) -> Any:
    """A column of Arrow's as an engine can read it: texts whose bytes are no UTF-8 would fail there."""
    import pyarrow as pa

    plain = _plain(column)
    if not (pa.types.is_string(plain.type) or pa.types.is_large_string(plain.type)):
        return plain
    try:
        plain.validate(full=True)
    except pa.ArrowInvalid:
        values = plain.cast(pa.large_binary() if pa.types.is_large_string(plain.type) else pa.binary()).to_pylist()
        return pa.array([None if value is None else value.decode("utf-8", "replace") for value in values], plain.type)
    return plain
