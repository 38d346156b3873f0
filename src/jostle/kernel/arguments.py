"""Checks of arguments: whole and finite numbers, which may be Python's, NumPy's or fractions, and names.

Neither a boolean nor a length of time counts as a number.
"""

from __future__ import annotations

import sys
from collections.abc import Collection
from numbers import Integral, Real

import numpy as np

from jostle.kernel.errors import BadInput


def whole(value: object) -> int | None:
    """A whole number as one of Python's; None if it is not one.

    >>> import numpy as np
    >>> whole(np.int64(3)), whole(True), whole(3.0)
    (3, None, None)
    """
    if isinstance(value, (bool, np.timedelta64)):  # NumPy counts the latter among whole numbers
        return None
    return int(value) if isinstance(value, Integral) else None


def finite(value: object) -> int | float | None:
    """A number that has a float, as one of Python's, whole ones as whole; None if it is not one.

    >>> from fractions import Fraction
    >>> finite(3), finite(Fraction(1, 2)), finite(10**400), finite(float("inf"))
    (3, 0.5, None, None)
    """
    number: int | float | None = whole(value)
    if number is None and isinstance(value, Real) and not isinstance(value, Integral):
        try:
            number = float(value)
        except OverflowError:  # of a fraction
            return None
    return number if number is not None and abs(number) <= sys.float_info.max else None


def check_whole(value: object, argument: str, remedy: str, *, least: int, most: int | None = None) -> int:
    """A whole number within bounds; anything else is refused.

    >>> check_whole(0, "rows", "pass for instance 1", least=1)
    Traceback (most recent call last):
    jostle.kernel.errors.BadInput: rows: must be a whole number of at least 1. Remedy: pass for instance 1.
    """
    number = whole(value)
    if number is None or number < least or (most is not None and number > most):
        bounds = f"of at least {least:,}" if most is None else f"from {least:,} to {most:,}"
        raise BadInput(argument, f"must be a whole number {bounds}", remedy)
    return number


def check_finite(value: object, argument: str, remedy: str, *, least: float, most: float) -> int | float:
    """A number within bounds; anything else is refused.

    >>> check_finite(True, "price", "pass for instance 1.5", least=0, most=9)
    Traceback (most recent call last):
    jostle.kernel.errors.BadInput: price: must be a number from 0 to 9. Remedy: pass for instance 1.5.
    """
    number = finite(value)
    if number is None or not least <= number <= most:
        raise BadInput(argument, f"must be a number from {least:,.10g} to {most:,.10g}", remedy)
    return number


def check_one_of(value: object, argument: str, names: Collection[str]) -> None:
    """Raise unless it is one of these names.

    >>> check_one_of("best", "method", ("first", "last"))
    Traceback (most recent call last):
    jostle.kernel.errors.BadInput: method: 'best' is unknown. Remedy: use 'first' or 'last'.
    """
    if not isinstance(value, str) or value not in names:
        raise BadInput(argument, f"{value!r:.60} is unknown", f"use {' or '.join(map(repr, names))}")
