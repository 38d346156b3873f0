"""Intervals hold the true value in at least 95 of 100 cases, on public data, however few rows there are."""

from __future__ import annotations

import numpy as np
import pytest

from jostle.answers.noise_intervals import (
    MISSED,
    NoisySum,
    margin,
    ratio_of_sums,
    share_ends,
    spread_ends,
    tail,
    whole_margin,
)
from jostle.answers.number_readings import NumberReading

RUNS = 1000
SHORT = 4.9 * np.sqrt(0.05 * 0.95 / RUNS)
"""By how much the share of 1,000 runs is too low by chance, once in 10⁶."""


@pytest.mark.parametrize("rows", [0, 8, 60, 3000])
@pytest.mark.parametrize("values", ["near 0", "anywhere", "all the same"])
def test_means_and_variances_from_three_numbers_are_held(rows, values):
    rng = np.random.default_rng([rows, len(values)])
    x = {"near 0": rng.beta(0.5, 8, rows), "anywhere": rng.uniform(size=rows), "all the same": np.full(rows, 0.97)}[values]
    noisy = np.array([(x**2).sum(), (2 * x * (1 - x)).sum(), ((1 - x) ** 2).sum()]) + rng.laplace(scale=2, size=(RUNS, 3))
    mean, variance = (x.mean(), x.var()) if rows else (0.3, 0.2)  # of nobody, any is true
    low, high = share_ends(noisy, 2.0)
    assert ((low <= mean) & (mean <= high)).mean() >= 0.95 - SHORT
    low, high = spread_ends(noisy, 2.0)
    assert ((low <= variance + 1e-12) & (variance <= high + 1e-12)).mean() >= 0.95 - SHORT
    if rows == 3000:  # and not by being wide: the noise alone is about 5 / 3,000
        assert np.median(high - low) < 0.01


@pytest.mark.parametrize("weights", [[1.0], [1.0, 1.0], [1.0, 1.0, 1.0, 1.0], [1.0, 0.5, 0.0], [3.0, -100.0, 10.0]])
def test_margins_are_those_of_the_noise(weights):
    noise = np.abs(np.random.default_rng(2).laplace(size=(400_000, len(weights))) @ np.array(weights))
    assert (noise > margin(weights, 1.0)).mean() == pytest.approx(0.05, abs=0.0018)  # 4.9 standard deviations
    assert float(tail(np.quantile(noise, 0.5), weights)) == pytest.approx(0.5, abs=0.006)


@pytest.mark.parametrize("numbers", [1, 2])
@pytest.mark.parametrize("scale", [0.2, 1.0, 7.0, 29.0])
def test_whole_noise_has_intervals_of_its_own(numbers, scale):
    """The noise is the difference of two geometric numbers: the whole parts of exponential ones."""
    parts = np.floor(np.random.default_rng(3).exponential(scale, size=(300_000, numbers, 2)))
    far = np.abs((parts[..., 0] - parts[..., 1]).sum(axis=1))
    off = whole_margin(numbers, scale)
    assert (far > off).mean() <= 0.05 + 0.002  # 5 standard deviations
    assert off == 0 or (far > off - 1).mean() > 0.05 - 0.002  # and no wider than a whole number must be


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize("shared", [False, True])
def test_ratios_of_sums_hold_as_often_as_they_say_and_little_more(shared: bool, gaussian: bool) -> None:
    """Of 20,000 draws: a share of .95 is off by .008 with a chance below 10⁻⁶. Independent ones have up to 3 points more."""
    rng = np.random.default_rng(5)
    true = np.array([600.0, 300.0])
    noise = rng.normal(0, 30, (20_000, 4)) if gaussian else rng.laplace(0, 30, (20_000, 4))
    first, second = true + noise[:, :2], true + noise[:, 2:]
    over, under = np.array([9.0, 2.0]), np.ones(2)
    value, low, high = ratio_of_sums(
        NoisySum(first, over, 30.0, gaussian), NoisySum(first if shared else second, under, 30.0, gaussian)
    )
    right = float(true @ over) / float(true @ under)
    held = ((low <= right) & (right <= high)).mean()
    assert 0.942 < held < (0.958 if shared or gaussian else 0.975)
    assert ((low <= value) & (value <= high)).all()


def test_a_ratio_by_next_to_nothing_may_be_anything() -> None:
    one, nothing = (NoisySum(np.array([[value]]), np.ones(1), 1.0, False) for value in (5.0, 0.5))
    assert [float(end[0]) for end in ratio_of_sums(one, nothing)] == [10.0, -np.inf, np.inf]
    exact = [NoisySum(np.array([[value]]), np.ones(1), 0.0, False) for value in (5.0, 2.0)]
    assert [float(end[0]) for end in ratio_of_sums(*exact)] == pytest.approx([2.5, 2.5, 2.5])


@pytest.mark.parametrize("gaussian", [False, True])
def test_intervals_that_hold_together_do(gaussian: bool) -> None:
    """300 releases of 12 groups with four aggregates each. The seed is fixed."""
    rng, scale = np.random.default_rng(7), 4.0
    values = [rng.beta(2, 5, size) for size in (40, 90, 200, 500) for _ in range(3)]
    exact = np.array([[(x**2).sum(), (2 * x * (1 - x)).sum(), ((1 - x) ** 2).sum()] for x in values])
    right = {"whole": exact.sum(axis=1), "sum": [x.sum() for x in values], "mean": [x.mean() for x in values]}
    right["std"] = [x.std() for x in values]
    held = {True: 0, False: 0}
    for _ in range(300):
        noisy = exact + (rng.normal(0, scale, exact.shape) if gaussian else rng.laplace(0, scale, exact.shape))
        for together in held:
            missed = MISSED / (len(right) * len(values)) if together else MISSED
            ends = {}
            for kind in right:
                weights = np.array([1.0, 0.5, 0.0]) if kind == "sum" else None
                ends[kind] = NumberReading(kind, noisy, scale, gaussian, weights).found(missed)[1:]
            held[together] += all(((low <= right[kind]) & (right[kind] <= high)).all() for kind, (low, high) in ends.items())
    assert held[True] >= 270
    assert held[False] < 150, "single intervals are no substitute"
