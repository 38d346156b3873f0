"""What goes wrong outside: locked ledgers, killed queries, empty and odd tables. The budget is never understated."""

from __future__ import annotations

import gc
import sqlite3
import threading
import weakref

import numpy as np
import pandas as pd
import psycopg
import pyarrow as pa
import pytest

from jostle.kernel.errors import BadInput, LedgerError
from jostle.kernel.ledger import Ledger
from jostle.schema import Boolean, Category, Date, Integer, Real, Schema
from jostle.tables import columns
from jostle.tables.opening import open as open_table
from jostle.tables.run_in_engine import EngineError
from jostle.tables.unit import Unit
from tests.tables.engines import into_postgres

SCHEMA = Schema(
    a=Integer(0, 9),
    b=Real(0, 1, bins=4),
    c=Category(["x", "y"]),
    d=Date("2024-01-01", "2024-12-31", every="month"),
    e=Boolean(outside="own", null="own"),
)


def test_a_locked_ledger_refuses_the_release_and_the_next_one_succeeds(tmp_path):
    ledger = Ledger(tmp_path / "l.db", timeout=0.2)
    table = open_table(pd.DataFrame({"a": [1, 2]}), schema={"a": Integer(0, 9)}, ledger=ledger, budget=1, name="t")
    other = sqlite3.connect(tmp_path / "l.db", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    try:
        with pytest.raises(LedgerError):
            table.histogram("a", epsilon="1/2", algorithm="Laplace")
    finally:
        other.execute("ROLLBACK")
        other.close()
    assert table.remaining == 1
    assert table.histogram("a", epsilon="1/2", algorithm="Laplace").spent * 2 == 1


@pytest.mark.parametrize("unit", [None, Unit("p", max_rows=2)])
@pytest.mark.parametrize("rows", [0, 5])
def test_empty_tables_and_columns_of_nulls_are_released_as_any_other(tmp_path, rows, unit):
    frame = pa.table({name: pa.nulls(rows, pa.string()) for name in (*SCHEMA, "p")})
    table = open_table(frame, schema=SCHEMA, ledger=tmp_path / "l.db", budget=10**6, name="t", unit=unit)
    counted = rows if unit is None else 0  # a row without a person does not count
    assert table.count(epsilon=10**4).answers == pytest.approx([counted])
    assert table.histogram("a", epsilon=10**4, algorithm="Laplace").answers == pytest.approx(np.zeros(10))
    assert table.histogram("c", "e", epsilon=10**4).answers.sum() == pytest.approx(counted, abs=1)
    assert table.sum("b", epsilon=10**4).value == pytest.approx(0, abs=0.01)
    assert 0 <= table.mean("b", epsilon=1).value <= 1
    assert 0 <= table.median("b", epsilon=1).values[0] <= 1
    assert len(table.mean("a", by="d", epsilon=1).answers) == 12
    assert table.marginals(("a", "c"), ("c", "e"), epsilon=1)["c", "e"].answers.shape == (16,)
    assert len(table.top("c", k=9, epsilon=1).to_pandas()) == 4
    records, _ = table.records("a", "c", epsilon=1, in_memory=True)
    assert records.vector("a").shape == (10,)


def test_rows_that_were_fetched_go_when_they_are_left(tmp_path):
    frame = pd.DataFrame({"a": [0, 1, 2, 3], "c": ["x", "y", "x", "y"]})
    table = open_table(frame, schema={"a": SCHEMA["a"], "c": SCHEMA["c"]}, ledger=tmp_path / "l.db", budget=1, name="t")
    part = columns.EngineColumns.of(table._views, ["a", "c"]).complete().in_memory().where("c", 1)
    assert (part.rows, part.counts(["a"]).sum()) == (2, 2)
    left = weakref.ref(part), weakref.ref(part._there)
    gc.disable()
    try:
        del part
        assert [*(one() for one in left)] == [None, None]
    finally:
        gc.enable()


def test_a_million_categories(tmp_path):
    many = Category([f"item {number}" for number in range(10**6)])
    frame = pd.DataFrame({"item": ["item 7", "item 999999", "item 7", "nothing", None]})
    table = open_table(frame, schema={"item": many}, ledger=tmp_path / "l.db", budget=10, name="t")
    counts = columns.EngineColumns.of(table._views, ["item"]).counts(["item"])
    assert counts[[7, 999_999, 10**6, 10**6 + 1]].tolist() == [2, 1, 1, 1]
    assert counts.sum() == 5
    assert table.ask("item").preview(epsilon=1).margin == pytest.approx(3)
    with pytest.raises(BadInput, match="at most 1048576 cells"):
        Category(list(range(2**20 + 1)))


# ---------------------------------------------------------------------------------------------------- killed queries


def killing(act, table, ask):
    """Ask while somebody else keeps killing, from the charge on until the asking ends."""
    ended, before = threading.Event(), table.remaining

    def keep_killing():
        while not ended.wait(0.02):
            if table.remaining < before:
                act()

    killer = threading.Thread(target=keep_killing)
    killer.start()
    try:
        return ask()
    finally:
        ended.set()
        killer.join()


def long_question(table):
    """Bounding persons of a few million rows takes longer than until the first kill."""
    return table.histogram("x", epsilon=1, algorithm="Laplace")


def test_an_interrupted_query_in_duckdb_keeps_its_charge(tmp_path):
    rows = 3 * 10**6
    frame = pa.table({"x": np.arange(rows) % 4096, "p": np.arange(rows) // 3})
    table = open_table(
        frame, schema={"x": Integer(0, 4095)}, ledger=tmp_path / "l.db", budget=2, name="t", unit=Unit("p", max_rows=2)
    )
    connection = table._views[0].base.get_backend().con
    with pytest.raises(EngineError, match="sampling|counting rows"):
        killing(connection.interrupt, table, lambda: long_question(table))
    assert table.remaining == 1
    assert long_question(table).spent == 1


def test_a_terminated_session_in_postgres_keeps_its_charge(tmp_path, postgres):
    url, keywords = into_postgres({"x": (pa.int64(), [1, 2, 3]), "p": (pa.int64(), [1, 1, 2])}, tmp_path, postgres)
    plain, search_path = url.replace("+psycopg", "").split("?options=")
    with psycopg.connect(plain, options=search_path.replace("%3D", "="), autocommit=True) as connection:
        connection.execute("CREATE UNLOGGED TABLE slow AS SELECT p % 4 AS x, p FROM generate_series(1, 1500000) AS p")
        opening = {"schema": {"x": Integer(0, 9)}, "ledger": tmp_path / "l.db", "budget": 2, "name": "t", "unit": "p:1"}
        table = open_table(url, table="slow", **opening)
        others = (
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE pid <> pg_backend_pid() AND state = 'active' AND backend_type = 'client backend'"
        )
        with pytest.raises(EngineError, match="sampling|counting rows"):
            killing(lambda: connection.execute(others), table, lambda: long_question(table))
    assert table.remaining == 1
    again = open_table(url, **opening | keywords)
    assert long_question(again).spent == 1
