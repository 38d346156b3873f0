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
from jostle.kernel.records import Records
from jostle.kernel.strategies import identity
from jostle.schema import Column, Date, Numeric, Schema
from jostle.synthetic.bounds import GapBound, gap_bounds
from jostle.synthetic.domain import CoarseColumn, coarse_column
from jostle.synthetic.draw import IntArray, draw_records
from jostle.synthetic.estimate import Fitted, NoisyMarginal, fit, total_of
from jostle.synthetic.junction_tree import Clique, JunctionTree
from jostle.synthetic.model import FloatArray
from jostle.synthetic.select import default_workload, offer, that_fit, weighted_candidates
from jostle.workloads import identity as identity_workload

TICKS = 100_000
"""Budgets are divided into this many equal parts, so that shares stay exact."""

PLENTY = 0.25
"""From this rate of the budget on, single columns get no more than their least share. Tuned on the census table."""

SCARCE = 0.05
"""Below this rate of the budget, there is little to spend. Found on the census table, Nursery and made-up tables."""

FEW_CELLS = 16
"""Below this many cells, there is nothing to learn about a cell from the others."""

LEAST_VARIANCE = 1e-9
"""Noise may have none: under `replace`, the count of a histogram with one cell is public."""

STEPS_BETWEEN, LAST_STEPS = 25, 200
"""Steps of a fit between rounds, and of the last one."""


@dataclass(frozen=True)
class Tuning:
    """How the plan divides its budget and how fine its model is: public, found on public tables."""

    singles: float = 0.35
    """The share of the budget for one histogram per column, at least."""

    most_singles: float = 0.65
    """And at most: the less there is to spend, the less is left for histograms of several columns that noise would bury."""

    rounds: float = 3.0
    """The number of rounds per column that the budget is first divided by; it falls as soon as rounds gain little."""

    choice: float = 0.25
    """The share of each round's budget for its choice."""

    scarce_choice: float = 0.1
    """The same where there is little to spend: then noise on what is measured matters more."""

    penalty: float = 1.0
    """How much of the noise's absolute value is taken off a candidate's gap."""

    fine: float = 1.0
    """Cells of ordered columns are put together until they have fine · √(records × noise) records."""

    rare: float = 3.0
    """Categories with fewer than this many standard deviations of noise are put together."""

    most_groups: int = 64
    """The most groups of an ordered column."""

    cells: int = 2**20
    """The most cells of all cliques together."""


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
    tuning: Tuning | None = None,
) -> Synthesis:
    """A model of all columns, from histograms that are chosen privately. The token is spent whole."""
    how = tuning or Tuning()
    wanted = list(workload or default_workload(len(columns)))
    purse = _Ticks(budget)
    singles = _measure_singles(records, columns, purse, how)
    total = float(records.total) if records.total is not None else total_of([*singles.values()])
    plan = _Rounds(records, columns, singles, max(total, 1.0), purse, how)
    plan.run(weighted_candidates(wanted))
    return plan.result()


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


def _measure_singles(
    records: Records, columns: Mapping[str, Column], purse: _Ticks, how: Tuning
) -> dict[str, NoisyMarginal]:
    found = {}
    for place, (name, ticks) in enumerate(_shares_of_singles(columns, purse.price, how).items()):
        vector = records.vector(name)
        (token,) = purse.take(ticks)
        cells = identity(vector.shape)
        variance = vector.noise_variance(cells, token)
        found[name] = NoisyMarginal((place,), vector.measure(cells, token), max(variance, LEAST_VARIANCE))
    return found


def _shares_of_singles(columns: Mapping[str, Column], price: Price, how: Tuning) -> dict[str, int]:
    """Ticks for each column's first histogram, so that the noise on all cells together is least in absolute value.

    With shares w it is Σ cells/w under ε, and Σ cells/√w under ρ.
    """
    power = 1 / 2 if price.measure == PURE else 2 / 3
    weights = {name: column.size**power for name, column in columns.items()}
    share = min(max(how.singles, how.singles * (PLENTY / price.rate) ** 0.25), how.most_singles)
    whole = TICKS * share / sum(weights.values())
    return {name: max(1, int(whole * weight)) for name, weight in weights.items()}


def share_of_singles(columns: Mapping[str, Column], price: Price) -> dict[str, Fraction]:
    """The share of the budget that pays for each column's first histogram."""
    return {name: Fraction(ticks, TICKS) for name, ticks in _shares_of_singles(columns, price, Tuning()).items()}


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
        singles: Mapping[str, NoisyMarginal],
        total: float,
        purse: _Ticks,
        how: Tuning,
    ) -> None:
        self.columns, self.singles, self.total, self.purse, self.how = columns, singles, total, purse, how
        self.round = max(2, int(purse.left / (how.rounds * len(columns))))
        self.relation = records.neighbours
        self.coarse = coarse_columns(columns, singles, total, self._deviation(self.round), how)
        for name, column in self.coarse.items():
            records = records.derive(coarse_name(name), [name], column.groups)
        self.records = records
        self.attributes = [coarse_name(name) for name in columns]
        self.sizes = [column.size for column in self.coarse.values()]
        self.measured = [self._grouped(name, single) for name, single in singles.items()]
        shares = _shares_of_singles(columns, purse.price, how)
        self.steps = [
            PaidStep((name,), single.values.size, purse.amount(shares[name]), math.sqrt(single.variance))
            for name, single in singles.items()
        ]
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
        share = self.how.choice if self.purse.price.rate >= SCARCE else self.how.scarce_choice
        choosing = max(1, int(ticks * share))
        used = 1 - (self.purse.left - ticks) / TICKS
        axes = that_fit(self.fitted.model.tree, candidates, [one.axes for one in self.measured], self.how.cells * used)
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
        if float(np.abs(self.fitted.counts(found) - before).sum()) <= absolute * noisy.size:
            self.round *= 2 if token.measure == PURE else 4

    def result(self) -> Synthesis:
        return Synthesis(
            columns=dict(self.columns),
            coarse=self.coarse,
            fitted=self.fitted,
            measured=tuple(self.measured),
            singles=dict(self.singles),
            steps=tuple(self.steps),
            bounds={axes: bound.against(self.fitted) for axes, bound in self.bounds.items()},
        )
