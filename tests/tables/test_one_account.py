"""One account for one table: rows that another account was charged for are refused, as far as that is publicly known."""

from __future__ import annotations

import os
import shutil
import sqlite3

import duckdb
import ibis
import pandas as pd
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import jostle
from jostle.kernel.errors import BadInput, Overdraft
from jostle.schema import Category, Integer
from jostle.tables.engines.catalogs import STABLE
from jostle.tables.run_in_engine import run_in_engine
from tests.tables.engines import arrow, into_parquet, into_postgres

SCHEMA = {"age": Integer(0, 99, bins=10), "sex": Category(["F", "M"])}
FRAME = pd.DataFrame({"age": range(60), "sex": ["F", "M"] * 30, "id": range(60)})
COLUMNS = {"age": (pa.int64(), list(range(60))), "sex": (pa.string(), ["F", "M"] * 30)}


def opened(folder, data, name=None, **more):
    return jostle.open(data, schema=SCHEMA, ledger=folder / "b.db", budget=10, name=name, **more)


def refused(folder, data, name=None, *, of="people", **more):
    with pytest.raises(BadInput, match=f"charged to the account '{of}'") as found:
        opened(folder, data, name, **more)
    assert found.value.argument == "name"
    assert f"beside='{of}'" in found.value.remedy
    names = [account.name for account in jostle.Ledger(folder / "b.db").accounts()]
    assert names == [of], "a refusal leaves nothing behind"


@pytest.fixture
def people(tmp_path):
    path = tmp_path / "people.csv"
    FRAME.to_csv(path, index=False)
    return path


def test_a_file_is_found_by_any_name_and_in_any_list(tmp_path, people):
    opened(tmp_path, people).count(epsilon=1)
    (tmp_path / "link.csv").symlink_to(people)
    os.link(people, tmp_path / "other.csv")
    more = tmp_path / "more.csv"
    FRAME.to_csv(more, index=False)
    refused(tmp_path, people, "again")
    refused(tmp_path, tmp_path / "link.csv")
    refused(tmp_path, tmp_path / "other.csv")
    refused(tmp_path, [more, people], "all")
    refused(tmp_path, tmp_path / "." / "people.csv", "again")
    (tmp_path / "other.csv").unlink()
    shutil.move(people, tmp_path / "renamed.csv")
    refused(tmp_path, tmp_path / "renamed.csv")
    assert opened(tmp_path, tmp_path / "renamed.csv", "people").count(epsilon=1).spent == 1
    assert opened(tmp_path, more).count(epsilon=1).spent == 1


def test_a_list_is_found_by_its_files(tmp_path, people):
    more = tmp_path / "more.csv"
    FRAME.to_csv(more, index=False)
    opened(tmp_path, [people, more], "all").count(epsilon=1)
    refused(tmp_path, more, of="all")
    assert opened(tmp_path, more, "all").count(epsilon=1).spent == 1


def test_a_file_in_a_folder_is_found(tmp_path):
    folder = tmp_path / "year"
    folder.mkdir()
    for month in ("01", "02"):
        pq.write_table(arrow(COLUMNS), folder / f"{month}.parquet")
    opened(tmp_path, folder, "year").count(epsilon=1)
    refused(tmp_path, folder / "02.parquet", of="year")


def test_frames_with_the_same_columns_cannot_be_told_apart(tmp_path):
    opened(tmp_path, FRAME, "people").count(epsilon=1)
    refused(tmp_path, FRAME.copy(), "copy")
    refused(tmp_path, FRAME[["age", "sex"]], "part")
    other = opened(tmp_path, FRAME.rename(columns={"id": "patient"}), "renamed")
    assert other.count(epsilon=1).spent == 1, "only values could show it"


def test_beside_says_that_both_budgets_are_meant(tmp_path, people):
    opened(tmp_path, people).count(epsilon=1)
    persons = opened(tmp_path, people, "persons", unit="id:1", beside="people")
    assert persons.count(epsilon=1).spent == 1
    assert opened(tmp_path, people, "persons").count(epsilon=1).spent == 1, "remembered"
    assert opened(tmp_path, people).remaining == 9
    with pytest.raises(BadInput, match="beside"):
        opened(tmp_path, people, "x", beside=[3])


def test_the_first_charge_decides_between_two_that_are_open(tmp_path, people):
    one, other = opened(tmp_path, people, "one"), opened(tmp_path, people, "other")
    with pytest.raises(Overdraft):
        one.count(epsilon=11)
    other.count(epsilon=1)
    with pytest.raises(BadInput, match="charged to the account 'other'"):
        one.count(epsilon=1)
    assert [account.name for account in jostle.Ledger(tmp_path / "b.db").accounts()] == ["other"]


@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
def test_tables_and_views_of_an_embedded_database(tmp_path, engine):
    path = tmp_path / f"d.{engine}"
    connection = duckdb.connect(str(path)) if engine == "duckdb" else sqlite3.connect(path)
    for statement in (
        "CREATE TABLE people (age INTEGER, sex VARCHAR)",
        "INSERT INTO people VALUES (31, 'F'), (45, 'M')",
        "CREATE TABLE others (age INTEGER, sex VARCHAR)",
        "CREATE VIEW adults AS SELECT * FROM people WHERE age >= 18",
        "CREATE VIEW women AS SELECT * FROM adults WHERE sex = 'F'",
    ):
        connection.execute(statement)
    connection.commit()
    connection.close()
    opened(tmp_path, path, table="people").count(epsilon=1)
    refused(tmp_path, path, "again", table="People")
    refused(tmp_path, path, "adults", table="adults", view=STABLE)
    refused(tmp_path, path, "women", table="women", view=STABLE)
    assert opened(tmp_path, path, table="others").count(epsilon=1).spent == 1


def test_a_view_of_a_parquet_file(tmp_path):
    path, _ = into_parquet(COLUMNS, tmp_path, None)
    database = tmp_path / "d.duckdb"
    with duckdb.connect(str(database)) as connection:
        connection.execute(f"CREATE VIEW one AS SELECT * FROM '{path}'")
        connection.execute(f"CREATE VIEW many AS SELECT * FROM read_parquet('{tmp_path}/*.parquet')")
    opened(tmp_path, path, "people").count(epsilon=1)
    for view in ("one", "many"):
        refused(tmp_path, database, view, table=view, view=STABLE)


@pytest.mark.parametrize("engine", ["duckdb", "sqlite"])
def test_a_database_in_memory_is_known_by_its_connection(tmp_path, engine):
    one, other = (getattr(ibis, engine).connect() for _ in range(2))
    for connection in (one, other):
        connection.con.execute("CREATE TABLE people (age INTEGER, sex VARCHAR)")
    first, again, elsewhere = (run_in_engine("looking", lambda c=c: c.table("people")) for c in (one, one, other))
    opened(tmp_path, first).count(epsilon=1)
    refused(tmp_path, again, "again")
    assert opened(tmp_path, elsewhere, "others").count(epsilon=1).spent == 1


def test_tables_views_and_partitions_of_postgres(tmp_path, postgres):
    url, keywords = into_postgres(COLUMNS, tmp_path, postgres)
    plain, search_path = url.replace("+psycopg", "").split("?options=")
    with psycopg.connect(plain, options=search_path.replace("%3D", "=")) as connection:
        connection.execute("CREATE VIEW adults AS SELECT * FROM people WHERE age >= 18")
        connection.execute("CREATE VIEW women AS SELECT * FROM adults WHERE sex = 'F'")
        connection.execute("CREATE TABLE others (age bigint, sex text)")
    opened(tmp_path, url, **keywords).count(epsilon=1)
    refused(tmp_path, url.replace("127.0.0.1", "localhost"), "again", **keywords)
    refused(tmp_path, url, "adults", table="adults", view=STABLE)
    refused(tmp_path, url, "women", table="women", view=STABLE)
    with psycopg.connect(plain, options=search_path.replace("%3D", "=")) as connection:
        connection.execute("ALTER TABLE people RENAME TO persons")
    refused(tmp_path, url, table="persons")
    assert opened(tmp_path, url, table="others").count(epsilon=1).spent == 1


def test_frames_of_spark_are_known_by_their_files(tmp_path, spark):
    path, _ = into_parquet(COLUMNS, tmp_path, None)
    opened(tmp_path, path, "people").count(epsilon=1)
    refused(tmp_path, spark.read.parquet(str(path)), "again")
