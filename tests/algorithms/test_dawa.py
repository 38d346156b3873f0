"""DAWA: its buckets against all cuts, its estimate against dense least squares, and all four partitions on odd domains."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jostle
from jostle import algorithms, simulate, workloads
from jostle.algorithms.dawa import PRICES, SHARES, Buckets, _nested_blocks, _pruned, hilbert_line, shrunk
from jostle.kernel.errors import BadInput
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.partition import Partition
from jostle.kernel.source import SimulatedSource
from jostle.kernel.strategies import blocks
from jostle.linear.fitting.trees import Nested
from jostle.linear.shrinkage.cuts import even_intervals

OPERATORS = list(SHARES)


# -------------------------------------------------------------------------------------- cuts of noisy cells: all of them


def all_cuts(size):
    if size == 0:
        return [()]
    shorter = [(2**level, all_cuts(size - 2**level)) for level in range(size.bit_length())]
    return [(*rest, size - length) for length, before in shorter for rest in before]


def cost_by_hand(noisy, cut, scale, price):
    parts = np.split(noisy, cut[1:])
    apart = sum(np.abs(part - np.median(part)).sum() for part in parts)
    return apart - sum(part.size - 1 for part in parts) / np.sinh(1 / scale) + len(cut) * price * scale


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 9), st.integers(0, 2**32), st.sampled_from([0.3, 1.0, 20.0]), st.sampled_from([0.0, 1.0, 4.0]))
def test_the_cut_of_noisy_cells_is_the_cheapest_of_all_cuts(size, seed, scale, price):
    rng = np.random.default_rng(seed)
    noisy = np.round(np.repeat(rng.integers(0, 100, size), 2)[:size] + rng.laplace(scale=scale, size=size))
    found = cost_by_hand(noisy, even_intervals(noisy, scale, price).tolist(), scale, price)
    best = min(cost_by_hand(noisy, list(cut), scale, price) for cut in all_cuts(size))
    assert found <= best + 0.01 * size * max(scale, 1)


def test_noise_alone_makes_no_buckets():
    noisy = np.random.default_rng(0).laplace(scale=10, size=256).round() + 500
    assert even_intervals(noisy, 10.0, 4.0).size <= 3
    noisy[128:] += 200
    assert 128 in even_intervals(noisy, 10.0, 4.0)


@pytest.mark.parametrize("scale", [1e-9, 0.0, 1e-3, 1e14])
def test_cuts_are_found_at_any_scale_of_noise(scale):
    noisy = np.array([0.0, 1e12, 1e12, 3.0]) + np.round(scale)
    starts = even_intervals(noisy, scale, 4.0)
    assert starts[0] == 0
    assert (np.diff(starts) > 0).all()


# ------------------------------------------------------------------------------------------------ nested least squares


def random_nested(rng, size):
    levels = [np.arange(size)]
    while levels[0].size > 1:
        kept = rng.uniform(size=levels[0].size) < 0.5
        kept[0] = True
        levels.insert(0, levels[0][kept])
    precisions = [rng.choice([0.0, 0.3, 2.0], size=level.size) for level in levels[:-1]] + [rng.uniform(0.1, 2, size=size)]
    return Nested(levels, [rng.normal(size=level.size) for level in levels], precisions)


@pytest.mark.parametrize("seed", range(8))
def test_nested_sums_are_fitted_as_by_dense_least_squares(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 14))
    nested = random_nested(rng, size)
    rows = np.concatenate([blocks(Partition.intervals(level, size)).dense() for level in nested.starts])
    weights = np.sqrt(np.concatenate(nested.precisions))
    cells = np.linalg.lstsq(rows * weights[:, None], np.concatenate(nested.values) * weights, rcond=None)[0]
    assert np.allclose(np.concatenate(nested.fitted()), rows @ cells)
    root, variance = nested.upwards[0][0], nested.upwards[1][0]
    assert np.allclose(root, cells.sum())
    normal = (rows * weights[:, None] ** 2).T @ rows
    assert np.allclose(variance, np.ones(size) @ np.linalg.inv(normal) @ np.ones(size))


# -------------------------------------------------------------------------------------------------- buckets from blocks


def cut_by_hand(x, price, start, stop, whole=True):
    """Where the buckets begin if every count is known: cut in four while there is more than the price."""
    size = stop - start
    if size == 1 or (not whole and x[start:stop].sum() <= price):
        return [start]
    pieces = min(size, 4)
    edges = [start + k * size // pieces for k in range(pieces + 1)]
    return [begin for a, b in pairwise(edges) for begin in cut_by_hand(x, price, a, b, whole=False)]


@pytest.mark.parametrize("size", [1, 2, 5, 16, 37, 64])
def test_without_noise_blocks_are_cut_where_there_is_more_than_the_price(size):
    x = np.random.default_rng(size).integers(0, 9, size=size) ** 2
    tree = _nested_blocks(size)
    sums = [np.add.reduceat(x, starts).astype(float) for (starts,) in tree.levels]
    seen = Nested([starts for (starts,) in tree.levels], sums, [np.ones(level.size) for level in sums])
    for price in (0.0, 10.0, 60.0, 1e9):
        buckets = _pruned(seen, price, size)
        assert buckets.starts.tolist() == cut_by_hand(x, price, 0, size)
        totals = np.add.reduceat(x, buckets.starts)
        assert buckets.levels[-1].tolist() == list(range(buckets.starts.size))
        for level, values, precisions in zip(buckets.levels, buckets.values, buckets.precisions, strict=True):
            known = precisions > 0
            assert np.allclose(values[known], np.add.reduceat(totals, level)[known])


def test_numbers_of_blocks_are_used_once():
    """The information in all numbers of the pruned tree is that of the whole tree about the buckets."""
    tree = _nested_blocks(64)
    rng = np.random.default_rng(1)
    starts = [level for (level,) in tree.levels]
    precisions = [np.full(level.size, p) for level, p in zip(starts, (0.5, 1.0, 2.0, 0.7), strict=True)]
    seen = Nested(starts, [rng.normal(5, 10, size=level.size) for level in starts], precisions)
    buckets = _pruned(seen, 6.0, 64)
    assert 4 < buckets.starts.size < 64
    rows = np.concatenate([blocks(Partition.intervals(level, buckets.starts.size)).dense() for level in buckets.levels])
    weights = np.sqrt(np.concatenate(buckets.precisions))
    pruned = np.linalg.lstsq(rows * weights[:, None], np.concatenate(buckets.values) * weights, rcond=None)[0]
    assert np.allclose(pruned, np.add.reduceat(seen.fitted()[-1], buckets.starts))


# ----------------------------------------------------------------------------------------------------- the second stage


@pytest.mark.parametrize("kind", ["identity", "prefix"])
def test_totals_of_buckets_have_the_variance_of_dense_least_squares(kind):
    size, runs, epsilon = 100, 1000, 0.5
    queries = getattr(workloads, kind)(size).queries
    rng = np.random.default_rng(2)
    starts = np.sort(np.append(rng.choice(np.arange(1, size), 39, replace=False), 0))
    buckets = Buckets.unmeasured(starts)
    weights = buckets._weights(queries)
    weights = weights / weights.sum()
    rows = np.concatenate(
        [w * blocks(Partition.intervals(level, 40)).dense() for w, level in zip(weights, buckets.levels, strict=True) if w]
    )
    due = 2 / epsilon**2 * np.diag(np.linalg.inv(rows.T @ rows))
    x = np.arange(size)
    source = SimulatedSource(x, seed=0)
    found = []
    for seed in range(runs):
        again = source.again(seed=seed)
        found.append(buckets.totals(again, queries, again.grant(epsilon)))
    errors = np.array(found) - np.add.reduceat(x, starts)
    # The kurtosis of the noise, and of sums of it, is below 7; six standard errors, and 2 % for noise that is discrete.
    assert np.allclose((errors**2).mean(axis=0), due, rtol=6 * np.sqrt(6 / runs) + 0.02)
    assert (np.abs(errors.mean(axis=0)) < 6 * np.sqrt(due / runs)).all()
    assert (weights[-1] == 1) == (kind == "identity")


def test_what_is_known_of_buckets_counts_by_its_precision():
    starts = np.array([0, 2])
    buckets = Buckets(
        starts, [np.array([0]), np.arange(2)], [np.zeros(1), np.array([7.0, 9.0])], [np.zeros(1), np.full(2, 1e12)]
    )
    source = SimulatedSource(np.array([1, 1, 1, 1]), seed=0)
    found = buckets.totals(source, workloads.identity(4).queries, source.grant(1))
    assert np.allclose(found, [7, 9])
    assert buckets.spread(np.array([7.0, 9.0]), 4).tolist() == [3.5, 3.5, 4.5, 4.5]


def test_distances_within_a_bucket_are_kept_where_noise_cannot_explain_them():
    apart = np.array([30.0, -10.0, -10.0, -10.0, 0.5, -0.5])
    found = shrunk(apart, np.array([0, 4]), 2.0)
    assert np.allclose(found[:4], apart[:4] * (1 - 3 * 2 * 2 / 1200))
    assert (found[4:] == 0).all()
    assert (shrunk(np.zeros(3), np.array([0]), 2.0) == 0).all()


# ------------------------------------------------------------------------------------------------------- Hilbert's curve


@pytest.mark.parametrize("side", [1, 2, 4, 32])
def test_the_curve_steps_from_neighbour_to_neighbour(side):
    order = np.argsort(hilbert_line((side, side)).labels)
    rows, columns = np.unravel_index(order, (side, side))
    assert (np.abs(np.diff(rows)) + np.abs(np.diff(columns)) == 1).all()


@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (9, 1), (3, 7), (20, 33)])
def test_on_any_grid_the_curve_meets_every_cell_once_and_seldom_jumps(shape):
    labels = hilbert_line(shape).labels
    assert sorted(labels) == list(range(labels.size))
    rows, columns = np.unravel_index(np.argsort(labels), shape)
    steps = np.abs(np.diff(rows)) + np.abs(np.diff(columns))
    assert steps.size == 0 or steps.mean() < 1.5


# ------------------------------------------------------------------------------------------------------------ the plan


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("shape", [(1,), (2,), (7,), (100,), (1, 1), (1, 5), (3, 7), (16, 5)])
@pytest.mark.parametrize("neighbours", [Neighbours("add_remove"), Neighbours("replace"), Neighbours("add_remove", rows=3)])
def test_every_partition_spends_all_on_every_domain(operator, shape, neighbours):
    x = np.random.default_rng(5).poisson(3.0, size=shape)
    everything = workloads.rectangles(shape, np.zeros((1, len(shape)), dtype=int), np.array([shape]))
    for workload in (workloads.identity(shape), everything):
        for epsilon in (Fraction(1, 2), 10**6):
            source = SimulatedSource(x, seed=1, neighbours=neighbours)
            estimate = algorithms.get("DAWA").run(source, workload, source.grant(epsilon), partition=operator)
            assert source.unspent == 0
            assert estimate.shape == (x.size,)
            if source.total is not None:
                assert abs(estimate.sum() - x.sum()) < 1e-3 * x.sum()
    assert np.abs(estimate - x.reshape(-1)).max() < 1 + x.max() * (len(np.unique(x)) > 1)


@pytest.mark.parametrize("operator", OPERATORS)
def test_every_partition_can_be_released(operator, tmp_path):
    with jostle.Ledger(tmp_path / "ledger.db") as ledger:
        account = ledger.account("d", cap=1)
        jostle.release(np.arange(40), epsilon=0.5, account=account, algorithm="DAWA", partition=operator)
        assert account.spent == Fraction(1, 2)
        operators = [event.operator for event in ledger.events() if event.kind == "charge"]
    assert operators == (["laplace", "laplace"] if operator in ("counts", "blocks") else ["partition", "laplace"])


def test_an_unknown_partition_is_refused_before_any_charge():
    source = SimulatedSource([1, 2, 3], seed=0)
    budget = source.grant(1)
    with pytest.raises(BadInput, match=r"^partition: must be one of noisy-minimum, exponential, counts, blocks, got 'best'"):
        algorithms.get("DAWA").run(source, workloads.identity(3), budget, partition="best")
    assert source.unspent == 1


@pytest.mark.parametrize("operator", OPERATORS)
def test_even_data_gain_and_uneven_data_lose_little(operator):
    even = np.repeat([10, 400, 30, 90], 64)
    uneven = np.random.default_rng(0).integers(10**4, 10**6, size=256)
    cells = workloads.identity(256)
    laplace = simulate.errors("Laplace", even, cells, 0.1, trials=100, seed=0).mean()
    ours = [simulate.errors("DAWA", x, cells, 0.1, trials=20, seed=1, partition=operator).mean() for x in (even, uneven)]
    limits = {"noisy-minimum": (0.7, 1.9), "exponential": (0.7, 2.1), "counts": (0.35, 1.4), "blocks": (1.9, 1.9)}
    assert ours[0] < limits[operator][0] * laplace
    assert ours[1] < limits[operator][1] * laplace


def test_long_queries_are_answered_better_than_by_hb():
    at = np.linspace(0, 1, 512)
    x = np.floor(40 * np.exp(-(((at - 0.3) / 0.1) ** 2))).astype(int)
    queries = workloads.prefix(512)
    ours, theirs = (simulate.errors(name, x, queries, 0.1, trials=60, seed=1) for name in ("DAWA", "HB"))
    assert ours.mean() + 6 * np.hypot(ours.std(), theirs.std()) / np.sqrt(60) < theirs.mean()


def test_defaults_are_said_for_every_partition():
    assert SHARES.keys() == PRICES.keys()
    assert all(0 < share < 1 for shares in SHARES.values() for share in shares)
    assert all(price > 0 for prices in PRICES.values() for price in prices)
