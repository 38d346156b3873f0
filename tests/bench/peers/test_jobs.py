"""Jobs in processes of their own: what is kept, what is tried again, and that nothing is left running."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from jostle_bench.peers import environments, jobs
from jostle_bench.peers.environments import Environment, Peer, Unavailable
from jostle_bench.peers.jobs import Job

ADAPTER = """
import os, time
from pathlib import Path
import numpy as np
VERSION_OF = "numpy"

def double(job):
    with np.load(job["data"]) as data:
        return {"values": {"doubled": 2 * data["x"]}, "delta": 0.0, "said": np.float64(1.5)}

def sleep(job):
    Path(job["pid"]).write_text(str(os.getpid()))
    time.sleep(600)

def cannot(job):
    raise NotImplementedError("not on a Sunday")

def wrong(job):
    return 1 / job["by"]

def crash(job):
    os._exit(7)

ANSWERS = {"double": double, "sleep": sleep, "cannot": cannot, "wrong": wrong, "crash": crash}
"""


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """A peer in the running interpreter, and how to ask it."""
    folder = tmp_path / "adapters"
    folder.mkdir()
    shutil.copy(jobs.ADAPTERS / "serve.py", folder)
    (folder / "toy_work.py").write_text(ADAPTER, "utf-8")
    monkeypatch.setattr(jobs, "ADAPTERS", folder)
    peer = Peer(name="toy", title="Toy", requirements=("toy==1.0",))
    place = Environment(peer=peer, python=Path(sys.executable))

    def ask(
        kind: str, *, part: str = "work", data: Path | None = None, limit: float = 120, **settings: object
    ) -> jobs.Outcome:
        job = Job(peer=peer, part=part, kind=kind, settings=settings, data=data, limit=limit)
        return jobs.run(job, place, tmp_path / "results")

    return ask


def test_values_and_facts_come_back_and_are_kept(toy, tmp_path, monkeypatch):
    np.savez(tmp_path / "data.npz", x=np.arange(3))
    found = toy("double", data=tmp_path / "data.npz")
    assert (found.status, found.reason, found.facts["said"]) == ("ok", "", 1.5)
    assert found.values["doubled"].tolist() == [0, 2, 4]
    assert found.facts["version"] == np.__version__
    assert found.peak_bytes > 10**6
    monkeypatch.setattr(jobs, "_process", lambda *_: pytest.fail("it ran again"))
    again = toy("double", data=tmp_path / "data.npz")
    assert again.values["doubled"].tolist() == [0, 2, 4]
    assert again.wall == found.wall


def test_other_data_or_settings_are_another_job(toy, tmp_path):
    np.savez(tmp_path / "data.npz", x=np.arange(3))
    assert toy("double", data=tmp_path / "data.npz").values["doubled"].size == 3
    np.savez(tmp_path / "data.npz", x=np.arange(4))
    assert toy("double", data=tmp_path / "data.npz").values["doubled"].size == 4


@pytest.mark.parametrize(
    ("kind", "status", "reason"),
    [
        ("cannot", "unsupported", "not on a Sunday"),
        ("unheard-of", "unsupported", "its adapter has no answer to 'unheard-of'"),
        ("wrong", "failed", "ZeroDivisionError: division by zero"),
        ("crash", "failed", "its process ended with status 7"),
    ],
)
def test_what_went_wrong_is_told(toy, kind, status, reason):
    found = toy(kind, by=0)
    assert found.status == status
    assert reason in found.reason


def test_a_failure_is_tried_again(toy, monkeypatch):
    assert toy("wrong", by=0).status == "failed"
    monkeypatch.setattr(jobs, "_process", lambda *_: pytest.fail("it ran again"))
    with pytest.raises(pytest.fail.Exception):
        toy("wrong", by=0)


def test_a_job_that_takes_too_long_is_ended_and_said_so(toy, tmp_path):
    found = toy("sleep", limit=8, pid=str(tmp_path / "pid"))  # long enough for it to start on a busy machine
    assert (found.status, found.reason) == ("timeout", "over 8 s")
    assert found.wall < 300  # and not the ten minutes that it would have slept
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text("utf-8")), 0)


def test_a_changed_adapter_or_what_it_shares_is_another_job(tmp_path, monkeypatch):
    folder = tmp_path / "beside"
    folder.mkdir()
    monkeypatch.setattr(jobs, "ADAPTERS", folder)
    peer = Peer(name="toy", title="Toy")
    keys = set()
    for adapter, shared in (("import timing  # shared", "1"), ("import timing  # shared", "2"), ("import numpy", "2")):
        (folder / "toy_work.py").write_text(adapter, "utf-8")
        (folder / "timing.py").write_text(shared, "utf-8")
        jobs._digest_of.cache_clear()
        keys.add(Job(peer=peer, part="work", kind="double").key)
    assert len(keys) == 3


def test_what_is_measured_of_jostle_is_part_of_its_jobs_and_nothing_else_is(tmp_path, monkeypatch):
    ours = ("kernel/noise.py", "cli/main.py", "choice/selector.json")
    bench = ("peers/report.py", "commands/peers.py", *jobs.MEASURED_WITH)
    for file in (*(f"jostle/{name}" for name in ours), *(f"bench/{name}" for name in bench)):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("1", "utf-8")
    monkeypatch.setattr(jobs, "PACKAGE", tmp_path / "jostle")
    monkeypatch.setattr(jobs, "BENCH", tmp_path / "bench")

    def digest() -> str:
        jobs.own_source.cache_clear()
        return jobs.own_source()

    try:
        seen = [digest()]
        counted = ("jostle/kernel/noise.py", "jostle/choice/selector.json", "jostle/kernel/new.py")
        for file in (*counted, *(f"bench/{name}" for name in jobs.MEASURED_WITH)):
            (tmp_path / file).write_text("2", "utf-8")
            seen.append(digest())
        assert len(set(seen)) == 1 + 3 + len(jobs.MEASURED_WITH), "code, data and new files count"
        for file in ("jostle/cli/main.py", "bench/peers/report.py", "bench/commands/peers.py"):
            (tmp_path / file).write_text("2", "utf-8")
        cache = tmp_path / "jostle" / "kernel" / "__pycache__"
        cache.mkdir()
        (cache / "noise.pyc").write_text("2", "utf-8")
        assert digest() == seen[-1], "what is not measured does not"
    finally:
        jobs.own_source.cache_clear()


STOPPED = """
import sys
from jostle.cli import delivery
from jostle_bench.peers import jobs

with delivery.stoppable():
    jobs._process([sys.executable, "-c", sys.argv[1]], {}, 600.0)
"""
SLEEPER = "import os, sys, time; open({file!r}, 'w').write(str(os.getpid())); time.sleep(600)"


def test_whoever_ends_the_command_ends_what_it_started(tmp_path):
    file = tmp_path / "pid"
    command = subprocess.Popen([sys.executable, "-c", STOPPED, SLEEPER.format(file=str(file))], stderr=subprocess.PIPE)
    for _ in range(2_400):
        if command.poll() is not None or (file.is_file() and file.read_text("utf-8")):
            break
        time.sleep(0.05)
    os.kill(command.pid, signal.SIGTERM)
    _, said = command.communicate(timeout=120)
    assert b"KeyboardInterrupt" in said
    with pytest.raises(ProcessLookupError):
        os.kill(int(file.read_text("utf-8")), 0)


def test_a_peer_without_an_adapter_or_an_environment_says_so(toy, tmp_path):
    assert "there is no adapter toy_play.py" in toy("double", part="play").reason
    peer = Peer(name="toy", title="Toy")
    missing = Unavailable(peer=peer, reason="gone")
    found = jobs.run(Job(peer=peer, part="work", kind="double"), missing, tmp_path)
    assert (found.status, found.reason) == ("unavailable", "gone")


def test_what_cannot_be_installed_says_why_and_leaves_no_stamp(tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    peer = Peer(name="nobody", title="Nobody", requirements=("jostle-has-no-such-peer==9.9",))
    place = environments.prepare(peer, tmp_path)
    assert isinstance(place, Unavailable)
    assert "jostle-has-no-such-peer==9.9" in place.reason
    assert not list((tmp_path / "nobody").glob("ready-*"))


def test_an_environment_that_is_ready_is_not_made_again(peers_folder, monkeypatch):
    monkeypatch.setattr(environments, "_build", lambda *_: pytest.fail("it installed again"))
    place = environments.prepare(environments.known()["opendp"], peers_folder)
    assert isinstance(place, Environment)
    changed = Peer(name="opendp", title="OpenDP", requirements=("opendp==0.0",))
    with pytest.raises(pytest.fail.Exception):
        environments.prepare(changed, peers_folder)


@pytest.mark.parametrize("name", [name for name in environments.known() if name != environments.OURSELVES])
def test_pins_are_exact_versions_and_name_no_place(name):
    peer = environments.known()[name]
    assert peer.title
    assert bool(peer.requirements) != bool(peer.not_installable)
    for requirement in peer.requirements:
        project, _, version = requirement.partition("==")
        assert project.strip("-_.").replace("-", "").replace("_", "").replace(".", "").isalnum(), requirement
        assert version[:1].isdigit(), requirement
