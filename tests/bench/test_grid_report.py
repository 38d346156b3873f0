"""What measurements on the paper's grid say: against arithmetic by hand, and on small samples."""

from __future__ import annotations

import numpy as np
import pytest

from jostle.simulate import grid, measure
from jostle.simulate.results import MeasuredError, Results
from jostle_bench.grid_report import leave_one_out, report
from tests.simulate.folders import data_folder


@pytest.fixture
def folder(tmp_path):
    return data_folder(tmp_path / "data")


def made(algorithm: str, cell: str, mean: float) -> MeasuredError:
    return MeasuredError(
        algorithm=algorithm,
        version=1,
        cell=cell,
        digest="00",
        trials=10,
        seed=0,
        neighbours="add_remove",
        mean=mean,
        stderr=0.0,
        seconds=0.0,
    )


def test_the_report_against_arithmetic_by_hand(folder):
    cells = grid.cells("range-1d", folder, sides=(128, 256), exponents=(5, 9))
    rng = np.random.default_rng(0)
    names = ["Laplace", "HB", "Mine", "Yours"]
    means = {(name, cell.key): float(rng.uniform(1, 9)) for name in names for cell in cells}
    found = report("range-1d", cells, names, [made(*key, mean) for key, mean in means.items()])
    best = {cell.key: min(means["Laplace", cell.key], means["HB", cell.key]) for cell in cells}
    for line in (*found.suite, *found.options):
        for kind in ("identity", "prefix"):
            ratios = [means[line.name, cell.key] / best[cell.key] for cell in cells if cell.queries == kind]
            assert line.means[kind] == pytest.approx(np.mean(ratios))
            assert line.errors[kind] == pytest.approx(np.std(ratios, ddof=1) / np.sqrt(len(ratios)))
            assert found.ratios[line.name][kind] == pytest.approx(ratios)
    ours = []
    for cell in (cell for cell in cells if cell.queries == "prefix"):
        alike = [c for c in cells if (c.queries, c.side) == (cell.queries, cell.side) and c.dataset != cell.dataset]
        pick = min(["Mine", "Yours"], key=lambda name: sum(means[name, c.key] / best[c.key] for c in alike))
        ours.append(means[pick, cell.key] / best[cell.key])
    assert found.chosen[0].means["prefix"] == pytest.approx(np.mean(ours))
    oracle = [min(means["Mine", c.key], means["Yours", c.key]) / best[c.key] for c in cells if c.queries == "prefix"]
    assert found.chosen[-1].means["prefix"] == pytest.approx(np.mean(oracle))
    assert found.inputs == {"identity": 12, "prefix": 12}


def test_choosing_never_looks_at_the_data_set_it_is_judged_on(folder):
    cells = grid.cells("range-1d", folder, sides=(128,), exponents=(5,))
    # Each data set has an algorithm that is best on it alone: chosen by the others, it is never picked.
    ratios = {one: np.array([0.1 if cell.dataset == one else 1.0 for cell in cells]) for one in ("ONE", "TWO", "THREE")}
    assert (leave_one_out(cells, ratios) == 1.0).all()


def test_small_samples_choose_by_what_there_is(folder):
    one, two = (
        next(c for c in grid.cells("range-1d", folder, sides=(side,)) if c.dataset == name and c.queries == "prefix")
        for name, side in (("ONE", 128), ("TWO", 256))
    )
    ratios = {"a": np.array([0.5, 1.0]), "b": np.array([0.9, 0.2])}
    assert leave_one_out([one, two], ratios).tolist() == [0.9, 1.0]  # by the other data set, on another domain
    assert np.isnan(leave_one_out([one], {"a": np.array([0.5])})).all()
    alone = report("range-1d", [one], ["HB", "Mine"], [made("HB", one.key, 1.0), made("Mine", one.key, 2.0)])
    assert alone.chosen[0].means == {}
    assert alone.options[0].means == {"prefix": 2.0}
    assert report("range-1d", [one], ["HB", "Mine"], [made("HB", one.key, 1.0)]) is None


def test_a_measured_grid_has_a_report(folder):
    cells = grid.cells("range-2d", folder, sides=(4,), exponents=(8,))
    todo = measure.jobs(cells, ["Laplace", "Uniform"], trials=2, seed=0)
    found = report("range-2d", cells, ["Laplace", "Uniform"], measure.run(todo, Results(), workers=1))
    assert found.inputs == {"short": 3, "medium": 3, "long": 3, "mixed": 3}
    assert min(line.means["long"] for line in found.suite) >= 1.0
    assert not found.options
