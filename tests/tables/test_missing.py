"""Texts that stand for no value: declared in a schema, and nulls wherever a table is read."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jostle
from jostle.kernel.errors import BadInput
from jostle.schema import Boolean, Category, Date, Integer, Real, Schema
from tests.tables.test_cells import FLOATS, KINDS, TEXTS, assert_as_in_memory, cells, kept

SCHEMA = Schema(
    whole=Integer(0, 199, bins=20, null="own", missing=["99", "NA", "-10", "5.0", "1e3", "+4", "nan"]),
    part=Real(-3, 100, bins=7, missing=["0.1", "x", "", "inf"], outside="own"),
    day=Date("2023-01-01", "2024-12-31", every="year", null="own", missing=["2024-02-29", "2024-01-01T10:00", "5"]),
    truth=Boolean(missing=["yes", "5", "0.1", "F", "2024-02-29"]),
    few=Category(["F", "M", "1"], missing=["5", " ß", "x", "t", "0.1", "\\", "'; DROP TABLE people; --"]),
    many=Category([*"FM", *map(str, range(150, 250))], missing=["5", "ß", "0.1", "150.5"], outside="drop"),
)


# ------------------------------------------------------------------------------------------------------------- schema


def test_a_text_that_is_declared_is_a_null_and_follows_its_rule():
    assert Category(["F", "M"], missing=["NA", "?"]).encode(["F", "NA", " ? ", "na", None]).tolist() == [0, 3, 3, 2, 3]
    assert Integer(0, 9, missing=["9"]).encode(["8", "9", 9, 9.0, "9.0", "10"]).tolist() == [8, -1, -1, -1, 9, 9]
    assert Integer(0, 9, missing=["9"], null="own").encode(np.array([8, 9])).tolist() == [8, 10]
    assert Boolean(missing=["?"], outside="own").encode([True, "?", "!"]).tolist() == [1, -1, 2]
    assert Date("2024-01-01", "2024-01-31", missing=["2024-01-31"], null="own").encode(["2024-01-31"]).tolist() == [31]


@given(values=st.lists(st.one_of(st.text(max_size=4), st.integers(-20, 200), st.floats(-5, 105), st.none(), st.booleans())))
def test_without_such_texts_and_with_nulls_in_their_place_is_the_same(values):
    for column in SCHEMA.values():
        plain = type(column)(**{name: value for name, value in vars(column).items() if name != "missing"})
        array = np.array([*values, None], dtype=object)[:-1]
        said = column.encode(array) != plain.encode(array)
        blanked = np.where(said, None, array)
        assert (column.encode(array) == plain.encode(blanked)).all()
        assert (column.encode(array)[said] == column.absent).all()


@pytest.mark.parametrize(
    ("make", "problem"),
    [
        (lambda: Category(["F", "?"], missing=["?"]), "missing: are values of the column too"),
        (lambda: Category([1, 2], missing=["1"]), "missing: are values of the column too"),
        (lambda: Boolean(missing=["TRUE"]), "missing: are values of the column too"),
        (lambda: Integer(0, 9, missing="NA"), "missing: must be a list of texts"),
        (lambda: Integer(0, 9, missing=[9]), "missing: must be a list of texts"),
        (lambda: Integer(0, 9, missing=None), "missing: must be a list of texts"),
        (lambda: Integer(0, 9, missing=["N\ud800"]), "missing: one of them is no Unicode text"),
        (lambda: Category(["F", "\udfff"]), "categories: one of them is no Unicode text"),
        (lambda: Schema({"a\ud800": Boolean()}), "schema: every column has a name"),
        (lambda: Real(0, 9, bins=3, missing=[str(n) for n in range(65)]), "missing: are more than 64 texts"),
    ],
)
def test_what_makes_no_sense_is_refused(make, problem):
    with pytest.raises(BadInput, match=problem):
        make()


def test_a_file_says_it_for_a_column_or_for_all(tmp_path):
    (tmp_path / "people.toml").write_text(
        'missing = ["NA", "?"]\n[columns.age]\nkind = "integer"\nlow = 0\nhigh = 9\n[columns.sex]\nkind = "category"\n'
        'categories = ["F", "M"]\nmissing = ["-"]\n[columns.wet]\nkind = "boolean"\nmissing = []\n',
        "utf-8",
    )
    schema = Schema.load(tmp_path / "people.toml")
    assert [column.missing for column in schema.values()] == [("NA", "?"), ("-",), ()]
    schema.save(tmp_path / "again.toml")
    assert dict(Schema.load(tmp_path / "again.toml")) == dict(schema)
    SCHEMA.save(tmp_path / "odd.toml")
    assert dict(Schema.load(tmp_path / "odd.toml")) == dict(SCHEMA)


def test_a_file_that_says_it_wrongly_is_told_where(tmp_path):
    (tmp_path / "people.toml").write_text('missing = "NA"\n[columns.age]\nkind = "integer"\nlow = 0\nhigh = 9\n', "utf-8")
    with pytest.raises(BadInput, match=r"columns.age.missing: must be a list of texts"):
        Schema.load(tmp_path / "people.toml")


# ------------------------------------------------------------------------------------------------------------- tables


PAIRS = {
    "texts": list(SCHEMA),
    "floats": ["whole", "part", "truth", "few", "many"],
    "whole": ["whole", "few", "many"],
    "truth": ["truth", "few"],
    "days": ["day"],
    "times": ["day"],
}


@pytest.mark.parametrize("load", ["duckdb", "sqlite", "postgres"], indirect=True)  # for Spark, see test_cells.py
def test_every_engine_agrees_with_memory(load):
    longest = max(len(values) for _, values in KINDS.values())
    padded = {
        kind: (stored, [*values, *["NA"] * (kind == "texts"), *[None] * (longest - len(values))])
        for kind, (stored, values) in KINDS.items()
    }
    wide = {f"{kind} {name}": (padded[kind], name) for kind, names in PAIRS.items() for name in names}
    rows = {wider: (stored, [*values, None][: longest + 1]) for wider, ((stored, values), _) in wide.items()}
    data, keywords = load(rows | {"number": (pa.int64(), range(longest + 1))})
    found = cells(data, **keywords, schema=Schema({wider: SCHEMA[name] for wider, (_, name) in wide.items()}))
    for wider, (_, name) in wide.items():
        stored, values = rows[wider]
        if stored in (pa.date32(), pa.timestamp("us")) and load.engine != "sqlite":  # stored as days, they have no text
            values = np.array(values, dtype="datetime64[us]").tolist()
            assert found[wider].tolist() == SCHEMA[name].encode(np.array(values, dtype="datetime64[us]")).tolist()
        else:
            assert_as_in_memory(found[wider], [kept(v, stored, load.engine) for v in values], SCHEMA[name])


def test_a_frame_of_anything_agrees_with_memory():
    values = [
        *TEXTS,
        *FLOATS,
        *(1, 1.0, True, False, 10**30, dt.date(2024, 2, 29), b"x", object(), [1], math.nan, Decimal("99"), Decimal("0.1")),
        *(pd.Timestamp("2024-02-29"), pd.NaT, pd.NA, np.float32(0.5), np.int8(99), np.bool_(True), "\ud800", "NA", "\x00"),
    ]
    frame = pd.DataFrame({name: pd.Series(values, dtype=object) for name in SCHEMA} | {"number": range(len(values))})
    found = cells(frame, schema=SCHEMA)
    for name, column in SCHEMA.items():
        assert_as_in_memory(found[name], values, column)


def counted(data, tmp_path, **keywords):
    schema = {"id": Category(["1", "2"], missing=["NA", "-9"]), "sex": Category(["F", "M"])}
    told = {"schema": schema, "ledger": tmp_path / "budget.db", "budget": 10**6, "unit": "id:2", "name": "people"}
    table = jostle.open(data, **told, **keywords)
    rows = table.count(epsilon=10**4).answers[0]  # with and without asking about the column itself
    return [rows, *table.histogram("id", epsilon=10**4, algorithm="Laplace").answers]


@pytest.mark.parametrize("load", ["duckdb", "sqlite", "postgres"], indirect=True)
def test_a_text_that_stands_for_no_value_is_nobody(load, tmp_path):
    """Else all whom a table does not know are one person, and whoever leaves has another of them take the place."""
    persons, sexes = ["1", "1", "1", "NA", "NA", " NA", "-9", "2", "", None], ["F", "M"] * 5
    data, keywords = load({"id": (pa.string(), persons), "sex": (pa.string(), sexes)})
    assert counted(data, tmp_path, **keywords) == [3, 2, 1, 0, 0]
    data, keywords = load({"id": (pa.int64(), [1, 1, 1, -9, -9, 2]), "sex": (pa.string(), sexes[:6])})
    assert counted(data, tmp_path, **keywords) == [3, 2, 1, 0, 0]


def test_nobody_in_a_frame(tmp_path):
    persons = pd.Series(["1", 1, 1.0, "NA", " NA ", -9, -9.0, "2", None], dtype=object)
    frame = pd.DataFrame({"id": persons, "sex": ["F"] * persons.size})
    assert counted(frame, tmp_path) == [3, 2, 1, 0, 0]


def test_conditions_and_derived_columns_see_nulls(tmp_path):
    frame = pd.DataFrame({"age": ["31", "999", "20"], "sex": ["F", "M", "NA"]})
    schema = {"age": Integer(0, 99, missing=["999"]), "sex": Category(["F", "M"], missing=["NA"])}
    table = jostle.open(frame, schema=schema, ledger=tmp_path / "budget.db", budget=10**6, name="people")
    exact = {"epsilon": 10**4}
    assert table.where("sex IS NULL").count(**exact).answers[0] == 1
    assert table.where("age IS NULL").count(**exact).answers[0] == 1
    assert table.histogram("sex", algorithm="Laplace", **exact).answers.tolist() == [1, 1, 0, 1]
    assert table.sum("age", **exact).value == 51
    doubled = table.derive("twice", lambda t: t.age * 2, Integer(0, 199, missing=["40"]))
    assert doubled.sum("twice", **exact).value == 62
