"""Record sources: one record is one record in every histogram and in one group, and the noise is that of the proof."""

from __future__ import annotations

import itertools
import math
import pickle
from collections.abc import Iterator
from contextlib import nullcontext
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jostle.kernel.budget import CountingPurse
from jostle.kernel.errors import BadInput, JostleError, Overdraft, PlanError
from jostle.kernel.functions.criteria import CappedEntropy, Criterion, Gini, Majority
from jostle.kernel.functions.objective import Additive
from jostle.kernel.functions.totals import CellSums, Contribution, RecordCount, WeightedTotals
from jostle.kernel.ledger import Ledger
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.records import ArrayColumns, ReleaseRecords, SimulatedRecords, Split
from jostle.kernel.strategies import identity
from tests.kernel.helpers import RELATIONS, Recorder, fits, with_custody

SIZES = {"a": 2, "b": 3, "class": 2}
Row = tuple[int, int, int]
EVERY_ROW: list[Row] = list(itertools.product(range(2), range(3), range(2)))
SPLITS = [
    Split("a", np.array([0, 1])),
    Split("b", np.array([0, 1, 2])),
    Split("b", np.array([0, 1, 1])),
    Split("b", np.array([0, 0, 0])),
]
IN_GROUPS = [*SPLITS[1:], Split("b", np.array([0, 1, 0]))]
"""Those that do not split by the attribute that the groups are by."""

rows = st.lists(st.sampled_from(EVERY_ROW), max_size=12)


def columns(records: list[Row]) -> ArrayColumns:
    table = np.array(records, dtype=np.int64).reshape(-1, 3)
    return ArrayColumns(dict(zip(SIZES, table.T, strict=True)), SIZES)


def simulated(records: list[Row], **options: Any) -> SimulatedRecords:
    return SimulatedRecords(columns(records), seed=0, **options)


def recorded(records: list[Row], **options: Any) -> tuple[SimulatedRecords, Recorder]:
    """Records whose engine is a recorder."""
    source, recorder = simulated(records, **options), Recorder()
    with_custody(source, noise=recorder)
    return source, recorder


def scores_by_hand(records: list[Row], split: Split, criterion: Criterion) -> int:
    place = list(SIZES).index(split.attribute)
    table = np.zeros((split.arity, 2), dtype=np.int64)
    for row in records:
        table[split.branches[row[place]], row[2]] += 1
    return int(criterion.scores(table))


def neighbours_of(records: list[Row], relation: str) -> Iterator[list[Row]]:
    if relation == "add_remove":
        yield from ([*records, row] for row in EVERY_ROW)
    else:
        for place, row in itertools.product(range(len(records)), EVERY_ROW):
            yield [*records[:place], row, *records[place + 1 :]]


# ----------------------------------------------------------------------------------------- one record is one record


@given(rows)
def test_counts_are_counts(records: list[Row]) -> None:
    for names in itertools.chain.from_iterable(itertools.permutations(SIZES, k) for k in (1, 2, 3)):
        expected = np.zeros([SIZES[name] for name in names], dtype=np.int64)
        for row in records:
            expected[tuple(row[list(SIZES).index(name)] for name in names)] += 1
        assert columns(records).counts(names).tolist() == expected.reshape(-1).tolist()


@given(rows, st.lists(st.integers(0, 3), min_size=6, max_size=6))
def test_a_derived_attribute_is_looked_up(records: list[Row], table: list[int]) -> None:
    source, recorder = recorded(records)
    lookup = np.array([*table[:5], 3]).reshape(2, 3)
    derived = source.derive("node", ("a", "b"), lookup)
    assert derived.sizes == SIZES | {"node": 4}
    derived.vector("node", "class").measure(identity((4, 2)), source.grant(1))
    expected = np.zeros((4, 2), dtype=np.int64)
    for a, b, c in records:
        expected[lookup[a, b], c] += 1
    assert recorder.asked[0][2].tolist() == expected.reshape(-1).tolist()


@given(rows)
def test_a_split_by_several_attributes_is_one_by_their_combination(records: list[Row]) -> None:
    """Both choose among the same two scores, under the same noise."""
    branches = [np.arange(6), np.array([0, 1, 0, 1, 1, 1])]
    for seed in range(3):
        source = SimulatedRecords(columns(records), seed=seed)
        asked = [Split("a", table, ("b",)) for table in branches]
        found = source.choose_each(asked, Majority(), source.grant(1), label="class")
        again = SimulatedRecords(columns(records), seed=seed)
        derived = again.derive("both", ("a", "b"), np.arange(6).reshape(2, 3))
        alike = [Split("both", table) for table in branches]
        assert found == derived.choose_each(alike, Majority(), again.grant(1), label="class")


@given(rows, st.sampled_from(EVERY_ROW), st.sampled_from(EVERY_ROW))
def test_one_record_moves_every_vector_as_it_moves_a_vector_of_counts(records: list[Row], old: Row, new: Row) -> None:
    lookup = np.array([[0, 1, 1], [2, 0, 2]])
    for names in (("a",), ("b", "class"), ("node", "b"), ("node", "a", "class")):
        vectors = [
            columns(data).with_table("node", ("a", "b"), lookup).counts(names)
            for data in (records, [*records, old], [*records, new])
        ]
        assert np.abs(vectors[1] - vectors[0]).sum() == 1
        assert np.abs(vectors[2] - vectors[1]).sum() in (0, 2)


@given(rows)
def test_a_split_by_two_attributes_is_one_by_their_combinations(records: list[Row]) -> None:
    """The same scores as by an attribute that is derived from both."""
    table = np.array([0, 1, 1, 2, 0, 2])
    source, recorder = recorded(records)
    source.choose_each([Split("a", table, ("b",))], Gini(), source.grant(1), label="class")
    source.derive("both", ("a", "b"), np.arange(6).reshape(2, 3)).choose_each(
        [Split("both", table)], Gini(), source.grant(1), label="class"
    )
    assert recorder.asked[0][2].tolist() == recorder.asked[1][2].tolist()


@given(rows)
def test_the_scores_of_every_group_are_those_of_its_records_alone(records: list[Row]) -> None:
    for criterion in (Majority(), Gini(), CappedEntropy(cap=8)):
        source, recorder = recorded(records)
        chosen = source.choose_each(IN_GROUPS, criterion, source.grant(1), label="class", by="a")
        for group in range(2):
            mine = [row for row in records if row[0] == group]
            by_hand = [scores_by_hand(mine, split, criterion) for split in IN_GROUPS]
            assert recorder.asked[group][2].tolist() == by_hand
            assert chosen[group] == int(np.argmax(by_hand))


# -------------------------------------------------------------------------------------------------------- the noise


@pytest.mark.parametrize("neighbours", RELATIONS[:4], ids=str)
@pytest.mark.parametrize("criterion", [Majority(), Gini(), CappedEntropy(cap=100)], ids=repr)
def test_noise_is_span_times_neighbours_over_epsilon(neighbours: Neighbours, criterion: Criterion) -> None:
    epsilon = Fraction(1, 3)
    source, recorder = recorded([(0, 0, 0)], neighbours=neighbours)
    span = criterion.gain
    source.choose_each(SPLITS, criterion, source.grant(epsilon), label="class")
    assert recorder.scales == [neighbours.sensitivity(span, 2 * span) / epsilon]
    if neighbours.rows == 1:
        assert recorder.scales == [(1 if neighbours.relation == "add_remove" else 2) * span / epsilon]
    source.choose_each(IN_GROUPS, criterion, source.grant(epsilon), label="class", by="a")
    assert recorder.scales[1:] == 2 * [neighbours.in_part().sensitivity(span, 2 * span) / epsilon]


@pytest.mark.parametrize("neighbours", RELATIONS[:4], ids=str)
def test_a_vectors_noise_is_that_of_a_vector_source(neighbours: Neighbours) -> None:
    source, recorder = recorded([(0, 0, 0)], neighbours=neighbours)
    source.vector("b", "class").measure(identity((3, 2)), source.grant("1/4"))
    assert recorder.scales == [neighbours.sensitivity(1, 2) * 4]


def test_handicaps_are_taken_off_in_records_and_forbidden_splits_are_never_chosen() -> None:
    source, recorder = recorded([(0, 0, 0), (0, 1, 1), (1, 2, 1)])
    token = source.grant(1)
    allowed = np.array([[True, False, True, True], [False] * 4])
    handicaps = np.array([1.5, 0, -2, 0])
    chosen = source.choose_each(IN_GROUPS, Gini(), token, label="class", by="a", allowed=allowed, handicaps=handicaps)
    scores = [scores_by_hand([(0, 0, 0), (0, 1, 1)], split, Gini()) for split in IN_GROUPS]
    unit = Gini().unit
    assert recorder.asked[0][2].tolist() == [scores[0] - 1.5 * unit, scores[2] + 2 * unit, scores[3]]
    assert chosen == [2, -1]
    assert len(recorder.asked) == 1


def permute_and_flip(scores: list[int] | list[float], scale: float) -> np.ndarray:
    """The exact probabilities: candidates in random order, each taken with probability exp((score − best)/scale)."""
    chance = np.zeros(len(scores))
    heads = [math.exp((s - max(scores)) / scale) for s in scores]
    orders = list(itertools.permutations(range(len(scores))))
    for order in orders:
        left = 1.0
        for place in order:
            chance[place] += left * heads[place] / len(orders)
            left *= 1 - heads[place]
    return chance


TINY: list[Row] = [(0, 0, 0), (0, 0, 0), (0, 1, 1), (1, 2, 0), (1, 2, 1), (1, 0, 1)]


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_choices_follow_the_law_of_permute_and_flip(relation: str) -> None:
    """In each of two groups; and groups are independent."""
    runs, splits = 2_500, IN_GROUPS
    source = simulated(TINY, neighbours=relation)
    joint = np.zeros((4, 4))
    for _ in range(runs):
        joint[tuple(source.choose_each(splits, Gini(), source.grant(2), label="class", by="a"))] += 1
    scale = (1 if relation == "add_remove" else 2) * Gini().gain / 2
    law = [
        permute_and_flip([scores_by_hand([r for r in TINY if r[0] == group], s, Gini()) for s in splits], scale)
        for group in range(2)
    ]
    assert fits(joint.reshape(-1), runs * np.outer(*law).reshape(-1))


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("criterion", [Majority(), Gini(), CappedEntropy(cap=4)], ids=repr)
def test_all_groups_together_lose_at_most_one_budget(relation: str, criterion: Criterion) -> None:
    """Exact probabilities of every answer of all groups, on all neighbours of some data sets, at the recorded scales."""
    epsilon, splits, worst = 1.0, IN_GROUPS, 0.0

    def laws(records: list[Row]) -> list[np.ndarray]:
        source, recorder = recorded(records, neighbours=relation)
        source.choose_each(splits, criterion, source.grant(epsilon), label="class", by="a")
        return [permute_and_flip(scores.tolist(), float(scale)) for _, scale, scores in recorder.asked]

    for data in (TINY, TINY[:3], [(0, 0, 0), (0, 2, 1)]):
        here = laws(data)
        for other in neighbours_of(data, relation):
            there = laws(other)
            worst = max(worst, sum(float(np.abs(np.log(p / q)).max()) for p, q in zip(here, there, strict=True)))
    assert worst <= epsilon + 1e-9
    assert worst > 0.2 * epsilon


# ------------------------------------------------------------------------------------------------------------ parts


@pytest.mark.parametrize("neighbours", RELATIONS[:4], ids=str)
def test_parts_share_one_budget_and_have_the_noise_of_parts(neighbours: Neighbours) -> None:
    source, recorder = recorded(TINY, neighbours=neighbours)
    parts = source.split("b", source.grant(1))
    assert source.unspent == 0
    for part, token in parts:
        assert token.epsilon == 1
        assert part.total is None
        part.vector("class").measure(identity(2), token)
        with pytest.raises(PlanError, match="one token"):
            part.grant(1)  # type: ignore[attr-defined]
    assert recorder.scales == 3 * [neighbours.in_part().sensitivity(1, 2)]
    answers = [values.tolist() for _, _, values in recorder.asked]
    assert answers == [[sum(r[1] == b and r[2] == c for r in TINY) for c in range(2)] for b in range(3)]


def test_trials_are_drawn_at_once_with_the_law_of_one() -> None:
    columns = ArrayColumns({"a": np.array([0, 1]), "class": np.array([0, 1])}, {"a": 2, "class": 2})
    records = SimulatedRecords(columns, seed=0, trials=20_000)
    first, second, third = records.grant(3).split_evenly(3)
    noisy = records.vector("a", "class").measure(identity((2, 2)), first)
    assert noisy.shape == (20_000, 4)
    assert np.abs(noisy.mean(axis=0) - [1, 0, 0, 1]).max() < 0.08  # six standard deviations
    splits = [Split("a", np.array([0, 1])), Split("a", np.array([0, 0]))]
    (chosen,) = records.choose_each(splits, Majority(), second, label="class")
    assert fits(np.bincount(chosen, minlength=2), permute_and_flip([2, 1], 1.0) * 20_000)
    with pytest.raises(PlanError, match="one trial at a time"):
        records.minimise(Additive("class", {"a": np.eye(2)}, ridge=1.0), third)
    assert records.unspent == 1


@pytest.mark.parametrize("neighbours", [Neighbours(), Neighbours("replace", rows=2)], ids=str)
def test_a_plan_that_is_paid_for_at_once_spends_what_was_charged_and_no_more(neighbours: Neighbours) -> None:
    columns = ArrayColumns({"a": np.array([0, 1, 1])}, {"a": 2})
    source = SimulatedRecords(columns, seed=0, neighbours=neighbours)
    token = source.grant(rho="1/10")
    paid, whole = source.paid(token, "a plan")
    assert (source.unspent, whole.amount, whole.measure) == (0, Fraction(1, 10), "concentrated")
    assert paid.neighbours == source.neighbours
    first, second = whole.split(1, 3)
    vector = paid.vector("a")
    expected = neighbours.squared_sensitivity(1, 2) / (2 * Fraction(1, 40))
    assert vector.noise_variance(identity(2), first) == pytest.approx(float(expected), rel=1e-6)
    vector.measure(identity(2), first)
    paid.vector("a").measure(identity(2), second)
    with pytest.raises(PlanError, match="spent already"):
        vector.measure(identity(2), second)
    with pytest.raises(PlanError, match="one token"):
        paid.grant(rho="1/10")  # type: ignore[attr-defined]
    with pytest.raises(PlanError, match="split already|spent already"):
        source.vector("a").measure(identity(2), token)
    fresh = source.grant(rho="1/10")
    with pytest.raises(PlanError, match="not granted for"):
        paid.vector("a").measure(identity(2), fresh)


def test_a_parts_token_is_worth_nothing_elsewhere() -> None:
    source = simulated(TINY)
    (first, token), (second, _), _ = source.split("b", source.grant(1))
    for other in (source, second):
        with pytest.raises(PlanError, match="not granted for"):
            other.vector("a").measure(identity(2), token)
    assert first.sizes == SIZES


# --------------------------------------------------------------------------------------------------- charges and facts


def test_every_operator_charges_its_token_once() -> None:
    source = simulated(TINY)
    one, two, three = source.grant(3).split_evenly(3)
    source.vector("a").measure(identity(2), one)
    source.derive("n", ("a",), np.array([0, 0])).choose_each(SPLITS, Gini(), two, label="class", by="n")
    source.split("a", three)
    assert source.unspent == 0
    for token in (one, two, three):
        with pytest.raises(PlanError, match="spent already"):
            source.choose_each(SPLITS, Gini(), token, label="class")


def test_the_total_is_told_only_where_it_is_public() -> None:
    assert simulated(TINY, neighbours="replace").total == len(TINY)
    assert simulated(TINY).total is None
    labelled = ArrayColumns.having("class", dict(zip(SIZES, np.array(TINY).T, strict=True)), SIZES)
    for kept in (labelled, labelled.where("a", 0), labelled.with_table("d", ["a"], np.zeros(SIZES["a"], dtype=np.int64))):
        assert kept.filtered  # also where every record has a value: the rule is public, whom it leaves out is not
        assert SimulatedRecords(kept, seed=0, neighbours="replace").total is None
    assert simulated(TINY, neighbours=Neighbours("replace", rows=2)).total is None


class NamelessColumns:
    """Records of keys that do not say whose they are."""

    sizes, rows, filtered, numbers = {}, 0, True, {}  # type: ignore[var-annotated]

    def contribution(self, by: Any) -> Contribution:
        return Contribution()

    def keyed_sums(self, by: Any, points: Any, *, squares: bool) -> tuple[list[tuple[str]], CellSums]:
        return [("x",)], CellSums(np.array([3], object), np.array([3], object))


@pytest.mark.parametrize("relation", [Neighbours(), Neighbours(rows=3), Neighbours("replace", rows=2)], ids=str)
def test_people_are_not_counted_by_records_of_which_one_person_may_have_several(relation: Neighbours) -> None:
    """Three records of one person would be three people of a key, where the rule lets a person be one of each."""
    records = SimulatedRecords(NamelessColumns(), seed=0, neighbours=relation)
    measured = WeightedTotals([RecordCount()], [1])
    refused = pytest.raises(PlanError, match="do not say whose they are") if relation.rows > 1 else nullcontext()
    with refused:
        records.select_keys(["name"], measured, records.grant(1, delta=1e-6))


def test_what_a_rule_says_of_records_is_counted_after_the_charge() -> None:
    """The rule sees no record before; an answer that is no cell is clipped; every record is in one cell."""
    seen: list[int] = []

    def rule(codes: Any) -> np.ndarray:
        seen.append(len(codes["a"]))
        return codes["a"].astype(int) * 7 - 3

    source, engine = recorded(TINY)
    counts = source.judged(("a", "class"), rule, 3)
    assert (counts.shape, seen) == ((3,), [])
    counts.measure(identity(3), source.grant("1/2"))
    expected = np.bincount(np.clip(np.array(TINY)[:, 0] * 7 - 3, 0, 2), minlength=3)
    assert (engine.values[0].tolist(), engine.scales, seen) == (expected.tolist(), [2], [len(TINY)])
    assert source.unspent == 0
    with pytest.raises(BadInput, match="is not among the records"):
        source.judged(("age",), rule, 2)


def test_nothing_private_is_shown_and_nothing_is_pickled() -> None:
    assert repr(simulated(TINY)) == repr(simulated([])) == "<SimulatedRecords with a, b, class, add_remove>"
    with pytest.raises(PlanError, match="cannot be pickled"):
        pickle.dumps(simulated(TINY))
    assert not [name for name in dir(simulated(TINY)) if not name.startswith("_") and "column" in name]


def test_no_records_at_all_are_records() -> None:
    source = simulated([])
    assert source.choose_each(IN_GROUPS, Gini(), source.grant(1), label="class", by="a")[0] in range(4)
    assert source.vector("a").measure(identity(2), source.grant(1)).shape == (2,)


def bad_calls() -> dict[str, dict[str, Any]]:
    return {
        "attribute": {"splits": [Split("nothing", np.array([0, 1]))]},
        "attribute label": {"label": "nothing"},
        "attribute by": {"by": "nothing"},
        "attribute twice": {"by": "class"},
        "splits none": {"splits": []},
        "splits size": {"splits": [Split("b", np.array([0, 1]))]},
        "splits kind": {"splits": ["b"]},
        "allowed": {"allowed": np.ones((1, 2), dtype=bool)},
        "handicaps": {"handicaps": np.zeros(2)},
        "handicaps finite": {"handicaps": np.array([0, 0, 0, math.nan])},
    }


@pytest.mark.parametrize("name", bad_calls())
def test_bad_input_is_refused_before_any_charge(name: str) -> None:
    call = {"splits": SPLITS, "criterion": Gini(), "label": "class"} | bad_calls()[name]
    messages = []
    for records in (TINY, []):
        source = simulated(records)
        token = source.grant(1)
        with pytest.raises(BadInput, match=f"^{name.split()[0]}: ") as caught:
            source.choose_each(budget=token, **call)
        messages.append(str(caught.value))
        assert source.unspent == 1
        source.choose_each(SPLITS, Gini(), token, label="class")  # the token is as good as before
    assert messages[0] == messages[1]


class Own(Criterion):
    """Somebody's criterion, without a lemma."""

    @property
    def gain(self) -> int:
        return 1

    def scores(self, counts: np.ndarray) -> np.ndarray:
        return np.asarray(counts.sum(axis=(-1, -2)))


def test_foreign_criteria_numbers_as_budgets_and_too_small_epsilons_are_refused() -> None:
    source = simulated(TINY)
    tiny = source.grant(Fraction(1, 2**60))
    with pytest.raises(PlanError, match="is no criterion of the kernel"):
        source.choose_each(SPLITS, Own(), tiny, label="class")
    for call in (source.choose_each, lambda *_, **__: source.split("a", 1.0)):  # type: ignore[arg-type]
        with pytest.raises(PlanError, match="paid with a budget"):
            call(SPLITS, Gini(), 1.0, label="class")
    with pytest.raises(BadInput, match=r"^epsilon: "):
        source.choose_each(SPLITS, Gini(), tiny, label="class")
    assert source.unspent == tiny.epsilon


@pytest.mark.parametrize("bad", [[0, -1], [], [[0, 1]], [0.5, 1], ["a", "b"]])
def test_a_split_is_a_table_of_branches(bad: Any) -> None:
    with pytest.raises(BadInput, match=r"^branches: "):
        Split("a", np.array(bad))


@pytest.mark.parametrize("bad", [[0, 1, 2], [0.0, 1.0], [-1, 0], [0, 2**27]])
def test_a_derived_attribute_needs_a_public_table_of_the_right_shape(bad: Any) -> None:
    with pytest.raises(BadInput, match=r"^table: "):
        simulated(TINY).derive("node", ("a",), np.array(bad))


def test_histograms_have_a_limit() -> None:
    wide = ArrayColumns({"x": np.array([0]), "y": np.array([0])}, {"x": 2**14, "y": 2**13})
    with pytest.raises(BadInput, match=r"^attribute: these have more than"):
        SimulatedRecords(wide, seed=0).vector("x", "y")


def test_arrays_must_fit_together() -> None:
    with pytest.raises(BadInput, match=r"^codes: "):
        ArrayColumns({"a": np.array([0]), "b": np.array([0, 1])}, {"a": 1, "b": 2})
    with pytest.raises(BadInput, match=r"^codes: "):
        ArrayColumns({"a": np.array([0])}, {"b": 2})


# ---------------------------------------------------------------------------------------------------------- releases


def test_a_release_is_charged_to_its_account_with_exact_noise(tmp_path: Path) -> None:
    with Ledger(tmp_path / "budget.db") as ledger:
        account = ledger.account("people", cap=2)
        source = ReleaseRecords(columns(TINY), purse=account.purse())
        choice = source.choose_each(IN_GROUPS, Gini(), source.grant(1), label="class", by="a")
        assert all(place in range(4) for place in choice)
        assert account.remaining == 1
        answers = source.vector("class").measure(identity(2), source.grant(1))
        assert (answers == np.round(answers)).all()
        assert account.remaining == 0
        with pytest.raises(Overdraft):
            source.grant(1)


def test_a_release_needs_a_durable_purse() -> None:
    with pytest.raises(PlanError, match="account of a ledger"):
        ReleaseRecords(columns(TINY), purse=CountingPurse())
    with pytest.raises(JostleError, match="seed"):
        SimulatedRecords(columns(TINY), seed=None)
