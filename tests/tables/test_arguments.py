"""What callers pass: odd names, numbers of other kinds, broken conditions. Errors name the argument as it was called."""

from __future__ import annotations

import re
from fractions import Fraction

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from jostle.kernel.errors import BadInput
from jostle.kernel.ledger import Ledger
from jostle.schema import Category, Integer, Real, Schema
from jostle.tables.budget_source import legible
from jostle.tables.columns import EngineColumns
from jostle.tables.guess_schema import kinds_of
from jostle.tables.opening import open as open_table
from jostle.tables.unit import Unit

SCHEMA = {"age": Integer(0, 9), "sex": Category(["F", "M"])}
FRAME = pd.DataFrame({"age": [3, 4, 4], "sex": ["F", "M", "F"]})
BUDGET = 10**6
PLENTY = 10**4


def opened(tmp_path, data=FRAME, schema=None, **more):
    keywords = {"ledger": tmp_path / "l.db", "budget": BUDGET, "name": "t"} | more
    return open_table(data, schema=schema or SCHEMA, **keywords)


# ------------------------------------------------------------------------------------------------------------- names


@pytest.mark.parametrize("unit", [None, Unit("p", max_rows=2)])
def test_a_column_may_be_called_self(tmp_path, unit):
    frame = pd.DataFrame({"self": [1, 2, 2], "p": ["a", "b", "c"]})
    table = opened(tmp_path, frame, {"self": Integer(0, 3)}, unit=unit)
    assert table.histogram("self", epsilon=PLENTY, algorithm="Laplace").answers.tolist() == [0, 1, 2, 0]
    assert table.sum("self", by="self", epsilon=PLENTY).answers.tolist() == [0, 1, 4, 0]
    twice = table.derive("self", "self + 1", Integer(0, 3)).where("self > 2")
    assert EngineColumns.of(twice._views, ["self"]).counts(["self"]).tolist() == [0, 0, 0, 2]
    assert table.partition("self", epsilon=PLENTY)["2"].count().answers.tolist() == [2]


@pytest.mark.parametrize("odd", ["net\xa0income", "所\u3000得", "tab\there"])
def test_a_name_that_is_not_printable_does_not_stop_a_release(tmp_path, odd):
    schema = {odd: Integer(0, 9), f"{odd} too": Integer(0, 9)}
    frame = pd.DataFrame({name: [1, 2] for name in (*schema, f"{odd}?")})
    table = opened(tmp_path, frame, schema, unit=Unit(f"{odd}?", max_rows=1))
    table.histogram(odd, epsilon=1, algorithm="Laplace")
    table.sum(odd, epsilon=1)
    table.mean(odd, by=f"{odd} too", epsilon=1)
    table.marginals(odd, f"{odd} too", epsilon=1)
    table.records(odd, epsilon=1)
    next(iter(table.partition(odd, epsilon=1).values())).sum(odd, epsilon=1)
    with Ledger(tmp_path / "l.db") as book:
        notes = [event.note for event in book.events("t")]
    assert all(note.isprintable() for note in notes)
    assert notes[0] == f"protects each {legible(odd)}?"


def test_units_whose_names_look_alike_are_not_the_same_promise(tmp_path):
    frame = FRAME.assign(**{"a b": 1, "a\xa0b": 2})
    opened(tmp_path, frame, unit=Unit("a b", max_rows=1)).count(epsilon="0.1")
    with pytest.raises(BadInput, match="protects each a b"):
        opened(tmp_path, frame, unit=Unit("a\xa0b", max_rows=1))


def test_a_long_name_is_cut_in_the_ledger_after_it_is_made_legible(tmp_path):
    name, note = "\xa0" * 900, "n" * 300
    table = opened(tmp_path, pd.DataFrame({name: [1]}), {name: Integer(0, 9)}, note=note)
    charge = table.histogram(name, epsilon=1, algorithm="Laplace").charges[0]
    assert charge.note.startswith("Laplace: histogram of \\xa0\\xa0")
    assert f" ({note}): " in charge.note
    table.partition(name, epsilon=1)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame([[3, 4, "F"]], columns=["age", "age", "sex"]),
        pa.Table.from_arrays([pa.array([3]), pa.array([4]), pa.array(["F"])], names=["age", "age", "sex"]),
    ],
)
def test_a_column_that_a_frame_has_twice_is_refused_where_it_is_wanted(tmp_path, frame):
    with pytest.raises(BadInput, match="data: has the column 'age' more than once"):
        opened(tmp_path, frame)
    alone = opened(tmp_path, frame, {"sex": SCHEMA["sex"]})
    assert EngineColumns.of(alone._views, ["sex"]).counts(["sex"]).tolist() == [1, 0, 0, 0]


def test_columns_that_are_numbered_are_refused_by_that(tmp_path):
    frame = pd.DataFrame([[3, "F"]])
    with pytest.raises(BadInput, match="data: its column '0' has a label that is no text"):
        opened(tmp_path, frame, {"0": Integer(0, 9)})
    with pytest.raises(BadInput, match="no text"):
        kinds_of(frame)


# -------------------------------------------------------------------------------------------------- names of arguments


@pytest.mark.parametrize(
    ("changes", "argument"),
    [
        ({"budget": "x"}, "budget"),
        ({"budget": -1}, "budget"),
        ({"budget": 10**400}, "budget"),
        ({"ledger": 3}, "ledger"),
        ({"ledger": b"l.db"}, "ledger"),
        ({"ledger": ":memory:"}, "ledger"),
        ({"ledger": "mysql://there/l"}, "ledger"),
        ({"ledger": "no/such/folder/l.db"}, "ledger"),
    ],
)
def test_what_is_wrong_has_the_name_that_the_caller_gave_it(tmp_path, monkeypatch, changes, argument):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInput, match="Remedy") as refused:
        opened(tmp_path, **changes)
    assert refused.value.argument == argument


def test_another_budget_than_the_account_has_is_called_budget(tmp_path):
    opened(tmp_path).count(epsilon="0.1")
    with pytest.raises(BadInput, match="budget: account 't' has a cap of"):
        opened(tmp_path, budget=7)


ASKED = {
    "histogram": lambda t, within: t.histogram("age", within=within),
    "count": lambda t, within: t.count(within=within),
    "marginals": lambda t, within: t.marginals("age", "sex", within=within),
    "quantiles": lambda t, within: t.median("age", within=within),
    "sum": lambda t, within: t.sum("age", within=within),
}


@pytest.mark.parametrize("kind", ASKED)
def test_a_wish_that_cannot_be_met_is_called_within(tmp_path, kind):
    table = opened(tmp_path)
    for within in (1e-310, 10**400, float("nan"), 0, -1, True, np.True_, "close", object()):
        with pytest.raises(BadInput, match="Remedy") as refused:
            ASKED[kind](table, within)
        assert refused.value.argument == "within"
    assert table.remaining == BUDGET


@pytest.mark.parametrize("within", [1e-290, 10**290])
def test_a_sum_is_not_wished_for_beyond_all_noise(tmp_path, within):
    question = opened(tmp_path).ask_total("sum", "age")
    if within > 1:
        with pytest.raises(BadInput, match="within: is so far from the column's bounds"):
            question.epsilon_within(within)
    else:
        assert question.epsilon_within(within) > 10**289


@pytest.mark.parametrize("within", [1e-9, 10**290])
@pytest.mark.parametrize("question", ["ask", "ask_marginals"])
def test_far_wishes_cost_no_more_than_whole_numbers_need(tmp_path, question, within):
    asked = getattr(opened(tmp_path), question)("age")
    epsilon = asked.epsilon_within(within)
    assert epsilon == Fraction(1, 10**6) if within > 1 else 1 < epsilon < 100


def test_a_mean_is_not_asked_for_within(tmp_path):
    question = opened(tmp_path).ask_total("mean", "age")
    with pytest.raises(BadInput, match="within: a mean's error depends on the number of rows.*epsilon=") as refused:
        question.release(within=3)
    assert "rows=" not in str(refused.value)
    for rows in (None, 0, True, 1.5, 10**400):
        with pytest.raises(BadInput, match="rows=1000"):
            question.preview(epsilon=1, rows=rows)
    assert question.preview(epsilon=1, rows=np.int64(100)) == question.preview(epsilon=1, rows=100)


# --------------------------------------------------------------------------------------------- numbers of other kinds


def test_numbers_of_other_kinds_are_taken_for_what_they_are(tmp_path):
    assert Integer(np.int64(0), np.uint8(9), bins=np.int32(2)) == Integer(0, 9, bins=2)
    assert Real(np.float32(0), Fraction(1, 2), cuts=np.array([0.25])) == Real(0.0, 0.5, cuts=[0.25])
    assert Category([np.int64(1), np.float64(2.5), np.str_("x")]) == Category([1, 2.5, "x"])
    assert Unit("p", max_rows=np.int64(3)) == Unit("p", max_rows=3)
    plain = Schema(a=Integer(np.int64(0), np.int64(9)), b=Real(np.float64(0), 1, bins=np.int64(4)), c=Category([np.int8(1)]))
    plain.save(tmp_path / "schema.toml")
    assert dict(Schema.load(tmp_path / "schema.toml")) == dict(plain)
    table = opened(tmp_path)
    assert len(table.top("age", k=np.int64(2), epsilon=1).places) == 2
    for kind, ask in ASKED.items():
        assert ask(table, np.int64(10)).spent == ask(table, Fraction(10)).spent == ask(table, 10.0).spent, kind


@pytest.mark.parametrize(
    ("make", "argument"),
    [
        (lambda: Real(0, 1, cuts=None), "cuts"),
        (lambda: Real(0, 1, cuts=3), "cuts"),
        (lambda: Real(0, 1, cuts=np.array(0.5)), "cuts"),
        (lambda: Real(0, 1, cuts=[True]), "cuts"),
        (lambda: Real(0, Fraction(10**400), bins=2), "high"),
        (lambda: Real(np.True_, 2, bins=2), "low"),
        (lambda: Integer(False, 9), "low"),
        (lambda: Integer(np.timedelta64(0), 9), "low"),
        (lambda: Integer(0, 9, bins=True), "bins"),
        (lambda: Category([10**5000]), "categories"),
        (lambda: Category([None]), "categories"),
        (lambda: Unit("p", max_rows=True), "max_rows"),
        (lambda: Unit("p", max_rows=np.float64(3)), "max_rows"),
    ],
)
def test_what_is_no_such_number_is_refused(make, argument):
    with pytest.raises(BadInput, match="Remedy") as refused:
        make()
    assert refused.value.argument == argument


# --------------------------------------------------------------------------------------------- conditions and statements


@pytest.mark.parametrize(
    ("ask", "argument"),
    [
        (lambda t: t.where("age > 1/0"), "where"),
        (lambda t: t.sql("SELECT COUNT(*) FROM t WHERE age > 1/0", epsilon=1), "sql"),
        (lambda t: t.where(lambda _: {}["a"]), "where"),
        (lambda t: t.derive("b", lambda _: 1 / 0, Integer(0, 9)), "derive"),
        (lambda t: t.derive("b", "1/0", Integer(0, 9)), "derive"),
    ],
)
def test_a_condition_that_fails_by_itself_is_refused_by_name(tmp_path, ask, argument):
    table = opened(tmp_path)
    with pytest.raises(BadInput, match=r"fails before it sees a row, by (ZeroDivision|Key)Error") as refused:
        ask(table)
    assert refused.value.argument == argument
    assert table.remaining == BUDGET


def test_an_unknown_name_in_a_derived_column_is_refused_as_such(tmp_path):
    with pytest.raises(BadInput, match="^derive: 'nope' is not in the schema"):
        opened(tmp_path).derive("b", "nope + 1", Integer(0, 9))


def test_data_that_are_named_as_a_schema_are_not_quoted(tmp_path):
    """What a parser says of a file is where something stands in it."""
    for name in ("people.csv", "people.toml"):
        (tmp_path / name).write_bytes(b"Anna,31\n" * 9 + b"Ren\xe9,64\n")
        with pytest.raises(BadInput) as refused:
            Schema.load(tmp_path / name)
        assert refused.value.argument == "schema"
        assert not re.search("position|line|xe9|Anna", refused.value.problem)


def test_count_of_nothing_is_the_number_of_rows(tmp_path):
    assert opened(tmp_path).sql("SELECT COUNT() FROM t", epsilon=PLENTY).answers.tolist() == [3]


@pytest.mark.parametrize("aggregate", ["SUM()", "AVG()", "MEDIAN()", "PERCENTILE_CONT() WITHIN GROUP (ORDER BY age)"])
def test_other_aggregates_of_nothing_are_refused(tmp_path, aggregate):
    with pytest.raises(BadInput, match="sql"):
        opened(tmp_path).ask_sql(f"SELECT {aggregate} FROM t")


def test_a_schema_file_may_begin_with_a_mark_of_its_encoding(tmp_path):
    Schema(SCHEMA).save(tmp_path / "plain.toml")
    (tmp_path / "marked.toml").write_bytes(b"\xef\xbb\xbf" + (tmp_path / "plain.toml").read_bytes())
    assert dict(Schema.load(tmp_path / "marked.toml")) == SCHEMA
