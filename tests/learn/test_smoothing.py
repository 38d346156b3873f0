"""Guesses at a noisy table's cells from other cells: closed forms, brute force, and what must not be smoothed away."""

from __future__ import annotations

from itertools import combinations
from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jostle.kernel.records import ArrayColumns, SimulatedRecords
from jostle.learn import histograms
from jostle.learn.cells import CellModel, NoisyClasses, measure
from jostle.learn.histograms import joint
from jostle.learn.registry import FloatArray
from jostle.learn.smoothing import beyond_leads, by_parts, by_rank, smoothed
from jostle.learn.task import Task
from jostle.schema import Boolean, Category

SHAPES = [(2, 2), (3, 5), (4, 2, 3), (2, 3, 2, 2)]


def effects(table: FloatArray) -> dict[tuple[int, ...], FloatArray]:
    """Every part of an analysis of variance by its definition: means over the other axes, less all smaller parts."""
    found: dict[tuple[int, ...], FloatArray] = {}
    for size in range(table.ndim + 1):
        for axes in combinations(range(table.ndim), size):
            others = tuple(axis for axis in range(table.ndim) if axis not in axes)
            smaller = sum(part for known, part in found.items() if set(known) < set(axes))
            found[axes] = table.mean(axis=others, keepdims=True) - smaller
    return found


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("size", [0.5, 2.0, 30.0])
def test_parts_are_those_of_the_definition_each_shrunken(shape: tuple[int, ...], size: float) -> None:
    table = np.random.default_rng(len(shape)).normal(scale=size, size=shape) + 7
    expected = np.zeros(shape)
    for axes, part in effects(table).items():
        squares = float((np.broadcast_to(part, shape) ** 2).sum())
        chance = 2.0 * prod(shape[axis] - 1 for axis in axes)
        kept = 1.0 if not axes else 0.0 if len(axes) == len(shape) else max(0.0, 1 - chance / squares)
        expected += kept * part
    assert by_parts(table) == pytest.approx(expected)


def test_an_effect_keeps_what_noise_does_not_explain() -> None:
    up = np.array([[3.0, 3.0], [-3.0, -3.0]])  # squares of 36, of which a variance of 2 explains 2
    assert by_parts(up) == pytest.approx(up * (1 - 2 / 36))
    assert by_parts(up / 10 + 5) == pytest.approx(np.full((2, 2), 5.0))  # squares of 0.36: no more than noise


def test_singular_values_keep_what_noise_does_not_explain() -> None:
    table = np.diag([10.0, 1.0])  # square: a value s becomes √(s² − 4 · 2 · 2), and 0 below 4
    assert by_rank(table) == pytest.approx(np.diag([84**0.5, 0.0]))


@pytest.mark.parametrize("shape", SHAPES)
def test_guesses_do_not_hang_on_the_order_of_bins_or_attributes(shape: tuple[int, ...]) -> None:
    draw = np.random.default_rng(3)
    table = draw.normal(scale=9, size=shape)
    orders = [draw.permutation(width) for width in shape]
    for guess in (by_parts, by_rank):
        assert guess(table[np.ix_(*orders)]) == pytest.approx(guess(table)[np.ix_(*orders)])
        assert guess(table.T) == pytest.approx(guess(table).T)
        assert guess(-table) == pytest.approx(-guess(table))


@pytest.mark.parametrize("shape", SHAPES)
def test_a_guess_is_in_the_unit_of_the_table(shape: tuple[int, ...]) -> None:
    table = np.random.default_rng(4).normal(scale=9, size=prod(shape))
    assert smoothed(1e6 * table, 1e6, shape) == pytest.approx(1e6 * smoothed(table, 1.0, shape))


def test_nothing_is_smoothed_where_there_is_no_noise() -> None:
    draw, shape = np.random.default_rng(5), (4, 3, 2)
    leads = draw.choice([-40.0, -1, 1, 40], size=24)
    assert NoisyClasses(leads, 1e-9).shares(shape)[:, 1] == pytest.approx((leads > 0).astype(float), abs=1e-6)
    counts = draw.integers(1, 40, size=(24, 3)).astype(float)
    assert NoisyClasses(counts, 1e-9).shares(shape) == pytest.approx(counts / counts.sum(axis=1, keepdims=True), abs=1e-6)


@pytest.mark.parametrize("shape", [(2, 2), (2, 2, 2), (4, 4)])
def test_what_attributes_tell_together_alone_is_not_flattened(shape: tuple[int, ...]) -> None:
    parity = np.indices(shape).sum(axis=0) % 2
    leads = np.where(parity == 1, 200.0, -200.0).ravel() + np.random.default_rng(6).laplace(scale=10, size=prod(shape))
    assert NoisyClasses(leads, 10.0).shares(shape).argmax(axis=1).tolist() == parity.ravel().tolist()


@pytest.mark.parametrize("classes", [2, 3])
def test_cells_of_few_records_are_told_by_others(classes: int) -> None:
    """Each attribute adds to a class: one cell tells less than its noise, a row of them more.

    Over 40 draws fewer cells are wrong, by more than five standard errors: by chance in 3 of 10⁷ cases.
    """
    draw, shape = np.random.default_rng(7), (12, 12)
    truth = 20 + 4 * np.array([np.add.outer(*draw.normal(size=(2, 12))).ravel() for _ in range(classes)]).T
    exact = truth[:, 1] - truth[:, 0] if classes == 2 else truth
    saved = []
    for _ in range(40):
        leaves = NoisyClasses(exact + draw.laplace(scale=8, size=exact.shape), 8.0)
        alone, together = (leaves.shares(one).argmax(axis=1) != truth.argmax(axis=1) for one in ((), shape))
        saved.append(int(alone.sum()) - int(together.sum()))
    assert np.mean(saved) > 5 * np.std(saved, ddof=1) / len(saved) ** 0.5


@given(
    st.sampled_from(SHAPES),
    st.integers(1, 4),
    st.integers(0, 2**32 - 1),
    st.sampled_from([0.0, 1e-12, 1.0, 1e9]),
    st.sampled_from([0.0, 1.0, 1e12]),
)
def test_shares_are_probabilities_whatever_was_measured(
    shape: tuple[int, ...], classes: int, seed: int, scale: float, size: float
) -> None:
    draw = np.random.default_rng(seed)
    noisy = size * draw.standard_cauchy(size=prod(shape) if classes == 2 else (prod(shape), classes)) + scale
    shares = NoisyClasses(noisy, max(scale, 1e-15)).shares(shape)
    assert shares.shape == (prod(shape), classes)
    assert (shares >= 0).all()
    assert shares.sum(axis=1) == pytest.approx(1)


def test_one_attribute_is_not_smoothed() -> None:
    leaves = NoisyClasses(np.random.default_rng(8).normal(size=30) * 20, 10.0)
    assert leaves.shares((30,)).tolist() == leaves.shares().tolist()


def test_joint_smooths_the_cells_that_it_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    task = Task(("a", "b"), "class", {"a": Category(list("wxyz")), "b": Category(list("wxyz")), "class": Boolean()})
    draw = np.random.default_rng(9)
    codes = {"a": draw.integers(0, 4, size=2_000), "b": draw.integers(0, 4, size=2_000)}
    codes["class"] = (codes["a"] + codes["b"] > 3).astype(np.int64)
    seen: list[NoisyClasses] = []

    def watched(*given: Any) -> NoisyClasses:
        seen.append(measure(*given))
        return seen[-1]

    monkeypatch.setattr(histograms, "measure", watched)
    records = SimulatedRecords(ArrayColumns.having(task.label, codes, task.sizes), seed=0)
    model = joint.run(records, task, records.grant(0.5))
    assert isinstance(model, CellModel)
    assert model.attributes == ("a", "b")
    assert model.table.tolist() == seen[0].shares((5, 5)).tolist() != seen[0].shares().tolist()


def test_probabilities_come_true_where_the_number_of_records_is_known() -> None:
    """The mean probability of the prediction is the share of right ones, without noise; and the prediction is the same."""
    draw = np.random.default_rng(10)
    counts = draw.integers(50, 900, size=(40, 2)).astype(float)
    leads, total = counts[:, 1] - counts[:, 0], float(counts.sum())
    known, unknown = NoisyClasses(leads, 1e-9, total).shares(), NoisyClasses(leads, 1e-9).shares()
    assert (known.argmax(axis=1) == unknown.argmax(axis=1)).all()
    right = counts.max(axis=1).sum() / total
    sure, surer = (float(np.average(shares.max(axis=1), weights=counts.sum(axis=1))) for shares in (known, unknown))
    assert sure == pytest.approx(right, abs=0.03)
    assert surer > 0.999


def test_records_beyond_the_leads_add_up_to_all() -> None:
    leads = np.array([30.0, -5.0, 0.0, 200.0])
    beyond = beyond_leads(leads, 2.0, 1_000.0)
    assert np.abs(leads).sum() + beyond.sum() == pytest.approx(1_000)
    assert beyond[3] > beyond[0] > beyond[1] > beyond[2] == 0
    assert not beyond_leads(leads, 2.0, 100.0).any()  # a noisy number of records may be below the leads
