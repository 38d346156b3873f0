"""Tunables with values that make no sense: refused by their name before anything is charged, or answered."""

from __future__ import annotations

import numpy as np
import pytest

import jostle
from jostle import algorithms
from jostle.algorithms.registry import TASKS

VALUES = [0, -1, float("inf"), float("nan"), "x", None, True, 10**400, 10**5000, [], 1e-300, 1e300, 1.5, np.float64(2)]
COUNTS = np.random.default_rng(0).integers(0, 200, 64)
TUNED = {name: found for name, found in algorithms.every().items() if found.tunables}


def outcome(x, account, name, tunables):
    """Which argument was refused, if one was."""
    try:
        jostle.release(x, epsilon=1, account=account, algorithm=name, **tunables)
    except jostle.BadInput as refused:
        return refused.argument
    return ""


@pytest.mark.parametrize("name", TUNED)
def test_a_value_that_does_not_fit_is_refused_before_a_charge(tmp_path, name):
    found = TUNED[name]
    ledger = jostle.Ledger(tmp_path / "budget.db")
    x = COUNTS.reshape((8, 8) if TASKS[found.tasks[-1]] == 2 else 64)
    for tunable in found.tunables:
        for number, value in enumerate(VALUES):
            account = ledger.account(f"{tunable} {number}", cap=1)
            refused = outcome(x, account, name, {tunable: value})
            assert (refused, account.remaining) in ((tunable, 1), ("", 0))


@pytest.mark.parametrize("name", TUNED)
def test_what_a_tunable_usually_is_fits(name):
    found = TUNED[name]
    given = dict(found.tunables)
    found.check(jostle.workloads.identity((8, 8) if TASKS[found.tasks[-1]] == 2 else 64), given)
    assert set(found.takes) <= set(given)
