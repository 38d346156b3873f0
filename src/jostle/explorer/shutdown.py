"""Shutting the explorer down, however it is stopped: what was paid for and not downloaded is saved."""

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
"""Ctrl+C, a request to end, and a closed terminal."""


@contextmanager
def stopped_gently(server: uvicorn.Server) -> Iterator[None]:
    """Let signals stop a server, and take their usual effect only after the block, so that nothing in it is cut short.

    While it runs, the server handles some of them itself, and raises them again at its end. Without this, that would end the
    process.
    """
    if threading.current_thread() is not threading.main_thread():  # only the main thread handles signals
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
    """Stop all work, and save what was paid for and not downloaded: first what is done, then what was under way."""
    jobs.stop()
    _rescue(desk, folder, say)
    desk.close()
    _rescue(desk, folder, say)


def _rescue(desk: Desk, folder: Path, say: Callable[..., None]) -> None:
    for released, found in desk.rescue(folder):
        # Writing to a closed terminal fails, and writing to a closed pipe ends a program.
        with suppress(OSError, SystemExit):
            if isinstance(found, Path):
                lacking = ", without its intervals" if released.lacking else ""
                say(f"Released and not downloaded, so it was saved{lacking}: {found}")
            else:
                reason = getattr(found, "strerror", None) or type(found).__name__
                say(f"Released and not downloaded, but it could not be saved ({reason}): {released.what}", "bold red")
