"""Every algorithm in the registry, on domains so small that one record matters."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from jostle import algorithms, simulate, workloads
from jostle.algorithms import TASKS, Algorithm
from jostle.audit.entries import Audited, Pair, Run, of_source
from jostle.choice.regret_tree import InnerNode, Leaf
from jostle.choice.selectors import About, Selector
from jostle.kernel.budget import Budget
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.partition import Counts, Vector
from jostle.kernel.source import Source
from jostle.workloads import Workload

SHAPES = {1: (8,), 2: (4, 4)}
"""The domains, by the number of dimensions."""

_OPTIONS = ("Laplace", "Uniform", "HB")
_LEAVES = [Leaf(choice, (0.0,) * len(_OPTIONS), 1, 1.0) for choice in range(len(_OPTIONS))]

SELECTOR = Selector(
    About(task="range-1d", options=_OPTIONS, versions=(1, 1, 1), rho=0.2, cells=(1, 64), scales=(0, 64)),
    {
        name: ((InnerNode("scale", 3.0, 1, 2), InnerNode("nonzeros", 2.0, 3, 4), *_LEAVES),)
        for name in ("identity", "prefix")
    },
)
"""Few records lead to a second question, and many do not: so both the choice and what is left for it depend on noise."""

VARIANTS: dict[str, dict[str, dict[str, Any]]] = {
    "DAWA": {way: {"partition": way} for way in ("noisy-minimum", "exponential", "blocks")},
    "Pythia": {"two questions": {"selector": SELECTOR}},
}
"""Ways to run an algorithm that its defaults do not reach here, for the first of its tasks."""


FEWER: dict[str, dict[str, Any]] = {"MWEM": {"rounds": 3}}
"""Steps that are all alike, each with an equal part of ε: of fewer, each has more of ε to lose, and a leak shows more."""


def entries() -> list[Audited]:
    """Every registered algorithm for each of its tasks, a user's own and deployed selectors included."""
    return [
        _entry(found, task, way, FEWER.get(found.name, {}) | tunables)
        for found in algorithms.every().values()
        for task in found.tasks
        for way, tunables in variants(found, task).items()
    ]


def variants(found: Algorithm, task: str) -> dict[str, dict[str, Any]]:
    """Its tunables for each way to run it; the usual one has no name.

    >>> list(variants(algorithms.get("DAWA"), "range-1d"))
    ['', 'noisy-minimum', 'exponential', 'blocks']
    """
    return {"": {}} | (VARIANTS.get(found.name, {}) if task == found.tasks[0] else {})


def pairs(shape: tuple[int, ...]) -> Callable[[Neighbours], list[Pair]]:
    """Nothing and one record, a record in the heaviest cell and in an empty one, and ties across the middle."""
    size = int(np.prod(shape))

    def found(relation: Neighbours) -> list[Pair]:
        moves: list[tuple[str, Counts, int | None, int]]
        heavy = np.zeros(size, dtype=np.int64)
        heavy[0] = 12
        even = np.repeat([2, 0], [size // 2, size - size // 2])
        start = np.zeros(size, dtype=np.int64)
        if relation.relation == "add_remove":
            moves = [("nothing and one record", start, None, 0), ("the heaviest cell", heavy, None, 0)]
            moves += [("an empty cell", heavy, None, size - 1), ("a boundary", even, None, size // 2)]
        else:
            moves = [("out of the heaviest cell", heavy, 0, size - 1), ("across a boundary", even, size // 2 - 1, size // 2)]
        return [Pair(name, x.reshape(shape), _moved(x, loses, gains).reshape(shape)) for name, x, loses, gains in moves]

    return found


def _moved(x: Counts, loses: int | None, gains: int) -> Counts:
    moved = x.copy()
    moved[gains] += 1
    if loses is not None:
        moved[loses] -= 1
    return moved


def _entry(found: Algorithm, task: str, way: str, tunables: dict[str, Any]) -> Audited:
    shape = SHAPES[TASKS[task]]
    asked = workloads.prefix(*shape) if len(shape) == 1 else workloads.identity(shape)

    def ask(source: Source, budget: Budget) -> Vector:
        return found.run(source, asked, budget, **tunables)

    runs = of_source(ask, batched=False) | {"pace": "slow"}
    return Audited(
        name=f"{found.name}{way and f', {way}'}{'' if task == found.tasks[0] else f' ({task})'}",
        family="algorithm",
        pairs=pairs(shape),
        **(runs | {"run": _batches(found, asked, tunables), "pace": "batched"} if found.batched else runs),
    )


def _batches(found: Algorithm, asked: Workload, tunables: dict[str, Any]) -> Run:
    """As many at once as fit in memory."""

    def run(side: Any, epsilon: Fraction, neighbours: Neighbours, samples: int, seed: int) -> Vector:
        runs = simulate.estimates(found, side, asked, epsilon, trials=samples, seed=seed, neighbours=neighbours, **tunables)
        return np.concatenate(list(runs))

    return run
