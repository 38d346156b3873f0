"""Options that fail: in a release the budget is charged and nothing comes out; in training they are left out."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jostle import workloads
from jostle.choice.choice_maker import ChoiceMaker
from jostle.choice.options import OptionFailed, UnfitAnswer, checked, option
from jostle.choice.spend_only import SpendOnlyRecords, spend_only
from jostle.kernel.errors import PlanError
from jostle.kernel.ledger import Ledger
from jostle.kernel.partition import Partition
from jostle.kernel.records import ArrayColumns, SimulatedRecords
from jostle.kernel.source import ReleaseSource, SimulatedSource
from jostle.kernel.strategies import identity

PUBLIC = [[1, 2, 3], [4, 0, 9]]
SECRET = 31337


def raises(db: Any, query: Any, budget: Any) -> Any:
    raise ValueError(f"the count is {SECRET}")


def raises_late(db: Any, query: Any, budget: Any) -> Any:
    first, _ = budget.split(1, 3)
    db.measure(identity(3), first)
    raise KeyError(SECRET)


def too_short(db: Any, query: Any, budget: Any) -> Any:
    return db.measure(identity(3), budget)[:2]


def no_numbers(db: Any, query: Any, budget: Any) -> Any:
    db.measure(identity(3), budget)
    return ["a", "b", "c"]


def not_finite(db: Any, query: Any, budget: Any) -> Any:
    return db.measure(identity(3), budget) * np.nan


def nothing(db: Any, query: Any, budget: Any) -> Any:
    db.measure(identity(3), budget)


def spends_twice(db: Any, query: Any, budget: Any) -> Any:
    return db.measure(identity(3), budget) + db.measure(identity(3), budget)


def asks_for_more(db: Any, query: Any, budget: Any) -> Any:
    return db.measure(identity(3), db.grant(100))


def asks_a_part_for_more(db: Any, query: Any, budget: Any) -> Any:
    merged = db.reduce(Partition.intervals([0], 3))
    return merged.measure(identity(1), merged.grant(100))


BAD = [
    raises,
    raises_late,
    too_short,
    no_numbers,
    not_finite,
    nothing,
    spends_twice,
    asks_for_more,
    asks_a_part_for_more,
]


class Turncoat:
    """Answers well on public data, and badly once it is told to."""

    def __init__(self, bad: Any) -> None:
        self.bad, self.trained = bad, False

    def __call__(self, db: Any, query: Any, budget: Any) -> Any:
        return self.bad(db, query, budget) if self.trained else db.measure(identity(3), budget)


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad.__name__)
def test_a_failed_option_is_charged_and_named_and_says_nothing_private(bad: Any, tmp_path: Path) -> None:
    turncoat = Turncoat(bad)
    maker = ChoiceMaker(options=[option(turncoat, name="Turncoat")], trained_on=PUBLIC, queries=workloads.identity)
    turncoat.trained = True
    account = Ledger(tmp_path / "budget.db").account("people", cap=1)
    with pytest.raises(
        OptionFailed, match="the option Turncoat failed: .*ε = 0.5 is charged, and nothing is released"
    ) as failed:
        maker.release([1, 2, 3], workloads.identity(3), epsilon="1/2", account=account)
    assert account.remaining * 2 == 1
    assert str(SECRET) not in str(failed.value)
    assert failed.value.__suppress_context__  # a printed traceback does not lead to the option's own words
    assert maker.trace.notes == (str(failed.value),)


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad.__name__)
def test_in_training_it_is_marked_and_left_out(bad: Any) -> None:
    @option
    def good(db: Any, query: Any, budget: Any) -> Any:
        return db.measure(identity(3), budget)

    maker = ChoiceMaker(options=[bad, good], trained_on=PUBLIC, queries=workloads.identity)
    assert list(maker.failed) == [bad.__name__]
    assert f"Left out: {bad.__name__}, which failed" in maker.explain()
    source = SimulatedSource([1, 2, 3], seed=0)
    assert maker(source, workloads.identity(3), source.grant(1)).shape == (3,)
    assert maker.trace.choice == "good"


OTHERS = [
    10**400,
    True,
    np.int64(3),
    np.array(["a", "b"]),
    np.array([10**400, None]),
    np.array(["2026-01-01"], dtype="M8[D]"),
]


@pytest.mark.parametrize("answer", OTHERS, ids=lambda answer: str(getattr(answer, "dtype", type(answer))))
def test_answers_that_are_no_floats_pass_as_they_are(answer: Any) -> None:
    assert checked(answer, None) is answer


@pytest.mark.parametrize("answer", [math.inf, np.float32("nan"), np.array([1, math.nan]), np.array([1j * math.inf])])
def test_numbers_that_are_not_finite_are_no_answer(answer: Any) -> None:
    with pytest.raises(UnfitAnswer, match="not finite"):
        checked(answer, None)


def test_a_failure_in_a_part_was_charged_when_the_data_were_split(tmp_path: Path) -> None:
    turncoat = Turncoat(raises)
    maker = ChoiceMaker(options=[option(turncoat, name="Turncoat")], trained_on=PUBLIC, queries=workloads.identity)
    turncoat.trained = True
    account = Ledger(tmp_path / "budget.db").account("people", cap=1)
    source = ReleaseSource([1, 2, 3, 4, 5, 6], purse=account.purse())
    parts = source.split(Partition.intervals([0, 3], 6), source.grant("1/2"))
    for part, token in parts:
        with pytest.raises(OptionFailed):
            maker(part, workloads.identity(3), token)
    assert account.remaining * 2 == 1


@pytest.mark.parametrize(
    ("bad", "charged", "left"),
    [(raises, "ε = 0.5 is charged", "1/2"), (raises_late, "ε = 0.125 of 0.5 is spent", "7/8")],
)
def test_a_choice_inside_an_option_says_what_was_charged(bad: Any, charged: str, left: str) -> None:
    turncoat = Turncoat(bad)
    inner = ChoiceMaker(options=[option(turncoat, name="Turncoat")], trained_on=PUBLIC, queries=workloads.identity)
    turncoat.trained = True
    source = SimulatedSource([1, 2, 3], seed=0)
    token, _ = source.grant(1).split(1, 1)
    with pytest.raises(OptionFailed, match=f"{charged}, and nothing is released"):
        inner(spend_only(source), workloads.identity(3), token)
    assert source.unspent == Fraction(left)


def test_a_choice_inside_an_option_fails_with_it(tmp_path: Path) -> None:
    turncoat = Turncoat(raises_late)
    inner = ChoiceMaker(options=[option(turncoat, name="Turncoat")], trained_on=PUBLIC, queries=workloads.identity)

    @option
    def outer(db: Any, query: Any, budget: Any) -> Any:
        return inner(db, query, budget)

    maker = ChoiceMaker(options=[outer], trained_on=PUBLIC, queries=workloads.identity)
    turncoat.trained = True
    account = Ledger(tmp_path / "budget.db").account("people", cap=1)
    with pytest.raises(OptionFailed, match="the option outer failed: it raised OptionFailed"):
        maker.release([1, 2, 3], workloads.identity(3), epsilon=1, account=account)
    assert account.remaining == 0


def test_an_option_has_no_way_to_look_at_records_or_to_be_granted_more() -> None:
    """Whatever an option does is private by construction, so it has a closed list of operators."""
    columns = ArrayColumns({"a": np.array([0, 1, 1])}, {"a": 2})
    source, seen = SimulatedRecords(columns, seed=0), []
    offered = spend_only(source)
    with pytest.raises(AttributeError):
        offered.judged(("a",), lambda codes: seen.append(codes) or codes["a"], 2).grant(1)
    assert not seen
    paid, _ = offered.paid(source.grant(1), "all of it")
    for one in (offered, offered.derive("b", ["a"], np.array([0, 1])), paid, offered.vector("a")):
        whole = SimulatedRecords if isinstance(one, SpendOnlyRecords) else SimulatedSource
        own = {name for name in vars(type(one)) if not name.startswith("_")} - {"OFFERED"}
        more = {name for name in dir(whole) if not name.startswith("_") and hasattr(one, name)} - own
        assert more == type(one).OFFERED | {"grant"}
        with pytest.raises(PlanError, match="is granted no other"):
            one.grant(1)
