"""`jostle release` and `jostle schema`, as they are called from a shell."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
import sys
from pathlib import Path

import pandas
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jostle.cli.main import main
from jostle.kernel.ledger import Ledger

SCHEMA = """
[columns.age]
kind = "integer"
low = 0
high = 99
bins = 10

[columns.sex]
kind = "category"
categories = ["F", "M"]
"""
ROWS = [("31", "F", "1"), ("45", "M", "1"), ("20", "F", "2"), ("x", "F", "3"), ("38", "", "3")]


def write(folder: Path, rows=ROWS) -> None:
    with (folder / "people.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("age", "sex", "person"), *rows])
    (folder / "people.toml").write_text(SCHEMA, "utf-8")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    write(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


ASKED = ("release", "people.csv", "--schema", "people.toml", "--ledger", "budget.db")


def test_a_release_is_explained_written_drawn_and_charged(folder, jostle):
    status, output, errors = jostle(
        *(*ASKED, "--budget", 1, "--by", "age", "--where", "sex = 'F'", "--epsilon", 0.5),
        *("--algorithm", "Laplace", "--out", "ages.csv", "--plot", "ages.html"),
    )
    assert (status, errors) == (0, "")
    assert "Rows by age: 10 counts at ε = 0.5" in output
    assert "jostle budget budget.db" in output
    lines = (folder / "ages.csv").read_text("utf-8").splitlines()
    assert lines[0] == "age,count,low,high"
    assert [line.split(",")[0] for line in lines[1:3]] == ["0–9", "10–19"]
    assert "<svg" in (folder / "ages.html").read_text("utf-8")
    with Ledger(folder / "budget.db") as ledger:
        assert [event.kind for event in ledger.events("people")] == ["open", "charge"]


def test_json_and_csv_are_all_there_is_on_standard_output(folder, jostle):
    status, output, errors = jostle(*ASKED, "--budget", 1, "--by", "sex,age", "--epsilon", "1/4", "--format", "json")
    assert (status, errors) == (0, "")
    told = json.loads(output)
    assert (told["spent"], told["remaining"]) == ("1/4", "3/4")
    assert len(told["answers"]) == 40
    assert set(told["answers"][0]) == {"sex", "age", "count", "low", "high"}
    status, output, _ = jostle(*ASKED, "--epsilon", "1/4", "--format", "csv")
    assert output.splitlines()[0] == "figure,count,low,high"
    status, output, _ = jostle(
        *ASKED, "--sql", "SELECT sex, AVG(age) FROM people GROUP BY sex", "--epsilon", 0.25, "--format", "csv"
    )
    assert status == 0
    assert output.splitlines()[0] == "sex,mean of age,low,high"


@pytest.mark.parametrize(
    "asked",
    [
        ("--by", "age"),
        (),
        ("--sql", "SELECT sex, AVG(age), COUNT(*) FROM people GROUP BY sex"),
        ("--sql", "SELECT MEDIAN(age) FROM people"),
    ],
)
def test_a_release_names_its_charge_and_the_ledger_has_it(folder, jostle, asked):
    status, output, _ = jostle(
        *(*ASKED, "--budget", 1, *asked, "--epsilon", "1/4", "--note", "für den Bericht", "--format", "json"),
        *("--out", "answers.json"),
    )
    assert status == 0
    told = json.loads(output)
    assert json.loads((folder / "answers.json").read_text("utf-8")) == told
    with Ledger(folder / "budget.db") as ledger:
        events = ledger.events("people")[1:]
    charge = told["charge"]
    assert (charge["account"], charge["amount"]) == ("people", "1/4")
    assert events[0].at.startswith(charge["at"].removesuffix("+00:00"))
    assert charge["events"] == [{"key": e.key, "operator": e.operator, "amount": str(e.amount)} for e in events]
    assert all("(für den Bericht)" in event.note for event in events)
    status, output, _ = jostle(*ASKED, *asked, "--epsilon", "1/4")
    with Ledger(folder / "budget.db") as ledger:
        assert all(event.key in output for event in ledger.events("people")[1 + len(events) :])
    assert "Charged to account 'people': ε = 0.25 at " in output


def test_a_preview_charges_nothing_and_needs_no_ledger(folder, jostle):
    asked = ("release", "people.csv", "--schema", "people.toml", "--by", "age", "--preview")
    status, output, _ = jostle(*asked, "--within", 20)
    assert status == 0
    assert "Nothing was charged." in output
    told = json.loads(jostle(*asked, "--epsilon", 0.5, "--format", "json")[1])
    assert (told["epsilon"], told["reckoned_by"]) == ("1/2", "Laplace")
    persons = json.loads(jostle(*asked, "--epsilon", 0.5, "--format", "json", "--unit", "person:2")[1])
    assert persons["margin"] == pytest.approx(2 * told["margin"], rel=0.2)
    assert sorted(path.name for path in folder.iterdir()) == ["people.csv", "people.toml"]


@pytest.mark.parametrize(
    ("arguments", "status", "complaint"),
    [
        (("--by", "agge", "--epsilon", 1, "--budget", 1), 2, "did you mean 'age'? The columns are age, sex"),
        (("--by", "age", "--budget", 1), 2, "--epsilon 0.5, --rho 0.01 or --within 10"),
        (("--by", "age", "--epsilon", 1, "--within", 3, "--budget", 1), 2, "--epsilon 0.5, --rho 0.01 or --within 10"),
        (("--by", "age", "--epsilon", 1), 2, "budget: is missing"),
        (("--by", "age", "--epsilon", "x", "--budget", 1), 2, "epsilon"),
        (("--by", "age", "--epsilon", 1, "--budget", 1, "--unit", "person"), 2, "unit"),
        (("--by", "age", "--epsilon", 1, "--budget", 1, "--neighbours", "friends"), 2, "neighbours"),
        (("--by", "age", "--epsilon", 1, "--budget", 1, "--where", "sex ="), 2, "where"),
        (("--by", "age", "--epsilon", 1, "--budget", 1, "--out", "nowhere/ages.csv"), 2, "cannot be written"),
        (("--by", "age", "--epsilon", 1, "--budget", 1, "--out", "ages.xls"), 2, "does not end in .csv or .json"),
        (("--by", "age", "--epsilon", 1, "--budget", 1, "--note", "x" * 301), 2, "note: must be a text of at most 300"),
        (("--by", "age", "--epsilon", 1, "--budget", 1, "--plot", "ages.gif"), 2, ".svg or .html or .png"),
        (("--by", "age", "--epsilon", 1, "--budget", 1, "--out", "people.csv"), 2, "out: people.csv is the data as well"),
        (("--by", "age", "--epsilon", 1, "--budget", 1, "--out", "linked.csv"), 2, "out: linked.csv is the data as well"),
        (
            ("--by", "age", "--epsilon", 1, "--budget", 1, "--plot", "linked.html"),
            2,
            "plot: linked.html is --schema as well",
        ),
        (
            ("--by", "age", "--epsilon", 1, "--budget", 1, "--ledger", "b.csv", "--out", "./b.csv"),
            2,
            "b.csv is --ledger as well",
        ),
        (("--sql", "SELECT * FROM people", "--epsilon", 1, "--budget", 1), 2, "SELECT *"),
        (("--sql", "SELECT 1", "--by", "age", "--epsilon", 1, "--budget", 1), 2, "is the whole question"),
        (("--algorithm", "HB", "--epsilon", 1, "--budget", 1), 2, "is for histograms"),
        (
            ("--by", "age", "--epsilon", 0, "--budget", 1),
            2,
            "epsilon: must be above 0, got '0'. Remedy: pass a positive number such as 0.5.",
        ),
        (("--by", "age", "--epsilon", 2, "--budget", 1), 3, "Request at most 1; `jostle budget` lists what was spent."),
    ],
)
def test_what_is_refused_says_so_and_charges_nothing(folder, jostle, arguments, status, complaint):
    (folder / "linked.csv").hardlink_to(folder / "people.csv")
    (folder / "linked.html").symlink_to(folder / "people.toml")
    found, output, errors = jostle(*ASKED, *arguments)
    assert (found, output) == (status, "")
    assert complaint in errors
    assert "Traceback" not in errors
    if (folder / "budget.db").exists():
        with Ledger(folder / "budget.db") as ledger:
            assert "charge" not in [event.kind for event in ledger.events()]


def test_a_picture_that_needs_a_package_is_refused_before_the_charge(folder, jostle, monkeypatch):
    monkeypatch.setitem(sys.modules, "kaleido", None)
    status, output, errors = jostle(*ASKED, "--budget", 1, "--epsilon", 0.5, "--plot", "count.png")
    assert (status, output) == (2, "")
    assert "plot: a PNG needs the package kaleido" in errors
    assert not (folder / "budget.db").exists()


def test_what_cannot_be_reached_ends_with_status_4(folder, jostle, monkeypatch):
    away = ("release", "postgresql://me:hush@127.0.0.1:1/db", "--table", "t", "--name", "people")
    told = ("--schema", "people.toml", "--ledger", "budget.db", "--budget", 1, "--by", "age", "--epsilon", 0.5)
    status, output, errors = jostle(*away, *told)
    assert (status, output) == (4, "")
    assert "connecting to the database" in errors
    assert "hush" not in errors
    Ledger(folder / "budget.db").close()
    monkeypatch.setitem(Ledger.__init__.__kwdefaults__, "timeout", 0.2)
    other = sqlite3.connect(folder / "budget.db", isolation_level=None)
    other.execute("BEGIN EXCLUSIVE")
    try:
        assert jostle(*ASKED, "--budget", 1, "--by", "age", "--epsilon", 0.5)[0] == 4
    finally:
        other.close()


@pytest.mark.parametrize("encoding", ["iso8859-1", "cp1252"])
def test_letters_that_a_terminal_lacks_do_not_lose_the_answers(folder, monkeypatch, encoding):
    shown = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr(sys, "stdout", shown)
    asked = (*ASKED, "--budget", "1", "--by", "age", "--epsilon", "1/2", "--algorithm", "Laplace")
    for form in ("text", "json"):
        monkeypatch.setattr(sys, "argv", ["jostle", *asked, "--format", form])
        with pytest.raises(SystemExit) as ended:
            main()
        assert not ended.value.code
    shown.flush()
    text, answers = shown.buffer.getvalue().decode(encoding).split("jostle budget budget.db\n")
    assert "· \\u03b5 = 0.5" in text
    found = json.loads(answers)
    assert found["answers"][0]["age"] == "0–9"
    assert "at ε = 0.5" in found["explanation"]


CELLS = st.one_of(
    st.text(max_size=8), st.integers().map(str), st.sampled_from(["F", "M", "31", "1e999", "s3cr3t", '"', "=1+1"])
)


@settings(max_examples=4)
@given(rows=st.lists(st.tuples(CELLS, CELLS, CELLS), max_size=20), more=st.tuples(CELLS, CELLS, CELLS))
def test_neighbouring_and_adversarial_files_look_alike_from_the_shell(tmp_path_factory, rows, more):
    """Everything but the released numbers: exit codes, both streams, and what is charged."""
    assert seen(tmp_path_factory.mktemp("one"), rows) == seen(tmp_path_factory.mktemp("other"), [*rows, more])


def seen(folder, rows):
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        write(folder, rows)
        questions = (
            ("--budget", 1, "--by", "age", "--where", "sex = 'F'", "--epsilon", 0.1, "--algorithm", "Laplace"),
            ("--sql", "SELECT sex, SUM(age) FROM people WHERE age > 20 GROUP BY sex", "--epsilon", 0.1),
            ("--sql", "SELECT MODE(age) FROM people", "--epsilon", 0.1),
            ("--by", "sex", "--epsilon", 1),
        )
        return [call(patch, *ASKED, *question, "--format", "json") for question in questions]


def call(patch, *arguments):
    import contextlib
    import io

    patch.setattr(sys, "argv", ["jostle", *map(str, arguments)])
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as ended:
        main()
    told = json.loads(out.getvalue()) if out.getvalue() else {}
    for answer in told.get("answers", []):
        for number in ("count", "sum of age", "low", "high"):
            answer.pop(number, None)
    if told:  # the clock and a random key, whatever the data are
        told["charge"].pop("at")
        for event in told["charge"]["events"]:
            event.pop("key")
    return ended.value.code or 0, told | {"explanation": told.get("explanation", "").split("ypically")[0]}, err.getvalue()


def test_the_tutorial_on_real_data(folder, jostle, jostle_data):
    """The public census file, as a new user would release it; the truth may be looked at."""
    columns = "age,workclass,fnlwgt,education,education_num,marital_status,occupation,relationship,race,sex"
    more = "capital_gain,capital_loss,hours_per_week,native_country,income"
    (folder / "adult.toml").write_text(SCHEMA.replace('"F", "M"', '"Female", "Male"'), "utf-8")
    told = ("--columns", f"{columns},{more}", "--schema", "adult.toml", "--ledger", "b.db", "--budget", 1000)
    asked = ("--sql", "SELECT sex, COUNT(*) FROM adult GROUP BY sex", "--epsilon", 100, "--format", "json")
    status, output, errors = jostle("release", jostle_data / "adult.data", *told, *asked)
    assert (status, errors) == (0, "")
    women, men, *_ = (answer["count"] for answer in json.loads(output)["answers"])
    assert (women, men) == pytest.approx((10_771, 21_790), abs=1)


# ----------------------------------------------------------------------------------------------------------- schema


def test_text_has_every_answer_that_was_paid_for(folder, jostle):
    (folder / "people.toml").write_text(SCHEMA.replace("bins = 10\n", ""), "utf-8")
    status, output, _ = jostle(*ASKED, "--budget", 1, "--by", "age", "--epsilon", 0.5, "--algorithm", "Laplace")
    assert status == 0
    shown = output.partition("\n\n")[2].splitlines()
    assert [line.split()[0] for line in shown[:101]] == ["age", *(str(age) for age in range(100))]


def test_more_answers_than_a_terminal_takes_are_refused_before_they_are_paid_for(folder, jostle):
    (folder / "people.toml").write_text(SCHEMA.replace("high = 99\nbins = 10\n", "high = 1999\n"), "utf-8")
    asked = (*ASKED, "--budget", 1, "--by", "age", "--epsilon", 0.5, "--algorithm", "Laplace")
    status, _, errors = jostle(*asked)
    assert status == 2
    assert "out: is missing: there will be 2,000 answers" in errors
    assert not (folder / "budget.db").exists()
    assert jostle(*asked, "--out", "ages.csv")[0] == 0
    assert len((folder / "ages.csv").read_text("utf-8").splitlines()) == 2001


def test_an_empty_list_of_columns_does_not_count_all_rows(folder, jostle):
    for by in ("", " , "):
        status, _, errors = jostle(*ASKED, "--budget", 1, "--epsilon", 1, "--by", by)
        assert status == 2
        assert "by: names no column" in errors


def test_a_place_without_a_name_keeps_its_place(folder, jostle):
    """Whoever leaves a column out of the list would otherwise pay for answers about lines that do not fit it."""
    (folder / "plain.data").write_text("3,x,F\n4,x,M\n5,x,F\n", "utf-8")
    asked = ("release", "plain.data", *ASKED[2:], "--columns", "age,,sex,person", "--by", "sex", "--budget", 10**6)
    status, output, errors = jostle(*asked, "--epsilon", 10**5, "--format", "csv")
    assert (status, errors) == (0, "")
    assert [line.split(",")[:2] for line in output.splitlines()[1:3]] == [["F", "2.0"], ["M", "1.0"]]


def test_a_draft_has_names_and_kinds_alone_and_is_refused_until_it_is_confirmed(folder, jostle):
    status, output, errors = jostle("schema", "people.csv", "--header", "--out", "draft.toml")
    assert (status, errors) == (0, "")
    assert "reading values to guess their range would reveal them" in output
    draft = (folder / "draft.toml").read_text("utf-8")
    assert not any(age in draft for age in ("45", "38"))
    assert '"F"' not in draft
    assert draft.count("to_confirm") == 1 + 3
    assert all(f'#     kind = "{kind}"' in draft for kind in ("category", "integer", "real", "date", "boolean"))
    status, _, errors = jostle(*ASKED[:2], "--schema", "draft.toml", *ASKED[4:], "--budget", 1, "--epsilon", 1)
    assert status == 2
    assert "still to be confirmed" in errors
    status, _, errors = jostle("schema", "people.csv", "--header", "--out", "draft.toml")
    assert status == 2
    assert "--force" in errors
    assert jostle("schema", "people.csv", "--header", "--out", "draft.toml", "--force")[0] == 0
    assert (
        "people.csv is the data as well" in jostle("schema", "people.csv", "--header", "--out", "people.csv", "--force")[2]
    )
    (folder / "plain.data").write_text("31,F\n", "utf-8")
    status, output, _ = jostle("schema", "plain.data", "--columns", "age,sex")
    assert status == 0
    assert "first line" not in output
    assert '[columns."age"]\nkind = "integer"' in (folder / "plain.toml").read_text("utf-8")
    assert jostle("schema", "nowhere.csv", "--header")[0] == 2
    status, output, _ = jostle("schema", "people.csv", "--header", "--out", "again.toml", "--json")
    assert status == 0
    assert json.loads(output) == {
        "schema": "again.toml",
        "columns": {"age": "integer", "sex": "category", "person": "category"},
        "to_confirm": ["age", "sex", "person"],
    }


@pytest.mark.parametrize("ending", ["csv", "tsv", "txt", "data"])
def test_a_record_is_neither_printed_nor_kept_as_if_it_were_names(folder, jostle, monkeypatch, ending):
    (folder / f"wards.{ending}").write_text("Anna,Cardiology\nBeat,Emergency\n", "utf-8")
    monkeypatch.setattr(Path, "open", lambda *_, **__: pytest.fail("the file was read"))
    status, output, errors = jostle("schema", f"wards.{ending}")
    assert (status, output) == (2, "")
    assert f"header: the first line of wards.{ending} may hold the columns' names or a record" in errors
    assert "add --header if it holds the names, or --columns age,sex" in errors
    assert not any(word in errors for word in ("Anna", "Cardiology"))
    assert not (folder / "wards.toml").exists()
    status, _, errors = jostle("schema", f"wards.{ending}", "--header", "--columns", "name,ward")
    assert status == 2
    assert "leave out --header or --columns" in errors


def test_a_folder_needs_a_name(folder, jostle):
    (folder / "years").mkdir()
    pandas.DataFrame({"age": ["31"], "sex": ["F"]}).to_parquet(folder / "years" / "2024.parquet")
    asked = ("release", "years", *ASKED[2:], "--by", "sex", "--budget", 1, "--epsilon", 1, "--format", "json")
    status, _, errors = jostle(*asked)
    assert status == 2
    assert "name: is missing: a folder has no name of its own, and the name decides which budget pays" in errors
    assert "--name people" in errors
    assert not (folder / "budget.db").exists()
    assert jostle(*asked, "--name", "years")[0] == 0
