"""The ledger's claim: the charges are exactly what the operators of a plan were paid, in the same order."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from jostle import algorithms, workloads
from jostle.algorithms import TASKS, Algorithm
from jostle.audit.entries import RELATIONS, tables
from jostle.audit.entries.algorithms import variants
from jostle.kernel.budget import Budget
from jostle.kernel.ledger import Ledger
from jostle.kernel.neighbours import Neighbours, Relation
from jostle.kernel.partition import Partition
from jostle.kernel.source import ReleaseSource

EPSILON = Fraction(3, 10)
"""No float can hold it."""

SHAPES = {1: (64,), 2: (8, 8)}
"""Large enough for plans to split their data."""

OPERATORS = {"measure": "laplace", "statistic": "statistic", "choose": "choose", "partition": "partition"}
"""What a ledger calls each under pure ε."""

Charges = list[tuple[str, Fraction]]
"""Operators and the ε of each, in order."""


def _sum(charges: Iterable[tuple[str, Fraction]]) -> Fraction:
    return sum((epsilon for _, epsilon in charges), Fraction(0))


@dataclass
class ChargeListener:
    """Passes everything on to a source, and writes down the ε that its operators get; parts of it listen for themselves."""

    source: Any
    heard: Charges = field(default_factory=list)

    parts: list[tuple[Fraction, ChargeListener]] = field(default_factory=list)
    """Parts of splits, with the ε that each came with."""

    def __getattr__(self, name: str) -> Any:
        passed = getattr(self.source, name)
        if name not in OPERATORS:
            return passed

        def operator(what: Any, *more: Any) -> Any:
            budget: Budget = more[-1]
            self.heard.append((OPERATORS[name], budget.epsilon))
            return passed(what, *more)

        return operator

    def reduce(self, partition: Partition) -> ChargeListener:
        """Measurements of a reduced source are charged to the same account."""
        return ChargeListener(self.source.reduce(partition), self.heard, self.parts)

    def split(self, partition: Partition, budget: Budget) -> list[tuple[ChargeListener, Budget]]:
        """The split is charged here; the parts' own operators are not."""
        self.heard.append(("split", budget.epsilon))
        found = [(ChargeListener(part), token) for part, token in self.source.split(partition, budget)]
        self.parts += [(token.epsilon, part) for part, token in found]
        return found

    def overspent(self) -> bool:
        """Whether the operators of some part got more than it came with."""
        return any(_sum(part.heard) > epsilon or part.overspent() for epsilon, part in self.parts)


@dataclass(frozen=True, kw_only=True)
class ChargeVerdict:
    """Whether the charges for an algorithm, or for a question to a table, are what they should be."""

    name: str
    neighbours: str

    granted: Fraction
    """The ε that the release was granted."""

    heard: Fraction
    """The sum of what operators got; for a table, what is gone from its budget."""

    charged: Fraction
    """The sum of the events in the ledger."""

    agrees: bool
    """Whether all three are the same, event by event, and no part spent more than it had."""


@contextmanager
def _ledger() -> Iterator[Ledger]:
    with tempfile.TemporaryDirectory() as folder, Ledger(Path(folder) / "ledger.db") as ledger:
        yield ledger


def _charges(ledger: Ledger, account: str) -> Charges:
    return [(event.operator, event.amount) for event in ledger.events(account) if event.kind == "charge"]


def audit_charges(only: Sequence[str] | None = None) -> list[ChargeVerdict]:
    """Release with every algorithm, on a ledger of its own, and compare the charges with what operators got.

    >>> [found.agrees for found in audit_charges(["HB"])]
    [True, True, True, True]
    """
    with _ledger() as ledger:
        return [
            _charged(ledger, plan, task, relation, variant, tunables)
            for plan in map(algorithms.get, algorithms.names() if only is None else only)
            for task in plan.tasks
            for variant, tunables in variants(plan, task).items()
            for relation in RELATIONS
        ]


def _charged(
    ledger: Ledger, plan: Algorithm, task: str, relation: str, variant: str, tunables: dict[str, Any]
) -> ChargeVerdict:
    shape = SHAPES[TASKS[task]]
    name = f"{plan.name}, {variant}" if variant else plan.name
    account = ledger.account(f"{name} {task} {relation}", cap=1, neighbours=relation)
    source = ReleaseSource(np.arange(np.prod(shape)).reshape(shape), purse=account.purse())
    listener = ChargeListener(source)
    plan.run(listener, workloads.identity(shape), source.grant(EPSILON), **tunables)  # type: ignore[arg-type]  # it passes all on
    events = _charges(ledger, account.name)
    charged, heard = _sum(events), _sum(listener.heard)
    agrees = events == listener.heard and charged == account.spent == EPSILON and not listener.overspent()
    return ChargeVerdict(name=name, neighbours=relation, granted=EPSILON, heard=heard, charged=charged, agrees=agrees)


def audit_tables(only: Sequence[str] | None = None) -> list[ChargeVerdict]:
    """Ask every question of a table with an account, under both neighbours, by row and by person.

    >>> [found.agrees for found in audit_tables(["count"])]
    [True, True, True, True]
    """
    names = tables.QUESTIONS if only is None else only
    units = [(name, rows) for name in names for rows in (1, tables.MOST_ROWS) if rows == 1 or name in tables.BY_PERSON]
    with _ledger() as ledger:
        return [_charged_table(ledger, name, rows, relation) for name, rows in units for relation in RELATIONS]


def _charged_table(ledger: Ledger, question: str, rows: int, relation: Relation) -> ChargeVerdict:
    import pyarrow as pa

    from jostle.tables.opening import open as open_table

    (pair, *_), name = tables.pairs(question, rows)(Neighbours(relation)), tables.entry_name(question, rows)
    table = open_table(
        pa.table(tables.columns(pair.other)),
        schema=tables.schema(),
        ledger=ledger,
        budget=1,
        unit=tables.unit(rows),
        neighbours=relation,
        name=f"{name} {relation}",
    )
    tables.QUESTIONS[question](table)(epsilon=EPSILON)
    charged, gone = _sum(_charges(ledger, table.name)), 1 - table.remaining
    agrees = charged == gone == EPSILON
    return ChargeVerdict(name=name, neighbours=relation, granted=EPSILON, heard=gone, charged=charged, agrees=agrees)
