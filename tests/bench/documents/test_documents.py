"""The documents' experiments: a baseline tree that is right, made-up tables as the talk has them, and the command."""

from __future__ import annotations

import json

import numpy as np
import pytest

from jostle_bench.documents import c45, figure_4_2, talk, thesis


def test_id3_on_the_patients_stops_at_pure_nodes_and_prunes():
    codes, sizes, values = talk.patients()
    tree = c45.id3(codes, sizes, "class", depth=4, prune=False)
    assert c45.error(tree, codes, "class") == 0
    normal = tree.children[values["blood pressure"].index("Normal")]
    assert not normal.children  # all healthy
    assert normal.counts.tolist() == [4, 0]
    rng = np.random.default_rng(0)
    noise = {"a": rng.integers(0, 2, 400), "class": (np.arange(400) < 40).astype(int)}
    assert not c45.id3(noise, {"a": 2, "class": 2}, "class", depth=3).children  # nothing to learn, so nothing is kept


def test_numbers_are_cut_in_two():
    x = np.arange(100) % 10
    tree = c45.id3({"n": x, "class": (x >= 7).astype(int)}, {"n": 10, "class": 2}, "class", depth=2, numbers=["n"])
    assert (tree.attribute, tree.cut, len(tree.children)) == ("n", 7, 2)
    assert c45.error(tree, {"n": x, "class": (x >= 7).astype(int)}, "class") == 0


def test_the_order_of_criteria_in_a_single_split_is_that_of_their_sensitivities():
    found = {one.way: one.mean for one in talk.single_split([1000], runs=12)}
    assert found["Max"] >= found["Gini"] > found["noisy counts"]
    assert found[talk.BASELINE] == 1.0


def test_a_tenth_of_the_labels_is_wrong_in_training_and_none_in_the_test():
    task = talk.task_of(10, 0)
    train, test = talk.drawn(task, 1, 20_000, 0.1, (3, 20_000))
    tree = c45.id3(train, task.sizes, "class", depth=1)
    assert c45.error(tree, test, "class") == 0
    assert abs(c45.error(tree, train, "class") - 0.1) < 0.02  # Hoeffding: 2·exp(−2·20,000·0.02²) < 10⁻⁶


@pytest.mark.usefixtures("jostle_data")
def test_support_and_information_of_the_thesis_tables():
    assert [one.empty for one in thesis.node_support("nursery", [1, 2])] == [0.0, 0.0]
    assert thesis.node_support("hiv", [3])[0].empty > 0.8
    assert thesis.information("nursery")[0][0] == "health"


@pytest.mark.usefixtures("jostle_data")
def test_the_thesis_own_splits_have_as_many_branches_as_it_states():
    assert [figure_4_2.branches(table) for table in ("hiv", "nursery")] == [20, 3.375]
    assert int(100 * figure_4_2.branches("contraceptive")) == 488
    task, train, _ = figure_4_2.multiway("contraceptive", 0)
    assert all(train[name].max() < size for name, size in task.sizes.items())
    [a1] = figure_4_2.curves("nursery", [1.0], 1, as_printed=True, ways=[("FriedmanSchuster", {"prune": False})])
    assert (a1.settings, a1.errors[0] < 0.2) == ("prune = False", True)


def test_the_command(jostle):
    status, output, _ = jostle(
        "bench", "documents", "--figures", "single", "--runs", "1", "--sizes", "300", "--format", "json"
    )
    assert status == 0
    assert {one["way"] for one in json.loads(output)["single"]} == {*talk.WAYS, talk.BASELINE}
    status, output, _ = jostle("bench", "documents", "--runs", "1", "--sizes", "300,400")
    assert "| split by | 300 records | 400 records |" in output
    assert jostle("bench", "documents", "--figures", "none")[0] == 2
