"""The command as a process: it ends at once, and loses nothing by that."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from jostle.cli.start import FEW_OBJECTS
from tests.cli.test_release import ASKED, write

START = [sys.executable, "-c", "from jostle.cli.start import main; main()"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path)
    return tmp_path


def jostle(folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*START, *map(str, words)], cwd=folder, capture_output=True, text=True, check=False)


def test_it_ends_with_the_status_of_the_command_and_all_that_it_said(folder: Path) -> None:
    done = jostle(folder, *ASKED, "--budget", 2, "--epsilon", 1, "--by", "sex")
    assert (done.returncode, done.stderr) == (0, "")
    assert "The charge is in budget.db" in done.stdout
    over = jostle(folder, *ASKED, "--epsilon", 5, "--by", "sex")
    assert (over.returncode, over.stdout) == (3, "")
    assert "jostle:" in over.stderr
    assert jostle(folder, "release", "--no-such-option").returncode == 2
    assert jostle(folder, "--version").stdout.startswith("jostle ")
    assert not list(folder.glob("budget.db-*"))  # the connection was closed, and its log is in the file


def test_a_pipe_that_is_closed_is_told_by_the_status(folder: Path) -> None:
    asked = [*START, *map(str, ASKED), "--budget", "2", "--epsilon", "1", "--by", "sex"]
    with subprocess.Popen(asked, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as command:
        assert command.stdout is not None
        command.stdout.close()
        _, told = "", command.stderr.read() if command.stderr is not None else ""
    assert command.returncode == 5
    assert "The answers were charged, and are on standard error" in told


def ending(body: str, *, thread: str = "") -> subprocess.CompletedProcess[str]:
    """The start with another command in place of all."""
    code = f"import atexit, gc, sys, threading, time, jostle.cli.main, jostle.cli.start\n{thread}\n"
    code += f"def run():\n    {body}\njostle.cli.main.main = run\njostle.cli.start.main()"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("body", "ends"),
    [
        ("pass", (0, "", "")),
        ("sys.exit(7)", (7, "", "")),
        ("sys.exit()", (0, "", "")),
        ("sys.exit('no')", (1, "", "no\n")),
        ("atexit.register(print, 'hook'); print('said'); sys.exit(3)", (3, "said\nhook\n", "")),
        ("print(gc.get_threshold()[0])", (0, f"{FEW_OBJECTS}\n", "")),
        ("import os; print(os.environ['OPENBLAS_THREAD_TIMEOUT'])", (0, "4\n", "")),
    ],
)
def test_an_end_is_what_it_is_without_it(body: str, ends: tuple[Any, ...]) -> None:
    done = ending(body)
    assert (done.returncode, done.stdout, done.stderr) == ends


def test_a_fault_keeps_its_traceback() -> None:
    done = ending("raise RuntimeError('a fault')")
    assert done.returncode == 1
    assert "Traceback" in done.stderr
    assert done.stderr.endswith("RuntimeError: a fault\n")


def test_threads_are_waited_for() -> None:
    thread = "threading.Thread(target=lambda: (time.sleep(0.5), print('done'))).start()"
    assert ending("print('end')", thread=thread).stdout == "end\ndone\n"


def test_where_worker_processes_may_be_python_ends_in_its_own_way() -> None:
    class_ = "class Late:\n    def __del__(self):\n        print('late')\nlate = Late()"
    assert ending("print('end')", thread=f"{class_}\nimport multiprocessing").stdout == "end\nlate\n"


def test_what_was_loaded_is_not_taken_apart() -> None:
    class_ = "class Late:\n    def __del__(self):\n        print('late')\nlate = Late()"
    assert ending("print('end')", thread=class_).stdout == "end\n"
    daemon = "threading.Thread(target=time.sleep, args=(60,), daemon=True).start()"
    assert ending("print('end')", thread=f"{class_}\n{daemon}").stdout == "end\n"
