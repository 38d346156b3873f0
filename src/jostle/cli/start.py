"""Where the command `jostle` begins: before anything of size is loaded."""

from __future__ import annotations

import atexit
import gc
from typing import Final

FEW_OBJECTS: Final = 300_000
"""Twice as many as a release makes, nearly all of which stay: to search them for garbage would take a tenth of its time."""


def main() -> None:
    """Run the command that the arguments name."""
    search_less()
    from jostle.cli.main import main as run

    run()


def search_less() -> None:
    """Let Python search for garbage less often, and not at its end: for a process that is ours, and never for a library.

    Loading packages makes many objects and no garbage. To look for some after every 700 of them, as Python does by itself,
    and several times among all when it ends, takes a third of the time of a release. What holds something until the end,
    such as a connection or a folder for temporary files, lets go of it by a hook of its own, which runs in any case.
    """
    gc.set_threshold(FEW_OBJECTS)
    atexit.unregister(gc.freeze)  # where it is called again
    atexit.register(gc.freeze)
