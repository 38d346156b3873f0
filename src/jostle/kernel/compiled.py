"""Loops that Numba compiles, once on a machine, with a word to whoever is waiting. It is loaded when the first one runs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property, update_wrapper
from pathlib import Path
from typing import Any

_told = False


def compiled(function: Callable[..., Any]) -> Any:
    """Compile a function when it is first called, and keep the result on disk; division by zero gives infinity, as in NumPy.

    Only for functions of a file: what is typed in has no place to be kept.
    """
    return _Loop(function)


class _Loop:
    """A function that is handed to Numba when somebody first calls it."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        return self._compiled(*arguments)

    @cached_property
    def _compiled(self) -> Any:
        from numba import njit  # takes a while to load, and most releases of few numbers need none of it

        _tell(Path(self._function.__code__.co_filename))
        # Those that it calls must be Numba's by then, under the names by which it calls them.
        names = self._function.__globals__
        called = {name: names.get(name) for name in self._function.__code__.co_names}
        names.update({name: loop._compiled for name, loop in called.items() if isinstance(loop, _Loop)})
        loop = njit(error_model="numpy")(self._function)
        with suppress(RuntimeError):  # where nothing may be written, it is compiled in every process: a release is under way
            loop.enable_caching()
        return loop


def _tell(source: Path) -> None:
    """One line on a terminal where nothing is on disk yet; nothing where no person looks."""
    global _told
    if _told or not sys.stderr.isatty() or any((source.parent / "__pycache__").glob(f"{source.stem}.*.nbi")):
        return
    _told = True
    sys.stderr.write("jostle: compiling inner loops; this happens once on a machine and takes some seconds …\n")
