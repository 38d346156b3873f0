"""A value falls into the same cell in every engine as in memory, whatever the value is."""

from __future__ import annotations

import datetime as dt
import math

import numpy as np
import pandas as pd
import pyarrow as pa

from jostle.schema import Boolean, Category, Date, Integer, Real, Schema
from jostle.tables.bounded_rows import PERSON
from jostle.tables.engines.sources import connect
from jostle.tables.run_in_engine import Query
from jostle.tables.unit import Unit
from jostle.tables.view import View

SCHEMA = Schema(
    whole=Integer(0, 99),
    tens=Integer(-10, 99, bins=10, outside="own", null="own"),
    sevenths=Real(0, 1, bins=7),
    wide=Real(-3, 100, bins=20, spacing="log", outside="drop"),
    cuts=Real(0, 100, cuts=[0.1, 5, 50], outside="own", null="own"),
    days=Date("2023-01-01", "2024-12-31"),
    weeks=Date("2023-05-01", "2025-12-31", every="week"),
    months=Date("2023-05-15", "2025-12-31", every="month", outside="own", null="own"),
    years=Date("2023-05-01", "2025-12-31", every="year", outside="drop"),
    truth=Boolean(),
    few=Category(["F", "M", "5", 1, 0.1, "10000000000"]),
    many=Category([*"FM5", *map(str, range(100, 200)), "1", "0.1", "ß"], outside="drop"),
)

WITH_MISSING = Schema(
    lacking=Integer(0, 99, null="own", missing=["5", "x", "", "-3"]),
    unsaid=Category([*"FM", *map(str, range(100, 200))], missing=["x", "ß", "5", "\\"]),
)
"""With texts that stand for no value; test_missing.py has more of them."""

WRITTEN = Schema(
    comma=Real(0, 2000, bins=20, decimal=",", thousands=".", outside="own", null="own"),
    spaced=Integer(0, 99999, bins=10, thousands=" ", outside="own", null="own"),
    dotted=Date("1960-01-01", "2070-12-31", every="month", null="own", format="%d.%m.%Y"),
    named=Date("1960-01-01", "2070-12-31", every="day", null="own", format="%b %d, %y"),
    packed=Date("1960-01-01", "2070-12-31", every="day", null="own", format="%Y%m%d"),
    timed=Date("1960-01-01", "2070-12-31", every="day", null="own", format="%d/%B/%Y:%H:%M:%S %z"),
)
"""With other signs and forms than the usual ones."""

TEXTS = [
    *("1.234,5", "1234,5", "12.34", "1.5", "1.234.5", "1.234,", ",5", "-1.999,9", "1 234", "1\u00a0234", "1\u202f234"),
    *("12 34", "99 999", "1'234", "31.12.2024", "1.2.1999", "01.02.1999 10:00", "31.2.2024", "00.00.0000", "31.12.24"),
    *("Feb 3, 99", "february 29, 24", "Foo 3, 99", "Feb 30, 99", "DEC 31, 68", "Jan 1, 69x", "20241231", "20240230"),
    *("20241231 10", "202412311", "31/Dec/2024:10:11:12 +0100", "1/may/2024:1:1:1 Z", "1/may/2024:1:1:1 +1", "３１.12.2024"),
    *("5", "99", "123", " 7 ", "x", None, "", "-3", "1e3", "1_0", "inf", "-Infinity", "nan", "0.1", "5.0", "99.9", "1e400"),
    *(
        "+4",
        ".5",
        "5.",
        "٣",
        "12\u0085",
        "12\n",
        "1" * 45,
        "1e-400",
        "9e307",
        "1e308",
        "0x10",
        "1d",
        "1f",
        "--1",
        "1,5",
        "e5",
    ),
    *(
        "true",
        "TRUE",
        "1",
        "0",
        "fAlse",
        "yes",
        "t",
        "F",
        "M",
        " F",
        "f",
        "\tM\r\n",
        "ß",
        "'; DROP TABLE people; --",
        "\\",
        "%",
    ),
    *("2024-02-29", "2023-02-29", "2024-13-01", "2024-00-10", "2024-01-01T10:00", "2024-01-01 23:59:59", "2024-01-011"),
    *(
        "0000-01-01",
        "0001-01-01",
        "9999-12-31",
        "20240101",
        "2024-W01-1",
        "2024-1-1",
        "2023-05-01x",
        "infinity",
        "now",
        "today",
    ),
    *(
        "2024-12-31",
        "2025-01-01",
        "2023-04-30",
        " 2024-07-07 ",
        "1900-02-29",
        "2000-02-29",
        "150",
        "199",
        "200",
        "10000000000",
    ),
]
FLOATS = [
    *(0.0, -0.0, 0.1, 1.0, *(k / 7 for k in range(8)), math.nextafter(3 / 7, 0), 5.0, 98.999, 99.0, 99.5, 100.0, 101.0),
    *(-3.0, -10.0, -10.5, 49.999999, 50, 1e300, -1e300, 5e-324, None, 1e10, 150.0, 150.5, 2.0**60, math.inf, -math.inf),
    *Real(-3, 100, bins=20, spacing="log").edges.tolist(),
]
WHOLE = [0, 1, 5, 99, 100, -10, -11, 150, 199, 10**10, 2**62, -(2**62), None]
DAYS = [dt.date(2024, 2, 29), dt.date(2022, 12, 31), dt.date(2023, 5, 1), dt.date(1, 1, 1), dt.date(9999, 12, 31), None]
TIMES = [*map(dt.datetime.fromisoformat, ("2024-02-29 23:59:59", "2023-05-01", "1900-01-01")), None]
KINDS = {
    "texts": (pa.string(), TEXTS),
    "floats": (pa.float64(), [*FLOATS, math.nan]),
    "single": (pa.float32(), [0.1, 0.5, 1.0, 5.0, None]),
    "whole": (pa.int64(), WHOLE),
    "truth": (pa.bool_(), [True, False, None]),
    "days": (pa.date32(), DAYS),
    "times": (pa.timestamp("us"), TIMES),
    "nothing": (pa.string(), []),
}

PAIRS = {
    "texts": [*SCHEMA, *WITH_MISSING, *WRITTEN],
    "floats": ["whole", "tens", "sevenths", "wide", "cuts", "days", "truth", "few", "many", "comma", "dotted"],
    "single": ["sevenths", "few"],
    "whole": ["tens", "cuts", "truth", "few", "many"],
    "truth": ["whole", "truth", "few"],
    "days": ["days", "weeks", "months", "years", "few", "dotted"],
    "times": ["days", "months", "whole"],
    "nothing": ["whole", "truth", "few"],
}

FEWER_PAIRS = {
    "texts": ["whole", "cuts", "weeks", "truth", "few", "many", "lacking", "unsaid", *WRITTEN],
    "floats": ["tens", "sevenths", "wide"],
    "whole": ["few"],
    "truth": ["truth"],
    "times": ["months"],
}
"""For Spark, which takes a second for every column."""


def cells(data, table=None, schema=SCHEMA):
    """Each column's cells in the engine, in the rows' order."""
    opened = connect(data, table=table, wanted=[*schema, "number"], columns=None, engine="duckdb")
    view = View.of(opened.table, schema, Unit("number", max_rows=1), filtered=False)
    found = view.rows(list(schema))
    rows = Query("looking", lambda: found.table.select(PERSON, *found.cells.values()), view.backend).fetch()
    persons = [str(person).removeprefix("n") for person in rows[PERSON].to_pylist()]  # SQLite says what a value is
    order = np.argsort(np.array(persons, dtype=np.int64))
    return {name: rows[found.cells[name]].to_numpy()[order] for name in schema}


def assert_as_in_memory(found, values, column):
    array = np.array([*values, None], dtype=object)[:-1]
    wanted = column.encode(array)
    wrong = [(values[i], wanted[i], found[i]) for i in np.flatnonzero(wanted != found)]
    assert not wrong, "(value, in memory, in the engine)"


def test_every_engine_agrees_with_memory(load):
    """One wide table: the kinds of columns of the schema over the types of the engine."""
    longest = max(len(values) for _, values in KINDS.values())
    padded = {kind: (stored, [*values, *[None] * (longest - len(values))]) for kind, (stored, values) in KINDS.items()}
    pairs = FEWER_PAIRS if load.engine == "pyspark" else PAIRS
    wide = {f"{kind} {name}": (padded[kind], name) for kind, names in pairs.items() for name in names}
    data, keywords = load({wider: column for wider, (column, _) in wide.items()} | {"number": (pa.int64(), range(longest))})
    described = dict(SCHEMA) | dict(WITH_MISSING) | dict(WRITTEN)
    schema = Schema({wider: described[name] for wider, (_, name) in wide.items()})
    found = cells(data, **keywords, schema=schema)
    for wider, ((stored, values), name) in wide.items():
        assert_as_in_memory(found[wider], [kept(v, stored, load.engine) for v in values], described[name])


def kept(value, stored, engine):
    """What an engine keeps of a value."""
    if value is None or (engine == "sqlite" and value != value):
        return None
    if engine == "sqlite":
        return str(value) if hasattr(value, "isoformat") else int(value) if isinstance(value, bool) else value
    return float(np.float32(value)) if stored == pa.float32() else value


def test_an_empty_table_has_cells(load):
    found = cells(*_named(load({name: (pa.float64(), []) for name in [*SCHEMA, "number"]})))
    assert all(found[name].size == 0 for name in SCHEMA)


def _named(loaded):
    data, keywords = loaded
    return data, keywords.get("table")


def agrees(data, values):
    found = cells(data)
    for name, column in SCHEMA.items():
        assert_as_in_memory(found[name], values, column)


def test_a_frame_of_anything_agrees_with_memory():
    values = [
        *TEXTS,
        *FLOATS,
        *(1, 1.0, True, False, 10**30, 10**400, -(10**400), dt.date(2024, 1, 5), b"x", object(), [1], {}, 1j, math.nan),
        *(pd.Timestamp("2024-03-01"), pd.NaT, pd.NA, np.float32(0.5), np.int8(5), np.bool_(True), "\ud800", "\x00"),
        *(pd.Timedelta(days=1), dt.time(1, 2), pd.Timestamp("2024-03-01T23:00", tz="America/New_York")),
    ]
    frame = pd.DataFrame({name: pd.Series(values, dtype=object) for name in SCHEMA} | {"number": range(len(values))})
    agrees(frame, values)


def test_days_among_objects_need_no_form():
    values = [dt.date(2024, 12, 5), pd.Timestamp("2024-03-01"), "05.12.2024", "2024-12-05", pd.NaT, None, 5]
    frame = pd.DataFrame({"d": pd.Series(values, dtype=object), "number": range(len(values))})
    for form in ("%d.%m.%Y", "%Y-%d-%m", ""):
        column = Date("2024-01-01", "2024-12-31", null="own", format=form)
        assert_as_in_memory(cells(frame, schema=Schema(d=column))["d"], values, column)


def test_a_text_file_agrees_with_memory(tmp_path):
    texts = [t for t in TEXTS if t is None or "\n" not in t]
    frame = pd.DataFrame(dict.fromkeys(SCHEMA, texts) | {"number": range(len(texts))})
    frame.to_csv(tmp_path / "people.csv", index=False)
    agrees(tmp_path / "people.csv", [t or None for t in texts])


def test_categories_and_decimals_of_frames_and_files(tmp_path):
    from decimal import Decimal

    values = [Decimal("5.00"), Decimal("0.10"), Decimal("99.50"), Decimal("1000000.00"), None]
    table = pa.table({name: pa.array(values, pa.decimal128(12, 2)) for name in SCHEMA} | {"number": range(len(values))})
    agrees(table, values)
    words = ["F", "M", "x", None, "5"]
    frame = pd.DataFrame({name: pd.Categorical(words) for name in SCHEMA} | {"number": range(len(words))})
    agrees(frame, words)


def test_postgres_has_values_that_others_have_not(postgres):
    """Infinite days, decimals that are NaN or too large for a float, and types of its own."""
    import psycopg

    url = postgres.new_schema()
    plain, search_path = url.replace("+psycopg", "").split("?options=")
    others = {
        "days": "date",
        "weeks": "timestamp",
        "months": "date",
        "years": "timestamptz",
        "truth": "letter",
        "few": "letter",
        "many": "text",
    }
    with psycopg.connect(plain, options=search_path.replace("%3D", "=")) as connection:
        connection.execute("CREATE TYPE letter AS ENUM ('F', 'M', 'true')")
        kinds = ", ".join(f"{name} {others.get(name, 'numeric')}" for name in SCHEMA)
        connection.execute(f"CREATE TABLE people ({kinds}, number bigint)")
        rows = [("NaN", "infinity", "F"), ("1e400", "-infinity", "M"), ("-1e400", "2024-02-29", "true"), ("0.5", None, None)]
        for number, (numeric, day, word) in enumerate(rows):
            letters = [word, word, None if word is None else f'"{word}"']
            values = [*[numeric] * 5, *[day] * 4, *letters, number]
            connection.execute(f"INSERT INTO people VALUES ({', '.join(['%s'] * len(values))})", values)
    found = cells(url, table="people")
    assert found["whole"].tolist() == [-1, 99, 0, 0]
    assert found["cuts"].tolist() == [5, 4, 4, 1]
    assert found["days"].tolist() == [730, 0, 424, -1]
    assert found["years"].tolist() == [-1, -1, 1, -1]
    assert found["months"].tolist() == [32, 32, 9, 33]
    assert found["few"].tolist() == [0, 1, 6, 7]
    assert found["truth"].tolist() == [-1, -1, 1, -1]
    assert found["many"].tolist() == [-1, -1, -1, 106]
