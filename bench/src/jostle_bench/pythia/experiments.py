"""The experiments of the Pythia paper (Section 8, Appendix C) on a table of errors: what choosing costs on unseen data.

Everything is judged leaving one data set out, and nothing is run but what `deployed` runs: an option's error is the table's.
All inputs are public.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from jostle.choice import training
from jostle.choice.delphi import ErrorTable
from jostle.choice.regret_tree import CRITERIA
from jostle.choice.selectors import Selector
from jostle.kernel.errors import BadInput
from jostle.kernel.partition import Vector
from jostle.simulate.grid import SUITE, WORKLOADS
from jostle_bench.pythia.evaluation import Outcome, leave_one_out

DRAWS: Final = 4
"""How many times the features of an input are drawn with fresh noise, where errors are projected from the table."""

OFTEN: Final = 0.5
"""An option that was measured on fewer of the suite's inputs is left out of a partial table, unless it is named."""


@dataclass(frozen=True, kw_only=True)
class Way:
    """A way to choose: how a selector is trained."""

    name: str
    """What it is called in tables."""

    criterion: str = "expected-regret"
    """How its trees are grown."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    """Further settings of the training; see `training.Settings`."""

    def but(self, name: str, **changed: Any) -> Way:
        """The same with another name and some other settings.

        >>> OURS.but("deep", depth=9).settings["depth"]
        9
        """
        return replace(self, name=name, settings={**self.settings, **changed})

    def among(self, *options: str) -> Way:
        """The same among only these options."""
        return self.but(self.name, options=options)


OURS: Final = Way(name="Pythia")
"""Ours: all options, and the default settings of the training."""

AS_PUBLISHED: Final = Way(
    name="Pythia as published",
    criterion="group-regret",
    settings=dict(training.AS_PUBLISHED),
)
"""The paper's: its suite, features, criterion and share of the budget; exact features in training (Sections 5 and 8).

The paper states neither θ nor a limit of growth: those are what ours has.
"""

RHOS: Final = (0.005, 0.01, 0.02, 0.03, 0.1)
"""Shares of the budget for features that are compared; the last is the paper's."""

THETAS: Final = (0.05, 0.1, 0.2, 0.5, 1.0)
"""How alike the options of a group may be: values that are compared."""

VARIANTS: Final[Mapping[str, Mapping[str, Any]]] = MappingProxyType(
    {
        "scale alone": {"features": ("scale",)},
        "domain alone: nothing is paid": {"features": ("domain",)},
        "domain, scale, nonzeros": {"features": ("domain", "scale", "nonzeros")},
        "domain, scale, variation": {"features": ("domain", "scale", "variation")},
        "domain, scale, partitionality": {"features": ("domain", "scale", "partitionality")},
        "the paper's five features": {"features": training.PAPER},
        "the paper's five features, ρ 0.03": {"features": training.PAPER, "rho": 0.03},
        "ρ 0.005": {"rho": 0.005},
        "ρ 0.02": {"rho": 0.02},
        "ρ 0.03": {"rho": 0.03},
        "depth 2": {"depth": 2},
        "depth 4": {"depth": 4},
        "depth 8": {"depth": 8},
        "leaves of 5": {"least": 5.0},
        "leaves of 10": {"least": 10.0},
        "leaves of 40": {"least": 40.0},
        "no guard": {"guard": 0.0},
        "guard 0.1": {"guard": 0.1},
        "no pruning": {"prune": False},
        "branches worth 2 %": {"worth": 0.02},
        "exact features in training": {"copies": 0},
        "5 trees": {"trees": 5},
        "15 trees": {"trees": 15},
        "5 trees, leaves of 10": {"trees": 5, "least": 10.0},
        "5 trees, domain alone": {"trees": 5, "features": ("domain",)},
        "5 trees, domain, scale, variation": {"trees": 5, "features": ("domain", "scale", "variation")},
    }
)
"""Other settings of training, each compared with ours."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Judged:
    """What one way to answer costs on the inputs of a table."""

    name: str
    """The option, or the way to choose one."""

    table: ErrorTable
    """The table."""

    errors: Vector
    """Its error on each input."""

    spent: float = 0.0
    """The mean share of the budget that choosing takes."""

    @cached_property
    def to_suite(self) -> Vector:
        """Its error over the least of the paper's suite, on each input."""
        return self._over(SUITE[self.table.task])

    @cached_property
    def to_all(self) -> Vector:
        """Its error over the least of all options of the table, on each input: the regret of the choice."""
        return self._over(self.table.options)

    def _over(self, names: Sequence[str]) -> Vector:
        best = self.table.only(*names).errors.min(axis=1)
        return np.asarray(self.errors / np.maximum(best, 1e-12))

    def beyond(self, other: Judged) -> Vector:
        """How far its mean regret lies above another's on each data set: inputs of one data set are not independent."""
        mine, its = self.by("dataset"), other.by("dataset")
        return np.array([mine[name] - its[name] for name in mine])

    def by(self, what: str, queries: str | None = None, *, of_all: bool = False) -> dict[Any, float]:
        """Mean regrets by "queries", "dataset", "side" or "exponent" of the inputs; of one workload, if it is named."""
        groups: dict[Any, list[float]] = {}
        for cell, regret in zip(self.table.inputs, self.to_all if of_all else self.to_suite, strict=True):
            if queries is None or cell.queries == queries:
                groups.setdefault(getattr(cell, what), []).append(float(regret))
        return {key: float(np.mean(groups[key])) for key in groups}


@dataclass(frozen=True, kw_only=True, eq=False)
class Experiment:
    """The experiments on one table."""

    table: ErrorTable
    """All options, on the inputs on which every one of them was measured."""

    suite: ErrorTable
    """The paper's suite, on the inputs on which all of it was measured."""

    whole: int
    """How many inputs the grid has."""

    left_out: Mapping[str, int]
    """Options that were measured too seldom to be compared, and on how many inputs."""

    seed: int = 0
    """Of the noise in training and on features."""

    @property
    def task(self) -> str:
        """What is asked: "range-1d" or "range-2d"."""
        return self.table.task

    @property
    def kinds(self) -> tuple[str, ...]:
        """The workloads."""
        return WORKLOADS[self.task]

    @cached_property
    def blind(self) -> list[Judged]:
        """One option for all inputs, the best first."""
        columns = zip(self.table.options, self.table.errors.T, strict=True)
        found = [Judged(name=name, table=self.table, errors=errors) for name, errors in columns]
        return sorted(found, key=lambda one: float(one.to_suite.mean()))

    def best_single(self, queries: str, number: int) -> list[Judged]:
        """So many single options, those with the least mean regret on a workload."""
        return sorted(self.blind, key=lambda one: one.by("queries")[queries])[:number]

    @cached_property
    def informed(self) -> list[Judged]:
        """The best option on each input, which no private choice can promise: of the suite, and of all."""
        return [
            Judged(name=f"informed decision over {what}", table=self.table, errors=table.errors.min(axis=1))
            for what, table in (("the suite", self.table.only(*SUITE[self.task])), ("all options", self.table))
        ]

    @cached_property
    def luck(self) -> float:
        """By which share the least mean of all options looks smaller than it is, as the table's means are themselves noisy.

        A bootstrap: the table stands for the truth, and fresh means are drawn around it. Regrets against all options are too
        large by about so much.
        """
        rng = np.random.default_rng(self.seed)
        drawn = self.table.errors + self.table.stderrs * rng.standard_normal((50, *self.table.errors.shape))
        best = self.table.errors.min(axis=1)
        return float(np.mean(1 - drawn.min(axis=2) / np.maximum(best, 1e-12)))

    @cached_property
    def ours(self) -> Judged:
        """Our way to choose, among all options."""
        return self.judge(OURS)

    @cached_property
    def constant(self) -> Judged:
        """One option for each workload, chosen on the other data sets: choosing without looking at the data."""
        return self.judge(OURS.but("one option per workload", depth=0))

    @cached_property
    def published(self) -> Judged:
        """The paper's way, among its suite, on the same inputs."""
        return self.judge(self.as_published)

    @property
    def as_published(self) -> Way:
        """The paper's way for this task."""
        return AS_PUBLISHED.among(*SUITE[self.task])

    @cached_property
    def criteria(self) -> list[Judged]:
        """The paper's suite and settings, with each criterion; and our settings on the same suite (Fig. 7)."""
        ways = [replace(AS_PUBLISHED, name=name, criterion=name) for name in CRITERIA]
        return [self.judge(way, self.suite) for way in (*ways, replace(OURS, name="ours"))]

    @cached_property
    def thetas(self) -> dict[float, Judged]:
        """Group regret with other values of θ, which the paper does not state; the rest is the paper's."""
        return {theta: self.judge(AS_PUBLISHED.but(f"θ {theta:g}", theta=theta), self.suite) for theta in THETAS}

    @cached_property
    def prices(self) -> dict[float, Judged]:
        """Our way with other shares of the budget for features."""
        return {rho: self.judge(OURS.but(f"ρ {rho:g}", rho=rho)) for rho in RHOS}

    def variants(self) -> Iterator[Judged]:
        """Other settings of training, one after the other; and other options, or regrets, to train with."""
        suite = SUITE[self.task]
        own = [name for name in self.table.options if name not in suite]
        ways = [OURS.but(name, **settings) for name, settings in VARIANTS.items()]
        ways.append(OURS.but("trained on regrets against all options", against=self.table.options))
        if own:
            ways += [
                OURS.but("our own options alone", options=own),
                OURS.but("our own alone, 5 trees", options=own, trees=5),
            ]
        return (self.judge(way) for way in ways)

    def selector(self, way: Way, without: str | None = None) -> Selector:
        """What this way learns from all data sets, or from all but one; just as it does to be judged."""
        others = np.array([cell.dataset != without for cell in self.table.inputs])
        told, growth = training.understood(way.criterion, dict(way.settings))
        known = self._features(self.table)
        exact = np.column_stack([known[name] for name in told.features])
        return training.fit(self.table.where(others), told, growth, self.seed, exact[others])

    def outcome(self, way: Way, table: ErrorTable | None = None) -> Outcome:
        """What this way would choose on every input, and what that costs."""
        asked = self.table if table is None else table
        known = self._features(asked)
        return leave_one_out(asked, criterion=way.criterion, draws=DRAWS, seed=self.seed, known=known, **way.settings)

    def judge(self, way: Way, table: ErrorTable | None = None) -> Judged:
        """The expected error of this way on every input, trained without its data set."""
        asked = self.table if table is None else table
        found = self.outcome(way, asked)
        return Judged(name=way.name, table=asked, errors=found.errors.mean(axis=0), spent=float(found.spent.mean()))

    def _features(self, table: ErrorTable) -> dict[str, Vector]:
        """The paper's features of a table's inputs, by name."""
        rows = [self._places[cell.key] for cell in table.inputs]
        return dict(zip(training.PAPER, self._known[rows].T, strict=True))

    @cached_property
    def _places(self) -> dict[str, int]:
        return {cell.key: place for place, cell in enumerate(self.suite.inputs)}

    @cached_property
    def _known(self) -> Vector:
        """The features of all inputs: they take longer than everything that is done with them, and so are computed once."""
        return self.suite.features(*training.PAPER)


def experiment(table: ErrorTable, *, named: Sequence[str] | None = None, seed: int = 0) -> Experiment:
    """The experiments on what has been measured of a table.

    Of a table that is not finished, the inputs are used on which every option was measured; options that were measured on
    few inputs are left out, unless they are `named`.

    >>> shapes = {"flat": np.ones(64, dtype=int), "steep": np.arange(64) ** 3, "steps": np.repeat([9, 1], 32)}
    >>> from jostle.choice.delphi import collect
    >>> table = collect("range-1d", shapes=shapes, options=[*SUITE["range-1d"], "OPT"], sides=[32],
    ...                 exponents=[6, 12, 18], trials=2, workers=1)
    >>> found = experiment(table)
    >>> found.whole, len(found.table.inputs), bool(found.ours.to_all.mean() >= 1)
    (18, 18, True)
    """
    missing = [name for name in SUITE[table.task] if name not in table.options]
    if missing:
        raise BadInput("options", f"{', '.join(missing)} of the paper's suite is missing", "measure the whole suite")
    suite = table.only(*SUITE[table.task]).complete()
    there = {cell.key for cell in suite.inputs}
    rows = np.array([cell.key in there for cell in table.inputs])
    counts = np.isfinite(table.errors[rows]).sum(axis=0)
    wanted = [*SUITE[table.task], *(named or ())]
    kept, left_out = [], {}
    for name, count in zip(table.options, counts, strict=True):
        if name in wanted or count >= max(OFTEN * len(there), 1):
            kept.append(name)
        else:
            left_out[name] = int(count)
    whole = table.only(*kept).complete()
    if len(whole.datasets) < 2 or len({cell.queries for cell in whole.inputs}) < len(WORKLOADS[table.task]):
        problem = (
            f"only {len(whole.inputs)} inputs were measured with all of {', '.join(kept)}: too few to leave a data set out"
        )
        raise BadInput("table", problem, "measure more of it, for instance with `jostle train`, or name fewer options")
    return Experiment(table=whole, suite=suite, whole=len(table.inputs), left_out=left_out, seed=seed)
