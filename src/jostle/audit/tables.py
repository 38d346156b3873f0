"""Private tables: what is asked of one, from the rows in their engine to the answer, with a row or a person more or less.

Rows are put into DuckDB, and questions are asked as a user asks them; only the account is left out, because the rows are
public. Noise is that of releases, for a private table has no other. To have many answers in seconds, the engine is asked
once for each side of a pair, and its counts are remembered: all rows of a person who has too many are alike, so that those
which are drawn from them are always the same. What is drawn from rows that are not alike has tests of its own.

An input is a tuple of rows, and a row is a person, a group and a number.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from jostle.audit.entries import RELATIONS, Audited, Pair, Run
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.partition import Vector
from jostle.schema import Category, Integer, Schema

if TYPE_CHECKING:
    from jostle.tables.table import Table

Row = tuple[int, str, int | None]
Rows = tuple[Row, ...]


class Release(Protocol):
    """Releases an answer."""

    def __call__(self, *, epsilon: Any) -> Any:
        """At this price."""
        ...


Ask = Callable[["Table"], Release]
"""What is asked of a table: prepared once, and released as often as one likes."""

LOW, HIGH = 6, 8
"""Numbers that are far from 0, and near each other: the width of the bounds is not what a row moves a sum by."""

FAR = 1_000
"""A number that counts as the upper bound."""

MOST_ROWS = 2
"""So many rows of a person count."""

TOO_MANY = 8
"""So many rows the person has who comes, or changes."""

OTHERS: Rows = ((1, "a", LOW), (2, "b", HIGH))
"""People who stay as they are."""

SQL = 'SELECT g, COUNT(*) FROM "{name}" WHERE v >= 7 GROUP BY g'

QUESTIONS: dict[str, Ask] = {
    "count": lambda table: table.where("v >= 7").ask_count().release,
    "histogram": lambda table: table.ask("g", algorithm="Laplace").release,
    "ranges": lambda table: table.ask_ranges("v", [(6, 7), (7, 8)], algorithm="Laplace").release,
    "sum": lambda table: table.ask_total("sum", "v").release,
    "sum by group": lambda table: table.ask_total("sum", "v", "g").release,
    "mean": lambda table: table.ask_total("mean", "v").release,
    "quantiles": lambda table: table.ask_quantiles("v", [0.5]).release,
    "marginals": lambda table: table.ask_marginals(("g",), ("v",)).release,
    "sql": lambda table: table.ask_sql(SQL.format(name=table.name)).release,
    "partition": lambda table: partial(_parts, table),
}
"""Whatever may be asked of a table."""

BY_PERSON = ("count", "histogram", "sum", "partition")
"""What is also asked of people with several rows: counts, sums, and parts whose rows are drawn once."""

UNKNOWN = {
    "ranges": "they are read from a measurement of all cells, and tell less",
    "mean": "a quotient of two noisy numbers tells less than both",
    "quantiles": "they are read from a measurement of all cells, and tell less",
    "marginals": "the answers are made to agree, and tell less than what was measured",
    "sql": "the algorithm is chosen privately, and the choice has a part of ε",
}
"""Why the worst case is not seen."""


def _parts(table: Table, *, epsilon: Any) -> list[Any]:
    return [part.count() for part in table.partition("g", epsilon=epsilon).values()]


def entries() -> list[Audited]:
    """Every question about rows, and some about people."""
    return [*(_entry(name, 1) for name in QUESTIONS), *(_entry(name, MOST_ROWS) for name in BY_PERSON)]


OF_GROUPS = ("histogram", "sum by group", "marginals", "partition")
"""Questions on which it is hardest that somebody changes groups; for others, that somebody begins to count."""


def pairs(name: str, rows: int) -> Callable[[Neighbours], list[Pair]]:
    """Somebody who comes, begins to count, or changes groups, with so many rows that count."""
    has = 1 if rows == 1 else TOO_MANY

    def found(relation: Neighbours) -> list[Pair]:
        def somebody(group: str, number: int | None) -> Rows:
            return (*OTHERS, *((3, group, number),) * has)

        if relation.relation == "add_remove":
            return [Pair("somebody more", OTHERS, somebody("b", FAR))]
        changed = Pair("another group", somebody("a", FAR), somebody("b", FAR))
        counted = Pair("a number that was not there", somebody("b", None), somebody("b", FAR))
        return [changed, counted] if name in OF_GROUPS else [counted, changed]

    return found


def columns(side: Rows) -> dict[str, list[Any]]:
    """The rows by column."""
    return {name: [row[place] for row in side] for place, name in enumerate(("who", "g", "v"))}


def schema() -> Schema:
    """What is public of them."""
    return Schema({"g": Category(["a", "b"]), "v": Integer(LOW, HIGH)})


def opened(side: Rows, neighbours: Neighbours, rows: int) -> Table:
    """A table of these rows, where so many of a person count."""
    from jostle.audit.table_cache import people  # the engines' library, which takes a while to load
    from jostle.tables.unit import Unit

    unit = Unit("who", max_rows=rows) if rows > 1 else None
    return people(columns(side), schema(), Neighbours(neighbours.relation, rows), unit)


def _entry(name: str, rows: int) -> Audited:
    return Audited(
        name=f"table: {name}{'' if rows == 1 else ' by person'}",
        family="table",
        exact=_released(QUESTIONS[name], rows),
        pairs=pairs(name, rows),
        tight=() if name in UNKNOWN else RELATIONS,
        unknown=UNKNOWN.get(name, ""),
    )


def _released(ask: Ask, rows: int) -> Run:
    def run(side: Rows, epsilon: Fraction, neighbours: Neighbours, samples: int, seed: int) -> Vector:
        release = ask(opened(side, neighbours, rows))
        return np.array([numbers(release(epsilon=epsilon)) for _ in range(samples)])

    return run


def numbers(released: Any) -> Vector:
    """All that was released, as one row of numbers."""
    if isinstance(released, list):
        return np.concatenate([numbers(part) for part in released])
    if hasattr(released, "tables"):
        return np.concatenate([numbers(part) for part in released.tables.values()])
    found = [getattr(released, name) for name in ("answers", "values", "value") if hasattr(released, name)]
    return np.ravel(np.asarray(found[0], dtype=np.float64))
