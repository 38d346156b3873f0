"""Choosing a parameter by validation, where training and scoring are stable: one small charge, however many parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np

from jostle.kernel.budget import Budget
from jostle.kernel.errors import BadInput
from jostle.kernel.noise import calibrate
from jostle.mechanisms.arguments import candidate_at, check_budget, in_order, with_scores
from jostle.mechanisms.selection import lattice_gaps, permute_and_flip
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
    """The parameter whose model seems to validate best: ε-differentially private in training and validation data together.

    `train(candidate, training, generator)` makes a model, whose every random choice has to come from that generator,
    and `score(model, validation)` a number that is better the larger it is. No model is released, so training need not
    be private. To release one, train again with what was chosen, privately, with a budget of its own.

    `stability` is yours to prove: how far one record of the training data moves a score when the generator does the same,
    and how far one record of the validation data does; each as one number or as the pair `(add_remove, replace)`. It must
    hold always. If the token has a δ, it may fail with that probability, for all candidates together, over the generators,
    which are then seeded anew; the choice is (ε, δ)-differentially private then. Which of the two a record belongs to must
    not depend on other records, and where records are replaced it must be public, such as by position.

    Privacy, with a δ: fix the generators. Where stability holds for them, the choice is ε-private, as without one; for other
    neighbours it fails on at most a share δ of all generators, which are drawn independently of the data.

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

    def scores(seeds: Iterable[int]) -> list[float]:
        seeded = zip(options, map(np.random.default_rng, seeds), strict=False)
        return [score(train(candidate, training, generator), validation) for candidate, generator in seeded]

    moves = (stated.add_remove, stated.replace)
    if not check_budget(budget).delta:
        # The random choices of training need not be secret: for whatever they are, the choice below is private.
        return permute_and_flip(options, scores(range(len(options))), sensitivity=moves, budget=budget, note=note)
    noise = budget.draw(operator="stable_selection", note=note, with_delta=True)
    if noise.trials is not None:
        raise BadInput("budget", "is of a simulation with trials", "run one trial at a time")
    found = with_scores(options, scores(noise.below(2**62) for _ in options))[1]
    gaps, reach = lattice_gaps(found, moves, False, budget)
    return candidate_at(options, noise.noisy_max(-gaps, calibrate(reach, budget.pure)))


def _together(stability: object) -> Sensitivity:
    """A record is of one kind or the other, so it moves a score no further than the worse of the two."""
    if not isinstance(stability, (tuple, list)) or len(stability) != 2:
        raise BadInput("stability", "must be a pair: for training and for validation", "pass for instance (0.5, 1)")
    training, validation = (Sensitivity.of(part, argument="stability") for part in stability)
    return Sensitivity(max(training.add_remove, validation.add_remove), max(training.replace, validation.replace))
