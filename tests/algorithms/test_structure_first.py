"""StructureFirst: what was wrong with it, and what its repaired choice of bins finds."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from jostle import algorithms, simulate, workloads
from jostle.kernel.functions.intervals import deviations
from jostle.kernel.noise import variance
from jostle.kernel.source import SimulatedSource
from tests.algorithms.asking import asked_of


def squares(x):
    return ((x - x.mean()) ** 2).sum()


def test_the_published_score_moves_with_the_counts_and_the_repaired_one_by_one():
    for count in (10, 1_000, 100_000):
        x = np.zeros(8, dtype=np.int64)
        x[3] = count
        more = x + np.eye(8, dtype=np.int64)[3]
        assert squares(more) - squares(x) > count  # the paper's squared error of a bin
        assert (np.abs(deviations(more) - deviations(x)) <= 1).all()


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_large_steps_are_found(neighbours):
    x = np.repeat([0, 10_000, 50, 7_000], [64, 32, 96, 64])
    source = SimulatedSource(x, seed=0, neighbours=neighbours)
    found = algorithms.get("StructureFirst").run(source, workloads.identity(256), source.grant(10))
    assert np.abs(found - x).max() < 50


def test_even_data_are_few_bins():
    x = np.full(256, 12)
    ours = simulate.errors("StructureFirst", x, workloads.identity(256), 1, trials=20, seed=1).mean()
    assert ours < 0.4 * simulate.errors("Laplace", x, workloads.identity(256), 1, trials=20, seed=1).mean()


def test_distant_cells_are_bins_of_their_own():
    x = np.random.default_rng(0).permutation(32) * 100_000
    errors = simulate.errors("StructureFirst", x, workloads.identity(32), 1, trials=1_000, seed=2)
    expected = 32 * variance(Fraction(4, 3))
    assert abs((errors**2).mean() - expected) < 6 * (errors**2).std() / np.sqrt(1_000)


def test_a_quarter_goes_to_the_structure_and_no_count_is_free():
    asked = asked_of("StructureFirst", np.arange(16), workloads.identity(16))
    assert asked[0] == ("partition", 16, Fraction(1, 4))
    assert [(what, epsilon) for what, _, epsilon in asked[1:]] == [("Identity", Fraction(3, 4))]
