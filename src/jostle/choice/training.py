"""Learning a selector from a table of errors on public data (Delphi's second half, Section 5).

Features are perturbed as they will be when the selector is used: each input is seen several times, each time with other
noise on its private features. So a split on a feature that its noise drowns is not worth anything in training either.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from importlib.metadata import version
from types import MappingProxyType
from typing import Any, Final, Protocol

import numpy as np

from jostle import algorithms
from jostle.choice.features import FEATURES
from jostle.choice.regret_tree import Growth, Tree, grow
from jostle.choice.selectors import About, Selector
from jostle.kernel.errors import BadInput
from jostle.kernel.partition import Counts, Vector
from jostle.simulate import grid
from jostle.simulate.grid import GridCell

PAPER: Final = ("domain", "scale", "nonzeros", "variation", "partitionality")
"""The features of the paper (Section 8.1)."""

AS_PUBLISHED: Final = MappingProxyType({"features": PAPER, "rho": 0.1, "copies": 0, "guard": 0.0, "prune": False})
"""The paper's settings of training (Sections 5 and 8), with the criterion "group-regret". It states neither θ nor a limit of
growth: those are ours."""

LARGEST_REGRET: Final = 1e3
"""Regrets count for no more than this in training: an option that is a million times worse is bad enough."""


class MeasuredErrors(Protocol):
    """The errors of options on inputs."""

    inputs: list[GridCell]
    options: list[str]
    errors: Vector
    """Mean errors: inputs × options; NaN where there is no measurement."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings of training, besides the criterion."""

    options: Sequence[str] | None = None
    """The algorithms to choose among; all of the table if left out."""

    against: Sequence[str] | None = None
    """Regrets are errors over the least error of these; if left out, of the paper's suite, or of all options where the table
    lacks some of it. An option of ours that is far ahead on a few inputs then does not make all others look bad there."""

    features: Sequence[str] = ("domain", "scale")
    """What the selector may ask for."""

    rho: float = 0.01
    """The share of the budget for private features, which sets their noise."""

    copies: int = 8
    """How many times each input is seen, each time with other noise; 0 trains on exact features, as the paper does."""

    trees: int = 1
    """The number of trees per class of workloads; each of several is grown on a random sample of the data sets."""

    depth: int = 6

    least: float = 20.0
    """The fewest inputs of a leaf."""

    theta: float = 0.2
    """How alike the options of a group are (group regret)."""

    guard: float = 0.02
    """How much of an option's worst regret counts in addition to its mean."""

    prune: bool = True
    """Whether branches are cut back that do not pay for their features on data sets left out of the choice; the paper's
    criteria, which know no prices, grow as they are."""

    worth: float = 0.005
    """By which share a branch has to lower the regret to be kept."""

    def __post_init__(self) -> None:
        unknown = [name for name in self.features if name not in FEATURES or name == "workload"]
        if unknown:
            raise BadInput("features", f"{unknown[0]!r} is unknown", f"use some of {', '.join(FEATURES)}")
        if not 0 < self.rho < 0.9:
            raise BadInput("rho", f"must lie between 0 and 0.9, got {self.rho!r}", "pass for instance 0.02")
        if not 0 <= self.copies <= 100 or not 1 <= self.trees <= 100:
            raise BadInput("copies, trees", "are out of bounds", "pass 0 to 100 copies and 1 to 100 trees")


def train(table: MeasuredErrors, *, criterion: str = "expected-regret", seed: int = 0, **settings: Any) -> Selector:
    """A selector for the table's task, of trees grown by one of the criteria of `trees.CRITERIA`."""
    return fit(table, *understood(criterion, settings), seed)


def understood(criterion: str, settings: dict[str, Any]) -> tuple[Settings, Growth]:
    """The settings of training, checked."""
    unknown = [name for name in settings if name not in Settings.__dataclass_fields__]
    if unknown:
        raise BadInput(unknown[0], "is no setting of training", f"use some of {', '.join(Settings.__dataclass_fields__)}")
    found = Settings(**settings)
    limits = {name: getattr(found, name) for name in ("depth", "least", "theta", "guard", "worth")}
    return found, Growth(criterion=criterion, **limits)


def fit(table: MeasuredErrors, settings: Settings, growth: Growth, seed: int, exact: Vector | None = None) -> Selector:
    """Train on the inputs of the table that were measured whole; `exact` are their true features, if known already."""
    options = tuple(settings.options or table.options)
    settings = replace(settings, against=tuple(settings.against or _default_against(table, options)))
    whole, regrets = regrets_of(table, options, settings.against or options)
    inputs = [table.inputs[row] for row in whole]
    rng = np.random.default_rng(seed)
    true = exact_features(inputs, settings.features) if exact is None else exact[whole]
    features = noisy_features(inputs, settings, true, rng)
    about = _about(table, inputs, options, settings, growth.criterion, seed)
    kinds = {name: np.array([cell.queries == name for cell in inputs]) for name in about.classes}
    for name, rows in kinds.items():
        if not rows.any():
            raise BadInput("table", f"has no input with the workload {name}", "measure all workloads of the task")
    datasets = np.array([cell.dataset for cell in inputs])
    trees = {
        name: _trees(features[:, rows], regrets[rows], datasets[rows], settings, growth, rng) for name, rows in kinds.items()
    }
    return Selector(about, trees)


def _default_against(table: MeasuredErrors, options: Sequence[str]) -> Sequence[str]:
    """What regrets are counted against by default."""
    suite = grid.suite(table.inputs[0].task) if table.inputs else ()
    return suite if suite and set(suite) <= set(table.options) else options


def regrets_of(table: MeasuredErrors, options: Sequence[str], against: Sequence[str]) -> tuple[Counts, Vector]:
    """The inputs, by number, on which all of these were measured, and the regret of every option on each."""
    missing = [name for name in (*options, *against) if name not in table.options]
    if missing:
        raise BadInput("options", f"{missing[0]!r} is not in the table", f"use some of {', '.join(table.options)}")
    errors = np.asarray(table.errors)[:, [table.options.index(name) for name in options]]
    best = np.asarray(table.errors)[:, [table.options.index(name) for name in against]].min(axis=1)
    whole = np.flatnonzero(np.isfinite(errors).all(axis=1) & np.isfinite(best))
    if not whole.size:
        raise BadInput("table", "has no input on which every option was measured", "let the measurements finish first")
    tiny = 1e-12  # for errors of exactly 0, such as on an empty table
    return whole, np.minimum((errors[whole] + tiny) / (best[whole, None] + tiny), LARGEST_REGRET)


def noisy_features(inputs: Sequence[GridCell], settings: Settings, true: Vector, rng: np.random.Generator) -> Vector:
    """Features as a selector will see them: copies × inputs × features; without copies, the exact values once."""
    if settings.copies == 0:
        return true[None]
    features = [FEATURES[name] for name in settings.features]
    share = settings.rho / max(sum(feature.private for feature in features), 1)
    scales = np.array([[one.noise_scale(math.prod(cell.domain), share) for one in features] for cell in inputs])
    return np.asarray(true + rng.laplace(size=(settings.copies, *true.shape)) * scales)


def exact_features(inputs: Sequence[GridCell], names: Sequence[str]) -> Vector:
    """The true features of public inputs: inputs × features. Those of the data are computed once for all workloads."""
    known: dict[tuple[str, str], float] = {}
    found = np.empty((len(inputs), len(names)))
    for row, cell in enumerate(inputs):
        for column, name in enumerate(names):
            feature = FEATURES[name]
            key = (cell.data_key if feature.private else cell.key, name)
            if key not in known:
                known[key] = feature.value(cell.vector(), cell.workload(), cell.epsilon)
            found[row, column] = known[key]
    return found


def _trees(
    features: Vector, regrets: Vector, datasets: Any, settings: Settings, growth: Growth, rng: np.random.Generator
) -> tuple[Tree, ...]:
    copies = len(features)
    names, groups = np.unique(datasets, return_inverse=True)
    private = [FEATURES[name].private for name in settings.features]
    share = settings.rho / max(sum(private), 1)
    prices = [share / (1 - share) if paid else 0.0 for paid in private]  # an error grows as ε shrinks
    grown = []
    for _ in range(settings.trees):
        weights = np.ones(len(regrets))
        if settings.trees > 1:  # draw data sets, not inputs: those of one data set are alike
            drawn = rng.multinomial(names.size, np.full(names.size, 1 / names.size))
            weights = drawn[groups].astype(np.float64)
        rows = np.tile(weights > 0, copies)
        stacked, repeated = features.reshape(-1, features.shape[-1])[rows], np.tile(regrets, (copies, 1))[rows]
        cut_back = np.tile(groups, copies)[rows] if settings.prune and growth.criterion == "expected-regret" else None
        weighed = np.tile(weights, copies)[rows] / copies
        how: dict[str, Any] = {"groups": cut_back, "prices": prices, "merge": settings.trees == 1}  # several vote by regrets
        grown.append(grow(list(settings.features), stacked, repeated, weighed, growth, **how))
    return tuple(grown)


def _about(
    table: MeasuredErrors,
    inputs: Sequence[GridCell],
    options: tuple[str, ...],
    settings: Settings,
    criterion: str,
    seed: int,
) -> About:
    cells, scales = [math.prod(cell.domain) for cell in inputs], [2.0**cell.exponent for cell in inputs]
    chosen = {name: list(value) if isinstance(value, (tuple, list)) else value for name, value in asdict(settings).items()}
    measured = {name: getattr(table, name) for name in ("trials", "neighbours") if hasattr(table, name)}
    return About(
        task=inputs[0].task,
        options=options,
        versions=tuple(algorithms.get(name).version for name in options),
        rho=settings.rho,
        cells=(float(min(cells)), float(max(cells))),
        scales=(min(scales), max(scales)),
        provenance={
            "data": sorted({cell.dataset for cell in inputs}),
            "sides": sorted({cell.side for cell in inputs}),
            "exponents": sorted({cell.exponent for cell in inputs}),
            "inputs": len(inputs),
            "criterion": criterion,
            "seed": seed,
            "jostle": version("jostle"),
        }
        | measured
        | {name: value for name, value in chosen.items() if name != "options" and value is not None},
    )
