"""Compile inner loops before an answer has to wait for them; `python -m jostle.simulate.warm_up` compiles all."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from math import prod
from threading import Thread
from types import MappingProxyType
from typing import Final

import numpy as np

from jostle import algorithms, workloads
from jostle.algorithms import Algorithm
from jostle.algorithms.registry import TASKS
from jostle.kernel.strategies import hierarchy
from jostle.linear import loading
from jostle.linear.design.p_identity import PIdentity
from jostle.linear.power_sums import power_sums
from jostle.linear.shrinkage import small_problems
from jostle.simulate.runner import errors
from jostle.workloads import Workload

SHAPES: Final = MappingProxyType({1: (small_problems.FEW,), 2: (12, 12)})
"""Small inputs that need every loop, by their number of dimensions: fewer cells are smoothed without any."""


def warm_up(tell: Callable[[int, int], None] | None = None) -> int:
    """Run every algorithm once on a small input of each kind, minimise one loss of records, and return the number of runs.

    Before each run, `tell` is called with its number and how many there are.
    """
    steps: list[Callable[[], object]] = [_minimise, compile_intervals]
    for name, found in algorithms.every().items():
        for task in found.tasks:
            shape = SHAPES[TASKS[task]]
            small = workloads.identity(shape), workloads.rectangles(shape, [[0] * len(shape)], [shape])
            steps += [partial(_run, name, workload) for workload in small]
    for number, step in enumerate(steps, start=1):
        if tell is not None:
            tell(number, len(steps))
        step()
    return len(steps)


def prepare(workload: Workload, *plans: str | Algorithm) -> Thread | None:
    """Begin, in the background, to load or compile the loops with which these algorithms will answer a workload.

    For programs that wait for a person or a database meanwhile: Numba compiles in Python for the most part, so this makes
    other work in Python slower by as much as it saves. Of an algorithm that chooses others, only what it runs on any data is
    prepared. Returns the thread that does the work, or None if there is nothing to prepare: few cells need no loops.

    >>> prepare(workloads.identity(100), "Bayes") is None
    True
    """
    shape = SHAPES.get(len(workload.domain))
    if shape is None or prod(workload.domain) < small_problems.FEW:
        return None
    known = [algorithms.get(plan) for plan in plans]
    names = [plan.name if plan.settled is None else plan.settled(workload) for plan in known]
    small = workloads.prefix(*shape) if workload.kind == "prefix" else workloads.identity(shape)
    steps = [partial(_run, name, small) for name in names if name is not None]
    return loading.in_background(steps) if steps else None


def _run(name: str, workload: Workload) -> None:
    shape = workload.domain
    errors(name, np.arange(prod(shape)).reshape(shape), workload, 1, trials=1, seed=0)


def _minimise() -> None:
    from jostle.kernel.functions.objective import Additive
    from jostle.kernel.records import ArrayColumns, SimulatedRecords

    codes = np.array([0, 1])
    records = SimulatedRecords(ArrayColumns({"a": codes, "class": codes}, {"a": 2, "class": 2}), seed=0)
    records.minimise(Additive("class", {"a": np.eye(2)}, ridge=10), records.grant(1))


def compile_intervals() -> None:
    """What the error bars of many answers need."""
    rows, line = PIdentity(np.ones((1, 2)), (2,)), workloads.prefix(2).queries
    for strategy in (hierarchy(2, 2), rows.queries):
        power_sums(strategy, line)


def _show(number: int, of: int) -> None:
    """One line on a terminal, written over and over."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\rjostle: compiling inner loops, once on this machine: step {number} of {of} …")
        sys.stderr.write("" if number < of else "\n")
        sys.stderr.flush()


if __name__ == "__main__":
    loading.progress.told = float("inf")  # what is shown here says it all
    warm_up(_show)
