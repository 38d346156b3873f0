"""The tree program: with fixed rules it is each of the algorithms of the literature, and it spends its budget exactly."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from jostle.kernel.budget import Budget
from jostle.kernel.errors import BadInput
from jostle.kernel.functions.criteria import Gini, Majority
from jostle.kernel.records import ArrayColumns, SimulatedRecords, Split
from jostle.learn.registry import Learner
from jostle.learn.task import Task
from jostle.learn.trees import literature, program
from jostle.learn.trees.adaptive import binary_tree, tree
from jostle.learn.trees.choice_points import (
    NODE,
    WIDEST,
    AtDepth,
    BestSplit,
    Level,
    NoisyCounts,
    NoisySize,
    RandomSplit,
    candidates_for,
)
from jostle.learn.trees.model import Forest, Node, Tree, branch_name
from jostle.learn.trees.program import (
    CountedTree,
    Program,
    counted,
    expected_errors,
    grow,
    noisy_majority,
    pruned,
)
from jostle.schema import Boolean, Category, Column, Integer, Real
from tests.kernel.helpers import Recorder, fits, with_custody
from tests.kernel.test_records import permute_and_flip

LEARNERS = [
    literature.friedman_schuster,
    literature.mohammed,
    literature.sulq,
    literature.jagannathan,
    literature.patil_singh,
    literature.fletcher_islam,
    tree,
    binary_tree,
]
SINGLE = [literature.friedman_schuster, literature.mohammed, literature.sulq, tree, binary_tree]
Codes = dict[str, np.ndarray]


def some_task(numeric: bool = False) -> Task:
    columns: dict[str, Column] = {
        "a": Category(["x", "y", "z"], outside="drop", null="drop"),
        "b": Category([0, 1], outside="drop", null="drop"),
        "c": Category([0, 1, 2, 3], outside="drop", null="drop"),
        "class": Category(["no", "yes", "perhaps"]),
    }
    if numeric:
        columns = {"n": Integer(0, 39), "r": Real(0, 8, cuts=[1, 2, 4])} | columns
    return Task(tuple(name for name in columns if name != "class"), "class", columns)


def some_codes(task: Task, rows: int = 900, seed: int = 5) -> Codes:
    """Classes that follow the attributes, one after the other, with some chance."""
    rng = np.random.default_rng(seed)
    codes = {name: rng.integers(0, task.columns[name].values, rows) for name in task.attributes}
    rule = (codes["a"] + (codes["a"] == 1) * codes["b"] + (codes["c"] == 3) * (1 - codes["b"])) % 3
    codes["class"] = np.where(rng.random(rows) < 0.15, rng.integers(0, 3, rows), rule)
    return codes


def simulated(task: Task, codes: Codes, *, filtered: bool = False, **options: Any) -> SimulatedRecords:
    columns = ArrayColumns.having(task.label, codes, task.sizes) if filtered else ArrayColumns(codes, task.sizes)
    return SimulatedRecords(columns, seed=0, **options)


def without_noise(task: Task, codes: Codes) -> tuple[SimulatedRecords, Recorder]:
    """Records that answer exactly, at whatever ε, and the scales that they were asked for."""
    records, recorder = simulated(task, codes), Recorder()
    with_custody(records, noise=recorder)
    return records, recorder


def every_record(task: Task) -> Codes:
    grids = np.meshgrid(*[np.arange(task.columns[name].values) for name in task.attributes], indexing="ij")
    return {name: grid.reshape(-1) for name, grid in zip(task.attributes, grids, strict=True)}


# ---------------------------------------------------------------------- the algorithms, written down as in the papers

Rows = np.ndarray
Predict = Callable[[dict[str, int]], int]


def entropy_score(table: np.ndarray) -> float:
    """Minus the seed's equation 3.1, in bits."""
    total = 0.0
    for row in table:
        total -= sum(c * math.log2(row.sum() / c) for c in row if c)
    return total


def gini_score(table: np.ndarray) -> float:
    return -sum(row.sum() * (1 - sum((c / row.sum()) ** 2 for c in row)) for row in table if row.sum())


def table_of(codes: Codes, rows: Rows, name: str, values: int) -> np.ndarray:
    counts = np.zeros((values, 3))
    np.add.at(counts, (codes[name][rows], codes["class"][rows]), 1)
    return counts


def leaf(codes: Codes, rows: Rows) -> Any:
    return int(np.argmax(np.bincount(codes["class"][rows], minlength=3)))


def dtree_private(
    codes: Codes, rows: Rows, left: dict[str, int], depth: int, e: float, *, sizes: bool, score: Callable[..., float], t: int
) -> Any:
    """Figure 4.1 of the seed, line by line, with counts that have no noise; with `sizes` false, Mohammed et al."""
    if depth == 0 or not left or (sizes and rows.size / (t * 3) < math.sqrt(2) / e):
        return leaf(codes, rows)
    best = max(left, key=lambda name: score(table_of(codes, rows, name, left[name])))
    rest = {name: size for name, size in left.items() if name != best}
    return best, [
        dtree_private(codes, rows[codes[best][rows] == value], rest, depth - 1, e, sizes=sizes, score=score, t=t)
        for value in range(left[best])
    ]


def random_trees(codes: Codes, rows: Rows, left: dict[str, int], stop: Callable[[int, float], bool], rng: Any) -> Any:
    """Level by level: to stop is asked with the depth and the expected share; splits are drawn among what is left."""
    root: list[Any] = []
    level: list[tuple[list[Any], Rows, dict[str, int], float]] = [(root, rows, left, 1.0)]
    depth = 0
    while level:
        below = []
        for place, mine, free, share in level:
            if not free or stop(depth, share):
                place.append(leaf(codes, mine))
                continue
            weights = np.array([float(name in free) for name in left])
            best = list(left)[rng.choice(len(left), p=weights / weights.sum())]
            children: list[list[Any]] = [[] for _ in range(free[best])]
            place.append((best, children))
            rest = {name: size for name, size in free.items() if name != best}
            below += [(c, mine[codes[best][mine] == v], rest, share / free[best]) for v, c in enumerate(children)]
        level, depth = below, depth + 1
    return root


def plain(nested: Any) -> Any:
    """The tree that random_trees made, as dtree_private would have it."""
    found = nested[0] if isinstance(nested, list) else nested
    return (found[0], [plain(child) for child in found[1]]) if isinstance(found, tuple) else found


def written(model: Tree, number: int = 0) -> Any:
    """Our tree in the same form."""
    node = model.nodes[number]
    if node.split is None:
        return int(np.argmax(model.shares[number]))
    return node.split.attribute, [written(model, child) for child in node.children]


TASK = some_task()
DATA = some_codes(TASK)
ALL = np.arange(900)
LEFT = {"a": 4, "b": 3, "c": 5}
"""With the branch for values that the schema does not foresee."""


@pytest.mark.parametrize("epsilon", [0.2, 0.5, 2.0])
@pytest.mark.parametrize(("criterion", "score"), [("gini", gini_score), ("entropy", entropy_score)])
def test_friedman_and_schuster(epsilon: float, criterion: str, score: Callable[..., float]) -> None:
    records, recorder = without_noise(TASK, DATA)
    found = literature.friedman_schuster.plan(
        records, TASK, records.grant(epsilon), depth=3, criterion=criterion, prune=False
    )
    assert written(found) == dtree_private(DATA, ALL, LEFT, 3, epsilon / 4, sizes=True, score=score, t=5)
    sizes = [scale for what, scale, _ in recorder.asked if what == "discrete_laplace"]
    assert sizes[0] == 1 / (Fraction(str(epsilon)) / 8)  # β/2d', with d' levels


def test_the_stopping_rule_makes_a_difference() -> None:
    leaves = []
    for epsilon in (0.2, 2.0):
        records, _ = without_noise(TASK, DATA)
        leaves.append(literature.friedman_schuster.plan(records, TASK, records.grant(epsilon), depth=3, prune=False).leaves)
    assert leaves[0] < leaves[1]


def test_mohammed_et_al() -> None:
    records, recorder = without_noise(TASK, DATA)
    found = literature.mohammed.plan(records, TASK, records.grant(1), depth=2)
    assert written(found) == dtree_private(DATA, ALL, LEFT, 2, 1 / 3, sizes=False, score=entropy_score, t=5)
    assert [scale for what, scale, _ in recorder.asked if what == "discrete_laplace"] == [3]


def test_patil_and_singh_is_friedman_and_schuster_several_times() -> None:
    records, _ = without_noise(TASK, DATA)
    found = literature.patil_singh.plan(records, TASK, records.grant(4), depth=3, trees=4)
    records, _ = without_noise(TASK, DATA)
    once = literature.friedman_schuster.plan(records, TASK, records.grant(1), depth=3, criterion="entropy")
    assert [written(one) for one in found.trees] == 4 * [written(once)]


def test_jagannathan_et_al() -> None:
    records, recorder = without_noise(TASK, DATA)
    found = literature.jagannathan.plan(records, TASK, records.grant(1), trees=3, shape_seed=7)
    depth = max(1, min(3 // 2, int(math.log(900, 4) - 1)))
    for number, one in enumerate(found.trees):
        rng = np.random.default_rng([7, number])
        literal = random_trees(DATA, ALL, LEFT, lambda d, _: d == depth, rng)
        assert written(one) == plain(literal)
    assert recorder.scales == [20, *3 * [3 / Fraction(19, 20)]]


def test_fletcher_and_islam() -> None:
    records, _ = without_noise(TASK, DATA)
    found = literature.fletcher_islam.plan(records, TASK, records.grant("1/6"), shape_seed=3)
    noise = math.sqrt(2) * 3 / (1 / 6 * 19 / 20 / 3)
    assert len(found.trees) == 3
    for number, one in enumerate(found.trees):
        rng = np.random.default_rng([3, number])
        literal = random_trees(DATA, ALL, LEFT, lambda _, share: share * 900 < noise, rng)
        assert written(one) == plain(literal)
        assert 1 <= one.depth < 3  # the noise decides, before the attributes are used up


def test_noisy_count_id3() -> None:
    records, recorder = without_noise(TASK, DATA)
    found = literature.sulq.plan(records, TASK, records.grant(1), depth=2)
    assert written(found) == dtree_private(DATA, ALL, LEFT, 2, 1 / 3, sizes=False, score=entropy_score, t=5)
    assert recorder.scales == [*6 * [9], 3]  # a third a level, shared among three attributes; a third for the leaves


# --------------------------------------------------------------------------------------------------------- the program


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda one: one.name)
@pytest.mark.parametrize("neighbours", ["add_remove", "replace"])
@pytest.mark.parametrize("filtered", [False, True])
def test_every_learner_spends_its_budget_whole(learner: Learner, neighbours: str, filtered: bool) -> None:
    task = some_task(numeric=True)
    for rows in (0, 1, 300):
        records = simulated(task, some_codes(task, rows), neighbours=neighbours, filtered=filtered)
        model = learner.run(records, task, records.grant("1/3"))
        assert records.unspent == 0
        shares = model.scores(every_record(some_task()) | {"n": np.zeros(24, int), "r": np.zeros(24, int)})
        assert shares.shape == (24, 3)
        assert shares.sum(axis=1) == pytest.approx(1)
        assert (shares >= 0).all()
        assert model.describe()


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda one: one.name)
def test_a_simulation_can_be_repeated(learner: Learner) -> None:
    task = some_task(numeric=True)
    codes = some_codes(task, 300)
    first, second = (
        learner.run(records, task, records.grant(1)).scores(codes)
        for records in (simulated(task, codes), simulated(task, codes))
    )
    assert np.array_equal(first, second)


@pytest.mark.parametrize("learner", SINGLE, ids=lambda one: one.name)
def test_records_are_where_their_values_lead(learner: Learner) -> None:
    """Counts by the engine's nodes are counts by the released tree: both ways of sorting records agree."""
    task = some_task(numeric=True)
    codes = some_codes(task, 500)
    records, recorder = without_noise(task, codes)
    model = learner.run(records, task, records.grant(50))
    leaves = recorder.asked[-1][2].reshape(-1, 3)
    counted_ = np.zeros((len(model.nodes), 3))  # type: ignore[attr-defined]
    np.add.at(counted_, (model.leaf(codes), codes["class"]), 1)  # type: ignore[attr-defined]
    if learner is not literature.friedman_schuster:  # whose tree is pruned after the leaves were counted
        order = [number for number, node in enumerate(model.nodes) if node.split is None]  # type: ignore[attr-defined]
        assert sorted(map(tuple, leaves)) == sorted(map(tuple, counted_[order]))
    assert leaves.sum() == 500


def test_numbers_are_cut_where_it_helps_and_widths_are_weights() -> None:
    task = some_task(numeric=True)
    codes = some_codes(task)
    codes["class"] = np.where(codes["n"] >= 25, 2, 0)
    records, _ = without_noise(task, codes)
    model = literature.mohammed.plan(records, task, records.grant(1000), depth=1)
    assert model.branch_names(model.nodes[0]) == ["n < 25", "n ≥ 25"]
    _, candidates = candidates_for(records, task)
    mine = [place for place, split in enumerate(candidates.routed) if split.attribute == "r"]
    assert candidates.prior[mine] == pytest.approx(np.array([2, 3, 6]) / 11)  # cells 1, 1, 2 and 4 wide
    assert len([s for s in candidates.routed if s.attribute == "n"]) == 31  # 40 values in 32 cells


def test_cuts_of_wide_cells_are_taken_more_often_as_the_talks_ranges_are() -> None:
    """With nothing to tell: by the law of permute and flip, where a width weighs as its logarithm times the scale."""
    task = Task(("r",), "class", {"r": Real(0, 12, cuts=[3, 4, 8]), "class": Boolean()})
    codes = {"r": np.zeros(0, dtype=int), "class": np.zeros(0, dtype=int)}
    records = simulated(task, codes)
    coarse, candidates = candidates_for(records, task)
    assert candidates.prior == pytest.approx(np.array([4, 5, 8]) / 17)
    program, runs, chosen = Program(AtDepth(), BestSplit(Gini()), 1, 1), 600, np.zeros(3)
    for _ in range(runs):
        split = grow(coarse, task, records.grant(1), program, candidates).nodes[0].split
        assert split is not None
        chosen[int(np.argmax(split.branches[:4] > 0)) - 1] += 1
    law = permute_and_flip(np.log(candidates.prior).tolist(), 1.0)
    assert fits(chosen, runs * law)
    assert law[0] < law[1] < law[2]


@settings(max_examples=40)
@given(st.integers(1, 40), st.integers(0, 4), st.booleans())
def test_the_number_of_nodes_is_limited(most: int, depth: int, random: bool) -> None:
    records = simulated(TASK, DATA)
    splitting = RandomSplit(np.random.default_rng(0)) if random else BestSplit(Gini())
    records_, candidates = candidates_for(records, TASK)
    program = Program(AtDepth(), splitting, depth, 1, most_nodes=most)
    shape = grow(records_, TASK, records.grant(1), program, candidates)
    assert len(shape.leaves) <= most
    found = noisy_majority(counted(shape, TASK), TASK)
    assert found.depth <= depth
    assert sorted(n for n in found.reachable() if found.nodes[n].split is None) == sorted(shape.leaves)


def test_wide_attributes_are_not_split_by_where_tables_would_be_too_large_but_make_no_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(program, "LARGEST_TABLE", 2**12)
    sizes = {"w": 40, "v": 60, "u": WIDEST + 1, "s": 2}
    task = Task(
        tuple(sizes), "class", {name: Category(list(range(size))) for name, size in sizes.items()} | {"class": Boolean()}
    )
    codes = {name: np.zeros(10, dtype=int) for name in (*sizes, "class")}
    for seed in range(8):
        records = SimulatedRecords(ArrayColumns(codes, task.sizes), seed=seed)
        model = literature.mohammed.plan(records, task, records.grant(1), depth=4)
        assert records.unspent == 0
        assert all(node.split is None or node.split.attribute != "u" for node in model.nodes)
        wide = [node for node in model.nodes if node.split is not None and node.split.attribute in ("w", "v")]
        below = [model.nodes[child].split for node in wide for child in node.children]
        assert all(split is None or split.attribute == "s" for split in below)


def test_a_level_is_paid_once_however_many_nodes_it_has() -> None:
    records, recorder = without_noise(TASK, DATA)
    literature.mohammed.plan(records, TASK, records.grant(1), depth=2, criterion="gini")
    choices = [scale for what, scale, _ in recorder.asked if what == "noisy_max"]
    assert len(choices) == 1 + 4
    assert set(choices) == {Fraction(Gini().gain * 3)}


def test_lower_levels_get_more_and_the_leaves_most() -> None:
    records, recorder = without_noise(TASK, DATA)
    records_, candidates = candidates_for(records, TASK)
    program = Program(AtDepth(), BestSplit(Majority()), 2, 2, growth=Fraction(2))
    shape = grow(records_, TASK, records.grant(7), program, candidates)
    assert recorder.scales[0] == 1
    assert recorder.scales[1] == Fraction(1, 2)
    assert shape.budget.epsilon == 4


def test_what_levels_do_not_use_goes_to_the_leaves() -> None:
    task = Task(("b",), "class", {"b": Boolean(), "class": Boolean()})
    codes = {"b": np.array([0, 1]), "class": np.array([0, 1])}
    records = simulated(task, codes)
    records_, candidates = candidates_for(records, task)
    shape = grow(records_, task, records.grant(1), Program(AtDepth(), BestSplit(Gini()), 4, 1), candidates)
    assert shape.budget.epsilon == Fraction(4, 5)


# ------------------------------------------------------------------------------------------------------ leaves, pruning


def test_pruning_is_quinlans() -> None:
    """C4.5's own example (Quinlan 1993, Section 4.2): branches of 6, 9 and 1 records against a leaf of 16 with one error.

    For the last, C4.5 interpolates 0.157; ours is the exact limit.
    """
    errors = expected_errors(np.array([6.0, 9.0, 1.0, 16.0]), np.array([0.0, 0.0, 0.0, 1.0]))
    assert errors == pytest.approx([6 * 0.206, 9 * 0.143, 1 * 0.750, 16 * 0.157], abs=0.05)
    assert stats.binom.cdf([0, 0, 0, 1], [6, 9, 1, 16], errors / [6, 9, 1, 16]) == pytest.approx(0.25)
    nodes = (Node(0, Split("b", np.array([0, 1, 2])), (1, 2, 3)), Node(1), Node(1), Node(1))
    grown = CountedTree.of_leaves(nodes, (1, 2, 3), np.array([[6.0, 0, 0], [9, 0, 0], [0, 1, 0]]), 1.0)
    found = pruned(grown, TASK)
    assert found.nodes[0].split is None
    telling = CountedTree.of_leaves(nodes, (1, 2, 3), np.array([[60.0, 0, 0], [0, 90, 0], [0, 1, 0]]), 1.0)
    assert pruned(telling, TASK).nodes[0].split is not None


def test_pruned_trees_hold_no_node_that_nothing_leads_to() -> None:
    records = simulated(TASK, DATA)
    found = literature.friedman_schuster.plan(records, TASK, records.grant(2), depth=3)
    assert sorted(found.reachable()) == list(range(len(found.nodes)))


@given(st.lists(st.integers(-50, 50), min_size=12, max_size=12))
def test_counts_of_inner_nodes_are_sums(counts: list[int]) -> None:
    nodes = (
        Node(0, Split("b", np.array([0, 1, 2])), (1, 2, 3)),
        Node(1),
        Node(1, Split("a", np.array([0, 1, 0, 0])), (4, 5)),
        Node(1),
        Node(2),
        Node(2),
    )
    leaves = np.array(counts, dtype=float).reshape(4, 3)
    sums = CountedTree.of_leaves(nodes, (1, 4, 5, 3), leaves, 1.0).counts
    assert sums[0].tolist() == leaves.sum(axis=0).tolist()
    assert sums[2].tolist() == leaves[1:3].sum(axis=0).tolist()


# -------------------------------------------------------------------------------------------------------------- words


def test_branches_have_names() -> None:
    task = some_task(numeric=True)
    assert branch_name(task, Split("a", np.array([0, 1, 2, 3])), 1) == "a = y"
    assert branch_name(task, Split("a", np.array([0, 1, 2, 3])), 3) == "a = (left out)"
    assert branch_name(task, Split("a", np.array([0, 1, 0, 0])), 0) == "a ≠ y"
    assert branch_name(task, Split("c", np.array([0, 0, 1, 1, 1])), 0) == "c in 0, 1"
    assert branch_name(task, Split("r", np.array([0, 0, 1, 1, 0])), 1) == "r ≥ 2"


def test_a_tree_prints_a_line_a_branch_and_never_too_many() -> None:
    records = simulated(TASK, DATA)
    found = literature.mohammed.plan(records, TASK, records.grant(100), depth=1)
    lines = found.describe().splitlines()
    assert lines[0] == "A tree of 4 leaves, at most 1 splits deep."
    assert [line.split(" → ")[0] for line in lines[1:]] == ["a = x", "a = y", "a = z", "a = (left out)"]
    deep = literature.mohammed.plan(records, TASK, records.grant(1), depth=3)
    assert len(deep.describe().splitlines()) <= 61
    alone = literature.mohammed.plan(records, TASK, records.grant(1), depth=0)
    assert alone.describe().startswith("A tree of 1 leaves")


def test_a_forest_is_the_mean_of_its_trees() -> None:
    records = simulated(TASK, DATA)
    found = literature.jagannathan.plan(records, TASK, records.grant(1), trees=3)
    assert isinstance(found, Forest)
    each = np.array([one.scores(DATA) for one in found.trees])
    assert found.scores(DATA) == pytest.approx(each.mean(axis=0))
    assert found.describe().startswith("3 trees of")


# ---------------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("learner", "tunables", "argument"),
    [
        (literature.mohammed, {"depth": -1}, "depth"),
        (literature.mohammed, {"depth": 65}, "depth"),
        (literature.mohammed, {"criterion": "luck"}, "criterion"),
        (literature.friedman_schuster, {"depth": 2.5}, "depth"),
        (literature.jagannathan, {"trees": 0}, "trees"),
        (literature.jagannathan, {"shape_seed": -1}, "shape_seed"),
        (literature.patil_singh, {"trees": True}, "trees"),
        (literature.fletcher_islam, {"trees": 5000}, "trees"),
        (tree, {"depth": "deep"}, "depth"),
        (tree, {"ways": "none"}, "ways"),
        (tree, {"bins": 1}, "bins"),
        (binary_tree, {"depth": 64}, "epsilon"),
    ],
)
def test_bad_tunables_are_refused_before_any_charge(learner: Learner, tunables: dict[str, Any], argument: str) -> None:
    records = simulated(TASK, DATA)
    with pytest.raises(BadInput, match=f"^{argument}: "):
        learner.run(records, TASK, records.grant(1), **tunables)
    assert records.unspent == 1


@pytest.mark.parametrize("learner", LEARNERS, ids=lambda one: one.name)
def test_an_epsilon_too_small_for_noise_is_refused_before_any_charge(learner: Learner) -> None:
    records = simulated(TASK, DATA)
    tiny = records.grant(Fraction(1, 2**40))
    with pytest.raises(BadInput, match=r"^epsilon: "):
        learner.run(records, TASK, tiny)
    assert records.unspent == tiny.epsilon


def test_a_column_cannot_have_the_nodes_name() -> None:
    task = Task((NODE,), "class", {NODE: Boolean(), "class": Boolean()})
    for learner in LEARNERS:
        records = simulated(task, {NODE: np.array([0, 1]), "class": np.array([0, 1])})
        with pytest.raises(BadInput, match=r"^attributes: "):
            learner.run(records, task, records.grant(1))
        assert records.unspent == 1


def test_a_constant_attribute_and_a_single_class_make_a_valid_model() -> None:
    task = Task(
        ("k",), "class", {"k": Category(["only"], outside="drop", null="drop"), "class": Category(["one"], outside="drop")}
    )
    codes = {"k": np.zeros(9, dtype=int), "class": np.zeros(9, dtype=int)}
    for learner in LEARNERS:
        records = simulated(task, codes)
        model = learner.run(records, task, records.grant(1))
        assert model.scores({"k": np.array([0, 1])}).tolist() == [[1.0], [1.0]]
        assert records.unspent == 0


def test_rules_with_a_weight_are_paid() -> None:
    records = simulated(TASK, DATA)
    _, candidates = candidates_for(records, TASK)
    for splitting in (NoisyCounts(), RandomSplit(np.random.default_rng(0))):
        program = Program(NoisySize(), splitting, 2, 1)
        shape = grow(records, TASK, records.grant(1), program, candidates)
        assert shape.records.sizes[NODE] == len(shape.leaves)
        assert set(shape.sizes) <= set(range(len(shape.nodes)))


@dataclass(frozen=True)
class WhicheverSuits:
    """A rule of one's own: nodes whose noisy size is large are split by a noisy choice, the others at random."""

    large: float
    best: BestSplit
    random: RandomSplit
    weight: int = 1

    def choose(self, level: Level, budget: Budget | None) -> list[int]:
        assert level.sizes is not None
        chosen, drawn = self.best.choose(level, budget), self.random.choose(level, None)
        return [one if size > self.large else other for one, other, size in zip(chosen, drawn, level.sizes, strict=True)]


def test_a_rule_of_ones_own_may_choose_between_rules() -> None:
    """So may a learned one: what it decides by was released before, and what it hands on is paid from its own part."""
    everything = []
    for large in (-math.inf, math.inf):
        records, _ = without_noise(TASK, DATA)
        _, candidates = candidates_for(records, TASK)
        rule = WhicheverSuits(large, BestSplit(Gini()), RandomSplit(np.random.default_rng(1)))
        shape = grow(records, TASK, records.grant(40), Program(NoisySize(), rule, 2, 2), candidates)
        everything.append(written(noisy_majority(counted(shape, TASK), TASK)))
        assert records.unspent == 0
    records, _ = without_noise(TASK, DATA)
    plain_tree = literature.friedman_schuster.plan(records, TASK, records.grant(40), depth=2, prune=False)
    assert everything[0] == written(plain_tree)
    assert everything[1] != everything[0]
