"""Programs that tests of the ledger run in processes of their own: python ledger_workers.py NAME ARGUMENT …"""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import signal
import sys
import time
import uuid
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

from jostle.kernel.errors import BadInput, Overdraft
from jostle.kernel.ledger import Ledger

AMOUNT = Fraction(1, 1_000)
CAP = 1_000
PATIENCE = 120
"""Seconds, for others and for progress: on a busy machine, whoever comes last in the queue waits for all of them."""


def spend_together(location: str, processes: str, amount: str) -> None:
    """Processes with a ledger each, which start at once and charge until nothing is left. Prints how often each could."""
    fork = multiprocessing.get_context("fork")
    together, charges = fork.Barrier(int(processes), timeout=PATIENCE), fork.SimpleQueue()

    def spend() -> None:
        with Ledger(location, timeout=PATIENCE) as ledger:
            account = ledger.account("people", cap=2)
            together.wait()
            charged = 0
            try:
                while True:
                    account.charge(Fraction(amount), operator="laplace", neighbours="add_remove")
                    charged += 1
            except Overdraft:
                charges.put(charged)

    spenders = [fork.Process(target=spend) for _ in range(int(processes))]
    for spender in spenders:
        spender.start()
    for spender in spenders:
        spender.join()
        if spender.exitcode:
            raise SystemExit("a spender failed")
    print(json.dumps([charges.get() for _ in spenders]))


def spend_while_caps_change(location: str, spenders: str, changers: str, steps: str) -> None:
    """Processes that charge, and others that move the cap up and down meanwhile. Prints how often each was done."""
    fork = multiprocessing.get_context("fork")
    together, done = fork.Barrier(int(spenders) + int(changers), timeout=PATIENCE), fork.SimpleQueue()
    with Ledger(location) as ledger:
        ledger.account("people", cap=10 * AMOUNT)

    def work(kind: str, seed: int) -> None:
        chance, counted = random.Random(seed), 0
        with Ledger(location, timeout=PATIENCE) as ledger:
            account = ledger.account("people")
            together.wait()
            for _ in range(int(steps)):
                try:
                    if kind == "charge":
                        account.charge(AMOUNT, operator="laplace", neighbours="add_remove")
                    else:
                        account.set_cap(max(account.spent + chance.randint(-2, 8) * AMOUNT, 0))
                    counted += 1
                except (Overdraft, BadInput):
                    time.sleep(0.001)
        done.put((kind, counted))

    kinds = ["charge"] * int(spenders) + ["cap"] * int(changers)
    workers = [fork.Process(target=work, args=(kind, seed)) for seed, kind in enumerate(kinds)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        if worker.exitcode:
            raise SystemExit("a worker failed")
    counts = [done.get() for _ in workers]
    print(json.dumps({kind: sum(number for name, number in counts if name == kind) for kind in ("charge", "cap")}))


def survive_kills(location: str, log: str, kills: str, seed: str) -> None:
    """Kill a spender at random moments; after each, hold what it wrote down against what it did. Prints what was seen."""
    chance, seen = random.Random(int(seed)), {"kills": 0, "charges": 0, "noise": 0}
    Path(log).touch()
    with Ledger(location) as ledger:
        ledger.account("people", cap=CAP)
    for _ in range(int(kills)):
        # At some moment of its start, or at some moment after some of its charges; in progress made, not in seconds, so
        # that a slow machine is struck in the same places.
        lines = chance.choice([0, 0, 1, 2, 4, 8])
        goal = Path(log).stat().st_size + lines * len(f"{uuid.uuid4()}\n")
        child = _fork(lambda: _spend_and_draw(location, Path(log)))
        _wait(lambda goal=goal: Path(log).stat().st_size >= goal)
        _kill(child, after=chance.uniform(0, 0.003 if lines else 0.02))
        with Ledger(location) as ledger:
            ledger.verify()
            charged = [event.key for event in ledger.events("people") if event.kind == "charge"]
        *drawn, torn = Path(log).read_text().split("\n")
        # A kill can also tear a line: where a write crosses a page of the file, the system looks for signals between the
        # two. What is there of it must be of a charge too; then it goes, or the next spender's line would continue it.
        os.truncate(log, Path(log).stat().st_size - len(torn))
        seen = {"kills": seen["kills"] + 1, "charges": len(charged), "noise": len(drawn)}
        if not set(drawn) <= set(charged) or not any(key.startswith(torn) for key in charged or [""]):
            raise SystemExit("noise was drawn for a charge that is not in the ledger")
        if len(charged) - len(drawn) > seen["kills"]:
            raise SystemExit("a kill wasted more than the one charge that was under way")
    print(json.dumps(seen))


def survive_kills_while_made(directory: str, kills: str, seed: str) -> None:
    """Kill a process that makes a ledger; what it leaves behind is a whole ledger or none. Prints how many of each."""
    chance, seen = random.Random(int(seed)), {"whole": 0, "none": 0}
    for attempt in range(int(kills)):
        path = Path(directory) / f"{attempt}.db"
        child = _fork(lambda path=path: _make_and_stay(path))
        if attempt % 3 == 0:
            _wait(path.exists)
        _kill(child, after=chance.uniform(0, 0.002 if attempt % 3 == 0 else 0.05))
        seen["whole" if path.exists() else "none"] += 1
        with Ledger(path) as ledger:
            ledger.account("people", cap=1).charge(Fraction(1), operator="laplace", neighbours="add_remove")
            ledger.verify()
    print(json.dumps(seen))


def _spend_and_draw(location: str, log: Path) -> None:
    handle = os.open(log, os.O_WRONLY | os.O_APPEND)
    account = Ledger(location).account("people")
    while True:
        event = account.charge(AMOUNT, operator="laplace", neighbours="add_remove", note="killed at some point")
        os.write(handle, f"{event.key}\n".encode())  # stands for the noise: after the charge, and kept
        os.fsync(handle)


def _make_and_stay(path: Path) -> None:
    ledger = Ledger(path)
    time.sleep(60)
    ledger.close()


def _fork(work: Callable[[], None]) -> int:
    """A process that has everything imported already, so that a kill strikes the ledger and not Python's start."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(1)
    return child


def _wait(reached: Callable[[], bool]) -> None:
    patience = time.monotonic() + PATIENCE
    while not reached():
        if time.monotonic() > patience:
            raise SystemExit("the process makes no progress")
        time.sleep(0.0002)


def _kill(child: int, *, after: float) -> None:
    time.sleep(after)
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if not os.WIFSIGNALED(status):
        raise SystemExit("the process ended by itself")


if __name__ == "__main__":
    programs = (spend_together, spend_while_caps_change, survive_kills, survive_kills_while_made)
    {work.__name__: work for work in programs}[sys.argv[1]](*sys.argv[2:])
