"""UGrid: the grid by its formula, a total that is paid for, and the error by hand."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from jostle import algorithms, simulate, workloads
from jostle.algorithms.ugrid import boxes_of_width, with_total
from jostle.kernel.noise import variance
from jostle.kernel.source import SimulatedSource
from jostle.linear.shrinkage.leaves import cut_to_width
from tests.algorithms.spy import Spy


def test_boxes_have_the_width_that_is_asked_for():
    boxes = boxes_of_width((5, 6), (2, 3))
    assert boxes.lows.tolist() == [[0, 0], [0, 3], [2, 0], [2, 3], [4, 0], [4, 3]]
    assert (boxes.highs - boxes.lows).tolist() == [[2, 3]] * 4 + [[1, 3]] * 2
    assert boxes.partition.sizes.tolist() == [6, 6, 6, 6, 3, 3]


@pytest.mark.parametrize("seed", range(5))
def test_boxes_are_cut_within_themselves_and_cover_everything(seed):
    rng = np.random.default_rng(seed)
    boxes = boxes_of_width((9, 14), (4, 5))
    widths = rng.integers(1, 7, size=(boxes.number, 2))
    leaves = cut_to_width(boxes, widths)
    covered = np.zeros((9, 14), dtype=int)
    for (top, left), (bottom, right), parent in zip(leaves.lows, leaves.highs, leaves.parents, strict=True):
        covered[top:bottom, left:right] += 1
        assert (boxes.lows[parent] <= (top, left)).all()
        assert (boxes.highs[parent] >= (bottom, right)).all()
        assert ((bottom, right) - np.array((top, left)) <= widths[parent]).all()
    assert (covered == 1).all()
    assert (np.diff(leaves.parents) >= 0).all()


def test_a_total_is_shared_out_as_by_dense_least_squares():
    rng = np.random.default_rng(0)
    counts, variances = rng.normal(size=6), rng.uniform(0.5, 3, size=6)
    rows = np.vstack([np.eye(6), np.ones(6)])
    weights = 1 / np.sqrt(np.append(variances, 2.0))
    due = np.linalg.lstsq(rows * weights[:, None], np.append(counts, 9.0) * weights, rcond=None)[0]
    assert np.allclose(with_total(counts, variances, 9.0, 2.0), due)
    assert (with_total(counts, np.zeros(6), 9.0, 0.0) == counts).all()


@pytest.mark.parametrize(
    ("records", "epsilon", "number"), [(10_000, 0.1, 10), (100_000, 0.1, 31), (0, 0.1, 1), (10**6, 10, 64)]
)
@pytest.mark.parametrize("shape", [(64, 64), (40, 64)])
def test_the_grid_is_that_of_the_formula(records, epsilon, number, shape):
    x = np.zeros(shape, dtype=int)
    x[3, 5] = records
    spy = Spy(x, neighbours="replace")
    algorithms.get("UGrid").run(spy, workloads.identity(shape), spy.grant(2 * epsilon))
    (strategy,) = (strategy for _, strategy, _ in spy.asked)
    widths = [max(1, int(n / max(1.0, np.sqrt(records * epsilon / 10)))) for n in shape]
    assert strategy.rows == np.prod([-(-n // w) for n, w in zip(shape, widths, strict=True)])
    assert number * 0.9 <= -(-64 // widths[1]) <= max(number * 2.1, 1)


def test_the_total_is_paid_for_where_it_is_not_public():
    x = np.full((8, 8), 5)
    spy = Spy(x)
    algorithms.get("UGrid").run(spy, workloads.identity((8, 8)), spy.grant(1))
    assert (spy.asked[0][1].rows, spy.asked[0][2]) == (1, Fraction(1, 20))
    assert sum(epsilon for *_, epsilon in spy.asked) == 1
    spy = Spy(x, neighbours="replace")
    algorithms.get("UGrid").run(spy, workloads.identity((8, 8)), spy.grant(1))
    assert [epsilon for *_, epsilon in spy.asked] == [1]


def test_the_plan_does_not_depend_on_a_total_that_nobody_paid_for():
    """Two tables with the same noisy total get the same grid, however many records they have."""
    found = set()
    for records in (100, 10**6):
        x = np.full((16, 16), records // 256)
        spy = Spy(x, answers={1: np.array([5_000.0])})
        algorithms.get("UGrid").run(spy, workloads.identity((16, 16)), spy.grant(1))
        found.add(spy.asked[1][1].rows)
    assert len(found) == 1


def test_the_error_is_bias_and_noise():
    x = np.random.default_rng(0).poisson(8.0, size=(16, 16))
    epsilon = 0.5
    errors = simulate.errors("UGrid", x, workloads.identity((16, 16)), epsilon, trials=2000, seed=0, neighbours="replace")
    boxes = boxes_of_width((16, 16), (max(1, int(16 / np.sqrt(x.sum() * epsilon / 20))),) * 2).partition
    even = boxes.spread(boxes.sums(x.reshape(-1)).astype(float))
    noise = variance(2 / Fraction(1, 2))
    lost = boxes.groups - 1  # the total is known
    due = ((even - x.reshape(-1)) ** 2).sum() + noise * lost / boxes.groups * (1 / boxes.sizes).sum()
    assert boxes.groups < 256
    assert abs((errors**2).mean() - due) < 6 * (errors**2).std() / np.sqrt(2000)


def test_nothing_breaks_where_nothing_is_private():
    source = SimulatedSource(np.array([[7]]), seed=0, neighbours="replace")
    assert algorithms.get("UGrid").run(source, workloads.identity((1, 1)), source.grant(1)).tolist() == [7.0]
