"""One account for one table: an account remembers where the rows were that it was charged for.

Two accounts for the same rows would have two budgets, and what both lose adds up. So rows that another account of the
ledger was charged for are refused, unless the caller says that both budgets are meant to be spent (`beside`).

Privacy: what is kept and compared is public (`jostle.tables.engines.places`). A copied file is not found: only its values
would show that it is one, and to compare values is to release something about them. Nothing here makes noise smaller: a
place that is not known, or that a failure lost, costs this guard and no more.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import sqlalchemy as sa

from jostle.kernel.errors import BadInput
from jostle.kernel.ledger.store import META, now
from jostle.tables.engines.places import FRAME, RowPlace

if TYPE_CHECKING:
    from jostle.kernel.ledger import Ledger

_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_FIELDS = ("kind", "host", "path", "name", "mark")
PLACES: Final = sa.Table(
    "jostle_places",
    sa.MetaData(),
    sa.Column("id", _ID, primary_key=True),
    *(sa.Column(name, sa.Text, nullable=False) for name in ("at", "dataset", *_FIELDS)),
)


@dataclass(frozen=True)
class ChargedPlaces:
    """Where a table's rows are, and which other accounts may have been charged for them."""

    places: frozenset[RowPlace]
    beside: tuple[str, ...] = ()

    @classmethod
    def of(cls, places: frozenset[RowPlace], beside: str | Sequence[str] | None) -> ChargedPlaces:
        """Places, with the name of an account, or several, that this one is meant to stand beside."""
        names = [beside] if isinstance(beside, str) else list(beside or [])
        if not all(isinstance(name, str) and name for name in names):
            raise BadInput("beside", "must name accounts", "pass the name of the account that was charged before")
        return cls(places, tuple(names))

    def check(self, ledger: Ledger | None, account: str) -> bool:
        """Refuse a table that another account was charged for, unless this account was, too. Says whether it was not yet."""
        if ledger is None:
            return True
        with ledger._store.transaction() as connection:
            known = sa.inspect(connection).has_table(PLACES.name)
            return not known or bool(self._new_ones(_kept(connection), account))

    def claim(self, ledger: Ledger, account: str) -> None:
        """Keep what the account is charged for from here on, or refuse, in one transaction that no other comes between."""
        if not self.check(ledger, account):
            return
        with ledger._store.transaction(write=True) as connection:
            connection.execute(sa.select(META.c.version).with_for_update())
            PLACES.create(connection, checkfirst=True)
            rows = [
                {"at": now(), "dataset": account} | {field: getattr(place, field) for field in _FIELDS}
                for place in self._new_ones(_kept(connection), account)
            ]
            if rows:
                connection.execute(PLACES.insert(), rows)

    def _new_ones(self, kept: Iterable[tuple[str, RowPlace]], account: str) -> list[RowPlace]:
        """The places that the account was not charged for yet; refused if another account was."""
        kept = list(kept)
        own = [place for name, place in kept if name == account]
        others = [(name, place) for name, place in kept if name != account and name not in self.beside]
        found = [place for place in sorted(self.places, key=lambda place: place.words) if place not in own]
        for place in found:
            if any(place.may_be(one) for one in own):
                continue
            for name, one in others:
                if place.may_be(one):
                    raise _refused(place, name, account)
        return found


def _kept(connection: sa.Connection) -> list[tuple[str, RowPlace]]:
    query = sa.select(PLACES.c.dataset, *(PLACES.c[name] for name in _FIELDS)).order_by(PLACES.c.id)
    return [(dataset, RowPlace(*fields)) for dataset, *fields in connection.execute(query)]


def _refused(place: RowPlace, name: str, account: str) -> BadInput:
    if place.kind == FRAME:
        charged = f"{place.words} was charged to the account {name!r}, and only private values could tell two frames apart"
    else:
        charged = f"the rows of {place.words} were charged to the account {name!r}"
    remedy = f"pass name={name!r}, or, if both budgets are meant to be spent, beside={name!r}: their losses add up"
    return BadInput("name", f"{charged}; {account!r} would be a second budget", remedy)
