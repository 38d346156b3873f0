"""Bounds hold as often as they say, and the search finds most of what there is to find."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from jostle.audit import Audited, Pair, examine
from jostle.audit.search import epsilon_bounds, evidence, probability_bounds, rough_bounds
from tests.audit.helpers import leaky


@given(st.integers(0, 200), st.sampled_from([0.3, 0.01, 1e-6]))
def test_bounds_on_a_probability_are_those_of_the_binomial_tails(hits, chance):
    low, high = (float(bound) for bound in probability_bounds(hits, 200, chance))
    assert low <= hits / 200 <= high
    assert hits == 0 or stats.binom.sf(hits - 1, 200, low) == pytest.approx(chance, rel=1e-6)
    assert hits == 200 or stats.binom.cdf(hits, 200, high) == pytest.approx(chance, rel=1e-6)


def test_bounds_on_epsilon_fail_no_more_often_than_they_may():
    """Of 20,000 bounds that may fail with a chance of 0.05 each, 1,300 fail with one below 10⁻⁶ (binomial)."""
    rng, runs, samples, chance = np.random.default_rng(1), 20_000, 500, 0.05
    p, q = 0.3, 0.1
    bounds = epsilon_bounds(rng.binomial(samples, p, runs), rng.binomial(samples, q, runs), samples, samples, chance=chance)
    failed = int((bounds > math.log(p / q)).sum())
    assert stats.binom.sf(1_300, runs, chance) < 1e-6
    assert failed <= 1_300


@given(st.integers(0, 2_000), st.integers(0, 2_000), st.sampled_from([1e-3, 1e-7]))
def test_the_search_values_events_nearly_as_they_are_counted(hits, others, chance):
    """Where there is anything to be proven; what is reported is never the search's own bound."""
    exact, rough = (float(bounds(hits, others, 2_000, 2_000, chance=chance)) for bounds in (epsilon_bounds, rough_bounds))
    assert rough == pytest.approx(exact, abs=0.55)


def test_equal_distributions_prove_nothing():
    rng = np.random.default_rng(2)
    assert evidence(rng.normal(size=(4_000, 3)), rng.normal(size=(4_000, 3)), chance=1e-3).bound < 0.3
    constant = np.ones((1_000, 2))
    assert evidence(constant, constant, chance=1e-3).bound == 0.0


def test_outputs_of_another_width_are_told_apart():
    def run(side, epsilon, neighbours, samples, seed):
        return np.zeros((samples, side))

    entry = Audited(name="wide", family="mechanism", run=run, pairs=lambda neighbours: [Pair("widths", 1, 2)])
    assert examine(entry, epsilon=1, neighbours="add_remove", samples=400, seed=0).finding


def test_delta_is_forgiven_and_no_more():
    one, other = np.zeros((4_000, 1)), np.zeros((4_000, 1))
    one[::20] = 1.0  # five in a hundred
    assert evidence(one, other, chance=1e-3).bound > 2
    assert evidence(one, other, chance=1e-3, delta=0.06).bound < 0.1


@pytest.mark.parametrize("loss", [0.5, 1.0, 3.0])
def test_what_loses_more_is_found_and_what_does_not_is_not(loss):
    verdict = examine(leaky(loss), epsilon=loss, neighbours="replace", samples=40_000, seed=3)
    assert not verdict.finding
    assert verdict.tightness > 0.8
    assert examine(leaky(1.3 * loss), epsilon=loss, neighbours="replace", samples=40_000, seed=3).finding


@pytest.mark.parametrize(("loss", "said"), [(0.05, "too little seen to tell"), (0.8, "holds"), (2.0, "FINDING")])
def test_silence_counts_only_where_something_was_seen(loss, said):
    assert examine(leaky(loss), epsilon=1, neighbours="replace", samples=20_000, seed=0).verdict == said
