"""The demo and the command line as a person meets them: real processes, real files."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from rich.console import Console
from typer.testing import CliRunner

from jostle.cli.main import app

JOSTLE = [sys.executable, "-c", "from jostle.cli.main import main; main()"]


def run(*arguments, cwd):
    return subprocess.run([*JOSTLE, *arguments], capture_output=True, text=True, cwd=cwd, check=False, timeout=300)


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """One run of the demo, in an empty folder."""
    folder = tmp_path_factory.mktemp("demo")
    done = run("demo", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder, done.stdout


def test_the_demo_previews_releases_explains_and_compares(told):
    folder, said = told
    for part in (
        "29,501 working people",
        "jostle.open(",
        "question.preview(epsilon=0.1)",
        "Pythia is the part of jostle that chooses",
        "at ε = 0.1",
        "which only public data allow",
        "Laplace",
        "ε = 0.9 is left",
        "jostle-demo.html has the same with pictures",
    ):
        assert part in " ".join(said.split())
    assert "0.9" in run("budget", "jostle-demo.db", cwd=folder).stdout
    assert max(len(line) for line in said.splitlines()) <= 80


def test_the_demo_leaves_a_page_that_needs_nothing_else(told):
    page = (told[0] / "jostle-demo.html").read_text("utf-8")
    for part in ("95 % interval", "Plotly.newPlot", "Pythia is the part of jostle", "ranges of income"):
        assert part in page
    assert page.count("Plotly.newPlot(") >= 2
    assert 'src="http' not in page


def test_the_demo_for_scripts_and_when_its_budget_is_spent(told, monkeypatch):
    folder, _ = told
    monkeypatch.chdir(folder)

    def called(*arguments):
        return CliRunner().invoke(app, ["demo", *arguments])

    facts = json.loads(called("--json", "--epsilon", "0.4", "--out", "other.html").stdout)
    assert (facts["people"], facts["spent"], facts["remaining"], facts["page"]) == (29501, "2/5", "1/2", "other.html")
    assert (folder / "other.html").is_file()
    assert facts["simulated_errors"]["Uniform"] > facts["simulated_errors"]["Pythia"]
    quiet = called("--quiet")
    assert (quiet.stdout, quiet.stderr) == ("jostle-demo.html\n", "")
    refused = called("--epsilon", "0.5")
    assert refused.exit_code == 3
    assert "requested ε = 0.5, remaining 0.4" in refused.stderr
    assert "jostle-demo.db" in refused.stderr


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("demo", "--epsilon", "0"), "epsilon: must be above 0"),
        (("demo", "--epsilon", "-1"), "epsilon: must be above 0"),
        (("demo", "--epsilon", "nan"), "epsilon: must be a finite number"),
        (("demo", "--out", "nowhere/at/all.html"), "out: the folder of nowhere/at/all.html does not exist"),
        (("demo", "--out", "picture.png"), "out: picture.png does not end in .html"),
        (("demo", "--out", "it.html", "--ledger", "it.html"), "out: it.html is --ledger as well"),
        (("demo", "--ledger", "nowhere/at/all.db"), "ledger: the folder of nowhere/at/all.db does not exist"),
        (("budget", "nowhere.db"), "nowhere.db"),
    ],
)
def test_what_is_refused_ends_with_status_2_and_one_message(tmp_path, arguments, complaint):
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert complaint in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_page_that_cannot_be_written_is_refused_before_the_charge(tmp_path):
    (tmp_path / "taken.html").mkdir()
    done = run("demo", "--out", "taken.html", cwd=tmp_path)
    assert done.returncode == 2
    assert "out: taken.html cannot be written" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["taken.html"]


def test_version_and_help(tmp_path):
    assert run("--version", cwd=tmp_path).stdout.startswith("jostle 0.")
    page = run("--help", cwd=tmp_path).stdout
    for command in ("demo", "budget", "bench"):
        assert command in page


def test_quiet_draws_no_bars_even_on_a_terminal(monkeypatch):
    monkeypatch.setenv("TTY_INTERACTIVE", "1")  # and put back afterwards
    assert Console(force_terminal=True).is_interactive
    assert CliRunner().invoke(app, ["--quiet", "bench"]).exit_code == 2  # no command: its help is shown
    assert not Console(force_terminal=True).is_interactive
