"""Questions under (ε, δ): inputs are what they say, runs are told apart, and like is compared with like."""

from __future__ import annotations

import numpy as np
import pytest

from jostle import Approximate
from jostle.kernel.measures import gaussian_sigma
from jostle_bench.peers import delta, environments, jobs, questions, synthesis
from jostle_bench.peers.adapters import asking, serve
from jostle_bench.peers.parts import Asked


def asked(folder, *names):
    known = environments.known()
    return Asked(peers=[known[name] for name in ("jostle", *names)], folder=folder, quick=True)


def test_a_person_is_in_no_cell_twice_and_in_as_many_as_is_said():
    for one in questions.askings(None, quick=False, seed=0):
        pairs = np.column_stack([one.arrays["person"], one.arrays["cell"]])
        assert len(np.unique(pairs, axis=0)) == len(pairs)
        assert np.bincount(pairs[:, 0]).max() <= one.touched
        assert questions.truth(one)["counts"].sum() == len(pairs)
        assert one.arrays["cell"].max() < one.cells
        if one.kind == "keys":
            assert questions.truth(one)["counts"].tolist() == np.repeat(questions.SIZES, questions.KEYS_OF_A_SIZE).tolist()


@pytest.mark.parametrize("epsilon", [0.1, 1.0])
def test_peers_get_all_that_epsilon_and_delta_allow(epsilon):
    ours = float(Approximate(epsilon, 1e-6, for_keys=0).rho)
    assert asking.rho(epsilon, 1e-6) == pytest.approx(ours, rel=1e-4)
    assert asking.rho(epsilon, 1e-6) <= ours
    assert asking.sigma(epsilon, 1e-6) == pytest.approx(float(gaussian_sigma(epsilon, 1e-6)), rel=1e-3)


def test_runs_are_told_apart_and_put_together_again():
    one = {"trials": 3, "cells": 4}
    rows = asking.told_apart(one, {"person": np.array([0, 0, 5]), "cell": np.array([0, 3, 3])})
    assert len(set(rows["person"].tolist())) == 6
    assert np.bincount(rows["cell"], minlength=12).reshape(3, 4).tolist() == [[1, 0, 0, 2]] * 3
    found = asking.by_run(one, [0, 7], [1.0, 2.0])
    assert found.shape == (3, 4)
    assert (found[0, 0], found[1, 3], np.isnan(found).sum()) == (1.0, 2.0, 10)


def outcome(tmp_path, name, **values):
    np.savez(tmp_path / f"{name}.npz", **values)
    return jobs.Outcome(status="ok", facts={"method": "some"}, arrays=tmp_path / f"{name}.npz")


def test_a_group_that_is_left_out_counts_as_0_and_only_like_is_compared(tmp_path):
    wanted = asked(tmp_path, "opendp_polars")
    ours, theirs = (job for job in delta.plan(wanted) if job.kind == "keys")
    sizes = questions.truth(next(one for one in questions.askings(None, quick=True, seed=0) if one.kind == "keys"))["counts"]
    off = np.where(sizes >= 20, sizes + 1, np.nan)
    seen = np.where(sizes >= 100, sizes + 3, np.nan)
    ran = [
        (ours, outcome(tmp_path, "a", **{"keys 1/1/counts/": np.array([seen, seen])})),
        (
            theirs,
            outcome(tmp_path, "b", **{"keys 1/1/counts/some noise": np.array([off, off])}),
        ),
    ]
    found = delta.findings(wanted, ran)
    assert {(one.peer, one.cell.split(":")[0]) for one in found.comparisons} == {
        ("OpenDP (Polars), some noise", "counts"),
        ("OpenDP (Polars), some noise", delta.LEFT_OUT),
    }
    mine = {one.what: one for one in delta.errors(wanted, ran) if one.peer.name == "jostle"}
    small, large = sizes[sizes < 100], sizes[sizes >= 100]
    assert mine["counts"].errors == pytest.approx(np.sqrt(((small**2).sum() + 9 * large.size) / sizes.size))
    assert mine[delta.SHOWN].errors == pytest.approx(3)
    assert mine[delta.LEFT_OUT].released.tolist() == [0, 0, 0, 0, 1, 1, 1, 1]


def test_real_libraries_answer_what_they_are_asked(peers_folder, tmp_path):
    """A peer in its environment, and ours here: errors of both are those of noise."""
    wanted = asked(tmp_path, "opendp")
    ran = []
    for job in delta.plan(wanted):
        if job.kind == "keys":
            continue
        if job.peer.name == "jostle":
            adapter = serve._loaded(job.adapter)
            told = adapter.ANSWERS[job.kind](dict(job.settings) | {"data": str(job.data)})
            ran.append((job, outcome(tmp_path, job.kind, **told["values"])))
            continue
        done = jobs.run(job, environments.prepare(job.peer, peers_folder), tmp_path / "results")
        assert done.status == "ok", done.reason
        ran.append((job, done))
    found = delta.findings(wanted, ran)
    assert {one.group.split(" (")[0].split(",")[0] for one in found.comparisons} == {"known groups", "marginals", "batch"}
    assert len(found.comparisons) == 7
    assert all(0.1 < one.ratio < 10 for one in found.comparisons)
    assert found.sections[0].grids[0].rows


def test_synthetic_tables_are_compared_by_their_histograms(tmp_path):
    wanted = asked(tmp_path, "dpmm")
    planned = synthesis.plan(wanted)
    assert [job.settings["model"] for job in planned] == ["jostle", "AIM", "MST"]
    with np.load(planned[0].data) as data:
        train = data["train"]
    off = np.roll(train, 1, axis=0) * [1, 1, 1, 0]
    ran = [
        (planned[0], outcome(tmp_path, "a", **{"1/0": off, "1/1": off})),
        (planned[1], outcome(tmp_path, "b", **{"1/0": train, "1/1": train})),
    ]
    known = {(one.who, one.degree): one.distances for one in synthesis.distances(wanted, ran)}
    assert known["dpmm, AIM", 2].tolist() == [0, 0]
    assert (known["jostle", 2] > 0).all()
    assert (known["jostle", 3] > known["jostle", 2]).all()
