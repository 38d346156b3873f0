"""Work for other processes: it is imported there, so it stands in a module of its own."""

from __future__ import annotations

import os
import time
from pathlib import Path


def who(number: int) -> tuple[int, int]:
    """The number, after a moment, and who did it."""
    time.sleep(0.02)
    return number, os.getpid()


def threads(number: int) -> tuple[int, dict[str, str | None]]:
    """What the process was told about threads."""
    return number, {name: os.environ.get(name) for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")}


def deadly(number: int) -> int:
    """Ends the process on seven."""
    if number == 7:
        os._exit(1)
    return number


def dies_once(work: tuple[int, Path]) -> int:
    """Ends the first process that is given seven."""
    number, seen = work
    if number == 7 and not seen.exists():
        seen.touch()
        os._exit(1)
    return number
