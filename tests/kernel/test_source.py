"""The operators: noise of exactly the proven scale, after the charge, and nothing else that leaves a source."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
import re
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from jostle.kernel.arguments import LARGEST_TOTAL, counts
from jostle.kernel.budget import Budget, Cost, CountingPurse, Purse
from jostle.kernel.errors import BadInput, BudgetError, JostleError, Overdraft, PlanError
from jostle.kernel.functions.expressions import LATTICE
from jostle.kernel.functions.scores import QueryDistance, QueryScore, Score, SplitScore
from jostle.kernel.functions.statistics import (
    PRICE_UNIT,
    Derived,
    LargestCell,
    NonZeroCells,
    PartitionCost,
    Scale,
    Statistic,
    TotalVariation,
)
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.noise import ExactNoise, SimulatedNoise, gaussian_variance, variance
from jostle.kernel.partition import Partition
from jostle.kernel.records import ArrayColumns, SimulatedRecords
from jostle.kernel.source import (
    KEPT_ANSWERS,
    Custody,
    IntervalCost,
    ReleaseSource,
    SimulatedSource,
    Source,
    simulation,
    source_over,
)
from jostle.kernel.strategies import (
    Matrix,
    Stack,
    Strategy,
    boxes,
    hierarchy,
    identity,
    matrix,
    prefix,
    stack,
    total,
    wavelet,
)
from tests.kernel.helpers import (
    RELATIONS,
    all_statistics,
    all_strategies,
    fits,
    group_deviation,
    one_changed,
    one_more,
    recorded,
    small_vectors,
    with_custody,
)
from tests.kernel.test_noise import permute_and_flip

X = np.array([3, 0, 4, 1, 5, 9, 2, 6])
EPSILONS = [Fraction(1), Fraction(1, 3), Fraction("0.0173")]
SECRET = 987_654_321


class Durable(Purse):
    """A purse that stands for a ledger's account: it keeps the charges, and can be told to fail."""

    durable = True

    def __init__(self, neighbours: Neighbours | None = None, *, fail: bool = False) -> None:
        super().__init__(neighbours, ExactNoise())
        self.fail, self.log = fail, []

    def pay(self, cost: Cost, *, operator: str, neighbours: Neighbours, note: str) -> None:
        if self.fail:
            raise BudgetError("the ledger is out of reach")
        self.log.append(("charge", operator, cost.amount, neighbours, note))


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Callable[[Purse], None]:
    """Makes the exact engine write its draws into a purse's log, among the charges."""

    def watch(purse: Any) -> None:
        for name in ("discrete_laplace", "geometric", "noisy_max"):
            original = getattr(ExactNoise, name)

            def noted(self: ExactNoise, *arguments: Any, name: str = name, original: Any = original) -> Any:
                purse.log.append(("noise", name))
                return original(self, *arguments)

            monkeypatch.setattr(ExactNoise, name, noted)

    return watch


def every_operator(size: int = 8) -> dict[str, Callable[[Any, Budget], Any]]:
    """A call of each operator that takes a budget."""
    halves = Partition.intervals([0, size // 2], size)
    return {
        "laplace": lambda source, budget: source.measure(identity(size), budget),
        "statistic": lambda source, budget: source.statistic(NonZeroCells(), budget),
        "choose": lambda source, budget: source.choose(range(size), QueryScore(identity(size)), budget),
        "partition": lambda source, budget: source.partition(IntervalCost(price=1.0), budget),
        "split": lambda source, budget: source.split(halves, budget),
    }


# ------------------------------------------------------------------- the privacy map: scale == sensitivity × neighbours / ε


def norms(name: str) -> tuple[Fraction, Fraction]:
    """What one record moves, in units: added, from the dense matrix alone, and replaced, as the strategy bounds it."""
    strategy = all_strategies()[name]
    columns = np.round(strategy.dense() * strategy.unit).astype(np.int64).T
    return Fraction(int(np.abs(columns).sum(axis=1).max())), Fraction(strategy.diameter)


def by_hand(neighbours: Neighbours, once: Fraction | int, replaced: Fraction | int) -> Fraction:
    """The sensitivity for these neighbours, as docs/proofs/neighbours.md has it."""
    if neighbours.relation == "add_remove":
        return Fraction(once) * neighbours.rows
    if neighbours.part:
        return max(Fraction(replaced), 2 * Fraction(once)) * neighbours.rows
    return (Fraction(replaced) if neighbours.rows == 1 else max(Fraction(once), Fraction(replaced))) * neighbours.rows


@pytest.mark.parametrize("neighbours", RELATIONS, ids=str)
@pytest.mark.parametrize("name", all_strategies())
def test_laplace_has_noise_of_the_proven_scale(name: str, neighbours: Neighbours) -> None:
    strategy = all_strategies()[name]
    for epsilon in EPSILONS:
        source, recorder = recorded(X, neighbours)
        budget = source.grant(epsilon)
        expected = by_hand(neighbours, *norms(name)) / epsilon
        assert source.noise_scale(strategy, budget) == float(expected / strategy.unit)
        assert source.noise_variance(strategy, budget) == variance(expected) / strategy.unit**2
        answers = source.measure(strategy, budget)
        assert recorder.scales == [expected]
        assert type(recorder.scales[0]) is Fraction
        assert np.array_equal(answers, strategy @ X)  # the recorder draws no noise: these are the exact answers
        assert recorder.asked[0][2].dtype == np.int64
        assert source.unspent == 0


RHOS = [Fraction(1), Fraction(1, 50), Fraction("0.0137")]


def squared_by_hand(neighbours: Neighbours, once: int, replaced: int) -> int:
    """The squared L2 sensitivity for these neighbours, as docs/proofs/neighbours.md has it."""
    if neighbours.relation == "add_remove":
        return once * neighbours.rows**2
    if neighbours.part:
        return max(replaced, 2 * once) * neighbours.rows**2
    return (replaced if neighbours.rows == 1 else max(once, replaced)) * neighbours.rows**2


@pytest.mark.parametrize("neighbours", RELATIONS, ids=str)
@pytest.mark.parametrize("name", all_strategies())
def test_under_rho_noise_is_gaussian_of_the_proven_variance(name: str, neighbours: Neighbours) -> None:
    strategy = all_strategies()[name]
    columns = np.round(strategy.dense() * strategy.unit).astype(np.int64).T
    squares = int((columns.astype(object) ** 2).sum(axis=1).max()), strategy.squared_sensitivities()[1]
    for rho in RHOS:
        source, recorder = recorded(X, neighbours)
        budget = source.grant(rho=rho)
        expected = squared_by_hand(neighbours, *squares) / (2 * rho)
        assert source.noise_variance(strategy, budget) == gaussian_variance(expected) / strategy.unit**2
        assert source.noise_scale(strategy, budget) == pytest.approx(math.sqrt(expected / 2) / strategy.unit, rel=1e-14)
        answers = source.measure(strategy, budget)
        assert [(kind, amount) for kind, amount, _ in recorder.asked] == [("discrete_gaussian", expected)]
        assert type(recorder.scales[0]) is Fraction
        assert np.array_equal(answers, strategy @ X)
        assert source.unspent == 0


MOVES: list[tuple[Statistic, Fraction, Fraction, int]] = [
    (Scale(), Fraction(1), Fraction(0), 1),
    (NonZeroCells(), Fraction(1), Fraction(1), 1),
    (LargestCell(), Fraction(1), Fraction(1), 1),
    (TotalVariation(), Fraction(7), Fraction(8), 8),
    (PartitionCost(price=1.5), Fraction(PRICE_UNIT), Fraction(2 * PRICE_UNIT), PRICE_UNIT),
    (
        group_deviation(Partition.of([0, 1, 2, 3] * 2)),
        Fraction(math.isqrt(3 * LATTICE**2 // 16) + 1),
        Fraction(math.isqrt(LATTICE**2 // 2) + 1),
        LATTICE,
    ),
    (
        group_deviation(Partition.of([0, 1, 2, 3] * 2), ddof=1),
        Fraction(LATTICE // 2 + 1),
        Fraction(math.isqrt(2 * LATTICE**2 // 3) + 1),
        LATTICE,
    ),
]


@pytest.mark.parametrize("neighbours", RELATIONS, ids=str)
@pytest.mark.parametrize(("statistic", "once", "replaced", "unit"), MOVES, ids=lambda v: getattr(v, "name", ""))
def test_a_statistic_has_noise_of_the_proven_scale(
    statistic: Statistic, once: Fraction, replaced: Fraction, unit: int, neighbours: Neighbours
) -> None:
    for epsilon in EPSILONS:
        source, recorder = recorded(X, neighbours)
        released = source.statistic(statistic, source.grant(epsilon))
        assert recorder.scales == [by_hand(neighbours, once, replaced) / epsilon]
        assert float(released) == statistic.value(X) / unit


@pytest.mark.parametrize("neighbours", RELATIONS, ids=str)
@pytest.mark.parametrize(("statistic", "once", "replaced", "unit"), MOVES, ids=lambda v: getattr(v, "name", ""))
def test_under_rho_a_statistic_has_gaussian_noise(
    statistic: Statistic, once: Fraction, replaced: Fraction, unit: int, neighbours: Neighbours
) -> None:
    for rho in RHOS:
        source, recorder = recorded(X, neighbours)
        source.statistic(statistic, source.grant(rho=rho))
        square = squared_by_hand(neighbours, int(once) ** 2, int(replaced) ** 2)
        assert [(kind, amount) for kind, amount, _ in recorder.asked] == [("discrete_gaussian", square / (2 * rho))]


def kernels_own(base: type) -> set[type]:
    """The classes of the kernel that build on this one; expressions are tried term by term in tests/choice."""
    return {kind for kind in base.__subclasses__() if kind.__module__.startswith("jostle.kernel.")} - {Derived}


def test_every_statistic_and_strategy_of_the_kernel_is_tried() -> None:
    assert {type(statistic) for statistic, *_ in MOVES} - {Derived} == kernels_own(Statistic)
    assert {type(statistic) for statistic in all_statistics()} - {Derived} == kernels_own(Statistic)
    assert {type(strategy) for strategy in all_strategies().values()} == kernels_own(Strategy)


SCORES: list[tuple[Score, int, int]] = [
    (QueryScore(identity(8)), 1, 2),
    (QueryScore(wavelet(8)), 2, 4),
    (QueryScore(matrix([[3, -2, 0, 0, 0, 0, 0, 0]])), 5, 10),
    (QueryDistance(prefix(8), np.zeros(8), grain=16), 2 * 16, 2 * 16),
    (QueryDistance(wavelet(8), np.zeros(8), grain=16), 2 * 16, 4 * 16),
    (QueryDistance(matrix([[3, -2, 0, 0, 0, 0, 0, 0]]), np.zeros(1), grain=1), 6, 10),
    (SplitScore(cells=8, price=1.0), 13, 16),
]


@pytest.mark.parametrize("neighbours", RELATIONS, ids=str)
@pytest.mark.parametrize(("score", "once", "replaced"), SCORES)
def test_a_choice_has_noise_of_the_proven_scale(score: Any, once: int, replaced: int, neighbours: Neighbours) -> None:
    for epsilon in EPSILONS:
        source, recorder = recorded(X, neighbours)
        candidates = [f"candidate {i}" for i in range(score.values(X).size)]
        chosen = source.choose(candidates, score, source.grant(epsilon))
        assert recorder.scales == [by_hand(neighbours, once, replaced) / epsilon]
        assert chosen == candidates[int(np.argmax(score.values(X)))]


@pytest.mark.parametrize("neighbours", RELATIONS, ids=str)
@pytest.mark.parametrize(("score", "once", "replaced"), SCORES)
def test_under_rho_a_choice_is_the_exponential_mechanisms(
    score: Any, once: int, replaced: int, neighbours: Neighbours
) -> None:
    """Of range ε = √(8ρ), rounded down; permute and flip would lose ε²/2 rather than ε²/8."""
    for rho in RHOS:
        source, recorder = recorded(X, neighbours)
        source.choose(range(score.values(X).size), score, source.grant(rho=rho))
        ((kind, scale, _),) = recorder.asked
        epsilon = by_hand(neighbours, once, replaced) / scale
        assert kind == "gumbel_max"
        assert epsilon**2 / 8 <= rho
        assert float(epsilon) == pytest.approx(math.sqrt(8 * rho), rel=1e-12)


@pytest.mark.parametrize("neighbours", RELATIONS, ids=str)
def test_under_rho_the_noisy_minimum_is_a_pure_mechanism(neighbours: Neighbours) -> None:
    source, recorder = recorded(X, neighbours)
    source.partition(IntervalCost(price=2.0), source.grant(rho="1/50"))
    single, longer = (by_hand(neighbours, k * PRICE_UNIT, 2 * k * PRICE_UNIT) / Fraction(1, 5) for k in (1, 2))
    assert recorder.scales == [single, longer, longer, longer]


def test_under_rho_parts_get_the_noise_of_parts() -> None:
    """A count of a cell is moved in two parts by a replaced record, at half of ρ each: no noise beyond that of the whole."""
    for relation, square in (("add_remove", 1), ("replace", 2)):
        source, recorder = recorded(X, Neighbours(relation, rows=3))
        for part, token in source.split(Partition.intervals([0, 3], 8), source.grant(rho="1/2")):
            assert (token.measure, token.amount) == ("concentrated", Fraction(1, 2))
            first, second = token.split(1, 1)
            part.measure(identity(part.size), first)
            for inner, its_token in part.split(Partition.intervals([0, 1], part.size), second):
                inner.measure(identity(inner.size), its_token)
        assert recorder.scales == [2 * 9 * square] * 6


def test_a_source_is_paid_for_in_one_measure() -> None:
    source = SimulatedSource(X, seed=0)
    source.grant(rho=1)
    with pytest.raises(PlanError, match="one measure"):
        source.grant(1)
    with pytest.raises(BadInput, match=r"^epsilon, rho: must be one of the two"):
        source.grant()
    with pytest.raises(BadInput, match=r"^rho: must be above 0"):
        source.grant(rho=0)


def test_the_old_name_of_measure_works_and_says_so() -> None:
    source, _ = recorded(X)
    with pytest.warns(DeprecationWarning, match="is now `measure`"):
        assert source.laplace(identity(8), source.grant(1)).tolist() == X.tolist()


def test_every_score_of_the_kernel_is_tried() -> None:
    assert {type(score) for score, *_ in SCORES} == kernels_own(Score)


@pytest.mark.parametrize("neighbours", RELATIONS, ids=str)
def test_a_partition_has_noise_of_the_proven_scales(neighbours: Neighbours) -> None:
    for epsilon in EPSILONS:
        source, recorder = recorded(X, neighbours)
        source.partition(IntervalCost(price=2.0), source.grant(epsilon))
        single, longer = (by_hand(neighbours, k * PRICE_UNIT, 2 * k * PRICE_UNIT) / epsilon for k in (1, 2))
        assert recorder.scales == [single, longer, longer, longer]


@pytest.mark.parametrize(("relation", "factor"), [("add_remove", 1), ("replace", 2)])
@pytest.mark.parametrize("rows", [1, 3])
def test_inside_a_part_noise_is_that_of_a_part(relation: str, factor: int, rows: int) -> None:
    """Under `replace` a record may leave a part: what moves by 1 when one comes or goes needs 2, even a total."""
    source, recorder = recorded(X, Neighbours(relation, rows))
    for part, token in source.split(Partition.intervals([0, 3], 8), source.grant(1)):
        tokens = token.split(*[1] * 7)
        size = part.size
        part.measure(identity(size), tokens[0])
        part.measure(total(size), tokens[1])
        part.statistic(NonZeroCells(), tokens[2])
        part.choose(range(size), QueryScore(identity(size)), tokens[3])
        part.reduce(Partition.of([0] * size)).statistic(Scale(), tokens[4])
        for inner, its_token in part.split(Partition.intervals([0, 1], size), tokens[5]):
            inner.measure(identity(inner.size), its_token)
        assert part.neighbours.part is (relation == "replace")
        assert recorder.scales == [7 * factor * rows] * 7
        recorder.asked.clear()
        part.partition(IntervalCost(price=1), tokens[6])
        assert recorder.scales[:2] == [7 * factor * rows * PRICE_UNIT, 14 * factor * rows * PRICE_UNIT]
        recorder.asked.clear()


def test_parts_at_the_recorded_scales_lose_epsilon_and_at_the_plain_ones_twice_that() -> None:
    """By exact enumeration: every vector over two parts of one or two cells, each record moved everywhere."""
    support = np.arange(-60, 61)
    cut = Partition.intervals([0, 1], 3)

    def joint(x: np.ndarray, scale: float) -> np.ndarray:
        alpha = math.exp(-1 / scale)
        values = [NonZeroCells().value(x[:1]), NonZeroCells().value(x[1:])]
        return np.outer(*((1 - alpha) / (1 + alpha) * alpha ** np.abs(support - value) for value in values))

    def worst(scale: float) -> float:
        pairs = ((x, other) for x in small_vectors(3, 2) for other in one_changed(x))
        return max(float(np.abs(np.log(joint(x, scale) / joint(other, scale))).max()) for x, other in pairs)

    source, recorder = recorded([1, 0, 1], "replace")
    for part, token in source.split(cut, source.grant(1)):
        part.statistic(NonZeroCells(), token)
    (ours,) = set(recorder.scales)
    assert worst(float(ours)) == pytest.approx(1.0)
    assert worst(float(Neighbours("replace").sensitivity(1, 1))) == pytest.approx(2.0)


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_a_choice_loses_at_most_epsilon_by_its_exact_probabilities(relation: str) -> None:
    move = one_more if relation == "add_remove" else one_changed
    for score in (
        QueryScore(identity(3)),
        QueryScore(wavelet(3)),
        QueryScore(matrix([[1, 0, -1], [0, 2, 0]])),
        QueryDistance(prefix(3), np.array([0.0, 3.0, 1.0]), grain=1),
    ):
        source, recorder = recorded([1, 1, 1], relation)
        source.choose(range(score.queries.rows), score, source.grant(1))
        (scale,) = recorder.scales
        chances = {tuple(x): np.log(permute_and_flip(score.values(x).tolist(), float(scale))) for x in small_vectors(3, 2)}
        pairs = ((x, other) for x in small_vectors(3, 1) for other in move(x))
        worst = max(float(np.abs(chances[tuple(x)] - chances[tuple(other)]).max()) for x, other in pairs)
        assert worst <= 1 + 1e-9
        assert worst > 0.3


# ----------------------------------------------------------------------------------------------- charge, then noise


@pytest.mark.parametrize("operator", every_operator())
@pytest.mark.parametrize("neighbours", [Neighbours(), Neighbours("replace", rows=2)], ids=str)
def test_the_charge_comes_before_the_noise(operator: str, neighbours: Neighbours, watched: Any) -> None:
    purse = Durable(neighbours)
    watched(purse)
    source = ReleaseSource(X, purse=purse, note="my release")
    every_operator()[operator](source, source.grant("1/3"))
    kind, name, amount, under, note = purse.log[0]
    assert (kind, name, amount, under) == ("charge", operator, Fraction(1, 3), neighbours)
    assert note.startswith("my release: ")
    assert [entry[0] for entry in purse.log[1:]] == ["noise"] * (len(purse.log) - 1)
    assert (len(purse.log) > 1) is (operator != "split")
    assert purse.spent == Fraction(1, 3)


@pytest.mark.parametrize("operator", every_operator())
def test_a_charge_that_fails_means_no_noise_and_no_answer(operator: str, watched: Any) -> None:
    purse = Durable(fail=True)
    watched(purse)
    source = ReleaseSource(X, purse=purse)
    token = source.grant(1)
    with pytest.raises(BudgetError, match="out of reach"):
        every_operator()[operator](source, token)
    assert purse.log == []
    with pytest.raises(PlanError, match="spent already"):
        every_operator()[operator](source, token)


@pytest.mark.parametrize("operator", every_operator())
def test_a_spent_token_buys_nothing(operator: str, watched: Any) -> None:
    purse = Durable()
    source = ReleaseSource(X, purse=purse)
    token = source.grant(1)
    source.statistic(Scale(), token)
    watched(purse)
    purse.log.clear()
    with pytest.raises(PlanError, match="spent already"):
        every_operator()[operator](source, token)
    assert purse.log == []


@pytest.mark.parametrize("operator", every_operator())
def test_a_foreign_token_buys_nothing(operator: str) -> None:
    source, other = SimulatedSource(X, seed=0), SimulatedSource(X, seed=0)
    token = other.grant(1)
    with pytest.raises(PlanError, match="not granted for"):
        every_operator()[operator](source, token)
    assert (source.unspent, other.unspent) == (0, 1)
    every_operator()[operator](other, token)


@pytest.mark.parametrize("operator", every_operator())
@pytest.mark.parametrize("bad", [1.0, None, "1", Fraction(1)])
def test_an_operator_is_not_paid_with_a_number(operator: str, bad: Any) -> None:
    with pytest.raises(PlanError, match="paid with a budget"):
        every_operator()[operator](SimulatedSource(X, seed=0), bad)


def test_a_budget_of_another_class_is_refused() -> None:
    class Free(Budget):  # type: ignore[misc]  # final, on purpose
        def spend(self, *_: Any, **__: Any) -> Fraction:
            return self.epsilon

    source = SimulatedSource(X, seed=0)
    for operator in every_operator().values():
        with pytest.raises(PlanError, match="paid with a budget"):
            operator(source, Free(Fraction(1), CountingPurse()))


class Outsider(Statistic):
    """A statistic from outside, with a lemma that is not true."""

    def sensitivities(self, size: int) -> tuple[int, int]:
        return 0, 0

    def value(self, x: np.ndarray) -> int:
        return int(x[0])


class OutsideScore(Score):
    """A score from outside, with a range that is not true."""

    def sensitivities(self) -> tuple[int, int]:
        return 0, 0

    def values(self, x: np.ndarray) -> np.ndarray:
        return x

    def check(self, size: int, candidates: int) -> None:
        """Everything goes."""


class Doubling:
    """Looks like a partition, and counts every record twice."""

    labels, shape, groups = np.zeros(8, dtype=np.int64), (1,), 1

    def sums(self, x: np.ndarray) -> np.ndarray:
        return 2 * x.sum(keepdims=True)

    def cells(self, group: int) -> np.ndarray:
        return np.arange(8)


BAD_CALLS: dict[str, Callable[[Any, Budget], Any]] = {
    "strategy of another domain": lambda s, b: s.measure(identity(4), b),
    "no strategy": lambda s, b: s.measure("identity", b),
    "too fine a strategy": lambda s, b: s.measure(matrix([[2**22, 0, 0, 0, 0, 0, 0, 0]]), b),
    "statistic from outside": lambda s, b: s.statistic(Outsider(), b),
    "class of a statistic": lambda s, b: s.statistic(Scale, b),
    "groups of another domain": lambda s, b: s.statistic(group_deviation(Partition.of([0, 1])), b),
    "score from outside": lambda s, b: s.choose([1, 2], OutsideScore(), b),
    "score of other candidates": lambda s, b: s.choose([1, 2], QueryScore(identity(8)), b),
    "no candidates": lambda s, b: s.choose([], QueryScore(identity(8)), b),
    "no estimates": lambda s, b: s.choose(range(8), QueryDistance(identity(8), np.array([np.nan] * 8)), b),
    "too large a score": lambda s, b: s.choose([0], QueryScore(matrix([[2**22, 0, 0, 0, 0, 0, 0, 0]])), b),
    "no cost": lambda s, b: s.partition(1.0, b),
    "too large a price": lambda s, b: s.partition(IntervalCost(price=2.0**39), b),
    "partition of another domain": lambda s, b: s.split(Partition.of([0, 1]), b),
    "no partition": lambda s, b: s.split(Doubling(), b),
}


@pytest.mark.parametrize("call", BAD_CALLS)
def test_bad_arguments_are_refused_before_any_charge(call: str, watched: Any) -> None:
    purse = Durable()
    watched(purse)
    source = ReleaseSource(np.full(8, SECRET), purse=purse)
    token = source.grant(1)
    with pytest.raises((BadInput, PlanError)) as caught:
        BAD_CALLS[call](source, token)
    assert purse.log == []
    assert str(SECRET) not in str(caught.value)
    source.measure(identity(8), token)  # the token is as it was


def test_reducing_takes_partitions_of_the_kernel_alone() -> None:
    source = SimulatedSource(X, seed=0)
    with pytest.raises(PlanError, match="Doubling is no partition of the kernel"):
        source.reduce(Doubling())  # type: ignore[arg-type]
    with pytest.raises(BadInput, match=r"^partition: is of 2 cells, the domain has 8"):
        source.reduce(Partition.of([0, 1]))


def test_an_overdraft_is_refused_before_noise() -> None:
    purse = CountingPurse(noise=ExactNoise())
    source, recorder = recorded(X)
    with_custody(source, purse=purse)
    with pytest.raises(Overdraft, match="requested ε = 2, remaining 0. Nothing more can be released"):
        source.measure(identity(8), Budget(Fraction(2), purse))
    assert recorder.asked == []


# --------------------------------------------------------------------------------------------- reduced and split data


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_a_reduced_source_has_the_sums_the_neighbours_and_the_purse(relation: str) -> None:
    source, recorder = recorded(X, relation)
    quarters = source.reduce(Partition.grid((8,), (4,)))
    first, second = source.grant(1).split(1, 3)
    assert quarters.shape == (4,)
    assert quarters.neighbours == source.neighbours
    assert quarters.total == source.total
    assert quarters.measure(identity(4), first).tolist() == [3, 5, 14, 8]
    source.measure(identity(8), second)
    assert source.unspent == 0
    moved = 1 if relation == "add_remove" else 2
    assert recorder.scales == [4 * moved, Fraction(4, 3) * moved]


def test_reducing_to_a_grid_gives_its_shape() -> None:
    source = SimulatedSource(np.arange(16).reshape(4, 4), seed=0)
    assert source.reduce(Partition.grid((4, 4), (2, 2))).shape == (2, 2)


def test_parts_have_their_cells_and_one_token_each_of_the_whole_amount() -> None:
    source, _ = recorded(X)
    parts = source.split(Partition.of([1, 0, 1, 0, 1, 0, 1, 0]), source.grant("2/3"))
    assert source.unspent == 0  # charged once, here
    assert [token.epsilon for _, token in parts] == [Fraction(2, 3)] * 2
    assert [part.measure(identity(4), token).tolist() for part, token in parts] == [[0, 1, 9, 6], [3, 4, 5, 2]]
    assert [part.unspent for part, _ in parts] == [0, 0]
    assert source.unspent == 0


def test_the_ledger_sees_one_charge_for_all_parts() -> None:
    purse = Durable()
    source = ReleaseSource(X, purse=purse)
    for part, token in source.split(Partition.intervals([0, 4], 8), source.grant(1)):
        for share in token.split(1, 1, 1):
            part.measure(identity(4), share)
    assert [entry[1:3] for entry in purse.log] == [("split", Fraction(1))]


def test_a_parts_token_works_on_that_part_alone() -> None:
    source = SimulatedSource(X, seed=0)
    spare = source.grant(1)
    (left, left_token), (right, _) = source.split(Partition.intervals([0, 4], 8), source.grant(1))
    for wrong in (source, right):
        with pytest.raises(PlanError, match="only that part's own token"):
            wrong.measure(identity(wrong.size), left_token)
    with pytest.raises(PlanError, match="only that part's own token"):
        left.measure(identity(4), spare)
    left.reduce(Partition.of([0, 0, 1, 1])).measure(identity(2), left_token)


@pytest.mark.parametrize("release", [True, False])
def test_a_part_grants_no_second_token(release: bool) -> None:
    source = ReleaseSource(X, purse=Durable()) if release else SimulatedSource(X, seed=0)
    (part, _), _ = source.split(Partition.intervals([0, 4], 8), source.grant(1))
    with pytest.raises(PlanError, match="split that token"):
        part.grant(5)  # type: ignore[attr-defined]
    with pytest.raises(PlanError, match="split that token"):
        part.reduce(Partition.of([0, 0, 1, 1])).grant(5)  # type: ignore[attr-defined]


def test_parts_of_parts_and_adaptive_amounts_add_up() -> None:
    """A plan that decides by what was released: on every path it spends what it was granted."""
    source, recorder = recorded(X, "replace")
    first, rest = source.grant(1).split(1, 9)
    (biggest,) = (source.choose(range(8), QueryScore(identity(8)), first),)
    cut = Partition.intervals([0, biggest], 8)
    for part, token in source.split(cut, rest):
        head, tail = token.split(1, part.size)
        inner = part.split(Partition.of(np.arange(part.size)), tail)
        part.statistic(Scale(), head)
        for cell, its_token in inner:
            cell.measure(identity(1), its_token)
        assert part.unspent == 0  # type: ignore[attr-defined]
    assert source.unspent == 0
    sizes = [5, 3]
    expected = [2 / Fraction(1, 10)]
    for size in sizes:
        head, tail = Fraction(9, 10) / (1 + size), Fraction(9, 10) * size / (1 + size)
        expected += [2 / head, *[2 / tail] * size]
    assert recorder.scales == expected


# --------------------------------------------------------------------------------------------------- what is public


@pytest.mark.parametrize("neighbours", RELATIONS, ids=str)
def test_the_total_is_public_only_under_replace_with_one_row_outside_parts(neighbours: Neighbours) -> None:
    source = SimulatedSource(X, seed=0, neighbours=neighbours)
    public = neighbours == Neighbours("replace")
    assert source.total == (30 if public else None)
    assert source.reduce(Partition.of([0] * 8)).total == source.total
    for part, _ in source.split(Partition.intervals([0, 4], 8), source.grant(1)):
        assert part.total is None
        assert part.reduce(Partition.of([0] * 4)).total is None


def private_sources() -> list[Any]:
    """Private data in every form that a source can take."""
    x = np.array([SECRET, 0, SECRET + 2, SECRET])
    source = ReleaseSource(x, purse=Durable())
    (part, _), _ = source.split(Partition.of([0, 0, 1, 1]), source.grant(1))
    return [source, source.reduce(Partition.of([0, 1, 1, 1])), part, SimulatedSource(x, seed=0)]


def test_a_source_prints_public_facts_alone() -> None:
    for source in private_sources():
        assert re.fullmatch(r"<(Release|Simulated)Source over \d+, add_remove>", repr(source))
        assert str(source) == repr(source) == f"{source}"
        assert not hasattr(source, "__dict__")


FACTS = {"neighbours", "shape", "size", "total", "trials"}
OPERATORS = {"choose", "laplace", "measure", "noise_scale", "noise_variance", "partition", "reduce", "split", "statistic"}


def test_a_plan_sees_facts_and_operators_and_nothing_else() -> None:
    assert {name for name in dir(Source) if not name.startswith("_")} == FACTS | OPERATORS
    for source in private_sources():
        names = {name for name in dir(source) if not name.startswith("_")}
        assert names - FACTS - OPERATORS <= {"grant", "unspent", "again"}


def test_what_a_source_keeps_is_behind_mangled_names() -> None:
    """Counts, purse and noise: a plan does not come upon them by a slip, and neither does a class that is derived."""
    columns = ArrayColumns({"a": np.array([0, 1])}, {"a": 2})
    for source in (*private_sources(), SimulatedRecords(columns, seed=0)):
        slots = [(kind, name) for kind in type(source).__mro__ for name in getattr(kind, "__slots__", ())]
        assert len(slots) >= 3
        for kind, name in slots:
            assert name.startswith("__")
            assert hasattr(source, f"_{kind.__name__}{name}")
            assert not hasattr(source, name)


@pytest.mark.parametrize("duplicate", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_source_cannot_be_pickled_or_copied(duplicate: Any) -> None:
    for source in private_sources():
        with pytest.raises(PlanError, match="cannot be pickled or copied") as caught:
            duplicate(source)
        assert str(SECRET) not in str(caught.value)
        with pytest.raises(PlanError, match="cannot be pickled or copied"):
            duplicate(source._Source__custody)


def test_a_released_vector_shares_no_memory_with_the_data() -> None:
    """Also where there is no noise at all: what a plan writes into its answers stays out of the data."""
    source = SimulatedSource(X, seed=0, neighbours="replace")
    tokens = source.grant(1).split_evenly(4)
    first = source.measure(total(8), tokens[0])
    first[:] = -1
    assert source.measure(total(8), tokens[1]).tolist() == [30]
    mine = X.copy()
    other, _ = recorded(mine)
    other_tokens = other.grant(1).split_evenly(2)
    answers = other.measure(identity(8), other_tokens[0])
    answers[:] = -1
    mine[:] = -1
    assert other.measure(identity(8), other_tokens[1]).tolist() == X.tolist()


# ---------------------------------------------------------------------------------------------- releases, simulations


def test_a_release_wants_a_durable_purse_with_exact_noise() -> None:
    with pytest.raises(PlanError, match="charged to an account of a ledger"):
        ReleaseSource(X, purse=CountingPurse(noise=ExactNoise()))
    with pytest.raises(PlanError, match="charged to an account of a ledger"):
        ReleaseSource(X, purse=simulation(seed=0))
    seeded = Durable()
    seeded.noise = simulation(seed=0).noise
    with pytest.raises(PlanError, match="noise must be exact"):
        ReleaseSource(X, purse=seeded)


def test_a_release_takes_no_seed_and_is_not_run_again() -> None:
    with pytest.raises(TypeError):
        ReleaseSource(X, purse=Durable(), seed=0)  # type: ignore[call-arg]
    source = ReleaseSource(X, purse=Durable())
    assert not hasattr(source, "again")
    with pytest.raises(PlanError, match="only a simulation"):
        source._resampled(simulation(seed=0).noise)  # type: ignore[arg-type]


def test_a_release_answers_on_the_lattice() -> None:
    source = ReleaseSource(X, purse=Durable())
    tokens = source.grant(10).split_evenly(8)
    for strategy, token in zip((identity(8), wavelet(8), matrix([[0.5, 1.0, 0, 0, 0, 0, 0, 0]])), tokens, strict=False):
        answers = source.measure(strategy, token) * strategy.unit
        assert (answers == np.round(answers)).all()
    for statistic, token in zip((NonZeroCells(), TotalVariation(), PartitionCost(price=1)), tokens[3:], strict=False):
        released = source.statistic(statistic, token)
        assert released.shape == ()
        assert float(released) * statistic.unit(8) == pytest.approx(round(float(released) * statistic.unit(8)), abs=1e-6)
    assert source.choose("abcdefgh", QueryScore(identity(8)), tokens[6]) in "abcdefgh"
    assert source.partition(IntervalCost(price=1), tokens[7]).labels.size == 8
    assert source.trials is None


def test_a_simulation_wants_a_seed() -> None:
    with pytest.raises(TypeError):
        SimulatedSource(X)  # type: ignore[call-arg]
    with pytest.raises(BadInput, match=r"^seed: "):
        SimulatedSource(X, seed=None)
    with pytest.raises(BadInput, match=r"^seed: "):
        simulation(seed=None)


def transcript(source: SimulatedSource) -> list[Any]:
    """Everything that a source says when it is asked everything."""
    tokens = source.grant(1).split_evenly(6)
    said = [source.measure(hierarchy(8, 2), tokens[0]).tolist(), source.statistic(LargestCell(), tokens[1]).tolist()]
    said += [source.choose(range(8), QueryScore(identity(8)), tokens[2])]
    said += [source.partition(IntervalCost(price=1.0), tokens[3]).labels.tolist()]
    for part, token in source.split(Partition.intervals([0, 3], 8), tokens[4]):
        said.append(part.measure(identity(part.size), token).tolist())
    return [*said, source.reduce(Partition.of([0, 1] * 4)).measure(identity(2), tokens[5]).tolist()]


def test_a_seed_gives_the_same_transcript_again() -> None:
    first = transcript(SimulatedSource(X, seed=5))
    assert first == transcript(SimulatedSource(X, seed=5))
    assert first != transcript(SimulatedSource(X, seed=6))
    again = SimulatedSource(X, seed=6)
    transcript(again)
    assert transcript(again.again(seed=5)) == first


def test_trials_come_first_in_the_shape() -> None:
    source = SimulatedSource(X, seed=0, trials=7)
    tokens = source.grant(1).split_evenly(4)
    assert source.trials == 7
    assert source.measure(hierarchy(8, 2), tokens[0]).shape == (7, 15)
    assert source.statistic(Scale(), tokens[1]).shape == (7,)
    for part, token in source.split(Partition.intervals([0, 3], 8), tokens[2]):
        assert part.measure(identity(part.size), token).shape == (7, part.size)
    assert source.reduce(Partition.of([0, 1] * 4)).measure(identity(2), tokens[3]).shape == (7, 2)
    assert source.again(seed=1, trials=3).trials == 3


@pytest.mark.parametrize("operator", ["choose", "partition"])
def test_operators_that_decide_run_one_trial_at_a_time(operator: str) -> None:
    source = SimulatedSource(X, seed=0, trials=7)
    with pytest.raises(PlanError, match="one trial at a time"):
        every_operator()[operator](source, source.grant(1))
    assert source.unspent == 1


def test_each_trial_chooses_its_own_from_an_array_of_candidates() -> None:
    source, runs, candidates = SimulatedSource([0, 1], seed=0, trials=20_000), 20_000, np.array([7, 9])
    chosen: Any = source.choose(candidates, QueryScore(identity(2)), source.grant(1))  # type: ignore[arg-type]
    assert (set(chosen.tolist()), chosen.shape, source.unspent) == ({7, 9}, (runs,), 0)
    assert fits(np.bincount(chosen)[candidates], permute_and_flip([0, 1], 1.0) * runs)


# --------------------------------------------------------------------------------------------------------- the counts


@pytest.mark.parametrize(
    ("x", "shape"),
    [
        ([3, 0, 4], (3,)),
        ([[1, 2], [3, 4]], (2, 2)),
        (np.array([1.0, 2.0]), (2,)),
        (np.array([1, 2], dtype=np.uint8), (2,)),
        ((5,), (1,)),
        ([0, LARGEST_TOTAL], (2,)),
    ],
)
def test_counts_are_taken_in_any_form_of_whole_numbers(x: Any, shape: tuple[int, ...]) -> None:
    vector, domain = counts(x)
    assert domain == shape
    assert vector.dtype == np.int64
    assert vector.tolist() == np.ravel(x).tolist()
    assert not np.shares_memory(vector, x)


PLACES = range(3)
WHOLE = [-1, -(2**62), 0.5, math.nan, math.inf, -math.inf, 1e300, 2**63]


@pytest.mark.parametrize("make", [lambda x: ReleaseSource(x, purse=Durable()), lambda x: SimulatedSource(x, seed=0), counts])
def test_bad_counts_are_refused_with_one_message_whichever_cell_is_bad(make: Any) -> None:
    """Negative, fractional, no number, infinite, beyond 64 bits: what is said depends on neither the cell nor the value."""
    said = set()
    for bad, place in itertools.product(WHOLE, PLACES):
        x: list[float] = [SECRET] * 3
        x[place] = bad
        with pytest.raises(BadInput) as caught:
            make(np.array(x))
        said.add(str(caught.value))
    assert said == {
        "x: must hold whole numbers of records, none negative. Remedy: pass counts such as [3, 0, 4].",
    }


def test_too_many_records_are_refused_whichever_cells_they_are_in() -> None:
    said = set()
    for x in ([LARGEST_TOTAL + 1, 0], [0, LARGEST_TOTAL + 1], [LARGEST_TOTAL, 1], [2**62, 2**62], [2**40, 2**40]):
        with pytest.raises(BadInput) as caught:
            counts(x)
        said.add(str(caught.value))
    assert said == {f"x: must hold at most {LARGEST_TOTAL} records. Remedy: count in larger units."}


@pytest.mark.parametrize("bad", [["a", "bb"], ["a", "a long private text"], [True, False], [None, 1], [1j], [{}, 2], b"12"])
def test_what_is_no_number_is_refused_without_being_shown(bad: Any) -> None:
    with pytest.raises(BadInput) as caught:
        counts(np.asarray(bad))
    assert str(caught.value) in {
        "x: must hold numbers. Remedy: pass counts such as [3, 0, 4].",
        "x: must have at least one cell. Remedy: pass counts such as [3, 0, 4].",
        "x: must be a list or an array of counts. Remedy: pass counts such as [3, 0, 4].",
    }


@pytest.mark.parametrize("bad", [[], [[]], 5, None, [[1, 2], [3]]])
def test_what_is_no_vector_is_refused(bad: Any) -> None:
    with pytest.raises(BadInput, match=r"^x: must "):
        counts(bad)


@pytest.mark.parametrize("shape", [(3,), (2, 3), (-2, -2), (4.0,), (0,), ()])
def test_a_shape_that_does_not_fit_is_refused(shape: Any) -> None:
    with pytest.raises(BadInput, match=r"^shape: "):
        counts([1, 2, 3, 4], shape)
    assert counts([1, 2, 3, 4], (2, 2))[1] == (2, 2)


def test_errors_while_something_is_raised_show_no_private_value() -> None:
    """Also those that are behind an error, in its cause or its context."""
    for source, call in itertools.product(private_sources(), BAD_CALLS.values()):
        with pytest.raises(JostleError) as caught:
            call(source, CountingPurse().grant(1))
        error: BaseException | None = caught.value
        while error is not None:
            assert str(SECRET)[:6] not in f"{error} {error.args}"
            error = error.__cause__ or error.__context__


def test_answers_of_many_strategies_are_not_kept_for_ever() -> None:
    start = SimulatedSource(X, seed=0)
    for seed in range(3 * KEPT_ANSWERS):
        source: Any = start.again(seed=seed)
        source.measure(total(X.size), source.grant(1))
    assert len(start._Source__answers) <= KEPT_ANSWERS  # type: ignore[attr-defined]


def test_parts_of_a_split_that_are_asked_at_once_come_from_one_count():
    """A second count of a table draws other rows of a person, who would then be in two parts."""
    counted = []

    def count() -> np.ndarray:
        counted.append(len(counted))
        time.sleep(0.05)
        return np.eye(4, dtype=np.int64)[len(counted) % 4]

    purse = CountingPurse(Neighbours(), SimulatedNoise(seed=0))
    whole = source_over(SimulatedSource, count, (4,), Custody(purse, purse.noise, purse.neighbours))
    parts = whole.split(Partition.of([0, 1, 2, 3]), whole.grant(10**6))
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda part: part[0].measure(total(1), part[1]).item(), parts))
    assert counted == [0]
    assert sorted(answers) == [0, 0, 0, 1]


def test_what_lemmas_rest_on_cannot_be_changed():
    """A slip such as `cells += 1` would put a record into two groups, or halve a norm."""
    mixed, runs = Partition.of([0, 1, 0, 1]), Partition.of([0, 0, 1, 1])
    ranges, entries, tree = boxes(4, [0, 0, 0], [4, 4, 4]), matrix(np.eye(4)), hierarchy(4, 2)
    for array in (
        mixed.labels,
        mixed.sizes,
        mixed.cells(0),
        runs.sizes,
        ranges.lows,
        ranges.column_norms,
        entries.column_norms,
        entries.entries.data,
        entries.entries.indices,
        entries.entries.indptr,
        stack(ranges, ranges).column_norms,
        tree.levels[0][0],
    ):
        with pytest.raises(ValueError, match="read-only"):
            array += 1


@pytest.mark.parametrize(
    ("made", "name", "value"),
    [
        (lambda: prefix(4), "rows", 1),
        (lambda: prefix(4), "shape", (1,)),
        (lambda: hierarchy(2, 2), "weights", (9, 9)),
        (lambda: boxes(4, [0], [4]), "column_norms", 0),
        (lambda: matrix(np.eye(4)), "entries", None),
        (lambda: stack(prefix(4), prefix(4)), "factors", (9, 9)),
    ],
)
def test_what_a_strategy_is_made_of_cannot_be_changed(made, name, value):
    """Its norm may be known by then; and the hierarchy of a size is the same object for all who ask."""
    with pytest.raises((PlanError, AttributeError), match="cannot be changed|no setter"):
        setattr(made(), name, value)


def test_a_partition_keeps_its_shape():
    shape = [2]
    partition = Partition(np.array([0, 0, 1, 1]), shape)
    shape[0] = 1
    assert partition.shape == (2,)


def test_candidates_go_by_their_place():
    """Of a column of pandas, number 1 is the one with that label; of a dictionary, there is none."""
    source = SimulatedSource([1, 200], seed=0)
    for candidates in (pd.Series(["a", "b"], index=[1, 2]), {"a": 1, "b": 2}):
        with pytest.raises(BadInput, match="^candidates: must be a list"):
            source.choose(candidates, QueryScore(identity(2)), source.grant(1))
    assert source.unspent == 2


def test_weights_and_columns_that_would_fail_after_the_charge_are_refused():
    with pytest.raises(BadInput, match="^weights: must be whole"):
        Stack([prefix(4), prefix(4)], [1.5, 1], 1)
    with pytest.raises(BadInput, match="^entries: have 3 columns for 2 cells"):
        Matrix(csr_array(np.ones((1, 3))), (2,), 1)
