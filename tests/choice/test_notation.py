"""The thesis' notation: texts with private answers, and programs; errors give line and column, and nothing is run."""

from __future__ import annotations

import contextlib
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples import figure_1_2
from jostle import workloads
from jostle.choice import choice_maker, program_data, programs
from jostle.choice.decision_rules import Features
from jostle.choice.expressions import sql
from jostle.choice.metafeatures import metafeature
from jostle.choice.notation import expression
from jostle.kernel.errors import BadInput, JostleError
from jostle.kernel.ledger import Ledger
from jostle.kernel.source import ReleaseSource, SimulatedSource

FIGURE = (Path(figure_1_2.__file__).parent / "figure_1_2.jostle").read_text("utf-8")


def test_braces_in_sql_are_parentheses() -> None:
    plain = sql("(select count(values) from db where values > 0) / domain_size")
    braces = sql("{{select count(values) from db where values > 0}} / domain_size")
    assert braces.sensitivity(64) == plain.sensitivity(64) == Fraction(1, 64)
    with pytest.raises(BadInput, match="a different number of times"):
        sql("{{select sum(values) from db")


def test_one_answer_with_public_numbers_has_the_sensitivity_of_the_whole() -> None:
    share = metafeature("2 * {{select count(values) from db where values > 0}} / db.size + 1")
    assert share.sensitivity(64) == (Fraction(2, 64),)
    assert share.noise_scale(64, 1) == (2 / 64,)
    assert share.value([3, 0, 4, 0]) == 2.0


def test_stages_share_the_budget_and_charge_it_whole(tmp_path: Path) -> None:
    mean, spread = "{{select avg(values) from db}}", "{{select stddev(values) from db}}"
    high = metafeature(f"{{{{select count(values) from db where values > {mean} + {spread}}}}}", name="high")
    x = np.array([1, 2, 1, 90])
    assert high.value(x) == 1
    assert len(high.noise_scale(4, 1)) == 3
    assert high.noise_scale(4, 1)[2] == 3.0  # a count, with a third of the budget
    with Ledger(tmp_path / "budget.db") as ledger:
        account = ledger.account("people", cap=1)
        source = ReleaseSource(x, purse=account.purse(), note="high")
        high.measure(source, source.grant(Fraction(3, 10)))
        amounts = [event.amount for event in ledger.events("people") if event.kind == "charge"]
    assert amounts == [Fraction(1, 10)] * 3


def test_a_later_stage_sees_the_noisy_answer_and_never_the_true_one() -> None:
    high = metafeature("{{select count(values) from db where values > {{select max(values) from db}}}}")
    assert high.value([5, 5, 9]) == 0
    source = SimulatedSource([5, 5, 9], seed=0)
    found = [high.measure(source, source.grant(1000)) for _ in range(40)]
    assert set(np.round(found)) == {0.0}  # hardly any noise
    source = SimulatedSource([5, 5, 9], seed=0)
    assert len({round(high.measure(source, source.grant(1))) for _ in range(40)}) > 2


def test_an_answer_that_would_change_the_noise_of_a_later_stage_is_refused_before_the_charge() -> None:
    summed = metafeature("{{select sum(values) from db where values > {{select avg(values) from db}}}}")
    source = SimulatedSource([5, 5, 9], seed=0)
    token = source.grant(1)
    with pytest.raises(BadInput, match="or the noise that they need"):
        summed.measure(source, token)
    assert token.split(1, 1)  # still whole

    @metafeature
    def branching(db: Any) -> Any:
        first = yield db.values.sum()
        return (yield db.values.sum()) if first > 0 else first

    with pytest.raises(BadInput, match="changes how many stages follow"):
        branching.measure(source, source.grant(1))
    many = SimulatedSource([5, 5, 9], seed=0, trials=3)
    with pytest.raises(BadInput, match="several trials at once"):
        metafeature("{{select sum(values) from db}} ^ 2").measure(many, many.grant(1))


def test_the_program_of_figure_1_2_as_printed_is_the_python_program(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JOSTLE_DATA", raising=False)
    program = programs.read(FIGURE)
    assert program.notes == ("line 6, column 42: a brace too many, left out",)
    public, notes = program_data.training_databases(program, (32, 32))
    assert notes[0].startswith("US Census is not among the public data sets here")
    settings: dict[str, Any] = {"trials": 1, "copies": 2, "epsilon": "0.1"}
    queries = program_data.queries_of(None, 2)
    mine = program.choice_maker(trained_on=public[::4], queries=queries, **settings)
    theirs = choice_maker.MkChoiceMaker(
        options=[figure_1_2.DAWA, figure_1_2.MWEM],
        informed_by=[figure_1_2.uniformity, figure_1_2.sparsity],
        trained_on=figure_1_2.grids()[::4],
        queries=queries,
        name="noisyHistChoice",
        **settings,
    )
    assert mine.outcomes is not None
    assert theirs.outcomes is not None
    assert np.array_equal(mine.outcomes.losses, theirs.outcomes.losses)
    assert np.array_equal(mine.outcomes.features, theirs.outcomes.features)
    assert mine.rule == theirs.rule


def test_the_classes_of_chapter_5_predict() -> None:
    program = programs.read(
        """
public = {flat, peak}
def sparsity(db):
    return {{select count(values) from db where values > 0}} / db.size
class Laplace(Option):
    def answer(db, queries):
        #Implementation
    def predict(F):
        valuation = 1-(F.sparsity)^2
        return valuation
class Uniform(Option):
    def answer(db, queries):
    def predict(F):
        return F.sparsity
choice = MkChoiceMaker among {Laplace, Uniform} informed by {sparsity} trained on public
"""
    )
    maker = program.choice_maker(trained_on={"flat": [9] * 8, "peak": [0] * 7 + [90]}, queries=workloads.identity)
    laplace, _ = maker.options
    assert laplace.predict is not None
    assert laplace.predict(Features({"sparsity": 0.5})) == 0.75
    assert maker.by == "predictions"


@pytest.mark.parametrize(
    ("text", "place", "problem"),
    [
        ("def f(db):\n    return 2 * (3 + \n", "line 2, column 20", "expected a number"),
        ("def f(db):\n    return {{select 1", "line 2, column 12", "never closed"),
        ("a = {one, two", "line 1, column 14", "never closed"),
        ("a = 3", "line 1, column 5", "expected {…} or MkChoiceMaker"),
        ("def f(db)\n    return 1", "line 1, column 10", "expected ':'"),
        ("def f(db):\n    x + 1", "line 2, column 7", "expected '='"),
        ("def f(db):\n    return 1 @ 2", "line 2, column 14", "'@' has no meaning here"),
        ("a = {b}\na = {c}", "line 2, column 1", "a is defined twice"),
        ("c = MkChoiceMaker of {a}", "line 1, column 19", "expected 'among'"),
        ("def f(db):\n    x = 1\n        y = 2 = 3", "line 3, column 9", "follows a complete line"),
        ("class A(Thing):\n    def answer(db, q):", "line 1, column 9", "expected 'Option'"),
    ],
)
def test_errors_give_line_and_column(text: str, place: str, problem: str) -> None:
    with pytest.raises(BadInput) as refused:
        programs.read(text)
    assert refused.value.argument == place, str(refused.value)
    assert problem in refused.value.problem


@pytest.mark.parametrize(
    ("change", "place", "problem"),
    [
        (("db.x_range)", "db.z_range)"), "line 3, column 17", "db has no z_range"),
        (("stddev(select", "variance(select"), "line 5, column 14", "not supported"),
        (("num_nonzero/domain_size", "num_nonzero/size"), "line 11, column 24", "size is not defined"),
        (("among {DAWA, MWEM}", "among {DAWA, NoSuch}"), "line 20, column 19", "the option NoSuch is not defined"),
        (("informed by {uniformity", "informed by {smoothness"), "line 20, column 19", "smoothness is not defined"),
        (("    #MWEM Implementation", "    return {{select sum(values) from db}}"), "line 17, column 5", "has a body"),
        (("sqrt(db.y_range)", "cbrt(db.y_range)"), "line 4, column 12", "cbrt is no function here"),
    ],
)
def test_errors_of_meaning_give_line_and_column(change: tuple[str, str], place: str, problem: str) -> None:
    program = programs.read(FIGURE.replace(*change))
    public = [np.ones((4, 4), dtype=int)]
    with pytest.raises(BadInput, match=problem) as refused:
        program.choice_maker(trained_on=public, queries=workloads.identity, trials=1, copies=1)
    assert place in str(refused.value)


@given(st.text(alphabet="abdefr{}()=+-*/^.,:# \n1", max_size=80))
def test_any_text_is_read_or_refused(text: str) -> None:
    for reader in (programs.read, expression):
        with contextlib.suppress(JostleError):
            reader(text)
