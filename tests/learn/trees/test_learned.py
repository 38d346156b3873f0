"""The tree program with choice points: fixed answers make the algorithms of the literature, learned ones one more."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jostle.choice.choice_point import always
from jostle.kernel.budget import Budget
from jostle.kernel.errors import BadInput
from jostle.kernel.records import Records
from jostle.learn.cells import known_total
from jostle.learn.trees import literature
from jostle.learn.trees.choice_points import candidates_for
from jostle.learn.trees.learned import (
    FACTS,
    GAIN,
    GAIN_PERCENT,
    TREES,
    VALUES,
    Looks,
    chosen_trees,
    decided,
    grow_levels,
    learned_tree,
    looked,
    points,
    shipped_text,
)
from jostle.learn.trees.model import Forest, Tree
from jostle.learn.trees.program import GrownTree, counted, noisy_majority, pruned
from tests.learn.trees.test_program import simulated, some_codes, some_task

TASK = some_task(numeric=True)
CODES = some_codes(TASK, 2_000)
ONE = Fraction(1)
Answers = dict[str, str]


def grown(records: Records, budget: Budget, number: float, tree: int, depth: int, leaf_weight: int) -> GrownTree:
    """One tree of the program, with the constants of the papers: every level alike."""
    records, candidates = candidates_for(records, TASK)
    draw = np.random.default_rng([0, tree])
    looks = Looks(number)
    levels = decided(records, TASK, budget, candidates, points(), looks, rate=budget.rate, depth=depth)
    return grow_levels(records, TASK, budget, candidates, levels, looks, draw=draw, leaf_weight=leaf_weight, growth=ONE)


def friedman_schuster(records: Records, budget: Budget) -> Tree:
    return pruned(counted(grown(records, budget, 0.0, 0, 5, 2), TASK), TASK)


def mohammed(records: Records, budget: Budget) -> Tree:
    return noisy_majority(counted(grown(records, budget, 0.0, 0, 4, 1), TASK), TASK)


def patil_singh(records: Records, budget: Budget) -> Forest:
    return Forest([friedman_schuster(records, token) for token in budget.split_evenly(10)])


def jagannathan(records: Records, budget: Budget) -> Forest:
    number, rest = known_total(records, budget, percent=literature.PERCENT)
    branching = candidates_for(records, TASK)[1].mean_branching
    depth = max(1, min(len(TASK.attributes) // 2, int(math.log(max(number, 2.0), branching) - 1)))
    return random_forest(records, rest, number, 10, depth)


def fletcher_islam(records: Records, budget: Budget) -> Forest:
    number, rest = known_total(records, budget, percent=literature.PERCENT)
    return random_forest(records, rest, number, len(TASK.attributes), len(TASK.attributes))


def random_forest(records: Records, budget: Budget, number: float, many: int, depth: int) -> Forest:
    shapes = [grown(records, token, number, tree, depth, 1) for tree, token in enumerate(budget.split_evenly(many))]
    return Forest([noisy_majority(counted(shape, TASK), TASK) for shape in shapes])


@pytest.mark.parametrize(
    ("algorithm", "program", "answers"),
    [
        (literature.friedman_schuster, friedman_schuster, {"stopping": "small ones stop", "split": "gini"}),
        (literature.mohammed, mohammed, {"stopping": "go on", "split": "entropy"}),
        (literature.patil_singh, patil_singh, {"stopping": "small ones stop", "split": "entropy"}),
        (literature.jagannathan, jagannathan, {"stopping": "go on", "split": "random"}),
        (literature.fletcher_islam, fletcher_islam, {"stopping": "sparse ones stop", "split": "random"}),
    ],
    ids=lambda one: getattr(one, "name", ""),
)
@pytest.mark.parametrize("epsilon", ["1/3", "2"])
def test_fixed_answers_make_each_of_the_five_algorithms(
    algorithm: Any, program: Callable[[Records, Budget], Tree | Forest], answers: Answers, epsilon: str
) -> None:
    """With the same seed the same noise is drawn in the same order: the models are equal number by number."""
    theirs, ours = simulated(TASK, CODES), simulated(TASK, CODES)
    expected = algorithm.run(theirs, TASK, theirs.grant(epsilon))
    with always(answers):
        found = program(ours, ours.grant(epsilon))
    assert np.array_equal(expected.scores(CODES), found.scores(CODES))
    assert expected.describe() == found.describe()
    assert theirs.unspent == ours.unspent == 0


def test_to_stop_at_the_root_leaves_the_whole_budget_to_one_leaf() -> None:
    records = simulated(TASK, CODES)
    with always({"trees": "one", "stopping": "stop"}):
        found = chosen_trees(records, TASK, records.grant(1), points())
    assert isinstance(found, Tree)
    assert found.leaves == 1
    assert records.unspent == 0


@pytest.mark.parametrize("many", TREES)
@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_every_answer_spends_the_whole_budget(many: str, neighbours: str) -> None:
    for stopping in ("go on", "small ones stop", "sparse ones stop"):
        for split in ("max", "random"):
            records = simulated(TASK, some_codes(TASK, 200), neighbours=neighbours)
            with always({"trees": many, "stopping": stopping, "split": split}):
                found = chosen_trees(records, TASK, records.grant("1/2"), points())
            assert records.unspent == 0
            assert found.scores(CODES).sum(axis=1) == pytest.approx(1)


def test_the_shipped_rules_are_learned_ones_and_public() -> None:
    document = json.loads(shipped_text())
    assert document["about"]["tables"] > 0
    made = points(shipped_text())
    for point in made.every():
        assert set(point.rule.needs) <= set(FACTS)
        assert not point.questions  # nothing more is asked of the records than `looked` asks
    assert GAIN not in made.needs  # it was taught with this question too, which brings no more than it costs
    assert any(len(point.rule.tree) > 1 for point in made.every())


@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
def test_what_is_asked_first_costs_what_it_says(neighbours: str) -> None:
    records = simulated(TASK, CODES, neighbours=neighbours)
    binned, candidates = candidates_for(records, TASK)
    plain, rest = looked(binned, TASK, candidates, records.grant(1), gain=False)
    assert rest.amount == 1 - Fraction(literature.PERCENT, 100)
    assert (plain.gain, neighbours == "replace") == (0.0, plain.number == 2_000)
    more, rest = looked(binned, TASK, candidates, records.grant(1), gain=True)
    assert rest.amount == 1 - Fraction(literature.PERCENT + 3 * GAIN_PERCENT, 100)
    assert more.gain >= 0
    sure, _ = looked(binned, TASK, candidates, records.grant(10_000), gain=True)
    common = np.bincount(CODES["class"]).max()
    assert sure.purity == pytest.approx(common / 2_000, abs=1e-3)
    best = max(
        sum(
            np.bincount(CODES["class"][split.branches[CODES[split.attribute]] == b], minlength=2).max()
            for b in range(split.arity)
        )
        for split in candidates.routed
        if split.arity > 1
    )
    assert sure.gain == pytest.approx(best - common, abs=2)


def test_a_forest_without_a_split_is_one_leaf_with_the_whole_budget() -> None:
    records = simulated(TASK, CODES)
    with always({"trees": "ten", "stopping": "stop"}):
        found = chosen_trees(records, TASK, records.grant(1), points())
    assert isinstance(found, Tree)
    assert records.unspent == 0


def test_rules_that_know_no_choice_of_values_are_read() -> None:
    document = json.loads(shipped_text())
    del document["values"]
    assert points(json.dumps(document)).values.rule.options == VALUES


def test_what_was_learned_is_read_as_it_was_written(tmp_path: Path) -> None:
    made = points(shipped_text())
    made.save(tmp_path / "t.json", {"tables": 1})
    again = points((tmp_path / "t.json").read_text("utf-8"))
    assert [point.rule for point in again.every()] == [point.rule for point in made.every()]
    for spoilt in ("{", "{}", '{"trees": [], "stopping": [], "split": []}'):
        with pytest.raises(BadInput, match="tree"):
            points(spoilt)


def test_it_learns() -> None:
    records = simulated(TASK, CODES)
    model = learned_tree.run(records, TASK, records.grant(2))
    assert (model.scores(CODES).argmax(axis=1) == CODES["class"]).mean() > 0.6
