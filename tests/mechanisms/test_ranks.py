"""Medians and quantiles: exact probabilities on small domains for all neighbours, and answers near the true ranks."""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest

from jostle import mechanisms
from jostle.kernel.budget import CountingPurse
from jostle.kernel.errors import BadInput
from jostle.kernel.neighbours import Neighbours
from jostle.mechanisms import ranks
from jostle.mechanisms.ranks import pieces, reach
from jostle.mechanisms.sampling import ROUNDING, SMALLEST_EPSILON, exponential_scale, exponential_weights
from tests.kernel.helpers import RELATIONS
from tests.mechanisms.helpers import exact_shares, loss

CELLS = 7
DATA = [
    np.array(sorted(data), dtype=np.int64)
    for size in range(4)
    for data in itertools.product(range(0, CELLS, 2), repeat=size)
]


def chances(ranked, level, neighbours, epsilon=1):
    """The exact probability of every cell."""
    starts, lengths, gaps = pieces(ranked, level, 0, CELLS)
    shares = exact_shares(exponential_weights(gaps, exponential_scale(reach(level, neighbours), Fraction(epsilon)), lengths))
    found = [Fraction(0)] * CELLS
    for start, length, share in zip(starts, lengths, shares, strict=True):
        for cell in range(start, start + length):
            found[cell] += share / int(length)
    return found


@pytest.mark.parametrize("level", [Fraction(1, 2), Fraction(1, 4), Fraction(9, 10)])
def test_a_record_more_or_less_loses_at_most_epsilon(level):
    worst = 0.0
    for data in DATA:
        for value in range(CELLS):
            other = np.sort(np.append(data, value))
            worst = max(worst, loss(chances(data, level, Neighbours()), chances(other, level, Neighbours())))
    assert 0.5 < worst <= 1


@pytest.mark.parametrize("level", [Fraction(1, 2), Fraction(1, 4), Fraction(9, 10)])
def test_a_replaced_record_loses_at_most_epsilon(level):
    relation, worst = Neighbours("replace"), 0.0
    for data in DATA:
        for index, value in itertools.product(range(data.size), range(CELLS)):
            other = np.sort(np.append(np.delete(data, index), value))
            worst = max(worst, loss(chances(data, level, relation), chances(other, level, relation)))
    assert 0.3 < worst <= 1


def test_a_record_that_leaves_a_part_loses_at_most_half_there():
    """It enters another part, which loses the other half."""
    relation = Neighbours("replace", part=True)
    for data in DATA:
        for value in range(CELLS):
            other = np.sort(np.append(data, value))
            assert loss(chances(data, Fraction(1, 3), relation), chances(other, Fraction(1, 3), relation)) <= 0.5


class Scripted(ranks.QuantileSearch):
    """The search itself, which answers as it is told, and keeps the exact probability of that."""

    def __init__(self, budget, depth, script):
        super().__init__(budget, depth, noise=None)
        self.script, self.chance, self.open = list(script), Fraction(1), None

    def draw(self, ranked, level, start, stop, neighbours):
        if not self.script:
            self.open = range(start, stop)
            raise LookupError
        cell = self.script.pop(0)
        starts, lengths, weights = self.weighed(ranked, level, start, stop, neighbours)
        for first, length, share in zip(starts, lengths.tolist(), exact_shares(weights), strict=True):
            if first <= cell < first + length:
                self.chance *= share / length
        return cell


@functools.cache
def together(data, levels, neighbours, epsilon, cells=4):
    """The exact probability of every list of quantiles: all paths of the recursive search."""
    budget, found, paths = CountingPurse(neighbours).grant(epsilon), Counter(), [()]
    while paths:
        path = paths.pop()
        search = Scripted(budget, len(levels).bit_length(), path)
        try:
            search.find(np.array(sorted(data), dtype=np.int64), list(levels), 0, cells, neighbours)
        except LookupError:
            paths += [(*path, cell) for cell in search.open]
        else:
            found[tuple(search.found)] += search.chance
    return [found[key] for key in sorted(found)]


@pytest.mark.parametrize("levels", [(Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)), (Fraction(1, 3), Fraction(9, 10))])
def test_several_quantiles_together_lose_at_most_epsilon(levels):
    single, double = Neighbours("replace"), Neighbours("replace", rows=2)
    added = replaced = several = 0.0
    for data in itertools.chain(*(itertools.combinations_with_replacement(range(4), size) for size in range(3))):
        assert sum(together(data, levels, Neighbours(), 6)) == 1
        for value in range(4):
            more = tuple(sorted((*data, value)))
            added = max(added, loss(together(data, levels, Neighbours(), 6), together(more, levels, Neighbours(), 6)))
            for other in ((), (0,), (1,), (2,), (3,)):  # nothing: a NaN, which is left out
                changed = tuple(sorted((*data, *other)))
                replaced = max(replaced, loss(together(more, levels, single, 6), together(changed, levels, single, 6)))
                twice = tuple(sorted((*data, *other, *other)))
                several = max(several, loss(together(data, levels, double, 6), together(twice, levels, double, 6)))
    assert 2 < added <= 6
    assert 1 < replaced <= 6
    assert several <= 6


def test_inner_rounds_know_that_a_replaced_record_may_leave_them():
    """One replaced record is one less in this part and one more in that: each may lose half of a round's share."""
    seen = []

    class Watched(Scripted):
        def weighed(self, ranked, level, start, stop, neighbours):
            seen.append(neighbours.part)
            return super().weighed(ranked, level, start, stop, neighbours)

    levels = [Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)]
    budget = CountingPurse(Neighbours("replace")).grant(1)
    Watched(budget, 2, [1, 0, 3]).find(np.array([0, 1, 2, 3]), levels, 0, 4, budget.neighbours)
    assert seen == [False, True, True]


@pytest.mark.parametrize("count", range(1, 18))
def test_epsilon_is_shared_among_as_many_rounds_as_there_are(count, monkeypatch):
    rounds = []

    class Deep(ranks.QuantileSearch):
        level = 0

        def find(self, ranked, levels, *rest):
            self.level += bool(levels)
            rounds.append((self.level, self.depth))
            super().find(ranked, levels, *rest)
            self.level -= bool(levels)

    monkeypatch.setattr(ranks, "QuantileSearch", Deep)
    levels = [Fraction(k + 1, count + 1) for k in range(count)]
    mechanisms.quantiles(np.arange(100), levels, bounds=(0, 99), budget=mechanisms.simulation(seed=0).grant(1))
    assert max(level for level, _ in rounds) == rounds[0][1]


def test_a_large_epsilon_finds_the_median():
    """Weights are capped at exp(−256), and the unit of ranks is coarse: the cap must not fall on 0."""
    for epsilon in (500, 513, 10**6):
        budget = mechanisms.simulation(seed=0).grant(epsilon)
        assert mechanisms.median(np.arange(1001), bounds=(0, 10_000), step=1, budget=budget) == 500


@pytest.mark.parametrize("neighbours", RELATIONS, ids=str)
def test_quantiles_are_near_their_ranks(neighbours):
    values = np.random.default_rng(0).normal(50, 15, 20_000)
    purse = mechanisms.simulation(seed=1, neighbours=neighbours)
    levels = ("0.05", "0.25", "0.5", "0.75", "0.95")
    found = mechanisms.quantiles(values, levels, bounds=(-1000, 1000), budget=purse.grant(1))
    ranks = (values[:, None] <= found).mean(axis=0)
    assert ranks == pytest.approx(np.array(levels, dtype=float), abs=0.03)
    assert (np.diff(found) >= 0).all()


def test_an_exact_release(account):
    values = np.random.default_rng(0).integers(18, 91, 5_000)
    found = mechanisms.quantiles(values, (0.25, 0.5, 0.75), bounds=(0, 120), step=1, budget=account.grant(1))
    assert found == pytest.approx(np.quantile(values, (0.25, 0.5, 0.75)), abs=3)
    assert (found == np.round(found)).all()
    assert account.spent == 1


def test_equal_values_are_found():
    for seed in range(10):
        values = np.full(500, 37.0)
        found = mechanisms.quantiles(
            values, (0.1, 0.5, 0.9), bounds=(0, 100), step=1, budget=mechanisms.simulation(seed=seed).grant(1)
        )
        assert found.tolist() == [37, 37, 37]


def test_the_ends_of_the_bounds_can_be_answered():
    for end in (0.0, 100.0):
        values = np.full(1000, end)
        assert mechanisms.median(values, bounds=(0, 100), step=1, budget=mechanisms.simulation(seed=0).grant(1)) == end


@pytest.mark.parametrize("values", [[], [np.nan], [None, np.inf, -np.inf], [3.0]])
@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_few_or_no_values_are_no_trouble(values, neighbours, account):
    purse = mechanisms.simulation(seed=0, neighbours=neighbours)
    for grant in (account.grant, purse.grant):
        found = mechanisms.quantiles(np.array(values, dtype=object), (0.2, 0.4, 0.6), bounds=(-5, 5), budget=grant(1))
        assert ((found >= -5) & (found <= 5)).all()
        assert (np.diff(found) >= 0).all()


def test_missing_values_are_left_out():
    values = np.concatenate([np.arange(1001.0), np.full(3000, np.nan)])
    assert mechanisms.median(values, bounds=(0, 1000), budget=mechanisms.simulation(seed=0).grant(1)) == pytest.approx(
        500, abs=60
    )


def test_many_quantiles_cost_the_logarithm():
    """All at once are about as good as each alone with a quarter of ε, where an even split would leave a ninth."""
    values, levels = np.arange(10_000.0), [Fraction(k, 10) for k in range(1, 10)]
    off = []
    for seed in range(30):
        found = mechanisms.quantiles(
            values, levels, bounds=(0, 10_000), budget=mechanisms.simulation(seed=seed).grant("0.1")
        )
        off.append(np.abs(found - [1000 * k for k in range(1, 10)]).mean())
    single = [
        abs(mechanisms.median(values, bounds=(0, 10_000), budget=mechanisms.simulation(seed=seed).grant("0.1")) - 5000) * 9
        for seed in range(30)
    ]
    assert np.mean(off) < np.mean(single)


def test_a_median_by_laplace_noise_is_far_worse():
    values, bounds = np.random.default_rng(0).normal(500, 50, 1000), (0, 10_000)
    by_rank = [
        mechanisms.median(values, bounds=bounds, budget=mechanisms.simulation(seed=seed).grant(1)) - np.median(values)
        for seed in range(50)
    ]
    by_value = mechanisms.utility.laplace_error(1, sensitivity=10_000, confidence=0.5)
    assert np.median(np.abs(by_rank)) < by_value / 1000


@pytest.mark.parametrize(
    ("neighbours", "parts"),
    [(Neighbours(), 1), (Neighbours("add_remove", 7), 7), (Neighbours("replace"), 2), (Neighbours("replace", 7), 14)],
)
def test_a_person_in_several_parts_keeps_more_back_for_rounding(neighbours: Neighbours, parts: int) -> None:
    """The weights of every part that a person's records are in are rounded, so each may lose 2^-40 more."""
    level, share = Fraction(1, 2), Fraction(1, 2)
    inner = neighbours.in_part()
    assert ranks._scale(level, inner, Fraction(1), 2) == reach(level, inner) / (share - parts * ROUNDING)
    with pytest.raises(BadInput, match="too small for this many rows per person"):
        exponential_scale(Fraction(2), SMALLEST_EPSILON, 2**19)
