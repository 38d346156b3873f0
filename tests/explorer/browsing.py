"""A real explorer in a process of its own, and a real headless Chromium to drive it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

JOSTLE = [sys.executable, "-c", "from jostle.cli.main import main; main()"]
PATIENCE = 120
FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
)


@dataclass
class Running:
    """An explorer that was started as a person would."""

    address: str
    link: str  # works once
    token: str
    process: subprocess.Popen[str]


def started(folder: Path, *arguments: str) -> Running:
    """Start one, and read the address that it prints."""
    quiet = {"OMP_NUM_THREADS": "1", "NUMBA_NUM_THREADS": "1", "JOSTLE_DATA": "", "PYTHONUNBUFFERED": "1"}
    command = [*JOSTLE, "explore", "--no-browser", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=folder, env=os.environ | quiet)
    said = process.stdout.readline() + process.stdout.readline()
    found = re.search(r"((http://\S+/)enter\?once=\S+)\n.* token  (\S+)\n", said)
    assert found, f"no address in {said!r}"
    return Running(found[2], found[1], found[3], process)


def stopped(running: Running) -> None:
    """Stop it as Ctrl+C does."""
    running.process.terminate()
    running.process.wait(timeout=PATIENCE)
    running.process.stdout.close()


@pytest.fixture(scope="session")
def explorer(tmp_path_factory) -> Iterator[Running]:
    """One explorer for all tests, in an empty folder."""
    running = started(tmp_path_factory.mktemp("explorer"))
    yield running
    stopped(running)


def _why_not() -> str | None:
    try:
        import selenium  # noqa: F401
    except ImportError:
        return "selenium is not installed: pip install 'jostle[dev]'"
    missing = [program for program in ("chromium", "chromedriver") if shutil.which(program) is None]
    return f"{' and '.join(missing)} is not installed" if missing else None


def browser_with(profile: str) -> Any:
    """A headless Chromium over an empty profile."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium")
    for flag in (*FLAGS, f"--user-data-dir={profile}", "--window-size=1280,1000"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    driver.set_page_load_timeout(PATIENCE)
    driver.set_script_timeout(PATIENCE)
    return driver


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """A browser with an empty profile; skipped where there is none, unless JOSTLE_REQUIRE_ALL=1 asks for every test."""
    reason = _why_not()
    if reason:
        if os.environ.get("JOSTLE_REQUIRE_ALL") == "1":
            pytest.fail(f"JOSTLE_REQUIRE_ALL=1, but {reason}")
        pytest.skip(reason)
    profile = tempfile.mkdtemp(prefix="jostle-chromium-")
    driver = browser_with(profile)
    try:
        yield driver
    finally:
        driver.quit()
        shutil.rmtree(profile, ignore_errors=True)
