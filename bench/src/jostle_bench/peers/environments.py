"""An environment of its own for each peer: they conflict with each other, and with jostle.

A peer is a file of pins in `pins/`, by whose name it is known: exact versions, one a line, of which the first is the peer's
own, under comments such as `# title: OpenDP`. A peer that cannot be installed says why, and is in the report all the same.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import jostle
from jostle.kernel.errors import BadInput

PINS: Final = Path(__file__).parent / "pins"
OURSELVES: Final = "jostle"
"""The name under which jostle takes part: in the running interpreter, with what is installed there."""

LONGEST_BUILD: Final = 900.0
"""Seconds after which an installation is given up."""


@dataclass(frozen=True, kw_only=True)
class Peer:
    """What people would use instead."""

    name: str
    """By which its files are called."""

    title: str
    """As its authors write it."""

    requirements: tuple[str, ...] = ()
    """Exact versions; the first is its own."""

    java: bool = False
    """Whether it needs Java, for Spark."""

    slow: bool = False
    """Whether it gets only small inputs, because it reads single records at some expense."""

    not_installable: str = ""
    """Why there is nothing to install, if that is known."""

    edition: str = ""
    """What stands for a version where the peer is no package."""

    @property
    def version(self) -> str:
        """Its own version, as pinned."""
        pinned = self.requirements[0].partition("==")[2] if self.requirements else ""
        return self.edition or pinned

    @property
    def fingerprint(self) -> str:
        """Changes with the pins and with the interpreter."""
        text = "\n".join((*self.requirements, sys.version))
        return hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True, kw_only=True)
class Environment:
    """Where a peer's jobs run."""

    peer: Peer
    """Whose it is."""

    python: Path
    """Its interpreter."""


@dataclass(frozen=True, kw_only=True)
class Unavailable:
    """A peer that cannot be run here."""

    peer: Peer
    """Which."""

    reason: str
    """Why, in the installer's words."""


def known() -> dict[str, Peer]:
    """All peers by name, those that cannot be installed included.

    >>> peers = known()
    >>> peers["opendp"].title, peers["opendp"].version, peers["jostle"].requirements
    ('OpenDP', '0.16.0', ())
    """
    ours = Peer(name=OURSELVES, title="jostle")
    return {OURSELVES: ours} | {file.stem: read_pins(file) for file in sorted(PINS.glob("*.txt"))}


def chosen(only: str | None, among: Mapping[str, Peer]) -> list[Peer]:
    """Those that a list of names, separated by commas, names; all of them if there is none. jostle always takes part.

    >>> [peer.name for peer in chosen("diffprivlib, opendp", known())]
    ['jostle', 'diffprivlib', 'opendp']
    """
    if only is None:
        return list(among.values())
    names = [name.strip() for name in only.split(",") if name.strip()]
    for name in names:
        if name not in among:
            raise BadInput("only", f"{name!r} is no peer", f"use some of {', '.join(among)}")
    return [among[name] for name in dict.fromkeys([OURSELVES, *names])]


def read_pins(file: Path) -> Peer:
    """A peer from its file of pins."""
    lines = [line.strip() for line in file.read_text("utf-8").splitlines()]
    said = dict(line[1:].split(":", 1) for line in lines if line.startswith("#") and ":" in line)
    told = {key.strip(): value.strip() for key, value in said.items()}
    return Peer(
        name=file.stem,
        title=told.get("title", file.stem),
        requirements=tuple(line for line in lines if line and not line.startswith("#")),
        java=told.get("java") == "yes",
        slow=told.get("slow") == "yes",
        not_installable=told.get("not installable", ""),
        edition=told.get("version", ""),
    )


def prepare(peer: Peer, folder: Path, say: Callable[[str], None] = lambda _: None) -> Environment | Unavailable:
    """The peer's environment under a folder: made if it is missing or the pins changed, else as it is."""
    there = find(peer, folder)
    if isinstance(there, Environment) or there.reason != NOT_THERE:
        return there
    say(f"installing {peer.title} {peer.version}")
    problem = _build(_home(peer, folder), peer.requirements)
    if problem:
        return Unavailable(peer=peer, reason=problem)
    _stamp(peer, folder).touch()  # last: an installation that was interrupted has none, and starts again
    return find(peer, folder)


def find(peer: Peer, folder: Path) -> Environment | Unavailable:
    """The peer's environment under a folder as it is; without one, why."""
    if peer.name == OURSELVES:
        return Environment(peer=peer, python=Path(sys.executable))
    if peer.not_installable:
        return Unavailable(peer=peer, reason=peer.not_installable)
    if peer.java and java_home() is None:
        return Unavailable(peer=peer, reason="it needs Java 17, which was not found: install it, or set JAVA_HOME")
    made = Environment(peer=peer, python=_home(peer, folder) / "bin" / "python")
    if _stamp(peer, folder).is_file() and made.python.exists():
        return made
    return Unavailable(peer=peer, reason=NOT_THERE)


NOT_THERE: Final = "it was not asked for, and has no environment yet"


def _home(peer: Peer, folder: Path) -> Path:
    return (folder / peer.name).absolute()


def _stamp(peer: Peer, folder: Path) -> Path:
    return _home(peer, folder) / f"ready-{peer.fingerprint}"


def _build(home: Path, requirements: tuple[str, ...]) -> str:
    """Make the environment; what went wrong, or nothing."""
    home.parent.mkdir(parents=True, exist_ok=True)
    pip = [str(home / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
    for command in ([sys.executable, "-m", "venv", "--clear", str(home)], [*pip, *requirements]):
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=LONGEST_BUILD, check=False)
        except subprocess.TimeoutExpired:
            return f"installing took more than {LONGEST_BUILD:.0f} s"
        except OSError as error:
            return f"{command[0]} does not start: {error.strerror}"
        if done.returncode:
            return last_words(done.stderr or done.stdout)
    return ""


def last_words(output: str) -> str:
    r"""The last lines of an installer that mean something: its errors, or whatever it said last.

    >>> last_words("Collecting x\nERROR: No matching distribution found for x==9\n\n[notice] A new release\n")
    'ERROR: No matching distribution found for x==9'
    """
    lines = [line.strip() for line in output.splitlines() if line.strip() and not line.startswith("[notice]")]
    errors = [line for line in lines if "error" in line.lower()]
    return " ".join((errors or lines)[-3:]) or "the installer failed and gave no reason"


def java_home() -> str | None:
    """Java 17 for Spark: what JAVA_HOME names, else one in the usual places."""
    named = os.environ.get("JAVA_HOME")
    if named:
        return named
    places = sorted(Path("/usr/lib/jvm").glob("*17*"))
    found = next((place for place in places if (place / "bin" / "java").exists()), None)
    if found is not None:
        return str(found)
    return "" if shutil.which("java") else None


def machine() -> dict[str, Any]:
    """Where it is measured, and by which version of jostle.

    >>> machine()["jostle"] == jostle.__version__
    True
    """
    return {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "jostle": jostle.__version__,
    }


def _processor() -> str:
    about = Path("/proc/cpuinfo")
    if about.is_file():
        for line in about.read_text("utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def variables(environment: Environment) -> dict[str, str]:
    """What the peer's processes find in their environment: ours, without what would lead them to our packages.

    Nor may it keep Python from writing bytecode: a package that is run from its source would be compiled in every process.
    """
    foreign = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PYTHONDONTWRITEBYTECODE"}
    kept = {name: value for name, value in os.environ.items() if name not in foreign}
    home = java_home()
    if home:
        kept["JAVA_HOME"] = home
    return kept | {"PYSPARK_PYTHON": str(environment.python), "PYSPARK_DRIVER_PYTHON": str(environment.python)}
