"""A table with columns to group by, and no aggregates yet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from jostle.answers.grouped import GroupedAnswers
from jostle.answers.quantiles_and_top import Top
from jostle.kernel.arguments import whole
from jostle.kernel.errors import BadInput
from jostle.tables.aggregates import Aggregate, Ratio
from jostle.tables.groups import GroupsQuestion
from jostle.tables.private_keys import groups_question

if TYPE_CHECKING:
    from jostle.tables.table import Table


@dataclass(frozen=True, repr=False)
class GroupedTable:
    """A table with columns to group by: `table.group_by("ward", "sex").aggregate(n=count(), epsilon=1)`."""

    table: Table
    columns: tuple[str, ...]
    keys: Any = None
    keys_delta: Any = None

    def aggregate(
        self,
        *,
        epsilon: Any = None,
        within: float | None = None,
        rho: Any = None,
        weights: Mapping[str, float] | None = None,
        **named: Aggregate | Ratio,
    ) -> GroupedAnswers:
        """Aggregates of every group, by names of your choice, at one price: `epsilon`, or `rho` with Gaussian noise.

        It is divided so that the sum of squared errors, each relative to its column's range, is least. `weights` say how
        much an aggregate's squared error counts, `weights={"average": 4}`. In an (ε, δ) account, an `epsilon` buys Laplace
        or Gaussian noise, whichever has the smaller error.
        """
        return self.ask(weights=weights, **named).release(epsilon=epsilon, within=within, rho=rho)

    def top(self, column: str, *, k: int = 10, epsilon: Any = None, within: float | None = None, rho: Any = None) -> Top:
        """For each group, the k cells of a column with most rows, and their counts.

        All combinations are counted at once, because a row is in one of them: the price is that of one histogram.
        """
        cells = whole(k)
        if cells is None or cells < 1:
            raise BadInput("k", "must be a whole number of at least 1", "say how many cells, for instance k=3")
        if self.keys is not None:
            raise BadInput("keys", "are for aggregates", "leave them out: all groups of the schema have their largest cells")
        released = self.table.histogram(*self.columns, column, epsilon=epsilon, within=within, rho=rho)
        return Top(release=released, k=cells, per=self.columns, **released.price)

    def ask(self, *, weights: Mapping[str, float] | None = None, **named: Aggregate | Ratio) -> GroupsQuestion:
        """The question behind `aggregate`, to preview before it is paid for."""
        how: dict[str, Any] = {"weights": weights, "keys": self.keys, "keys_delta": self.keys_delta}
        return groups_question(self.table, self.columns, named, **how)

    def __repr__(self) -> str:
        return f"<{self.table.name!r} grouped by {', '.join(self.columns) or 'nothing'}>"
