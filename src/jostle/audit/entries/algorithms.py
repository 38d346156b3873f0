"""Every algorithm in the registry, on domains so small that one record matters."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from jostle import algorithms, simulate, workloads
from jostle.algorithms import TASKS, Algorithm
from jostle.audit.entries import Audited, Pair, Pairs, of_source
from jostle.choice.regret_tree import InnerNode, Leaf
from jostle.choice.selectors import About, Selector
from jostle.kernel.budget import Budget
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.partition import Vector
from jostle.kernel.source import Source

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
    "DAWA": {method: {"partition": method} for method in ("noisy-minimum", "exponential", "blocks")},
    "Pythia": {"two questions": {"selector": SELECTOR}},
}
"""Settings of an algorithm that its defaults do not reach here, for the first of its tasks."""

FEWER: dict[str, dict[str, Any]] = {"MWEM": {"rounds": 3}}
"""Steps that are all alike, each with an equal part of ε: if there are fewer, each has more of ε to lose, and a leak shows
more."""


def entries() -> list[Audited]:
    """Every registered algorithm for each of its tasks, a user's own and deployed selectors included."""
    return [
        _entry(found, task, variant, FEWER.get(found.name, {}) | tunables)
        for found in algorithms.every().values()
        for task in found.tasks
        for variant, tunables in variants(found, task).items()
    ]


def variants(found: Algorithm, task: str) -> dict[str, dict[str, Any]]:
    """The tunables of each variant; the default one has no name.

    >>> list(variants(algorithms.get("DAWA"), "range-1d"))
    ['', 'noisy-minimum', 'exponential', 'blocks']
    """
    return {"": {}} | (VARIANTS.get(found.name, {}) if task == found.tasks[0] else {})


def pairs(shape: tuple[int, ...]) -> Pairs:
    """Nothing and one record, a record in the heaviest cell and in an empty one, and ties across the middle."""
    size = int(np.prod(shape))
    empty, heavy = np.zeros(size, dtype=np.int64), np.repeat([12, 0], [1, size - 1])
    even = np.repeat([2, 0], [size // 2, size - size // 2])
    added = [("nothing and one record", empty, 0), ("the heaviest cell", heavy, 0)]
    added += [("an empty cell", heavy, size - 1), ("a boundary", even, size // 2)]
    moved = [("out of the heaviest cell", heavy, 0, size - 1), ("across a boundary", even, size // 2 - 1, size // 2)]

    def found(relation: Neighbours) -> list[Pair]:
        cell = np.eye(size, dtype=np.int64)
        if relation.relation == "add_remove":
            changes = [(name, x, x + cell[gains]) for name, x, gains in added]
        else:
            changes = [(name, x, x - cell[loses] + cell[gains]) for name, x, loses, gains in moved]
        return [Pair(name, x.reshape(shape), other.reshape(shape)) for name, x, other in changes]

    return found


def _entry(found: Algorithm, task: str, variant: str, tunables: dict[str, Any]) -> Audited:
    shape = SHAPES[TASKS[task]]
    workload = workloads.prefix(*shape) if len(shape) == 1 else workloads.identity(shape)

    def ask(source: Source, budget: Budget) -> Vector:
        return found.run(source, workload, budget, **tunables)

    def in_batches(side: Any, epsilon: Fraction, neighbours: Neighbours, samples: int, seed: int) -> Vector:
        how: dict[str, Any] = {"trials": samples, "seed": seed, "neighbours": neighbours}
        return np.concatenate(list(simulate.estimates(found, side, workload, epsilon, **how, **tunables)))

    runs = of_source(ask, batched=False) | {"pace": "slow"}
    return Audited(
        name=f"{found.name}{variant and f', {variant}'}{'' if task == found.tasks[0] else f' ({task})'}",
        family="algorithm",
        pairs=pairs(shape),
        **(runs | {"run": in_batches, "pace": "batched"} if found.batched else runs),
    )
