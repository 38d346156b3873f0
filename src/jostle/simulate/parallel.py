"""Work on every core, or on a cluster: joblib hands it out and gives back what is done as soon as it is done."""

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
"""What keeps a process to one core; the libraries read it when they are loaded."""

_LOCAL: Final = re.compile(r"local:([1-9][0-9]{0,3})")
_CONNECT: Final = 15.0
"""So many seconds may pass until a cluster and one of its workers answer."""

Work = TypeVar("Work")
Done = TypeVar("Done")


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def in_parallel(
    function: Callable[[Work], Done], works: Sequence[Work], *, workers: int, cluster: str | None = None
) -> Generator[Done]:
    """The function on each piece of work, in the order in which they are done.

    They are done by so many processes of this machine, of one thread each; or by the workers of a Dask cluster:
    "tcp://host:8786" is the address of a scheduler, "local:2" starts one with two worker processes here. The function, and
    jostle, must be there on every worker; algorithms that the caller has registered travel along. To stop early, close the
    iterator: what is under way is dropped.

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
    """Refuse what is not the name of a cluster."""
    if not _LOCAL.fullmatch(cluster) and not re.fullmatch(r"(tcp|tls|ws|wss)://\S+:\d+", cluster):
        raise BadInput("cluster", f"{cluster!r} names none", "pass for instance tcp://host:8786, or local:2")


def _on_cores(function: Callable[[Work], Done], works: Sequence[Work], workers: int) -> Generator[Done]:
    import joblib
    from joblib.externals.loky.process_executor import BrokenProcessPool

    with joblib.parallel_config("loky", n_jobs=workers, inner_max_num_threads=1, initializer=_as_worker):
        try:
            yield from _handed_out(function, works)
        except BrokenProcessPool:
            raise BadInput("workers", "a worker process died, perhaps for want of memory", "use fewer workers") from None


def _on_cluster(function: Callable[[Work], Done], works: Sequence[Work], cluster: str) -> Generator[Done]:
    import joblib

    with _client(cluster) as client:
        from distributed.scheduler import KilledWorker

        with joblib.parallel_config(_backend(client)):
            try:
                yield from _handed_out(function, works)
            except TimeoutError:
                raise BadInput("cluster", f"{cluster} has no workers", "start some: dask worker ADDRESS") from None
            except KilledWorker:
                raise BadInput(
                    "cluster", "workers died again and again, perhaps for want of memory", "give each of them more memory"
                ) from None


def _backend(client: Client) -> Any:
    """What joblib has for Dask, without two surprises of joblib 1.6.

    It would wait for ever for work that was lost with its workers, and do all work here if the cluster has one core.
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


def _handed_out(function: Callable[[Work], Done], works: Sequence[Work]) -> Generator[Done]:
    import joblib

    # Pieces of work are sized by those who make them: joblib's own batches would be kept back until all of one is done.
    spread = joblib.Parallel(return_as="generator_unordered", batch_size=1)
    own = registry.own()
    done = partial(_told, own, function) if own else function
    outcomes = spread(joblib.delayed(done)(work) for work in works)
    try:
        for outcome in outcomes:  # noqa: UP028  # `yield from` would close it by itself, with a warning
            yield outcome
    finally:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that work is dropped, which is what closing is for
            outcomes.close()


def _told(own: tuple[Algorithm, ...], function: Callable[[Work], Done], work: Work) -> Done:
    """The function on a piece of work, where the algorithms are known that the caller has registered."""
    registry.adopt(own)
    return function(work)


def _as_worker() -> None:
    """An interrupt is for the parent, which ends its workers; and no worker outlives its parent, however that ended."""
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
        with _interrupts_ignored():  # which the processes inherit: an interrupt is for the parent
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
    if threading.current_thread() is not threading.main_thread():  # elsewhere, Python lets nobody set it
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
