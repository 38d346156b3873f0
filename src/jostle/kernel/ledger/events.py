"""What a ledger holds: events, balances, and who spent. What this version of jostle does not understand, it refuses to read.

The first ledgers have no column for who spent. An older jostle neither reads that column nor writes it, so the version of
the tables is the same with and without, and both share ledgers. A ledger without the column stays so: a charge is no time
to change tables.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Final

from jostle.kernel.budget import PURE, Cost
from jostle.kernel.errors import BadInput, LedgerError
from jostle.kernel.ledger import limits
from jostle.kernel.ledger.limits import Limit
from jostle.kernel.measures import Approximate, Concentrated, Remaining, Spending, epsilon_of
from jostle.kernel.neighbours import Neighbours

VERSION: Final = 1
"""The version of events that this jostle writes, and the newest that it reads."""

KINDS: Final = ("open", "cap", "charge")
"""What can happen to an account: it is opened, its cap changes, it is charged."""

LINES: Final = "\n\t"
"""Characters that a note may have besides printable ones."""

LONGEST_WHO: Final = 200
WHO: Final = "JOSTLE_WHO"
"""The environment variable that takes precedence over the operating system's name of the user."""

ROWS: Final = "row"
"""The unit of an account that protects single rows."""

_EACH: Final = "protects each "


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """One thing that happened to an account. An event that this jostle does not understand cannot be made."""

    key: str
    """A random identifier, unique in the ledger."""

    at: str
    """When, in UTC: ISO 8601 with microseconds."""

    version: int = VERSION
    """The version of jostle's events that it was written in."""

    kind: str
    """`open` (the account was made), `cap` (its cap was changed) or `charge`."""

    dataset: str
    """The name of the account."""

    operator: str = ""
    """Which private operator was paid for; empty unless the kind is `charge`."""

    measure: str = PURE
    """The measure of privacy loss that the amount is in; of an (ε, δ) cap and a selection of keys, with their δ."""

    amount: Fraction
    """What was charged, in ε or ρ; or the cap from here on."""

    neighbours: str
    """The relation that the loss is under."""

    note: str = ""
    """The caller's own words."""

    who: str = ""
    """Who did it; empty if that was not recorded."""

    def __post_init__(self) -> None:
        if self.version > VERSION or self.kind not in KINDS or not self._is_known():
            raise newer(f"an event of kind {self.kind!r} in {self.measure!r}, version {self.version}")
        if not printable(self.dataset + self.operator + self.who) or not printable(self.note, LINES):
            raise LedgerError("an event holds control characters, which jostle never writes: others changed this ledger")

    def _is_known(self) -> bool:
        read = limits.read_cost if self.kind == "charge" else limits.read_limit
        return self.measure == PURE or read(self.measure, self.amount) is not None

    @property
    def cost(self) -> Cost:
        """What a charge was for, in every measure."""
        found = limits.read_cost(self.measure, self.amount) if self.kind == "charge" else None
        if found is None:
            raise BadInput("event", "is no charge", "ask a charge")
        return found

    @property
    def limit(self) -> Limit:
        """The cap from here on, if the event sets one."""
        found = None if self.kind == "charge" else limits.read_limit(self.measure, self.amount)
        if found is None:
            raise BadInput("event", "sets no cap", "ask one that opens an account or changes its cap")
        return found


@dataclass(frozen=True, kw_only=True, slots=True)
class Balance:
    """The state of an account at one moment."""

    dataset: str
    """The name of the account."""

    neighbours: Neighbours
    """The relation that every loss of this account is under."""

    limit: Limit
    """The most that may ever be lost: pure ε as a number, or another measure."""

    spending: Spending = field(default_factory=Spending)
    """The exact sums of the charges. A pure account has only that of ε."""

    unit: str = ROWS
    """Whom every charge protects: `row` for single rows, else the column of persons."""

    def __post_init__(self) -> None:
        if not limits.allowed(self.limit, self.spending):
            raise LedgerError(f"account {self.dataset!r} is damaged: it is spent beyond its cap. Restore it from a backup")

    @property
    def measure(self) -> str:
        """The name of the measure that the account is in."""
        return limits.name_of(self.limit)

    @property
    def cap(self) -> Fraction:
        """The ε of the cap; its ρ, in an account of ρ."""
        return limits.amount_of(self.limit)

    @property
    def spent(self) -> Fraction:
        """What all charges add up to: in ρ in an account of ρ, else in ε.

        In an (ε, δ) account that is the sum of all ε while these stay within the cap; else the ε that follows from the sum
        of all ρ, at the account's δ, rounded up.
        """
        if isinstance(self.limit, Concentrated):
            return self.spending.rho
        epsilon = self.spending.epsilon
        if isinstance(self.limit, Approximate) and (epsilon is None or epsilon > self.limit.epsilon):
            return min(epsilon_of(self.spending.rho, self.limit.delta - self.limit.for_keys), self.limit.epsilon)
        return epsilon or Fraction(0)

    @property
    def remaining(self) -> Fraction:
        """The most that the next question may cost: in ρ in an account of ρ, else in pure ε."""
        return limits.left(self.limit, self.spending, self.measure)

    @property
    def left(self) -> Remaining:
        """The most that the next question of each kind may cost."""
        if isinstance(self.limit, Fraction):
            return Remaining(self.remaining, self.remaining, Fraction(0), Fraction(0))
        return self.spending.left(self.limit)


@dataclass(frozen=True, kw_only=True, slots=True)
class Statement:
    """Accounts and their events, read at one moment."""

    balances: tuple[Balance, ...]
    """The accounts, by name."""

    events: tuple[Event, ...]
    """Their events, oldest first."""

    def check(self) -> None:
        """Replay the events: each charge was within the cap of its time, and all add up to what the accounts say."""
        histories: dict[str, list[Event]] = {balance.dataset: [] for balance in self.balances}
        for event in self.events:
            histories.setdefault(event.dataset, []).append(event)
        adds_up = len(histories) == len(self.balances) and all(_adds_up(b, histories[b.dataset]) for b in self.balances)
        if not adds_up:
            raise LedgerError("the ledger does not add up: its events and its accounts disagree. Restore it from a backup")


def _adds_up(balance: Balance, history: list[Event]) -> bool:
    limit: Limit = Fraction(0)
    spending = Spending()
    for position, event in enumerate(history):
        if (event.kind == "open") != (position == 0) or event.neighbours != str(balance.neighbours) or event.amount < 0:
            return False
        if event.kind != "charge":
            limit = event.limit
        elif isinstance(limit, Fraction) and event.measure == PURE:
            spending = Spending((spending.epsilon or Fraction(0)) + event.amount)
        else:
            spending = limits.after(limit, spending, event.cost)
        if not limits.allowed(limit, spending):
            return False
    return bool(history) and limit == balance.limit and limits.same(limit, spending, balance.spending)


def opening_note(unit: str, note: str) -> str:
    r"""The note of the event that opens an account: whom the account protects, then the caller's own words.

    >>> opening_note("person_id", "agreed by the board")
    'protects each person_id\nagreed by the board'
    """
    return f"{_EACH}{unit}\n{note}".rstrip("\n")


def unit_of(note: str | None) -> str:
    r"""Whom an account protects, from the note of its opening event. Single rows if it does not say.

    A unit has no line breaks, and jostle writes it first, so nothing in the caller's own words can be taken for it.

    >>> unit_of("protects each person_id\nagreed by the board"), unit_of("agreed by the board")
    ('person_id', 'row')
    """
    if note is None:
        raise LedgerError("the ledger does not add up: an account has no opening event. Restore it from a backup")
    return note.removeprefix(_EACH).partition("\n")[0] if note.startswith(_EACH) else ROWS


def check_text(text: object, argument: str, longest: int, *, empty: bool = False, lines: bool = False) -> None:
    """Raise unless it is a text of printable characters that is not too long, and not empty unless that is allowed."""
    fits = isinstance(text, str) and len(text) <= longest and printable(text, LINES if lines else "")
    if not fits or not (empty or str(text).strip()):
        problem = f"must be a text of {'at most' if empty else '1 to'} {longest:,} printable characters"
        raise BadInput(argument, problem, "shorten it, or take its control characters out")


def printable(text: str, also: str = "") -> bool:
    """Whether a text can be stored in any database and shown in any terminal."""
    return all(character.isprintable() or character in also for character in text)


def newer(what: str) -> LedgerError:
    """The error about something that only a later version of jostle can have written."""
    return LedgerError(f"this ledger was written by a newer jostle: it holds {what}. Remedy: upgrade jostle.")


def spender(who: str | None = None) -> str:
    """The name given, or else that of the environment variable, or that of the operating system.

    >>> spender("the statistics office")
    'the statistics office'
    """
    argument, name = ("who", who) if who is not None else (WHO, os.environ.get(WHO))
    if name is None:
        return _user()
    check_text(name, argument, LONGEST_WHO, empty=True)
    return name


def _user() -> str:
    try:
        import pwd

        name = pwd.getpwuid(os.geteuid()).pw_name
    except (ImportError, KeyError):  # some systems have no such list, and some users are not on it
        return ""
    return name if printable(name) else ""
