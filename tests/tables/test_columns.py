"""Columns in an engine know whether a row may cease to count, whichever step, rule or question leaves it out."""

from __future__ import annotations

import pandas as pd
import pytest

import jostle
from jostle.schema import Category, Integer, Real, Text
from jostle.tables import aggregates as agg
from jostle.tables.columns import EngineColumns
from jostle.tables.opening import open as open_table

SCHEMA = {
    "g": Category(["a", "b"]),
    "d": Category(["a", "b"], outside="drop"),
    "n": Integer(0, 9, null="drop"),
    "x": Real(0, 1, bins=2, null="own"),
    "t": Text(),
}


def of(*names):
    return lambda table: EngineColumns.of(table._views, names)


def asked(*by, keys=None, **aggregates):
    return lambda table: table.group_by(*by, keys=keys).ask(**aggregates)._columns


LEAVE_OUT = {
    "a condition": lambda table: of("g")(table.where("x < 2")),
    "a condition, and other columns since": lambda table: of("g")(table.where("x < 2").select("g")),
    "values beyond those listed": of("d"),
    "missing values": of("n"),
    "one of several columns": of("g", "n"),
    "the same, complete": lambda table: of("g", "n")(table).complete(),
    "the same, in memory": lambda table: of("g", "n")(table).complete().in_memory(),
    "a part of what is in memory": lambda table: of("g", "n")(table).complete().in_memory().where("g", 0),
    "listed groups": asked("g", keys=["a"], n=agg.count()),
    "rows without a number": asked("g", total=agg.sum("x")),
    "groups that are selected": asked("t", keys="private", n=agg.count()),
    "a label": lambda table: EngineColumns.labelled(table._views, {"x": 3, "g": 4}, "g"),
}


@pytest.fixture
def table(tmp_path):
    about = {"ledger": tmp_path / "b.db", "budget": jostle.Approximate(1, 1e-6), "name": "t", "neighbours": "replace"}
    return open_table(pd.DataFrame({name: ["a"] for name in SCHEMA}), schema=SCHEMA, **about)


@pytest.mark.parametrize("how", LEAVE_OUT)
def test_whatever_leaves_out_rows_is_known_to_the_columns(table, how):
    """Under `replace`, the number of rows is public only where none can be left out, by any rule."""
    assert LEAVE_OUT[how](table).filtered


@pytest.mark.parametrize("columns", [of("g"), of("g", "x"), asked("g", n=agg.count()), lambda t: of("x")(t).complete()])
def test_where_every_row_counts_nothing_is_left_out(table, columns):
    assert not columns(table).filtered


@pytest.mark.parametrize("unit", [jostle.Unit("who", 1), jostle.Unit("who", 2)])
def test_rows_that_are_nobody_s_are_left_out(tmp_path, unit):
    data = pd.DataFrame({"g": ["a"], "who": [1]})
    about = {"ledger": tmp_path / "b.db", "budget": 1, "name": "t", "neighbours": "replace"}
    table = open_table(data, schema={"g": SCHEMA["g"]}, unit=unit, **about)
    assert of("g")(table).filtered
    assert of("g")(table).complete().filtered


@pytest.mark.parametrize("how", ["records", "in memory", "labelled"])
def test_parts_of_records_have_each_person_s_rows_once(tmp_path, how):
    """Ten persons have a row in each of five parts, of which two count: over all parts together."""
    data = pd.DataFrame([(who, g) for who in range(10) for g in range(5)], columns=["who", "g"])
    about = {"ledger": tmp_path / "b.db", "budget": 10, "name": "t"}
    table = open_table(data, schema={"g": Integer(0, 4)}, unit=jostle.Unit("who", 2), **about)
    records, token = (
        table.labelled({"g": 5}, "g", epsilon=1, in_memory=False)
        if how == "labelled"
        else table.records("g", epsilon=1, in_memory=how == "in memory")
    )
    parts = records.split("g", token)
    assert sum(part._Records__columns.counts(["g"]).sum() for part, _ in parts) == 20
