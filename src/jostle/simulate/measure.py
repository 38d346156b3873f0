"""Many algorithms on many inputs, on every core, going on where an earlier run stopped."""

from __future__ import annotations

import hashlib
import multiprocessing
import os
import signal
import threading
import time
import zlib
from collections.abc import Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from multiprocessing.process import BaseProcess
from typing import Protocol

import numpy as np

from jostle import algorithms
from jostle.kernel.errors import BadInput
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.partition import Counts
from jostle.linear.workloads import Workload
from jostle.simulate.results import Measured, Results
from jostle.simulate.runner import errors

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
"""What keeps a process to one core; the libraries read it when they are loaded."""


class Cell(Protocol):
    """An input: public data, a workload and an ε, under a name. It travels to other processes, and is built there."""

    @property
    def key(self) -> str:
        """Its name."""

    @property
    def task(self) -> str:
        """What is asked: "range-1d" or "range-2d"."""

    @property
    def epsilon(self) -> float:
        """The budget."""

    def vector(self) -> Counts:
        """The data."""

    def workload(self) -> Workload:
        """The queries."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """An algorithm to be tried on an input."""

    algorithm: str
    """Its registered name."""

    version: int
    """Its registered version."""

    cell: Cell
    """The input."""

    digest: str
    """What the input holds, in short."""

    trials: int
    """How many runs."""

    seed: int
    """What all runs are seeded with; every input has its own noise nevertheless."""

    neighbours: str
    """Under which neighbours."""

    @property
    def key(self) -> tuple[str, int, str, str, int, int, str]:
        """The key of its measurement."""
        return (self.algorithm, self.version, self.cell.key, self.digest, self.trials, self.seed, self.neighbours)


@dataclass(frozen=True, kw_only=True)
class Failed:
    """A job that raised."""

    algorithm: str
    """The algorithm's name."""

    cell: str
    """The input's name."""

    reason: str
    """The error's message."""


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def digest(cell: Cell) -> str:
    """Eight letters that change with the data and with the queries."""
    vector = cell.vector()
    answers = cell.workload() @ vector
    return hashlib.blake2b(vector.tobytes() + answers.tobytes(), digest_size=4).hexdigest()


def jobs(
    cells: Sequence[Cell], names: Sequence[str], *, trials: int, seed: int, neighbours: Neighbours | str = "add_remove"
) -> list[Job]:
    """Every named algorithm on every input that it is for, in an order that is random, so that the time left can be told."""
    if trials < 2:
        raise BadInput("trials", f"must be at least 2, got {trials}", "pass for instance 20")
    if seed < 0:
        raise BadInput("seed", f"must be at least 0, got {seed}", "pass for instance 0")
    relation = Neighbours.of(neighbours).relation
    plans = [algorithms.get(name) for name in names]
    listed = [
        Job(
            algorithm=plan.name,
            version=plan.version,
            cell=cell,
            digest=held,
            trials=trials,
            seed=seed,
            neighbours=relation,
        )
        for cell in cells
        for held in [digest(cell)]
        for plan in plans
        if cell.task in plan.tasks
    ]
    return [listed[place] for place in np.random.default_rng(seed).permutation(len(listed))]


def run(todo: Iterable[Job], results: Results, *, workers: int) -> Generator[Measured | Failed]:
    """Do the jobs that are not in the results yet, keep each as it comes in, and pass it on.

    A job that raises is passed on as failed and not kept. To stop early, close the iterator: what is under way is dropped.
    """
    if workers < 1:
        raise BadInput("workers", f"must be at least 1, got {workers}", f"this machine has {cores()} cores for it")
    open_jobs = [job for job in todo if results.get(job.key) is None]
    outcomes = map(measure, open_jobs) if min(workers, len(open_jobs)) <= 1 else _in_parallel(open_jobs, workers)
    for outcome in outcomes:
        if isinstance(outcome, Measured):
            results.add(outcome)
        yield outcome


def measure(job: Job) -> Measured | Failed:
    """Do one job, here."""
    began = time.perf_counter()
    try:
        found = errors(
            job.algorithm,
            job.cell.vector(),
            job.cell.workload(),
            job.cell.epsilon,
            trials=job.trials,
            seed=zlib.crc32(f"{job.seed}|{job.cell.key}".encode()),
            neighbours=job.neighbours,
        )
    except Exception as failure:  # noqa: BLE001  # one broken plan must not end a comparison of all the others
        return Failed(algorithm=job.algorithm, cell=job.cell.key, reason=f"{type(failure).__name__}: {failure}")
    return Measured(
        algorithm=job.algorithm,
        version=job.version,
        cell=job.cell.key,
        digest=job.digest,
        trials=job.trials,
        seed=job.seed,
        neighbours=job.neighbours,
        mean=float(found.mean()),
        stderr=float(found.std(ddof=1) / np.sqrt(found.size)),
        seconds=(time.perf_counter() - began) / job.trials,
    )


def _in_parallel(open_jobs: list[Job], workers: int) -> Generator[Measured | Failed]:
    others = set(multiprocessing.active_children())
    # Fresh processes: a fork would copy the locks of threads that it does not copy.
    pool = ProcessPoolExecutor(
        min(workers, len(open_jobs)), mp_context=multiprocessing.get_context("spawn"), initializer=_as_worker
    )
    todo = iter(open_jobs)
    finished = False
    try:
        with _environment(ONE_THREAD):
            under_way = {pool.submit(measure, job) for job in islice(todo, 2 * workers)}
            while under_way:
                done, under_way = wait(under_way, return_when=FIRST_COMPLETED)
                under_way |= {pool.submit(measure, job) for job in islice(todo, len(done))}
                for future in done:
                    yield future.result()
        finished = True
    except BrokenProcessPool:
        raise BadInput("workers", "a worker process died, perhaps for want of memory", "use fewer workers") from None
    finally:
        if not finished:
            for child in set(multiprocessing.active_children()) - others:
                child.terminate()
        pool.shutdown(cancel_futures=True)


def _as_worker() -> None:
    """An interrupt is for the parent, which ends its workers; and no worker outlives its parent, however that ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_after, args=(parent,), daemon=True).start()


def _end_after(parent: BaseProcess) -> None:
    parent.join()
    os._exit(1)


@contextmanager
def _environment(settings: dict[str, str]) -> Iterator[None]:
    """Environment variables for the processes that are started meanwhile."""
    before = {name: os.environ.get(name) for name in settings}
    os.environ.update(settings)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
