"""Sums and means of one column, over all rows or per cell of another column: aggregates with answers of their own."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from jostle.answers.previews import Preview
from jostle.answers.released_numbers import ReleasedNumber, ReleasedNumbers
from jostle.kernel.arguments import check_one_of
from jostle.kernel.errors import BadInput
from jostle.tables.aggregates import Aggregate
from jostle.tables.group_arguments import MOST_GROUPS
from jostle.tables.groups import GroupsQuestion
from jostle.tables.question import Question, numeric

if TYPE_CHECKING:
    from jostle.tables.table import Table


class SumOrMeanQuestion(Question[ReleasedNumber | ReleasedNumbers]):
    """A sum or a mean of a column, over all rows or per cell of another column."""

    in_rho = True

    def __init__(self, table: Table, kind: Literal["sum", "mean"], name: str, by: str | None = None) -> None:
        check_one_of(kind, "kind", ("sum", "mean"))
        self.table, self.kind, self.name, self.by = table, kind, name, by
        declared = numeric(table.schema, name)
        if by is not None and table.schema.column(by).size > MOST_GROUPS:
            raise BadInput("by", f"{by!r} has more than {MOST_GROUPS} cells", "group by a coarser column")
        self.what = f"{kind} of {name}" + (f" by {by}" if by else "")
        self._of_groups = GroupsQuestion(table, [by] if by else [], {kind: Aggregate(kind, name)}, what=self.what)
        self._between = (float(declared.low), float(declared.high)) if kind == "mean" else (-np.inf, np.inf)

    def preview(self, *, epsilon: Any, rows: int | None = None) -> Preview:
        """How far off a sum would be; or a mean if there are this many rows in total: how many there really are is private.

        With `by`, they are taken to be spread evenly over the groups.
        """
        if self.kind == "mean" and rows is None:
            problem = "a mean's error depends on the number of rows, which is private and unknown before the release"
            raise BadInput("rows", problem, "say about how many you expect, for instance rows=1000")
        found = self._of_groups.preview(epsilon=epsilon, rows=rows)
        named = {"algorithm": found.algorithm, "stand_in": found.stand_in, "measure": found.measure}
        named["assumed"] = found.assumed
        return Preview(epsilon=found.epsilon, margin=found.margin, widest=found.margin, **named)

    def check(self, epsilon: Any) -> None:
        """Refuse an ε for which noise cannot be drawn, before anything is charged or read."""
        self._of_groups.check(epsilon)

    def epsilon_within(self, within: Any) -> Fraction:
        """The ε at which a sum is expected to be that close, in 95 of 100 cases."""
        if self.kind == "mean":
            problem = "a mean's error depends on the number of rows, which is private, so that no ε follows from it"
            raise BadInput("within", problem, "say what the mean may cost, for instance epsilon=0.1")
        return self._of_groups.epsilon_within(within)

    def _release(self, epsilon: Any) -> ReleasedNumber | ReleasedNumbers:
        found = self._of_groups.release(epsilon=epsilon)
        values, margins = found.values[self.kind], found.margins[self.kind]
        fields: dict[str, Any] = {"what": self.what, "between": self._between, **found.price}
        if self.by is None:
            return ReleasedNumber(value=float(values[0]), margin=float(margins[0]), **fields)
        fields["reading"] = found.readings.get(self.kind)
        return ReleasedNumbers(name=self.kind, about=dict(found.labels), answers=values, margins=margins, **fields)
