"""Calibrated margins: what factors do to them, and what they never are."""

from fractions import Fraction

import numpy as np
import pytest

from jostle import algorithms, workloads
from jostle.kernel.neighbours import Neighbours
from jostle.simulate import calibration, margins
from jostle.simulate.calibration import FEW, KNOTS, apply, factors, key


def test_factors_are_between_those_of_the_knots_and_margins_keep_their_order() -> None:
    raw = np.array([1.0, 2.0, 5.0, 20.0])
    for numbers in factors().values():
        assert len(numbers) == 2 + len(KNOTS)
        assert min(numbers[:2]) > -1
        assert min(numbers[2:]) > 0.4
        made = [apply(raw, numbers, strength) for strength in (KNOTS[0], KNOTS[0] - 5)]
        assert (np.diff(made[0]) > 0).all()
        np.testing.assert_array_equal(*made)
    numbers = (0.0, 0.0, *np.arange(1.0, len(KNOTS) + 1))
    assert apply(raw, numbers, KNOTS[2]) == pytest.approx(3 * raw)
    assert apply(np.zeros(3), numbers, 0.0).tolist() == [0, 0, 0]


def test_plans_that_run_others_have_their_factors() -> None:
    assert (
        key("OPT-Bayes", ("identity", (FEW,)))
        == key("AdaptiveGrid", ("identity", (FEW,)))
        == "Bayes, identity, 1D, few cells"
    )
    assert key("OPT-Bayes", ("ranges", (9, 9))) == key("AdaptiveGrid", ("rectangles", (9, 9))) == "AdaptiveGrid, ranges, 2D"
    for name in algorithms.names("range-1d"):
        if algorithms.get(name).data_dependent and name not in (*margins.BLIND, "Pythia"):
            assert calibration._of(factors(), key(name, ("identity", (256,)))) is not None


def test_an_interval_of_a_count_reaches_to_a_whole_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(margins, "widened", lambda raw, *_: np.zeros(raw.shape))
    estimate = np.array([0.25, 7.0, 3.875, 2.0])
    run = (algorithms.get("DAWA"), estimate, workloads.prefix(4), Fraction(1), Neighbours("add_remove"), {})
    assert margins.within_95(*run).tolist() == [0.25, 0.25, 0.125, 0.125]
