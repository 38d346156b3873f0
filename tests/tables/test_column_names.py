"""Columns that are called as the numbers in a release are: no label and no number is lost, and none is taken for another."""

from __future__ import annotations

import json

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jostle
from jostle.schema import Category, Integer
from jostle.schema.rows import distinct_names

MUCH = 1000
"""With so much ε, released counts are the true ones, but for noise of less than 0.1."""

ROWS = {"low": ["a", "a", "b"], "count": ["c", "d", "d"], "sum": ["a", "b", "b"], "x": [1, 2, 4]}
KINDS = {"low": Category(["a", "b"]), "count": Category(["c", "d"]), "sum": Category(["a", "b"]), "x": Integer(0, 4)}


@pytest.fixture
def people(tmp_path):
    schema = KINDS | {"quantile": Integer(0, 4), "high": Integer(0, 4)}
    frame = pd.DataFrame({**ROWS, "quantile": ROWS["x"], "high": ROWS["x"]})
    return jostle.open(frame, schema=schema, ledger=tmp_path / "budget.db", budget=100 * MUCH, name="people")


def test_a_histogram(people):
    found = people.histogram("low", epsilon=MUCH, algorithm="Laplace").to_pandas()
    assert list(found) == ["low (column)", "count", "low", "high"]
    assert found["low (column)"].tolist()[:2] == ["a", "b"]
    assert found["count"].tolist()[:2] == pytest.approx([2, 1], abs=0.1)
    assert (found["low"] <= found["high"]).all()
    both = people.top("low", "count", k=1, epsilon=MUCH, algorithm="Laplace").to_pandas()
    assert list(both) == ["low (column)", "count (column)", "count", "low", "high"]


def test_sums_by_a_column(people):
    found = people.sum("x", by="sum", epsilon=MUCH).to_pandas()
    assert list(found) == ["sum (column)", "sum", "low", "high"]
    assert found["sum"].tolist()[:2] == pytest.approx([1, 6], abs=0.1)


@pytest.mark.parametrize("name", ["quantile", "high"])
def test_quantiles(people, name):
    found = people.quantiles(name, [0.5], epsilon=MUCH).to_pandas()
    assert list(found) == ["quantile", f"{name} (column)", "low", "high"]
    assert found.iloc[0, :2].tolist() == [0.5, 2.0]


def test_marginals_have_one_name_for_a_column_in_all_of_them(tmp_path):
    schema = {"low": KINDS["low"], "count": KINDS["count"], "low (column)": KINDS["low"]}
    frame = pd.DataFrame({"low": ROWS["low"], "count": ROWS["count"], "low (column)": ["b", "b", "b"]})
    table = jostle.open(frame, schema=schema, ledger=tmp_path / "budget.db", budget=MUCH, name="people")
    found = table.marginals(("low",), ("count", "low"), ("low (column)",), epsilon=MUCH).to_pandas()
    assert list(found) == ["low (column) (column)", "count (column)", "low (column)", "count", "low", "high"]
    alone = found[found["count (column)"].isna()]
    assert alone["low (column) (column)"].tolist()[:2] == ["a", "b"]
    assert alone["count"].tolist()[:2] == pytest.approx([2, 1], abs=0.1)
    assert alone["low (column)"].dropna().tolist()[:2] == ["a", "b"]


@pytest.mark.parametrize("name", ["low", "count", "sum"])
def test_several_aggregates(people, name):
    found = people.sql(f'SELECT "{name}", COUNT(*), SUM(x) FROM people GROUP BY "{name}"', epsilon=MUCH).to_pandas()
    called = "count (column)" if name == "count" else name
    assert list(found) == [called, "count", "count: low", "count: high", "sum of x", "sum of x: low", "sum of x: high"]
    true = pd.DataFrame(ROWS).groupby(name)["x"]
    assert found[called].tolist()[:2] == sorted(set(ROWS[name]))
    assert found["count"].tolist()[:2] == pytest.approx(true.count().tolist(), abs=0.1)
    assert found["sum of x"].tolist()[:2] == pytest.approx(true.sum().tolist(), abs=0.1)
    assert (found["sum of x: low"] <= found["sum of x"]).all()


def test_an_aggregate_that_is_called_as_the_end_of_another_interval(tmp_path):
    schema = {"x": Integer(0, 4), "x: low": Integer(0, 4)}
    frame = pd.DataFrame({"x": ROWS["x"], "x: low": [0, 0, 3]})
    table = jostle.open(frame, schema=schema, ledger=tmp_path / "budget.db", budget=MUCH, name="people")
    found = table.sql('SELECT SUM(x), SUM("x: low") FROM people', epsilon=MUCH).to_pandas()
    assert found.columns.is_unique
    assert found.loc[0, ["sum of x", "sum of x: low"]].tolist() == pytest.approx([7, 3], abs=0.1)


def test_from_the_shell(tmp_path, monkeypatch, capsys):
    from jostle.cli.main import main

    monkeypatch.chdir(tmp_path)
    pd.DataFrame(ROWS).to_csv("people.csv", index=False)
    kinds = [f'[columns.{name}]\nkind = "category"\ncategories = {sorted(set(ROWS[name]))}\n' for name in ("low", "count")]
    numbers = '[columns.x]\nkind = "integer"\nlow = 0\nhigh = 4\n'
    (tmp_path / "people.toml").write_text("".join(kinds).replace("'", '"') + numbers, "utf-8")
    asked = [
        "release",
        "people.csv",
        "--schema",
        "people.toml",
        "--ledger",
        "b.db",
        "--budget",
        "1",
        "--epsilon",
        "1",
        "--json",
    ]
    query = 'SELECT "count", COUNT(*), SUM(x) FROM people GROUP BY "count"'
    monkeypatch.setattr("sys.argv", ["jostle", *asked, "--sql", query])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    assert [answer["count (column)"] for answer in json.loads(capsys.readouterr().out)["answers"]][:2] == ["c", "d"]


NAMES = st.lists(st.sampled_from(["low", "low (column)", "low (column) (column)", "count", "age"]), unique=True)


@given(names=NAMES, taken=NAMES)
def test_names_are_apart_and_kept_where_they_can_be(names, taken):
    found = distinct_names(names, taken)
    assert len(set(found)) == len(names)
    assert not set(found) & set(taken)
    for before, after in zip(names, found, strict=True):
        assert after == before if before not in taken else after.startswith(f"{before} (column)")
