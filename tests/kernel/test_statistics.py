"""Every lemma, on all neighbours of all small vectors, and on random and adversarial large ones."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jostle.kernel.arguments import LARGEST_TOTAL
from jostle.kernel.errors import BadInput, PlanError
from jostle.kernel.functions.expressions import LATTICE
from jostle.kernel.functions.scores import QueryDistance, QueryScore, Score
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
from jostle.kernel.partition import Partition
from jostle.kernel.strategies import Strategy, boxes, hierarchy, identity, matrix, prefix, stack, total, wavelet
from tests.kernel.helpers import (
    all_statistics,
    all_strategies,
    furthest,
    group_deviation,
    one_changed,
    one_more,
    small_vectors,
)

GROUPS = {
    1: [[0]],
    2: [[0, 0], [0, 1]],
    3: [[0, 1, 1], [0, 1, 2]],
    4: [[0, 1, 0, 1], [0, 1, 2, 2], [0, 1, 2, 3]],
    5: [[0, 0, 1, 1, 2]],
}


def statistics_over(cells: int) -> list[Statistic]:
    """Every statistic over so few cells, with several groupings and prices."""
    partitions = [Partition.of(labels) for labels in GROUPS[cells]]
    return [
        Scale(),
        NonZeroCells(),
        LargestCell(),
        TotalVariation(),
        *(group_deviation(partition) for partition in partitions),
        *(group_deviation(partition, ddof=1) for partition in partitions if partition.groups > 1),
        *(PartitionCost(price=price) for price in (0.0, 0.3, 1.0, 2.5)),
    ]


SEARCHED = [(1, 5), (2, 6), (3, 4), (4, 2), (5, 1)]


@pytest.mark.parametrize(("cells", "largest"), SEARCHED)
def test_no_neighbour_of_a_small_vector_moves_a_statistic_further_than_its_lemma(cells: int, largest: int) -> None:
    for statistic in statistics_over(cells):
        statistic.check(cells)
        added, changed = furthest(statistic, cells, largest)
        assert added <= statistic.sensitivities(cells)[0], statistic
        assert changed <= statistic.sensitivities(cells)[1], statistic


@pytest.mark.parametrize("size", [1, 2, 7, 1024])
def test_the_derived_lemmas_are_those_of_the_proofs(size: int) -> None:
    several = size > 1
    assert Scale().sensitivities(size) == (1, 0)
    assert NonZeroCells().sensitivities(size) == LargestCell().sensitivities(size) == (1, int(several))
    assert TotalVariation().sensitivities(size) == (size - 1, size * several)
    assert TotalVariation().unit(size) == size


def test_over_very_many_cells_a_value_is_rounded_down_to_fit_in_64_bits() -> None:
    size = 2**21 + 3
    unit, (once, replaced) = TotalVariation().unit(size), TotalVariation().sensitivities(size)
    assert (unit, once, replaced) == (2**21, 2**21, 2**21)
    full = np.zeros(size, dtype=np.int64)
    full[0] = LARGEST_TOTAL
    exact = LARGEST_TOTAL * (1 - Fraction(1, size))
    assert 0 <= exact * unit - TotalVariation().value(full) < 1


@pytest.mark.parametrize("cells", [2, 3, 4, 5])
@pytest.mark.parametrize("statistic", [Scale(), NonZeroCells(), LargestCell(), TotalVariation()], ids=lambda s: s.name)
def test_these_lemmas_are_attained(statistic: Statistic, cells: int) -> None:
    added, changed = furthest(statistic, cells, dict(SEARCHED)[cells])
    once, replaced = statistic.sensitivities(cells)
    assert added == once
    # a replaced record moves what is above the mean by a whole record only if both its cells stay on their sides
    assert changed == replaced
    assert Fraction(once, statistic.unit(cells)) == (1 - Fraction(1, cells) if isinstance(statistic, TotalVariation) else 1)


@pytest.mark.parametrize("k", [2, 3, 4, 7])
@pytest.mark.parametrize("ddof", [0, 1])
def test_the_deviation_of_groups_comes_near_its_lemma(k: int, ddof: int) -> None:
    """From equal groups one record moves it as far as it can; a large group that moves away does so, too."""
    statistic = group_deviation(Partition.of(np.arange(k)), ddof)
    once, replaced = statistic.sensitivities(k)
    even, one, moved = np.full(k, 5), np.full(k, 5), np.full(k, 5)
    one[0] += 1
    moved[0] += 1
    moved[1] -= 1
    assert statistic.value(even) == 0
    assert once - 2 <= statistic.value(one) <= once
    assert replaced - 2 <= statistic.value(moved) <= replaced
    assert once / LATTICE == pytest.approx(1 / math.sqrt(k) if ddof else math.sqrt(k - 1) / k, abs=2 / LATTICE)
    assert replaced / LATTICE == pytest.approx(math.sqrt(2 / (k - ddof)), abs=2 / LATTICE)


def test_the_partition_cost_attains_its_lemma() -> None:
    flat, one = np.array([2, 2]), np.array([3, 2])
    apart, moved = np.array([4, 0]), np.array([3, 1])
    cost = PartitionCost(price=10)
    assert cost.value(one) - cost.value(flat) == cost.sensitivities(2)[0] == PRICE_UNIT
    assert cost.value(apart) - cost.value(moved) == cost.sensitivities(2)[1] == 2 * PRICE_UNIT


def test_one_cell_has_nothing_to_be_replaced_by() -> None:
    for statistic in statistics_over(1):
        assert statistic.sensitivities(1)[1] == 0, statistic


# --------------------------------------------------------------------------------------------- large vectors


def adversarial(size: int) -> list[np.ndarray]:
    """Empty, even, steep, two-valued, one full cell, one less than even; and the largest total in one cell."""
    ramp = np.arange(size, dtype=np.int64)
    one = np.zeros(size, dtype=np.int64)
    one[-1] = LARGEST_TOTAL - 1
    uneven = np.full(size, 1000, dtype=np.int64)
    uneven[0] -= 1
    return [np.zeros(size, dtype=np.int64), np.full(size, 7, dtype=np.int64), ramp**3, ramp % 2 * 10**6, one, uneven]


@pytest.mark.parametrize("size", [8, 33])
def test_no_neighbour_of_an_adversarial_vector_moves_a_statistic_further(size: int) -> None:
    rng = np.random.default_rng(3)
    for statistic, x in itertools.product(all_statistics(size), adversarial(size)):
        here, (once, changed) = statistic.value(x), statistic.sensitivities(size)
        for more in one_more(x):
            assert abs(statistic.value(more) - here) <= once, statistic
        others = list(one_changed(x))
        for index in rng.permutation(len(others))[:40]:
            assert abs(statistic.value(others[index]) - here) <= changed, statistic


@settings(max_examples=150)
@given(st.lists(st.integers(0, 40) | st.integers(0, 10**9), min_size=8, max_size=8), st.integers(0, 7), st.integers(0, 7))
def test_no_random_neighbour_moves_a_statistic_further(counts: list[int], gains: int, loses: int) -> None:
    x = np.array(counts, dtype=np.int64)
    more, moved = x.copy(), x.copy()
    more[gains] += 1
    moved[gains] += 1
    moved[loses] -= 1
    for statistic in all_statistics():
        here, (once, changed) = statistic.value(x), statistic.sensitivities(8)
        assert abs(statistic.value(more) - here) <= once, statistic
        if moved.min() >= 0:
            assert abs(statistic.value(moved) - here) <= changed, statistic


# ----------------------------------------------------------------------------------------------------- exact values


def plainly(statistic: Statistic, x: np.ndarray) -> float:
    """The textbook's formula in floating point."""
    if isinstance(statistic, TotalVariation):
        return float(np.abs(x - x.mean()).sum() / 2)
    if isinstance(statistic, Derived):
        return float(np.std(Partition.of(np.arange(8) % 3).sums(x), ddof=int(statistic.name[-1])))
    if isinstance(statistic, PartitionCost):
        return cheapest(x, statistic.price)
    simple = {Scale: np.sum, NonZeroCells: np.count_nonzero, LargestCell: np.max}
    return float(simple[type(statistic)](x))


def cheapest(x: np.ndarray, price: float) -> float:
    """The cheapest cut into intervals of power-of-two lengths, from left to right."""
    best = [0.0]
    for end in range(1, x.size + 1):
        ways = [x[end - 2**k : end] for k in range(end.bit_length())]
        best.append(min(best[end - w.size] + float(np.abs(w - np.median(w)).sum()) + price for w in ways))
    return best[-1]


@given(st.lists(st.integers(0, 10**6), min_size=8, max_size=8))
def test_values_are_those_of_a_plain_computation(counts: list[int]) -> None:
    x = np.array(counts, dtype=np.int64)
    for statistic in all_statistics():
        value = statistic.value(x)
        assert type(value) is int
        assert value / statistic.unit(8) == pytest.approx(plainly(statistic, x), abs=1e-5), statistic


@given(st.lists(st.integers(0, 2**30), min_size=3, max_size=3))
def test_total_variation_and_group_deviation_are_exact(counts: list[int]) -> None:
    x = np.array(counts, dtype=np.int64)
    mean = Fraction(sum(counts), 3)
    assert TotalVariation().value(x) == 3 * sum(abs(c - mean) for c in counts) / 2
    square = sum((c - mean) ** 2 for c in counts) / 3
    value = group_deviation(Partition.of([0, 1, 2])).value(x)
    assert value**2 <= square * LATTICE**2 < (value + 1) ** 2  # rounded down on the lattice, exactly


def test_every_value_and_lemma_fits_in_64_bits_on_the_largest_data() -> None:
    for size in (2, 1024):
        for statistic in all_statistics(size) if size > 3 else statistics_over(size):
            statistic.check(size)
            for x in adversarial(size)[-2:]:
                assert abs(statistic.value(x)) < 2**62
            assert {type(move) for move in statistic.sensitivities(size)} == {int}
            assert type(statistic.unit(size)) is int


def test_domains_over_which_a_value_could_overflow_are_refused() -> None:
    PartitionCost(price=2.0**20).check(2**19)
    with pytest.raises(BadInput, match=r"^price: "):
        PartitionCost(price=2.0**20).check(2**20)


@pytest.mark.parametrize("bad", [-1.0, math.nan, math.inf, "2", None, 2.0**40])
def test_a_bad_price_is_refused(bad: Any) -> None:
    with pytest.raises(BadInput, match=r"^price: "):
        PartitionCost(price=bad)


def test_groups_of_another_domain_are_refused() -> None:
    with pytest.raises(BadInput, match=r"^expression: is over 2 cells, not 3"):
        group_deviation(Partition.of([0, 1])).check(3)


# ------------------------------------------------------------------------------------------------------------ scores


def scores_over(size: int) -> list[tuple[Score, int]]:
    """Every kind of score with every kind of strategy, and the number of candidates."""
    signed = matrix([[1, -1] * (size // 2) + [0] * (size % 2), [-2] * size])
    kinds: list[Strategy] = [identity(size), prefix(size), total(size), wavelet(size), hierarchy(size, 2), signed]
    kinds.append(stack(identity(size), wavelet(size), weights=[1, 3]))
    kinds.append(boxes(size, [[0], [0]], [[1], [size]]))
    found: list[tuple[Score, int]] = []
    for queries in kinds:
        estimates = np.linspace(-1.3, 2.7, queries.rows)
        found += [(QueryScore(queries), queries.rows), (QueryDistance(queries, estimates, grain=16), queries.rows)]
    return found


def apart(first: np.ndarray, second: np.ndarray) -> int:
    """How far two candidates' scores move apart at most."""
    moved = second - first
    return int(moved.max() - moved.min()) if moved.size > 1 else int(abs(moved[0]))


@pytest.mark.parametrize(("cells", "largest"), [(2, 4), (3, 2), (4, 1)])
def test_no_neighbour_moves_two_scores_further_apart_than_the_range(cells: int, largest: int) -> None:
    for score, candidates in scores_over(cells):
        score.check(cells, candidates)
        once, changed = score.sensitivities()
        assert {type(once), type(changed)} == {int}
        for x in small_vectors(cells, largest):
            here = score.values(x)
            assert here.shape == (candidates,)
            assert here.dtype == np.int64
            assert all(apart(here, score.values(other)) <= once for other in one_more(x))
            assert all(apart(here, score.values(other)) <= changed for other in one_changed(x))


def test_the_ranges_are_attained() -> None:
    x, queries = np.array([1, 2, 3]), identity(3)
    plain = QueryScore(queries)
    far = QueryDistance(queries, np.zeros(3), grain=1)
    more, moved = x + np.array([1, 0, 0]), x + np.array([1, -1, 0])
    assert apart(plain.values(x), plain.values(more)) == plain.sensitivities()[0] == 1
    assert apart(plain.values(x), plain.values(moved)) == plain.sensitivities()[1] == 2
    both = matrix([[1, 0], [1, 1]])
    pulled = QueryDistance(both, np.array([9.0, 0.0]), grain=1)  # one estimate above its count, one below
    assert apart(pulled.values(np.array([1, 2])), pulled.values(np.array([2, 2]))) == pulled.sensitivities()[0] == 2
    assert apart(far.values(x), far.values(moved)) == far.sensitivities()[1] == 2


@given(st.lists(st.floats(-1e6, 1e6), min_size=4, max_size=4), st.lists(st.integers(0, 10**6), min_size=4, max_size=4))
def test_distances_are_those_of_a_plain_computation(estimates: list[float], counts: list[int]) -> None:
    score = QueryDistance(prefix(4), np.array(estimates))
    plain = np.abs(np.cumsum(counts) - estimates)
    assert np.allclose(score.values(np.array(counts)) / score.grain, plain, atol=1 / score.grain)


@pytest.mark.parametrize("grain", [0, -1, 0.5, 2**21, None, "8"])
def test_a_bad_grain_is_refused(grain: Any) -> None:
    with pytest.raises(BadInput, match=r"^grain: "):
        QueryDistance(identity(2), np.zeros(2), grain=grain)


@pytest.mark.parametrize("bad", [np.zeros(3), np.zeros((2, 1)), np.array([np.nan, 0]), np.array([np.inf, 0])])
def test_bad_estimates_are_refused(bad: np.ndarray) -> None:
    with pytest.raises(BadInput, match=r"^estimates: "):
        QueryDistance(identity(2), bad).check(2, 2)


@pytest.mark.parametrize("sign", [1, -1])
def test_scores_that_could_overflow_are_refused(sign: int) -> None:
    with pytest.raises(PlanError, match="too large or too fine"):
        QueryScore(matrix([[sign * 2**22, 0]])).check(2, 1)
    with pytest.raises(BadInput, match=r"^estimates: are too large"):
        QueryDistance(matrix([[sign * 2**12, 0]]), np.zeros(1)).check(2, 1)
    with pytest.raises(BadInput, match=r"^estimates: are too large"):
        QueryDistance(identity(2), np.array([sign * 1e16, 0])).check(2, 2)


def test_scores_on_the_largest_data_are_exact() -> None:
    x = np.array([LARGEST_TOTAL - 5, 5])
    steep = matrix([[-(2**21), 2**21], [2**21, 0]])
    QueryScore(steep).check(2, 2)
    assert QueryScore(steep).values(x).tolist() == [2**21 * (10 - LARGEST_TOTAL), 2**21 * (LARGEST_TOTAL - 5)]
    far = QueryDistance(matrix([[-(2**11), 0]]), np.array([2.0**51]))
    far.check(2, 1)
    assert far.values(x).tolist() == [2**21 * (LARGEST_TOTAL - 5) + 2**61]


def test_scores_take_strategies_of_the_kernel_that_fit() -> None:
    with pytest.raises(PlanError, match="no strategy of the kernel"):
        QueryScore(object()).check(2, 2)  # type: ignore[arg-type]
    with pytest.raises(BadInput, match=r"^queries: have 3 rows over 3 cells, not 2 over 3"):
        QueryScore(identity(3)).check(3, 2)
    with pytest.raises(BadInput, match=r"^queries: "):
        QueryScore(identity(3)).check(4, 3)


def test_names_tell_public_facts_alone() -> None:
    names = [statistic.name for statistic in all_statistics()]
    assert names == [
        "Scale",
        "NonZeroCells",
        "LargestCell",
        "TotalVariation",
        "deviation of groups, ddof 0",
        "deviation of groups, ddof 1",
        "PartitionCost",
    ]
    assert len(all_strategies()) == 14
    assert QueryScore(identity(2)).name == "QueryScore"
