"""Private tables: every question, from the rows in their engine to the answer, with a row or a person more or less.

Rows are put into DuckDB, and questions are asked as a user asks them. Only the account is left out, because the rows are
public. Noise is that of releases, since a private table has no other. To get many answers in seconds, the engine runs once
for each side of a pair, and its counts are remembered. All rows of a person who has too many are equal, so whichever rows
are drawn, the counts are the same. What is drawn from rows that differ has tests of its own.

An input is a tuple of rows, and a row is a person, a group and a number.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from jostle.answers.batches import BatchAnswer
from jostle.audit.entries import RELATIONS, Audited, Pair, Pairs, by_relation
from jostle.kernel.budget import Price
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.partition import Vector
from jostle.schema import Category, Integer, Schema

if TYPE_CHECKING:
    from jostle.tables.table import Table
    from jostle.tables.unit import Unit

TableRows = tuple[tuple[int, str, int | None], ...]

Ask = Callable[["Table"], Callable[..., Any]]
"""Prepares a question about a table, and returns a function that releases its answer, with an argument `epsilon`."""

LOW, HIGH = 6, 8
"""Numbers that are far from 0 and near each other, so a row moves a sum by more than the width of the bounds."""

FAR = 1_000
"""A number that counts as the upper bound."""

MOST_ROWS = 2
"""Rows per person that count."""

TOO_MANY = 8
"""Rows of the person who comes, or changes."""

OTHERS: TableRows = ((1, "a", LOW), (2, "b", HIGH))
"""People who stay as they are."""

SQL = 'SELECT g, COUNT(*) FROM "{name}" WHERE v >= 7 GROUP BY g'

COMPLETED = "completed"
"""The question that may cost less than its price: what is bought depends on what was released before."""

QUESTIONS: dict[str, Ask] = {
    "count": lambda table: table.where("v >= 7").ask_count().release,
    "histogram": lambda table: table.ask("g", algorithm="Laplace").release,
    "ranges": lambda table: table.ask_ranges("v", [(6, 7), (7, 8)], algorithm="Laplace").release,
    "sum": lambda table: table.ask_total("sum", "v").release,
    "sum, bounds below 0": lambda table: _negative(table).ask_total("sum", "below").release,
    "sum by group": lambda table: table.ask_total("sum", "v", "g").release,
    "mean": lambda table: table.ask_total("mean", "v").release,
    "mean by group": lambda table: table.ask_total("mean", "v", "g").release,
    "quantiles": lambda table: table.ask_quantiles("v", [0.5]).release,
    "marginals": lambda table: table.ask_marginals(("g",), ("v",)).release,
    "batch": lambda table: table.ask_batch(table.ask("g", algorithm="Laplace"), table.ask_count()).release,
    "synthesize": lambda table: table.ask_synthesis("g").release,
    "sql": lambda table: table.ask_sql(SQL.format(name=table.name)).release,
    "partition": lambda table: partial(_parts, table),
    "group_by": lambda table: _grouped(table, "count", "mean", "std"),
    "group_by by few groups": lambda table: _grouped(table, "sum"),
    "repeated": lambda table: partial(_repeated, table),
    COMPLETED: lambda table: partial(_completed, table),
}
"""Every question that can be asked of a table."""

FEW_GROUPS = "group_by by few groups"
"""The question for which a person counts in one group only, with one row."""

BY_PERSON = ("count", "histogram", "sum", "sum by group", "mean by group", "partition", FEW_GROUPS, "repeated")
"""Questions that are also asked of people with several rows: counts, sums, and parts whose rows are drawn once."""

UNKNOWN = {
    "ranges": "they are read from a measurement of all cells, and tell less",
    "mean": "a quotient of two noisy numbers tells less than both",
    "mean by group": "a quotient of two noisy numbers tells less than both",
    "quantiles": "they are read from a measurement of all cells, and tell less",
    "marginals": "the answers are made to agree, and tell less than what was measured",
    "batch": "a row that moves to another group does not change the count",
    "group_by": "what is read from the parts of a mixture tells less than all of them",
    "synthesize": "of the rounds, which have most of ε, nothing is looked at that has the same form in every release",
    "sql": "the algorithm is chosen privately, and the choice has a part of ε",
    "repeated": "every release goes through a memory of its own, so that there are few samples",
    COMPLETED: "what is bought beside a first answer costs less than what it may",
}
"""Why the worst case is not seen."""


def _grouped(table: Table, *kinds: str) -> Callable[..., Any]:
    from jostle.tables.aggregates import Aggregate

    asked = {kind: Aggregate(kind, None if kind == "count" else "v") for kind in kinds}
    return table.ask_groups(["g"], asked).release


def _negative(table: Table) -> Table:
    """With the numbers below 0: then the lower bound is the one that is further away."""
    return table.derive("below", "0 - v", Integer(-HIGH, -LOW))


def _parts(table: Table, *, epsilon: Any) -> list[Any]:
    return [part.count() for part in table.partition("g", epsilon=epsilon).values()]


def _repeated(table: Table, *, epsilon: Any) -> list[Any]:
    """Where answers are remembered: the same question again, and what follows from it, at the price of one."""
    from jostle.audit.remembering import with_memory

    remembers = with_memory(table)
    first, again = (remembers.histogram("g", epsilon=epsilon, algorithm="Laplace") for _ in range(2))
    return [first, again]


def _completed(table: Table, *, epsilon: Any) -> list[Any]:
    """A question, and a better answer to it, whose missing precision is bought: both may cost ε together."""
    from jostle.audit.remembering import with_memory

    remembers = with_memory(table)
    price = epsilon if isinstance(epsilon, Price) else Price.of(epsilon)
    shares = (Fraction(9, 20), Fraction(11, 20))
    return [remembers.histogram("g", epsilon=price.times(share), algorithm="Laplace") for share in shares]


def entries() -> list[Audited]:
    """Every question about rows, and some about people."""
    return [*(_entry(name, 1) for name in QUESTIONS), *(_entry(name, MOST_ROWS) for name in BY_PERSON)]


OF_GROUPS = (
    "histogram",
    "sum by group",
    "mean by group",
    "marginals",
    "batch",
    "synthesize",
    "partition",
    FEW_GROUPS,
    "repeated",
    COMPLETED,
)
"""Questions for which the hardest change is to another group; for others, a row that begins to count is the hardest."""


def pairs(name: str, rows: int) -> Pairs:
    """Somebody who comes, begins to count, or changes groups, where `rows` rows per person count."""

    def somebody(group: str, number: int | None) -> TableRows:
        return (*OTHERS, *((3, group, number),) * (1 if rows == 1 else TOO_MANY))

    comes = somebody("b", FAR) if name != FEW_GROUPS else (*somebody("b", FAR), *somebody("a", FAR)[len(OTHERS) :])
    changed = Pair("another group", somebody("a", FAR), somebody("b", FAR))
    counted = Pair("a number that was not there", somebody("b", None), somebody("b", FAR))
    replaced = [changed, counted] if name in OF_GROUPS else [counted, changed]
    return by_relation([Pair("somebody more", OTHERS, comes if rows > 1 else somebody("b", FAR))], replaced)


def columns(side: TableRows) -> dict[str, list[Any]]:
    """The rows, column by column."""
    return {name: [row[place] for row in side] for place, name in enumerate(("who", "g", "v"))}


def schema() -> Schema:
    """What is public about the columns."""
    return Schema({"g": Category(["a", "b"]), "v": Integer(LOW, HIGH)})


def unit(rows: int, name: str = "") -> Unit | None:
    """Whom the table protects: people, if several rows per person count."""
    from jostle.tables.unit import Unit

    few = {"max_groups": 1, "max_rows_per_group": 1} if name == FEW_GROUPS else {}
    return Unit("who", max_rows=rows, **few) if rows > 1 else None


def opened(side: TableRows, neighbours: Neighbours, rows: int, name: str = "") -> Table:
    """A table of these rows, of which `rows` rows per person count, for a question."""
    from jostle.audit.entries.table_cache import people  # the engines' library, which takes a while to load

    return people(columns(side), schema(), Neighbours(neighbours.relation, rows), unit(rows, name))


def _entry(name: str, rows: int) -> Audited:
    def released(side: TableRows, epsilon: Fraction, neighbours: Neighbours, samples: int, seed: int) -> Vector:
        release = QUESTIONS[name](opened(side, neighbours, rows, name))
        return np.array([numbers(release(epsilon=epsilon)) for _ in range(samples)])

    return Audited(
        name=entry_name(name, rows),
        family="table",
        exact=released,
        pairs=pairs(name, rows),
        tight=() if name in UNKNOWN else RELATIONS,
        unknown=UNKNOWN.get(name, ""),
    )


def entry_name(question: str, rows: int) -> str:
    """The name of a question in the report."""
    return f"table: {question}{'' if rows == 1 else ' by person'}"


def numbers(released: Any) -> Vector:
    """Everything that was released, as one row of numbers."""
    if isinstance(released, list | BatchAnswer):
        return np.concatenate([numbers(part) for part in released])
    if hasattr(released, "synthesis"):
        return np.concatenate([single.values for single in released.synthesis.singles.values()])
    if hasattr(released, "tables"):
        return np.concatenate([numbers(part) for part in released.tables.values()])
    if isinstance(getattr(released, "values", None), dict):
        return np.concatenate([np.ravel(one) for one in released.values.values()])
    found = [getattr(released, name) for name in ("answers", "values", "value") if hasattr(released, name)]
    return np.ravel(np.asarray(found[0], dtype=np.float64))
