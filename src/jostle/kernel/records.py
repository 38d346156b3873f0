"""Private records with several discrete attributes: for plans that ask for more than one histogram, such as trees.

A record source holds no vector over the whole domain, which would be astronomically large. It makes a source over any few
attributes when asked, sorts records by public tables, and lets every group of records choose at once. One record is in one
cell of every histogram and in one group, so the lemmas are those of vectors. Proofs: docs/proofs/records.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, partial
from itertools import groupby
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Protocol, Self, final

import numpy as np
from numpy.typing import NDArray

from jostle.kernel.arguments import check_of_kernel, domain_of
from jostle.kernel.budget import Budget, Purse, check_token
from jostle.kernel.errors import BadInput, PlanError
from jostle.kernel.functions.criteria import Criterion
from jostle.kernel.functions.gaps import MarginalGap, gap_sensitivities
from jostle.kernel.functions.totals import (
    MOST_WHOLE,
    CellSums,
    Contribution,
    NoisyTotals,
    SummedColumns,
    WeightedTotals,
    power_sums,
)
from jostle.kernel.key_selection import KeyedColumns, Rule, SelectedColumns, counted_selection, rule_for
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.noise import calibrate
from jostle.kernel.partition import Counts, Vector, fixed
from jostle.kernel.source import Custody, Granting, PrivateData, ReleaseSource, SimulatedSource, Source, source_over

if TYPE_CHECKING:
    from jostle.kernel.functions.objective import Additive

LARGEST_VECTOR = 2**26
"""The most cells that a histogram of records may have."""

KEPT_CELLS = 2**23
"""Records in memory keep counts of up to this many cells, for plans that look at the same histograms again and again."""


class Columns(Protocol):
    """Where the records are, in memory or in an engine: trusted code behind a record source.

    Whoever holds columns sees the records. They are for the kernel, for code that reads a table, and for public data.
    """

    @property
    def sizes(self) -> Mapping[str, int]:
        """The number of values of every attribute."""

    @property
    def rows(self) -> int:
        """The number of records: private unless the neighbours make it public."""

    @property
    def filtered(self) -> bool:
        """Whether a public rule left out rows on the way here: it follows from the steps that made the columns."""

    def counts(self, names: Sequence[str]) -> Counts:
        """How many records have each combination of values, flat, the last attribute changing fastest."""

    def listed(self, names: Sequence[str]) -> tuple[dict[str, NDArray[np.integer]], Counts]:
        """Combinations of values that records have, one array per attribute, and how many records each stands for."""

    def with_table(self, name: str, of: Sequence[str], table: Counts) -> Columns:
        """One more attribute, whose value is the table's at the values of others."""

    def where(self, name: str, value: int) -> Columns:
        """The records with that value."""


@final
class ArrayColumns:
    """Records in memory: one array of codes per attribute.

    >>> ArrayColumns({"a": np.array([0, 1, 1])}, {"a": 2}).counts(["a"]).tolist()
    [1, 2]
    """

    def __init__(self, codes: Mapping[str, NDArray[np.integer]], sizes: Mapping[str, int]) -> None:
        lengths = {len(column) for column in codes.values()}
        if set(codes) != set(sizes) or len(lengths) > 1:
            raise BadInput("codes", "must be one array per attribute, of the same length", "encode all columns of one table")
        self._sizes = dict(sizes)
        self._filtered = False
        self._rows = lengths.pop() if lengths else 0
        self._kept: dict[tuple[str, ...], Counts] = {}
        self._kept_cells = 0
        self._codes = {name: _narrow(np.asarray(column), sizes[name]) for name, column in codes.items()}

    @classmethod
    def having(cls, name: str, codes: Mapping[str, NDArray[np.integer]], sizes: Mapping[str, int]) -> ArrayColumns:
        """Only the records with a value in one column; those whose code there is negative do not count.

        >>> labelled = ArrayColumns.having("a", {"a": np.array([0, -1, 1])}, {"a": 2})
        >>> labelled.counts(["a"]).tolist(), labelled.filtered
        ([1, 1], True)
        """
        kept = np.asarray(codes[name]) >= 0
        columns = cls({other: np.asarray(column)[kept] for other, column in codes.items()}, sizes)
        columns._filtered = True  # by the rule, whether or not it left out a record here
        return columns

    @property
    def sizes(self) -> Mapping[str, int]:
        return self._sizes

    @property
    def rows(self) -> int:
        return self._rows

    @property
    def filtered(self) -> bool:
        return self._filtered

    @property
    def numbers(self) -> Mapping[str, int]:
        """Every attribute: its codes are whole numbers."""
        return self._sizes

    def codes(self, name: str) -> NDArray[np.integer]:
        """An attribute's values: for operators only."""
        return self._codes[name]

    def counts(self, names: Sequence[str]) -> Counts:
        found = self._kept.get(tuple(names))
        if found is None:
            cells = math.prod(self._sizes[name] for name in names)
            found = np.bincount(self._place(names), minlength=cells).astype(np.int64, copy=False)
            if self._kept_cells + cells <= KEPT_CELLS:
                self._kept[tuple(names)] = found
                self._kept_cells += cells
        return found.copy()  # nobody outside may change what is kept

    def listed(self, names: Sequence[str]) -> tuple[dict[str, NDArray[np.integer]], Counts]:
        return {name: self._codes[name] for name in names}, np.ones(self._rows, dtype=np.int64)

    def cell_sums(self, by: Sequence[str], points: Mapping[str, int], *, squares: bool, persons: bool) -> CellSums:
        cells = math.prod(self._sizes[name] for name in by)
        place = self._place(by) if by else np.zeros(self._rows, dtype=np.int64)
        records, found = power_sums(cells, place, [self._codes[name] for name in points], [*points.values()])
        return CellSums(records, np.zeros(cells, dtype=object), dict(zip(points, found, strict=True)))

    def contribution(self, by: Sequence[str]) -> Contribution:
        """Nothing beyond what the neighbours say: records in memory do not say whose they are."""
        return Contribution()

    def with_table(self, name: str, of: Sequence[str], table: Counts) -> ArrayColumns:
        derived, size = copy(self), int(table.max()) + 1
        derived._kept, derived._kept_cells = {}, 0
        derived._sizes = self._sizes | {name: size}
        derived._codes = self._codes | {name: _narrow(table.reshape(-1)[self._place(of)], size)}
        return derived

    def where(self, name: str, value: int) -> ArrayColumns:
        kept = self._codes[name] == value
        part = ArrayColumns({other: codes[kept] for other, codes in self._codes.items()}, self._sizes)
        part._filtered = self._filtered
        return part

    def _place(self, names: Sequence[str]) -> NDArray[np.integer]:
        place = self._codes[names[0]].astype(np.int64)
        for name in names[1:]:
            place *= self._sizes[name]
            place += self._codes[name]
        return place


def _narrow(codes: NDArray[np.integer], size: int) -> NDArray[np.integer]:
    """In the smallest type that holds them. Checked where they are made: an error here would depend on private values."""
    smallest: NDArray[np.integer] = codes.astype(np.min_scalar_type(max(size - 1, 0)))
    return smallest


@dataclass(frozen=True, eq=False)
class Split:
    """Sorts records into branches by one attribute or several, with a public table from values to branches."""

    attribute: str
    """Which attribute decides."""

    branches: Counts
    """The branch of each of its values, from 0 on without gaps."""

    also: tuple[str, ...] = ()
    """Further attributes: the branches are then of all combinations of values, the last attribute's changing fastest."""

    def __post_init__(self) -> None:
        table = np.asarray(self.branches)
        if table.ndim != 1 or not table.size or table.dtype.kind not in "iu" or table.min() < 0:
            raise BadInput("branches", "must be whole numbers from 0 on, one per value of the attribute", "pass [0, 1], say")
        object.__setattr__(self, "branches", fixed(table.astype(np.int64)))

    @property
    def attributes(self) -> tuple[str, ...]:
        """All attributes that decide."""
        return (self.attribute, *self.also)

    @cached_property
    def arity(self) -> int:
        """The number of branches."""
        return int(self.branches.max()) + 1

    @cached_property
    def unmerged(self) -> bool:
        """Whether each value has a branch of its own, in order."""
        return np.array_equal(self.branches, np.arange(self.branches.size))


class Records(PrivateData):
    """Private records as a plan sees them: public facts, and the operators that may be asked of them.

    What differs between a release and a simulation is the noise and the purse.
    """

    __slots__ = ("__columns", "__custody")

    def __init__(self, columns: Columns, custody: Custody) -> None:
        super().__init__(custody)
        self.__columns, self.__custody = columns, custody

    @property
    def sizes(self) -> Mapping[str, int]:
        """The number of values of every attribute."""
        return MappingProxyType(dict(self.__columns.sizes))

    @property
    def total(self) -> int | None:
        """The number of records where it is public, else None."""
        return self.__columns.rows if self.neighbours.total_is_public else None

    def vector(self, *names: str) -> Source:
        """Counts over the combinations of these attributes' values, as a source. They are counted when first needed.

        A record is in one cell, so the vector's lemmas hold; same purse, same neighbours, but for what columns hold every
        person to where they count. All parts of the vector come from that one count, so the bound is one of all together.
        """
        shape, custody = self.__shape(names), self.__custody
        if not custody.in_part:
            person = self.neighbours.bounded(getattr(self.__columns, "most_counted", None))
            custody = replace(custody, neighbours=person, charged=self.neighbours)
        kind = ReleaseSource if isinstance(self, ReleaseRecords) else SimulatedSource
        rows = partial(getattr, self.__columns, "rows")  # where it is public, no value has to be looked at for it
        return source_over(kind, partial(self.__columns.counts, names), shape, custody, rows)

    def judged(self, names: Sequence[str], rule: Callable[[Mapping[str, NDArray[np.integer]]], Any], size: int) -> Source:
        """Counts of what a public rule says of each record, as a source: for a rule that no table holds, such as a model.

        A record is in one cell, so the vector's lemmas hold. The rule sees records only after an operator has charged. It
        must judge each record by itself, and keep nothing of them: it is trusted code. Answers beyond `size` are clipped.
        """
        for name in names:
            self.__shape((name,))  # refuses before anything is charged

        def counted() -> Counts:
            codes, weights = self.__columns.listed(names)
            cells = np.clip(np.asarray(rule(codes), dtype=np.int64), 0, size - 1)
            found = np.zeros(size, dtype=np.int64)
            np.add.at(found, cells, weights)
            return found

        kind = ReleaseSource if isinstance(self, ReleaseRecords) else SimulatedSource
        return source_over(kind, counted, domain_of(size), self.__custody, partial(getattr, self.__columns, "rows"))

    def derive(self, name: str, of: Sequence[str], table: Counts) -> Records:
        """One more attribute by a public table. A record stays one record, so it costs nothing (stability 1)."""
        shape = self.__shape(tuple(of))
        values = np.asarray(table)
        if values.shape != shape or values.dtype.kind not in "iu" or values.min() < 0 or values.max() >= LARGEST_VECTOR:
            raise BadInput("table", f"must be whole numbers from 0 on, of shape {shape}", "pass one for each combination")
        return self.__over(self.__columns.with_table(name, tuple(of), values.astype(np.int64)), self.__custody)

    def over(self, columns: Columns) -> Self:
        """The same purse over other columns of the same rows, some of which may not count: for trusted code only.

        Each row must come from one row of these records, so that stability is 1.
        """
        return self.__over(columns, replace(self.__custody, neighbours=self.neighbours.among_filtered()))

    def paid(self, budget: Budget, what: str) -> tuple[Self, Budget]:
        """The same records behind a purse that has this token's amount, which is charged here, whole.

        So a plan of many measurements is one event in the ledger. What the steps split off adds up to no more.
        """
        check_token(budget)
        self.__custody.spend(budget, "plan", what)
        purse = self.__custody.purse.part(self.neighbours, self.__custody.noise, budget.charges)
        return self.__over(self.__columns, replace(self.__custody, purse=purse)), purse.grant(budget.price)

    def choose_each(
        self,
        splits: Sequence[Split],
        criterion: Criterion,
        budget: Budget,
        *,
        label: str,
        by: str | None = None,
        allowed: NDArray[np.bool_] | None = None,
        handicaps: Counts | Vector | None = None,
    ) -> list[int]:
        """For each group of records, the number of a nearly best split: one noisy maximum per group.

        A record is in one group, so all together lose one budget. `allowed` (groups × splits) takes candidates out,
        `handicaps` (splits) are public numbers of records that are subtracted from their scores. A group without any
        candidate gets −1.
        """
        check_of_kernel(criterion, Criterion, "criterion")
        check_token(budget)
        (groups,) = (1,) if by is None else self.__shape((by,))
        mask = self.__mask(splits, groups, allowed)
        away = _handicaps(handicaps, len(splits), criterion.unit)
        neighbours = self.neighbours.in_part() if by is not None else self.neighbours
        scale = calibrate(neighbours.sensitivity(*criterion.sensitivities()), budget.exponential)
        axes = [(*((by,) if by else ()), *split.attributes, label) for split in splits]
        for names in axes:
            self.__shape(names)  # refuses before anything is charged
        self.__custody.spend(budget, "choose", f"{criterion.name} among {len(splits)} in {groups} groups")
        scores = np.empty((groups, len(splits)), dtype=np.int64)
        for names, places in groupby(range(len(splits)), axes.__getitem__):  # neighbours in the list share their counts
            counts = self.__columns.counts(names).reshape(groups, -1, self.sizes[label])
            for place in places:
                scores[:, place] = criterion.scores(_merged(counts, splits[place])) - away[place]
        return [self.__pick(row, open_, scale, budget) for row, open_ in zip(scores, mask, strict=True)]

    def choose_marginal(self, gaps: Sequence[MarginalGap], budget: Budget) -> Any:
        """The number of a histogram that public estimates are nearly worst for: one noisy maximum over all of them.

        Each score is a weighted L1 distance, which one record moves up or down by its weight. With trials, one per trial.
        """
        check_token(budget)
        if not gaps or any(type(gap) is not MarginalGap for gap in gaps):
            raise BadInput("gaps", "must be of class MarginalGap", "pass at least one")
        for gap in gaps:
            if math.prod(self.__shape(gap.names)) != gap.estimate.size:
                raise BadInput("gaps", "need one estimate per combination of values", "make them fit")
        scale = self.__custody.scale(gap_sensitivities(gaps), budget.exponential)
        self.__custody.spend(budget, "choose", f"gap among {len(gaps)} histograms")
        scores = np.array([gap.score(self.__columns.counts(gap.names)) for gap in gaps], dtype=np.int64)
        return self.__custody.maximum(scores, scale, budget)

    def __pick(self, scores: Counts, allowed: NDArray[np.bool_], scale: Fraction, budget: Budget) -> Any:
        places = np.flatnonzero(allowed)
        return places[self.__custody.maximum(scores[places], scale, budget)].tolist() if places.size else -1

    def __mask(self, splits: Sequence[Split], groups: int, allowed: NDArray[np.bool_] | None) -> NDArray[np.bool_]:
        if not splits or any(type(split) is not Split for split in splits):
            raise BadInput("splits", "must be of class Split", "pass at least one")
        for split in splits:
            if split.branches.size != math.prod(self.__shape(split.attributes)):
                named = " and ".join(map(repr, split.attributes))
                raise BadInput("splits", f"that by {named} needs one branch per value", "make its table fit")
        if allowed is None:
            return np.ones((groups, len(splits)), dtype=np.bool_)
        mask = np.asarray(allowed, dtype=np.bool_)
        if mask.shape != (groups, len(splits)):
            raise BadInput("allowed", f"must be of shape {(groups, len(splits))}", "one row per group, one column per split")
        return mask

    def totals(self, by: Sequence[str], measured: WeightedTotals, budget: Budget) -> list[NoisyTotals]:
        """Noisy sums per combination of the values of `by`, of each total with its share of the budget.

        A record is in one cell, so all cells are measured at once. Without `by`, there is one cell with all records. What
        one person moves follows from the totals, the neighbours, and what the columns hold every person to.
        """
        check_token(budget)
        if type(measured) is not WeightedTotals or not isinstance(self.__columns, SummedColumns):
            raise PlanError("`totals` measures WeightedTotals of records that can be added up")
        if not set(measured.points) <= set(self.__columns.numbers):
            raise BadInput("totals", "are about attributes that are no numbers of these records", "name declared numbers")
        cells, held = math.prod(self.__shape(tuple(by))) if by else 1, self.__columns.contribution(by)
        squares, persons = (any(getattr(one, name) for one in measured.totals) for name in ("squares", "of_persons"))
        if persons and not held.persons:
            raise BadInput("totals", "count persons, and these records do not say whose they are", "count records")
        held = Contribution() if self.__custody.in_part else held
        noises = measured.noises(cells, self.neighbours, held, budget.price)
        self.__custody.spend(budget, "totals", f"{len(measured.totals)} totals of {cells} cells")
        sums = self.__columns.cell_sums(by, measured.points, squares=squares, persons=persons)
        return [one.noisy(sums, added, self.__custody.noise) for one, added in zip(measured.totals, noises, strict=True)]

    def select_keys(
        self, by: Sequence[str], measured: WeightedTotals, budget: Budget
    ) -> tuple[list[tuple[Any, ...]], Records]:
        """The groups that may be named, in an order of their own, and records of these groups only, for `totals`.

        The token has a δ. A group is selected by the number of its people, who are held to a number of groups each. Of all
        others nothing is left: neither in sums nor in the order. The attribute `keys` is a group's place in the list.
        """
        if type(measured) is not WeightedTotals:
            raise PlanError("`select_keys` is for WeightedTotals")
        squares = any(one.squares for one in measured.totals)
        rule, keys, sums, people = self.__keyed(by, measured.points, squares, budget)
        noise = self.__custody.noise
        chosen = noise.outcome("keys", (rule, budget.price.delta), (keys, people), lambda: rule.select(people, noise))
        places = _in_order(np.flatnonzero(chosen), keys)
        held = self.__columns.contribution(by)  # type: ignore[attr-defined]  # as `__keyed` has checked
        selected = SelectedColumns({"keys": places.size}, sums.of(places), held)
        named = [keys[place] for place in places]
        return named, self.__over(selected, self.__custody)  # type: ignore[arg-type]  # they can be added up, and no more

    def count_keys(self, by: Sequence[str], budget: Budget) -> tuple[list[tuple[Any, ...]], Counts]:
        """The same with noisy numbers of people: what selects a group is shown, so that it need not be paid for again."""
        rule, keys, _, people = self.__keyed(by, {}, False, budget, counted_selection)
        noise = self.__custody.noise
        found = noise.outcome("counted keys", rule, (keys, people), lambda: rule.count(people, noise))
        places = _in_order(np.flatnonzero(found), keys)
        return [keys[place] for place in places], found[places]

    def __keyed(self, by: Sequence[str], points: Mapping[str, int], squares: bool, budget: Budget, *make: Rule) -> Any:
        """Charge a selection of keys by a rule; then the rule, and the keys with their sums and numbers of people."""
        check_token(budget, of_keys=True)
        if not isinstance(self.__columns, KeyedColumns):
            raise PlanError("keys are selected among records whose groups can be listed")
        if self.trials is not None or self.__custody.in_part:
            raise PlanError("keys are selected once, among all records: neither in several trials nor in a part")
        held = self.__columns.contribution(by)
        if self.neighbours.rows > 1 and not held.persons:  # somebody's records would count as so many people of one key
            raise PlanError("keys are selected by their people, and these records do not say whose they are")
        rule = rule_for(budget.price, self.neighbours, held, *make)
        self.__custody.spend(budget, "select_keys", f"{rule.method} rule, {rule.groups_per_person} groups per person")
        keys, sums = self.__columns.keyed_sums(by, points, squares=squares)
        return rule, keys, sums, np.minimum(sums.persons, MOST_WHOLE).astype(np.int64)

    def minimise(self, objective: Additive, budget: Budget) -> Vector:
        """Coefficients of additive scores that nearly minimise the records' loss, by objective perturbation.

        For two classes the scores of the second, else one row per class.
        """
        from jostle.kernel.functions import objective as perturbed

        if type(objective) is not perturbed.Additive:
            raise PlanError(f"{type(objective).__name__} is no objective of the kernel: its lemma is not proven")
        check_token(budget)
        if self.trials is not None:
            raise PlanError("`minimise` searches, so a plan that uses it runs one trial at a time")
        names = (*objective.features, objective.label)
        sizes = {name: self.__shape((name,))[0] for name in names}
        objective.check(sizes)
        how = perturbed.calibration_for(objective, sizes[objective.label], self.neighbours, budget.price)
        self.__custody.spend(budget, "minimise", f"additive scores of {len(objective.features)} attributes")
        rows, weights = self.__columns.listed(names)
        return perturbed.release(objective, rows, weights, sizes[objective.label], self.__custody.noise, how)

    def split(self, by: str, budget: Budget) -> list[tuple[Records, Budget]]:
        """Records with each value of an attribute as a source of their own. Charged once, here, whole, as for vectors."""
        (groups,) = self.__shape((by,))
        check_token(budget)
        self.__custody.spend(budget, "split", f"{groups} disjoint parts")
        parts: list[tuple[Records, Budget]] = []
        for value in range(groups):
            custody, token = self.__custody.part(budget)
            parts.append((self.__over(self.__columns.where(by, value), custody), token))
        return parts

    def __shape(self, names: Sequence[str]) -> tuple[int, ...]:
        sizes = self.__columns.sizes
        for name in names:
            if name not in sizes:
                raise BadInput("attribute", f"{name!r} is not among the records'", f"use one of {', '.join(sizes)}")
        if not names or len(set(names)) != len(names):
            raise BadInput("attribute", "must be some attributes, each once", f"use some of {', '.join(sizes)}")
        shape = tuple(int(sizes[name]) for name in names)
        if math.prod(shape) > LARGEST_VECTOR:
            raise BadInput("attribute", f"these have more than {LARGEST_VECTOR} combinations", "ask for fewer, or coarser")
        return shape

    def __over(self, columns: Columns, custody: Custody) -> Self:
        derived = object.__new__(type(self))
        Records.__init__(derived, columns, custody)
        return derived

    def __repr__(self) -> str:
        return f"<{type(self).__name__} with {', '.join(self.sizes)}, {self.neighbours}>"


def _merged(counts: Counts, split: Split) -> Counts:
    """Counts over (groups, values, classes) with values added up by branch."""
    if split.unmerged:
        return counts
    goes_to = (np.arange(split.arity)[:, None] == split.branches).astype(np.int64)
    return np.asarray(goes_to @ counts)


def _in_order(places: Counts, keys: Sequence[tuple[Any, ...]]) -> Counts:
    """Selected keys in an order of their own: that in which an engine finds keys may depend on all of them."""
    return np.array(sorted(places.tolist(), key=keys.__getitem__), dtype=np.int64)


def _handicaps(handicaps: Counts | Vector | None, splits: int, unit: int) -> Counts:
    """In units of the criterion; none is 0 for every split."""
    if handicaps is None:
        return np.zeros(splits, dtype=np.int64)
    given = np.asarray(handicaps, dtype=np.float64)
    if given.shape != (splits,) or not np.isfinite(given).all() or np.abs(given).max(initial=0) > 2**40:
        raise BadInput("handicaps", "must be one finite public number per split", "leave them out")
    return np.round(given * unit).astype(np.int64)


@final
class ReleaseRecords(Records, Granting):
    """Private records: exact noise, every charge in a durable ledger, no seed.

    Whether some rows of the table do not count here is known from the columns: nobody states it.
    """

    __slots__ = ()

    def __init__(self, columns: Columns, *, purse: Purse, note: str = "") -> None:
        super().__init__(columns, Custody.of_release(purse, note, filtered=columns.filtered))


@final
class SimulatedRecords(Records, Granting):
    """Public records: fast, seeded noise and charges that are counted but not kept.

    >>> from jostle.kernel.records import ArrayColumns
    >>> columns = ArrayColumns({"a": np.array([0, 1, 1]), "class": np.array([0, 1, 1])}, {"a": 2, "class": 2})
    >>> public = SimulatedRecords(columns, seed=0)
    >>> public.vector("a", "class").shape
    (2, 2)
    >>> from jostle.kernel.functions.criteria import Gini
    >>> public.choose_each([Split("a", np.array([0, 1]))], Gini(), public.grant(1), label="class")
    [0]

    With `trials`, what is measured gets a leading axis of that length, and a choice is a list of as many.
    """

    __slots__ = ()

    def __init__(
        self, columns: Columns, *, seed: object, neighbours: Neighbours | str = "add_remove", trials: int | None = None
    ) -> None:
        super().__init__(columns, Custody.of_simulation(seed, neighbours, trials, filtered=columns.filtered))
