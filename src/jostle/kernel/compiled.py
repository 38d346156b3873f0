"""Loops that Numba compiles, once per machine. Numba is loaded when the first one runs."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cached_property, update_wrapper
from threading import RLock
from typing import Any

loops: list[Loop] = []
"""All of them, whether somebody has called them yet or not."""

on_made: list[Callable[[Any], None]] = []
"""Called with each of Numba's functions before its first call, to make it start sooner or to log it."""

_making = RLock()


def compiled(function: Callable[..., Any]) -> Any:
    """Compile a function when it is first called, and keep the result on disk; division by zero gives infinity, as in NumPy.

    Only for functions of a file: what is typed in has no place to be kept.
    """
    loops.append(Loop(function))
    return loops[-1]


class Loop:
    """A function that Numba compiles at its first call."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        update_wrapper(self, function)

    def __call__(self, *arguments: Any) -> Any:
        with _making:  # two threads must not make two of it
            made = self.made
        return made(*arguments)

    @cached_property
    def made(self) -> Any:
        """Numba's function."""
        from numba import njit  # takes a while to load, and most releases of few numbers need none of it

        # Those that it calls must be Numba's by then, under the names by which it calls them.
        names = self.function.__globals__
        called = {name: names.get(name) for name in self.function.__code__.co_names}
        names.update({name: loop.made for name, loop in called.items() if isinstance(loop, Loop)})
        made = njit(error_model="numpy")(self.function)
        with suppress(RuntimeError):  # where nothing may be written, it is compiled in every process: a release is under way
            made.enable_caching()
        for prepare in on_made:
            prepare(made)
        return made
