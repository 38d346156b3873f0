"""Hilbert's curve: a line through all cells of a grid along which neighbours stay neighbours."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from jostle.kernel.partition import Counts, Partition


@lru_cache(maxsize=16)
def hilbert_line(shape: tuple[int, int]) -> Partition:
    """Every cell as a group of its own, numbered along the curve.

    A grid that is no square of a power of two takes the part of the curve of the next such square that lies in it.

    >>> hilbert_line((2, 2)).labels.tolist(), hilbert_line((1, 3)).labels.tolist()
    ([0, 3, 1, 2], [0, 1, 2])
    """
    rows, columns = (axis.reshape(-1).astype(np.int64) for axis in np.indices(shape))
    steps = _steps(rows, columns, max(max(shape) - 1, 1).bit_length())
    place = np.empty(steps.size, dtype=np.int64)
    place[np.argsort(steps)] = np.arange(steps.size)
    return Partition.of(place)


def _steps(rows: Counts, columns: Counts, bits: int) -> Counts:
    """How many cells of a square of side 2^bits the curve has passed before it comes to each cell.

    From the whole square down to the cells: which quarter, in the order in which the curve takes them, and then the cell's
    place in that quarter, turned as the curve turns it.
    """
    steps = np.zeros(rows.size, dtype=np.int64)
    last = (1 << bits) - 1
    for bit in reversed(range(bits)):
        right, low = columns >> bit & 1, rows >> bit & 1
        steps += (3 * right ^ low) << 2 * bit
        turned = (low == 0) & (right == 1)
        rows, columns = np.where(turned, last - rows, rows), np.where(turned, last - columns, columns)
        rows, columns = np.where(low == 0, columns, rows), np.where(low == 0, rows, columns)
    return steps
