"""Where the command `jostle` begins: before anything of size is loaded."""

from __future__ import annotations

import gc
from typing import Final

FEW_OBJECTS: Final = 300_000
"""Twice as many as a release makes, nearly all of which stay: to search them for garbage would take a tenth of its time."""


def main() -> None:
    """Run the command that the arguments name."""
    # Loading packages makes many objects and no garbage. To look for some after every 700 of them, as Python does by
    # itself, is a good part of the way to a first answer; and the process is ours, so that we may tell it otherwise.
    gc.set_threshold(FEW_OBJECTS)
    from jostle.cli.main import main as run

    run()
