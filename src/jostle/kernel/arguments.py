"""Numbers as callers pass them: Python's own, NumPy's, or fractions. Booleans and lengths of time are no numbers."""

from __future__ import annotations

import sys
from numbers import Integral, Real

import numpy as np


def whole(value: object) -> int | None:
    """A whole number as a Python int; None for anything else.

    >>> import numpy as np
    >>> whole(np.int64(3)), whole(True), whole(3.0)
    (3, None, None)
    """
    if isinstance(value, (bool, np.timedelta64)):  # NumPy counts the latter among whole numbers
        return None
    return int(value) if isinstance(value, Integral) else None


def finite(value: object) -> int | float | None:
    """A finite number as a Python int or float; None for anything else.

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
