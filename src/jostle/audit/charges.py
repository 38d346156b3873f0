"""The ledger's claim: what was charged is what the operators of a plan were paid, exactly, in the same order."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from jostle import algorithms, workloads
from jostle.algorithms import TASKS, Algorithm
from jostle.audit import plans, tables
from jostle.audit.entries import RELATIONS
from jostle.kernel.budget import Budget
from jostle.kernel.ledger import Ledger
from jostle.kernel.neighbours import Neighbours, Relation
from jostle.kernel.partition import Partition
from jostle.kernel.source import ReleaseSource

EPSILON = Fraction(3, 10)
"""Which no float can hold."""

SHAPES = {1: (64,), 2: (8, 8)}
"""Large enough for plans to split their data."""

OPERATORS = ("laplace", "statistic", "choose", "partition")


@dataclass
class Listener:
    """Passes everything on to a source, and writes down what its operators were handed; parts listen for themselves."""

    source: Any
    """The source."""

    heard: list[tuple[str, Fraction]] = field(default_factory=list)
    """Operators and the ε that each was handed, in order."""

    parts: list[tuple[Fraction, Listener]] = field(default_factory=list)
    """Parts of splits, with the ε that each came with."""

    def __getattr__(self, name: str) -> Any:
        passed = getattr(self.source, name)
        if name not in OPERATORS:
            return passed

        def operator(what: Any, *more: Any) -> Any:
            budget: Budget = more[-1]
            self.heard.append((name, budget.epsilon))
            return passed(what, *more)

        return operator

    def reduce(self, partition: Partition) -> Listener:
        """What is asked of a reduced source is charged to the same account."""
        return Listener(self.source.reduce(partition), self.heard, self.parts)

    def split(self, partition: Partition, budget: Budget) -> list[tuple[Listener, Budget]]:
        """Charged here; the parts' own operators are not."""
        self.heard.append(("split", budget.epsilon))
        found = [(Listener(part), token) for part, token in self.source.split(partition, budget)]
        self.parts += [(token.epsilon, part) for part, token in found]
        return found

    def overspent(self) -> bool:
        """Whether some part's operators were handed more than it came with."""
        return any(sum(e for _, e in part.heard) > epsilon or part.overspent() for epsilon, part in self.parts)


@dataclass(frozen=True, kw_only=True)
class ChargeVerdict:
    """Whether an algorithm's charges are what its operators were handed, or a table's what it said that it would cost."""

    name: str
    """The algorithm, or the question."""

    neighbours: str
    """Under which neighbours."""

    granted: Fraction
    """The ε that the release was granted."""

    heard: Fraction
    """The sum of what operators were handed; for a table, what is left less of its budget."""

    charged: Fraction
    """The sum of the events in the ledger."""

    agrees: bool
    """Whether all three are the same, event by event, and no part spent more than it had."""


def audit_charges(only: Sequence[str] | None = None) -> list[ChargeVerdict]:
    """Release with every algorithm, on a ledger of its own, and compare what was charged with what was asked.

    >>> [found.agrees for found in audit_charges(["HB"])]
    [True, True, True, True]
    """
    chosen = [algorithms.get(name) for name in (algorithms.names() if only is None else only)]
    with tempfile.TemporaryDirectory() as folder, Ledger(Path(folder) / "ledger.db") as ledger:
        return [
            _charged(ledger, plan, task, relation, way, tunables)
            for plan in chosen
            for task in plan.tasks
            for way, tunables in plans.variants(plan, task).items()
            for relation in RELATIONS
        ]


def _charged(ledger: Ledger, plan: Algorithm, task: str, relation: str, way: str, tunables: dict[str, Any]) -> ChargeVerdict:
    shape = SHAPES[TASKS[task]]
    name = f"{plan.name}, {way}" if way else plan.name
    account = ledger.account(f"{name} {task} {relation}", cap=1, neighbours=relation)
    source = ReleaseSource(np.arange(np.prod(shape)).reshape(shape), purse=account.purse())
    listener = Listener(source)
    plan.run(listener, workloads.identity(shape), source.grant(EPSILON), **tunables)  # type: ignore[arg-type]  # it passes all on
    events = [(e.operator, e.amount) for e in ledger.events(account.name) if e.kind == "charge"]
    charged, heard = (sum((amount for _, amount in part), Fraction(0)) for part in (events, listener.heard))
    agrees = events == listener.heard and charged == account.spent == EPSILON and not listener.overspent()
    return ChargeVerdict(name=name, neighbours=relation, granted=EPSILON, heard=heard, charged=charged, agrees=agrees)


def audit_tables(only: Sequence[str] | None = None) -> list[ChargeVerdict]:
    """Ask everything of a table with an account, under both neighbours, by row and by person.

    >>> [found.agrees for found in audit_tables(["count"])]
    [True, True, True, True]
    """
    asked = tables.QUESTIONS if only is None else only
    units = [(name, rows) for name in asked for rows in (1, tables.MOST_ROWS) if rows == 1 or name in tables.BY_PERSON]
    with tempfile.TemporaryDirectory() as folder, Ledger(Path(folder) / "ledger.db") as ledger:
        return [_charged_table(ledger, name, rows, relation) for name, rows in units for relation in RELATIONS]


def _charged_table(ledger: Ledger, name: str, rows: int, relation: Relation) -> ChargeVerdict:
    import pyarrow as pa

    from jostle.tables.opening import open as open_table
    from jostle.tables.unit import Unit

    (pair, *_) = tables.pairs(name, rows)(Neighbours(relation))
    called = f"table: {name}{'' if rows == 1 else ' by person'}"
    table = open_table(
        pa.table(tables.columns(pair.other)),
        schema=tables.schema(),
        ledger=ledger,
        budget=1,
        unit=Unit("who", max_rows=rows) if rows > 1 else None,
        neighbours=relation,
        name=f"{called} {relation}",
    )
    tables.QUESTIONS[name](table)(epsilon=EPSILON)
    charged = sum((event.amount for event in ledger.events(table.name) if event.kind == "charge"), Fraction(0))
    gone = 1 - table.remaining
    return ChargeVerdict(
        name=called, neighbours=relation, granted=EPSILON, heard=gone, charged=charged, agrees=charged == gone == EPSILON
    )
