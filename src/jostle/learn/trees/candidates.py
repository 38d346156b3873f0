"""The splits that a tree may use: public, from the task alone."""

from __future__ import annotations

from typing import Literal

import numpy as np

from jostle.kernel.errors import BadInput
from jostle.kernel.partition import Counts
from jostle.kernel.records import Records, Split
from jostle.learn._cells import foreseen
from jostle.learn.registry import FloatArray
from jostle.learn.task import Task, once_a_task
from jostle.learn.trees.choice_points import NODE, Candidates

Ways = Literal["all", "one", "both"]
"""How categories are split: into all values at once, one against the rest, or as either."""

WIDEST = 4096
"""A category with more values than this is not split by: so many nodes would hold nothing but noise."""


def candidates_for(records: Records, task: Task, *, bins: int = 32, ways: Ways = "all") -> tuple[Records, Candidates]:
    """The splits of a task, and records with coarser attributes where numbers have more than so many cells.

    A category is split into all its values at once, or into one value and the rest; a number is cut in two. A category with
    very many values is not split by. Values that the schema does not foresee share a branch of a category, and go with the
    low ones of a number.
    """
    check_names(task)
    coarser, candidates = _candidates(task, bins, ways)
    for name, attribute, table in coarser:
        records = records.derive(name, (attribute,), table)
    return records, candidates


@once_a_task
def _candidates(task: Task, bins: int, ways: Ways) -> tuple[list[tuple[str, str, Counts]], Candidates]:
    """The coarser attributes, each with the one that it comes from and the cell of each of its values; and the splits."""
    coarser: list[tuple[str, str, Counts]] = []
    counted: list[Split] = []
    routed: list[Split] = []
    prior: list[float] = []
    for attribute in task.attributes:
        table, weights, tables = (
            _numeric(task, attribute, bins) if task.is_numeric(attribute) else _category(task, attribute, ways)
        )
        name = attribute
        if not np.array_equal(table, np.arange(table.size)):
            name = f"({attribute} in {table.max() + 1})"
            table.setflags(write=False)
            coarser.append((name, attribute, table))
        counted += [Split(name, branches) for branches in tables]
        routed += [Split(attribute, branches[table]) for branches in tables]
        prior += weights.tolist()
    if not counted:  # nothing tells records apart: a split into one branch, which is never allowed
        whole = Split(task.attributes[0], np.zeros(task.sizes[task.attributes[0]], dtype=np.int64))
        counted, routed, prior = [whole], [whole], [1.0]
    return coarser, Candidates(
        tuple(counted),
        tuple(routed),
        np.array(prior),
        branches=max(split.arity for split in counted),
    )


def check_names(task: Task) -> None:
    """Raise, before anything is charged, if a column has the name of the attribute that trees sort records by."""
    if NODE in task.columns:
        raise BadInput("attributes", f"{NODE!r} is what trees call their nodes", "call the column something else")


def _numeric(task: Task, attribute: str, bins: int) -> tuple[Counts, FloatArray, list[Counts]]:
    """The cell of each value, and the cuts between cells, each weighing as much as the cut points that it stands for."""
    size, values = task.sizes[attribute], foreseen(task, attribute)
    cells = min(bins, values)
    table = np.append(np.arange(values) * cells // values, np.zeros(size - values, dtype=np.int64))
    edges = task.columns[attribute].edges  # type: ignore[attr-defined]
    wide = np.bincount(table[:values], weights=np.diff(edges), minlength=cells)
    widths = wide[:-1] + wide[1:]
    cuts = [(np.arange(cells) >= cut).astype(np.int64) for cut in range(1, cells)]
    return table, widths / max(widths.sum(), 1e-300), cuts


def _category(task: Task, attribute: str, ways: Ways) -> tuple[Counts, FloatArray, list[Counts]]:
    """The cell of each value, and one split into all of them, or one for each against the rest."""
    cells = np.arange(task.sizes[attribute])
    table = np.minimum(cells, foreseen(task, attribute))
    size = int(table.max()) + 1
    singles = [(np.arange(size) == value).astype(np.int64) for value in range(size)] if size > 2 else []
    tables = {"all": [np.arange(size)], "one": singles or [np.arange(size)], "both": [np.arange(size), *singles]}[ways]
    weights = (
        np.array([branches.max() == size - 1 for branches in tables]) / 2
        if singles and ways == "both"
        else np.zeros(len(tables))
    )
    weights[weights == 0] = (1 - weights.sum()) / max((weights == 0).sum(), 1)
    return (table, weights, tables) if 1 < size <= WIDEST else (table, weights[:0], [])
