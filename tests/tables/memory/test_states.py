"""Conditions worked out on states keep exactly the rows that an engine keeps; all others equal only themselves."""

from __future__ import annotations

from datetime import date

import numpy as np
import pandas as pd
import pytest

from jostle.schema import Boolean, Category, Date, Integer, Real
from jostle.schema.free_text import Text
from jostle.tables.columns import EngineColumns
from jostle.tables.memory.frames import frame_of
from jostle.tables.memory.states import LEFT_OUT, declared_column, known_rows
from jostle.tables.opening import open as open_table

COLUMNS = {
    "n": Integer(-3, 12, bins=4, outside="drop", null="own"),
    "m": Integer(0, 9, null="drop"),
    "c": Category(["a", "b", "x y"]),
    "d": Date(date(2024, 1, 1), date(2024, 3, 31), every="month", outside="own"),
    "b": Boolean(null="drop"),
    "r": Real(0, 1, bins=4),
}
VALUES = {
    "n": [*range(-5, 16), None],
    "m": [*range(-1, 12), None],
    "c": ["a", "b", "x y", "other", "A", None],
    "d": [*pd.date_range("2023-12-30", "2024-04-02").date, None],
    "b": ["true", "false", "perhaps", None],
    "r": [-1.0, 0.0, 0.3, 0.5, 1.0, 2.0, None],
}
CONDITIONS = [
    ("n", "n >= 3"),
    ("n", "n < 0 OR n = 7"),
    ("n", "NOT (n BETWEEN 2 AND 5)"),
    ("n", "n IN (1, 2, 99)"),
    ("n", "n IS NULL OR n > 11"),
    ("m", "m <> 4 AND m >= 2"),
    ("m", "CASE WHEN m < 3 THEN 'low' WHEN m < 6 THEN 'mid' ELSE 'high' END = 'mid'"),
    ("c", "c = 'a'"),
    ("c", "c <> 'a'"),
    ("c", "c IN ('a', 'x y')"),
    ("c", "c IS NOT NULL AND c <> 'b'"),
    ("d", "d >= DATE '2024-02-10'"),
    ("d", "EXTRACT(MONTH FROM d) = 2"),
    ("d", "d = DATE '2024-01-01' OR d IS NULL"),
    ("b", "b"),
    ("b", "NOT b"),
    ("b", "b IS NULL"),
]


def opened(folder, **columns):
    frame = pd.DataFrame({name: pd.Series(values, dtype=object) for name, values in columns.items()})
    schema = {name: COLUMNS.get(name, Integer(0, 999)) for name in columns}
    return open_table(frame, schema=schema, ledger=folder / "b.db", budget=1, name="t", version="1")


@pytest.mark.parametrize(("name", "condition"), CONDITIONS)
def test_a_condition_keeps_the_states_that_an_engine_keeps(name, condition, tmp_path):
    table = opened(tmp_path, **{name: VALUES[name]}, place=list(range(len(VALUES[name])))).where(condition)
    known = known_rows(table._views[0])
    column = declared_column(name, COLUMNS[name])
    assert set(known.kept) == {column.root}, "it was worked out"
    rows = EngineColumns.of(table._views, ["place"]).counts(["place"])
    for place, value in enumerate(VALUES[name]):
        assert rows[place] == known.kept[column.root][state_of(name, value)], (value, condition)


def state_of(name, value):
    """The state that a value is in: those between the bounds, then those below, those above, and nulls."""
    column = COLUMNS[name]
    states = declared_column(name, column).states
    if value is None:
        return states - 1
    if isinstance(column, Category):
        return column.names.index(value) if value in column.names else states - 2
    if isinstance(column, Boolean):
        return {"false": 0, "true": 1}.get(value, 2)
    if value < column.low:
        return states - 3
    if value > column.high:
        return states - 2
    return (value - column.low).days if isinstance(column, Date) else value - column.low


@pytest.mark.parametrize("name", ["n", "m", "c", "d", "b"])
def test_the_cells_of_states_are_those_of_the_schema(name):
    column = declared_column(name, COLUMNS[name])
    for value in VALUES[name]:
        given = np.array([value], dtype=object)
        assert column.cells[state_of(name, value)] == COLUMNS[name].encode(given)[0], value


def test_other_bins_are_other_cells_of_the_same_states():
    one, other = (declared_column("age", Integer(0, 99, bins=bins)) for bins in (10, 5))
    assert one.root == other.root
    assert one.cells.max() == 9
    assert other.cells.max() == 4
    assert declared_column("age", Integer(0, 98, bins=10)).root != one.root
    assert declared_column("ages", Integer(0, 99, bins=10)).root != one.root
    assert declared_column("age", Integer(0, 99, bins=10, missing=["7"])).root != one.root


def test_what_is_not_worked_out_is_told_apart_by_its_expression(tmp_path):
    table = opened(tmp_path, n=VALUES["n"], c=VALUES["c"], r=VALUES["r"])

    def kept(condition):
        return frozenset(known_rows(table.where(condition)._views[0]).kept)

    assert kept("c LIKE 'a%'") == kept("c LIKE 'a%'") != kept("c LIKE 'b%'")
    assert kept("r > 0.5") == kept("r > 0.5") != kept("r >= 0.5")
    assert kept("n = 1 OR c = 'a'") != kept("n = 1 OR c = 'b'")
    assert kept("n > 1 AND c LIKE 'a%'") == kept("n > 1") | kept("c LIKE 'a%'")


def test_a_derived_column_is_a_function_of_the_states_or_has_its_own(tmp_path):
    table = opened(tmp_path, n=VALUES["n"], c=VALUES["c"])
    ages = declared_column("n", COLUMNS["n"])
    coarse = known_rows(table.bin("n", Integer(-3, 12, bins=2))._views[0]).columns["n"]
    assert coarse.root == ages.root
    assert coarse.cells[:16].tolist() == [0] * 8 + [1] * 8
    named = table.derive("k", lambda t: (t.n > 3).ifelse("big", "small"), Category(["big", "small"]))
    big = known_rows(named._views[0]).columns["k"]
    assert big.root == ages.root
    assert big.cells[:8].tolist() == [1] * 7 + [0]
    double = known_rows(table.derive("k", lambda t: t.n * 2, Integer(-6, 24, bins=5))._views[0]).columns["k"]
    assert double.root != ages.root


def test_free_text_is_no_obstacle(tmp_path):
    schema = {"c": COLUMNS["c"], "words": Text()}
    frame = pd.DataFrame({"c": ["a", "b"], "words": ["some", "more"]})
    table = open_table(frame, schema=schema, ledger=tmp_path / "b.db", budget=10, name="t", version="1")
    assert table.histogram("c", epsilon=1).spent == 1
    assert table.histogram("c", epsilon=1).spent == 0


def test_a_derived_column_in_the_place_of_another_is_not_taken_for_it(tmp_path):
    table = opened(tmp_path, n=VALUES["n"], m=VALUES["m"])
    shadowed = table.derive("n", lambda t: t.m, Integer(0, 9)).where("n = 3")
    assert set(known_rows(shadowed._views[0]).kept) == {declared_column("m", COLUMNS["m"]).root}


def test_frames_tell_which_rows_are_counted(tmp_path):
    table = opened(tmp_path, n=VALUES["n"], c=VALUES["c"])

    def frame(view, *names):
        known = known_rows(view)
        return frame_of(known, [(known.columns[name], view.schema[name].size) for name in names])

    whole = frame(table._views[0], "c")
    some = frame(table.where("c <> 'b'")._views[0], "c")
    assert whole.size == some.size == 5
    assert whole.key != some.key
    assert not whole.counts_same_rows(some)
    assert whole.counts_same_rows(frame(table._views[0]))
    by_n = frame(table._views[0], "n")
    assert not by_n.counts_same_rows(whole), "rows beyond the bounds of n are left out"
    assert (by_n.offsets[declared_column("n", COLUMNS["n"]).root] == LEFT_OUT).sum() == 2
