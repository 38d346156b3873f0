"""Odd arguments end in an answer or in a refusal. `jostle audit --fuzz 100000` for more."""

from __future__ import annotations

import json
import logging
import sys
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typer.testing import CliRunner

from jostle.audit.fuzz import ODD, Target, attempt, fuzz, targets
from jostle.audit.operators import scores, statistics, strategies
from jostle.cli.main import app
from jostle.kernel.errors import JostleError
from jostle.kernel.ledger import Ledger
from jostle.kernel.source import IntervalCost
from jostle.releases import release

KNOWN = {
    ("AboveThreshold", "positives"),
    ("GradualRelease", "epsilons"),
    ("Ledger.account", "neighbours"),
    ("Ledger.charge", "neighbours"),
    ("Neighbours", "relation"),
    ("exponential", "candidates"),
    ("permute_and_flip", "candidates"),
    ("quantiles", "probabilities"),
    ("quantiles", "step"),
    ("release", "note"),
    ("report_noisy_max", "candidates"),
    ("simulate.errors", "neighbours"),
    ("simulate.errors", "workload"),
    ("workloads.ranges", "n"),
    ("workloads.ranges", "starts"),
    ("workloads.ranges", "stops"),
    ("workloads.rectangles", "highs"),
    ("workloads.rectangles", "lows"),
    ("workloads.rectangles", "shape"),
}
"""Public arguments of a wrong type that still end in Python's own error, before anything is charged. To be emptied."""


def test_odd_arguments_are_answered_or_refused():
    for crash in fuzz(cases=1_500, seed=7):
        assert any((crash.target, name) in KNOWN for name in crash.replaced), str(crash)


def test_a_crash_is_seen():
    def broken(value):
        return 1 / value

    assert attempt(Target("broken", broken, {}), {"value": 1}) is None
    crash = attempt(Target("broken", broken, {}), {"value": 0})
    assert "ZeroDivisionError" in str(crash)
    assert attempt(Target("warns", lambda: warnings.warn("odd", stacklevel=1), {}), {}) is not None


def test_every_odd_value_reaches_some_function(tmp_path):
    with Ledger(tmp_path / "budget.db") as ledger:
        assert len(targets(ledger)) >= 20
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
    "wrong strategy": with_source(lambda source, budget: source.laplace(strategies()["identity"], budget)),
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
    import ast
    from pathlib import Path

    import jostle

    for file in Path(jostle.__file__).parent.rglob("*.py"):
        assert not any(isinstance(node, ast.Assert) for node in ast.walk(ast.parse(file.read_text("utf-8")))), file.name
