"""Classifiers beside each other: the same splits, the same knowledge, like with like."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jostle.datasets.labelled import EXPERIMENTS, load, split
from jostle.learn.task import Task
from jostle.schema import Category, Integer, Real
from jostle_bench.peers import classifiers, environments, jobs
from jostle_bench.peers.adapters import classifying, serve
from jostle_bench.peers.parts import Asked


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


def test_probabilities_are_compared_with_shares_of_right_predictions():
    assert classifying.calibration_error(np.array([0.9, 0.9, 0.6, 1.0]), np.array([True, False, True, True])) == (
        pytest.approx((0.8 + 0.4 + 0.0) / 4)
    )
    told = np.array([1, 1]), np.array([0.75, 0.75])
    job = {"epsilons": [1], "splits": 1, "draws": 1, "enough": 60, "seed": 0}
    found = classifying.of_splits(job, [(None, np.array([1, 0]))], lambda *_: told)["values"]
    assert (found["errors"].item(), found["calibration"].item()) == (0.5, 0.25)
    assert np.isnan(classifying.of_splits(job, [(None, told[0])], lambda *_: told[0])["values"]["calibration"]).all()


# ------------------------------------------------------------------------------------------------------ PrivaTree


@pytest.fixture(scope="module")
def privatree():
    return serve._loaded(jobs.ADAPTERS / "privatree_classifiers.py")


def test_permute_and_flip_takes_classes_as_often_as_it_should(privatree):
    """Of two candidates, the worse one is taken with probability e^(−εd)/2.

    A mean of 20,000 is off by more than 0.02 with a probability below 2 e^(−2 · 20,000 · 0.02²) = 3e-7.
    """
    draw = np.random.default_rng(0)
    for gap, epsilon in ((0, 1.0), (2, 0.5), (5, 1.0)):
        taken = [privatree.permute_and_flip(np.array([3 + gap, 3]), epsilon, draw) for _ in range(20_000)]
        assert np.mean(taken) == pytest.approx(np.exp(-epsilon * gap) / 2, abs=0.02)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=6), st.booleans())
def test_a_cut_is_the_purest_of_all(privatree, counts, categorical):
    counts = np.array(counts)
    impurity, left = privatree.best_cut(counts, categorical)

    def spoilt(inside):
        sides = [counts[inside].sum(axis=0), counts[~inside].sum(axis=0)]
        if min(side.sum() for side in sides) == 0:
            return np.inf
        return sum(side.sum() - (side**2).sum() / side.sum() for side in sides) / counts.sum()

    places = np.arange(len(counts))
    cuts = [places <= at for at in places[:-1]]
    if categorical:  # for two classes, the best of all subsets is among those that follow the order of shares
        cuts = [(number >> places) & 1 == 1 for number in range(1, 2 ** len(counts) - 1)]
    assert impurity == pytest.approx(min(map(spoilt, cuts)))
    if left is not None:
        assert impurity == pytest.approx(spoilt(left))


def test_quantiles_by_halving_and_the_worst_error_of_a_leaf(privatree):
    values = np.sort(np.random.default_rng(0).random(10**4) ** 3)
    found = privatree.halved(values, (0.0, 1.0), list(range(1, 10)), (0, 10), 100.0, np.random.default_rng(1))
    assert np.searchsorted(values, found) / 10**4 == pytest.approx(np.arange(1, 10) / 10, abs=1e-3)
    assert privatree.worst_error(2) == pytest.approx(1 / np.e, rel=1e-6)


def test_privatree_learns_what_a_tree_can_say(privatree):
    draw = np.random.default_rng(0)
    records = np.column_stack([draw.random(4000), draw.integers(0, 5, 4000), draw.random(4000)])
    classes = ((records[:, 0] > 0.6) ^ (records[:, 1] == 3)).astype(int)
    task = classifying.Task((0, 5, 0), 2, records[:3000], classes[:3000], records[3000:])
    shared, published = (
        np.mean([np.mean(privatree.tree(task, 0.3, seed, shared=way) != classes[3000:]) for seed in range(5)])
        for way in (True, False)
    )
    assert np.mean(privatree.tree(task, 1e4, 0, shared=True) != classes[3000:]) < 0.05
    assert published < shared < 0.45, "it has three times as much to spend"


def outcome(tmp_path, name, shares, **facts):
    np.savez(tmp_path / f"{name}.npz", errors=np.array(shares))
    told = {"neighbours": "add_remove", "delta": 0.0, "seconds": [1.0]} | facts
    return jobs.Outcome(status="ok", facts=told, arrays=tmp_path / f"{name}.npz")


def test_a_model_is_compared_with_ours_under_its_own_neighbours(tmp_path):
    planned = classifiers.plan(asked(tmp_path, "diffprivlib"))
    ours, theirs = planned[:3], planned[3:]
    assert [(job.settings["neighbours"], job.settings.get("delta")) for job in ours] == [
        ("add_remove", None),
        ("replace", None),
        ("add_remove", classifiers.DELTA),
    ]
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
    ran.append((ours[2], outcome(tmp_path, "d", [[[0.2], [0.1]], [[0.2], [0.1]]], delta=1e-6)))
    found = classifiers.findings(asked(tmp_path), ran)
    assert [one.ratio for one in found.comparisons] == pytest.approx([0.5, 1.0]), "ours with a δ is shown, not compared"
    assert "jostle (add_remove, δ = 1e-06)" in [row[0] for row in found.sections[0].grids[0].rows]


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
