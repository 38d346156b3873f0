"""Features: what they are worth on public data, what they cost, how noisy they are, and how ε is exchanged for scale."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jostle import workloads
from jostle.choice.features import CLASSES, FEATURES, exchange_rate, workload_class
from jostle.kernel.errors import BadInput, PlanError
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.source import SimulatedSource
from jostle.simulate.grid import SIDES, WORKLOADS, representative

PRIVATE = [name for name, feature in FEATURES.items() if feature.private]
X = np.array([[5, 0, 0, 9], [1, 1, 1, 1], [0, 0, 0, 0], [30, 2, 0, 4]])


@pytest.mark.parametrize("name", PRIVATE)
@pytest.mark.parametrize("x", [X, X.reshape(-1)], ids=["grid", "line"])
def test_a_source_measures_what_public_data_show(name, x):
    source = SimulatedSource(x, seed=1)
    workload = workloads.identity(x.shape)
    value = FEATURES[name].value(x, workload, rate=0.5)
    assert FEATURES[name].measure(source, workload, Fraction(1, 2), source.grant(10**9)) == pytest.approx(value, abs=1e-3)
    assert source.unspent == 0


@pytest.mark.parametrize("name", PRIVATE)
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@given(counts=st.lists(st.integers(0, 6), min_size=2, max_size=9), data=st.data())
def test_noise_covers_what_one_person_moves(name, relation, counts, data):
    x = np.array(counts)
    y = x.copy()
    y[data.draw(st.integers(0, x.size - 1))] += 1
    if relation == "replace":
        x = x.copy()
        x[data.draw(st.integers(0, x.size - 1))] += 1
    feature, rate = FEATURES[name], 0.25
    moved = abs(feature.value(x, workloads.identity(x.size), rate) - feature.value(y, workloads.identity(x.size), rate))
    assert moved <= feature.noise_scale(x.size, 1.0, rate, relation) + 1e-9


def test_features_of_a_small_vector():
    x, asked = np.array([4, 0, 4, 0]), workloads.prefix(4)
    found = {name: feature.value(x, asked) for name, feature in FEATURES.items()}
    assert found == {
        "workload": 1.0,
        "queries": 4.0,
        "length": 2.5 / 4,
        "domain": 4.0,
        "scale": 8.0,
        "nonzeros": 2.0,
        "variation": 4.0,
        "partitionality": 4.0,  # an interval a cell, at a price of 1 each
    }


@given(factor=st.integers(2, 50))
def test_scale_and_epsilon_are_exchanged(factor):
    x, asked = X.reshape(-1), workloads.identity(X.size)
    for name in PRIVATE:
        feature = FEATURES[name]
        assert feature.value(x * factor, asked, 1 / factor) == pytest.approx(feature.value(x, asked, 1.0), abs=0.02)
        # A share of ε/factor gives as much noise in the selector's units as a share of ε did, where counts are exchanged.
        noise = feature.noise_scale(X.size, 0.01 / factor, 1 / factor)
        assert noise == pytest.approx(feature.noise_scale(X.size, 0.01) * (1 if feature.exchanges else factor))


def test_the_rate_of_exchange_knows_the_neighbours():
    for relation, rows, rate in (("add_remove", 1, 0.5), ("replace", 1, 0.25), ("add_remove", 5, 0.1)):
        assert exchange_rate(Fraction(1, 2), Neighbours(relation, rows=rows)) == pytest.approx(rate)


def test_the_scale_is_free_where_it_is_public():
    asked = workloads.identity(2)
    assert FEATURES["scale"].known(SimulatedSource([1, 2], seed=0, neighbours="replace"), asked, Fraction(1)) == 1.5
    assert FEATURES["scale"].known(SimulatedSource([1, 2], seed=0), asked, Fraction(1)) is None
    assert FEATURES["nonzeros"].known(SimulatedSource([1, 2], seed=0, neighbours="replace"), asked, Fraction(1)) is None


@pytest.mark.parametrize("task", list(WORKLOADS))
def test_the_training_workloads_are_of_their_own_class(task):
    dimensions = 1 if task == "range-1d" else 2
    for side in SIDES[task]:
        for kind in WORKLOADS[task]:
            found = workload_class(representative(kind, (side,) * dimensions))
            # On tiny grids medium queries are single cells, as short ones are.
            assert found == kind or (kind == "medium" and side <= 8 and found == "short")


def test_other_workloads_go_to_the_nearest_class():
    assert workload_class(workloads.total(100)) == "prefix"
    assert workload_class(workloads.ranges(100, [1, 5], [3, 7])) == "identity"
    assert workload_class(workloads.random_rectangles((64, 64), 50, seed=0, lengths=(0.3, 0.9))) == "long"
    assert workload_class(workloads.random_rectangles((64, 64), 500, seed=0)) in CLASSES[2]
    with pytest.raises(BadInput, match="3 dimensions"):
        workload_class(workloads.identity((2, 2, 2)))


def test_a_public_feature_is_not_measured():
    source = SimulatedSource([1, 2], seed=0)
    with pytest.raises(PlanError, match="public"):
        FEATURES["domain"].measure(source, workloads.identity(2), Fraction(1), source.grant(1))
