"""Trying a claim about scores on public data, before it is relied on for private data."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from jostle.kernel.errors import BadInput
from jostle.kernel.partition import Vector
from jostle.mechanisms.arguments import Moves, finite_scores

_TOLERANCE = 1e-9


def check_scores(
    score: Callable[[Sequence[Any]], Any],
    records: Sequence[Any],
    *,
    sensitivity: Any,
    monotone: bool = False,
    others: Sequence[Any] = (),
) -> None:
    """Raise if a score function moves further, or less uniformly, than is claimed, on neighbours of these public records.

    Monotone scores are never lowered by a record that is added, whichever it is; or never raised.

    No proof, and no charge: it tries every record that may be removed, every one of `others` (by default the records
    themselves) that may be added, and every replacement of the one by the other. A claim that passes here may still be
    false elsewhere; one that fails is false.

    >>> def distances(ages):  # from each candidate to the mean age: some fall while others rise
    ...     return [-abs(sum(ages) / 100 - candidate) for candidate in (20, 40, 60)]
    >>> check_scores(distances, [30, 50] * 40, sensitivity=1, monotone=True, others=[0, 100])
    Traceback (most recent call last):
    jostle.kernel.errors.BadInput: monotone: is claimed, but added records move some scores up and others down. Remedy: leave
    monotone out: the noise doubles.
    """
    moves, records = Moves.of(sensitivity, monotone=monotone), list(records)
    start = finite_scores(score(records))
    highest = lowest = 0.0  # what adding a record does to a score, over all records
    for neighbour, added in _neighbours(records, list(others) or records):
        change = finite_scores(score(neighbour)) - start
        slack = _check_size(change, float(moves.add_remove if added else moves.replace))
        highest = max(highest, (added * change).max(initial=0.0))
        lowest = min(lowest, (added * change).min(initial=0.0))
        if monotone and highest > slack and lowest < -slack:
            problem = "is claimed, but added records move some scores up and others down"
            raise BadInput("monotone", problem, "leave monotone out: the noise doubles")


def _check_size(change: Vector, allowed: float) -> float:
    slack = _TOLERANCE * max(1.0, allowed)
    if np.abs(change).max(initial=0.0) > allowed + slack:
        raise BadInput(
            "sensitivity", f"is stated as {allowed:g}, and one record moves a score further", "state a larger one"
        )
    return slack


def _neighbours(records: list[Any], others: list[Any]) -> Iterator[tuple[list[Any], int]]:
    """Each with how many records more it has."""
    for other in others:
        yield [*records, other], 1
    for index in range(len(records)):
        rest = records[:index] + records[index + 1 :]
        yield rest, -1
        for other in others:
            yield [*rest, other], 0
