"""What the ledger promises when many spend at once, and when processes, disks and servers fail."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from jostle.kernel.errors import BadInput, JostleError, LedgerError, Overdraft, PlanError
from jostle.kernel.ledger import AccountPurse, Ledger
from jostle.kernel.neighbours import Neighbours
from tests.postgres import Postgres

WORKERS = Path(__file__).with_name("ledger_workers.py")
NEIGHBOURS = Neighbours()


def charge(account, amount=Fraction(1, 100)):
    return account.charge(amount, operator="laplace", neighbours=NEIGHBOURS)


def charge_while_possible(account) -> tuple[int, JostleError]:
    charged = 0
    while True:
        try:
            charge(account)
        except JostleError as reason:
            return charged, reason
        charged += 1


def run(*arguments: object) -> Any:
    """What one of the workers has to report; it and all its children are gone afterwards, whatever happened."""
    command = [sys.executable, "-W", "error", str(WORKERS), *map(str, arguments)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        output, errors = process.communicate(timeout=300)
        assert process.returncode == 0, errors
        return json.loads(output)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.fixture(params=["sqlite", "postgres"])
def location(request, tmp_path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "budget.db")
    return request.getfixturevalue("postgres").new_schema()


# ---------------------------------------------------------------------------------------------------- many at once


def test_sixteen_processes_end_exactly_at_the_cap(location):
    charges = run("spend_together", location, 16, "1/200")
    assert len(charges) == 16
    assert sum(charges) == 400
    with Ledger(location) as ledger:
        assert ledger.balance("people").remaining == 0
        assert [event.kind for event in ledger.events()] == ["open"] + 400 * ["charge"]
        ledger.verify()


def test_caps_that_change_while_others_spend_hold_for_every_charge(location):
    done = run("spend_while_caps_change", location, 5, 2, 40)
    assert done["charge"] > 0
    assert done["cap"] > 0
    with Ledger(location) as ledger:
        kinds = [event.kind for event in ledger.events()]
        assert (kinds.count("charge"), kinds.count("cap")) == (done["charge"], done["cap"])
        ledger.verify()  # which compares each charge with the cap of its time


def test_of_those_who_change_the_cap_they_saw_one_does(location):
    ledgers = [Ledger(location) for _ in range(4)]
    ledgers[0].account("people", cap=1)
    together = threading.Barrier(len(ledgers), timeout=120)

    def change(number):
        together.wait()
        with suppress(BadInput):
            return ledgers[number].set_cap("people", 2 + number, was=1)
        with pytest.raises(BadInput, match=r"was: the cap of account 'people' is . by now"):
            ledgers[number].set_cap("people", 1, was=1)
        return None

    with ThreadPoolExecutor(len(ledgers)) as threads:
        changed = [event for event in threads.map(change, range(len(ledgers))) if event is not None]
    assert [event for event in ledgers[0].events() if event.kind == "cap"] == changed
    assert len(changed) == 1
    assert ledgers[0].balance("people").cap == changed[0].amount
    for ledger in ledgers:
        ledger.close()


def test_threads_that_share_a_ledger_end_exactly_at_the_cap(location):
    with Ledger(location) as ledger, ThreadPoolExecutor(6) as threads:
        account = ledger.account("people", cap=1)
        charged, reasons = zip(*threads.map(charge_while_possible, [account] * 6), strict=True)
        assert sum(charged) == 100
        assert all(isinstance(reason, Overdraft) for reason in reasons)
        assert account.remaining == 0
        ledger.verify()


def test_those_who_make_the_same_account_at_once_agree(location):
    ledgers = [Ledger(location) for _ in range(4)]
    together = threading.Barrier(len(ledgers), timeout=120)

    def make(ledger):
        together.wait()
        return ledger.account("people", cap=1).remaining

    with ThreadPoolExecutor(len(ledgers)) as threads:
        assert list(threads.map(make, ledgers)) == [1, 1, 1, 1]
    assert [event.kind for event in ledgers[0].events()] == ["open"]
    for ledger in ledgers:
        ledger.close()


def test_those_who_make_the_same_ledger_at_once_agree(location):
    together = threading.Barrier(4, timeout=120)

    def make(number):
        together.wait()
        with Ledger(location) as ledger:
            ledger.account(f"people {number}", cap=1)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(make, range(4)))
    with Ledger(location, create=False) as ledger:
        assert len(ledger.accounts()) == 4
        ledger.verify()


# ---------------------------------------------------------------------------------------------------------- crashes


def test_a_hundred_kills_lose_no_event_and_draw_no_noise_before_its_charge(tmp_path):
    seen = run("survive_kills", tmp_path / "budget.db", tmp_path / "noise", 100, 1)
    assert seen["kills"] == 100
    assert 100 < seen["noise"] <= seen["charges"] <= seen["noise"] + 100


def test_kills_of_clients_of_postgres(postgres, tmp_path):
    seen = run("survive_kills", postgres.new_schema(), tmp_path / "noise", 25, 2)
    assert seen["noise"] <= seen["charges"] <= seen["noise"] + 25


def test_a_kill_while_a_ledger_is_made_leaves_a_whole_one_or_none(tmp_path):
    seen = run("survive_kills_while_made", tmp_path, 60, 3)
    assert seen["whole"] > 0
    assert seen["none"] > 0


def test_a_full_disk_charges_nothing_and_does_no_harm(tmp_path):
    path = tmp_path / "budget.db"
    with Ledger(path) as ledger:
        account = ledger.account("people", cap=10)
        charge(account)
        with files_no_larger_than(path.with_name("budget.db-wal").stat().st_size + 10_000):
            charged, reason = charge_while_possible(account)
        assert isinstance(reason, LedgerError)
        assert charged < 10
        assert account.spent == Fraction(1 + charged, 100)
        charge(account)
        ledger.verify()


@contextmanager
def files_no_larger_than(size: int) -> Iterator[None]:
    """The operating system itself refuses to write more, as it does when a disk is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_postgres_killed_midway_keeps_every_charge_that_returned(postgres: Postgres):
    with Ledger(postgres.new_schema()) as ledger:
        account, charged, failures = ledger.account("people", cap=1_000), [], []

        def spend():
            try:
                while True:
                    charged.append(charge(account))
            except LedgerError as failure:
                failures.append(failure)

        spender = threading.Thread(target=spend)
        spender.start()
        while len(charged) < 20 and spender.is_alive():
            time.sleep(0.01)
        postgres.stop(mode="immediate")
        spender.join(timeout=120)
        try:
            with pytest.raises(LedgerError, match=r"Nothing is released"):
                charge(account)
        finally:
            postgres.start()
        assert len(failures) == 1
        assert len(charged) >= 20
        found = [event for event in ledger.events("people") if event.kind == "charge"]
        assert found[: len(charged)] == charged
        assert len(found) <= len(charged) + 1
        charge(account)
        ledger.verify()


def test_a_commit_whose_answer_is_lost_counts_as_charged(postgres: Postgres):
    url = postgres.new_schema()
    with Ledger(url) as ledger:
        ledger.account("people", cap=1)
    with (
        answer_to_commit_lost(postgres.port) as (port, break_now),
        Ledger(url.replace(f":{postgres.port}/", f":{port}/")) as ledger,
    ):
        purse = AccountPurse(ledger.account("people"))
        token = purse.grant(Fraction(1, 2))
        break_now.set()
        with pytest.raises(LedgerError, match=r"Nothing is released"):
            token.spend(purse, operator="laplace", neighbours=NEIGHBOURS)
        with pytest.raises(PlanError, match=r"spent already"):
            token.spend(purse, operator="laplace", neighbours=NEIGHBOURS)
    with Ledger(url) as ledger:
        assert ledger.balance("people").remaining == Fraction(1, 2)
        ledger.verify()


@contextmanager
def answer_to_commit_lost(server_port: int) -> Iterator[tuple[int, threading.Event]]:
    """Between client and server; once the event is set, passes the next COMMIT on, waits for it, and hangs up."""
    break_now, listener = threading.Event(), socket.create_server(("127.0.0.1", 0))

    def serve():
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=relay, args=(client,), daemon=True).start()

    def relay(client):
        with client, socket.create_connection(("127.0.0.1", server_port)) as server:
            answers = threading.Thread(target=answer, args=(client, server), daemon=True)
            answers.start()
            while data := client.recv(65_536):
                if break_now.is_set() and b"COMMIT\0" in data:
                    muted.add(client)
                    server.sendall(data)
                    answers.join(timeout=5)
                    return
                server.sendall(data)
            server.shutdown(socket.SHUT_WR)
            answers.join(timeout=5)

    def answer(client, server):
        while data := server.recv(65_536):
            if client in muted:
                return
            client.sendall(data)

    muted: set[socket.socket] = set()
    threading.Thread(target=serve, daemon=True).start()
    try:
        yield listener.getsockname()[1], break_now
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()


# ------------------------------------------------------------------------------------------------------------ forks


def in_child(work: Callable[[], object]) -> int:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons advise against forks beside threads, tested here
        child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:  # noqa: BLE001 - a child of a test must not go on as a second pytest
            os._exit(1)
        os._exit(0)
    return child


def test_a_forked_process_has_a_connection_of_its_own(location):
    with Ledger(location) as ledger:
        account = ledger.account("people", cap=1)
        charge(account)

        def spend():
            for _ in range(10):
                charge(account)

        children = [in_child(spend) for _ in range(3)]
        spend()
        assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0]
        assert account.spent == Fraction(41, 100)
        ledger.verify()


def test_a_fork_waits_for_a_charge_that_another_thread_makes(location):
    with Ledger(location) as ledger:
        account, stop = ledger.account("people", cap=1_000), threading.Event()

        def spend_until_told():
            while not stop.wait(0.002):
                charge(account)

        spender = threading.Thread(target=spend_until_told)
        spender.start()
        try:
            for _ in range(20):
                child = in_child(lambda: charge(account))
                assert os.waitpid(child, 0)[1] == 0
        finally:
            stop.set()
            spender.join()
        ledger.verify()


# ------------------------------------------------------------------------------------------------------------ locks


def test_a_ledger_that_another_process_has_locked(tmp_path):
    with Ledger(tmp_path / "budget.db", timeout=0.1) as ledger:
        account = ledger.account("people", cap=1)
        with closing(sqlite3.connect(tmp_path / "budget.db", isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(LedgerError, match=r"locked by another process.*Remedy: try again"):
                charge(account)
            assert account.remaining == 1  # reading goes on
            other.execute("ROLLBACK")
        charge(account)


def test_an_account_that_another_client_of_postgres_has_locked(postgres):
    url = postgres.new_schema()
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    with Ledger(url, timeout=0.1) as ledger:
        people, places = ledger.account("people", cap=1), ledger.account("places", cap=1)
        with engine.begin() as other:
            other.exec_driver_sql("SELECT * FROM jostle_accounts WHERE name = 'people' FOR UPDATE")
            with pytest.raises(LedgerError, match=r"locked by another process"):
                charge(people)
            charge(places)  # each account has its own lock
        charge(people)


# ---------------------------------------------------------------------------------------------- files that disappear


@pytest.mark.parametrize("replaced", [False, True])
def test_a_file_that_goes_away_while_it_is_open_takes_no_charge(tmp_path, replaced):
    path = tmp_path / "budget.db"
    Ledger(tmp_path / "another.db").close()
    with Ledger(path) as ledger:
        account = ledger.account("people", cap=1)
        path.rename(tmp_path / "elsewhere.db")
        if replaced:
            shutil.copy(tmp_path / "another.db", path)
        with pytest.raises(LedgerError, match=r"moved, deleted or replaced"):
            charge(account)


def test_a_file_with_two_names_takes_no_charge(tmp_path):
    """SQLite names its log after the file: by each name others would find another."""
    path, other = tmp_path / "budget.db", tmp_path / "linked.db"
    with Ledger(path) as ledger:
        account = ledger.account("people", cap=1)
        other.hardlink_to(path)
        with pytest.raises(LedgerError, match=r"under another name"):
            charge(account)
        with pytest.raises(LedgerError, match=r"under another name"):
            Ledger(other)
        other.unlink()
        assert charge(account)
        assert account.spent == Fraction(1, 100)


def test_a_draft_that_a_crash_left_behind_is_no_second_name(tmp_path):
    path, draft = tmp_path / "budget.db", tmp_path / f".{'0' * 32}.jostle"
    Ledger(path).close()
    draft.hardlink_to(path)
    with Ledger(path) as ledger:
        assert charge(ledger.account("people", cap=1))
        (tmp_path / "linked.db").hardlink_to(path)
        with pytest.raises(LedgerError, match=r"under another name"):
            charge(ledger.account("people"))


# -------------------------------------------------------------------------------------------------------- durability


def test_commits_of_sqlite_are_flushed_to_disk(tmp_path):
    with Ledger(tmp_path / "budget.db") as ledger, ledger._store.transaction(write=True) as connection:
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 3  # EXTRA
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"


def test_commits_of_postgres_are_flushed_to_disk_whatever_its_defaults(postgres):
    url = postgres.new_schema() + "%20-csynchronous_commit%3Doff%20-cdefault_transaction_isolation%3Dserializable"
    with Ledger(url) as ledger, ledger._store.transaction(write=True) as connection:
        assert connection.exec_driver_sql("SHOW synchronous_commit").scalar() == "on"
        assert connection.exec_driver_sql("SHOW transaction_isolation").scalar() == "read committed"
