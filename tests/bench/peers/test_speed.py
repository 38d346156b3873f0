"""Times beside each other: what is told of them, how growth is fitted, and real jobs in processes of their own."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jostle_bench.peers import environments, jobs, scaling, speed, timings
from jostle_bench.peers.jobs import Job, Outcome
from jostle_bench.peers.parts import Asked

KNOWN = environments.known()


def asked(folder, *names, **more):
    return Asked(peers=[KNOWN[name] for name in ("jostle", *names)], folder=folder, **more)


def table(peer, rows=10**6, *, cells=4096, bounded=False, limit=90.0):
    settings = {"rows": rows, "cells": cells, "epsilon": 1, "bounded": bounded}
    return Job(peer=KNOWN[peer], part="speed", kind="table", settings=settings, limit=limit)


def took(*seconds, load=0.1, peak=10**8, **facts):
    told = {"seconds": list(seconds), "delta": 0.0, "released": 4096} | facts
    return Outcome(status="ok", facts=told, wall=sum(seconds), peak_bytes=peak, load=load)


def compared(outcomes):
    return {(one.group, one.peer): one for one in timings.comparisons(timings.timed(outcomes), part="speed")}


def test_first_times_are_compared_with_first_times_and_later_ones_with_later_ones():
    ran = [(table("jostle"), took(2.0, 0.5, 0.5)) for _ in range(3)]
    ran += [(table("diffprivlib"), took(4.0, 0.25, 0.25, peak=2 * 10**8)) for _ in range(3)]
    found = compared(ran)
    assert found["end to end, program just started", "diffprivlib"].ratio == 0.5
    assert found["end to end, again", "diffprivlib"].ratio == 2.0
    assert found["end to end, again", "diffprivlib"].behind
    assert found["memory", "diffprivlib"].ratio == 0.5


def test_whoever_was_stopped_took_at_least_so_long():
    ran = [(table("jostle"), took(9.0, 3.0)), (table("pipelinedp"), Outcome(status="timeout", reason="over 90 s"))]
    found = compared(ran)
    one = found["end to end, program just started", "PipelineDP"]
    assert (one.theirs, one.ratio, one.low, one.high) == pytest.approx((90.0, 0.1, 0.0, 0.1))
    assert "stopped at 90 s" in one.note
    assert ("memory", "PipelineDP") not in found


def test_times_under_load_are_marked():
    ran = [(table("jostle"), took(1.0, 1.0, load=0.2)), (table("opendp"), took(1.0, 1.0, load=7.0))]
    notes = {one.note for one in compared(ran).values()}
    assert notes == {"under load (7.0)"}


def test_one_sample_leaves_all_doubt():
    ran = [(table("jostle"), took(3.0)), (table("opendp"), took(1.0))]
    one = compared(ran)["end to end, program just started", "OpenDP"]
    assert one.behind
    assert not one.for_certain
    assert one.high == math.inf


@given(st.floats(0.1, 2), st.floats(1e-6, 1e-2))
def test_growth_is_the_power_by_which_times_grow(power, unit):
    ran = [(table("jostle", rows), took(9.0, unit * rows**power)) for rows in (10**4, 10**5, 10**6, 10**7)]
    by_rows = next(one for one in timings.growths(timings.timed(ran)) if one.what == "rows")
    assert by_rows.exponent == pytest.approx(power)
    assert [size for size, _ in by_rows.points] == [10**4, 10**5, 10**6, 10**7]


def test_noise_grows_with_cells_and_not_with_epsilon():
    def noise(cells, epsilon):
        return Job(peer=KNOWN["opendp"], part="speed", kind="noise", settings={"cells": cells, "epsilon": epsilon})

    ran = [(noise(cells, epsilon), took(1.0, 1e-5 * cells)) for cells, epsilon in speed.noise_sizes()]
    powers = {one.what: one.exponent for one in timings.growths(timings.timed(ran))}
    assert powers == {"cells that get noise": pytest.approx(1), "1/ε of noise": pytest.approx(0, abs=1e-9)}


def test_the_plan_spares_slow_peers_and_asks_everybody_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(speed, "make", lambda rows, folder: folder / f"{rows}.parquet")
    monkeypatch.delenv("JOSTLE_REFERENCE", raising=False)
    planned = speed.plan(asked(tmp_path, "opendp", "opendp_polars", "tumult", "privatree"))
    of = {name: [job for job in planned if job.peer.name == name] for name in KNOWN}
    assert not of["privatree"], "there is nothing to install"
    works = {name: {timings.work_of(job) for job in here} for name, here in of.items()}
    assert works["jostle"] == works["opendp"] == works["opendp_polars"] > works["tumult"]
    assert {dict(work[1])["rows"] for work in works["tumult"] if work[0] == "table"} == {1_000, 10**6, 10**7}
    assert not any(job.settings.get("rows") == speed.MOST_ROWS for job in planned)
    full = speed.plan(asked(tmp_path, full=True))
    assert any(job.settings.get("rows") == speed.MOST_ROWS for job in full)


def test_training_is_counted_from_its_first_result():
    arrivals = 5 + 0.1 * np.arange(71)  # seven results an input, ten a second
    run = scaling.throughput("two processes", 71, arrivals)
    assert run.steady == pytest.approx(10)
    assert (run.start, run.seconds) == (5, pytest.approx(12))


def test_scale_asks_for_every_way_of_training_and_for_spark_on_both_sides(tmp_path, monkeypatch):
    monkeypatch.setattr(scaling, "make", lambda rows, folder: folder / f"{rows}.parquet")
    planned = scaling.plan(asked(tmp_path, "opendp", "tumult"))
    assert [job.settings["way"] for job in planned if job.kind == "training"] == list(scaling.WAYS)
    assert {(job.peer.name, job.settings["bounded"]) for job in planned if job.kind == "table"} == {
        (name, bounded) for name in ("jostle", "tumult") for bounded in (False, True)
    }


def test_real_peers_release_all_cells_of_a_file(peers_folder, tmp_path):
    """Noise of scale 1 on 4,096 cells: their sum is off by more than 1,000 with a probability below 1e-20."""
    ran = []
    for job in speed.plan(asked(tmp_path, "opendp", "diffprivlib", quick=True)):
        rows = job.settings.get("rows")
        if (job.kind == "table" and rows != 10**4) or (job.settings.get("bounded") and job.peer.name == "jostle"):
            continue
        done = jobs.run(job, environments.prepare(job.peer, peers_folder), tmp_path / "results")
        ran.append((job, done))
        if job.settings.get("bounded"):
            assert done.status == "unsupported", "neither of the two bounds persons"
            assert "rows" in done.reason
            continue
        assert done.status == "ok", done.reason
        assert min(done.facts["seconds"]) > 0
        if job.kind == "table":
            assert done.facts["released"] == 4096
            # diffprivlib cuts what falls below 0 off, which adds less than one record a cell.
            assert -1000 < done.facts["total"] - rows < 4096 + 1000
            assert 2e7 < done.peak_bytes < 2e9
    found = speed.findings(asked(tmp_path), ran)
    assert {one.group for one in found.comparisons} >= {"import", "noise", "end to end, again", "memory"}
    assert {one.peer for one in found.comparisons} == {"OpenDP", "diffprivlib"}
    assert [section.title for section in found.sections][:3] == [
        "Speed and memory: end to end",
        "Start-up and import",
        "Noise",
    ]
