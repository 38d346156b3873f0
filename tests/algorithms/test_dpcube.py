"""DPCube's tree against all prunings, its fusion against dense least squares, and the noise of its two stages."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from jostle import simulate, workloads
from jostle.algorithms.dpcube import MEDIAN_STEP, _FirstStage, halves, prune
from jostle.kernel.noise import variance
from tests.algorithms.asking import asked_of

SHAPES = [(1,), (2,), (7,), (64,), (1, 1), (1, 6), (5, 3), (8, 8), (3, 4, 2)]


@pytest.mark.parametrize("shape", SHAPES)
def test_every_node_is_a_box_cut_in_the_middle_of_its_longest_side(shape):
    tree = halves(shape)
    n = int(np.prod(shape))
    assert sorted(tree.order.tolist()) == list(range(n))
    assert (tree.lows[0], tree.highs[0], tree.lows.size) == (0, n, 2 * n - 1)
    where = np.stack(np.unravel_index(tree.order, shape), axis=1)
    for node in range(tree.lows.size):
        low, high = tree.lows[node], tree.highs[node]
        sides = np.ptp(where[low:high], axis=0) + 1
        assert np.prod(sides) == high - low
        if high - low > 1:
            first, second = node + 1, tree.second[node]
            assert (tree.lows[first], tree.highs[second]) == (low, high)
            assert tree.highs[first] == tree.lows[second]
            assert tree.highs[first] - low == -(-sides.max() // 2) * (high - low) // sides.max()


@pytest.mark.parametrize(("shape", "size"), [((64,), 16), ((64,), 1), ((7,), 3), ((8, 8), 8), ((5, 3), 100)])
def test_blocks_are_the_largest_nodes_of_a_size(shape, size):
    tree = halves(shape)
    begins = tree.nodes_within(size)
    sizes = np.diff(begins, append=tree.order.size)
    assert sizes.max() <= size
    assert begins[0] == 0
    assert (tree.partition(begins).sizes == sizes).all()
    nodes = set(zip(tree.lows.tolist(), tree.highs.tolist(), strict=True))
    assert all((b, b + s) in nodes for b, s in zip(begins.tolist(), sizes.tolist(), strict=True))


def all_prunings(tree, node):
    """Every way to stop in a subtree, as lists of nodes."""
    yield [node]
    if tree.highs[node] - tree.lows[node] > 1:
        for left in all_prunings(tree, node + 1):
            for right in all_prunings(tree, tree.second[node]):
                yield left + right


@pytest.mark.parametrize("seed", range(30))
def test_the_pruned_tree_has_the_least_expected_error(seed):
    rng = np.random.default_rng(seed)
    shape = [(5,), (6,), (2, 3), (8,)][seed % 4]
    tree = halves(shape)
    n = tree.order.size
    blocks = tree.nodes_within(int(rng.integers(1, 5)))
    cells = rng.normal(scale=rng.choice([0.5, 2.0, 8.0]), size=n) + rng.choice([0.0, 1e4])
    cell, leaf, price = rng.uniform(0.5, 3, size=3)
    widths = np.diff(blocks, append=n)
    block = 1 / (1 / (widths * cell) + 1 / rng.choice([2.0, np.inf]))
    covariance = np.zeros((n, n))
    for begin, width, total in zip(blocks, widths, block, strict=True):
        part = slice(begin, begin + width)
        covariance[part, part] = cell * (np.eye(width) - 1 / width) + total / width**2
    noise = np.diag(covariance).copy()

    def cost(node):
        part = slice(tree.lows[node], tree.highs[node])
        k = part.stop - part.start
        total = covariance[part, part].sum()
        centred = np.eye(k) - 1 / k
        expected = (centred * covariance[part, part]).sum()
        spread = ((cells[part] - cells[part].mean()) ** 2).sum()
        return spread - expected + total * leaf / (total + leaf) / k + price * min(cell, total / k)

    costs = [cost(node) for node in range(tree.lows.size)]
    begins = prune(*tree[1:], cells, noise, blocks, cell, block, leaf, price)
    node_at = {(low, high): i for i, (low, high) in enumerate(zip(tree.lows, tree.highs, strict=True))}
    chosen = [node_at[pair] for pair in zip(begins, [*begins[1:], n], strict=True)]
    least = min(sum(costs[node] for node in nodes) for nodes in all_prunings(tree, 0))
    assert sum(costs[node] for node in chosen) == pytest.approx(least, abs=1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_fusing_is_least_squares_over_cells_leaves_and_blocks(seed):
    rng = np.random.default_rng(seed)
    small = halves((4,))
    prunings = list(all_prunings(small, 0))
    blocks = halves((16,)).nodes_within(4)
    leaves = np.sort([b + small.lows[node] for b in blocks for node in prunings[int(rng.integers(len(prunings)))]])
    to_leaves = np.repeat(np.eye(leaves.size), np.diff(leaves, append=16), axis=1)
    to_blocks = np.repeat(np.eye(4), 4, axis=1)
    cells, counts, totals = rng.normal(size=16), rng.normal(size=leaves.size), rng.normal(size=4)
    noise, leaf, total = rng.uniform(0.5, 5, size=3)
    found = _FirstStage(cells, noise, blocks, totals, total).fuse(leaves, counts, leaf)
    rows = np.vstack([np.eye(16) / np.sqrt(noise), to_leaves / np.sqrt(leaf), to_blocks / np.sqrt(total)])
    right = np.concatenate([cells / np.sqrt(noise), counts / np.sqrt(leaf), totals / np.sqrt(total)])
    assert np.allclose(found, to_leaves @ np.linalg.lstsq(rows, right, rcond=None)[0])


def test_a_leaf_of_several_blocks_is_measured_by_their_sum():
    cells, totals = np.arange(16.0), np.array([3.0, 5.0, 40.0, 60.0])
    stage = _FirstStage(cells, 2.0, np.array([0, 4, 8, 12]), totals, 6.0)
    found = stage.fuse(np.array([0, 8, 12]), np.array([30.0, 41.0, 55.0]), 4.0)
    estimates, precisions = np.array([cells[:8].sum(), 30.0, totals[:2].sum()]), 1 / np.array([8 * 2.0, 4.0, 2 * 6.0])
    assert np.isclose(found[0], (estimates * precisions).sum() / precisions.sum())


@pytest.mark.parametrize("shape", [(30,), (5, 6)])
def test_both_stages_have_noise_of_their_own(shape):
    """Cells that differ widely are leaves: two measurements at ε/2 each, averaged. Repeated noise would not average out."""
    x = (np.random.default_rng(0).permutation(30) * 10_000).reshape(shape)
    errors = simulate.errors("DPCube", x, workloads.identity(shape), 1, trials=1_000, seed=4)
    expected = 30 * variance(Fraction(2)) / 2
    assert abs((errors**2).mean() - expected) < 6 * (errors**2).std() / np.sqrt(1_000)


def test_even_data_get_one_leaf_and_little_error():
    x = np.full(256, 20)
    ours = simulate.errors("DPCube", x, workloads.identity(256), 1, trials=20, seed=1).mean()
    assert ours < 0.15 * simulate.errors("Laplace", x, workloads.identity(256), 1, trials=20, seed=1).mean()


def test_long_ranges_get_blocks_and_short_ones_do_not():
    cells = [("Identity", 256, Fraction(1, 2))]
    assert asked_of("DPCube", np.arange(256), workloads.identity(256))[:-1] == cells
    both = [("Blocks", 8, Fraction(1, 4)), ("Identity", 256, Fraction(1, 4))]
    assert asked_of("DPCube", np.arange(256), workloads.prefix(256))[:-1] == both


def test_the_median_step_of_noise():
    assert (1 + MEDIAN_STEP / 2) * np.exp(-MEDIAN_STEP) == pytest.approx(0.5, abs=1e-4)
    rng = np.random.default_rng(0)
    steps = np.abs(rng.laplace(size=10**6) - rng.laplace(size=10**6))
    assert np.median(steps) == pytest.approx(MEDIAN_STEP, abs=0.01)
