"""Who pays for what is measured on a table: an account of a ledger, or the token of a part that was charged already."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from jostle.kernel.budget import Budget, exact
from jostle.kernel.columns import Columns
from jostle.kernel.errors import BadInput, Overdraft
from jostle.kernel.events import printable
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.records import ReleaseRecords

if TYPE_CHECKING:
    from jostle.kernel.ledger import Account


LONGEST_NOTE = 300
"""The ledger adds what was measured, within the space that it has for both."""

LONGEST_WORDS = 400
"""So much of what is measured goes into the ledger, in our own words."""


def legible(words: str, most: int | None = LONGEST_WORDS) -> str:
    r"""Words of ours, as the ledger keeps them: names of columns may have characters that are not printable.

    They are escaped and not left out, so that names which differ in them alone stay different.

    >>> legible("histogram of net\xa0income")
    'histogram of net\\xa0income'
    """
    return "".join(one if printable(one) else one.encode("unicode_escape").decode() for one in words)[:most]


def check_note(note: object) -> None:
    """Raise unless it is a text that the ledger can keep beside its own."""
    if not isinstance(note, str) or len(note) > LONGEST_NOTE or not printable(note):
        problem = f"must be a text of at most {LONGEST_NOTE} printable characters"
        raise BadInput("note", problem, "say in few words what the answers are for")


class Payer(ABC):
    """Makes record sources over a table's rows, and tokens to be spent on them."""

    @property
    @abstractmethod
    def neighbours(self) -> Neighbours:
        """What one person may change."""

    @property
    @abstractmethod
    def remaining(self) -> Fraction:
        """The ε that is left."""

    @abstractmethod
    def records(self, columns: Columns, epsilon: Any, *, filtered: bool, note: str) -> tuple[ReleaseRecords, Budget]:
        """A source over these columns, and a token of ε for it. Refused here if there is not enough."""

    def taken_first(self, epsilon: Any) -> Fraction | None:
        """The ε that is gone before anything is measured, so that a refusal on the way would lose it; None if none is."""
        return None

    def noted(self, what: str) -> str:
        """What the ledger says of a charge, given what is asked."""
        return legible(what)


class AccountPayer(Payer):
    """Everything is charged to an account when it is measured, with a note of the caller's own.

    `unit` is whom the table protects, and the account must protect the same.
    """

    def __init__(self, account: Account, unit: str, note: str = "") -> None:
        self.account, self._unit, self._note = account, unit, note

    @property
    def neighbours(self) -> Neighbours:
        """The account's."""
        return self.account.neighbours

    @property
    def remaining(self) -> Fraction:
        """What the account has left."""
        return self.account.remaining

    def records(self, columns: Columns, epsilon: Any, *, filtered: bool, note: str) -> tuple[ReleaseRecords, Budget]:
        """With a purse of its own."""
        if epsilon is None:
            raise BadInput("epsilon", "is missing", "pass for instance epsilon=0.1")
        records = ReleaseRecords(columns, purse=self.account.purse(self._unit), filtered=filtered, note=self.noted(note))
        return records, records.grant(epsilon)

    def noted(self, what: str) -> str:
        """With the caller's own words behind it."""
        return f"{legible(what)} ({self._note})" if self._note else legible(what)


class PartPayer(Payer):
    """A part of a table that was partitioned: its token was charged with those of all other parts, at once."""

    def __init__(self, records: ReleaseRecords, token: Budget, label: str) -> None:
        self._records, self._token, self._left, self._label = records, token, token.epsilon, label
        self._taking = threading.Lock()

    @property
    def neighbours(self) -> Neighbours:
        """Those inside a part."""
        return self._records.neighbours

    @property
    def remaining(self) -> Fraction:
        """What the part has left of its own."""
        return self._left

    def records(self, columns: Columns, epsilon: Any, *, filtered: bool, note: str) -> tuple[ReleaseRecords, Budget]:
        """With a share of the token, or with all that is left of it if no ε is named."""
        return self._records.over(columns), self._take(epsilon)

    def taken_first(self, epsilon: Any) -> Fraction | None:
        """The share of the token; None where nothing is left to take one of."""
        return (self._left if epsilon is None else exact(epsilon)) or None

    def _take(self, epsilon: Any) -> Budget:
        with self._taking:
            amount = self._left if epsilon is None else exact(epsilon)
            if amount > self._left or not self._left:
                raise Overdraft(requested=amount, remaining=self._left, of=f"part {self._label!r}")
            taken, self._left = self._token, self._left - amount
            if self._left:
                taken, self._token = self._token.split(amount, self._left)
            return taken
