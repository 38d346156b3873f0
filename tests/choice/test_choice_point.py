"""Choice points inside programs: what they pay, how they learn from whole runs, and recursion over disjoint parts."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jostle.choice import files
from jostle.choice.choice_point import ChoicePoint, always, fixed_runs, held_out_runs, learn
from jostle.choice.decision_rules import RegretTree
from jostle.choice.metafeatures import measured, metafeature
from jostle.choice.public_databases import Public
from jostle.choice.questions import of
from jostle.choice.regret_tree import InnerNode, Leaf
from jostle.choice.traces import collect_traces
from jostle.kernel.errors import BadInput, PlanError
from jostle.kernel.ledger import Ledger
from jostle.kernel.partition import Partition
from jostle.kernel.source import ReleaseSource, SimulatedSource
from jostle.kernel.strategies import identity, total

size = metafeature("select sum(values) from db", name="size")
EPSILON = Fraction(1, 10)


def halving(point: ChoicePoint) -> Any:
    """Counts of cells by halving: at each node either an even guess or, on both sides, the same again."""

    def estimate(db: Any, query: Any, budget: Any, depth: int = 0) -> Any:
        branch, budget = point(db, budget, depth=depth) if db.size > 1 else ("even", budget)
        if branch == "even":
            return np.full(db.size, db.measure(total(db.shape), budget)[0] / db.size)
        halves = db.split(Partition.intervals([0, db.size // 2], db.size), budget)
        return np.concatenate([estimate(part, query, token, depth + 1) for part, token in halves])

    return estimate


def loss(answer: Any, x: Any, query: Any) -> float:
    return float(np.abs(answer - x).sum())


def databases() -> list[Public]:
    rng = np.random.default_rng(0)
    found = []
    for number in range(6):
        for scale in (60,):
            x = np.zeros(64, dtype=int)
            x[rng.integers(0, 64, 3)] = rng.integers(5, 30, 3) * scale
            found.append(Public(data=x, name=f"{number} × {scale}", group=str(number), epsilon=EPSILON))
    return found


@pytest.fixture(scope="module")
def trained() -> tuple[ChoicePoint, Any, Any]:
    point = ChoicePoint("halve", ["even", "halve"], informed_by=[size], facts=["depth"])
    program = halving(point)
    return point, program, learn(program, [point], trained_on=databases(), loss=loss, epsilon=EPSILON, runs=4)


def test_it_learns_to_stop_where_nearly_nothing_is_left(trained: tuple[ChoicePoint, Any, Any]) -> None:
    point, program, runs = trained
    assert "size" in point.rule.needs
    chosen = np.mean(held_out_runs(program, runs, databases(), loss))
    fixed = {branch: np.mean(fixed_runs(program, {"halve": branch}, databases(), loss)) for branch in point.branches}
    assert chosen < min(fixed.values())


def test_all_parts_together_are_charged_once(trained: tuple[ChoicePoint, Any, Any], tmp_path: Path) -> None:
    _, program, _ = trained
    account = Ledger(tmp_path / "budget.db").account("people", cap=1)
    source = ReleaseSource([0] * 12 + [9000, 0, 7000, 0], purse=account.purse())
    with collect_traces() as traces:
        answer = program(source, None, source.grant("1/2"))
    assert answer.shape == (16,)
    assert account.remaining == Fraction(1, 2)
    assert len(traces) > 1
    for trace in traces:
        assert sum((one.epsilon for one in trace.features), trace.remainder) == trace.epsilon <= Fraction(1, 2)


def test_a_point_takes_its_share_and_gives_the_rest_back() -> None:
    point = ChoicePoint("go on", ["stop", "go"], informed_by=[size], facts=["depth"], share="1/5")
    source = SimulatedSource([5, 6], seed=0)
    branch, rest = point(source, source.grant(1), depth=3)
    assert (branch, rest.epsilon) == ("stop", 1)  # it has learned nothing, and asks nothing
    with always({"go on": "go"}):
        assert point(source, rest, depth=3).branch == "go"
    assert point(source, source.grant(1), depth=0).branch == "stop"


def test_a_token_of_one_part_buys_nothing_in_another() -> None:
    source = SimulatedSource([1, 2, 3, 4], seed=0)
    (left, _), (_, other) = source.split(Partition.intervals([0, 2], 4), source.grant(1))
    with pytest.raises(PlanError, match="was not granted for"):
        left.measure(identity(2), other)


def test_training_is_repeatable() -> None:
    def trained() -> tuple[ChoicePoint, Any]:
        point = ChoicePoint("halve", ["even", "halve"], informed_by=[size], facts=["depth"])
        settings = {"trained_on": databases()[:2], "loss": loss, "epsilon": EPSILON, "runs": 1}
        return point, learn(halving(point), [point], **settings)

    (first, one), (second, other) = trained(), trained()
    assert one.losses == other.losses
    assert first.rule == second.rule


def test_bad_input_is_refused() -> None:
    with pytest.raises(BadInput, match="branches: must be two names"):
        ChoicePoint("p", ["one"])
    with pytest.raises(BadInput, match="share: must lie between 0 and 1"):
        ChoicePoint("p", ["a", "b"], share=1)
    point = ChoicePoint("p", ["a", "b"], facts=["depth"])
    source = SimulatedSource([1], seed=0)
    with pytest.raises(BadInput, match="facts: p wants depth"):
        point(source, source.grant(1))
    with pytest.raises(BadInput, match="budget: must be a token"):
        point(source, 1.0, depth=0)  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="points: must be choice points with different names"):
        learn(halving(point), [], trained_on=[[1]], loss=loss)


def test_points_are_saved_and_read_back(tmp_path: Path) -> None:
    def points() -> list[ChoicePoint]:
        return [
            ChoicePoint("go on", ["stop", "split"], facts=["depth"]),
            ChoicePoint("score", ["by Gini", "at random"], informed_by=[of(size, "class")]),
        ]

    learned, fresh, file = points(), points(), tmp_path / "points.json"
    learned[0].rule = RegretTree(
        ("stop", "split"), (InnerNode("depth", 2.5, 1, 2), Leaf(1, (0.3, 0.0), 4, 1.0), Leaf(0, (0.0, 0.2), 5, 0.8))
    )
    files.save_points(learned, file)
    files.load_points(fresh, file)
    assert [point.rule for point in fresh] == [point.rule for point in learned]
    other = [ChoicePoint("go on", ["split", "stop"], facts=["depth"])]
    with pytest.raises(BadInput, match="with other branches, or it is not here"):
        files.load_points(other, file)
    with pytest.raises(BadInput, match="the file lacks 'third'"):
        files.load_points([*fresh, ChoicePoint("third", ["a", "b"])], file)


def test_a_metafeature_that_fails_in_training_says_so() -> None:
    point = ChoicePoint("go on", ["even", "halve"], informed_by=[inverse], facts=["depth"])
    with pytest.raises(BadInput, match="the metafeature inverse raised ZeroDivisionError: .*, in training"):
        learn(halving(point), [point], trained_on=[[0, 0, 0, 0]] * 2, loss=loss, runs=1)


@metafeature
def inverse(db: Any) -> Any:
    return measured(db.values.sum(), then=lambda total: 1 / (0 * total))
