"""Odd arguments end in an answer or in a refusal. `jostle audit --fuzz 100000` for more."""

from __future__ import annotations

import ast
import json
import logging
import sys
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

import jostle
from jostle.answers.release import release
from jostle.audit.entries.operators import scores, statistics, strategies
from jostle.audit.fuzz import ODD, Target, attempt, fuzz, targets
from jostle.choice.selectors import Selector
from jostle.cli.audit import _command_line
from jostle.cli.main import app
from jostle.kernel.errors import BadInput, JostleError
from jostle.kernel.ledger import Ledger
from jostle.kernel.source import IntervalCost

ONCE_CRASHED = [
    ("AboveThreshold", {"positives": 10**400}),
    ("GradualRelease", {"epsilons": 0.5}),
    ("GradualRelease", {"epsilons": np.array(3)}),
    ("Ledger.account", {"neighbours": np.arange(4)}),
    ("Ledger.charge", {"neighbours": np.arange(4)}),
    ("Neighbours", {"relation": np.arange(4)}),
    ("Neighbours", {"relation": ["replace"]}),
    ("exponential", {"candidates": np.array(3)}),
    ("permute_and_flip", {"candidates": np.array(3)}),
    ("report_noisy_max", {"candidates": np.array(3)}),
    ("quantiles", {"probabilities": 0.5}),
    ("quantiles", {"step": 10**400}),
    ("quantiles", {"step": "x"}),
    ("quantiles", {"step": np.arange(4)}),
    ("release", {"note": None}),
    ("release", {"note": np.arange(4)}),
    ("simulate.errors", {"neighbours": np.arange(4)}),
    ("simulate.errors", {"workload": None}),
    ("simulate.errors", {"trials": 2**31}),  # which filled the memory
    ("workloads.ranges", {"n": (1, 2, 3)}),
    ("workloads.ranges", {"starts": [[1], [2, 3]]}),
    ("workloads.ranges", {"stops": [[1], [2, 3]]}),
    ("workloads.rectangles", {"shape": (1, 2, 3)}),
    ("workloads.rectangles", {"lows": None}),
    ("workloads.rectangles", {"highs": [[1], [2, 3]]}),
    ("schema file", {"text": "[columns.a]\nkind = [1]"}),
    ("schema file", {"text": "a = " + "[" * 5_000}),
    ("schema file", {"text": "a = " + "9" * 5_000}),
    ("sql", {"text": "select __class___range from db"}),
    ("chooser", {"text": "[" * 100_000}),
    ("chooser", {"text": "\ud800"}),
    ("schema.Real", {"low": 10**400}),
    ("schema.Schema", {"columns": "HB"}),
    ("schema.Schema", {"columns": np.array([1, None], dtype=object)}),
    ("open", {"data": "x" * 1_000}),
    ("Table.ask", {"name": [1]}),
    ("Table.ask_marginals", {"other": 3}),
    ("Table.ask_marginals", {"other": [[1, 2], [3, 4]]}),
    ("Table.ask_quantiles", {"levels": 10**400}),
    ("Table.derive", {"name": np.array(3)}),
    ("Table.join", {"name": np.array([1, None], dtype=object)}),
    ("PrivateMajority", {"label": [-1]}),
]
"""What ended in Python's own error, or worse, once: each must be refused."""


@pytest.mark.parametrize(("name", "odd"), ONCE_CRASHED, ids=lambda part: part if isinstance(part, str) else next(iter(part)))
def test_what_crashed_once_is_refused(name, odd, tmp_path):
    with Ledger(tmp_path / "budget.db") as ledger:
        target = next(one for one in targets(ledger, tmp_path) if one.name == name)
        before = ledger.balance("fuzz").spent
        with pytest.raises(BadInput, match="Remedy"):
            target.call(**(target.usual | odd))
        assert ledger.balance("fuzz").spent == before


def test_odd_arguments_are_answered_or_refused():
    assert [str(crash) for crash in fuzz(cases=2_000, seed=7)] == []


def test_the_parsers_of_commands_refuse_nonsense():
    target, generator = _command_line(), np.random.default_rng(3)
    assert [attempt(target, {"arguments": target.odd(generator, [])}) for _ in range(25)] == [None] * 25


@pytest.mark.parametrize(
    "text",
    [
        '{"a": ' * 100_000,
        "[" * 1_000_000,
        '{"format": "jostle selector", "schema": ' + "9" * 1_000_000 + "}",
        '{"format": "' + "x" * 5_000_000 + '"}',
        '{"format": "jostle selector", "schema": 1, "kind": "tree", "task": "range-1d", "options": ['
        + "[]," * 300_000
        + "[]]}",
    ],
    ids=["deep", "deeper", "a long number", "a long text", "a long list"],
)
def test_a_hostile_selector_is_refused_in_little_memory(text):
    tracemalloc.start()
    try:
        with pytest.raises(BadInput, match="selector"):
            Selector.loads(text)
        assert tracemalloc.get_traced_memory()[1] < 100_000_000
    finally:
        tracemalloc.stop()


def test_reading_hostile_texts_runs_nothing():
    """No reader calls anything that could: neither eval, exec nor pickle, nor a constructor that the text names."""
    package = Path(jostle.__file__).parent
    readers = (
        "choice/expressions/sql_reader.py",
        "choice/files.py",
        "choice/formulas.py",
        "choice/interpreter.py",
        "choice/notation.py",
        "choice/program_data.py",
        "choice/programs.py",
        "choice/rule_files.py",
        "choice/selectors.py",
    )
    readers += ("learn/chooser.py",)
    for name in (*sorted((package / "schema").glob("*.py")), *readers):
        tree = ast.parse((package / name).read_text("utf-8"))
        used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        imported = {part for node in ast.walk(tree) if isinstance(node, ast.Import) for part in (a.name for a in node.names)}
        assert not used & {"eval", "exec", "compile", "__import__"}, name
        assert not imported & {"pickle", "marshal", "shelve", "yaml"}, name


def test_a_crash_is_seen():
    def broken(value):
        return 1 / value

    assert attempt(Target("broken", broken, {}), {"value": 1}) is None
    crash = attempt(Target("broken", broken, {}), {"value": 0})
    assert "ZeroDivisionError" in str(crash)
    assert attempt(Target("warns", lambda: warnings.warn("odd", stacklevel=1), {}), {}) is not None


def test_every_odd_value_reaches_some_function(tmp_path):
    with Ledger(tmp_path / "budget.db") as ledger:
        assert len(targets(ledger, tmp_path)) >= 20
    assert len(ODD) >= 60


@settings(max_examples=30)
@given(st.lists(st.text(max_size=12), max_size=5))
def test_the_command_line_refuses_nonsense_without_a_traceback(arguments):
    if arguments and arguments[0] in ("demo", "bench", "audit", "train", "explore"):
        return
    outcome = CliRunner().invoke(app, arguments)
    assert outcome.exception is None or isinstance(outcome.exception, (SystemExit, JostleError))


# ------------------------------------------------------------------------ failures that look alike on neighbouring data


def outcome(x, ask, tmp_path, name) -> dict:
    """Everything about a call that can be seen, but for its numbers."""
    records: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: records.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger().addHandler(handler)
    seen: dict = {}
    try:
        with Ledger(tmp_path / f"{name}.db") as ledger, warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                found = ask(x, ledger.account("d", cap=1))
                seen["shape"], seen["type"] = np.shape(found), str(np.asarray(found).dtype)
            except JostleError as error:
                seen["error"] = (type(error).__name__, str(error))
            seen["charges"] = [(e.operator, str(e.amount), e.note) for e in ledger.events("d")]
            seen["warnings"] = [str(warning.message) for warning in caught]
    finally:
        logging.getLogger().removeHandler(handler)
    return seen | {"logs": records}


def with_source(ask):
    from jostle.kernel.source import ReleaseSource

    def call(x, account):
        source = ReleaseSource(x, purse=account.purse())
        return ask(source, source.grant("1/2"))

    return call


ASKED = {
    "release": lambda x, account: release(x, epsilon="1/2", account=account, algorithm="HB").answers,
    "overdraft": lambda x, account: release(x, epsilon=2, account=account, algorithm="HB").answers,
    "unknown algorithm": lambda x, account: release(x, epsilon=1, account=account, algorithm="Nobody").answers,
    "tiny epsilon": lambda x, account: release(x, epsilon="1e-30", account=account, algorithm="Laplace").answers,
    "wrong strategy": with_source(lambda source, budget: source.measure(strategies()["identity"], budget)),
    "statistic": with_source(lambda source, budget: source.statistic(statistics()["TotalVariation"], budget)),
    "wrong candidates": with_source(lambda source, budget: source.choose([1], scores()["QueryScore"], budget)),
    "price": with_source(lambda source, budget: source.partition(IntervalCost(2.0**39), budget)),
}
PAIRS = {
    "nothing and one record": ([0] * 5, [0, 0, 1, 0, 0]),
    "one more in a heavy cell": ([10**6, 0, 0, 0, 0], [10**6 + 1, 0, 0, 0, 0]),
    "other digits": ([9, 9, 9, 9, 9], [9, 9, 10, 9, 9]),
    "near the most records": ([2**40 - 1, 0, 0, 0, 0], [2**40, 0, 0, 0, 0]),
}


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("name", ASKED)
def test_neighbours_fail_alike(name, pair, tmp_path):
    one, other = (outcome(np.array(x), ASKED[name], tmp_path, side) for side, x in zip("ab", PAIRS[pair], strict=True))
    assert one == other
    json.dumps(one)
    assert not any(str(sum(PAIRS[pair][0])) in text for text in one.get("error", ()) if sum(PAIRS[pair][0]) > 100)


@pytest.mark.skipif(sys.flags.optimize > 0, reason="asserts are off")
def test_nothing_rests_on_assert():
    """With `python -O`, asserts vanish: what enforces something must raise."""
    for file in Path(jostle.__file__).parent.rglob("*.py"):
        assert not any(isinstance(node, ast.Assert) for node in ast.walk(ast.parse(file.read_text("utf-8")))), file.name
