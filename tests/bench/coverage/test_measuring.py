"""Coverage of intervals: the measurement itself, and a small version of it as a check."""

import numpy as np
import pytest

from jostle import workloads
from jostle.kernel.budget import Price
from jostle_bench.coverage import measuring
from jostle_bench.coverage.inputs import asked, inputs
from jostle_bench.coverage.measuring import Cell, Coverage


def measured(algorithm: str, kind: str, cells: int, price: Price, releases: int) -> list[Coverage]:
    cell = Cell(algorithm=algorithm, workload=kind, shape=(cells,), price=price)
    about = asked(kind, (cells,))
    return [
        measuring.measure(cell, about, x, dataset=name, releases=releases, seed=seed)
        for seed, (name, x) in enumerate(inputs(None, (cells,)))
    ]


@pytest.mark.parametrize("price", [Price.of(0.05), Price.of(None, "1/1000")])
def test_exact_intervals_cover_what_they_say_on_made_up_shapes(price: Price) -> None:
    """Cells of plain noise are independent: 10,240 of them, so off by 0.026 with a chance below 10⁻⁶ (Hoeffding)."""
    [line] = measuring.summary(measured("Laplace", "identity", 64, price, releases=40)).values()
    assert line.covered == pytest.approx(0.955, abs=0.03)
    assert line.narrowest == pytest.approx(0.955, abs=0.03)
    assert line.width == pytest.approx(1.0, abs=0.1)
    assert line.releases == 160
    assert line.doubt < 0.01


@pytest.mark.parametrize(("name", "kind"), [("DAWA", "identity"), ("AHP", "prefix"), ("Pythia", "identity")])
def test_calibrated_intervals_are_not_far_off_on_made_up_shapes(name: str, kind: str) -> None:
    """Shapes that no factor was fitted to. Seeded: it passes always or never."""
    [line] = measuring.summary(measured(name, kind, 64, Price.of(0.1), releases=3)).values()
    assert 0.9 < line.covered <= 1.0
    assert line.width < 2.5


def test_what_was_measured_is_kept(tmp_path) -> None:
    cell = Cell(algorithm="AHP", workload="identity", shape=(8,), price=Price.of("1/2"))
    first = measuring.measure(cell, workloads.identity(8), np.arange(8), dataset="rising", releases=2)
    measuring.kept(tmp_path, cell, "rising", 28, lambda: first)
    again = measuring.kept(tmp_path, cell, "rising", 28, lambda: pytest.fail("measured twice"))
    assert again.covered == first.covered
    assert np.allclose(again.margins, first.margins)
    assert (again.by, again.signals, again.records) == (first.by, first.signals, first.records)


def test_shapes_of_a_file_are_added_up_to_the_domain(tmp_path) -> None:
    np.savez(tmp_path / "dpbench_2d.npz", whole=np.ones((8, 8)), odd=np.ones((9, 9)))
    [(name, x)] = inputs(tmp_path, (4, 4))
    assert (name, x.shape, x.sum()) == ("whole", (4, 4), 1000)
