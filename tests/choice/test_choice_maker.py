"""Choice makers: the five words, what is paid for what, what was learned, and what is refused."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jostle import workloads
from jostle.choice import files
from jostle.choice.choice_maker import ChoiceMaker
from jostle.choice.decision_rules import RegretTree
from jostle.choice.explain import trace_table
from jostle.choice.expressions import largest
from jostle.choice.metafeatures import measured, metafeature
from jostle.choice.options import Option, as_options, option
from jostle.choice.public_databases import Public
from jostle.choice.questions import CELLS, QUERIES, as_questions, fact, of
from jostle.choice.regret_tree import InnerNode, Leaf
from jostle.choice.traces import Seen, Trace, collect_traces
from jostle.kernel.errors import BadInput, PlanError
from jostle.kernel.ledger import Ledger
from jostle.kernel.records import ArrayColumns, SimulatedRecords
from jostle.kernel.source import SimulatedSource
from jostle.kernel.strategies import identity, total
from tests.kernel.helpers import recorded

size = metafeature("select sum(values) from db", name="size")
peak = metafeature(lambda db: largest(db.values), name="peak")


@option
def cells(db: Any, query: Any, budget: Any) -> Any:
    return db.measure(identity(db.shape), budget)


class Even(Option):
    def answer(self, db: Any, query: Any, budget: Any) -> Any:
        return np.full(db.size, db.measure(total(db.shape), budget)[0] / db.size)


def line(n: int) -> list[int]:
    return [n // 3, 0, 0, 0, 0, 0, 0, n - n // 3]


PUBLIC = {f"{n}": line(n) for n in (1, 5, 10, 20, 8000, 8500, 9000, 9500)}
USUAL: dict[str, Any] = {"trained_on": PUBLIC, "queries": workloads.identity, "epsilon": 0.1}


@pytest.fixture(scope="module")
def maker() -> ChoiceMaker:
    return ChoiceMaker(options=[cells, Even], informed_by=[size, peak], **USUAL)


def test_it_learns_where_the_options_cross_over(maker: ChoiceMaker) -> None:
    for n, wanted in ((2, "Even"), (10_000, "cells")):
        source = SimulatedSource(line(n), seed=n)
        answer = maker(source, workloads.identity(8), source.grant(0.1))
        assert (maker.trace.choice, answer.shape, source.unspent) == (wanted, (8,), 0)


def test_shares_of_questions_and_the_rest_add_up_to_the_budget(maker: ChoiceMaker) -> None:
    assert len(maker.rule.needs) == 1  # one of the two tells all, and the other is never paid for
    source, recorder = recorded(line(9000))
    maker(source, workloads.identity(8), source.grant("1/2"))
    asked, given_ = Fraction(1, 2) * maker.rho, Fraction(1, 2) * (1 - maker.rho)
    assert [one.epsilon for one in maker.trace.features] == [asked]
    assert maker.trace.remainder == given_
    assert recorder.scales == [1 / asked, 1 / given_]  # sensitivity over ε, of the question and of the option


def test_a_release_is_charged_what_the_trace_says(maker: ChoiceMaker, tmp_path: Path) -> None:
    account = Ledger(tmp_path / "budget.db").account("people", cap=1)
    with collect_traces() as traces:
        answer = maker.release(line(9000), workloads.identity(8), epsilon="1/4", account=account)
    assert answer.shape == (8,)
    assert account.remaining == Fraction(3, 4)
    assert traces == [maker.trace]
    assert Trace.loads(maker.trace.dumps()) == maker.trace


@given(st.lists(st.integers(0, 50), min_size=8, max_size=8), st.integers(1, 200))
def test_every_choice_spends_its_budget_whole_and_nothing_else(maker: ChoiceMaker, x: list[int], tenths: int) -> None:
    source = SimulatedSource(x, seed=tenths)
    maker(source, workloads.identity(8), source.grant(Fraction(tenths, 10)))
    trace = maker.trace
    assert source.unspent == 0
    assert sum((one.epsilon for one in trace.features), trace.remainder) == trace.epsilon == Fraction(tenths, 10)


def test_an_option_that_spends_nothing_leaves_its_part_to_the_account(tmp_path: Path) -> None:
    @option
    def zeros(db: Any, query: Any, budget: Any) -> Any:
        return np.zeros(8)

    maker = ChoiceMaker(options=[zeros], trained_on=PUBLIC, queries=workloads.identity)
    account = Ledger(tmp_path / "budget.db").account("people", cap=1)
    maker.release(line(5), workloads.identity(8), epsilon=1, account=account)
    assert account.remaining == 1
    assert maker.trace.notes == ("zeros left ε = 1 unspent",)


@pytest.mark.parametrize(("filtered", "seen"), [(False, 40), (True, None)])
def test_the_number_of_records_is_private_where_some_were_left_out(tmp_path: Path, filtered: bool, seen: int | None) -> None:
    found = []

    @option
    def looking(db: Any, query: Any, budget: Any) -> Any:
        found.append(db.total)
        return np.zeros(8)

    maker = ChoiceMaker(options=[looking], trained_on=PUBLIC, queries=workloads.identity)
    account = Ledger(tmp_path / "budget.db").account("people", cap=1, neighbours="replace")
    maker.release(np.full(8, 5), workloads.identity(8), epsilon=1, account=account, filtered=filtered)
    assert found[-1] == seen


def test_several_budgets_make_the_budget_a_free_question() -> None:
    maker = ChoiceMaker(
        options=[cells, Even],
        trained_on={"one": line(30), "other": line(33)},
        queries=workloads.identity,
        epsilon=(0.01, 10),
    )
    source = SimulatedSource(line(30), seed=0)
    choices = []
    for epsilon in (0.01, 10):
        maker(source, workloads.identity(8), source.grant(epsilon))
        choices.append(maker.trace.choice)
        assert maker.trace.remainder == maker.trace.epsilon
    assert (maker.rule.needs, choices) == (("epsilon",), ["Even", "cells"])


def test_a_prediction_is_calibrated_and_decides() -> None:
    class Guess(Even):
        def predict(self, F: Any) -> float:
            return -float(np.log(max(F.size, 1.0)))

    maker = ChoiceMaker(options=[cells, Guess], informed_by=[size, peak], **USUAL)
    assert maker.by == "predictions"
    assert "·predict(size)" in maker.explain()
    source = SimulatedSource(line(2), seed=2)
    maker(source, workloads.identity(8), source.grant(0.1))
    assert maker.trace.choice == "Guess"


def test_a_belief_that_is_the_wrong_way_round_is_found_out_and_turned() -> None:
    class Wrong(Even):
        def predict(self, F: Any) -> float:
            return float(np.log(max(F.size, 1.0)))

    maker = ChoiceMaker(options=[cells, Wrong], informed_by=[size], **USUAL)
    assert "more performance was predicted where the loss was larger" in maker.explain()
    source = SimulatedSource(line(2), seed=2)
    maker(source, workloads.identity(8), source.grant(0.1))
    assert maker.trace.choice == "Wrong"


def test_a_prediction_from_what_is_not_there_is_refused() -> None:
    misspelt = option(cells._function, name="misspelt", predict=lambda F: F.sise)
    with pytest.raises(BadInput, match="the predict of misspelt raised AttributeError.*let it use some of size"):
        ChoiceMaker(options=[misspelt], informed_by=[size], **USUAL)


def test_it_explains_itself_in_words_numbers_and_pictures(maker: ChoiceMaker) -> None:
    (needed,) = maker.rule.needs
    story = maker.explain()
    assert f"{needed}: without it the mean regret would be" in story
    assert "Even, above it cells" in story
    figure = maker.plot()
    assert [trace.name for trace in figure.data[1:]] == ["cells was best", "Even was best"]


def test_on_databases_that_it_did_not_learn_from_it_beats_every_option(maker: ChoiceMaker) -> None:
    judged = maker.held_out(trials=8)
    assert judged.regret < 2 < judged.regrets[judged.best_single]
    assert str(judged).startswith("mean regret over 8 held-out databases: choice ")
    assert judged.to_pandas().shape == (8, 4)


def test_traces_of_many_runs_make_a_table(maker: ChoiceMaker) -> None:
    twin = maker.with_rule(maker.rule)
    for n in (1, 9_000):
        source = SimulatedSource(line(n), seed=0)
        twin(source, workloads.identity(8), source.grant(0.1))
    table = twin.table()
    assert table["choice"].tolist() == ["Even", "cells"]
    assert table["for features"].tolist() == [0.005, 0.005]
    assert maker.rule.needs[0] in table.columns
    with pytest.raises(BadInput, match="no choice was made yet"):
        _ = maker.with_rule(maker.rule).trace


def test_metafeatures_with_names_of_columns_have_columns_of_their_own() -> None:
    seen = tuple(Seen(name=name, value=at) for at, name in enumerate(["choice", "task", "epsilon", "size"], 7))
    settings = {"task": "counts", "selector": "a tree", "choice": "HB", "remainder": Fraction(1)}
    table = trace_table(
        [Trace(**settings, epsilon=Fraction(1), features=seen), Trace(**settings, epsilon=Fraction(9), features=seen)]
    )
    assert table["choice"].tolist() == ["HB", "HB"]
    assert table["task"].tolist() == ["counts", "counts"]
    assert table["choice (column)"].tolist() == [7, 7]
    assert table["epsilon"].tolist() == [1, 9]
    assert table["epsilon (column)"].fillna(0).tolist() == [9, 0]  # where it is the budget itself, it is there already
    named = metafeature("select sum(values) from db", name="group")
    found = ChoiceMaker(options=[cells, Even], informed_by=[named], **USUAL).outcomes
    assert found is not None
    assert found.to_pandas()["group"].tolist() == list(PUBLIC)


def test_values_outside_of_training_are_noted(maker: ChoiceMaker) -> None:
    source = SimulatedSource(line(10**6), seed=0)
    maker(source, workloads.identity(8), source.grant(0.1))
    assert "is outside of the training range" in maker.trace.notes[0]


def test_records_have_metafeatures_of_their_histograms() -> None:
    def table(n: int) -> ArrayColumns:
        return ArrayColumns({"a": np.arange(n) % 3, "class": np.zeros(n, dtype=int)}, {"a": 3, "class": 2})

    @option
    def guess(db: Any, query: Any, budget: Any) -> int:
        return 1

    @option
    def count(db: Any, query: Any, budget: Any) -> int:
        return int(db.vector("class").measure(identity(2), budget).argmax())

    public = [Public(data=table(n), query="class") for n in (1, 2, 50, 80)]
    maker = ChoiceMaker(
        options=[guess, count],
        informed_by=[of(size, "class")],
        trained_on=public,
        loss=lambda answer, data, query: float(answer != 0),
    )
    records = SimulatedRecords(table(60), seed=0)
    assert maker(records, "class", records.grant(1)) == 0
    source = SimulatedSource([1, 2], seed=0)
    with pytest.raises(BadInput, match="holds counts, and choice was trained on records"):
        maker(source, "class", source.grant(1))
    with pytest.raises(BadInput, match="size does not fit the kind of database"):
        ChoiceMaker(options=[guess], informed_by=[size], trained_on=public, loss=lambda *_: 0.0)


def test_facts_are_public_and_free() -> None:
    @fact
    def wide(db: Any, query: Any, epsilon: float) -> float:
        return db.size / query.shape[0]

    maker = ChoiceMaker(options=[cells, Even], informed_by=[wide, CELLS, QUERIES], **USUAL)
    assert maker.outcomes is not None
    assert maker.outcomes.features[0, 0].tolist() == [1.0, 8.0, 8.0]
    assert maker.outcomes.paid == (False, False, False)


@pytest.mark.parametrize("value", [-math.inf, math.nan, np.float64("inf"), 10**400, None, "many"], ids=range(6))
def test_a_fact_that_is_no_finite_number_is_refused_before_anything_is_charged(value: Any) -> None:
    @fact
    def odd(db: Any, query: Any, epsilon: float) -> Any:
        return 1.0 if db.size == 8 else value

    rule = RegretTree(("cells", "Even"), (InnerNode("odd", 5.0, 1, 2), *(Leaf(at, (1.0, 1.0), 1, 1.0) for at in (0, 1))))
    maker = ChoiceMaker.following(rule, options=[cells, Even], informed_by=[odd], rho="1/5")
    usual, other = SimulatedSource(line(9), seed=0), SimulatedSource([1, 2], seed=0)
    maker(usual, workloads.identity(8), usual.grant(1))
    with pytest.raises(BadInput, match="informed_by: odd is no finite number here"):
        maker(other, workloads.identity(2), other.grant(1))
    assert other.unspent == 1
    with pytest.raises(BadInput, match="informed_by: odd is no finite number here"):  # when it is trained, too
        ChoiceMaker(options=[cells, Even], informed_by=[odd], trained_on=[[1, 2], [3, 4]], queries=workloads.identity)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"options": []}, "options: is empty"),
        ({"options": "HB"}, "options: must be a list of options"),
        ({"options": [cells, cells]}, "options: two are called cells"),
        ({"options": [dict]}, "options: dict is a class without the base class Option"),
        ({"options": [lambda db: 0]}, "must take a database, a query and a budget"),
        ({"trained_on": []}, "trained_on: must be public databases"),
        ({"trained_on": [[1, 2], [[1], [2]]]}, "trained_on: mixes 1-dimensional counts and 2-dimensional counts"),
        (
            {"trained_on": [[1, 2], ArrayColumns({"a": np.zeros(2, dtype=int)}, {"a": 2})]},
            "trained_on: mixes 1-dimensional counts and records",
        ),
        ({"trained_on": [SimulatedSource([1], seed=0)]}, "which may be private"),
        ({"informed_by": [size, size]}, "informed_by: two are called size"),
        ({"informed_by": [len]}, "is no metafeature"),
        ({"informed_by": [metafeature(lambda db: db.values.sum() / db.values.sum(), name="ratio")]}, "private number"),
        ({"informed_by": [metafeature(lambda db: db.y_range + db.values.sum(), name="flat")]}, "informed_by|axis|y"),
        ({"rho": 1}, "rho: must lie between 0 and 1"),
        ({"by": "dice"}, "by: 'dice' is unknown"),
        ({"epsilon": (1, 1)}, "epsilon: must be one number, or different ones"),
        ({"trials": 0}, "trials: must be a whole number"),
        ({"queries": None}, "all failed on public data .*loss: is needed where the query is no workload"),
    ],
)
def test_what_cannot_be_learned_from_is_refused_with_a_remedy(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        ChoiceMaker(**({"options": [cells, Even], "informed_by": [size]} | USUAL | settings))


def test_a_call_is_checked_before_anything_is_charged(maker: ChoiceMaker) -> None:
    source = SimulatedSource(line(5), seed=0)
    with pytest.raises(BadInput, match="budget: must be a token"):
        maker(source, workloads.identity(8), 1.0)  # type: ignore[arg-type]
    with pytest.raises(PlanError, match="not on list"):
        maker(line(5), workloads.identity(8), source.grant(1))
    many = SimulatedSource(line(5), seed=0, trials=3)
    with pytest.raises(BadInput, match="runs several trials at once"):
        maker(many, workloads.identity(8), many.grant(1))
    token = source.grant("1e-40")
    with pytest.raises(BadInput, match="cannot be measured, as epsilon asks for noise beyond"):
        maker(source, workloads.identity(8), token)
    assert token.split(1, 1)  # still whole


def test_names_of_registered_algorithms_are_options() -> None:
    one, two = as_options(["HB", "Laplace"])
    source = SimulatedSource([1, 2, 3], seed=0)
    assert one.answer(source, workloads.prefix(3), source.grant(1)).shape == (3,)
    with pytest.raises(BadInput, match="Laplace answers workloads"):
        two.check(source, "how many?")


def test_a_choice_is_saved_and_read_back(maker: ChoiceMaker, tmp_path: Path) -> None:
    file = tmp_path / "choice.json"
    files.save(maker, file)
    again = files.load(file, options=[cells, Even], informed_by=[size, peak])
    answers = []
    for one in (maker, again):
        source = SimulatedSource(line(9000), seed=4)
        answers.append(one(source, workloads.identity(8), source.grant(0.1)))
    assert np.array_equal(*answers)
    assert again.trace == maker.trace
    with pytest.raises(BadInput, match="options: lack 'Even' in version 1"):
        files.load(file, options=[cells], informed_by=[size, peak])
    with pytest.raises(BadInput, match="informed_by: the rule asks for"):
        files.load(file, options=[cells, Even])


def test_a_release_needs_an_account(maker: ChoiceMaker) -> None:
    with pytest.raises(BadInput, match="account: must be an account of a ledger"):
        maker.release(line(9), workloads.identity(8), epsilon=1, account=None)


def test_a_saved_choice_answers_where_the_original_does() -> None:
    names = ["Laplace", "Uniform", "AGrid"]  # the last is not for one dimension: it failed in training, and is never taken
    first = ChoiceMaker(options=names, trained_on=[[0, 9, 3], [5, 5, 5]], queries=workloads.identity)
    assert list(first.failed) == ["AGrid"]
    for one in (first, files.loads(files.dumps(first), options=names)):
        source = SimulatedSource([1, 2, 3], seed=0)
        assert one(source, workloads.identity(3), source.grant(1)).shape == (3,)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"format": "jostle choice"', '"format": "jostle selector"'),
        ('"low": 1', '"low": 0'),  # a walk in circles
        ('"choice": 0', '"choice": 7'),
        ('"schema": 1', '"schema": 2'),
        ('"tree": [', '"more": 1, "tree": ['),
    ],
)
def test_a_damaged_file_is_refused(maker: ChoiceMaker, old: str, new: str) -> None:
    text = files.dumps(maker)
    assert old in text
    with pytest.raises(BadInput, match="^choice: "):
        files.loads(text.replace(old, new, 1), options=[cells, Even], informed_by=[size, peak])


def test_a_metafeature_that_fails_is_named() -> None:
    def fails(value: float) -> float:
        raise KeyError(f"at {value}")

    broken = metafeature(lambda db: measured(db.values.sum(), then=fails), name="broken")
    with pytest.raises(BadInput, match="the metafeature broken raised KeyError: 'at .*', in training"):
        ChoiceMaker(options=[cells, Even], informed_by=[broken], **USUAL)
    source = SimulatedSource([1, 2], seed=0)
    (question,) = as_questions([broken])
    with pytest.raises(PlanError, match="the metafeature broken failed: its function raised KeyError$"):
        question.measure(source, None, Fraction(1), source.grant(1))


@pytest.mark.parametrize("then", [lambda value: 1 / (0 * value), lambda value: math.log(-abs(value) - 1)])
def test_where_the_noise_leads_to_no_number_it_counts_as_0(then: Any) -> None:
    ratio = metafeature(lambda db: measured(db.values.sum(), then=then), name="ratio")
    source = SimulatedSource([1, 2], seed=0)
    (question,) = as_questions([ratio])
    assert question.measure(source, None, Fraction(1), source.grant(1)) == 0
    assert source.unspent == 0


def test_a_prediction_may_look_at_more_for_some_databases_and_stumble_over_noise() -> None:
    class Careful(Even):
        def predict(self, F: Any) -> float:
            if F.size > 10**9:
                return float(F.peak)  # never seen in training: the median stands in
            return math.log(F.size)  # noisy sizes may be negative

    maker = ChoiceMaker(options=[cells, Careful], informed_by=[size, peak], **USUAL | {"by": "predictions"})
    model = maker.rule.models["Careful"]
    assert model.needs == ("size",)
    assert np.isfinite(model.log_losses(["size"], np.array([[-5.0], [1e10]]))).all()


def test_a_rule_that_may_take_another_option_is_refused_before_its_questions_are_paid_for() -> None:
    rule = RegretTree(
        ("cells", "nobody"), (InnerNode("size", 100.0, 1, 2), *(Leaf(at, (1.0, 1.0), 1, 1.0) for at in (0, 1)))
    )
    with pytest.raises(BadInput, match="options: the rule may take 'nobody', which is not among them"):
        ChoiceMaker.following(rule, options=[cells, Even], informed_by=[size], rho="1/5")


def test_only_the_questions_of_the_walk_are_paid_for() -> None:
    """A large size ends the walk; a small one leads to a second question."""
    leaves = [Leaf(choice, (1.0, 1.0), 1, 1.0) for choice in (0, 1, 1)]
    rule = RegretTree(("cells", "Even"), (InnerNode("size", 100.0, 1, 2), InnerNode("peak", 5.0, 3, 4), *leaves))
    maker = ChoiceMaker.following(rule, options=[cells, Even], informed_by=[size, peak], rho="1/5")
    for n, asked in ((9, ["size", "peak"]), (1000, ["size"])):
        source, recorder = recorded(line(n))
        maker(source, workloads.identity(8), source.grant(1))
        assert [seen.name for seen in maker.trace.features] == asked
        assert {seen.epsilon for seen in maker.trace.features} == {Fraction(1, 10)}
        assert maker.trace.remainder == 1 - Fraction(len(asked), 10)
        assert recorder.scales == [*[Fraction(10)] * len(asked), 1 / maker.trace.remainder]
    assert "follows a regret tree" in maker.explain()


def test_a_metafeature_without_a_finite_number_says_so_in_training() -> None:
    fragile = metafeature(lambda db: measured(db.values.sum(), then=lambda total: 1 / max(total - 40, 0)), name="fragile")
    with pytest.raises(BadInput, match="the metafeature fragile raised ZeroDivisionError: .*, in training"):
        ChoiceMaker(options=["Laplace", "Uniform"], informed_by=[fragile], trained_on=[line(1)], queries=workloads.identity)
    endless = metafeature(lambda db: measured(db.values.sum(), then=lambda total: float("inf")), name="endless")
    with pytest.raises(BadInput, match="the metafeature endless gave inf, in training"):
        ChoiceMaker(options=["Laplace", "Uniform"], informed_by=[endless], trained_on=[line(1)], queries=workloads.identity)


def test_a_choice_by_predictions_is_saved_and_read_back(tmp_path: Path) -> None:
    settings: dict[str, Any] = {"options": [cells, Even], "informed_by": [size, peak]}
    public = [line(n) for n in (1, 9, 90, 900, 9000)]
    maker = ChoiceMaker(**settings, trained_on=public, queries=workloads.identity, by="predictions", epsilon=0.1)
    files.save(maker, tmp_path / "choice.json")
    again = files.load(tmp_path / "choice.json", **settings)
    answers = []
    for one in (maker, again):
        source = SimulatedSource(line(90), seed=4)
        answers.append(one(source, workloads.identity(8), source.grant(0.1)))
    assert np.array_equal(*answers)
    assert again.rule.lines() == maker.rule.lines()
