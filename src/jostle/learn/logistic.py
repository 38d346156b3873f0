"""An additive model of the classes' log-odds, by objective perturbation: one shot, no iterations to pay for."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import final

import numpy as np

from jostle.kernel.arguments import finite
from jostle.kernel.budget import Budget, Price
from jostle.kernel.errors import BadInput
from jostle.kernel.functions.objective import LARGEST_RIDGE, SMALLEST_RIDGE, Additive, calibration_for, is_gaussian
from jostle.kernel.functions.statistics import Scale
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.partition import Counts
from jostle.kernel.records import Records
from jostle.learn.cells import binned, coarse, derive_bins, width
from jostle.learn.estimator import PrivateEstimator
from jostle.learn.registry import FloatArray, IntArray, check_number, check_whole, learner
from jostle.learn.task import Task, once_per_task

FINEST = 32
"""The most cells of a numeric attribute."""

BINS = 8
"""The fewest bins of a numeric attribute, unless `bins` is given."""

MOST = 2048
"""The most coefficients of all classes together: with more, the search would take minutes."""

WEAK, STRONG = 2.0, 16.0
"""The smallest and the largest ridge, in its units, unless `ridge` is given."""


@final
@dataclass(frozen=True)
class AdditiveModel:
    """A score for each value of each attribute; a class's odds grow with the sum of its scores."""

    tables: Mapping[str, FloatArray]
    """For each attribute the scores of its cells: one row per cell, one column per class."""

    foreseen: Mapping[str, int]
    """How many of these cells are for values that the schema names."""

    summary: str

    def scores(self, codes: Mapping[str, IntArray]) -> FloatArray:
        total = sum(table[codes[name]] for name, table in self.tables.items())
        odds = np.exp(total - np.max(total, axis=1, keepdims=True))
        return np.asarray(odds / odds.sum(axis=1, keepdims=True))

    def describe(self) -> str:
        weight = {name: float(np.ptp(table[: self.foreseen[name]], axis=0).max()) for name, table in self.tables.items()}
        most = sorted(weight, key=lambda name: -weight[name])[:5]
        return f"{self.summary} It leans on {', '.join(f'{name} ({weight[name]:.2g})' for name in most)} most."


@learner(name="Logistic", cite="chaudhuri2011differentially")
def logistic(
    records: Records,
    task: Task,
    budget: Budget,
    *,
    bins: int | None = None,
    ridge: float | None = None,
    total: float | None = None,
) -> AdditiveModel:
    """Coefficients of values, by objective perturbation (Chaudhuri et al. 2011, Algorithm 2, with Laplace noise).

    A category has a coefficient for each value; a number has one for each of its equally wide bins, and between the middles
    of two bins its score changes linearly. The ridge is in units of k/2ε for k attributes. If bins or ridge are not given,
    they follow from the number of records and the noise.

    Privacy: a noisy number of records (2 % of the budget) if it is needed and none that was paid for is given as `total`;
    one minimisation over all attributes with the rest. Bins and ridge depend only on the schema, ε and that number.
    """
    if bins is not None:
        check_whole("bins", bins, 1, remedy="leave it out, or pass for instance 8")
    if ridge is not None:
        check_number("ridge", ridge, 0.5, 1e6, remedy="leave it out, or pass for instance 4")
    if total is not None and finite(total) is None:
        raise BadInput("total", "must be a number that was paid for", "leave it out")
    cells = cells_of(task)
    _check_payable(task, records.neighbours, budget.price.times(Fraction(98, 100)), bins, ridge)
    if total is None and (bins is None or ridge is None):
        total = records.total
    if total is None and (bins is None or ridge is None):
        first, budget = budget.split(Fraction(2, 100), Fraction(98, 100))
        total = float(records.vector(task.label).statistic(Scale(), first))
    enough = plenty(task, cells, (total or 0.0) * _rate(records.neighbours, budget.price.pure))
    if is_gaussian(len(task.classes), records.neighbours, budget.price):
        enough *= math.sqrt(2 * len(cells))  # so much quieter is Gaussian noise on as many attributes
    wide = int(bins or np.clip(round(BINS * (enough / 60) ** (1 / 3)), BINS, FINEST))
    strength = float(ridge or np.clip(12 / enough, WEAK, STRONG))
    objective = _objective(task, records.neighbours, budget.price.pure, wide, strength)
    return _model(task, cells, objective, derive_bins(records, cells).minimise(objective, budget))


@once_per_task
def cells_of(task: Task) -> dict[str, Counts]:
    """A public table for each attribute, from its cells to the values that may have a coefficient.

    Numbers are cut no finer than there may be coefficients. If even that leaves too many coefficients, the attributes with
    the most values are left out: their coefficients would be nothing but noise.

    >>> from jostle.schema import Boolean, Category, Integer
    >>> columns = {"name": Category(list(range(9_000))), "age": Integer(0, 99), "sick": Boolean()}
    >>> {name: int(table.max()) + 1 for name, table in cells_of(Task.over(columns, "sick")).items()}
    {'age': 33}
    """
    scores = 1 if len(task.classes) <= 2 else len(task.classes)
    if scores > MOST:
        raise BadInput("label", f"has more than {MOST} classes", "put some of them together")
    kept = sorted(task.attributes, key=lambda a: width(coarse(task, a, 2)))
    while kept and scores * sum(width(coarse(task, a, 2)) for a in kept) > MOST:
        kept.pop()
    if not kept:
        return {task.attributes[0]: np.zeros(task.sizes[task.attributes[0]], dtype=np.int64)}
    for finest in range(FINEST, 1, -1):
        cells = {a: coarse(task, a, finest) for a in task.attributes if a in kept}
        if scores * sum(map(width, cells.values())) <= MOST:
            break
    return cells


def _rate(neighbours: Neighbours, epsilon: Fraction) -> float:
    """The ε for one record more or less."""
    return float(epsilon / neighbours.sensitivity(1, 2))


def _objective(task: Task, neighbours: Neighbours, epsilon: Fraction, bins: int, strength: float) -> Additive:
    plain = _with_bins(task, bins)
    ridge = strength * float(plain.reach[1]) / (2 * _rate(neighbours, epsilon))
    if ridge > LARGEST_RIDGE:
        raise BadInput("epsilon", "is too small for an additive model", "use a larger one")
    return Additive(task.label, plain.features, max(ridge, SMALLEST_RIDGE))


@once_per_task
def _with_bins(task: Task, bins: int) -> Additive:
    """With a ridge of 1."""
    features = {binned(a): _features(task, a, table, bins) for a, table in cells_of(task).items()}
    return Additive(task.label, features, 1.0)


@once_per_task
def _check_payable(task: Task, neighbours: Neighbours, price: Price, bins: int | None, ridge: float | None) -> None:
    """Raise, before anything is charged, unless every objective that this fit may use can be calibrated."""
    for wide, strength in product([bins] if bins else [BINS, FINEST], [ridge] if ridge else [WEAK, STRONG]):
        objective = _objective(task, neighbours, price.pure, wide, strength)
        calibration_for(objective, len(task.classes), neighbours, price)


def plenty(task: Task, cells: Mapping[str, IntArray], loudness: float) -> float:
    """Roughly how many times larger records times ε are than the noise on k attributes' coefficients."""
    values = sum(min(width(table), BINS) if task.is_numeric(a) else width(table) for a, table in cells.items())
    classes = max(len(task.classes), 2)
    need = 4 * (1 if classes == 2 else 2 * (classes - 1)) * len(cells) * math.sqrt(values)
    return max(loudness / need, 0.01)


def _features(task: Task, attribute: str, cells: IntArray, bins: int) -> FloatArray:
    """One row per cell: categories as they are, numbers by how near they are to the middles of two bins.

    A row's entries add up to 1, so that an attribute weighs no more than if each of its values had a coefficient.
    """
    size = width(cells)
    values = int(cells[task.known(attribute) - 1]) + 1
    if not task.is_numeric(attribute) or values <= bins:
        return np.eye(size)
    place = np.clip((np.arange(values) + 0.5) * bins / values - 0.5, 0, bins - 1)
    below = np.minimum(place.astype(np.int64), max(bins - 2, 0))
    matrix = np.zeros((size, bins + size - values))
    matrix[np.arange(values), below] = 1 - (place - below)
    if bins > 1:
        matrix[np.arange(values), below + 1] = place - below
    matrix[values:, bins:] = np.eye(size - values)
    return matrix


def _model(task: Task, cells: Mapping[str, IntArray], objective: Additive, found: FloatArray) -> AdditiveModel:
    """Scores of the schema's cells, from the coefficients."""
    two = len(task.classes) == 2
    ends = np.cumsum([m.shape[1] for m in objective.features.values()])[:-1]
    tables = {}
    for a, part in zip(cells, np.split(found, ends, axis=1), strict=True):
        by_cell = (objective.features[binned(a)] @ part.T)[cells[a]]
        tables[a] = np.hstack([np.zeros_like(by_cell), by_cell]) if two else by_cell
    known = {a: task.known(a) for a in tables}
    return AdditiveModel(tables, known, f"Additive scores of {found.shape[1]} features of {len(tables)} attributes.")


@dataclass(eq=False, repr=False, kw_only=True)
class PrivateLogistic(PrivateEstimator):
    """An additive logistic model, private by objective perturbation.

    >>> from jostle.schema import Schema, Integer, Category
    >>> schema = Schema({"age": Integer(0, 99), "class": Category(["no", "yes"])})
    >>> ages = np.arange(2_000)[:, None] % 100
    >>> model = PrivateLogistic(epsilon=1, schema=schema, random_state=0).fit(ages, np.where(ages[:, 0] < 50, "no", "yes"))
    >>> model.predict([[20], [80]]).tolist()
    ['no', 'yes']
    """

    learner = "Logistic"

    bins: int | None = None
    ridge: float | None = None
