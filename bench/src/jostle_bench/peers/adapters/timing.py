"""What the adapters for speed share; it stands beside them, and needs only the standard library.

A job's `repeats` says how often the work is done, and `enough` after how many seconds it is not begun again. The first time
counts from before the peer is imported, as in a program that has just been started; later ones are those of a program that
goes on.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any


def repeated(job: dict[str, Any], prepare: Callable[[dict[str, Any]], Callable[[], Sequence[float]]]) -> dict[str, Any]:
    """Time the work: `prepare` imports the peer and returns what does it once, from the data to noisy counts."""
    began = time.perf_counter()
    start, once = began, prepare(job)
    seconds: list[float] = []
    for _ in range(job["repeats"]):
        if seconds and time.perf_counter() - start > job["enough"]:
            break
        counts = once()
        seconds.append(time.perf_counter() - began)
        began = time.perf_counter()
    return {
        "seconds": seconds,
        "peak_bytes": peak_bytes(),
        "released": len(counts),
        "total": float(sum(map(float, counts))),
    }


def imports(module: str, job: dict[str, Any]) -> dict[str, Any]:
    """How long a fresh process takes to import a module, and how long the whole process takes."""
    code = f"import time; began = time.perf_counter(); import {module}; print(time.perf_counter() - began)"
    seconds, processes = [], []
    for _ in range(job["repeats"]):
        began = time.perf_counter()
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        processes.append(time.perf_counter() - began)
        seconds.append(float(done.stdout.split()[-1]))
    return {"seconds": seconds, "processes": processes}


def peak_bytes() -> int | None:
    """The most memory that this process and those it started have had; None where the system does not tell."""
    if not Path("/proc/self/status").is_file():
        return None
    return sum(map(_high_water, [Path("/proc/self"), *_descendants(Path("/proc/self"))]))


def _descendants(process: Path) -> list[Path]:
    try:
        listed = [pid for file in (process / "task").glob("*/children") for pid in file.read_text("utf-8").split()]
    except OSError:  # it has just ended
        return []
    children = [Path("/proc") / pid for pid in listed]
    return [*children, *(below for child in children for below in _descendants(child))]


def _high_water(process: Path) -> int:
    try:
        lines = (process / "status").read_text("utf-8").splitlines()
    except OSError:
        return 0
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), 0)
