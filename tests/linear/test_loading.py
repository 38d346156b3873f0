"""Compiled loops: an answer that was paid for gets them, whatever became of the files in which they are kept."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from jostle.kernel import compiled
from jostle.linear import loading

POOL = """
import sys
import numpy as np
from jostle.algorithms import registry
from jostle.linear.fitting.isotonic import isotonic, pool
BEFORE
assert isotonic(np.array([3.0, 1.0, 5.0])).tolist() == [2.0, 2.0, 5.0]
print(sum(pool.made.stats.cache_hits.values()), 'scipy.linalg' in sys.modules)
"""


def pooled(cache: Path, before: str = "") -> list[str]:
    """Run a loop in a new process that keeps machine code in this folder: how often it was found there, and what else."""
    code = POOL.replace("BEFORE", before)
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not done.stderr  # no person looks
    return done.stdout.split()


@pytest.fixture(scope="module")
def compiled_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compiled")
    assert pooled(folder)[0] == "0"
    return folder


@pytest.fixture
def kept(compiled_once: Path, tmp_path: Path) -> Path:
    """A folder with the machine code that another process left there."""
    return shutil.copytree(compiled_once, tmp_path / "kept")


def test_a_loop_is_compiled_once_and_then_loaded_without_what_compiling_needs(kept: Path) -> None:
    assert list(kept.rglob("*.nbc"))
    assert pooled(kept) == ["1", "False"]


def test_other_functions_are_compiled_as_ever_after_a_loop_was_loaded(kept: Path) -> None:
    """Those of a user, with what needs SciPy, and with the loop that was loaded quickly inside them."""
    after = """
import numba
isotonic(np.array([2.0, 1.0]))
loop = pool.made
assert sum(loop.stats.cache_hits.values()) == 1
@numba.njit
def least(rows, weights):
    loop(rows, weights)
    return np.sort(rows[0])[0] + np.dot(weights, weights)
assert least(np.array([[3.0, 1.0, 5.0]]), np.ones(3)) == 2 + 3
"""
    assert int(pooled(kept, after)[0]) >= 1


@pytest.mark.parametrize("ending", ["nbc", "nbi"])
@pytest.mark.parametrize("content", [b"", b"not machine code"])
def test_files_that_were_damaged_are_replaced(ending: str, content: bytes, kept: Path) -> None:
    for file in kept.rglob(f"*.{ending}"):
        file.write_bytes(content)
    assert pooled(kept)[0] == "0"


def test_a_full_disk_does_not_stop_an_answer(tmp_path: Path) -> None:
    full = """
from numba.core import caching
def save(*arguments):
    raise OSError(28, "No space left on device")
caching.IndexDataCacheFile.save = save
"""
    assert pooled(tmp_path, full)[0] == "0"
    assert not list(tmp_path.rglob("*.nbc"))


def test_where_nothing_can_be_written_loops_are_compiled_in_memory(tmp_path: Path) -> None:
    nowhere = """
from numba.core import caching
for kind in (caching.CompileResultCacheImpl, caching.CacheImpl):
    kind._locator_classes = []
"""
    assert pooled(tmp_path, nowhere)[0] == "0"
    assert not list(tmp_path.rglob("*.nbc"))


def test_a_numba_with_other_insides_is_used_as_it_is() -> None:
    made = SimpleNamespace(_cache=SimpleNamespace(load_overload=len))
    loading.from_disk(made)
    assert made._cache.load_overload is len


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_somebody_at_a_terminal_hears_how_far_compiling_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def loop(file: str, name: str) -> Any:
        function = compiled.Loop(eval(compile(f"lambda: {name!r}", file, "eval")))  # noqa: S307  # for its file's name
        function.__dict__["made"] = name
        return function

    loops = [loop("a.py", "one"), loop("a.py", "two"), loop("b.py", "three"), loop("b.py", "four"), loop("b.py", "five")]
    monkeypatch.setattr(compiled, "loops", loops)
    clock = iter([100.0, 100.0, 100.5, 109.0, 109.0])
    monkeypatch.setattr(loading, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    progress = loading._Progress()
    progress.begin("somebody else's")
    progress.begin("one")
    progress.begin("two")  # half a second later: no line of its own
    progress.begin("three")
    assert terminal.getvalue().splitlines() == [
        "jostle: compiling inner loops, once on this machine: 1 of 2 …",
        "jostle: compiling inner loops, once on this machine: 3 of 5 …",
    ]
    monkeypatch.setattr(sys, "stderr", nobody := io.StringIO())
    progress.begin("four")
    assert not nobody.getvalue()
