"""Frames of Polars: whatever a value is, a frame with it is answered as one without rows; other types are refused."""

from __future__ import annotations

import datetime as dt
from uuid import UUID

import polars as pl
import pytest

from jostle.kernel.errors import BadInput
from jostle.schema import Integer
from jostle.tables.engines.types import TYPES, bare
from jostle.tables.opening import open as open_table
from tests.tables.test_types import KINDS as SCHEMA
from tests.tables.test_types import TEXTS, arrow_values, check_answered, check_empty, columns  # noqa: F401 (a fixture)

FROM_ARROW = [
    *(f"{sign}int{size}" for sign in ("", "u") for size in (8, 16, 32, 64)),
    *("bool", "float", "double", "null", "decimal128(38, 0)", "date32[day]"),
    *("timestamp[ms]", "timestamp[us]", "timestamp[ns]", "timestamp[us, tz=Asia/Tokyo]"),
]
TEXT_TYPES = ((pl.String, [None, *TEXTS]), (pl.Categorical, ["a", "1", None]), (pl.Enum(["a", "1"]), ["a", None]))
KINDS = {
    **{kind: pl.from_arrow(columns(arrow_values()[kind])) for kind in FROM_ARROW},
    **{
        str(kind): pl.from_arrow(columns(pl.Series(values).to_arrow())).cast(dict.fromkeys((*SCHEMA, "x"), kind))
        for kind, values in TEXT_TYPES
    },
}


def test_the_list_is_the_one_that_is_tried():
    assert {bare(str(frame.schema["x"])) for frame in KINDS.values()} == TYPES["polars"]


@pytest.mark.parametrize("kind", KINDS)
def test_frames_of_polars(kind, check_answered):  # noqa: F811 (the fixture)
    frame = KINDS[kind]
    check_answered(str(frame.schema["x"]), frame, frame.clear())


def test_an_empty_frame_of_polars(check_empty):  # noqa: F811 (the fixture)
    types = {f"t{place}": frame["x"].clear() for place, frame in enumerate(KINDS.values())}
    more = {"real": pl.Series(dtype=pl.Float64), "x": pl.Series(dtype=pl.Int64), "g": pl.Series(dtype=pl.Int64)}
    check_empty(pl.DataFrame({**types, **more}), types)


OTHERS = {
    "objects": pl.Series([UUID(int=1)] * 3, dtype=pl.Object),
    "long whole numbers": pl.Series([1], dtype=pl.Int128),
    "lists": pl.Series([[1]]),
    "arrays": pl.Series([[1]], dtype=pl.Array(pl.Int8, 1)),
    "structs": pl.Series([{"a": 1}]),
    "bytes": pl.Series([b"a"]),
    "durations": pl.Series([dt.timedelta(1)]),
    "times of day": pl.Series([dt.time(1)]),
}


@pytest.mark.parametrize("kind", OTHERS)
def test_other_types_are_refused_as_columns_and_as_persons(kind, tmp_path):
    """Of persons who are Python objects, each row was a person: Arrow gets their addresses."""
    frame = pl.DataFrame({"x": OTHERS[kind], "g": [1] * len(OTHERS[kind])})
    about = {"ledger": tmp_path / "b.db", "budget": 1, "name": "t"}
    with pytest.raises(BadInput, match="^schema: the column 'x' has the type"):
        open_table(frame, schema={"x": Integer(0, 9)}, **about)
    with pytest.raises(BadInput, match="^unit: the column 'x' has the type"):
        open_table(frame, schema={"g": Integer(0, 9)}, unit="x:1", **about)
