"""Which attributes matter, from a released model."""

from __future__ import annotations

import numpy as np
import pytest

from jostle.learn.cells import CellModel
from jostle.learn.cuts import CutModel
from jostle.learn.importances import importances
from jostle.learn.task import Task
from jostle.schema import Boolean, Integer

TASK = Task(("wet", "cold", "late"), "sick", {name: Boolean() for name in ("wet", "cold", "late", "sick")})


def test_an_attribute_counts_by_how_far_predictions_move() -> None:
    """Drawn anew, a Boolean changes half of the time: then predictions move by .8 for one, and by nothing for the others."""
    table = np.array([[0.9, 0.1], [0.1, 0.9], [0.5, 0.5]])
    model = CellModel(("cold",), (np.arange(3),), table, "")
    found = importances(model, TASK)
    assert next(iter(found)) == "cold"
    assert found["cold"] == pytest.approx(0.4, abs=0.05)
    assert found["wet"] == found["late"] == 0


def test_a_number_that_was_cut_anew_is_drawn_from_its_new_cells() -> None:
    """Nine tenths of the schema's cells are one new cell: drawn from these, the number would hardly ever move."""
    task = Task(("pay",), "sick", {"pay": Integer(0, 99), "sick": Boolean()})
    model = CellModel(("pay",), (np.array([0, 1, 2]),), np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]), "")
    cut = CutModel(model, {"pay": np.append(np.repeat([0, 1], [90, 10]), 2)})
    assert importances(cut, task)["pay"] == pytest.approx(0.5, abs=0.05)
