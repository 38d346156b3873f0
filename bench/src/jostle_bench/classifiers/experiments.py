"""How often learners are wrong on public tables: splits, draws of the noise, and results that a later run goes on with."""

from __future__ import annotations

import time
import zlib
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from jostle.datasets.artificial import HELD_OUT, artificial
from jostle.datasets.collected import collected
from jostle.datasets.labelled import Labelled, load, split
from jostle.kernel.columns import ArrayColumns
from jostle.kernel.errors import BadInput
from jostle.kernel.records import SimulatedRecords
from jostle.learn import get
from jostle.learn.registry import IntArray, Learner
from jostle.learn.task import Task
from jostle.simulate.parallel import in_parallel
from jostle.simulate.results import Key, Measured, Results

Encoded = dict[str, IntArray]
COLLECTED = "collected-"
"""So begin the names of tables that others collected."""

VERSION = 1
"""Raised when trials are made otherwise, such as other splits: old results are then worth nothing."""


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A learner on one split of one table, with one ε; it travels to other processes."""

    learner: str
    """Its registered name, and tunables that differ from its defaults: "GaussianBayes histograms=DAWA"."""

    table: str
    """An experiment's name, "adult-test" for the census' own split, "artificial-7", or "collected-AER:HMDA"."""

    split: int
    """The seed of the split."""

    epsilon: float
    """The budget."""

    draws: int = 3
    """How often noise is drawn."""

    neighbours: str = "add_remove"
    """What one person may change."""

    @property
    def cell(self) -> str:
        """The input's name."""
        return f"{self.table}/{self.split}/{self.epsilon:g}"

    @property
    def key(self) -> Key:
        """What makes two measurements the same."""
        return (self.learner, VERSION, self.cell, digest(*variant(self.learner)), self.draws, self.split, self.neighbours)


@dataclass(frozen=True)
class Refused:
    """A learner that does not fit a table."""

    trial: Trial
    """Which."""

    reason: str
    """Why."""


def variant(text: str) -> tuple[Learner, dict[str, str]]:
    """A learner by its name, and the tunables that follow it.

    >>> found, tunables = variant("GaussianBayes histograms=DAWA")
    >>> found.name, tunables
    ('GaussianBayes', {'histograms': 'DAWA'})
    """
    name, *words = text.split()
    found, tunables = get(name), {}
    for word in words:
        tunable, _, value = word.partition("=")
        tunables[tunable] = value
    found.check(tunables)
    return found, tunables


def digest(learner: Learner, tunables: Mapping[str, str]) -> str:
    """What a learner's results follow from, in short: if that changes, they are measured again."""
    return f"{zlib.crc32(repr(learner.stamp(tunables)).encode()):08x}"


def error(
    learner: Learner,
    task: Task,
    train: Encoded,
    test: Encoded,
    epsilon: float,
    *,
    seed: object,
    neighbours: str,
    **tunables: str,
) -> float:
    """The share of test records that a model of the training records gets wrong: a simulation on public data."""
    records = SimulatedRecords(ArrayColumns(train, task.sizes), seed=seed, neighbours=neighbours, filtered=True)
    model = learner.run(records, task, records.grant(epsilon), **tunables)
    return float((model.scores(test).argmax(axis=1) != test[task.label]).mean())


def measure(trial: Trial) -> Measured | Refused:
    """The mean error over the draws, with its standard error."""
    found, tunables = variant(trial.learner)
    task, train, test = parts(trial.table, trial.split)
    began, name = time.process_time(), zlib.crc32(f"{trial.learner}/{trial.cell}/{trial.neighbours}".encode())
    try:
        errors = [
            error(found, task, train, test, trial.epsilon, seed=1_000 * name + draw, neighbours=trial.neighbours, **tunables)
            for draw in range(trial.draws)
        ]
    except BadInput as refused:
        return Refused(trial, str(refused))
    learner, version, cell, short, draws, seed, neighbours = trial.key
    return Measured(
        algorithm=learner,
        version=version,
        cell=cell,
        digest=short,
        trials=draws,
        seed=seed,
        neighbours=neighbours,
        mean=float(np.mean(errors)),
        stderr=float(np.std(errors, ddof=1) / np.sqrt(draws)) if draws > 1 else float("nan"),
        seconds=(time.process_time() - began) / trial.draws,
    )


def run(trials: Iterable[Trial], results: Results, *, workers: int) -> Generator[Measured | Refused]:
    """Make the measurements that are not there yet, each kept as soon as it is made."""
    todo = [trial for trial in trials if results.get(trial.key) is None]
    for outcome in in_parallel(measure, todo, workers=workers):
        if isinstance(outcome, Measured):
            results.add(outcome)
        yield outcome


def found(trials: Sequence[Trial], results: Results) -> list[tuple[Trial, Measured]]:
    """What has been measured of these."""
    known = ((trial, results.get(trial.key)) for trial in trials)
    return [(trial, measured) for trial, measured in known if measured is not None]


@lru_cache(maxsize=2)
def parts(table: str, seed: int) -> tuple[Task, Encoded, Encoded]:
    """What is to be learned, the records to learn from, and those to test with."""
    train, test = _split(table, seed)
    task = Task(train.attributes, train.label, train.schema)
    return task, encoded(task, train), encoded(task, test)


def _split(table: str, seed: int) -> tuple[Labelled, Labelled]:
    if table == "adult-test":
        return load("adult"), load("adult-test")
    if table.startswith(COLLECTED):
        return collected(table.removeprefix(COLLECTED))
    if not table.startswith("artificial-"):
        return split(table, seed)
    made = artificial(int(table.removeprefix("artificial-")))
    cut = np.arange(len(made))
    return made.take(cut[:-HELD_OUT]), made.take(cut[-HELD_OUT:])


def encoded(task: Task, table: Labelled) -> Encoded:
    """A table's codes. Records whose class is not foreseen are left out."""
    codes: Encoded = {name: task.encode(name, table.columns[name]) for name in task.attributes}
    codes[task.label] = task.encode_label(table.y)
    counted = codes[task.label] >= 0
    return {name: column[counted] for name, column in codes.items()}
