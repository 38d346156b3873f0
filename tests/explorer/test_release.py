"""The curator's desk, without a browser: every kind of question, what it costs, and what becomes of it."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import os
import random
import shlex
import threading
from fractions import Fraction
from functools import partial

import numpy as np
import pyarrow.parquet as pq
import pytest

if os.environ.get("JOSTLE_REQUIRE_ALL") != "1":
    pytest.importorskip("starlette", reason="the explorer is not installed: pip install 'jostle[explorer]'")

from starlette.datastructures import FormData
from starlette.exceptions import HTTPException

from jostle import BadInput, Ledger
from jostle.answers.noise_intervals import margin, share
from jostle.answers.release import Release
from jostle.explorer.forms import Form
from jostle.explorer.jobs import MOST_WAITING, BackgroundJob, Jobs
from jostle.explorer.question_form import KINDS, ROWS
from jostle.explorer.release import Desk
from jostle.explorer.released import Released
from jostle.explorer.reproduce import SCHEMA_FILE, _without_password, snippets
from jostle.kernel.errors import JostleError

SCHEMA = """
[columns.age]
kind = "integer"
low = 0
high = 99
[columns.pay]
kind = "real"
low = -10.0
high = 90.0
bins = 20
[columns.sex]
kind = "category"
categories = ["F", "M"]
"""

QUESTIONS = {
    "histogram": {"first": "age", "algorithm": "Laplace"},
    "cumulative": {"first": "age", "algorithm": "HB"},
    "count": {"where": "sex = 'F'"},
    "sum": {"first": "pay", "second": "sex"},
    "mean": {"first": "pay"},
    "quantiles": {"first": "age", "levels": "0.25 0.5 0.75"},
    "marginals": {"among": "sex", "sets": "2"},
    "groups": {"grouped": "sex", "aggregates": "n=count, mean(pay)"},
    "sql": {"sql": "SELECT sex, COUNT(*) AS n FROM people WHERE age >= 18 GROUP BY sex"},
    "synthetic": {"among": "sex", "second": "sex", "records": "50"},
    "batch": {},
}


def form(**fields):
    return Form(FormData(fields))


def done(coroutine):
    return asyncio.run(coroutine)


class Curator:
    """A desk with a table that is open, and what a page would do with it."""

    def __init__(self, folder, **opening):
        self.folder, self.desk = folder, Desk()
        self.html = self.reopen("budget.db", **opening)

    def reopen(self, ledger, **opening):
        told = {"data": str(self.folder / "people.csv"), "ledger": str(self.folder / ledger), "budget": "10"}
        return done(self.desk.open(form(**(told | {"schema": SCHEMA} | opening)))).html

    def list_questions(self, *kinds):
        for kind in kinds:
            _, question = self.preview(kind=kind, **QUESTIONS[kind])
            done(self.desk.list_question(form(question=question)))

    @property
    def key(self):
        return self.desk._opened.key

    def preview(self, **fields):
        shown = done(self.desk.preview(form(table_key=self.key, **({"epsilon": "0.5"} | fields))))(BackgroundJob("preview"))
        return shown, shown.html.split('name="question" value="')[1].split('"')[0]

    def pay(self, question):
        return done(self.desk.pay(form(question=question), lambda work: work))(BackgroundJob("pay"))

    def click(self, question, jobs):
        """The job that pays, or None where it was refused."""
        try:
            return done(self.desk.pay(form(question=question), partial(jobs.start, "pay")))
        except BadInput:
            return None

    def clicks(self, question, jobs, times):
        """The same by so many at the same time."""
        told, start = [], threading.Barrier(times)

        def click():
            start.wait()
            told.append(self.click(question, jobs))

        threads = [threading.Thread(target=click) for _ in range(times)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        return told

    def charges(self):
        with Ledger(self.folder / "budget.db", create=False) as ledger:
            return [event.amount for event in ledger.events() if event.kind == "charge"]


@pytest.fixture
def people(tmp_path):
    draw = random.Random(2)
    rows = [(draw.randrange(100), round(draw.uniform(-10, 90), 2), draw.choice("FM")) for _ in range(500)]
    with (tmp_path / "people.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("age", "pay", "sex"), *rows])
    return tmp_path


@pytest.fixture
def curator(people):
    made = Curator(people)
    yield made
    made.desk.close()


@pytest.mark.parametrize("kind", KINDS)
def test_every_question_is_previewed_for_nothing_and_paid_for_once(curator, kind):
    if kind == "batch":
        with pytest.raises(BadInput, match="the list is empty"):
            curator.preview(kind=kind)
        curator.list_questions("count", "histogram")
    shown, question = curator.preview(kind=kind, **QUESTIONS[kind])
    assert curator.charges() == []
    assert "at ε = 0.5" in shown.html
    figure = json.loads(shown.figures["preview"])
    for line in figure["data"][:-1]:  # more ε, less error
        assert line["x"] == sorted(line["x"])
        assert line["y"] == sorted(line["y"], reverse=True)

    paid = curator.pay(question)
    assert sum(curator.charges()) == pytest.approx(0.5)
    assert f"The release: {QUESTIONS_IN_WORDS[kind]}" in paid.html
    assert "9.5</strong> of ε = 10 is left" in paid.html
    with pytest.raises(BadInput, match="paid for already"):
        curator.pay(question)
    assert sum(curator.charges()) == pytest.approx(0.5)

    table = list(csv.DictReader(io.StringIO(curator.desk.file(question, "csv")[0])))
    told = json.loads(curator.desk.file(question, "json")[0])
    assert len(table) == len(told["answers"]) == ANSWERS[kind]
    assert told["epsilon"] == {"spent": "0.5", "remaining": "9.5"}
    ends = [(row[name], row[name.replace("low", "high")]) for row in table for name in row if name.endswith("low")]
    assert len(ends) >= len(table) or kind == "synthetic"  # a record has no interval
    assert all(float(low) <= float(high) for low, high in ends if low)
    said = curator.desk.file(question, "txt")[0]
    assert said.startswith(told["explanation"] + "\n")
    assert (told["charge"]["account"], told["charge"]["amount"]) == ("people", "1/2")
    assert all(event["key"] in said for event in told["charge"]["events"][:3])  # of more, the number
    with pytest.raises(HTTPException):
        curator.desk.file(question, "exe")


QUESTIONS_IN_WORDS = {
    "histogram": "histogram of age",
    "cumulative": "ranges of age",
    "count": "count",
    "sum": "sum of pay by sex",
    "mean": "mean of pay",
    "quantiles": "quantiles of age",
    "marginals": "marginals of sex",
    "groups": "count, mean of pay by sex",
    "sql": "histogram of sex",
    "synthetic": "synthetic table of sex",
    "batch": "2 questions together",
}
ANSWERS = {"histogram": 100, "cumulative": 100, "count": 1, "sum": 4, "mean": 1, "quantiles": 3, "marginals": 4}
ANSWERS |= {"groups": 4, "sql": 4, "batch": 101, "synthetic": 50}


@pytest.mark.parametrize("kind", KINDS)
def test_the_code_that_is_shown_asks_the_same_question(curator, kind, monkeypatch, jostle):
    more = {"where": "age >= 18"} if kind in ("histogram", "mean") else {}
    if kind == "batch":
        curator.list_questions("count", "groups")
    _, key = curator.preview(kind=kind, **QUESTIONS[kind], **more)
    asked = curator.desk._questions[key]
    curator.pay(key)
    monkeypatch.chdir(curator.folder)
    found = snippets(curator.desk._opened.opening, asked)
    (curator.folder / SCHEMA_FILE).write_text(found[SCHEMA_FILE])
    names = {}
    exec(found["Python"], names)  # noqa: S102  # it is the code of the page
    assert names["question"].what == asked.question.what
    assert sum(curator.charges()) == pytest.approx(1)
    if "SQL" in found:
        given = {"rows": 1000} if kind == "mean" else {}  # a mean's error depends on them
        assert curator.desk._opened.table.ask_sql(found["SQL"]).preview(epsilon=1, **given)
    assert ("Command line" in found) == (kind not in ("cumulative", "marginals", "batch"))
    if "Command line" in found:
        status, _, complaint = jostle(*shlex.split(found["Command line"].replace("\\\n", " "))[1:])
        assert status == 0, complaint
        assert sum(curator.charges()) == pytest.approx(1.5)


def test_columns_of_a_synthetic_table_are_looked_at_for_nothing(curator):
    _, question = curator.preview(kind="synthetic", epsilon="5")
    paid = curator.pay(question)
    assert "What was measured" in paid.html
    assert "of ρ" not in paid.html
    before = curator.charges()
    alone = done(curator.desk.look(form(release=question, one="sex", other="")))
    assert "Measured together" in alone.html
    both = done(curator.desk.look(form(release=question, one="age", other="sex")))
    assert [json.loads(one.figures["looked"])["data"][0]["type"] for one in (alone, both)] == ["bar", "heatmap"]
    assert "95 % interval" in both.html
    assert curator.charges() == before
    made = curator.desk._released[question].synthetic
    content = curator.desk.file(question, "parquet")[0]
    assert pq.read_table(io.BytesIO(content)).num_rows == len(made)
    assert "Strategy: " in curator.desk.file(question, "txt")[0]
    with pytest.raises(BadInput, match="must be some of the table's"):
        done(curator.desk.look(form(release=question, one="name", other="")))
    with pytest.raises(BadInput, match="not kept any more"):
        done(curator.desk.look(form(release="another", one="age", other="")))


def test_a_mean_in_sql_is_previewed_for_some_numbers_of_rows(curator):
    shown, _ = curator.preview(kind="sql", sql="SELECT AVG(pay) FROM people")
    assert "if there are 1,000 rows" in shown.html


@pytest.mark.parametrize(("budget", "said"), [("rho=0.5", "of ρ = 0.5 is left"), ("1, 1e-6", "of ε = 1, δ = 1e-06 is left")])
def test_an_account_may_be_in_another_measure(people, budget, said):
    curator = Curator(people, budget=budget)
    assert said in curator.html
    shown, question = curator.preview(kind="histogram", first="sex", epsilon="0.01", measure="concentrated")
    assert "Expected error at ρ = 0.01" in shown.html
    paid = curator.pay(question)
    assert "charge ρ = 0.01" in shown.html
    assert "at ρ = 0.01" in paid.html
    assert "rho=0.01" in paid.html  # the code
    told = json.loads(curator.desk.file(question, "json")[0])
    assert told["rho"]["spent"] == "0.01"
    curator.desk.close()


def test_what_was_released_of_a_version_is_not_paid_for_twice(people):
    curator = Curator(people, version="2026-10")
    asked = {"kind": "histogram", "first": "age", "second": "sex", "algorithm": "Laplace"}
    curator.pay(curator.preview(**asked)[1])
    for fields in (asked, {"kind": "histogram", "first": "age", "epsilon": "0.01"}):
        shown, question = curator.preview(**fields)
        assert "is already paid for. It would cost nothing." in shown.html
        assert "Release at no cost" in shown.html
        paid = curator.pay(question)
        assert sum(curator.charges()) == 0.5
    assert "Memory saved ε = 0.51 in 2 questions, 2 of which cost nothing." in paid.html
    code = snippets(curator.desk._opened.opening, curator.desk._released[question].priced)
    assert "version='2026-10'" in code["Python"]
    assert "--data-version 2026-10" in code["Command line"]
    groups = {"kind": "groups", "grouped": "sex", "aggregates": "count, mean(age)"}
    assert "Release, and charge ε = 0.5" in curator.preview(**groups)[0].html
    curator.pay(curator.preview(**groups)[1])
    assert "All of it is already paid for. It would cost nothing." in curator.preview(**groups)[0].html
    question = curator.preview(**QUESTIONS["synthetic"], kind="synthetic")[1]
    curator.pay(question)
    code = snippets(curator.desk._opened.opening, curator.desk._released[question].priced)["Command line"]
    assert code.startswith("jostle synthesize ")
    assert "--data-version 2026-10" in code
    curator.desk.close()


def test_rows_that_have_an_account_get_a_second_one_only_beside_it(curator):
    curator.pay(curator.preview(kind="count")[1])
    with pytest.raises(BadInput, match="type this name: 'people'; or, if both budgets .* enter 'people' as Beside"):
        curator.reopen("budget.db", name="others")
    curator.reopen("budget.db", name="others", beside="people")
    curator.pay(curator.preview(kind="count")[1])
    assert sum(curator.charges()) == 1


def test_a_password_is_not_written_into_the_code():
    assert _without_password("postgresql://me:secret@host/db") == "postgresql://me:…@host/db"
    assert _without_password("a:b@c.csv") == "a:b@c.csv"


def test_the_claim_of_an_account_is_there_as_long_as_its_table_is_open(curator):
    with pytest.raises(HTTPException):
        curator.desk.file(curator.key, "claim")  # nothing was charged yet
    _, question = curator.preview(kind="count")
    curator.pay(question)
    assert curator.desk.file(curator.key, "claim")[0].startswith("# Privacy claim: people\n")
    with pytest.raises(HTTPException):
        curator.desk.file("another", "claim")


def test_marginals_are_over_all_sets_of_the_ticked_columns(curator):
    _, question = curator.preview(kind="marginals", sets="2")
    paid = curator.pay(question)
    assert {name for name in paid.figures if name.startswith("released")} == {f"released-{n}" for n in range(3)}
    assert "age, pay" in paid.html


def test_the_error_of_a_mean_is_told_for_some_numbers_of_rows(curator):
    shown, _ = curator.preview(kind="mean", first="pay", epsilon="2")
    lines = json.loads(shown.figures["preview"])["data"]
    assert [line["name"] for line in lines[:-1]] == [f"{rows:,} rows" for rows in ROWS]
    assert lines[-1]["y"] == pytest.approx([100 * margin([0.75, -0.25], 1 / 2) / rows for rows in ROWS])
    # What noise does to the two numbers behind a mean, wherever the mean is: 200,000 draws have the quantile within 2 %.
    # The preview takes it to be a quarter up the range: in the middle it is less, and at the ends more.
    rows, noise = 1000, np.random.default_rng(0).laplace(scale=1 / 2, size=(200_000, 2))
    for at in (0.0, 0.02, 0.1, 0.5, 0.9, 1.0):
        off = np.quantile(100 * np.abs(share(rows * np.array([at, 1 - at]) + noise) - at), 0.95)
        assert 0.85 * lines[-1]["y"][1] < off < 1.31 * lines[-1]["y"][1]


def test_clicks_at_the_same_time_charge_once(curator):
    _, question = curator.preview(kind="count")
    jobs = Jobs()
    told = curator.clicks(question, jobs, 8)
    jobs.close()
    assert [job.state for job in told if job is not None] == ["done"]
    assert len(curator.charges()) == 1


def test_a_question_stays_payable_where_too_much_is_waiting_and_is_charged_once(curator):
    _, question = curator.preview(kind="count")
    jobs, go = Jobs(), threading.Event()
    for _ in range(MOST_WAITING):
        jobs.start("wait", lambda job: go.wait(120))
    with pytest.raises(BadInput, match="too much work is waiting"):
        done(curator.desk.pay(form(question=question), partial(jobs.start, "pay")))
    assert curator.clicks(question, jobs, 2) == [None, None]
    go.set()
    jobs.close()
    assert curator.charges() == []
    jobs = Jobs()
    told = curator.clicks(question, jobs, 2)
    jobs.close()
    assert [job.state for job in told if job is not None] == ["done"]
    assert len(curator.charges()) == 1


def test_a_release_that_was_stopped_before_it_began_is_not_charged(curator):
    _, question = curator.preview(kind="count")
    jobs, go = Jobs(), threading.Event()
    waiting = [jobs.start("wait", lambda job: go.wait(120)) for _ in range(2)]
    job = curator.click(question, jobs)
    job.cancel()
    go.set()
    jobs.close()
    assert (job.state, curator.charges(), len(waiting)) == ("cancelled", [], 2)


def test_a_failure_says_what_became_of_the_budget_and_quotes_nothing(curator, monkeypatch):
    _, question = curator.preview(kind="histogram", first="age", algorithm="Laplace")
    (curator.folder / "people.csv").unlink()  # the engine fails, in words that might quote values
    with pytest.raises(JostleError) as failed:
        curator.pay(question)
    left = sum(curator.charges())
    assert ("Nothing was charged" in str(failed.value)) == (left == 0)
    assert ("was charged in the meantime" in str(failed.value)) == (left > 0)
    assert failed.value.__cause__ is None

    def surprised(*_, **__):
        raise RuntimeError("row 17 has salary 123456")

    monkeypatch.setattr("jostle.tables.question.CountsQuestion.release", surprised)
    with pytest.raises(JostleError) as failed:
        curator.pay(question)  # it is still on the desk
    assert "123456" not in str(failed.value)
    assert "(RuntimeError)" in str(failed.value)


def test_what_was_charged_is_told_although_the_cap_was_raised(curator, monkeypatch):
    _, question = curator.preview(kind="count", epsilon="1")

    def surprised(asked, **_):
        with Ledger(curator.folder / "budget.db", create=False) as elsewhere:
            account = elsewhere.account("people", cap=10)
            account.charge(Fraction(1), operator="laplace", neighbours=account.neighbours)
            account.set_cap(11)
        raise RuntimeError

    monkeypatch.setattr("jostle.tables.question.CountsQuestion.release", surprised)
    monkeypatch.setattr("jostle.tables.sums_and_means.SumOrMeanQuestion.release", surprised)
    with pytest.raises(JostleError, match="ε = 1 was charged in the meantime"):
        curator.pay(question)


@pytest.mark.parametrize("field", ["data", "ledger"])
def test_the_folder_of_a_user_whom_nobody_knows_is_refused(people, field):
    told = {"data": str(people / "people.csv"), "ledger": str(people / "b.db"), "budget": "10", "schema": SCHEMA}
    with pytest.raises(BadInput, match=f"^{field}: begins with ~"):
        done(Desk().open(form(**(told | {field: "~nobody-of-that-name/x"}))))


def test_who_is_told_apart_from_the_ledger(people, monkeypatch):
    monkeypatch.setenv("JOSTLE_WHO", "x" * 300)
    with pytest.raises(BadInput, match="^JOSTLE_WHO: "):
        Curator(people)


def test_a_budget_that_others_spent_after_the_preview_is_not_overdrawn(curator):
    _, question = curator.preview(kind="count", epsilon="6")
    with Ledger(curator.folder / "budget.db", create=False) as elsewhere:
        account = elsewhere.account("people", cap=10)
        account.charge(Fraction(5), operator="laplace", neighbours=account.neighbours)
    with pytest.raises(JostleError, match=r"requested ε = 6, remaining 5.*Nothing was charged"):
        curator.pay(question)
    assert curator.charges() == [5]


def test_nothing_that_was_paid_for_is_lost(curator, tmp_path):
    questions = [curator.preview(kind="count")[1] for _ in range(3)]
    for question in questions:
        curator.pay(question)
    again = done(curator.desk.current(form())).html  # the page is loaded again
    assert all(f"/release/{question}.csv" in again for question in questions)
    curator.desk.sent(questions[0], "csv")
    curator.reopen("other.db")
    assert f"/release/{questions[1]}.json" in done(curator.desk.current(form())).html  # nor by opening another table
    saved = [file for _, file in curator.desk.rescue(tmp_path)]
    assert [file.name for file in saved] == ["count.csv", "count-2.csv"]
    assert saved[0].read_text() == curator.desk.file(questions[1], "csv")[0]
    assert curator.desk.rescue(tmp_path) == []


def test_a_release_comes_with_what_can_be_claimed_of_its_account(curator, tmp_path):
    _, question = curator.preview(kind="count")
    shown = curator.pay(question)
    assert f"/release/{question}.claim" in shown.html
    text, kind, name = curator.desk.file(question, "claim")
    assert text.startswith("# Privacy claim: people\n")
    assert "| Spent | ε = 0.5 |" in text
    assert (kind, name) == ("text/markdown; charset=utf-8", "privacy-claim.md")
    curator.desk.sent(question, "claim")
    assert len(curator.desk.rescue(tmp_path)) == 1  # the answers are not in it


def test_whoever_has_the_explanation_does_not_have_the_answers(curator, tmp_path):
    _, question = curator.preview(kind="histogram", first="age")
    curator.pay(question)
    for kind in ("txt", "trace"):
        assert curator.desk.file(question, kind)
        curator.desk.sent(question, kind)
    assert len(curator.desk.rescue(tmp_path)) == 1
    _, question = curator.preview(kind="count")
    curator.pay(question)
    curator.desk.sent(question, "json")
    assert curator.desk.rescue(tmp_path) == []


def test_what_cannot_be_saved_where_it_should_is_saved_elsewhere_and_each_by_itself(curator, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    questions = [curator.preview(kind=kind, first="pay")[1] for kind in ("count", "sum", "mean")]
    for question in questions:
        curator.pay(question)
    broken = curator.desk._released[questions[1]]
    monkeypatch.setattr(broken, "to_csv", lambda: 1 / 0)
    found = [where for _, where in curator.desk.rescue(tmp_path / "gone")]
    assert [file.name for file in (found[0], found[2])] == ["count.csv", "mean-of-pay.csv"]
    assert all(file.parent.parent == tmp_path and file.read_text().endswith("\n") for file in (found[0], found[2]))
    assert isinstance(found[1], ZeroDivisionError)
    monkeypatch.undo()
    assert [where for _, where in curator.desk.rescue(tmp_path)] == [tmp_path / "sum-of-pay.csv"]


def test_a_page_that_cannot_be_drawn_says_that_it_is_paid_for(curator, monkeypatch):
    _, question = curator.preview(kind="histogram", first="age")

    def surprised(*_):
        raise RuntimeError("row 17 has salary 123456")

    monkeypatch.setattr(Released, "figures", surprised)
    jobs = Jobs()
    job = curator.click(question, jobs)
    jobs.close()
    assert (job.state, len(curator.charges()) > 0) == ("done", True)
    assert "It was released and charged (ε = 0.5)" in job.shown.html
    assert f"/release/{question}.csv" in job.shown.html
    assert "9.5</strong> of ε = 10 is left" in job.shown.html
    assert "123456" not in job.shown.html
    assert curator.desk.file(question, "csv")


@pytest.mark.parametrize("kind", ["histogram", "quantiles"])
def test_answers_come_without_intervals_where_these_cannot_be_simulated(curator, tmp_path, monkeypatch, kind):
    tried = []

    def too_large(*_):
        tried.append(1)
        raise MemoryError

    monkeypatch.setattr(Release, "margins", property(too_large))
    monkeypatch.setattr(Release, "simulated_errors", too_large)
    _, question = curator.preview(kind=kind, **QUESTIONS[kind])
    paid = curator.pay(question)
    assert "could not be simulated" in paid.html
    assert "Noisy answers, without intervals" in paid.html
    text, _, name = curator.desk.file(question, "csv")
    assert name.endswith("-without-intervals.csv")
    rows = list(csv.DictReader(io.StringIO(text)))
    told = json.loads(curator.desk.file(question, "json")[0])
    assert len(rows) == len(told["answers"]) == ANSWERS[kind]
    assert list(rows[0]) == list(told["answers"][0]) == COLUMNS[kind]
    for said in (told["explanation"], curator.desk.file(question, "txt")[0]):
        assert "could not be simulated, so they come without intervals" in said
    assert len(tried) == 1


COLUMNS = {"histogram": ["age", "count"], "quantiles": ["quantile", "age"]}


def test_nothing_is_simulated_to_save_what_is_not_shown_yet(curator, tmp_path, monkeypatch):
    questions = [curator.preview(kind=kind, **QUESTIONS[kind])[1] for kind in ("histogram", "sum")]
    monkeypatch.setattr(Released, "simulate", lambda *_: 1 / 0)  # what shows it is stopped just before
    for question in questions:
        curator.pay(question)
    saved = [file for _, file in curator.desk.rescue(tmp_path)]
    assert [file.name for file in saved] == ["histogram-of-age-without-intervals.csv", "sum-of-pay-by-sex.csv"]
    assert saved[0].read_text().startswith("age,count\n")
    assert saved[1].read_text().startswith("sex,sum,low,high\n")


def test_a_column_may_have_any_name(people):
    (people / "named.csv").write_text("self,low\n=1,a\n=2,a\n")
    categories = '[columns.{}]\nkind = "category"\ncategories = ["=1", "=2", "a"]\n'
    schema = "".join(map(categories.format, ("self", "low")))
    curator = Curator(people, data=str(people / "named.csv"), schema=schema, name="people")
    for first, named in (("self", "self"), ("low", "low (column)")):
        _, question = curator.preview(kind="histogram", first=first, algorithm="Laplace")
        curator.pay(question)
        rows = list(csv.DictReader(io.StringIO(curator.desk.file(question, "csv")[0])))
        assert list(rows[0]) == [named, "count", "low", "high"]
        assert [row[named] for row in rows][:3] == ["'=1", "'=2", "a"]
    curator.desk.close()


def test_only_what_was_downloaded_makes_room(curator, monkeypatch):
    monkeypatch.setattr("jostle.explorer.release.MOST_KEPT", 2)
    questions = [curator.preview(kind="count")[1] for _ in range(4)]
    for question in questions[:3]:
        curator.pay(question)
    curator.desk.file(questions[0], "csv")  # asked for, and never arrived
    curator.desk.sent(questions[1], "csv")
    curator.desk.sent(questions[2], "html")  # which does not have all answers
    curator.pay(questions[3])
    for question in (questions[0], questions[2], questions[3]):
        assert curator.desk.file(question, "csv")
    with pytest.raises(HTTPException):
        curator.desk.file(questions[1], "csv")


def test_a_question_about_a_table_that_was_closed_is_refused(curator):
    _, question = curator.preview(kind="count")
    key = curator.key
    curator.reopen("other.db")
    with pytest.raises(BadInput, match="not known any more"):
        curator.pay(question)
    with pytest.raises(BadInput, match="not open any more"):
        done(curator.desk.preview(form(table_key=key, kind="count", epsilon="1")))
    assert curator.charges() == []


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"kind": "sum", "first": "sex"}, "first"),
        ({"kind": "mean", "first": "age", "second": "nobody"}, "first"),
        ({"kind": "quantiles", "first": "age", "levels": "2"}, "levels"),
        ({"kind": "quantiles", "first": "age", "levels": ""}, "levels"),
        ({"kind": "histogram", "first": "age", "second": "age"}, "second"),
        ({"kind": "cumulative", "first": "age", "algorithm": "UGrid"}, "algorithm"),
        ({"kind": "count", "where": "age ="}, "where"),
        ({"kind": "count", "epsilon": "-1"}, "epsilon"),
        ({"kind": "rows"}, "kind"),
    ],
)
def test_what_is_wrong_with_a_question_is_said_at_its_field(curator, fields, field):
    with pytest.raises(BadInput) as refused:
        curator.preview(**fields)
    assert refused.value.argument == field
    assert curator.charges() == []


def test_what_is_left_is_never_rounded_up(curator):
    _, question = curator.preview(kind="count", epsilon="0.00004")
    paid = curator.pay(question)
    assert "9.999</strong> of ε = 10 is left" in paid.html


def test_names_that_are_code_stay_names(people):
    nasty = ["<script>alert(1)</script>", "=HYPERLINK(evil)", "<a href='https://evil.example'>x</a>"]
    table = people / "nasty.csv"
    with table.open("w", newline="") as file:
        csv.writer(file).writerows([nasty, [1, 2, 3]])
    listed = done(Desk().columns(form(data=str(table), heading="names"))).html
    assert "<script>" not in listed
    assert "&lt;script&gt;" in listed
    rows = {}
    for number, name in enumerate(nasty):
        rows |= {f"column-{number}-name": name, f"column-{number}-use": "yes", f"column-{number}-kind": "category"}
        rows |= {f"column-{number}-categories": "<img src=x onerror=alert(1)>; =1+1; -5 to -1"}
    curator = Curator(people, data=str(table), schema="", name="<i>x</i>", **rows)
    _, question = curator.preview(kind="histogram", first=nasty[0], second=nasty[2], algorithm="Laplace")
    paid = curator.pay(question)
    for html in (curator.html, paid.html):
        assert not any(raw in html for raw in ("<script>", "<img", "<a href='", "<i>x"))
    assert not any("<a" in text or "<img" in text or "<script" in text for text in paid.figures.values())
    _, question = curator.preview(kind="histogram", first=nasty[1], algorithm="Laplace")
    curator.pay(question)
    text = curator.desk.file(question, "csv")[0]
    assert text.startswith("'=HYPERLINK(evil),")
    curator.desk.close()


def test_a_first_line_that_may_be_a_row_is_not_shown(tmp_path):
    (tmp_path / "rows.csv").write_text("Zarathustra,44\nBrunhilde,50\n")
    desk, data = Desk(), str(tmp_path / "rows.csv")
    with pytest.raises(BadInput) as refused:
        done(desk.columns(form(data=data)))
    assert refused.value.argument == "heading"
    shown = done(desk.columns(form(data=data, heading="none", column_names="name, age"))).html
    assert "Zarathustra" not in shown
    assert 'value="age"' in shown
    opening = {"data": data, "ledger": str(tmp_path / "b.db"), "budget": "1", "heading": "none", "column_names": "name, age"}
    schema = '[columns.age]\nkind = "integer"\nlow = 0\nhigh = 99\n'
    assert "column" in done(desk.open(form(**opening, schema=schema))).html
    desk.close()
    with pytest.raises(BadInput) as refused:  # nor in an error, where it was taken for names
        done(desk.open(form(**(opening | {"heading": ""}), schema=schema)))
    assert "Zarathustra" not in str(refused.value)
