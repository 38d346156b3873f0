"""Make the environment that the Makefile's targets run in: `python3 tools/set_up.py runtime|development|pins FOLDER`.

`runtime` installs what the program and its explorer need. `development` adds the benchmarks, and what tests, types,
documentation and the other engines need. Each writes a stamp into the environment's folder when it is complete: a set-up
that was interrupted leaves none and starts again, and one that is complete is not repeated. `pins` writes constraints.txt
anew.

Only Python's standard library is used here, because nothing else is installed yet.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

ROOT = Path(__file__).resolve().parent.parent
BENCH = ROOT / "bench"
"""The package of the benchmarks."""

PINS = ROOT / "constraints.txt"

EXTRAS = {
    "runtime": ("explorer",),
    "development": ("explorer", "postgres", "spark", "cluster", "synthesis", "excel", "png", "docs", "dev"),
}
"""What each set-up installs beside the package's own requirements."""

SIZES = {"runtime": "1.3 GB", "development": "2.3 GB"}
"""What each takes on disk."""

BUILD_TOOLS = ("hatchling", "editables")
"""What builds our own packages, pinned like the rest. pip builds others in isolation, with the tools they ask for."""

MISLEADING = (
    "PIP_CONSTRAINT",
    "PIP_NO_BUILD_ISOLATION",
    "PIP_NO_DEPS",
    "PIP_PREFIX",
    "PIP_REQUIRE_VIRTUALENV",
    "PIP_ROOT",
    "PIP_TARGET",
    "PYTHONHOME",
    "PYTHONPATH",
    "VIRTUAL_ENV",
)
"""Variables of the caller's shell that would put packages elsewhere, leave some out, or find others than those installed."""

REASONS = {
    "the disk is full. {folder} needs {size}, and the folder for temporary files ({scratch}; set TMPDIR to use another) "
    "about 1 GB while packages are unpacked. Make room and run the same command again.": (
        "No space left on device",
        "Errno 28",
        "Disk quota exceeded",
        "Errno 122",
    ),
    "the package registry's certificate could not be verified. If your network has a certificate authority of its own, "
    "name it to pip (PIP_CERT=/path/to/ca.pem) and run the same command again.": (
        "CERTIFICATE_VERIFY_FAILED",
        "SSLCertVerificationError",
    ),
    "the package registry could not be reached. Check the network, and pip's settings if you use a proxy or a registry of "
    "your own (pip config list); then run the same command again.": (
        "NewConnectionError",
        "ConnectTimeoutError",
        "ReadTimeoutError",
        "ProxyError",
        "NameResolutionError",
        "Failed to establish a new connection",
        "Temporary failure in name resolution",
        "Network is unreachable",
        "Connection refused",
        "Connection reset by peer",
        "Remote end closed connection",
        "Read timed out",
    ),
    "the package registry does not offer a pinned package for Python {python} on this machine. Check that it can be "
    "reached, bring it up to date if it is a mirror of your own, or name another Python with PYTHON=/path/to/python3.": (
        "No matching distribution found",
        "Could not find a version that satisfies",
        "ResolutionImpossible",
    ),
    "a file could not be written. You need write access to {folder} and to the folder for temporary files ({scratch}).": (
        "Permission denied",
        "Errno 13",
        "Read-only file system",
        "Errno 30",
    ),
}
"""What to say when pip fails, and what it prints then. The first match counts: a full disk also breaks downloads."""


def main(words: Sequence[str]) -> None:
    """Bring the environment up to what is asked for."""
    if len(words) != 2 or words[0] not in (*EXTRAS, "pins"):
        _fail("usage: python3 tools/set_up.py runtime|development|pins FOLDER")
    kind, folder = words[0], Path(words[1]).absolute()
    try:
        if kind == "pins":
            _pin()
        else:
            _set_up(kind, folder)
    except KeyboardInterrupt:
        _fail("it was stopped. The same command starts again.", code=130)
    except OSError as failure:
        _fail(_reason(str(failure), kind, folder) or f"{failure}.")


def _set_up(kind: str, folder: Path) -> None:
    began = time.monotonic()
    stamps = {name: folder / f".{name}" for name in EXTRAS}
    if not _usable(folder, stamps["runtime"]):
        _say(f"Making {_shown(folder)} with Python {sys.version.split()[0]} …")
        _make(folder)
    if kind == "runtime":  # what comes after it rests on it
        stamps["development"].unlink(missing_ok=True)
    stamps[kind].unlink(missing_ok=True)
    _say(f"Installing the packages of the {kind} set-up ({SIZES[kind]} in all) …")
    _install(folder, kind, *_requirements(kind), pinned=True)
    for package in (ROOT, BENCH) if kind == "development" else (ROOT,):
        _install(folder, kind, "--no-deps", "--no-build-isolation", "--editable", str(package), pinned=True)
    if kind == "development":
        _compile(folder)
    stamps[kind].write_text("complete\n", "utf-8")
    _say(f"Ready after {time.monotonic() - began:.0f} s: {_shown(folder / 'bin' / 'jostle')}")


def _pin() -> None:
    """Write the newest versions that go together: names and versions alone, for any registry."""
    with tempfile.TemporaryDirectory(prefix="jostle-pins-") as scratch:
        folder = Path(scratch) / "environment"
        _say("Installing the newest packages that go together …")
        _make(folder)
        _install(folder, "development", *_requirements("development"), pinned=False)
        words = [str(_python(folder)), "-m", "pip", "list", "--format=freeze", "--exclude", "pip", "--exclude", "setuptools"]
        found = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True, env=_environment()).stdout
    lines = sorted(found.split(), key=str.lower)
    PINS.write_text("\n".join(lines) + "\n", "utf-8")
    _say(f"{_shown(PINS)}: {len(lines)} packages pinned")


def _requirements(kind: str) -> list[str]:
    project = _project(ROOT)
    extras = [one for extra in EXTRAS[kind] for one in project["optional-dependencies"][extra]]
    if kind == "development":  # jostle itself is not asked of a registry, neither by name nor with extras
        bench = _project(BENCH)
        asked = [*bench["dependencies"], *(one for extra in bench["optional-dependencies"].values() for one in extra)]
        extras += [one for one in asked if not one.startswith("jostle")]
    return [*BUILD_TOOLS, *project["dependencies"], *extras]


def _project(package: Path) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((package / "pyproject.toml").read_text("utf-8"))["project"]
    return found


def _usable(folder: Path, stamp: Path) -> bool:
    """Whether an earlier set-up was completed there and still works. Everything else starts from nothing."""
    try:
        words = [str(_python(folder)), "-m", "pip", "--version"]
        return stamp.exists() and subprocess.run(words, capture_output=True, check=False, env=_environment()).returncode == 0
    except OSError:
        return False


def _make(folder: Path) -> None:
    if folder.exists() and not (folder / "pyvenv.cfg").exists() and any(folder.iterdir()):
        _fail(f"{_shown(folder)} exists and is not a virtual environment. Move it away and run the same command again.")
    words = [sys.executable, "-m", "venv", "--clear", str(folder)]
    done = subprocess.run(
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, env=_environment()
    )
    if done.returncode:
        unknown = f"this Python cannot make a virtual environment (on Debian: apt-get install python3-venv).\n{done.stdout}"
        _fail(_reason(done.stdout, "runtime", folder) or unknown.strip())


def _install(folder: Path, kind: str, *what: str, pinned: bool) -> None:
    """Run pip with its newest line on the terminal and all lines in a log, which is kept."""
    words = [str(_python(folder)), "-m", "pip", "install", "--no-input", "--progress-bar", "off"]
    words += ["--constraint", str(PINS), *what] if pinned else what
    log, lines = folder / "set-up.log", []
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", env=_environment()
    ) as pip:
        for line in pip.stdout or ():
            lines.append(line)
            _show(line.strip())
    _show("")
    text = "".join(lines)
    if pip.returncode == 0:
        log.write_text(text, "utf-8")
        return
    last = next((line.strip() for line in reversed(lines) if line.startswith("ERROR")), "pip failed.")
    try:
        log.write_text(text, "utf-8")
        where = f"What pip printed is in {_shown(log)}."
    except OSError:  # on a full disk, for one
        where = last
    _fail(f"{_reason(text, kind, folder) or last}\n{where}")


def _compile(folder: Path) -> None:
    """Compile all inner loops once: tests and benchmarks run them in several processes, each of which would do it again."""
    _say("Compiling inner loops (about half a minute) …")
    words = [str(_python(folder)), "-m", "jostle.simulate.warm_up"]
    if subprocess.run(words, check=False, env=_environment()).returncode:
        _fail(f"inner loops could not be compiled. To see it again: {' '.join(words)}")


def _environment() -> dict[str, str]:
    """The caller's variables without those that mislead pip, and with some that overrule a caller's file of settings."""
    kept = {name: value for name, value in os.environ.items() if name not in MISLEADING}
    ours = {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_ROOT_USER_ACTION": "ignore", "PIP_USER": "0", "PYTHONNOUSERSITE": "1"}
    return kept | ours


def _python(folder: Path) -> Path:
    return folder / "bin" / "python"


def _reason(text: str, kind: str, folder: Path) -> str:
    """What went wrong, in a sentence or two. Empty if none of the known reasons is in the text."""
    scratch = os.environ.get("TMPDIR", "/tmp")  # noqa: S108  # the name alone: asking tempfile fails on a full disk
    known = {
        "folder": _shown(folder),
        "size": SIZES.get(kind, "some GB"),
        "scratch": scratch,
        "python": sys.version.split()[0],
    }
    return next((said.format(**known) for said, marks in REASONS.items() if any(mark in text for mark in marks)), "")


def _shown(path: Path) -> str:
    """A path as somebody in the project's folder would type it."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)


def _say(text: str) -> None:
    print(text, flush=True)


def _show(line: str) -> None:
    """The newest line in place of the one before it, on a terminal."""
    if sys.stdout.isatty():
        print(f"\r\x1b[2K{line[: shutil.get_terminal_size().columns - 1]}", end="", flush=True)


def _fail(text: str, code: int = 1) -> NoReturn:
    print(f"Set-up failed: {text}", file=sys.stderr, flush=True)
    sys.exit(code)


if __name__ == "__main__":
    main(sys.argv[1:])
