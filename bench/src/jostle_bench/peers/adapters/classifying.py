"""What the adapters for classifiers share; it stands beside them, and needs only the standard library and NumPy.

A job's data are one table and its splits. Numbers are scaled to [0, 1] by their declared bounds (on a logarithmic scale
where the schema says so), categories are codes, classes are numbers. Nothing is read from the records that is not declared.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Task:
    """One split of a table, and what is publicly known of it."""

    categories: tuple[int, ...]
    """For each attribute how many categories it has; 0 for a number in [0, 1]."""

    number_of_classes: int
    """Classes are the numbers below this."""

    train: Any
    """The records to learn from, a row each."""

    y_train: Any
    """Their classes."""

    test: Any
    """The records to test with."""

    @cached_property
    def classes(self) -> Any:
        """All classes there may be, whether or not the records have them."""
        return np.arange(self.number_of_classes)

    @cached_property
    def bounds(self) -> tuple[Any, Any]:
        """The least and the greatest value of each attribute."""
        return np.zeros(len(self.categories)), np.array([max(size - 1, 1) for size in self.categories], dtype=float)

    @cached_property
    def wide(self) -> tuple[Any, Any]:
        """Records to learn from and to test with, with a column of zeros and ones for each category."""
        return self._widened(self.train), self._widened(self.test)

    def _widened(self, records: Any) -> Any:
        return np.hstack(
            [
                np.eye(size)[records[:, place].astype(int)] if size else records[:, [place]]
                for place, size in enumerate(self.categories)
            ]
        )


Fit = Callable[[Any, float, int], Any]
"""From a task, an ε and a seed to the predicted classes of the test records; or to these and the probability of each."""


def errors(job: dict[str, Any], fit: Fit) -> dict[str, Any]:
    """The share of test records that are wrong, by split, ε and draw."""
    return of_splits(job, _splits(job), fit)


def of_splits(job: dict[str, Any], splits: Iterable[tuple[Any, Any]], fit: Fit) -> dict[str, Any]:
    """The same for given splits, each a task and the right answers.

    After `enough` seconds of the processor, no further split is begun.
    """
    shares: list[list[list[float]]] = []
    calibration: list[list[list[float]]] = []
    seconds, began = [], time.process_time()
    for number, (task, right) in enumerate(splits):
        if shares and time.process_time() - began > job["enough"]:
            break
        of_split, off_split = [], []
        for place, epsilon in enumerate(job["epsilons"]):
            draws, off = [], []
            for draw in range(job["draws"]):
                started = time.process_time()
                found = fit(task, epsilon, _seed(job["seed"], number, place, draw))
                seconds.append(time.process_time() - started)
                predicted, sure = found if isinstance(found, tuple) else (found, None)
                wrong = np.asarray(predicted) != right
                draws.append(float(np.mean(wrong)))
                off.append(float("nan") if sure is None else calibration_error(np.asarray(sure), ~wrong))
            of_split.append(draws)
            off_split.append(off)
        shares.append(of_split)
        calibration.append(off_split)
    return {"values": {"errors": np.array(shares), "calibration": np.array(calibration)}, "seconds": seconds}


def calibration_error(sure: Any, right: Any, bins: int = 15) -> float:
    """The expected calibration error: how far probabilities are from shares of right predictions, over bins, by records."""
    place = np.minimum((sure * bins).astype(int), bins - 1)
    return float(np.abs(np.bincount(place, weights=sure - right, minlength=bins)).sum() / len(sure))


def _splits(job: dict[str, Any]) -> Iterator[tuple[Task, Any]]:
    with np.load(job["data"]) as data:
        records, classes = data["records"], data["classes"]
        for number in range(job["splits"]):
            train, test = data[f"train_{number}"], data[f"test_{number}"]
            known = tuple(job["categories"]), job["classes"]
            yield Task(*known, records[train], classes[train], records[test]), classes[test]


def _seed(*parts: int) -> int:
    return int(np.random.SeedSequence(parts).generate_state(1)[0] >> 1)  # scikit-learn takes 31 bits in places
