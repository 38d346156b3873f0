"""Several aggregates per group, at one price: which sums are measured for them, with which shares, and what follows.

Counts, means, variances and sums of one column come from one measurement, because it costs no more than one of them
(`Mixture` of the kernel). Between measurements, ε is divided so that the weighted sum of squared errors is least.

Privacy: the kernel's `totals` measures, charges, and knows what one person moves; nothing is read before. All else here is
public, or post-processing. Proof: docs/proofs/totals.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from jostle.answers.answer import Answer, paid_with
from jostle.answers.combined_totals import CombinedSum, CombinedTotals, weights_of
from jostle.answers.grouped import GroupedAnswers
from jostle.answers.noise_intervals import NoisySum, NumberReading, NumberSum, margin, ratio_of, ratio_of_sums
from jostle.answers.previews import GroupPreviews, checked_rows, rounded_up
from jostle.kernel.budget import Budget, Price, exact
from jostle.kernel.errors import BadInput, InternalError
from jostle.kernel.functions.totals import CellTotal, Mixture, NoisyTotals, RecordCount, Sum, WeightedTotals
from jostle.kernel.partition import Vector
from jostle.schema import MISSING, OTHER, Numeric
from jostle.schema.rows import distinct_names
from jostle.tables.aggregates import EXTREMES, Aggregate, Ratio
from jostle.tables.columns import EngineColumns
from jostle.tables.group_arguments import (
    MOST_GROUPS,
    checked_aggregates,
    checked_weights,
    expanded,
    group_columns,
    listed_groups,
)
from jostle.tables.group_prices import Measured, PricedGroups
from jostle.tables.group_quantiles import GroupQuantiles
from jostle.tables.lattices import NumberLattice, Presence
from jostle.tables.notes import note_on_groups, notes_on
from jostle.tables.question import cell_labels, numeric

if TYPE_CHECKING:
    from jostle.tables.table import Table
    from jostle.tables.view import View

MOST_CELLS = 2**24
"""The columns that listed groups are of have at most this many combinations of cells."""

PLACE = 0.25
"""Where in its column's range a mean is taken to be in a preview, when nothing is known of it."""

KEYS = "groups"
"""The attribute with the number of a listed group."""

Found = tuple[Vector, Vector, Vector]
"""Per group: the number, and the ends of its interval."""


class GroupsQuestion(PricedGroups):
    """Aggregates per combination of some columns' cells, or of some of these, or over all rows."""

    def __init__(
        self,
        table: Table,
        columns: Sequence[str],
        aggregates: Mapping[str, Aggregate | Ratio],
        *,
        weights: Mapping[str, float] | None = None,
        keys: Any = None,
        what: str | None = None,
    ) -> None:
        self.table, self.groups = table, group_columns(table, columns)
        plain, weights, self._ratios, self._ratios_in_words = expanded(aggregates, weights)
        self._asked = tuple(aggregates) if isinstance(aggregates, Mapping) else ()
        self.aggregates = checked_aggregates(table, plain)
        self._weights = checked_weights(self.aggregates, weights)
        self._numbers: dict[str, NumberLattice | Presence] = {}
        self._measured = self._plan()
        self._sums: dict[str, NumberSum | None] = {}
        self._readings: dict[str, NumberReading] = {}
        self._shared: dict[str, WeightedTotals] = {}
        self.labels, self._places = self._keyed(keys)
        self._columns, self._by = self._grouped(self.table._views)
        self._columns = replace(self._columns, numbers=self._numbers, rows_without_numbers=self._counts_all_rows)
        self._quantiles = self._distributions()
        by = f" by {' and '.join(self.groups)}" if self.groups else ""
        self.what = what or f"{', '.join(dict.fromkeys(map(str, self.aggregates.values())))}{by}"

    # -------------------------------------------------------------------------------------------------------- the plan

    def _plan(self) -> list[Measured]:
        """What is measured: one total per column, and the rows' count with one of them."""
        rows: dict[str, Aggregate] = {}
        persons: dict[str, Aggregate] = {}
        by_column: dict[str, dict[str, Aggregate]] = {}
        for name, one in self.aggregates.items():
            if one.is_quantile:
                continue
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

    def _distributions(self) -> list[GroupQuantiles]:
        """The columns whose quantiles are asked for: one distribution each."""
        asked: dict[str, dict[str, Aggregate]] = {}
        for name, one in self.aggregates.items():
            if one.is_quantile:
                asked.setdefault(str(one.column), {})[name] = one
        groups = len(next(iter(self.labels.values()), [None]))
        return [GroupQuantiles.of(self.table, column, each, groups, self._grouped) for column, each in asked.items()]

    def _keyed(self, keys: Any) -> tuple[dict[str, list[Any]], list[int] | None]:
        """The labels of the groups, and the flat cells of those that are listed."""
        schema, cells = self.table.schema, math.prod(self.table.schema[name].size for name in self.groups)
        if keys is None:
            if cells > MOST_GROUPS:
                problem = f"have {cells:,} combinations of cells, and there can be {MOST_GROUPS:,} groups"
                raise BadInput("columns", problem, "list the groups with keys=[…], or put columns into fewer cells: bin()")
            return cell_labels(schema, self.groups), None
        places, labels = listed_groups(keys, schema, self.groups)
        if cells > MOST_CELLS:
            problem = f"have {cells:,} combinations of cells, more than {MOST_CELLS:,}"
            raise BadInput("columns", problem, "put columns into fewer cells: bin()")
        return labels, places

    def _grouped(self, views: Sequence[View], *more: str) -> tuple[EngineColumns, tuple[str, ...]]:
        """The columns that rows are grouped by, and some more; and the attributes that say which group a row is in."""
        columns = EngineColumns.of(views, [*self.groups, *more])
        if self._places is None:
            return columns, self.groups
        numbered = np.zeros(math.prod(columns.sizes[name] for name in self.groups), dtype=np.int64)
        numbered[self._places] = np.arange(len(self._places))
        kept = replace(columns, only={self.groups: np.array(self._places)})
        [name] = distinct_names([KEYS], columns.sizes)
        return kept.with_table(name, self.groups, numbered), (name,)

    @property
    def _counts_all_rows(self) -> bool:
        """Whether rows without any of the numbers count as well."""
        return not self._numbers or any(one.column is None for one in self.aggregates.values())

    # ----------------------------------------------------------------------------------------- preview and release

    @property
    def _size(self) -> int:
        return math.prod(self._columns.sizes[name] for name in self._by)

    @property
    def about(self) -> Mapping[str, Sequence[Any]]:
        """The labels of the groups."""
        return self.labels

    def check(self, epsilon: Any) -> None:
        """Refuse an ε for which noise cannot be drawn, before anything is charged or read."""
        share = self._shares(Price.of(epsilon))[0]
        if share is not None:
            self._noises(share)

    def preview(self, *, epsilon: Any, rows: int | None = None) -> GroupPreviews:
        """How far off each aggregate would be, at no cost. Means and variances need a number of rows in total: `rows`.

        They are taken to be spread evenly over the groups.
        """
        price = Price.of(epsilon)
        return replace(self._anew(epsilon=epsilon, rows=rows), cost=self._cost(self._least_error(price) or price))

    def _anew(self, *, epsilon: Any, rows: int | None = None) -> GroupPreviews:
        price = Price.of(epsilon)
        return self._previewed(self._least_error(price) or price, rows)

    def _cost(self, price: Price) -> Price | None:
        """What would be charged, after what was released before; None where nothing is remembered."""
        part = self._shares(price)[0]
        if self.table._budget.memory is None or part is None:
            return None
        from jostle.tables.memory.totals import to_buy

        plan = to_buy(self, part)
        return None if plan is None else Price(price.amount - part.amount + plan.amount, price.measure)

    def _previewed(self, price: Price, rows: Any = None) -> GroupPreviews:
        total, groups = checked_rows(rows), self._expected_groups
        expected = None if total is None else max(round(total / groups), 1)
        found = self._noises(self._shares(price)[0] or price)
        margins: dict[str, float] = {}
        for one, noise in zip(self._measured, found, strict=True):
            for name, aggregate in one.aggregates.items():
                margins[name] = self._expected(one.total, aggregate, noise.law(one.total.unit), expected)
        ordered = {name: margins.get(name, math.nan) for name in self.aggregates}
        counted = {"count", "count_units", "sum"}.issuperset(one.kind for one in self.aggregates.values())
        given = "" if total is None or counted else f"if there are {total:,} rows"
        if given and groups > 1:
            given += f" in all, {expected:,} in each of {groups:,} groups"
        return GroupPreviews.of(price, ordered, assumed=given)

    @property
    def _expected_groups(self) -> int:
        """Over how many groups rows are taken to be spread in a preview: those for other and missing values hold few."""
        listed = sum({OTHER, MISSING}.isdisjoint(one) for one in zip(*self.labels.values(), strict=True))
        return listed or self._size

    def _expected(self, total: CellTotal, one: Aggregate, law: tuple[float, bool], rows: int | None) -> float:
        """The margin of an aggregate; NaN if it depends on a number of rows that is not given."""
        if one.kind in ("count", "count_units", "sum"):
            return float(self._reading(total, one, NoisyTotals(np.zeros((1, _numbers_of(total))), *law)).found()[2][0])
        if rows is None:
            return math.nan
        # A mean is taken to lie a quarter up the range: in the middle, it is off by 11 % less, and at a tenth by 17 % more.
        # A variance is taken to be where it is hardest, a standard deviation to be that of values spread evenly.
        weights = np.linspace(1.0, 0.0, _degree(total) + 1) - PLACE if one.kind == "mean" else [1.0]
        part, width = margin(weights, law[0], gaussian=law[1]) / rows, self._range(str(one.column))[1]
        if one.kind == "mean":
            return width * min(part, 1.0)
        return width**2 * min(part, 0.25) if one.kind == "variance" else width * min(part * math.sqrt(3), 0.5)

    @property
    def holds_together(self) -> bool:
        return not self._quantiles and not self._ratios and self.table._budget.memory is None

    def epsilon_within(self, within: Any) -> Fraction:
        if len(self.aggregates) != 1 or next(iter(self.aggregates.values())).kind not in ("count", "count_units", "sum"):
            problem = "is for one count or sum: other errors depend on the number of rows, or have another unit"
            raise BadInput("within", problem, "say what all may cost together, for instance epsilon=0.1")
        wish = float(exact(within, "within"))
        try:
            epsilon = exact(self._previewed(Price(Fraction(1))).margin / wish)
            self._noises(Price(epsilon))
        except BadInput:  # which would speak of an ε that nobody named
            problem = "is so far from the column's bounds that noise cannot be drawn for it"
            raise BadInput("within", problem, "say how far the answer may be off, in the unit of the answer") from None
        return rounded_up(epsilon, 3)

    def _release(self, epsilon: Any) -> GroupedAnswers:
        """Nothing is read before the charge is made, and what could be refused is refused before that."""
        source = self.table._budget
        whole = self._least_error(source.spent_before_measuring(epsilon) if epsilon is None else Price.of(epsilon))
        shares = self._shares(whole)
        if shares[0] is not None:
            self._noises(shares[0])
        if len(shares) > 1:  # before the first is charged
            source.check_all([share for share in shares if share is not None])
        if self._measured:
            needs = {name: any(getattr(one.total, key) for one in self._measured) for name, key in _NEEDS.items()}
            self._columns.check_sums(self._by, **needs)
        for one in self._quantiles:
            one.check()
        found: dict[str, Found] = {}
        answers: list[GroupedAnswers] = []
        try:
            if self._measured:
                answers.append(self._answer(self._of_totals(shares[0], found), found))
            for one, share in zip(self._quantiles, shares[bool(self._measured) :], strict=True):
                answer, quantiles = one.release(share, self.what)
                found |= quantiles
                answers.append(self._answer(answer.price, found, answers))
        except BaseException as failure:
            if answers:  # they are paid for, and must not be lost
                failure.answered = answers[-1]  # type: ignore[attr-defined]
                failure.add_note("Some aggregates were released and charged before this: the attribute `answered`.")
            raise
        return answers[-1]

    def _of_totals(self, price: Price | None, found: dict[str, Found]) -> dict[str, Any]:
        """Measure the totals, read their aggregates, and say what was paid."""
        if self.table._budget.memory is not None and price is not None:
            from jostle.tables.memory.totals import measured_totals

            remembered = measured_totals(self, price)
            if remembered is not None:
                self._read_all(remembered[0], found)
                return remembered[1]
        source = self.table._budget
        records, budget = source.records(self._columns, price, note=self.what)
        totals = self._weighted(budget.measure)
        self._read_all(records.totals(self._by, totals, budget), found)
        return self._paid(budget) | {"neighbours": records.neighbours}

    def _read_all(self, noisy: Sequence[NoisyTotals | CombinedTotals], found: dict[str, Found]) -> None:
        for one, numbers in zip(self._measured, noisy, strict=True):
            if isinstance(numbers, CombinedTotals):
                for name, aggregate in one.aggregates.items():
                    found[name], self._sums[name] = self._read_together(aggregate, numbers)
                    self._readings.pop(name, None)
                continue
            self._readings |= {name: self._reading(one.total, each, numbers) for name, each in one.aggregates.items()}
            found |= {name: self._readings[name].found() for name in one.aggregates}
            self._sums |= {name: self._sum(one.total, aggregate, numbers) for name, aggregate in one.aggregates.items()}

    def _ratio(self, found: Mapping[str, Found], over: str, under: str) -> Found:
        """By the law of both together, if both are sums of noisy numbers."""
        top, bottom = self._sums.get(over), self._sums.get(under)
        return ratio_of(found[over], found[under]) if top is None or bottom is None else ratio_of_sums(top, bottom)

    def _paid(self, budget: Budget) -> dict[str, Any]:
        return paid_with(budget, lambda: self.table._budget.remaining)

    def _answer(self, price: dict[str, Any], found: Mapping[str, Found], before: Sequence[Answer] = ()) -> GroupedAnswers:
        """The answer with what was found so far, and what was paid for all of it."""
        if before:
            price |= {"spent": before[-1].spent + price["spent"]}
            price |= {"charges": tuple(dict.fromkeys((*before[-1].charges, *price["charges"])))}
        found = {**found, **{name: self._ratio(found, *parts) for name, parts in self._ratios.items()}}
        in_words = {name: str(one) for name, one in self.aggregates.items()} | self._ratios_in_words
        named = [name for name in self._asked if name in found]
        reused = price.pop("reused", ())
        return GroupedAnswers(
            groups=self.groups,
            labels=self.labels,
            values={name: found[name][0] for name in named},
            ends={name: found[name][1:] for name in named},
            what={name: in_words[name] for name in named},
            sums={name: self._sums.get(name) for name in named},
            readings={name: self._readings[name] for name in named if name in self._readings},
            why=self._why(Price(price["spent"], price["measure"])),
            **price | {"notes": (*self._notes(), *reused)},
        )

    @property
    def _noted_columns(self) -> Sequence[str]:
        return self.groups

    def _notes(self) -> tuple[str, ...]:
        """What is left out, by the schema and the question."""
        unit, schema = self.table.unit, self.table.schema
        added = [name for name, one in self._numbers.items() if isinstance(one, NumberLattice)]
        found = [*notes_on(schema, unit, self._noted_columns, view=self.table._views[0])]
        if self.groups and all(view.unit for view in self.table._views):
            found += note_on_groups(unit)
        if self._by != self.groups:
            found.append(f"Rows of other groups than the {len(next(iter(self.labels.values()))):,} listed are left out.")
        if any(one.kind in EXTREMES for one in self.aggregates.values()):
            ends = " and ".join(f"{kind} is the {level:.0%} quantile" for kind, level in EXTREMES.items())
            found.append(f"{ends}: the outermost values depend on single persons.".replace("%", " %"))
        added += [one.column for one in self._quantiles if one.column not in added]
        for note in notes_on(schema, None, (), added, self.table._views[0]):
            rows_count = self._columns.rows_without_numbers
            found.append(note.replace("are left out.", "count as rows only.") if rows_count else note)
        return tuple(dict.fromkeys(found))

    # ------------------------------------------------------------------------------------------------ post-processing

    def _reading(self, total: CellTotal, one: Aggregate, noisy: NoisyTotals) -> NumberReading:
        """How an aggregate follows from the noisy numbers of one total."""
        numbers, scale, gaussian = noisy
        law: dict[str, Any] = {"scale": scale, "gaussian": gaussian}
        if not isinstance(total, Mixture):
            lattice = self._numbers.get(one.column or "")
            rate = lattice.rate if isinstance(total, Sum) and isinstance(lattice, NumberLattice) else 1.0
            return NumberReading("whole", numbers, rate=rate, **law)
        of_column = numbers[:, : total.degree + 1]
        if one.kind == "count":
            used = numbers if one.column is None else of_column
            return NumberReading("whole" if total.unit == 1 else "sum", used, weights=np.ones(used.shape[1]), **law)
        low, width = self._range(str(one.column))
        if one.kind == "sum":
            return NumberReading("sum", of_column, weights=np.linspace(low + width, low, total.degree + 1), **law)
        kind: Any = one.kind
        return NumberReading(kind, of_column, low=low, width=width, ddof=one.ddof, **law)

    def _read_together(self, one: Aggregate, totals: CombinedTotals) -> tuple[Found, NumberSum | None]:
        """An aggregate and its interval, from what several releases say."""
        low, width = self._range(str(one.column)) if one.kind in ("sum", "mean") else (0.0, 1.0)
        if one.kind == "mean":
            return tuple(low + width * each for each in totals.mean()), None  # type: ignore[return-value]
        added = CombinedSum(totals, weights_of("rows" if one.column is None else one.kind, low, width))
        return (added.value, added.value - added.margin, added.value + added.margin), added

    def _sum(self, total: CellTotal, one: Aggregate, noisy: NoisyTotals) -> NoisySum | None:
        """A count or a sum as a weighted sum of the noisy numbers of one total; None for others."""
        if one.kind not in ("count", "count_units", "sum"):
            return None
        weights = np.ones(noisy[0].shape[1])
        if isinstance(total, Mixture):
            if one.column is not None:
                weights[total.degree + 1 :] = 0.0
            if one.kind == "sum":
                low, width = self._range(str(one.column))
                weights[: total.degree + 1] = np.linspace(low + width, low, total.degree + 1)
        else:
            lattice = self._numbers.get(one.column or "")
            weights /= lattice.rate if isinstance(total, Sum) and isinstance(lattice, NumberLattice) else 1.0
        return NoisySum(noisy[0], weights, noisy[1], noisy[2])

    def _range(self, column: str) -> tuple[float, float]:
        declared = self.table.schema[column]
        if not isinstance(declared, Numeric):
            raise InternalError("a column without bounds has a mean")
        return float(declared.low), float(declared.high) - float(declared.low)


_NEEDS = {"squares": "squares", "persons": "of_persons"}


def _numbers_of(total: CellTotal) -> int:
    return total.degree + 1 + total.rest if isinstance(total, Mixture) else 1


def _degree(total: CellTotal) -> int:
    return total.degree if isinstance(total, Mixture) else 0
