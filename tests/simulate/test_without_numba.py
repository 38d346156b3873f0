"""Few cells are released and get their error bars without Numba: what that gives, and that it is what Numba would give."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

import jostle
from jostle import algorithms, workloads
from jostle.algorithms.bayes import CENTRES, REACHES, shrunk
from jostle.choice.pythia import settled
from jostle.choice.traces import collect_traces
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.source import SimulatedSource
from jostle.linear.shrinkage import bayes, priors, small_problems
from jostle.linear.shrinkage.leaves import regular
from jostle.simulate import margins, warm_up
from jostle.simulate.runner import estimates, estimates_together

RELEASE = """
import sys
import numpy as np
import jostle
people = jostle.Ledger('budget.db').account('people', cap=1)
released = jostle.release(np.arange(CELLS).reshape(SHAPE), epsilon=0.1, account=people)
assert (released.margins > 0).all()
print(released.trace.choice, *sorted({'numba', 'scipy'} & set(sys.modules)))
"""


@pytest.mark.parametrize("shape", [(1,), (5,), (50,), (100,), (127,), (8, 12)])
def test_a_small_release_with_its_margins_loads_neither_numba_nor_scipy(shape: tuple[int, ...], tmp_path: Path) -> None:
    code = RELEASE.replace("CELLS", str(int(np.prod(shape)))).replace("SHAPE", str(shape))
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[1:] == []


# ---------------------------------------------------------------------------------------------------- the same numbers


@pytest.fixture
def by_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small_problems, "suits", lambda cells: cells < small_problems.FEW)


SCALES = st.sampled_from([1 / 64, 0.1, 1.0, 3.0, 10.0, 100 / 3, 1e4, 1e9])
COUNTS = st.lists(
    st.one_of(
        st.integers(-20, 60),  # in scales: counts near 0, some below
        st.sampled_from([0, 0, 0, 7, 500]),  # ties, and a gap
        st.integers(-500, 100_000),  # huge gaps
    ),
    min_size=1,
    max_size=small_problems.FEW - 1,
)


def around(noisy: np.ndarray, reaches: tuple[int, ...]) -> list[np.ndarray]:
    line = regular((noisy.size,), (noisy.size,))
    return line.surroundings(noisy, [reach for reach in reaches if 4 * reach <= noisy.size])


@settings(max_examples=150, deadline=None)
@given(COUNTS, SCALES, st.integers(0, 2**32), st.booleans())
def test_whole_rows_and_loops_smooth_alike(in_scales: list[int], scale: float, seed: int, whole: bool) -> None:
    noisy = np.array(in_scales) * scale + (0 if whole else np.random.default_rng(seed).laplace(size=len(in_scales))) * scale
    noisy = np.round(noisy)  # as it is in a release
    contexts, centres = around(noisy, REACHES[1]), around(noisy, CENTRES[1])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(small_problems, "suits", lambda cells: False)
        expected = bayes.smooth(noisy, scale, contexts, centres)
    found = small_problems.smooth_rows(noisy[None], scale, [one[None] for one in contexts], [one[None] for one in centres])[
        0
    ]
    if scale >= priors.SHARP:
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * scale)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.integers(-300, 3000), min_size=1, max_size=60), SCALES, st.integers(1, 5))
def test_em_by_whole_kernels_and_by_loops_give_the_same_prior(sixteenths: list[int], scale: float, rounds: int) -> None:
    everything = np.sort(np.array(sixteenths)) * scale / 16
    values, seen = np.unique(everything, return_counts=True)
    support = priors.count_supports(values[None], np.array([values.size]), scale)[0][0]
    flat = np.full(support.size, 1 / support.size)
    expected = priors.maximise(values, seen, support, flat, scale, rounds)
    kernel = np.exp(-np.abs(everything[:, None] - support) / scale)[None]
    found = small_problems.maximise(kernel, np.ones((1, everything.size)), flat[None], rounds)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one[0], other, rtol=1e-9, atol=1e-30)
    near = everything < everything[0] + 25 * scale  # few points are sought for counts that lie close together
    sizes = np.array([near.sum()])
    ones, inside = np.ones((1, near.sum())), np.ones((1, support.size), dtype=bool)
    atoms, weights, likelihood = small_problems.few_atoms(
        kernel[:, near], everything[None, near], ones, support[None], inside, sizes, scale, 0.0
    )
    kept = np.isfinite(atoms[0])
    expected = priors.few_atoms(*np.unique(everything[near], return_counts=True), support, scale, 4, 3.0)
    np.testing.assert_array_equal(atoms[0][kept], expected[0])
    np.testing.assert_allclose(weights[0][kept], expected[1], rtol=1e-9, atol=1e-30)
    assert likelihood[0] == pytest.approx(expected[2], rel=1e-9, abs=1e-9)


def test_rows_that_are_padded_are_fitted_as_if_alone() -> None:
    rng = np.random.default_rng(1)
    rows = np.sort(rng.poisson(4, size=(6, 40)) + np.round(rng.laplace(scale=3, size=(6, 40))), axis=1)
    rows[:3, 25:] = rows[:3, 24:25]  # the padding of shorter ones
    sizes = np.array([25] * 3 + [40] * 3)
    for fit in (small_problems.of_counts, small_problems.of_differences):
        together = fit(rows, sizes, 3.0)
        for number, size in enumerate(sizes):
            alone = fit(rows[number : number + 1, :size], sizes[number : number + 1], 3.0)
            assert alone.scores[0] == pytest.approx(together.scores[number], rel=1e-9)
            means = alone.means(rows[number : number + 1, :size], 3.0)[0]
            np.testing.assert_allclose(together.means(rows, 3.0)[number, :size], means, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("shape", [(5,), (100,), (8, 12)])
def test_a_seed_gives_the_same_runs_with_and_without_numba(shape: tuple[int, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    inputs = [np.random.default_rng(k).poisson(20, size=shape) for k in range(2)]
    asked = {"workload": workloads.identity(shape), "epsilon": 0.1, "trials": 3}
    runs = []
    for suits in (False, True):
        monkeypatch.setattr(small_problems, "suits", lambda cells, suits=suits: suits)
        together = estimates_together("Bayes", inputs, seeds=[4, 5], **asked)
        alone = [estimates("Bayes", x, seed=seed, **asked) for x, seed in zip(inputs, [4, 5], strict=True)]
        runs += [np.stack([np.concatenate(list(batches)) for batches in found]) for found in (together, alone)]
    for run in runs[1:]:
        np.testing.assert_allclose(run, runs[0], rtol=1e-9, atol=1e-9)


def test_many_trials_at_once_are_those_one_after_the_other(by_numpy: None) -> None:
    noisy = np.random.default_rng(2).laplace(scale=10, size=(7, 60)).round() + np.repeat([0, 80], 30)
    asked = workloads.identity(60)
    np.testing.assert_allclose(shrunk(noisy, 10.0, asked), [shrunk(row, 10.0, asked) for row in noisy], rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(shrunk(noisy, 0.001, asked), np.maximum(noisy, 0.0))
    np.testing.assert_array_equal(shrunk(noisy, 0.0, asked), noisy)


def test_a_process_with_much_to_do_goes_over_to_loops(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    assert small_problems.suits(100)
    assert not small_problems.suits(small_problems.FEW)
    monkeypatch.setattr(small_problems, "_work", small_problems.PATIENCE)
    assert not small_problems.suits(100)


def test_error_bars_of_a_hundred_cells_are_far_from_that(by_numpy: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(small_problems, "_work", 0.0)
    margins.within_95(*of_bayes(np.linspace(0, 90_000, 127)))
    assert 0 < small_problems._work < small_problems.PATIENCE / 4


# ------------------------------------------------------------------------------------------------------- the margins


def of_bayes(estimate: np.ndarray, name: str = "Bayes") -> margins.Run:
    asked = workloads.identity(estimate.size)
    return algorithms.get(name), estimate, asked, Fraction(1, 10), Neighbours("add_remove"), {}


def test_what_pythia_runs_in_any_case_is_all_that_it_runs() -> None:
    """With the whole budget, too: so runs of it alone are runs of Pythia."""
    for asked in (workloads.identity(5), workloads.prefix(40), workloads.prefix(600), workloads.identity((4, 4))):
        source = SimulatedSource(np.zeros(asked.shape[1], dtype=int), seed=0, shape=asked.domain)
        with collect_traces() as traces:
            algorithms.get("Pythia").run(source, asked, source.grant(1))
        assert [(trace.choice, trace.remainder, trace.projection) for trace in traces] == [(settled(asked), 1, "")]


def test_what_pythia_runs_in_any_case_is_simulated_without_it() -> None:
    estimate = np.array([300.0, 20.0, 0.0, 0.0, 55.0])
    assert margins.within_95(*of_bayes(estimate, "Pythia")).tolist() == margins.within_95(*of_bayes(estimate)).tolist()


@pytest.mark.parametrize(("runs", "cells"), [(20, 300), (20, 100), (40, 50), (180, 11), (200, 5), (20, 9), (20, 1)])
def test_pools_are_the_errors_of_cells_next_in_rank(runs: int, cells: int) -> None:
    rng = np.random.default_rng(cells)
    off, estimate = rng.exponential(size=(runs, cells)), rng.normal(size=cells).round(1)
    half = int(np.ceil((margins.POOL / runs - 1) / 2))
    order, expected = np.argsort(estimate, kind="stable"), np.empty(cells)
    for rank in range(cells):
        pool = np.sort(off[:, order[max(0, rank - half) : rank + half + 1]], axis=None)
        expected[order[rank]] = pool[min(int(np.ceil(0.95 * (pool.size + 1))), pool.size) - 1]
    np.testing.assert_array_equal(margins.pooled_quantile(off, estimate), expected)


def test_a_pooled_quantile_covers_what_it_says() -> None:
    """The error of a release is like any of the simulated ones, so it is within the margin in 95 of 100 cases or more."""
    rng = np.random.default_rng(0)
    covered = [
        float(rng.laplace()) <= margins.pooled_quantile(rng.laplace(size=(20, 21)), np.arange(21.0))[10] for _ in range(4000)
    ]
    assert sum(covered) >= binom.ppf(1e-7, len(covered), 0.95)


@pytest.mark.parametrize("data", ["even", "sparse", "steps"])
def test_margins_of_few_cells_cover_the_truth(data: str, by_numpy: None) -> None:
    """One cell of each of 100 releases, which are independent: fewer are covered once in a million if 92 % are expected."""
    cells, chance = 11, np.random.default_rng(7)
    x = {"even": np.full(cells, 300), "sparse": np.arange(cells) == 4, "steps": np.repeat([0, 900], [6, 5])}[data]
    asked, covered = workloads.identity(cells), 0
    for seed in range(100):
        estimate = next(estimates("Bayes", x.astype(int), asked, 0.1, trials=1, seed=seed))[0]
        cell = chance.integers(cells)
        covered += bool(abs(estimate[cell] - x[cell]) <= margins.within_95(*of_bayes(estimate))[cell])
    assert covered >= binom.ppf(1e-6, 100, 0.92)


# --------------------------------------------------------------------------------------------------------- preparing


def test_nothing_is_prepared_where_nothing_is_needed() -> None:
    assert warm_up.prepare(workloads.identity(small_problems.FEW - 1), "Bayes") is None
    assert warm_up.prepare(workloads.identity((4, 4)), "Bayes") is None
    assert warm_up.prepare(workloads.identity(4096)) is None
    by_the_data = workloads.random_rectangles((32, 32), 50, seed=0, lengths="medium")
    assert warm_up.prepare(by_the_data, "Pythia") is None


def test_loops_are_made_ready_in_the_background() -> None:
    from jostle.linear.shrinkage import plateaus

    thread = warm_up.prepare(workloads.identity(4096), "Pythia")
    assert thread is not None
    assert not thread.daemon
    thread.join()
    assert plateaus.forward.made.signatures
    assert jostle.algorithms.get("Bayes").finish is shrunk
