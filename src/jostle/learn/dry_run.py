"""A run on nobody's records, before anybody's are touched: what a plan would refuse is refused while nothing is charged."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from jostle.kernel.columns import ArrayColumns
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.records import SimulatedRecords
from jostle.learn.registry import Learner
from jostle.learn.task import Task


def rehearse(
    found: Learner,
    task: Task,
    neighbours: Neighbours,
    epsilon: object,
    tunables: Mapping[str, Any],
    *,
    release: bool = True,
) -> None:
    """Raise what a run would raise about its arguments: a learner may see only on the way that they do not go together.

    Where the way depends on noise, a rehearsal sees one way of several. Being a simulation, it would not see what a learner
    refuses in a release alone: that is asked for before.

    Privacy: no record is looked at.
    """
    if release:
        found.check_release(tunables)
    nobody = ArrayColumns({name: np.zeros(0, dtype=np.int64) for name in task.sizes}, task.sizes)
    records = SimulatedRecords(nobody, seed=0, neighbours=neighbours, filtered=True)
    found.run(records, task, records.grant(epsilon), **tunables)
