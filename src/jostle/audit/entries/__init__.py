"""What is audited: a mechanism, neighbouring inputs that are hard on it, and a way to run it often on public data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, Protocol

import numpy as np

from jostle.kernel.budget import CONCENTRATED, PURE, Budget, Cost, Price, Purse
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
    """The same input with one record added, removed or replaced."""


Pairs = Callable[[Neighbours], Sequence[Pair]]


class Sampler(Protocol):
    """Runs a mechanism several times on one input and returns one row of numbers per run: everything it released."""

    def __call__(self, side: Any, epsilon: Any, neighbours: Neighbours, samples: int, seed: int) -> Vector: ...


@dataclass(frozen=True, kw_only=True)
class Audited:
    """One entry of the audit. To audit something else, make one of these; nothing else is needed.

    >>> from jostle.audit import examine
    >>> def coin(side, epsilon, neighbours, samples, seed):  # true three times in four: it loses ln 3
    ...     true = np.random.default_rng(seed).random((samples, 1)) < 0.75
    ...     return np.where(true, side, 1 - side).astype(float)
    >>> entry = Audited(name="coin", family="mechanism", run=coin, pairs=lambda neighbours: [Pair("a bit", 0, 1)])
    >>> examine(entry, epsilon=1, neighbours="replace", samples=40_000, seed=1).finding  # ln 3 is above 1
    True
    """

    name: str
    """The entry's name in the report."""

    family: Family
    """What it is."""

    pairs: Pairs
    """The hardest neighbouring inputs that are known."""

    run: Sampler | None = None
    """Samples with simulated noise; None if there is no simulation of it."""

    exact: Sampler | None = None
    """Samples with the exact noise of releases, which ignores the seed; None if there is no such version."""

    measure: str = PURE
    """What is claimed: a pure ε, or a ρ."""

    claimed: Callable[[Fraction], float] = float
    """The ε, or the ρ, that is claimed of a run with this ε; by default the same."""

    in_rho: bool = True
    """Whether it can be paid for in ρ as well."""

    delta: float = 0.0
    """The δ that is claimed; 0 for everything that can be released."""

    tight: tuple[str, ...] = ()
    """The neighbours under which the worst case is among the pairs: there, the audit must find most of ε."""

    unknown: str = ""
    """Why the worst case is missing, or cannot be seen, under the other neighbours."""

    relations: tuple[str, ...] = RELATIONS
    """The neighbours under which ε is claimed."""

    pace: Pace = "single"
    """How runs are made: many at once, one by one, or one by one and slowly."""


IN_RHO = ", in ρ"
"""The end of the name of what is paid for in ρ."""


def in_rho(entry: Audited) -> Audited:
    """The same, paid for in ρ = ε²/2: Gaussian noise, the exponential mechanism, and pure mechanisms at ε."""

    def paid(run: Sampler | None) -> Sampler | None:
        if run is None:
            return None

        def sampled(side: Any, epsilon: Any, neighbours: Neighbours, samples: int, seed: int) -> Vector:
            return run(side, Price(Price.of(epsilon).cost.rho, CONCENTRATED), neighbours, samples, seed)

        return sampled

    return replace(
        entry,
        name=f"{entry.name.replace('laplace: ', 'gaussian: ')}{IN_RHO}",
        run=paid(entry.run),
        exact=paid(entry.exact),
        measure=CONCENTRATED,
        claimed=lambda epsilon: float(Price.of(epsilon).cost.rho),
        tight=(),
        unknown="whether one event occurs tells less than all divergences of what is released",
    )


class FreePurse(Purse):
    """Exact noise without an account, for audits, whose data are public: there is nobody to charge."""

    durable = True

    def __init__(self, neighbours: Neighbours) -> None:
        super().__init__(neighbours, ExactNoise())

    def pay(self, cost: Cost, *, operator: str, neighbours: Neighbours, note: str) -> None:
        pass


def by_relation(add_remove: Sequence[Pair], replace: Sequence[Pair]) -> Pairs:
    """Pairs that are listed for each kind of neighbours."""
    listed = {"add_remove": add_remove, "replace": replace}
    return lambda neighbours: listed[neighbours.relation]


Ask = Callable[[Any, Budget], Any]
InputAndPurse = tuple[Any, Any]
"""What a mechanism is run on, and what grants its budget."""


def of_source(ask: Ask, *, batched: bool) -> dict[str, Any]:
    """Samplers of a function of a source and one budget, which returns a row of numbers."""

    def simulated(side: Any, neighbours: Neighbours, seed: int, trials: int | None) -> InputAndPurse:
        return (SimulatedSource(side, seed=seed, neighbours=neighbours, trials=trials),) * 2

    def released(side: Any, neighbours: Neighbours) -> InputAndPurse:
        return (ReleaseSource(side, purse=FreePurse(neighbours)),) * 2

    return samplers(ask, simulated, released, batched=batched)


def of_budget(ask: Ask, *, batched: bool) -> dict[str, Any]:
    """Samplers of a mechanism that takes an input and a budget."""

    def simulated(side: Any, neighbours: Neighbours, seed: int, trials: int | None) -> InputAndPurse:
        return side, simulation(seed=seed, neighbours=neighbours, trials=trials)

    return samplers(ask, simulated, lambda side, neighbours: (side, FreePurse(neighbours)), batched=batched)


def samplers(
    ask: Ask,
    simulated: Callable[[Any, Neighbours, int, int | None], InputAndPurse],
    released: Callable[[Any, Neighbours], InputAndPurse],
    *,
    batched: bool,
) -> dict[str, Any]:
    """Fields `run`, `exact` and `pace` of an entry. With `batched`, one simulation makes all runs at once."""

    def one_by_one(opened: InputAndPurse, epsilon: Fraction, samples: int) -> Vector:
        given, purse = opened
        return _rows([np.ravel(ask(given, purse.grant(epsilon))) for _ in range(samples)], samples)

    def run(side: Any, epsilon: Fraction, neighbours: Neighbours, samples: int, seed: int) -> Vector:
        if not batched:
            return one_by_one(simulated(side, neighbours, seed, None), epsilon, samples)
        given, purse = simulated(side, neighbours, seed, samples)
        return _rows(ask(given, purse.grant(epsilon)), samples)

    def exact(side: Any, epsilon: Fraction, neighbours: Neighbours, samples: int, seed: int) -> Vector:
        return one_by_one(released(side, neighbours), epsilon, samples)

    return {"run": run, "exact": exact, "pace": "batched" if batched else "single"}


def _rows(outputs: Any, samples: int) -> Vector:
    return np.asarray(outputs, dtype=np.float64).reshape(samples, -1)
