"""Compile every inner loop now, so that the first answer does not wait for it: `python -m jostle.simulate.warm_up`."""

from __future__ import annotations

import numpy as np

from jostle import algorithms
from jostle.algorithms.registry import TASKS
from jostle.kernel.columns import ArrayColumns
from jostle.kernel.objective import Additive
from jostle.kernel.records import SimulatedRecords
from jostle.linear import workloads
from jostle.simulate.runner import errors


def warm_up() -> int:
    """Run every algorithm once on a tiny input of each kind, minimise one loss of records, and give the number of runs."""
    codes = np.array([0, 1])
    records = SimulatedRecords(ArrayColumns({"a": codes, "class": codes}, {"a": 2, "class": 2}), seed=0)
    records.minimise(Additive("class", {"a": np.eye(2)}, ridge=10), records.grant(1))
    runs = 1
    for name, found in algorithms.every().items():
        for task in found.tasks:
            shape = (64,) if TASKS[task] == 1 else (8, 8)  # large enough for long queries, which some plans treat apart
            for workload in (workloads.identity(shape), workloads.rectangles(shape, [[0] * len(shape)], [shape])):
                errors(name, np.arange(64).reshape(shape), workload, 1, trials=1, seed=0)
                runs += 1
    return runs


if __name__ == "__main__":
    warm_up()
