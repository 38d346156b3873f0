"""Every answer says what it leaves out, wherever it is shown."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import jostle
from jostle.cli.main import app
from jostle.schema import Column, Schema
from jostle.tables.notes import notes_on
from jostle.tables.table import Table

BOUND = "At most 2 rows per patient are counted; rows without a patient are left out."
WARDS = "Values of ward that the schema does not list are counted as (other); missing ones as (missing)."
COSTS = "cost is clipped to 0 – 50; rows without a number such as 1234.5 in cost are left out."
SCHEMA = {"ward": jostle.Category(["A", "B"]), "cost": jostle.Real(0, 50, bins=5)}


@pytest.fixture
def visits(tmp_path: Path) -> Table:
    (tmp_path / "visits.csv").write_text("patient,ward,cost\n1,A,10\n1,A,70\n1,B,20\n2,C,30\n3,,\n")
    ledger = tmp_path / "budget.db"
    return jostle.open(tmp_path / "visits.csv", schema=SCHEMA, budget=100, ledger=ledger, unit="patient:2")


def test_each_kind_of_answer_carries_its_notes(visits: Table) -> None:
    assert visits.count(epsilon=1).notes == (BOUND,)
    assert visits.histogram("ward", epsilon=1).notes == visits.top("ward", epsilon=1).notes == (BOUND, WARDS)
    assert visits.mean("cost", by="ward", epsilon=1).notes == (BOUND, WARDS, COSTS)
    assert visits.quantiles("cost", [0.5], epsilon=1).notes == visits.sum("cost", epsilon=1).notes == (BOUND, COSTS)
    assert visits.marginals("ward", epsilon=1)["ward"].notes == (BOUND, WARDS)
    both = visits.sql("SELECT COUNT(*), SUM(cost) FROM visits", epsilon=1)
    assert both.notes[0] == BOUND
    assert both.notes[1].startswith("cost is clipped to 0 – 50; ")
    assert both.explain().count(BOUND) == 1


def test_notes_are_in_words_on_pages_in_pictures_and_in_files(visits: Table, tmp_path: Path) -> None:
    wards = visits.histogram("ward", epsilon=1)
    assert wards.explain().endswith(f"{BOUND} {WARDS}")
    assert BOUND in wards._repr_html_()
    assert " ".join(wards.plot().layout.meta["notes"]) == f"{BOUND} {WARDS}"
    wards.to_csv(tmp_path / "noted.csv", notes=True)
    lines = (tmp_path / "noted.csv").read_text().splitlines()
    assert lines[:3] == [f"# {BOUND}", f"# {WARDS}", "ward,count,low,high"]


def test_the_command_line_prints_them(tmp_path: Path) -> None:
    (tmp_path / "visits.csv").write_text("patient,ward,cost\n1,A,10\n")
    Schema(SCHEMA).save(tmp_path / "visits.toml")
    asked = ["release", str(tmp_path / "visits.csv"), "--schema", str(tmp_path / "visits.toml"), "--unit", "patient:2"]
    asked += ["--ledger", str(tmp_path / "budget.db"), "--budget", "9", "--epsilon", "1", "--by", "ward"]
    assert f"{BOUND}\n{WARDS}" in CliRunner().invoke(app, asked).stdout
    assert json.loads(CliRunner().invoke(app, [*asked, "--json"]).stdout)["notes"] == [BOUND, WARDS]


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (
            jostle.Category(["A"], outside="drop", null="drop"),
            "schema does not list and rows without x are left out.",
        ),
        (jostle.Category(["A"], outside="drop"), "does not list are left out; missing ones are counted as (missing)."),
        (jostle.Boolean(outside="own"), "are neither true nor false are counted as (other); rows without x are left out."),
        (
            jostle.Integer(0, 9999, bins=4),
            "outside 0 – 9,999 are counted in the nearest cell; rows without a number in x are left out.",
        ),
        (
            jostle.Date("2024-01-01", "2024-12-31", outside="drop"),
            "outside 2024-01-01 – 2024-12-31 and rows without a date such as 2024-12-31 in x are left out.",
        ),
        (jostle.Date("2024-01-01", "2024-12-31", format="%d.%m.%Y"), "rows without a date such as 31.12.2024 in x"),
        (jostle.Real(0, 1, bins=2, decimal=",", thousands="."), "rows without a number such as 1.234,5 in x"),
        (jostle.Integer(0, 9, thousands=" "), "rows without a number such as 1 234 in x"),
    ],
)
def test_every_rule_of_a_column_has_its_words(column: Column, said: str) -> None:
    assert said in notes_on(Schema({"x": column}), None, ["x"])[0]


def test_numbers_that_are_dropped_are_said_to_be() -> None:
    schema = Schema({"x": jostle.Real(0, 1, bins=2, outside="drop")})
    assert notes_on(schema, None, (), ["x"]) == (
        "Values of x outside 0 – 1 and rows without a number such as 1234.5 in x are left out.",
    )


def test_conditions_and_derived_columns_say_how_their_numbers_and_days_are_read(tmp_path: Path) -> None:
    schema = {
        "day": jostle.Date("2024-01-01", "2024-12-31", format="%d.%m.%Y"),
        "cost": jostle.Real(0, 50, bins=5, decimal=","),
        "ward": jostle.Category(["A", "B"]),
    }
    (tmp_path / "t.csv").write_text("day;cost;ward\n31.12.2024;1,5;A\n")
    table = jostle.open(tmp_path / "t.csv", schema=schema, budget=100, ledger=tmp_path / "b.db", delimiter=";")
    day = "day is clipped to 2024-01-01 – 2024-12-31; a row without a date such as 31.12.2024 in it counts as NULL."
    cost = "cost is clipped to 0 – 50; a row without a number such as 1234,5 in it counts as NULL."
    assert table.where("cost > 10 AND ward = 'A'").count(epsilon=1).notes == (f"In conditions, {cost}",)
    quarters = table.sql("SELECT DATE_TRUNC('quarter', day) AS q, COUNT(*) FROM t GROUP BY q", epsilon=1)
    assert quarters.notes == ("Rows without a value of q are left out.", f"In q, {day}")
    halved = table.derive("half", lambda t: t.cost / 2, jostle.Real(0, 25, bins=5)).mean("half", epsilon=1)
    assert halved.notes[-1] == f"In half, {cost}"
    binned = table.bin("cost", jostle.Real(0, 50, bins=2)).histogram("cost", epsilon=1)
    assert binned.notes[-1] == f"In cost, {cost}"
