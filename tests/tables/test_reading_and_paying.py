"""What is read of a file, whose row it is taken for, and that nothing is asked before it is paid for."""

from __future__ import annotations

import os
import sqlite3
import threading
import uuid
from collections import Counter
from datetime import date
from decimal import Decimal

import ibis
import numpy as np
import pandas as pd
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from jostle import workloads
from jostle.kernel.errors import BadInput, Overdraft
from jostle.kernel.strategies import identity
from jostle.schema import Boolean, Category, Date, Integer, Real
from jostle.tables import bounded_rows
from jostle.tables.columns import EngineColumns
from jostle.tables.engines import lines
from jostle.tables.guess_schema import kinds_of
from jostle.tables.opening import open as open_table
from jostle.tables.run_in_engine import EngineError, Query, run_in_engine
from jostle.tables.unit import Unit
from jostle.tables.view import View
from tests.tables.engines import into_postgres

X = {"x": Integer(0, 9)}
SECRET = "s3cr3t"  # noqa: S105 (a value of a table)


def opened(data, tmp_path, schema=None, **more):
    keywords = {"name": "t", "budget": 100} | more
    return open_table(data, schema=schema or X, ledger=tmp_path / "ledger.db", **keywords)


def exact(table, name="x"):
    return EngineColumns.of(table._views, [name]).counts([name])


def there(engine, name):
    return run_in_engine("looking for the table", lambda: engine.table(name))


# ------------------------------------------------------------------------------------------------------- text files


PIECES = st.sampled_from([b"a", b"7", b",", b'"', b"\r", b"\0", b"\xff", b"\xc3", b"\xef\xbb\xbf", b"zzz"])
LINES = st.lists(st.lists(PIECES, max_size=20).map(b"".join), max_size=12)


def rows_of(path, kept, end):
    path.write_bytes(end.join([b"a,b", *kept, b""]))
    read = lines.Lines((path,), ("a", "b"), ("a", "b"), ",", header=True).reader().read_all()
    return Counter(zip(read["a"].to_pylist(), read["b"].to_pylist(), strict=True))


@settings(max_examples=150)
@example(others=[b"\xef\xbb\xbf" * 2 + b"a"], one=b"zzz", place=0, end=b"\n")
@given(others=LINES, one=LINES.map(b"".join), place=st.integers(0, 12), end=st.sampled_from([b"\n", b"\r\n"]))
def test_a_line_is_one_row_and_changes_no_other(tmp_path_factory, others, one, place, end):
    """Blocks of 16 bytes and lines of up to 20: whatever a line holds, without it all others are as they were."""
    path = tmp_path_factory.mktemp("lines") / "t.csv"
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(lines, "BLOCK", 16)
        patched.setattr(lines, "LONGEST_LINE", 20)
        without, with_it = (rows_of(path, kept, end) for kept in (others, [*others[:place], one, *others[place:]]))
    assert not without - with_it
    assert sum((with_it - without).values()) <= 1


def test_an_open_quotation_mark_hides_no_other_line(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes(b'x,y\n1,"open\n2,"a, b"\n3,"said ""no"""\n4,b,c\n5\n\n6,x\r\n"7",y')
    assert exact(opened(path, tmp_path)).tolist() == [0, 0, 1, 1, 0, 1, 1, 1, 0, 0]
    words = opened(path, tmp_path, {"y": Category(["a, b", 'said "no"', "x", "y"])}, name="words")
    assert exact(words, "y").tolist() == [1, 1, 1, 1, 0, 1]


@pytest.mark.usefixtures("spark")
def test_no_line_makes_spark_fail_or_hides_others(tmp_path):
    path = tmp_path / "t[1].csv"
    path.write_bytes(b'x,y\n1,"open\n2,"a, b"\n3,' + b"," * 30_000 + b'\n4,x\r\n\xff,1\n5,M\xfcller\n"7",y\n')
    (tmp_path / "t1.csv").write_text("x,y\n9,9\n")
    counts = exact(opened(path, tmp_path, engine="spark"))
    assert counts[[2, 4, 7]].tolist() == [1, 1, 1]
    assert counts[[0, 1, 5, 6, 8, 9]].sum() == 0
    for before in (b"", b"3\n"):  # a mark of the encoding is read alike wherever its line is
        (tmp_path / "marked.csv").write_bytes(before + b"\xef\xbb\xbf7\n" + b"\xef\xbb\xbf" * 2 + b"8\n")
        marked = opened(tmp_path / "marked.csv", tmp_path, engine="spark", columns=["x"])
        assert exact(marked)[[7, 8]].tolist() == [1, 1]


def test_a_first_line_of_numbers_is_not_taken_for_names(tmp_path):
    (tmp_path / "t.data").write_text(f"39,{SECRET}\n50,x\n")
    with pytest.raises(BadInput, match="a number where a name is expected") as refused:
        kinds_of(tmp_path / "t.data", header=True)
    assert SECRET not in str(refused.value)
    assert list(kinds_of(tmp_path / "t.data", columns=["age", "word"])) == ["age", "word"]


# ------------------------------------------------------------------------------------------------------------- files


def test_a_path_is_no_pattern(tmp_path):
    for kind, write in (("parquet", pd.DataFrame.to_parquet), ("csv", pd.DataFrame.to_csv)):
        for name, value in (("t[1]", 1), ("t1", 2), ("t*", 3)):
            write(pd.DataFrame({"x": [value]}), tmp_path / f"{name}.{kind}", index=False)
        for name, value in (("t[1]", 1), ("t*", 3)):
            assert np.flatnonzero(exact(opened(tmp_path / f"{name}.{kind}", tmp_path))).tolist() == [value]


def test_folders_names_are_texts_whatever_other_folders_are_called(tmp_path):
    """One more folder made all days texts, and their categories others."""
    schema = {"day": Category(["2024-01-05"]), **X}
    counts = []
    for folder in ("2024-01-05", "unknown"):
        (tmp_path / "t" / f"day={folder}").mkdir(parents=True)
        pq.write_table(pa.table({"x": [1]}), tmp_path / "t" / f"day={folder}" / "a.parquet")
        counts.append(exact(opened(tmp_path / "t", tmp_path, schema), "day").tolist())
    assert counts == [[1, 0, 0], [1, 1, 0]]


def test_times_in_milliseconds_beyond_all_years_do_not_fail(tmp_path):
    bad = pa.array([b"a", b"\xff", None], pa.binary())
    words = pa.Array.from_buffers(pa.string(), 3, bad.buffers())
    times = pa.array([1_590_000_000_000, 2**62, None], pa.int64()).cast(pa.timestamp("ms"))
    pq.write_table(pa.table({"d": times, "w": words, "more": [1, 2, 3]}), tmp_path / "t.parquet")
    pq.write_table(pa.table({"d": times[:1], "more": [1]}), tmp_path / "u.parquet")
    schema = {"d": Date("1970-01-01", "2021-01-01", every="year", null="own"), "w": Category(["a"])}
    table = opened([tmp_path / "t.parquet", tmp_path / "u.parquet"], tmp_path, schema)
    assert exact(table, "d")[[50, -1]].tolist() == [2, 2]
    assert exact(table, "w").tolist() == [1, 1, 2]


def test_the_day_of_a_time_does_not_depend_on_where_the_machine_is(tmp_path):
    late = pa.array([1_704_150_000], pa.int64()).cast(pa.timestamp("s", tz="America/New_York"))  # 2024-01-01 23:00 UTC
    table = opened(pa.table({"d": late}), tmp_path, {"d": Date("2024-01-01", "2024-01-03")})
    assert table._views[0].backend.con.execute("SELECT current_setting('TimeZone')").fetchall() == [("UTC",)]
    assert exact(table, "d").tolist() == [1, 0, 0]


def test_decimals_of_any_form_can_be_read(tmp_path):
    """A limit for large decimals did not fit the type of small ones, where there were rows."""
    small = [Decimal("0.5"), Decimal("1e-38"), None]
    table = pa.table(
        {"x": pa.array(small, pa.decimal128(38, 38)), "y": pa.array([Decimal(10**37), 1, None], pa.decimal128(38, 0))}
    )
    counted = opened(table, tmp_path, {"x": Real(0, 1, bins=2), "y": Integer(0, 9)})
    assert (exact(counted, "x").tolist(), exact(counted, "y")[[1, 9]].tolist()) == ([1, 1], [1, 1])


def test_a_file_under_another_name_is_the_same_file(tmp_path):
    pd.DataFrame({"x": [1]}).to_parquet(tmp_path / "a.parquet")
    os.link(tmp_path / "a.parquet", tmp_path / "b.parquet")
    with pytest.raises(BadInput, match="^data: names some file twice"):
        opened([tmp_path / "a.parquet", tmp_path / "b.parquet"], tmp_path)
    one, other = (opened(tmp_path / f"{name}.parquet", tmp_path) for name in "ab")
    with pytest.raises(BadInput, match="^other: has rows of this table"):
        one.union(other)


def test_sqlite_sorts_in_memory(tmp_path):
    with sqlite3.connect(tmp_path / "t.sqlite") as stored:
        stored.execute("CREATE TABLE t (x)")
    stored.close()
    table = opened(tmp_path / "t.sqlite", tmp_path)
    assert table._views[0].backend.con.execute("PRAGMA temp_store").fetchall() == [(2,)]


# --------------------------------------------------------------------------------------------------------- whose rows


def test_every_person_of_a_frame_is_one_person(tmp_path):
    """Objects were taken for one person, who took turns; and numbers among objects for nobody."""
    ids = [uuid.uuid4() for _ in range(3)]
    for persons, counted in (
        ([*ids, ids[0]], 3),
        ([1, 2, 3, 1.0], 3),
        ([b"a", b"b", None, float("nan")], 2),
        ([date(2024, 1, 1), "2024-01-01", "1", 1], 3),
        (["a", "a ", " a", " "], 3),
        ([[1], [1], {}, "a"], 1),
    ):
        frame = pd.DataFrame({"x": [1, 2, 3, 4], "p": pd.Series(persons, dtype=object)})
        assert exact(opened(frame, tmp_path, unit=Unit("p", max_rows=1))).sum() == counted
    bad = pa.array([b"\xff", b"\xfe"], pa.binary())
    frame = pa.table({"x": [1, 2], "p": pa.Array.from_buffers(pa.string(), 2, bad.buffers())})
    assert exact(opened(frame, tmp_path, unit=Unit("p", max_rows=1))).sum() == 2
    for kind in (pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())):
        blank = pa.table({"x": [1, 2, 3, 4], "p": pa.array(["", " ", "\t", "a"]).cast(kind)})
        assert exact(opened(blank, tmp_path, unit=Unit("p", max_rows=1))).tolist() == [0, 0, 0, 0, 1, *[0] * 5]


def test_an_empty_text_is_nobody(load, tmp_path):
    data, keywords = load({"x": (pa.int64(), [1, 2, 3]), "p": (pa.string(), ["", " ", "a"])})
    assert exact(opened(data, tmp_path, unit=Unit("p", max_rows=3), **keywords)).tolist() == [0, 0, 0, 1, *[0] * 6]


@pytest.mark.parametrize("name", ["jostle_1", "Jostle_Whose"])
def test_the_column_of_persons_is_none_of_ours(tmp_path, name):
    with pytest.raises(BadInput, match="^unit: .* kept for other things"):
        opened(pd.DataFrame({"x": [1], name: [1]}), tmp_path, unit=Unit(name, max_rows=1))


def test_columns_that_are_not_declared_do_not_take_the_place_of_ours(tmp_path):
    engine = ibis.duckdb.connect()
    engine.con.execute("CREATE TABLE t AS SELECT ' 3 ' AS x, 'no' AS Jostle_0, 'no' AS jostle_1, 1 AS jostle_person")
    assert exact(opened(there(engine, "t"), tmp_path)).tolist() == [0, 0, 0, 1, *[0] * 6]


def test_names_that_differ_in_capitals_alone_are_refused(tmp_path):
    frame = pd.DataFrame({"x": [1]})
    with pytest.raises(BadInput, match="capitals"):
        opened(frame, tmp_path, {"x": Integer(0, 9), "X": Integer(0, 9)})
    with pytest.raises(BadInput, match="^name: some engines do not tell 'X' from 'x'"):
        opened(frame, tmp_path).derive("X", "x", Integer(1, 9))


@pytest.mark.parametrize("form", ["alias", "view"])
def test_a_query_under_a_name_is_no_table(tmp_path, form):
    engine = ibis.duckdb.connect()
    engine.con.execute("CREATE TABLE t AS SELECT range AS x FROM range(3)")
    joined = there(engine, "t").cross_join(there(engine, "t").view().rename(y="x"))
    with pytest.raises(BadInput, match="is a query"):
        opened(joined.alias("twice") if form == "alias" else joined.view(), tmp_path)


def test_two_frames_of_spark_are_two_tables(tmp_path, spark):
    """Both were kept under one name, so that the first table had the rows of the second."""
    tables = [opened(spark.createDataFrame([(value,)], "x INT").localCheckpoint(), tmp_path) for value in (3, 7)]
    assert [np.flatnonzero(exact(table)).tolist() for table in tables] == [[3], [7]]


def test_categories_are_compared_by_their_bytes_in_duckdb(tmp_path):
    engine = ibis.duckdb.connect()
    engine.con.execute("CREATE TABLE t (w VARCHAR COLLATE NOCASE)")
    engine.con.execute("INSERT INTO t VALUES ('a'), ('A'), ('ä'), (' a')")
    assert exact(opened(there(engine, "t"), tmp_path, {"w": Category(["A", "a"])}), "w").tolist() == [1, 2, 1, 0]


def test_categories_are_compared_by_their_bytes_in_postgres(tmp_path, postgres):
    url, keywords = into_postgres({"w": (pa.string(), ["a", "A", "1", None])}, tmp_path, postgres)
    plain, search_path = url.replace("+psycopg", "").split("?options=")
    with psycopg.connect(plain, options=search_path.replace("%3D", "=")) as connection:
        connection.execute("CREATE COLLATION blunt (provider = icu, locale = 'und-u-ks-level2', deterministic = false)")
        connection.execute("ALTER TABLE people ALTER COLUMN w TYPE text COLLATE blunt")
    assert exact(opened(url, tmp_path, {"w": Category(["A", "a"])}, **keywords), "w").tolist() == [1, 1, 1, 1]
    assert exact(opened(url, tmp_path, {"w": Integer(0, 9)}, **keywords), "w")[1] == 1
    assert exact(opened(url, tmp_path, {"w": Boolean(outside="own", null="own")}, **keywords), "w").tolist() == [0, 1, 2, 1]


@pytest.mark.parametrize("in_memory", [False, True])
def test_an_attribute_that_is_derived_later_does_not_change_who_is_in_a_part(tmp_path, in_memory):
    """A part was known by the name of an attribute: with another meaning of it, every part had all rows."""
    frame = pd.DataFrame({"x": [0, 1, 2, 3, 4] * 2, "s": ["F"] * 5 + ["M"] * 5})
    table = opened(frame, tmp_path, {**X, "s": Category(["F", "M"], outside="drop", null="drop")})
    records, token = table.records("x", "s", epsilon=100, in_memory=in_memory)
    half = records.derive("half", ["x"], np.arange(10) // 3)
    seen = []
    for value, (part, own) in enumerate(half.split("half", token)):
        anew = part.derive("x", ["s"], np.full(2, value)).derive("half", ["half", "s"], np.full((4, 2), value))
        first, second = own.split(1, 1)
        seen.append(anew.vector("s").measure(identity(2), first).round().tolist())
        assert anew.vector("half").measure(identity(anew.sizes["half"]), second).round().sum() == sum(seen[-1])
    assert seen == [[3, 3], [2, 2], [0, 0], [0, 0]]


# ------------------------------------------------------------------------------------------------ paid before asked


QUESTIONS = {
    "count": lambda t: t.count(epsilon=1),
    "histogram": lambda t: t.histogram("x", epsilon=1),
    "grid": lambda t: t.histogram("x", "s", epsilon=1, algorithm="Laplace"),
    "cube": lambda t: t.histogram("x", "s", "b", epsilon=1, algorithm="Laplace"),
    "sum": lambda t: t.sum("x", epsilon=1),
    "mean": lambda t: t.mean("x", by="s", epsilon=1),
    "quantiles": lambda t: t.median("x", epsilon=1),
    "marginals": lambda t: t.marginals(("x", "s"), ("s", "b"), epsilon=1),
    "parts": lambda t: t.partition("s", epsilon=1)["F"].count(epsilon=1),
    "records": lambda t: t.records("x", "s", epsilon=1, in_memory=True)[0],
    "the number of rows": lambda t: t.histogram("s", epsilon=1, algorithm="MWEM"),
    "and of records": lambda t: t.records("s", epsilon=1, in_memory=True)[0].total,
}


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("unit", [None, Unit("p", max_rows=2)])
@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_the_table_is_asked_after_the_charge(tmp_path, monkeypatch, question, unit, neighbours):
    """But for how many rows there are, where that is public: and then no column is looked at."""
    frame = pd.DataFrame({"x": [1, 2, 3], "s": ["F", "M", "F"], "b": [True, False, True], "p": [1, 1, 2]})
    schema = {**X, "s": Category(["F", "M"]), "b": Boolean()}
    table = opened(frame, tmp_path, schema, unit=unit, neighbours=neighbours)
    left, of_no_column, count_query = [], [], View.count_query

    def count(view, names, keys, group=None):
        found = count_query(view, names, keys, group)
        of_no_column.extend([] if names else [found])
        return found

    def noting(original):
        def noted(query):
            left.append((table.remaining, neighbours == "replace" and unit is None and query in of_no_column))
            return original(query)

        return noted

    monkeypatch.setattr(View, "count_query", count)
    monkeypatch.setattr(Query, "fetch", noting(Query.fetch))
    monkeypatch.setattr(bounded_rows, "_kept", noting(bounded_rows._kept))
    QUESTIONS[question](table)
    assert all(remaining < 100 or public for remaining, public in left)
    assert bool(left) or "records" in question


def test_the_number_of_rows_is_not_asked_for_again_after_the_charge(tmp_path, monkeypatch):
    """Plans that use it at their end would lose what was paid for if the engine failed then."""
    schema = {"x": Category([str(value) for value in range(8)])}  # what is none of these has a cell of its own: all count
    table = opened(pd.DataFrame({"x": ["1", "2", "3"]}), tmp_path, schema, neighbours="replace")
    asked, fetch = [], Query.fetch
    monkeypatch.setattr(Query, "fetch", lambda query: asked.append(query.table.columns) or fetch(query))
    table.ranges("x", workloads.prefix(10), epsilon=1, algorithm="OPT-nonnegative")
    assert len(asked) == 1


def test_what_cannot_be_paid_is_not_fetched(tmp_path, monkeypatch):
    table = opened(pd.DataFrame({"x": [1], "s": ["F"], "p": [1]}), tmp_path, {**X, "s": Category(["F"])}, unit="p:1")
    monkeypatch.setattr(Query, "fetch", lambda *_: pytest.fail("the table was asked"))
    monkeypatch.setattr("jostle.tables.bounded_rows._kept", lambda *_: pytest.fail("rows were drawn"))
    for ask in (table.records, lambda **how: table.labelled({"x": 11, "s": 1}, "s", **how)):
        with pytest.raises(Overdraft):
            ask(epsilon=1000)


def test_what_an_engine_refuses_for_its_type_costs_nothing(tmp_path, postgres):
    url, keywords = into_postgres({"x": (pa.int64(), [1])}, tmp_path, postgres)
    plain, search_path = url.replace("+psycopg", "").split("?options=")
    with psycopg.connect(plain, options=search_path.replace("%3D", "="), autocommit=True) as connection:
        table = opened(url, tmp_path, **keywords)
        connection.execute("ALTER TABLE people RENAME x TO y")
        for ask in QUESTIONS["histogram"], QUESTIONS["sum"]:
            with pytest.raises(EngineError, match="before it was charged"):
                ask(table)
    assert table.remaining == 100


def test_types_that_nobody_knows_are_refused_where_they_are_used(tmp_path, postgres):
    url, _ = into_postgres({"x": (pa.int64(), [])}, tmp_path, postgres)
    plain, search_path = url.replace("+psycopg", "").split("?options=")
    with psycopg.connect(plain, options=search_path.replace("%3D", "=")) as connection:
        connection.execute("CREATE TABLE odd AS SELECT '[1,2)'::int4range AS x, 'a' AS y UNION ALL SELECT NULL, NULL")
    with pytest.raises(BadInput, match="^schema: the column 'x' has the type int4range"):
        opened(url, tmp_path, {"x": Category(["a"])}, table="odd")
    table = opened(url, tmp_path, {"y": Category(["a"])}, table="odd")
    assert exact(table, "y").tolist() == [1, 0, 1]
    assert table.histogram("y", epsilon=1, algorithm="Laplace").spent == 1


def test_too_small_an_epsilon_takes_nothing_from_a_part(tmp_path):
    part = opened(pd.DataFrame({"x": [1]}), tmp_path).partition("x", epsilon=1)["1"]
    with pytest.raises(BadInput, match="use a larger one"):
        part.sum("x", epsilon=1e-18)
    assert part.remaining == 1


def test_persons_and_long_lists_go_together(tmp_path):
    frame = pd.DataFrame({"w": [str(number % 90) for number in range(300)], "p": range(300)})
    table = opened(frame, tmp_path, {"w": Category([*map(str, range(100))])}, unit="p:1")
    parts = table.partition("w", epsilon=1)
    assert sum(exact(part, "w").sum() for part in parts.values()) == 300


def test_whoever_asks_first_draws_for_all_parts(tmp_path):
    frame = pd.DataFrame({"x": np.arange(300) % 3, "p": np.repeat(np.arange(30), 10)})
    parts = [*opened(frame, tmp_path, {"x": Integer(0, 2)}, unit="p:1").partition("x", epsilon=1).values()]
    found, start = [], threading.Barrier(len(parts))

    def ask(part):
        start.wait()
        found.append(exact(part).sum())

    threads = [threading.Thread(target=ask, args=(part,)) for part in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(found) == 30


def test_threads_that_share_a_table_get_their_own_answers(tmp_path):
    frame = pd.DataFrame({"x": np.arange(6000) % 3, "y": np.arange(6000) % 5})
    table = opened(frame, tmp_path, {"x": Integer(0, 2), "y": Integer(0, 4)})
    wrong, done = [], []

    def ask(name, cells):
        answers = [exact(table, name).tolist() for _ in range(5)]
        wrong.extend(answer for answer in answers if answer != [6000 // cells] * cells)
        done.append(name)

    threads = [threading.Thread(target=ask, args=one) for one in (("x", 3), ("y", 5)) * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (wrong, sorted(done)) == ([], ["x", "x", "y", "y"])


def test_every_part_has_a_name_of_its_own(tmp_path):
    close = Real(10**6, 10**6 + 1, bins=4)
    assert len(set(close.labels)) == 4
    parts = opened(pd.DataFrame({"x": [10**6 + 0.3]}), tmp_path, {"x": close}).partition("x", epsilon=1)
    assert [exact(part).sum() for part in parts.values()] == [0, 1, 0, 0]
    with pytest.raises(BadInput, match="what other cells are called"):
        Category(["a", "(other)"])


# ---------------------------------------------------------------------------------------------------- what is printed


def test_nothing_that_holds_rows_shows_them(tmp_path):
    """In Ibis' interactive mode, a table that is printed is a query."""
    engine = ibis.duckdb.connect()
    engine.con.execute(f"CREATE TABLE t AS SELECT 1 AS x, '{SECRET}' AS w")
    interactive = ibis.options.interactive
    ibis.options.interactive = True
    try:
        table = opened(there(engine, "t"), tmp_path, {**X, "w": Category(["a"])})
        view = table._views[0]
        held = [table, view, view.rows(["w"]), EngineColumns.of([view], ["w"]), table.ask("w"), table.ask_total("sum", "x")]
        assert not any(SECRET in repr(one) or SECRET in str(one) for one in held)
    finally:
        ibis.options.interactive = interactive


def test_a_temporary_file_is_not_left_behind(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = opened(pd.DataFrame({"x": [1, 2], "p": [1, 2]}), tmp_path, unit="p:1")
    table.marginals("x", epsilon=1)
    assert {path.name for path in tmp_path.iterdir()} <= {"ledger.db", "ledger.db-wal", "ledger.db-shm"}
