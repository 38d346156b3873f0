"""Record a private computation on some data, replay it on neighbours, and say where the two differ.

Two runs with the same results of every draw must be the same in all else: charges, public numbers, shapes, types, messages,
warnings, what is printed or logged, exceptions, and the answer. And each result may tell the two data sets apart by no more
than what was charged for it. (Cebere, Erb, Desfontaines, Bellet, Fitzsimons: Privacy in theory, bugs in practice: grey-box
auditing of differential privacy libraries, 2026, who found 13 violations in twelve libraries by replaying them.)
"""

from __future__ import annotations

import io
import logging
import random
import secrets
import uuid
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass, field
from fractions import Fraction
from time import process_time
from typing import Any
from unittest import mock

from jostle.audit.replay.compare import difference
from jostle.audit.replay.tape import Diverged, Recording, Replay, Tape, TapeAccount
from jostle.kernel.budget import Price
from jostle.kernel.ledger.events import ROWS
from jostle.kernel.neighbours import Neighbours

SHOWN = 3
"""How many divergences of a subject are kept in full."""

KEYS = 3
"""How many different public keys there are: queries that have the same key are written once."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """Public data, and neighbours of them."""

    name: str
    """What is hard about them."""

    data: Any
    others: Sequence[Any]
    """The neighbours of the data."""

    neighbours: Neighbours = field(default_factory=Neighbours)
    epsilon: Fraction | Price = Fraction(1)
    """What the run may cost: an ε, or any price."""

    setting: Any = None
    """Anything else that is public, such as a workload or a schema."""

    unit: str = ROWS
    """Whom the account protects."""


@dataclass(frozen=True, kw_only=True)
class Subject:
    """Something private that can be replayed. To have your own replayed, make one of these and hand it to `replay`.

    >>> import jostle
    >>> from jostle.audit.replay import Case, Subject, replay
    >>> def counted(case, data, account):
    ...     return jostle.release(data, epsilon=case.epsilon, account=account, algorithm="Laplace")
    >>> case = Case(name="one more", data=[3, 0, 4], others=[[3, 1, 4], [3, 0, 5]])
    >>> replay(Subject(name="counts", family="algorithm", run=counted, cases=lambda pairs: [case]), pairs=2).problems
    []
    """

    name: str
    family: str

    run: Callable[[Case, Any, TapeAccount], Any]
    """Everything that it releases about the data, paid from the account, with the case's ε."""

    cases: Callable[[int], Sequence[Case] | Iterator[Case]]
    """Cases that have at least this many neighbours in all."""

    in_rho: bool = False
    """Whether it can also be paid for in ρ."""

    cases_in_rho: Callable[[int], Sequence[Case] | Iterator[Case]] | None = None
    """The cases for that, if they are others."""


@dataclass(kw_only=True)
class ReplayVerdict:
    """What was seen of one subject."""

    name: str
    family: str

    pairs: int = 0
    """Neighbouring data sets that were tried."""

    draws: int = 0
    """Draws that were compared."""

    divergences: int = 0
    """Pairs that were told apart."""

    worst: float = 0.0
    """The largest part of the price that a pair lost."""

    problems: list[str] = field(default_factory=list)
    """Where the first of them differ."""

    refused: int = 0
    """Pairs on which both sides were refused, or failed, alike, so that nothing was released or not all."""

    seconds: float = 0.0


@dataclass
class Observed:
    """All that somebody who looks on sees of a run."""

    answer: Any
    said: list[str]
    """What was printed, logged and warned of, and the exception that ended it."""

    ended: bool = False
    """Whether an exception ended it."""


def replay(subject: Subject, *, pairs: int = 200, seed: int = 0) -> ReplayVerdict:
    """Record the subject on the data of each case, and replay it on the neighbours, until there are enough pairs."""
    started, verdict = process_time(), ReplayVerdict(name=subject.name, family=subject.family)
    for number, case in enumerate(subject.cases(pairs)):
        if not number:
            _run_twice(verdict, subject, case, seed)
        tape = Recording(seed=seed * 1_000_003 + number)
        first = _watched(subject, case, case.data, tape)
        if tape.charged > Price.of(case.epsilon).amount:
            _note(verdict, case, [f"{tape.charged} was charged, and the price is {Price.of(case.epsilon)}"])
        for other in case.others:
            if verdict.pairs == pairs:
                break
            _compare(verdict, subject, case, other, tape, first)
    verdict.seconds = process_time() - started
    return verdict


def _run_twice(verdict: ReplayVerdict, subject: Subject, case: Case, seed: int) -> None:
    """Run it twice on the same data: what the first run keeps must not be noticed in the second.

    The first one also loads and compiles code, which may say so, and is not compared.
    """
    tape = Recording(seed=seed)
    first, again = _watched(subject, case, case.data, tape), Replay(tape)
    with suppress(Diverged):
        second = _watched(subject, case, case.data, again)
        again.end()
        found = difference(first.answer, second.answer)
        again.problems += [found] if found else []
    if again.problems:
        _note(verdict, case, [f"a second run on the same data differs: {again.problems[0]}"])


def _compare(verdict: ReplayVerdict, subject: Subject, case: Case, other: Any, tape: Recording, first: Observed) -> None:
    again = Replay(tape)
    try:
        second = _watched(subject, case, other, again)
        if not again.problems:
            again.end()
            found = difference(first.said, second.said, "what is said") or difference(first.answer, second.answer)
            again.problems += [found] if found else []
    except Diverged:
        pass
    verdict.pairs += 1
    verdict.draws += again.place
    verdict.refused += first.ended
    verdict.worst = max(verdict.worst, again.total / float(Price.of(case.epsilon).amount))
    if again.problems:
        _note(verdict, case, again.problems)


def _note(verdict: ReplayVerdict, case: Case, problems: list[str]) -> None:
    verdict.divergences += 1
    if len(verdict.problems) < SHOWN:
        verdict.problems.append(f"{case.name}, {case.neighbours}, {Price.of(case.epsilon)}: {problems[0]}")


def _watched(subject: Subject, case: Case, data: Any, tape: Tape) -> Observed:
    """Run, and keep what can be seen. A divergence ends the run, whatever the plan makes of it."""
    said, printed, answer, ended = list[str](), io.StringIO(), None, False
    with _listening(said), redirect_stdout(printed), redirect_stderr(printed), _same_keys(tape):
        try:
            account = TapeAccount(tape, case.neighbours, case.unit, Price.of(case.epsilon).measure)
            answer = subject.run(case, data, account)
        except Exception as error:  # noqa: BLE001  # it is a part of what is seen
            said.append(f"{type(error).__name__}: {error}")
            ended = True
    return Observed(answer, [*said, printed.getvalue()] if printed.getvalue() else said, ended)


@contextmanager
def _listening(said: list[str]) -> Iterator[None]:
    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            said.append(f"log: {record.getMessage()}")

    listener, root = Listener(), logging.getLogger()
    root.addHandler(listener)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            warnings.showwarning = lambda message, *_, **__: said.append(f"warning: {message}")
            yield
    finally:
        root.removeHandler(listener)


@contextmanager
def _same_keys(tape: Tape) -> Iterator[None]:
    """Public keys, such as that by which a person's rows are drawn, and names are the same in both runs."""
    seed = tape.seed if isinstance(tape, Recording) else tape.tape.seed
    keys, names = random.Random(seed % KEYS), random.Random(seed % KEYS)  # noqa: S311 (public data)
    with (
        mock.patch.object(secrets, "randbits", keys.getrandbits),
        mock.patch.object(uuid, "uuid4", lambda: uuid.UUID(int=names.getrandbits(128))),  # noqa: PT008 (a new one each time)
    ):
        yield
