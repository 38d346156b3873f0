"""Quantiles of a column per group: each group's distribution function is measured, and all quantiles are read from it.

Privacy: a row is in one combination of a group and a cell of the column. The counts of all combinations are one source,
which is split by group: charged once, since a row is in one part. Reading quantiles is post-processing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from jostle import algorithms, workloads
from jostle.answers.quantiles_and_top import Quantiles
from jostle.answers.release import answered
from jostle.kernel.budget import Price
from jostle.kernel.errors import InternalError
from jostle.kernel.partition import Partition, Vector
from jostle.kernel.source import ReleaseSource
from jostle.schema import Numeric
from jostle.schema.rows import distinct_names
from jostle.tables.aggregates import Aggregate
from jostle.tables.columns import EngineColumns
from jostle.tables.question import FINE, fine_cells, numeric, quantile_workload

if TYPE_CHECKING:
    from jostle.answers.answer import Answer
    from jostle.tables.table import Table
    from jostle.tables.view import View

MOST_COUNTS = 2**19
"""The groups have at most this many cells of the column together: with many groups, the column has coarser ones."""

COARSEST = 64

ERROR = 10.0
"""The squared error of a rank, in that of a count at the same ε: about right for some thousand cells."""

Grouping = Callable[["list[View]", str], tuple[EngineColumns, tuple[str, ...]]]
"""Makes the columns of some views with one more column, and names the attributes that say which group a row is in."""


@dataclass(frozen=True)
class GroupQuantiles:
    """All quantiles of one column, for every group."""

    table: Table
    column: str
    aggregates: Mapping[str, Aggregate]
    cells: Numeric
    name: str
    """The column in its fine cells."""

    columns: EngineColumns
    by: tuple[str, ...]

    @classmethod
    def of(
        cls, table: Table, column: str, aggregates: Mapping[str, Aggregate], groups: int, grouped: Grouping
    ) -> GroupQuantiles:
        cells = fine_cells(numeric(table.schema, column), max(COARSEST, min(FINE, MOST_COUNTS // groups)))
        [name] = distinct_names([f"{column} in cells"], table.schema)
        rows = table._with([view.foreseen(column) for view in table._views]).derive(name, lambda form: form[column], cells)
        columns, by = grouped([*rows._views], name)
        return cls(table, column, aggregates, cells, name, columns.in_groups(by), by)

    def check(self) -> None:
        """Raise if an engine would refuse to count. No row is looked at."""
        self.columns.check([*self.by, self.name])

    def release(self, price: Price | None, note: str) -> tuple[Answer, dict[str, tuple[Vector, Vector, Vector]]]:
        """One of the groups' answers, for what was paid; and per aggregate, the quantiles and their intervals."""
        source = self.table._budget
        records, token = source.records(self.columns, price, note=note)
        counts = records.vector(*self.by, self.name)
        groups = math.prod(counts.shape[:-1])
        workload = quantile_workload(self.cells.size)
        levels = tuple(sorted({float(one.level or 0) for one in self.aggregates.values()}))
        found = []
        for part, share in counts.split(Partition.of(np.repeat(np.arange(groups), self.cells.size)), token):
            if not isinstance(part, ReleaseSource):
                raise InternalError("a part of a release is no release")
            plan = algorithms.get("OPT")
            released = answered(
                part, share, workload, plan, "", remaining=lambda: source.remaining, tunables={}, of_part=True
            )
            found.append(Quantiles(column=self.column, levels=levels, cells=self.cells, release=released, **released.price))
        # The error is the same on all data, so one simulation is for all groups.
        errors = found[0].release.simulated_errors(workloads.prefix(self.cells.size))
        values = np.array([one.values for one in found])
        low, high = np.moveaxis(np.array([one.ends_by(errors) for one in found]), 1, 0)
        places = {name: levels.index(float(one.level or 0)) for name, one in self.aggregates.items()}
        return found[-1], {name: (values[:, at], low[:, at], high[:, at]) for name, at in places.items()}
