"""Rows of private tables, and neighbours of them: values at the ends of what is declared, beyond it, missing, or of no use.

A neighbour has a row or a person more, less, or another one, anywhere among the others, so that rows change places as well.
"""

from __future__ import annotations

import math
from datetime import date
from typing import Any, Literal
from uuid import UUID

import numpy as np

from jostle.kernel.neighbours import Relation
from jostle.schema import Boolean, Category, Column, Date, Integer, Real, Text

Row = tuple[Any, ...]
"""A person and one value per column."""

Form = Literal["duckdb", "sqlite", "arrow", "frame", "text"]
"""Where the rows are: in tables of two engines, in typed columns, in columns of objects, or in a text file."""

MOST_ROWS = 3
"""Rows per person that count."""

WIDE = 5_000
"""Cells of the widest column."""

CROWD = 4
"""The kind of rows that are of many people."""

SCHEMA: dict[str, Column] = {
    "g": Category(["a", "b", "c"]),
    "v": Integer(-3, 9),
    "x": Real(-100, 10, bins=8),
    "d": Date(date(2024, 1, 1), date(2024, 12, 31), every="month"),
    "b": Boolean(null="drop", outside="drop"),
    "w": Integer(0, WIDE - 1, bins=WIDE),
    "t": Text(),
}
"""What is public about the columns. The bounds of sums are further below 0 than above it, and the other way round."""

VALUES: dict[str, tuple[Any, ...]] = {
    "g": ("a", "b", "c", "A", "", " a", "a ", "é", None, "zz"),
    "v": (-3, 9, 0, 1, 2, 3, 10, -4, 2**62, -(2**62), None),
    "x": (-100.0, 10.0, 0.0, -0.0, 1e-300, 9.999999, -99.5, 1e308, -1e308, math.inf, -math.inf, math.nan, None),
    "d": (date(2024, 1, 1), date(2024, 12, 31), date(2024, 6, 30), date(1900, 1, 1), date(9999, 12, 31), None),
    "b": (True, False, True, False, None),
    "w": (0, 1, 2, WIDE - 1, WIDE // 2, WIDE, -1, None),
    "t": ("ill", "well", " ill ", "", "Ill", "é", "x" * 501, "rare", None),
}
"""Usual values and those at the edge, of the types that columns have."""

ODD: tuple[Any, ...] = ("s3cr3t", "1e999", "0x1", "2024-02-30", b"\xff", 10**400, ("t",), math.nan, True, 1.5, "\ud800")
"""What a column of Python objects may hold besides."""


def draw_row(who: Any, form: Form, rng: np.random.Generator) -> Row:
    """A row of somebody."""
    values = [_value(name, form, rng) for name in SCHEMA]
    return (who, *values)


def _value(name: str, form: Form, rng: np.random.Generator) -> Any:
    if form == "frame" and rng.random() < 0.1:
        return ODD[int(rng.integers(len(ODD)))]
    known = VALUES[name]
    return known[int(rng.integers(len(known)) if rng.random() < 0.4 else rng.integers(min(4, len(known))))]


def person(number: int, form: Form) -> Any:
    """In a column of objects, persons may be texts, numbers, and what is neither."""
    if form != "frame":
        return number
    return (number, f"p{number}", UUID(int=number), b"p%d" % number, date.fromordinal(700_000 + number))[number % 5]


def draw_rows(kind: int, form: Form, rng: np.random.Generator) -> list[Row]:
    """Nobody, one row, somebody with many rows, a crowd, and many with a few each; some rows are nobody's."""
    people: list[Any] = [
        [int(rng.integers(8)) for _ in range(20)],
        [],
        [1],
        [2] * 12 + [3],
        list(range(30)),
        [None, *(int(rng.integers(3)) for _ in range(15))],
    ]
    return [draw_row(None if who is None else person(who, form), form, rng) for who in people[kind % 6]]


def neighbour(rows: list[Row], relation: Relation, by_person: bool, form: Form, rng: np.random.Generator) -> list[Row]:
    """The same rows after a row or a person came, went, or changed; rows that come stand anywhere among the others."""
    change = "replace" if relation == "replace" else ("come", "go")[int(rng.integers(2))]
    if not by_person:
        at = int(rng.integers(len(rows) + 1))
        if change == "come":
            return [*rows[:at], draw_row(person(99, form), form, rng), *rows[at:]]
        at = min(at, len(rows) - 1)
        instead = [draw_row(rows[at][0], form, rng)] if change == "replace" and rows else []
        return [*rows[:at], *instead, *rows[at + 1 :]] if rows else []
    known = sorted({row[0] for row in rows if row[0] is not None}, key=str)
    who = person(99, form) if change == "come" or not known else known[int(rng.integers(len(known)))]
    left = [row for row in rows if change == "come" or row[0] != who]
    many = 0 if change == "go" else int(rng.choice([1, 2, MOST_ROWS, MOST_ROWS + 1, 9]))
    for _ in range(many):
        left.insert(int(rng.integers(len(left) + 1)), draw_row(who, form, rng))
    return left
