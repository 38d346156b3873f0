"""OPT: what comes with the package, what is made for a workload, and what is kept on disk."""

from __future__ import annotations

import multiprocessing

import numpy as np
import pytest

from jostle import simulate, workloads
from jostle.algorithms import opt
from jostle.kernel.strategies import Hierarchy, Matrix
from tests.algorithms.expected import mean_square, square_error
from tools.optimise_strategies import KINDS, SIZES


@pytest.fixture(autouse=True)
def nothing_remembered(tmp_path, monkeypatch):
    monkeypatch.setenv("JOSTLE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(opt, "_found", {})


ASKED = [
    workloads.prefix(64),
    workloads.prefix(50),
    workloads.ranks(50),
    workloads.identity(20),
    workloads.all_ranges(40),
    workloads.ranges(30, [0, 4, 5], [20, 9, 6]),
    workloads.random_rectangles((9, 12), 60, seed=0),
    workloads.matrix(np.random.default_rng(0).normal(size=(5, 24))),
]


@pytest.mark.parametrize("workload", ASKED, ids=str)
def test_the_error_is_the_one_foretold(workload):
    found = opt.best_strategy(workload)
    expected = square_error(found.queries, workload, epsilon=0.25)
    assert expected == pytest.approx(2 * found.variance / 0.25**2, rel=0.02)
    errors = simulate.errors(
        "OPT", np.arange(workload.shape[1]).reshape(workload.domain), workload, 0.25, trials=4000, seed=1
    )
    assert mean_square(errors) == pytest.approx(expected, rel=0.15)


@pytest.mark.parametrize(
    ("workload", "error"),
    [
        (workloads.prefix(256), 117.6),
        (workloads.prefix(300), 132.0),  # refined from the next size
        (workloads.prefix(1024), 305.2),
        (workloads.prefix(3000), 632.0),  # stretched from the next size
        (workloads.prefix(4096), 772.0),
        (workloads.all_ranges(256), 1464.0),
        (workloads.ranks(256), 175.0),
        (workloads.ranks(4096), 1103.0),
        (workloads.prefix(2**20), 29_000.0),
    ],
    ids=str,
)
def test_prefixes_and_ranges_on_a_line(workload, error):
    """The root of the total variance at ε = 1. A tree with weighted levels has 135, 349, 890 on 256, 1,024, 4,096 cells."""
    assert np.sqrt(2 * opt.best_strategy(workload).variance) < error


def test_the_package_has_all_sizes_in_little_space():
    assert opt.SHIPPED.stat().st_size < 400_000
    for kind in KINDS:
        for n in SIZES:
            theta = opt.shipped(kind, n)
            assert theta.shape[1] == n
            assert (theta >= 0).all()
    assert opt.shipped("prefix", 10**6) is None
    assert opt.shipped("prefix", 5) is None


def test_histograms_and_large_domains_get_what_suits_them():
    assert opt.best_strategy(workloads.identity(500)).queries.norm == 1
    assert isinstance(opt.best_strategy(workloads.prefix(2**15)).queries, Hierarchy)
    assert isinstance(opt.best_strategy(workloads.random_rectangles((150, 150), 50, seed=0)).queries, Hierarchy)
    assert isinstance(opt.best_strategy(workloads.prefix(100)).queries, Matrix)


def test_what_was_made_is_kept_and_found_again(monkeypatch):
    workload = workloads.random_rectangles((32, 16), 100, seed=3, lengths=(0.2, 0.8))
    first = opt.best_strategy(workload)
    (kept,) = opt.cache_folder().glob("*")
    assert kept.stat().st_size < 50_000
    monkeypatch.setattr(opt, "_found", {})
    monkeypatch.setattr(opt, "best_tents", lambda *_: pytest.fail("made again"))
    again = opt.best_strategy(workload)
    assert again.variance == first.variance


@pytest.mark.parametrize("damage", [b"", b"not a file of arrays", None])
def test_a_damaged_file_is_made_again(damage):
    theta = np.random.default_rng(0).random((3, 600))
    opt.keep("x", theta)
    np.testing.assert_allclose(opt.recall("x", 600), theta, atol=1e-3)
    assert opt.recall("x", 599) is None
    assert opt.recall("y", 600) is None
    (file,) = opt.cache_folder().glob("*")
    file.write_bytes(file.read_bytes()[:-200] if damage is None else damage)
    assert opt.recall("x", 600) is None


def test_a_folder_that_cannot_be_written_is_done_without(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("JOSTLE_CACHE", str(tmp_path / "file" / "cache"))
    opt.keep("x", np.ones((1, 4)))
    assert opt.recall("x", 4) is None


def _keep_often(seed):
    theta = np.full((4, 2000), 1.0 + seed)
    for _ in range(20):
        opt.keep("shared", theta)
        seen = opt.recall("shared", 2000)
        if seen is None or np.unique(seen).size != 1:
            return False
    return True


def test_writers_at_the_same_time_leave_a_whole_file():
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        assert all(pool.map(_keep_often, range(3)))
    assert [file.suffix for file in opt.cache_folder().iterdir()] == [".npz"]


def test_the_folder_follows_the_platform(monkeypatch):
    monkeypatch.delenv("JOSTLE_CACHE")
    for platform, part in (("linux", ".cache"), ("darwin", "Caches"), ("win32", "AppData")):
        for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setattr(opt.sys, "platform", platform)
        assert part in opt.cache_folder().parts


def test_non_negative_answers_are_nearer_to_the_truth():
    rng = np.random.default_rng(0)
    for workload in (workloads.prefix(128), workloads.identity(128), workloads.random_rectangles((12, 12), 100, seed=0)):
        x = rng.poisson(0.2, workload.domain)
        plain, projected = (
            simulate.errors(name, x, workload, 0.5, trials=200, seed=0) for name in ("OPT", "OPT-nonnegative")
        )
        assert projected.mean() < 0.9 * plain.mean()
        known = simulate.errors("OPT-nonnegative", x, workload, 1.0, trials=200, seed=0, neighbours="replace")
        assert known.mean() < 1.05 * projected.mean()


@pytest.mark.parametrize("n", [3, 5, 9, 17, 33])
def test_weights_that_grow_without_end_are_kept_finite(n):
    found = simulate.errors("OPT", np.arange(n), workloads.prefix(n), 1.0, trials=2000, seed=0)
    plain = simulate.errors("Laplace", np.arange(n), workloads.prefix(n), 1.0, trials=2000, seed=0)
    assert found.mean() < 1.1 * plain.mean()
