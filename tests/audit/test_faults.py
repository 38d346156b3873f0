"""Faults: never an overdraft, a release without its charge or a lost charge. More: `jostle audit --faults 1000`."""

from __future__ import annotations

import os
import threading
import time
from fractions import Fraction

import pytest

from jostle.answers.release import release
from jostle.audit import faults
from jostle.kernel.errors import LedgerError
from jostle.kernel.ledger import Ledger


def test_releases_survive_kills(tmp_path):
    outcome = faults.killed_releases(tmp_path, kills=12, seed=1)
    assert outcome.held, outcome.seen


@pytest.mark.parametrize(
    "fault",
    [
        faults.full_disk,
        faults.read_only,
        faults.clock_jumps,
        faults.corrupted,
        faults.truncated,
        faults.newer_version,
    ],
    ids=lambda fault: fault.__name__,
)
def test_no_fault_breaks_a_promise(fault, tmp_path):
    outcome = fault(tmp_path)
    assert outcome.held, outcome.seen


def test_a_release_without_its_charge_would_be_noticed(tmp_path, monkeypatch):
    """The check has teeth: a ledger that forgets its charges fails it."""

    def forgetful(path, log, price):
        handle = os.open(log, os.O_WRONLY | os.O_APPEND)
        while True:
            os.write(handle, b"5 0 7\n")
            time.sleep(0.001)

    monkeypatch.setattr(faults, "_release_for_ever", forgetful)
    assert not faults.killed_releases(tmp_path, kills=3, seed=0).held


def test_a_server_that_goes_away_in_the_middle_of_releases(postgres):
    with Ledger(postgres.new_schema()) as ledger:
        account, released = ledger.account("people", cap=1_000), []

        def go_on():
            try:
                while True:
                    released.append(release([1, 2], epsilon="1/100", account=account, algorithm="Laplace"))
            except LedgerError as reason:
                released.append(reason)

        worker = threading.Thread(target=go_on)
        worker.start()
        while len(released) < 5 and worker.is_alive():
            time.sleep(0.01)
        postgres.stop(mode="immediate")
        worker.join(timeout=120)
        postgres.start()
        made = len(released) - 1
        assert made >= 4
        assert isinstance(released[-1], LedgerError)
        assert made * Fraction(1, 100) <= account.spent <= (made + 1) * Fraction(1, 100)
        ledger.verify()


def test_sixteen_processes_at_once_end_exactly_at_the_cap(tmp_path):
    outcome = faults.many_at_once(tmp_path, spends=160)
    assert outcome.held, outcome.seen
