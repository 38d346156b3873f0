"""A frame: which rows are counted in which cell, as a sum over columns of what a row's state adds to the cell's number.

Frames of different questions about the same rows can be compared state by state: one may have cells that are unions of
another's, whatever words were used for either.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from jostle.kernel.partition import Counts
from jostle.tables.memory.states import LEFT_OUT, KnownRows, StateColumn, digest

Offsets = Mapping[str, Counts]
"""Per root, what each of its states adds to the number of a row's cell; −1 where such rows are left out."""


@dataclass(frozen=True)
class Frame:
    """Cells of counted rows."""

    offsets: Offsets
    size: int
    """The number of cells."""

    @cached_property
    def key(self) -> str:
        """What tells it from other frames."""
        return digest("frame", self.size, sorted((root, one.tolist()) for root, one in self.offsets.items()))

    @cached_property
    def roots(self) -> tuple[str, ...]:
        return tuple(sorted(self.offsets))

    def keeps_all(self, root: str) -> bool:
        """Whether rows in all states of a root are counted."""
        return root not in self.offsets or bool((self.offsets[root] != LEFT_OUT).all())

    def counts_same_rows(self, other: Frame) -> bool:
        """Whether exactly the same rows are counted by both, whatever the cells."""
        for root in {*self.roots, *other.roots}:
            mine, others = ((one.offsets[root] != LEFT_OUT) if root in one.offsets else None for one in (self, other))
            if mine is None or others is None:
                if not (self.keeps_all(root) and other.keeps_all(root)):
                    return False
            elif not np.array_equal(mine, others):
                return False
        return True


def frame_of(rows: KnownRows, axes: Sequence[tuple[StateColumn, int]]) -> Frame:
    """The cells of some columns, each with the number of its cells, the last one's changing fastest.

    >>> from jostle.schema import Category
    >>> from jostle.tables.memory.states import declared_column
    >>> sex = declared_column("sex", Category(["F", "M"], null="drop"))
    >>> frame = frame_of(KnownRows({"sex": sex}, {}), [(sex, 3)])
    >>> frame.size, frame.offsets[sex.root].tolist()
    (3, [0, 1, 2, -1])
    """
    offsets: dict[str, Counts] = {}
    size = 1
    for column, cells in reversed(axes):
        before = offsets.get(column.root, np.zeros(column.states, dtype=np.int64))
        left_out = (column.cells < 0) | (before < 0)
        offsets[column.root] = np.where(left_out, LEFT_OUT, before + column.cells * size)
        size *= cells
    for root, states in rows.kept.items():
        before = offsets.get(root, np.zeros(len(states), dtype=np.int64))
        offsets[root] = np.where(states, before, LEFT_OUT)
    # A root that neither leaves out rows nor tells cells apart says nothing.
    return Frame({root: one for root, one in sorted(offsets.items()) if one.any()}, size)
