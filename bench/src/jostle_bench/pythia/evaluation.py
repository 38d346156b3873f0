"""How good a selector is on data that it has not seen: trained on all data sets but one, judged on that (Section 8.2)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from jostle.choice.features import FEATURES
from jostle.choice.selectors import Selector
from jostle.choice.training import MeasuredErrors, Settings, exact_features, fit, understood
from jostle.kernel.errors import BadInput
from jostle.kernel.partition import Counts, Vector
from jostle.simulate.grid import GridCell


@dataclass(frozen=True, kw_only=True, eq=False)
class Outcome:
    """What choosing would have cost on each input."""

    rows: Counts
    """The inputs of the table that were judged, by number."""

    errors: Vector
    """The expected error of Pythia on each, what it pays for features included: draws × inputs."""

    spent: Vector
    """The share of the budget that went to features: draws × inputs."""

    choices: list[list[str]]
    """The options that were chosen: draws × inputs."""

    def regrets(self, table: MeasuredErrors, against: Sequence[str]) -> Vector:
        """The mean over draws of the error on each input, over the least error of these options."""
        best = np.asarray(table.errors)[self.rows][:, [table.options.index(name) for name in against]].min(axis=1)
        return np.asarray(self.errors.mean(axis=0) / np.maximum(best, 1e-12))


def leave_one_out(
    table: MeasuredErrors,
    *,
    criterion: str = "expected-regret",
    draws: int = 4,
    seed: int = 0,
    known: Mapping[str, Vector] | None = None,
    **settings: Any,
) -> Outcome:
    """Train without each data set in turn, and choose on its inputs with features as noisy as they would be.

    Nothing is run: an option's error is the table's, over the share of the budget that is left for it, as errors are in
    proportion to 1/ε by exchange, nearly. `known` are true features of the inputs, by name, if they are at hand.
    """
    told, growth = understood(criterion, settings)
    datasets = np.array([cell.dataset for cell in table.inputs])
    if np.unique(datasets).size < 2:
        raise BadInput("table", "has one data set: none is left to train on", "measure inputs of several data sets")
    missing = [name for name in told.features if name not in (known or {})]
    columns = dict(known or {}) | dict(zip(missing, exact_features(table.inputs, missing).T, strict=True))
    exact = np.column_stack([columns[name] for name in told.features])
    options = [table.options.index(name) for name in told.options or table.options]
    measured = np.isfinite(np.asarray(table.errors)[:, options]).all(axis=1)
    rng = np.random.default_rng(seed)
    found: dict[int, list[tuple[float, float, str]]] = {}
    for dataset in np.unique(datasets):
        others = np.flatnonzero(datasets != dataset)
        selector = fit(_Part(table, others), told, growth, seed, exact[others])
        for row in np.flatnonzero((datasets == dataset) & measured):
            walks = [_walk(selector, table.inputs[row], told, exact[row], rng) for _ in range(draws)]
            error = {name: float(table.errors[row, table.options.index(name)]) for name, _ in walks}
            found[int(row)] = [(error[name] / (1 - spent), spent, name) for name, spent in walks]
    rows = sorted(found)
    errors, spent = (np.array([[one[part] for one in found[row]] for row in rows]).T for part in (0, 1))
    choices = [[found[row][draw][2] for row in rows] for draw in range(draws)]
    return Outcome(rows=np.array(rows), errors=errors, spent=spent, choices=choices)


class _Part:
    """Some inputs of a table."""

    def __init__(self, table: MeasuredErrors, rows: Counts) -> None:
        self.inputs, self.options = [table.inputs[row] for row in rows], table.options
        self.errors = np.asarray(table.errors)[rows]


def _walk(selector: Selector, cell: GridCell, told: Settings, exact: Vector, rng: np.random.Generator) -> tuple[str, float]:
    """The choice under fresh noise, and the share of the budget that its features took."""
    share = selector.about.rho / max(len(selector.private_features), 1)
    asked = []

    def measure(name: str) -> float:
        if name == "workload":
            return float(selector.about.classes.index(cell.queries))
        feature, value = FEATURES[name], float(exact[list(told.features).index(name)])
        if not feature.private:
            return value
        asked.append(name)
        return value + float(rng.laplace()) * feature.noise_scale(math.prod(cell.domain), share)

    return selector.decide(measure).choice, share * len(asked)
