"""How a question is asked: anew, or with answers that agree with all that is remembered by now."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

FRESH: ContextVar[bool] = ContextVar("FRESH", default=False)
"""Whether questions are asked anew, whatever is remembered."""

CONSISTENT: ContextVar[bool] = ContextVar("CONSISTENT", default=False)
"""Whether answers are made of all that is remembered by now, also where the same question has an answer from before."""


@contextmanager
def asking(*, fresh: bool, consistent: bool) -> Iterator[None]:
    """Ask all questions of the block in this way, also those that a question is made of."""
    before = FRESH.set(fresh or FRESH.get()), CONSISTENT.set(consistent or CONSISTENT.get())
    try:
        yield
    finally:
        FRESH.reset(before[0])
        CONSISTENT.reset(before[1])
