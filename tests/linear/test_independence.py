"""Histograms drawn to independence of their axes: closer to the true ones, and never below 0."""

from __future__ import annotations

import math
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

import jostle
from jostle.kernel.measures import largest_rho
from jostle.kernel.records import ArrayColumns, SimulatedRecords
from jostle.linear.design.residuals import plan_residuals
from jostle.linear.shrinkage.independence import drawn_to_independence

SIZES = dict(zip("abcdefghijklmn", (85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2), strict=True))
"""Of Adult: age in years, weight, gain and loss in hundredths of their range, hours, and the categories."""


@given(
    arrays(np.float64, array_shapes(min_dims=1, max_dims=3, max_side=7), elements=st.floats(-1e6, 1e6)),
    st.floats(0, 1e9),
)
def test_cells_are_whole_numbers_of_nothing_below_0(noisy, variance):
    found = drawn_to_independence(noisy, variance)
    assert found.shape == noisy.shape
    assert np.isfinite(found).all()
    assert (found >= 0).all()
    if variance == 0:
        assert np.array_equal(found, np.maximum(noisy, 0))


def test_the_order_of_the_axes_makes_no_difference():
    noisy = np.random.default_rng(0).normal(5, 30, (8, 9, 7))
    turned = drawn_to_independence(noisy.transpose(2, 0, 1), 900.0).transpose(1, 2, 0)
    assert turned == pytest.approx(drawn_to_independence(noisy, 900.0))


@pytest.mark.parametrize("sigma", [0.5, 5.0, 50.0])
def test_it_is_no_worse_where_columns_are_related_and_much_better_where_they_are_not(sigma):
    rng = np.random.default_rng(1)
    shares = rng.dirichlet(np.ones(20)), rng.dirichlet(np.ones(15))
    for truth, least in (
        (rng.poisson(9_000 * np.outer(*shares)), {0.5: 1.0, 5.0: 0.75, 50.0: 0.5}[sigma]),
        (rng.gamma(0.3, 400, (20, 15)), 1.02),
    ):
        errors = [
            [np.sqrt(np.mean((found - truth) ** 2)) for found in (noisy, drawn_to_independence(noisy, sigma**2))]
            for noisy in (truth + rng.normal(0, sigma, truth.shape) for _ in range(20))
        ]
        unbiased, drawn = np.mean(errors, axis=0)
        assert drawn <= least * unbiased


def test_pairs_of_columns_of_the_census(jostle_data: Path):
    """Asked for is 27.0, the least that any unbiased Gaussian measurement of (1, 10⁻⁶) can have."""
    rows = pd.read_csv(jostle_data / "adult.data", header=None, skipinitialspace=True).drop(columns=4)
    cut = {0: (17, 1), 2: (0, 15_000), 10: (0, 1_000), 11: (0, 44), 12: (1, 1)}
    codes = {}
    for name, place in zip(SIZES, rows.columns, strict=True):
        column = rows[place]
        found = (column - cut[place][0]) // cut[place][1] if place in cut else pd.Categorical(column).codes
        codes[name] = np.clip(np.asarray(found, dtype=np.int64), 0, SIZES[name] - 1)
    shapes = {pair: (SIZES[pair[0]], SIZES[pair[1]]) for pair in combinations(SIZES, 2)}
    plan, records = plan_residuals(shapes), SimulatedRecords(ArrayColumns(codes, SIZES), seed=0)
    measured, noise = [], []
    for residue, share in zip(plan.residues, records.grant(rho=largest_rho(1, 1e-6)).split(*plan.shares), strict=True):
        source = records.vector(*residue.of)
        noise.append(source.noise_variance(residue.queries, share))
        measured.append(source.measure(residue.queries, share))
    squares, cells = np.zeros(2), 0
    for pair, (noisy, variance) in plan.histograms(measured, noise).items():
        truth = records.vector(*pair)
        true = np.bincount(codes[pair[0]] * SIZES[pair[1]] + codes[pair[1]], minlength=truth.size).reshape(truth.shape)
        squares += [((found - true) ** 2).sum() for found in (noisy, drawn_to_independence(noisy, variance))]
        cells += true.size
    unbiased, drawn = np.sqrt(squares / cells)
    assert unbiased == pytest.approx(math.sqrt(1 / (2 * largest_rho(1, 1e-6))) * 6.3587, rel=0.02)
    assert drawn < 12


@pytest.mark.parametrize("price", [{"epsilon": 1}, {"rho": "1/40"}])
def test_refined_marginals_cost_nothing_and_their_intervals_hold(price, tmp_path):
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({name: rng.geometric(0.2, 4_000).clip(1, 20) for name in "ab"})
    schema = {name: jostle.Integer(1, 20) for name in "ab"}
    cap = jostle.Approximate(9, 1e-6) if "rho" in price else 9
    table = jostle.open(frame, schema=schema, ledger=tmp_path / "b.db", budget=cap, name="people")
    plain = table.marginals(("a", "b"), ("a",), **price)
    left, found = table.remaining, plain.refined()
    assert (found.spent, found.charges, table.remaining) == (plain.spent, plain.charges, left)
    assert found.refined() is found
    assert "drawn to independence" in found.explain()
    truth = np.histogram2d(frame["a"], frame["b"], bins=np.arange(0.5, 21))[0].reshape(-1)
    errors, held = [], []
    for one in (plain["a", "b"], found["a", "b"]):
        rows = one.rows().columns
        low, high, counts = (np.array(rows[name]) for name in ("low", "high", "count"))
        held.append((low <= truth) & (truth <= high))
        errors.append(np.sqrt(np.mean((counts - truth) ** 2)))
        assert (low <= counts).all()
        assert (counts <= high).all()
    assert errors[1] < 0.8 * errors[0]
    assert (held[1] >= held[0]).all()
    assert (np.array(rows["count"]) >= 0).all()
