"""Compile inner loops before an answer waits for them: all of them with `python -m jostle.simulate.warm_up`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from math import prod
from threading import Thread
from types import MappingProxyType
from typing import Final

import numpy as np

from jostle import algorithms
from jostle.algorithms.registry import TASKS
from jostle.kernel.columns import ArrayColumns
from jostle.kernel.objective import Additive
from jostle.kernel.records import SimulatedRecords
from jostle.linear import few, loading, workloads
from jostle.linear.workloads import Workload
from jostle.simulate.runner import errors

SHAPES: Final = MappingProxyType({1: (few.FEW,), 2: (12, 12)})
"""Small inputs that need every loop, by their number of dimensions: fewer cells are smoothed without any."""


def warm_up(tell: Callable[[int, int], None] | None = None) -> int:
    """Run every algorithm once on a small input of each kind, minimise one loss of records, and give the number of runs.

    Before each run, `tell` is called with its number and how many there are.
    """
    steps: list[Callable[[], object]] = [_minimise]
    for name, found in algorithms.every().items():
        for task in found.tasks:
            shape = SHAPES[TASKS[task]]
            asked = workloads.identity(shape), workloads.rectangles(shape, [[0] * len(shape)], [shape])
            steps += [partial(_run, name, workload) for workload in asked]
    for number, step in enumerate(steps, start=1):
        if tell is not None:
            tell(number, len(steps))
        step()
    return len(steps)


def prepare(asked: Workload, *names: str) -> Thread | None:
    """Begin, in the background, to load or compile the loops with which these algorithms will answer a workload.

    Gives the thread that does it, or None where no loops are needed: a plan that smooths single cells does without them
    where these are few. For what people asked of private data, call it with public facts alone: a domain, and algorithms
    that anybody would expect to be run on it.

    >>> prepare(workloads.identity(100), "Bayes") is None
    True
    """
    shape = SHAPES.get(len(asked.domain))
    plans = [algorithms.get(name) for name in names]
    needed = [plan.name for plan in plans if plan.finish is None or prod(asked.domain) >= few.FEW]
    if shape is None or not needed:
        return None
    small = workloads.prefix(*shape) if asked.kind == "prefix" else workloads.identity(shape)
    return loading.in_background([partial(_run, name, small) for name in needed])


def _run(name: str, workload: Workload) -> None:
    shape = workload.domain
    errors(name, np.arange(prod(shape)).reshape(shape), workload, 1, trials=1, seed=0)


def _minimise() -> None:
    codes = np.array([0, 1])
    records = SimulatedRecords(ArrayColumns({"a": codes, "class": codes}, {"a": 2, "class": 2}), seed=0)
    records.minimise(Additive("class", {"a": np.eye(2)}, ridge=10), records.grant(1))


def _show(number: int, of: int) -> None:
    """One line on a terminal, written over and over."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\rjostle: compiling inner loops, once on this machine: step {number} of {of} …")
        sys.stderr.write("" if number < of else "\n")
        sys.stderr.flush()


if __name__ == "__main__":
    loading.progress.told = float("inf")  # what is shown here says it all
    warm_up(_show)
