"""Questions about a table: each can be previewed at no cost, and released at a price. Those about counts are here."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, InitVar, dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar

import numpy as np

from jostle import algorithms, workloads
from jostle.algorithms import Algorithm
from jostle.answers.answer import Answer
from jostle.answers.previews import Preview, PreviewWithMemory, epsilon_within, preview, price_within
from jostle.answers.quantiles_and_top import Quantiles
from jostle.answers.release import Release, answered, plan_for
from jostle.kernel.budget import CONCENTRATED, PURE, Price
from jostle.kernel.errors import BadInput, InternalError
from jostle.kernel.measures import Approximate, largest_rho
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.partition import Partition
from jostle.kernel.source import WITNESS, AddedNoise, ReleaseSource, SimulatedSource, Source
from jostle.kernel.strategies import Strategy
from jostle.schema import Integer, Numeric, Real, Schema
from jostle.tables.columns import EngineColumns
from jostle.tables.notes import note_on_groups, notes_on
from jostle.workloads import Workload

if TYPE_CHECKING:
    from jostle.tables.memory.bodies import Remembered
    from jostle.tables.table import Table

FINE = 4096
"""Quantiles are looked for among at most this many cells between the bounds."""

Answered = TypeVar("Answered", bound=Answer, covariant=True)


class Question(ABC, Generic[Answered]):
    """A question about a table. A preview and an ε come from public things; a release is charged before a row is read."""

    table: Table
    what: str
    """The question in words, as the ledger keeps it."""

    in_rho: ClassVar[bool] = False
    """Whether it can be paid for in ρ, with Gaussian noise."""

    @property
    def holds_together(self) -> bool:
        """Whether the answer's `rows(together=True)` has intervals that all hold at once."""
        return False

    @abstractmethod
    def preview(self, *, epsilon: Any, rows: int | None = None) -> Preview:
        """How far off answers would be: from public things only, at no cost. `rows`: about how many there are in total."""

    def epsilon_within(self, within: Any) -> Fraction:
        """The ε at which answers are expected to be that close, in 95 of 100 cases."""
        return epsilon_within(within, self._anew)

    def price_within(self, within: Any) -> Price:
        """The same as a price: in ρ, where the account has only that, and the question can be paid for in it."""
        in_rho = self.in_rho and self.table._budget.measure == CONCENTRATED
        return price_within(within, self._anew, CONCENTRATED) if in_rho else Price(self.epsilon_within(within))

    def _anew(self, *, epsilon: Any, rows: int | None = None) -> Preview:
        """The preview of a new measurement, whatever is remembered."""
        return self.preview(epsilon=epsilon, rows=rows)

    def release(
        self,
        *,
        epsilon: Any = None,
        within: float | None = None,
        rho: Any = None,
        fresh: bool = False,
        consistent: bool = False,
    ) -> Answered:
        """Charge ε or ρ, or the ε at which answers are expected to be `within` that distance, and answer.

        If the table was opened with a version, this is the most that is charged: what was released before is used again.
        With `fresh`, it is not. With `consistent`, an answer is made of all that is remembered by now, and agrees with
        other such answers; by default, the same question has the same answer as before.
        """
        if fresh or consistent:
            from jostle.tables.memory.asking import asking

            with asking(fresh=fresh, consistent=consistent):
                return self.release(epsilon=epsilon, within=within, rho=rho)
        if rho is not None:
            if epsilon is not None or within is not None:
                raise BadInput("rho", "is what answers cost, and so is epsilon or within", "pass one of them")
            if not self.in_rho:
                raise BadInput("rho", "is for counts: this question has Laplace noise", "pass epsilon=…")
            epsilon = Price.of(None, rho)
        if within is not None:
            if epsilon is not None:
                raise BadInput("within", "says how close answers must be, and epsilon what they cost", "pass one of them")
            epsilon = self.price_within(within)
        return self._release(epsilon)

    @abstractmethod
    def _release(self, epsilon: Any) -> Answered: ...

    def __repr__(self) -> str:
        return f"<Question: {self.what}>"


@dataclass(eq=False, repr=False)
class CountsQuestion(Question[Release]):
    """A workload over counts of rows, answered by an algorithm."""

    in_rho: ClassVar[bool] = True
    table: Table
    columns: EngineColumns
    names: Sequence[str]
    """The attributes whose combinations of cells are counted."""

    workload: Workload
    what: str
    _: KW_ONLY
    about: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The labels of the answers."""

    named: InitVar[str | None] = None
    """The algorithm; without one, it is chosen."""

    tunables: dict[str, Any] = field(default_factory=dict)
    reason: str | None = None
    """Why this algorithm, where that is not the usual reason."""

    ranked: str | None = None
    """The column whose values are ranked, if the counts are read for that; then it is not one that rows are counted by."""

    def __post_init__(self, named: str | None) -> None:
        if "seed" in self.tunables:
            raise BadInput("seed", "a release cannot be seeded", "leave it out")
        self.algorithm, why = plan_for(self.workload, named, self.tunables)
        self.by_cells = named == "Laplace" or (named is None and not self.tunables)
        self.reason = self.reason or why

    def preview(self, *, epsilon: Any, rows: int | None = None) -> Preview:
        """How far off answers would be, at no cost; and how close they are by what was released before."""
        expected = self._anew(epsilon=epsilon, rows=rows)
        if self.table._budget.memory is None:
            return expected
        from jostle.tables.memory.counts import already_paid

        return PreviewWithMemory(**vars(expected), paid_for=already_paid(self))

    @property
    def holds_together(self) -> bool:
        return True

    def _anew(self, *, epsilon: Any, rows: int | None = None) -> Preview:
        return preview(self.algorithm, self.workload, epsilon, self._neighbours, self.tunables, rows)

    def _release(self, epsilon: Any) -> Release:
        if self.table._budget.memory is not None and epsilon is not None:
            from jostle.tables.memory.buying import bought_widely
            from jostle.tables.memory.counts import recalled

            found = recalled(self, Price.of(epsilon))
            if found is not None:
                return found
            if (widely := bought_widely(self, Price.of(epsilon))) is not None:
                return widely[0]
        return self._answered(self.algorithm, self.reason or "", self.tunables, epsilon)[0]

    def measured_cells(self, price: Price) -> tuple[Release, Remembered | None]:
        """The cells with plain noise, and what is remembered of them: to be combined with what was released before."""
        from jostle.tables.memory.buying import bought_widely

        return bought_widely(self, price, plain=True) or self._answered(
            algorithms.get("Laplace"), "to complete what is remembered", {}, price
        )

    def _answered(
        self, plan: Algorithm, reason: str, tunables: dict[str, Any], epsilon: Any
    ) -> tuple[Release, Remembered | None]:
        source = self.table._budget
        self._try_out(plan, tunables, source.spent_before_measuring(epsilon))
        self.columns.check(self.names)
        records, budget = source.records(self.columns, epsilon, note=f"{plan.name}: {self.what}")
        counts = of_domain(records.vector(*self.names), self.workload.domain)
        with witnessed() as seen:
            release = answered(
                counts,
                budget,
                self.workload,
                plan,
                reason,
                remaining=lambda: source.remaining,
                tunables=tunables,
                about=self.about,
                of_part=source.is_shared,
                notes=self.notes,
                noise=self._why_laplace(budget.price),
            )
        if source.memory is None:
            return release, None
        from jostle.tables.memory.counts import remember

        return release, remember(self, release, counts, seen, whole=plan is self.algorithm)

    def _why_laplace(self, price: Price) -> str:
        """In an (ε, δ) account: how much larger errors of Gaussian noise would be on a histogram, at the same ε."""
        limit = self.table._budget.limit
        rest = limit.delta - limit.for_keys if isinstance(limit, Approximate) else Fraction(0)
        if price.measure != PURE or not rest or self.workload.kind != "identity":
            return ""
        rho = Price(largest_rho(price.amount, rest), CONCENTRATED)
        if not rho.amount or rho.rate >= price.rate:
            return ""
        larger = f"{price.rate / rho.rate:.2g} times larger at the account's δ"
        return f"Laplace noise, because a person is in few of its cells: errors of Gaussian noise would be {larger}."

    def _try_out(self, plan: Algorithm, tunables: dict[str, Any], epsilon: Price | None) -> None:
        """Raise what the plan would refuse on its way, while the ε of a part is still there.

        Where the way depends on noise, one of several is seen. Privacy: no row is looked at.
        """
        if epsilon is not None:
            empty = no_rows(self.workload.domain, self.table.neighbours)
            plan.run(empty, self.workload, empty.grant(epsilon), **tunables)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the answer leaves out, from public things only."""
        schema, ranked = self.table.schema, () if self.ranked is None else (self.ranked,)
        counted = [name for name in self.names if name in schema and name not in ranked]
        said = notes_on(schema, self.table.unit, counted, ranked, self.table._views[0])
        return (*said, *note_on_groups(self.table.unit if self.columns.grouped_by else None))

    @property
    def _neighbours(self) -> Neighbours:
        known = self.table.neighbours.among_filtered() if self.columns.filtered else self.table.neighbours
        return known.bounded(self.columns.most_counted)

    def __repr__(self) -> str:
        return f"<Question: {self.what}, by {self.algorithm.name}>"


class Measurement(NamedTuple):
    """What one `measure` of the kernel released, with everything public about it."""

    source: Source
    strategy: Strategy
    noise: AddedNoise
    numbers: Any
    """As they were released, in units of the strategy."""


@contextmanager
def witnessed() -> Iterator[list[Measurement]]:
    """What is measured in the block, as it is released; listed when the block ends."""
    listed: list[tuple[Any, ...]] = []
    seen: list[Measurement] = []
    before = WITNESS.set(listed)
    try:
        yield seen
    finally:
        WITNESS.reset(before)
        seen += [Measurement(*one) for one in listed]


def no_rows(shape: tuple[int, ...], neighbours: Neighbours) -> SimulatedSource:
    """A source of empty cells, on which a plan can be tried at no cost."""
    return SimulatedSource(np.zeros(math.prod(shape), dtype=np.int64), seed=0, neighbours=neighbours, shape=shape)


def of_domain(source: Source, domain: tuple[int, ...]) -> ReleaseSource:
    """The same cells, in one line where there are more axes than algorithms know: each cell is a group of its own."""
    if source.shape != domain:
        source = source.reduce(Partition(np.arange(source.size), domain))
    if not isinstance(source, ReleaseSource):
        raise InternalError("a release became a simulation")
    return source


def cell_labels(schema: Schema, names: Sequence[str]) -> dict[str, list[str]]:
    """The labels of each combination of cells, the last column's changing fastest: one list per column."""
    grids = np.meshgrid(*(np.array(schema[name].labels, dtype=object) for name in names), indexing="ij")
    return {name: grid.reshape(-1).tolist() for name, grid in zip(names, grids, strict=True)}


# ------------------------------------------------------------------------------------------------------- quantiles


class QuantilesQuestion(Question[Quantiles]):
    """Quantiles of a column. Previews and `within` are about ranks: how many rows too many or too few are below a value."""

    in_rho = True

    def __init__(self, table: Table, column: str, levels: Sequence[float], algorithm: str | None) -> None:
        self.table, self.column, self.levels, self.what = table, column, _levels(levels), f"quantiles of {column}"
        self._cells = fine_cells(numeric(table.schema, column))
        rows = table._with([view.foreseen(column) for view in table._views]).bin(column, self._cells)
        self.counted = CountsQuestion(
            rows,
            EngineColumns.of(rows._views, [column]),
            [column],
            quantile_workload(self._cells.size, algorithm),
            self.what,
            named=algorithm or "OPT",
            ranked=column,
            reason=None if algorithm else "because its error is the same on all data, so that the intervals are right",
        )

    def preview(self, *, epsilon: Any, rows: int | None = None) -> Preview:
        return self.counted.preview(epsilon=epsilon, rows=rows)

    def _release(self, epsilon: Any) -> Quantiles:
        released = self.counted.release(epsilon=epsilon)
        return Quantiles(column=self.column, levels=self.levels, cells=self._cells, release=released, **released.price)


def _levels(levels: Any) -> tuple[float, ...]:
    """Parts strictly between 0 and 1, one or several, rising."""
    try:
        found = tuple(float(level) for level in (levels if isinstance(levels, (Sequence, np.ndarray)) else [levels]))
    except (TypeError, ValueError, OverflowError):
        found = ()
    if not found or any(not 0 < level < 1 for level in found) or any(np.diff(found) <= 0):
        raise BadInput("levels", "must be numbers between 0 and 1 that rise", "pass for instance [0.25, 0.5, 0.75]")
    return found


def fine_cells(column: Numeric, most: int = FINE) -> Numeric:
    """The same range in up to 4,096 cells, with every value between the bounds in one of them."""
    if isinstance(column, Integer):
        return Integer(column.low, column.high, bins=most if column.high - column.low >= most else None)
    return Real(float(column.low), float(column.high), bins=most)


def quantile_workload(cells: int, algorithm: str | None = None) -> Workload:
    """The workload behind quantiles: ranks, for algorithms whose error is the same on all data; else prefixes.

    Algorithms whose error depends on the data were made, and selectors were trained, for prefixes.

    >>> quantile_workload(8), quantile_workload(8, "DAWA")
    (<ranks: 23 queries over 8>, <prefix: 8 queries over 8>)
    """
    if algorithm is not None and algorithms.get(algorithm).data_dependent:
        return workloads.prefix(cells)
    return workloads.ranks(cells)


def numeric(schema: Schema, name: str) -> Numeric:
    """A column of numbers, or an error that says so."""
    column = schema.column(name)
    if not isinstance(column, Numeric):
        raise BadInput("column", f"{name!r} is not declared as numbers", "use one that is an Integer or a Real")
    return column
