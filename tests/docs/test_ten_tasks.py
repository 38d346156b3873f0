"""The ten tasks: our programs run, and the page's counts of statements and calls are those of the programs."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from jostle.kernel.errors import Overdraft

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE, PROGRAMS = DOCS / "ten-tasks.md", DOCS / "ten-tasks"
LIBRARIES = ("jostle", "opendp", "tumult", "pipelinedp", "diffprivlib")
OURS = sorted(PROGRAMS.glob("jostle/*.txt"), key=lambda file: int(file.stem.split("-")[0]))
WITHOUT_INTERVALS = ("8-synthetic-table", "9-classifier")


@pytest.fixture
def people(tmp_path, monkeypatch):
    """The file that all programs read, in the current folder."""
    draw, rows = np.random.default_rng(0), 200
    columns = {
        "age": draw.integers(0, 100, rows),
        "sex": draw.choice(["F", "M"], rows),
        "ward": draw.choice(["north", "south", "east", "west"], rows),
        "diagnosis": draw.choice(["flu", "cold", "asthma"], rows),
        "cost": draw.uniform(0, 1000, rows).round(2),
        "recovered": draw.integers(0, 2, rows),
    }
    pd.DataFrame(columns).to_csv(tmp_path / "people.csv", index=False)
    monkeypatch.chdir(tmp_path)


def run(file):
    exec(compile(file.read_text("utf-8"), file, "exec"), {})  # noqa: S102  # programs of the documentation


@pytest.mark.parametrize("file", OURS, ids=lambda file: file.stem)
def test_our_programs_run(file, people, capsys):
    run(file)
    said = capsys.readouterr().out
    if file.stem not in WITHOUT_INTERVALS:
        assert "low" in said, "every number has an interval, or pandas shows fewer columns"
    if file.stem == "8-synthetic-table":
        assert set(pd.read_csv("synthetic.csv").columns) == {"age", "sex", "recovered"}
    if file.stem == "10-durable-budget":
        run(file)
        with pytest.raises(Overdraft):
            run(file)


def counted(file):
    nodes = list(ast.walk(ast.parse(file.read_text("utf-8"))))
    return tuple(sum(isinstance(node, kind) for node in nodes) for kind in (ast.stmt, ast.Call))


def test_the_page_counts_statements_and_calls_as_it_says():
    text = PAGE.read_text("utf-8")
    tables = {row[1]: row[2].split(" | ") for row in re.finditer(r"^\| \[(\d+)\..*?\) \| (.*) \|$", text, re.MULTILINE)}
    assert len(tables) == len(OURS) == 10
    for ours, cells in zip(OURS, tables.values(), strict=True):
        for library, cell in zip(LIBRARIES, cells, strict=True):
            file = PROGRAMS / library / ours.name
            assert cell == ", ".join(map(str, counted(file))) if file.is_file() else cell in ("–", "not run"), file
    other = re.search(
        r"SmartNoise SQL does task 7 in (\d+) statements with (\d+) calls, and dpmm .* in (\d+) with (\d+)", text
    )
    found = counted(PROGRAMS / "smartnoise" / "7-sql.txt") + counted(PROGRAMS / "dpmm" / "8-synthetic-table.txt")
    assert tuple(map(int, other.groups())) == found
    for file in PROGRAMS.glob("*/*.txt"):
        assert f'--8<-- "docs/ten-tasks/{file.parent.name}/{file.name}"' in text, "the page shows every program"
