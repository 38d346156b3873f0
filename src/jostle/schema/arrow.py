"""Columns of Arrow's, also inside frames of pandas: what they hold that other libraries fail on.

Arrow does not look whether its texts are UTF-8, and whatever makes Python's texts of them fails where one is not: the error
tells of a value, and some show it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

OPAQUE = "\x01"
"""Stands for a value that is neither text, number nor date: outside of every category, and missing as a number.

What begins with it does, too.
"""


def is_text(kind: Any) -> bool:
    """Whether a type of Arrow's is one of texts."""
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def is_utf8(column: Any) -> bool:
    """Whether all bytes of texts are those of texts."""
    import pyarrow as pa

    try:
        column.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def in_arrow(values: Any) -> Any:
    """A column of pandas or Arrow as Arrow's own, if it holds texts there, times, or values of several parts; else None.

    These are the ones that may fail when they become Python's own.

    >>> import pandas
    >>> in_arrow(pandas.Series(["a"], dtype="string[pyarrow]")).to_pylist(), in_arrow(pandas.Series([1]))
    (['a'], None)
    """
    kind = getattr(values, "dtype", None)
    kind = getattr(getattr(kind, "categories", None), "dtype", kind)
    held = getattr(kind, "pyarrow_dtype", None) is not None or str(getattr(kind, "storage", "")).startswith("pyarrow")
    own = type(values).__module__.startswith("pyarrow.") and hasattr(values, "type")
    if not (held or own):
        return None
    import pyarrow as pa

    column = values if own else pa.array(values, from_pandas=True)
    of = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    return column if is_text(of) or pa.types.is_temporal(of) or pa.types.is_nested(column.type) else None


def opaque(column: Any) -> Any:
    """A column whose values are no text, number or date, whatever they are; some may be missing."""
    import pyarrow as pa
    from pyarrow import compute

    return compute.if_else(column.is_valid(), pa.scalar(OPAQUE), pa.scalar(None, pa.string()))


def as_array(values: Any, dtype: type | None = None) -> NDArray[Any]:
    r"""A column as an array, as NumPy has it, but that no value of it can fail.

    >>> import pyarrow
    >>> as_array(pyarrow.array([b"a", b"\xff", None]).view(pyarrow.string())).tolist()
    ['a', '�', None]
    """
    values = one_by_one(values)
    column = in_arrow(values)
    if column is not None:
        return _of_arrow(column)
    kind = getattr(values, "dtype", None)
    if getattr(kind, "tz", None) is not None:
        values = on_the_clock(values)
    if getattr(kind, "kind", "") == "M":  # as Python's own, far times would not be times any more
        dtype = None
    with np.errstate(invalid="ignore", over="ignore"):  # a NaN that signals, among longer floats
        return np.asarray(values, dtype=dtype)


def _of_arrow(column: Any) -> NDArray[Any]:
    """Texts, times and values of several parts as tables have them; days and times as NumPy's, which go as far."""
    import pyarrow as pa

    known = opaque(column) if pa.types.is_nested(column.type) else decoded(column)
    return np.asarray(known)


def one_by_one(values: Any) -> Any:
    """A column of pandas whose categories are times with a zone as such times; others as they are.

    Near the ends of what a number of nanoseconds can say, such a category fails where it becomes one of Python's.
    """
    kind = getattr(getattr(getattr(values, "dtype", None), "categories", None), "dtype", None)
    return values if getattr(kind, "tz", None) is None else values.astype(kind)


def on_the_clock(times: Any) -> Any:
    """Times of pandas without their zone: the day is the one on the clock where the time was written down.

    Near the ends of what a number of nanoseconds can say, and of the calendar, that clock could not be read, which would
    fail only for such values. So they are counted in seconds, and those at the calendar's ends moved by up to a day.
    """
    import pandas as pd

    ends = (pd.Timestamp(day, tz="UTC").as_unit("s") for day in ("0001-01-02", "9999-12-30"))
    return pd.Series(times).dt.as_unit("s").clip(*ends).dt.tz_localize(None)


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


def plain(column: Any) -> Any:
    """A column of Arrow's in its plain type, whatever bytes its texts have."""
    import pyarrow as pa
    from pyarrow import compute

    if pa.types.is_dictionary(column.type):
        return plain(column.cast(column.type.value_type))
    if pa.types.is_duration(column.type) or pa.types.is_time(column.type):  # kept distinct, because they may be persons
        number = column.cast(pa.int32() if pa.types.is_time32(column.type) else pa.int64())
        return compute.binary_join_element_wise(OPAQUE, number.cast(pa.string()), "")
    if pa.types.is_string_view(column.type):
        return column.cast(pa.binary_view()).cast(pa.large_binary()).cast(pa.large_string(), safe=False)
    return column.cast(plain_type(column.type)) if pa.types.is_timestamp(column.type) else column


def decoded(column: Any) -> Any:
    """A column of Arrow's as an engine can read it: texts whose bytes are no UTF-8 would fail there."""
    import pyarrow as pa

    texts = plain(column)
    if not is_text(texts.type) or is_utf8(texts):
        return texts
    values = texts.cast(pa.large_binary() if pa.types.is_large_string(texts.type) else pa.binary()).to_pylist()
    return pa.array([None if value is None else value.decode("utf-8", "replace") for value in values], texts.type)
