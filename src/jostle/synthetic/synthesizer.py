"""The plan behind synthetic tables: measure, fit, choose what the model explains worst, measure that, and so on.

Privacy: the plan spends one token, whole, through three kinds of operators of the kernel. First one histogram per column;
then, in every round, one choice among histograms (`choose_marginal`) and one measurement of the chosen one (`measure`).
Their tokens add up to the one that it was given. Everything else (which cells are put together, estimates, candidates, when
to stop, the records) follows from what was released before, and from public facts. Proof: docs/proofs/synthetic.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from jostle.algorithms.bayes import shrunk
from jostle.kernel.budget import PURE, Budget, Price
from jostle.kernel.functions.gaps import GRAIN, gap_sensitivities
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.records import ArrayColumns, Records, SimulatedRecords
from jostle.kernel.strategies import identity
from jostle.schema import Column, Date, Numeric, Schema
from jostle.synthetic.bounds import GapBound, gap_bounds
from jostle.synthetic.domain import CoarseColumn, coarse_column
from jostle.synthetic.draw import IntArray, draw_records
from jostle.synthetic.estimate import Fitted, NoisyMarginal, combined, fit, total_of
from jostle.synthetic.junction_tree import Clique, JunctionTree
from jostle.synthetic.model import FloatArray
from jostle.synthetic.select import default_workload, offer, that_fit, that_join, weighted_candidates
from jostle.synthetic.strategies import LEAST_SINGLES, STRATEGIES, ChosenStrategy, Tuning, facts, named, shipped, weights
from jostle.workloads import identity as identity_workload

TICKS = 100_000
"""Budgets are divided into this many equal parts, so that shares stay exact."""

FEW_CELLS = 16
"""Below this many cells, there is nothing to learn about a cell from the others."""

LEAST_VARIANCE = 1e-9
"""Noise may have none: under `replace`, the count of a histogram with one cell is public."""

STEPS_BETWEEN, LAST_STEPS = 25, 200
"""Steps of a fit between rounds, and of the last one."""


@dataclass(frozen=True)
class PaidStep:
    """One measurement, and what was paid for it."""

    names: tuple[str, ...]
    cells: int
    amount: Fraction
    """ε or ρ, that of the choice included."""

    deviation: float
    """The standard deviation of the noise on each count."""


@dataclass(frozen=True, eq=False)
class Synthesis:
    """A released model of a table: public, like everything that is computed from it."""

    columns: Mapping[str, Column]
    coarse: Mapping[str, CoarseColumn]
    fitted: Fitted
    measured: tuple[NoisyMarginal, ...]
    singles: Mapping[str, NoisyMarginal]
    """The first histogram of each column, over all of its cells."""

    steps: tuple[PaidStep, ...]
    bounds: Mapping[Clique, GapBound]
    """How far the model is off at most, in 95 of 100 cases, for the histograms that the last choice was among."""

    strategy: ChosenStrategy
    """Which way was taken, and why."""

    looked: float
    """About how many records there are, by what the choice saw."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.columns)

    @property
    def total(self) -> float:
        """About how many records there are."""
        return self.fitted.total

    def draw(self, rows: int | None, rng: np.random.Generator) -> dict[str, IntArray]:
        """The cells of this many records, by default about as many as the table has."""
        groups = draw_records(self.fitted.model, round(self.total) if rows is None else rows, rng)
        return {name: self.coarse[name].cells(codes, rng) for name, codes in zip(self.names, groups, strict=True)}


def coarse_name(name: str) -> str:
    """The name of the attribute with a column's cells in groups."""
    return f"({name} in groups)"


def synthesize(
    records: Records,
    columns: Schema | Mapping[str, Column],
    budget: Budget,
    *,
    workload: Sequence[Clique] | None = None,
    strategy: str | None = None,
    predicting: bool = False,
    tuning: Tuning | None = None,
) -> Synthesis:
    """A model of all columns, from histograms that are chosen privately. The token is spent whole.

    Without a strategy, one is chosen, which costs nothing; with `predicting`, one that measures columns together.
    """
    wanted = list(workload or default_workload(len(columns)))
    purse = _Ticks(budget)
    singles, looked = _Singles(records, columns, purse), math.nan
    if tuning is not None:
        chosen = ChosenStrategy("as tuned", ("its settings were passed",))
    elif strategy is not None:
        chosen = named(strategy)
    else:
        looked = singles.look()
        known = facts(columns, purse.price, records.neighbours, looked)
        chosen = shipped().pick(known, _fitting(wanted, predicting))
    how = tuning or chosen.tuning
    singles.measure(how.singles)
    plan = _Rounds(records, columns, singles, purse, how)
    plan.run(weighted_candidates(tuple(wanted)))
    return plan.result(chosen, looked)


def _fitting(workload: Sequence[Clique], predicting: bool) -> list[str]:
    """The strategies to choose among: several parents need sets of several columns, and who predicts needs pairs."""
    widest = max(map(len, workload))
    some = {name: how for name, how in STRATEGIES.items() if how.parents < max(2, widest)}
    return [name for name, how in some.items() if not predicting or how.singles < 1]


def try_out(
    columns: Schema | Mapping[str, Column],
    price: Price,
    neighbours: Neighbours,
    *,
    workload: Sequence[Clique] | None = None,
    strategy: str | None = None,
    predicting: bool = False,
) -> None:
    """Take every way that may be chosen, or the named one, on an empty table: what would fail does so before a charge.

    Privacy: no record is looked at. The choice follows from noise, so none of the ways can be left out.
    """
    sizes = {name: column.size for name, column in columns.items()}
    empty = ArrayColumns({name: np.zeros(0, dtype=np.int64) for name in sizes}, sizes)
    fitting = _fitting(workload or default_workload(len(columns)), predicting)
    for number, name in enumerate(fitting if strategy is None else [strategy]):
        source = SimulatedRecords(empty, seed=number, neighbours=neighbours)
        synthesize(source, columns, source.grant(price), workload=workload, strategy=name)


class _Ticks:
    """What is left of a token, in ticks."""

    def __init__(self, budget: Budget) -> None:
        self.left, self._rest, self._unit = TICKS, budget, budget.amount / TICKS
        self.measure, self.price = budget.measure, budget.price

    def take(self, *ticks: int) -> tuple[Budget, ...]:
        """Tokens of these numbers of ticks."""
        left = self.left - sum(ticks)
        if left:
            *taken, self._rest = self._rest.split(*ticks, left)
        else:
            taken = list(self._rest.split(*ticks))
        self.left = left
        return tuple(taken)

    def amount(self, *ticks: int) -> Fraction:
        return self._unit * sum(ticks)


class _Singles:
    """One histogram per column. The smallest comes first: it tells about how many records there are."""

    def __init__(self, records: Records, columns: Mapping[str, Column], purse: _Ticks) -> None:
        self._records, self._columns, self._purse = records, columns, purse
        self._places = {name: place for place, name in enumerate(columns)}
        self._parts: dict[str, list[NoisyMarginal]] = {name: [] for name in columns}
        self.steps: list[PaidStep] = []

    def look(self) -> float:
        """About how many records there are: public, or from the smallest column, for what every strategy pays."""
        if self._records.total is not None:
            return float(self._records.total)
        first = min(self._columns, key=lambda name: self._columns[name].size)
        self._pay(first, ticks_of_singles(self._columns, self._purse.measure, LEAST_SINGLES)[first])
        return total_of(self._parts[first])

    def measure(self, share: float) -> None:
        """Every column, with this share of the budget; what was looked at already costs only the rest."""
        wanted = ticks_of_singles(self._columns, self._purse.measure, share)
        for step in self.steps:
            wanted[step.names[0]] -= round(step.amount / self._purse.amount(1))
        missing = {name: ticks for name, ticks in wanted.items() if ticks > 0 or not self._parts[name]}
        for name, ticks in missing.items():
            last = share >= 1 and name == [*missing][-1]
            self._pay(name, self._purse.left if last else ticks)

    def _pay(self, name: str, ticks: int) -> None:
        vector = self._records.vector(name)
        (token,) = self._purse.take(ticks)
        cells = identity(vector.shape)
        variance = max(vector.noise_variance(cells, token), LEAST_VARIANCE)
        found = NoisyMarginal((self._places[name],), vector.measure(cells, token), variance)
        self._parts[name].append(found)
        self.steps.append(PaidStep((name,), found.values.size, self._purse.amount(ticks), math.sqrt(variance)))

    def total(self) -> float:
        """About how many records there are, by all that was measured."""
        if self._records.total is not None:
            return max(float(self._records.total), 1.0)
        return total_of([one for parts in self._parts.values() for one in parts])

    def found(self) -> dict[str, NoisyMarginal]:
        """The histogram of each column; two of the same are averaged."""
        return {name: combined(parts)[0] for name, parts in self._parts.items()}


def ticks_of_singles(columns: Mapping[str, Column], measure: str, share: float) -> dict[str, int]:
    """Ticks for each column's first histogram, of this share of the budget."""
    return {name: max(1, int(TICKS * share * weight)) for name, weight in weights(columns, measure).items()}


def share_of_singles(columns: Mapping[str, Column], price: Price) -> dict[str, Fraction]:
    """The least share of the budget that pays for each column's first histogram."""
    return {name: Fraction(ticks, TICKS) for name, ticks in ticks_of_singles(columns, price.measure, LEAST_SINGLES).items()}


def denoised(single: NoisyMarginal) -> FloatArray:
    """The counts of a column's cells, each drawn to what cells like it seem to hold."""
    if single.values.size < FEW_CELLS:
        return single.values
    return shrunk(single.values, math.sqrt(single.variance / 2), identity_workload(single.values.size))


def coarse_columns(
    columns: Mapping[str, Column], singles: Mapping[str, NoisyMarginal], total: float, deviation: float, how: Tuning
) -> dict[str, CoarseColumn]:
    """Columns whose cells are put together where later histograms, with noise of that deviation, could not tell them apart.

    Privacy: from what was released, and from public numbers, only.
    """
    found = {}
    for name, column in columns.items():
        least = how.rare * math.sqrt(singles[name].variance)
        if isinstance(column, (Numeric, Date)):
            least = max(least, how.fine * math.sqrt(total * deviation))
        found[name] = coarse_column(column, denoised(singles[name]), least, how.most_groups)
    return found


class _Rounds:
    """The rounds: what is known so far, and what is left to spend."""

    def __init__(
        self,
        records: Records,
        columns: Mapping[str, Column],
        singles: _Singles,
        purse: _Ticks,
        how: Tuning,
    ) -> None:
        self.columns, self.singles, self.total, self.purse, self.how = columns, singles.found(), singles.total(), purse, how
        joins = max(1, len(columns) - 1) if how.parents else how.rounds * len(columns)
        self.round = max(2, int(purse.left / joins))
        self.relation = records.neighbours
        noise = self._deviation(self.round) if purse.left else 0.0
        self.coarse = coarse_columns(columns, self.singles, self.total, noise, how)
        for name, column in self.coarse.items():
            records = records.derive(coarse_name(name), [name], column.groups)
        self.records = records
        self.attributes = [coarse_name(name) for name in columns]
        self.sizes = [column.size for column in self.coarse.values()]
        self.measured = [self._grouped(name, single) for name, single in self.singles.items()]
        self.steps = list(singles.steps)
        self.fitted = self._fit(STEPS_BETWEEN * 4)
        self.bounds: Mapping[Clique, GapBound] = {}

    def _deviation(self, ticks: int) -> float:
        """The standard deviation of the noise on a count that so many ticks pay for; for heuristics."""
        price = self.purse.price.times(Fraction(ticks, TICKS))
        return math.sqrt(2) * float(self.relation.sensitivity(1, 2)) / price.rate

    def _grouped(self, name: str, single: NoisyMarginal) -> NoisyMarginal:
        """A first histogram over groups. Their noise differs with the number of cells: about that of the average group."""
        groups = self.coarse[name].groups
        values = np.zeros(self.coarse[name].size)
        np.add.at(values, groups, single.values)
        return NoisyMarginal(single.axes, values, single.variance * groups.size / self.coarse[name].size)

    def _fit(self, steps: int) -> Fitted:
        tree = JunctionTree.over(self.sizes, [one.axes for one in self.measured])
        start = self.fitted.potentials if hasattr(self, "fitted") else None
        return fit(tree, self.measured, self.total, start, steps=steps)

    def run(self, candidates: Mapping[Clique, int]) -> None:
        if len(self.columns) == 1:
            candidates = {(0,): 1}
        while self.purse.left:
            self._one_round(candidates)
        self.fitted = self._fit(LAST_STEPS)

    def _one_round(self, candidates: Mapping[Clique, int]) -> None:
        ticks = self.round if self.purse.left >= 2 * self.round else self.purse.left
        choosing = max(1, int(ticks * self.how.choice))
        axes = self._offered(candidates, 1 - (self.purse.left - ticks) / TICKS)
        choice, token = self.purse.take(choosing, ticks - choosing)
        probe = self.records.vector(max(self.attributes, key=self.records.sizes.__getitem__))
        deviation = math.sqrt(probe.noise_variance(identity(probe.shape), token))
        absolute = deviation * (math.sqrt(0.5) if token.measure == PURE else math.sqrt(2 / math.pi))
        offered = offer(self.fitted, candidates, axes, self.attributes, self.how.penalty * absolute)
        spread = self.relation.sensitivity(*gap_sensitivities(offered.gaps)) / choice.exponential
        chosen = self.records.choose_marginal(offered.gaps, choice)
        found = axes[chosen]
        vector = self.records.vector(*(self.attributes[axis] for axis in found))
        variance = max(vector.noise_variance(identity(vector.shape), token), LEAST_VARIANCE)
        noisy = vector.measure(identity(vector.shape), token)
        before = self.fitted.counts(found)
        shaped = noisy.reshape(before.shape)
        self.measured.append(NoisyMarginal(found, shaped, variance, before))
        names = tuple(list(self.columns)[axis] for axis in found)
        self.steps.append(PaidStep(names, noisy.size, self.purse.amount(ticks), math.sqrt(variance)))
        if not self.purse.left:
            self.bounds = gap_bounds(offered, chosen, noisy, deviation, float(spread) / GRAIN)
        self.fitted = self._fit(STEPS_BETWEEN)
        gained = float(np.abs(self.fitted.counts(found) - before).sum()) > absolute * noisy.size
        if not gained and not self.how.parents:
            self.round *= 2 if token.measure == PURE else 4

    def _offered(self, candidates: Mapping[Clique, int], used: float) -> list[Clique]:
        """What a round may measure, once so large a part of the budget is spent."""
        measured, tree = [one.axes for one in self.measured], self.fitted.model.tree
        if self.how.parents:
            joining = that_join(tree, candidates, measured, self.how.parents, self.how.cells)
            if joining:
                return joining
        return that_fit(tree, candidates, measured, self.how.cells * used)

    def result(self, strategy: ChosenStrategy, looked: float) -> Synthesis:
        return Synthesis(
            columns=dict(self.columns),
            coarse=self.coarse,
            fitted=self.fitted,
            measured=tuple(self.measured),
            singles=dict(self.singles),
            steps=tuple(self.steps),
            bounds={axes: bound.against(self.fitted) for axes, bound in self.bounds.items()},
            strategy=strategy,
            looked=looked,
        )
