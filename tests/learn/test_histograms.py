"""Joint histograms, single attributes, grids and the majority: what they find, spend, and cannot be broken by."""

from __future__ import annotations

import numpy as np
import pytest

from jostle import learn
from jostle.kernel.errors import BadInput
from jostle.kernel.records import ArrayColumns, SimulatedRecords
from jostle.learn.grids import grid
from jostle.learn.histograms import _resolutions, attribute_sets, joint, majority, single
from jostle.learn.registry import Learner
from jostle.learn.task import Task
from jostle.schema import Category, Column, Integer

CATEGORIES: dict[str, Column] = {name: Category([0, 1, 2]) for name in "abcde"}
TASK = Task(tuple("abcde"), "class", CATEGORIES | {"class": Category([0, 1])})
NUMBERS = Task(("x", "y"), "class", {"x": Integer(0, 99), "y": Integer(0, 99), "class": Category([0, 1, 2])})


def drawn(task: Task, records: int, *, seed: int = 0) -> dict[str, np.ndarray]:
    draw = np.random.default_rng(seed)
    codes = {name: draw.integers(0, task.columns[name].values, size=records) for name in task.attributes}
    return codes | {task.label: draw.integers(0, len(task.classes), size=records)}


def source(task: Task, codes: dict[str, np.ndarray], *, seed: int = 1, neighbours: str = "add_remove") -> SimulatedRecords:
    return SimulatedRecords(ArrayColumns.having(task.label, codes, task.sizes), seed=seed, neighbours=neighbours)


def wrong(learner: Learner, task: Task, codes: dict[str, np.ndarray], epsilon: float) -> float:
    records = source(task, codes)
    scores = learner.run(records, task, records.grant(epsilon)).scores(codes)
    return float((scores.argmax(axis=1) != codes[task.label]).mean())


def exclusive_or(records: int = 3_000) -> dict[str, np.ndarray]:
    """The class is told by two attributes together, and by neither alone."""
    codes = drawn(TASK, records)
    return codes | {"class": ((codes["b"] + codes["d"]) % 2).astype(np.int64)}


def test_a_joint_histogram_finds_attributes_that_tell_together_alone() -> None:
    records = source(TASK, exclusive_or())
    model = joint.run(records, TASK, records.grant(1))
    assert {"b", "d"} <= set(model.attributes)  # type: ignore[attr-defined]
    assert wrong(joint, TASK, exclusive_or(), 1) < 0.02
    assert wrong(single, TASK, exclusive_or(), 1) > 0.3


def test_a_single_attribute_is_found_at_a_small_epsilon() -> None:
    codes = drawn(TASK, 2_000)
    codes["class"] = (codes["c"] == 1).astype(np.int64)
    assert wrong(single, TASK, codes, 0.2) < 0.02


def test_a_second_choice_adds_attributes_where_candidates_are_too_many_for_one() -> None:
    codes = drawn(TASK, 20_000)
    codes["class"] = ((codes["a"] + codes["c"] + codes["e"]) % 2).astype(np.int64)
    records = source(TASK, codes)
    model = joint.run(records, TASK, records.grant(1), most=17)
    assert len(model.attributes) > 2  # type: ignore[attr-defined]


def test_two_attributes_that_tell_only_together_are_found_among_sixty() -> None:
    names = [f"x{i}" for i in range(60)]
    task = Task(tuple(names), "class", {name: Category(list("acgt")) for name in names} | {"class": Category([0, 1])})
    codes = drawn(task, 2_000)
    codes["class"] = ((codes["x7"] > 1) ^ (codes["x41"] > 1)).astype(np.int64)
    records = source(task, codes)
    model = joint.run(records, task, records.grant(1))
    assert set(model.attributes) == {"x7", "x41"}  # type: ignore[attr-defined]


def test_candidates_are_all_small_sets_each_attribute_once() -> None:
    task = Task(("x", "s"), "class", {"x": Integer(0, 99), "s": Category([0, 1]), "class": Category([0, 1])})
    offered = [one for name in task.attributes for one in _resolutions(task, name)]
    sets = attribute_sets(offered, (), 10**6, 1_000, None)
    assert sets[0] == ()
    assert len(sets) == 1 + len(offered) + (len(offered) - 1)
    assert all(len({one.attribute for one in chosen}) == len(chosen) for chosen in sets)
    assert [len(one) for one in attribute_sets(offered, sets[1], 10**6, 1_000, None)] == [1, 2]
    assert len(attribute_sets(offered, (), 10**6, len(offered), None)) == 1
    assert max(len(one) for one in attribute_sets(offered, (), 10**6, 1_000, 1)) == 1


def test_without_a_signal_the_majority_is_predicted() -> None:
    codes = drawn(TASK, 1_000)
    codes["class"] = (np.random.default_rng(2).uniform(size=1_000) < 0.1).astype(np.int64)
    for learner in (joint, single, majority):
        assert wrong(learner, TASK, codes, 0.5) < 0.12, learner.name


def test_a_grid_follows_a_curved_border() -> None:
    codes = drawn(NUMBERS, 20_000)
    away = (codes["x"] - 50.0) ** 2 + (codes["y"] - 50.0) ** 2
    codes["class"] = np.digitize(away, [20.0**2, 40.0**2]).astype(np.int64)
    assert wrong(grid, NUMBERS, codes, 1) < 0.05


def test_a_grid_refuses_other_tables_before_any_charge() -> None:
    records = source(TASK, drawn(TASK, 10))
    budget = records.grant(1)
    with pytest.raises(BadInput, match="at most 3 numeric attributes"):
        grid.run(records, TASK, budget)
    assert records.unspent == 1


@pytest.mark.parametrize("learner", [joint, single, majority, grid, learn.get("Chosen")], ids=lambda one: one.name)
@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize("records", [0, 1, 40])
@pytest.mark.parametrize("classes", [1, 2, 4])
def test_everything_is_spent_and_scores_are_probabilities(
    learner: Learner, neighbours: str, records: int, classes: int
) -> None:
    """On no records, on one class, under both neighbours, and for values that nobody foresaw."""
    schema: dict[str, Column] = {"x": Integer(0, 99), "class": Category(list(range(classes)))}
    task = Task(("x",), "class", schema)
    data = source(task, drawn(task, records), neighbours=neighbours)
    model = learner.run(data, task, data.grant(0.3))
    assert data.unspent == 0
    scores = model.scores({"x": np.arange(task.sizes["x"])})
    assert scores.shape == (task.sizes["x"], classes)
    assert (scores >= 0).all()
    assert scores.sum(axis=1) == pytest.approx(1)
    assert model.describe()


def test_the_same_seed_gives_the_same_model() -> None:
    codes = exclusive_or(500)
    for learner in (joint, single, majority):
        tables = []
        for _ in range(2):
            records = source(TASK, codes, seed=7)
            tables.append(learner.run(records, TASK, records.grant(1)).scores(codes))
        assert np.array_equal(*tables)
