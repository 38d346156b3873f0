"""Work on the cores and on a real Dask cluster: all of it is done, and a worker that dies does no harm."""

from __future__ import annotations

import os
import signal
import time
from itertools import islice
from pathlib import Path

import pytest

from jostle.kernel.errors import BadInput
from jostle.simulate import grid, measure, parallel
from jostle.simulate.parallel import in_parallel
from jostle.simulate.results import Results
from tests.simulate.folders import data_folder
from tests.simulate.workers import deadly, dies_once, threads, who


@pytest.fixture(scope="module")
def todo(tmp_path_factory):
    folder = data_folder(tmp_path_factory.mktemp("made-up") / "data")
    cells = grid.cells("range-1d", folder, sides=(128, 256), exponents=(5, 9))
    return measure.jobs(cells, ["Laplace", "HB", "Uniform"], trials=3, seed=0)


@pytest.fixture(scope="module")
def alone(todo):
    return {one.key: one.mean for one in measure.run(todo, Results(), workers=1)}


@pytest.fixture(scope="module")
def cluster():
    """The address of a scheduler with two worker processes."""
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as started:
        yield started.scheduler_address


def gone(process: int) -> bool:
    """Whether a process has ended, or only waits for its end to be noticed."""
    try:
        return Path(f"/proc/{process}/stat").read_text("utf-8").rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


# -------------------------------------------------------------------------------------------------------------- cores


def test_jobs_of_an_input_come_together_and_inputs_at_random(todo):
    names = [job.cell.key for job in todo]
    assert len(todo) == 3 * 2 * 2 * 2 * 3
    assert all(names[first] == names[first + 1] == names[first + 2] for first in range(0, len(names), 3))
    assert names != sorted(names)
    batches = list(measure._batches(todo))
    assert [job for batch in batches for job in batch] == todo
    assert {len(batch) for batch in batches} == {3}


def test_large_inputs_are_handed_out_one_algorithm_at_a_time(tmp_path):
    cells = grid.cells("range-2d", data_folder(tmp_path / "data"), sides=(128,), exponents=(5,))[:2]
    batches = measure._batches(measure.jobs(cells, ["Laplace", "HB"], trials=2, seed=0))
    assert [len(batch) for batch in batches] == [1, 1, 1, 1]


def test_several_processes_find_the_same_and_end_with_the_iterator(todo, alone):
    running = measure.run(todo, Results(), workers=2)
    together = {one.key: one.mean for one in islice(running, 20)}
    assert together.items() <= alone.items()
    running.close()
    running = in_parallel(who, range(1000), workers=2)
    workers = {worker for _, worker in islice(running, 20)}
    assert workers
    assert os.getpid() not in workers
    running.close()
    deadline = time.monotonic() + 120
    while not all(gone(worker) for worker in workers):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_worker_has_one_thread():
    told = list(in_parallel(threads, range(4), workers=2))
    assert sorted(number for number, _ in told) == [0, 1, 2, 3]
    assert all(value == "1" for _, said in told for value in said.values())


def test_a_worker_that_dies_is_told_and_the_next_run_goes_on():
    got = []
    with pytest.raises(BadInput, match="workers: a worker process died"):
        got.extend(in_parallel(deadly, range(200), workers=2))
    assert sorted(in_parallel(deadly, range(8, 20), workers=2)) == list(range(8, 20))


def test_killed_in_the_middle_a_run_on_cores_resumes(todo, alone, tmp_path):
    with Results(tmp_path / "kept") as kept:
        running = measure.run(todo, kept, workers=2)
        first = list(islice(running, 7))
        running.close()
        assert 7 <= len(kept) < len(todo)
    with Results(tmp_path / "kept") as kept:
        before = len(kept)
        rest = list(measure.run(todo, kept, workers=2))
        assert len(rest) == len(todo) - before
        assert {one.key: one.mean for one in kept} == alone
        assert all(kept.get(one.key) == one for one in first)


@pytest.mark.parametrize(
    "wrong", [{"workers": 0}, {"cluster": "here"}, {"cluster": "local:0"}, {"cluster": "tcp://nowhere"}]
)
def test_bad_arguments_are_named(wrong):
    with pytest.raises(BadInput, match=next(iter(wrong))):
        in_parallel(who, [1, 2], **{"workers": 1} | wrong)


# ------------------------------------------------------------------------------------------------------------ cluster


def test_a_cluster_finds_the_same(todo, alone, cluster):
    found = list(measure.run(todo, Results(), workers=1, cluster=cluster))
    assert {one.key: one.mean for one in found} == alone
    assert len({worker for _, worker in in_parallel(who, range(40), workers=1, cluster=cluster)}) == 2


def test_a_run_on_a_cluster_can_be_stopped_and_goes_on_on_cores(todo, alone, cluster, tmp_path):
    with Results(tmp_path / "kept") as kept:
        running = measure.run(todo, kept, workers=1, cluster=cluster)
        assert len(list(islice(running, 7))) == 7
        running.close()
        assert len(kept) < len(todo)
        list(measure.run(todo, kept, workers=2))
        assert {one.key: one.mean for one in kept} == alone


def test_the_work_of_a_killed_worker_is_done_by_another(cluster, tmp_path):
    running, got = in_parallel(who, range(60), workers=1, cluster=cluster), []
    for number, worker in running:
        got.append(number)
        if len(got) == 5:
            os.kill(worker, signal.SIGKILL)
    assert sorted(got) == list(range(60))
    works = [(number, tmp_path / "seen") for number in range(20)]
    assert sorted(in_parallel(dies_once, works, workers=1, cluster=cluster)) == list(range(20))
    assert (tmp_path / "seen").exists()


def test_work_that_kills_every_worker_ends_the_run_with_a_reason():
    with pytest.raises(BadInput, match="cluster: workers died again and again"):
        list(in_parallel(deadly, [1, 7, 2], workers=1, cluster="local:1"))


def test_a_cluster_of_one_worker_does_the_work_itself():
    assert os.getpid() not in {worker for _, worker in in_parallel(who, range(4), workers=1, cluster="local:1")}


def test_a_cluster_that_is_not_there_is_told(monkeypatch):
    monkeypatch.setattr(parallel, "_CONNECT", 0.5)
    with pytest.raises(BadInput, match="no scheduler answers at tcp://127.0.0.1:9"):
        list(in_parallel(who, [1, 2], workers=1, cluster="tcp://127.0.0.1:9"))
