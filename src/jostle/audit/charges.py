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
from jostle.audit.entries import IN_RHO, RELATIONS, tables
from jostle.audit.entries.algorithms import variants
from jostle.kernel.budget import CONCENTRATED, PURE, Budget, Price
from jostle.kernel.ledger import Ledger
from jostle.kernel.measures import Concentrated
from jostle.kernel.neighbours import Neighbours, Relation
from jostle.kernel.partition import Partition
from jostle.kernel.source import ReleaseSource

EPSILON = Fraction(3, 10)
"""No float can hold it."""

PRICES = (Price(EPSILON), Price(EPSILON**2 / 2, CONCENTRATED))
"""In ε, and in ρ."""

SHAPES = {1: (64,), 2: (8, 8)}
"""Large enough for plans to split their data."""

OPERATORS = ("measure", "statistic", "choose", "partition")

NOISE = {PURE: "laplace", CONCENTRATED: "gaussian"}
"""What a ledger calls a measurement."""

Charges = list[tuple[str, Fraction]]
"""Operators and the ε, or the ρ, of each, in order."""


def _sum(charges: Iterable[tuple[str, Fraction]]) -> Fraction:
    return sum((amount for _, amount in charges), Fraction(0))


@dataclass
class ChargeListener:
    """Passes everything on to a source, and writes down what its operators get; parts of it listen for themselves."""

    source: Any
    heard: Charges = field(default_factory=list)

    parts: list[tuple[Fraction, ChargeListener]] = field(default_factory=list)
    """Parts of splits, with the amount that each came with."""

    def __getattr__(self, name: str) -> Any:
        passed = getattr(self.source, name)
        if name not in OPERATORS:
            return passed

        def operator(what: Any, *more: Any) -> Any:
            budget: Budget = more[-1]
            self.heard.append((NOISE[budget.measure] if name == "measure" else name, budget.amount))
            return passed(what, *more)

        return operator

    def reduce(self, partition: Partition) -> ChargeListener:
        """Measurements of a reduced source are charged to the same account."""
        return ChargeListener(self.source.reduce(partition), self.heard, self.parts)

    def split(self, partition: Partition, budget: Budget) -> list[tuple[ChargeListener, Budget]]:
        """The split is charged here; the parts' own operators are not."""
        self.heard.append(("split", budget.amount))
        found = [(ChargeListener(part), token) for part, token in self.source.split(partition, budget)]
        self.parts += [(token.amount, part) for part, token in found]
        return found

    def overspent(self) -> bool:
        """Whether the operators of some part got more than it came with."""
        return any(_sum(part.heard) > amount or part.overspent() for amount, part in self.parts)


@dataclass(frozen=True, kw_only=True)
class ChargeVerdict:
    """Whether the charges for an algorithm, or for a question to a table, are what they should be."""

    name: str
    neighbours: str

    granted: Fraction
    """The ε, or the ρ, that the release was granted."""

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


def _called(name: str, price: Price) -> tuple[str, Any]:
    """The name, and the cap of an account that pays such a price."""
    return (name, 1) if price.measure == PURE else (f"{name}{IN_RHO}", Concentrated(1))


def _left(ledger: Ledger, account: str, price: Price) -> Fraction:
    left = ledger.balance(account).left
    return left.pure if price.measure == PURE else left.rho


def audit_charges(only: Sequence[str] | None = None) -> list[ChargeVerdict]:
    """Release with every algorithm, on a ledger of its own, and compare the charges with what operators got.

    >>> all(found.agrees for found in audit_charges(["HB"]))
    True
    """
    with _ledger() as ledger:
        return [
            _charged(ledger, plan, task, relation, variant, tunables, price)
            for plan in map(algorithms.get, algorithms.names() if only is None else only)
            for task in plan.tasks
            for variant, tunables in variants(plan, task).items()
            for relation in RELATIONS
            for price in PRICES
        ]


def _charged(
    ledger: Ledger, plan: Algorithm, task: str, relation: str, variant: str, tunables: dict[str, Any], price: Price
) -> ChargeVerdict:
    shape = SHAPES[TASKS[task]]
    name, cap = _called(f"{plan.name}, {variant}" if variant else plan.name, price)
    account = ledger.account(f"{name} {task} {relation}", cap=cap, neighbours=relation)
    source = ReleaseSource(np.arange(np.prod(shape)).reshape(shape), purse=account.purse())
    listener = ChargeListener(source)
    plan.run(listener, workloads.identity(shape), source.grant(price), **tunables)  # type: ignore[arg-type]  # it passes all on
    events = _charges(ledger, account.name)
    charged, heard = _sum(events), _sum(listener.heard)
    agrees = events == listener.heard and charged == account.spent == price.amount and not listener.overspent()
    return ChargeVerdict(name=name, neighbours=relation, granted=price.amount, heard=heard, charged=charged, agrees=agrees)


def audit_tables(only: Sequence[str] | None = None) -> list[ChargeVerdict]:
    """Ask every question of a table with an account, under both neighbours, by row and by person.

    >>> all(found.agrees for found in audit_tables(["count"]))
    True
    """
    names = tables.QUESTIONS if only is None else only
    units = [(name, rows) for name in names for rows in (1, tables.MOST_ROWS) if rows == 1 or name in tables.BY_PERSON]
    asked = [(name, rows, relation, price) for name, rows in units for relation in RELATIONS for price in PRICES]
    found = []
    for one in asked:
        with _ledger() as ledger:  # a ledger each: in one, the same frame has one account
            found.append(_charged_table(ledger, *one))
    return found


def _charged_table(ledger: Ledger, question: str, rows: int, relation: Relation, price: Price) -> ChargeVerdict:
    import pyarrow as pa

    from jostle.tables.opening import open as open_table

    (pair, *_) = tables.pairs(question, rows)(Neighbours(relation))
    name, cap = _called(tables.entry_name(question, rows), price)
    table = open_table(
        pa.table(tables.columns(pair.other)),
        schema=tables.schema(),
        ledger=ledger,
        budget=cap,
        unit=tables.unit(rows),
        neighbours=relation,
        name=f"{name} {relation}",
    )
    tables.QUESTIONS[question](table)(epsilon=price)
    charged, gone = _sum(_charges(ledger, table.name)), 1 - _left(ledger, table.name, price)
    agrees = charged == gone and (charged <= price.amount if question == tables.COMPLETED else charged == price.amount)
    return ChargeVerdict(name=name, neighbours=relation, granted=price.amount, heard=gone, charged=charged, agrees=agrees)
