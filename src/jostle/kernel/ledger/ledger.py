"""The ledger: one account per data set, with a cap on its privacy loss, and one row per event.

A charge is one transaction that locks the account, checks the cap, and writes the event and the new sum. It returns after
the commit is on disk. Proof: docs/proofs/ledger.md.

Amounts are exact fractions. If the denominator of a sum grows too large, the sum is rounded up: the spender pays the
difference, and the event says what was really charged.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from fractions import Fraction
from typing import Any, Final

import sqlalchemy as sa

from jostle.kernel.budget import CONCENTRATED, PURE, Cost
from jostle.kernel.errors import BadInput, BudgetError, LedgerError, show
from jostle.kernel.ledger import accounts, limits
from jostle.kernel.ledger.accounts import Account
from jostle.kernel.ledger.events import ROWS, Balance, Event, Statement, check_text, newer, opening_note, spender, unit_of
from jostle.kernel.ledger.limits import Limit, limit_of, number_text, text_number, words
from jostle.kernel.ledger.store import ACCOUNTS, EVENTS, META, VERSION, now, open_store
from jostle.kernel.neighbours import Neighbours

LONGEST_NAME: Final = 200
LONGEST_NOTE: Final = 1_000


class Ledger:
    """The durable record of what was spent, in a file or at a PostgreSQL URL.

    A file that does not exist is made, unless `create=False`. `timeout` is how many seconds to wait for others who write
    to the ledger. Threads may share a ledger, and a forked process may go on using it. Events record `who` spent. By default
    that is the environment variable JOSTLE_WHO, or else the operating system's name of the user; an empty text records
    nobody.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> with Ledger(f"{folder.name}/budget.db") as ledger:
    ...     people = ledger.account("people", cap=1)
    ...     event = people.charge(Fraction(1, 10), operator="laplace", neighbours="add_remove", note="ages")
    ...     people.remaining
    Fraction(9, 10)
    >>> folder.cleanup()
    """

    def __init__(
        self, location: str | os.PathLike[str], *, create: bool = True, timeout: float = 30.0, who: str | None = None
    ) -> None:
        name = spender(who)
        self._store, tables = open_store(location, create=create, timeout=timeout)
        _check_version(tables.version)
        self._records_who = tables.who
        self._who = name if tables.who else ""  # older ledgers stay as they are

    def account(
        self,
        name: str,
        *,
        cap: object = None,
        neighbours: Neighbours | str | None = None,
        unit: str | None = None,
        note: str = "",
    ) -> Account:
        """Open the account of a data set; or make it, which needs a cap.

        A cap is a number of pure ε, `jostle.Approximate(epsilon, delta)` or `jostle.Concentrated(rho)`. The account stays
        in that measure.

        A new account is under `add_remove` and protects single rows, unless you pass `neighbours` and `unit`. The unit is
        `"row"`, or the name of the column that says whose row it is. Neither ever changes, and the account pays for nothing
        that protects another unit. The note is kept with the account when it is made.
        """
        check_text(name, "name", LONGEST_NAME)
        _check_note(note)
        check_text(ROWS if unit is None else unit, "unit", LONGEST_NOTE)
        limit = None if cap is None else limit_of(cap)
        relation = None if neighbours is None else Neighbours.of(neighbours)
        if relation is not None and (relation.part or relation.filtered):
            raise BadInput("neighbours", "no account is of a part or of filtered rows", "pass only relation and rows")
        opening = opening_note(unit or ROWS, note)
        has = self.balance(name) if limit is None else self._opened(name, limit, relation or Neighbours(), opening)
        if unit is not None:
            accounts.check_unit("unit", name, has.unit, unit)
        if limit is not None and limits.name_of(limit) != has.measure:
            remedy = f"leave it out, pass {limits.how_to_pass(has.limit)}, or make an account of another name"
            raise BadInput("cap", f"account {name!r} is in another measure, with a cap of {words(has.limit)}", remedy)
        if limit is not None and limit != has.limit:
            remedy = f"leave it out, or change the cap: ledger.set_cap({name!r}, …, note=…), or jostle budget cap"
            raise BadInput("cap", f"account {name!r} has a cap of {words(has.limit)}, not {words(limit)}", remedy)
        if relation is not None and not _same(relation, has.neighbours):
            remedy = "leave neighbours out, or make an account of another name"
            raise BadInput("neighbours", f"account {name!r} is kept under {has.neighbours}, not {relation}", remedy)
        return Account(self, has)

    def accounts(self) -> tuple[Account, ...]:
        """Every account, by name."""
        with self._store.transaction() as connection:
            return tuple(Account(self, has) for has in _balances(connection))

    @contextmanager
    def at_one_moment(self) -> Iterator[None]:
        """All that is read in the block is of one moment, and read in one visit. Nothing can be written in it."""
        with self._store.transaction():
            yield

    def balance(self, name: str) -> Balance:
        with self._store.transaction() as connection:
            return _balance(connection, name)

    def events(self, name: str | None = None) -> tuple[Event, ...]:
        """What happened to one account, or to all, oldest first."""
        return self.statement(name).events

    def statement(self, name: str | None = None) -> Statement:
        """One account and its events, or all, as they are at one moment."""
        with self._store.transaction() as connection:
            columns = [column for column in EVENTS.c if column is not EVENTS.c.who or self._records_who]
            query = sa.select(*columns).order_by(EVENTS.c.id)
            balances = _balances(connection) if name is None else [_balance(connection, name)]
            rows = connection.execute(query if name is None else query.where(EVENTS.c.dataset == name)).all()
        return Statement(balances=tuple(balances), events=tuple(map(_event_of, rows)))

    def set_cap(self, name: str, cap: object, *, note: str = "", was: object = None) -> Event:
        """Change the cap of an account, to no less than is spent: what is lost cannot be taken back.

        If you pass what the cap `was`, it changes only if that is still so.
        """
        limit, before = limit_of(cap, zero=True), None if was is None else limit_of(was, "was", zero=True)
        _check_note(note)
        with self._store.transaction(write=True) as connection:
            has = _balance(connection, name, lock=True)
            if before not in (None, has.limit):
                raise BadInput("was", f"the cap of account {name!r} is {words(has.limit)} by now", "look, and decide anew")
            if limits.name_of(limit) != has.measure:
                remedy = f"pass {limits.how_to_pass(has.limit)}: an account stays in its measure"
                raise BadInput("cap", f"account {name!r} has a cap of {words(has.limit)}", remedy)
            if not limits.allowed(limit, has.spending):
                spent = {PURE: "", CONCENTRATED: "ρ = "}.get(has.measure, "ε = ") + show(limits.shown(has.limit, has.spent))
                raise BadInput("cap", f"{spent} of account {name!r} is spent already", "pass at least that much")
            event = _new_event("cap", has, limits.amount_of(limit), limits.limit_text(limit), note=note, who=self._who)
            _record(connection, event, cap=number_text(limits.amount_of(limit)), **limits.totals(limit, has.spending))
        return event

    def charge(
        self,
        name: str,
        amount: Fraction | Cost,
        *,
        operator: str,
        neighbours: Neighbours | str,
        unit: str = ROWS,
        note: str = "",
    ) -> Event:
        """Write a charge down, and return once it is on disk. If this raises, no noise may be drawn.

        An amount is of pure ε, unless it is a cost in another measure. `unit` is whom the computation protects; the account
        must protect the same. A failure of the database may leave open whether the charge was recorded. If it was, it stays.
        """
        return self.charge_and_balance(name, amount, operator=operator, neighbours=neighbours, unit=unit, note=note)[0]

    def charge_and_balance(
        self, name: str, amount: Fraction | Cost, *, operator: str, neighbours: Neighbours | str, unit: str, note: str
    ) -> tuple[Event, Balance]:
        """Charge, and say how the account stands after it."""
        check_text(operator, "operator", LONGEST_NAME)
        _check_note(note)
        cost = amount if isinstance(amount, Cost) else Cost.pure(limits.amount(amount, "amount"))
        limits.amount(cost.amount, "amount")
        relation = Neighbours.of(neighbours)
        with self._store.transaction(write=True) as connection:
            has = _balance(connection, name, lock=True)
            accounts.check_unit("unit", name, has.unit, unit)
            if not _same(relation, has.neighbours):
                raise BudgetError(
                    f"account {name!r} is accounted for under {has.neighbours}, and this charge is under {relation}. Losses "
                    "under different neighbours do not add up: use the account's own, or make an account of another name"
                )
            spending = accounts.check_charge(has, cost)
            charged = cost.amount
            if has.measure == PURE:  # a sum that was rounded up: the event says what was really charged
                charged = (spending.epsilon or Fraction(0)) - (has.spending.epsilon or Fraction(0))
            event = _new_event("charge", has, charged, limits.cost_text(cost), operator=operator, note=note, who=self._who)
            _record(connection, event, **limits.totals(has.limit, spending))
        return event, replace(has, spending=spending)

    def verify(self) -> None:
        """Raise LedgerError unless the database is sound and every account is the exact sum of its events."""
        self._store.check()
        self.statement().check()

    def close(self) -> None:
        """Let go of the database. Nothing can be charged through this object any more."""
        self._store.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Ledger at {self._store.where}>"

    def _opened(self, name: str, cap: Limit, neighbours: Neighbours, note: str) -> Balance:
        with self._store.transaction() as connection:
            found = _balances(connection, name)
        if found:
            return found[0]
        with self._store.transaction(write=True) as connection:
            # Whoever makes an account waits here for others who do, and then sees the accounts that they made.
            _check_version(connection.execute(sa.select(META.c.version).with_for_update()).scalar_one_or_none())
            if not _balances(connection, name):
                has = Balance(dataset=name, neighbours=neighbours, limit=cap)
                event = _new_event("open", has, has.cap, limits.limit_text(cap), note=note, who=self._who)
                amounts = {"measure": event.measure, "cap": number_text(has.cap)} | limits.totals(cap, has.spending)
                who = {"name": name, "relation": neighbours.relation, "rows": neighbours.rows, "created": event.at}
                connection.execute(ACCOUNTS.insert().values(who | amounts))
                _record(connection, event)
            return _balance(connection, name)


def _balances(connection: sa.Connection, name: str | None = None, *, lock: bool = False) -> list[Balance]:
    version = sa.select(META.c.version).scalar_subquery().label("version")
    first = sa.select(EVENTS.c.note).where(EVENTS.c.dataset == ACCOUNTS.c.name, EVENTS.c.kind == "open")
    opening = first.order_by(EVENTS.c.id).limit(1).scalar_subquery().label("opening")
    query = sa.select(ACCOUNTS, version, opening).order_by(ACCOUNTS.c.name)
    if name is not None:
        query = query.where(ACCOUNTS.c.name == name)
    if lock:  # SQLite has no row locks and needs none: there, the whole transaction is behind one
        query = query.with_for_update(of=ACCOUNTS)
    return [_balance_of(row) for row in connection.execute(query)]


def _balance(connection: sa.Connection, name: str, *, lock: bool = False) -> Balance:
    check_text(name, "name", LONGEST_NAME)  # None would be all of them
    found = _balances(connection, name, lock=lock)
    if not found:
        names = ", ".join(repr(has.dataset) for has in _balances(connection)[:10])
        remedy = "pass cap=… to account() to make it, or name one that is there"
        raise BadInput("name", f"there is no account {name!r}, only {names or 'none'}", remedy)
    return found[0]


def _balance_of(row: sa.Row[Any]) -> Balance:
    _check_version(row.version)
    try:
        neighbours = Neighbours(row.relation, row.rows)
    except BadInput as error:
        raise newer(f"an account under {row.relation!r}") from error
    limit = limits.read_limit(row.measure, text_number(row.cap))
    if limit is None:
        raise newer(f"an account in {row.measure!r}")
    spending = limits.read_totals(limit, row.measure, text_number(row.spent))
    return Balance(dataset=row.name, neighbours=neighbours, unit=unit_of(row.opening), limit=limit, spending=spending)


def _event_of(row: sa.Row[Any]) -> Event:
    fields = dict(row._mapping)
    del fields["id"]  # it orders the table, and is no part of the event
    return Event(**fields | {"amount": text_number(row.amount)})


def _new_event(
    kind: str, has: Balance, amount: Fraction, measure: str, *, who: str, operator: str = "", note: str = ""
) -> Event:
    what: dict[str, Any] = {"kind": kind, "operator": operator, "amount": amount, "measure": measure}
    what |= {"note": note, "who": who}
    return Event(key=str(uuid.uuid4()), at=now(), dataset=has.dataset, neighbours=str(has.neighbours), **what)


def _record(connection: sa.Connection, event: Event, **changed: str) -> None:
    """Write the event and what it changes in its account, in one transaction."""
    fields = asdict(event) | {"amount": number_text(event.amount)}
    if not event.who:
        del fields["who"]  # an older ledger has no such column, and in others it is empty by default
    connection.execute(EVENTS.insert().values(fields))
    if changed:
        connection.execute(ACCOUNTS.update().where(ACCOUNTS.c.name == event.dataset).values(changed))


def _same(one: Neighbours, other: Neighbours) -> bool:
    return (one.relation, one.rows) == (other.relation, other.rows)


def _check_note(note: str) -> None:
    check_text(note, "note", LONGEST_NOTE, empty=True, lines=True)


def _check_version(version: int | None) -> None:
    if version is None:
        raise LedgerError("the ledger has no version: it is damaged. Restore it from a backup")
    if version > VERSION:
        raise newer(f"tables of version {version}")
