"""What is audited: a mechanism with neighbouring inputs that are hard on it, and a way to run it often on public data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, Protocol

import numpy as np

from jostle.kernel.budget import Budget, Purse
from jostle.kernel.neighbours import Neighbours, Relation
from jostle.kernel.noise import ExactNoise
from jostle.kernel.partition import Vector
from jostle.kernel.source import ReleaseSource, SimulatedSource, simulation

Family = Literal["mechanism", "operator", "algorithm", "choice", "classifier", "table"]
Engine = Literal["simulated", "exact"]
Pace = Literal["batched", "single", "slow"]

RELATIONS: tuple[Relation, ...] = ("add_remove", "replace")


@dataclass(frozen=True)
class Pair:
    """Two public inputs that are neighbours."""

    name: str
    """What is hard about them."""

    one: Any
    """An input."""

    other: Any
    """The same but for one record."""


class Run(Protocol):
    """Run a mechanism so many times on an input; one row of numbers a run, which holds all that was released."""

    def __call__(self, side: Any, epsilon: Fraction, neighbours: Neighbours, samples: int, seed: int) -> Vector:
        """With the engine of simulations, seeded."""
        ...


@dataclass(frozen=True, kw_only=True)
class Audited:
    """One entry of the audit. To have something audited, make one of these: nothing else is needed.

    >>> from jostle.audit import examine
    >>> def coin(side, epsilon, neighbours, samples, seed):  # tells the truth three times in four: ln 3 in all
    ...     told = np.random.default_rng(seed).random((samples, 1)) < 0.75
    ...     return np.where(told, side, 1 - side).astype(float)
    >>> entry = Audited(name="coin", family="mechanism", run=coin, pairs=lambda neighbours: [Pair("a bit", 0, 1)])
    >>> examine(entry, epsilon=1, neighbours="replace", samples=40_000, seed=1).finding  # ln 3 is above 1
    True
    """

    name: str
    """How it is called in the report."""

    family: Family
    """What it is."""

    pairs: Callable[[Neighbours], Sequence[Pair]]
    """Neighbouring inputs, the hardest that are known."""

    run: Run | None = None
    """How to sample it with simulated noise; None where releases alone can be made."""

    exact: Run | None = None
    """How to sample it with the exact engine, which takes no seed (it is ignored); None where there is no such engine."""

    claimed: Callable[[Fraction], float] = float
    """The ε that is claimed of a run with this ε: the same, unless said."""

    delta: float = 0.0
    """The δ that is claimed; 0 for all that can be released."""

    tight: tuple[str, ...] = ()
    """The neighbours under which the worst case is among the pairs: there, the audit must find most of ε."""

    unknown: str = ""
    """Why it is not, or cannot be seen, under the others."""

    relations: tuple[str, ...] = RELATIONS
    """The neighbours under which it is claimed."""

    pace: Pace = "single"
    """How its runs are made: many at once, one by one, or one by one and slowly."""


class FreePurse(Purse):
    """Exact noise without an account: for audits, whose data are public."""

    durable = True

    def __init__(self, neighbours: Neighbours) -> None:
        super().__init__(neighbours, ExactNoise())

    def pay(self, amount: Fraction, *, operator: str, neighbours: Neighbours, note: str) -> None:
        """There is nothing to protect, so there is nobody to charge."""


Ask = Callable[[Any, Budget], Any]


def of_source(ask: Ask, *, batched: bool) -> dict[str, Any]:
    """Runs of what is asked of a source with one budget; the answer is a row of numbers."""

    def run(side: Any, epsilon: Fraction, neighbours: Neighbours, samples: int, seed: int) -> Vector:
        if batched:
            batch = SimulatedSource(side, seed=seed, neighbours=neighbours, trials=samples)
            return _rows(ask(batch, batch.grant(epsilon)), samples)
        source = SimulatedSource(side, seed=seed, neighbours=neighbours)
        return _rows([np.atleast_1d(ask(source, source.grant(epsilon))) for _ in range(samples)], samples)

    def exact(side: Any, epsilon: Fraction, neighbours: Neighbours, samples: int, seed: int) -> Vector:
        source = ReleaseSource(side, purse=FreePurse(neighbours))
        return _rows([np.atleast_1d(ask(source, source.grant(epsilon))) for _ in range(samples)], samples)

    return {"run": run, "exact": exact, "pace": "batched" if batched else "single"}


def of_budget(ask: Ask, *, batched: bool) -> dict[str, Any]:
    """Runs of a mechanism that is handed an input and a budget."""

    def run(side: Any, epsilon: Fraction, neighbours: Neighbours, samples: int, seed: int) -> Vector:
        if batched:
            purse = simulation(seed=seed, neighbours=neighbours, trials=samples)
            return _rows(ask(side, purse.grant(epsilon)), samples)
        purse = simulation(seed=seed, neighbours=neighbours)
        return _rows([np.atleast_1d(ask(side, purse.grant(epsilon))) for _ in range(samples)], samples)

    def exact(side: Any, epsilon: Fraction, neighbours: Neighbours, samples: int, seed: int) -> Vector:
        purse = FreePurse(neighbours)
        return _rows([np.atleast_1d(ask(side, purse.grant(epsilon))) for _ in range(samples)], samples)

    return {"run": run, "exact": exact, "pace": "batched" if batched else "single"}


def _rows(outputs: Any, samples: int) -> Vector:
    return np.asarray(outputs, dtype=np.float64).reshape(samples, -1)
