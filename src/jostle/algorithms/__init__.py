"""The algorithms, one file each: plans over a source, found by themselves.

>>> "HB" in names(task="range-2d")
True
>>> get("HB").reference.year
2013
"""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module

from jostle._registrars import registrars
from jostle.algorithms._registration import named
from jostle.algorithms.registry import TASKS, Algorithm, algorithm, registered
from jostle.kernel.errors import BadInput

__all__ = ["TASKS", "Algorithm", "algorithm", "every", "get", "names"]


@cache
def _load() -> None:
    """Import every file of this folder, each of which registers what it defines, and run what the package's root added."""
    for module in pkgutil.iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")
    for register in registrars:
        register()


def every() -> dict[str, Algorithm]:
    """All algorithms by name, the caller's own included."""
    _load()
    return dict(sorted(registered().items()))


def names(task: str | None = None) -> list[str]:
    """The names of all algorithms, or of those for a task: "range-1d" or "range-2d"."""
    if task is not None and task not in TASKS:
        raise BadInput("task", f"{task!r} is unknown", f"use one of {', '.join(TASKS)}")
    return [name for name, found in every().items() if task is None or task in found.tasks]


def get(name: str | Algorithm) -> Algorithm:
    """The algorithm of that name."""
    return name if isinstance(name, Algorithm) else named(every(), name, "algorithm")
