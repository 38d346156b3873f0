"""Linear regression from a synthesizer's model (AIM-SSP: Ferrando and Sheldon 2024): it measures only what matters."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from jostle.kernel.budget import Budget
from jostle.kernel.partition import Counts
from jostle.kernel.records import Records
from jostle.learn.regression.features import linear_features, offsets
from jostle.learn.regression.linear import LinearModel, Moments
from jostle.learn.regression.moments import label_feature
from jostle.learn.regression.task import RegressionTask
from jostle.synthetic.synthesizer import synthesize

DRAWN = 50_000
"""How many records are drawn from the model: their sums stand for the model's."""

LABELLED = 4
"""Pairs with the label count this many times."""

SEED = 0
"""Drawing is post-processing of a released model, so that its randomness protects nothing."""


def synthesized(records: Records, task: RegressionTask, budget: Budget, *, ridge: float | None = None) -> LinearModel:
    """Least squares on records drawn from a model of all columns, for which pairs with the label count most.

    Privacy: the synthesizer spends the budget, whole. The rest is post-processing.
    """
    made, codes, scale = drawn_records(records, task, budget)
    features = linear_features(task)
    at = offsets(features)
    table = np.ones((DRAWN, 1 + sum(len(one.labels) for one in features.values())))
    for name, one in features.items():
        table[:, at[name]] = one.matrix[one.bins[codes[name]]]
    target = label_feature(task)
    numbers = target.matrix[target.bins[codes[task.label]], 0]
    size = table.shape[1]
    moments = Moments(
        scale * table.T @ table,
        scale * table.T @ numbers,
        scale * float(numbers @ numbers),
        np.zeros((size, size)),
        np.zeros(size),
    )
    slopes, used = moments.solve(1.0 if ridge is None else ridge)
    summary = f"A linear model of {size - 1} features, from a synthetic table with {made} measurements."
    return LinearModel(
        features=features, moments=moments, slopes=slopes, ridge=used, bounds=task.bounds, summary=summary, exact=False
    )


def drawn_records(records: Records, task: RegressionTask, budget: Budget) -> tuple[int, dict[str, Counts], float]:
    """How many measurements a model of all columns took, records drawn from it, and how many records each stands for.

    Privacy: the synthesizer spends the budget, whole.
    """
    names = [*task.attributes, task.label]
    label = len(names) - 1
    workload = [pair for pair in combinations(range(len(names)), 2) for _ in range(LABELLED if label in pair else 1)]
    columns = {name: task.columns[name] for name in names}
    made = synthesize(records, columns, budget, workload=workload, predicting=True)
    return len(made.steps), made.draw(DRAWN, np.random.default_rng(SEED)), made.total / DRAWN
