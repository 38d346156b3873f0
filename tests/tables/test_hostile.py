"""Tables and questions that are made to tell something by failing, or to make one row count as several."""

from __future__ import annotations

import itertools
import sqlite3

import ibis
import numpy as np
import pandas as pd
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jostle.kernel.errors import BadInput
from jostle.schema import Category, Date, Integer, Real
from jostle.tables.columns import EngineColumns
from jostle.tables.opening import open as open_table
from jostle.tables.run_in_engine import run_in_engine
from jostle.tables.unit import Unit
from tests.tables.engines import into_postgres

SPELLINGS = ["".join(letters) for letters in itertools.product(*((a, a.upper()) for a in "abcdefg"))]
"""The same word to whoever does not tell capitals: more than are compared one by one."""


def opened(data, tmp_path, schema, **more):
    return open_table(data, schema=schema, ledger=tmp_path / "ledger.db", budget=10**6, name="t", **more)


def there(engine, name):
    """A table of an engine, without the warnings of Ibis about itself."""
    return run_in_engine("looking for the table", lambda: engine.table(name))


def exact(table, name):
    return EngineColumns.of(table._views, [name]).counts([name])


# ------------------------------------------------------------------------------------------------------------- sums


@pytest.mark.parametrize("low", [0, -(2**52)])
def test_sums_of_large_whole_numbers_neither_fail_nor_wrap_around(tmp_path, low):
    """2^52 in 3,000 rows is more than 64 bits hold."""
    schema = {"x": Integer(low, 2**52, bins=64)}
    frames = [pd.DataFrame({"x": [2**52] * 1500}) for _ in range(2)]
    for name, frame in zip("ab", frames, strict=True):
        frame.to_parquet(tmp_path / f"{name}.parquet")
    one, other = (opened(tmp_path / f"{name}.parquet", tmp_path, schema) for name in "ab")
    assert one.union(other).sum("x", epsilon=1000).value == pytest.approx(3000 * 2.0**52, rel=1e-3)
    whole = opened(pd.concat(frames), tmp_path, schema)
    assert whole.sum("x", epsilon=1000).value == pytest.approx(3000 * 2.0**52, rel=1e-3)
    assert whole.mean("x", epsilon=1000).value == pytest.approx(2.0**52, rel=1e-3)


def test_a_derived_number_cannot_make_a_sum_fail_for_one_row(tmp_path):
    def spent(sex):
        frame = pd.DataFrame({"id": range(3000), "sex": ["M"] * 7 + [sex] + ["M"] * 2992})
        table = opened(frame, tmp_path, {"id": Integer(0, 2999), "sex": Category(["F", "M"])})
        rest, extra = float((2**63 - 2**51) // 2999), ibis.literal(2.0**52)
        made = lambda t: ibis.ifelse(t.id == 7, ibis.ifelse(t.sex == "F", extra, 0.0), rest)  # noqa: E731
        return table.derive("z", made, Integer(0, 2**52, bins=64)).sum("z", epsilon="1/1000").spent

    assert spent("F") == spent("M")


def test_too_small_an_epsilon_is_refused_before_the_table_is_asked(tmp_path, monkeypatch):
    table = opened(pd.DataFrame({"x": [1]}), tmp_path, {"x": Real(0, 1, bins=2)})
    monkeypatch.setattr("jostle.tables.run_in_engine.Query.fetch", lambda *_: pytest.fail("the table was asked"))
    for ask in (table.sum, table.mean):
        with pytest.raises(BadInput, match="use a larger one"):
            ask("x", epsilon=1e-18)
    assert table.remaining == 10**6


def test_bounds_too_close_for_a_lattice_are_refused():
    with pytest.raises(BadInput, match="by a number of moderate size"):
        Real(0, 1e-290, bins=2)


# ------------------------------------------------------------------------------------------------------- arithmetic


def test_products_that_underflow_are_zero_in_postgres(tmp_path, postgres):
    columns = {"x": (pa.float64(), [1.0, 5e-324, -5e-324, 1e-200]), "s": (pa.string(), ["M", "F", "F", "M"])}
    url, keywords = into_postgres(columns, tmp_path, postgres)
    table = opened(url, tmp_path, {"x": Real(-1e10, 1e10, bins=10), "s": Category(["F", "M"])}, **keywords)
    positive = opened(url, tmp_path, {"x": Real(0, 1e10, bins=10)}, **keywords)
    assert exact(table, "x")[:10].tolist() == [0, 0, 0, 0, 0, 4, 0, 0, 0, 0]
    assert exact(positive, "x")[0] == 4
    assert np.isfinite([table.sum("x", epsilon=1).value, table.mean("x", epsilon=1).value]).all()
    tiny = lambda t: ibis.ifelse(t.s == "F", 1e-300, 0.0) * (t.x * 0.0 + 1e-300) >= 0  # noqa: E731
    for condition in (
        tiny,
        lambda t: (t.x * 1e-10) * (t.x * 1e-10) * t.x >= -1,
        "x / 9e15 / 9e15 >= 0 OR x * 0.5 * 0.5 < 0",
    ):
        assert table.where(condition).count(epsilon=1000).answers == pytest.approx([4], abs=1)


def test_decimals_too_small_for_a_float_are_zero_in_postgres(tmp_path, postgres):
    url, keywords = into_postgres({"x": (pa.int64(), [])}, tmp_path, postgres)
    plain, search_path = url.replace("+psycopg", "").split("?options=")
    with psycopg.connect(plain, options=search_path.replace("%3D", "=")) as connection:
        connection.execute("CREATE TABLE decimals AS SELECT '1e-400'::numeric AS x UNION ALL SELECT 0.75")
    table = opened(url, tmp_path, {"x": Real(0, 1, bins=2)}, **keywords | {"table": "decimals"})
    assert exact(table, "x")[:2].tolist() == [1, 1]


@pytest.mark.parametrize("sex", ["F", "M"])
def test_arithmetic_with_small_types_does_not_overflow(tmp_path, sex):
    table = opened(pd.DataFrame({"s": ["M", sex]}), tmp_path, {"s": Category(["F", "M"])})
    small = lambda value: ibis.literal(value, "int8")  # noqa: E731
    results = [(small(100) * small(100), 10_000), (small(100) + small(100), 200), (-small(-128), 128)]
    for result, value in [*results, (small(-128).abs(), 128)]:
        said = lambda t: ibis.ifelse(t.s == "F", result, ibis.literal(0)) == value  # noqa: E731, B023
        assert table.where(said).count(epsilon=1000).answers == pytest.approx([int(sex == "F")], abs=0.5)


@pytest.mark.parametrize("said", [lambda t: t.x.cast("float32") > 0, lambda t: t.x > ibis.literal(1, "decimal(2, 1)")])
def test_types_of_other_ranges_are_refused(tmp_path, said):
    table = opened(pd.DataFrame({"x": [1.0]}), tmp_path, {"x": Real(0, 2, bins=2)})
    with pytest.raises(BadInput):
        table.where(said)


# -------------------------------------------------------------------------------------------------------- collations


def test_a_row_is_one_row_whatever_the_collation(tmp_path):
    schema = {"w": Category(SPELLINGS)}
    stored = sqlite3.connect(tmp_path / "words.sqlite")
    stored.execute("CREATE TABLE words (w TEXT COLLATE NOCASE)")
    stored.execute("INSERT INTO words VALUES ('abcdefg')")
    stored.commit()
    stored.close()
    of_columns, of_all = ibis.duckdb.connect(), ibis.duckdb.connect()
    of_columns.con.execute("CREATE TABLE words (w VARCHAR COLLATE NOCASE)")
    of_all.con.execute("SET default_collation = 'NOCASE'")
    of_all.con.execute("CREATE TABLE words (w VARCHAR)")
    of_columns.con.execute("INSERT INTO words VALUES ('abcdefg')")
    for data in (tmp_path / "words.sqlite", there(of_columns, "words")):
        counts = exact(opened(data, tmp_path, schema), "w")
        assert (counts[SPELLINGS.index("abcdefg")], counts.sum()) == (1, 1)
    with pytest.raises(BadInput, match="^data: the connection's setting default_collation is 'NOCASE'"):
        opened(there(of_all, "words"), tmp_path, schema)


def test_a_row_is_one_row_whatever_the_collation_in_postgres(tmp_path, postgres):
    url, keywords = into_postgres({"w": (pa.string(), ["abcdefg"])}, tmp_path, postgres)
    plain, search_path = url.replace("+psycopg", "").split("?options=")
    with psycopg.connect(plain, options=search_path.replace("%3D", "=")) as connection:
        connection.execute("CREATE COLLATION blunt (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
        connection.execute("ALTER TABLE people ALTER COLUMN w TYPE text COLLATE blunt")
    counts = exact(opened(url, tmp_path, {"w": Category(SPELLINGS)}, **keywords), "w")
    assert (counts[SPELLINGS.index("abcdefg")], counts.sum()) == (1, 1)


# ------------------------------------------------------------------------------------------- what cannot be read, seeds


@pytest.mark.parametrize(("unit", "time"), [("s", 2**60), ("ms", 2**62), ("us", 2**62), ("s", -(2**60))])
def test_times_beyond_all_days_do_not_fail(tmp_path, unit, time):
    times = pa.table({"d": pa.array([1_590_000_000, time], pa.int64()).cast(pa.timestamp(unit))})
    table = opened(times, tmp_path, {"d": Date("1970-01-01", "2021-01-01", every="year")})
    assert table.histogram("d", epsilon=1, algorithm="Laplace").spent == 1


def test_bytes_that_are_no_text_do_not_fail(tmp_path):
    bad = pa.array([b"a", b"\xff", None], pa.binary())
    frame = pa.table({"w": pa.Array.from_buffers(pa.string(), 3, bad.buffers())})
    assert exact(opened(frame, tmp_path, {"w": Category(["a", "b"])}), "w").tolist() == [1, 0, 1, 1]
    pq.write_table(frame, tmp_path / "bytes.parquet")
    assert exact(opened(tmp_path / "bytes.parquet", tmp_path, {"w": Category(["a", "b"])}), "w").tolist() == [1, 0, 1, 1]
    stored = sqlite3.connect(tmp_path / "bytes.sqlite")
    stored.execute("CREATE TABLE bytes (w)")
    stored.execute("INSERT INTO bytes VALUES (CAST(x'fffe41' AS TEXT)), ('7'), (3)")
    stored.commit()
    stored.close()
    assert exact(opened(tmp_path / "bytes.sqlite", tmp_path, {"w": Integer(0, 9)}), "w").sum() == 2


def test_the_first_line_of_a_text_file_is_not_repeated(tmp_path):
    (tmp_path / "rows.csv").write_text("31,F,Bern\n40,M,Basel\n")
    with pytest.raises(BadInput, match="first line") as refused:
        opened(tmp_path / "rows.csv", tmp_path, {"age": Integer(0, 9)})
    assert "Bern" not in str(refused.value)


def test_a_seed_on_a_connection_does_not_say_which_rows_are_drawn(tmp_path):
    engine = ibis.duckdb.connect()
    engine.con.execute("CREATE TABLE rows AS SELECT range % 50 AS p, range AS x FROM range(5000)")
    drawn = set()
    for _ in range(3):
        engine.con.execute("SELECT setseed(0.5)").fetchall()
        table = opened(there(engine, "rows"), tmp_path, {"x": Integer(0, 4999, bins=5000)}, unit=Unit("p", max_rows=1))
        drawn.add(tuple(np.flatnonzero(exact(table, "x"))))
    assert len(drawn) == 3


def test_a_query_is_no_table(tmp_path):
    engine = ibis.duckdb.connect()
    engine.con.execute("CREATE TABLE rows AS SELECT range AS x FROM range(9)")
    rows = there(engine, "rows")
    with pytest.raises(BadInput, match="is a query"):
        opened(rows.filter(rows.x > 3), tmp_path, {"x": Integer(0, 9)})
