"""Expressions in stages: an expression that is used more than once gets a column of its own first.

An expression that names another twice would be written out twice in SQL, and one such after another grows without bounds.
So a computation is a generator that yields the expressions it wants as columns and is sent those columns. All columns of a
schema go through their stages side by side, so a query is nested no deeper than the longest computation.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any, TypeAlias, TypeVar

Expression: TypeAlias = Any
"""An Ibis expression: a column or a number."""

T = TypeVar("T")
Stages: TypeAlias = Generator[dict[str, Expression], dict[str, Expression], T]
"""A computation: yields expressions by name, is sent the columns that they became, and returns its result."""

RESERVED = "jostle_"
"""Names of columns that begin with this are jostle's own."""

NUMBERS = f"{RESERVED}numbers_"
"""The beginning of the name of a second column for a column of a frame: those of its values that are numbers."""

DAYS = f"{RESERVED}days_"
"""The same for those of its values that are days, so that no form of texts is needed to read them."""

WHOSE = f"{RESERVED}whose"
"""The column of a frame that says whose row it is."""


ALL_ROWS = 2**62
"""PostgreSQL and SQLite would write out what is named twice, as if there were no stages; but not across a limit."""


def run(table: Any, computations: Mapping[str, Stages[T]], engine: str) -> tuple[Any, dict[str, T]]:
    """The table with the columns that the computations wanted, and what each computation returned.

    >>> import ibis, pyarrow
    >>> def squared(x):
    ...     made = yield {"rest": x % 7}
    ...     return made["rest"] * made["rest"]
    >>> rows, results = run(ibis.memtable(pyarrow.table({"x": [8, 10]})), {"x": squared(ibis._.x)}, "duckdb")
    >>> [*rows.columns]
    ['x', 'jostle_0']
    """
    results: dict[str, T] = {}
    wanted = {name: _step(computation, None, name, results) for name, computation in computations.items()}
    used = sum(column.startswith(RESERVED) for column in table.columns)
    while any(want is not None for want in wanted.values()):
        names = {(name, key): f"{RESERVED}{used + place}" for place, (name, key) in enumerate(_keys(wanted))}
        used += len(names)
        table = table.mutate(**{column: (wanted[name] or {})[key] for (name, key), column in names.items()})
        if engine in ("postgres", "sqlite"):
            table = table.limit(ALL_ROWS)
        for name, want in wanted.items():
            if want is not None:
                made = {key: table[names[name, key]] for key in want}
                wanted[name] = _step(computations[name], made, name, results)
    return table, results


def _keys(wanted: Mapping[str, dict[str, Expression] | None]) -> list[tuple[str, str]]:
    return [(name, key) for name, want in wanted.items() for key in want or {}]


def _step(
    computation: Stages[T], made: dict[str, Expression] | None, name: str, results: dict[str, T]
) -> dict[str, Expression] | None:
    """What it wants next; None when it is done, and its result is kept."""
    try:
        return next(computation) if made is None else computation.send(made)
    except StopIteration as done:
        results[name] = done.value
        return None
