"""How numbers and days are written in texts: the decimal sign, the mark between thousands, and the order of a date.

A schema declares it per column. Whether a text has the declared form follows from that text and the schema, in memory and in
every engine alike (`jostle.tables.cells.readings`); a text of another form counts as missing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache, cached_property
from itertools import pairwise
from typing import Final

from jostle.kernel.errors import BadInput

DECIMALS: Final = (".", ",")
THOUSANDS: Final = ("", ",", ".", " ", "'", "_")

ALIKE: Final[Mapping[str, str]] = {" ": "\u00a0\u202f\u2009", "'": "\u2019"}
"""Marks that programs print in place of a blank and of an apostrophe. They are read as these."""

MONTHS: Final = tuple(
    name.lower()
    for name in (
        *("January", "February", "March", "April", "May", "June", "July"),
        *("August", "September", "October", "November", "December"),
    )
)
"""The names of months, which may be cut off after three letters."""

_DIGITS: Final = {"Y": "[0-9]{4}", "y": "[0-9]{2}", "f": "[0-9]{1,9}"}
_ONE_OR_TWO: Final = ("d", "m", "H", "I", "M", "S")
_LETTERS: Final = {"b": "[A-Za-z]{3,9}", "B": "[A-Za-z]{3,9}", "a": "[A-Za-z]{2,9}", "A": "[A-Za-z]{2,9}"}
_OTHERS: Final = {"p": "[AaPp][Mm]", "z": "(?:Z|[+-][0-9]{2}:?[0-9]{2})"}
_LITERALS: Final = " .,:;/-_'TZ"


# --------------------------------------------------------------------------------------------------------- numbers


@cache
def number_pattern(decimal: str = ".", thousands: str = "") -> str:
    """What a text that is a number looks like. All engines read these alike and none fails: nothing over- or underflows.

    >>> bool(re.fullmatch(number_pattern(",", "."), "-1.234,5")), bool(re.fullmatch(number_pattern(",", "."), "12.34"))
    (True, False)
    """
    whole = "[0-9]{1,40}" + (f"|[0-9]{{1,3}}([{thousands}][0-9]{{3}}){{1,12}}" if thousands else "")
    whole = f"({whole})" if thousands else whole
    plain = f"({whole}([{decimal}][0-9]{{0,40}})?|[{decimal}][0-9]{{1,40}})([eE][+-]?[0-9]{{1,2}})?"
    far = f"[1-9]([{decimal}][0-9]{{0,40}})?[eE][+-]?([12][0-9]{{2}}|30[0-7])"
    return f"[+-]?({plain}|{far})"


def check_signs(decimal: object, thousands: object) -> None:
    """Raise unless they can be the decimal sign and the mark between thousands of a column."""
    if decimal not in DECIMALS:
        raise BadInput("decimal", "must be a point or a comma", 'pass for instance decimal=","')
    if thousands not in THOUSANDS or thousands == decimal:
        marks = ", ".join(repr(mark) for mark in THOUSANDS[1:])
        raise BadInput("thousands", f"must be one of {marks}, and not the decimal sign", 'pass for instance thousands=" "')


def plain_number(text: str, decimal: str = ".", thousands: str = "") -> str | None:
    """A number with a decimal point and without marks between thousands; None if the text is no number.

    >>> plain_number("1.234,5", ",", "."), plain_number("1.5", ","), plain_number("1\u202f234", thousands=" ")
    ('1234.5', None, '1234')
    """
    for mark in ALIKE.get(thousands, ""):
        text = text.replace(mark, thousands)
    if not re.fullmatch(number_pattern(decimal, thousands), text):
        return None
    return (text.replace(thousands, "") if thousands else text).replace(decimal, ".")


def number_example(decimal: str, thousands: str, *, whole: bool) -> str:
    """A number in that form.

    >>> number_example(",", ".", whole=False), number_example(".", "", whole=True)
    ('1.234,5', '1234')
    """
    return f"1{thousands}234" + ("" if whole else f"{decimal}5")


# ----------------------------------------------------------------------------------------------------------- dates


@dataclass(frozen=True)
class DateForm:
    """The form of a date, as `strptime` writes it: `%d.%m.%Y`. A time of day may follow after a blank or a T.

    >>> DateForm("%d.%m.%Y").iso("31.12.2024"), DateForm("%b %d, %y").iso("Feb 3, 99"), DateForm("%d/%m/%Y").iso("2024")
    ('2024-12-31', '1999-02-03', None)
    """

    text: str

    def __post_init__(self) -> None:
        parts = self._parts
        used = [part[1] for part in parts if len(part) == 2]
        needed = ("dmY", "dmy", "dbY", "dby", "dBY", "dBy")
        if not any(sorted(code for code in used if code in "dmbBYy") == sorted(each) for each in needed):
            raise BadInput("format", "must name the day, the month and the year, once each", 'write for instance "%d.%m.%Y"')
        for one, other in pairwise(parts):
            if _is_letters(one) and _is_letters(other):
                raise BadInput("format", "has letters after a name", "put a sign between them")

    @cached_property
    def _parts(self) -> list[str]:
        """The directives and the signs between them, in order."""
        parts = re.findall(r"%.|[^%]", self.text) if isinstance(self.text, str) else []
        known = {*_DIGITS, *_ONE_OR_TWO, *_LETTERS, *_OTHERS}
        for part in parts:
            if part[1:] not in known if len(part) == 2 else part not in _LITERALS:
                problem = f"{part!r} is unknown"
                raise BadInput("format", problem, f"use %d, %m, %b, %Y, %y, %H, %M, %S and signs such as {_LITERALS[:7]!r}")
        if "".join(parts) != self.text:
            raise BadInput("format", "must be the form of a date", 'write for instance "%d.%m.%Y"')
        return parts

    @cached_property
    def pattern(self) -> str:
        """How a text of that form begins, with one group per directive for the day, the month and the year."""
        written = ""
        for place, part in enumerate(self._parts):
            if len(part) == 1:
                written += f"[{part}]"
                continue
            code = part[1]
            # One digit or two only where none other is beside them: else, where a number ends is not certain.
            alone = not any(_is_digits(self._parts, beside) for beside in (place - 1, place + 1))
            form = _DIGITS.get(code) or _LETTERS.get(code) or _OTHERS.get(code) or ("[0-9]{1,2}" if alone else "[0-9]{2}")
            written += f"({form})" if code in "dmbBYy" else form
        return written

    @cached_property
    def groups(self) -> dict[str, int]:
        """The number of the group, from 1 on, of each directive for the day, the month and the year."""
        return {code: number for number, code in enumerate((p[1] for p in self._parts if p[1:] and p[1] in "dmbBYy"), 1)}

    @property
    def sample(self) -> str:
        """A text of that form, which is no day of the calendar."""
        return "".join(_SAMPLES.get(part[1:], part) if len(part) == 2 else part for part in self._parts)

    @property
    def example(self) -> str:
        """The last day of 2024 in that form."""
        return date(2024, 12, 31).strftime(self.text)

    def iso(self, text: str) -> str | None:
        """The date as 2024-12-31, whether or not the calendar has it; None if the text is not of that form."""
        found = re.match(rf"{self.pattern}([ T]|\Z)", text)
        if found is None:
            return None
        said = {code: found[number] for code, number in self.groups.items()}
        month = said["m"].zfill(2) if "m" in said else month_number(said.get("b") or said.get("B") or "")
        year = said.get("Y") or century(said["y"]) + said["y"]
        return None if month is None else f"{year}-{month}-{said['d'].zfill(2)}"


_SAMPLES: Final = {
    **dict.fromkeys(("y", *_ONE_OR_TWO), "00"),
    **dict.fromkeys(_LETTERS, "xxx"),
    "Y": "0000",
    "f": "0",
    "p": "AM",
    "z": "Z",
}


def century(year: str) -> str:
    """The first two digits of a year of which the last two are known, as POSIX has it: 1969 to 2068."""
    return "19" if year >= "69" else "20"


def month_number(name: str) -> str | None:
    """The number of a month, in two digits, by its English name or the first three letters of it."""
    known = {word: f"{number:02d}" for number, month in enumerate(MONTHS, 1) for word in (month, month[:3])}
    return known.get(name.lower())


def _is_digits(parts: list[str], place: int) -> bool:
    if not 0 <= place < len(parts):
        return False
    return len(parts[place]) == 2 and parts[place][1] not in {*_LETTERS, *_OTHERS}


def _is_letters(part: str) -> bool:
    return part[1:] in {*_LETTERS, "p", "z"} if len(part) == 2 else part in "TZ"


@cache
def date_form(text: str) -> DateForm:
    """The form that a text describes."""
    return DateForm(text)
