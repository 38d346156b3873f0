"""Where a ledger is stored: a file or a PostgreSQL database, its tables, and transactions that are on disk when they end."""

from __future__ import annotations

import os
import sqlite3
import threading
import uuid
import weakref
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import sqlalchemy as sa
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from jostle.kernel.errors import BadInput, InternalError, JostleError, LedgerError

VERSION: Final = 1
"""The version of tables that this jostle makes, and the newest that it uses."""

_NEW_OR_OURS: Final = "pass the path of a ledger or of a new file"
_URL_LIKE: Final = "use a path, or a URL such as postgresql://user@host/database"
_SCHEMA_LOCK: Final = 0x6A6F_7374_6C65  # a number that no other program is likely to lock


def _texts(*names: str) -> list[sa.Column[str]]:
    return [sa.Column(name, sa.Text, nullable=False) for name in names]


_tables = sa.MetaData()
META: Final = sa.Table("jostle_meta", _tables, sa.Column("version", sa.Integer, primary_key=True), *_texts("created"))
ACCOUNTS: Final = sa.Table(
    "jostle_accounts",
    _tables,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("name", sa.Text, nullable=False, unique=True),
    *_texts("measure", "cap", "spent", "relation"),
    sa.Column("rows", sa.BigInteger, nullable=False),
    *_texts("created"),
)
EVENTS: Final = sa.Table(
    "jostle_events",
    _tables,
    sa.Column("id", sa.BigInteger().with_variant(sa.Integer, "sqlite"), primary_key=True),
    sa.Column("key", sa.Text, nullable=False, unique=True),
    *_texts("at"),
    sa.Column("version", sa.Integer, nullable=False),
    *_texts("kind"),
    sa.Column("dataset", sa.Text, sa.ForeignKey(ACCOUNTS.c.name), nullable=False, index=True),
    *_texts("operator", "measure", "amount", "neighbours", "note"),
    sa.Column("who", sa.Text, nullable=False, server_default=""),
)


def now() -> str:
    """The time in UTC, as in every row."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


class Tables(NamedTuple):
    """What the tables of a ledger are like."""

    version: int | None
    who: bool
    """Whether events have a column for the name of who spent."""


class Store(ABC):
    """One database connection, which threads take turns with and forked processes do not share."""

    begin_read: str
    """What starts a transaction in which all reads are of one moment."""

    begin_write: str
    """What starts a transaction whose commit is on disk when it returns."""

    def __init__(self, engine: sa.Engine, where: str) -> None:
        self.where = where
        self._engine, self._gate, self._closed = engine, threading.RLock(), False
        self._under_way: sa.Connection | None = None
        weakref.finalize(self, engine.dispose)
        with _stores_lock:
            _stores.add(self)

    @contextmanager
    def transaction(self, *, write: bool = False) -> Iterator[sa.Connection]:
        """Commit when the block ends, or raise: what the block raised, or a LedgerError if the database failed.

        A reading one may have others inside, which are then a part of it: all that they read is of one moment.
        """
        with self._gate:
            if self._under_way is not None:
                if write:
                    raise InternalError("nothing is written while the ledger is being read")
                yield self._under_way
                return
            if self._closed:
                raise LedgerError(f"{self.where} was closed: open the ledger again")
            try:
                self.check_in_place()
                with self._engine.begin() as connection:
                    connection.exec_driver_sql(self.begin_write if write else self.begin_read)
                    self._under_way = connection
                    yield connection
                self.check_in_place()
            except (SQLAlchemyError, OSError, UnicodeError, OverflowError) as error:
                self._engine.dispose()  # whatever state this connection is in, the next transaction has a new one
                raise self.explain(getattr(error, "orig", None) or error) from error
            finally:
                self._under_way = None

    def close(self) -> None:
        with self.let_go():
            self._closed = True

    @contextmanager
    def let_go(self) -> Iterator[None]:
        """Wait for the transaction under way, close the connection, and begin no other before the block ends."""
        with self._gate:
            self._engine.dispose()
            yield

    def tables(self) -> Tables | None:
        """What the ledger's tables are like; None if there are none."""
        with self.transaction() as connection:
            if not sa.inspect(connection).has_table(META.name):
                return None
            columns = connection.execute(sa.select(sa.text("*")).select_from(EVENTS).limit(0)).keys()
            return Tables(connection.execute(sa.select(META.c.version)).scalar_one_or_none(), EVENTS.c.who.name in columns)

    @abstractmethod
    def make_tables(self) -> None:
        """Make the tables in a database without them, or refuse to."""

    @abstractmethod
    def explain(self, error: BaseException) -> JostleError:
        """What went wrong and what to do about it."""

    def check_in_place(self) -> None:  # a server that confirmed a commit has it
        """Raise if others will not find what is committed here; called before a transaction, and after its commit."""

    def check(self) -> None:  # a server looks after its own pages
        """Raise if the database is visibly damaged."""

    def _failure(self, problem: str, remedy: str) -> LedgerError:
        return LedgerError(f"{self.where} {problem}. Nothing is released without its charge on record. Remedy: {remedy}.")


class SqliteStore(Store):
    """A ledger in a file."""

    begin_read = "BEGIN"
    begin_write = "BEGIN IMMEDIATE"  # the lock comes first: what is read after it cannot change before the commit

    def __init__(self, path: Path, *, create: bool, timeout: float) -> None:
        self.path = path.expanduser().resolve()
        if not self.path.exists():
            if not create:
                raise BadInput("location", f"there is no ledger at {self.path}", "check the path")
            _make_file(self.path)
        if not self.path.is_file() or not _allowed(self.path, os.R_OK):
            raise BadInput("location", f"{self.path} is not a file that can be read", _NEW_OR_OURS)
        self._file = self.path.stat()
        if not self._file.st_size:
            remedy = "restore the ledger from a backup, or delete the file if it never was one"
            raise BadInput("location", f"{self.path} is empty, which no ledger ever is", remedy)
        super().__init__(_engine("sqlite://", creator=partial(_connect, self.path, timeout)), str(self.path))

    def make_tables(self) -> None:
        """Refuse: a file of ours has its tables from its first moment, so this is somebody else's."""
        raise self._not_ours()

    def check_in_place(self) -> None:
        """A file that lost its name takes commits that nobody will find; one with two names has a log for each."""
        if not self.path.exists() or not os.path.samestat(self.path.stat(), self._file):
            raise self._failure("was moved, deleted or replaced while it was open", "put it back, and open the ledger again")
        if self.path.stat().st_nlink > 1 and _has_other_names(self.path, self._file.st_ino):
            raise self._failure("is also there under another name (a hard link)", "keep one name, and open the ledger by it")

    def check(self) -> None:
        with self.transaction() as connection:
            if connection.exec_driver_sql("PRAGMA integrity_check").scalars().all() != ["ok"]:
                raise self._failure(*_DAMAGED)

    def explain(self, error: BaseException) -> JostleError:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code == sqlite3.SQLITE_NOTADB:
            return self._not_ours()
        return self._failure(*_SQLITE_FAILURES.get(code, (f"failed: {error}", "see to the cause and try again")))

    def _not_ours(self) -> BadInput:
        return BadInput("location", f"{self.where} is not a ledger", _NEW_OR_OURS)


_LOCKED: Final = ("is locked by another process", "try again when that is done, or open it with a longer timeout")
_DAMAGED: Final = ("is damaged", "restore it from a backup")
_SQLITE_FAILURES: Final = {
    sqlite3.SQLITE_BUSY: _LOCKED,
    sqlite3.SQLITE_READONLY: ("cannot be written", "allow writing to the file and to its directory"),
    sqlite3.SQLITE_CANTOPEN: ("cannot be opened", "check that file and directory exist, and may be read and written"),
    sqlite3.SQLITE_FULL: ("has no room: the disk is full", "make room and try again"),
    sqlite3.SQLITE_CORRUPT: _DAMAGED,
}


class PostgresStore(Store):
    """A ledger in a database that a team shares, beside whatever else is in it."""

    begin_read = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY"

    def __init__(self, url: sa.URL, *, timeout: float) -> None:
        if url.drivername not in ("postgresql", "postgresql+psycopg"):
            raise BadInput("location", f"a ledger cannot be stored at {url.drivername}://", _URL_LIKE)
        # Locks are taken row by row, and a row is read again after waiting for it: hence READ COMMITTED, whatever the
        # server's default; and its default may also be to report a commit that is not on disk.
        self.begin_write = (
            "SET TRANSACTION ISOLATION LEVEL READ COMMITTED; SET LOCAL synchronous_commit = on; "
            f"SET LOCAL lock_timeout = {max(1, round(timeout * 1_000))}"
        )
        patience = {} if "connect_timeout" in url.query else {"connect_timeout": max(2, round(timeout))}
        try:
            engine = _engine(url.set(drivername="postgresql+psycopg"), connect_args=patience, pool_pre_ping=True)
        except ImportError:
            raise BadInput("location", "PostgreSQL needs psycopg 3", "pip install 'jostle[postgres]'") from None
        super().__init__(engine, url.difference_update_query(["password", "sslpassword"]).render_as_string())

    def make_tables(self) -> None:  # one process at a time
        with self.transaction(write=True) as connection:
            connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_SCHEMA_LOCK})")
            if not sa.inspect(connection).has_table(META.name):
                _make_tables(connection)

    def explain(self, error: BaseException) -> JostleError:
        if getattr(error, "sqlstate", None) == "55P03":
            return self._failure(*_LOCKED)
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        return self._failure(f"failed: {reason}", "check the server and the URL, and try again")


def open_store(location: str | os.PathLike[str], *, create: bool, timeout: float) -> tuple[Store, Tables]:
    """The store at a path or a URL, and what its tables are like. Tables that are missing are made."""
    if not isinstance(location, (str, os.PathLike)):
        raise BadInput("location", "must be a path or a URL", "pass for instance 'budget.db'")
    text = os.fspath(location)
    if text == ":memory:":
        raise BadInput("location", "a ledger must outlive the process", "pass the path of a file")
    if "://" in text:
        try:
            url = sa.make_url(text)
        except (ArgumentError, ValueError):
            raise BadInput("location", "is not a URL", _URL_LIKE) from None
        store: Store = PostgresStore(url, timeout=timeout)
    else:
        store = SqliteStore(Path(text), create=create, timeout=timeout)
    tables = store.tables()
    if tables is None and not create:
        raise BadInput("location", f"there is no ledger at {store.where}", "check the path or URL")
    if tables is None:
        store.make_tables()
        tables = store.tables() or Tables(None, who=False)  # an older jostle may have been faster to make them
    return store, tables


def _engine(url: str | sa.URL, **options: Any) -> sa.Engine:
    # The amounts and names in a statement are nobody's secret, but they are not for error messages either.
    return sa.create_engine(url, poolclass=sa.QueuePool, pool_size=1, max_overflow=0, hide_parameters=True, **options)


def _sqlite(path: Path, how: str, timeout: float) -> sqlite3.Connection:
    # Without an isolation level Python begins no transactions of its own.
    connection = sqlite3.connect(f"{path.as_uri()}?{how}", timeout, isolation_level=None, check_same_thread=False, uri=True)
    try:
        # EXTRA, because a ledger that was restored from a dump has a journal, whose deletion FULL does not flush.
        connection.executescript("PRAGMA synchronous = EXTRA; PRAGMA fullfsync = ON; PRAGMA foreign_keys = ON")
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _connect(path: Path, timeout: float) -> sqlite3.Connection:
    # Never open the file in another way than this: closing it would drop the locks that SQLite holds on it.
    if _allowed(path, os.W_OK) and _allowed(path.parent, os.W_OK):
        return _sqlite(path, "mode=rw", timeout)
    log = path.with_name(path.name + "-wal")
    # Who may not write can follow a writer who is there; and if none is there, then nothing changes.
    return _sqlite(path, "mode=ro" if log.exists() and log.stat().st_size else "immutable=1", timeout)


def _allowed(path: Path, mode: int) -> bool:
    return os.access(path, mode, effective_ids=os.access in os.supports_effective_ids)


def _has_other_names(path: Path, inode: int) -> bool:
    """Whether a file has a name besides this one and that of its draft, which a crash may have left behind."""
    drafts = {one.name for one in os.scandir(path.parent) if one.inode() == inode and Path(one).match(".*.jostle")}
    return path.stat().st_nlink > len({path.name} | drafts)  # counted last: a draft may go meanwhile, and none comes


def _make_tables(connection: sa.Connection) -> None:
    _tables.create_all(connection)
    connection.execute(META.insert().values(version=VERSION, created=now()))


def _make_file(path: Path) -> None:
    """Build a ledger under another name, then give it its own in one step: nobody ever sees half of one."""
    if not path.parent.is_dir():
        raise BadInput("location", f"there is no directory {path.parent}", "make it first")
    draft = path.with_name(f".{uuid.uuid4().hex}.jostle")
    try:
        engine = _engine("sqlite://", creator=partial(_sqlite, draft, "mode=rwc", 5.0))
        with engine.begin() as connection:
            connection.exec_driver_sql("PRAGMA journal_mode = WAL")
            connection.exec_driver_sql("BEGIN IMMEDIATE")
            _make_tables(connection)
        engine.dispose()
        with suppress(FileExistsError):  # another process was faster, and its ledger is as good as ours
            path.hardlink_to(draft)
        _sync_directory(path.parent)
    except (OSError, sqlite3.Error, SQLAlchemyError) as error:
        reason = str(getattr(error, "orig", None) or error)
        raise BadInput("location", f"{path} cannot be made ({reason})", "pass a path that can be written") from error
    finally:
        for rest in path.parent.glob(f"{draft.name}*"):
            rest.unlink(missing_ok=True)


def _sync_directory(directory: Path) -> None:
    if os.name == "posix":  # elsewhere a directory cannot be opened, and need not be
        handle = os.open(directory, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


# SQLite's locks belong to a process, and its connections break in a forked one; a PostgreSQL connection would be used by
# two at once. So connections are closed before a fork, when no transaction is under way, and both sides open new ones.
_stores: weakref.WeakSet[Store] = weakref.WeakSet()
_stores_lock = threading.Lock()
_during_fork = ExitStack()


def _before_fork() -> None:
    _during_fork.enter_context(_stores_lock)
    for store in list(_stores):
        _during_fork.enter_context(store.let_go())


def _after_fork() -> None:
    _during_fork.pop_all().close()  # at once: as soon as the first lock is free, another thread may fork


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork)
