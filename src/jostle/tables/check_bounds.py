"""How many rows a table's bounds leave out, measured with noise: by max_rows, by clipping, by lists and missing values.

Privacy: two measurements of the kernel, each charged before a row is read. The first is a histogram of how many rows persons
have: a person is one row of it, made of that person's own rows only, so that somebody who comes or goes moves one cell by 1.
The second counts a table's rows, bounded as for any question, by where each value lies: beyond the bounds, between them, or
nowhere. A row is in one cell per column, and columns share the price. Everything else is computed from both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from jostle import plots
from jostle.answers.answer import Answer, paid_with
from jostle.kernel.budget import Price, exact
from jostle.kernel.errors import BadInput
from jostle.kernel.partition import Counts, Vector
from jostle.kernel.strategies import identity
from jostle.linear.laws import whole_margins
from jostle.schema import Column, Date, Integer, Numeric, Real, Schema, Text
from jostle.schema.rows import Rows, distinct_names
from jostle.tables.aggregates import count
from jostle.tables.bounded_rows import PERSON
from jostle.tables.columns import EngineColumns
from jostle.tables.groups import GroupsQuestion
from jostle.tables.notes import between
from jostle.tables.table import Table
from jostle.tables.unit import LARGEST_ROWS, Unit
from jostle.tables.view import View

ROWS = "rows"
STEPS = (1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50, 100, 200, 500, 1_000, 10_000, 100_000)
"""Persons are told apart by whether they have more rows than each of these, and than max_rows."""

WHOLE = (0.9, 0.95, 0.99)
"""For these shares of all persons, the report says which max_rows keeps all their rows."""

EIGHTHS = 8
"""Between its bounds, a column of numbers is cut into this many equal parts."""


@dataclass(frozen=True, kw_only=True)
class CheckedColumn:
    """Where the values of a column lie, with noise."""

    name: str
    places: tuple[str, ...]
    """In words: below, the parts between the bounds, above, or listed and not listed; the last is for missing values."""

    counts: Vector
    """The noisy numbers of rows, one per place."""

    scale: float
    """Of the noise on each."""

    inside: tuple[bool, ...]
    """Which places the schema foresees."""

    @property
    def margin(self) -> float:
        """Half the width of a 95 % interval around a count."""
        return float(whole_margins(np.ones(1), self.scale)[0])


@dataclass(frozen=True, kw_only=True)
class CheckedRows:
    """How many persons have how many rows, with noise."""

    unit: Unit
    most: Counts
    """The most rows of the persons in each cell."""

    persons: Vector
    """The noisy numbers of persons."""

    scale: float

    @property
    def beyond(self) -> tuple[float, float]:
        """How many persons have more rows than count, and half the width of its 95 % interval."""
        over = self.most > self.unit.max_rows
        return float(self.persons[over].sum()), float(whole_margins(np.array([over.sum()]), self.scale)[0])

    @property
    def left_out(self) -> float:
        """How many rows are left out at the least, with 95 % confidence; a few persons with very many rows remain unseen.

        Persons in a cell have at least as many rows as it says. Their number is at least what was counted, less what noise
        adds in any cell with a chance of 5 % (over all cells: Bonferroni).
        """
        over = np.flatnonzero(self.most > self.unit.max_rows)
        a = math.exp(-1 / self.scale)
        off = max(0, math.ceil(self.scale * math.log(over.size / ((1 + a) * 0.05)) - 1 - 1e-9))  # P(ξ > m) = a^(m+1)/(1 + a)
        least = np.append(0, self.most)[over] + 1 - self.unit.max_rows
        return float((np.maximum(self.persons[over] - off, 0.0) * least).sum())

    def enough_for(self, share: float) -> int:
        """The least max_rows, among those told apart, that keeps all rows of this share of persons."""
        known = np.maximum.accumulate(np.cumsum(self.persons))
        return int(self.most[min(int(np.searchsorted(known, share * known[-1])), self.most.size - 1)])


@dataclass(frozen=True, kw_only=True, repr=False)
class BoundsReport(Answer):
    """What a table's bounds leave out, about; made by `jostle.check_bounds`."""

    columns: tuple[CheckedColumn, ...]
    persons: CheckedRows | None
    """None where each row is protected by itself."""

    def _explained(self) -> str:
        return " ".join([*self._about_persons(), *map(_about, self.columns), self._left])

    def _about_persons(self) -> list[str]:
        if self.persons is None:
            return []
        unit, (beyond, off) = self.persons.unit, self.persons.beyond
        rows = f"At least {self.persons.left_out:,.0f} rows are left out by max_rows={unit.max_rows}."
        enough = ", ".join(f"{share:.0%} at {self.persons.enough_for(share):,}".replace("%", " %") for share in WHOLE)
        more = f"{max(beyond, 0):,.0f} ± {off:,.0f} persons ({unit.column}) have more than {unit.max_rows:,} rows."
        return [more, rows, f"The max_rows that keeps all rows of a share of persons: {enough}."]

    def rows(self) -> Rows:
        """One row per place: the column, where its values lie, the count, and the ends of its 95 % interval."""
        found: list[tuple[str, str, float, float]] = []
        if self.persons is not None:
            off = float(whole_margins(np.ones(1), self.persons.scale)[0])
            firsts = np.append(0, self.persons.most)[:-1] + 1
            for first, last, number in zip(firsts, self.persons.most, self.persons.persons, strict=True):
                said = f"more than {first - 1:,} rows" if last >= LARGEST_ROWS else f"{first:,}–{last:,} rows"
                said = ("1 row" if last == 1 else f"{last:,} rows") if first == last else said
                found.append((self.persons.unit.column, f"persons with {said}", float(number), off))
        for one in self.columns:
            found += [(one.name, place, float(n), one.margin) for place, n in zip(one.places, one.counts, strict=True)]
        about, places, counts, margins = (list(values) for values in zip(*found, strict=True))
        ends = [np.array(counts) + sign * np.array(margins) for sign in (-1, 1)]
        return Rows({"column": about, "values": places, "count": counts, "low": ends[0], "high": ends[1]})

    def _drawn(self) -> Any:
        """Bars with their 95 % intervals."""
        rows = self.rows().by_name()
        labels = [f"{column}: {place}" for column, place in zip(rows["column"], rows["values"], strict=True)]
        off = (np.array(rows["high"]) - np.array(rows["low"])) / 2
        return plots.bars(np.array(rows["count"]), off, labels=labels, title=f"What bounds leave out, {self._at}")

    def __repr__(self) -> str:
        return f"<BoundsReport of {', '.join(one.name for one in self.columns)}, at {self._at}>"


def _about(one: CheckedColumn) -> str:
    """What the bounds of a column do, in a sentence."""
    beyond = [
        f"{max(float(number), 0):,.0f} {place}"
        for place, number, inside in zip(one.places, one.counts, one.inside, strict=True)
        if not inside
    ]
    return f"{one.name}: {', '.join(beyond)} (± {one.margin:,.0f} each)."


def check_bounds(table: Table, *, epsilon: Any, columns: Sequence[str] | None = None) -> BoundsReport:
    """About how many rows are left out or moved by max_rows, by declared bounds and lists, and by missing values.

    Costs ε, which should be a small share of the budget. It helps to choose `max_rows` and bounds for later questions: what
    it says has been paid for, so bounds that follow from it are as private as it is. All declared columns are checked, or
    only `columns`; they share ε.

    >>> import jostle, pandas, tempfile
    >>> visits = pandas.DataFrame({"who": [1, 1, 1, 1, 2, 3] * 500, "cost": [10.0, 20, 30, 900, 15, None] * 500})
    >>> visits["who"] += 10 * (visits.index // 6)
    >>> private = jostle.open(
    ...     visits,
    ...     schema={"cost": jostle.Real(0, 100, bins=10)},
    ...     unit=jostle.Unit("who", max_rows=2),
    ...     ledger=tempfile.mkdtemp() + "/budget.db",
    ...     budget=100,
    ...     name="visits",
    ... )
    >>> found = jostle.check_bounds(private, epsilon=20)
    >>> 480 < found.persons.beyond[0] < 520, found.persons.enough_for(0.99)
    (True, 4)
    >>> found.columns[0].places[-2:]
    ('above 100', 'missing or not a number')
    """
    if not isinstance(table, Table):
        raise BadInput("table", "must be a private table", "pass what jostle.open returned")
    if any(view.steps or view.placed is not None for view in table._views):
        raise BadInput("table", "is a part of a table, or changed", "check the table as it was opened")
    names = (columns,) if isinstance(columns, str) else tuple(columns or ())
    if columns is None:
        names = tuple(name for name, column in table.schema.items() if not isinstance(column, Text))
    declared = {name: table.schema.column(name) for name in names}
    if not names or any(isinstance(column, Text) for column in declared.values()):
        raise BadInput("columns", "must be declared with bounds or lists", f"name some of {', '.join(table.schema)}")
    price = exact(epsilon)
    parts = len(names) + (table.unit is not None)
    persons = None if table.unit is None else _persons(table, table.unit)
    if persons is not None:
        persons.check(price / parts)
    placed = _placed(table._views, declared)
    for checked in placed.attributes:
        placed.engine.check([checked])
    source = table._budget
    prices = [Price(price)] if persons is None else [Price(price / parts), Price(price - price / parts)]
    source.check_all(prices)  # before the first of both is charged
    report: dict[str, Any] = {"spent": Fraction(0), "charges": (), "persons": None}
    if persons is not None and table.unit is not None:
        answer = persons.release(epsilon=price / parts)
        [noise] = persons._noises(Price(price / parts))
        scale = noise.law()[0]
        found = CheckedRows(unit=table.unit, most=_most(table.unit), persons=answer.values[ROWS], scale=scale)
        report = {"spent": answer.spent, "charges": answer.charges, "persons": found}
    records, token = source.records(placed.engine, price - report["spent"], note=f"check of {', '.join(names)}")
    read = []
    for name, checked, share in zip(names, placed.attributes, token.split(*[1] * len(names)), strict=True):
        counts = records.vector(checked)
        cells = identity(counts.shape)
        scale = counts.noise_scale(cells, share)
        places, inside = _places(name, declared[name])
        noisy = counts.measure(cells, share)
        read.append(CheckedColumn(name=name, places=places, counts=noisy, scale=scale, inside=inside))
    paid = paid_with(token, lambda: source.remaining)
    return BoundsReport(
        columns=tuple(read),
        persons=report["persons"],
        neighbours=records.neighbours,
        **paid | {"spent": report["spent"] + token.amount, "charges": (*report["charges"], *token.charges)},
    )


# ------------------------------------------------------------------------------------------------------ rows per person


def _most(unit: Unit) -> Counts:
    return np.array([*sorted({*STEPS, unit.max_rows}), LARGEST_ROWS], dtype=np.int64)


class _PersonsQuestion(GroupsQuestion):
    """It is paid for in pure ε, also where an account would take ρ: a person is in one cell."""

    def _least_error(self, price: Price | None) -> Price | None:
        return price


def _persons(table: Table, unit: Unit) -> _PersonsQuestion:
    """How many persons have how many rows: a table with one row per person, made of that person's rows."""
    (view,) = table._views
    rows = view.rows([]).table
    rows = rows.filter(rows[PERSON].notnull())
    each = rows.group_by(rows[PERSON]).agg(**{ROWS: rows.count()})
    cuts = [float(last + 1) for last in _most(unit)[:-1]]
    column = Real(1.0, float(LARGEST_ROWS), cuts=cuts)
    once = Unit(unit.column, unit.max_rows, max_groups=1, max_rows_per_group=1)
    view = View.of(each, Schema({ROWS: column}), once, filtered=view.filtered, whose=PERSON, live=view.live)
    of_persons = Table([view], table._budget, table.name, once)
    return _PersonsQuestion(of_persons, [ROWS], {ROWS: count()}, what=f"rows per {unit.column}")


# ---------------------------------------------------------------------------------------------------- where values lie


@dataclass(frozen=True)
class _WidenedColumns:
    """The columns of a table with wider bounds, and per column the attribute that says where a value lies."""

    engine: EngineColumns
    attributes: tuple[str, ...]


def _placed(views: Sequence[View], declared: dict[str, Column]) -> _WidenedColumns:
    wider = Schema({name: _wider(column) for name, column in declared.items()})
    engine = EngineColumns.of([replace(view, declared=wider, schema=wider) for view in views], list(declared))
    attributes = distinct_names([f"where {name} lies" for name in declared], wider)
    for name, checked in zip(declared, attributes, strict=True):
        engine = engine.with_table(checked, (name,), _numbers(declared[name]))
    return _WidenedColumns(engine, tuple(attributes))


def _edges(column: Numeric) -> Vector:
    """The ends of the parts between the bounds. The last end is the first number above the upper bound."""
    low, high = float(column.low), float(column.high)
    last = high + 1 if isinstance(column, Integer) else math.nextafter(high, math.inf)
    inner = low + (last - low) * np.arange(1, EIGHTHS) / EIGHTHS
    return np.unique([low, *inner, last])


def _wider(column: Column) -> Column:
    """A column that knows more of the same values: those beyond the bounds, and missing ones."""
    if not isinstance(column, Numeric):
        return replace(column, outside="own", null="own")  # type: ignore[type-var]
    edges = _edges(column)
    reach = max(min(float(edges[-1] - edges[0]), 1e300), 1e-9 * float(np.abs(edges).max()))
    how = {"missing": column.missing, "decimal": column.decimal, "thousands": column.thousands}
    return Real(float(edges[0]) - reach, float(edges[-1]) + reach, cuts=edges.tolist(), null="own", **how)  # type: ignore[arg-type]


def _numbers(column: Column) -> Counts:
    """Per cell of the wider column, the number of its place."""
    if isinstance(column, Numeric):
        return np.arange(_edges(column).size + 2)
    return np.array([*[0] * column.values, 1, 2])


def _places(name: str, column: Column) -> tuple[tuple[str, ...], tuple[bool, ...]]:
    """Where values may lie, in words, and whether the schema foresees it."""
    if isinstance(column, Numeric):
        edges = _edges(column)
        parts = tuple(f"part {part} of {edges.size - 1} of {between(column)}" for part in range(1, edges.size))
        words = (f"below {column.low:,.12g}", *parts, f"above {column.high:,.12g}", "missing or not a number")
        return words, (False, *[True] * len(parts), False, False)
    known, beyond = (between(column), "outside") if isinstance(column, Date) else ("listed", "not listed")
    return (known, beyond, "missing"), (True, False, False)
