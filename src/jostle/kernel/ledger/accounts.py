"""Accounts of a ledger: the budget of one data set, and the purse that charges it."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from jostle.kernel.budget import CONCENTRATED, PURE, Budget, Cost, Purse
from jostle.kernel.errors import BadInput, Overdraft
from jostle.kernel.ledger import limits
from jostle.kernel.ledger.events import ROWS, Balance, Event
from jostle.kernel.ledger.limits import Limit
from jostle.kernel.measures import Remaining, Spending
from jostle.kernel.neighbours import Neighbours
from jostle.kernel.noise import ExactNoise

if TYPE_CHECKING:
    from jostle.kernel.ledger.ledger import Ledger


class Account:
    """The budget of one data set. Its numbers are read from the ledger each time.

    Its neighbours, its unit and its measure never change.
    """

    def __init__(self, ledger: Ledger, has: Balance) -> None:
        self.ledger, self.name, self.neighbours, self.unit = ledger, has.dataset, has.neighbours, has.unit
        self.measure = has.measure

    @property
    def balance(self) -> Balance:
        """How it stands now."""
        return self.ledger.balance(self.name)

    @property
    def cap(self) -> Fraction:
        """The ε of the cap; its ρ, in an account of ρ."""
        return self.ledger.balance(self.name).cap

    @property
    def limit(self) -> Limit:
        """The whole cap: pure ε as a number, or another measure."""
        return self.ledger.balance(self.name).limit

    @property
    def spent(self) -> Fraction:
        return self.ledger.balance(self.name).spent

    @property
    def remaining(self) -> Fraction:
        """The most that the next question may cost: in ρ in an account of ρ, else in pure ε."""
        return self.ledger.balance(self.name).remaining

    @property
    def left(self) -> Remaining:
        """The most that the next question of each kind may cost."""
        return self.ledger.balance(self.name).left

    def charge(
        self, amount: Fraction | Cost, *, operator: str, neighbours: Neighbours | str, unit: str = ROWS, note: str = ""
    ) -> Event:
        """Write a charge down, and return once it is on disk. If this raises, no noise may be drawn."""
        return self.ledger.charge(self.name, amount, operator=operator, neighbours=neighbours, unit=unit, note=note)

    def set_cap(self, cap: object, *, note: str = "", was: object = None) -> Event:
        """Change the cap, to no less than is spent. If you pass what it `was`, it changes only if that is still so."""
        return self.ledger.set_cap(self.name, cap, note=note, was=was)

    def purse(self, unit: str = ROWS) -> AccountPurse:
        """A purse for one computation on this data set, with exact noise.

        `unit` is whom the computation protects: single rows, or everyone in this column of persons. The account must
        protect the same.
        """
        return AccountPurse(self, unit)

    def grant(self, epsilon: object = None, unit: str = ROWS, *, rho: object = None, delta: object = None) -> Budget:
        """A token of a new purse on this account, for a computation that protects this unit; with a δ, for a selection."""
        return self.purse(unit).grant(epsilon, rho=rho, delta=delta)

    def __copy__(self, _: object = None) -> Account:
        """The same account: what is spent through a copy of whatever holds it is spent here."""
        return self

    __deepcopy__ = __copy__

    def __reduce__(self) -> tuple[object, ...]:
        """Only its name: a copy in another process could not be charged, and must not look as if it could."""
        return AbsentAccount, (self.name,)

    def __repr__(self) -> str:
        return f"<Account {self.name!r} of {self.ledger!r}>"


class AbsentAccount:
    """What is left of an account that was pickled: nothing can be charged to it."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"<account {self.name!r}, left behind>"


class AccountPurse(Purse):
    """The purse of a release: each charge is in the ledger before its noise is drawn."""

    durable = True

    def __init__(self, account: Account, unit: str = ROWS) -> None:
        super().__init__(account.neighbours, ExactNoise())
        self.account, self.unit, self.by_path = account, unit, account.measure == PURE
        self.left_in = CONCENTRATED if account.measure == CONCENTRATED else PURE
        check_unit("account", account.name, account.unit, unit)

    def check(self, cost: Cost) -> None:
        """Raise an overdraft that is already certain. Others may still spend what is left before this charge is made."""
        has = self.account.balance
        self.left = has.remaining
        check_charge(has, cost)

    def pay(self, cost: Cost, *, operator: str, neighbours: Neighbours, note: str) -> None:
        event, has = self.account.ledger.charge_and_balance(
            self.account.name, cost, operator=operator, neighbours=neighbours, unit=self.unit, note=note
        )
        self.charges.append(event)
        self.left = has.remaining


def check_charge(has: Balance, cost: Cost) -> Spending:
    """The totals of an account after a charge; raise unless it pays for such a thing, and has enough left."""
    limits.check_payable(has.limit, cost, has.dataset)
    spending = limits.after(has.limit, has.spending, cost)
    if not limits.allowed(has.limit, spending):
        account = f"account {has.dataset!r}"
        if cost.delta > has.left.delta:  # whatever else is left, it pays for no selection of keys
            raise Overdraft(requested=cost.delta, remaining=has.left.delta, of=account, measure="delta")
        rest = limits.shown(has.limit, limits.left(has.limit, has.spending, cost.measure))
        raise Overdraft(requested=cost.amount, remaining=rest, of=account, measure=cost.measure)
    return spending


def check_unit(argument: str, name: str, kept: str, unit: str) -> None:
    """Raise unless an account protects whom a computation does: losses of rows and of persons do not add up."""
    if unit != kept:
        has, wants = ("single rows" if one == ROWS else f"each {one}" for one in (kept, unit))
        remedy = f"use an account of another name that was made for it (unit={unit!r})"
        raise BadInput(argument, f"the account {name!r} protects {has}; you asked to protect {wants}", remedy)
