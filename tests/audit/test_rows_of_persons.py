"""Whose rows are whose, and that rows which are drawn once stay the same: what a bound on a person's rows rests on."""

from __future__ import annotations

import uuid

import numpy as np
import pandas as pd

from jostle.schema import Integer
from jostle.tables.columns import EngineColumns
from jostle.tables.opening import open as open_table
from jostle.tables.table import Table
from jostle.tables.unit import Unit


def opened(frame: pd.DataFrame, tmp_path, most: int) -> Table:
    how = {"schema": {"x": Integer(0, 9)}, "ledger": tmp_path / "l.db", "budget": 1, "name": "t"}
    return open_table(frame, unit=Unit("p", max_rows=most), **how)


def test_equal_objects_are_one_person(tmp_path) -> None:
    persons = pd.Series([uuid.UUID(int=1), uuid.UUID(int=1), uuid.UUID(int=2)], dtype=object)
    table = opened(pd.DataFrame({"x": [1, 2, 3], "p": persons}), tmp_path, 1)
    assert EngineColumns.of(table._views, ["x"]).rows == 2


def test_rows_that_are_drawn_once_stay_the_same(tmp_path) -> None:
    """Drawn anew, 30 rows fall into 10 cells alike, four times in a row, with a probability below (1/100)³."""
    frame = pd.DataFrame({"x": np.arange(1000) % 10, "p": np.repeat(np.arange(10), 100)})
    (view,) = opened(frame, tmp_path, 3)._views
    drawn = EngineColumns.of([view.sampled_once()], ["x"])
    found = {tuple(drawn.counts(["x"]).tolist()) for _ in range(4)}
    assert [sum(one) for one in found] == [30]
