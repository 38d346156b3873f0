"""Work in the background, with progress, that can be stopped."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final

from jostle.kernel.errors import BadInput, JostleError

AT_ONCE: Final = 2
MOST_WAITING: Final = 8
MOST_KEPT: Final = 40
"""Of finished jobs, this many are kept; the oldest are forgotten first."""


@dataclass(frozen=True)
class PageFragment:
    """A piece of a page: HTML, escaped by its template, and Plotly figures as JSON, by their names in that HTML."""

    html: str
    figures: dict[str, str] = field(default_factory=dict)


class Cancelled(Exception):
    """Raised inside a job that somebody stopped."""


@dataclass(eq=False)
class BackgroundJob:
    """One piece of work and its progress."""

    title: str
    key: str = field(default_factory=lambda: secrets.token_urlsafe(12))
    """By which a page finds it."""

    state: str = "waiting"
    """`waiting`, `running`, `done`, `failed` or `cancelled`."""

    done: int = 0
    total: int = 0
    """All steps; 0 if not known."""

    message: str = ""
    """What it does now; or why it failed."""

    shown: PageFragment | None = None
    _stop: threading.Event = field(default_factory=threading.Event, repr=False)

    def step(self, done: int, total: int, message: str = "") -> None:
        """Report progress. Raises `Cancelled` if the work should end here."""
        self.done, self.total, self.message = done, total, message
        self.check()

    def check(self) -> None:
        if self._stop.is_set():
            raise Cancelled

    def cancel(self) -> None:
        """Ask the work to end at its next step."""
        self._stop.set()

    @property
    def finished(self) -> bool:
        return self.state in ("done", "failed", "cancelled")

    def to_json(self) -> dict[str, Any]:
        facts: dict[str, Any] = {"state": self.state, "done": self.done, "total": self.total, "message": self.message}
        return facts if self.shown is None else facts | {"html": self.shown.html, "figures": self.shown.figures}


Work = Callable[[BackgroundJob], PageFragment]


class Jobs:
    """All jobs of a running explorer.

    >>> jobs = Jobs()
    >>> job = jobs.start("nothing", lambda job: PageFragment("<p>done</p>"))
    >>> jobs.close()
    >>> job.state, job.shown.html
    ('done', '<p>done</p>')
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="jostle-explorer")
        self._jobs: dict[str, BackgroundJob] = {}
        self._lock = threading.Lock()

    def start(self, title: str, work: Work) -> BackgroundJob:
        job = BackgroundJob(title)
        with self._lock:
            if sum(not other.finished for other in self._jobs.values()) >= MOST_WAITING:
                raise BadInput("form", "too much work is waiting already", "cancel some of it, or wait until it is done")
            done = [other.key for other in self._jobs.values() if other.finished]
            for old in done[: max(len(self._jobs) - MOST_KEPT + 1, 0)]:
                del self._jobs[old]
            self._jobs[job.key] = job
        self._pool.submit(_do, job, work)
        return job

    def get(self, key: str) -> BackgroundJob | None:
        return self._jobs.get(key)

    def stop(self) -> None:
        """Ask all work to end."""
        for job in list(self._jobs.values()):
            job.cancel()

    def close(self) -> None:
        """Wait until all work has ended."""
        self._pool.shutdown(wait=True)


def _do(job: BackgroundJob, work: Work) -> None:
    try:
        job.check()
        job.state = "running"
        job.shown = work(job)
        job.state = "done"
    except Cancelled:
        job.message, job.state = "Stopped.", "cancelled"
    except Exception as failure:  # noqa: BLE001  # a page must hear of every end
        job.message, job.state = in_words(failure), "failed"


def in_words(failure: Exception) -> str:
    """What went wrong. Of an unforeseen error, only the type is shown: its message might quote values."""
    if isinstance(failure, JostleError):
        return str(failure)
    return f"Something went wrong that should not ({type(failure).__name__}). Try again."
