"""Coverage of intervals: the measurement itself, and a small version of it as a check."""

import numpy as np
import pytest

from jostle import workloads
from jostle_bench import coverage


def test_exact_intervals_cover_what_they_say_on_made_up_shapes() -> None:
    """Cells of plain noise are independent: 10,240 of them, so off by 0.026 with a chance below 10⁻⁶ (Hoeffding)."""
    found = [
        coverage.measure("Laplace", workloads.identity(64), 0.05, x, dataset=name, releases=40, seed=seed)
        for seed, (name, x) in enumerate(coverage.inputs(None, (64,)))
    ]
    [(held, narrow, width)] = coverage.summary(found).values()
    assert held == pytest.approx(0.955, abs=0.03)
    assert narrow == pytest.approx(0.955, abs=0.03)
    assert width == pytest.approx(1.0, abs=0.1)


def test_calibrated_intervals_are_not_far_off_on_made_up_shapes() -> None:
    """Seeded: it passes always or never."""
    found = [
        coverage.measure("DAWA", coverage.asked("identity", (64,)), 0.1, x, dataset=name, releases=4, seed=seed)
        for seed, (name, x) in enumerate(coverage.inputs(None, (64,)))
    ]
    [(held, _, width)] = coverage.summary(found).values()
    assert 0.9 < held <= 1.0
    assert width < 2.5


def test_a_factor_is_what_is_missing() -> None:
    sure = [
        coverage.Coverage("A", "prefix", 1.0, name, 0.5, 0.5, 1.0, np.linspace(0, 2, 1001))
        for name in ("one", "two", "three")
    ]
    factor, left_out = coverage.fitted(sure)["A", "prefix"]
    assert factor == pytest.approx(1.95, abs=0.051)
    assert left_out == pytest.approx(0.955, abs=0.03)


def test_shapes_of_a_file_are_added_up_to_the_domain(tmp_path) -> None:
    np.savez(tmp_path / "dpbench_2d.npz", whole=np.ones((8, 8)), odd=np.ones((9, 9)))
    [(name, x)] = coverage.inputs(tmp_path, (4, 4))
    assert (name, x.shape, x.sum()) == ("whole", (4, 4), 1000)
