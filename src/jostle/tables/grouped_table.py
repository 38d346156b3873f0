"""A table with columns to group by, and no aggregates yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jostle.answers.grouped import GroupedAnswers
from jostle.tables.aggregates import Aggregate
from jostle.tables.groups import GroupsQuestion

if TYPE_CHECKING:
    from jostle.tables.table import Table


@dataclass(frozen=True, repr=False)
class GroupedTable:
    """A table with columns to group by: `table.group_by("ward", "sex").aggregate(n=count(), epsilon=1)`."""

    table: Table
    columns: tuple[str, ...]
    keys: Any = None

    def aggregate(
        self,
        *,
        epsilon: Any = None,
        within: float | None = None,
        weights: Mapping[str, float] | None = None,
        **named: Aggregate,
    ) -> GroupedAnswers:
        """Aggregates of every group, by names of your choice, at one price.

        ε is divided so that the sum of squared errors, each relative to its column's range, is least. `weights` say how much
        an aggregate's squared error counts, `weights={"average": 4}`.
        """
        return self.ask(weights=weights, **named).release(epsilon=epsilon, within=within)

    def ask(self, *, weights: Mapping[str, float] | None = None, **named: Aggregate) -> GroupsQuestion:
        """The question behind `aggregate`, to preview before it is paid for."""
        return GroupsQuestion(self.table, self.columns, named, weights=weights, keys=self.keys)

    def __repr__(self) -> str:
        return f"<{self.table.name!r} grouped by {', '.join(self.columns) or 'nothing'}>"
