"""The guides, literally: their files are written and their commands run, in an empty folder, one after the other.

A block with a title is a file of that name. A line of a console block that begins with $ is a command, and what follows is
what it says, on either stream; … stands for anything, and lines may be broken elsewhere. In the
README, a number stands for any other, because noise differs.
"""

from __future__ import annotations

import doctest
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
GUIDES = ("five-minutes.md", "first-model.md", "adding-an-algorithm.md")
BLOCK = re.compile(r'^```(?P<language>\w+)(?: title="(?P<title>[\w.-]+)")?\n(?P<body>.*?)^```$', re.MULTILINE | re.DOTALL)
ALIKE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def commands(body: str) -> list[tuple[str, str]]:
    """The commands of a console block, which may go on after a backslash, each with what it is expected to say."""
    found = re.finditer(r"^\$ (?P<command>(?:.*\\\n)*.*)\n(?P<said>(?:(?!\$ ).*\n)*)", body, re.MULTILINE)
    return [(one["command"], one["said"]) for one in found]


@pytest.fixture
def environment():
    """With this interpreter's commands first on the path, and lines as wide as they like."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return os.environ | {"PATH": path, "COLUMNS": "400", "PYTHONDONTWRITEBYTECODE": "1"}


def follow(page, tmp_path, environment, alike=str):
    """Write a page's files and run its commands; `alike` is applied to what they say and to what the page says."""
    done = 0
    for block in BLOCK.finditer(page.read_text("utf-8")):
        if block["title"]:
            (tmp_path / block["title"]).write_text(block["body"], "utf-8")
        for command, expected in commands(block["body"]) if block["language"] == "console" else []:
            ran = subprocess.run(  # noqa: S602  # the guide's own commands, as a shell would run them
                command, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=300
            )
            assert ran.returncode in (0, 3), ran.stderr
            said = alike(ran.stdout + ran.stderr)
            wanted = alike(expected).replace("…", "...") or "\n"
            assert doctest.OutputChecker().check_output(wanted, said or "\n", ALIKE), f"$ {command}\n{said}"
            done += 1
    assert done, f"{page.name} has no commands"


@pytest.mark.parametrize("guide", GUIDES)
def test_a_guide_does_what_it_says(guide, tmp_path, environment):
    follow(DOCS / guide, tmp_path, environment)


def test_the_readme_does_what_it_says_and_is_short(tmp_path, environment):
    page = ROOT / "README.md"
    assert len(page.read_text("utf-8").splitlines()) <= 120
    assert "make demo" in page.read_text("utf-8")
    assert "make test" in page.read_text("utf-8")
    wards = ["Cardiology", *["Emergency"] * 2, "Surgery", "Pediatrics"]
    visits = [f"{number // 2},{wards[number % 5]}" for number in range(10_000)]
    (tmp_path / "visits.csv").write_text("\n".join(["patient,ward", *visits]) + "\n", "utf-8")
    follow(page, tmp_path, environment, lambda said: re.sub(r"-?\d[\d,.]*", "#", said))
