"""Values that no engine should fail on, rows that would decide how others are read, and files that are there twice."""

from __future__ import annotations

import sqlite3

import ibis
import pytest

from jostle.schema import Date
from jostle.tables.unit import Unit
from tests.tables.test_reading_and_paying import exact, opened

YEAR = {"x": Date("2020-01-01", "2020-12-31", every="month")}
FAR = 2**62


def sqlite_file(path, rows, declared="id, x"):
    with sqlite3.connect(path) as connection:
        connection.execute(f"CREATE TABLE t({declared})")
        connection.executemany("INSERT INTO t VALUES (?, ?)", rows)
    connection.close()
    return path


@pytest.mark.parametrize("first", [(7, 2), (b"\xff", 2), ("a", 2)])
@pytest.mark.parametrize("attached", [False, True])
def test_the_first_row_of_an_ibis_table_in_sqlite_decides_nothing(tmp_path, first, attached):
    path = sqlite_file(tmp_path / "t.sqlite", [first, *[("", 1)] * 5])
    connection = ibis.sqlite.connect(None if attached else path)
    if attached:
        connection.attach("other", path)
    table = connection.table("t", database="other") if attached else connection.table("t")
    assert set(table.schema().types) != {ibis.dtype("string")}
    nobody = opened(table, tmp_path, unit=Unit("id", max_rows=3))
    assert set(nobody._views[0].base.schema().types) == {ibis.dtype("string")}
    assert [*exact(nobody)] == [0, 0, 1, *[0] * 7]
