"""Partitions, the costs of intervals, the cheapest cut, and the exact privacy loss of its noisy choice.

The losses are computed, not sampled: for every output and neighbouring inputs on tiny domains, the probability is summed
over all values of the noise, up to where less than 10⁻⁹ of it lies beyond.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from jostle.kernel.arguments import LARGEST_TOTAL
from jostle.kernel.errors import BadInput, PlanError
from jostle.kernel.functions.intervals import cheapest_cut, deviations, lengths
from jostle.kernel.functions.statistics import PRICE_UNIT
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.partition import Partition
from jostle.kernel.source import IntervalCost, SimulatedSource
from tests.kernel.helpers import RELATIONS, fits, one_changed, one_more, recorded, small_vectors

# ------------------------------------------------------------------------------------------------------ partitions


@given(st.lists(st.integers(0, 5), min_size=1, max_size=30), st.integers(0, 2**32))
def test_a_partition_adds_up_and_spreads_by_group(raw: list[int], seed: int) -> None:
    labels = np.unique(raw, return_inverse=True)[1]
    partition = Partition.of(labels)
    x = np.random.default_rng(seed).integers(0, 100, size=(3, labels.size))
    assert partition.sizes.tolist() == [int((labels == g).sum()) for g in range(partition.groups)]
    for group in range(partition.groups):
        inside = np.flatnonzero(labels == group)
        assert partition.cells(group).tolist() == inside.tolist()
        assert (partition.sums(x)[:, group] == x[:, inside].sum(axis=1)).all()
    spread = partition.spread(partition.sums(x).astype(float))
    assert np.allclose(partition.sums(spread), partition.sums(x))
    assert all(np.ptp(spread[:, labels == g], axis=1).max() == 0 for g in range(partition.groups))


@given(st.integers(1, 12), st.integers(1, 12), st.data())
def test_a_grid_cuts_each_axis_into_nearly_equal_intervals(rows: int, columns: int, data: st.DataObject) -> None:
    cells = data.draw(st.integers(1, rows)), data.draw(st.integers(1, columns))
    partition = Partition.grid((rows, columns), cells)
    assert partition.shape == cells
    labels = partition.labels.reshape(rows, columns)
    down, across = np.bincount(labels[:, 0] // cells[1]), np.bincount(labels[0] % cells[1])
    assert np.ptp(down) <= 1
    assert np.ptp(across) <= 1
    assert (partition.sizes == np.outer(down, across).reshape(-1)).all()


@given(st.integers(1, 40), st.data())
def test_intervals_begin_where_they_should(size: int, data: st.DataObject) -> None:
    starts = sorted({0, *data.draw(st.lists(st.integers(0, size - 1), max_size=6))})
    partition = Partition.intervals(starts, size)
    assert [int(partition.cells(g)[0]) for g in range(partition.groups)] == starts
    assert (np.diff(partition.labels) >= 0).all()


@pytest.mark.parametrize("bad", [[], [0, 2], [-1, 0], [[0, 1]], [1, 1]])
def test_bad_labels_are_refused(bad: list[Any]) -> None:
    with pytest.raises(BadInput, match=r"^labels: "):
        Partition.of(bad)


def test_labels_beyond_the_shape_are_refused() -> None:
    with pytest.raises(BadInput, match="every group from 0 to 1"):
        Partition(np.array([0, 10**15]), (2,))  # and no table of so many groups is made
    with pytest.raises(BadInput, match="every group from 0 to 1"):
        Partition(np.array([0, 1, 2]), (2,))
    with pytest.raises(BadInput, match="every group from 0 to 3"):
        Partition(np.array([0, 1, 2]), (2, 2))


@pytest.mark.parametrize("bad", [[], [1], [0, 0], [0, 4], [0, 3, 2]])
def test_bad_starts_are_refused(bad: list[int]) -> None:
    with pytest.raises(BadInput, match=r"^starts: "):
        Partition.intervals(bad, 4)


@pytest.mark.parametrize("bad", [(0, 1), (3, 1), (1,), (1, 1, 1)])
def test_bad_grids_are_refused(bad: tuple[int, ...]) -> None:
    with pytest.raises(BadInput, match=r"^cells: "):
        Partition.grid((2, 2), bad)


def test_a_partition_neither_changes_with_the_callers_array_nor_locks_it() -> None:
    mine = np.array([0, 0, 1], dtype=np.int64)
    partition = Partition.of(mine)
    mine[2] = 0
    assert partition.labels.tolist() == [0, 0, 1]
    with pytest.raises(ValueError, match="read-only"):
        partition.labels[0] = 1


# ------------------------------------------------------------------------------------------- deviations and cuts


def by_hand(x: np.ndarray) -> np.ndarray:
    """The sum of distances from the median, interval by interval."""
    table = np.full((x.size.bit_length(), x.size), -1, dtype=np.int64)
    for level, start in np.ndindex(*table.shape):
        inside = x[start : start + 2**level].astype(object)
        if inside.size == 2**level:
            middle = sorted(inside)[inside.size // 2]
            table[level, start] = int(sum(abs(v - middle) for v in inside))
    return table


@settings(max_examples=200)
@given(st.lists(st.one_of(st.integers(0, 3), st.integers(0, LARGEST_TOTAL // 40)), min_size=1, max_size=40))
def test_deviations_are_those_from_the_median(values: list[int]) -> None:
    x = np.array(values, dtype=np.int64)
    assert (deviations(x) == by_hand(x)).all()
    assert lengths(x.size).tolist() == [2**level for level in range(deviations(x).shape[0])]


def test_the_median_has_the_least_deviation() -> None:
    for x in small_vectors(4, 3):
        assert deviations(x)[2, 0] == min(int(np.abs(x - m).sum()) for m in range(4))


def all_cuts(size: int) -> list[tuple[int, ...]]:
    """Every cut into intervals of power-of-two lengths, as levels from left to right."""
    if size == 0:
        return [()]
    return [(*rest, level) for level in range(size.bit_length()) for rest in all_cuts(size - 2**level)]


def starts_of(cut: tuple[int, ...]) -> list[int]:
    return [0, *np.cumsum([2**level for level in cut])[:-1].tolist()]


def cost_of(cut: tuple[int, ...], costs: np.ndarray) -> Any:
    return sum(costs[level, start] for level, start in zip(cut, starts_of(cut), strict=True))


@settings(max_examples=200)
@given(st.integers(1, 9), st.data())
def test_the_cheapest_cut_is_that_of_all_cuts_and_ties_go_by_a_fixed_order(size: int, data: st.DataObject) -> None:
    shape = size.bit_length(), size
    spread = data.draw(st.sampled_from([2, 1000, 2**50]))
    flat = data.draw(st.lists(st.integers(-spread, spread), min_size=math.prod(shape), max_size=math.prod(shape)))
    costs = np.array(flat, dtype=np.int64).reshape(shape)
    cost, starts = cheapest_cut(costs)
    # the order is public: by levels from the right, shorter intervals first
    least = min(all_cuts(size), key=lambda cut: (cost_of(cut, costs), cut[::-1]))
    assert cost == cost_of(least, costs)
    assert starts.tolist() == starts_of(least)


@pytest.mark.parametrize(("cells", "largest"), [(1, 4), (2, 6), (3, 3), (4, 3), (5, 2)])
def test_one_record_moves_the_deviation_of_its_own_intervals_alone_and_by_one_at_most(cells: int, largest: int) -> None:
    for x in small_vectors(cells, largest):
        before = deviations(x)
        for cell, more in enumerate(one_more(x)):
            moved = deviations(more) - before
            for level, start in np.ndindex(*moved.shape):
                inside = start <= cell < start + 2**level
                assert abs(moved[level, start]) <= (1 if inside and level > 0 else 0)


def test_deviation_from_the_mean_would_move_by_almost_two() -> None:
    """Why the median is used: the published cost moves by 2 − 2/length."""
    for size in (2, 4, 8):
        empty, one = np.zeros(size), np.eye(size)[0]
        assert np.abs(one - one.mean()).sum() - np.abs(empty).sum() == pytest.approx(2 - 2 / size)


# ------------------------------------------------------------------------------------------- the exact privacy loss


def pmf(scale: float, tail: float = 22.0) -> np.ndarray:
    """Geometric noise from 0 on; the last value has all that lies beyond."""
    most = math.ceil(tail * scale)
    mass = -np.expm1(-1 / scale) * np.exp(-np.arange(most + 1) / scale)
    mass[-1] = math.exp(-most / scale)
    return mass


def at_most(scale: float, value: int) -> float:
    """The probability of geometric noise that is not above a whole number."""
    return -math.expm1(-(value + 1) / scale) if value >= 0 else 0.0


CUTS = {
    2: [(0, 0), (1,)],
    3: [(0, 0, 0), (1, 0), (0, 1)],
    4: [(0, 0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1), (2,)],
}
"""All cuts, in the order that ties go by."""

IMPOSSIBLE = -(10**6)
Chances = dict[tuple[int, ...], float]


@njit  # type: ignore[untyped-decorator]  # numba has no types
def _sum_over_noise(weight: np.ndarray, saves: np.ndarray, noise: tuple[np.ndarray, ...], below: np.ndarray) -> np.ndarray:
    """Of single cells, the three pairs, the outer two together, and all four: how probable it is that each saves most.

    Row by row, `saves` has what the three pairs and the four cells save without their own noise. The noise of the outer
    pairs is summed over; that of the middle one and of the four cells enters by its distribution, where `below[k]` is the
    probability of less than k. Of cuts that save the same, the first has it.
    """
    found = np.zeros(6)
    first, second, third = noise
    largest = below.size - 1
    loses = np.zeros(second.size + 1)  # the middle pair has less noise than this
    wins = np.zeros(second.size + 1)  # it has at least as much, and the four cells save no more than it does
    loses[1:] = np.cumsum(second)
    for row in range(weight.size):
        for j in range(second.size - 1, -1, -1):
            room = saves[row, 1] + j - saves[row, 3] + 1
            wins[j] = wins[j + 1] + second[j] * below[min(max(room, 0), largest)]
        for i in range(first.size):
            for k in range(third.size):
                left, right = saves[row, 0] + i, saves[row, 2] + k
                best, most = 0, 0
                if left > most:
                    best, most = 1, left
                if right > most:
                    best, most = 3, right
                if left + right > most:
                    best, most = 4, left + right
                enough = most - saves[row, 1] + (1 if best < 2 else 0)  # the middle pair comes before the right one
                enough = min(max(enough, 0), second.size)
                outer = weight[row] * first[i] * third[k]
                found[best] += outer * loses[enough] * below[min(max(most - saves[row, 3] + 1, 0), largest)]
                found[2] += outer * wins[enough]
    found[5] = weight.sum() - found.sum()
    return found


def chances_of_cuts(costs: np.ndarray, single: float, longer: float) -> Chances:
    """The exact probability of every cut of two, three or four cells, from whole costs and the scales of the noise."""
    size = costs.shape[1]
    noise = pmf(single)
    grids = np.meshgrid(*[np.arange(noise.size)] * size, indexing="ij")
    mass = np.prod(np.meshgrid(*[noise] * size, indexing="ij"), axis=0).reshape(-1)
    lone = [costs[0, cell] - grids[cell].reshape(-1) for cell in range(size)]
    saves = np.full((mass.size, 4), IMPOSSIBLE)
    for pair in range(size - 1):
        saves[:, pair] = lone[pair] + lone[pair + 1] - costs[1, pair]
    if size == 4:
        saves[:, 3] = sum(lone) - costs[2, 0]
    known, where = np.unique(saves, axis=0, return_inverse=True)  # many values of the cells' noise come to the same
    weight = np.bincount(where.reshape(-1), weights=mass)
    pairs = tuple(pmf(longer) if pair < size - 1 else np.ones(1) for pair in range(3))
    found = _sum_over_noise(weight, known, pairs, -np.expm1(-np.arange(1000) / longer))
    return dict(zip(CUTS[size], found[: len(CUTS[size])].tolist(), strict=True))


def chances(x: np.ndarray, price: int, single: float, longer: float) -> Chances:
    """The exact probabilities of `partition`'s outputs, with records for units."""
    return chances_of_cuts(deviations(x) + price, single, longer)


def loss(first: Chances, second: Chances) -> float:
    """The worst log-ratio between two distributions."""
    return max(abs(math.log(first[cut] / second[cut])) for cut in first)


@pytest.mark.parametrize("x", [[0, 3], [2, 2, 0], [0, 2, 1, 1]])
def test_the_exact_probabilities_are_those_of_the_code(x: list[int]) -> None:
    rng = np.random.default_rng(5)
    data, runs = np.array(x), 20_000
    expected = chances(data, 1, 0.7, 1.4)
    assert sum(expected.values()) == pytest.approx(1, abs=1e-9)
    costs = deviations(data) + 1
    seen = dict.fromkeys(expected, 0)
    scales = np.array([0.7, 1.4, 1.4])[: costs.shape[0], None]
    for noise in np.floor(rng.standard_exponential((runs, *costs.shape)) * scales).astype(np.int64):
        starts = cheapest_cut(costs - noise)[1]
        levels = np.log2(np.diff(starts, append=data.size)).astype(int)
        seen[tuple(levels.tolist())] += 1
    assert fits(np.array(list(seen.values())), np.array(list(expected.values())) * runs)


def worst_loss(
    size: int, largest: int, price: int, move: Callable[[np.ndarray], Any], single: float, longer: float
) -> float:
    """Over all small vectors and all their neighbours."""
    known: dict[tuple[int, ...], Chances] = {}

    def chances_at(x: np.ndarray) -> Chances:
        key = tuple(x.tolist())
        if key not in known:
            known[key] = chances(x, price, single, longer)
        return known[key]

    return max(loss(chances_at(x), chances_at(other)) for x in small_vectors(size, largest) for other in move(x))


@pytest.mark.parametrize(("size", "largest", "epsilon"), [(2, 4, 0.5), (2, 4, 1.0), (3, 2, 1.5), (3, 2, 1.0), (4, 1, 2.0)])
@pytest.mark.parametrize("price", [0, 1])
def test_the_noisy_minimum_loses_at_most_epsilon(size: int, largest: int, epsilon: float, price: int) -> None:
    scales = [float(Neighbours("add_remove").sensitivity(k, 2 * k)) / epsilon for k in (1, 2)]
    assert worst_loss(size, largest, price, one_more, *scales) <= epsilon + 1e-6


@pytest.mark.parametrize(("size", "largest", "epsilon"), [(2, 4, 1.0), (3, 1, 2.0), (4, 1, 6.0)])
@pytest.mark.parametrize("price", [0, 1])
def test_the_noisy_minimum_loses_at_most_epsilon_under_replace(size: int, largest: int, epsilon: float, price: int) -> None:
    scales = [float(Neighbours("replace").sensitivity(k, 2 * k)) / epsilon for k in (1, 2)]
    assert worst_loss(size, largest, price, one_changed, *scales) <= epsilon + 1e-6


def test_the_bound_is_attained_and_half_of_either_noise_loses_twice_as_much() -> None:
    epsilon = 3.0
    assert worst_loss(3, 2, 2, one_more, 1 / epsilon, 2 / epsilon) > 0.99 * epsilon
    assert worst_loss(3, 2, 2, one_more, 1 / epsilon, 1 / epsilon) > 1.8 * epsilon  # on intervals of two and more cells
    assert worst_loss(3, 2, 2, one_more, 0.5 / epsilon, 2 / epsilon) > 1.9 * epsilon  # on single cells
    assert worst_loss(4, 1, 1, one_changed, 1 / epsilon, 2 / epsilon) > 1.7 * epsilon  # under `replace`, both


# --------------------------------------------------------------------------------------- what was published, and is wrong


def laplace_above(scale: float, value: float) -> float:
    """The probability of Laplace noise at or above a number."""
    return 0.5 * math.exp(-value / scale) if value >= 0 else 1 - 0.5 * math.exp(value / scale)


def published_chance_of_single_cells(x: np.ndarray, epsilon: float, price: float) -> float:
    """Its logarithm. Single cells win if each longer interval on its own costs more than its cells: a product over them."""
    chance = 0.0
    for level in range(1, x.size.bit_length()):
        length = 2**level
        scale = (2 - 1 / length - 1 / x.size) / epsilon
        for start in range(x.size - length + 1):
            inside = x[start : start + length]
            deviation = np.abs(inside - inside.mean()).sum()
            chance += math.log(laplace_above(scale, (length - 1) * price - deviation))
    return chance


@pytest.mark.parametrize(("size", "factor"), [(2, 1.0), (3, 1.7), (4, 2.6), (8, 6.2), (16, 13.7), (128, 124)])
def test_the_published_partition_loses_many_times_its_epsilon(size: int, factor: float) -> None:
    """Without noise on single cells: one record in the middle of an empty domain."""
    epsilon, price = 1.0, 2.0
    empty, one = np.zeros(size), np.eye(size)[size // 2]
    loss = published_chance_of_single_cells(one, epsilon, price) - published_chance_of_single_cells(empty, epsilon, price)
    assert abs(loss) == pytest.approx(factor * epsilon, rel=0.015)


@pytest.mark.parametrize("size", [4, 8, 16, 64])
def test_our_partition_would_lose_as_much_without_noise_on_single_cells(size: int) -> None:
    """The same product for the median and one-sided noise: at price 0, they win if no noise is above its deviation."""
    epsilon = 1.0

    def chance(x: np.ndarray) -> float:
        table = deviations(x)
        longer = [(level, start) for level in range(1, table.shape[0]) for start in range(size - 2**level + 1)]
        return sum(math.log(at_most(2 / epsilon, int(table[at]))) for at in longer)

    empty, one = np.zeros(size, dtype=np.int64), np.eye(size, dtype=np.int64)[size // 2]
    with_the_record = sum(min(2**level, size - 2**level + 1) for level in range(1, size.bit_length()))
    assert chance(one) - chance(empty) == pytest.approx(with_the_record * math.log1p(math.exp(-epsilon / 2)))
    assert chance(one) - chance(empty) > 1.4 * epsilon


def test_the_published_clamp_is_no_post_processing() -> None:
    """Three cells, the published noise: what it costs that noisy costs are raised to the price inside the choice."""
    epsilon, price, fine = 1.0, 0.25, 32
    scale = (2 - 1 / 2 - 1 / 3) / epsilon
    steps = np.arange(-int(30 * scale * fine), int(30 * scale * fine) + 1)
    density = np.exp(-np.abs(steps) / (scale * fine))
    density /= density.sum()

    def chance_of_the_right_pair(x: tuple[int, int, int], *, clamp: bool) -> float:
        left, right = (abs(x[i] - x[i + 1]) + price + steps / fine for i in (0, 1))
        if clamp:
            left, right = np.maximum(left, price), np.maximum(right, price)
        wins = (right < left[:, None]) & (right < 2 * price)
        return float(density @ wins @ density)

    losses = {
        clamp: math.log(chance_of_the_right_pair((3, 2, 0), clamp=clamp) / chance_of_the_right_pair((3, 3, 0), clamp=clamp))
        for clamp in (False, True)
    }
    assert losses[True] > 1.3 * epsilon
    assert losses[True] > 1.2 * losses[False]


# ---------------------------------------------------------------------------------------------------- the operator


@pytest.mark.parametrize("neighbours", RELATIONS, ids=str)
def test_the_operator_draws_noise_of_the_proven_scales(neighbours: Neighbours) -> None:
    source, recorder = recorded([1, 1, 5, 5, 0], neighbours)
    epsilon = Fraction(1, 3)
    cut = source.partition(IntervalCost(price=0.5), source.grant(epsilon))
    single, longer = (neighbours.sensitivity(k, 2 * k) * PRICE_UNIT / epsilon for k in (1, 2))
    assert recorder.asked == [("geometric", single, 5), ("geometric", longer, 5), ("geometric", longer, 5)]
    assert cut.labels.tolist() == [0, 0, 1, 1, 2]


@pytest.mark.parametrize("x", [[0, 3], [5, 5]])
def test_the_operator_is_the_mechanism_of_the_proof(x: list[int]) -> None:
    """Two cells: how often they are cut apart, against the exact probability in its own units."""
    epsilon, price, runs = 1.0, 0.5, 6_000
    source = SimulatedSource(x, seed=11)
    apart = sum(source.partition(IntervalCost(price=price), source.grant(epsilon)).groups == 2 for _ in range(runs))
    single, longer = PRICE_UNIT / epsilon, 2 * PRICE_UNIT / epsilon
    both = np.arange(60 * PRICE_UNIT)  # the noise of the two cells together
    mass = (both + 1) * np.expm1(-1 / single) ** 2 * np.exp(-both / single)
    saves = round(price * PRICE_UNIT) - abs(x[0] - x[1]) * PRICE_UNIT
    expected = float(mass @ [at_most(longer, int(noise) - saves) for noise in both])
    assert fits(np.array([apart, runs - apart]), runs * np.array([expected, 1 - expected]))


def test_the_operator_cuts_lines_alone() -> None:
    source = SimulatedSource([[1, 2], [3, 4]], seed=0)
    with pytest.raises(PlanError, match="cuts a line of cells"):
        source.partition(IntervalCost(price=1), source.grant(1))
    assert source.unspent == 1


@pytest.mark.parametrize("bad", [-1, math.nan, math.inf, "2", None, 2**40])
def test_a_bad_price_is_refused(bad: Any) -> None:
    with pytest.raises(BadInput, match=r"^price: "):
        IntervalCost(price=bad)


def test_a_price_or_an_epsilon_that_could_overflow_is_refused_before_any_charge() -> None:
    source = SimulatedSource(np.ones(1024, dtype=int), seed=0)
    enough, tiny = source.grant(1), source.grant(Fraction(1, 2**40))
    with pytest.raises(BadInput, match=r"^price: "):
        source.partition(IntervalCost(price=2.0**31), enough)
    with pytest.raises(BadInput, match=r"^epsilon: "):
        source.partition(IntervalCost(price=1), tiny)
    with pytest.raises(PlanError, match="is no cost of the kernel"):
        source.partition(2.0, enough)  # type: ignore[arg-type]
    assert source.unspent == enough.epsilon + tiny.epsilon


def test_sums_of_the_largest_costs_and_noise_stay_within_64_bits() -> None:
    """At the limits that the operator sets: all prices, all deviations, and a thousand times the scale on every cell."""
    most = 2**40 * PRICE_UNIT + LARGEST_TOTAL * PRICE_UNIT + 1000 * 2**52
    assert most < 2**63


def test_every_cut_has_exactly_one_interval_with_the_record() -> None:
    """What the proof rests on."""
    for size in range(1, 9):
        for cut, cell in itertools.product(all_cuts(size), range(size)):
            covers = [start <= cell < start + 2**level for level, start in zip(cut, starts_of(cut), strict=True)]
            assert sum(covers) == 1
