"""How compiled loops come into a process: quickly from disk, or compiled with a word to whoever is waiting.

An answer has been paid for when a loop runs. So a loop that cannot be read from disk, for whatever reason, is compiled anew;
and one that cannot be written is kept only in memory.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from threading import Thread, main_thread
from typing import Any

from jostle.kernel import compiled

REPORT_EVERY = 2.0
"""Seconds between two lines of progress on a terminal while loops are being compiled."""


class _Progress:
    """Which loops have been compiled in this process, and when that was last told."""

    def __init__(self) -> None:
        self.listening, self.told = False, -REPORT_EVERY
        self.begun: set[compiled.Loop] = set()

    def begin(self, dispatcher: Any) -> None:
        """One more is being compiled."""
        self.begun |= {loop for loop in compiled.loops if vars(loop).get("made") is dispatcher}
        if not self.begun or not sys.stderr.isatty() or time.monotonic() - self.told < REPORT_EVERY:
            return
        self.told = time.monotonic()
        files = {loop.function.__code__.co_filename for loop in self.begun}
        number = sum(loop.function.__code__.co_filename in files for loop in compiled.loops)
        sys.stderr.write(f"jostle: compiling inner loops, once on this machine: {len(self.begun)} of {number} …\n")

    def listen(self) -> None:
        """Have Numba say when it compiles something."""
        if self.listening:
            return
        self.listening = True
        from numba.core import event

        begin = self.begin

        class CompilingStarts(event.Listener):
            def on_start(self, happened: Any) -> None:
                with suppress(Exception):  # whether somebody hears of it or not, an answer waits
                    begin(happened.data["dispatcher"])

            def on_end(self, happened: Any) -> None:
                pass

        event.register("numba:compile", CompilingStarts())  # type: ignore[no-untyped-call]


progress = _Progress()


def from_disk(made: Any) -> None:
    """Let a function of Numba's load its machine code without what is needed for compiling only, and survive bad files.

    Before it looks for machine code on disk, Numba prepares itself to compile anything. That takes longer than all the rest,
    and loads SciPy. Machine code needs only Numba's memory management. If the disk has no machine code, Numba still prepares
    itself before it compiles.
    """
    with suppress(Exception):  # another version of Numba may be built differently: it then loads in its own way
        from numba.core.runtime.nrt import rtsys

        cache = made._cache
        load, load_alone, save = cache.load_overload, cache._load_overload, cache.save_overload

        def load_overload(signature: Any, target: Any) -> Any:
            with suppress(Exception):
                rtsys.initialize(target)
                found = load_alone(signature, target)
                if found is not None:
                    return found
            with suppress(Exception):
                return load(signature, target)
            return None

        def save_overload(signature: Any, data: Any) -> None:
            with suppress(Exception):  # such as a full disk
                save(signature, data)

        cache.load_overload, cache.save_overload = load_overload, save_overload


def _tell_of(_: Any) -> None:
    with suppress(Exception):
        progress.listen()


compiled.on_made += [from_disk, _tell_of]


def in_background(steps: Iterable[Callable[[], object]]) -> Thread:
    """Do in another thread what makes loops ready, step by step, while this one goes on; whoever needs a loop waits for it.

    A step that fails is left out: the failure, if it is one, will come up where the loop is needed. When the program ends,
    it waits for the step under way, because Numba must not be stopped in the middle, but for no further one.

    >>> done = []
    >>> in_background([lambda: done.append(1), lambda: 1 / 0, lambda: done.append(2)]).join()
    >>> done
    [1, 2]
    """

    def work() -> None:
        for step in steps:
            if not main_thread().is_alive():
                return
            with suppress(Exception):
                step()

    thread = Thread(target=work, name="jostle-compiling")
    thread.start()
    return thread
