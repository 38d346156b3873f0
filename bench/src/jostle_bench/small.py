"""What the default choice costs where people count: a few cells, some hundred records, a small ε.

Inputs are drawn from made-up shapes. All algorithms see the same inputs, and the same noise as far as they measure the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import prod
from types import MappingProxyType
from typing import Final

import numpy as np

from jostle import algorithms, workloads
from jostle.answers.release import plan_for
from jostle.kernel.partition import Counts, Vector
from jostle.simulate import errors
from jostle.workloads import Workload

DOMAINS: Final = ((2,), (5,), (11,), (30,), (60,), (3, 2), (5, 3), (8, 8))
"""Lines and grids of the size of most groups that people count."""

RECORDS: Final = (300, 3000, 30000)

OPTIONS: Final = MappingProxyType(
    {
        1: ("Laplace", "OPT", "OPT-nonnegative", "OPT-Bayes", "Bayes", "Adaptive", "HB", "Uniform"),
        2: ("Laplace", "OPT", "OPT-nonnegative", "OPT-Bayes", "Bayes", "AdaptiveGrid", "HB", "Uniform"),
    }
)
"""What the default is compared with, by dimension."""

QUERIES: Final = MappingProxyType({1: ("cells", "prefix"), 2: ("cells", "rectangles")})
"""What is asked, by dimension."""

DEFAULT: Final = "default"

SHAPES: Final = ("random", "even", "sparse", "dominated", "clustered")
"""The kinds of shapes: shares from a Dirichlet distribution of any concentration; nearly equal ones; a fifth of the cells
filled; nine tenths of the records in one cell; a smooth hill."""


@dataclass(frozen=True, kw_only=True)
class Measured:
    """One domain, number of records and kind of question."""

    queries: str
    domain: tuple[int, ...]
    records: int
    errors: dict[str, Vector]
    """For each option and the default, the mean error on each input: shapes × draws."""

    def beside(self, other: str) -> tuple[float, float]:
        """The default's error over that of an option, in the mean over all inputs, and its standard error."""
        ours, theirs = self.errors[DEFAULT].reshape(-1), self.errors[other].reshape(-1)
        ratio = float(ours.mean() / theirs.mean())
        off = ours - ratio * theirs
        return ratio, float(off.std(ddof=1) / np.sqrt(off.size) / theirs.mean())

    @property
    def best(self) -> str:
        """The option with the least error in the mean over all inputs: whoever knew this kind of input would take it."""
        return min((name for name in self.errors if name != DEFAULT), key=lambda name: float(self.errors[name].mean()))

    @property
    def worst_shape(self) -> tuple[str, float]:
        """The kind of shape on which the default does worst beside plain noise, and its error over that noise's there."""
        ratios = self.errors[DEFAULT].mean(axis=1) / self.errors["Laplace"].mean(axis=1)
        return SHAPES[int(ratios.argmax())], float(ratios.max())


def shape(kind: str, domain: tuple[int, ...], rng: np.random.Generator) -> Vector:
    """Shares of the records, drawn anew for each input.

    >>> shape("dominated", (3, 2), np.random.default_rng(0)).max().round(2)
    np.float64(0.9)
    """
    cells = prod(domain)
    if kind == "random":
        shares = rng.gamma(10 ** rng.uniform(-1, 1), size=cells) + 1e-9
    elif kind == "even":
        shares = rng.gamma(100.0, size=cells)
    elif kind == "sparse":
        shares = np.where(rng.permutation(cells) < max(1, cells // 5), rng.exponential(size=cells), 0.0)
    elif kind == "dominated":
        shares = np.full(cells, 0.1 / max(cells - 1, 1))
        shares[rng.integers(cells)] = 0.9
    else:
        places = np.indices(domain).reshape(len(domain), -1).T / np.array(domain)
        shares = np.exp(-0.5 * (((places - rng.uniform(size=len(domain))) / 0.15) ** 2).sum(axis=1))
    return np.asarray(shares / shares.sum())


def asked(queries: str, domain: tuple[int, ...]) -> Workload:
    """The workload of that name; rectangles are random and of all sizes."""
    if queries == "cells":
        return workloads.identity(domain)
    if queries == "prefix":
        return workloads.prefix(*domain)
    return workloads.random_rectangles(domain, 100, seed=prod(domain))


def draws(domain: tuple[int, ...], records: int, number: int, seed: int) -> Iterator[tuple[str, int, Counts]]:
    """Inputs: some of each kind of shape."""
    for kind in SHAPES:
        for draw in range(number):
            rng = np.random.default_rng([seed, records, *domain, SHAPES.index(kind), draw])
            yield kind, draw, rng.multinomial(records, shape(kind, domain, rng)).reshape(domain)


def measure(
    queries: str,
    domain: tuple[int, ...],
    records: int,
    *,
    epsilon: float | None,
    rho: float | None = None,
    number: int,
    trials: int,
    seed: int,
    options: Sequence[str] | None = None,
) -> Measured:
    """The errors of the default and of each option on the same inputs.

    >>> found = measure("cells", (5,), 300, epsilon=0.1, number=2, trials=5, seed=0, options=["Laplace", "Uniform"])
    >>> found.errors["Uniform"].shape, found.beside("Laplace")[0] < 1.1
    ((5, 2), True)
    """
    workload = asked(queries, domain)
    plans = {name: algorithms.get(name) for name in options or OPTIONS[len(domain)]}
    plans[DEFAULT] = plan_for(workload, None, {})[0]
    found: dict[str, Vector] = {name: np.empty((len(SHAPES), number)) for name in plans}
    for kind, draw, counts in draws(domain, records, number, seed):
        for name, plan in plans.items():
            # Noise goes by the name and the batch: under one name, and one run at a time, all plans get the same.
            alike = replace(plan, name="small", batched=False)
            runs = errors(alike, counts, workload, epsilon, rho=rho, trials=trials, seed=seed)
            found[name][SHAPES.index(kind), draw] = runs.mean()
    return Measured(queries=queries, domain=domain, records=records, errors=found)
