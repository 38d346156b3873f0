"""Jobs for peers: what is asked, how it is run in the peer's environment, and results that are kept.

A job is done by `adapters/serve.py`, in a process of its own with a time limit, by the adapter `adapters/PEER_PART.py`.
Results are files under a folder, known by everything that they depend on: a run that was stopped goes on where it was.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np

import jostle
from jostle_bench.peers.environments import OURSELVES, Environment, Peer, Unavailable, variables

PACKAGE: Final = Path(jostle.__file__).parent
BENCH: Final = Path(__file__).parent.parent
ADAPTERS: Final = BENCH / "peers" / "adapters"
SHARED: Final = ("asking", "classifying", "estimating", "timing")
"""What stands beside the adapters for some of them to import."""

NOT_MEASURED: Final = ("audit", "cli", "explorer")
"""The folders of jostle that no adapter runs: a change there leaves results as they are."""

MEASURED_WITH: Final = (
    "classifiers/unseen.py",
    "peers/classifiers.py",
    "peers/inputs.py",
    "reference.py",
    "speed.py",
    "table_speed.py",
)
"""What adapters of jostle run of this package."""

RETRIED: Final = ("failed", "unavailable")
"""What may go better the next time is not kept."""

NOT_RUN: Final = "not run"
"""The status of a job of which there is no result."""

_OFTEN: Final = 0.02
_HASHED: Final = 2**26


def adapter(peer: Peer, part: str) -> Path:
    """The file that knows how a peer does the work of a part; a peer without one takes no part in it."""
    return ADAPTERS / f"{peer.name}_{part}.py"


def code(file: Path) -> list[Path]:
    """An adapter, and what it imports of what stands beside it.

    >>> [file.name for file in code(ADAPTERS / "opendp_speed.py")]
    ['opendp_speed.py', 'timing.py']
    """
    text = file.read_text("utf-8") if file.is_file() else ""
    return [file, *(ADAPTERS / f"{name}.py" for name in SHARED if f"import {name} " in text)]


@cache
def own_source() -> str:
    """Changes with whatever of jostle is measured (code, selectors and tables that come with it), and what measures it.

    >>> len(own_source())
    16
    """
    files = [file for file in PACKAGE.rglob("*") if file.is_file() and "__pycache__" not in file.parts]
    measured = [file for file in files if file.relative_to(PACKAGE).parts[0] not in NOT_MEASURED]
    named = {str(file.relative_to(PACKAGE)): file for file in sorted(measured)}
    named |= {f"bench/{name}": BENCH / name for name in MEASURED_WITH}
    found = hashlib.sha256()
    for name, file in named.items():
        found.update(f"{name}\0".encode() + hashlib.sha256(file.read_bytes()).digest())
    return found.hexdigest()[:16]


@dataclass(frozen=True, kw_only=True)
class Job:
    """What one process is asked to do."""

    peer: Peer
    """Who is asked."""

    part: str
    """Of the report: the second half of the adapter's name."""

    kind: str
    """What is asked: a key of the adapter's ANSWERS."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    """How: epsilon, trials, neighbours, seed and whatever else the kind takes. Plain values."""

    data: Path | None = None
    """A file that the adapter reads."""

    limit: float = 300.0
    """Seconds after which it is stopped."""

    threads: int | None = 1
    """For numeric libraries; None leaves it to them."""

    @property
    def adapter(self) -> Path:
        """The file that does it."""
        return adapter(self.peer, self.part)

    @cached_property
    def key(self) -> str:
        """Changes with all that the result depends on."""
        version = own_source() if self.peer.name == OURSELVES else self.peer.fingerprint
        parts = [self.peer.name, self.part, self.kind, self.settings, self.limit, self.threads, version]
        text = json.dumps([*parts, *map(_digest, (*code(self.adapter), self.data))], sort_keys=True)
        return f"{self.peer.name}-{self.part}-{self.kind}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What came of a job."""

    status: str
    """ok, unsupported, failed, timeout, unavailable or not run."""

    reason: str = ""
    """Why, if it is not ok."""

    facts: Mapping[str, Any] = field(default_factory=dict)
    """What the adapter told: version, delta, neighbours, seconds, …"""

    wall: float = 0.0
    """Seconds that the process took, its start included."""

    peak_bytes: int = 0
    """The most memory that the process had, as the adapter counts it; else as the kernel does, which includes what its
    parent had when it started it."""

    load: float = 0.0
    """How busy the machine was when it began: processes that waited or ran, on average over a minute."""

    arrays: Path | None = None
    """The file of the arrays that it returned."""

    @cached_property
    def values(self) -> dict[str, Any]:
        """The arrays by name."""
        if self.arrays is None:
            return {}
        with np.load(self.arrays) as stored:
            return {name: stored[name] for name in stored.files}


def run(job: Job, place: Environment | Unavailable, folder: Path) -> Outcome:
    """Do the job, unless the folder has its result."""
    kept = stored(job, place, folder)
    if kept.status != NOT_RUN or isinstance(place, Unavailable):
        return kept
    return _run(job, place, folder)


def stored(job: Job, place: Environment | Unavailable, folder: Path) -> Outcome:
    """What is known without doing the job: its result in the folder, or why there can be none; else that it was not run."""
    file = folder / f"{job.key}.json"
    if file.is_file():
        return _outcome(json.loads(file.read_text("utf-8")), file.with_suffix(".npz"))
    if isinstance(place, Unavailable):
        return Outcome(status="unavailable", reason=place.reason)
    if not job.adapter.is_file():
        return Outcome(status="unsupported", reason=f"there is no adapter {job.adapter.name}")
    return Outcome(status=NOT_RUN)


def forget(job: Job, folder: Path) -> None:
    """Remove the result of the job from the folder, if it has one."""
    for ending in ("json", "npz"):
        (folder / f"{job.key}.{ending}").unlink(missing_ok=True)


def _run(job: Job, place: Environment, folder: Path) -> Outcome:
    folder.mkdir(parents=True, exist_ok=True)
    asked, told, kept = (folder / f"{job.key}.{ending}" for ending in ("job.json", "new.json", "json"))
    data = None if job.data is None else str(job.data.absolute())
    asked.write_text(json.dumps({"kind": job.kind, "data": data, **job.settings}), encoding="utf-8")
    load = os.getloadavg()[0]
    ended = _process(
        [str(place.python), "-P", str(ADAPTERS / "serve.py"), str(job.adapter), str(asked.absolute()), str(told.absolute())],
        variables(place) | _threads(job.threads),
        job.limit,
    )
    facts: dict[str, Any] = json.loads(told.read_text("utf-8")) if told.is_file() else {}
    if ended.late:
        facts = {"status": "timeout", "reason": f"over {job.limit:g} s"}
    elif not facts:
        facts = {"status": "failed", "reason": f"its process ended with status {ended.status}: {ended.words}"}
    record = {"facts": facts, "wall": ended.seconds, "peak_bytes": ended.peak_bytes, "load": load}
    arrays = told.with_suffix(".npz")
    if facts["status"] not in RETRIED:
        if arrays.is_file():
            arrays = arrays.replace(kept.with_suffix(".npz"))
        told.write_text(json.dumps(record, ensure_ascii=False), encoding="utf-8")
        told.replace(kept)  # last, and at once: a result is there whole or not at all
        asked.unlink()
    return _outcome(record, arrays)


def _outcome(record: Mapping[str, Any], arrays: Path) -> Outcome:
    facts = dict(record["facts"])
    return Outcome(
        status=facts.pop("status"),
        reason=facts.pop("reason"),
        facts=facts,
        wall=record["wall"],
        peak_bytes=facts.get("peak_bytes") or record["peak_bytes"],
        load=record["load"],
        arrays=arrays if arrays.is_file() else None,
    )


@dataclass(frozen=True, kw_only=True)
class _Ended:
    """How a process ended."""

    status: int
    seconds: float
    peak_bytes: int
    late: bool
    words: str


def _process(command: list[str], environment: dict[str, str], limit: float) -> _Ended:
    """Run a command, and end it with all that it started when its time is over or somebody interrupts."""
    import tempfile

    with tempfile.TemporaryFile() as output:
        began = time.perf_counter()
        child = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output, process_group=0
        )
        late = False
        try:
            while True:
                pid, status, usage = os.wait4(child.pid, os.WNOHANG)
                if pid:
                    break
                late = time.perf_counter() - began > limit
                if late:
                    _end(child.pid)
                    _, status, usage = os.wait4(child.pid, 0)
                    break
                time.sleep(_OFTEN)
        except BaseException:
            _end(child.pid)
            child.wait()
            raise
        child.returncode = os.waitstatus_to_exitcode(status)  # it was waited for here: nobody else need do so
        seconds = time.perf_counter() - began
        _end(child.pid)  # what it left running, such as Java
        output.seek(0)
        words = output.read()[-2000:].decode("utf-8", "replace").strip()
    peak = usage.ru_maxrss * 1024
    return _Ended(status=child.returncode, seconds=seconds, peak_bytes=peak, late=late, words=words[-500:])


def _end(group: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def _threads(number: int | None) -> dict[str, str]:
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    return {} if number is None else dict.fromkeys(names, str(number))


def _digest(file: Path | None) -> str:
    """Of what is in a file; of a large one, its name, size and time."""
    if file is None or not file.is_file():
        return str(file)
    about = file.stat()
    return _digest_of(file, about.st_size, about.st_mtime_ns)


@lru_cache(maxsize=256)
def _digest_of(file: Path, size: int, changed: int) -> str:
    if size > _HASHED:
        return f"{file.name} {size} {changed}"
    return hashlib.sha256(file.read_bytes()).hexdigest()[:16]
