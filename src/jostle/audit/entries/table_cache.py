"""Tables of public rows for the audit: in DuckDB, without an account, and with an engine that is asked each thing once."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa

from jostle.audit.entries import FreePurse
from jostle.kernel.budget import Budget
from jostle.kernel.ledger import Ledger
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.records import Columns, ReleaseRecords
from jostle.schema import Schema
from jostle.tables import opening
from jostle.tables.budget_source import BudgetSource
from jostle.tables.run_in_engine import Query
from jostle.tables.table import Table
from jostle.tables.unit import Unit
from jostle.tables.view import View

PEOPLE = "people"
"""What the table is called."""


class FreeBudget(BudgetSource):
    """Exact noise without an account, as `FreePurse`."""

    def __init__(self, neighbours: Neighbours) -> None:
        self._neighbours = neighbours

    @property
    def neighbours(self) -> Neighbours:
        """What one person may change."""
        return self._neighbours

    @property
    def remaining(self) -> Fraction:
        """As much as ever."""
        return Fraction(1)

    def records(self, columns: Columns, epsilon: Any, *, note: str) -> tuple[ReleaseRecords, Budget]:
        """With a purse that nobody fills."""
        records = ReleaseRecords(columns, purse=FreePurse(self.neighbours), note=note)
        return records, records.grant(epsilon)


class QueryRunOnce(Query):
    """A query that is planned once and run once."""

    @cached_property
    def _planned(self) -> None:
        super().check()

    @cached_property
    def _answer(self) -> Any:
        return super().fetch()

    def check(self) -> None:
        return self._planned

    def fetch(self) -> Any:
        return self._answer


@dataclass(frozen=True)
class RememberedView(View):
    """A view whose engine answers once. It is for one question: two that count the same columns would be taken for one."""

    answers: dict[Hashable, Any] = field(default_factory=dict, compare=False)
    """What the engine has answered; shared with the views that are made of this one."""

    def count_query(self, names: Sequence[str], *how: Any, **settings: Any) -> Query:
        return self._run_once(("counted", *names), super().count_query(names, *how, **settings))

    def sums_query(self, names: Sequence[str], *how: Any, **settings: Any) -> Query:
        return self._run_once(("sums", *names), super().sums_query(names, *how, **settings))

    def _run_once(self, what: tuple[str, ...], query: Query) -> Query:
        found: Query = self._once(what, lambda: QueryRunOnce(query.step, query.write, query.backend, query.drawn))
        return found

    def sampled_once(self, names: Sequence[str] | None = None) -> View:
        """As a view draws rows."""
        found: View = self._once(("sampled", *(names or ())), lambda: super(RememberedView, self).sampled_once(names))
        return found

    def _once(self, what: tuple[str, ...], ask: Callable[[], Any]) -> Any:
        key = (what, self.steps, self.placed is None)
        if key not in self.answers:
            self.answers[key] = ask()
        return self.answers[key]


def people(columns: dict[str, list[Any]], schema: Schema, neighbours: Neighbours, unit: Unit | None) -> Table:
    """A table of public rows: opened as any other is, and then taken from its account."""
    with tempfile.TemporaryDirectory() as folder, Ledger(Path(folder) / "budget.db") as ledger:
        table = opening.open(
            pa.table(columns),
            schema=schema,
            ledger=ledger,
            budget=1,
            unit=unit,
            neighbours=neighbours.relation,
            name=PEOPLE,
        )
    views = [RememberedView(**{part.name: getattr(view, part.name) for part in fields(view)}) for view in table._views]
    return Table(views, FreeBudget(table.neighbours), PEOPLE, unit)
