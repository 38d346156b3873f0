"""Checks of arguments: whole and finite numbers, which may be Python's, NumPy's or fractions; names, classes, data vectors.

Neither a boolean nor a length of time counts as a number.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Collection
from numbers import Integral, Real
from typing import TYPE_CHECKING

from jostle.kernel.errors import BadInput, PlanError

if TYPE_CHECKING:
    from jostle.kernel.partition import Counts

LARGEST_TOTAL = 2**40
"""The most records that a vector may have: answers of bounded queries on them are exact in 64 bits."""


def whole(value: object) -> int | None:
    """A whole number as a Python int; None for anything else.

    >>> import numpy as np
    >>> whole(np.int64(3)), whole(True), whole(3.0), whole(np.timedelta64(3))
    (3, None, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, Integral):
        return None
    try:
        return operator.index(value)
    except TypeError:  # of a length of time, which NumPy counts among whole numbers
        return None


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


def check_of_kernel(value: object, kind: type, what: str, otherwise: str = "its lemma is not proven") -> None:
    """Raise unless it is of a class of the kernel: of others, nobody has proven how far one record moves them.

    >>> check_of_kernel(3, int, "statistic")
    Traceback (most recent call last):
    jostle.kernel.errors.PlanError: int is no statistic of the kernel: its lemma is not proven
    """
    if not isinstance(value, kind) or not type(value).__module__.startswith("jostle.kernel."):
        raise PlanError(f"{type(value).__name__} is no {what} of the kernel: {otherwise}")


def domain_of(shape: int | tuple[int, ...]) -> tuple[int, ...]:
    """The axes of a domain, checked.

    >>> domain_of(8), domain_of((2, 4))
    ((8,), (2, 4))
    """
    axes = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    found = [number for number in map(whole, axes) if number is not None and number >= 1]
    if not axes or len(found) < len(axes):
        raise BadInput("shape", f"must be whole numbers of at least 1, got {shape!r}", "pass for instance 1024 or (64, 64)")
    return tuple(found)


def counts(x: object, shape: tuple[int, ...] | None = None) -> tuple[Counts, tuple[int, ...]]:
    """A data vector, checked: whole numbers of records, none negative. The message says nothing about which or how many.

    >>> counts([[1, 2], [3, 4]])[1]
    (2, 2)
    """
    import numpy as np  # here, so that a command that only prints its help need not load it

    remedy = "pass counts such as [3, 0, 4]"
    try:
        array = np.asarray(x)
    except (TypeError, ValueError):
        raise BadInput("x", "must be an array of counts", remedy) from None
    if array.ndim == 0:
        raise BadInput("x", "must be a list or an array of counts", remedy)
    if array.size == 0:
        raise BadInput("x", "must have at least one cell", remedy)
    if not (np.issubdtype(array.dtype, np.integer) or np.issubdtype(array.dtype, np.floating)):
        raise BadInput("x", "must hold numbers", remedy)  # not the type's name: that of texts tells the longest one's length
    with np.errstate(invalid="ignore"):
        whole = array.astype(np.int64)
    if (whole != array).any() or (whole < 0).any():
        raise BadInput("x", "must hold whole numbers of records, none negative", remedy)
    if float(array.sum(dtype=np.float64)) > LARGEST_TOTAL:
        raise BadInput("x", f"must hold at most {LARGEST_TOTAL} records", "count in larger units")
    domain = array.shape if shape is None else domain_of(shape)
    if int(np.prod(domain)) != array.size:
        raise BadInput("shape", f"{domain} does not have the data's number of cells", "pass the data's own shape")
    return np.ascontiguousarray(whole.reshape(-1)), domain
