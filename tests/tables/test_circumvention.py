"""Ways around the promise of a table, each of which is refused."""

from __future__ import annotations

import itertools
import sqlite3
import uuid
from collections import UserList, deque
from contextlib import closing

import duckdb
import pandas as pd
import pyarrow as pa
import pytest

import jostle
from jostle.schema import Integer, Schema
from jostle.tables.columns import EngineColumns
from jostle.tables.engines import sources

SCHEMA = Schema(x=Integer(0, 999))


def rows(number, **more):
    return pd.DataFrame({"pid": [1] * number, "x": range(number)} | more)


def opened(data, folder, *, book="budget.db", **keywords):
    return jostle.open(data, schema=SCHEMA, budget=100, ledger=str(folder / book), **{"name": "p"} | keywords)


@pytest.mark.parametrize("name", ["jostle_person", "Jostle_Cell_0", "pid", "PID"])
def test_no_new_column_takes_the_place_of_the_person(tmp_path, name):
    table = opened(rows(1000), tmp_path, unit="pid:1")
    with pytest.raises(jostle.BadInput, match="^name: .* is kept for other things"):
        table.derive(name, lambda form: form.x, Integer(0, 999))
    with pytest.raises(jostle.BadInput, match="^name: .* is kept for other things"):
        table.join({1: 2}, on="x", name=name, column=Integer(0, 9))


def test_a_union_is_of_one_account_not_of_one_name(tmp_path):
    one = opened(rows(5), tmp_path)
    for other in (opened(rows(7), tmp_path, book="other.db"), opened(rows(7), tmp_path, book="b.db", neighbours="replace")):
        with pytest.raises(jostle.BadInput, match="^other: is no table with this one's account"):
            one.union(other)


def test_the_same_rows_under_two_names_are_no_union(tmp_path):
    with duckdb.connect(tmp_path / "d.duckdb") as connection:
        connection.execute("CREATE TABLE t AS SELECT range AS x FROM range(10)")
    tables = [opened(tmp_path / "d.duckdb", tmp_path, table=name) for name in ("t", "main.t")]
    with pytest.raises(jostle.BadInput, match="^other: may have rows of this table: only tables of different files"):
        tables[0].union(tables[1])
    folder = tmp_path / "parts"
    folder.mkdir()
    rows(10).to_parquet(folder / "a.parquet")
    with pytest.raises(jostle.BadInput, match="^data: names some file twice"):
        opened([folder / "a.parquet"] * 2, tmp_path)


def test_a_file_that_is_named_twice_is_found_in_any_kind_of_sequence(tmp_path):
    path = tmp_path / "a.parquet"
    rows(10).to_parquet(path)
    for several in ([path, path], (path, path), UserList([path, path]), deque([path, path])):
        with pytest.raises(jostle.BadInput, match="^data: names some file twice"):
            opened(several, tmp_path)
    for one in ([path], (path,), UserList([path])):
        with pytest.raises(jostle.BadInput, match="^other: has rows of this table"):
            opened(path, tmp_path).union(opened(one, tmp_path))


def test_a_frame_and_its_copy_are_no_union(tmp_path):
    """The copy is another object with the same rows, which would count twice, with noise for one."""
    frame = rows(10)
    frame.to_parquet(tmp_path / "a.parquet")
    rows(7).to_parquet(tmp_path / "b.parquet")
    files = [opened(tmp_path / f"{name}.parquet", tmp_path) for name in "ab"]
    arrow = pa.Table.from_pandas(frame)
    frames = [opened(one, tmp_path) for one in (frame, frame.copy(), arrow)]
    for one, other in itertools.combinations([*frames, files[0]], 2):
        for left, right in ((one, other), (other, one)):
            with pytest.raises(jostle.BadInput, match="UNION ALL the rows into a table, and open them as one"):
                left.union(right)
    assert exact(files[0].union(files[1])) == 17


def exact(table):
    return EngineColumns.of(table._views, ["x"]).counts(["x"]).sum()


@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
def test_two_tables_of_databases_are_no_union(tmp_path, engine):
    for name in "ab":
        if engine == "duckdb":
            with duckdb.connect(tmp_path / f"{name}.db") as connection:
                connection.execute("CREATE TABLE t AS SELECT range AS x FROM range(10)")
        else:
            with closing(sqlite3.connect(tmp_path / f"{name}.db")) as connection, connection:
                connection.execute("CREATE TABLE t (x)")
    one, other = (opened(tmp_path / f"{name}.db", tmp_path) for name in "ab")
    with pytest.raises(jostle.BadInput, match="^other: may have rows of this table"):
        one.union(other)


def test_several_files_have_no_name_of_their_own(tmp_path):
    """The first file's name would be another account for the rows of the second one, with a cap of its own."""
    folder = tmp_path / "years"
    folder.mkdir()
    for year in ("2023", "2024"):
        rows(10).to_parquet(folder / f"{year}.parquet")
        rows(10).to_csv(tmp_path / f"{year}.csv", index=False)
    for several in (
        [tmp_path / "2023.csv", tmp_path / "2024.csv"],
        (folder / "2023.parquet", folder / "2024.parquet"),
        folder,
    ):
        with pytest.raises(jostle.BadInput, match="^name: is missing: .* the name decides which budget pays"):
            opened(several, tmp_path, name=None)
        with pytest.raises(jostle.BadInput, match="^name: is missing"):
            opened(several, tmp_path, name="")
        assert opened(several, tmp_path, name="years").name == "years"
    for one in (tmp_path / "2024.csv", str(tmp_path / "2024.csv"), [tmp_path / "2024.csv"]):
        assert opened(one, tmp_path, name=None).name == "2024"


def test_rows_in_spark_are_never_added_up(spark, tmp_path):
    """Every call makes another object of the same table, and so does another session."""
    people = f"p_{uuid.uuid4().hex}"
    frame = spark.range(10).withColumnRenamed("id", "x").localCheckpoint()
    frame.createTempView(people)
    frame.createGlobalTempView(people)
    known = f"global_temp.{people}"
    rows(10).to_parquet(tmp_path / "a.parquet")
    ways = [
        (spark.table(known), {}),
        (spark.table(known), {}),
        (spark.newSession().table(known), {}),
        (spark, {"table": people}),
        (spark.read.parquet(str(tmp_path / "a.parquet")), {}),
        (tmp_path / "a.parquet", {}),
    ]
    one, *others = (opened(data, tmp_path, **how) for data, how in ways)
    for other in others:
        with pytest.raises(jostle.BadInput, match="^other: may have rows of this table"):
            one.union(other)
    with pytest.raises(jostle.BadInput, match="^other: may have rows of this table"):
        others[-1].union(others[-2])


def test_only_files_have_an_origin(tmp_path):
    """What is elsewhere may be the rows of anything."""
    frame = type("DataFrame", (), {"__module__": "pyspark.sql.dataframe"})
    rows(10).to_parquet(tmp_path / "a.parquet")
    for data in (frame(), rows(10), "postgresql://h/d", tmp_path / "a.db"):
        assert sources._origin(data) == frozenset()
    assert sources._origin([tmp_path / "a.parquet"]) == {(tmp_path / "a.parquet").resolve()}


def test_an_account_remembers_whom_it_protects(tmp_path):
    opened(rows(100), tmp_path, unit="pid:1").count(epsilon="0.1")
    with pytest.raises(jostle.BadInput, match="^unit: the account 'p' protects each pid"):
        opened(rows(100), tmp_path, unit="x:1")
    for unit in (None, "pid:1"):
        assert opened(rows(100), tmp_path, unit=unit).unit == jostle.Unit("pid", max_rows=1)
