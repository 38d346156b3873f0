"""Leaves: they cover the domain, and their surroundings leave them out."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jostle.linear.shrinkage.leaves import cut, regular


@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=2).map(tuple),
    st.integers(1, 5),
    st.lists(st.integers(0, 4), min_size=25, max_size=25),
)
def test_cut_boxes_cover_every_cell_once_inside_their_parents(shape, cells, pieces):
    boxes = regular(shape, (cells,) * len(shape))
    leaves = cut(boxes, np.array(pieces)[: boxes.number])
    assert leaves.areas.sum() == np.prod(shape)
    assert np.bincount(leaves.partition.labels, minlength=leaves.number).tolist() == leaves.areas.tolist()
    assert (boxes.partition.labels == leaves.parents[leaves.partition.labels]).all()
    assert (leaves.lows >= boxes.lows[leaves.parents]).all()
    assert (leaves.highs <= boxes.highs[leaves.parents]).all()


@pytest.mark.parametrize("shape", [(12,), (4, 6)])
def test_surroundings_by_hand(shape):
    rng = np.random.default_rng(0)
    leaves = cut(regular(shape, (2,) * len(shape)), rng.integers(1, 3, size=2 ** len(shape)))
    values = rng.uniform(1, 9, size=leaves.number)
    density = (values / leaves.areas)[leaves.partition.labels].reshape(shape)
    for reach, found in zip((1, 2), leaves.surroundings(values, (1, 2)), strict=True):
        for k in range(leaves.number):
            widths = leaves.highs[k] - leaves.lows[k]
            window = tuple(
                slice(max(0, low - reach * w), min(n, high + reach * w))
                for low, high, w, n in zip(leaves.lows[k], leaves.highs[k], widths, shape, strict=True)
            )
            around, area = density[window].sum() - values[k], density[window].size - leaves.areas[k]
            assert found[k] == pytest.approx(around / area * leaves.areas[k])


def test_a_uniform_density_is_seen_everywhere():
    leaves = regular((6, 6), (3, 2))
    assert leaves.surroundings(leaves.areas * 2.0, (1,))[0] == pytest.approx(leaves.areas * 2.0)
    alone = regular((3,), (1,))
    assert alone.surroundings(np.array([5.0]), (1,))[0].tolist() == [0.0]
