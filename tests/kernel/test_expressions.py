"""Derived bounds of the kernel's rules: every reducer beside every other, over the same entries."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import pytest

from jostle.kernel.functions import expressions as rules
from jostle.kernel.functions.expressions import Term
from jostle.kernel.partition import Partition

CELLS = 3
ENTRIES: dict[str, Callable[[], Term]] = {
    "cells": lambda: rules.cells(CELLS),
    "rising weights": lambda: rules.weighted(rules.cells(CELLS), [1, 2, 4]),
    "weights of both signs": lambda: rules.weighted(rules.cells(CELLS), [2, -1, 1]),
    "groups": lambda: rules.grouped(rules.cells(CELLS), Partition.of([0, 0, 1])),
    "some of the cells": lambda: rules.taken(rules.cells(CELLS), np.array([0, 2])),
}
REDUCERS: dict[str, Callable[[Term], Term]] = {  # looked up when they are called, so that bugs can be planted
    "sum": lambda of: rules.grouped(of, Partition.of([0] * of.entries)),
    "largest": lambda of: rules.largest(of),
    "smallest": lambda of: rules.weighted(rules.largest(rules.weighted(of, [-1])), [-1]),
    "length": lambda of: rules.length(of),
    "spread": lambda of: rules.length(of, centred=True, divisor=of.entries),
    "variation": lambda of: rules.variation(of),
    "deviation": lambda of: rules.deviation(of),
    "how many are not zero": lambda of: rules.grouped(rules.clipped(of, 0, 1), Partition.of([0] * of.entries)),
}
SMALL = [np.array(counts) for counts in itertools.product(range(4), repeat=CELLS)]


def moves(term: Term) -> tuple[int, int]:
    """The most that one record more, and one that is elsewhere, moves a number, over all small vectors."""
    known = {tuple(x.tolist()): int(term.values(x)[0]) for x in SMALL}
    added, moved = 0, 0
    for x, value in known.items():
        more = [tuple(n + (place == cell) for place, n in enumerate(x)) for cell in range(CELLS)]
        found = [known[one] for one in more if one in known]
        added = max([added, *(abs(one - value) for one in found)])
        moved = max([moved, *(abs(one - other) for one, other in itertools.combinations(found, 2))])
    return added, moved


@pytest.mark.parametrize("entries", ENTRIES)
def test_every_reducer_less_every_other_moves_no_further_than_derived(entries: str) -> None:
    """`largest(values) − sum(values)`, for one, where a record moves both in the same direction, or only one."""
    of = ENTRIES[entries]()
    for (one, first), (other, second) in itertools.permutations(REDUCERS.items(), 2):
        term = rules.added(first(of), rules.weighted(second(of), [-1]))
        added, moved = moves(term)
        assert added <= term.reach, f"{one} − {other}: {added} > {term.reach}"
        assert moved <= term.span, f"{one} − {other}: {moved} > {term.span}"
