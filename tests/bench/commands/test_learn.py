"""`jostle bench learn`: small runs of it, as a person and as a script would start them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from jostle.cli.main import app
from jostle.kernel.errors import BadInput


def test_a_quick_run_prints_a_table_and_writes_a_page_and_a_picture(
    tmp_path: Path, jostle_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JOSTLE_DATA", str(jostle_data))
    asked = ["bench", "learn", "--quick", "--tables", "hiv", "--learners", "Majority,Single,Grid", "--workers", "1"]
    asked += ["--out", str(tmp_path / "results")]
    ran = CliRunner().invoke(app, [*asked, "--report", str(tmp_path / "page.md")], catch_exceptions=False)
    assert ran.exit_code == 0
    assert "Single" in ran.stdout
    assert "Grid is not for hiv" in ran.stdout
    assert (tmp_path / "results-classifiers.html").is_file()
    assert "### hiv (70% to learn from)" in (tmp_path / "page.md").read_text("utf-8")
    again = CliRunner().invoke(app, [*asked, "--json"], catch_exceptions=False)
    numbers = json.loads(again.stdout)["classifiers"]
    assert {line["learner"] for line in numbers} == {"Majority", "Single"}


@pytest.mark.parametrize(
    ("wrong", "said"),
    [("--figures=pie", "use some of classifiers"), ("--tables=iris", "has no 'iris'"), ("--splits=0", "at least 1")],
)
def test_mistakes_are_told_before_anything_runs(wrong: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=said):
        CliRunner().invoke(app, ["bench", "learn", wrong, "--out", str(tmp_path / "results")], catch_exceptions=False)
