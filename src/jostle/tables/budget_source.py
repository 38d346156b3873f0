"""Where the ε of a table's questions comes from: an account of a ledger, or the token of a part that was charged already."""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from jostle.kernel.budget import CONCENTRATED, SYMBOLS, Budget, Price
from jostle.kernel.errors import BadInput, Overdraft
from jostle.kernel.ledger.events import ROWS, printable
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.records import Columns, ReleaseRecords

if TYPE_CHECKING:
    from jostle.kernel.ledger import Account, Ledger
    from jostle.tables.unit import Unit

LONGEST_NOTE = 300
"""The ledger adds what was measured, and has space for both."""

LONGEST_WORDS = 400
"""The ledger keeps this many characters of what was measured."""

_COLUMN = " (column)"


def legible(words: str, most: int | None = LONGEST_WORDS) -> str:
    r"""A text as the ledger keeps it: characters that are not printable, as in names of columns, are escaped.

    They are not left out, so that names which differ only in them stay different.

    >>> legible("histogram of net\xa0income")
    'histogram of net\\xa0income'
    """
    return "".join(one if printable(one) else one.encode("unicode_escape").decode() for one in words)[:most]


def check_note(note: object) -> None:
    """Raise unless it is a text that the ledger can keep with its own words."""
    if not isinstance(note, str) or len(note) > LONGEST_NOTE or not printable(note):
        problem = f"must be a text of at most {LONGEST_NOTE} printable characters"
        raise BadInput("note", problem, "say in few words what the answers are for")


class BudgetSource(ABC):
    """Makes record sources over a table's rows, and tokens to be spent on them."""

    is_shared = False
    """Whether all questions share one purse, from which others may spend at the same time."""

    @property
    @abstractmethod
    def neighbours(self) -> Neighbours:
        """What one person may change."""

    @property
    @abstractmethod
    def remaining(self) -> Fraction:
        """The ε that is left."""

    @abstractmethod
    def records(self, columns: Columns, epsilon: Any, *, note: str) -> tuple[ReleaseRecords, Budget]:
        """A source over these columns, and a token of ε for it. Raises if there is not enough."""

    def spent_before_measuring(self, epsilon: Any) -> Price | None:
        """What is gone before anything is measured, so that a later refusal would lose it; None if there is nothing."""
        return None

    def check(self, price: Price) -> None:
        """Raise if it is already certain that the price cannot be paid."""

    def noted(self, what: str) -> str:
        """The ledger's note about a charge, given the question in words."""
        return legible(what)

    def is_same_account(self, other: BudgetSource) -> bool:
        """Whether both charge one account: of one ledger, not only of one name."""
        return False


class AccountBudget(BudgetSource):
    """Every measurement is charged to an account, with the caller's own note.

    `unit` is whom the table protects, and the account must protect the same.
    """

    def __init__(self, account: Account, unit: str, note: str = "") -> None:
        self.account, self._unit, self._note = account, unit, note

    @property
    def neighbours(self) -> Neighbours:
        return self.account.neighbours

    @property
    def remaining(self) -> Fraction:
        return self.account.remaining

    def records(self, columns: Columns, epsilon: Any, *, note: str) -> tuple[ReleaseRecords, Budget]:
        """With a purse of its own."""
        if epsilon is None:
            raise BadInput("epsilon", "is missing", "pass for instance epsilon=0.1")
        records = ReleaseRecords(columns, purse=self.account.purse(self._unit), note=self.noted(note))
        return records, records.grant(epsilon)  # a number, or a price in another measure

    def noted(self, what: str) -> str:
        return f"{legible(what)} ({self._note})" if self._note else legible(what)

    def check(self, price: Price) -> None:
        self.account.purse(self._unit).check(price.cost)

    def is_same_account(self, other: BudgetSource) -> bool:
        if not isinstance(other, AccountBudget):
            return False
        mine, others = ((repr(a.ledger), a.name, a.neighbours) for a in (self.account, other.account))
        return mine == others


class PartBudget(BudgetSource):
    """A part of a table that was partitioned: its token was charged with those of all other parts, at once."""

    is_shared = True

    def __init__(self, records: ReleaseRecords, token: Budget, label: str) -> None:
        self._records, self._token, self._left, self._label = records, token, token.amount, label
        self._lock = threading.Lock()

    @property
    def neighbours(self) -> Neighbours:
        """Those inside a part."""
        return self._records.neighbours

    @property
    def remaining(self) -> Fraction:
        return self._left

    def records(self, columns: Columns, epsilon: Any, *, note: str) -> tuple[ReleaseRecords, Budget]:
        """With a share of the token, or with all that is left of it without an ε."""
        return self._records.over(columns), self._take(epsilon)

    def spent_before_measuring(self, epsilon: Any) -> Price | None:
        """The share of the token; None if nothing is left."""
        price = self._price(epsilon)
        return price if price.amount else None

    def _price(self, epsilon: Any) -> Price:
        """What is asked for, in the measure of the part; without an amount, all that is left."""
        price = Price(self._left, self._token.measure) if epsilon is None else Price.of(epsilon)
        if price.measure != self._token.measure:
            wanted = "rho" if self._token.measure == CONCENTRATED else "epsilon"
            raise BadInput(
                "epsilon, rho", f"part {self._label!r} has {SYMBOLS[self._token.measure]} to spend", f"pass {wanted}"
            )
        return price

    def check(self, price: Price) -> None:
        amount, measure = self._price(price).amount, self._token.measure
        if amount > self._left or not self._left:
            raise Overdraft(requested=amount, remaining=self._left, of=f"part {self._label!r}", measure=measure)

    def _take(self, epsilon: Any) -> Budget:
        with self._lock:
            price = self._price(epsilon)
            self.check(price)
            amount = price.amount
            token, self._left = self._token, self._left - amount
            if self._left:
                token, self._token = self._token.split(amount, self._left)
            return token


# -------------------------------------------------------------------------------------------- ledgers and accounts


def protected_unit(unit: Unit | None) -> str:
    """Whom a table with this unit protects, as its account has it: the column of persons, or `row` for single rows.

    Different columns have different texts, and none of them is `row`, whatever a column is called.

    >>> from jostle.tables.unit import Unit
    >>> [protected_unit(unit) for unit in (None, Unit("person_id", 3), Unit("row", 3), Unit("row (column)", 3))]
    ['row', 'person_id', 'row (column)', 'row (column) (column)']
    """
    if unit is None:
        return ROWS
    reads_like_rows = unit.column.replace(_COLUMN, "") == ROWS
    return legible(unit.column + _COLUMN if reads_like_rows else unit.column, most=None)


def ledger_at(ledger: Any, *, create: bool = True) -> Ledger:
    """An open ledger, or the one at a path or a URL, which is made if it does not exist."""
    from jostle.kernel.ledger import Ledger  # a database toolkit, which takes a while to load

    if isinstance(ledger, Ledger):
        return ledger
    if not isinstance(ledger, (str, os.PathLike)):
        raise BadInput("ledger", "must be a path, a URL or a Ledger", "pass for instance 'budget.db'")
    try:
        return Ledger(ledger, create=create)
    except BadInput as refused:
        raise _as_called(refused, {"location": "ledger"}) from None


def account_of(book: Ledger, name: str, budget: Any, relation: Neighbours, unit: Unit | None) -> Account:
    """Open the account, or make it. One that protects another unit is refused."""
    if budget is None and name not in {account.name for account in book.accounts()}:
        raise BadInput(
            "budget", f"is missing, and the ledger has no account {name!r}", "say how much ε may be spent, budget=1"
        )
    try:
        return book.account(name, cap=budget, neighbours=relation, unit=protected_unit(unit))
    except BadInput as refused:
        raise _as_called(refused, {"cap": "budget"}) from None


def _as_called(refused: BadInput, names: Mapping[str, str]) -> BadInput:
    """The same refusal, by the names that arguments have in `jostle.open`."""
    return BadInput(names.get(refused.argument, refused.argument), refused.problem, refused.remedy)
