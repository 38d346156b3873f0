"""Private cuts: numbers are cut anew where records lie, so that a few values far out do not leave most cells empty."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from jostle.kernel.budget import Budget
from jostle.kernel.errors import InternalError
from jostle.kernel.partition import Counts
from jostle.kernel.records import Records
from jostle.kernel.strategies import identity
from jostle.learn.grids import fits
from jostle.learn.registry import FloatArray, IntArray, Model
from jostle.learn.task import Task
from jostle.schema import Column, Real
from jostle.schema.columns import Numeric

DEAREST, CHEAPEST = 10, 3
"""The price of the cuts, in percent of the budget: the less, the more records there are for ε, see `price`."""

PLENTY, ENOUGH = 50.0, 6.0
"""A price buys each number up to PLENTY records times its part of ε; below ENOUGH of them, nothing is cut anew.

Found on collected tables with evenly wide cells: where numbers are skewed, even 5 pay, and more than 50 hardly help.
"""

FOR_GRIDS: Final = 50
"""Where a grid may be laid, this many times as many are needed: noisy cuts bend the space that a grid smooths over."""

FEWEST: Final = 16
"""Numbers with at most this many cells keep them."""

SECOND, CELLS, FINER = 24, 32, 96
"""About how many cells are counted the second time, and how many a number has in the end: more if a grid may be laid."""

FLAT: Final = 0.25
"""This share of a number's new cells is placed evenly, the others where the records are."""


@dataclass(frozen=True)
class CutModel:
    """A model of numbers that were cut anew."""

    model: Model
    """The model of the new cells."""

    tables: Mapping[str, Counts]
    """For each number that was cut anew, the new cell of each of the schema's cells."""

    def scores(self, codes: Mapping[str, IntArray]) -> FloatArray:
        return self.model.scores({**codes, **{name: table[codes[name]] for name, table in self.tables.items()}})

    def describe(self) -> str:
        listed = ", ".join(self.tables)
        return f"{self.model.describe()}\nCut where the records are, by noisy counts: {listed}."


@dataclass(frozen=True)
class Recut:
    """Records and a task whose numbers were cut anew."""

    records: Records
    task: Task
    tables: Mapping[str, Counts]

    def model(self, found: Model) -> Model:
        """A model of these records, as one of the original task's codes."""
        return CutModel(found, self.tables) if self.tables else found


def measured_numbers(task: Task) -> tuple[str, ...]:
    """The attributes that can be cut anew."""
    return tuple(name for name in task.attributes if task.is_numeric(name) and task.known(name) > FEWEST)


def price(task: Task, total: float, rate: float) -> int:
    """The percentage of the budget that cuts are worth, for a number of records that was paid for; 0 if they are not.

    >>> from jostle.schema import Boolean, Integer
    >>> task = Task(("age", "hurt"), "sick", {"age": Integer(0, 99), "hurt": Boolean(), "sick": Boolean()})
    >>> price(task, 50.0, 1.0), price(task, 200.0, 1.0), price(task, 1_000.0, 1.0), price(task, 1e6, 1.0)
    (0, 10, 5, 3)
    """
    numbers = len(measured_numbers(task))
    enough = ENOUGH * FOR_GRIDS if fits(task) else ENOUGH
    if not numbers or total * rate * DEAREST / 100 / numbers < enough:
        return 0
    return int(np.clip(round(100 * PLENTY * numbers / (total * rate)), CHEAPEST, DEAREST))


def recut(records: Records, task: Task, budget: Budget) -> Recut:
    """The records with new cuts of every number that has many cells.

    Each number is counted twice: in about 16 cells that are even in the middle and narrow at both ends, then in about 24
    that follow the first counts. The new cells hold about equally many records by the second; some are placed evenly.

    Privacy: two Laplace measurements per number, one after the other, each with its share of the budget. The cells of the
    second follow from the first; cuts follow from both, so they are post-processing (docs/proofs/records.md, derive).
    """
    numbers = measured_numbers(task)
    shares = budget.split(*[share for _ in numbers for share in (2, 3)])
    columns, tables = dict(task.columns), dict[str, Counts]()
    for place, name in enumerate(numbers):
        known = task.known(name)
        starts = _spread(known)
        mass = np.full(known, 0.0)
        for token in shares[2 * place : 2 * place + 2]:
            mass = _counted(records, task, name, starts, token)
            starts = _starts(mass, SECOND)
        starts = _starts(mass, FINER if fits(task) else CELLS)
        tables[name] = _table(task, name, starts)
        columns[name] = _column(task.columns[name], starts)
        records = records.derive(name, [name], tables[name])
    return Recut(records, Task(task.attributes, task.label, columns), tables)


def _spread(known: int) -> IntArray:
    """Where cells begin that are even in the middle and halve towards both ends.

    >>> _spread(256).tolist()
    [0, 1, 2, 4, 8, 16, 32, 64, 96, 128, 160, 192, 224, 240, 248, 252, 254, 255]
    """
    ends = known / 2.0 ** np.arange(3, 9)
    places = np.concatenate([ends, known - ends, known * np.arange(2, 7) / 8])
    return np.unique(np.append(0, np.round(places).astype(np.int64).clip(0, known - 1)))


def _counted(records: Records, task: Task, name: str, starts: IntArray, budget: Budget) -> FloatArray:
    """About how many records each of the schema's cells holds: noisy counts of wider cells, spread evenly within each."""
    table = _table(task, name, starts)
    vector = records.derive("(counted)", [name], table).vector("(counted)")
    strategy = identity(vector.shape)
    noise = vector.noise_scale(strategy, budget)
    counts = np.maximum(vector.measure(strategy, budget)[: starts.size] - noise, 0)  # most cells may be empty
    widths = np.diff(starts, append=task.known(name))
    return np.repeat(counts / widths, widths)


def _starts(mass: FloatArray, cells: int) -> IntArray:
    """Where cells begin that hold about equally many records; some are placed evenly, and none is narrower than a cell."""
    even = np.full(mass.size, 1 / mass.size)
    share = mass / mass.sum() if mass.sum() > 0 else even
    reached = np.cumsum(FLAT * even + (1 - FLAT) * share)
    places = np.searchsorted(reached, np.arange(1, cells) / cells - 1e-12) + 1
    return np.unique(np.append(0, places[places < mass.size]))


def _table(task: Task, name: str, starts: IntArray) -> Counts:
    """The new cell of each of an attribute's cells. Values that the schema does not name keep theirs, after the others."""
    known = task.known(name)
    table = np.searchsorted(starts, np.arange(known), side="right") - 1
    return np.append(table, starts.size + np.arange(task.sizes[name] - known)).astype(np.int64)


def _column(column: Column, starts: IntArray) -> Real:
    """The same numbers between new cuts."""
    if not isinstance(column, Numeric):
        raise InternalError("only numbers are cut")
    edges = column.edges
    cuts = [float(edges[start]) for start in starts[1:]]
    return Real(
        float(edges[0]), float(edges[-1]), cuts=cuts, outside=column.outside, null=column.null, missing=column.missing
    )
