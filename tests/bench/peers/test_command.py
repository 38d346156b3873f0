"""`jostle bench peers`, with real peers in environments of their own."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from jostle.cli.main import main
from jostle_bench.peers import environments, jobs


@pytest.fixture
def jostle(monkeypatch, capsys, tmp_path):
    """Call the command in an empty folder, without public data; gives the exit status and both outputs."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "240")
    monkeypatch.delenv("JOSTLE_DATA", raising=False)

    def call(*arguments: object) -> tuple[object, str, str]:
        monkeypatch.setattr(sys, "argv", ["jostle", "bench", "peers", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        return ended.value.code or 0, *capsys.readouterr()

    return call


def test_it_measures_reports_and_needs_no_measuring_the_second_time(jostle, peers_folder, tmp_path, monkeypatch):
    lost = environments.Peer(name="mbi", title="Lost", not_installable="its authors took it back")
    everybody = environments.known() | {"mbi": lost}
    monkeypatch.setattr(environments, "known", lambda: everybody)
    said = ("--quick", "--parts", "accuracy", "--envs", peers_folder, "--only", "opendp,diffprivlib,mbi")
    status, output, errors = jostle(*said, "--report", "page.md")
    assert status == 0, errors
    assert "Lost takes no part: its authors took it back" in errors
    page = (tmp_path / "page.md").read_text("utf-8")
    assert "Made by `jostle bench peers --quick --only opendp,diffprivlib,mbi --parts accuracy`." in page
    assert page.index("## Machine and versions") < page.index("## Where jostle is behind") < page.index("## Accuracy at")
    for text in (
        "OpenDP, tree",
        "diffprivlib, cells added up",
        "its tree is for one dimension",
        "**not installed**: its authors took it back",
        "scale: **not run**",
    ):
        assert text in page
    assert "## Speed" not in page, "nothing was measured"
    assert set(json.loads((tmp_path / "page.json").read_text("utf-8"))) == set(
        re.findall(r"<!-- picture: ([\w-]+) -->", page)
    )
    assert "Plotly.newPlot" in (tmp_path / "jostle-peers-results" / "peers.html").read_text("utf-8")

    monkeypatch.setattr(jobs, "_process", lambda *_: pytest.fail("it measured again"))
    status, output, errors = jostle("--quick", "--no-collect", "--envs", peers_folder, "--json")
    assert status == 0, errors
    numbers = json.loads(output)
    assert numbers["not_run"] == ["classifiers", "delta", "synthetic", "speed", "scale"]
    assert numbers["machine"]["cores"] >= 1
    cells = numbers["cells"]
    assert {(one["peer"], one["group"]) for one in cells} == {
        ("OpenDP", "histogram"),
        ("OpenDP", "quantiles"),
        ("OpenDP, cells added up", "ranges"),
        ("OpenDP, tree", "ranges"),
        ("diffprivlib", "histogram"),
        ("diffprivlib", "quantiles"),
        ("diffprivlib, cells added up", "ranges"),
    }
    assert all(one["low"] <= one["ratio"] <= one["high"] for one in cells)
    assert [one["ratio"] for one in cells] == pytest.approx([one["ours"] / one["theirs"] for one in cells])
    done = {(one["peer"], one["kind"]): one["facts"] for one in numbers["jobs"] if one["status"] == "ok"}
    assert done["diffprivlib", "quantiles"]["neighbours"] == "replace"
    assert done["opendp", "histogram"]["version"] == numbers["peers"]["opendp"]["version"]
    assert all(one["wall"] > 0 and one["peak_bytes"] > 10**6 for one in numbers["jobs"] if one["status"] == "ok")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("--only", "nobody"), "only: "),
        (("--parts", "beauty"), "parts: "),
        (("--report", "nowhere/page.md"), "report: "),
        (("--domains", "17"), "domains: "),
        (("--tables", "chairs"), "tables: "),
        (("--data", "nowhere"), "data: "),
    ],
)
def test_mistakes_are_told_before_anything_is_installed(jostle, arguments, complaint, tmp_path):
    status, output, errors = jostle(*arguments)
    assert (status, output) == (2, "")
    assert complaint in errors
    assert not list(tmp_path.iterdir())


def test_an_interrupt_keeps_what_was_done(jostle, monkeypatch, peers_folder):
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(jobs, "_process", interrupted)
    status, _, errors = jostle("--quick", "--parts", "accuracy", "--envs", peers_folder)
    assert status == 130
    assert "the same command goes on from there" in errors


def test_the_published_page_has_its_pictures():
    page = Path(__file__).resolve().parents[3] / "docs" / "results" / "peers.md"
    text = page.read_text("utf-8")
    assert "Made by `jostle bench peers" in text
    figures = json.loads(page.with_suffix(".json").read_text("utf-8"))
    assert set(re.findall(r"<!-- picture: ([\w-]+) -->", text)) == set(figures)
