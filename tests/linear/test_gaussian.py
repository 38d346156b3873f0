"""Strategies for Gaussian noise against their bounds from below."""

from __future__ import annotations

import numpy as np
import pytest

from jostle import algorithms, simulate, workloads
from jostle.algorithms import opt
from jostle.kernel.source import SimulatedSource
from jostle.linear.design.gaussian import GaussianStrategy, best_gram, variance_bound
from jostle.linear.design.gram import Gram
from jostle.linear.design.p_identity import PIdentity
from jostle.linear.design.prefix_tents import prefix_bound, prefix_tents
from jostle.workloads import Workload
from tests.algorithms.expected import mean_square


@pytest.fixture(autouse=True)
def nothing_remembered(tmp_path, monkeypatch):
    monkeypatch.setenv("JOSTLE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(opt, "_found", {})


def dense(workload: Workload) -> np.ndarray:
    return Gram.of(workload).dense


def total_variance(queries, gram) -> float:
    """Of the workload after least squares, at an L2 norm of 1, from the dense matrix."""
    entries = queries.dense()
    square = queries.squared_sensitivities()[0] / queries.unit**2
    return float(square * np.trace(gram @ np.linalg.inv(entries.T @ entries)))


ASKED = [
    workloads.prefix(64),
    workloads.ranks(50),
    workloads.all_ranges(40),
    workloads.random_rectangles((9, 12), 60, seed=0),
    workloads.marginals((4, 5, 6), (0, 1), (2,)),
]


@pytest.mark.parametrize("workload", ASKED, ids=str)
def test_it_is_the_best_by_its_certificate(workload):
    """The bound holds for every strategy. Cells that nobody asks for cost some of what is above it."""
    gram = dense(workload)
    best = GaussianStrategy(gram, workload.domain)
    assert best.variance(gram) == pytest.approx(total_variance(best.queries, gram), rel=1e-6)
    asked = gram + np.eye(len(gram)) * 1e-4 * gram.diagonal().mean()
    x = best_gram(gram)
    d = np.linalg.solve(x, asked @ np.linalg.inv(x)).diagonal()  # at the optimum, the prices of the columns
    assert variance_bound(asked, d) <= total_variance(best.queries, asked) <= 1.001 * variance_bound(asked, d)


FEW = workloads.matrix(np.random.default_rng(0).normal(size=(5, 24)))


@pytest.mark.parametrize("workload", [*ASKED, FEW], ids=str)
def test_it_is_within_one_percent_of_what_no_strategy_goes_below(workload):
    """Also where some cells are not asked for, and get a little of the noise's budget all the same."""
    gram = dense(workload)
    d, bound = gram.diagonal().copy(), 0.0
    for _ in range(300):
        roots = np.sqrt(d)
        weights, values = np.linalg.eigh(gram * roots * roots[:, None])
        bound = max(bound, variance_bound(gram, d))
        d = np.maximum(((values * np.sqrt(np.maximum(weights, 0))) @ values.T).diagonal(), 1e-300)
    assert bound <= GaussianStrategy(gram, workload.domain).variance(gram) <= 1.01**2 * bound


@pytest.mark.parametrize(("n", "above"), [(256, 1.023), (1024, 1.02)])
def test_prefix_sums_are_as_near_to_the_bound_as_any_strategy_comes(n, above):
    """On 256 cells nothing comes within 2.1 % of the bound by singular values, as the dual problem shows."""
    found = opt.best_strategy(workloads.prefix(n), squares=True)
    entries = found.queries.entries.astype(float) / found.queries.unit
    known = np.linalg.inv((entries.T @ entries).toarray())
    error = np.sqrt(np.cumsum(np.cumsum(known, axis=0), axis=1).diagonal().mean())
    error *= np.sqrt(found.queries.squared_sensitivities()[0]) / found.queries.unit
    assert error <= above * prefix_bound(n)
    assert found.variance == pytest.approx(n * error**2, rel=0.01)


def test_no_strategy_for_256_prefix_sums_is_within_two_percent_of_the_bound():
    gram = dense(workloads.prefix(256))
    d = gram.diagonal().copy()
    for _ in range(12):
        roots = np.sqrt(d)
        weights, values = np.linalg.eigh(gram * roots * roots[:, None])
        d = ((values * np.sqrt(np.maximum(weights, 0))) @ values.T).diagonal()
    assert np.sqrt(variance_bound(gram, d) / 256) > 1.0209 * prefix_bound(256)


@pytest.mark.parametrize("workload", [workloads.prefix(64), workloads.identity(20), ASKED[3]], ids=str)
def test_the_error_of_opt_under_rho_is_the_one_foretold(workload):
    counts = np.arange(workload.shape[1]).reshape(workload.domain)
    errors = simulate.errors("OPT", counts, workload, rho="1/32", trials=2000, seed=1)  # variance 16 at a norm of 1
    assert mean_square(errors) == pytest.approx(16 * opt.best_strategy(workload, squares=True).variance, rel=0.15)


@pytest.mark.parametrize("workload", [workloads.random_rectangles((24, 25), 60, seed=0)], ids=str)
def test_on_more_cells_it_is_no_worse_than_what_was_made_for_laplace_noise_weighted_anew(workload):
    gram = Gram.of(workload)
    theta = opt._rows(workload, gram, "x")
    anew = PIdentity(theta, workload.domain, squares=True)
    assert opt.best_strategy(workload, squares=True).variance <= 1.0001 * anew.variance(gram.rows, gram.diagonal)


def test_opt_measures_by_the_measure_of_its_token():
    workload, plan = workloads.prefix(1024), algorithms.get("OPT")
    source = SimulatedSource(np.arange(1024), seed=0)
    many = SimulatedSource(np.arange(1024), seed=0, trials=20)
    assert plan.run(source, workload, source.grant(rho=1)).shape == (1024,)
    assert plan.run(many, workload, many.grant(rho=1)).shape == (20, 1024)
    assert opt.best_strategy(workload, squares=True).queries is prefix_tents(1024)
    assert opt.best_strategy(workload).queries is not prefix_tents(1024)


def test_few_and_many_right_hand_sides_have_the_same_solution():
    from jostle.linear.design.prefix_tents import least_squares_cells

    strategy = prefix_tents(100)
    answers = np.random.default_rng(0).normal(size=(20, strategy.rows))
    assert least_squares_cells(strategy, answers)[:3] == pytest.approx(least_squares_cells(strategy, answers[:3]), abs=1e-8)
