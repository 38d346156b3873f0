"""The exponential mechanism over cuts: its exact probabilities, their losses, and that the code draws with them.

Weights are 2^(−cost · rate). Where every cost times the rate is a whole number, sums of weights are binary fractions, and
the code's floating-point sums can be compared with exact ones.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from jostle.kernel.errors import BadInput
from jostle.kernel.functions import intervals
from jostle.kernel.functions.intervals import LN2, NUMERATOR, ROUNDING, deviations, drawn_cut
from jostle.kernel.functions.statistics import PRICE_UNIT
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.noise import ExactNoise, SimulatedNoise
from jostle.kernel.source import IntervalCost, SimulatedSource
from tests.kernel.helpers import RELATIONS, fits, one_changed, one_more, small_vectors


def all_cuts(size: int) -> list[tuple[int, ...]]:
    """Every cut into intervals of power-of-two lengths, as the cells where they begin."""
    if size == 0:
        return [()]
    shorter = [(2**level, all_cuts(size - 2**level)) for level in range(size.bit_length())]
    return [(*rest, size - length) for length, before in shorter for rest in before]


def cost_of(cut: tuple[int, ...], costs: np.ndarray) -> int:
    lengths = np.diff([*cut, costs.shape[1]])
    return sum(int(costs[int(length).bit_length() - 1, start]) for start, length in zip(cut, lengths, strict=True))


def probabilities(costs: np.ndarray, rate: float) -> dict[tuple[int, ...], float]:
    weights = {cut: 2.0 ** (-cost_of(cut, costs) * rate) for cut in all_cuts(costs.shape[1])}
    return {cut: weight / sum(weights.values()) for cut, weight in weights.items()}


def costs_of(x: np.ndarray, price: float) -> np.ndarray:
    return deviations(x) * PRICE_UNIT + round(price * PRICE_UNIT)


class Words:
    """Random words from a fixed list, in portions of any size."""

    def __init__(self, seed: int, portion: int | None = None) -> None:
        self.rng, self.portion = np.random.default_rng(seed), portion

    def __call__(self, size: int) -> np.ndarray:
        return np.array([self.rng.integers(0, 2**53) for _ in range(self.portion or size)], dtype=np.int64)


def captured(monkeypatch: pytest.MonkeyPatch, source: SimulatedSource, epsilon: Any) -> tuple[int, int]:
    """The rate with which the operator draws."""
    rates = []

    def draw(costs: np.ndarray, rate: tuple[int, int], words: Any) -> np.ndarray:
        rates.append(rate)
        return np.zeros(1, dtype=np.int64)

    monkeypatch.setattr(intervals, "drawn_cut", draw)
    source.partition(IntervalCost(1.5, "exponential"), source.grant(epsilon))
    monkeypatch.undo()
    return rates[0]


# ------------------------------------------------------------------------------------------------------- the privacy


@pytest.mark.parametrize("relation", RELATIONS, ids=str)
@pytest.mark.parametrize("epsilon", [Fraction(1, 1000), Fraction(1, 3), Fraction(7), Fraction(10**6)])
def test_the_operator_draws_at_the_proven_rate(monkeypatch, relation: Neighbours, epsilon: Fraction) -> None:
    numerator, denominator = captured(monkeypatch, SimulatedSource(np.arange(9), seed=0, neighbours=relation), epsilon)
    assert numerator == NUMERATOR
    scale = (
        relation.sensitivity(2, 4)
        * PRICE_UNIT
        * LN2
        * numerator
        / (epsilon - Fraction(9 * relation.rows * (2 if relation.part else 1), ROUNDING))
    )
    assert denominator - 1 < scale <= denominator


def test_two_to_the_minus_cost_is_not_taken_for_less_than_it_is() -> None:
    # ln 2 = Σ 1/(k 2^k), cut after 80 terms and rounded up by what is left out.
    assert sum(Fraction(1, k * 2**k) for k in range(1, 81)) + Fraction(1, 2**80) < LN2


@pytest.mark.parametrize(("cells", "largest", "price"), [(2, 3, 0.0), (3, 2, 1.5), (4, 1, 0.5), (5, 1, 2.0)])
def test_no_cut_loses_more_than_epsilon(cells: int, largest: int, price: float) -> None:
    epsilon = 0.8
    rate = epsilon / (2 * PRICE_UNIT * math.log(2))
    worst = 0.0
    for x in small_vectors(cells, largest):
        here = probabilities(costs_of(x, price), rate)
        for other in one_more(x):
            there = probabilities(costs_of(other, price), rate)
            worst = max(worst, *(abs(math.log(here[cut] / there[cut])) for cut in here))
    assert 0.3 * epsilon < worst <= epsilon * (1 + 1e-12)


@pytest.mark.parametrize(("cells", "largest"), [(2, 3), (3, 2), (4, 1)])
def test_a_replaced_record_loses_at_most_epsilon_at_half_the_rate(cells: int, largest: int) -> None:
    epsilon = 0.8
    rate = epsilon / (4 * PRICE_UNIT * math.log(2))
    for x in small_vectors(cells, largest):
        here = probabilities(costs_of(x, 1.0), rate)
        for other in one_changed(x):
            there = probabilities(costs_of(other, 1.0), rate)
            assert max(abs(math.log(here[cut] / there[cut])) for cut in here) <= epsilon * (1 + 1e-12)


def test_the_bound_is_attained() -> None:
    """A record in the middle cell makes one pair of cells less even and the other pair, which nearly always wins, more."""
    epsilon = 0.5
    rate = epsilon / (2 * PRICE_UNIT * math.log(2))
    here, there = (probabilities(costs_of(np.array([0, middle, 250]), 300), rate) for middle in (200, 201))
    assert 0.999 * epsilon < math.log(here[0, 2] / there[0, 2]) <= epsilon * (1 + 1e-12)


# --------------------------------------------------------------------------------------------- the code draws with them


@pytest.mark.parametrize("price", [0.0, 2.5])
@pytest.mark.parametrize("x", [[3], [3, 0], [1, 1, 4, 4, 2], [0, 0, 7, 0, 0, 0]])
def test_cuts_are_drawn_with_their_probabilities(x: list[int], price: float) -> None:
    costs = costs_of(np.array(x), price)
    rate = (NUMERATOR, 2_500_000)
    due = probabilities(costs, rate[0] / rate[1])
    runs = 20_000
    words = SimulatedNoise(5).words
    seen = Counter(tuple(drawn_cut(costs, rate, words).tolist()) for _ in range(runs))
    assert seen.keys() <= due.keys()
    order = sorted(due, key=due.__getitem__)
    assert fits(np.array([seen[cut] for cut in order]), np.array([runs * due[cut] for cut in order]))


def test_the_operator_draws_with_them_too() -> None:
    x = np.array([1, 1, 4, 4])
    epsilon = Fraction(1)
    due = probabilities(costs_of(x, 1.0), float(epsilon) / (2 * PRICE_UNIT * math.log(2)))
    seen: Counter[tuple[int, ...]] = Counter()
    source = SimulatedSource(x, seed=0)
    runs = 5_000
    for seed in range(runs):
        again = source.again(seed=seed)
        labels = again.partition(IntervalCost(1.0, "exponential"), again.grant(epsilon)).labels
        seen[tuple(np.flatnonzero(np.diff(labels, prepend=-1)).tolist())] += 1
    assert fits(np.array([seen[cut] for cut in due]), np.array([runs * p for p in due.values()]))


def exact_sums(costs: np.ndarray, denominator: int) -> list[Fraction]:
    sums = [Fraction(1)]
    for end in range(1, costs.shape[1] + 1):
        terms = [
            sums[end - 2**level] / Fraction(2) ** (int(costs[level, end - 2**level]) * NUMERATOR // denominator)
            for level in range(end.bit_length())
            if 2**level <= end and level < costs.shape[0]
        ]
        sums.append(sum(terms, Fraction(0)))
    return sums


@pytest.mark.parametrize("largest", [1, 5, 900])
def test_sums_of_weights_are_exact_to_a_few_roundings(largest: int) -> None:
    size = 60
    rng = np.random.default_rng(largest)
    costs = rng.integers(0, largest + 1, size=(size.bit_length(), size)) * PRICE_UNIT
    fractions, exponents = intervals._sums(costs, NUMERATOR, NUMERATOR * PRICE_UNIT)
    for end, due in enumerate(exact_sums(costs, NUMERATOR * PRICE_UNIT)):
        found = Fraction(float(fractions[end])) * Fraction(2) ** int(exponents[end])
        assert abs(found / due - 1) <= end * Fraction(1, 2**46)


def test_costs_of_any_size_neither_overflow_nor_vanish() -> None:
    largest = 2**51 - 1
    costs = np.array([[0, largest, 0, largest], [largest, largest, largest, -1], [largest, -1, -1, -1]])
    fractions, exponents = intervals._sums(costs, NUMERATOR, 1)
    assert np.isfinite(fractions).all()
    assert (fractions >= 0.5).all()
    assert exponents[-1] < -(2**60)
    assert exponents[2] < -(2**60)
    assert drawn_cut(costs, (NUMERATOR, 1), Words(0)).size >= 1


def test_a_choice_does_not_depend_on_how_random_words_are_delivered() -> None:
    rng = np.random.default_rng(3)
    for seed in range(60):
        size = int(rng.integers(1, 20))
        costs = rng.integers(0, 60 if seed % 2 else 9, size=(size.bit_length(), size)) * PRICE_UNIT
        rate = (NUMERATOR, NUMERATOR * PRICE_UNIT // 4)
        whole = drawn_cut(costs, rate, Words(seed))
        assert all((drawn_cut(costs, rate, Words(seed, portion)) == whole).all() for portion in (1, 2, 7))


def test_rare_events_have_exactly_their_probability() -> None:
    """Bit by bit: 3/4 · 2^−55 happens if 53 and then 2 bits are 0 and the next word is below 3/4."""
    below, above = int(0.75 * 2**53) - 1, int(0.75 * 2**53)
    for words, due in [
        ([0, 2**51 - 1, below], 1),
        ([0, 2**51 - 1, above], 0),
        ([0, 2**51, below], 0),
        ([1, 0, below], 0),
    ]:
        state = np.array([0, 0, 55])
        assert intervals._happens(0.75, np.array(words), 0, state)[1] == due
        assert state[2] == -1
    state = np.array([0, 0, 55])
    assert intervals._happens(0.75, np.array([0]), 0, state) == (1, -1)
    assert state[2] == 2


# -------------------------------------------------------------------------------------------------- words, bad input


@pytest.mark.parametrize("engine", [ExactNoise(), SimulatedNoise(1)], ids=["exact", "simulated"])
def test_words_have_53_even_bits(engine: Any) -> None:
    words = engine.words(20_000)
    assert words.dtype == np.int64
    assert words.min() >= 0
    assert words.max() < 2**53
    ones = [int((words >> bit & 1).sum()) for bit in range(53)]
    # Seven standard deviations of 20,000 fair coins: passed by chance for one of 53 bits once in 10^10.
    assert max(abs(count - 10_000) for count in ones) < 7 * math.sqrt(5_000)


def test_words_of_a_simulation_follow_its_seed() -> None:
    first, again, other = (SimulatedNoise(seed).words(8).tolist() for seed in (2, 2, 3))
    assert first == again != other
    assert ExactNoise().words(8).tolist() != ExactNoise().words(8).tolist()


def test_what_cannot_be_drawn_is_refused_before_any_charge() -> None:
    with pytest.raises(BadInput, match=r"^method: 'best' is unknown"):
        IntervalCost(1.0, "best")  # type: ignore[arg-type]
    source = SimulatedSource(np.zeros(64, dtype=int), seed=0)
    for epsilon in (Fraction(64, ROUNDING), Fraction(128, ROUNDING)):
        budget = source.grant(epsilon)
        with pytest.raises(BadInput, match=r"^epsilon: "):
            source.partition(IntervalCost(1.0, "exponential"), budget)
    assert source.unspent == Fraction(192, ROUNDING)


def test_a_failed_draw_has_been_charged() -> None:
    source = SimulatedSource([1, 2, 3], seed=0)

    def fail(size: int) -> np.ndarray:
        raise RuntimeError

    source._Source__custody.noise.words = fail  # type: ignore[attr-defined]
    with pytest.raises(RuntimeError):
        source.partition(IntervalCost(1.0, "exponential"), source.grant(1))
    assert source.unspent == 0


def test_cheap_cuts_are_found_where_there_is_enough_budget() -> None:
    x = np.repeat([5, 900, 20], [64, 32, 32])
    source = SimulatedSource(x, seed=4)
    labels = source.partition(IntervalCost(2.0, "exponential"), source.grant(50)).labels
    for begin, end in itertools.pairwise([0, 64, 96, 128]):
        assert np.unique(labels[begin:end]).size <= 3
    assert labels[64] > labels[63]
    assert labels[96] > labels[95]
