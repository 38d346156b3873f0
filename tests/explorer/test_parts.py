"""The parts behind the pages: uploads, jobs, forms, comparisons and walks."""

from __future__ import annotations

import asyncio
import io
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from hypothesis import given, strategies

if os.environ.get("JOSTLE_REQUIRE_ALL") != "1":
    pytest.importorskip("starlette", reason="the explorer is not installed: pip install 'jostle[explorer]'")

from starlette.datastructures import FormData, UploadFile

from jostle import BadInput, workloads
from jostle.explorer import classify, compare, inputs, schema_form, uploads, why
from jostle.explorer.forms import Form
from jostle.explorer.inputs import PublicInput
from jostle.explorer.jobs import MOST_KEPT, MOST_WAITING, BackgroundJob, Jobs, PageFragment
from jostle.explorer.released import FORMULAS
from jostle.schema import Boolean, Category, Date, Integer, Real
from tests.explorer.tiny import tiny_selector


def form(**fields):
    return Form(FormData(fields))


def uploaded(name, content):
    return UploadFile(io.BytesIO(content), filename=name)


# -------------------------------------------------------------------------------------------------------- uploads


@pytest.mark.parametrize(
    ("content", "counts"),
    [
        (b"1\n2\n3\n", [1, 2, 3]),
        (b"1,2,3", [1, 2, 3]),
        (b"1;2\n3;4\n", [[1, 2], [3, 4]]),
        (b"age,count\n1,5\n2,6\n", [5, 6]),
        (b"\xef\xbb\xbf[1, 2]", [1, 2]),
        (b'{"counts": [[1, 0], [2, 5]]}', [[1, 0], [2, 5]]),
        (b"1.0\n2e3\n", [1, 2000]),
    ],
)
def test_histograms_are_read_as_people_write_them(content, counts):
    assert uploads.histogram(content).tolist() == counts


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "is empty"),
        (b"\x89PNG\r\n\x1a\n\0\0", "is not a text file"),
        (b"\xff\xfe\x00", "is not a text file"),
        (b"hello, world\nbye\n", "is not a histogram"),
        (b"1\n-2\n", "is not a histogram"),
        (b"1.5\n2\n", "is not a histogram"),
        (b"1,2\n3\n", "is not a histogram"),
        (b"[1, NaN]", "is not a histogram"),
        (b"[1, 1" + b"0" * 400 + b"]", "is not a histogram"),
        (b"[[[1]]]", "is not a histogram"),
        (b"[" * 100_000, "is no JSON"),
        (b'{"a": 1}', "is not a histogram"),
        (b"0\n0\n", "has no records"),
        (b"1e30\n0\n", "has no records, or more"),
        (b"1\n" * 300_000, "cells, and may have"),
    ],
)
def test_what_is_no_histogram_is_refused_with_a_reason(content, problem):
    with pytest.raises(BadInput, match=problem) as refused:
        uploads.histogram(content)
    assert refused.value.argument == "upload"


@given(strategies.binary(max_size=300))
def test_no_upload_breaks_the_reader(content):
    try:
        counts = uploads.histogram(content)
    except BadInput:
        return
    assert counts.ndim in (1, 2)
    assert counts.min() >= 0


def test_a_labelled_table_is_read_with_its_schema():
    content = "age,sex,other\n" + "\n".join(f"{20 + i},{'FM'[i % 2]},x" for i in range(20))
    schema = (
        '[columns.age]\nkind = "integer"\nlow = 0\nhigh = 99\n[columns.sex]\nkind = "category"\ncategories = ["F", "M"]\n'
    )
    table = uploads.labelled("people.csv", content.encode(), schema, "sex")
    assert (table.name, table.attributes, len(table)) == ("people", ("age",), 20)
    for wrong, field in (
        ({"label": "city"}, "label"),
        ({"schema_text": "x"}, "schema"),
        ({"content": b"age\n1\n"}, "upload"),
    ):
        told = {"name": "people.csv", "content": content.encode(), "schema_text": schema, "label": "sex"} | wrong
        with pytest.raises(BadInput) as refused:
            uploads.labelled(**told)
        assert refused.value.argument == field


def test_a_schema_is_filled_in_column_by_column():
    rows = {
        "age": {"kind": "integer", "low": "0", "high": "99", "bins": "10"},
        "sex": {"kind": "category", "categories": "F, M"},
        "pay": {"kind": "real", "low": "0", "high": "1e5"},
        "day": {"kind": "date", "low": "2024-01-01", "high": "2024-12-31", "every": "week"},
        "old": {"kind": "boolean"},
    }
    fields = {"column-5-name": "unused", "column-5-kind": "category"}
    for number, (name, said) in enumerate(rows.items()):
        fields |= {f"column-{number}-name": name, f"column-{number}-use": "yes"}
        fields |= {f"column-{number}-{key}": value for key, value in said.items()}
    made = schema_form.read(form(**fields))
    assert made["age"] == Integer(0, 99, bins=10)
    assert made["sex"] == Category(["F", "M"])
    assert made["pay"] == Real(0.0, 1e5, bins=64)
    assert made["day"] == Date("2024-01-01", "2024-12-31", every="week")
    assert made["old"] == Boolean()
    assert "unused" not in made
    with pytest.raises(BadInput) as refused:
        schema_form.read(form(**(fields | {"column-0-high": "-5"})))
    assert refused.value.argument == "column-0-high"
    assert schema_form.read(form(**fields, missing="NA, ?,"))["sex"] == Category(["F", "M"], missing=["NA", "?"])
    with pytest.raises(BadInput) as refused:
        schema_form.read(form(**fields, missing="M"))
    assert refused.value.argument == "missing"
    spaced = {f"column-{number}-name": name for number, name in enumerate((" old", " ", "sex "))}
    kinds = {f"column-{number}-kind": "boolean" for number in range(3)}
    made = schema_form.read(form(**spaced, **kinds, **{"column-0-use": "yes", "column-2-use": "yes"}))
    assert list(made) == [" old", "sex "]


@pytest.mark.parametrize("data", ["people.csv", "people.csv/", "PEOPLE.TSV//"])
def test_the_first_line_of_a_text_file_is_asked_about_however_it_is_named(data):
    with pytest.raises(BadInput, match="^heading: "):
        schema_form.names_in_line(form(), data, to_show=True)


@pytest.mark.parametrize("said", ["=1", "+1", "-2+3+cmd|' /C calc'!A0", "-a", "-", "-1-1", "@x"])
def test_what_a_spreadsheet_would_work_out_gets_an_apostrophe(said):
    assert FORMULAS.match(said)


@pytest.mark.parametrize("said", ["-5", "-5.5", "-.5", "-1e-5", "-5–-1", "-0.5–3.25", "F", "1-2"])
def test_numbers_and_ranges_do_not(said):
    assert not FORMULAS.match(said)


# ----------------------------------------------------------------------------------------------------------- jobs


def test_a_job_tells_how_far_it_is_and_stops_when_asked():
    jobs, reached = Jobs(), threading.Event()

    def work(job):
        for done in range(10**9):  # hours, so that it does not end before it is told to, however busy the machine
            job.step(done, 10**9, "counting")
            reached.set()
        return PageFragment("")

    job = jobs.start("count", work)
    assert reached.wait(60)
    job.cancel()
    jobs.close()
    assert (job.state, job.total) == ("cancelled", 10**9)


def test_a_job_that_fails_says_why_without_quoting_what_it_did_not_foresee():
    def surprised(job):
        raise RuntimeError("row 17 has salary 123456")

    def refused(job):
        raise BadInput("epsilon", "is odd", "pass another")

    jobs = Jobs()
    first, second = jobs.start("a", surprised), jobs.start("b", refused)
    jobs.close()
    assert first.state == second.state == "failed"
    assert "123456" not in str(first.to_json())
    assert "RuntimeError" in first.message
    assert second.message == "epsilon: is odd. Remedy: pass another."


def test_there_is_an_end_to_how_much_may_wait():
    jobs, go = Jobs(), threading.Event()

    def wait(job):
        go.wait(120)
        return PageFragment("")

    for _ in range(MOST_WAITING):
        jobs.start("wait", wait)
    with pytest.raises(BadInput, match="too much work"):
        jobs.start("one more", wait)
    go.set()
    jobs.close()


def test_as_much_is_remembered_as_is_said():
    jobs = Jobs()
    for _ in range(MOST_KEPT + 5):
        job = jobs.start("done", lambda job: PageFragment(""))
        while not job.finished:
            time.sleep(0.001)
    jobs.close()
    assert len(jobs._jobs) == MOST_KEPT


# ---------------------------------------------------------------------------------------------------- comparisons


def test_bias_and_deviation_are_those_of_the_algorithm():
    data = np.zeros(64, dtype=np.int64)
    data[:8] = 1000
    given_ = PublicInput("steps", data, workloads.identity(64), 1.0)
    job = BackgroundJob("compare")
    laplace = compare.attempt("Laplace", given_, 200, job)
    # The variance of Laplace noise of scale 1 is 2; the mean of 200 · 64 squares is within 10 % of it (seeded).
    assert laplace.deviation == pytest.approx(np.sqrt(2), rel=0.1)
    assert laplace.bias is None
    assert compare.attempt("Laplace", given_, 10, job).bias is None
    uniform = compare.attempt("Uniform", given_, 50, job)
    assert uniform.bias == pytest.approx(np.sqrt(((data - data.mean()) ** 2).mean()), rel=0.01)
    assert uniform.bias > 50 * uniform.deviation
    assert uniform.bias_error < uniform.deviation


def test_an_input_has_the_cells_and_records_that_were_asked_for():
    for name, source in inputs.sources().items():
        for cells in (16, 100):
            read = asyncio.run(inputs.read(form(dataset=name, cells=str(cells), scale="5000", workload="identity")))
            assert read.data.shape == (cells,) * source.dimensions
            assert read.scale == 5000


# ---------------------------------------------------------------------------------------------------------- walks


@pytest.fixture(scope="module")
def selector():
    return tiny_selector()


def test_the_marked_way_through_the_tree_ends_at_the_choice(selector):
    for scale in ("60", "100000000"):
        fields = {"selector": "it", "dataset": "hills 1D (made up)", "workload": "identity", "cells": "64", "scale": scale}
        read = asyncio.run(inputs.read(form(**fields)))
        values = {n: why.FEATURES[n].value(read.data, read.workload, read.epsilon) for n in selector.needs}
        decision = selector.decide(values.__getitem__)
        node = why.nested(selector.trees["identity"][0], values, selector.about.options)
        while "leaf" not in node:
            node = next(way for way in node["branches"] if way["taken"])
        assert node["leaf"] == decision.choice
        shown = asyncio.run(why.look(form(**fields), {"it": selector}))
        assert f"{decision.choice}</span> is chosen" in shown.html
        assert "regrets" in shown.figures


def test_a_selector_for_another_task_is_refused(selector):
    with pytest.raises(BadInput, match="range-2d"):
        asyncio.run(why.look(form(selector="it", dataset="hills 2D (made up)", workload="identity"), {"it": selector}))


def test_a_selector_comes_in_as_a_file_or_is_refused_at_its_field(selector):
    known = {}
    shown = asyncio.run(why.upload(form(selector_file=uploaded("mine.json", selector.dumps().encode())), known))
    assert "mine.json" in shown.html
    assert known["mine.json"].about == selector.about
    for content in (b"{}", b"\0", b"[1, 2]", b""):
        with pytest.raises(BadInput) as refused:
            asyncio.run(why.upload(form(selector_file=uploaded("other.json", content)), known))
        assert refused.value.argument == "selector_file"
    assert list(known) == ["mine.json"]


def test_a_small_selector_is_trained_on_what_is_always_there(monkeypatch):
    monkeypatch.setenv("JOSTLE_DATA", "")
    made = why.small("range-2d", BackgroundJob("train"))
    assert made.about.options == why.SMALL["range-2d"]["options"]


# ---------------------------------------------------------------------------------------------------- classifiers


def test_learners_are_compared_on_an_uploaded_table():
    rows = "\n".join(f"{i % 50},{'yes' if i % 50 > 20 else 'no'}" for i in range(600))
    schema = (
        '[columns.x]\nkind = "integer"\nlow = 0\nhigh = 49\n[columns.y]\nkind = "category"\ncategories = ["no", "yes"]\n'
    )
    fields = {"labelled": "upload", "epsilons": "0.5 20", "draws": "2", "label": "y", "schema": schema, "learner": "Single"}
    table = uploaded("mine.csv", f"x,y\n{rows}\n".encode())
    job = BackgroundJob("learn")
    shown = asyncio.run(classify.prepare(form(**fields, upload=table)))(job)
    assert "mine: predicting y" in shown.html
    assert "Single" in shown.html
    assert "learners" in shown.figures
    wrong = fields | {"schema": schema.replace('"no", "yes"', '"left", "right"')}
    again = uploaded("mine.csv", f"x,y\n{rows}\n".encode())
    work = asyncio.run(classify.prepare(form(**wrong, upload=again)))
    with pytest.raises(BadInput, match="no value that the schema declares"):
        work(job)


def test_fewer_draws_than_asked_for_are_said(monkeypatch):
    monkeypatch.setattr(classify, "SECONDS", 0.0)
    fields = {"labelled": "artificial-0", "epsilons": "0.5 2", "draws": "3", "records": "200", "learner": "Majority"}
    shown = asyncio.run(classify.prepare(form(**fields)))(BackgroundJob("learn"))
    assert "Fewer than 3 draws were made" in shown.html
    assert "Majority (1 at ε = 0.5, 1 at ε = 2)" in shown.html
    assert "(1 of 3)" in shown.html
    assert "±" not in shown.html.split("<tbody>")[1]  # one draw has no spread
    monkeypatch.setattr(classify, "SECONDS", 100.0)
    shown = asyncio.run(classify.prepare(form(**fields)))(BackgroundJob("learn"))
    assert "Fewer than" not in shown.html
    assert shown.html.split("<tbody>")[1].count("±") == 2


def test_what_pages_offer_needs_none_of_what_takes_long_to_import():
    """A page that did would wait for the lock of an import that is under way in the background."""
    program = """
import sys
from jostle import learn
from jostle.explorer.access import Access
from jostle.explorer.serving import Explorer
for offers in Explorer(Access(host="127.0.0.1", port=1)).page_facts().values():
    offers()
print([name for name in ("sklearn", "pandas", "numba", "scipy.stats") if name in sys.modules])
print(learn.names() == list(learn.every()))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.split("\n")[:2] == ["[]", "True"]
