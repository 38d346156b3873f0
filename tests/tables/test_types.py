"""Whatever a value is, a table with it is answered as a table without rows is: for every type of every closed list.

Each engine gets one table with extreme and random values of each type. Every question must be answered, with the same
charge, and nothing in a log or on standard error. So is one table without rows that has all types side by side. What is
refused is refused with the same words, with rows and without.
"""

from __future__ import annotations

import logging
import sqlite3
import struct
from collections.abc import Iterable
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import cycle
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
import numpy as np
import pandas as pd
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from jostle.kernel.errors import BadInput, JostleError
from jostle.kernel.strategies import identity
from jostle.schema import Boolean, Category, Date, Integer, Real
from jostle.tables.engines.types import NOT_PERSONS, TYPES, bare
from jostle.tables.opening import open as open_table

RNG = np.random.default_rng(11)
KINDS = {
    "whole": Integer(-5, 5),
    "real": Real(-1, 1, bins=4),
    "word": Category(["a", "1", "é"], missing=["NA", "-9"]),
    "long": Category([str(number) for number in range(70)]),
    "day": Date("2000-01-01", "2030-12-31", every="year"),
    "truth": Boolean(),
}
TINY = "1/1000000"


def released(table: Any) -> Any:
    """A histogram of records, all of whose columns are fetched for it."""
    records, token = table.records(*table.schema, epsilon=TINY, in_memory=True)
    source = records.vector(next(iter(table.schema)))
    return source.measure(identity(source.shape), token)


OF_COLUMNS = {
    "all cells": released,
    "sum": lambda t: t.sum("real", epsilon=TINY),
}
OF_PERSONS = {"part": lambda t: t.partition("g", epsilon=TINY)["1"].count()}
"""Who a row belongs to is read and bounded once for all parts, by the same expression as for any other question."""


# ------------------------------------------------------------------------------------------------------------- values


def bits(size: int, count: int = 60) -> list[int]:
    """Whole numbers of this many bits: the ends, what is near them, and others at random."""
    low, high = -(2 ** (size - 1)), 2 ** (size - 1) - 1
    random = [int.from_bytes(RNG.bytes(size // 8), "little", signed=True) >> int(RNG.integers(size)) for _ in range(count)]
    return [low, low + 1, low + 2, high, high - 1, -1, 0, 1, 5, 9, -9, *random]


def floats() -> list[float]:
    patterns = [struct.unpack("<d", struct.pack("<q", pattern))[0] for pattern in bits(64)]
    return [
        0.0,
        -0.0,
        1.0,
        0.5,
        5e-324,
        -5e-324,
        1.7976931348623157e308,
        float("inf"),
        float("-inf"),
        float("nan"),
        *patterns,
    ]


def small_floats() -> Any:
    with np.errstate(all="ignore"):
        return np.array(floats()).astype(np.float32)


def decimals(digits: int, scale: int) -> list[Decimal]:
    whole = [0, 1, -1, 10**digits - 1, -(10**digits - 1), *(value % 10**digits for value in bits(128))]
    return [Decimal((value < 0, tuple(map(int, str(abs(value)))), -scale)) for value in whole]


TEXTS = [
    *(
        "",
        " ",
        "a",
        " a ",
        "1",
        "1e999",
        "-1e-999",
        "0x10",
        "1_0",
        "NaN",
        "inf",
        "-Infinity",
        "NA",
        "-9",
        "9" * 400,
        "é",
        "e\u0301",
    ),
    *(
        "2024-02-30",
        "2024-02-29",
        "0000-00-00",
        "9999-12-31",
        "-2024-01-01",
        "2024-01-01T25:61:61",
        "true",
        "FALSE",
        "\ufeffa",
    ),
    *(
        "%",
        "_",
        "\\",
        "'",
        '"',
        ";",
        "\t\r\n",
        "\x01",
        "\x7f",
        "\u2028",
        "\U0010ffff",
        "\U0010ec80",
        "a" * 2**20,
        "a" * (2**20 + 1),
    ),
    *("".join(map(chr, RNG.integers(1, 0xD7FF, 20))) for _ in range(20)),
]
BYTES = [
    b"\xff",
    b"a\xff",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\xf4\x90\x80\x80",
    b"\x00",
    b"a\x00b",
    *(RNG.bytes(12) for _ in range(20)),
]


def timestamps(unit: str, zone: str | None = None) -> pa.Array:
    return pa.array(np.array(bits(64), dtype=np.int64)).view(pa.timestamp(unit, zone) if zone else pa.timestamp(unit))


def odd_texts(kind: pa.DataType) -> pa.Array:
    """Texts as Arrow may hold them: it does not look whether they are UTF-8."""
    data = [None, *(text.encode() for text in TEXTS), *BYTES]
    if pa.types.is_string_view(kind):
        return pa.array(data, pa.binary_view()).view(kind)
    return pa.array(data, pa.large_binary() if pa.types.is_large_string(kind) else pa.binary()).view(kind)


WHOLE = {f"{sign}int{size}": (sign, size) for sign in ("", "u") for size in (8, 16, 32, 64)}


@cache
def arrow_values() -> dict[str, pa.Array]:
    """Values of every type on Arrow's list."""
    found = {
        name: pa.array([value % 2**size if sign else value for value in bits(size)], getattr(pa, name)())
        for name, (sign, size) in WHOLE.items()
    }
    texts = pa.array([None, *TEXTS])
    return found | {
        "bool": pa.array([True, False, None]),
        "float": pa.array(small_floats()),
        "double": pa.array(floats()),
        "decimal128(38, 0)": pa.array(decimals(38, 0), pa.decimal128(38, 0)),
        "decimal128(38, 38)": pa.array(decimals(38, 38), pa.decimal128(38, 38)),
        "decimal128(5, 2)": pa.array(decimals(5, 2), pa.decimal128(5, 2)),
        "date32[day]": pa.array(np.array(bits(32), dtype=np.int32)).view(pa.date32()),
        **{f"timestamp[{unit}]": timestamps(unit) for unit in ("s", "ms", "us", "ns")},
        **{f"timestamp[{unit}, tz=Asia/Tokyo]": timestamps(unit, "Asia/Tokyo") for unit in ("s", "ms", "us", "ns")},
        "string": odd_texts(pa.string()),
        "large_string": odd_texts(pa.large_string()),
        "string_view": odd_texts(pa.string_view()),
        "dictionary of texts": texts.dictionary_encode(),
        "null": pa.nulls(5),
    }


def columns(values: pa.Array) -> pa.Table:
    """The values as every kind of column and as persons, each twice, so that a person has more than one row."""
    twice = pa.chunked_array([values, values])
    return pa.table({**dict.fromkeys([*KINDS, "x"], twice), "g": pa.array(np.arange(len(twice)) % 10)})


# ------------------------------------------------------------------------------------------------------------ asking


def outcomes(data: Any, folder: Any, capfd: Any, caplog: Any, table: str | None, schema: Any = KINDS) -> list[Any]:
    """What one sees of all questions but the noise: of the column as every kind, and as persons."""
    seen: list[Any] = []
    capfd.readouterr()
    caplog.clear()
    for unit, declared, questions in ((None, schema, OF_COLUMNS), ("x:1", {"g": Integer(0, 9)}, OF_PERSONS)):
        opened = _opened(data, folder, table, unit, declared)
        if isinstance(opened, tuple):
            seen.append(opened)
            continue
        for name, ask in questions.items():
            try:
                seen.append((unit, name, "answered", type(ask(opened)).__name__))
            except JostleError as failure:
                seen.append((unit, name, "failed", type(failure).__name__, str(failure)))
        seen.append(opened.remaining)
    out, err = capfd.readouterr()
    return [*seen, out, err, [record.getMessage() for record in caplog.records if record.levelno >= logging.INFO]]


def _opened(data: Any, folder: Any, table: str | None, unit: str | None, schema: Any) -> Any:
    """The table, or how it is refused."""
    name = str(RNG.integers(2**62))
    about = {"ledger": folder / f"{name}.db", "budget": 1, "name": name, "table": table}
    try:
        return open_table(data, schema=schema, unit=unit, **about)
    except BadInput as refused:
        return unit, "refused", refused.argument, refused.problem, refused.remedy


LEFT = 1 - 2 * Fraction(TINY)
ANSWERED = [
    *((None, "all cells", "answered", "ndarray"), (None, "sum", "answered", "ReleasedNumber"), LEFT),
    *(("x:1", "part", "answered", "Release"), 1 - Fraction(TINY)),
    *("", "", []),
]


@pytest.fixture
def check_answered(tmp_path, capfd, caplog):
    """The type is accepted, and the table is answered; as persons, times are refused, as they are without rows."""

    def checked(kind: str, filled: Any, empty: Any, *tables: str) -> None:
        at_filled, at_empty = tables or (None, None)
        expected = ANSWERED
        if bare(kind) in NOT_PERSONS:
            refused = _opened(empty, tmp_path, at_empty, "x:1", {"g": Integer(0, 9)})
            assert refused[:3] == ("x:1", "refused", "unit")
            expected = [*ANSWERED[:3], refused, "", "", []]
        assert outcomes(filled, tmp_path, capfd, caplog, at_filled) == expected

    return checked


@pytest.fixture
def check_empty(tmp_path, capfd, caplog):
    """A table without rows is answered, whose columns are of all types; they are read as one kind after another."""

    def checked(data: Any, names: Iterable[str], table: str | None = None) -> None:
        schema = dict(zip(names, cycle(KINDS.values()))) | {"real": KINDS["real"]}
        assert outcomes(data, tmp_path, capfd, caplog, table, schema) == ANSWERED

    return checked


# ----------------------------------------------------------------------------------------------------------- engines


def test_the_lists_are_those_that_are_tried():
    """A type that is added to a list needs values here."""
    assert {bare(kind) for kind in arrow_values()} == TYPES["arrow"]
    assert {bare(kind) for kind in PARQUET} | {"int96"} == TYPES["parquet"]
    assert {bare(kind) for kind in DUCKDB} == TYPES["duckdb"]
    assert {bare(kind) for kind in POSTGRES} == TYPES["postgres"]
    assert {bare(kind) for kind in PANDAS} == TYPES["pandas"]


def test_the_page_of_proofs_lists_the_same_types():
    page = (Path(__file__).parents[2] / "docs" / "proofs" / "tables.md").read_text("utf-8")
    for source, types in TYPES.items():
        assert f"| {source} | {', '.join(f'`{one}`' for one in sorted(types))} |" in page


@pytest.mark.parametrize("kind", arrow_values())
def test_tables_of_arrow(kind, check_answered):
    filled = columns(arrow_values()[kind])
    check_answered(kind, filled, filled.slice(0, 0))


def empty_of_arrow(kinds: Iterable[str]) -> pa.Table:
    """A table without rows, with a column per type."""
    types = {f"t{place}": arrow_values()[kind].type for place, kind in enumerate(kinds)}
    return pa.schema({**types, "real": pa.float64(), "x": pa.int64(), "g": pa.int64()}).empty_table()


def test_an_empty_table_of_arrow(check_empty):
    made = empty_of_arrow(arrow_values())
    check_empty(made, made.column_names[:-3])


PARQUET = {
    **{name: name for name in (*WHOLE, "bool", "float", "double", "string", "null")},
    "decimal(38,0)": "decimal128(38, 0)",
    "decimal(38,38)": "decimal128(38, 38)",
    "decimal(5,2)": "decimal128(5, 2)",
    "date": "date32[day]",
    **{f"timestamp[{unit}]": f"timestamp[{unit}]" for unit in ("ms", "us", "ns")},
    **{f"timestamp[{unit}, UTC]": f"timestamp[{unit}, tz=Asia/Tokyo]" for unit in ("ms", "us", "ns")},
}


@pytest.mark.parametrize("kind", PARQUET)
def test_parquet_files(kind, tmp_path, check_answered):
    filled = columns(arrow_values()[PARQUET[kind]])
    for name, table in (("filled", filled), ("empty", filled.slice(0, 0))):
        pq.write_table(table, tmp_path / f"{name}.parquet")
    check_answered(kind, tmp_path / "filled.parquet", tmp_path / "empty.parquet")


def test_an_empty_parquet_file(tmp_path, check_empty):
    made = empty_of_arrow(PARQUET.values())
    pq.write_table(made, tmp_path / "empty.parquet")
    check_empty(tmp_path / "empty.parquet", made.column_names[:-3])


def test_old_times_of_parquet(tmp_path, check_answered):
    """Times as Spark and Impala write them, 96 bits that mean a day and a time: all bits are tried."""
    made = columns(pa.array([datetime(2001, 1, 1, 3, 4, 5)] * 40, pa.timestamp("us")))  # noqa: DTZ001
    how = {"use_dictionary": False, "compression": "none", "write_statistics": False}
    for name, table in (("filled", made), ("empty", made.slice(0, 0))):
        pq.write_table(table, tmp_path / f"{name}.parquet", use_deprecated_int96_timestamps=True, **how)
    content, written = (tmp_path / "filled.parquet").read_bytes(), struct.pack("<qi", 11045 * 10**9, 2451911)
    assert content.count(written) == 80 * 7
    ends = [struct.pack("<qi", time, day) for time in (0, -1, -(2**63), 2**63 - 1) for day in (0, -1, -(2**31), 2**31 - 1)]
    for replaced in [*ends, *(RNG.bytes(12) for _ in range(80 * 7 - len(ends)))]:
        content = content.replace(written, replaced, 1)
    (tmp_path / "filled.parquet").write_bytes(content)
    check_answered("int96", tmp_path / "filled.parquet", tmp_path / "empty.parquet")


DUCKDB = {
    "BOOLEAN": "bool",
    **{f"{'U' if sign else ''}{size}": f"{'u' if sign else ''}int{bits}" for sign in (0, 1) for size, bits in
       (("TINYINT", 8), ("SMALLINT", 16), ("INTEGER", 32), ("BIGINT", 64))},
    "FLOAT": "float",
    "DOUBLE": "double",
    "DECIMAL(38,0)": "decimal128(38, 0)",
    "DECIMAL(38,38)": "decimal128(38, 38)",
    "DECIMAL(5,2)": "decimal128(5, 2)",
    "DATE": "date32[day]",
    "TIMESTAMP": "timestamp[us]",
    "TIMESTAMP_S": "timestamp[s]",
    "TIMESTAMP_MS": "timestamp[ms]",
    "TIMESTAMP_NS": "timestamp[ns]",
    "TIMESTAMP WITH TIME ZONE": "timestamp[us, tz=Asia/Tokyo]",
    "VARCHAR": "texts",
    "ENUM('a', '1', 'NA', '')": "enum",
    "UUID": "uuid",
}  # fmt: skip


def of_duckdb(kind: str) -> pa.Array:
    own = {
        "texts": pa.array([None, *TEXTS, "a\0b"]),
        "enum": pa.array([None, "a", "1", "NA", ""]),
        "uuid": pa.array([None, *(str(UUID(int=value)) for value in (0, 1, 2**128 - 1, 2**127))]),
    }
    return own[DUCKDB[kind]] if DUCKDB[kind] in own else arrow_values()[DUCKDB[kind]]


@pytest.mark.parametrize("kind", DUCKDB)
def test_databases_of_duckdb(kind, tmp_path, check_answered):
    names = ", ".join(f'"{name}"::{kind} AS "{name}"' for name in (*KINDS, "x"))
    with duckdb.connect(tmp_path / "t.duckdb") as connection:
        connection.register("rows", columns(of_duckdb(kind)))
        connection.execute(f"CREATE TABLE filled AS SELECT {names}, g FROM rows")
        connection.execute("CREATE TABLE empty AS FROM filled LIMIT 0")
        found = connection.execute(
            "SELECT data_type FROM duckdb_columns() WHERE column_name = 'x' AND table_name = 'filled'"
        ).fetchall()
        assert {bare(one) for (one,) in found} == {bare(kind)}
    check_answered(kind, *[tmp_path / "t.duckdb"] * 2, "filled", "empty")


def test_an_empty_table_of_duckdb(tmp_path, check_empty):
    types = {f"t{place}": kind for place, kind in enumerate(DUCKDB)}
    with duckdb.connect(tmp_path / "t.duckdb") as connection:
        connection.execute(f"CREATE TABLE empty ({declared(types)}, real DOUBLE, x INTEGER, g INTEGER)")
    check_empty(tmp_path / "t.duckdb", types, "empty")


def declared(types: dict[str, str]) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in types.items())


NUMBERS = ["0", "-0", "1", "-1", "0.5", "NaN", "Infinity", "-Infinity"]
POSTGRES = {
    "bool": ["true", "false"],
    "int2": [str(value) for value in bits(16)],
    "int4": [str(value) for value in bits(32)],
    "int8": [str(value) for value in bits(64)],
    "float4": [*NUMBERS, "3.4028235e38", "-3.4028235e38", "1e-45"],
    "float8": [*NUMBERS, "1.7976931348623157e308", "4.9e-324", *map(repr, floats())],
    "numeric": [*NUMBERS, "1.0", "1.00", "1" * 131072, "-" + "9" * 131072, "0." + "0" * 16382 + "1", "1e-400", "1e400"],
    "numeric(38,10)": ["0", "1", *("9" * 28 + "." + "9" * 10, "-" + "9" * 28)],
    "date": ["4713-01-01 BC", "5874897-12-31", "infinity", "-infinity", "2024-02-29", "0001-01-01"],
    "timestamp": ["4713-01-01 00:00:00 BC", "294276-12-31 23:59:59.999999", "infinity", "-infinity", "2024-02-29 12:00"],
    "timestamptz": ["4713-01-02 00:00:00 BC", "294276-12-31 23:59:59+00", "infinity", "-infinity", "2024-02-29 12:00+05"],
    "text": TEXTS,
    "varchar": TEXTS,
    "bpchar": TEXTS,
    "enum": ["a", "1", "NA", ""],
    "uuid": [str(UUID(int=value)) for value in (0, 1, 2**128 - 1, 2**127)],
}


@pytest.fixture
def database(postgres):
    url = postgres.new_schema()
    plain, search_path = url.replace("+psycopg", "").split("?options=")
    with psycopg.connect(plain, options=search_path.replace("%3D", "="), autocommit=True) as connection:
        yield url, connection


@pytest.mark.parametrize("kind", POSTGRES)
def test_databases_of_postgres(kind, database, check_answered):
    url, connection = database
    if kind == "enum":
        connection.execute("CREATE TYPE words AS ENUM ('a', '1', 'NA', '')")
    declared = "words" if kind == "enum" else kind
    names = [*KINDS, "x"]
    for table in ("filled", "empty"):
        connection.execute(f"CREATE TABLE {table} ({', '.join(f'{name} {declared}' for name in names)}, g int)")
    marks = ", ".join([f"%s::text::{declared}"] * len(names))
    with connection.cursor() as cursor:
        rows = [(value,) * len(names) for value in (None, *POSTGRES[kind])]
        cursor.executemany(f"INSERT INTO filled SELECT {marks}, generate_series(1, 2)", rows)
    connection.execute("ANALYZE filled")
    check_answered(kind, url, url, "filled", "empty")


def test_an_empty_table_of_postgres(database, check_empty):
    url, connection = database
    connection.execute("CREATE TYPE words AS ENUM ('a', '1', 'NA', '')")
    types = {f"t{place}": "words" if kind == "enum" else kind for place, kind in enumerate(POSTGRES)}
    connection.execute(f"CREATE TABLE empty ({declared(types)}, real float8, x int, g int)")
    connection.execute("ANALYZE empty")
    check_empty(url, types, "empty")


def test_databases_of_sqlite(tmp_path, check_answered):
    """A column holds values of all five types of storage; texts may be any bytes."""
    values = [
        None,
        *bits(64),
        *(value for value in floats() if value == value),
        *TEXTS,
        *BYTES,
        b"",
        b"1",
        b"a" * (2**20 + 1),
    ]
    names = [*KINDS, "x"]
    with sqlite3.connect(tmp_path / "t.db") as connection:
        for table in ("filled", "empty"):
            connection.execute(f"CREATE TABLE {table} ({', '.join(names)}, g)")
        for value in [*values, *values]:
            connection.execute(f"INSERT INTO filled VALUES ({', '.join('?' * len(names))}, 1)", (value,) * len(names))
        for value in BYTES:
            marks = ", ".join(["CAST(? AS TEXT)"] * len(names))
            connection.execute(f"INSERT INTO filled VALUES ({marks}, 1)", (value,) * len(names))
    connection.close()
    check_answered("any", *[tmp_path / "t.db"] * 2, "filled", "empty")


ODD = [
    *(
        None,
        float("nan"),
        pd.NA,
        pd.NaT,
        1,
        1.0,
        True,
        "1",
        10**400,
        -(10**400),
        Decimal("NaN"),
        Decimal("sNaN"),
        Decimal("1e9999"),
    ),
    *(
        b"\xff",
        UUID(int=5),
        ("t",),
        [1],
        {"a": 1},
        {1},
        object(),
        "\ud800",
        datetime(9999, 12, 31, 23, 59, 59, 999999),  # noqa: DTZ001
        datetime(1, 1, 1),  # noqa: DTZ001
        pd.Timestamp.max,
        1j,
    ),
    *(
        np.float32(1),
        np.int64(2**63 - 1),
        np.datetime64("NaT"),
        np.timedelta64(5, "D"),
        np.array([1, 2]),
        pd.Timedelta(1),
        Decimal,
    ),
]


@cache
def pandas_values() -> dict[str, pd.Series]:
    whole = {
        name: pd.Series([v % 2**size if sign else v for v in bits(size)], dtype=name) for name, (sign, size) in WHOLE.items()
    }
    nullable = {
        name.replace("uint", "UInt").replace("int", "Int"): values.astype(name.replace("uint", "UInt").replace("int", "Int"))
        for name, values in whole.items()
    }
    stamps = np.array(bits(64), dtype=np.int64)
    texts = pd.Series([None, *TEXTS], dtype=object)
    small = pd.Series(small_floats())
    return whole | nullable | {
        "bool": pd.Series([True, False]),
        "boolean": pd.Series([True, False, None], dtype="boolean"),
        "float32": small,
        "float64": pd.Series(floats()),
        "Float32": small.astype("Float32"),
        "Float64": pd.Series(floats()).astype("Float64"),
        **{f"datetime64[{unit}]": pd.Series(stamps.view(f"M8[{unit}]")) for unit in ("s", "ms", "us", "ns")},
        **{f"datetime64[{unit}, Asia/Tokyo]": zoned(stamps, unit) for unit in ("s", "ms", "us", "ns")},
        "str": texts.astype("str"),
        "string": texts.astype("string"),
        "object": pd.Series([*ODD, *TEXTS], dtype=object),
        "category": texts.astype("category"),
    }  # fmt: skip


def zoned(stamps: Any, unit: str) -> pd.Series:
    return pd.Series(pd.DatetimeIndex(stamps.view(f"M8[{unit}]")).tz_localize("UTC").tz_convert("Asia/Tokyo"))


PANDAS = tuple(pandas_values())


@pytest.mark.parametrize("kind", PANDAS)
def test_frames_of_pandas(kind, check_answered):
    series = pandas_values()[kind]
    frame = pd.DataFrame({**dict.fromkeys([*KINDS, "x"], series), "g": 1})
    check_answered(kind, frame, frame.iloc[:0])


def test_an_empty_frame_of_pandas(check_empty):
    types = {f"t{place}": series.iloc[:0] for place, series in enumerate(pandas_values().values())}
    whole = pd.Series([], dtype="int64")
    check_empty(pd.DataFrame({**types, "real": whole.astype("float64"), "x": whole, "g": whole}), types)


# ----------------------------------------------------------------------------------------------- what is not on a list

NOT_ON_ARROW_S_LIST = [
    *(pa.duration("s"), pa.time32("ms"), pa.time64("us"), pa.binary(), pa.large_binary(), pa.binary_view(), pa.binary(4)),
    *(pa.float16(), pa.decimal256(50, 0), pa.decimal128(5, -2), pa.date64(), pa.list_(pa.int8()), pa.large_list(pa.int8())),
    *(pa.struct([("a", pa.int8())]), pa.map_(pa.string(), pa.int8()), pa.month_day_nano_interval(), pa.uuid(), pa.json_()),
    *(pa.dictionary(pa.int8(), pa.int64()), pa.dictionary(pa.int8(), pa.binary()), pa.bool8()),
    *(pa.run_end_encoded(pa.int32(), pa.int64()), pa.decimal32(5, 2), pa.decimal64(5, 2)),
]


@pytest.mark.parametrize("kind", NOT_ON_ARROW_S_LIST, ids=str)
def test_other_types_of_arrow_are_refused(kind, tmp_path):
    about = {"ledger": tmp_path / "b.db", "budget": 1, "name": "t"}
    table = pa.schema([("x", kind), ("g", pa.int64())]).empty_table()
    for unit, schema in ((None, {"x": Integer(0, 1)}), ("x:1", {"g": Integer(0, 1)})):
        with pytest.raises(BadInput, match="'x' has the type") as refused:
            open_table(table, schema=schema, unit=unit, **about)
        assert refused.value.argument == ("schema" if unit is None else "unit")


@pytest.mark.parametrize("kind", ["timedelta64[ns]", "complex128", "period[M]", "Sparse[int64]", "interval", "float16"])
def test_other_types_of_pandas_are_refused(kind, tmp_path):
    frame = pd.DataFrame({"x": pd.Series([], dtype=kind)})
    with pytest.raises(BadInput, match="'x' has the type"):
        open_table(frame, schema={"x": Integer(0, 1)}, ledger=tmp_path / "b.db", budget=1, name="t")


@pytest.mark.parametrize(
    "declared",
    [
        (pa.timestamp("us"), pa.timestamp("ns")),
        (pa.int64(), pa.float64()),
        (pa.int64(), pa.decimal128(38, 30)),
        (pa.binary(), pa.string()),
        (pa.int32(), pa.int64()),
        (pa.decimal128(38, 0), pa.decimal128(38, 1)),
    ],
    ids=str,
)
def test_files_that_declare_a_column_differently_are_refused(declared, tmp_path):
    """An engine would convert one to the other, and fail, or take two persons for one, by a value."""
    for place, kind in enumerate(declared):
        pq.write_table(pa.schema([("x", kind), ("g", pa.int64())]).empty_table(), tmp_path / f"{place}.parquet")
    files = [tmp_path / "0.parquet", tmp_path / "1.parquet"]
    for unit, schema in ((None, {"x": Integer(0, 1)}), ("x:1", {"g": Integer(0, 1)})):
        with pytest.raises(BadInput, match="declare 'x' in different ways"):
            open_table(files, schema=schema, unit=unit, ledger=tmp_path / "b.db", budget=1, name="t")
    open_table(files, schema={"g": Integer(0, 1)}, ledger=tmp_path / "b.db", budget=1, name="t")
