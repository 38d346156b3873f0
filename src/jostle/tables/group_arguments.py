"""The arguments of grouped questions: columns, aggregates, weights and listed groups, each checked before any charge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from jostle.kernel.arguments import finite
from jostle.kernel.errors import BadInput
from jostle.schema import Column, Schema
from jostle.schema.rows import distinct_names
from jostle.tables.aggregates import Aggregate, Ratio
from jostle.tables.question import numeric

if TYPE_CHECKING:
    from jostle.tables.table import Table

MOST_GROUPS = 4096
"""There are at most this many groups."""


def group_columns(table: Table, columns: Any) -> tuple[str, ...]:
    """The columns to group by: none, or declared ones, each once."""
    names = (columns,) if isinstance(columns, str) else columns
    if not isinstance(names, (list, tuple)):
        raise BadInput("columns", "must be a list of columns", 'pass for instance ["ward", "sex"], or [] for all rows')
    for name in names:
        table.schema.column(name)
    if len(set(names)) < len(names):
        raise BadInput("columns", "are twice the same", "name each column once")
    return tuple(names)


def expanded(
    aggregates: Any, weights: Any
) -> tuple[Any, dict[str, float] | Any, dict[str, tuple[str, str]], dict[str, str]]:
    """Plain aggregates behind those that are asked for, their weights, the parts of ratios, and the ratios in words."""
    if not isinstance(aggregates, Mapping) or not any(isinstance(one, Ratio) for one in aggregates.values()):
        return aggregates, weights, {}, {}
    plain = {name: one for name, one in aggregates.items() if not isinstance(one, Ratio)}
    given = dict(weights) if isinstance(weights, Mapping) else {}
    parts: dict[str, tuple[str, str]] = {}
    for name, one in aggregates.items():
        if isinstance(one, Ratio):
            named = []
            for part in (one.over, one.under):
                known = next((other for other, asked in plain.items() if asked == part), None)
                if known is None:
                    [known] = distinct_names([str(part)], [*aggregates, *plain])
                    plain[known] = part
                    given |= {known: given[name]} if name in given else {}
                named.append(known)
            parts[name] = (named[0], named[1])
    return (
        plain,
        {name: weight for name, weight in given.items() if name not in parts} or None,
        parts,
        {name: str(one) for name, one in aggregates.items() if isinstance(one, Ratio)},
    )


def checked_aggregates(table: Table, aggregates: Any) -> dict[str, Aggregate]:
    """What is computed per group, by name."""
    example = 'pass for instance n=count(), average=mean("cost")'
    if not isinstance(aggregates, Mapping) or not aggregates:
        raise BadInput("aggregates", "are missing", example)
    for name, one in aggregates.items():
        if not isinstance(one, Aggregate) or not isinstance(name, str) or not name:
            raise BadInput("aggregates", f"{name!r} is not an aggregate of jostle.tables.aggregates", example)
        if one.column is not None and one.kind == "count":
            table.schema.column(one.column)
        elif one.column is not None:
            numeric(table.schema, one.column)
        if one.kind == "count_units" and table.unit is None:
            problem = "the table protects single rows, so it does not know which rows are one person's"
            raise BadInput("aggregates", problem, 'count rows with count(), or open the table with unit=Unit("person", …)')
    return dict(aggregates)


def checked_weights(aggregates: Mapping[str, Aggregate], weights: Any) -> dict[str, float]:
    """How much the squared error of each counts; 1 unless given."""
    given = {} if weights is None else weights
    remedy = f"pass positive numbers by name, such as {{{next(iter(aggregates))!r}: 2}}"
    if not isinstance(given, Mapping) or set(given) - set(aggregates):
        raise BadInput("weights", "are not by the names of the aggregates", remedy)
    found = {name: finite(given.get(name, 1)) for name in aggregates}
    if any(one is None or not 1e-9 <= one <= 1e9 for one in found.values()):
        raise BadInput("weights", "must be between 10⁻⁹ and 10⁹", remedy)
    return {name: float(one) for name, one in found.items() if one is not None}


def listed_groups(keys: Any, schema: Schema, groups: tuple[str, ...]) -> tuple[list[int], dict[str, list[Any]]]:
    """The flat cells of listed groups, and their labels."""
    if isinstance(keys, str):
        raise BadInput("keys", "must be a list of groups", f"pass for instance keys=[{keys!r}]")
    try:
        listed = [tuple(key) if isinstance(key, (tuple, list)) else (key,) for key in keys]
    except TypeError:
        listed = []
    if not groups or not 1 <= len(listed) <= MOST_GROUPS or any(len(key) != len(groups) for key in listed):
        problem = (
            f"must be 1 to {MOST_GROUPS:,} groups, with a value for each of the columns {', '.join(groups) or '(none)'}"
        )
        raise BadInput("keys", problem, 'pass for instance [("north", "F"), ("north", "M")]')
    places = [0] * len(listed)
    labels: dict[str, list[Any]] = {}
    for number, name in enumerate(groups):
        column = schema[name]
        known = {label: cell for cell, label in enumerate(column.labels)}
        cells = [_cell(column, known, key[number], name) for key in listed]
        labels[name] = [column.labels[cell] for cell in cells]
        places = [place * column.size + cell for place, cell in zip(places, cells, strict=True)]
    if len(set(places)) < len(places):
        raise BadInput("keys", "name a group twice, or two values of one cell", "list each group once")
    return places, labels


def _cell(column: Column, known: Mapping[str, int], value: Any, name: str) -> int:
    """The cell of a listed value: by its label, or as a value of the column."""
    if isinstance(value, str) and value in known:
        return known[value]
    cell = int(column.encode([value])[0])
    if cell < 0 or cell >= column.values:
        raise BadInput(
            "keys", f"{value!r} is no value of {name!r} by the schema", f"use one of {', '.join(list(known)[:8])}"
        )
    return cell
