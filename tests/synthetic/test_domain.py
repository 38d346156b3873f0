"""Cells are put together by noisy counts, and values are drawn back from cells."""

from __future__ import annotations

from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jostle.schema import Boolean, Category, Column, Date, Integer, Real
from jostle.synthetic.domain import coarse_column, plain_values

COLUMNS: list[Column] = [
    Integer(-3, 40),
    Integer(0, 99, bins=7),
    Real(0, 1, bins=9),
    Real(1, 1000, bins=8, spacing="log"),
    Real(0, 9, cuts=[1, 5]),
    Date(date(2023, 12, 30), date(2024, 3, 1), every="day"),
    Date(date(2023, 12, 30), date(2024, 3, 1), every="week"),
    Date(date(2023, 12, 30), date(2024, 3, 1), every="month"),
    Date(date(2020, 5, 5), date(2024, 3, 1), every="year"),
    Category(["a", "b", "c"]),
    Category([1, 2], outside="drop", null="own"),
    Boolean(outside="drop"),
]


@pytest.mark.parametrize("column", COLUMNS, ids=str)
def test_a_drawn_value_is_in_the_cell_that_it_was_drawn_from(column: Column) -> None:
    rng = np.random.default_rng(0)
    cells = np.tile(np.arange(column.size), 20)
    assert column.encode(plain_values(column, cells, rng)).tolist() == cells.tolist()


def test_values_that_are_not_foreseen() -> None:
    rng = np.random.default_rng(0)
    assert plain_values(Category(["a"]), np.array([0, 1, 2]), rng).tolist() == ["a", "(other)", None]
    assert plain_values(Integer(0, 1, outside="own", null="own"), np.array([1, 2, 3]), rng).tolist() == [1, None, None]


@given(st.lists(st.floats(-50, 500), min_size=6, max_size=40), st.floats(0, 300), st.integers(1, 10))
def test_groups_have_no_gaps_and_ordered_ones_are_runs(noisy, least, most) -> None:
    values = np.array(noisy)
    ordered = coarse_column(Integer(0, len(noisy) - 1), values, least, most)
    assert set(np.diff(ordered.groups)) <= {0, 1}
    assert ordered.groups[0] == 0
    named = coarse_column(Category([str(one) for one in range(len(noisy) - 2)]), values, least, most)
    assert set(named.groups) == set(range(named.size))
    assert all(np.sum(named.groups == named.groups[cell]) == 1 for cell in np.flatnonzero(values >= max(least, 1e-9)))


def test_cells_of_a_group_are_shared_out_by_their_counts() -> None:
    column = coarse_column(Integer(0, 3), np.array([10.0, 30.0, 0.0, 100.0]), 60.0, 9)
    assert column.groups.tolist() == [0, 0, 0, 1]
    cells = column.cells(np.zeros(400, dtype=np.int64), np.random.default_rng(0))
    assert np.bincount(cells, minlength=4).tolist() == [100, 300, 0, 0]


def test_an_empty_group_is_divided_evenly() -> None:
    column = coarse_column(Category(["a", "b"]), np.zeros(4), 5.0, 9)
    assert column.size == 1
    assert np.bincount(column.cells(np.zeros(40, dtype=np.int64), np.random.default_rng(0))).tolist() == [10] * 4
