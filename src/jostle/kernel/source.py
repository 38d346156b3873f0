"""What an algorithm is given in place of the data: public facts and the private operators.

Each operator checks its arguments, then hands the budget to the purse, which writes the charge down, and only then draws
noise, calibrated to the lemma of what is asked, the neighbours and the token's exact ε or ρ. Nothing else leaves a source.
Proofs: docs/proofs/operators.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from fractions import Fraction
from math import ceil, prod, sqrt
from threading import Lock
from typing import Any, Literal, NoReturn, Self, TypeVar, final
from warnings import warn

import numpy as np

from jostle.kernel.arguments import check_of_kernel, check_one_of, counts
from jostle.kernel.budget import PURE, Budget, CountingPurse, Purse, check_token
from jostle.kernel.errors import BadInput, PlanError
from jostle.kernel.functions import intervals
from jostle.kernel.functions.scores import Score
from jostle.kernel.functions.statistics import PRICE_UNIT, Statistic, check_price
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.noise import ExactNoise, Noise, SimulatedNoise, calibrate, calibrate_square, gaussian_variance, variance
from jostle.kernel.partition import Counts, Partition, Vector, check_partition
from jostle.kernel.strategies.base import Strategy, check_measurable

T = TypeVar("T")
S = TypeVar("S", bound="Source")
Held = Counts | Callable[[], Counts]
Rows = Callable[[], int] | None
Shape = tuple[int, ...]
_Moves = Callable[[], tuple[int, int]]

KEPT_ANSWERS = 16
"""How many strategies' true answers a source remembers, for further trials on the same data."""


@dataclass(frozen=True)
class IntervalCost:
    """What `partition` minimises: the counts' distance from their interval's median, plus a price per interval.

    >>> IntervalCost(price=2.0).method
    'noisy-minimum'
    """

    price: float
    """What every interval costs: a public number, such as the noise that its total will get."""

    method: Literal["noisy-minimum", "exponential"] = "noisy-minimum"
    """The cheapest cut after noise on every interval's cost, or a cut drawn by the exponential mechanism over all cuts."""

    def __post_init__(self) -> None:
        check_price(self.price)
        check_one_of(self.method, "method", ("noisy-minimum", "exponential"))


@dataclass(frozen=True)
class AddedNoise:
    """Discrete noise on exact integers: its kind, and the exact number that it was calibrated to."""

    kind: Literal["laplace", "gaussian"]

    amount: Fraction
    """The scale of Laplace noise; the variance σ² of Gaussian noise."""

    def on(self, values: Counts, engine: Noise) -> Counts | Vector:
        """The values with noise."""
        return (engine.discrete_laplace if self.kind == "laplace" else engine.discrete_gaussian)(values, self.amount)

    @property
    def variance(self) -> float:
        return variance(self.amount) if self.kind == "laplace" else gaussian_variance(self.amount)

    def law(self, unit: int = 1) -> tuple[float, bool]:
        """The scale of Laplace noise, or the σ of Gaussian noise, in this unit; and whether it is Gaussian."""
        gaussian = self.kind == "gaussian"
        return (sqrt(self.amount) if gaussian else float(self.amount)) / unit, gaussian

    @property
    def scale(self) -> float:
        """Of Laplace noise; for Gaussian noise, of Laplace noise with the same σ."""
        return float(self.amount) if self.kind == "laplace" else sqrt(self.amount / 2)


WITNESS: ContextVar[list[tuple[Any, ...]] | None] = ContextVar("WITNESS", default=None)
"""Where each `measure` is listed, for whoever keeps what was released: the source, the strategy, the noise and the noisy
numbers in units. Nothing in the kernel reads the list."""


@dataclass(frozen=True, eq=False, repr=False)
class Custody:
    """What sources over the same data share: the purse that pays, the noise, and what one person may change.

    Every class of sources keeps it under a name of its own that Python mangles, so that no plan reaches it by a slip.
    """

    purse: Purse
    noise: Noise
    neighbours: Neighbours
    note: str = ""
    """The beginning of every charge's note."""

    in_part: bool = False
    """Whether the data are a part of a split. A person's records in all parts together are what the neighbours allow, so a
    tighter bound that holds in each part is no bound on what the person changes."""

    charged: Neighbours | None = None
    """What charges are under, if columns hold every person to less than that."""

    @classmethod
    def of_release(cls, purse: Purse, note: str, *, filtered: bool) -> Custody:
        """For private data; refused unless charges outlive the process and the noise is exact."""
        if not purse.durable or not isinstance(purse.noise, ExactNoise):
            raise PlanError("a release must be charged to an account of a ledger, and its noise must be exact")
        return cls(purse, purse.noise, purse.neighbours.among_filtered() if filtered else purse.neighbours, note)

    @classmethod
    def of_simulation(
        cls, seed: object, neighbours: Neighbours | str, trials: int | None, *, filtered: bool = False
    ) -> Custody:
        """For public data: seeded noise, and a purse that keeps nothing."""
        relation, noise = Neighbours.of(neighbours), SimulatedNoise(seed, trials)
        return cls(CountingPurse(relation, noise), noise, relation.among_filtered() if filtered else relation)

    def spend(self, budget: Budget, operator: str, what: str) -> None:
        """Charge a token, before anything is drawn."""
        note = f"{self.note}: {what}" if self.note else what
        budget.spend(self.purse, operator=operator, neighbours=self.charged or self.neighbours, note=note)

    def scale(self, sensitivities: tuple[int, int], epsilon: Fraction) -> Fraction:
        """The scale of the noise on what one record moves so far, added or removed and replaced: × neighbours / ε."""
        return calibrate(self.neighbours.sensitivity(*sensitivities), epsilon)

    def added(self, sensitivities: _Moves, squared: _Moves, budget: Budget) -> AddedNoise:
        """The noise on numbers, by what one record moves them in L1 and in squared L2: Laplace for ε, Gaussian for ρ."""
        check_token(budget)
        if budget.measure == PURE:
            return AddedNoise("laplace", self.scale(sensitivities(), budget.epsilon))
        return AddedNoise("gaussian", calibrate_square(self.neighbours.squared_sensitivity(*squared()), budget.amount))

    def maximum(self, scores: Counts, scale: Fraction, budget: Budget) -> Any:
        """Where noisy scores are largest: permute and flip for ε, the exponential mechanism for ρ."""
        return (self.noise.noisy_max if budget.measure == PURE else self.noise.gumbel_max)(scores, scale)

    def part(self, budget: Budget) -> tuple[Custody, Budget]:
        """For one part of a split: a purse of its own, with one token, which was charged when the data were split."""
        purse = self.purse.part(self.neighbours.in_part(), self.noise, budget.charges)
        token = purse.grant(budget.price)
        return replace(self, purse=purse, neighbours=purse.neighbours, in_part=True, charged=None), token

    def __reduce__(self) -> NoReturn:
        raise PlanError("a source cannot be pickled or copied: make it in the process that uses it")


class PrivateData:
    """What vectors and records share: public facts, and that no copy of them can be made."""

    __slots__ = ("__custody",)

    def __init__(self, custody: Custody) -> None:
        self.__custody = custody

    @property
    def neighbours(self) -> Neighbours:
        """What one person may change."""
        return self.__custody.neighbours

    @property
    def trials(self) -> int | None:
        """The length of the leading axis of what operators return; None in a release."""
        return self.__custody.noise.trials

    __reduce__ = Custody.__reduce__


class Granting(PrivateData):
    """What whoever runs a plan may do with a source, and the plan itself may not: grant tokens for it."""

    __slots__ = ()

    def grant(self, epsilon: object = None, *, rho: object = None, delta: object = None) -> Budget:
        """A token of ε or of ρ for one computation on this source; with a δ, for a selection of keys."""
        return self.__purse.grant(epsilon, rho=rho, delta=delta)

    @property
    def unspent(self) -> Fraction:
        """What was granted for this source and not spent on it."""
        return self.__purse.unspent

    @property
    def __purse(self) -> Purse:
        purse: Purse = self._PrivateData__custody.purse  # type: ignore[attr-defined]  # a base without slots keeps nothing
        return purse


class Source(PrivateData):
    """Private counts as a plan sees them: public facts, and the operators that may be asked of them.

    What differs between a release and a simulation is the noise and the purse.
    """

    __slots__ = ("__answers", "__counting", "__custody", "__held", "__rows", "__shape")

    def __init__(self, x: Held, shape: Shape, custody: Custody, rows: Rows = None) -> None:
        super().__init__(custody)
        self.__custody, self.__held, self.__shape, self.__rows, self.__counting = custody, x, shape, rows, Lock()
        self.__answers: dict[Strategy, Counts] = {}

    @property
    def __x(self) -> Counts:
        """The counts. Those of an engine are asked for when an operator first needs them, and by then it has charged.

        They are asked for once, whoever asks first: a second count may draw other rows of a person, and parts of a split are
        disjoint only if they come from one. Nor is the engine asked for the number of rows once they are there.
        """
        with self.__counting:
            if callable(self.__held):
                self.__held, self.__rows = self.__held(), None
            return self.__held

    @property
    def shape(self) -> tuple[int, ...]:
        """The domain."""
        return self.__shape

    @property
    def size(self) -> int:
        """The number of cells."""
        return prod(self.__shape)

    @property
    def total(self) -> int | None:
        """The number of records where it is public (under `replace`), else None.

        An engine is asked for that number and nothing else: nobody has paid.
        """
        if not self.neighbours.total_is_public:
            return None
        return (self.__rows or (lambda: int(self.__x.sum())))()

    def measure(self, strategy: Strategy, budget: Budget) -> Vector:
        """Noisy answers to the strategy: discrete noise on exact integers, by what one person moves them.

        Under ε it is Laplace noise of scale L1 sensitivity / ε, under ρ Gaussian noise of variance (L2 sensitivity)² / 2ρ.
        """
        noise = self.__noise_of(strategy, budget)
        self.__custody.spend(budget, noise.kind, strategy.name)
        answers = self.__answers.get(strategy)
        if answers is None:
            if len(self.__answers) >= KEPT_ANSWERS:  # plans whose strategies follow the data make new ones in every trial
                self.__answers.clear()
            answers = self.__answers[strategy] = np.ascontiguousarray(strategy.apply(self.__x))
        noisy = noise.on(answers, self.__custody.noise)
        if (listed := WITNESS.get()) is not None:
            listed.append((self, strategy, noise, noisy))
        return noisy / strategy.unit if strategy.unit > 1 else noisy.astype(np.float64, copy=False)

    def laplace(self, strategy: Strategy, budget: Budget) -> Vector:
        """The old name of `measure`, from when all noise was Laplace's."""
        warn("`laplace` of a source is now `measure`; the old name goes with the next release", DeprecationWarning, 2)
        return self.measure(strategy, budget)

    def noise_scale(self, strategy: Strategy, budget: Budget) -> float:
        """The scale of the noise on each answer that `measure` gives: a public number, which costs nothing.

        For Gaussian noise it is the scale of the Laplace noise with the same standard deviation.
        """
        return self.__noise_of(strategy, budget).scale / strategy.unit

    def noise_variance(self, strategy: Strategy, budget: Budget) -> float:
        """The variance of that noise."""
        return self.__noise_of(strategy, budget).variance / strategy.unit**2

    def statistic(self, statistic: Statistic, budget: Budget) -> Vector:
        """A noisy number: discrete Laplace or Gaussian noise by the statistic's lemma."""
        check_of_kernel(statistic, Statistic, "statistic")
        statistic.check(self.size)
        added, replaced = statistic.sensitivities(self.size)
        noise = self.__custody.added(lambda: (added, replaced), lambda: (added**2, replaced**2), budget)
        self.__custody.spend(budget, "statistic", statistic.name)
        noisy = noise.on(np.array(statistic.value(self.__x), dtype=np.int64), self.__custody.noise)
        return np.asarray(noisy / statistic.unit(self.size), dtype=np.float64)

    def choose(self, candidates: Sequence[T], score: Score, budget: Budget) -> T:
        """The candidate whose score is largest after one-sided exponential noise of scale sensitivity × neighbours / ε.

        Under ρ it is the exponential mechanism's, with ε = √(8ρ). In a simulation with trials the candidates are an array,
        and each trial chooses one.
        """
        self.__one_trial("choose", candidates)
        check_of_kernel(score, Score, "score")
        if not len(candidates) or not isinstance(candidates, (Sequence, np.ndarray)):  # others go by more than their place
            raise BadInput("candidates", "must be a list of at least one candidate", "pass a list")
        score.check(self.size, len(candidates))
        check_token(budget)
        scale = self.__custody.scale(score.sensitivities(), budget.exponential)
        self.__custody.spend(budget, "choose", f"{score.name} among {len(candidates)}")
        best: int = self.__custody.maximum(score.values(self.__x), scale, budget)
        return candidates[best]

    def partition(self, cost: IntervalCost, budget: Budget) -> Partition:
        """A nearly cheapest cut of a line of cells into intervals.

        It is the cheapest cut after noise on each interval's cost, or one drawn by the exponential mechanism.
        """
        self.__one_trial("partition")
        if type(cost) is not IntervalCost:
            raise PlanError(f"{type(cost).__name__} is no cost of the kernel: pass IntervalCost(price=…)")
        if len(self.shape) != 1:
            raise PlanError("partition cuts a line of cells: reduce a grid to a line first, for instance along a curve")
        check_price(cost.price, self.size)
        check_token(budget)
        draw = self.__exponential(budget) if cost.method == "exponential" else self.__noisy_minimum(budget)
        self.__custody.spend(budget, "partition", f"intervals of {self.size} cells, {cost.method}")
        starts = draw(intervals.deviations(self.__x) * PRICE_UNIT + round(cost.price * PRICE_UNIT))
        return Partition.intervals(starts, self.size)

    def __noisy_minimum(self, budget: Budget) -> Callable[[Counts], Counts]:
        """One-sided noise on each interval's cost: twice as much on those of two and more cells."""
        scales = [self.__custody.scale((k * PRICE_UNIT, 2 * k * PRICE_UNIT), budget.pure) for k in (1, 2)]
        calibrate(16 * self.size * scales[1], Fraction(1))  # the sum of all the noise must fit in 64 bits, too

        def draw(costs: Counts) -> Counts:
            noise = [self.__custody.noise.geometric(self.size, scales[min(k, 1)]) for k in range(costs.shape[0])]
            return intervals.cheapest_cut(costs - noise)[1]

        return lambda costs: self.__custody.noise.outcome("cheapest cut", tuple(scales), costs, lambda: draw(costs))

    def __exponential(self, budget: Budget) -> Callable[[Counts], Counts]:
        """Each cut with probability in proportion to 2^(−cost · rate); a little of ε is kept back for rounding errors."""
        epsilon = budget.exponential
        # A person in several parts, or with several records, is hidden in as many steps, each of which may lose it.
        steps = self.neighbours.rows * (2 if self.neighbours.part else 1)
        kept = Fraction(self.size * steps, intervals.ROUNDING)
        if epsilon <= 2 * kept:
            raise BadInput("epsilon", "is too small for a cut to be drawn with floating-point numbers", "use a larger one")
        moves = intervals.LN2 * PRICE_UNIT * intervals.NUMERATOR
        scale = calibrate(self.neighbours.sensitivity(2, 4) * moves, epsilon - kept)
        rate = intervals.NUMERATOR, ceil(scale)
        noise = self.__custody.noise

        def draw(costs: Counts) -> Counts:
            return noise.outcome("drawn cut", rate, costs, lambda: intervals.drawn_cut(costs, rate, noise.words))

        return draw

    def reduce(self, partition: Partition) -> Source:
        """The data with each group's cells added up. A record stays one record, so it costs nothing.

        Stability 1: same purse, same neighbours.
        """
        check_partition(partition, self.size)
        return self.__over(lambda: np.asarray(partition.sums(self.__x), dtype=np.int64), partition.shape, self.__custody)

    def split(self, partition: Partition, budget: Budget) -> list[tuple[Source, Budget]]:
        """Each group's cells as a source of its own, with a token for it.

        Charged once, here, whole: one record is in one part, so all parts together lose no more than one budget.
        """
        check_partition(partition, self.size)
        check_token(budget)
        self.__custody.spend(budget, "split", f"{partition.groups} disjoint parts")
        parts: list[tuple[Source, Budget]] = []
        for group in range(partition.groups):
            cells = partition.cells(group)
            custody, token = self.__custody.part(budget)
            parts.append((self.__over(lambda cells=cells: self.__x[cells], (cells.size,), custody), token))  # type: ignore[misc]
        return parts

    def __over(self, x: Held, shape: Shape, custody: Custody) -> Self:
        return source_over(type(self), x, shape, custody, self.__rows)

    def _resampled(self, engine: SimulatedNoise) -> Self:
        """The same data, with answers that were computed already, behind another engine and purse."""
        if not isinstance(self, SimulatedSource):
            raise PlanError("only a simulation can be run again with another seed")
        custody = replace(self.__custody, purse=CountingPurse(self.neighbours, engine), noise=engine)
        derived = self.__over(self.__x, self.__shape, custody)
        derived.__answers = self.__answers
        return derived

    def __noise_of(self, strategy: Strategy, budget: Budget) -> AddedNoise:
        check_measurable(strategy)
        if strategy.size != self.size:
            raise BadInput("strategy", f"is over {strategy.shape}, the data are over {self.shape}", "build it for these")
        return self.__custody.added(strategy.sensitivities, strategy.squared_sensitivities, budget)

    def __one_trial(self, operator: str, among: object = None) -> None:
        """Refuse more: but from an array of candidates, each trial takes its own."""
        if self.trials is not None and not isinstance(among, np.ndarray):
            raise PlanError(f"`{operator}` decides between paths: plans that use it run one trial at a time (batched=False)")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} over {'×'.join(map(str, self.shape))}, {self.neighbours}>"


@final
class ReleaseSource(Source, Granting):
    """Private data: exact noise, every charge in a durable ledger, no seed.

    Make one with the purse of a ledger's account; `jostle.release` does it for you. `filtered` says that some records of the
    table do not count here, by a public rule: their number is then private under any neighbours.
    """

    __slots__ = ()

    def __init__(
        self, x: object, *, purse: Purse, shape: tuple[int, ...] | None = None, note: str = "", filtered: bool = False
    ) -> None:
        custody = Custody.of_release(purse, note, filtered=filtered)
        super().__init__(*counts(x, shape), custody)


@final
class SimulatedSource(Source, Granting):
    """Public data: fast, seeded noise and charges that are counted but not kept.

    >>> from jostle.kernel.strategies.cells import identity
    >>> source = SimulatedSource([3, 0, 4], seed=1)
    >>> source.measure(identity(3), source.grant(1)).shape
    (3,)
    """

    __slots__ = ()

    def __init__(
        self,
        x: object,
        *,
        seed: object,
        neighbours: Neighbours | str = "add_remove",
        shape: tuple[int, ...] | None = None,
        trials: int | None = None,
    ) -> None:
        super().__init__(*counts(x, shape), Custody.of_simulation(seed, neighbours, trials))

    def again(self, *, seed: object, trials: int | None = None) -> SimulatedSource:
        """The same data for further trials; what does not depend on noise is not computed again."""
        return self._resampled(SimulatedNoise(seed, trials))


def simulation(*, seed: object, neighbours: Neighbours | str = "add_remove", trials: int | None = None) -> CountingPurse:
    """A purse for mechanisms on public data: it grants tokens, draws seeded noise and keeps nothing.

    >>> simulation(seed=0).grant(0.5)
    Budget(ε = 0.5)
    """
    noise = SimulatedNoise(seed, trials)
    return CountingPurse(Neighbours.of(neighbours), noise)


def source_over(kind: type[S], x: Held, shape: Shape, custody: Custody, rows: Rows = None) -> S:
    """For the kernel only: a source over counts, which may be counted when they are first needed."""
    source = object.__new__(kind)
    Source.__init__(source, x, shape, custody, rows)
    return source
