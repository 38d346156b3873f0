"""Selectors: training, walks, files, and files that somebody else wrote."""

from __future__ import annotations

import json

import numpy as np
import pytest

from jostle.choice import selectors, training
from jostle.choice.files import Entries, read_tree
from jostle.choice.regret_tree import CRITERIA, DEEPEST, Growth
from jostle.choice.selectors import Selector, find, train
from jostle.kernel.errors import BadInput
from jostle.simulate import grid
from tests.choice.tables import MadeUp, made_up

TASKS = ("range-1d", "range-2d")


@pytest.fixture(scope="module", params=TASKS)
def table(request, tmp_path_factory):
    return made_up(request.param, tmp_path_factory.mktemp("shapes"))


@pytest.fixture(scope="module")
def line(tmp_path_factory):
    return made_up("range-1d", tmp_path_factory.mktemp("shapes"))


def answers(selector: Selector, queries: str, **values: float):
    """A measure that knows these features, and the names of those that were asked for."""
    asked = []

    def measure(name):
        asked.append(name)
        return float(selector.about.classes.index(queries)) if name == "workload" else values[name]

    return measure, asked


@pytest.mark.parametrize("criterion", list(CRITERIA))
def test_every_kind_learns_walks_and_travels(table, criterion):
    selector = train(table, criterion=criterion, least=4)
    again = Selector.loads(selector.dumps())
    assert again.dumps() == selector.dumps()
    assert again.needs == selector.needs
    kinds = selector.about.classes
    for queries in kinds:
        for scale in (-50.0, 40.0, 1e4, 1e6, 1e12):
            decisions = []
            for one in (selector, again):
                measure, asked = answers(one, queries, domain=128.0, scale=scale)
                decisions.append(one.decide(measure))
                assert len(set(asked)) == len(asked)
                assert set(asked) <= set(one.needs)
            assert decisions[0].choice == decisions[1].choice
            assert decisions[0].regrets == pytest.approx(decisions[1].regrets, rel=1e-3)
            assert set(decisions[0].regrets) == set(table.options)
    assert "Laplace" in selector.summary()
    assert selector.plot().data


@pytest.mark.parametrize("criterion", ["group-regret", "expected-regret", "best-algorithm"])
def test_what_is_best_on_large_and_small_scales_is_learnt(line, criterion):
    selector = train(line, criterion=criterion, least=4, copies=2)
    found = {}
    for scale in (2.0**5, 2.0**9, 2.0**18):
        measure, _ = answers(selector, "prefix", domain=128.0, scale=scale)
        found[scale] = selector.decide(measure).choice
    assert found[2.0**9] == "Laplace"
    assert found[2.0**18] == "HB"


def test_what_does_not_matter_is_not_asked(line):
    dull = MadeUp(line.inputs, line.options, np.tile([1.0, 2.0, 3.0], (len(line.inputs), 1)))
    selector = train(dull)
    assert selector.private_features == ()
    measure, asked = answers(selector, "identity", domain=128.0)
    assert selector.decide(measure).choice == "Laplace"
    assert "scale" not in asked


def test_a_feature_has_to_be_worth_its_price(line):
    """Knowing the scale is worth 1 % here: it is asked for where it costs less, and not where it costs more."""
    errors = np.array([[1.0, 0.99 if cell.exponent > 10 else 1.01, 9.0] for cell in line.inputs])
    for rho, asked in ((0.001, ("scale",)), (0.05, ())):
        found = train(MadeUp(line.inputs, line.options, errors), rho=rho, worth=0.0, least=10)
        assert found.private_features == asked


def test_a_branch_that_one_data_set_alone_speaks_for_is_cut_back(line):
    """On large scales HB halves the error on FLAT, and is somewhat better on average; on all other data it is worse."""
    flat = [cell.dataset == "FLAT" and cell.exponent > 10 for cell in line.inputs]
    table = MadeUp(line.inputs, line.options, np.array([[1.0, 0.5 if there else 1.45, 9.0] for there in flat]))
    assert train(table, prune=False, rho=0.001, least=10).private_features == ("scale",)
    assert train(table, rho=0.001, least=10).private_features == ()


def test_regrets_are_counted_against_the_suite_where_the_table_has_it(line):
    rest = [name for name in grid.suite("range-1d") if name not in line.options]
    more = np.hstack([line.errors, np.full((len(line.inputs), len(rest)), 9.0)])
    whole = train(MadeUp(line.inputs, [*line.options, *rest], more), least=10)
    assert sorted(whole.about.provenance["against"]) == sorted(grid.suite("range-1d"))
    assert list(train(line, least=10).about.provenance["against"]) == list(line.options)


def test_several_trees_vote(line):
    selector = train(line, trees=5, least=4, depth=3)
    assert all(len(trees) == 5 for trees in selector.trees.values())
    measure, asked = answers(selector, "prefix", domain=128.0, scale=2.0**18)
    decision = selector.decide(measure)
    assert decision.choice == min(decision.regrets, key=decision.regrets.get) == "HB"
    assert len(asked) == len(set(asked))


def test_training_is_repeatable_and_seeded(line):
    runs = [train(line, seed=seed, trees=3, least=4).dumps() for seed in (0, 0, 1)]
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]


def test_a_selector_expects_what_noise_on_features_will_do(line):
    """Seen exactly, a scale of 2^5 is none of 2^8, and Uniform is best; under noise of 1,000 they are mixed up."""
    found = []
    for copies in (0, 8):
        selector = train(line, copies=copies, rho=0.001, least=2, depth=2)
        measure, _ = answers(selector, "identity", domain=128.0, scale=33.0)
        found.append(selector.decide(measure).regrets["Uniform"])
    assert found[0] == 1
    assert found[1] > 1.1


def test_regrets_are_against_the_best_of_those_named(line):
    rows, regrets = training.regrets_of(line, ["HB"], ["Laplace", "Uniform"])
    best = line.errors[:, [0, 2]].min(axis=1)
    assert rows.tolist() == list(range(len(line.inputs)))
    assert regrets[:, 0] == pytest.approx(line.errors[:, 1] / best)


def test_inputs_that_are_not_measured_whole_are_left_out(line):
    errors = line.errors.copy()
    errors[3, 1] = np.nan
    rows, _ = training.regrets_of(MadeUp(line.inputs, line.options, errors), line.options, line.options)
    assert rows.tolist() == [row for row in range(len(line.inputs)) if row != 3]
    errors[:, 1] = np.nan
    with pytest.raises(BadInput, match="finish"):
        train(MadeUp(line.inputs, line.options, errors))


@pytest.mark.parametrize(
    "settings",
    [
        {"criterion": "luck"},
        {"depht": 3},
        {"features": ["height"]},
        {"rho": 0.0},
        {"copies": -1},
        {"options": ["Nobody"]},
        {"depth": 99},
    ],
)
def test_bad_settings_are_refused(line, settings):
    with pytest.raises(BadInput, match="Remedy"):
        train(line, **settings)


# ------------------------------------------------------------------------------------------------------ files


@pytest.fixture(scope="module")
def saved(line):
    return json.loads(train(line, least=4).dumps())


def changed(saved, **entries):
    return json.dumps(saved | entries)


@pytest.mark.parametrize(
    ("entries", "says"),
    [
        ({"schema": 0}, "jostle train"),
        ({"schema": 2}, "newer version"),
        ({"format": "something"}, "not a selector"),
        ({"kind": "pickle"}, "kind"),
        ({"task": "range-9d"}, "task"),
        ({"options": [{"name": "Nobody", "version": 1}] * 3}, "unknown options"),
        ({"options": [{"name": "Pythia", "version": 1}]}, "unknown options"),
        ({"options": []}, "no list"),
        ({"rho": "much"}, "rho"),
        ({"rho": 2}, "rho"),
        ({"cells": [1]}, "cells"),
        ({"provenance": {"a": {"b": 1}}}, "provenance"),
        ({"extra": 1}, "extra"),
    ],
)
def test_a_file_that_does_not_fit_is_refused_with_what_to_do(saved, entries, says):
    with pytest.raises(BadInput, match=says) as refused:
        Selector.loads(changed(saved, **entries))
    assert refused.value.argument == "selector"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        "null",
        '{"a": NaN}',
        '{"a": 1e999}',
        '{"a": ' + "9" * 5000 + "}",
        '{"a": 1, "a": 2}',
        "[" * 100_000,
        '{"a":' * 5000 + "1" + "}" * 5000,
        " " * 5_000_000,
        '{"__class__": "os.system"}',
    ],
    ids=range(12),
)
def test_hostile_text_is_refused(text):
    with pytest.raises(BadInput, match="selector"):
        Selector.loads(text)


def test_a_tree_whose_walks_do_not_end_is_refused(line):
    saved = json.loads(train(line, least=4).dumps())
    splits = [node for node in saved["trees"]["prefix"][0] if "feature" in node]
    for change in ({"low": 0}, {"high": 10**6}, {"feature": "workload"}, {"feature": "__init__"}, {"at": None}):
        kept = dict(splits[0])
        splits[0].update(change)
        with pytest.raises(BadInput, match=next(iter(change))):
            Selector.loads(json.dumps(saved))
        splits[0].update(kept)
    saved["trees"]["prefix"][0][-1]["regrets"] = [1.0]
    with pytest.raises(BadInput, match="regrets"):
        Selector.loads(json.dumps(saved))


END = {"choice": 0, "regrets": [1.0, 2.0], "inputs": 1, "optimal": 1.0}


def inner(low: int, high: int) -> dict[str, object]:
    return {"feature": "scale", "at": 1.0, "low": low, "high": high}


def comb(splits: int) -> list[dict[str, object]]:
    """Each split has a leaf on one side and goes on with the other."""
    return [node for at in range(splits) for node in (inner(2 * at + 1, 2 * at + 2), END)] + [END]


@pytest.mark.parametrize(
    "nodes",
    [
        [*(inner(at + 1, at + 1) for at in range(12)), END],  # 4,096 ways to one leaf
        [inner(1, 2), inner(2, 3), END, END],
        [inner(1, 2), END, END, END],  # nothing leads to the last one
        [END, END],
    ],
    ids=range(4),
)
def test_a_tree_has_one_way_to_every_node(nodes):
    with pytest.raises(BadInput, match="one way to every node"):
        read_tree(Entries({"tree": nodes}, "selector"), "tree", 2)


def test_a_tree_is_no_deeper_than_training_allows():
    assert Growth(depth=DEEPEST).depth == DEEPEST
    for splits in (0, 1, DEEPEST):
        assert len(read_tree(Entries({"tree": comb(splits)}, "selector"), "tree", 2)) == 2 * splits + 1
    for splits in (DEEPEST + 1, 3000):
        with pytest.raises(BadInput, match=f"at most {DEEPEST} splits"):
            read_tree(Entries({"tree": comb(splits)}, "selector"), "tree", 2)


@pytest.mark.parametrize("regret", [1.7e308, -1.7e308, 1.1e300])
def test_regrets_whose_sum_may_be_no_number_are_refused(saved, regret):
    trees = {name: [[END | {"regrets": [regret, 1.0, 1.0]}]] * 2 for name in saved["trees"]}
    with pytest.raises(BadInput, match="regrets must lie between -1e\\+300 and 1e\\+300"):
        Selector.loads(changed(saved, trees=trees))
    fits = {name: [[END | {"regrets": [1e300, 1.0, 1.0]}]] * 100 for name in saved["trees"]}
    found = Selector.loads(changed(saved, trees=fits)).decide(lambda feature: 0.0)
    assert max(found.regrets.values()) == pytest.approx(1e300)


def test_finding_one(line, tmp_path):
    selector = train(line, least=4)
    file = tmp_path / "mine.json"
    selector.save(file)
    assert find(selector, "range-1d") is selector
    assert find(file, "range-1d").dumps() == find(str(file), "range-1d").dumps() == selector.dumps()
    for wrong in (selector, file):
        with pytest.raises(BadInput, match="range-2d"):
            find(wrong, "range-2d")
    with pytest.raises(BadInput, match="neither shipped nor a file"):
        find("nowhere.json", "range-1d")
    with pytest.raises(BadInput, match="must be a selector"):
        find(3, "range-1d")
    with pytest.raises(BadInput, match="cannot be read"):
        Selector.load(tmp_path)


@pytest.mark.parametrize("name", selectors.shipped_names())
def test_what_is_shipped_can_be_read_and_says_where_it_comes_from(name):
    found = selectors.shipped(name)
    assert found.about.task in name
    assert {"data", "sides", "exponents", "seed", "jostle", "criterion"} <= set(found.about.provenance)
    assert found.about.outdated == []
