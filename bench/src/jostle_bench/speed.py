"""How long a run takes and how much memory it needs, against the size of the domain.

Every algorithm is timed in a process of its own, on one core. They share a cache of compiled functions that is empty at
first, so that the first calls add up to what a fresh machine spends on compiling.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from math import log, prod
from pathlib import Path
from statistics import median
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from jostle import algorithms, workloads
from jostle.kernel.errors import BadInput
from jostle.kernel.partition import Counts
from jostle.simulate.parallel import ONE_THREAD, cores
from jostle.simulate.runner import errors
from jostle.workloads import Workload
from jostle_bench import reference

SIZES: Final = MappingProxyType(
    {
        "range-1d": tuple((2**k,) for k in range(8, 21, 2)),
        "range-2d": tuple((2**k, 2**k) for k in range(5, 10)),
    }
)
"""The domains that are tried, from small to large."""

LIMIT: Final = 2.0
"""Larger domains are not tried once a run has taken this many seconds."""

_RECORDS: Final = 100_000
_REPEATS: Final = 5
_BURST: Final = 0.1
"""Runs are timed in bursts of about this many seconds, or of one run where that takes longer …"""
_TRIALS: Final = 20
"""… and of at most this many runs, as a simulation would do at once."""


@dataclass(frozen=True, kw_only=True)
class Timing:
    """An algorithm on one domain."""

    domain: tuple[int, ...]
    """The axes."""

    seconds: float
    """The median time of a run, once everything is compiled and cached."""

    first: float
    """The time of the first run on this domain: it compiles, and builds what later runs share."""

    memory: int | None
    """How far the process grew from the smallest domain up to this one, in bytes; None where the system does not tell."""

    @property
    def cells(self) -> int:
        """The number of cells."""
        return prod(self.domain)


@dataclass(frozen=True, kw_only=True)
class Beside:
    """Ours and the reference's time of a run on the reference's inputs over a domain."""

    domain: tuple[int, ...]
    """The axes."""

    ours: float
    """The median of our times on its inputs, in seconds."""

    theirs: float
    """The median of its times, on the machine of those who measured it."""

    @property
    def faster(self) -> float:
        """How many times faster ours is."""
        return self.theirs / self.ours

    @property
    def goal(self) -> int:
        """How many times faster it should be: ten where there is something to gain, else no slower."""
        return 10 if self.theirs > 0.005 else 1


@dataclass(frozen=True, kw_only=True)
class Speed:
    """An algorithm's speed at a task."""

    algorithm: str
    """Its name."""

    task: str
    """The task."""

    timings: list[Timing] = field(default_factory=list)
    """One a domain, from small to large."""

    beside: list[Beside] = field(default_factory=list)
    """The reference's times beside ours."""

    stopped: str = ""
    """Why larger domains were not tried, if they were not."""

    @property
    def compiling(self) -> float | None:
        """How much longer the very first run took than a later one."""
        return max(0.0, self.timings[0].first - self.timings[0].seconds) if self.timings else None

    @property
    def exponent(self) -> float | None:
        """The power of the number of cells by which the time grows, fitted to the larger half of the domains."""
        return fitted([(timing.cells, timing.seconds) for timing in self.timings])


def fitted(points: list[tuple[int, float]]) -> float | None:
    """The slope through the larger half of the points (three at least) on logarithmic axes; None for fewer than three.

    Small domains say little: there, a run's fixed costs prevail.

    >>> round(fitted([(n, 1e-6 * n**1.5) for n in (64, 256, 1024, 4096)]), 6)
    1.5
    """
    if len(points) < 3:
        return None
    larger = sorted(points)[-max(3, (len(points) + 1) // 2) :]
    slope, _ = np.polyfit([log(n) for n, _ in larger], [log(seconds) for _, seconds in larger], 1)
    return float(slope)


def machine() -> dict[str, Any]:
    """What the times were taken on."""
    return {
        "processor": _processor(),
        "cores": cores(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "numpy": np.__version__,
    }


def speeds(
    names: Iterable[str],
    tasks: Iterable[str],
    cache: Path,
    *,
    limit: float = LIMIT,
    largest: int | None = None,
    folder: Path | None = None,
) -> Iterator[Speed]:
    """Time the named algorithms one after the other, each in a fresh process; `cache` is for compiled functions.

    Domains of more than `largest` cells are left out. With the folder of a reference, its inputs are timed as well.
    """
    if not limit > 0:
        raise BadInput("limit", f"must be above 0, got {limit}", "pass a number of seconds such as 2")
    wanted = [(algorithms.get(name), task) for task in tasks for name in names if task in algorithms.get(name).tasks]
    for found, task in wanted:
        order = {"algorithm": found.name, "task": task, "limit": limit, "largest": largest, "folder": folder and str(folder)}
        yield _in_a_fresh_process(order, cache)


def _in_a_fresh_process(order: dict[str, Any], cache: Path) -> Speed:
    code = "from jostle_bench.speed import answer; answer()"
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(order),
        capture_output=True,
        text=True,
        env=os.environ | ONE_THREAD | {"NUMBA_CACHE_DIR": str(cache)},
    )
    timings: list[Timing] = []
    beside: list[Beside] = []
    stopped = ""
    for line in done.stdout.splitlines():
        kind, told = json.loads(line)
        if kind == "timing":
            timings.append(Timing(**told | {"domain": tuple(told["domain"])}))
        elif kind == "beside":
            beside.append(Beside(**told | {"domain": tuple(told["domain"])}))
        else:
            stopped = told
    if done.returncode:
        last = (done.stderr.strip().splitlines() or [f"it ended with status {done.returncode}"])[-1]
        stopped = f"failed: {last}"
    return Speed(algorithm=order["algorithm"], task=order["task"], timings=timings, beside=beside, stopped=stopped)


# ------------------------------------------------------------------------------------------------- in the fresh process


def answer() -> None:
    """Read an order from standard input, time, and write a line of JSON for everything found out."""
    order = json.loads(sys.stdin.readline())
    _stay_within_memory()
    for told in clock(**order):
        sys.stdout.write(json.dumps(told) + "\n")
        sys.stdout.flush()


def clock(
    algorithm: str, task: str, *, limit: float, largest: int | None = None, folder: str | None = None
) -> Iterator[tuple[str, Any]]:
    """Time an algorithm in this process: first once on every domain, for memory and first calls, then in earnest."""
    algorithms.get(algorithm)  # imports are not what is timed
    firsts: list[tuple[tuple[int, ...], float, int | None]] = []
    base, latest = None, 0.0
    for domain in SIZES[task]:
        if largest is not None and prod(domain) > largest:
            break
        run = _job(algorithm, domain)
        try:
            first = _timed(run, 1)
        except MemoryError:
            yield "stopped", f"out of memory at {_by(domain)} cells"
            break
        reached = _high_water()
        base = base or reached  # what compiling took is not the algorithm's
        firsts.append((domain, first, None if reached is None or base is None else reached - base))
        # A first run also compiles and builds what later ones share: only a second says whether it was the work.
        before, latest = latest, first if first <= limit else _timed(run, 1)
        if latest > limit or latest**2 > 10 * limit * (before or latest):
            yield "stopped", f"a run takes {latest:.2g} s at {_by(domain)} cells"
            break
    for domain, first, memory in firsts:
        seconds = latest if latest > limit and domain == firsts[-1][0] else _median_run(_job(algorithm, domain))
        yield "timing", {"domain": domain, "seconds": seconds, "first": first, "memory": memory}
    if folder is not None:
        yield from _beside(algorithm, task, Path(folder))


Run = Callable[[int], None]


def _job(algorithm: str, domain: tuple[int, ...]) -> Run:
    return _run(algorithm, lumpy(domain), _asked(domain), 1.0)


def _run(algorithm: str, x: Counts, workload: Workload, epsilon: float) -> Run:
    def run(trials: int) -> None:
        errors(algorithm, x, workload, epsilon, trials=trials, seed=0)

    return run


def _beside(algorithm: str, task: str, folder: Path) -> Iterator[tuple[str, Any]]:
    """Ours on the reference's inputs: one data set, all its scales and values of ε, one workload."""
    rows = reference.read(folder)
    for (domain, theirs), seconds in sorted(reference.seconds(folder).items()):
        here = [cell for cell in reference.inputs(rows, task=task) if cell.domain == domain]
        if theirs != reference.original_name(algorithm) or not here:
            continue
        dataset, queries = min(cell.dataset for cell in here), max(cell.queries for cell in here)
        chosen = [cell for cell in here if (cell.dataset, cell.queries) == (dataset, queries)]
        ours = []
        for cell in chosen:
            run = _run(algorithm, cell.vector(), cell.workload(), cell.epsilon)
            run(1)
            ours.append(_median_run(run))
        yield "beside", {"domain": domain, "ours": median(ours), "theirs": seconds}


def _median_run(run: Run) -> float:
    trials = max(1, min(_TRIALS, int(_BURST / max(_timed(run, 1), 1e-9))))
    taken = [_timed(run, trials)]
    while len(taken) < _REPEATS and sum(taken) < 10 * _BURST:
        taken.append(_timed(run, trials))
    return median(taken) / trials


def _timed(run: Run, trials: int) -> float:
    """Processor time: on one thread, that is the time a run takes when nothing else goes on."""
    began = time.process_time()
    run(trials)
    return time.process_time() - began


def lumpy(domain: tuple[int, ...]) -> Counts:
    """Made-up public data of 100,000 records in eight lumps, with much empty space between them.

    >>> int(lumpy((64, 64)).sum())
    100000
    """
    rng = np.random.default_rng(0)
    centres = rng.uniform(0.1, 0.9, size=(8, len(domain)))
    lump = rng.choice(8, size=_RECORDS, p=2.0 ** -np.arange(1, 9) / (1 - 2.0**-8))
    places = np.clip(rng.normal(centres[lump], 0.02), 0, 1 - 1e-9)
    cells = np.ravel_multi_index(tuple((places * domain).astype(np.int64).T), domain)
    return np.bincount(cells, minlength=prod(domain)).reshape(domain)


def _asked(domain: tuple[int, ...]) -> Workload:
    return (
        workloads.prefix(*domain) if len(domain) == 1 else workloads.random_rectangles(domain, 1000, seed=0, lengths="mixed")
    )


def _high_water() -> int | None:
    """The most memory that this process has had, in bytes."""
    status = Path("/proc/self/status")
    if status.is_file():
        # Unlike getrusage's, this number does not begin with that of the process it was started from.
        for line in status.read_text("utf-8").splitlines():
            if line.startswith("VmHWM:"):
                return 1024 * int(line.split()[1])
    try:
        import resource
    except ImportError:
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


def _stay_within_memory() -> None:
    """Have a run that wants most of the machine's memory fail by itself, before the system ends something else for it."""
    try:
        import resource

        most = int(0.6 * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
        resource.setrlimit(resource.RLIMIT_AS, (most, resource.getrlimit(resource.RLIMIT_AS)[1]))
    except (ImportError, ValueError, OSError):
        return


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    if info.is_file():
        for line in info.read_text("utf-8").splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or "unknown"


def _by(domain: tuple[int, ...]) -> str:
    return "×".join(map(str, domain))
