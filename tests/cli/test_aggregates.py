"""`jostle release --aggregate`: a small grammar, a table with intervals, and a cross table."""

from __future__ import annotations

import csv
import io
import json

import pytest

from jostle.kernel.errors import BadInput
from jostle.tables.aggregate_texts import parse_aggregates
from jostle.tables.aggregates import Aggregate

ASKED = ("release", "visits.csv", "--schema", "visits.toml", "--ledger", "l.db", "--budget", 10**7, "--epsilon", 10**4)
SCHEMA = """
[columns.ward]
kind = "category"
categories = ["a", "b"]
outside = "drop"
null = "drop"
[columns.sex]
kind = "category"
categories = ["F", "M"]
outside = "drop"
null = "drop"
[columns.cost]
kind = "real"
low = 0
high = 100
bins = 4
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "visits.csv").write_text("ward,sex,cost\na,F,10\na,F,30\nb,M,50\nb,F,70\n", "utf-8")
    (tmp_path / "visits.toml").write_text(SCHEMA, "utf-8")
    monkeypatch.chdir(tmp_path)


def test_aggregates_are_read_by_their_names():
    found = parse_aggregates(
        ["n=count", "count(*)", "who = count_units", "avg(cost)", "median(net pay)", "p=quantile(cost, .9)"]
    )
    assert found == {
        "n": Aggregate("count"),
        "count": Aggregate("count"),
        "who": Aggregate("count_units"),
        "mean of cost": Aggregate("mean", "cost"),
        "0.5 quantile of net pay": Aggregate("quantile", "net pay", 0.5),
        "p": Aggregate("quantile", "cost", 0.9),
    }


@pytest.mark.parametrize("text", ["", "mode(cost)", "mean", "mean(cost", "quantile(cost)", "quantile(cost, x)", "a=b=count"])
def test_what_cannot_be_read_is_refused(text):
    with pytest.raises(BadInput, match="Remedy"):
        parse_aggregates([text])
    with pytest.raises(BadInput, match="twice"):
        parse_aggregates(["n=count", "n=mean(cost)"])


@pytest.mark.usefixtures("folder")
def test_a_table_of_groups_is_printed_and_written(jostle):
    asked = (*ASKED, "--by", "ward,sex", "--aggregate", "n=count", "--aggregate", "average=mean(cost)")
    status, output, _ = jostle(*asked, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(output)))
    assert status == 0
    assert [(row["ward"], row["sex"], round(float(row["n"]))) for row in rows] == [
        ("a", "F", 2),
        ("a", "M", 0),
        ("b", "F", 1),
        ("b", "M", 1),
    ]
    assert float(rows[0]["average"]) == pytest.approx(20, abs=0.1)
    assert float(rows[0]["average: low"]) < float(rows[0]["average"]) < float(rows[0]["average: high"])
    shown = json.loads(jostle(*asked, "--json")[1])
    assert shown["answers"][0].keys() == rows[0].keys()
    text = jostle(*asked)[1]
    assert text.count("95 % interval") == 2
    assert "4 groups" in text


@pytest.mark.usefixtures("folder")
def test_a_cross_table(jostle):
    status, output, _ = jostle(*ASKED, "--by", "ward,sex", "--aggregate", "n=count", "--wide", "--format", "csv")
    assert (status, output.splitlines()) == (0, ["ward,F,M", "a,2.0,0.0", "b,1.0,1.0"])
    lines = jostle(*ASKED, "--by", "ward,sex", "--aggregate", "n=count", "--wide")[1].splitlines()
    assert any(line.split() == ["ward", "F", "M"] for line in lines)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--by", "ward", "--aggregate", "n=count", "--wide"), "wide: is for aggregates by two columns"),
        (("--aggregate", "n=count", "--sql", "SELECT COUNT(*) FROM visits"), "sql: is the whole question"),
        (("--aggregate", "n=count", "--algorithm", "Laplace"), "algorithm: is for histograms"),
        (("--aggregate", "count_units"), "count rows with count()"),
    ],
)
def test_contradictions_are_refused(jostle, arguments, complaint):
    status, _, errors = jostle(*ASKED, *arguments)
    assert status == 2
    assert complaint in errors
