"""Several aggregates per group, at one price: which sums are measured for them, with which shares, and what follows.

Counts, means, variances and sums of one column come from one measurement, because it costs no more than one of them
(`Mixture` of the kernel). Between measurements, ε is divided so that the weighted sum of squared errors is least.

Privacy: the kernel's `totals` measures, charges, and knows what one person moves; nothing is read before. All else here is
public, or post-processing. Proof: docs/proofs/totals.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from jostle.answers.answer import remaining_after
from jostle.answers.grouped import GroupedAnswers
from jostle.answers.noise_intervals import margin, share, share_ends, spread, spread_ends, whole_margin
from jostle.answers.previews import GroupPreviews
from jostle.kernel.arguments import finite, whole
from jostle.kernel.budget import Price, exact
from jostle.kernel.errors import BadInput, InternalError
from jostle.kernel.functions.totals import CellTotal, Mixture, NoisyTotals, RecordCount, Sum, WeightedTotals
from jostle.kernel.partition import Vector
from jostle.schema import Numeric
from jostle.tables.aggregates import Aggregate
from jostle.tables.columns import EngineColumns
from jostle.tables.lattices import NumberLattice, Presence
from jostle.tables.question import Question, cell_labels, notes_on, numeric

if TYPE_CHECKING:
    from jostle.tables.table import Table

MOST_GROUPS = 4096
"""There are at most this many groups."""

MOST_CELLS = 2**24
"""The columns that listed groups are of have at most this many combinations of cells."""

KEYS = "groups"
"""The attribute with the number of a listed group."""

Found = tuple[Vector, Vector, Vector]
"""Per group: the number, and the ends of its interval."""


@dataclass(frozen=True)
class Measured:
    """One total that is measured, and the aggregates that are read from it."""

    total: CellTotal
    aggregates: dict[str, Aggregate]

    def price(self, weights: Mapping[str, float], apart: float) -> float:
        """The weighted sum of squared errors of its aggregates at all of ε: in that of a count, relative to the range."""
        return sum(weights[name] * self._error(one) for name, one in self.aggregates.items()) * apart**2

    def _error(self, one: Aggregate) -> float:
        total = self.total
        if not isinstance(total, Mixture):
            return 1.0
        numbers = total.degree + 1
        if one.kind == "count":
            return float(numbers + (total.rest if one.column is None else 0))
        return 1.0 if one.kind == "sum" else 0.5  # a mean in the middle of the range; a variance is no harder


class GroupsQuestion(Question[GroupedAnswers]):
    """Aggregates per combination of some columns' cells, or of some of these, or over all rows."""

    def __init__(
        self,
        table: Table,
        columns: Sequence[str],
        aggregates: Mapping[str, Aggregate],
        *,
        weights: Mapping[str, float] | None = None,
        keys: Any = None,
        what: str | None = None,
    ) -> None:
        self.table, self.groups = table, _columns(table, columns)
        self.aggregates = _aggregates(table, aggregates)
        self._weights = _weights(self.aggregates, weights)
        self._numbers: dict[str, NumberLattice | Presence] = {}
        self._measured = self._plan()
        self.labels, self._by, self._columns = self._cells(keys)
        by = f" by {' and '.join(self.groups)}" if self.groups else ""
        self.what = what or f"{', '.join(dict.fromkeys(map(str, self.aggregates.values())))}{by}"

    # -------------------------------------------------------------------------------------------------------- the plan

    def _plan(self) -> list[Measured]:
        """What is measured: one total per column, and the rows' count with one of them."""
        rows: dict[str, Aggregate] = {}
        persons: dict[str, Aggregate] = {}
        by_column: dict[str, dict[str, Aggregate]] = {}
        for name, one in self.aggregates.items():
            if one.column is not None:
                by_column.setdefault(one.column, {})[name] = one
            elif one.kind == "count_units" and not self._one_row_per_group:
                persons[name] = one
            else:
                rows[name] = Aggregate("count")
        found = [self._of_column(column, asked, bool(rows)) for column, asked in by_column.items()]
        mixtures = sorted((one for one in found if isinstance(one.total, Mixture)), key=lambda one: one.total.degree)  # type: ignore[attr-defined]
        if rows and mixtures:
            host = mixtures[0]
            with_rest = Measured(replace(host.total, rest=True), {**host.aggregates, **rows})  # type: ignore[type-var]
            found = [with_rest if one is host else one for one in found]
        elif rows:
            found.append(Measured(RecordCount(), rows))
        if persons:
            found.append(Measured(RecordCount(of_persons=True), persons))
        return found

    @property
    def _one_row_per_group(self) -> bool:
        """Whether each person has one row per group at most, so that rows and persons are as many."""
        unit, bounded_now = self.table.unit, [view.unit for view in self.table._views]
        only = unit is not None and unit.max_rows == 1
        return only or all(one is not None and one.max_rows_per_group == 1 for one in bounded_now)

    def _of_column(self, column: str, asked: dict[str, Aggregate], with_rows: bool) -> Measured:
        """A sum by itself is measured as it is; all else by a mixture, of which a sum costs as much or little more."""
        kinds = {one.kind for one in asked.values()}
        declared = self.table.schema.column(column)
        if kinds == {"count"}:
            self._numbers[column] = Presence(column, declared)
            return Measured(Mixture(column, 0), asked)
        known = numeric(self.table.schema, column)
        if kinds == {"sum"} and not with_rows:
            lattice = NumberLattice.of_sums(column, known)
            self._numbers[column] = lattice
            return Measured(lattice.sum, asked)
        self._numbers[column] = NumberLattice.between_bounds(column, known)
        return Measured(Mixture(column, 2 if kinds & {"variance", "std"} else 1), asked)

    def _cells(self, keys: Any) -> tuple[dict[str, list[Any]], tuple[str, ...], EngineColumns]:
        """The labels of the groups, the attributes that say which group a row is in, and the columns."""
        schema, sizes = self.table.schema, [self.table.schema[name].size for name in self.groups]
        cells = math.prod(sizes)
        some_have_none = not any(one.column is None for one in self.aggregates.values())
        columns = replace(
            EngineColumns.of(self.table._views, self.groups),
            numbers=self._numbers,
            rows_without_numbers=not (some_have_none and self._numbers),
        )
        if keys is None:
            if cells > MOST_GROUPS:
                problem = f"have {cells:,} combinations of cells, and there can be {MOST_GROUPS:,} groups"
                raise BadInput("columns", problem, "list the groups with keys=[…], or put columns into fewer cells: bin()")
            return cell_labels(schema, self.groups), self.groups, columns
        places, labels = _listed(keys, schema, self.groups)
        if cells > MOST_CELLS:
            problem = f"have {cells:,} combinations of cells, more than {MOST_CELLS:,}"
            raise BadInput("columns", problem, "put columns into fewer cells: bin()")
        numbered = np.zeros(cells, dtype=np.int64)
        numbered[places] = np.arange(len(places))
        kept = replace(columns, only={self.groups: np.array(places)})
        return labels, (KEYS,), kept.with_table(KEYS, self.groups, numbered)

    @cached_property
    def _totals(self) -> WeightedTotals:
        held = self._columns.contribution(self._by)
        persons, rows = (most or self.table.neighbours.rows for most in (held.cells, held.records))
        prices = [one.price(self._weights, persons / rows if one.total.of_persons else 1.0) for one in self._measured]
        return WeightedTotals([one.total for one in self._measured], [max(1, round(1000 * p ** (1 / 3))) for p in prices])

    # ----------------------------------------------------------------------------------------- preview and release

    @property
    def _size(self) -> int:
        return math.prod(self._columns.sizes[name] for name in self._by)

    def _scales(self, epsilon: Fraction) -> list[Fraction]:
        relation = self.table.neighbours.among_filtered() if self._columns.filtered else self.table.neighbours
        return self._totals.scales(self._size, relation, self._columns.contribution(self._by), epsilon)

    def check(self, epsilon: Any) -> None:
        """Refuse an ε for which noise cannot be drawn, before anything is charged or read."""
        self._scales(Price.of(epsilon).pure)

    def preview(self, *, epsilon: Any, rows: int | None = None) -> GroupPreviews:
        """How far off each aggregate would be, at no cost. Means and variances need a number of rows per group: `rows`."""
        price, expected = Price.of(epsilon), whole(rows)
        scales = {m.total: float(s / m.total.unit) for m, s in zip(self._measured, self._scales(price.pure), strict=True)}
        if rows is not None and (expected is None or not 1 <= expected <= 2**61):
            raise BadInput("rows", "must be a whole number of at least 1", "say about how many rows a group has")
        margins: dict[str, float] = {}
        for one in self._measured:
            for name, aggregate in one.aggregates.items():
                margins[name] = self._expected(one.total, aggregate, scales[one.total], expected)
        ordered = {name: margins[name] for name in self.aggregates}
        return GroupPreviews.of(price, ordered)

    def _expected(self, total: CellTotal, one: Aggregate, scale: float, rows: int | None) -> float:
        """The margin of an aggregate; NaN if it depends on a number of rows that is not given."""
        if one.kind in ("count", "count_units", "sum"):
            return float(self._read(total, one, NoisyTotals(np.zeros((1, _numbers_of(total))), scale))[2][0])
        if rows is None:
            return math.nan
        # In the part of the range where it is hardest: a mean near a bound, or a variance near one; a standard deviation is
        # taken to be that of values that are spread evenly.
        worst = [1.0, 0.5][: _degree(total)] if one.kind == "mean" else [1.0]
        part, width = margin(worst, scale) / rows, self._range(str(one.column))[1]
        if one.kind == "mean":
            return width * min(part, 1.0)
        return width**2 * min(part, 0.25) if one.kind == "variance" else width * min(part * math.sqrt(3), 0.5)

    def epsilon_within(self, within: Any) -> Fraction:
        if len(self.aggregates) != 1 or next(iter(self.aggregates.values())).kind not in ("count", "count_units", "sum"):
            problem = "is for one count or sum: other errors depend on the number of rows, or have another unit"
            raise BadInput("within", problem, "say what all may cost together, for instance epsilon=0.1")
        wish = float(exact(within, "within"))
        try:
            epsilon = exact(self.preview(epsilon=1).margin / wish)
            self._scales(epsilon)
        except BadInput:  # which would speak of an ε that nobody named
            problem = "is so far from the column's bounds that noise cannot be drawn for it"
            raise BadInput("within", problem, "say how far the answer may be off, in the unit of the answer") from None
        return epsilon

    def _release(self, epsilon: Any) -> GroupedAnswers:
        """Nothing is read before the charge is made, and what could be refused is refused before that."""
        source = self.table._budget
        if epsilon is not None:
            self.check(epsilon)
        needs = {name: any(getattr(total, key) for total in self._totals.totals) for name, key in _NEEDS.items()}
        self._columns.check_sums(self._by, **needs)
        records, budget = source.records(self._columns, epsilon, note=self.what)
        noisy = records.totals(self._by, self._totals, budget)
        found: dict[str, Found] = {}
        for one, numbers in zip(self._measured, noisy, strict=True):
            found |= {name: self._read(one.total, aggregate, numbers) for name, aggregate in one.aggregates.items()}
        return GroupedAnswers(
            groups=self.groups,
            labels=self.labels,
            values={name: found[name][0] for name in self.aggregates},
            ends={name: found[name][1:] for name in self.aggregates},
            what={name: str(one) for name, one in self.aggregates.items()},
            spent=budget.amount,
            measure=budget.measure,
            left_in=budget.left_in,
            remaining=remaining_after(budget, lambda: source.remaining),
            neighbours=records.neighbours,
            charges=budget.charges,
            notes=self._notes(),
        )

    def _notes(self) -> tuple[str, ...]:
        """What is left out, by the schema and the question."""
        unit, schema = self.table.unit, self.table.schema
        added = [name for name, one in self._numbers.items() if isinstance(one, NumberLattice)]
        found = [*notes_on(schema, unit, self.groups)]
        if unit is not None and self.groups and unit.bounds_groups and all(view.unit for view in self.table._views):
            bounds = {"groups per": unit.max_groups, "rows per group and": unit.max_rows_per_group}
            said = " and ".join(f"{most:,} {what} {unit.column}" for what, most in bounds.items() if most is not None)
            found.append(f"At most {said} are counted.")
        if self._by != self.groups:
            found.append(f"Rows of other groups than the {len(next(iter(self.labels.values()))):,} listed are left out.")
        for note in notes_on(schema, None, (), added):
            rows_count = self._columns.rows_without_numbers
            found.append(note.replace("are left out.", "count as rows, and not in sums or means.") if rows_count else note)
        return tuple(found)

    # ------------------------------------------------------------------------------------------------ post-processing

    def _read(self, total: CellTotal, one: Aggregate, noisy: NoisyTotals) -> Found:
        """An aggregate and its interval, from the noisy numbers of one total."""
        numbers, scale = noisy
        if isinstance(total, Mixture):
            of_column = numbers[:, : total.degree + 1]
            if one.kind == "count":
                used = numbers if one.column is None else of_column
                return _whole(used, scale) if total.unit == 1 else _linear(used, np.ones(used.shape[1]), scale)
            low, width = self._range(str(one.column))
            heights = np.linspace(low + width, low, total.degree + 1)
            if one.kind == "sum":
                return _linear(of_column, heights, scale)
            if one.kind == "mean":
                return tuple(low + width * each for each in (share(of_column), *share_ends(of_column, scale)))  # type: ignore[return-value]
            squared = tuple(width**2 * each for each in (spread(of_column), *spread_ends(of_column, scale)))
            return tuple(map(np.sqrt, squared)) if one.kind == "std" else squared  # type: ignore[return-value]
        lattice = self._numbers.get(one.column or "")
        rate = lattice.rate if isinstance(total, Sum) and isinstance(lattice, NumberLattice) else 1.0
        return tuple(each / rate for each in _whole(numbers, scale))  # type: ignore[return-value]

    def _range(self, column: str) -> tuple[float, float]:
        declared = self.table.schema[column]
        if not isinstance(declared, Numeric):
            raise InternalError("a column without bounds has a mean")
        return float(declared.low), float(declared.high) - float(declared.low)


_NEEDS = {"squares": "squares", "persons": "of_persons"}


def _linear(numbers: Vector, weights: Vector, scale: float) -> Found:
    """A weighted sum of noisy numbers per group, with its exact interval."""
    value, off = numbers @ weights, margin(weights, scale)
    return value, value - off, value + off


def _whole(numbers: Vector, scale: float) -> Found:
    """The plain sum of noisy whole numbers per group, with its exact interval."""
    value, off = numbers.sum(axis=1), whole_margin(numbers.shape[1], scale)
    return value, value - off, value + off


def _numbers_of(total: CellTotal) -> int:
    return total.degree + 1 + total.rest if isinstance(total, Mixture) else 1


def _degree(total: CellTotal) -> int:
    return total.degree if isinstance(total, Mixture) else 0


# -------------------------------------------------------------------------------------------------------- arguments


def _columns(table: Table, columns: Any) -> tuple[str, ...]:
    names = (columns,) if isinstance(columns, str) else tuple(columns)
    for name in names:
        table.schema.column(name)
    if len(set(names)) < len(names):
        raise BadInput("columns", "are twice the same", "name each column once")
    return names


def _aggregates(table: Table, aggregates: Any) -> dict[str, Aggregate]:
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
        if one.is_quantile:
            raise BadInput("aggregates", f"{one} cannot be computed per group yet", "use table.quantiles()")
    return dict(aggregates)


def _weights(aggregates: Mapping[str, Aggregate], weights: Any) -> dict[str, float]:
    """How much the squared error of each counts; 1 unless given."""
    given = {} if weights is None else weights
    remedy = f"pass positive numbers by name, such as {{{next(iter(aggregates))!r}: 2}}"
    if not isinstance(given, Mapping) or set(given) - set(aggregates):
        raise BadInput("weights", "are not by the names of the aggregates", remedy)
    found = {name: finite(given.get(name, 1)) for name in aggregates}
    if any(one is None or not 1e-9 <= one <= 1e9 for one in found.values()):
        raise BadInput("weights", "must be between 10⁻⁹ and 10⁹", remedy)
    return {name: float(one) for name, one in found.items() if one is not None}


def _listed(keys: Any, schema: Any, groups: tuple[str, ...]) -> tuple[list[int], dict[str, list[Any]]]:
    """The flat cells of listed groups, and their labels."""
    if isinstance(keys, str):
        if keys == "private":
            problem = "groups that nobody listed can be found only with an account that has a δ"
            raise BadInput("keys", problem, "list the groups, keys=[…], or leave them out to use all cells of the schema")
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


def _cell(column: Any, known: Mapping[str, int], value: Any, name: str) -> int:
    """The cell of a listed value: by its label, or as a value of the column."""
    if isinstance(value, str) and value in known:
        return known[value]
    cell = int(column.encode([value])[0])
    if cell < 0 or cell >= column.values:
        raise BadInput(
            "keys", f"{value!r} is no value of {name!r} by the schema", f"use one of {', '.join(list(known)[:8])}"
        )
    return cell


# ------------------------------------------------------------------------------------------------------------ group_by


@dataclass(frozen=True, repr=False)
class GroupedTable:
    """A table with columns to group by: `table.group_by("ward", "sex").aggregate(n=count(), epsilon=1)`."""

    table: Table
    columns: tuple[str, ...]
    keys: Any = None

    def aggregate(
        self,
        *,
        epsilon: Any = None,
        within: float | None = None,
        rho: Any = None,
        weights: Mapping[str, float] | None = None,
        **named: Aggregate,
    ) -> GroupedAnswers:
        """Aggregates of every group, by names of your choice, at one price.

        ε is divided so that the sum of squared errors, each relative to its column's range, is least. `weights` say how much
        an aggregate's squared error counts, `weights={"average": 4}`.
        """
        return self.ask(weights=weights, **named).release(epsilon=epsilon, within=within, rho=rho)

    def ask(self, *, weights: Mapping[str, float] | None = None, **named: Aggregate) -> GroupsQuestion:
        """The question behind `aggregate`, to preview before it is paid for."""
        return GroupsQuestion(self.table, self.columns, named, weights=weights, keys=self.keys)

    def __repr__(self) -> str:
        return f"<{self.table.name!r} grouped by {', '.join(self.columns) or 'nothing'}>"
