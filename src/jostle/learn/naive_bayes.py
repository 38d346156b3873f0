"""Naive Bayes on private histograms, each by an algorithm for histograms that is named or chosen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np

from jostle import algorithms, workloads
from jostle.choice.baselines import informed_decision
from jostle.choice.selectors import shipped, shipped_names
from jostle.kernel.arguments import finite
from jostle.kernel.budget import Budget, Price
from jostle.kernel.errors import BadInput, InternalError
from jostle.kernel.partition import Partition
from jostle.kernel.records import Records, SimulatedRecords
from jostle.kernel.source import Source
from jostle.kernel.strategies import identity
from jostle.learn.estimator import PrivateEstimator
from jostle.learn.logistic import AdditiveModel
from jostle.learn.registry import FloatArray, learner
from jostle.learn.task import Task

NONE: Final = "none"
"""The true histograms: not private, only for simulations on public data."""

INFORMED: Final = "informed"
"""For each histogram the option with the smallest error on it: not private either."""

OPTIONS: Final = ("Laplace", "DAWA", "Bayes")
"""The algorithms that informed decision picks from."""

TRIALS: Final = 5
"""How often informed decision tries each algorithm."""

NOISELESS: Final = Fraction(10**6)
"""An ε so large that no noise is left: with it, a simulation looks at public data."""

Likelihood = Callable[[FloatArray, Task, str, float], FloatArray]
"""From noisy counts of an attribute's cells × classes and a smoothing, in records, to log-likelihoods of the same shape."""


def _versions(tunables: Mapping[str, Any]) -> object:
    """Versions of the algorithms that make the histograms. One that picks others depends on all, and on its selectors."""
    name = str(tunables["histograms"])
    if name == NONE:
        return ()
    known = [algorithms.get(one) for one in (OPTIONS if name == INFORMED else (name,))]
    if not any(one.choosing for one in known):
        return [(one.name, one.version) for one in known]
    every = [algorithms.get(one) for one in algorithms.names(task="range-1d")]
    return [(one.name, one.version) for one in every], [shipped(one).dumps() for one in shipped_names() if "1d" in one]


def _check_release(tunables: Mapping[str, Any]) -> None:
    """Raise if a release would look at the true counts."""
    histograms = tunables["histograms"]
    if histograms in (NONE, INFORMED):
        problem = f"{histograms!r} looks at the true counts, so it is only for simulations on public data"
        raise BadInput("histograms", problem, "name an algorithm, for instance 'Bayes'")


@learner(name="MultinomialBayes", cite="kotsogiannis2017pythia", follows=_versions, before_release=_check_release)
def multinomial_bayes(
    records: Records, task: Task, budget: Budget, *, histograms: str = "Bayes", smoothing: float = 1.0
) -> AdditiveModel:
    """Each attribute's distribution in each class, by a noisy histogram (Section 8.3); attributes are taken as independent.

    `histograms` is any algorithm for one dimension. `smoothing`, in scales of the noise, draws each class's distribution
    towards that of all classes together, which carries no information.

    Privacy: one noisy histogram of the classes and one of each attribute's values × classes, with equal shares of the
    budget. A record is in one class, so within an attribute the classes share its budget (parallel composition): k + 1
    histograms for k attributes, whatever the number of classes. Likelihoods are post-processing. "none" and "informed" look
    at the truth, and are refused in a release.
    """
    return _fitted(records, task, budget, histograms, smoothing, _multinomial)


@learner(name="GaussianBayes", cite="kotsogiannis2017pythia", follows=_versions, before_release=_check_release)
def gaussian_bayes(
    records: Records, task: Task, budget: Budget, *, histograms: str = "Laplace", smoothing: float = 1.0
) -> AdditiveModel:
    """Each number's mean and variance in each class, from a noisy histogram (Section 8.3); categories as in the multinomial.

    Numbers are measured in the schema's cells, so a column with logarithmic cells is modelled as log-normal. Missing values
    carry no information. `histograms` and `smoothing` are as in the multinomial.

    Privacy: that of the multinomial model: k + 1 noisy histograms with equal shares of the budget; means and variances are
    post-processing.
    """
    return _fitted(records, task, budget, histograms, smoothing, _gaussian)


def _fitted(
    records: Records, task: Task, budget: Budget, histograms: str, smoothing: float, likelihood: Likelihood
) -> AdditiveModel:
    _check(records, histograms, smoothing)
    first, *shares = budget.split_evenly(len(task.attributes) + 1)
    prior = _prior(records, task.label, first, histograms)
    tables: dict[str, FloatArray] = {}
    for attribute, share in zip(task.attributes, shares, strict=True):
        noisy, scale = _by_class(records, task, attribute, share, histograms, cells_matter=likelihood is _multinomial)
        logs = likelihood(np.maximum(noisy, 0.0), task, attribute, smoothing * max(scale, 1.0))
        tables[attribute] = logs - logs.mean(axis=1, keepdims=True)
    tables[task.attributes[0]] = tables[task.attributes[0]] + np.log(prior)
    words = f"Naive Bayes on {len(tables) + 1} histograms by {_words(histograms)}."
    return AdditiveModel(tables, {a: task.known(a) for a in tables}, words)


def _prior(records: Records, label: str, budget: Budget, histograms: str) -> FloatArray:
    """About how many records each class has, but never fewer than pure noise would show."""
    classes = records.vector(label)
    cells = identity(classes.shape)
    least = max(classes.noise_scale(cells, budget), 1.0)
    noisy = classes.measure(cells, budget)
    return np.maximum(_true_counts(records, budget, label), 1.0) if histograms == NONE else np.maximum(noisy, least)


def _by_class(
    records: Records, task: Task, attribute: str, budget: Budget, histograms: str, *, cells_matter: bool
) -> tuple[FloatArray, float]:
    """An attribute's noisy histograms, one column per class, and the scale of plain noise on them."""
    vector = records.vector(attribute, task.label)
    cells, classes = vector.shape
    scale = vector.noise_scale(identity(vector.shape), budget)
    truth = _true_counts(records, budget, attribute, task.label) if histograms in (NONE, INFORMED) else None
    parts = vector.split(Partition.of(np.tile(np.arange(classes), cells)), budget)
    if histograms == NONE and truth is not None:
        return truth, 0.0
    workload = workloads.identity(cells) if cells_matter or not task.is_numeric(attribute) else workloads.prefix(cells)
    columns = []
    for place, (part, token) in enumerate(parts):
        name = histograms if truth is None else _informed(part, truth[:, place], workload, token)
        columns.append(algorithms.get(name).run(part, workload, token))
    return np.column_stack(columns), scale


def _true_counts(records: Records, budget: Budget, *names: str) -> FloatArray:
    """The true counts of public data: only in a simulation."""
    if not isinstance(records, SimulatedRecords):
        raise InternalError("a release tried to look at true counts")
    vector = records.vector(*names)
    token = records.grant(Price(NOISELESS, budget.measure))
    return np.asarray(vector.measure(identity(vector.shape), token).reshape(vector.shape))


def _informed(part: Source, truth: FloatArray, workload: workloads.Workload, token: Budget) -> str:
    return informed_decision(part, truth.astype(np.int64), workload, token.rate, OPTIONS, trials=TRIALS)


def _multinomial(counts: FloatArray, task: Task, attribute: str, smoothing: float) -> FloatArray:
    return np.asarray(np.log(_shares(counts, smoothing * len(counts))))


def _shares(counts: FloatArray, extra: float) -> FloatArray:
    """Each class's distribution, with `extra` records that are distributed as all classes together."""
    together = counts.sum(axis=1, keepdims=True) + 1.0
    smooth = counts + extra * together / together.sum()
    return np.asarray(smooth / smooth.sum(axis=0))


def _gaussian(counts: FloatArray, task: Task, attribute: str, smoothing: float) -> FloatArray:
    """By moments over the cells that the schema names, smoothed as in the multinomial."""
    if not task.is_numeric(attribute):
        return _multinomial(counts, task, attribute, smoothing)
    values = task.known(attribute)
    at, shares = np.arange(values)[:, None], _shares(counts[:values], smoothing * np.sqrt(values))
    mean = (shares * at).sum(axis=0)
    variance = (shares * (at - mean) ** 2).sum(axis=0) + 1 / 12  # values also vary within a cell
    logs = np.zeros_like(counts)
    logs[:values] = -((at - mean) ** 2) / (2 * variance) - np.log(variance) / 2
    return logs


def _check(records: Records, histograms: Any, smoothing: Any) -> None:
    """Raise before anything is charged."""
    if not isinstance(records, SimulatedRecords):
        _check_release({"histograms": histograms})
    if histograms not in (NONE, INFORMED) and histograms not in algorithms.names(task="range-1d"):
        known = ", ".join([*algorithms.names(task="range-1d"), NONE, INFORMED])
        raise BadInput("histograms", f"{histograms!r} is unknown", f"use one of {known}")
    if not 0 < (finite(smoothing) or 0) < 1e6:
        raise BadInput("smoothing", "must be a positive number", "leave it out, or pass for instance 1")


def _words(histograms: str) -> str:
    return {NONE: "nobody (not private)", INFORMED: "informed decision (not private)"}.get(histograms, histograms)


@dataclass(eq=False, repr=False, kw_only=True)
class PrivateMultinomialBayes(PrivateEstimator):
    """Naive Bayes with a private histogram for each attribute's values.

    `histograms` names the algorithm that makes them, for instance "Laplace", "DAWA", "Bayes" or "Pythia", which picks one.
    In a simulation it may also be "none" (the truth) or "informed" (for each histogram the best of a few).

    >>> from jostle.schema import Category, Schema
    >>> schema = Schema({"word": Category(["free", "hello"]), "class": Category(["ham", "spam"])})
    >>> model = PrivateMultinomialBayes(epsilon=1, schema=schema, random_state=0)
    >>> model.fit([["free"], ["hello"]] * 100, ["spam", "ham"] * 100).predict([["free"], ["hello"]]).tolist()
    ['spam', 'ham']
    """

    learner = "MultinomialBayes"

    histograms: str = "Bayes"
    smoothing: float = 1.0


@dataclass(eq=False, repr=False, kw_only=True)
class PrivateGaussianBayes(PrivateEstimator):
    """Naive Bayes whose numbers are normally distributed in each class, with moments from private histograms.

    `histograms` names the algorithm that makes them, see `PrivateMultinomialBayes`.

    >>> from jostle.schema import Category, Integer, Schema
    >>> schema = Schema({"age": Integer(0, 99), "class": Category(["no", "yes"])})
    >>> ages = list(range(100)) * 5
    >>> model = PrivateGaussianBayes(epsilon=1, schema=schema, random_state=0)
    >>> model.fit([[age] for age in ages], ["yes" if age >= 50 else "no" for age in ages]).predict([[3], [90]]).tolist()
    ['no', 'yes']
    """

    learner = "GaussianBayes"

    histograms: str = "Laplace"
    smoothing: float = 1.0
