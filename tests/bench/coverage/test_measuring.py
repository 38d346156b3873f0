"""Coverage of intervals: the measurement itself, and a small version of it as a check."""

import numpy as np
import pytest

from jostle import workloads
from jostle.kernel.budget import Price
from jostle_bench.coverage import measuring
from jostle_bench.coverage.families import FITTED, UNSEEN
from jostle_bench.coverage.inputs import asked, family, inputs
from jostle_bench.coverage.measuring import Cell, Coverage
from jostle_bench.coverage.plans import Plan, measured, rows


def released(algorithm: str, kind: str, cells: int, price: Price, releases: int, draws: int, runs: int) -> list[Coverage]:
    """On families of data that no factor was fitted to."""
    cell = Cell(algorithm=algorithm, workload=kind, shape=(cells,), price=price)
    about = asked(kind, (cells,))
    data = inputs(None, (cells,), draws=draws, unseen=True)
    return [measuring.measure(cell, about, x, dataset=name, releases=releases, runs=runs) for name, x in data]


@pytest.mark.parametrize("price", [Price.of(0.05), Price.of(None, "1/1000")])
def test_exact_intervals_cover_what_they_say_on_made_up_shapes(price: Price) -> None:
    """Cells of plain noise are independent: 10,240 of them, so off by 0.026 with a chance below 10⁻⁶ (Hoeffding)."""
    [line] = rows(released("Laplace", "identity", 64, price, releases=40, draws=1, runs=20))
    assert line.covered == pytest.approx(0.955, abs=0.03)
    assert line.narrowest == pytest.approx(0.955, abs=0.03)
    assert line.width == pytest.approx(1.0, abs=0.12)
    assert line.of_single == pytest.approx(1.0, abs=0.15)
    assert line.releases == 160


@pytest.mark.parametrize(("name", "kind"), [("Pythia", "identity"), ("DAWA", "identity")])
def test_calibrated_intervals_hold_on_few_cells_of_families_that_were_not_fitted_on(name: str, kind: str) -> None:
    """One release of each of 20 data sets with 11 cells, of which 95 % are covered in the mean. Data sets are independent,
    with a standard deviation of 0.09: 0.85 is 5 of the mean's below it, with a chance under 10⁻⁶ (normal). Seeded."""
    found = released(name, kind, 11, Price.of(0.1), releases=1, draws=5, runs=1)
    each = [one.covered for one in found]
    assert len(each) == 20
    assert 0.85 < np.mean(each) < 1.0
    assert np.mean([one.narrowest for one in found]) > 0.8


def test_what_was_measured_is_kept(tmp_path) -> None:
    cell = Cell(algorithm="AHP", workload="identity", shape=(8,), price=Price.of("1/2"))
    first = measuring.measure(cell, workloads.identity(8), np.arange(8), dataset="rising", releases=2)
    measuring.kept(tmp_path, cell, "rising", 28, lambda: first)
    again = measuring.kept(tmp_path, cell, "rising", 28, lambda: pytest.fail("measured twice"))
    assert again.covered == first.covered
    assert np.allclose(again.margins, first.margins)
    assert (again.by, again.signals, again.records) == (first.by, first.signals, first.records)
    assert again.of_single == pytest.approx(first.of_single)
    assert [file.name for file in tmp_path.iterdir()] == ["AHP identity 8 ε=0.5 rising 28.npz"]


def test_shapes_of_a_file_are_added_up_to_the_domain(tmp_path) -> None:
    np.savez(tmp_path / "dpbench_2d.npz", whole=np.ones((8, 8)), odd=np.ones((9, 9)))
    (name, x), *made_up = inputs(tmp_path, (4, 4))
    assert (name, x.shape) == ("whole", (4, 4))
    assert 300 <= x.sum() <= 30_000
    assert [family(name) for name, _ in made_up] == list(FITTED[2])


@pytest.mark.parametrize("shape", [(5,), (64,), (1, 7), (12, 9)])
def test_every_family_has_shapes_on_every_domain(shape: tuple[int, ...]) -> None:
    for draw in (UNSEEN | FITTED[len(shape)]).values():
        for seed in range(5):
            made = draw(shape, np.random.default_rng(seed))
            assert made.shape == shape
            assert (made >= 0).all()
            assert np.isfinite(made).all()
    assert not UNSEEN.keys() & (FITTED[1] | FITTED[2]).keys()


def test_a_part_of_the_grid_has_every_data_set_at_some_price(tmp_path) -> None:
    prices = [Price.of(one) for one in (0.1, 0.5, 1, 2)]
    plan = Plan(named=["DAWA"], kinds=["identity"], prices=prices, domains=[(6,)], every=2, releases=1, draws=1)
    tasks = list(plan.tasks())
    assert len(tasks) == 2 * len(FITTED[1])
    assert {cell.price for cell, *_ in tasks} == set(prices)
    found = measured(tasks[:2], tmp_path)
    [line] = rows(found)
    assert (line.algorithm, line.workload, line.domain, line.releases) == ("DAWA", "identity", "few, 1D", 2)
    assert line.worst <= line.covered
