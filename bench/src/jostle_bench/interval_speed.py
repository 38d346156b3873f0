"""How long the error bars of about 4,096 answers take, when they are first worked out after a release."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from jostle import algorithms, workloads
from jostle.kernel.budget import Price
from jostle.kernel.neighbours import Neighbours
from jostle.linear.design.p_identity import split_of
from jostle.simulate import linear_noise
from jostle.simulate.margins import within_95
from jostle.simulate.runner import estimates
from jostle.simulate.warm_up import compile_intervals
from jostle.workloads import Workload

SIZES = MappingProxyType({"range-1d": ((4096,),), "range-2d": ((64, 64),)})
"""The domains; data-dependent algorithms for grids are timed on 128×128 as well."""

ANSWERS = 4096


@dataclass(frozen=True, kw_only=True)
class IntervalTiming:
    """An algorithm's error bars for one workload."""

    algorithm: str

    workload: Workload

    exact: bool
    """Whether they have a closed form."""

    seconds: float


def asked(shape: tuple[int, ...]) -> list[Workload]:
    """The workloads: every cell, every prefix (or all marginals of a grid), and random ranges or rectangles."""
    boxes = workloads.random_rectangles(shape, ANSWERS, seed=0, lengths="mixed")
    sums = workloads.prefix(*shape) if len(shape) == 1 else workloads.marginals(shape, (0,), (1,), (0, 1))
    return [workloads.identity(shape), sums, boxes]


def interval_speeds(names: Sequence[str], tasks: Sequence[str]) -> Iterator[IntervalTiming]:
    """Time them; of data-dependent algorithms, which are simulated for a while, only for single cells."""
    for task in tasks:
        for name in names:
            plan = algorithms.get(name)
            if task not in plan.tasks:
                continue
            larger = ((128, 128),) if plan.data_dependent and task == "range-2d" else ()
            for shape in (*SIZES[task], *larger):
                for workload in asked(shape)[: 1 if plan.data_dependent else None]:
                    yield _timed(name, workload)


def _timed(name: str, workload: Workload, epsilon: str = "0.1") -> IntervalTiming:
    plan, price, rows = algorithms.get(name), Price.of(epsilon), Neighbours("add_remove")
    compile_intervals()
    # The release itself comes first: it loads its loops, and finds the strategy.
    x = np.random.default_rng(0).poisson(25, workload.domain)
    (estimate,) = next(iter(estimates(plan, x, workload, price, trials=1, seed=0)))
    linear_noise.forget()
    split_of.cache_clear()
    began = time.perf_counter()
    found = within_95(plan, estimate, workload, price, rows, {})
    seconds = time.perf_counter() - began
    if not np.isfinite(found).all():
        raise AssertionError("error bars must be finite")
    return IntervalTiming(algorithm=name, workload=workload, exact=not plan.data_dependent, seconds=seconds)
