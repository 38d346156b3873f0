"""Which box of cells each query adds up, for workloads whose queries are all boxes."""

from __future__ import annotations

import numpy as np

from jostle.kernel.partition import Counts
from jostle.kernel.strategies import Blocks, Boxes, Identity, Prefix, Stack, Strategy
from jostle.kernel.strategies.cells import Total

Ends = tuple[Counts, Counts]
"""Where boxes begin and end (half-open), one row per box and one column per axis."""


def boxes_of(queries: Strategy) -> Ends | None:
    """The boxes; None if there is a query that is not a box.

    >>> from jostle.kernel.strategies import prefix
    >>> boxes_of(prefix(3))[1].tolist()
    [[1], [2], [3]]
    """
    shape = np.array(queries.shape)
    if isinstance(queries, Identity):
        lows = np.stack(np.unravel_index(np.arange(queries.size), queries.shape), axis=1)
        return lows, lows + 1
    if isinstance(queries, Prefix):
        return np.zeros((queries.rows, 1), dtype=np.int64), np.arange(1, queries.rows + 1)[:, np.newaxis]
    if isinstance(queries, Total):
        return np.zeros((1, shape.size), dtype=np.int64), shape[np.newaxis]
    if isinstance(queries, Boxes):
        return queries.lows, queries.highs
    if isinstance(queries, Blocks):
        return _blocks(queries)
    if isinstance(queries, Stack) and queries.unit == 1 and set(queries.factors) == {1}:
        parts = [boxes_of(part) for part in queries.parts]
        known = [part for part in parts if part is not None]
        if len(known) == len(parts):
            return np.concatenate([part[0] for part in known]), np.concatenate([part[1] for part in known])
    return None


def _blocks(queries: Blocks) -> Ends | None:
    """The groups, if each has as many cells as the least box around it."""
    labels, dimensions = queries.partition.labels, len(queries.shape)
    cells = np.stack(np.unravel_index(np.arange(queries.size), queries.shape), axis=1)
    lows = np.tile(np.array(queries.shape), (queries.rows, 1))
    highs = np.zeros((queries.rows, dimensions), dtype=np.int64)
    np.minimum.at(lows, labels, cells)
    np.maximum.at(highs, labels, cells + 1)
    filled = np.bincount(labels, minlength=queries.rows) == np.prod(highs - lows, axis=1)
    return (lows, highs) if filled.all() else None
