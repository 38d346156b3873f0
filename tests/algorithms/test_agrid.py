"""AGrid: its closed form against dense least squares, its grids by their formulas, and a total that is paid for."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from jostle import algorithms, simulate, workloads
from jostle.kernel.noise import variance
from jostle.kernel.source import SimulatedSource
from tests.algorithms.spy import Spy


def spied(x, epsilon, neighbours="add_remove", **tunables):
    spy = Spy(x, neighbours=neighbours)
    estimate = algorithms.get("AGrid").run(spy, workloads.identity(x.shape), spy.grant(epsilon), **tunables)
    return estimate, spy.asked


def data(shape, seed=0):
    rng = np.random.default_rng(seed)
    return rng.poisson(np.exp(rng.normal(2, 1.5, size=shape)))


@pytest.mark.parametrize("shape", [(12, 12), (7, 15), (1, 9), (2, 2)])
@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_the_estimate_is_that_of_dense_least_squares(shape, neighbours):
    x = data(shape)
    estimate, asked = spied(x, 1, neighbours, least=3)
    factor = 1 if neighbours == "add_remove" else 2
    rows = np.concatenate([strategy.dense() for _, strategy, _ in asked])
    noise = np.concatenate([np.full(s.rows, variance(factor / epsilon)) for _, s, epsilon in asked])
    answers = np.concatenate([answer for answer, *_ in asked])
    if neighbours == "replace":
        rows, answers = np.vstack([rows, np.ones(x.size)]), np.append(answers, x.sum())
        noise = np.append(noise, 1e-9)
    leaves = asked[-1][1].partition
    to_leaves = rows[:, [leaves.cells(group)[0] for group in range(leaves.groups)]]
    weights = 1 / np.sqrt(noise)
    due = np.linalg.lstsq(to_leaves * weights[:, None], answers * weights, rcond=None)[0]
    assert np.allclose(leaves.sums(estimate), due, atol=1e-4)
    assert np.allclose(estimate, leaves.spread(leaves.sums(estimate)))


def test_the_first_grid_is_that_of_the_formula():
    x = np.zeros((64, 64), dtype=int)
    x[5, 5] = 4_000_000
    *_, asked = spied(x, Fraction(2, 10), "replace")
    assert asked[0][1].rows == (-(-64 // (64 // 50))) ** 2 // 4  # √(4·10⁶ · 0.1 / 10) / 4 = 50, but two cells wide
    x[5, 5] = 1_000
    *_, asked = spied(x, Fraction(2, 10), "replace")
    assert asked[0][1].rows == 11**2  # at least ten, of six cells and a rest of four


def test_boxes_are_cut_by_their_own_noisy_counts():
    x = np.zeros((40, 40), dtype=int)
    x[:4, :4] = 300
    x[20:24, 20:24] = 20
    *_, asked = spied(x, 1)
    (_, boxes, _), (_, leaves, _) = asked[1:]
    assert boxes.rows == 100
    pieces = {cells: np.unique(leaves.partition.labels.reshape(40, 40)[at]).size for cells, at in corners().items()}
    assert pieces["full"] == 16
    assert 4 <= pieces["middle"] <= 16
    assert pieces["empty"] <= 4


def corners():
    return {"full": np.s_[:4, :4], "middle": np.s_[20:24, 20:24], "empty": np.s_[36:, :4]}


def test_the_total_is_paid_for_where_it_is_not_public():
    x = data((16, 16))
    *_, asked = spied(x, 1)
    assert [epsilon for *_, epsilon in asked] == [Fraction(1, 20), Fraction(19, 40), Fraction(19, 40)]
    assert asked[0][1].rows == 1
    *_, asked = spied(x, 1, "replace")
    assert [epsilon for *_, epsilon in asked] == [Fraction(1, 2)] * 2


def test_a_known_total_comes_back_exactly():
    x = data((16, 16))
    estimate, _ = spied(x, 1, "replace")
    assert abs(estimate.sum() - x.sum()) < 1e-6 * x.sum()
    source = SimulatedSource(np.array([[7]]), seed=0, neighbours="replace")
    assert algorithms.get("AGrid").run(source, workloads.identity((1, 1)), source.grant(1)).tolist() == [7.0]


def test_clusters_are_found_at_less_cost_than_by_one_grid():
    rng = np.random.default_rng(1)
    x = np.zeros((64, 64), dtype=int)
    for row, column in rng.integers(0, 56, size=(6, 2)):
        x[row : row + 6, column : column + 6] += rng.poisson(60, size=(6, 6))
    lows = rng.integers(0, 40, size=(300, 2))
    queries = workloads.rectangles((64, 64), lows, lows + rng.integers(1, 25, size=(300, 2)))
    ours, theirs = (simulate.errors(name, x, queries, 0.1, trials=40, seed=1) for name in ("AGrid", "UGrid"))
    assert ours.mean() + 6 * np.hypot(ours.std(), theirs.std()) / np.sqrt(40) < theirs.mean()
