"""Where the ε of a table's questions comes from: an account of a ledger, or the token of a part that was charged already."""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jostle.kernel.budget import CONCENTRATED, PURE, SYMBOLS, Budget, Price
from jostle.kernel.errors import BadInput, Overdraft
from jostle.kernel.ledger.accounts import check_charge
from jostle.kernel.ledger.events import ROWS, Balance, check_text, printable
from jostle.kernel.ledger.limits import Limit, amount_of, left, limit_of, shown
from jostle.kernel.neighbours import Neighbours, Relation
from jostle.kernel.records import Columns, ReleaseRecords

if TYPE_CHECKING:
    from jostle.kernel.ledger import Account, Ledger
    from jostle.tables.memory.memory import Memory
    from jostle.tables.one_account import ChargedPlaces
    from jostle.tables.unit import Unit

LONGEST_NOTE = 300
"""The ledger adds what was measured, and has space for both."""

LONGEST_WORDS = 400
"""The ledger keeps this many characters of what was measured."""

LONGEST_NAME = 200
"""The ledger keeps names of accounts of up to this many characters."""

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

    memory: Memory | None = None
    """What was released before, if it is to be used again."""

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

    @property
    def measure(self) -> str:
        """What it is in: pure ε, ρ, or (ε, δ)."""
        return PURE

    def spent_before_measuring(self, epsilon: Any) -> Price | None:
        """What is gone before anything is measured, so that a later refusal would lose it; None if there is nothing."""
        return None

    @property
    def limit(self) -> Limit | None:
        """What the account may lose in all, where that is more than a number of ε; None elsewhere, and in a part."""
        return None

    def check_all(self, prices: Sequence[Price]) -> None:
        """Raise unless there is enough for all of these, one after the other."""
        whole = sum((price.amount for price in prices), Fraction(0))
        if whole > self.remaining:
            raise Overdraft(requested=whole, remaining=self.remaining, of="this part", measure=prices[0].measure)

    def pays(self, *prices: Price) -> bool:
        """Whether there is enough for all of them."""
        try:
            self.check_all(prices)
        except (BadInput, Overdraft):
            return False
        return True

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

    def __init__(
        self,
        account: Account | PlannedAccount,
        unit: str,
        note: str = "",
        *,
        version: str | None = None,
        charged: ChargedPlaces | None = None,
    ) -> None:
        self._account, self._unit, self._note = account, unit, note
        self._making, self._to_claim = threading.Lock(), charged
        if version is not None:
            from jostle.tables.memory.memory import Memory

            self.memory = Memory(lambda: self._account, version)

    def without_memory(self) -> AccountBudget:
        return AccountBudget(self._account, self._unit, self._note, charged=self._to_claim)

    @property
    def account(self) -> Account | PlannedAccount:
        """The account; before its first charge, what it will be."""
        return self._account

    @property
    def neighbours(self) -> Neighbours:
        return self._account.neighbours

    @property
    def remaining(self) -> Fraction:
        return self._account.remaining

    @property
    def limit(self) -> Limit | None:
        return None if self.measure == PURE else self._account.limit

    @property
    def measure(self) -> str:
        return self._account.measure

    def check_all(self, prices: Sequence[Price]) -> None:
        before = has = self._account.balance
        try:
            for price in prices:
                has = replace(has, spending=check_charge(has, price.cost))
        except Overdraft as refused:
            if len(prices) == 1 or len({price.measure for price in prices}) > 1:
                raise
            whole = sum((price.amount for price in prices), Fraction(0))  # all was asked for
            rest = shown(before.limit, left(before.limit, before.spending, refused.measure))
            of = f"account {has.dataset!r}"
            raise Overdraft(requested=whole, remaining=rest, of=of, measure=refused.measure) from None

    def records(self, columns: Columns, epsilon: Any, *, note: str) -> tuple[ReleaseRecords, Budget]:
        """With a purse of its own."""
        if epsilon is None:
            raise BadInput("epsilon", "is missing", "pass for instance epsilon=0.1")
        with self._making:
            if isinstance(self._account, PlannedAccount):
                if self._to_claim is not None:  # before there is an account that a refusal would leave behind
                    self._to_claim.check(ledger_if_there(self._account.ledger), self._account.name)
                self._account = self._account.made_for(epsilon)
            if self._to_claim is not None:
                self._to_claim.claim(self._account.ledger, self._account.name)
                self._to_claim = None
        records = ReleaseRecords(columns, purse=self._account.purse(self._unit), note=self.noted(note))
        return records, records.grant(epsilon)

    def noted(self, what: str) -> str:
        return f"{legible(what)} ({self._note})" if self._note else legible(what)

    def is_same_account(self, other: BudgetSource) -> bool:
        if not isinstance(other, AccountBudget):
            return False
        mine, others = ((_place(a.ledger), a.name, a.neighbours) for a in (self.account, other.account))
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

    @property
    def measure(self) -> str:
        return self._token.measure

    def check_all(self, prices: Sequence[Price]) -> None:
        for price in prices:
            self._check(price)
        self._check(Price(sum((price.amount for price in prices), Fraction(0)), self._token.measure))

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

    def _check(self, price: Price) -> None:
        amount, measure = self._price(price).amount, self._token.measure
        if amount > self._left or not self._left:
            raise Overdraft(requested=amount, remaining=self._left, of=f"part {self._label!r}", measure=measure)

    def _take(self, epsilon: Any) -> Budget:
        with self._lock:
            price = self._price(epsilon)
            self._check(price)
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


def ledger_if_there(ledger: Any) -> Ledger | None:
    """An open ledger, or the one at a path or a URL; None if there is none yet, and one can be made there."""
    if not isinstance(ledger, (str, os.PathLike)) or os.fspath(ledger) == ":memory:":
        return ledger_at(ledger)
    if "://" not in os.fspath(ledger):
        path = Path(ledger).expanduser()
        if os.path.lexists(path):
            return ledger_at(ledger)
        folder = path.absolute().parent
        if not folder.is_dir():
            raise BadInput("ledger", f"there is no directory {folder}", "make it first")
        if not os.access(folder, os.W_OK):
            raise BadInput("ledger", f"{path} cannot be made", "pass a path that can be written")
        return None
    try:
        return ledger_at(ledger, create=False)
    except BadInput as refused:
        if "there is no ledger" in refused.problem:
            return None
        raise


def existing_account(ledger: Any, name: str) -> Account | None:
    """The account in the ledger, if both are there. Nothing is made."""
    return account_in(ledger_if_there(ledger), name)


def account_in(book: Ledger | None, name: str) -> Account | None:
    """The account of this name, if the ledger has it."""
    return None if book is None else next((account for account in book.accounts() if account.name == name), None)


@dataclass(frozen=True)
class PlannedAccount:
    """An account that is made with its first charge: a question that is refused leaves nothing behind."""

    ledger: Any
    name: str
    budget: Any
    neighbours: Neighbours
    whose: Unit | None = None

    def __post_init__(self) -> None:
        if self.budget is None:
            problem = f"is missing, and the ledger has no account {self.name!r}"
            raise BadInput("budget", problem, "say how much ε may be spent, budget=1")
        limit_of(self.budget, "budget")
        check_text(self.name, "name", LONGEST_NAME)

    @property
    def remaining(self) -> Fraction:
        """What the account will have; or has, if another table's question made it."""
        made = existing_account(self.ledger, self.name)
        return amount_of(limit_of(self.budget, "budget")) if made is None else made.remaining

    @property
    def measure(self) -> str:
        return self.balance.measure

    @property
    def limit(self) -> Limit:
        return self.balance.limit

    @property
    def balance(self) -> Balance:
        """How the account will stand when it is made; or stands, if another table's question made it."""
        made = existing_account(self.ledger, self.name)
        planned = Balance(dataset=self.name, neighbours=self.neighbours, limit=limit_of(self.budget, "budget"))
        return planned if made is None else made.balance

    def made_for(self, epsilon: Any) -> Account:
        """Make the account, to be charged at once: refused if the charge would be."""
        check_charge(self.balance, Price.of(epsilon).cost)
        return account_of(ledger_at(self.ledger), self.name, self.budget, self.neighbours, self.whose)


def remembered_unit(account: Account) -> Unit | None:
    """Whom an account protects, as a unit: the column of persons, and how many rows of each it is kept for."""
    from jostle.tables.unit import Unit

    if account.unit == ROWS:
        return None
    reads_like_rows = account.unit.replace(_COLUMN, "") == ROWS
    return Unit(account.unit.removesuffix(_COLUMN) if reads_like_rows else account.unit, account.neighbours.rows)


def check_agreement(account: Account, relation: Relation | None, unit: Unit | None) -> None:
    """Raise where a caller asks to protect others than an account does, with both sides in words.

    A remedy never leads to less protection than was asked for, or than the account has given so far.
    """
    kept, name = remembered_unit(account), account.name
    elsewhere = f"use an account of another name for it, with beside={name!r}; what {name!r} has spent stays spent"
    if unit is not None and (kept is None or (unit.column, unit.max_rows) != (kept.column, kept.max_rows)):
        problem = f"the account {name!r} protects {_protected(kept)}; you asked to protect {_protected(unit)}"
        raise BadInput("unit", problem, elsewhere if kept is None else "leave it out: the account knows whom it protects")
    if relation is not None and relation != account.neighbours.relation:
        problem = f"the account {name!r} hides {_HIDES[account.neighbours.relation]}; you asked to hide {_HIDES[relation]}"
        remedy = "leave it out: the account knows what it hides" if relation == "replace" else elsewhere
        raise BadInput("neighbours", problem, remedy)


_HIDES: Mapping[str, str] = {
    "add_remove": "whether somebody is in the table (add_remove)",
    "replace": "only the values of somebody who is in the table (replace)",
}


def _protected(unit: Unit | None) -> str:
    if unit is None:
        return "single rows"
    return f"each {unit.column} (up to {unit.max_rows:,} row{'' if unit.max_rows == 1 else 's'})"


def _place(ledger: Any) -> str:
    """Where a ledger is, whether it is open or not."""
    if isinstance(ledger, (str, os.PathLike)) and "://" not in os.fspath(ledger):
        return f"<Ledger at {Path(ledger).expanduser().resolve()}>"
    return str(ledger) if isinstance(ledger, str) else repr(ledger)


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
