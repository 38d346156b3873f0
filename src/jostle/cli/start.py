"""Where the command `jostle` starts, before anything large is loaded, and where it ends."""

from __future__ import annotations

import atexit
import gc
import os
import sys
import threading
from typing import Final, NoReturn

FEW_OBJECTS: Final = 300_000
"""Python then searches for garbage less often. By default it does after every 700 objects, and loading packages makes many
objects and no garbage. This is twice as many as a release makes and mostly keeps: searching them would take a tenth of its
time. Only for a process that is ours, never as a library."""


def main() -> NoReturn:
    """Run the command that the arguments name, and end the process."""
    gc.set_threshold(FEW_OBJECTS)
    # NumPy's linear algebra starts one thread per core, and each spins for some 50 ms before it sleeps, unless this is set.
    os.environ.setdefault("OPENBLAS_THREAD_TIMEOUT", "4")
    from jostle.cli.main import main as run

    try:
        run()
        status: object = 0
    except SystemExit as ended:
        status = ended.code or 0
    waiting_for = [thread for thread in threading.enumerate() if not thread.daemon]
    # If worker processes may have been started, Python ends them in its own way.
    alone = waiting_for == [threading.main_thread()] and "multiprocessing" not in sys.modules
    if alone and isinstance(status, int):
        _end(status)
    sys.exit(status)  # type: ignore[arg-type]  # a text, which it prints


def _end(status: int) -> None:
    """End the process as Python does, but without tearing down loaded modules, which takes a quarter of a release.

    Exit hooks run, which close connections and remove temporary files, and printed text is flushed. If that fails, this
    returns, so that Python fails in its own way.
    """
    atexit._run_exitfuncs()
    try:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
    except (OSError, ValueError):
        return
    os._exit(status & 0xFF)
