"""The values that a tunable may have: public rules, checked before anything is charged, as a plan would fail later."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from jostle.kernel.arguments import finite, whole
from jostle.kernel.errors import BadInput


@dataclass(frozen=True)
class ParameterRule:
    """The values that a tunable may have."""

    words: str
    """What a value must be."""

    fits: Callable[[Any], bool]
    """Whether a value is that."""


def number(low: float, high: float) -> ParameterRule:
    """A number between two bounds, which are included; texts and booleans are no numbers.

    >>> [number(0, 9).fits(value) for value in (2.5, "2.5", float("nan"))]
    [True, False, False]
    """
    return ParameterRule(f"a number from {low:g} to {high:g}", lambda value: _between(low, finite(value), high))


def whole_number(low: int, high: int) -> ParameterRule:
    """A whole number between two bounds, which are included; floats and booleans are rejected.

    >>> [whole_number(1, 9).fits(value) for value in (2, 2.0, True)]
    [True, False, False]
    """
    return ParameterRule(f"a whole number from {low:,} to {high:,}", lambda value: _between(low, whole(value), high))


def _between(low: float, value: float | None, high: float) -> bool:
    return value is not None and low <= value <= high


def one_of(*options: str | int) -> ParameterRule:
    """One of some names or whole numbers.

    >>> one_of("long", "short").fits("short"), one_of(1, 3).fits([])
    (True, False)
    """
    return ParameterRule(
        f"one of {', '.join(map(str, options))}",
        lambda value: isinstance(value, (str, int, np.integer)) and value in options,
    )


TRUTH: Final = ParameterRule("True or False", lambda value: isinstance(value, (bool, np.bool_)))

SHARE: Final = number(1e-6, 1 - 1e-6)
"""A share of the budget that leaves some, and is large enough for exact arithmetic to keep it."""

FACTOR: Final = number(1e-6, 1e6)
"""Something to multiply or divide by."""

SIZE: Final = whole_number(1, 2**24)
"""A number of cells, or of boxes along an axis."""


def check_values(rules: Mapping[str, ParameterRule], defaults: Mapping[str, object], given: Mapping[str, Any]) -> None:
    """Raise unless all values fit; None fits where it is the default.

    >>> check_values({"c": number(1, 9)}, {"c": 2.0}, {"c": 0})
    Traceback (most recent call last):
    jostle.kernel.errors.BadInput: c: must be a number from 1 to 9, got 0. Remedy: leave it out, or pass such a value.
    """
    for name, value in given.items():
        rule = rules.get(name)
        if rule is None or (value is None and defaults[name] is None) or rule.fits(value):
            continue
        try:
            shown = f"{value!r:.40}"
        except ValueError:  # a number may have more digits than Python writes
            shown = f"a {type(value).__name__}"
        raise BadInput(name, f"must be {rule.words}, got {shown}", "leave it out, or pass such a value")
