"""Factors: what is missing is found, at the strength where it is missing, and checked on data sets left out."""

import json

import numpy as np
import pytest

from jostle.kernel.budget import Price
from jostle.simulate.calibration import KNOTS, apply
from jostle_bench.coverage.fitting import WANTED, Fitted, fitted, write
from jostle_bench.coverage.measuring import Cell, Coverage


def sure(dataset: str, strength: float, factor: float) -> Coverage:
    """Margins of 1 where errors are spread evenly from 0 to a factor."""
    cell = Cell(algorithm="DAWA", workload="prefix", shape=(1000,), price=Price.of(1))
    off = np.linspace(0, factor, 1001)[np.newaxis]
    about = {"by": ("DAWA",), "signals": (strength,), "records": 10, "ideal": np.ones(1001)}
    return Coverage(cell=cell, dataset=dataset, off=off, raw=np.ones((1, 1001)), **about)


def test_a_factor_is_what_is_missing_at_a_strength() -> None:
    found = [sure(name, s, f) for name in ("one", "two", "three") for s, f in ((0.0, 2.0), (2.0, 1.0))]
    fit = fitted(found)["DAWA, prefix, 1D"]
    at = dict(zip(KNOTS, fit.numbers[1:], strict=True))
    assert at[0.0] == pytest.approx(2 * WANTED, rel=0.06)
    assert at[0.0] > 1.5 * at[2.0]
    assert WANTED - 0.02 < fit.left_out <= 1.0
    assert fit.releases == 6


def test_what_is_exact_gets_no_factor() -> None:
    cell = Cell(algorithm="Laplace", workload="identity", shape=(2,), price=Price.of(1))
    about = {"by": ("Laplace",), "signals": (0.0,), "records": 1, "ideal": np.ones(2)}
    one = Coverage(cell=cell, dataset="one", off=np.ones((1, 2)), raw=np.ones((1, 2)), **about)
    assert fitted([one]) == {}


def test_factors_are_written_beside_others(tmp_path) -> None:
    file = tmp_path / "calibration.json"
    numbers = (0.0, *[1.5] * len(KNOTS))
    fit = Fitted(numbers, tuple([0.5] * len(KNOTS)), 0.95, 0.95, 1.1, 8)
    write({"A, prefix, 1D": fit}, file, "a command")
    write({"B, prefix, 1D": fit}, file, "another")
    read = json.loads(file.read_text())
    assert read["factors"] == {"A, prefix, 1D": list(numbers), "B, prefix, 1D": list(numbers)}
    assert read["typical"]["A, prefix, 1D"] == [0.5] * len(KNOTS)
    assert apply(np.ones(1), numbers, 0.3).tolist() == [1.5]
