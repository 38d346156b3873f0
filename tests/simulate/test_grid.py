"""The paper's grid: shapes re-binned and scaled, its workloads, and the report."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jostle import workloads
from jostle.datasets import shapes
from jostle.kernel.errors import BadInput
from jostle.simulate import grid, measure
from tests.simulate.folders import data_folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return data_folder(tmp_path_factory.mktemp("made-up") / "data")


# ------------------------------------------------------------------------------------------------------------- shapes


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=30).filter(any), st.integers(0, 2**24), st.integers(0, 9))
def test_scaled_totals_are_exact_and_shares_are_kept_within_one(counts, total, seed):
    shape = np.array(counts)
    found = shapes.scaled(shape, total, seed=seed)
    assert found.sum() == total
    assert (np.abs(found - total * shape / shape.sum()) < 1 + 1e-6).all()
    assert (found[shape == 0] == 0).all()


def test_scaling_rounds_up_the_largest_remainders():
    assert shapes.scaled(np.array([41, 33, 26]), 10, seed=0).tolist() == [4, 3, 3]
    assert shapes.scaled(np.array([[1, 2], [3, 4]]), 1000, seed=0).tolist() == [[100, 200], [300, 400]]


def test_equal_remainders_are_not_broken_by_position():
    flat = np.ones(1000, dtype=np.int64)
    places = np.flatnonzero(shapes.scaled(flat, 100, seed=0))
    assert places.size == 100
    assert 300 < places.mean() < 700  # the mean of 100 places out of 1,000: seven standard errors
    assert (shapes.scaled(flat, 100, seed=0) == shapes.scaled(flat, 100, seed=0)).all()
    assert (shapes.scaled(flat, 100, seed=0) != shapes.scaled(flat, 100, seed=1)).any()


def test_drawn_data_have_the_total_and_the_shape():
    shape = np.array([[0, 1], [2, 5]])
    found = shapes.drawn(shape, 80_000, seed=0)
    assert found.sum() == 80_000
    assert found[0, 0] == 0
    np.testing.assert_allclose(found, [[0, 10_000], [20_000, 50_000]], atol=1000)  # seven standard errors


def test_rebinning_adds_up_or_splits_evenly():
    line = np.arange(8)
    assert shapes.rebin(line, (8,)).tolist() == line.tolist()
    assert shapes.rebin(line, (4,)).tolist() == [1, 5, 9, 13]
    assert shapes.rebin(line, (16,)).tolist() == np.repeat(line, 2).tolist()
    square = np.arange(16).reshape(4, 4)
    assert shapes.rebin(square, (2, 2)).tolist() == [[10, 18], [42, 50]]
    assert shapes.rebin(square, (1, 8)).tolist() == [np.repeat(square.sum(axis=0), 2).tolist()]
    assert shapes.scaled(shapes.rebin(np.array([1, 3]), (4,)), 16, seed=0).tolist() == [2, 2, 6, 6]


@given(
    st.lists(st.integers(0, 10**6), min_size=1, max_size=12).filter(any),
    st.integers(1, 40),
    st.booleans(),
    st.one_of(st.none(), st.floats(1e-3, 1.0)),
)
def test_smoothing_loses_nothing(counts, cells, categorical, bandwidth):
    found = shapes.smoothed(np.array(counts), (cells,), axes=(0,) if categorical else (), bandwidth=bandwidth)
    assert found.shape == (cells,)
    assert (found >= 0).all()
    assert abs(int(found.sum()) - 2**32) <= cells


def test_numeric_axes_are_cut_and_not_smoothed():
    line = np.array([1, 2, 3, 4, 5, 6])
    for cells in (1, 2, 3, 12):
        whole = shapes.rebin(line, (cells,))
        np.testing.assert_allclose(shapes.smoothed(line, (cells,), axes=()) / 2**32, whole / whole.sum(), atol=1e-9)
    by_hand = [1 + 2 / 2, 2 / 2 + 3, 4 + 5 / 2, 5 / 2 + 6]  # a cell and a half each
    np.testing.assert_allclose(shapes.smoothed(line, (4,), axes=()) / 2**32 * 21, by_hand, atol=1e-7)


def test_categories_become_a_density_by_a_gaussian_kernel():
    counts, cells, width = np.array([30, 0, 10, 60]), 64, 0.05
    found = shapes.smoothed(counts, (cells,), bandwidth=width) / 2**32
    fine = (np.arange(cells * 200) + 0.5) / (cells * 200)  # the integral of the kernels, reflected at the ends
    middles = (np.arange(4)[:, None] + 0.5) / 4
    kernels = sum(np.exp(-0.5 * ((fine - place) / width) ** 2) for place in (middles, -middles, 2 - middles))
    density = (counts / 100) @ (kernels / kernels.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(found, density.reshape(cells, 200).sum(axis=1), atol=1e-6)


def test_the_kernel_s_width_follows_scott_and_neighbours_flow_into_one_another():
    few, many = (shapes.smoothed(np.array([n, 0, 0, 0, 0, 0, 0, n]), (64,)) for n in (5, 10**9))
    middle = slice(28, 36)
    assert few[middle].sum() > many[middle].sum()
    spread = np.sqrt(2 * 0.5 * (7 / 16) ** 2)
    by_hand = shapes.smoothed(np.array([5, 0, 0, 0, 0, 0, 0, 5]), (64,), bandwidth=spread * 10**-0.2)
    assert (few == by_hand).all()
    assert (many == shapes.smoothed(np.array([10**9, 0, 0, 0, 0, 0, 0, 10**9]), (64,), bandwidth=0.5 / 8)).all()
    flat = shapes.smoothed(np.full(8, 10**6), (64,))
    assert flat.max() < 1.04 * flat.min()  # a row of kernels half as wide as they are apart ripples by 3 %


def test_a_table_of_a_category_and_a_number_has_one_axis_of_each_kind():
    table = np.array([[4, 0, 0, 4], [0, 8, 0, 0]])
    found = shapes.smoothed(table, (16, 8), axes=(0,)) / 2**32
    np.testing.assert_allclose(found.sum(axis=0), [1 / 8, 1 / 8, 1 / 4, 1 / 4, 0, 0, 1 / 8, 1 / 8], atol=1e-8)
    assert (found[:, 2] > 0).all()
    cell = grid.cells("range-2d", {"mixed": shapes.smoothed(table, (16, 16), axes=(0,))}, sides=(8,), exponents=(24,))[0]
    assert cell.vector().sum() == 2**24


@pytest.mark.parametrize(
    "make",
    [
        lambda: shapes.smoothed(np.ones(8, dtype=int), (2, 2)),
        lambda: shapes.smoothed(np.ones(8, dtype=int), (0,)),
        lambda: shapes.smoothed(np.ones(8, dtype=int), (4,), axes=(1,)),
        lambda: shapes.smoothed(np.ones(8, dtype=int), (4,), bandwidth=0.0),
        lambda: shapes.smoothed(np.zeros(8, dtype=int), (4,)),
        lambda: shapes.rebin(np.ones(8), (3,)),
        lambda: shapes.rebin(np.ones(8), (2, 2)),
        lambda: shapes.scaled(np.zeros(4, dtype=int), 5, seed=0),
        lambda: shapes.drawn(np.array([-1, 2]), 5, seed=0),
        lambda: shapes.scaled(np.array([2**50, 1]), 2**20, seed=0),
    ],
)
def test_what_is_no_shape_is_refused(make):
    with pytest.raises(BadInput, match="Remedy"):
        make()


def test_a_folder_without_shapes_is_refused(tmp_path, monkeypatch):
    monkeypatch.delenv("JOSTLE_DATA", raising=False)
    with pytest.raises(BadInput, match="JOSTLE_DATA"):
        shapes.data_folder()
    with pytest.raises(BadInput, match="is not a folder"):
        shapes.data_folder(tmp_path / "nowhere")
    with pytest.raises(BadInput, match="there is no dpbench_1d.npz"):
        shapes.public_shapes("range-1d", tmp_path)


# -------------------------------------------------------------------------------------------------------- rectangles


@pytest.mark.parametrize("side", [4, 8, 16, 32, 64, 128, 100])
@pytest.mark.parametrize("kind", ["short", "medium", "long", "mixed"])
def test_sides_are_as_long_as_the_paper_says(side, kind):
    boxes = workloads.random_rectangles((side, side), 1000, seed=3, lengths=kind).queries
    lengths = boxes.highs - boxes.lows
    low, high = {"short": (0, side / 16), "medium": (side / 16, side / 4), "long": (side / 4, np.inf)}.get(kind, (0, np.inf))
    assert lengths.shape == (1000, 2)
    assert (lengths >= max(1, low)).all()
    assert (lengths < max(high, 2)).all()  # a side has one cell at least, also where the paper's bound leaves none
    assert (boxes.lows >= 0).all()
    assert (boxes.highs <= side).all()
    if kind == "long":
        assert lengths.max() == side


def test_a_mix_has_all_three_kinds_and_both_sides_of_a_box_agree():
    boxes = workloads.random_rectangles((128, 128), 3000, seed=0, lengths="mixed").queries
    kinds = np.digitize(boxes.highs - boxes.lows, [8, 32])
    assert (kinds[:, 0] == kinds[:, 1]).all()
    shares = np.bincount(kinds[:, 0], minlength=3) / 3000
    np.testing.assert_allclose(shares, 1 / 3, atol=0.06)  # seven standard errors


def test_boxes_of_any_share_in_any_number_of_dimensions():
    boxes = workloads.random_rectangles((10, 20, 5), 500, seed=0, lengths=(0.2, 0.5)).queries
    lengths = boxes.highs - boxes.lows
    assert [(int(axis.min()), int(axis.max())) for axis in lengths.T] == [(2, 4), (4, 9), (1, 2)]
    assert (workloads.random_rectangles((9,), 500, seed=0).queries.highs == 9).any()


@pytest.mark.parametrize("wrong", [{"lengths": "tiny"}, {"lengths": (0.5, 0.2)}, {"lengths": (0, 2)}, {"number": 0}])
def test_boxes_that_cannot_be_drawn_are_refused(wrong):
    with pytest.raises(BadInput, match=next(iter(wrong))):
        workloads.random_rectangles((8, 8), seed=0, **{"number": 5} | wrong)


# --------------------------------------------------------------------------------------------------------------- grid


def test_the_grid_is_the_paper_s(folder):
    line, square = grid.cells("range-1d", folder), grid.cells("range-2d", folder)
    assert len(line) == 3 * 7 * 20 * 2  # the paper's seven shapes give 1,960 inputs
    assert len(square) == 3 * 6 * 20 * 4  # and its nine 4,320
    assert {cell.side for cell in line} == {128, 256, 512, 1024, 2048, 4096, 8192}
    assert {cell.domain for cell in square} == {(n, n) for n in (4, 8, 16, 32, 64, 128)}
    assert {cell.exponent for cell in line} == set(range(5, 25))
    assert len({cell.key for cell in line + square}) == len(line + square)


def test_inputs_have_names_exact_totals_and_are_the_same_everywhere(folder):
    for task, name in (("range-1d", "ONE|n1024|s2^12|e1|prefix"), ("range-2d", "ONE|n64x64|s2^12|e1|mixed")):
        everything = {cell.key: cell for cell in grid.cells(task, folder)}
        cell = everything[name]
        assert cell.vector().sum() == 2**12
        assert cell.vector().shape == cell.workload().domain == cell.domain
        held = measure.digest(cell)
        grid._vector.cache_clear()
        assert measure.digest(replace(cell)) == held
        sampled = next(one for one in grid.cells(task, folder, sampled=True) if one.data_key == f"{cell.data_key}|drawn")
        assert sampled.vector().sum() == 2**12
        assert (sampled.vector() != cell.vector()).any()
    with pytest.raises(ValueError, match="read-only"):
        cell.vector()[0] = 1


def test_the_public_shapes_fill_the_whole_grid(jostle_data):
    assert len(grid.cells("range-1d", jostle_data)) == 1960
    assert len(grid.cells("range-2d", jostle_data)) == 4320
    for task in grid.SUITE:
        for cell in grid.cells(task, jostle_data, exponents=(5, 24)):
            assert cell.vector().sum() == 2**cell.exponent


def test_the_suite_is_registered_or_left_out():
    for task in grid.SUITE:
        assert set(grid.suite(task)) <= set(grid.SUITE[task])
        assert not set(grid.options(task)) & set(grid.SUITE[task])
        assert {"Laplace", "HB"} <= set(grid.suite(task))
