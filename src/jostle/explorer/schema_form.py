"""A schema as a form with one row per column. Names and declared types come from the table, values never do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any, Final

from jostle.explorer.forms import Form
from jostle.kernel.errors import BadInput
from jostle.schema import KINDS, Boolean, Category, Column, Date, Integer, Real, Schema, Text
from jostle.tables.engines.files import has_line_of_names

MOST_COLUMNS: Final = 200
KIND_NAMES: Final = tuple(kind for kind in KINDS if kind != Text.kind)  # no question of the page is about free text


def draft(kinds: dict[str, str]) -> list[dict[str, str]]:
    """One row for each column of a table, with the kind that it may be."""
    return [{"name": name, "kind": kind} for name, kind in kinds.items()][:MOST_COLUMNS]


def delimiter(form: Form) -> str | None:
    """The sign between fields of a text file; None if nothing was said."""
    said = form.text("delimiter")
    return "\t" if said == r"\t" else said or None


def names_in_line(form: Form, data: str, *, to_show: bool) -> list[str] | None:
    """The columns' names for a text file without a header; None if the file or the database has them.

    Nothing in a text file tells whether its first line has names or is a row, whose values nobody may see. So before the
    line is shown, the curator has to say which it is.
    """
    said = form.choice("heading", ["", "names", "none"])
    if not has_line_of_names(Path(data)):
        return None
    if said == "none":
        words = [word.strip() for word in form.text("column_names").replace("\n", ",").split(",")]
        if not all(words):
            raise BadInput("column_names", "are missing", "name every column of the file, with commas between")
        return words
    if to_show and not said:
        problem = "the first line may have the columns' names, or be a row that nobody may see"
        raise BadInput("heading", problem, "choose which it is")
    return None


def read(form: Form) -> Schema:
    """The ticked columns with their descriptions, and the texts that mark missing values in all of them."""
    described: dict[str, Column] = {}
    missing = [word.strip() for word in form.text("missing", longest=2_000).split(",") if word.strip()]
    for number in range(MOST_COLUMNS):
        name = form.raw_text(f"column-{number}-name")
        if name is None:
            break
        if form.text(f"column-{number}-use"):
            described[name] = _column(form, f"column-{number}", missing)
    if not described:
        raise BadInput("schema", "describes no column", "tick at least one and say which values it may have")
    return Schema(described)


def _column(form: Form, row: str, missing: Sequence[str]) -> Column:
    kind = form.choice(f"{row}-kind", KIND_NAMES)
    try:
        made: Any = _MAKERS[kind](form, row)  # a dataclass of some kind
        column: Column = replace(made, missing=missing)
    except BadInput as error:
        if error.argument == "missing":
            raise
        field = error.argument if error.argument.startswith(row) else f"{row}-{error.argument}"
        raise BadInput(field, error.problem, error.remedy) from None
    return column


def _category(form: Form, row: str) -> Column:
    words = [word.strip() for word in form.text(f"{row}-categories").replace("\n", ",").split(",")]
    named = [word for word in words if word]
    if not named:
        raise BadInput("categories", "are missing", "list the values that are possible, with commas between")
    return Category(named)


def _integer(form: Form, row: str) -> Column:
    low, high = (form.whole(f"{row}-{end}", -(2**52), 2**52) for end in ("low", "high"))
    return Integer(low, high, bins=_bins(form, row))


def _real(form: Form, row: str) -> Column:
    low, high = (form.number(f"{row}-{end}", -1e300, 1e300) for end in ("low", "high"))
    return Real(low, high, bins=_bins(form, row) or 64)


def _date(form: Form, row: str) -> Column:
    low, high = (_day(form, f"{row}-{end}") for end in ("low", "high"))
    every: Any = form.choice(f"{row}-every", ["month", "day", "week", "year"])
    return Date(low, high, every=every)


def _bins(form: Form, row: str) -> int | None:
    return form.whole(f"{row}-bins", 1, 2**20) if form.text(f"{row}-bins") else None


def _day(form: Form, name: str) -> date:
    try:
        return date.fromisoformat(form.text(name))
    except ValueError:
        raise BadInput(name, "must be a date", "write it as 2024-12-31") from None


_MAKERS: Final[dict[str, Callable[[Form, str], Column]]] = {
    "category": _category,
    "integer": _integer,
    "real": _real,
    "date": _date,
    "boolean": lambda form, row: Boolean(),
}
