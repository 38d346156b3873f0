"""Processes that die, disks that are full, clocks that jump: no release without its charge, no charge lost, no overdraft.

A child makes releases and writes down each answer, durably, once it has it. It is killed at a random moment. Then the ledger
must add up, and must have the charge of every release that was written down. At most the one release that was under way may
have been paid for in vain.
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
from itertools import cycle
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

import numpy as np

from jostle import algorithms
from jostle.answers.release import release
from jostle.kernel.budget import CONCENTRATED, Price
from jostle.kernel.errors import JostleError, LedgerError, Overdraft
from jostle.kernel.ledger import Account, Ledger
from jostle.kernel.measures import Approximate, Concentrated
from jostle.kernel.noise import ExactNoise

EPSILON = Fraction(1, 1_000)
CAP = 1_000
PATIENCE = 60.0

MEASURES: Final[dict[str, tuple[object, Price]]] = {
    "ε": (CAP, Price(EPSILON)),
    "(ε, δ)": (Approximate(CAP, 1e-6), Price(EPSILON**2, CONCENTRATED)),
    "ρ": (Concentrated(CAP), Price(EPSILON**2, CONCENTRATED)),
}
"""Accounts whose releases are killed: a cap, and the price of a release."""


@dataclass(frozen=True)
class FaultOutcome:
    """What a fault did, whether the promises held, and what was seen, in words."""

    name: str
    held: bool
    seen: str


def every_fault(*, kills: int, seed: int = 0) -> Iterator[FaultOutcome]:
    """Try all faults, one after the other, each on a ledger of its own.

    >>> [outcome.held for outcome in every_fault(kills=1)]
    [True, True, True, True, True, True, True, True, True, True]
    """
    faults: list[Callable[[Path], FaultOutcome]] = [
        *(partial(killed_releases, kills=kills, seed=seed, measure=measure) for measure in MEASURES),
        partial(many_at_once, spends=10 * kills),
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


def killed_releases(folder: Path, *, kills: int, seed: int, measure: str = "ε") -> FaultOutcome:
    """Releases under `kill -9`, at random moments of their progress, from an account in this measure."""
    cap, price = MEASURES[measure]
    name = "kill -9" if measure == "ε" else f"kill -9, {measure}"
    log, chance = folder / "released", random.Random(seed)  # noqa: S311  # not for noise
    log.touch()
    algorithms.every()
    ExactNoise().discrete_laplace(np.zeros(1, dtype=np.int64), Fraction(1))  # loads what children would load each time
    path = _new_account(folder, cap)
    wasted = released = charged = 0
    for _ in range(kills):
        goal = _lines(log) + chance.choice([0, 1, 1, 2, 3])
        child = _forked(lambda: _release_for_ever(path, log, price))
        _wait_for_lines(log, goal)
        time.sleep(chance.uniform(0, 0.01))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        charged, released = _verified_charges(path), _lines(log)
        wasted = charged - released
        if released > charged or wasted > kills:
            return FaultOutcome(name, False, f"{released} releases and {charged} charges after {kills} kills")
    seen = f"{kills:,} kills, {released:,} releases, {charged:,} charges, {wasted:,} paid in vain"
    return FaultOutcome(name, True, seen)


def many_at_once(folder: Path, *, spends: int, processes: int = 16) -> FaultOutcome:
    """Processes that charge one account at the same time, until nothing is left of it, and all try once more."""
    path = _new_account(folder, cap=spends * EPSILON)
    children = [_forked(partial(_charge_until_refused, path)) for _ in range(processes)]
    ended = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    charges = _verified_charges(path)
    with Ledger(path) as ledger:
        held = charges == spends and ledger.balance("people").remaining == 0 and set(ended) == {0}
    return FaultOutcome("many at once", held, f"{processes} processes, {charges:,} of {spends:,} charges, no more")


def full_disk(folder: Path) -> FaultOutcome:
    """The operating system refuses to let files grow, as it does when a disk is full."""
    with Ledger(_new_account(folder)) as ledger:
        account = ledger.account("people")
        _release(account)
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, ((folder / "budget.db-wal").stat().st_size + 6_000, hard))
        try:
            made, reason = _release_until_refused(account)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            signal.signal(signal.SIGXFSZ, handler)
        spent = account.spent
        ledger.verify()
    held = isinstance(reason, LedgerError) and (made + 1) * EPSILON <= spent <= (made + 2) * EPSILON
    return FaultOutcome("full disk", held, f"{made + 1} releases, {spent / EPSILON} charges, then {type(reason).__name__}")


def read_only(folder: Path) -> FaultOutcome:
    """A file that may only be read: its content can be seen, and nothing can be released."""
    path = _new_account(folder)

    def may(path: Path, mode: int) -> bool:  # in place of the file system, which refuses nothing to root
        return mode != os.W_OK and os.access(path, mode)

    with patch("jostle.kernel.ledger.store._allowed", may), Ledger(path) as ledger:
        account = ledger.account("people")
        made, reason = _release_until_refused(account)
        held = made == 0 and account.spent == 0 and isinstance(reason, LedgerError)
    return FaultOutcome("read-only file", held, f"{made} releases, then {type(reason).__name__}")


def clock_jumps(folder: Path) -> FaultOutcome:
    """A clock that runs backwards and leaps: events keep their order, and sums do not depend on time."""
    times = cycle(f"{day}.000000+00:00" for day in ("2040-01-01T00:00:00", "1970-01-01T00:00:00", "2024-02-29T23:59:60"))
    with patch("jostle.kernel.ledger.ledger.now", lambda: next(times)), Ledger(_new_account(folder)) as ledger:
        account = ledger.account("people")
        for _ in range(6):
            _release(account)
        kinds = [event.kind for event in ledger.events("people")]
        ledger.verify()
        held = kinds == ["open", *["charge"] * 6] and account.spent == 6 * EPSILON
    return FaultOutcome("clock jumps", held, "6 releases, in order, and all add up")


def corrupted(folder: Path) -> FaultOutcome:
    """Bytes in the middle of the file are overwritten."""

    def damage(content: bytes) -> bytes:
        spoiled = bytearray(content)
        for at in range(4096, len(spoiled), 512):
            spoiled[at : at + 64] = b"\xff" * 64
        return bytes(spoiled)

    return _damaged("corrupt file", folder, damage)


def truncated(folder: Path) -> FaultOutcome:
    """Half of the file is lost."""
    return _damaged("truncated file", folder, lambda content: content[: len(content) // 2])


def newer_version(folder: Path) -> FaultOutcome:
    """Another version of jostle has changed the tables while this one has the ledger open."""
    path = _new_account(folder)
    with Ledger(path) as ledger:
        account = ledger.account("people")
        _release(account)
        with closing(sqlite3.connect(path)) as other:
            other.execute("UPDATE jostle_meta SET version = version + 1")
            other.commit()
        made, reason = _release_until_refused(account)
    held = made == 0 and isinstance(reason, LedgerError) and "newer jostle" in str(reason)
    return FaultOutcome("two versions of jostle", held, f"{made} releases, then {type(reason).__name__}")


def _damaged(name: str, folder: Path, damage: Callable[[bytes], bytes]) -> FaultOutcome:
    """Either the file is refused, or every charge is still known: never may less seem to be spent than was."""
    path = _new_account(folder)
    with Ledger(path) as ledger:
        for _ in range(20):
            ledger.account("people").charge(EPSILON, operator="laplace", neighbours="add_remove", note="x" * 400)
    path.write_bytes(damage(path.read_bytes()))
    try:
        with Ledger(path) as ledger:
            account = ledger.account("people")
            ledger.verify()
            made, reason = _release_until_refused(account, most=3)
            held = account.spent >= 20 * EPSILON
    except JostleError as refused:
        return FaultOutcome(name, isinstance(refused, (LedgerError, ValueError)), f"refused: {type(refused).__name__}")
    return FaultOutcome(name, held, f"{made} releases, then {type(reason).__name__}")


def _new_account(folder: Path, cap: object = CAP) -> Path:
    """A ledger's file with an account "people"."""
    with Ledger(folder / "budget.db") as ledger:
        ledger.account("people", cap=cap)
    return folder / "budget.db"


def _release(account: Account, price: Price | None = None) -> Any:
    return release([5, 0, 7], epsilon=price or EPSILON, account=account, algorithm="Laplace")


def _release_until_refused(account: Account, most: int = 10_000) -> tuple[int, JostleError | None]:
    for made in range(most):
        try:
            _release(account)
        except JostleError as reason:
            return made, reason
    return most, None


def _verified_charges(path: Path) -> int:
    with Ledger(path) as ledger:
        ledger.verify()
        return sum(event.kind == "charge" for event in ledger.events("people"))


def _release_for_ever(path: Path, log: Path, price: Price) -> None:
    handle = os.open(log, os.O_WRONLY | os.O_APPEND)
    with Ledger(path) as ledger, suppress(Overdraft):
        account = ledger.account("people")
        while True:
            os.write(handle, (" ".join(map(str, _release(account, price).answers)) + "\n").encode())
            os.fsync(handle)


def _charge_until_refused(path: Path) -> None:
    with Ledger(path, timeout=PATIENCE) as ledger, suppress(Overdraft):
        account = ledger.account("people")
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


def _lines(log: Path) -> int:
    return log.read_bytes().count(b"\n")


def _wait_for_lines(log: Path, number: int) -> None:
    patience = time.monotonic() + PATIENCE
    while _lines(log) < number:
        if time.monotonic() > patience:
            raise LedgerError("the process under test makes no progress. Remedy: try again on a machine that is less busy")
        time.sleep(0.0005)
