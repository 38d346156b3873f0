"""The explorer's end, however it is stopped: what was paid for and never downloaded is saved."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Final

import uvicorn

from jostle.explorer.jobs import Jobs
from jostle.explorer.release import Desk

SIGNALS: Final = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Ctrl+C, whoever ends programs, and a terminal that was closed."""


@contextmanager
def stopped_gently(server: uvicorn.Server) -> Iterator[None]:
    """Let signals stop a server, and act as they would have after the block alone: nothing in it is cut short by another.

    The server minds some of them itself while it runs, and raises those again when it has ended. Without this, that would be
    the end of the process.
    """
    if threading.current_thread() is not threading.main_thread():  # signals are the main thread's alone
        yield
        return
    caught: list[int] = []

    def stop(number: int, frame: FrameType | None) -> None:
        caught.append(number)
        server.should_exit = True

    heeded = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]  # nohup ignores one
    before = {number: signal.signal(number, stop) for number in heeded}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    for number in caught:
        signal.raise_signal(number)


def end(jobs: Jobs, desk: Desk, folder: Path, say: Callable[..., None]) -> None:
    """Stop all work, and save what was paid for and never downloaded: first what there is, then what was under way."""
    jobs.stop()
    _rescue(desk, folder, say)
    desk.close()
    _rescue(desk, folder, say)


def _rescue(desk: Desk, folder: Path, say: Callable[..., None]) -> None:
    for released, found in desk.rescue(folder):
        # A terminal that was closed cannot be told anything, and a pipe that was ends programs that write to it.
        with suppress(OSError, SystemExit):
            if isinstance(found, Path):
                lacking = ", without its intervals" if released.lacking else ""
                say(f"Released and not downloaded, so it was saved{lacking}: {found}")
            else:
                reason = getattr(found, "strerror", None) or type(found).__name__
                say(f"Released and not downloaded, but it could not be saved ({reason}): {released.what}", "bold red")
