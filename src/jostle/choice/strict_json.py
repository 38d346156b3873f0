"""Strict reading of JSON that may come from anybody: nothing is run, nothing grows beyond limits, nothing is guessed."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, Final

from jostle.kernel.errors import BadInput
from jostle.schema.files import check_no_database

LARGEST: Final = 4_000_000
"""Bytes of a document: shipped selectors have some ten thousand."""

LONGEST: Final = 4_000
"""Characters of a text, and entries of a table with names."""

MOST: Final = 200_000
"""Entries of a list."""


def parse(text: str | bytes, argument: str) -> Entries:
    """The entries of a document, of which each must be taken by its name and type.

    >>> parse('{"a": 1e999}', "selector")
    Traceback (most recent call last):
    jostle.kernel.errors.BadInput: selector: is not a document of finite numbers, texts and lists. Remedy: write it anew with
    `save`.
    """
    refused = BadInput(argument, "is not a document of finite numbers, texts and lists", "write it anew with `save`")
    if len(text) > LARGEST:
        raise BadInput(argument, f"has more than {LARGEST} bytes", "write it anew with `save`")
    try:
        found = json.loads(text, object_pairs_hook=_once, parse_constant=_refuse, parse_float=_finite, parse_int=_moderate)
    except (ValueError, RecursionError, UnicodeDecodeError):
        raise refused from None
    if not isinstance(found, dict):
        raise refused
    return Entries(found, argument)


def read(file: Path, argument: str) -> Entries:
    """The entries of the document in a file."""
    check_no_database(file, argument)
    try:
        with file.open("rb") as stream:
            text = stream.read(LARGEST + 1)
    except OSError as refused:
        reason = refused.strerror or "it is not there"
        raise BadInput(argument, f"{file} cannot be read: {reason}", "name a file that `save` wrote") from None
    return parse(text, argument)


class Entries:
    """The named entries of a document; `done` refuses what nobody asked for."""

    def __init__(self, found: dict[str, Any], argument: str, where: str = "") -> None:
        self._left, self._argument, self._where = dict(found), argument, where

    def bad(self, name: str, problem: str, remedy: str = "write it anew with `save`") -> BadInput:
        """What to raise about an entry."""
        return BadInput(self._argument, f"its entry {self._where}{name} {problem}", remedy)

    def __contains__(self, name: str) -> bool:
        return name in self._left

    def _take(self, name: str, kind: type | tuple[type, ...], called: str) -> Any:
        found = self._left.pop(name, None)
        if isinstance(found, bool) or not isinstance(found, kind):
            raise self.bad(name, f"must be {called}")
        return found

    def text(self, name: str) -> str:
        """A text of moderate length."""
        found = self._take(name, str, "a text")
        if len(found) > LONGEST:
            raise self.bad(name, f"has more than {LONGEST} characters")
        return str(found)

    def number(self, name: str, low: float = -math.inf, high: float = math.inf) -> float:
        """A number within bounds."""
        found = self._take(name, (int, float), "a number")
        if not low <= found <= high:
            raise self.bad(name, f"must lie between {low:g} and {high:g}")
        return float(found)

    def whole(self, name: str, low: int, high: int) -> int:
        """A whole number within bounds."""
        found = self._take(name, int, "a whole number")
        if not low <= found <= high:
            raise self.bad(name, f"must lie between {low} and {high}")
        return int(found)

    def numbers(self, name: str, length: int | None = None) -> tuple[float, ...]:
        """A list of numbers."""
        found = self.items(name)
        if (length is not None and len(found) != length) or any(type(one) not in (int, float) for one in found):
            raise self.bad(name, "must be a list of numbers" + ("" if length is None else f", {length} of them"))
        return tuple(float(one) for one in found)

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts."""
        found = self.items(name)
        if any(not isinstance(one, str) or len(one) > LONGEST for one in found):
            raise self.bad(name, "must be a list of texts")
        return tuple(found)

    def items(self, name: str) -> list[Any]:
        """A list of anything."""
        found = self._take(name, list, "a list")
        if len(found) > MOST:
            raise self.bad(name, f"has more than {MOST} entries")
        return list(found)

    def each(self, name: str) -> list[Entries]:
        """A list of tables."""
        found = self.items(name)
        if any(not isinstance(one, dict) for one in found):
            raise self.bad(name, "must be a list of tables")
        return [Entries(one, self._argument, f"{self._where}{name}[{at}].") for at, one in enumerate(found)]

    def table(self, name: str) -> Entries:
        """Entries within this entry."""
        return Entries(self._take(name, dict, "a table"), self._argument, f"{self._where}{name}.")

    def plain(self, name: str) -> dict[str, Any]:
        """A table of texts, numbers and lists of these: for the reader's information alone."""
        found = self._take(name, dict, "a table")
        for value in found.values():
            flat = value if isinstance(value, list) else [value]
            if len(flat) > LONGEST or any(not isinstance(one, (str, int, float, bool, type(None))) for one in flat):
                raise self.bad(name, "must be a table of texts, numbers and lists of these")
        return dict(found)

    @property
    def names(self) -> tuple[str, ...]:
        """The names that are left."""
        return tuple(self._left)

    def done(self) -> None:
        """Refuse entries that nobody took."""
        for name in self._left:
            raise self.bad(name[:50], "is unknown")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs) or len(found) > LONGEST:
        raise ValueError
    return found


def _refuse(constant: str) -> None:
    raise ValueError(constant)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError
    return number


def _moderate(text: str) -> int:
    if len(text) > 20:
        raise ValueError
    return int(text)
