"""What was charged once is worth nothing in a copy of the process."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable

import pytest

from jostle.kernel.errors import PlanError
from jostle.kernel.ledger import Ledger
from jostle.kernel.partition import Partition
from jostle.kernel.source import ReleaseSource
from jostle.kernel.strategies import identity
from jostle.mechanisms import AboveThreshold

ANSWERED, REFUSED, FAILED = range(3)


def in_a_fork(question: Callable[[], object]) -> int:
    """What becomes of a question in a forked process."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons advise against forks beside threads
        child = os.fork()
    if child == 0:
        outcome = FAILED
        try:
            question()
            outcome = ANSWERED
        except PlanError:
            outcome = REFUSED
        finally:
            os._exit(outcome)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no forks")
def test_what_was_charged_once_is_spent_in_one_process_alone(tmp_path):
    """Each of two processes spent the tokens of a split, and got every yes of a search, for one charge."""
    with Ledger(tmp_path / "budget.db") as ledger:
        people = ledger.account("people", cap=3)
        source = ReleaseSource([3, 0, 4, 1], purse=people.purse())
        (part, token), _ = source.split(Partition.intervals([0, 2], 4), source.grant(1))
        search = AboveThreshold(0, sensitivity=1, budget=people.grant(1))
        whole = source.grant(1)
        assert in_a_fork(lambda: part.measure(identity(2), token)) == REFUSED
        assert in_a_fork(lambda: token.draw(operator="laplace")) == REFUSED
        assert in_a_fork(lambda: search.above(100)) == REFUSED
        assert people.spent == 2
        assert in_a_fork(lambda: source.measure(identity(4), whole)) == ANSWERED  # there, it is charged to the ledger
        assert people.spent == 3
        assert part.measure(identity(2), token).shape == (2,)
        assert search.above(100)
