"""A data vector over a declared, public domain: how its shape and its counts are checked."""

from __future__ import annotations

import numpy as np

from jostle.kernel.arguments import whole
from jostle.kernel.errors import BadInput
from jostle.kernel.partition import Counts

LARGEST_TOTAL = 2**40
"""The most records that a vector may have: answers of bounded queries on them are exact in 64 bits."""


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
