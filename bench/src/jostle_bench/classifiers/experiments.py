"""How often learners are wrong on public tables: splits, draws of the noise, and results that a later run goes on with."""

from __future__ import annotations

import time
import zlib
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from jostle.datasets.labelled import load
from jostle.kernel.errors import BadInput
from jostle.learn import get, public_tables
from jostle.learn.public_tables import Parts, calibration_error, error
from jostle.learn.registry import Learner
from jostle.simulate.parallel import in_parallel
from jostle.simulate.results import Key, MeasuredError, Results
from jostle_bench.classifiers.collected import collected
from jostle_bench.classifiers.unseen import PREFIX as UNSEEN
from jostle_bench.classifiers.unseen import unseen

COLLECTED = "collected-"
"""So begin the names of tables that others collected."""

CENSUS = "adult-test"
"""The census' own split."""

ERRORS, CALIBRATION = "errors", "calibration"
"""What may be measured of a model."""

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

    of: str = ERRORS
    """What is measured: the share of wrong predictions, or the expected calibration error of probabilities."""

    @property
    def cell(self) -> str:
        """The input's name."""
        return f"{self.table}/{self.split}/{self.epsilon:g}" + ("" if self.of == ERRORS else f"/{self.of}")

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


def measure(trial: Trial) -> MeasuredError | Refused:
    """The mean error over the draws, with its standard error."""
    found, tunables = variant(trial.learner)
    task, train, test = parts(trial.table, trial.split)
    began, name = time.process_time(), zlib.crc32(f"{trial.learner}/{trial.cell}/{trial.neighbours}".encode())
    measured = error if trial.of == ERRORS else calibration_error
    try:
        errors = [
            measured(
                found, task, train, test, trial.epsilon, seed=1_000 * name + draw, neighbours=trial.neighbours, **tunables
            )
            for draw in range(trial.draws)
        ]
    except BadInput as refused:
        return Refused(trial, str(refused))
    learner, version, cell, short, draws, seed, neighbours = trial.key
    return MeasuredError(
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


def run(trials: Iterable[Trial], results: Results, *, workers: int) -> Generator[MeasuredError | Refused]:
    """Make the measurements that are not there yet, each kept as soon as it is made."""
    todo = [trial for trial in trials if results.get(trial.key) is None]
    for outcome in in_parallel(measure, todo, workers=workers):
        if isinstance(outcome, MeasuredError):
            results.add(outcome)
        yield outcome


def found(trials: Sequence[Trial], results: Results) -> list[tuple[Trial, MeasuredError]]:
    """What has been measured of these."""
    known = ((trial, results.get(trial.key)) for trial in trials)
    return [(trial, measured) for trial, measured in known if measured is not None]


def parts(table: str, seed: int) -> Parts:
    """What is to be learned, the records to learn from, and those to test with."""
    if table.startswith(UNSEEN):
        return _unseen(table, seed)
    return _with_one_split(table) if table == CENSUS or table.startswith(COLLECTED) else public_tables.parts(table, seed)


@lru_cache(maxsize=2)
def _unseen(table: str, seed: int) -> Parts:
    return public_tables.encoded_parts(*unseen(table.removeprefix(UNSEEN), seed))


@lru_cache(maxsize=2)
def _with_one_split(table: str) -> Parts:
    found = (load("adult"), load(CENSUS)) if table == CENSUS else collected(table.removeprefix(COLLECTED))
    return public_tables.encoded_parts(*found)
