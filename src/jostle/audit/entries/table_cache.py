"""Tables of public rows for the audit: in DuckDB, without an account, and with an engine that runs each query once."""

from __future__ import annotations

import tempfile
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa

from jostle.audit.entries import FreePurse
from jostle.kernel.budget import Budget
from jostle.kernel.columns import Columns
from jostle.kernel.ledger import Ledger
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.records import ReleaseRecords
from jostle.schema import Schema
from jostle.tables import opening
from jostle.tables.budget_source import Payer
from jostle.tables.table import Table
from jostle.tables.unit import Unit
from jostle.tables.view import View

PEOPLE = "people"
"""The name of the table."""


class FreePayer(Payer):
    """Exact noise without an account, like `FreePurse`: nothing is ever spent."""

    neighbours = Neighbours()
    remaining = Fraction(1)

    def __init__(self, neighbours: Neighbours) -> None:
        self.neighbours = neighbours

    def records(self, columns: Columns, epsilon: Any, *, filtered: bool, note: str) -> tuple[ReleaseRecords, Budget]:
        records = ReleaseRecords(columns, purse=FreePurse(self.neighbours), filtered=filtered, note=note)
        return records, records.grant(epsilon)


def _once(method: str) -> Any:
    """A method of a view that runs in the engine the first time, and is answered from memory afterwards."""

    def answer(self: RememberedView, names: Sequence[str] | None = None, *more: Any) -> Any:
        key = (method, *(names or ()), self.steps, self.placed is None)
        if key not in self.answers:
            self.answers[key] = getattr(super(RememberedView, self), method)(names, *more)
        return self.answers[key]

    return answer


@dataclass(frozen=True)
class RememberedView(View):
    """A view whose engine answers once. Use it for one question: two that count the same columns would get one answer."""

    answers: dict[Hashable, Any] = field(default_factory=dict, compare=False)
    """What the engine has answered; shared with the views that are made from this one."""

    check = _once("check")
    counted = _once("counted")
    sums = _once("sums")
    sampled_once = _once("sampled_once")


def people(columns: dict[str, list[Any]], schema: Schema, neighbours: Neighbours, unit: Unit | None) -> Table:
    """A table of public rows: opened like any other, and then separated from its account."""
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
    return Table(views, FreePayer(table.neighbours), PEOPLE, unit)
