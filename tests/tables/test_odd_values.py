"""Values that no engine should fail on, rows that would decide how others are read, and files that are there twice."""

from __future__ import annotations

import errno
import sqlite3
import struct
from pathlib import Path

import ibis
import pandas as pd
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jostle.kernel.errors import BadInput
from jostle.schema import Category, Date, Integer
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


def folder_with(path, name, *, of=None, link=None):
    path.mkdir(exist_ok=True)
    if of is None:
        pd.DataFrame({"x": [1] * 50}).to_parquet(path / name)
    else:
        link(path / name, of)
    return path


@pytest.mark.parametrize("link", [Path.symlink_to, Path.hardlink_to])
def test_a_file_that_is_in_a_folder_by_two_names_counts_once_or_not_at_all(tmp_path, link):
    one = folder_with(tmp_path / "one", "2024.parquet")
    assert exact(opened(one, tmp_path))[1] == 50
    other = folder_with(tmp_path / "other", "latest.parquet", of=one / "2024.parquet", link=link)
    with pytest.raises(BadInput, match="^data: names some file twice"):
        opened([one, other], tmp_path)
    with pytest.raises(BadInput, match="^other: has rows of this table"):
        opened(one, tmp_path).union(opened(other, tmp_path))
    folder_with(one, "latest.parquet", of=one / "2024.parquet", link=link)
    with pytest.raises(BadInput, match="^data: names some file twice"):
        opened(one, tmp_path)


def test_a_folder_that_is_in_itself_is_refused_and_a_link_to_nowhere_is_not(tmp_path):
    one = folder_with(tmp_path / "one", "2024.parquet")
    (one / "nowhere").symlink_to(tmp_path / "nowhere")
    assert exact(opened(one, tmp_path))[1] == 50
    (one / "again").symlink_to(one, target_is_directory=True)
    with pytest.raises(BadInput, match="^data: names some file twice"):
        opened(one, tmp_path)


@pytest.mark.parametrize("method", ["stat", "iterdir"])
def test_a_folder_in_a_folder_that_may_not_be_read_is_refused_by_its_name(tmp_path, monkeypatch, method):
    """It may hold a file that is there by another name."""
    one, other = folder_with(tmp_path / "one", "2024.parquet"), folder_with(tmp_path / "other", "2025.parquet")
    (one / "locked").mkdir()
    tables = [opened(one, tmp_path), opened(other, tmp_path)]
    real = getattr(Path, method)

    def denied(path, *args, **keywords):
        if path.name == "locked":
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return real(path, *args, **keywords)

    monkeypatch.setattr(Path, method, denied)
    for use in (lambda: opened(one, tmp_path), lambda: tables[0].union(tables[1])):
        with pytest.raises(BadInput, match="^data: .*locked cannot be read"):
            use()


@pytest.mark.parametrize("zone", ["UTC", "Asia/Tokyo", "America/Los_Angeles"])
@pytest.mark.parametrize(
    ("unit", "far"),
    [("ns", pd.Timestamp.max), ("ns", pd.Timestamp.min), ("s", "9999-12-31 23:00"), ("s", "0001-01-01"), ("s", pd.NaT)],
)
def test_times_of_pandas_at_the_ends_of_all_times_can_be_read(tmp_path, zone, unit, far):
    near = ["2020-05-04 23:30", "1969-12-31 12:00:00.5"]
    times = pd.Series(pd.to_datetime([*near, far], format="ISO8601").astype(f"datetime64[{unit}]"))
    there = times.dt.tz_localize("UTC").dt.tz_convert(zone)
    counts = exact(opened(pd.DataFrame({"x": there}), tmp_path, {"x": Date("2020-05-03", "2020-05-06")}))
    assert counts.sum() == (2 if far is pd.NaT else 3)
    assert counts[2 if zone == "Asia/Tokyo" else 1] == 1


def frames_of(column):
    return pa.table({"x": column}), pd.DataFrame({"x": pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([column])))})


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_times_with_a_zone_beyond_all_years_do_not_fail(tmp_path, unit):
    near = pa.scalar(1_590_000_000, pa.timestamp("s", tz="UTC")).cast(pa.timestamp(unit, tz="UTC")).value
    for far in (near, FAR):
        column = pa.array([near, far, None], pa.timestamp(unit, tz="Asia/Tokyo"))
        if unit != "s":  # which Parquet has not
            pq.write_table(pa.table({"x": column}), tmp_path / "t.parquet")
        for data in [*frames_of(column), *([] if unit == "s" else [tmp_path / "t.parquet"])]:
            assert exact(opened(data, tmp_path, YEAR))[4] == (2 if far == near else 1)


ODD = [b"a", b"\xe9b", b"\xe9c", b"\xe9c", b" ", b" a", b"7", None]


def series_of(texts):
    """Texts of Arrow's, in the ways in which pandas holds them, whether or not they are texts."""
    parts = [pa.array(part, pa.binary()) for part in (texts[:2], texts[2:])]
    plain = pa.chunked_array([part.view(pa.string()) for part in parts])
    large = pa.chunked_array([part.cast(pa.large_binary()).view(pa.large_string()) for part in parts])
    held = [pd.Series(pd.arrays.ArrowExtensionArray(column)) for column in (plain, large, large.dictionary_encode())]
    strings = [pd.Series([], dtype=kind) for kind in ("string[pyarrow]", pd.StringDtype("pyarrow", na_value=float("nan")))]
    return [*held, *(pd.Series(type(empty.array)(large, dtype=empty.dtype)) for empty in strings)]


@pytest.mark.parametrize("place", range(5))
def test_texts_of_pandas_in_arrow_that_are_no_utf8_do_not_fail(tmp_path, place):
    schema = {"x": Category(["a", "7"])}
    frame = pd.DataFrame({"x": series_of(ODD)[place]})
    assert [*exact(opened(frame, tmp_path, schema))] == [2, 1, 4, 1]
    assert [*exact(opened(frame, tmp_path, {"x": Integer(0, 9)}, name="numbers"))][7] == 1
    persons = opened(frame, tmp_path, schema, unit=Unit("x", max_rows=1), name="persons")
    assert [*exact(persons)] == [2, 1, 2, 0]
    texts = [None if text is None else text.decode("utf-8", "replace") for text in ODD]
    assert [*schema["x"].encode(frame["x"])] == [*schema["x"].encode(texts)]


def test_texts_in_views_that_are_no_utf8_do_not_fail(tmp_path):
    texts = [b"a", b"\xff", b"\xfe", b"\xfe", b" "]
    cells = b"".join(struct.pack("<i", len(text)) + text.ljust(12, b"\0") for text in texts)
    column = pa.Array.from_buffers(pa.string_view(), len(texts), [None, pa.py_buffer(cells)])
    schema = {"x": Category(["a", "b"])}
    assert exact(opened(pa.table({"x": column}), tmp_path, schema))[:3].tolist() == [1, 0, 4]
    persons = opened(pa.table({"x": column}), tmp_path, schema, unit=Unit("x", max_rows=1), name="persons")
    assert exact(persons)[:3].tolist() == [1, 0, 2]


@pytest.mark.parametrize("kind", [Integer(0, 9), Date("2020-01-01", "2020-01-09"), Category(["1", "2"])])
def test_texts_with_a_null_byte_do_not_fail_in_sqlite(tmp_path, kind):
    path = sqlite_file(tmp_path / "t.sqlite", [(1, "1"), (1, "2020-01-02")])
    with sqlite3.connect(path) as connection:
        connection.execute("INSERT INTO t VALUES (2, CAST(x'3100ff' AS TEXT)), (2, CAST(x'3100' AS TEXT))")
    connection.close()
    assert exact(opened(path, tmp_path, {"x": kind}))[1 if kind.kind != "category" else 0] == 1


@pytest.mark.parametrize("far", [1_590_000_000_001, FAR])
def test_milliseconds_that_are_declared_in_the_new_way_alone_do_not_fail(tmp_path, far):
    path = tmp_path / "t.parquet"
    times = pa.array([1_590_000_000_000, far], pa.timestamp("ms"))
    pq.write_table(pa.table({"x": times}), path, store_schema=False)
    written = path.read_bytes()
    (size,) = struct.unpack("<I", written[-8:-4])
    rows, footer = written[: -8 - size], written[-8 - size : -8]
    both, new = b"\x25\x12\x4c", b"\x6c"  # the fields of Thrift with the old name and the new, and the new alone
    assert footer.count(both) == 1
    footer = footer.replace(both, new)
    path.write_bytes(rows + footer + struct.pack("<I", len(footer)) + b"PAR1")
    assert exact(opened(path, tmp_path, YEAR))[4] == (1 if far == FAR else 2)


@pytest.mark.parametrize("encoding", ["WIN1252", "SQL_ASCII"])
def test_a_database_in_another_encoding_is_refused(tmp_path, postgres, encoding):
    name = f"in_{encoding.lower()}"
    plain = postgres.url.replace("+psycopg", "")
    with psycopg.connect(plain, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0")
    url = plain.replace("/postgres", f"/{name}")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE t (x text)")
    engine = ibis.postgres.connect(host="127.0.0.1", port=postgres.port, user="jostle", database=name)
    for data in (url, *([engine.table("t")] if encoding == "WIN1252" else [])):  # Ibis finds no table without an encoding
        with pytest.raises(BadInput, match="^data: the database's encoding is not UTF8"):
            opened(data, tmp_path)
    engine.disconnect()


def test_persons_of_sqlite_are_told_apart_byte_by_byte(tmp_path):
    rows = [("Anna", 1), ("Anna", 1), ("ANNA", 1), ("Anna ", 1)]
    path = sqlite_file(tmp_path / "t.sqlite", rows, "id TEXT, x INTEGER")
    assert exact(opened(path, tmp_path, unit=Unit("id", max_rows=1)))[1] == 3
    path = sqlite_file(tmp_path / "u.sqlite", rows, "id TEXT COLLATE NOCASE, x INTEGER")
    with pytest.raises(BadInput, match="^unit: the column 'id' has a collation"):
        opened(path, tmp_path, unit=Unit("id", max_rows=1))


def test_only_an_empty_text_is_one_in_sqlite(tmp_path):
    """By hex(NULL), which is empty, numbers and blobs were in a long list that has an empty text."""
    path = sqlite_file(tmp_path / "t.sqlite", [(1, ""), (2, 7), (3, b"x"), (4, None), (5, "c3")])
    schema = {"x": Category(["", *(f"c{number}" for number in range(70))])}
    counts = exact(opened(path, tmp_path, schema=schema, table="t"))
    assert {place: count for place, count in enumerate(counts) if count} == {0: 1, 4: 1, 71: 2, 72: 1}
