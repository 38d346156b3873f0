"""p-identity strategies, the Gram matrices that they are optimised for, and the tents that they start from."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jostle import workloads
from jostle.kernel.errors import BadInput
from jostle.kernel.strategies import hierarchy, stack, total
from jostle.linear.design.gram import Gram, fingerprint
from jostle.linear.design.levels import best_weights, level_energies
from jostle.linear.design.p_identity import PIdentity, refine, total_variance
from jostle.linear.design.tents import best_tents, tents
from jostle.workloads import Workload


@settings(max_examples=30)
@given(st.integers(1, 10), st.integers(0, 4), st.integers(0, 2**32))
def test_least_squares_is_the_pseudo_inverse(n, p, seed):
    rng = np.random.default_rng(seed)
    strategy = PIdentity(rng.uniform(0.0, 2.0, (p, n)) * (rng.random((p, n)) < 0.7), (n,))
    dense = strategy.queries.dense()
    np.testing.assert_allclose(dense.sum(axis=0), 1.0, atol=1e-5)
    answers = rng.normal(size=(2, 3, n + p))
    np.testing.assert_allclose(strategy.least_squares(answers), answers @ np.linalg.pinv(dense).T, atol=1e-7)
    np.testing.assert_allclose(strategy.least_squares(answers[0, 0]), np.linalg.pinv(dense) @ answers[0, 0], atol=1e-7)


@pytest.mark.parametrize(
    "workload",
    [
        workloads.identity(12),
        workloads.prefix(12),
        workloads.all_ranges(12),
        workloads.ranges(12, [0, 3, 3], [5, 12, 4]),
        workloads.rectangles((3, 4), [[0, 1], [1, 0]], [[2, 4], [3, 1]]),
        workloads.matrix(np.random.default_rng(0).normal(size=(5, 12))),
        Workload("stack", stack(total(12), workloads.prefix(12).queries, weights=[0.25, 1.0])),
    ],
    ids=lambda workload: workload.kind,
)
def test_gram_matrices_and_variances(workload, monkeypatch):
    dense = workload.queries.dense()
    expected = dense.T @ dense
    rows = np.random.default_rng(1).normal(size=(3, 12))
    grams = [Gram.of(workload)]
    monkeypatch.setattr("jostle.linear.design.gram._DENSE", 0)
    monkeypatch.setattr("jostle.linear.design.gram._CHUNK", 1)
    grams += [gram for gram in [Gram.of(workload)] if workload.kind != "stack"]
    strategy = PIdentity(np.abs(rows), workload.domain)
    a = strategy.queries.dense()
    variance = np.abs(a).sum(axis=0).max() ** 2 * np.trace(expected @ np.linalg.inv(a.T @ a))
    for gram in grams:
        np.testing.assert_allclose(gram.rows(rows), rows @ expected, atol=1e-9)
        np.testing.assert_allclose(gram.diagonal, expected.diagonal(), atol=1e-9)
        assert strategy.variance(gram.rows, gram.diagonal) == pytest.approx(variance)
        assert total_variance(np.abs(rows), gram.rows, gram.diagonal)[0] == pytest.approx(variance, rel=1e-4)


def test_a_diagonal_that_would_take_too_long_is_not_looked_for(monkeypatch):
    monkeypatch.setattr("jostle.linear.design.gram._DENSE", 0)
    assert Gram.of(Workload("stack", stack(total(4), total(4), weights=[0.5, 0.7]))) is None


def test_the_gradient_is_the_slope():
    rng = np.random.default_rng(0)
    gram = Gram.of(workloads.prefix(7))
    theta = rng.uniform(0.1, 1.0, (3, 7))
    slope = total_variance(theta, gram.rows, gram.diagonal)[1]
    for i, j in np.ndindex(3, 7):
        step = np.zeros((3, 7))
        step[i, j] = 1e-5
        up, down = (total_variance(theta + s * step, gram.rows, gram.diagonal)[0] for s in (1, -1))
        assert slope[i, j] == pytest.approx((up - down) / 2e-5, rel=1e-5, abs=1e-5)


def test_refining_helps():
    gram = Gram.of(workloads.prefix(64))
    start = best_tents((64,), gram).toarray()
    refined = refine(start, gram.rows, gram.diagonal, iterations=200)
    before, after = (total_variance(theta, gram.rows, gram.diagonal)[0] for theta in (start, refined))
    assert np.sqrt(2 * before) < 45
    assert np.sqrt(2 * after) < 42.7
    assert (refined >= 0).all()
    assert refine(np.zeros((0, 64)), gram.rows, gram.diagonal, iterations=5).shape == (0, 64)


@pytest.mark.parametrize(("shape", "spacing"), [((9,), 3), ((10,), 4.2), ((5, 8), 2), ((5, 1), 5), ((3,), 20)])
def test_tents_add_up_to_one(shape, spacing):
    rows = tents(shape, spacing).toarray()
    np.testing.assert_allclose(rows.sum(axis=0), 1.0)
    assert (rows >= 0).all()


@pytest.mark.parametrize("workload", [workloads.prefix(256), workloads.random_rectangles((24, 24), 300, seed=0)])
def test_tents_beat_trees(workload):
    gram = Gram.of(workload)
    theta = best_tents(workload.domain, gram)
    found = PIdentity(theta, workload.domain).variance(gram.rows, gram.diagonal)
    tree = hierarchy(workload.domain, 2)
    assert found < 0.93 * best_weights(tree, level_energies(tree, workload.queries))[1]


def test_fingerprints_tell_workloads_apart():
    asked = [workloads.prefix(8), workloads.identity(8), workloads.identity((2, 4)), workloads.all_ranges(8)]
    assert len({fingerprint(workload) for workload in asked}) == len(asked)


def test_rows_that_make_no_sense_are_refused():
    for rows in (np.ones((1, 3)), -np.ones((1, 4)), np.full((1, 4), np.nan)):
        with pytest.raises(BadInput, match="theta"):
            PIdentity(rows, (4,))
