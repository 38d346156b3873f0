"""Synthetic tables of private ones: all columns at once, for one price.

Privacy: the records are read once, after the first charge, in the form of cells; each person's rows are bounded before.
The plan (`jostle.synthetic.synthesizer`) sees only the kernel's record source.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jostle.answers.answer import paid_with
from jostle.answers.previews import Preview, checked_rows
from jostle.answers.synthetic_table import SyntheticTable
from jostle.kernel.arguments import check_whole
from jostle.kernel.budget import Price
from jostle.kernel.errors import BadInput
from jostle.linear.fitting.marginals import margins_of_cells
from jostle.linear.laws import NoiseLaw
from jostle.schema import Column, Text
from jostle.schema.rows import Rows
from jostle.synthetic.domain import plain_values
from jostle.synthetic.junction_tree import Clique
from jostle.synthetic.select import default_workload
from jostle.synthetic.strategies import named
from jostle.synthetic.synthesizer import share_of_singles, synthesize, try_out
from jostle.tables.columns import EngineColumns
from jostle.tables.marginals import law_of_a_cell
from jostle.tables.notes import notes_on
from jostle.tables.question import Question

if TYPE_CHECKING:
    from jostle.tables.table import Table

MOST_RECORDS = 10**8
"""The most synthetic records that are drawn."""

MOST_CELLS = 4_096
"""The most cells of a column."""

LABELLED = 4
"""With a label, sets of columns with it count this many times."""

MOST_TOGETHER = 4
"""The most columns of a set of the workload."""


class SynthesisQuestion(Question[SyntheticTable]):
    """A synthetic table with some of a table's columns, or with all of them."""

    in_rho = True

    def __init__(
        self,
        table: Table,
        columns: Sequence[str] = (),
        *,
        rows: Any = None,
        workload: Any = None,
        label: Any = None,
        strategy: Any = None,
    ) -> None:
        self.table = table
        names = tuple(columns) or tuple(name for name, column in table.schema.items() if not isinstance(column, Text))
        if not names or not all(isinstance(name, str) for name in names) or len(set(names)) < len(names):
            raise BadInput("columns", "must be names, each once", "name some columns, or none for all but free texts")
        self.columns: dict[str, Column] = {name: table.schema.column(name) for name in names}
        for name, column in self.columns.items():
            if column.size > MOST_CELLS:
                problem = f"{name!r} has {column.size:,} cells, and a column of a synthetic table has at most {MOST_CELLS:,}"
                raise BadInput("columns", problem, "put it into fewer cells with bin(), or leave it out")
        self.rows = None if rows is None else check_whole(rows, "rows", "leave it out", least=0, most=MOST_RECORDS)
        how: dict[str, Any] = {"workload": _workload(names, workload, label), "predicting": label is not None}
        self._how = how | {"strategy": None if strategy is None else named(strategy).name}
        self.what = f"synthetic table of {', '.join(names)}"

    def preview(self, *, epsilon: Any, rows: int | None = None) -> Preview:
        """How far off counts of single columns would be; those of several columns depend on the data."""
        checked_rows(rows)  # it makes no difference
        price = Price.of(epsilon)
        neighbours = self.table.neighbours.among_filtered()
        laws: dict[tuple[str, ...], NoiseLaw] = {
            (name,): law_of_a_cell(neighbours, price.times(share))
            for name, share in share_of_singles(self.columns, price).items()
        }
        off = [*margins_of_cells({(name,): (column.size,) for name, column in self.columns.items()}, laws).values()]
        named = {"algorithm": "a synthetic table", "stand_in": "a synthetic table", "measure": price.measure}
        return Preview(epsilon=price.amount, margin=float(np.median(off)), widest=float(max(off)), **named)

    def _release(self, epsilon: Any) -> SyntheticTable:
        source = self.table._budget
        columns = EngineColumns.of(self.table._views, [*self.columns]).complete()
        price = source.spent_before_measuring(epsilon) or Price.of(epsilon)
        try_out(self.columns, price, self.table.neighbours, **self._how)
        columns.check()
        records, token = source.records(columns.in_memory(), epsilon, note=self.what)
        found = synthesize(records, self.columns, token, **self._how)
        rng = np.random.default_rng()  # from here on, everything is public
        rows = min(self.rows if self.rows is not None else round(found.total), MOST_RECORDS)
        cells = found.draw(rows, rng)
        return SyntheticTable(
            synthesis=found,
            records=Rows({name: plain_values(self.columns[name], codes, rng).tolist() for name, codes in cells.items()}),
            neighbours=records.neighbours,
            notes=notes_on(self.table.schema, self.table.unit, [*self.columns], view=self.table._views[0]),
            **paid_with(token, lambda: source.remaining),
        )


def _workload(names: Sequence[str], workload: Any, label: Any) -> list[Clique]:
    """Sets of columns by their places: those that are wanted, or all sets of three or two; with a label, each with it."""
    if workload is not None and label is not None:
        raise BadInput("label", "chooses a workload, and so does workload", "pass one of them")
    if label is not None:
        if not isinstance(label, str) or label not in names:
            raise BadInput("label", f"{label!r} is not among the columns", f"use one of {', '.join(names)}")
        place = names.index(label)
        sets = default_workload(len(names))
        return [*sets, *(axes for axes in sets if place in axes for _ in range(LABELLED - 1))]
    if workload is None:
        return default_workload(len(names))
    if isinstance(workload, (str, Mapping)) or not isinstance(workload, Sequence) or not workload:
        raise BadInput("workload", "must be sets of columns", 'pass for instance [("age", "sex"), ("sex", "income")]')
    return [_placed(names, one) for one in workload]


def _placed(names: Sequence[str], one: Any) -> Clique:
    listed = [one] if isinstance(one, str) else list(one) if isinstance(one, Sequence) else [None]
    known = all(isinstance(name, str) and name in names for name in listed)
    if not listed or not known or len(set(listed)) < len(listed):
        raise BadInput("workload", "has a set that is not of the table's columns, each once", f"use {', '.join(names)}")
    if len(listed) > MOST_TOGETHER:
        raise BadInput("workload", f"has a set of more than {MOST_TOGETHER} columns", "ask for smaller sets")
    return tuple(sorted(names.index(name) for name in listed))
