"""`jostle --use FILE`: algorithms of one's own, known to every command and to its worker processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

COMMAND = Path(sys.executable).parent / "jostle"

OWN = '''
import numpy as np
from jostle.algorithms import algorithm
from jostle.kernel.strategies import total


def evenly(size, whole):
    return np.full(size, whole / size)


@algorithm(name="Flat", tasks=("range-1d",), cite="hay2016principled", data_dependent=True)
def flat(x, workload, budget):
    """The total, shared evenly.

    Privacy: one Laplace measurement of the total, with the whole budget. The rest is post-processing.
    """
    return evenly(x.size, x.measure(total(x.shape), budget)[0])
'''


@pytest.fixture
def in_a_shell(tmp_path):
    """Run the command in an empty folder that has a file of algorithms and two public shapes."""
    (tmp_path / "own_plans.py").write_text(OWN, "utf-8")
    (tmp_path / "data").mkdir()
    np.savez(tmp_path / "data" / "dpbench_1d.npz", flat=np.ones(256, dtype=int), steep=np.arange(256) ** 3)
    told = os.environ | {"JOSTLE_DATA": str(tmp_path / "data"), "COLUMNS": "200", "PYTHONDONTWRITEBYTECODE": "1"}

    def call(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(  # our own command
            [COMMAND, *arguments], cwd=tmp_path, env=told, capture_output=True, text=True, check=False, timeout=300
        )

    return call


def test_a_selector_is_trained_with_it_by_several_processes(in_a_shell):
    grid = ("--sides", "128", "--exponents", "5,15", "--trials", "2", "--workers", "2", "--options", "Flat,HB", "--json")
    done = in_a_shell("--use", "own_plans.py", "train", "--task", "range-1d", *grid)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert said["failed"] == []
    assert said["options"] == ["Flat", "HB"]
    assert said["measured"] == 2 * said["inputs"]


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("nowhere.py", "is not a readable Python file"),
        ("data", "is not a readable Python file"),
        ("json.py", "rename the file"),
    ],
)
def test_what_cannot_be_imported_is_refused(tmp_path, monkeypatch, jostle, file, message):
    (tmp_path / "data").mkdir()
    (tmp_path / "json.py").write_text(OWN, "utf-8")
    monkeypatch.setattr(sys, "path", [*sys.path])
    status, _, errors = jostle("--use", tmp_path / file, "budget", "nothing.db")
    assert status == 2
    assert message in errors
