"""A learner's misclassification on public records, over several ε and runs: how the course grades its pipeline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final

import numpy as np

from jostle.learn.public_tables import error
from jostle.learn.registry import IntArray, Learner
from jostle.learn.task import Task

HELD_OUT: Final = 0.2
"""The share of the records to test with."""


@dataclass(frozen=True)
class Graded:
    """Mean misclassification by ε, beside two baselines without privacy."""

    learner: str
    runs: int
    errors: Mapping[float, float]
    majority: float
    """Of the most frequent class."""

    without_noise: float
    """Of the same learner with a budget so large that its noise does not matter."""

    @property
    def grade(self) -> float:
        """The mean over all ε."""
        return float(np.mean(list(self.errors.values())))

    def facts(self) -> dict[str, Any]:
        """For a script."""
        return {
            "learner": self.learner,
            "runs": self.runs,
            "errors": {f"{epsilon:g}": error for epsilon, error in self.errors.items()},
            "mean": self.grade,
            "majority": self.majority,
            "without noise": self.without_noise,
        }

    def __str__(self) -> str:
        each = "\n".join(f"  ε = {epsilon:<6g} {found:.4f}" for epsilon, found in self.errors.items())
        return (
            f"{self.learner}: misclassified records, {self.runs} runs for each ε, a fifth held out\n{each}\n"
            f"  mean       {self.grade:.4f}\n"
            f"Not private: without noise {self.without_noise:.4f}, the most frequent class {self.majority:.4f}"
        )


def graded(
    task: Task,
    codes: Mapping[str, IntArray],
    learner: Learner,
    epsilons: Sequence[Fraction],
    runs: int,
    seed: int,
    neighbours: str,
    tunables: Mapping[str, Any],
) -> Graded:
    """Learn on four fifths of public records and test on the others, with a new split and new noise in every run."""
    labelled = codes[task.label] >= 0
    known = {name: column[labelled] for name, column in codes.items()}
    found: dict[float, list[float]] = {float(epsilon): [] for epsilon in epsilons}
    majority, without = list[float](), list[float]()
    for run in range(runs):
        held = np.random.default_rng([seed, run]).random(int(labelled.sum())) < HELD_OUT
        train, test = ({name: column[rows] for name, column in known.items()} for rows in (~held, held))
        given = dict(tunables)
        if neighbours == "replace" and "total" in learner.tunables:
            given["total"] = float((~held).sum())
        for at, epsilon in enumerate(epsilons):
            noise = (seed * 10_000 + run) * 100 + at
            found[float(epsilon)].append(
                error(learner, task, train, test, float(epsilon), seed=noise, neighbours=neighbours, **given)
            )
        common = np.bincount(train[task.label]).argmax()
        majority.append(float((test[task.label] != common).mean()))
        if run == 0:  # hardly any noise, so one run tells
            without.append(error(learner, task, train, test, 1e6, seed=seed, neighbours=neighbours, **given))
    means = {epsilon: float(np.mean(errors)) for epsilon, errors in found.items()}
    return Graded(learner.name, runs, means, float(np.mean(majority)), float(np.mean(without)))
