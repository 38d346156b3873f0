"""Choosing a parameter by validation, where training and scoring are stable: one small charge, however many parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np

from jostle.kernel.budget import Budget
from jostle.kernel.errors import BadInput
from jostle.mechanisms.arguments import check_budget, in_order
from jostle.mechanisms.selection import permute_and_flip
from jostle.mechanisms.sensitivity import Sensitivity

T = TypeVar("T")


def stable_selection(
    candidates: Iterable[T],
    train: Callable[[T, Any, np.random.Generator], Any],
    score: Callable[[Any, Any], float],
    *,
    training: Any,
    validation: Any,
    stability: tuple[Any, Any],
    budget: Budget,
    note: str = "",
) -> T:
    """The parameter whose model seems to validate best: ε-differentially private, in training and validation data together.

    `train(candidate, training, generator)` makes a model, whose every random choice has to come from that generator,
    and `score(model, validation)` a number that is better the larger it is. No model is released, so training need not
    be private. To release one, train again with what was chosen, privately, with a budget of its own.

    `stability` is yours to prove: how far one record of the training data moves a score when the generator does the same,
    and how far one record of the validation data does; each as one number or as the pair `(add_remove, replace)`. It must
    hold always. The paper also allows it to fail with a probability of δ, and is (ε, δ)-private then; budgets here are
    pure, so that is not offered. Which of the two a record belongs to must not depend on other records, and where records
    are replaced it must be public, such as by position.

    Chaudhuri, Vinterbo: A stability-based validation procedure for differentially private machine learning, NIPS 2013,
    validation step: exponential noise of scale 2·max(stability)/ε on each score, which is permute-and-flip.

    See `utility.permute_and_flip_error` for how far below the best the choice may be.

    >>> from jostle import mechanisms
    >>> budget = mechanisms.simulation(seed=0, neighbours="replace").grant(1)
    >>> shares = np.linspace(0, 1, 4000)  # public here, between 0 and 1; their number is public under `replace`
    >>> def train(shrinkage, rows, generator):  # one row moves this mean by at most 1/2000 …
    ...     return rows.sum() / (len(rows) + shrinkage)
    >>> def score(mean, rows):  # … and so this score; one row here moves it by at most 1/2000, too
    ...     return -np.abs(rows - mean).mean()
    >>> once = ("1/2000", "1/2000")
    >>> rows = {"training": shares[::2], "validation": shares[1::2], "stability": (once, once)}
    >>> stable_selection([10_000, 1_000, 0], train, score, **rows, budget=budget)
    0
    """
    options = in_order(candidates)
    stated = _together(stability)
    check_budget(budget)
    # The random choices of training need not be secret: for whatever they are, the choice below is private.
    models = [train(candidate, training, np.random.default_rng(seed)) for seed, candidate in enumerate(options)]
    scores = [score(model, validation) for model in models]
    return permute_and_flip(options, scores, sensitivity=(stated.add_remove, stated.replace), budget=budget, note=note)


def _together(stability: object) -> Sensitivity:
    """A record is of one kind or the other, so it moves a score no further than the worse of the two."""
    if not isinstance(stability, (tuple, list)) or len(stability) != 2:
        raise BadInput("stability", "must be a pair: for training and for validation", "pass for instance (0.5, 1)")
    training, validation = (Sensitivity.of(part, argument="stability") for part in stability)
    return Sensitivity(max(training.add_remove, validation.add_remove), max(training.replace, validation.replace))
