"""Columns of free text, read once per distinct text instead of once per row, where texts are compared by their bytes.

Privacy: each row is joined to the one entry of its own text, so a row stays one row and has the values that it would have by
itself. The place of a text among all depends on other rows: it is only compared with other places, which gives what
comparing the texts gives. It is never hashed, shown or counted; what is hashed is the text's own hash. Proof:
docs/proofs/tables.md, "A person's rows".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ibis

from jostle.schema import Column
from jostle.tables.bounded_rows import hashed
from jostle.tables.cells.cells import place, reading
from jostle.tables.cells.readings import octets_of
from jostle.tables.cells.staged_columns import RESERVED, Expression, run

STORED, PLAIN, FOUND, PLACE, HASH = (f"{RESERVED}{name}" for name in ("stored", "plain", "found", "place", "text_hash"))


@dataclass(frozen=True, repr=False)
class DistinctTexts:
    """The distinct texts of a column, as they are read, and the column's rows joined to them."""

    entries: Any
    """An Ibis table with one row per distinct stored text."""

    number: int

    def name(self, what: str) -> str:
        """What a column of the entries is called."""
        return f"{what}_{self.number}"

    def spelled(self, table: Any, place: str) -> Any:
        """A table whose column has places of texts, with the texts' bytes in their stead."""
        bytes_of = octets_of(self.entries[self.name(PLAIN)].fill_null(""), "duckdb")
        listed = self.entries.select(**{PLACE: self.entries[self.name(PLACE)], PLAIN: bytes_of}).distinct()
        joined = table.left_join(listed, table[place] == listed[PLACE])
        return joined.select(*(joined[PLAIN].name(place) if name == place else name for name in table.columns))


def distinct_texts(table: Any, name: str, column: Column, number: int) -> DistinctTexts:
    """The distinct texts of a column of DuckDB's."""
    made = {what: f"{what}_{number}" for what in (STORED, PLAIN, FOUND, PLACE, HASH)}
    stored = table.select(**{made[STORED]: table[name]}).distinct()
    rows, raws = run(stored, {name: reading(column, stored[made[STORED]], "duckdb")}, "duckdb")
    rows, placed = run(rows, {name: place(column, raws[name])}, "duckdb")
    rows = rows.select(made[STORED], **{made[PLAIN]: placed[name].plain, made[FOUND]: placed[name].cell})
    words = rows[made[PLAIN]].fill_null("")
    by_words = ibis.window(order_by=words)
    ranked = {made[PLACE]: ibis.dense_rank().over(by_words), made[HASH]: hashed("duckdb", words)}
    return DistinctTexts(rows.mutate(**ranked), number)


def with_distinct_texts(
    table: Any, columns: Mapping[str, Column], free: Sequence[str]
) -> tuple[Any, dict[str, DistinctTexts]]:
    """The table joined to the distinct texts of its columns of free text, where these are stored as texts."""
    texts = [name for name in free if table[name].type().is_string()]
    found = {name: distinct_texts(table, name, columns[name], number) for number, name in enumerate(texts)}
    for name, one in found.items():
        table = table.left_join(one.entries, table[name].identical_to(one.entries[one.name(STORED)]))
    return table, found


def as_read(table: Any, one: DistinctTexts) -> tuple[Expression, Expression]:
    """Of rows that are joined to their texts: the plain value and the cell."""
    return table[one.name(PLAIN)], table[one.name(FOUND)]
