"""Which attributes matter to a model: computed from what was released, so it costs nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from jostle.kernel.partition import Counts
from jostle.learn.registry import Model
from jostle.learn.task import Task

RECORDS: Final = 4_000
"""So many records are made up: means over them are off by less than two hundredths."""


def importances(model: Model, task: Task) -> dict[str, float]:
    """For each attribute, how far predictions move if its value is drawn anew: 0 for one that the model does not look at.

    Values are drawn evenly from those that the schema names; of a number that was cut anew, evenly from its new cells. The
    distance is total variation, at most 1.

    Privacy: only the model, which was released, and the schema are looked at.
    """
    draw, cuts = np.random.default_rng(0), _cuts(model)
    made = {name: _drawn(task, name, cuts, draw) for name in task.attributes}
    before, found = model.scores(made), dict[str, float]()
    for name in task.attributes:
        after = model.scores({**made, name: _drawn(task, name, cuts, draw)})
        found[name] = float(np.abs(after - before).sum(axis=1).mean() / 2)
    return dict(sorted(found.items(), key=lambda one: -one[1]))


def _cuts(model: Model) -> Mapping[str, Counts]:
    """The new cell of each cell, for numbers that were cut anew."""
    from jostle.learn.classifier import ChosenModel
    from jostle.learn.cuts import CutModel

    inner = model.model if isinstance(model, ChosenModel) else model
    return inner.tables if isinstance(inner, CutModel) else {}


def _drawn(task: Task, name: str, cuts: Mapping[str, Counts], draw: np.random.Generator) -> Counts:
    """Values of an attribute, as codes."""
    if name not in cuts:
        return draw.integers(0, task.known(name), RECORDS)
    table = cuts[name][: task.known(name)]  # it increases: the first of the cells that a new one is made of stands for it
    return np.searchsorted(table, draw.integers(0, int(table.max()) + 1, RECORDS))
