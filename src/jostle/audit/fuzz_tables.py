"""Odd arguments for private tables, their schemas and classifiers: more of what `jostle.audit.fuzz` tries."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from jostle import schema
from jostle.kernel.ledger import Ledger

if TYPE_CHECKING:
    from jostle.tables.table import Table

ROWS = {"who": [1, 1, 2], "g": ["a", "b", "a"], "v": [1, 2, 3]}
"""A table that is public."""

BUDGET = 10**9

Listed = list[tuple[str, Callable[..., Any], dict[str, Any]]]


def columns() -> Listed:
    """What describes a column, and encodes what stands in it."""

    def encoded(kind: type[schema.Column]) -> Callable[..., Any]:
        return lambda values, **given: kind(**given).encode([values, values])

    return [
        ("schema.Integer", encoded(schema.Integer), {"values": 1, "low": 0, "high": 9, "bins": 5, "missing": ["-1"]}),
        ("schema.Real", encoded(schema.Real), {"values": 1.5, "low": 0.0, "high": 9.0, "bins": 5}),
        ("schema.Category", encoded(schema.Category), {"values": "a", "categories": ["a", "b"], "missing": ["?"]}),
        ("schema.Date", encoded(schema.Date), {"values": "2024-05-01", "low": "2024-01-01", "high": "2024-12-31"}),
        ("schema.Schema", lambda columns: schema.Schema(columns), {"columns": {"v": schema.Integer(0, 9)}}),
    ]


def tables(ledger: Ledger) -> Listed:
    """How a table is opened, and what is asked of it; questions are prepared, and the cheapest one is released."""
    import pyarrow as pa

    from jostle.tables.opening import open as open_table

    rows = pa.table(ROWS)
    described = schema.Schema({"g": schema.Category(["a", "b"]), "v": schema.Integer(0, 9)})

    def opened(**given: Any) -> Table:
        usual = {"data": rows, "schema": described, "ledger": ledger, "budget": BUDGET, "name": "people", "unit": None}
        return open_table(**(usual | given))

    table = opened()
    return [
        ("open", opened, {"data": rows, "schema": described, "unit": None, "neighbours": "add_remove", "budget": BUDGET}),
        ("open with a note", opened, {"note": "for the board"}),
        ("Table.count", table.count, {"epsilon": 1, "within": None}),
        ("Table.ask", lambda name, **given: table.ask(name, **given), {"name": "g", "algorithm": "Laplace"}),
        ("Table.ask_ranges", table.ask_ranges, {"column": "v", "ranges": [(0, 4), (5, 9)]}),
        ("Table.ask_quantiles", table.ask_quantiles, {"column": "v", "levels": [0.5]}),
        ("Table.ask_marginals", lambda one, other: table.ask_marginals(one, other), {"one": ("g",), "other": ("v",)}),
        ("Table.ask_total", table.ask_total, {"kind": "sum", "column": "v", "by": "g"}),
        ("Table.ask_sql", table.ask_sql, {"text": "SELECT g, COUNT(*) FROM people GROUP BY g"}),
        ("Table.where", table.where, {"condition": "v > 3"}),
        ("Table.select", lambda one, other: table.select(one, other), {"one": "g", "other": "v"}),
        ("Table.derive", table.derive, {"name": "w", "value": "v * 2", "column": schema.Integer(0, 9)}),
        ("Table.join", table.join, {"lookup": {"a": 1}, "on": "g", "name": "w", "column": schema.Integer(0, 9)}),
        ("Table.union", table.union, {"other": table}),
        ("Table.partition", lambda **given: [*table.partition(**given)], {"by": "g", "epsilon": 1}),
    ]


def classifiers() -> Listed:
    """A classifier, which others are like."""
    from jostle.learn import PrivateMajority

    described = schema.Schema({"a": schema.Integer(0, 9), "class": schema.Boolean()})

    def fitted(X: Any, y: Any, **given: Any) -> Any:
        return PrivateMajority(**given, random_state=0).fit(X, y).predict([[1]])

    usual = {"X": [[1], [2]], "y": [True, False], "epsilon": 1, "schema": described, "label": "class"}
    return [("PrivateMajority", fitted, usual)]
