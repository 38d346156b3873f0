"""Exact privacy loss of plans: what was released on some counts or records is replayed on neighbouring ones."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from jostle.audit.replay.compare import difference
from jostle.audit.replay.subjects.counts import neighbour as changed
from jostle.audit.replay.tape import Diverged, Recording, Replay, Tape, TapeAccount
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.records import ReleaseRecords
from jostle.kernel.source import ReleaseSource

Plan = Callable[[Any, Any], Any]
"""From a source and a token to what is released."""


def of_counts(x: np.ndarray, neighbours: Neighbours, tape: Tape) -> Any:
    """A source over counts whose draws are on a tape."""
    purse = TapeAccount(tape, Neighbours(neighbours.relation, neighbours.rows)).purse()
    return ReleaseSource(x, purse=purse, filtered=neighbours.filtered)


def of_records(columns: Any, neighbours: Neighbours, tape: Tape) -> Any:
    """The same over records."""
    purse = TapeAccount(tape, Neighbours(neighbours.relation, neighbours.rows)).purse()
    return ReleaseRecords(columns, purse=purse)


def lost(
    plan: Plan, x: Any, y: Any, neighbours: Neighbours, epsilon: Fraction, seed: int, source: Callable[..., Any] = of_counts
) -> float:
    """How far what a plan released on x tells it from y at most, as a logarithm.

    Whatever depends on the counts other than through noise leads to other questions or another answer, which is noticed.
    """
    tape = Recording(seed)
    first = source(x, neighbours, tape)
    released = plan(first, first.grant(epsilon))
    replay = Replay(tape)
    second = source(y, neighbours, replay)
    try:
        again = plan(second, second.grant(epsilon))
        replay.end()
    except Diverged:
        again = None
    assert not replay.problems, replay.problems
    assert difference(released, again) is None, difference(released, again)
    return replay.total


def neighbour(x: np.ndarray, relation: Neighbours, rng: np.random.Generator) -> np.ndarray:
    """The same counts after one person came, went or changed all records."""
    return changed(x, relation, rng)
