"""Figures 5 and 6 of the Pythia paper on Credit Default with 16 attributes: seven that say little are removed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from jostle.learn import get
from jostle.learn.public_tables import error, parts
from jostle.learn.task import Task
from jostle_bench.documents.thesis import information

KEPT = 16
MODELS = ("GaussianBayes", "MultinomialBayes")
HISTOGRAMS = ("none", "informed", "Pythia", "Laplace", "DAWA")


@dataclass(frozen=True)
class Misclassified:
    """The share of test records that naive Bayes gets wrong, in the mean over splits."""

    model: str
    histograms: str
    epsilon: float
    attributes: int
    mean: float
    stderr: float


def kept_attributes(table: str = "credit-10k", number: int = KEPT) -> tuple[str, ...]:
    """The attributes that explain most of the class; the paper does not name the seven that it removed."""
    return tuple(sorted(name for name, _ in information(table)[:number]))


def compared(table: str, epsilons: Sequence[float], splits: int, *, number: int = KEPT) -> list[Misclassified]:
    """Both models by all kinds of histograms, on several splits."""
    names, found = kept_attributes(number=number), list[Misclassified]()
    for model in MODELS:
        for histograms in HISTOGRAMS:
            for epsilon in epsilons:
                errors = []
                for split in range(splits):
                    task, *both = parts(table, split)
                    fewer = Task(tuple(name for name in task.attributes if name in names), task.label, task.columns)
                    train, test = ({name: codes[name] for name in (*fewer.attributes, task.label)} for codes in both)
                    seed = 1_000 * split + int(100 * epsilon)
                    errors.append(
                        error(
                            get(model),
                            fewer,
                            train,
                            test,
                            epsilon,
                            seed=seed,
                            neighbours="add_remove",
                            histograms=histograms,
                        )
                    )
                spread = float(np.std(errors, ddof=1) / np.sqrt(splits)) if splits > 1 else float("nan")
                found.append(Misclassified(model, histograms, epsilon, len(names), float(np.mean(errors)), spread))
    return found


def as_markdown(tables: Sequence[str], epsilons: Sequence[float], splits: int) -> str:
    """One table per data set: models and histograms against ε."""
    parts_of = []
    for table in tables:
        found = compared(table, epsilons, splits)
        heads = " | ".join(f"ε = {epsilon:g}" for epsilon in epsilons)
        lines = [f"## {table}, {found[0].attributes} attributes", "", f"| model | histograms | {heads} |"]
        lines.append(f"| --- | --- |{' ---: |' * len(epsilons)}")
        for model in MODELS:
            for histograms in HISTOGRAMS:
                cells = [one for one in found if (one.model, one.histograms) == (model, histograms)]
                lines.append(
                    f"| {model} | {histograms} | {' | '.join(f'{one.mean:.4f} ±{one.stderr:.4f}' for one in cells)} |"
                )
        parts_of.append("\n".join(lines) + "\n")
    return "\n".join(parts_of)
