"""Persons are told apart, and no value of a row makes a release fail."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from uuid import UUID

import numpy as np
import pandas as pd
import psycopg
import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from jostle.schema import Integer, Real
from jostle.tables.columns import EngineColumns
from jostle.tables.engines import lines
from jostle.tables.engines.frames import _person, _persons
from jostle.tables.opening import open as open_table
from jostle.tables.unit import Unit
from tests.tables.engines import into_postgres


def kept(data, tmp_path, **more):
    """How many rows there are in each cell, with one row a person."""
    account = {"ledger": tmp_path / "b.db", "budget": 1, "name": "t"}
    table = open_table(data, schema={"x": Integer(0, 9)}, unit=Unit("p", max_rows=1), **account, **more)
    return EngineColumns.of(table._views, ["x"]).counts(["x"]).tolist()


def test_persons_of_a_text_file_are_told_apart_by_their_bytes(tmp_path):
    """All bytes that are no UTF-8 became the same sign: when M\xfcller left, a row of M\xf6ller's was kept instead."""
    path = tmp_path / "t.csv"
    path.write_bytes("x,p\n1,M\xfcller\n2,M\xf6ller\n3,M\xfcller\n".encode("latin-1"))
    assert kept(path, tmp_path)[2] == 1
    assert sum(kept(path, tmp_path)) == 2
    path.write_text("x,p\n1,Ann\n2,Ann\ufeff\n3,\ufeffAnn\n\ufeff4,Ann\n")
    assert sum(kept(path, tmp_path)) == 3


FIELDS = st.lists(
    st.sampled_from(
        [b"a", b"\xc3", b"\xbc", b"\xff", b"\xed", b"\xb2", b"\xb3", b"\xf4", b"\x8e", b"\xb1", b"\x80", b"\xfc"]
    )
    | st.sampled_from([text.encode() for text in ("\ufffd", "\U0010ec40", "\U0010ec80", "\U0010ecfc", "\xfc")]),
    min_size=1,
    max_size=8,
).map(b"".join)


@given(one=FIELDS, other=FIELDS)
@example(one=b"\xf4\x8e\xb2", other=b"\xf4\x8e\xb3\xb4\x8e\xb2")
@example(one=b"\xfc", other="\U0010ecfc".encode())
def test_different_bytes_are_different_texts(one, other):
    texts = [lines._as_text(b"0," + field + b"\n").decode() for field in (one, other)]
    assert (texts[0] == texts[1]) == (one == other)
    assert lines._as_text(b"0," + one + b"\n0," + other + b"\n").decode() == "".join(texts)


def test_persons_of_a_frame_who_share_a_float_are_told_apart(tmp_path):
    """Whole numbers and decimals beyond 2^53, among Python objects, were compared as floats."""
    for persons, count in (
        ([2**60 + 1, 2**60 + 2, None], 2),
        ([Decimal(2**60 + 1), Decimal(2**60 + 2), 2**60 + 1], 2),
        ([str(2**60 + 1), 2**60 + 1, np.int64(2**60 + 1)], 1),
        ([Decimal("0.5"), 0.5, Decimal("0.50000000000000000001")], 2),
        ([10**5000, 10**5000 + 1, Decimal("1e9999999")], 3),
        ([UUID(int=7), "\x010", "\xff0", ("t",)], 3),
        ([True, 1, Decimal("1.0")], 1),
    ):
        frame = pd.DataFrame({"x": np.arange(len(persons)), "p": pd.Series(persons, dtype=object)})
        assert sum(kept(frame, tmp_path)) == count, persons


NUMBERS = st.integers(-(2**70), 2**70) | st.floats(allow_nan=False) | st.decimals(allow_nan=False)


@given(one=NUMBERS, other=NUMBERS)
def test_two_numbers_are_one_person_if_they_are_equal(one, other):
    assert (_person(one) == _person(other)) == (one == other)


OBJECTS = [
    *(UUID(int=1), UUID(int=2), b"a", b"day 2", date(1, 1, 2), datetime(2020, 1, 1), pd.Timestamp("2020-01-01")),  # noqa: DTZ001
    *(datetime(2020, 1, 1, tzinfo=UTC), datetime(2020, 1, 1, 2, tzinfo=timezone(timedelta(hours=2)))),
    *(pd.Timestamp("2020-01-01 00:00:00.000000001"), pd.Timestamp("2020-01-01", tz="UTC")),
    *(datetime.min.replace(tzinfo=timezone(timedelta(hours=2))), datetime.max.replace(tzinfo=timezone(-timedelta(hours=2)))),
    *(10**50, Decimal("1E+50"), Fraction(10**50), Fraction(1, 3), Fraction(1, 10), Decimal("0.1"), Decimal("1E+999999")),
    *(Decimal("10E+999998"), Decimal("-1E-999999"), Decimal("Infinity"), 10**10000, Decimal("0E+99999")),
]


def test_two_objects_are_one_person_if_they_are_equal():
    for one, other in combinations(OBJECTS, 2):
        assert (_person(one) == _person(other)) == (one == other), (one, other)


def test_a_person_who_goes_changes_nobody_else():
    """Objects were numbered in the order of the rows. Which rows of a person are kept follows from that number."""
    written = _persons(pd.Series(OBJECTS, dtype=object)).to_pylist()
    assert _persons(pd.Series(OBJECTS[1:], dtype=object)).to_pylist() == written[1:]


def test_no_decimal_is_too_large_to_be_read(tmp_path):
    far = pd.Series([Decimal("1e9999999"), Decimal("-1e9999999"), Decimal("1e-9999999")], dtype=object)
    frame = pd.DataFrame({"x": far, "p": [1, 2, 3]})
    assert kept(frame, tmp_path) == [2, 0, 0, 0, 0, 0, 0, 0, 0, 1]
    assert Real(0, 10, bins=2).encode(far.tolist()).tolist() == [1, 0, 0]


def test_decimals_that_are_no_number_are_nobody(tmp_path, postgres):
    """They are equal in PostgreSQL, so that all of these rows were one person's."""
    url, _ = into_postgres({"x": (pa.int64(), [])}, tmp_path, postgres)
    plain, search_path = url.replace("+psycopg", "").split("?options=")
    with psycopg.connect(plain, options=search_path.replace("%3D", "=")) as connection:
        connection.execute("CREATE TABLE visits (x BIGINT, p NUMERIC)")
        connection.execute(
            "INSERT INTO visits VALUES (1, 'NaN'), (2, 'NaN'), (3, 0.5), (4, 10000000000000000001), (5, NULL)"
        )
    assert kept(url, tmp_path, table="visits") == [0, 0, 0, 1, 1, 0, 0, 0, 0, 0]
    frame = pa.table({"x": [1, 2, 3], "p": pa.array([Decimal("1.5"), None, Decimal("2.5")], pa.decimal128(38, 2))})
    assert sum(kept(frame, tmp_path)) == 2
