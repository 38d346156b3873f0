"""Where released numbers are kept: in a table of their own, in the ledger's database.

Everything here is public: it was released before it is written, and paid for before it was released. No charge looks at it.
It is written in a transaction of its own after the answer is there, so that a failure loses neither answer nor charge. A
row that does not fit its checksum, or has a form that is not known, is ignored.
"""

from __future__ import annotations

import hashlib
import uuid
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa

from jostle.kernel.errors import JostleError, LedgerError
from jostle.kernel.ledger.store import now

if TYPE_CHECKING:
    from jostle.kernel.ledger import Ledger

MOST_FETCHED: Final = 48
"""At most this many measurements have a part in one answer: the most precise ones."""

_ID = sa.BigInteger().with_variant(sa.Integer, "sqlite")
MEMORY: Final = sa.Table(
    "jostle_memory",
    sa.MetaData(),
    sa.Column("id", _ID, primary_key=True),
    *(sa.Column(name, sa.Text, nullable=False) for name in ("key", "at", "dataset", "topic")),
    sa.Column("rank", sa.Float, nullable=False),
    sa.Column("body", sa.LargeBinary, nullable=False),
    sa.Column("checksum", sa.Text, nullable=False),
    sa.Index("jostle_memory_topics", "dataset", "topic", "rank"),
)


class MemoryFault(UserWarning):
    """Something that was released before cannot be used again, or could not be kept. Nothing was charged for it."""


NOT_USED: Final = (JostleError, ArithmeticError, LookupError, TypeError, ValueError)
"""What may go wrong before a charge, with something that is remembered: the question is then asked as without memory."""


def unused(failure: Exception) -> None:
    """Warn, before a charge, that a question is asked as if nothing were remembered."""
    warnings.warn(f"What is remembered could not be used: {failure}", MemoryFault, stacklevel=3)


@dataclass(frozen=True)
class Keepsake:
    """One thing that is remembered."""

    dataset: str
    """The account that paid."""

    topic: str
    """What it is looked up by."""

    rank: float
    """Of several under one topic, those with the highest rank come first."""

    body: bytes
    key: str = field(default_factory=lambda: uuid.uuid4().hex)
    at: str = field(default_factory=now)

    @property
    def checksum(self) -> str:
        said = f"{self.dataset}\n{self.topic}\n{self.key}\n{self.rank!r}\n".encode()
        return hashlib.sha256(said + self.body).hexdigest()[:32]


class MemoryStore:
    """What is remembered of one account."""

    checked = True
    """Whether what is read must fit its checksum."""

    def __init__(self, ledger: Ledger, dataset: str) -> None:
        self._ledger, self._dataset, self._there = ledger, dataset, False

    def add(self, rows: Sequence[Keepsake]) -> None:
        """Keep some things. A failure is a warning: the answer is there, and paid for."""
        try:
            with self._ledger._store.transaction(write=True) as connection:
                MEMORY.create(connection, checkfirst=True)
                values = [vars(row) | {"checksum": row.checksum} for row in rows]
                connection.execute(MEMORY.insert(), values)
        except LedgerError as failure:
            _warn(f"What was released could not be kept for later questions: {failure}")

    def topics(self, beginning: str) -> list[str]:
        """The topics that begin like this."""
        high = beginning + "\U0010ffff"
        query = sa.select(MEMORY.c.topic).where(MEMORY.c.dataset == self._dataset)
        return [row[0] for row in self._all(query.where(MEMORY.c.topic.between(beginning, high)).distinct())]

    def fetch(self, topics: Iterable[str], most: int = MOST_FETCHED) -> list[Keepsake]:
        """What is kept under some topics, that of highest rank first, and the oldest first of equal ones."""
        wanted = list(topics)[:500]
        if not wanted:
            return []
        query = sa.select(MEMORY).where(MEMORY.c.dataset == self._dataset, MEMORY.c.topic.in_(wanted))
        return self._sound(self._all(query.order_by(MEMORY.c.rank.desc(), MEMORY.c.id).limit(most)))

    def everything(self) -> list[Keepsake]:
        """All of it, oldest first."""
        return self._sound(self._all(sa.select(MEMORY).where(MEMORY.c.dataset == self._dataset).order_by(MEMORY.c.id)))

    def forget(self, *, before: str | None = None) -> int:
        """Delete all of it, or what is older than a time in UTC, and say how many things that were."""
        query = sa.delete(MEMORY).where(MEMORY.c.dataset == self._dataset)
        if not self._is_there():
            return 0
        with self._ledger._store.transaction(write=True) as connection:
            return int(connection.execute(query if before is None else query.where(MEMORY.c.at < before)).rowcount)

    def add_up(self, topic: str, amount: Fraction, *, free: bool) -> None:
        """Add to a running sum, which is one row. A failure is a warning."""
        try:
            with self._ledger._store.transaction(write=True) as connection:
                MEMORY.create(connection, checkfirst=True)
                mine = (MEMORY.c.dataset == self._dataset) & (MEMORY.c.topic == topic)
                before = self._sound(connection.execute(sa.select(MEMORY).where(mine)).all())
                total, times, without = before[-1].body.decode().split() if before else ("0", "0", "0")
                body = f"{Fraction(total) + amount} {int(times) + 1} {int(without) + free}".encode()
                row = Keepsake(self._dataset, topic, 0.0, body)
                connection.execute(sa.delete(MEMORY).where(mine))
                connection.execute(MEMORY.insert(), [vars(row) | {"checksum": row.checksum}])
        except LedgerError as failure:
            _warn(f"What was saved could not be added up: {failure}")

    def _sound(self, rows: Iterable[Any]) -> list[Keepsake]:
        found = []
        for row in rows:
            fields = dict(row._mapping)
            del fields["id"]
            checksum = fields.pop("checksum")
            kept = Keepsake(**fields | {"body": bytes(row.body)})
            if kept.checksum == checksum or not self.checked:
                found.append(kept)
            else:
                _warn(f"Something remembered of account {kept.dataset!r} was changed since, and is ignored: {kept.key}.")
        return found

    def _all(self, query: Any) -> list[Any]:
        if not self._is_there():
            return []
        with self._ledger._store.transaction() as connection:
            return list(connection.execute(query).all())

    def _is_there(self) -> bool:
        if not self._there:
            with self._ledger._store.transaction() as connection:
                self._there = sa.inspect(connection).has_table(MEMORY.name)
        return self._there


def _warn(said: str) -> None:
    warnings.warn(said, MemoryFault, stacklevel=4)
