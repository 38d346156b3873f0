"""What all tests share: how hypothesis searches, and what they need from outside.

A test that needs something which is not there is skipped and says why. Where JOSTLE_REQUIRE_ALL=1, it fails instead.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.postgres import postgres, postgres_url  # noqa: F401 (fixtures are found by their names here)

# The same examples in every run, so that a failure is a change of the code. For fresh ones: --hypothesis-profile=explore.
# No deadline: the first call of a compiled function takes seconds, and machines differ.
settings.register_profile("steady", deadline=None, derandomize=True)
settings.register_profile("explore", deadline=None, max_examples=1_000)
settings.load_profile("steady")

# One thread per process for matrices: several processes of tests share the cores, and OpenBLAS' threads wait by
# spinning. On two busy cores, eigenvalues of a small matrix took twenty times as long. Set before NumPy is loaded.
for _library in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_library, "1")

# A Spark of the tests asks little of each of many queries, so a compiler of machine code that is quick itself is best.
os.environ.setdefault("SPARK_SUBMIT_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """With `-n auto`, one process more than there are cores: tests wait for servers, browsers and other processes."""
    from jostle.simulate.parallel import cores

    return cores() + 1


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Tests of one file run in one process, and so do all that need Spark. (`-n0` has no processes.)"""
    from tests.distribution import TogetherScheduling

    return TogetherScheduling(config, log)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest files come first."""
    from tests.distribution import place

    items.sort(key=lambda item: place(item.nodeid))


@pytest.fixture(scope="session")
def jostle_data() -> Path:
    """The directory of public data sets that JOSTLE_DATA names; an empty JOSTLE_DATA says that there is none."""
    named = os.environ.get("JOSTLE_DATA")
    if named:
        directory = Path(named)
        if not directory.is_dir():
            pytest.fail(f"JOSTLE_DATA names {named}, which is not a directory")
        return directory
    if named is None and os.environ.get("JOSTLE_REQUIRE_ALL") == "1":
        pytest.fail("JOSTLE_REQUIRE_ALL=1, but JOSTLE_DATA is not set: name the directory of public data, or nothing")
    pytest.skip("no public data: set JOSTLE_DATA to its directory")


@pytest.fixture
def signals_are_heeded() -> Iterator[None]:
    """Ctrl+C and a closed terminal end a program, and those that it starts, however the tests themselves were started.

    `nohup` has hang-ups ignored, and a shell has interrupts ignored by what it runs in the background.
    """
    if not hasattr(signal, "SIGHUP"):
        pytest.skip("this system has no SIGHUP")
    heeded = {signal.SIGINT: signal.default_int_handler, signal.SIGHUP: signal.SIG_DFL}
    before = {number: signal.signal(number, handler) for number, handler in heeded.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)
