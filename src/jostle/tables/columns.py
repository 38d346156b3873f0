"""Records in an engine, behind the kernel's record sources: every count is a query, and only counts come back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, reduce
from operator import and_, or_
from typing import Any, final

import ibis
import numpy as np
from numpy.typing import NDArray

from jostle.kernel.errors import BadInput
from jostle.kernel.functions.totals import CellSums, Contribution, PowerSums
from jostle.kernel.partition import Counts
from jostle.kernel.records import ArrayColumns
from jostle.schema import Text
from jostle.tables.cells.cells import MOST_BRANCHES, looked_up, runs
from jostle.tables.cells.readings import octets_of
from jostle.tables.cells.staged_columns import Expression
from jostle.tables.lattices import NumberLattice, Presence
from jostle.tables.run_in_engine import Query
from jostle.tables.view import CELL, COUNT, LOWER_BITS, PERSONS, SQUARES, VALUE, EngineRows, View, whole_numbers


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

    numbers: Mapping[str, NumberLattice | Presence] = field(default_factory=dict)
    """Columns that are added up, by name."""

    rows_without_numbers: bool = True
    """Whether rows count that have none of these numbers."""

    grouped_by: tuple[str, ...] | None = None
    """The attributes that say which group a row is in, where `counts` bounds persons in groups."""

    only: Mapping[tuple[str, ...], Counts] = field(default_factory=dict)
    """Of which attributes, which combinations count: all others are left out."""

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

    def in_groups(self, by: Sequence[str]) -> EngineColumns:
        """The same, with each person bounded in groups where rows are counted, if the unit says so."""
        units = [view.unit for view in self.views]
        return replace(self, grouped_by=tuple(by)) if any(unit and unit.bounds_groups for unit in units) else self

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
        left_out = self.leaves_out or bool(self.only) or not self.rows_without_numbers
        return left_out or drops or any(view.filtered for view in self.views)

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

    # ------------------------------------------------------------------------------------------------------------- sums

    def check_sums(self, by: Sequence[str], *, squares: bool, persons: bool) -> None:
        """Raise if an engine would refuse to add up. No row is looked at; the queries are kept for `cell_sums`."""
        queries = self._summings(by, squares=squares, persons=persons)
        for query in queries:
            query.check()
        self._checked["sums", tuple(by)] = queries

    def cell_sums(self, by: Sequence[str], points: Mapping[str, int], *, squares: bool, persons: bool) -> CellSums:
        """One query per table, for all sums."""
        cells = int(np.prod([self.sizes[name] for name in by], dtype=object))
        queries = self._checked.pop(("sums", tuple(by)), None) or self._summings(by, squares=squares, persons=persons)
        fetched = [query.fetch() for query in queries]
        answers = [(answer, np.ones(answer.num_rows, np.bool_), whole_numbers(answer, CELL)) for answer in fetched]
        return self._added_up(answers, cells, points, squares=squares, persons=persons)

    def _added_up(
        self,
        answers: Sequence[tuple[Any, NDArray[np.bool_], Counts]],
        cells: int,
        points: Mapping[str, int],
        *,
        squares: bool,
        persons: bool,
    ) -> CellSums:
        """The answers of all tables together, given which of their rows count, and in which cells those are."""
        records, people = np.zeros(cells, dtype=object), np.zeros(cells, dtype=object)
        found = {name: PowerSums(*(np.zeros(cells, dtype=object) for _ in range(3))) for name in points}
        for answer, counts, place in answers:

            def add(
                sums: NDArray[np.object_], name: str, answer: Any = answer, counts: Any = counts, place: Counts = place
            ) -> None:
                # By Python's whole numbers: what an engine calls a sum may be a decimal, and may not fit 64 bits here.
                np.add.at(sums, place, np.array([int(one) for one in answer[name].to_pylist()], dtype=object)[counts])

            add(records, COUNT)
            if persons:
                add(people, PERSONS)
            for number, name in enumerate(self.numbers):
                if name in found:
                    add(found[name].counted, f"{COUNT}_{number}")
                    add(found[name].sums, f"{VALUE}_{number}")
                    for part in range(2 if squares else 0):
                        halves = np.zeros(cells, dtype=object)
                        add(halves, f"{SQUARES}_{number}_{part}")
                        found[name].squares[:] += halves << (LOWER_BITS * part)
        return CellSums(records, people, found)

    @property
    def most_counted(self) -> int | None:
        """The most rows of a person in `counts`, where persons are bounded in groups there; None elsewhere."""
        return None if self.grouped_by is None else self.contribution(self.grouped_by).records

    def contribution(self, by: Sequence[str]) -> Contribution:
        """What each person is held to where these columns are added up, if that is bounded in the query itself.

        Rows that were drawn before (a part, or a sample) have no such bound, and neither has a part of these columns.
        """
        units = [view.unit for view in self.views]
        knows = all(view.knows_persons for view in self.views)
        if len(units) != 1 or units[0] is None or self.among:
            return Contribution(persons=knows)
        return Contribution(*units[0].contribution(grouped=bool(by)), persons=knows)

    # ------------------------------------------------------------------------------------------------------------- keys

    def check_keys(self, by: Sequence[str], *, squares: bool) -> None:
        """Raise if an engine would refuse to add up by keys. No row is looked at; the queries are kept for `keyed_sums`."""
        queries = self._summings(by, squares=squares, persons=self.views[0].knows_persons, keyed=True)
        for query in queries:
            query.check()
        self._checked["keys", tuple(by)] = queries

    def keyed_sums(
        self, by: Sequence[str], points: Mapping[str, int], *, squares: bool
    ) -> tuple[list[tuple[Any, ...]], CellSums]:
        """Whatever keys there are: of a column of free text its texts, where an empty one is missing; of others, cells.

        Keys that are no Unicode texts do not count, whoever has them.
        """
        persons = self.views[0].knows_persons
        places: dict[tuple[Any, ...], int] = {}
        answers = []
        for query in self._checked.pop(("keys", tuple(by)), None) or self._summings(
            by, squares=squares, persons=persons, keyed=True
        ):
            answer = query.fetch()
            keys = list(zip(*(_key_values(answer, f"{CELL}_{place}") for place in range(len(by))), strict=True))
            known = np.array([None not in key for key in keys], dtype=np.bool_)
            kept = [key for key in keys if None not in key]
            answers.append((answer, known, np.array([places.setdefault(k, len(places)) for k in kept], dtype=np.int64)))
        sums = self._added_up(answers, len(places), points, squares=squares, persons=persons)
        return list(places), sums if persons else replace(sums, persons=sums.records)

    def _summings(self, by: Sequence[str], *, squares: bool, persons: bool, keyed: bool = False) -> list[Query]:
        needed, counting = self._conditions([*by, *(name for names in self.only for name in names)])
        columns = list(dict.fromkeys([*needed, *(lattice.column for lattice in self.numbers.values())]))

        def summands(rows: EngineRows) -> tuple[Expression, dict[str, Expression], list[Expression]]:
            points = [lattice.point(rows) for lattice in self.numbers.values()]
            counts = counting(rows)
            if points and not self.rows_without_numbers:
                counts = counts & reduce(or_, [point >= 0 for point in points])
            if keyed:
                return counts, {f"{CELL}_{place}": self._key(rows, name) for place, name in enumerate(by)}, points
            return counts, {CELL: self._flat(rows, by).cast("int64")}, points

        schema = self.views[0].schema
        texts = {f"{CELL}_{place}": name for place, name in enumerate(by) if keyed and isinstance(schema[name], Text)}
        return [view.sums_query(columns, summands, squares=squares, persons=persons, texts=texts) for view in self.views]

    # ----------------------------------------------------------------------------------------------------------- counts

    def _countings(self, names: Sequence[str]) -> list[Query]:
        by = self.grouped_by
        group = None if by is None else lambda rows: self._flat(rows, by)
        return self._queries(names, lambda rows: {CELL: self._flat(rows, names)}, group)

    def _listings(self, names: Sequence[str]) -> list[Query]:
        keys = {name: f"{CELL}_{place}" for place, name in enumerate(names)}
        return self._queries(names, lambda rows: {key: self._cell(rows, name) for name, key in keys.items()})

    def _queries(
        self,
        names: Sequence[str],
        numbers: Callable[[EngineRows], dict[str, Expression]],
        group: Callable[[EngineRows], Expression] | None = None,
    ) -> list[Query]:
        """Per table, how many rows have each combination of some numbers: of those with a cell in all columns needed."""
        needed, counting = self._conditions([*names, *(self.grouped_by or ())] if group else names)
        return [view.count_query(needed, lambda rows: (counting(rows), numbers(rows)), group) for view in self.views]

    def _conditions(self, names: Sequence[str]) -> tuple[list[str], Callable[[EngineRows], Expression]]:
        """The columns that are needed for some attributes, and which rows count."""
        parted = [column for then, name, _ in self.among for column in then._columns([name])]
        needed = list(dict.fromkeys([*self._columns(names), *parted]))

        def counting(rows: EngineRows) -> Expression:
            conditions = [rows.cell(name) >= 0 for name in needed if name not in self.keeping]
            conditions += [then._cell(rows, name) == value for then, name, value in self.among]
            conditions += [self._flat(rows, names).isin(places.tolist()) for names, places in self.only.items()]
            return reduce(and_, conditions, ibis.literal(True))

        return needed, counting

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

    def _key(self, rows: EngineRows, name: str) -> Expression:
        """What a group is named by: the bytes of a text, or the number of a cell."""
        view = self.views[0]
        if not isinstance(view.schema[name], Text):
            return self._cell(rows, name).cast("int64")
        return octets_of(rows.table[name].fill_null(""), view.engine)

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


def _key_values(answer: Any, name: str) -> list[Any]:
    """One part of each key: a text, or the number of a cell; None for bytes that are no Unicode text."""
    return [_decoded(value) if isinstance(value, (bytes, bytearray)) else int(value) for value in answer[name].to_pylist()]


def _decoded(value: bytes | bytearray) -> str | None:
    try:
        return bytes(value).decode("utf-8")
    except UnicodeDecodeError:
        return None


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
