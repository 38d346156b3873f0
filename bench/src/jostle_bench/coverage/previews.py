"""How the margins that previews show compare with those that are released."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np

from jostle import algorithms
from jostle.answers.previews import preview
from jostle.kernel.neighbours import Neighbours
from jostle_bench.coverage.inputs import asked
from jostle_bench.coverage.measuring import Cell, Coverage


def foretold(found: Sequence[Coverage]) -> dict[Cell, float]:
    """Per line of the table, the preview's margin over the median released one: the median over data sets."""
    ratios: dict[Cell, list[float]] = {}
    for one in found:
        typical = np.median(one.margins, axis=1)
        shown = expected(one.cell, one.records)
        ratios.setdefault(one.cell, []).extend(shown / np.maximum(typical, 1e-9))
    return {cell: float(np.median(each)) for cell, each in ratios.items()}


@cache
def expected(cell: Cell, records: int) -> float:
    """The margin of a typical answer, by the preview for this many rows."""
    workload = asked("ranges" if cell.workload == "rectangles" else cell.workload, cell.shape)
    relation = Neighbours.of(cell.neighbours)
    return preview(algorithms.get(cell.algorithm), workload, cell.price, relation, {}, records).margin
