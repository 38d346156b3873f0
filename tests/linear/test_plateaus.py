"""Chains of levels against brute force over all paths, and what seeing plateaus is worth."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jostle.linear.shrinkage import plateaus
from jostle.linear.shrinkage.bayes import Opinion, average, smooth
from jostle.linear.shrinkage.priors import CountPrior, left_out


def posterior_by_paths(noisy, scale, first, number, place, prior, moves, near):
    """Means, densities of each cell given the others, and expected moves, by adding up every path of levels."""
    n = noisy.size
    windows = [range(first[t], first[t] + number[t]) for t in range(n)]
    even = (1 - near) / (1 + near)
    total, sums, without, moved = 0.0, np.zeros(n), np.zeros(n), np.zeros(3)
    for path in product(*windows):
        chance, kinds = prior[place[0] + path[0] - first[0]], []
        for t in range(1, n):
            drawn = moves[2] * prior[place[t] + path[t] - first[t]]
            near_by = moves[1] * even * near ** abs(path[t] - path[t - 1])
            same = moves[0] * (path[t] == path[t - 1])
            chance *= drawn + near_by + same
            kinds.append(np.array([same, near_by, drawn]) / (drawn + near_by + same))
        likely = np.exp(-np.abs(noisy - np.array(path)) / scale)
        total += chance * likely.prod()
        sums += chance * likely.prod() * np.array(path)
        without += chance * np.array([np.delete(likely, t).prod() for t in range(n)])
        moved += chance * likely.prod() * np.sum(kinds, axis=0)
    return sums / total, total / without, 1 + moved / total


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 5), st.floats(0.4, 3), st.integers(0, 2**32))
def test_forward_and_backward_are_sums_over_all_paths(cells, scale, seed):
    rng = np.random.default_rng(seed)
    first, number = rng.integers(0, 6, size=cells), rng.integers(1, 4, size=cells)
    noisy = first + rng.uniform(-1, 4, size=cells)
    place, size = plateaus.places(first, number, np.argsort(first, kind="stable"))
    prior, moves, near = rng.dirichlet(np.ones(size)), rng.dirichlet(np.ones(3)), rng.uniform(0.1, 0.9)
    likely = plateaus.likelihoods(noisy, scale, 1.0, first, number)
    ahead, filtered, sums = plateaus.forward(likely, first, number, place, prior, moves, near)
    later, drawn, moved = plateaus.backward(likely, first, number, place, prior, moves, near, filtered, sums)
    means, foretold, expected = posterior_by_paths(noisy, scale, first, number, place, prior, moves, near)
    levels = first[:, None] + np.arange(likely.shape[1])
    np.testing.assert_allclose((filtered * later * levels).sum(axis=1) / (filtered * later).sum(axis=1), means, rtol=1e-8)
    given_others = sums * (filtered * later).sum(axis=1) / (ahead * later).sum(axis=1)
    np.testing.assert_allclose(given_others, foretold, rtol=1e-8)
    np.testing.assert_allclose(moved, expected / expected.sum(), rtol=1e-8)
    assert drawn.sum() == pytest.approx(1)


def test_windows_that_overlap_share_their_levels_in_the_prior():
    first, number = np.array([5, 0, 6, 20]), np.array([3, 2, 4, 2])
    place, size = plateaus.places(first, number, np.argsort(first, kind="stable"))
    assert (place.tolist(), size) == ([2, 0, 3, 7], 9)


@given(st.lists(st.integers(-50, 10**7), min_size=1, max_size=40), st.sampled_from([0.05, 1.0, 30.0, 1e5]))
def test_any_values_give_finite_means_of_at_least_0(values, scale):
    means, foretold = plateaus.plateaus(np.array(values, dtype=float), scale)
    assert np.isfinite(means).all()
    assert (means >= 0).all()
    assert np.isfinite(foretold).all()
    assert (foretold >= 0).all()


def test_long_rows_are_taken_in_pieces(monkeypatch):
    noisy = np.random.default_rng(0).integers(0, 5, size=100).astype(float)
    monkeypatch.setattr(plateaus, "LONGEST", 50)
    in_pieces = plateaus.plateaus(noisy, 1.0)[0]
    monkeypatch.setattr(plateaus, "LONGEST", 100)
    apart = [plateaus.plateaus(half, 1.0)[0] for half in np.split(noisy, 2)]
    np.testing.assert_array_equal(in_pieces, np.concatenate(apart))


def test_ways_go_from_neighbour_to_neighbour_through_every_cell():
    for shape in ((7,), (4, 5), (1, 3)):
        for way in plateaus.snakes(shape):
            assert sorted(way) == list(range(np.prod(shape)))
            there = np.stack(np.unravel_index(way, shape))
            assert (np.abs(np.diff(there)).sum(axis=0) == 1).all()


def test_steps_are_seen_that_groups_do_not_see():
    """Levels of 300 to 600 for 8 to 40 cells each: no two plateaus alike, and too short for a mean of the surroundings."""
    rng = np.random.default_rng(5)
    x = np.repeat(rng.integers(300, 600, size=60), rng.integers(8, 40, size=60)).astype(float)
    y = x + np.round(rng.laplace(scale=10, size=x.size))
    along, alone = smooth(y, 10.0, [], [], plateaus.snakes(x.shape)), smooth(y, 10.0, [], [])
    assert ((along - x) ** 2).mean() < 0.4 * ((alone - x) ** 2).mean()


@given(st.integers(1, 4), st.integers(1, 20), st.integers(0, 2**32))
def test_an_average_lies_among_what_it_averages(models, cells, seed):
    rng = np.random.default_rng(seed)
    opinions = [Opinion(rng.normal(size=cells), rng.uniform(size=cells) ** 20) for _ in range(models)]
    means = np.stack([opinion.means for opinion in opinions])
    found = average(opinions)
    assert (found >= means.min(axis=0) - 1e-12).all()
    assert (found <= means.max(axis=0) + 1e-12).all()


def test_who_foretells_better_is_heard():
    n = 200
    right, wrong = Opinion(np.zeros(n), np.full(n, 0.5)), Opinion(np.ones(n), np.full(n, 0.1))
    assert average([right, wrong]).max() < 0.01


def test_a_few_large_counts_do_not_hide_that_the_rest_are_zeros():
    rng = np.random.default_rng(2)
    noise = rng.geometric(1 - np.exp(-1), size=4000) - rng.geometric(1 - np.exp(-1), size=4000)
    y = np.sort(np.append(noise, [300.0, 5000.0]))
    means = CountPrior(y, 1.0, split_at_gap=True).posterior()[0]
    assert means[:-2].sum() < 1
    np.testing.assert_allclose(means[-2:], [300, 5000], atol=1)


def test_a_value_left_out_of_its_prior_is_less_likely():
    values = np.array([0.0, 0.0, 0.0, 0.0, 40.0])
    support, weights = np.array([0.0, 40.0]), np.array([0.8, 0.2])
    flat = 2 / 44 / 5
    expected = [0.8 - 1 / 5 + flat] * 4 + [0.2 - 1 / 5 + flat]
    np.testing.assert_allclose(left_out(values, support, weights, 1.0), expected, atol=1e-12)
