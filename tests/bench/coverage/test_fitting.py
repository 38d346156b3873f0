"""Factors: what is missing is found, at the strength where it is missing, and checked on families left out."""

import json

import numpy as np
import pytest

from jostle.kernel.budget import Price
from jostle.simulate.calibration import KNOTS, apply
from jostle_bench.coverage.fitting import WANTED, Fitted, checked, fitted, write
from jostle_bench.coverage.measuring import Cell, Coverage


def sure(dataset: str, strength: float, factor: float, raw: np.ndarray | None = None) -> Coverage:
    """Margins of 100 (or others) where errors are spread evenly from 0 to a factor times as much."""
    cell = Cell(algorithm="DAWA", workload="prefix", shape=(1000,), price=Price.of(1))
    raw = np.full(1001, 100.0) if raw is None else raw
    off = np.random.default_rng(len(dataset)).permutation(np.linspace(0, 100 * factor, 1001))[np.newaxis]
    about = {"by": ("DAWA",), "signals": (strength,), "records": round(strength), "ideal": np.ones(1001), "single": 1.0}
    return Coverage(cell=cell, dataset=dataset, off=off, raw=raw[np.newaxis], **about)


def test_a_factor_is_what_is_missing_at_a_strength() -> None:
    families = [f"{name} #{draw}" for name in "abcdefgh" for draw in range(4)]
    found = [sure(name, s, f) for name in families for s, f in ((-2.0, 2.0), (0.0, 2.0), (2.0, 1.0), (3.0, 1.0))]
    fit = fitted(found)["DAWA, prefix, 1D"]
    at = dict(zip(KNOTS, fit.numbers[2:], strict=True))
    assert at[0.0] == pytest.approx(2 * WANTED, rel=0.1)
    assert at[0.0] > 1.5 * at[2.0]
    assert fit.releases == 128
    left_out = checked(found, {"DAWA, prefix, 1D": fit})
    assert [one.dataset for one in left_out] == [one.dataset for one in found]
    assert WANTED - 0.06 < np.mean([one.covered for one in left_out]) <= 1.0


def test_margins_that_differ_for_no_reason_are_evened_out() -> None:
    """Half of them say 50 and half 200, where errors are the same."""
    raw = np.where(np.arange(1001) % 2, 50.0, 200.0)
    found = [sure(name, s, 1.0, raw) for name in "abcdefgh" for s in (0.0, 1.0) for _ in range(6)]
    numbers = fitted(found)["DAWA, prefix, 1D"].numbers
    assert -0.9 <= numbers[0] < -0.5
    made = apply(raw, numbers, 0.5)
    assert made.max() / made.min() < 2


def test_what_is_exact_or_chosen_gets_no_factor() -> None:
    cell = Cell(algorithm="Laplace", workload="identity", shape=(2,), price=Price.of(1))
    about = {"by": ("Laplace",), "signals": (0.0,), "records": 1, "ideal": np.ones(2), "single": 1.0}
    one = Coverage(cell=cell, dataset="one", off=np.ones((1, 2)), raw=np.ones((1, 2)), **about)
    assert fitted([one]) == {}
    chosen = Cell(algorithm="Pythia", workload="identity", shape=(2,), price=Price.of(1))
    about["by"] = ("DAWA",)
    found = [Coverage(cell=chosen, dataset=d, off=np.ones((1, 2)), raw=np.ones((1, 2)), **about) for d in "abcd"]
    assert fitted(found) == {}
    assert checked(found, {}) == found


def test_factors_are_written_beside_others(tmp_path) -> None:
    file = tmp_path / "calibration.json"
    numbers = (0.0, 0.0, *[1.5] * len(KNOTS))
    fit = Fitted(numbers, tuple([0.5] * len(KNOTS)), 8, ())
    write({"A, prefix, 1D": fit}, file, "a command")
    write({"B, prefix, 1D": fit}, file, "another")
    read = json.loads(file.read_text())
    assert read["factors"] == {"A, prefix, 1D": list(numbers), "B, prefix, 1D": list(numbers)}
    assert read["typical"]["A, prefix, 1D"] == [0.5] * len(KNOTS)
    assert apply(np.ones(1), numbers, 0.3).tolist() == pytest.approx([1.5])
