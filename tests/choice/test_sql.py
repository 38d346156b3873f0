"""SQL text gives the same expressions as Python does; what is not understood is refused by its name."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np
import pytest

from jostle.choice.expressions import (
    PrivateNumber,
    db,
    largest,
    mean,
    median_deviation,
    norm,
    smallest,
    sql,
    sqrt,
    stddev,
    total_variation,
)
from jostle.kernel.errors import BadInput

SHAPE = (6, 4)
GROUPED = db.groupby(x=3, y=2).sum()
REGION = db.where(db.x < 4)

SAME: list[tuple[str, dict[str, Any], PrivateNumber]] = [
    ("stddev(select sum(values) from db group by x/3, y/2)", {}, stddev(GROUPED)),
    ("stddev(select sum(values) from db groupby x/xgrp, y/ygrp)", {"xgrp": 3, "ygrp": 2.0}, stddev(GROUPED)),
    ("STDDEV((SELECT SUM(VALUES) FROM DB GROUP BY floor(X / :w), y / 2))", {"w": 3}, stddev(GROUPED)),
    ("select stddev_samp(s) from (select sum(values) as s from db group by x/3, y/2)", {}, stddev(GROUPED, ddof=1)),
    ("select sum(values) from db", {}, db.values.sum()),
    ("select sum(values) / domain_size from db", {}, db.values.sum() / db.size),
    ("select count(values) from db where values > 0", {}, (db.values > 0).count()),
    ("(select count(*) from db where values > 0) / (x_range * y_range)", {}, (db.values > 0).count() / db.size),
    ("select count(values) from db where values between 1 and 2", {}, ((db.values >= 1) & (db.values <= 2)).count()),
    ("select count(values) from db where not (values = 0 or values > 2)", {}, ((db.values > 0) & (db.values <= 2)).count()),
    ("select sum(values) from db where 1 < values and x < 4", {}, REGION.where(REGION > 1).sum()),
    ("select sum(values) from db where values <> 1", {}, db.values.sum() - db.where(db.values == 1).sum()),
    ("select avg(values) from db where x in (1, 3) or y >= 3", {},
     mean(db.where((db.x == 1) | (db.x == 3) | (db.y >= 3)))),
    ("select max(values) from db where x between 2 and 3 and not y = 0", {},
     largest(db.where((db.x >= 2) & (db.x <= 3) & (db.y > 0)))),
    ("select min(values) from db", {}, smallest(db.values)),
    ("max(select count(values) from db where values >= 2 group by y)", {},
     largest(db.where(db.values >= 2).groupby(y=1).count())),
    ("l1(select values - 2 from db)", {}, norm(db.values - 2, 1)),
    ("l2(select values - t from db) * 2", {"t": 2}, norm(db.values - 2) * 2),
    ("linf(select sum(values) from db group by x)", {}, norm(db.groupby(x=1).sum(), math.inf)),
    ("total_variation(select values from db) - 3", {}, total_variation(db.values) - 3),
    ("median_deviation(select sum(values) from db group by x div 2)", {}, median_deviation(db.groupby(x=2).sum())),
    ("select sum(least(values, 2)) from db", {}, smallest(db.values, 2).sum()),
    ("select sum(clip(values, 0, 2.5)) from db", {}, db.values.clip(0, 2.5).sum()),
    ("select mean(clip(values, 0, 2)) from db where x < 4", {}, mean(REGION.clip(0, 2))),
    ("select l1(values - 2) from db where x < 4", {}, norm(REGION - 2, 1)),
    ("sum(select greatest(sum(values), 3) from db group by x/3, y/2)", {}, largest(GROUPED, 3).sum()),
    ("select sum(values) - (select sum(values) from db where x < 2) from db where x < 4", {},
     REGION.sum() - db.where(db.x < 2).sum()),
    ("greatest(3, (select -sum(values) + 20 from db))", {}, largest(20 - db.values.sum(), 3)),
    ("abs((select sum(values) from db where x < 2) - (select sum(values) from db where x >= 2))", {},
     abs(db.where(db.x < 2).sum() - db.where(db.x >= 2).sum())),
    ("stddev(select sum(values) from db group by x/sqrt(x_range))", {}, stddev(db.groupby(x=sqrt(db.x_range)).sum())),
]  # fmt: skip


@pytest.mark.parametrize(("text", "parameters", "expression"), SAME, ids=[text for text, _, _ in SAME])
def test_a_text_is_the_same_number_with_the_same_bounds_as_in_python(
    text: str, parameters: dict[str, Any], expression: PrivateNumber
) -> None:
    read, meant = sql(text, **parameters).on(SHAPE), expression.on(SHAPE)
    rng = np.random.default_rng(2)
    for _ in range(10):
        x = rng.integers(0, 4, 24)
        assert read.value(x) / read.unit(24) == meant.value(x) / meant.unit(24)
    for mine, theirs in zip(read.sensitivities(24), meant.sensitivities(24), strict=True):
        assert mine / read.unit(24) == theirs / meant.unit(24)


REFUSED = [
    ("select sum(values) from db join other on x = y", "not supported: joins"),
    ("select sum(values) from db order by x", "not supported: order"),
    ("select sum(values) from db limit 3", "not supported: limit"),
    ("select distinct sum(values) from db", "not supported: distinct"),
    ("select sum(values) from db group by x having sum(values) > 3", "not supported: having"),
    ("with t as (select 1) select sum(values) from db", "not supported: with"),
    ("select sum(values) from db as d", "not supported: alias"),
    ("select sum(values) from db group by rollup (x)", r"`ROLLUP \(x\)`: is no interval"),
    ("select sum(values) over (partition by x) from db", r"Window"),
    ("select count(distinct values) from db where values > 0", "Distinct"),
    ("select sum(values), max(values) from db", "more or less than one thing"),
    ("select sum(values)", "has no FROM"),
    ("select sum(values) from people", "`people`: is not a table here. Remedy: the data are called db"),
    ("select sum(values) from (select sum(values) from db)", "is one number, not a table"),
    ("select exp(sum(values)) from db", r"`EXP\(SUM\(values\)\)`: is not supported"),
    ("select case when values > 0 then 1 end from db", "is not supported"),
    ("select max(values) from db group by x", "has no derived bound by group"),
    ("select avg(values) from db where values > 0", "how many cells satisfy a condition"),
    ("select mean(values) from db where values > 5", "how many cells satisfy a condition"),
    ("select l1(values) from db where values > 5", "how many cells satisfy a condition"),
    ("sum(select values from db where values > 5)", "`values`: stands outside of sum or count"),
    ("stddev(select values from db where values > 5)", "stands outside of sum or count"),
    ("sum(select abs(values) from db group by x)", "stands outside of sum or count"),
    ("select sum(v) from (select values as v from db where values > 5)", "stands outside of sum or count"),
    ("select sum(values) + values from db where values > 5", "stands outside of sum or count"),
    ("select total_variation(values) from db group by x/2", "has no derived bound by group"),
    ("select sum(sum(values)) from db group by x/2", "must be over the values"),
    ("select sum((select values from db where x < 2)) from db where x >= 2", "gives many rows within another SELECT"),
    ("select count(values) from db where values between symmetric 5 and 1", "not supported: symmetric"),
    ("select count(values) from db", "their number is public"),
    ("select sum(values) * sum(values) from db", "measure both, then multiply"),
    ("(select sum(values) from db) / (select count(values) from db where values > 0)", "measure both, then divide"),
    ("select sum(values * values) from db", "is a product of private numbers"),
    ("select count(values) from db where values > (select max(values) from db)", "must be public. Remedy: measure it first"),
    ("select count(values) from db where x < values", "neither the values nor a parameter"),
    ("select count(values) from db where values > 0 or x < 3", "mixes coordinates and values"),
    ("select sum(values) from db where values > 0 and values < 5", "under more than one comparison"),
    ("select sum(values + 1) from db where values > 0", "is a condition on other cells than those it selects"),
    ("select sum(values) from db group by x % 2", "is no interval of coordinates"),
    ("select sum(values) from db group by x, x/2", "groups by x twice"),
    ("select sum(values) from db where x like 'a'", "Like"),
    ("select sum(values) from db where x < width", "`width`: is neither the values nor a parameter"),
    ("stddev(select sum(values) from db group by x, 3, 4)", "is no interval"),
    ("clip((select sum(values) from db))", "takes 3 arguments, not 1"),
    ("sum((select sum(values) from db))", "is of cells, not of one number"),
    ("abs(3)", "must be private"),
    ("1 + 1", "is no private expression"),
    ("select sum(values) from db; select 1", "must be one expression"),
    ("", "must be one expression|cannot be parsed"),
    ("select sum(values from db", "cannot be parsed"),
    ("drop table db", "is not supported"),
    ("select sum(values) * 1e999999999 from db", "no number of reasonable length"),
    ("select sum(values) * 'a' from db", "is not supported"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED, ids=[text for text, _ in REFUSED])
def test_what_is_not_understood_is_refused_by_its_name(text: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        sql(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("select sum(values) from db where Age < 1", 3),
        ("select sum(values) from db where age < 1", 3),
        ("max(select sum(values) from db group by AGE)", 7),
        ("sum(select s from (select sum(values) as s from db group by age, inc) where Age < 1)", 3),
        ("select sum(values) * AGE_range * INC_RANGE from db", 40),
    ],
)
def test_axes_with_capitals_are_found(text: str, value: float) -> None:
    assert sql(text).value([[1, 2], [3, 4]], axes=("Age", "inc")) == value


def test_axes_that_differ_by_capitals_alone_are_told_apart() -> None:
    for axis, value in (("A", 3), ("a", 4)):
        assert sql(f"select sum(values) from db where {axis} < 1").value([[1, 2], [3, 4]], axes=("A", "a")) == value
    with pytest.raises(BadInput, match="there is no axis 'AA'. Remedy: use one of Aa, aA"):
        sql("select sum(values) from db where AA < 1").value([[1, 2], [3, 4]], axes=("Aa", "aA"))
    with pytest.raises(BadInput, match="groups by X twice"):
        sql("select sum(values) from db group by x, X")
    with pytest.raises(BadInput, match="groupby: names x twice"):
        stddev(db.groupby(x=1, X=2).sum()).on(4)


def test_parameters_that_differ_by_capitals_alone_are_refused() -> None:
    with pytest.raises(BadInput, match="parameters: have names that differ only by capitals"):
        sql("select sum(values) * t from db", t=1, T=5)


HOSTILE = [
    "select sum(values) from db -- " + "x" * 10_000,
    "(" * 900 + "1" + ")" * 900,
    "select " + "-" * 1_500 + "1 from db",
    "select " + "not " * 390 + "1 from db",
    "select sum(values)" + "+ 1" * 600 + " from db",
    "select sum(values)" + "+ 1" * 190 + " from db",
    "select " + "abs(" * 300 + "values" + ")" * 300 + " from db",
    "select sum(values) " + "* 99999999999" * 50 + " from db",
    "select sum(values) from " + "(select sum(values) from " * 70 + "db" + " group by x)" * 70,
    "select sum(values) from db where x in (" + ",".join(["1"] * 900) + ")",
    "select sum(values) from db where " + " or ".join(["values > 1"] * 130),
    "select [" * 200 + "1" + "]" * 200,
    "'" * 999,
    "\x00\ud800",
]


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_hostile_text_is_refused_at_once(text: str) -> None:
    start = time.process_time()
    with pytest.raises(BadInput):
        sql(text).on(4)
    assert time.process_time() - start < 5
