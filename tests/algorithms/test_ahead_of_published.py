"""Bayes, Adaptive and AdaptiveGrid: ahead of what they are meant to replace, on generated data, by more than chance."""

from __future__ import annotations

import numpy as np
import pytest

from jostle import simulate, workloads


def mean_error(name, x, workload, epsilon, trials=16, **tunables):
    errors = simulate.errors(name, x, workload, epsilon, trials=trials, seed=1, **tunables)
    return errors.mean(), errors.std() / np.sqrt(trials)


def shape_of(kind, n):
    at = np.linspace(0, 1, n)
    rng = np.random.default_rng(3)
    shapes = {
        "sparse": np.where(rng.uniform(size=n) < 0.04, rng.pareto(1.2, size=n) + 1, 0),
        "smooth": np.exp(-(((at - 0.3) / 0.1) ** 2)) + 0.3 * np.exp(-(((at - 0.7) / 0.05) ** 2)),
        "flat": np.ones(n),
    }
    return shapes[kind] / shapes[kind].sum()


def ahead(one, other, factor):
    (ours, our_error), (theirs, their_error) = one, other
    # Six standard errors of the difference: by chance once in 10^8.
    return ours + 6 * np.hypot(our_error, factor * their_error) < factor * theirs


@pytest.mark.parametrize(("kind", "factor"), [("sparse", 0.7), ("smooth", 0.8), ("flat", 0.5)])
def test_bayes_beats_laplace_on_cells(kind, factor):
    x = np.floor(shape_of(kind, 512) * 20_000).astype(int)
    queries = workloads.identity(512)
    assert ahead(mean_error("Bayes", x, queries, 0.1), mean_error("Laplace", x, queries, 0.1), factor)


@pytest.mark.parametrize("name", ["OPT-Bayes", "AdaptiveGrid", "Pythia"])
def test_cells_of_a_grid_are_shrunk_whichever_way_they_are_asked_for(name):
    x = np.floor(np.outer(shape_of("smooth", 32), shape_of("sparse", 32)) * 5_000).astype(int)
    queries = workloads.identity((32, 32))
    assert ahead(mean_error(name, x, queries, 0.5), mean_error("Laplace", x, queries, 0.5), 0.6)


@pytest.mark.parametrize(("kind", "records"), [("smooth", 2_000), ("flat", 2_000)])
def test_adaptive_beats_hb_on_prefix_sums(kind, records):
    x = np.floor(shape_of(kind, 512) * records).astype(int)
    queries = workloads.prefix(512)
    assert ahead(mean_error("Adaptive", x, queries, 0.1, 30), mean_error("HB", x, queries, 0.1, 2_000), 0.95)


def test_adaptive_stays_near_the_best_strategy_when_there_is_nothing_to_adapt_to():
    x = np.random.default_rng(0).integers(10**5, 10**6, size=256)
    queries = workloads.prefix(256)
    assert ahead(mean_error("Adaptive", x, queries, 1, 150), mean_error("HB", x, queries, 1, 400), 1.1)


def test_adaptive_takes_the_best_strategy_for_ranges_too_where_there_is_nothing_to_adapt_to():
    rng = np.random.default_rng(0)
    x = rng.integers(1000, 5000, size=512)
    lengths = rng.integers(1, 33, size=300)
    starts = rng.integers(0, 513 - lengths)
    queries = workloads.ranges(512, starts, starts + lengths)
    assert ahead(mean_error("Adaptive", x, queries, 1, 60), mean_error("OPT-nonnegative", x, queries, 1, 400), 1.25)


def test_adaptive_grid_beats_hb_on_rectangles():
    rng = np.random.default_rng(0)
    x = np.floor(np.outer(shape_of("smooth", 64), shape_of("smooth", 64)) * 100_000).astype(int)
    lows = rng.integers(0, 32, size=(200, 2))
    queries = workloads.rectangles((64, 64), lows, lows + rng.integers(1, 33, size=(200, 2)))
    assert ahead(mean_error("AdaptiveGrid", x, queries, 0.1, 60), mean_error("HB", x, queries, 0.1, 200), 1)


@pytest.mark.parametrize(("name", "shape"), [("Bayes", (32,)), ("Adaptive", (64,)), ("AdaptiveGrid", (16, 16))])
def test_a_large_budget_gives_back_the_data(name, shape):
    x = np.random.default_rng(2).poisson(20, size=shape)
    assert simulate.errors(name, x, workloads.identity(shape), 10**6, trials=1, seed=0)[0] < 0.5


@pytest.mark.parametrize("name", ["Bayes", "Adaptive", "OPT", "OPT-Bayes", "OPT-nonnegative", "Pythia"])
@pytest.mark.parametrize("workload", [workloads.identity(256), workloads.prefix(256)], ids=["cells", "prefixes"])
@pytest.mark.parametrize(("epsilon", "most"), [(10, 100.0), (10**3, 1.0), (10**6, 1e-2), (10**10, 1e-2), (10**12, 1e-2)])
def test_large_counts_do_not_show_what_strategies_were_rounded_to(name, workload, epsilon, most):
    x = np.zeros(256, dtype=int)
    x[[3, 7, 9]] = 10**9, 17, 10**9 - 3
    assert simulate.errors(name, x, workload, epsilon, trials=1, seed=0)[0] < most


@pytest.mark.parametrize("name", ["Bayes", "AdaptiveGrid", "OPT-Bayes", "Pythia"])
@pytest.mark.parametrize("epsilon", [10**3, 10**6, 10**10, 10**12])
def test_large_counts_on_a_grid_come_back_with_a_large_budget(name, epsilon):
    x = np.zeros((32, 32), dtype=int)
    x[[3, 5, 0], [4, 6, 0]] = 10**9, 17, 10**9 - 3
    lows = np.array([(i, j) for i in range(0, 32, 8) for j in range(0, 32, 8)])
    for workload in (workloads.identity((32, 32)), workloads.rectangles((32, 32), lows, lows + 8)):
        assert simulate.errors(name, x, workload, epsilon, trials=1, seed=0)[0] < 1.0
