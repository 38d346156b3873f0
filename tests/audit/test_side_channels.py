"""Neighbouring inputs look alike but for the released numbers: the same kind of answer or refusal, in the same words, with
the same shapes and charges, and nothing printed, logged or warned of. For tables: tests/tables/test_privacy.py."""

from __future__ import annotations

import contextlib
import io
import logging
import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import fields, is_dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jostle import algorithms, learn, mechanisms
from jostle.answers.release import release
from jostle.audit.entries import RELATIONS, FreePurse, classifiers, tables
from jostle.audit.entries import algorithms as plans
from jostle.audit.entries.records import columns
from jostle.kernel.errors import JostleError
from jostle.kernel.ledger import Ledger
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.records import ReleaseRecords
from jostle.kernel.source import simulation
from jostle.schema import Boolean, Category, Integer, Schema
from tests.tables.test_privacy import VALUES

SCHEMA = Schema({"colour": Category(["red", "blue"]), "size": Integer(0, 9), "class": Boolean()})
ESTIMATORS = ("PrivateMajority", "PrivateLogistic", "PrivateMultinomialBayes", "PrivateTree")
NUMBERS = (0.0, 1.0, -1.0, 1e308, -1e308, math.inf, -math.inf, math.nan)
"""What a column of a private table may hold."""


class Log(logging.Handler):
    """Keeps every line."""

    def __init__(self) -> None:
        super().__init__(level=logging.DEBUG)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


@contextlib.contextmanager
def listening() -> Iterator[tuple[io.StringIO, list[Any], Log]]:
    """All that is printed, warned of and logged; but for what Numba says of compiling, at a first call on whatever data."""
    printed, log, root, numba = io.StringIO(), Log(), logging.getLogger(), logging.getLogger("numba")
    level, numbas = root.level, numba.level
    root.addHandler(log)
    root.setLevel(logging.DEBUG)
    numba.setLevel(logging.INFO)
    try:
        with (
            contextlib.redirect_stdout(printed),
            contextlib.redirect_stderr(printed),
            warnings.catch_warnings(record=True) as w,
        ):
            warnings.simplefilter("always")
            yield printed, w, log
    finally:
        root.removeHandler(log)
        root.setLevel(level)
        numba.setLevel(numbas)


def looks(answer: Any) -> Any:
    """What can be seen of an answer without looking at released numbers."""
    if isinstance(answer, np.ndarray):
        return answer.dtype.str, answer.shape
    if is_dataclass(answer):
        return type(answer).__name__, [(part.name, looks(getattr(answer, part.name))) for part in fields(answer)]
    if isinstance(answer, (list, tuple)):
        return [looks(part) for part in answer]
    if isinstance(answer, (Fraction, Neighbours)):  # what it cost, and under which promise: public
        return answer
    return type(answer).__name__


def seen(work: Callable[[], Any]) -> Any:
    """How a piece of work ends, and all that an observer sees of it."""
    with listening() as (printed, warned, log):
        try:
            ended = looks(work())
        except JostleError as error:
            ended = (type(error).__name__, str(error), error.__cause__, error.__context__)
    return ended, printed.getvalue(), [str(one.message) for one in warned], log.lines


def quiet(found: Any) -> bool:
    return found[1:] == ("", [], [])


# --------------------------------------------------------------------------------------------------------- releases


@pytest.mark.parametrize("relation", RELATIONS)
def test_releases_of_neighbouring_counts_look_alike(relation: str, tmp_path) -> None:
    """By every algorithm: with the data of the audit, on which one record matters."""
    with Ledger(tmp_path / "budget.db") as ledger:
        for name in algorithms.names(task="range-1d"):
            for place, pair in enumerate(plans.pairs((8,))(Neighbours(relation))[-2:]):
                accounts = [ledger.account(f"{name} {place} {side}", cap=1, neighbours=relation) for side in "ab"]
                one, other = (
                    seen(lambda x=x, a=a, n=name: _without_trace(release(x, epsilon="1/2", account=a, algorithm=n)))
                    for x, a in zip((pair.one, pair.other), accounts, strict=True)
                )
                assert one == other, name
                assert quiet(one), name
                assert {account.spent for account in accounts} == {Fraction(1, 2)}


def _without_trace(found: Any) -> list[Any]:
    """The path that a private choice took was paid for, as the answers were."""
    return [found.answers, found.estimate, found.reason, found.spent, found.remaining, found.neighbours]


@pytest.mark.parametrize("bad", [[-1, 2], [0.5, 1], [math.nan, 1], ["a", 1], [None, 1]])
def test_counts_that_are_none_are_refused_in_words_that_do_not_tell_them(bad: list[Any], tmp_path) -> None:
    with Ledger(tmp_path / "budget.db") as ledger:
        account = ledger.account("people", cap=1)
        refusals = [
            seen(lambda x=x: release(x, epsilon=1, account=account, algorithm="Laplace"))
            for x in ([5, *bad], [6, *bad], [5, *reversed(bad)])
        ]
        assert refusals[0] == refusals[1] == refusals[2]
        assert refusals[0][0][0] == "BadInput"
        assert quiet(refusals[0])
        assert account.spent == 0


# ------------------------------------------------------------------------------------------------------- mechanisms


def budget() -> Any:
    return simulation(seed=0).grant(1)


MECHANISMS: dict[str, Callable[[float], Any]] = {
    "laplace": lambda v: mechanisms.laplace(v, sensitivity=1, budget=budget()),
    "clipped_sum": lambda v: mechanisms.clipped_sum([v, 1.0], bounds=(0, 9), budget=budget()),
    "clipped_mean": lambda v: mechanisms.clipped_mean([v, 1.0], bounds=(0, 9), budget=budget()),
    "median": lambda v: mechanisms.median([v, 1.0], bounds=(0, 9), step=1, budget=budget()),
    "quantiles": lambda v: mechanisms.quantiles([v, 1.0], (0.25, 0.75), bounds=(0, 9), step=1, budget=budget()),
    "MedianMechanism": lambda v: mechanisms.MedianMechanism(candidates=2, error=9, sensitivity=1, budget=budget()).answer(
        np.float64(v).astype(np.int64) if abs(v) < 2**62 else 0, [0, 1]
    ),
    "propose_test_release": lambda v: mechanisms.propose_test_release(
        v, sensitivity=1, distance=5, budget=simulation(seed=0).grant(1, delta=1e-3)
    ),
    "AboveThreshold": lambda v: mechanisms.AboveThreshold(3, sensitivity=1, budget=budget()).above(v),
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_mechanisms_look_alike_whatever_number_they_are_handed(name: str) -> None:
    outcomes = [seen(lambda value=value: MECHANISMS[name](value)) for value in NUMBERS]
    assert all(outcome == outcomes[0] for outcome in outcomes)
    assert quiet(outcomes[0])


@pytest.mark.parametrize("name", ["clipped_sum", "clipped_mean", "median"])
def test_mechanisms_look_alike_whether_anybody_is_there(name: str) -> None:
    more = {"step": 1} if name == "median" else {}
    outcomes = [
        seen(lambda values=values: getattr(mechanisms, name)(values, bounds=(0, 9), budget=budget(), **more))
        for values in ([], [5.0], [5.0, math.nan], [5.0] * 1_000)
    ]
    assert all(outcome == outcomes[0] for outcome in outcomes)
    assert quiet(outcomes[0])


# ---------------------------------------------------------------------------------------------------------- learning


@pytest.mark.parametrize("name", learn.names())
def test_learners_of_neighbouring_records_look_alike(name: str) -> None:
    """Models may differ in any way that was paid for; what they predict has the same form, and nothing else is seen."""
    found, task = learn.get(name), classifiers.TASKS.get(name, classifiers.MIXED)
    codes = {attribute: np.arange(2) for attribute in task.attributes}

    def scores(side: Any, relation: str) -> Any:
        records = ReleaseRecords(columns(side, task.sizes, filtered=True), purse=FreePurse(Neighbours(relation)))
        return found.run(records, task, records.grant(1)).scores(codes)

    for relation in RELATIONS:
        pair = classifiers.pairs(task)(Neighbours(relation))[0]
        one, other = (seen(lambda side=side, r=relation: scores(side, r)) for side in (pair.one, pair.other))
        assert one == other
        assert quiet(one)


@pytest.mark.parametrize("name", ESTIMATORS)
@settings(max_examples=4, deadline=None)
@given(rows=st.lists(st.tuples(VALUES, VALUES, VALUES), max_size=12), more=st.tuples(VALUES, VALUES, VALUES))
def test_estimators_of_neighbouring_frames_look_alike(name: str, rows: list[Any], more: Any) -> None:
    """Whatever stands in the cells of a frame: texts, bytes, dates, NaN and objects of any kind."""

    def fitted(records: list[Any]) -> list[Any]:
        frame = pd.DataFrame(
            {column: pd.Series([record[place] for record in records], dtype=object) for place, column in enumerate(SCHEMA)}
        )
        model = getattr(learn, name)(epsilon=1, schema=SCHEMA).fit(frame)
        public = pd.DataFrame({"colour": ["red", "blue"], "size": [1, 2]})
        return [model.predict_proba(public), model.predict(public), model.classes_, model.spent_, repr(model)]

    one, other = seen(lambda: fitted(rows)), seen(lambda: fitted([*rows, more]))
    assert one == other
    assert quiet(one)
    assert one[0][0] == ("<f8", (2, 2))


# ------------------------------------------------------------------------------------------------------------ tables


WITHOUT_PREVIEW = ("mean", "mean by group", "partition", "repeated", "completed")
"""Means, whose preview needs a number of rows, and what is several questions."""


@pytest.mark.parametrize("name", [name for name in tables.QUESTIONS if name not in WITHOUT_PREVIEW])
def test_previews_are_the_same_for_every_table_and_ask_no_engine(name: str, monkeypatch) -> None:
    previews = []
    for side in (tables.OTHERS, tables.OTHERS * 50):
        table = tables.opened(side, Neighbours(), 1)
        question = tables.QUESTIONS[name](table).__self__
        with monkeypatch.context() as patch:
            for step in ("check", "fetch"):
                patch.setattr(f"jostle.tables.run_in_engine.Query.{step}", lambda *_: pytest.fail("it asks the engine"))
                patch.setattr(
                    f"jostle.audit.entries.table_cache.QueryRunOnce.{step}", lambda *_: pytest.fail("it asks the engine")
                )
            patch.setattr(
                "jostle.audit.entries.table_cache.RememberedView.sampled_once", lambda *_: pytest.fail("it takes a sample")
            )
            previews.append(question.preview(epsilon="1/2"))
    assert previews[0] == previews[1]
