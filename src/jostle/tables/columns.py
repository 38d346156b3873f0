"""Records in an engine, behind the kernel's record sources: every count is a query, and only counts come back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, reduce
from operator import and_
from typing import final

import ibis
import numpy as np
from numpy.typing import NDArray

from jostle.kernel.errors import BadInput
from jostle.kernel.partition import Counts
from jostle.kernel.records import ArrayColumns
from jostle.tables.cells.cells import MOST_BRANCHES, looked_up, runs
from jostle.tables.cells.staged_columns import Expression
from jostle.tables.run_in_engine import Query
from jostle.tables.view import CELL, COUNT, EngineRows, View, whole_numbers


@final
@dataclass(frozen=True, repr=False)
class EngineColumns:
    """Some declared columns of tables in engines, as the kernel's `Columns`. Of several tables, the counts add up."""

    views: tuple[View, ...]
    """The rows."""

    sizes: Mapping[str, int]
    """The number of values of every attribute."""

    tables: Mapping[str, tuple[EngineColumns, tuple[str, ...], Counts]] = field(default_factory=dict)
    """Attributes that are looked up: of which others, as these were then, and the public table."""

    keeping: frozenset[str] = frozenset()
    """Columns in which a row without a cell has one more, after the others, and counts."""

    leaves_out: bool = False
    """Whether a question leaves out further rows, by a rule of its own."""

    among: tuple[tuple[EngineColumns, str, int], ...] = ()
    """Which attributes the rows have which values of. They are those of the time when the rows were parted: an attribute of
    the same name that is derived later does not change who is in a part."""

    _checked: dict[tuple[str, tuple[str, ...]], list[Query]] = field(default_factory=dict, init=False, compare=False)
    """Queries that were checked and have not run. Each runs once: a person's rows are chosen by a key in the query."""

    @classmethod
    def of(cls, views: Sequence[View], names: Sequence[str]) -> EngineColumns:
        """The declared columns of these names."""
        return cls(tuple(views), {name: views[0].schema.column(name).size for name in names})

    @classmethod
    def labelled(cls, views: Sequence[View], sizes: Mapping[str, int], label: str) -> EngineColumns:
        """Rows whose label is foreseen, with attributes of these sizes: a cell more than declared is for other values."""
        schema = views[0].schema
        keeping = frozenset(name for name, size in sizes.items() if name != label and size > schema.column(name).size)
        return cls(tuple(view.foreseen(label) for view in views), dict(sizes), keeping=keeping)

    def check(self, counted: Sequence[str] | None = None) -> None:
        """Raise if an engine would refuse to count these attributes, or, by default, to list all. No row is looked at.

        The queries are kept, and the first count or list of the same attributes runs them.
        """
        queries = self._listings([*self.sizes]) if counted is None else self._countings(counted)
        for query in queries:
            query.check()
        self._checked["listed" if counted is None else "counts", tuple(self.sizes if counted is None else counted)] = queries

    @cached_property
    def rows(self) -> int:
        """The number of records, by a query that looks at no column."""
        return int(self.counts(()).sum())

    @property
    def filtered(self) -> bool:
        """Whether rows were left out by a step, or are by a column that drops what it does not foresee."""
        schema = self.views[0].schema
        drops = any(schema[name].drops for name in self.sizes if name in schema and name not in self.keeping)
        return self.leaves_out or drops or any(view.filtered for view in self.views)

    def counts(self, names: Sequence[str]) -> Counts:
        """One query per table. A row that has no cell in one of these columns does not count."""
        vector = np.zeros(int(np.prod([self.sizes[name] for name in names], dtype=object)), dtype=np.int64)
        for query in self._checked.pop(("counts", tuple(names)), None) or self._countings(names):
            answer = query.fetch()
            np.add.at(vector, whole_numbers(answer, CELL), whole_numbers(answer, COUNT))
        return vector

    def listed(self, names: Sequence[str]) -> tuple[dict[str, NDArray[np.integer]], Counts]:
        """One query per table, too."""
        queries = self._checked.pop(("listed", tuple(names)), None) or self._listings(names)
        answers = [query.fetch() for query in queries]
        found = {
            name: np.concatenate([whole_numbers(answer, f"{CELL}_{place}") for answer in answers])
            for place, name in enumerate(names)
        }
        return {**found}, np.concatenate([whole_numbers(answer, COUNT) for answer in answers])

    def _countings(self, names: Sequence[str]) -> list[Query]:
        return self._queries(names, lambda rows: {CELL: self._flat(rows, names)})

    def _listings(self, names: Sequence[str]) -> list[Query]:
        keys = {name: f"{CELL}_{place}" for place, name in enumerate(names)}
        return self._queries(names, lambda rows: {key: self._cell(rows, name) for name, key in keys.items()})

    def _queries(self, names: Sequence[str], numbers: Callable[[EngineRows], dict[str, Expression]]) -> list[Query]:
        """Per table, how many rows have each combination of some numbers: of those with a cell in all columns needed."""
        parted = [column for then, name, _ in self.among for column in then._columns([name])]
        needed = list(dict.fromkeys([*self._columns(names), *parted]))

        def keys(rows: EngineRows) -> tuple[Expression, dict[str, Expression]]:
            counting = [rows.cell(name) >= 0 for name in needed if name not in self.keeping]
            counting += [then._cell(rows, name) == value for then, name, value in self.among]
            return reduce(and_, counting, ibis.literal(True)), numbers(rows)

        return [view.count_query(needed, keys) for view in self.views]

    def _columns(self, names: Sequence[str]) -> list[str]:
        """The declared columns that attributes come from, each once."""
        found: dict[str, None] = {}
        for name in names:
            then, of, _ = self.tables.get(name, (self, (), None))
            found |= dict.fromkeys(then._columns(of) if name in self.tables else [name])
        return [*found]

    def _cell(self, rows: EngineRows, name: str) -> Expression:
        if name not in self.tables:
            cell = rows.cell(name)
            return ibis.ifelse(cell < 0, self.sizes[name] - 1, cell).cast("int64") if name in self.keeping else cell
        then, of, table = self.tables[name]
        return looked_up(then._flat(rows, of), table)

    def _flat(self, rows: EngineRows, names: Sequence[str]) -> Expression:
        """One number for a combination of values."""
        flat = ibis.literal(0)
        for place, name in enumerate(names):
            flat = flat * self.sizes[name] + self._cell(rows, name) if place else self._cell(rows, name)
        return flat

    def with_table(self, name: str, of: Sequence[str], table: Counts) -> EngineColumns:
        flat = table.reshape(-1)
        if runs(flat) > MOST_BRANCHES:
            remedy = "use fewer cells, or take the records into memory: records(…, in_memory=True)"
            raise BadInput("table", f"has more than {MOST_BRANCHES} runs of equal entries, too many for an engine", remedy)
        sizes = {**self.sizes, name: int(flat.max()) + 1}
        return replace(self, tables={**self.tables, name: (self, tuple(of), flat)}, sizes=sizes)

    def where(self, name: str, value: int) -> EngineColumns:
        return replace(self, among=(*self.among, (self, name, value)))

    def complete(self) -> EngineColumns:
        """The rows that have all these cells, the same rows whatever is asked: each person's are bounded once."""
        names = list(self.sizes)
        kept = []
        for view in self.views:
            for name in names:
                view = view.having(name) if view.schema[name].drops and name not in self.keeping else view
            kept.append(view.sampled_once(names))
        return replace(self, views=tuple(kept))

    def in_memory(self) -> FetchedColumns:
        """The cells of all rows, as numbers. The records must be complete."""
        return FetchedColumns(self.sizes, self._fetched, lambda: self.rows, filtered=self.filtered)

    def _fetched(self) -> ArrayColumns:
        codes, weights = self.listed(list(self.sizes))
        return ArrayColumns({name: np.repeat(column, weights) for name, column in codes.items()}, dict(self.sizes))


@final
class FetchedColumns:
    """Records that are fetched from an engine when they are first needed, which is after the charge."""

    def __init__(
        self, sizes: Mapping[str, int], fetch: Callable[[], ArrayColumns], count: Callable[[], int], *, filtered: bool
    ) -> None:
        self.sizes, self._fetch, self._count, self.filtered = sizes, fetch, count, filtered

    @cached_property
    def _there(self) -> ArrayColumns:
        return self._fetch()

    @property
    def rows(self) -> int:
        """The number of records, which may be public before anybody has charged: they are not fetched for it."""
        return self._count()

    def counts(self, names: Sequence[str]) -> Counts:
        return self._there.counts(names)

    def listed(self, names: Sequence[str]) -> tuple[dict[str, NDArray[np.integer]], Counts]:
        return self._there.listed(names)

    def with_table(self, name: str, of: Sequence[str], table: Counts) -> FetchedColumns:
        sizes = {**self.sizes, name: int(table.max()) + 1}
        return FetchedColumns(sizes, lambda: self._there.with_table(name, of, table), self._count, filtered=self.filtered)

    def where(self, name: str, value: int) -> FetchedColumns:
        fetch = cache(lambda: self._there.where(name, value))  # kept by no cycle, so rows go with the part
        return FetchedColumns(self.sizes, fetch, lambda: fetch().rows, filtered=self.filtered)
