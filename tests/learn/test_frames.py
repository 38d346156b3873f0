"""Frames of pandas and tables of Arrow: by name, column by column, and as a private table reads them."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from jostle.kernel.errors import BadInput
from jostle.kernel.ledger import Ledger
from jostle.learn import PrivateMajority
from jostle.learn.inputs import read_attributes, read_labels
from jostle.learn.task import Task
from jostle.schema import Category, Date, Integer, Schema
from tests.tables.test_reading_and_paying import exact, opened

DAYS = Date(date(2020, 1, 1), date(2020, 12, 31), every="month", outside="own", null="own")
TASK = Task(("x",), "class", Schema({"x": DAYS, "class": Category(["no", "yes"])}))
MAY, OUTSIDE, MISSING = 4, 12, 13
FIRST = 18_383
"""The first of May, in days since 1970."""


def zoned(time: str, zone: str, unit: str = "s") -> pd.Series:
    times = [pd.Timestamp("2020-05-02", tz="UTC"), pd.Timestamp(np.datetime64(time), tz="UTC")]
    return pd.Series(pd.DatetimeIndex([one.as_unit(unit) for one in times]).tz_convert(zone))


def in_pandas(column: Any) -> pd.Series:
    return pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([column])))


def beyond(time: str) -> pd.Timestamp:
    return pd.Timestamp(np.datetime64(time, "s"))


TOKYO, NEW_YORK = zoned("9999-12-31T23:59:59", "Asia/Tokyo"), zoned("0001-01-01T00:00:00", "America/New_York")
LAST = zoned("2262-04-11T23:47:16.854775807", "Asia/Tokyo", "ns")
IN_ARROW = {
    "days": pa.array([FIRST, 2**31 - 1], pa.int32()).view(pa.date32()),
    "days in milliseconds": pa.array([FIRST * 86_400_000, 2**62 // 86_400_000 * 86_400_000]).view(pa.date64()),
    "seconds": pa.array([FIRST * 86_400, 2**42]).view(pa.timestamp("s")),
    "seconds with a zone": pa.array([FIRST * 86_400, 2**42]).view(pa.timestamp("s", "Asia/Tokyo")),
    "nanoseconds": pa.array([FIRST * 86_400 * 10**9, 2**63 - 1]).view(pa.timestamp("ns", "Asia/Tokyo")),
}
FAR: dict[str, tuple[Any, int]] = {
    "Tokyo": (TOKYO, OUTSIDE),
    "New York": (NEW_YORK, OUTSIDE),
    "nanoseconds in Tokyo": (LAST, OUTSIDE),
    "categories in nanoseconds": (LAST.astype("category"), OUTSIDE),
    "objects with a zone": (TOKYO.astype(object), MISSING),
    "objects": (pd.Series([date(2020, 5, 2), beyond("148108-01-01")], dtype=object), MISSING),
    "objects long ago": (pd.Series([date(2020, 5, 2), beyond("-0500-01-01")], dtype=object), MISSING),
    "seconds of NumPy": (pd.Series(np.array(["2020-05-02", "148108-01-01"], dtype="M8[s]")), OUTSIDE),
    **{f"{name} of Arrow": (in_pandas(column), OUTSIDE) for name, column in IN_ARROW.items()},
    "categories of Arrow": (in_pandas(IN_ARROW["days"].dictionary_encode()), OUTSIDE),
}
"""A day in May, and one beyond what Python's calendar, or the zone's clock, has."""

REFUSED_BY_TABLES = ("days in milliseconds of Arrow", "categories of Arrow")
"""The types that are not on the tables' closed list. Types are public, and classifiers read these value by value."""


@pytest.mark.parametrize("name", FAR)
def test_a_far_day_is_a_value_like_others_as_in_a_table(name: str, tmp_path: Path) -> None:
    column, cell = FAR[name]
    named = pd.DataFrame({"other": 1, "x": column})
    forms = [named, pd.DataFrame({0: column})]
    if "Arrow" not in name and "nanoseconds" not in name:
        forms.append([[value] for value in column])
    for X in forms:
        read = read_attributes(X, TASK).encode(TASK)["x"].tolist()
        assert read == [MAY, cell if not isinstance(X, list) else MISSING]
        assert PrivateMajority(1, TASK.columns).fit(X, ["no", "yes"]).spent_ == 1
    assert DAYS.encode(column).tolist() == [MAY, cell]
    assert read_labels(column).shape == (2,)
    if name in REFUSED_BY_TABLES:
        with pytest.raises(BadInput, match="which may fail on some values"):
            opened(named, tmp_path, {"x": DAYS})
        return
    assert exact(opened(named, tmp_path, {"x": DAYS})).tolist() == np.bincount([MAY, cell], minlength=DAYS.size).tolist()


@pytest.mark.parametrize("kind", [pa.time64("us"), pa.duration("s")])
def test_odd_times_of_day_and_long_durations_are_no_days(kind: Any) -> None:
    column = pa.array([1, 2**62]).view(kind)
    for X in (pa.table({"x": column}), pd.DataFrame({"x": in_pandas(column)}), pa.table({"x": column.dictionary_encode()})):
        assert read_attributes(X, TASK).encode(TASK)["x"].tolist() == [MISSING, MISSING]


SCHEMA = Schema({"age": Integer(0, 99, null="own"), "sex": Category(["F", "M"]), "class": Category(["no", "yes"])})
PEOPLE = pd.DataFrame({"class": ["no", "yes", None], "sex": ["F", "M", "?"], "other": 1, "age": [20, 30, 40]})


def test_an_arrow_table_is_read_by_name_and_one_column_decides_nothing_about_another() -> None:
    task = Task.over(SCHEMA, "class")
    expected = {name: column.tolist() for name, column in read_attributes(PEOPLE, task).encode(task).items()}
    for table in (pa.Table.from_pandas(PEOPLE), pa.RecordBatch.from_pandas(PEOPLE)):
        assert {name: column.tolist() for name, column in read_attributes(table, task).encode(task).items()} == expected
        fitted = PrivateMajority(1, SCHEMA, random_state=0).fit(table)
        assert list(fitted.feature_names_in_) == ["age", "sex"]
        assert fitted.predict(table).tolist() == fitted.predict(PEOPLE).tolist()
    holes = pa.table({"sex": ["F", None], "age": [20, None], "class": pa.array(["no", "yes"]).dictionary_encode()})
    assert read_attributes(holes, task).encode(task)["age"].tolist() == [20, 100]
    assert task.encode_label(read_labels(holes["class"])).tolist() == [0, 1]
    for days in IN_ARROW.values():
        assert read_attributes(pa.table({"x": days}), TASK).encode(TASK)["x"].tolist() == [MAY, OUTSIDE]


AGE_TWICE = "X: has the column 'age' more than once"


@pytest.mark.parametrize(
    ("X", "match"),
    [
        (pa.table({"sex": ["F"], "class": ["no"]}), "X: lacks the columns age"),
        (pa.table({}), "X: lacks the columns age, sex"),
        (
            pa.table([[1], [1], ["F"], ["no"]], names=["age", "age", "sex", "class"]),
            AGE_TWICE,
        ),
        (pa.table([[1], ["F"], ["no"], ["no"]], names=["age", "sex", "class", "class"]), "'class' more than once"),
        (
            pd.DataFrame([[1, 1, "F", "no"]], columns=["age", "age", "sex", "class"]),
            AGE_TWICE,
        ),
    ],
)
def test_names_that_do_not_fit_are_refused_before_any_charge(X: Any, match: str, tmp_path: Path) -> None:
    with Ledger(tmp_path / "budget.db") as ledger:
        account = ledger.account("people", cap=1)
        with pytest.raises(BadInput, match=match):
            PrivateMajority(1, SCHEMA, account=account).fit(X, None if "class" in match or "age'" in match else ["no"])
        assert account.spent == 0
