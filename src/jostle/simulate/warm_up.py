"""Compile every inner loop now, so that the first answer does not wait for it: `python -m jostle.simulate.warm_up`."""

from __future__ import annotations

import numpy as np

from jostle import algorithms
from jostle.algorithms.registry import TASKS
from jostle.linear import workloads
from jostle.simulate.runner import errors


def warm_up() -> int:
    """Run every algorithm once on a tiny input of each kind, and give the number of runs."""
    runs = 0
    for name, found in algorithms.every().items():
        for task in found.tasks:
            shape = (64,) if TASKS[task] == 1 else (8, 8)  # large enough for long queries, which some plans treat apart
            for workload in (workloads.identity(shape), workloads.rectangles(shape, [[0] * len(shape)], [shape])):
                errors(name, np.arange(64).reshape(shape), workload, 1, trials=1, seed=0)
                runs += 1
    return runs


if __name__ == "__main__":
    warm_up()
