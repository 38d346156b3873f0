"""Measure many algorithms on many inputs, on every core or on a cluster, and resume where an earlier run stopped."""

from __future__ import annotations

import hashlib
import time
import zlib
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import groupby
from math import prod
from typing import Final, Protocol

import numpy as np

from jostle import algorithms
from jostle.kernel.errors import BadInput
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.partition import Counts
from jostle.simulate.parallel import in_parallel
from jostle.simulate.results import MeasuredError, Results
from jostle.simulate.runner import errors
from jostle.workloads import Workload

_AT_ONCE: Final = 2**14
"""A worker gets jobs with about this many cells together: small jobs are not worth a message each, and results of large ones
should be stored soon."""


class Cell(Protocol):
    """An input: public data, a workload and an ε, under a name. It travels to other processes, which build the data."""

    @property
    def key(self) -> str: ...

    @property
    def task(self) -> str: ...

    @property
    def domain(self) -> tuple[int, ...]: ...

    @property
    def epsilon(self) -> float: ...

    def vector(self) -> Counts: ...

    def workload(self) -> Workload: ...


@dataclass(frozen=True, kw_only=True)
class MeasurementJob:
    """An algorithm to run on an input."""

    algorithm: str
    version: int
    cell: Cell
    digest: str
    """Of the input's data and queries."""

    trials: int
    seed: int
    """Of all runs; every input has its own noise nevertheless."""

    neighbours: str

    @property
    def key(self) -> tuple[str, int, str, str, int, int, str]:
        return (self.algorithm, self.version, self.cell.key, self.digest, self.trials, self.seed, self.neighbours)


@dataclass(frozen=True, kw_only=True)
class FailedJob:
    """A job that raised."""

    algorithm: str
    cell: str
    reason: str


def digest(cell: Cell) -> str:
    """Eight letters that change with the data and the queries."""
    vector = cell.vector()
    answers = cell.workload() @ vector
    return hashlib.blake2b(vector.tobytes() + answers.tobytes(), digest_size=4).hexdigest()


def jobs(
    cells: Sequence[Cell], names: Sequence[str], *, trials: int, seed: int, neighbours: Neighbours | str = "add_remove"
) -> list[MeasurementJob]:
    """One job per named algorithm and suitable input.

    The order of inputs is random, so that the time left can be estimated. The algorithms of an input come together, so that
    it is built once.
    """
    if trials < 2:
        raise BadInput("trials", f"must be at least 2, got {trials}", "pass for instance 20")
    if seed < 0:
        raise BadInput("seed", f"must be at least 0, got {seed}", "pass for instance 0")
    relation = Neighbours.of(neighbours).relation
    plans = [algorithms.get(name) for name in names]
    # Digests are made in the order in which inputs share their data.
    digests = [digest(cell) for cell in cells]
    return [
        MeasurementJob(
            algorithm=plan.name,
            version=plan.version,
            cell=cells[place],
            digest=digests[place],
            trials=trials,
            seed=seed,
            neighbours=relation,
        )
        for place in np.random.default_rng(seed).permutation(len(cells))
        for plan in plans
        if cells[place].task in plan.tasks
    ]


def run(
    todo: Iterable[MeasurementJob], results: Results, *, workers: int, cluster: str | None = None
) -> Generator[MeasuredError | FailedJob]:
    """Do the jobs that are not in the results yet; store each outcome and yield it.

    Processes of this machine do them, or a Dask cluster (see `parallel.in_parallel`). A job that raises is yielded as failed
    and not stored. To stop early, close the iterator: unfinished work is dropped.
    """
    open_jobs = [job for job in todo if results.get(job.key) is None]
    alone = cluster is None and workers == 1
    batches = [[job] for job in open_jobs] if alone else list(_batches(open_jobs))
    with closing(in_parallel(measure_all, batches, workers=workers, cluster=cluster)) as finished:
        for outcomes in finished:
            for outcome in outcomes:
                if isinstance(outcome, MeasuredError):
                    results.add(outcome)
            yield from outcomes


def _batches(open_jobs: Sequence[MeasurementJob]) -> Iterator[list[MeasurementJob]]:
    for _, of_input in groupby(open_jobs, key=lambda job: job.cell.key):
        together = list(of_input)
        step = max(1, _AT_ONCE // prod(together[0].cell.domain))
        yield from (together[first : first + step] for first in range(0, len(together), step))


def measure_all(batch: Sequence[MeasurementJob]) -> list[MeasuredError | FailedJob]:
    """Do these jobs, here."""
    return [measure(job) for job in batch]


def measure(job: MeasurementJob) -> MeasuredError | FailedJob:
    """Do one job, here."""
    began = time.thread_time()  # processor time of this thread: other programs and workers do not count
    try:
        found = errors(
            job.algorithm,
            job.cell.vector(),
            job.cell.workload(),
            getattr(job.cell, "price", job.cell.epsilon),  # an input of the grid may be paid for in ρ
            trials=job.trials,
            seed=zlib.crc32(f"{job.seed}|{job.cell.key}".encode()),
            neighbours=job.neighbours,
        )
    except Exception as failure:  # noqa: BLE001  # one broken plan must not end a comparison of all the others
        return FailedJob(algorithm=job.algorithm, cell=job.cell.key, reason=f"{type(failure).__name__}: {failure}")
    return MeasuredError(
        algorithm=job.algorithm,
        version=job.version,
        cell=job.cell.key,
        digest=job.digest,
        trials=job.trials,
        seed=job.seed,
        neighbours=job.neighbours,
        mean=float(found.mean()),
        stderr=float(found.std(ddof=1) / np.sqrt(found.size)),
        seconds=(time.thread_time() - began) / job.trials,
    )
