"""How a value of a table is read, before a schema says which cell it falls into.

Whatever stands in a table is a text, a number, a day or nothing, by rules that are the same in memory and in every engine,
and never raise. `jostle.tables.cells.readings` says the same in an engine's terms, and the tests compare the two.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jostle.schema.written import DateForm, number_pattern, plain_number

BLANKS = " \t\n\r\v\f"
"""These are stripped from both ends of a text before it is read."""

NUMBER = number_pattern()
"""What a text that is a number looks like, with a decimal point."""

INFINITY = "[+-]?[iI][nN][fF]([iI][nN][iI][tT][yY])?"
"""How a text says that a number is beyond all bounds."""

DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
"""How a text that is a date begins; a time of day may follow after a blank or a T."""

LONGEST_TEXT = 2**20
"""No category's name, and no text that stands for no value, has more bytes. What engines do to longer texts may fail."""

LARGEST_DECIMAL = 2**62
"""Exact decimals beyond this count as infinite."""

_WHOLE = 2**53  # larger whole numbers are compared as the nearest float, as in an engine


def text(value: Any) -> str | None:
    """How a category is compared: 1, 1.0 and True count as "1", texts without the blanks around them.

    What is neither text nor number is no category, whatever it looks like when printed.

    >>> text(1.0), text(True), text(" F "), text(b"F")
    ('1', '1', 'F', None)
    """
    if isinstance(value, str):
        return stripped(value)
    if isinstance(value, (bool, np.bool_)):
        return "1" if value else "0"
    if isinstance(value, np.timedelta64):  # NumPy counts it among whole numbers
        return None
    if isinstance(value, (int, np.integer)) and abs(int(value)) <= _WHOLE:
        return str(value)
    if isinstance(value, (int, np.integer, float, np.floating, Decimal)):
        number = as_number(value)
        return str(int(number)) if math.isfinite(number) and number == int(number) else repr(number)
    return None


def is_writable(value: str) -> bool:
    r"""Whether it is text that can be written to a file or sent to an engine: half of a surrogate pair cannot.

    >>> is_writable("né"), is_writable("n\ud800")
    (True, False)
    """
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_too_long(value: str) -> bool:
    """Whether it has more bytes than a text of a schema may have.

    >>> is_too_long("é" * 2**19), is_too_long("é" * 2**19 + "e")
    (False, True)
    """
    return 4 * len(value) > LONGEST_TEXT and len(value.encode("utf-8", "surrogatepass")) > LONGEST_TEXT


def stripped(value: str) -> str:
    """A text without the blanks around it. In place of one that is too long stands a text that no schema names.

    That one ends with a blank, as no other does, and begins as the long one does, because it may be a day.

    >>> stripped(" F "), stripped("2024-05-01 " + "x" * 2**20)
    ('F', '2024-05-01  ')
    """
    return value[:11] + " " if is_too_long(value) else value.strip(BLANKS)


def is_missing(array: NDArray[Any]) -> NDArray[np.bool_]:
    """Where there is no value: None, NaN, NaT and pandas' NA."""
    if array.dtype.kind == "f":
        return np.asarray(np.isnan(array))
    if array.dtype.kind in "mM":
        return np.asarray(np.isnat(array))
    if array.dtype.kind != "O":
        return np.zeros(array.shape, dtype=np.bool_)
    return np.array([is_missing_value(v) for v in array], dtype=np.bool_)


def is_missing_value(value: Any) -> bool:
    """Whether it stands for no value."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or _is_nan(value)


def is_one_of(array: NDArray[Any], texts: Sequence[str]) -> NDArray[np.bool_]:
    """Where the value is one of some texts, without the blanks around it, or a number that is written so.

    >>> is_one_of(np.array([" NA", "N", -9, -9.0, None], dtype=object), ["NA", "-9"]).tolist()
    [True, False, True, True, False]
    """
    if array.dtype.kind in "mM":  # days have no text; as Python objects, some of them would be numbers
        return np.zeros(array.shape, dtype=np.bool_)
    known = set(texts)
    if array.dtype.kind in "biuf":
        distinct, back = np.unique(array, return_inverse=True)
        return np.array([text(value) in known for value in distinct.tolist()], dtype=np.bool_)[back]
    return np.array([_as_in_a_file(value) in known for value in array.tolist()], dtype=np.bool_)


def _as_in_a_file(value: Any) -> str | None:
    """Days that are Python objects are written as in a text file, which is how engines are given them."""
    return iso(value) if isinstance(value, date) and value == value else text(value)


def unmasked(array: Any) -> Any:
    """A masked array as a plain one in which what is masked is missing: NaN among floats, else None. Others as they are.

    >>> unmasked(np.ma.array([1, -999], mask=[False, True])).tolist()
    [1, None]
    """
    if not isinstance(array, np.ma.MaskedArray):
        return array
    plain = np.asarray(array.data)
    filled = plain.astype(plain.dtype if plain.dtype.kind == "f" else object)
    filled[np.ma.getmaskarray(array)] = None
    return filled


def iso(value: date) -> str | None:
    """A day or a time as text; None where it is beyond the calendar: times of pandas go further, and fail there.

    >>> iso(date(2024, 5, 1))
    '2024-05-01'
    """
    try:
        return value.isoformat()
    except BEYOND:
        return None


def as_numbers(
    array: NDArray[Any], decimal: str = ".", thousands: str = ""
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The values as numbers, 0 where one is missing, and where that is. A text that is no number counts as missing."""
    if array.dtype.kind in "biuf":
        with np.errstate(over="ignore"):  # a longer float's numbers may be beyond all bounds; a warning would tell
            numbers = array.astype(np.float64)
    elif array.dtype.kind in "mM":  # as Python objects, some of them would be numbers
        numbers = np.full(array.shape, np.nan)
    else:
        numbers = np.array([as_number(v, decimal, thousands) for v in array.tolist()], dtype=np.float64)
    missing = np.isnan(numbers)
    return np.where(missing, 0.0, numbers), missing


def as_days(array: NDArray[Any], form: DateForm | None = None) -> NDArray[np.datetime64]:
    """The values as days; what is no date is missing. Texts are read in this form; without one, as 2024-12-31."""
    if array.dtype.kind == "M":
        return array.astype("datetime64[D]")
    return np.array([_day(v, form) for v in array.tolist()], dtype="datetime64[D]")


def _day(value: Any, form: DateForm | None = None) -> Any:
    if isinstance(value, date):
        try:
            return np.datetime64("NaT") if value != value else np.datetime64(date(value.year, value.month, value.day))
        except BEYOND:
            return np.datetime64("NaT")
    if isinstance(value, np.datetime64):
        return value.astype("datetime64[D]")
    written = _iso_day(stripped(value), form) if isinstance(value, str) else None
    if written is not None:
        try:
            return np.datetime64(date.fromisoformat(written))
        except ValueError:
            pass
    return np.datetime64("NaT")


def _iso_day(written: str, form: DateForm | None) -> str | None:
    if form is not None:
        return form.iso(written)
    found = _DAY.match(written)
    return None if found is None else found[1]


def as_number(value: Any, decimal: str = ".", thousands: str = "") -> float:
    """One value as a number, NaN if it is no number.

    >>> as_number(" 1.5 "), as_number("1.234,5", ",", "."), as_number("x")
    (1.5, 1234.5, nan)
    """
    if isinstance(value, str):
        written = stripped(value)
        number = plain_number(written, decimal, thousands)
        return float(number if number is not None else written if _INFINITY.fullmatch(written) else math.nan)
    if not isinstance(value, (int, float, Decimal, np.integer, np.floating, np.bool_)) or _is_nan(value):
        return math.nan
    if isinstance(value, np.timedelta64):  # NumPy counts it among whole numbers
        return math.nan
    if isinstance(value, Decimal) and not -LARGEST_DECIMAL <= value <= LARGEST_DECIMAL:  # its abs() may overflow
        return math.copysign(math.inf, value)
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _is_nan(value: Any) -> bool:
    return value.is_nan() if isinstance(value, Decimal) else isinstance(value, (float, np.floating)) and bool(value != value)


BEYOND = (ValueError, OverflowError, NotImplementedError)
"""What times of pandas raise where Python's calendar ends, before the year 1 and after 9999."""

_INFINITY = re.compile(INFINITY)
_DAY = re.compile(rf"({DAY})([ T]|\Z)")
