"""Run an algorithm on public data, and measure its errors."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from jostle import algorithms
from jostle.algorithms import Algorithm
from jostle.kernel.arguments import check_whole, counts
from jostle.kernel.budget import Budget, Price
from jostle.kernel.errors import BadInput, PlanError
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.partition import Vector
from jostle.kernel.source import SimulatedSource, Source
from jostle.kernel.strategies import identity
from jostle.linear.shrinkage import small_problems
from jostle.workloads import Workload

MOST_TRIALS = 10**8
"""The most runs at once: more would not fit in memory."""

_BATCH = 2**21
"""About this many numbers are simulated at once: more would leave the processor's caches, and be no faster."""


def errors(
    algorithm: str | Algorithm,
    x: Any,
    workload: Workload,
    epsilon: Any = None,
    *,
    trials: int,
    seed: int,
    neighbours: Neighbours | str = "add_remove",
    rho: Any = None,
    **tunables: Any,
) -> Vector:
    """The L2 error ‖W x̂ − W x‖₂ of each run on public data, with pure ε or with ρ.

    >>> from jostle import workloads
    >>> errors("Laplace", [3, 0, 4], workloads.identity(3), 1.0, trials=4, seed=1).shape
    (4,)
    >>> errors("Laplace", [3, 0, 4], workloads.identity(3), rho="1/50", trials=4, seed=1).shape
    (4,)
    """
    how: dict[str, Any] = {"trials": trials, "seed": seed, "neighbours": neighbours, "rho": rho}
    runs = estimates(algorithm, x, workload, epsilon, **how, **tunables)
    truth = workload @ np.asarray(x)
    return np.concatenate([np.linalg.norm((workload @ estimate) - truth, axis=-1) for estimate in runs])


def estimates(
    algorithm: str | Algorithm,
    x: Any,
    workload: Workload,
    epsilon: Any = None,
    *,
    trials: int,
    seed: int,
    neighbours: Neighbours | str = "add_remove",
    rho: Any = None,
    **tunables: Any,
) -> Iterator[Vector]:
    """The estimates of the data vector themselves, in batches with one row per trial.

    >>> from jostle import workloads
    >>> [batch.shape for batch in estimates("HB", [3, 0, 4], workloads.prefix(3), 1.0, trials=2, seed=1)]
    [(2, 3)]
    """
    plan = algorithms.get(algorithm)
    vector, domain = counts(x)
    if not isinstance(workload, Workload):
        raise BadInput("workload", "must be a workload", "pass for instance jostle.workloads.prefix(100)")
    workload.check(domain)
    if epsilon is not None and rho is not None:  # a tunable of that name, such as Pythia's
        tunables, rho = tunables | {"rho": rho}, None
    plan.check(workload, tunables)
    price, relation = Price.of(epsilon, rho), Neighbours.of(neighbours)
    trials = check_whole(trials, "trials", "pass for instance 20", least=1, most=MOST_TRIALS)
    seed = check_whole(seed, "seed", "pass for instance seed=0", least=0)
    # Inputs and algorithms that are compared under one seed must not share their noise: it would look like agreement.
    entropy = [seed, zlib.crc32(plan.name.encode()), zlib.crc32(vector.tobytes()), zlib.crc32(str(price.amount).encode())]
    return _batches(plan, vector, domain, workload, price, relation, trials, entropy, tunables)


def estimates_together(
    algorithm: str | Algorithm,
    inputs: Sequence[Any],
    workload: Workload,
    epsilon: Any = None,
    *,
    trials: int,
    seeds: Sequence[int],
    neighbours: Neighbours | str = "add_remove",
    **tunables: Any,
) -> Iterator[Iterator[Vector]]:
    """The estimates of several data vectors, each under its own seed: what `estimates` returns, for each.

    All runs are done at once if the algorithm only measures every cell, and there are few enough cells.

    >>> from jostle import workloads
    >>> both = estimates_together("Bayes", [[3, 0, 4], [1, 1, 1]], workloads.identity(3), 1.0, trials=2, seeds=[0, 1])
    >>> [np.concatenate(list(batches)).shape for batches in both]
    [(2, 3), (2, 3)]
    """
    plan = algorithms.get(algorithm)
    at_once = plan.finish is not None and small_problems.suits(workload.shape[1])
    run = replace(plan, plan=_measured) if at_once else plan  # under the same name, so the noise is the same
    keywords: dict[str, Any] = {"trials": trials, "neighbours": neighbours, **tunables}
    found = (estimates(run, x, workload, epsilon, seed=seed, **keywords) for x, seed in zip(inputs, seeds, strict=True))
    if plan.finish is None or not at_once:
        yield from found
        return
    noisy = np.concatenate([batch for batches in found for batch in batches])
    source = SimulatedSource(inputs[0], seed=0, neighbours=neighbours)
    scale = source.noise_scale(identity(source.shape), source.grant(epsilon))
    for rows in np.split(plan.finish(noisy, scale, workload), len(inputs)):
        yield iter([rows])


def _measured(x: Source, workload: Workload, budget: Budget) -> Vector:
    return x.measure(identity(x.shape), budget)


def _batches(
    plan: Algorithm,
    vector: Any,
    domain: tuple[int, ...],
    workload: Workload,
    price: Price,
    relation: Neighbours,
    trials: int,
    entropy: list[int],
    tunables: dict[str, Any],
) -> Iterator[Vector]:
    step = max(1, _BATCH // max(vector.size, workload.shape[0])) if plan.batched else 1
    source: SimulatedSource | None = None
    for first in range(0, trials, step):
        seed = np.random.SeedSequence([*entropy, first])
        number = min(step, trials - first) if plan.batched else None
        if source is None:
            source = SimulatedSource(vector, seed=seed, neighbours=relation, shape=domain, trials=number)
        else:
            source = source.again(seed=seed, trials=number)
        estimate = plan.run(source, workload, source.grant(price), **tunables)
        if source.unspent:
            raise PlanError(f"the plan of {plan.name} left a part of its budget unspent")
        yield estimate if plan.batched else estimate[None]
