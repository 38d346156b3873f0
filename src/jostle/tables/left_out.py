"""What the answer to a question leaves out, in sentences.

Privacy: the sentences are made from the schema, the unit and the question. They are the same whatever the rows are.
"""

from __future__ import annotations

from collections.abc import Sequence

from jostle.schema import Category, Column, Date, Numeric, Schema
from jostle.schema.columns import MISSING, OTHER
from jostle.tables.unit import Unit


def notes(schema: Schema, unit: Unit | None, counted: Sequence[str] = (), added: Sequence[str] = ()) -> tuple[str, ...]:
    """What is left out where rows are counted by some columns, and numbers of others are added up, averaged or ranked.

    >>> from jostle import Category, Real, Schema, Unit
    >>> visits = Schema({"ward": Category(["A", "B"], null="drop"), "cost": Real(0, 50_000, bins=10)})
    >>> for note in notes(visits, Unit("patient", max_rows=3), ["ward"], ["cost"]):
    ...     print(note)
    At most 3 rows per patient are counted; rows without a patient are left out.
    Values of ward that the schema does not list are counted as (other); rows without ward are left out.
    cost is clipped to 0 – 50,000; rows without a number in cost are left out.
    """
    found = [] if unit is None else [_bound(unit)]
    found += [_counted(name, schema[name]) for name in dict.fromkeys(counted)]
    found += [_added(name, schema[name]) for name in dict.fromkeys(added)]
    return tuple(found)


def _bound(unit: Unit) -> str:
    rows = "1 row" if unit.max_rows == 1 else f"{unit.max_rows:,} rows"
    counted = "is" if unit.max_rows == 1 else "are"
    return f"At most {rows} per {unit.column} {counted} counted; rows without a {unit.column} are left out."


def _counted(name: str, column: Column) -> str:
    """Where values go that are beyond those declared, and missing ones."""
    beyond = _beyond(name, column)
    if column.outside == "drop" and column.null == "drop":
        return f"{beyond} and rows without {name} are left out."
    outside = {"clip": "in the nearest cell", "own": f"as {OTHER}"}.get(column.outside)
    first = f"{beyond} are left out" if outside is None else f"{beyond} are counted {outside}"
    missing = f"rows without {name} are left out" if column.null == "drop" else f"missing ones as {MISSING}"
    if outside is None and column.null == "own":
        missing = f"missing ones are counted as {MISSING}"
    return f"{first}; {missing}."


def _beyond(name: str, column: Column) -> str:
    if isinstance(column, (Numeric, Date)):
        return f"Values of {name} outside {between(column)}"
    listed = "the schema does not list" if isinstance(column, Category) else "are neither true nor false"
    return f"Values of {name} that {listed}"


def _added(name: str, column: Column) -> str:
    if column.outside == "clip":
        return f"{name} is clipped to {between(column)}; rows without a number in {name} are left out."
    return f"Rows without a number from {between(column)} in {name} are left out."


def between(column: Column) -> str:
    """The declared bounds of a column of numbers or dates, as people write them.

    >>> from jostle import Integer
    >>> between(Integer(0, 1_250_000, bins=10))
    '0 – 1,250,000'
    """
    if isinstance(column, Date):
        return f"{column.low} – {column.high}"
    return f"{column.low:,.12g} – {column.high:,.12g}" if isinstance(column, Numeric) else ""
