"""Loops that Numba compiles: once on a machine, with a word to whoever is waiting."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from numba import njit

_told = False


def compiled(function: Callable[..., Any]) -> Any:
    """Compile a function when it is first called, and keep the result on disk; division by zero gives infinity, as in NumPy.

    Only for functions of a file: what is typed in has no place to be kept.
    """
    _tell(Path(function.__code__.co_filename))
    return njit(cache=True, error_model="numpy")(function)


def _tell(source: Path) -> None:
    """One line on a terminal where nothing is on disk yet; nothing where no person looks."""
    global _told
    if _told or not sys.stderr.isatty() or any((source.parent / "__pycache__").glob(f"{source.stem}.*.nbi")):
        return
    _told = True
    sys.stderr.write("jostle: compiling inner loops; this happens once on a machine and takes some seconds …\n")
