"""Classifiers beside each other: the same splits, the same knowledge, like with like."""

from __future__ import annotations

import json

import numpy as np
import pytest

from jostle.datasets.labelled import EXPERIMENTS, load, split
from jostle.learn.task import Task
from jostle.peers import classifiers, environments, jobs
from jostle.peers.adapters import classifying
from jostle.peers.parts import Asked
from jostle.schema import Category, Integer, Real


def asked(folder, *names, **more):
    known = environments.known()
    return Asked(peers=[known[name] for name in ("jostle", *names)], folder=folder, quick=True, **more)


@pytest.mark.parametrize("table", ["hiv", "skin-1k"])
def test_peers_learn_from_the_records_of_our_own_experiments(jostle_data, table):
    records = load(EXPERIMENTS[table].table, jostle_data)
    for number in (0, 7):
        for ours, rows in zip(
            split(table, number, jostle_data), classifiers.rows_of(table, number, len(records)), strict=True
        ):
            assert np.array_equal(ours.y, records.y[rows])


def test_numbers_are_scaled_by_what_is_declared_and_never_by_what_is_there():
    known = {"age": Integer(0, 100), "pay": Real(0, 99, bins=8, spacing="log"), "sex": Category(["F", "M"])}
    task = Task(("age", "pay", "sex"), "class", known | {"class": Category([0, 1])})
    assert classifiers.scaled(task, "age", np.array([25, -5, 900])).tolist() == [0.25, 0.0, 1.0]
    assert classifiers.scaled(task, "pay", np.array([9.0, np.nan])).tolist() == pytest.approx([0.5, 0.0])
    assert classifiers.scaled(task, "sex", np.array(["M", "?", None], dtype=object)).tolist() == [1, 2, 3]
    alone = classifiers.scaled(task, "pay", np.array([9.0]))
    assert alone[0] == classifiers.scaled(task, "pay", np.array([9.0, 1e9]))[0], "no other record plays a part"


def test_categories_become_columns_of_zeros_and_ones():
    task = classifying.Task((0, 3), 2, np.array([[0.5, 2.0], [0.1, 0.0]]), np.array([0, 1]), np.array([[1.0, 1.0]]))
    train, test = task.wide
    assert train.tolist() == [[0.5, 0, 0, 1], [0.1, 1, 0, 0]]
    assert test.tolist() == [[1, 0, 1, 0]]
    assert [bound.tolist() for bound in task.bounds] == [[0, 0], [1, 2]]


def test_errors_are_counted_by_split_and_epsilon_with_noise_of_their_own(tmp_path):
    truth = np.array([0, 1, 1, 0, 1, 1])
    arrays = {"records": np.zeros((6, 1)), "classes": truth}
    arrays |= {f"train_{n}": np.arange(3) for n in range(2)} | {f"test_{n}": np.arange(2 + n, 6) for n in range(2)}
    np.savez(tmp_path / "data.npz", **arrays)
    job = {"data": str(tmp_path / "data.npz"), "categories": [0], "classes": 2, "epsilons": [1, 2], "splits": 2, "draws": 3}
    seeds = []

    def ones(task, epsilon, seed):
        seeds.append(seed)
        return np.full(len(task.test), epsilon - 1)

    found = classifying.errors(job | {"enough": 60, "seed": 0}, ones)["values"]["errors"]
    assert found.shape == (2, 2, 3)
    assert found[:, 1].tolist() == [[0.25] * 3, [1 / 3] * 3], "one of four, and one of three, are not 1"
    assert np.allclose(found[:, 0] + found[:, 1], 1)
    assert len(set(seeds)) == 12
    assert len(classifying.errors(job | {"enough": -1, "seed": 0}, ones)["values"]["errors"]) == 1, (
        "the first split is always done"
    )


def outcome(tmp_path, name, shares, **facts):
    np.savez(tmp_path / f"{name}.npz", errors=np.array(shares))
    told = {"neighbours": "add_remove", "delta": 0.0, "seconds": [1.0]} | facts
    return jobs.Outcome(status="ok", facts=told, arrays=tmp_path / f"{name}.npz")


def test_a_model_is_compared_with_ours_under_its_own_neighbours(tmp_path):
    planned = classifiers.plan(asked(tmp_path, "diffprivlib"))
    ours, theirs = planned[:2], planned[2:]
    assert [job.settings["neighbours"] for job in ours] == ["add_remove", "replace"]
    assert len({json.dumps(job.settings["categories"]) for job in planned}) == 1
    ran = [
        (ours[0], outcome(tmp_path, "a", [[[0.1], [0.2]], [[0.1], [0.2]]])),
        (ours[1], outcome(tmp_path, "b", [[[0.3], [0.4]], [[0.3], [0.4]]], neighbours="replace")),
        (theirs[1], outcome(tmp_path, "c", [[[0.6], [0.4]], [[0.6], [0.4]]], neighbours="replace", delta=1e-6)),
    ]
    found = classifiers.findings(asked(tmp_path), ran)
    assert [one.ratio for one in found.comparisons] == pytest.approx([0.5, 1.0])
    assert all("δ = 1e-06" in one.note for one in found.comparisons)
    assert found.comparisons[0].peer == "diffprivlib LogisticRegression"
    assert found.sections[0].grids[0].title == classifiers.MADE_UP[0]


def test_real_models_answer_for_every_split_and_epsilon(peers_folder, tmp_path):
    wanted = asked(tmp_path, "diffprivlib")
    for job in classifiers.plan(wanted):
        if job.settings.get("neighbours") == "replace" or job.settings.get("model", "GaussianNB") != "GaussianNB":
            continue
        done = jobs.run(job, environments.prepare(job.peer, peers_folder), tmp_path / "results")
        assert done.status == "ok", done.reason
        errors = done.values["errors"]
        assert errors.shape == (2, 2, 1)
        assert np.all((errors > 0) & (errors < 1))
