"""Which attributes matter to a model: computed from what was released, so it costs nothing."""

from __future__ import annotations

from typing import Final

import numpy as np

from jostle.learn.registry import Model
from jostle.learn.task import Task

RECORDS: Final = 4_000
"""So many records are made up: means over them are off by less than two hundredths."""


def importances(model: Model, task: Task) -> dict[str, float]:
    """For each attribute, how far predictions move if its value is drawn anew: 0 for one that the model does not look at.

    Values are drawn evenly from those that the schema names. The distance is total variation, at most 1.

    Privacy: only the model, which was released, and the schema are looked at.
    """
    draw = np.random.default_rng(0)
    made = {name: draw.integers(0, task.known(name), RECORDS) for name in task.attributes}
    before, found = model.scores(made), dict[str, float]()
    for name in task.attributes:
        after = model.scores({**made, name: draw.integers(0, task.known(name), RECORDS)})
        found[name] = float(np.abs(after - before).sum(axis=1).mean() / 2)
    return dict(sorted(found.items(), key=lambda one: -one[1]))
