"""What values a tunable may have: public, and checked before anything is charged. A plan would fail on others on its way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Integral
from typing import Any, Final, Protocol

import numpy as np

from jostle.kernel.errors import BadInput
from jostle.schema.arguments import finite, whole


class Takes(Protocol):
    """A rule for a tunable's value."""

    @property
    def words(self) -> str:
        """What it must be, in words."""

    def fits(self, value: Any) -> bool:
        """Whether it is that."""


@dataclass(frozen=True)
class Number:
    """A number between two bounds, or one of them.

    >>> Number(0, 9).fits(2.5), Number(0, 9).fits("2.5"), Number(0, 9).fits(float("nan"))
    (True, False, False)
    """

    low: float
    high: float

    @property
    def words(self) -> str:
        """With the bounds."""
        return f"a number from {self.low:g} to {self.high:g}"

    def fits(self, value: Any) -> bool:
        """Texts and truth values are no numbers."""
        number = finite(value)
        return number is not None and self.low <= number <= self.high


@dataclass(frozen=True)
class Whole(Number):
    """A whole number between two bounds, or one of them.

    >>> Whole(1, 9).fits(2), Whole(1, 9).fits(2.0), Whole(1, 9).fits(True)
    (True, False, False)
    """

    @property
    def words(self) -> str:
        """With the bounds."""
        return f"a whole number from {self.low:,} to {self.high:,}"

    def fits(self, value: Any) -> bool:
        """A float is none."""
        return whole(value) is not None and super().fits(value)


@dataclass(frozen=True)
class OneOf:
    """One of some names or whole numbers.

    >>> OneOf("long", "short").fits("short"), OneOf(1, 3).fits([])
    (True, False)
    """

    options: tuple[str | int, ...]

    def __init__(self, *options: str | int) -> None:
        object.__setattr__(self, "options", options)

    @property
    def words(self) -> str:
        """All of them."""
        return f"one of {', '.join(map(str, self.options))}"

    def fits(self, value: Any) -> bool:
        """By equality."""
        return isinstance(value, (str, Integral)) and value in self.options


@dataclass(frozen=True)
class _Truth:
    words: str = "True or False"

    def fits(self, value: Any) -> bool:
        return isinstance(value, (bool, np.bool_))


TRUTH: Final = _Truth()

SHARE: Final = Number(1e-6, 1 - 1e-6)
"""A share of the budget that leaves some, and not so small that exact arithmetic would not keep it."""

FACTOR: Final = Number(1e-6, 1e6)
"""Something to multiply or divide by."""

SIZE: Final = Whole(1, 2**24)
"""A number of cells, or of boxes along an axis."""


def check_values(takes: Mapping[str, Takes], usual: Mapping[str, object], given: Mapping[str, Any]) -> None:
    """Raise unless all values fit; None does where it is the usual value.

    >>> check_values({"c": Number(1, 9)}, {"c": 2.0}, {"c": 0})
    Traceback (most recent call last):
    jostle.kernel.errors.BadInput: c: must be a number from 1 to 9, got 0. Remedy: leave it out, or pass such a value.
    """
    for name, value in given.items():
        rule = takes.get(name)
        if rule is None or (value is None and usual[name] is None) or rule.fits(value):
            continue
        raise BadInput(name, f"must be {rule.words}, got {_shown(value)}", "leave it out, or pass such a value")


def _shown(value: object) -> str:
    """The first characters; a number may have more digits than Python writes."""
    try:
        return f"{value!r:.40}"
    except ValueError:
        return f"a {type(value).__name__}"
