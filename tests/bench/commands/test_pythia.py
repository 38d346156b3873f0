"""`jostle bench pythia`, as it is called from a shell, on a small part of the grid over made-up shapes."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path

import pytest

from jostle.simulate import measure
from tests.choice.tables import folder_of_shapes


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Shapes, and room for measurements that later tests find."""
    return folder_of_shapes(tmp_path_factory.mktemp("pythia"))


@pytest.fixture
def jostle(jostle, monkeypatch, folder, tmp_path):
    """The command in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("JOSTLE_DATA", str(folder))
    return partial(jostle, "bench", "pythia")


def test_it_measures_reports_and_needs_no_measuring_the_second_time(jostle, folder, tmp_path, monkeypatch):
    said = ("--task", "range-1d", "--quick", "--store", folder / "store", "--workers", 1, "--deployed", 2)
    status, output, errors = jostle(*said, "--report", "page.md")
    assert status == 0, errors
    assert "36 inputs from 3 data sets, 3 runs of an option on each" in output
    assert "Regret against the best of the paper's suite, by workload (Fig. 4)" in output
    assert "Deployed" in output
    assert "(Fig. 9)" not in output, "too long for a terminal"
    page = (tmp_path / "page.md").read_text("utf-8")
    assert "Made by `jostle bench pythia --task range-1d --deployed 2 --quick`." in page
    assert all(f"(Fig. {number})" in page for number in (4, 7, 8, 9, 10, 11))
    figures = json.loads((tmp_path / "page.json").read_text("utf-8"))
    assert set(figures) == set(re.findall(r"<!-- picture: ([\w-]+) -->", page))
    assert all(figure["data"] and "template" not in figure["layout"] for figure in figures.values())
    assert "Plotly.newPlot" in (tmp_path / "jostle-pythia" / "pythia-range-1d.html").read_text("utf-8")
    monkeypatch.setattr(measure, "measure", lambda job: pytest.fail("it measured again"))
    before = sorted((folder / "store").iterdir())
    status, output, errors = jostle(*said, "--no-collect", "--json", "--out", "pages")
    assert status == 0, errors
    (numbers,) = json.loads(output)
    assert (numbers["task"], numbers["inputs"], numbers["grid"], numbers["trials"]) == ("range-1d", 36, 36, 3)
    assert {one["name"] for one in numbers["deployed"]} == {"Pythia", "Pythia as published"}
    assert all(one["inputs"] == 2 for one in numbers["deployed"])
    assert sorted((folder / "store").iterdir()) == before, "what was only read is left as it is"


@pytest.mark.parametrize("task", ["range-1d", "range-2d"])
def test_the_published_pages_have_their_pictures(task):
    page = Path(__file__).resolve().parents[3] / "docs" / "results" / f"pythia-{task}.md"
    text = page.read_text("utf-8")
    assert "Made by `jostle bench pythia" in text
    assert set(re.findall(r"<!-- picture: ([\w-]+) -->", text)) == set(
        json.loads(page.with_suffix(".json").read_text("utf-8"))
    )


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--task", "range-3d"), "task: "),
        (("--no-collect", "--store", "nowhere"), "store: "),
        (("--deployed", -1), "deployed: "),
        (("--report", "nowhere/page.md"), "out, report: "),
        (("--task", "range-1d", "--options", "AGrid"), "options: "),
        (("--data", "nowhere"), "data: "),
    ],
)
def test_bad_arguments_are_named_before_anything_is_measured(jostle, monkeypatch, arguments, complaint):
    monkeypatch.setattr(measure, "measure", lambda job: pytest.fail("it measured"))
    status, output, errors = jostle(*arguments)
    assert (status, output) == (2, "")
    assert complaint in errors
