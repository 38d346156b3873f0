"""Work on every core, or on a cluster: joblib distributes it, and returns each result as soon as it is there."""

from __future__ import annotations

import os
import re
import signal
import threading
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from jostle.algorithms import registry
from jostle.algorithms.registry import Algorithm
from jostle.kernel.errors import BadInput

if TYPE_CHECKING:
    from distributed import Client

ONE_THREAD: Final = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"), "1")
"""Environment variables that keep a process to one core; libraries read them when they are loaded."""

_LOCAL: Final = re.compile(r"local:([1-9][0-9]{0,3})")
_CONNECT: Final = 15.0
"""Seconds to wait for a cluster and one of its workers."""

Work = TypeVar("Work")
Done = TypeVar("Done")


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_parallel(
    function: Callable[[Work], Done], works: Sequence[Work], *, workers: int, cluster: str | None = None
) -> Generator[Done]:
    """Apply the function to each piece of work, and yield results in the order in which they are done.

    `workers` processes of this machine do the work, with one thread each, or the workers of a Dask cluster: "tcp://host:8786"
    is the address of a scheduler, "local:2" starts one with two worker processes here. Every worker needs jostle and the
    function; algorithms that the caller has registered travel along. To stop early, close the iterator: unfinished work is
    dropped.

    >>> sorted(in_parallel(abs, [-1, 2, -3], workers=1))
    [1, 2, 3]
    """
    if workers < 1:
        raise BadInput("workers", f"must be at least 1, got {workers}", f"this machine has {cores()} cores for it")
    if cluster is not None:
        check(cluster)
        return _on_cluster(function, works, cluster)
    if min(workers, len(works)) <= 1:
        return (function(work) for work in works)
    return _on_cores(function, works, min(workers, len(works)))


def check(cluster: str) -> None:
    """Raise unless this is the address of a cluster."""
    if not _LOCAL.fullmatch(cluster) and not re.fullmatch(r"(tcp|tls|ws|wss)://\S+:\d+", cluster):
        raise BadInput("cluster", f"{cluster!r} is no address", "pass for instance tcp://host:8786, or local:2")


def _on_cores(function: Callable[[Work], Done], works: Sequence[Work], workers: int) -> Generator[Done]:
    import joblib
    from joblib.externals.loky.process_executor import BrokenProcessPool

    with joblib.parallel_config("loky", n_jobs=workers, inner_max_num_threads=1, initializer=_as_worker):
        try:
            yield from _distributed(function, works)
        except BrokenProcessPool:
            raise BadInput("workers", "a worker process died, perhaps for want of memory", "use fewer workers") from None


def _on_cluster(function: Callable[[Work], Done], works: Sequence[Work], cluster: str) -> Generator[Done]:
    import joblib

    with _client(cluster) as client:
        from distributed.scheduler import KilledWorker

        with joblib.parallel_config(_backend(client)):
            try:
                yield from _distributed(function, works)
            except TimeoutError:
                raise BadInput("cluster", f"{cluster} has no workers", "start some: dask worker ADDRESS") from None
            except KilledWorker:
                raise BadInput(
                    "cluster", "workers died again and again, perhaps for want of memory", "give each of them more memory"
                ) from None


def _backend(client: Client) -> Any:
    """Joblib's backend for Dask, without two surprises of joblib 1.6.

    It would wait forever for work that was lost with its workers, and do all work here if the cluster has one core.
    """
    from joblib._dask import DaskDistributedBackend

    class Backend(DaskDistributedBackend):  # type: ignore[misc]
        def submit(self, func: Any, callback: Any = None) -> Any:
            future = super().submit(func, callback)
            future.add_done_callback(lambda done: callback(done) if done.exception() is not None else None)
            return future

        def effective_n_jobs(self, n_jobs: int) -> int:
            return max(2, int(super().effective_n_jobs(n_jobs)))

        def retrieve_result_callback(self, out: Any) -> Any:
            return out.result() if isinstance(out, Future) else super().retrieve_result_callback(out)

    return Backend(client=client, wait_for_workers_timeout=_CONNECT)


def _distributed(function: Callable[[Work], Done], works: Sequence[Work]) -> Generator[Done]:
    import joblib

    # The caller sizes the pieces of work. joblib would hold back its own batches until all of one is done.
    spread = joblib.Parallel(return_as="generator_unordered", batch_size=1)
    own = registry.own()
    done = partial(_with_algorithms, own, function) if own else function
    outcomes = spread(joblib.delayed(done)(work) for work in works)
    try:
        for outcome in outcomes:  # noqa: UP028  # `yield from` would close it by itself, with a warning
            yield outcome
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about dropped work, which is what closing is for
            outcomes.close()


def _with_algorithms(own: tuple[Algorithm, ...], function: Callable[[Work], Done], work: Work) -> Done:
    """Apply the function after registering the caller's own algorithms."""
    registry.adopt(own)
    return function(work)


def _as_worker() -> None:
    """Leave interrupts to the parent, which ends its workers; and never outlive the parent, however it ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_after, args=(os.getppid(),), daemon=True).start()


def _end_after(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)


@contextmanager
def _client(cluster: str) -> Iterator[Client]:
    try:
        import distributed
    except ImportError:
        raise BadInput("cluster", "the package `distributed` is not installed", "pip install 'jostle[cluster]'") from None
    start: Any = distributed.LocalCluster
    connect: Any = distributed.Client
    local = _LOCAL.fullmatch(cluster)
    if local:
        settings = {"processes": True, "threads_per_worker": 1, "dashboard_address": ":0", "env": ONE_THREAD}
        with _interrupts_ignored():  # the processes inherit this: an interrupt is for the parent
            started = start(n_workers=int(local[1]), **settings)
        with started, connect(started) as client:
            yield client
        return
    try:
        client = connect(cluster, timeout=_CONNECT)
    except (OSError, TimeoutError, ValueError):
        raise BadInput("cluster", f"no scheduler answers at {cluster}", "start one there: dask scheduler") from None
    with client:
        yield client


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():  # Python allows it nowhere else
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
