"""AHP's clusters against all clusterings, and the error of what it averages."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest

from jostle import simulate, workloads
from jostle.algorithms.ahp import TRAINED, _average, _cluster, cheapest_clusters
from jostle.kernel.noise import variance
from tests.algorithms.asking import asked_of


def cost(values, begins, cell, cluster, price):
    parts = [values[a:b] for a, b in pairwise([*begins, values.size])]
    return sum(((p - p.mean()) ** 2).sum() + cell * cluster / (p.size * cell + cluster) + price for p in parts)


def least(values, cell, cluster, price):
    """The least cost over all clusterings, by the quadratic recursion."""
    best = [0.0]
    for end in range(1, values.size + 1):
        best.append(min(best[begin] + cost(values[begin:end], [0], cell, cluster, price) for begin in range(end)))
    return best[-1]


@pytest.mark.parametrize("seed", range(60))
def test_clusters_cost_least(seed):
    rng = np.random.default_rng(seed)
    spread = rng.choice([0.1, 1.0, 10.0, 100.0])
    values = np.sort(rng.exponential(spread, size=rng.integers(1, 40)) + rng.choice([0.0, 1e6]))
    cell, cluster, price = rng.choice([0.1, 1.0, 5.0]), rng.choice([0.0, 1.0, 30.0, 300.0]), rng.choice([0.0, 0.5, 3.0])
    begins = cheapest_clusters(values, cell, cluster, price)
    assert begins[0] == 0
    assert (np.diff(begins) > 0).all()
    expected = least(values, cell, cluster, price)
    assert cost(values, begins, cell, cluster, price) == pytest.approx(expected, rel=1e-6, abs=1e-6)


def test_equal_values_are_one_cluster_and_distant_ones_are_many():
    assert cheapest_clusters(np.full(50, 7.0), 1.0, 30.0, 0.5).tolist() == [0]
    assert cheapest_clusters(np.arange(50) * 100.0, 1.0, 30.0, 0.5).tolist() == list(range(50))


def test_cells_below_the_cut_off_are_the_first_cluster():
    cells = np.array([0.1, 90.0, -3.0, 91.0, 500.0, 0.4])
    clusters, kept = _cluster(cells, 2.0, 50.0, 0.35)
    assert clusters.labels.tolist() == [0, 1, 0, 1, 2, 0]
    assert kept.tolist() == [1, 3, 4]
    everything, none = _cluster(np.array([-1.0, 0.0]), 2.0, 50.0, 0.35)
    assert everything.labels.tolist() == [0, 0]
    assert none.size == 0
    assert _cluster(np.array([800.0, 900.0]), 2.0, 50.0, 0.35)[0].labels.tolist() == [0, 1]


def test_distant_cells_get_the_average_of_both_measurements():
    """Far apart and far from 0, each cell is a cluster: its error is that of two Laplace measurements, by precision."""
    x = np.arange(1, 41) * 10_000
    errors = simulate.errors("AHP", x, workloads.identity(40), 1, trials=1_000, seed=3)
    first, second = variance(1 / Fraction(17, 20)), variance(1 / Fraction(3, 20))
    expected = 40 * first * second / (first + second)
    assert abs((errors**2).mean() - expected) < 6 * (errors**2).std() / np.sqrt(1_000)


def test_low_cells_are_not_believed():
    """In empty data every cell above the cut-off was lifted by noise: its own noisy count must hardly matter."""
    rng = np.random.default_rng(0)
    cells = rng.laplace(size=4000)
    clusters, kept = _cluster(cells, 2.0, 2 * (0.85 / 0.15) ** 2, 0.35)
    totals = _average(clusters, kept, cells, 2.0, np.zeros(clusters.groups), 2 * (0.85 / 0.15) ** 2)
    assert kept.size > 50
    assert np.linalg.norm(clusters.spread(totals)) < 0.2 * np.linalg.norm(cells[kept])


def test_it_beats_plain_noise_on_sparse_data():
    x = np.zeros(1024, dtype=int)
    x[::50] = 1000
    for name in ("AHP", "AHP-adaptive"):
        ours = simulate.errors(name, x, workloads.identity(1024), 1, trials=10, seed=1).mean()
        assert ours < 0.4 * simulate.errors("Laplace", x, workloads.identity(1024), 1, trials=10, seed=1).mean()


@pytest.mark.parametrize("name", ["AHP", "AHP-adaptive"])
@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_without_noise_it_is_exact(name, neighbours):
    x = np.random.default_rng(2).integers(0, 9, size=(6, 7))
    errors = simulate.errors(name, x, workloads.identity((6, 7)), 10**9, trials=2, seed=0, neighbours=neighbours)
    assert (errors < 1e-3).all()


@pytest.mark.parametrize(("neighbours", "paid"), [("add_remove", True), ("replace", False)])
def test_the_adaptive_split_comes_from_a_total_that_was_paid_for(neighbours, paid):
    # Ten records a cell at ε = 1 are the table's third entry.
    asked = asked_of("AHP-adaptive", np.full(100, 10), workloads.identity(100), neighbours=neighbours)
    assert (asked[0] == ("Total", 1, Fraction(1, 50))) == paid
    rest = 1 - paid * Fraction(1, 50)
    assert asked[int(paid)][1] == 100
    assert float(asked[-2][2] / rest) == pytest.approx(TRAINED[1][2], abs=0.02)
