"""The worth of a tree's levels to a workload, against dense algebra."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jostle import workloads
from jostle.kernel.errors import BadInput
from jostle.kernel.strategies import hierarchy
from jostle.linear.design.levels import _probed_energies, best_weights, level_energies, weighted
from jostle.linear.fitting.trees import tree_least_squares


def by_projection(tree, queries):
    """The squared length of the queries' block averages, level by level."""
    lengths = []
    for level in tree.levels:
        axes = [np.searchsorted(starts, np.arange(n), side="right") - 1 for n, starts in zip(tree.shape, level, strict=True)]
        label = np.ravel_multi_index(np.meshgrid(*axes, indexing="ij"), [len(starts) for starts in level]).reshape(-1)
        blocks = (label == np.arange(label.max() + 1)[:, None]).astype(float)
        blocks /= np.sqrt(blocks.sum(axis=1, keepdims=True))
        lengths.append(np.square(queries @ blocks.T).sum())
    return np.diff(lengths, prepend=0.0)


@settings(max_examples=40)
@given(st.lists(st.integers(1, 9), min_size=1, max_size=2).map(tuple), st.integers(2, 4), st.integers(0, 2**32))
def test_energies_are_those_of_projections(shape, branching, seed):
    rng = np.random.default_rng(seed)
    lows = np.array([[rng.integers(0, n) for n in shape] for _ in range(20)])
    highs = np.array([[rng.integers(low, n) + 1 for low, n in zip(row, shape, strict=True)] for row in lows])
    asked = [workloads.identity(shape), workloads.rectangles(shape, lows, highs)]
    asked += [workloads.prefix(*shape)] if len(shape) == 1 else []
    tree = hierarchy(shape, branching)
    for workload in asked:
        expected = by_projection(tree, workload.queries.dense())
        np.testing.assert_allclose(level_energies(tree, workload.queries), expected, atol=1e-8)


def test_probes_come_close():
    tree, queries = hierarchy(64, 2), workloads.prefix(64).queries
    np.testing.assert_allclose(_probed_energies(tree, queries), level_energies(tree, queries), rtol=0.5)
    total = workloads.total(64).queries
    energies = level_energies(tree, total)
    assert energies[0] > 0
    np.testing.assert_allclose(energies[1:], 0, atol=1e-20)


@pytest.mark.parametrize("workload", [workloads.prefix(64), workloads.all_ranges(64), workloads.identity(64)])
def test_the_variance_is_that_of_least_squares_and_no_weights_are_better(workload):
    tree = hierarchy(64, 2)
    energies = level_energies(tree, workload.queries)
    weights, variance = best_weights(tree, energies)
    chosen = weighted(tree, weights)
    strategy, queries = chosen.dense(), workload.queries.dense()
    gram = queries.T @ queries

    def exact(matrix):
        return np.abs(matrix).sum(axis=0).max() ** 2 * (np.linalg.inv(matrix.T @ matrix) * gram).sum()

    assert exact(strategy) == pytest.approx(variance, rel=1e-4)
    rng = np.random.default_rng(0)
    dense, row_level = tree.dense(), np.repeat(np.arange(7), [2**k for k in range(7)])
    for trial in range(200):
        other = rng.dirichlet(np.ones(7)) + 1e-3 if trial % 2 else weights * np.exp(rng.normal(0, 0.2, 7)) + 1e-4
        assert exact(dense * other[row_level][:, None]) >= variance * 0.9999


def test_a_pruned_tree_still_solves():
    tree = weighted(hierarchy(12, 2), np.array([0.0, 1.0, 0.0, 0.0, 2.0]))
    answers = np.random.default_rng(0).normal(size=tree.rows)
    np.testing.assert_allclose(tree_least_squares(tree, answers), np.linalg.pinv(tree.dense()) @ answers, atol=1e-9)
    with pytest.raises(BadInput, match="weights"):
        weighted(hierarchy(4, 2), np.array([1.0, 1.0, 0.0]))
