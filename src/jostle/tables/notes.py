"""What an answer leaves out or moves, in words: the notes of every answer.

Privacy: the sentences are made from the schema, the unit and the question. They are the same whatever the rows are.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from jostle.schema import MISSING, OTHER, Category, Column, Date, Numeric, Schema
from jostle.tables.unit import Unit
from jostle.tables.view import Derive, View, Where, fields


def notes_on(
    schema: Schema,
    unit: Unit | None,
    counted: Sequence[str] = (),
    added: Sequence[str] = (),
    view: View | None = None,
) -> tuple[str, ...]:
    """What is left out where rows are counted by some columns, and numbers of others are added up, averaged or ranked.

    A view's steps say which columns conditions and derived columns are made of.

    >>> from jostle import Category, Real, Schema, Unit
    >>> visits = Schema({"ward": Category(["A", "B"], null="drop"), "cost": Real(0, 50_000, bins=10)})
    >>> for note in notes_on(visits, Unit("patient", max_rows=3), ["ward"], ["cost"]):
    ...     print(note)
    At most 3 rows per patient are counted; rows without a patient are left out.
    Values of ward that the schema does not list are counted as (other); rows without ward are left out.
    cost is clipped to 0 – 50,000; rows without a number such as 1234.5 in cost are left out.
    """
    found = [] if unit is None else [_bound(unit)]
    derived, conditions, listed = ({}, {}, set()) if view is None else _made_of(view)
    read = {} if view is None else view.declared
    found += _read_in("conditions", conditions, read)
    for name in dict.fromkeys(counted):
        found.append(_rows_without(name, schema[name]) if name in listed else _counted(name, schema[name]))
        found += _read_in(name, derived.get(name, {}), read, schema[name])
    for name in dict.fromkeys(added):
        found.append(_rows_without(name, schema[name]) if name in listed else _added(name, schema[name]))
        found += _read_in(name, derived.get(name, {}), read, schema[name])
    return tuple(dict.fromkeys(note for note in found if note))


def _made_of(view: View) -> tuple[dict[str, dict[str, None]], dict[str, None], set[str]]:
    """Which columns of the table each derived column is made of, and all conditions; and columns with all values listed."""
    derived: dict[str, dict[str, None]] = {}
    conditions: dict[str, None] = {}
    listed: set[str] = set()
    for step in view.steps:
        if not isinstance(step, (Derive, Where)):
            continue
        value = step.value if isinstance(step, Derive) else step.condition
        sources = {source: None for name in sorted(fields(value)) for source in derived.get(name, {name: None})}
        if isinstance(step, Where):
            conditions |= sources
        else:
            derived[step.name] = sources
            listed = listed | {step.name} if step.listed else listed - {step.name}
    return derived, conditions, listed


def _read_in(place: str, names: Iterable[str], read: Mapping[str, Column], made: Column | None = None) -> list[str]:
    """How numbers and days are read where something is made of them, except where that is said of the same column."""
    numbers = [(name, read[name]) for name in names if isinstance(read.get(name), (Numeric, Date))]
    found = [one for one in numbers if one[0] != place or made is None or made.written != one[1].written]
    return [
        f"In {place}, {name} is clipped to {between(column)}; a row without {column.written} in it counts as NULL."
        for name, column in found
    ]


def _rows_without(name: str, column: Column) -> str:
    """Of a derived column, all of whose values are listed: where rows without one go."""
    if isinstance(column, Category) and column.outside == "own":
        return _counted(name, column)
    return f"Rows without a value of {name} are left out." if column.null == "drop" else ""


def note_on_groups(unit: Unit | None) -> list[str]:
    """In how many groups a person counts, and with how many rows of each, where that is bounded."""
    if unit is None or not unit.bounds_groups:
        return []
    bounds = {"groups per": unit.max_groups, "rows per group and": unit.max_rows_per_group}
    said = " and ".join(f"{most:,} {what} {unit.column}" for what, most in bounds.items() if most is not None)
    return [f"At most {said} are counted."]


def _bound(unit: Unit) -> str:
    rows = "1 row" if unit.max_rows == 1 else f"{unit.max_rows:,} rows"
    counted = "is" if unit.max_rows == 1 else "are"
    article = "an" if unit.column[:1].lower() in tuple("aeio") else "a"
    return f"At most {rows} per {unit.column} {counted} counted; rows without {article} {unit.column} are left out."


def _counted(name: str, column: Column) -> str:
    """Where values go that are beyond those declared, and missing ones."""
    beyond = _beyond(name, column)
    absent = f"rows without {column.written} in {name}" if isinstance(column, (Numeric, Date)) else f"rows without {name}"
    if column.outside == "drop" and column.null == "drop":
        return f"{beyond} and {absent} are left out."
    outside = {"clip": "in the nearest cell", "own": f"as {OTHER}"}.get(column.outside)
    first = f"{beyond} are left out" if outside is None else f"{beyond} are counted {outside}"
    missing = f"{absent} are left out" if column.null == "drop" else f"missing ones as {MISSING}"
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
        return f"{name} is clipped to {between(column)}; rows without {column.written} in {name} are left out."
    return f"Values of {name} outside {between(column)} and rows without {column.written} in {name} are left out."


def between(column: Column) -> str:
    """The declared bounds of a column of numbers or dates, as people write them.

    >>> from jostle import Integer
    >>> between(Integer(0, 1_250_000, bins=10))
    '0 – 1,250,000'
    """
    if isinstance(column, Date):
        return f"{column.low} – {column.high}"
    return f"{column.low:,.12g} – {column.high:,.12g}" if isinstance(column, Numeric) else ""
