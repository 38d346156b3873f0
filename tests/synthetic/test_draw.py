"""Synthetic records have the model's counts, rounded."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from jostle.synthetic.draw import draw_records, shared_out
from jostle.synthetic.junction_tree import JunctionTree
from jostle.synthetic.model import CliqueModel


@given(st.integers(0, 300), st.integers(0, 2**31))
def test_each_group_shares_out_its_values_up_to_rounding(rows: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights, groups = rng.dirichlet(np.ones(4), size=3), rng.integers(0, 3, rows)
    drawn = shared_out(groups, weights, rng)
    counts = np.zeros((3, 4))
    np.add.at(counts, (groups, drawn), 1)
    wanted = weights * np.bincount(groups, minlength=3)[:, None]
    assert np.abs(counts - wanted).max(initial=0) < 1 + 1e-9


def test_values_without_weight_are_never_drawn_and_empty_rows_are_even() -> None:
    groups = np.repeat([0, 1], 100)
    drawn = shared_out(groups, np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]), np.random.default_rng(0))
    assert set(drawn[:100]) == {1}
    assert np.abs(np.bincount(drawn[100:], minlength=3) - 100 / 3).max() <= 1


def test_records_follow_the_model() -> None:
    rng = np.random.default_rng(0)
    tree = JunctionTree.over([3, 4, 2, 5], [(0, 1), (1, 2)])
    model = CliqueModel.of(tree, [rng.normal(size=[tree.sizes[axis] for axis in clique]) for clique in tree.cliques])
    codes = draw_records(model, 50_000, rng)
    for clique, belief in zip(tree.cliques, model.beliefs, strict=True):
        counts = np.zeros(belief.shape)
        np.add.at(counts, tuple(codes[axis] for axis in clique), 1)
        assert np.abs(counts - 50_000 * belief).max() < 25  # a sum of roundings; independent draws are off by 100


def test_no_records() -> None:
    tree = JunctionTree.over([2, 2], [(0, 1)])
    assert [codes.size for codes in draw_records(CliqueModel.of(tree, [np.zeros((2, 2))]), 0, np.random.default_rng(0))] == [
        0,
        0,
    ]
