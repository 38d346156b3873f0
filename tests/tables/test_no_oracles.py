"""Whether a question is answered, refused or fails does not depend on a row: else the failure would tell of it, at any ε."""

from __future__ import annotations

from datetime import date, datetime, timedelta, timezone

import ibis
import ibis.expr.datatypes as dt
import numpy as np
import pyarrow as pa
import pytest

from jostle.kernel.errors import BadInput, JostleError
from jostle.schema import Boolean, Category, Date, Integer, Real
from jostle.tables.opening import open as open_table

LONG = "x" * 60_000
SCHEMA = {
    "age": Integer(0, 99),
    "tiny": Real(1e-150, 1, bins=2),
    "city": Category(["a", "b", LONG]),
    "day": Date("2000-01-01", "2030-12-31", every="year"),
    "flag": Boolean(),
}
NOON = datetime(2024, 1, 1, 12)  # noqa: DTZ001
NOWHERE = dt.Timestamp("Nowhere/X")
DAY, SMALL = ibis.literal(date(2024, 1, 1)), ibis.literal(1e-140)


def constant(value, kind):
    return ibis.literal(value, type=kind)


CONDITIONS = {
    "a day without dashes": lambda r: r.day > ibis.literal("20240101").cast("date"),
    "a day by its week": lambda r: r.day > ibis.literal("2024-W01-1").cast("date"),
    "the same, shorter": lambda r: ibis.literal("2024W011").cast("date").year() == 2024,
    "a day that is none": lambda r: r.day > ibis.literal("2024-02-30").cast("date"),
    "a first and a last day": lambda r: r.day.between(date(1, 1, 1), date(9999, 12, 31)),
    "a text for a day": lambda r: ibis.coalesce(r.city.cast("date"), DAY) == DAY,
    "a text against a day": lambda r: r.day > "20240101",
    "a time of no zone": lambda r: constant(NOON, NOWHERE) >= constant(NOON, dt.Timestamp("UTC")),
    "a time": lambda r: r.day > NOON,
    "a time in place of a day": lambda r: ibis.coalesce(r.day, constant(NOON, "timestamp")) == DAY,
    "JSON": lambda r: ibis.coalesce(r.city, constant("{}", "json")) == constant("{}", "json"),
    "broken JSON": lambda r: constant("NaN", "json") == constant("NaN", "json"),
    "no JSON": lambda r: ibis.coalesce(r.city, ibis.null("json")) == constant("{}", "json"),
    "an address": lambda r: constant("1.2.3.4", "inet") == constant("1.2.3.4", "inet"),
    "an identifier": lambda r: constant("00000000-0000-0000-0000-000000000000", "uuid").isnull(),
    "bytes": lambda r: constant(b"\xff", "binary") == constant(b"\xff", "binary"),
    "a decimal": lambda r: constant(1, "decimal(38, 37)") * 9 > r.tiny,
    "a length of time": lambda r: r.day + ibis.interval(years=9_000) > DAY,
    "a list": lambda r: ibis.array([r.tiny])[3] > 0,
    "a text for a number": lambda r: r.city.cast("float64") > 1,
    "a constant text for a number": lambda r: ibis.literal("x").cast("float64") > 1,
    "a number that is infinite": lambda r: r.tiny < float("inf"),
    "a number that is none": lambda r: r.tiny < float("nan"),
    "a float for a small whole number": lambda r: (r.age * 1000).cast("int8") > 1,
    "small whole numbers": lambda r: constant(100, "int8") * constant(100, "int8") > r.tiny,
    "whole numbers without a sign": lambda r: constant(0, "uint8") - constant(1, "uint8") < r.tiny,
    "the largest without a sign": lambda r: ibis.ifelse(r.flag, constant(3, "uint64"), constant(-3, "int64")) < r.tiny,
    "large whole numbers": lambda r: ibis.literal(2**53) * ibis.literal(2**53) > r.tiny,
    "a product beyond 32 bits": lambda r: r.age.floor() * ibis.literal(2**30) > 0,
    "decimals that are long": lambda r: ibis.literal(4503599627370496.5) * 0.00012345678901234567 * 1.2345678901234567 > 0,
    "a sum of decimals": lambda r: ibis.literal(4503599627370496.5) + 0.00012345678901234567 + 0.1 + 0.12345678901234567 > 0,
    "a choice of decimals": lambda r: ibis.cases((r.flag, 4503599627370496.5), else_=0.00012345678901234567) > r.tiny,
    "a float of 32 bits": lambda r: constant(1e-60, "float32") < r.tiny + np.float32(1e-40),
    "products that underflow": lambda r: r.tiny * r.tiny * r.tiny >= 0,
    "a quotient by zero": lambda r: 1 / r.age > 0,
    "a quotient by what becomes zero": lambda r: SMALL / (r.tiny * 1.0) >= 0,
    "the same, by two factors": lambda r: SMALL / (r.tiny * r.tiny) >= 0,
    "a quotient by a quotient": lambda r: SMALL / (r.tiny / 1.0) >= 0,
    "a quotient by a small number": lambda r: r.tiny / 1e-300 > 0,
    "a remainder": lambda r: r.age % (r.age - r.age) == 0,
    "a power": lambda r: r.age**1000 > 0,
    "a root": lambda r: (-r.age).sqrt() > 0,
    "a logarithm": lambda r: r.age.log() > 0,
    "a shift": lambda r: r.age.floor() << 1000 > 0,
    "a part of a text": lambda r: r.city.substr(-1, -1) == "",
    "a text many times": lambda r: r.city.repeat(2**40) == "",
    "a pattern": lambda r: r.city.re_search("("),
    "a pattern that escapes": lambda r: r.city.like("a\\"),
    "a long pattern": lambda r: r.city.like(LONG),
    "many patterns": lambda r: r.city.like("%x" * 25_000),
    "a long beginning": lambda r: r.city.startswith(LONG),
    "a beginning by row": lambda r: r.city.startswith(r.city),
    "an end by row": lambda r: ibis.literal("a").endswith(r.city),
    "a text within": lambda r: r.city.contains(r.city.upper()),
    "a truth value for a number": lambda r: ibis.coalesce(r.flag.cast("float64"), 1.0) > 0,
    "a choice of kinds": lambda r: ibis.ifelse(r.flag, r.city, 1) == 1,
    "a case by another kind": lambda r: r.city.cases((1, True), else_=False),
}
"""What an engine may fail at, where a row reaches it."""


@pytest.fixture
def neighbours(load, tmp_path):
    """Two tables that differ in one row, which is the only one of its age."""

    def made(rows, name):
        age, tiny, city = [30, 20, 42][:rows], [1.0, 0.5, 1e-150][:rows], ["a", "b", LONG][:rows]
        columns = {
            "age": (pa.int64(), age),
            "tiny": (pa.float64(), tiny),
            "city": (pa.string(), city),
            "day": (pa.date32(), [date(2024, 5, 1)] * rows),
            "flag": (pa.bool_(), [True, True, False][:rows]),
        }
        data, keywords = load(columns)
        return open_table(data, schema=SCHEMA, ledger=tmp_path / "l.db", budget=1000, **keywords | {"name": name})

    return made(2, "without"), made(3, "with")


def told(table, ask):
    """What one sees besides the noise, and what it costs."""
    before = table.remaining
    try:
        ask(table)
    except JostleError as failure:
        return type(failure).__name__, before - table.remaining
    return "answered", before - table.remaining


def check_alike(neighbours, ask, what):
    without, with_it = (told(table, ask) for table in neighbours)
    assert without == with_it, what
    assert without[0] == "answered" or without[1] == 0, what


def test_no_condition_fails_for_one_row(neighbours):
    for what, said in CONDITIONS.items():
        check_alike(neighbours, lambda t, f=said: t.where(lambda r: (r.age == 42) & f(r)).count(epsilon="1/1000000"), what)


def test_constants_of_other_types_are_refused_and_days_in_texts_are_read_here(tmp_path):
    table = open_table(
        pa.table({"day": ["2024-05-01", "2023-05-01"], "city": ["a", "b"]}),
        schema={"day": SCHEMA["day"], "city": SCHEMA["city"]},
        ledger=tmp_path / "l.db",
        budget=10**6,
        name="t",
    )
    for said in ("a time of no zone", "a time", "a time in place of a day", "JSON", "broken JSON", "no JSON"):
        with pytest.raises(BadInput):
            table.where(CONDITIONS[said])
        with pytest.raises(BadInput):
            table.derive("new", CONDITIONS[said], Boolean())
    for said in ("a day without dashes", "a day by its week"):
        assert table.where(CONDITIONS[said]).count(epsilon=1000).answers == pytest.approx([1], abs=0.5)


def test_no_looked_up_day_fails_for_one_row(neighbours):
    odd = datetime(2024, 3, 1, 23, tzinfo=timezone(timedelta(0), "Nowhere/X"))
    column = Date("2024-01-01", "2025-12-31", every="year")
    for day in (odd, "20240301", 7):

        def ask(table, to=day):
            joined = table.join({True: date(2024, 1, 1), False: to}, on="flag", name="w", column=column)
            joined.histogram("w", epsilon="1/1000000", algorithm="Laplace")

        check_alike(neighbours, ask, day)


def test_a_divisor_that_may_become_zero_is_refused(tmp_path):
    """Factors up to 2^-485 become 0, also where the declared bounds say that they are more."""
    table = open_table(
        pa.table({"x": [1.0], "y": [1.0]}),
        schema={"x": Real(2.0**-484, 1, bins=2), "y": Real(2.0**-485, 1, bins=2)},
        ledger=tmp_path / "l.db",
        budget=10**6,
        name="t",
    )
    kept = table.where(lambda r: ibis.literal(2.0**-440) / (r.x * 1.0) >= 0)
    assert kept.count(epsilon=1000).answers == pytest.approx([1], abs=0.5)
    with pytest.raises(BadInput, match="zero"):
        table.where(lambda r: ibis.literal(2.0**-440) / (r.y * 1.0) >= 0)
