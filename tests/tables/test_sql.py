"""SQL as people type it: a corpus of statements against the same statements without noise, and refusals by their words."""

from __future__ import annotations

import math
import re
from contextlib import suppress
from datetime import date, datetime
from functools import cache
from typing import Any, NamedTuple

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import sqlglot
import sqlglot.expressions as sge

from jostle.kernel.errors import BadInput, Overdraft
from jostle.tables.opening import open as open_table
from jostle.tables.post_processing import Figures
from tests.tables.engines import into_postgres
from tests.tables.sql_corpus import LOOKUPS, REFUSED, TABLES, TYPICAL, Statement

PLENTY = 10**8
"""At this ε noise above 0.001 on a count has probability below e^(−1,000), also where 20 rows per person count."""

RUNS = 4000
"""How often noise is drawn for intervals."""


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Each table by its name, and once more as `rows of …`, where single rows are protected: that is faster."""
    folder = tmp_path_factory.mktemp("sql")
    found = {}
    for name, (data, schema, unit) in TABLES.items():
        keywords = {"schema": schema, "name": name, "budget": 10**12}
        found[name] = open_table(data, unit=unit, ledger=folder / "units.db", **keywords)
        found[f"rows of {name}"] = open_table(data, ledger=folder / "rows.db", **keywords)
    return found


@pytest.fixture(scope="module")
def public():
    """DuckDB with the same data, for the truth."""
    connection = duckdb.connect()
    for name, (data, _, _) in TABLES.items():
        connection.register(name, data)
    for name, columns in LOOKUPS.items():
        listed = ", ".join(str(row) for row in zip(*columns.values(), strict=True))
        connection.execute(f"CREATE TABLE {name} AS SELECT * FROM (VALUES {listed}) AS t({', '.join(columns)})")
    return connection


def name_of(statement: str) -> str:
    return next(name for name in TABLES if re.search(rf"FROM [`\"]?{name}", statement, re.IGNORECASE))


def table_of(statement: str, tables: dict[str, Any]) -> Any:
    name = name_of(statement)
    unit = TABLES[name][2]
    return tables[name if unit is not None and unit.column in statement else f"rows of {name}"]


def shown(value: Any) -> Any:
    """A key as an answer shows it."""
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "(missing)"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (date, datetime)):
        return str(value)[:10]
    return f"{value:g}" if isinstance(value, (int, float)) else str(value)


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


class Ranked(NamedTuple):
    """Rows without noise, each with the values that decide its place."""

    rows: list[tuple[Any, ...]]
    places: list[tuple[Any, ...]]
    first: int
    """How many rows OFFSET skips."""

    most: int | None
    """How many rows LIMIT shows."""


def ranked(text: str, public: Any) -> Ranked:
    """All rows of a statement in its order, as if it had no LIMIT."""
    tree = sqlglot.parse_one(text, dialect="duckdb")
    limit, offset = (tree.args.get(clause) for clause in ("limit", "offset"))
    tree.set("limit", None)
    tree.set("offset", None)
    columns = len(public.sql(tree.sql("duckdb")).columns)
    for number, term in enumerate(tree.args["order"].expressions):
        by = term.this
        by = tree.expressions[int(by.this) - 1].unalias() if isinstance(by, sge.Literal) and by.is_int else by
        tree = tree.select(sge.alias_(by.copy(), f"place_{number}"))
    found = public.sql(tree.sql("duckdb")).fetchall()
    rows, places = [row[:columns] for row in found], [row[columns:] for row in found]
    first, most = (None if clause is None else int(clause.expression.this) for clause in (offset, limit))
    return Ranked(rows, places, first or 0, most)


def check(statement: Statement, table: Any, public: Any) -> None:
    """The same rows, with numbers that differ by no more than noise and the cells of quantiles explain.

    In an order, a row is where it would be without noise, or in the place of one that would be equal to it there.
    """
    question = table.ask_sql(statement.text, lookups=LOOKUPS)
    items = question.plan.after.items
    measured = [any(one.this[0] == "a" for one in item.tree.find_all(sge.Placeholder)) for item in items]

    def key(row: Any) -> tuple[str, ...]:
        return tuple(shown(value) for value, aggregate in zip(row, measured, strict=True) if not aggregate)

    def near(value: Any, true: Any) -> bool:
        if isinstance(true, (str, bool, date)) or true is None:
            return bool(shown(value) == shown(true))
        return bool(value == pytest.approx(float(true), rel=statement.near, abs=0.02))

    def alike(row: Any, true: Any) -> bool:
        pairs = zip(row, true, measured, strict=True)
        return key(row) == key(true) and all(near(value, other) for value, other, aggregate in pairs if aggregate)

    answer = question.release(epsilon=PLENTY)
    mine = list(zip(*answer.rows_at_once().by_name().values(), strict=True))
    text = statement.truth or statement.text
    ordered = "ORDER BY" in text.replace("(ORDER BY", "")
    truth = ranked(text, public) if ordered else Ranked(sorted(public.sql(text).fetchall(), key=key), [], 0, None)
    if truth.most is None and "LIMIT" not in text:  # cells without rows have an answer as well
        there = [key(row) for row in truth.rows]
        mine = [row for row in mine if key(row) in there]
    if not ordered:
        mine = sorted(mine, key=key)
        assert [*map(key, mine)] == [*map(key, truth.rows)]
        assert all(map(alike, mine, truth.rows))
        return
    noisy = [any(one.this[0] == "a" for one in term.tree.find_all(sge.Placeholder)) for term in question.plan.after.order]
    terms = noisy.index(True) + 1 if True in noisy else len(noisy)  # equal numbers are told apart by their noise
    wanted = [place[:terms] for place in truth.places[truth.first :][: truth.most]]
    assert len(mine) == len(wanted)
    left = list(zip(truth.rows, truth.places, strict=True))
    for row, place in zip(mine, wanted, strict=True):
        found = [(true, at) for true, at in left if all(map(near, at[:terms], place)) and alike(row, true)]
        assert found, f"{row} is not where {place} is"
        left.remove(found[0])


@pytest.mark.parametrize("statement", TYPICAL, ids=lambda one: one.text)
def test_typical_statements_have_the_answers_of_public_data(statement, tables, public):
    check(statement, table_of(statement.text, tables), public)


@pytest.mark.parametrize(("text", "words"), REFUSED)
def test_what_cannot_be_private_is_refused_by_its_own_words(text, words, tables):
    table = tables["stays"]
    before = table.remaining
    with pytest.raises(BadInput, match=words) as refused:
        table.sql(text, epsilon=1, lookups=LOOKUPS)
    assert "is not a column" not in str(refused.value)
    assert table.remaining == before


def test_the_corpus_is_large_and_nearly_all_of_it_is_answered():
    """Every typical statement has a test above; none is left out because it is refused."""
    assert len(TYPICAL) >= 190
    assert len({one.text for one in TYPICAL}) == len(TYPICAL)
    assert len(REFUSED) >= 65


@pytest.fixture(scope="module")
def in_postgres(postgres, tmp_path_factory):
    """Opens a table in PostgreSQL by its name, once."""
    folder = tmp_path_factory.mktemp("postgres")

    @cache
    def opened(name):
        data, schema, unit = TABLES[name]
        columns = {field.name: (field.type, data[field.name].to_pylist()) for field in data.schema}
        url, keywords = into_postgres(columns, folder, postgres)
        keywords |= {"schema": schema, "unit": unit, "name": name, "ledger": folder / "budget.db", "budget": 10**12}
        return open_table(url, **keywords)

    return opened


@pytest.mark.parametrize("statement", TYPICAL[::16], ids=lambda one: one.text)
def test_the_same_statements_in_postgresql(statement, in_postgres, public):
    check(statement, in_postgres(name_of(statement.text)), public)


# ------------------------------------------------------------------------------------------------ one price, many columns


def test_aggregates_share_one_price_and_columns_are_in_the_order_of_the_statement(tables):
    table = tables["stays"]
    before = table.remaining
    answer = table.sql(
        "SELECT COUNT(*) AS n, ward, AVG(cost) AS c, SUM(cost) / COUNT(*) AS ratio FROM stays GROUP BY ward", epsilon=3
    )
    assert (answer.spent, before - table.remaining) == (3, 3)
    assert sum(event.amount for event in answer.charges) == 3
    names = ["n", "n: low", "n: high", "ward", "c", "c: low", "c: high", "ratio", "ratio: low", "ratio: high"]
    assert list(answer.rows().columns) == names
    assert list(answer.rows_at_once().columns) == ["n", "ward", "c", "ratio"]
    assert list(answer.to_pandas()["ward"]) == ["er", "icu", "cardiology"]
    assert "is left" in answer.explain()
    assert len(answer.plot().data) >= 1


def test_a_sum_by_a_count_has_the_interval_of_a_mean(tables):
    """Both by the law of the same noise; by the intervals of each alone, it would be wider by half.

    A mean also stays within the column's bounds, 0 to 5,000, which a ratio says nothing about.
    """
    asked = (
        "SELECT ward, AVG(cost) AS mean, SUM(cost) / COUNT(cost) AS ratio, 2 * (SUM(cost) / NULLIF(COUNT(cost), 0)) AS twice"
    )
    rows = tables["stays"].sql(f"{asked} FROM stays GROUP BY ward", epsilon=3).rows().by_name()
    for end in ("low", "high"):
        mean, ratio, twice = (np.array(rows[f"{name}: {end}"]) for name in ("mean", "ratio", "twice"))
        assert np.clip(ratio, 0, 5_000) == pytest.approx(mean, rel=1e-6)
        assert np.clip(twice / 2, 0, 5_000) == pytest.approx(mean, rel=1e-6)


def test_the_same_aggregate_is_measured_once(tables):
    question = tables["stays"].ask_sql(
        "SELECT COUNT(*), COUNT(1) AS n, COUNT(*) * 2, SUM(cost)/COUNT(*), SUM(cost) FROM stays"
    )
    assert [one.kind for one in question.plan.measures] == ["count", "sum"]


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("SELECT ward, COUNT(*) FROM stays WHERE sex = 'F' GROUP BY ward", lambda t: t.where("sex = 'F'").ask("ward")),
        ("SELECT COUNT(*) FROM stays", lambda t: t.ask_count()),
        ("SELECT sex, AVG(cost) FROM stays GROUP BY sex", lambda t: t.ask_total("mean", "cost", "sex")),
        ("SELECT SUM(cost) FROM stays", lambda t: t.ask_total("sum", "cost")),
        ("SELECT MEDIAN(age), QUANTILE_CONT(age, 0.9) FROM stays", lambda t: t.ask_quantiles("age", [0.5, 0.9])),
    ],
)
def test_a_single_aggregate_is_the_same_question_as_in_python(tables, text, same):
    question, other = tables["stays"].ask_sql(text), same(tables["stays"])
    assert (type(question.asked), question.what) == (type(other), other.what)
    price = {"epsilon": 1, **({"rows": 100} if question.kind == "mean" else {})}
    assert question.preview(**price) == other.preview(**price)


def test_everything_is_refused_before_the_charge(tables):
    table = tables["stays"]
    text = "SELECT ward, COUNT(*), AVG(cost) FROM stays GROUP BY ward"
    with pytest.raises(Overdraft):
        table.sql(text, epsilon=10**13)
    with pytest.raises(BadInput, match="^within: "):
        table.sql(text, within=10)
    with pytest.raises(BadInput, match="^epsilon: "):
        table.sql(text)


# ------------------------------------------------------------------------------------------------------------ intervals


def test_intervals_of_expressions_hold_the_truth(tables):
    """Laplace noise on two aggregates: each interval misses with probability 0.05 at most, checked by Hoeffding's bound."""
    text = (
        "SELECT SUM(cost) / COUNT(*) AS a, 2 * COUNT(*) + 1 AS b, SUM(cost) - 1000 * COUNT(*) AS c, "
        "ROUND(ABS(COUNT(*) - 600)) AS d, GREATEST(COUNT(*), 590) AS e FROM stays"
    )
    after, generator = tables["stays"].ask_sql(text).plan.after, np.random.default_rng(1)
    total, count, scales = 480_000.0, 600.0, (5000.0, 4.0)
    noisy = [true + generator.laplace(0, scale, RUNS) for true, scale in zip((total, count), scales, strict=True)]
    ends = [(each - s * math.log(20), each + s * math.log(20)) for each, s in zip(noisy, scales, strict=True)]
    intervals = after.intervals(Figures([], [], noisy, lambda: ends), range(RUNS))
    for name, true in {"a": total / count, "b": 2 * count + 1, "c": total - 1000 * count, "d": 0.0, "e": count}.items():
        low, high = np.array(intervals[name]).T
        missed = np.mean((low > true) | (high < true))
        assert missed <= 0.05 + math.sqrt(math.log(5 / 1e-6) / (2 * RUNS))
    assert intervals["b"][0] == pytest.approx((2 * ends[1][0][0] + 1, 2 * ends[1][1][0] + 1))


def test_what_has_no_interval_says_so(tables):
    answer = tables["stays"].sql(
        "SELECT ward, CASE WHEN COUNT(*) > 100 THEN COUNT(*) ELSE 0 END AS large FROM stays GROUP BY ward", epsilon=1
    )
    assert list(answer.rows().columns) == ["ward", "large"]
    assert "large: without an interval" in answer.explain()


def test_extremes_say_what_they_are(tables):
    answer = tables["stays"].sql("SELECT MAX(cost) AS m FROM stays", epsilon=1)
    assert "MAX is the 99 % quantile" in answer.explain()


# -------------------------------------------------------------------------------------------------------------- lookups


@pytest.mark.parametrize(
    "regions",
    [
        {"27513": "Cary", "27514": "Chapel Hill", "27601": "Raleigh"},
        pd.DataFrame({"key": ["27513", "27514", "27601"], "value": ["Cary", "Chapel Hill", "Raleigh"]}),
        pa.table({"key": ["27513", "27514", "27601"], "value": ["Cary", "Chapel Hill", "Raleigh"]}),
    ],
)
def test_lookups_are_dictionaries_or_frames(tables, regions):
    text = "SELECT r.value AS region, COUNT(*) AS n FROM library JOIN r ON zip_code = r.key GROUP BY region"
    answer = tables["library"].sql(text, epsilon=PLENTY, lookups={"r": regions})
    assert answer.columns["region"] == ["Cary", "Chapel Hill", "Raleigh"]
    assert sum(answer.columns["n"]) == pytest.approx(600, abs=0.1)


@pytest.mark.parametrize(
    ("lookup", "words"),
    [
        ({"key": ["27513", "27513"], "value": [1, 2]}, "is there twice"),
        ({"key": ["nowhere"], "value": [1]}, "no value of 'key' is one of the column's"),
        ({"key": ["27513"], "value": [1, 2]}, "columns of one length"),
        (7, "is no public table"),
    ],
)
def test_lookups_that_would_multiply_rows_or_meet_none_are_refused(tables, lookup, words):
    text = "SELECT r.value, COUNT(*) FROM library JOIN r ON zip_code = r.key GROUP BY r.value"
    with pytest.raises(BadInput, match=words):
        tables["library"].ask_sql(text, lookups={"r": lookup})


def test_a_private_table_is_no_lookup(tables):
    with pytest.raises(BadInput, match="is a private table"):
        tables["library"].ask_sql("SELECT COUNT(*) FROM library JOIN r ON age = r.age", lookups={"r": tables["pums"]})


# ----------------------------------------------------------------------------------------------------- nothing escapes

WORDS = (
    "SELECT", "FROM", "WHERE", "GROUP", "BY", "ORDER", "HAVING", "LIMIT", "stays", "ward", "age", "cost", "*", "(", ")", ",",
    "AS", "COUNT(*)", "AVG(cost)", "1/0", "1e400", "'x'", "NULL", "CASE WHEN", "THEN", "END", "OVER ()", "(SELECT 1)", "IN",
    "DATE '2024-02-30'", "::int", "NOT", "BETWEEN", "-", "??", "INTERVAL '1' DAY", "MEDIAN(", "DATE_TRUNC('month',", "%",
)  # fmt: skip


def test_spoilt_statements_are_answered_or_refused_and_nothing_else(tables):
    generator = np.random.default_rng(3)
    for statement in [one.text for one in TYPICAL if "stays" in one.text] * 4:
        words = statement.split()
        for _ in range(generator.integers(1, 4)):
            place = generator.integers(len(words))
            words[place : place + generator.integers(0, 2)] = [WORDS[generator.integers(len(WORDS))]]
        with suppress(BadInput):
            tables["stays"].ask_sql(" ".join(words), lookups=LOOKUPS)


def test_no_derived_column_or_condition_fails_for_one_row(load, tmp_path):
    """Rows with nulls and with values far beyond the bounds, in every engine: each statement is answered."""
    columns = {
        "ward": (pa.string(), ["er", None, "?", "icu"]),
        "age": (pa.float64(), [1e300, None, -1e300, 3.0]),
        "cost": (pa.float64(), [1e-300, None, 1e300, 5.0]),
        "admitted": (pa.date32(), [date(1, 1, 1), None, date(9999, 12, 31), date(2023, 2, 28)]),
        "smoker": (pa.bool_(), [True, None, False, True]),
    }
    data, keywords = load(columns)
    schema = {name: TABLES["stays"][1][name] for name in columns}
    table = open_table(data, schema=schema, ledger=tmp_path / "l.db", budget=10**9, **keywords | {"name": "stays"})
    values = [
        "FLOOR(age / 7) * 3",
        "EXTRACT(DOW FROM admitted)",
        "DATE_TRUNC('quarter', admitted)",
        "age % 7 + ROUND(age / 9)",
    ]
    values += [
        "CASE WHEN cost * 1.5 > 3 THEN UPPER(ward) END",
        "COALESCE(smoker, age > 3)",
        "ROUND(age, -1)",
        "ward IS NULL",
    ]
    for value in values:
        table.sql(f"SELECT {value} AS k, COUNT(*) FROM stays GROUP BY k", epsilon=1).rows_at_once()
