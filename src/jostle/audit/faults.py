"""Processes that die, disks that are full, clocks that jump: no release without its charge, no charge lost, no overdraft.

A child makes releases and writes down each one's answer, durably, after it has it. It is killed at a random moment. Then the
ledger must add up, and must have the charge of every release that was written down; at most the one release that was under
way may have been paid for in vain.
"""

from __future__ import annotations

import os
import random
import resource
import signal
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path
from unittest.mock import patch

import numpy as np

from jostle import algorithms
from jostle.answers.release import release
from jostle.kernel.errors import JostleError, LedgerError, Overdraft
from jostle.kernel.ledger import Ledger
from jostle.kernel.noise import ExactNoise

EPSILON = Fraction(1, 1_000)
CAP = 1_000
PATIENCE = 60.0


@dataclass(frozen=True)
class Outcome:
    """What a fault did."""

    name: str
    """The fault."""

    held: bool
    """Whether the promises held."""

    seen: str
    """What was seen, in words."""


def every_fault(*, kills: int, seed: int = 0) -> Iterator[Outcome]:
    """All of them, one after the other, each on a ledger of its own.

    >>> [outcome.held for outcome in every_fault(kills=1)]
    [True, True, True, True, True, True, True, True]
    """
    faults: list[Callable[[Path], Outcome]] = [
        lambda folder: killed_releases(folder, kills=kills, seed=seed),
        lambda folder: many_at_once(folder, spends=10 * kills),
        full_disk,
        read_only,
        clock_jumps,
        corrupted,
        truncated,
        newer_version,
    ]
    for fault in faults:
        with tempfile.TemporaryDirectory() as folder:
            yield fault(Path(folder))


def killed_releases(folder: Path, *, kills: int, seed: int) -> Outcome:
    """Releases under `kill -9`, at random moments of their progress."""
    path, log, chance = folder / "budget.db", folder / "released", random.Random(seed)  # noqa: S311  # not for noise
    log.touch()
    algorithms.every()
    ExactNoise().discrete_laplace(np.zeros(1, dtype=np.int64), Fraction(1))  # loads what children would load each time
    with Ledger(path) as ledger:
        ledger.account("people", cap=CAP)
    wasted = released = charged = 0
    for _ in range(kills):
        lines = chance.choice([0, 1, 1, 2, 3])
        goal = log.read_bytes().count(b"\n") + lines
        child = _forked(lambda: _release_for_ever(path, log))
        _wait(partial(_has_lines, log, goal))
        time.sleep(chance.uniform(0, 0.01))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        with Ledger(path) as ledger:
            ledger.verify()
            charged = sum(event.kind == "charge" for event in ledger.events("people"))
        released = log.read_bytes().count(b"\n")
        wasted = charged - released
        if released > charged or wasted > kills:
            return Outcome("kill -9", False, f"{released} releases and {charged} charges after {kills} kills")
    return Outcome("kill -9", True, f"{kills:,} kills, {released:,} releases, {charged:,} charges, {wasted:,} paid in vain")


def many_at_once(folder: Path, *, spends: int, processes: int = 16) -> Outcome:
    """Processes that charge one account at the same time, until nothing is left of it, and all try once more."""
    path = folder / "budget.db"
    with Ledger(path) as ledger:
        ledger.account("people", cap=spends * EPSILON)
    children = [_forked(partial(_charge_until_refused, path)) for _ in range(processes)]
    ended = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    with Ledger(path) as ledger:
        ledger.verify()
        charges = sum(event.kind == "charge" for event in ledger.events("people"))
        held = charges == spends and ledger.balance("people").remaining == 0 and set(ended) == {0}
    return Outcome("many at once", held, f"{processes} processes, {charges:,} of {spends:,} charges, no more")


def full_disk(folder: Path) -> Outcome:
    """The operating system refuses to let files grow, as it does when a disk is full."""
    with Ledger(folder / "budget.db") as ledger:
        account = ledger.account("people", cap=CAP)
        release([1, 2], epsilon=EPSILON, account=account, algorithm="Laplace")
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, ((folder / "budget.db-wal").stat().st_size + 6_000, hard))
        try:
            made, reason = _until_refused(lambda: release([1, 2], epsilon=EPSILON, account=account, algorithm="Laplace"))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            signal.signal(signal.SIGXFSZ, handler)
        spent = account.spent
        ledger.verify()
    held = isinstance(reason, LedgerError) and (made + 1) * EPSILON <= spent <= (made + 2) * EPSILON
    return Outcome("full disk", held, f"{made + 1} releases, {spent / EPSILON} charges, then {type(reason).__name__}")


def read_only(folder: Path) -> Outcome:
    """A file that may only be read: what it says can be seen, and nothing can be released."""
    path = folder / "budget.db"
    with Ledger(path) as ledger:
        ledger.account("people", cap=CAP)

    def may(path: Path, mode: int) -> bool:  # asked in place of the file system, which refuses nothing to root
        return mode != os.W_OK and os.access(path, mode)

    with patch("jostle.kernel.store._allowed", may), Ledger(path) as ledger:
        account = ledger.account("people")
        made, reason = _until_refused(lambda: release([1, 2], epsilon=EPSILON, account=account, algorithm="Laplace"))
        spent = account.spent
    held = made == 0 and spent == 0 and isinstance(reason, LedgerError)
    return Outcome("read-only file", held, f"{made} releases, then {type(reason).__name__}")


def clock_jumps(folder: Path) -> Outcome:
    """A clock that runs backwards and leaps: events keep their order, and sums do not depend on time."""
    times = iter(
        ["2040-01-01T00:00:00.000000+00:00", "1970-01-01T00:00:00.000000+00:00", "2024-02-29T23:59:60.000000+00:00"] * 9
    )
    with Ledger(folder / "budget.db") as ledger, patch("jostle.kernel.ledger.now", lambda: next(times)):
        account = ledger.account("people", cap=CAP)
        for _ in range(6):
            release([1, 2], epsilon=EPSILON, account=account, algorithm="Laplace")
        kinds = [event.kind for event in ledger.events("people")]
        ledger.verify()
        held = kinds == ["open", *["charge"] * 6] and account.spent == 6 * EPSILON
    return Outcome("clock jumps", held, "6 releases, in order, and all add up")


def corrupted(folder: Path) -> Outcome:
    """Bytes in the middle of the file are overwritten."""
    path = _with_charges(folder)
    content = bytearray(path.read_bytes())
    for at in range(4096, len(content), 512):
        content[at : at + 64] = b"\xff" * 64
    path.write_bytes(bytes(content))
    return _damaged("corrupt file", path)


def truncated(folder: Path) -> Outcome:
    """Half of the file is lost."""
    path = _with_charges(folder)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    return _damaged("truncated file", path)


def newer_version(folder: Path) -> Outcome:
    """Another version of jostle has changed the tables while this one has the ledger open."""
    path = folder / "budget.db"
    with Ledger(path) as ledger:
        account = ledger.account("people", cap=CAP)
        release([1, 2], epsilon=EPSILON, account=account, algorithm="Laplace")
        with closing(sqlite3.connect(path)) as other:
            other.execute("UPDATE jostle_meta SET version = version + 1")
            other.commit()
        made, reason = _until_refused(lambda: release([1, 2], epsilon=EPSILON, account=account, algorithm="Laplace"))
    held = made == 0 and isinstance(reason, LedgerError) and "newer jostle" in str(reason)
    return Outcome("two versions of jostle", held, f"{made} releases, then {type(reason).__name__}")


def _with_charges(folder: Path) -> Path:
    path = folder / "budget.db"
    with Ledger(path) as ledger:
        account = ledger.account("people", cap=CAP)
        for _ in range(20):
            account.charge(EPSILON, operator="laplace", neighbours="add_remove", note="x" * 400)
    return path


def _damaged(name: str, path: Path) -> Outcome:
    """Either it is refused, or every charge is still known: less must never seem to be spent than was."""
    try:
        with Ledger(path) as ledger:
            account = ledger.account("people")
            ledger.verify()
            made, reason = _until_refused(lambda: release([1, 2], epsilon=EPSILON, account=account, algorithm="Laplace"), 3)
            held = account.spent >= 20 * EPSILON
    except JostleError as refused:
        return Outcome(name, isinstance(refused, (LedgerError, ValueError)), f"refused: {type(refused).__name__}")
    return Outcome(name, held, f"{made} releases, then {type(reason).__name__}")


def _until_refused(work: Callable[[], object], most: int = 10_000) -> tuple[int, JostleError | None]:
    for made in range(most):
        try:
            work()
        except JostleError as reason:
            return made, reason
    return most, None


def _release_for_ever(path: Path, log: Path) -> None:
    handle = os.open(log, os.O_WRONLY | os.O_APPEND)
    with Ledger(path) as ledger:
        account = ledger.account("people")
        while True:
            try:
                released = release([5, 0, 7], epsilon=EPSILON, account=account, algorithm="Laplace")
            except Overdraft:
                return
            os.write(handle, (" ".join(map(str, released.answers)) + "\n").encode())
            os.fsync(handle)


def _charge_until_refused(path: Path) -> None:
    with Ledger(path, timeout=PATIENCE) as ledger:
        account = ledger.account("people")
        with suppress(Overdraft):
            while True:
                account.charge(EPSILON, operator="laplace", neighbours="add_remove")


def _forked(work: Callable[[], None]) -> int:
    """A process that has everything imported already, so that a kill strikes a release and not Python's start."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:  # noqa: BLE001  # a child must not go on as a second parent
            os._exit(1)
        os._exit(0)
    return child


def _has_lines(log: Path, number: int) -> bool:
    return log.read_bytes().count(b"\n") >= number


def _wait(reached: Callable[[], bool]) -> None:
    patience = time.monotonic() + PATIENCE
    while not reached():
        if time.monotonic() > patience:
            raise LedgerError("the process under test makes no progress. Remedy: try again on a machine that is less busy")
        time.sleep(0.0005)
