"""Tables of public rows that remember what they release: what is remembered is in lists, and empty at the beginning."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

from jostle.tables.budget_source import BudgetSource
from jostle.tables.memory.memory import Memory
from jostle.tables.memory.store import MOST_FETCHED, Keepsake, MemoryStore
from jostle.tables.table import Table

ROWS = "the rows of this table"


class ListStore(MemoryStore):
    """What is remembered, in a list."""

    def __init__(self) -> None:
        self._kept: list[Keepsake] = []

    def add(self, rows: Sequence[Keepsake]) -> None:
        self._kept += [replace(one, at="2000-01-01T00:00") for one in rows]  # answers say when, and are compared

    def topics(self, beginning: str) -> list[str]:
        return [*dict.fromkeys(one.topic for one in self._kept if one.topic.startswith(beginning))]

    def fetch(self, topics: Iterable[str], most: int = MOST_FETCHED) -> list[Keepsake]:
        wanted = set(topics)
        return sorted((one for one in self._kept if one.topic in wanted), key=lambda one: -one.rank)[:most]

    def everything(self) -> list[Keepsake]:
        return [*self._kept]

    def add_up(self, topic: str, amount: Fraction, *, free: bool) -> None:
        """Nobody asks what was saved."""


class ListMemory(Memory):
    """The memory of one table."""

    def __init__(self, budget: BudgetSource) -> None:
        account: Any = SimpleNamespace(name="public", neighbours=budget.neighbours)
        super().__init__(lambda: account, "1")
        self._store = ListStore()


def with_memory(table: Table) -> Table:
    """The same table, and nothing is remembered of it yet."""
    budget = copy(table._budget)
    budget.memory = ListMemory(budget)
    views = [replace(view, source=ROWS) for view in table._views]
    return Table(views, budget, table.name, table.unit)
